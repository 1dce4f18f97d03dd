"""T5's span corruption on the books: an encoder-decoder learns to write what was cut out of novels.

    BERTCOURSE_DATA=FOLDER python studies/books_spans.py       # an hour of one core

The first --tokens of the 88 books of the course, once, in pieces of 96 tokens. Out of each piece 14 tokens are cut, in
five spans, and each time other ones (``span_corruption``). Measured on pieces of the five held-out books: the loss per
token of the targets, sentinels included, and how many spans are written exactly, by their length. Beside it a trigram
model of the same tokens, which sees the left side alone and, unlike the other, is told how long each span is.

What is there already is not made again; the result is stored after each seed. The examples are of the first seed.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.benchmarks.tables import table_lines, versions
from bertcourse.bert import load_pretrained
from bertcourse.datasets import COURSE_DATA
from bertcourse.decoders import (
    DecoderConfig,
    EncoderDecoder,
    corrupt,
    random_spans,
    teacher_forcing_loss,
    train_language_model,
    translate,
)
from bertcourse.files import read_json, write_table
from bertcourse.pretraining.corpus import books_corpus
from bertcourse.static_embeddings import KneserNey
from bertcourse.training.modes import evaluation_mode

NAME, TITLE = "books_spans", "Spans cut out of novels, and written again"
LENGTH, ROWS, HELD_OUT, EXAMPLES = 96, 16, 512, 6
SPANS = len(random_spans(LENGTH))


class Batch(NamedTuple):
    """What ``teacher_forcing_loss`` takes; nothing is padded.

    Attributes:
        source_ids: (B, S), with sentinels.
        source_mask: None.
        target_ids: (B, T), from the start token to the last sentinel.
    """

    source_ids: Tensor
    source_mask: None
    target_ids: Tensor


def in_pieces(tokens: list[int]) -> list[list[int]]:
    """A text, cut at every 96th token; what is left at the end is left out."""
    return [tokens[i : i + LENGTH] for i in range(0, len(tokens) - LENGTH + 1, LENGTH)]


def sentinels(vocab_size: int) -> range:
    """Ids beyond those of the tokenizer, one for each span and one for the end."""
    return range(vocab_size, vocab_size + SPANS + 1)


def cut(pieces: list[list[int]], vocab_size: int, start: int, generator: torch.Generator) -> tuple[Batch, list]:
    """Cut spans out of pieces: a batch, and the spans of each piece."""
    spans = [random_spans(LENGTH, generator=generator) for _ in pieces]
    parts = [corrupt(piece, each, sentinels(vocab_size)) for piece, each in zip(pieces, spans)]
    sources, targets = torch.tensor([part.inputs for part in parts]), [[start, *part.targets] for part in parts]
    return Batch(sources, None, torch.tensor(targets)), spans


def batches(pieces: list[list[int]], vocab_size: int, start: int, generator: torch.Generator) -> Iterator[Batch]:
    """Batches without end, each time round in another order and cut elsewhere."""
    while True:
        order = torch.randperm(len(pieces), generator=generator).tolist()
        for first in range(0, len(order) - ROWS + 1, ROWS):
            yield cut([pieces[i] for i in order[first : first + ROWS]], vocab_size, start, generator)[0]


def written_spans(targets: list[int], vocab_size: int) -> list[list[int]]:
    """What stands behind each sentinel; nothing for one that does not come.

    >>> written_spans([100, 7, 8, 101, 9, 103, 5], vocab_size=100)[:4]
    [[7, 8], [9], [], [5]]
    """
    found, current = {}, None
    for token in targets:
        if token >= vocab_size:
            current = found.setdefault(token, [])
        elif current is not None:
            current.append(token)
    return [found.get(each, []) for each in sentinels(vocab_size)[:-1]]


def continued(model: KneserNey, left: list[int], count: int) -> list[int]:
    """The likeliest next token, ``count`` times."""
    ids = list(left)
    for _ in range(count):
        ids.append(int(model.distribution(ids).argmax()))
    return ids[len(left) :]


def exact_by_length(truth: list[list[int]], written: list[list[int]]) -> dict[str, float]:
    """The share of spans that are written exactly, of one token, of two, of three or more, and of all."""
    kinds = {"1 token": lambda n: n == 1, "2 tokens": lambda n: n == 2, "3 or more": lambda n: n > 2}
    kinds["all"] = lambda n: True
    pairs = list(zip(truth, written, strict=True))
    return {
        f"exact, {name}": float(np.mean([a == b for a, b in pairs if belongs(len(a))]))
        for name, belongs in kinds.items()
    }


def measure(seed: int, pieces: list, held_out: list, tokenizer: Tokenizer, hidden_size: int) -> tuple[dict, list[dict]]:
    """Train a model: its row, and examples of what it writes."""
    vocab_size, start = tokenizer.get_vocab_size(), tokenizer.token_to_id("[CLS]")
    torch.manual_seed(seed)
    sizes = dict(hidden_size=hidden_size, num_hidden_layers=3, num_attention_heads=4, intermediate_size=4 * hidden_size)
    config = DecoderConfig(vocab_size + SPANS + 1, **sizes, max_position_embeddings=LENGTH)
    model, generator = EncoderDecoder(config), torch.Generator().manual_seed(seed)
    train_language_model(
        model, batches(pieces, vocab_size, start, generator), len(pieces) // ROWS, loss=teacher_forcing_loss
    )
    batch, _ = cut(held_out, vocab_size, start, torch.Generator().manual_seed(-1))
    stop, most = sentinels(vocab_size)[-1], batch.target_ids.shape[1] + 20
    with evaluation_mode(model):
        parts = zip(batch.source_ids.split(64), batch.target_ids.split(64))
        losses = [teacher_forcing_loss(model, source, None, target).item() for source, target in parts]
        rows = [translate(model, source, None, start, stop, most) for source in batch.source_ids.split(64)]
    targets = [row for each in rows for row in each.tolist()]
    truth = [written_spans(row, vocab_size) for row in batch.target_ids.tolist()]
    written = [written_spans(row, vocab_size) for row in targets]
    row = {"model": "encoder-decoder", "seed": seed, "loss": float(np.mean(losses))}
    row |= exact_by_length(sum(truth, []), sum(written, []))
    row["right length"] = float(np.mean([len(a) == len(b) for a, b in zip(sum(truth, []), sum(written, []))]))

    def spelled(spans: list[list[int]]) -> list[str]:
        return [tokenizer.decode(span) for span in spans]

    def source(ids: list[int]) -> str:
        names = {each: f"<{number}>" for number, each in enumerate(sentinels(vocab_size))}
        words = [names.get(token) or tokenizer.id_to_token(token) for token in ids]
        return " ".join(words).replace(" ##", "")

    examples = [
        {"source": source(batch.source_ids[i].tolist()), "truth": spelled(truth[i]), "written": spelled(written[i])}
        for i in range(EXAMPLES)
    ]
    return row, examples


def trigrams(tokens: list[int], held_out: list[list[int]], vocab_size: int) -> dict:
    """The row of a trigram model, which continues the left side of each span for as long as the span is."""
    model = KneserNey(3).fit([tokens], range(vocab_size))
    _, spans = cut(held_out, vocab_size, 0, torch.Generator().manual_seed(-1))
    places = [(piece, start, stop) for piece, each in zip(held_out, spans) for start, stop in each]
    truth = [piece[start:stop] for piece, start, stop in places]
    written = [continued(model, piece[:start], stop - start) for piece, start, stop in places]
    return {"model": "trigrams, told the length", "seed": None, **exact_by_length(truth, written)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=2_000_000, help="(default: %(default)s)")
    parser.add_argument("--hidden-size", type=int, default=256, help="(default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    run(options)


def run(options: argparse.Namespace) -> None:
    """Measure all that is not in the result yet."""
    _, tokenizer = load_pretrained("course")
    corpus = books_corpus(tokenizer)
    train = np.concatenate([np.asarray(shard.tokens) for shard in corpus.train])[: options.tokens].tolist()
    test = np.concatenate([np.asarray(shard.tokens) for shard in corpus.held_out]).tolist()
    pieces, held_out = (
        [text[i : i + LENGTH] for i in range(0, len(text) - LENGTH + 1, LENGTH)] for text in (train, test)
    )
    held_out = held_out[:: max(1, len(held_out) // HELD_OUT)][:HELD_OUT]
    settings = {"tokens": len(train), "hidden size": options.hidden_size, "length": LENGTH, "pieces": len(held_out)}
    result = {"settings": settings, "versions": versions(), "rows": [], "examples": []}
    path = options.output / f"{NAME}.json"
    if path.is_file() and (before := read_json(path))["settings"] == settings:
        result = before
    for seed in (None, *options.seeds):
        if any(row["seed"] == seed for row in result["rows"]):
            continue
        if seed is None:
            row = trigrams(train, held_out, tokenizer.get_vocab_size())
        else:
            row, examples = measure(seed, pieces, held_out, tokenizer, options.hidden_size)
            result["examples"] = result["examples"] or examples
        result["rows"].append(row)
        print(json.dumps(row), flush=True)
        write_table(options.output, NAME, result, markdown(result["rows"]))


def markdown(rows: list[dict]) -> str:
    """A row for each model, with the lowest and the highest of its seeds."""
    columns = [key for key in rows[-1] if key not in ("model", "seed")]
    lines = []
    for name in dict.fromkeys(row["model"] for row in rows):
        cells = [name]
        for key in columns:
            ends = sorted(row[key] for row in rows if row["model"] == name and key in row)
            shown = [f"{each:.2f}" if key == "loss" else f"{each:.1%}" for each in (ends[:1] + ends[-1:])]
            cells.append(" to ".join(dict.fromkeys(shown)) or "–")
        lines.append(cells)
    return "\n".join([f"# {TITLE}", "", *table_lines(["model", *columns], lines), ""])


if __name__ == "__main__":
    main()

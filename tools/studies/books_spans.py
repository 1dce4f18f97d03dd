"""T5's span corruption on the books: an encoder-decoder learns to write the letters that were cut out of novels.

    BERTCOURSE_DATA=FOLDER python tools/studies/books_spans.py       # twenty minutes of one core

Tokens are characters, as in ByT5 (Xue et al. 2022, "ByT5: Towards a Token-Free Future with Pre-trained Byte-to-Byte
Models"), because a model of this size learns nothing from so few gaps if each token can be any of 8,192 word pieces.
The first --characters of the course's 88 books, in lower case, are read once, in pieces of 96. From each piece, 14
characters are cut, in five spans (``random_spans``). Measured on pieces of the five held-out books are the loss per
target token, sentinels included, and how many spans are written exactly, by length. For comparison there is a 6-gram
model of the same text, which sees only the left side, but unlike the encoder-decoder reads the letters of earlier gaps,
and is told how long each span is.

What exists already is not made again; the result is stored after each seed. The examples are from the first seed.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bertcourse.datasets import COURSE_DATA
from bertcourse.decoders import (
    EncoderDecoder,
    SmallModel,
    corrupt,
    random_spans,
    teacher_forcing_loss,
    train_language_model,
    translate,
)
from bertcourse.files import read_json, write_table
from bertcourse.training.modes import evaluation_mode
from bertcourse_lab.benchmarks.tables import band, table_lines, versions
from bertcourse_lab.datasets.books import book_texts, paragraphs
from bertcourse_lab.ngrams import KneserNey
from bertcourse_lab.pretraining.shards import HELD_OUT_BOOKS

NAME, TITLE = "books_spans", "Letters cut out of novels, and written again"
LETTERS = "abcdefghijklmnopqrstuvwxyz .,;:?!'\"-"
IDS = {letter: number for number, letter in enumerate(LETTERS)}
PLAIN = str.maketrans("‘’“”—–", "''\"\"--")
LENGTH, ROWS, HELD_OUT, EXAMPLES = 96, 32, 512, 6
SPANS = len(random_spans(LENGTH))
START = len(LETTERS)  # the token before a target
SENTINELS = range(START + 1, START + SPANS + 2)  # one for each span, and one for the end
ORDER = 6  # of the n-gram model
MODEL = SmallModel(
    hidden_size=128,
    num_hidden_layers=3,
    num_attention_heads=4,
    max_position_embeddings=LENGTH,
    initializer_range=0.05,
    batch_size=ROWS,
    steps=0,  # as many as there are batches
    learning_rate=2e-3,
)


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


def letters_of(text: str) -> list[int]:
    """The ids of a text's letters and marks, in lower case; other characters are left out.

    >>> "".join(LETTERS[i] for i in letters_of("“Come in,” he said—and smiled at Zoë."))
    '"come in," he said-and smiled at zo.'
    """
    return [IDS[letter] for letter in text.lower().translate(PLAIN) if letter in IDS]


def read_letters(is_held_out: bool, most: int) -> list[int]:
    """The first letters of the books that are trained on, or of those that are held out."""
    ids: list[int] = []
    for book, text in book_texts("books"):
        if (book.name in HELD_OUT_BOOKS) == is_held_out:
            for paragraph in paragraphs(text):
                ids += letters_of(paragraph + " ")
                if len(ids) >= most:
                    return ids[:most]
    return ids


def in_pieces(ids: list[int]) -> list[list[int]]:
    """A text, cut at every 96th letter; the remainder is dropped."""
    return [ids[i : i + LENGTH] for i in range(0, len(ids) - LENGTH + 1, LENGTH)]


def cut(pieces: list[list[int]], generator: torch.Generator) -> tuple[Batch, list]:
    """Cut spans out of pieces; returns a batch, and the spans of each piece."""
    spans = [random_spans(LENGTH, generator=generator) for _ in pieces]
    parts = [corrupt(piece, each, SENTINELS) for piece, each in zip(pieces, spans)]
    targets = torch.tensor([[START, *part.targets] for part in parts])
    return Batch(torch.tensor([part.inputs for part in parts]), None, targets), spans


def batches(pieces: list[list[int]], generator: torch.Generator) -> Iterator[Batch]:
    """Endless batches; each pass is in another order and cut elsewhere."""
    while True:
        order = torch.randperm(len(pieces), generator=generator).tolist()
        for first in range(0, len(order) - ROWS + 1, ROWS):
            yield cut([pieces[i] for i in order[first : first + ROWS]], generator)[0]


def written_spans(targets: list[int]) -> list[str]:
    """What is written after each sentinel but the last; nothing for one that does not occur.

    >>> written_spans([SENTINELS[0], 7, 8, SENTINELS[1], 9, SENTINELS[3], 4])
    ['hi', 'j', '', 'e', '']
    """
    found, current = dict.fromkeys(SENTINELS, ""), None
    for token in targets:
        if token in found:
            current = token
        elif current is not None:
            found[current] += LETTERS[token] if token < START else ""
    return list(found.values())[:-1]


def continued(model: KneserNey, left: list[int], count: int) -> str:
    """How a text continues with the likeliest next letter, ``count`` times."""
    ids = list(left)
    for _ in range(count):
        ids.append(int(model.distribution(ids).argmax()))
    return "".join(LETTERS[i] for i in ids[len(left) :])


def exact_by_length(truth: list[str], written: list[str]) -> dict[str, float]:
    """The share of spans that are written exactly, of one letter, of two, of three or more, and of all."""
    pairs = list(zip(truth, written, strict=True))
    kinds = {"1": (1, 1), "2": (2, 2), "3 or more": (3, LENGTH), "all": (1, LENGTH)}
    return {
        f"exact, {name}": float(np.mean([a == b for a, b in pairs if low <= len(a) <= high]))
        for name, (low, high) in kinds.items()
    }


def measure(seed: int, pieces: list[list[int]], held_out: list[list[int]]) -> tuple[dict, list[dict]]:
    """Train a model; returns its row, and examples of what it writes."""
    torch.manual_seed(seed)
    model, generator = EncoderDecoder(MODEL.config(SENTINELS[-1] + 1)), torch.Generator().manual_seed(seed)
    steps = len(pieces) // ROWS
    train_language_model(model, batches(pieces, generator), steps, MODEL.learning_rate, loss=teacher_forcing_loss)
    (source, _, target), _ = cut(held_out, torch.Generator().manual_seed(-1))
    with evaluation_mode(model):
        parts = zip(source.split(64), target.split(64))
        loss = float(np.mean([teacher_forcing_loss(model, *each).item() for each in ((s, None, t) for s, t in parts)]))
    most = target.shape[1] + 20
    rows = [translate(model, each, None, START, SENTINELS[-1], most).tolist() for each in source.split(64)]
    written, truth = ([written_spans(row) for row in each] for each in (sum(rows, []), target.tolist()))
    all_written, all_truth = sum(written, []), sum(truth, [])
    row = {"model": "encoder-decoder", "seed": seed, "loss": loss, **exact_by_length(all_truth, all_written)}
    row["right length"] = float(np.mean([len(a) == len(b) for a, b in zip(all_truth, all_written)]))
    names = {each: f"<{number}>" for number, each in enumerate(SENTINELS)} | dict(enumerate(LETTERS))
    examples = [
        {"source": "".join(names[i] for i in source[n].tolist()), "truth": truth[n], "written": written[n]}
        for n in range(EXAMPLES)
    ]
    return row, examples


def ngrams(text: list[int], held_out: list[list[int]]) -> dict:
    """The row of an n-gram model, which continues the left side of each span for as long as the span is."""
    model = KneserNey(ORDER).fit([text], range(len(LETTERS)))
    _, spans = cut(held_out, torch.Generator().manual_seed(-1))
    places = [(piece, start, stop) for piece, each in zip(held_out, spans) for start, stop in each]
    truth = ["".join(LETTERS[i] for i in piece[start:stop]) for piece, start, stop in places]
    written = [continued(model, piece[:start], stop - start) for piece, start, stop in places]
    return {"model": f"{ORDER}-grams, told the length", "seed": None, **exact_by_length(truth, written)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    parser.add_argument("--characters", type=int, default=4_000_000, help="(default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    run(options)


def run(options: argparse.Namespace) -> None:
    """Measure everything that is not in the result yet."""
    text = read_letters(False, options.characters)
    pieces, held_out = in_pieces(text), in_pieces(read_letters(True, 10 * options.characters))
    held_out = held_out[:: max(1, len(held_out) // HELD_OUT)][:HELD_OUT]
    settings = {"characters": len(text), "length": LENGTH, "pieces": len(held_out)}
    result = {"settings": settings, "versions": versions(), "rows": [], "examples": []}
    path = options.output / f"{NAME}.json"
    if path.is_file() and (before := read_json(path))["settings"] == settings:
        result = before
    for seed in (None, *options.seeds):
        if any(row["seed"] == seed for row in result["rows"]):
            continue
        if seed is None:
            row = ngrams(text, held_out)
        else:
            row, examples = measure(seed, pieces, held_out)
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
            values = [row[key] for row in rows if row["model"] == name and key in row]
            cells.append(band(values, ".2f" if key == "loss" else ".1%") if values else "–")
        lines.append(cells)
    return "\n".join([f"# {TITLE}", "", *table_lines(["model", *columns], lines), ""])


if __name__ == "__main__":
    main()

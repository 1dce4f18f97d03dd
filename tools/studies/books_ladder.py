"""A ladder of language models on the same books, from counts to BERT, which lectures 0 and 12 read.

    BERTCOURSE_DATA=FOLDER python tools/studies/books_ladder.py       # three hours of one core

Unigrams, trigrams, word2vec's bag of words, Elman's network, an LSTM, a causal transformer, all with the same tokens of
the same 88 books, and the course's BERT, which has read these and 266 more. Each is asked for the same hidden words of
five other books, and for the verb in the course's agreement sentences. The n-grams and the networks read the first
--tokens of the books once, with their functions' default learning rate: none was tuned. The networks have the same
width, not the same size. The bag reads all of the books once, with its weight chosen on other hidden words. BERT read
the 88 books about 13 times, then 104 million tokens of all 354, many of them about a verb and its subject; it has other
sizes, and is asked with both sides of the gap, and also with the left side alone, like the others, which it was never
trained for.

The networks also write: they continue the same beginning, drawing from the ten best tokens at temperature 0.8.

Results are written after each model, and an interrupted command resumes where it was; trained networks stay in --runs.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.bert.modes import evaluation_mode
from bertcourse.datasets import COURSE_DATA, agreement_sentences
from bertcourse.decoders import (
    CausalLanguageModel,
    DecoderConfig,
    next_token_distribution,
    text_batches,
    train_language_model,
)
from bertcourse.files import read_json
from bertcourse.static_embeddings import thinned, train_word2vec
from bertcourse_lab.benchmarks.tables import band, table_lines, versions, write_table
from bertcourse_lab.counting import count_pairs
from bertcourse_lab.ngrams import KneserNey
from bertcourse_lab.pretraining.shards import books_corpus
from bertcourse_lab.recurrent import RecurrentLanguageModel
from bertcourse_lab.recurrent import train_language_model as train_recurrent

NAME, TITLE = "books_ladder", "A ladder of language models on the same books"
REACH = 64  # tokens before a gap; on its other side there is one less
GAPS, CHOOSING = 3000, 500  # how many gaps; how many to choose a weight on
SIZE, WINDOW = 100, 5  # of word2vec
ROWS, LENGTH = 8, 128  # of the causal transformer's batches
BEGINNING, WRITTEN = "The old man opened the door and", 60
BERT_TOKENS = 354_000_000  # data/checkpoints/course/README.md: 250 million of these 88 books, then 104 million of 354
Scorer = Callable[[list[list[int]], list[list[int]]], Tensor]  # left and right sides of N gaps to (N, V) ln P
NETWORKS = {"rnn": "Elman's network", "lstm": "LSTM", "transformer": "causal transformer"}


class Gap(NamedTuple):
    """A hidden word of a text.

    Attributes:
        left: the tokens before it.
        word: its token.
        right: those after it.
    """

    left: list[int]
    word: int
    right: list[int]


def gaps(tokens: np.ndarray, tokenizer: Tokenizer, count: int, seed: int) -> list[Gap]:
    """Gaps at whole words of a text, drawn at random."""
    names = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    starts_word = np.array([not name.startswith("##") for name in names])
    is_word = np.array([name.isalpha() for name in names])
    places = np.arange(REACH, len(tokens) - REACH)
    places = places[is_word[tokens[places]] & starts_word[tokens[places + 1]]]
    drawn = np.sort(np.random.default_rng(seed).choice(places, count, replace=False))
    return [Gap(tokens[p - REACH : p].tolist(), int(tokens[p]), tokens[p + 1 : p + REACH].tolist()) for p in drawn]


def asked(scorer: Scorer, chosen: list[Gap]) -> dict[str, float]:
    """Accuracy and loss on gaps."""
    found = scorer([gap.left for gap in chosen], [gap.right for gap in chosen])
    target = torch.tensor([gap.word for gap in chosen])
    right = (found.argmax(dim=1) == target).double().mean().item()
    return {"accuracy": right, "loss": -found.gather(1, target[:, None]).double().mean().item()}


def agreement(scorer: Scorer, tokenizer: Tokenizer) -> dict[str, float]:
    """The share of verbs that agree, by what stands between them and the subject; after a full stop, as in a book."""
    sentences = agreement_sentences()

    def ids(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids

    found = scorer([ids(f". {each.before}") for each in sentences], [ids(f"{each.after}.") for each in sentences])
    forms = torch.tensor([[tokenizer.token_to_id(each.verb), tokenizer.token_to_id(each.other)] for each in sentences])
    fits = (found.gather(1, forms).diff(dim=1) < 0)[:, 0].tolist()
    kinds = ["none" if s.attractor == "none" else "same" if s.attractor == s.number else "other" for s in sentences]
    return {
        f"verb, {k}": float(np.mean([fit for fit, kind in zip(fits, kinds) if kind == k])) for k in sorted(set(kinds))
    }


def ngram_scorer(model: KneserNey) -> Scorer:
    """Scores that depend on the words before."""
    return lambda lefts, rights: torch.tensor(np.stack([model.distribution(left) for left in lefts])).log()


def bag_scorer(vectors: tuple[np.ndarray, np.ndarray], counts: np.ndarray, weight: float) -> Scorer:
    """ln P(w) + weight · Σ over neighbours c within the window of u_c · v_w, which word2vec fits to their PMI."""
    prior = torch.tensor(np.log((counts + 1) / (counts + 1).sum()), dtype=torch.float32)
    centres, contexts = map(torch.tensor, vectors)

    def score(lefts: list[list[int]], rights: list[list[int]]) -> Tensor:
        sums = torch.stack([contexts[left[-WINDOW:] + right[:WINDOW]].sum(dim=0) for left, right in zip(lefts, rights)])
        return (prior + weight * sums @ centres.T).log_softmax(dim=1)

    return score


def network_scorer(model: nn.Module) -> Scorer:
    """Scores that depend on the words before."""

    def score(lefts: list[list[int]], rights: list[list[int]]) -> Tensor:
        with evaluation_mode(model):
            return torch.stack([next_logits(model, left).log_softmax(dim=0) for left in lefts])

    return score


def next_logits(model: nn.Module, ids: list[int]) -> Tensor:
    """(V,), the logits of the token after these, from a recurrent network or a causal transformer."""
    output = model(torch.tensor([ids]))
    return (output if isinstance(output, Tensor) else output[0])[0, -1]


def bert_scorer(model: BertForPreTraining, tokenizer: Tokenizer, both: bool) -> Scorer:
    """Scores that depend on the words on both sides, or only on those before."""
    cls, sep, mask = map(tokenizer.token_to_id, ("[CLS]", "[SEP]", "[MASK]"))

    @torch.inference_mode()
    def score(lefts: list[list[int]], rights: list[list[int]]) -> Tensor:
        found = []
        for left, right in zip(lefts, rights):
            ids = torch.tensor([[cls, *left, mask, *(right if both else []), sep]])
            hidden = model.bert(ids).last_hidden_state[0, len(left) + 1]
            found.append(model.mlm_head(hidden, model.bert.embeddings.word_embeddings.weight).log_softmax(dim=0))
        return torch.stack(found)

    return score


def new_network(kind: str, seed: int, vocab_size: int, hidden_size: int) -> nn.Module:
    """A network with random weights."""
    if kind != "transformer":
        return RecurrentLanguageModel(vocab_size, hidden_size, kind, dropout=0.1, seed=seed)
    torch.manual_seed(seed)
    sizes = dict(hidden_size=hidden_size, num_hidden_layers=4, num_attention_heads=4, intermediate_size=4 * hidden_size)
    return CausalLanguageModel(DecoderConfig(vocab_size, **sizes, max_position_embeddings=LENGTH))


def trained(kind: str, seed: int, tokens: np.ndarray, vocab_size: int, hidden_size: int, runs: Path) -> nn.Module:
    """A network of this kind, which is trained unless its file is there."""
    model, path = (
        new_network(kind, seed, vocab_size, hidden_size),
        runs / f"{kind}-{hidden_size}-{len(tokens)}-{seed}.safetensors",
    )
    if path.is_file():
        model.load_state_dict(load_file(path))
        return model
    torch.manual_seed(seed)  # for dropout
    ids = torch.from_numpy(tokens.astype(np.int64))
    if kind == "transformer":
        texts = ids.split(LENGTH)[:-1]
        batches = text_batches(texts, ROWS, torch.Generator().manual_seed(seed))
        train_language_model(model, batches, len(texts) // ROWS, learning_rate=1e-3)
    else:
        train_recurrent(model, ids)
    runs.mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), path)
    return model


def writes(model: nn.Module, tokenizer: Tokenizer, seed: int) -> str:
    """How a network continues the beginning."""
    ids, generator = tokenizer.encode(BEGINNING, add_special_tokens=False).ids, torch.Generator().manual_seed(seed)
    with evaluation_mode(model):
        for _ in range(WRITTEN):
            chances = next_token_distribution(next_logits(model, ids), temperature=0.8, top_k=10)
            ids.append(int(torch.multinomial(chances, 1, generator=generator)))
    return tokenizer.decode(ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    parser.add_argument("--runs", type=Path, default=Path(f"runs/{NAME}"), help="(default: %(default)s)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=2_000_000, help="read by n-grams and networks")
    parser.add_argument("--hidden-size", type=int, default=256, help="of the networks")
    parser.add_argument("--kinds", nargs="*", default=list(NETWORKS), choices=NETWORKS, help="of networks")
    parser.add_argument("--train-only", action="store_true", help="train the networks and leave them in --runs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ladder(options)


def ladder(options: argparse.Namespace) -> None:
    """Train and ask all models that are not in the result yet."""
    bert, tokenizer = load_pretrained("course", BertForPreTraining)
    vocab_size, corpus = tokenizer.get_vocab_size(), books_corpus(tokenizer)
    everything = np.concatenate([np.asarray(shard.tokens) for shard in corpus.train])
    tokens = everything[: options.tokens]

    def network(kind: str, seed: int) -> nn.Module:
        return trained(kind, seed, tokens, vocab_size, options.hidden_size, options.runs)

    if options.train_only:
        for seed in options.seeds:
            for kind in options.kinds:
                network(kind, seed)
        return
    held_out = np.concatenate([np.asarray(shard.tokens) for shard in corpus.held_out])
    choosing, test = (gaps(held_out, tokenizer, number, seed) for number, seed in ((CHOOSING, 1), (GAPS, 0)))
    settings = {
        "tokens": len(tokens),
        "hidden size": options.hidden_size,
        "gaps": GAPS,
        "reach": REACH,
        "beginning": BEGINNING,
    }
    result = {"settings": settings, "versions": versions(), "rows": []}
    path = options.output / f"{NAME}.json"
    if path.is_file() and (before := read_json(path))["settings"] == settings:
        result["rows"] = before["rows"]

    def add(name: str, read: int, sees: str, make: Callable[[], Scorer | nn.Module], seed: int | None = None) -> None:
        if any((row["model"], row["seed"]) == (name, seed) for row in result["rows"]):
            return
        model = make()
        is_network = isinstance(model, nn.Module)
        scorer = network_scorer(model) if is_network else model
        row = {"model": name, "seed": seed, "tokens read": read, "sees": sees}
        row |= {"weights": sum(each.numel() for each in model.parameters()) if is_network else None}
        row |= asked(scorer, test) | agreement(scorer, tokenizer)
        row |= {"writes": writes(model, tokenizer, seed)} if is_network else {}
        result["rows"].append(row)
        print(json.dumps(row), flush=True)
        write_table(options.output, NAME, result, markdown(result["rows"]))

    def bag() -> Scorer:
        counts = np.bincount(everything, minlength=vocab_size)
        nearness = np.arange(WINDOW, 0, -1) / WINDOW
        pairs = count_pairs(everything.astype(np.int32), vocab_size, WINDOW, nearness)
        counts = np.maximum(counts, 1)
        vectors = train_word2vec(thinned(pairs, counts), counts, size=SIZE)
        scorers = [bag_scorer(vectors, counts, weight) for weight in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)]
        return min(scorers, key=lambda scorer: asked(scorer, choosing)["loss"])

    for order, name, sees in ((1, "unigrams", "nothing"), (3, "trigrams", "2 before")):
        make = lambda order=order: ngram_scorer(KneserNey(order).fit([tokens.tolist()], range(vocab_size)))  # noqa: E731
        add(name, len(tokens), sees, make)
    add("word2vec's bag", len(everything), f"{WINDOW} on both sides, in no order", bag)
    add("BERT", BERT_TOKENS, "both sides", lambda: bert_scorer(bert, tokenizer, both=True))
    add("BERT, left side alone", BERT_TOKENS, "all before", lambda: bert_scorer(bert, tokenizer, both=False))
    for seed in options.seeds:
        for kind in options.kinds:
            add(NETWORKS[kind], len(tokens), "all before", lambda kind=kind, seed=seed: network(kind, seed), seed)


COLUMNS = {"right words": "accuracy", "loss": "loss"} | {
    f"verb right, {says}": f"verb, {kind}"
    for says, kind in (("no noun between", "none"), ("of the same number", "same"), ("of the other", "other"))
}


def markdown(rows: list[dict]) -> str:
    """A row for each model, with the lowest and the highest of its seeds."""
    lines = []
    for name in dict.fromkeys(row["model"] for row in rows):
        runs = [row for row in rows if row["model"] == name]
        cells = [name, runs[0]["sees"], f"{runs[0]['tokens read']:,}"]
        for key in COLUMNS.values():
            cells.append(band([row[key] for row in runs], ".2f" if key == "loss" else ".1%"))
        lines.append(cells)
    table = table_lines(["model", "sees", "tokens read", *COLUMNS], lines)
    return "\n".join([f"# {TITLE}", "", *table, ""])


if __name__ == "__main__":
    main()

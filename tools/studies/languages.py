"""Several languages in one BERT: what each further language costs at a fixed budget of text, and whom company helps.

The small world's grammar with its words renamed is another language: nothing is shared but [CLS], [SEP] and [MASK],
the grammar, and what can be talked about. Each language has texts of its own; the loop is lecture 4's.

``python tools/studies/languages.py`` trains each mixture with three seeds (two hours of one core in all), writes one
row per run and language into data/results/languages.json, and prints the table; a run that exists already is not made
again. Name mixtures to make only these.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from functools import cache

import torch
from torch import Tensor

from bertcourse.bert import BertConfig, BertForPreTraining, encode_batch
from bertcourse.datasets import course_file
from bertcourse.files import replace_files
from bertcourse.pretraining import (
    MaskedTokens,
    RowBatch,
    SmallWorld,
    Vocabulary,
    batches,
    losses,
    nearest_sense_accuracy,
    train,
)
from bertcourse.pretraining.small_world import AmbiguousWord

RESULTS = course_file("results/README.md").parent / "languages.json"
FIRST = 5  # ids below are special tokens, which all languages share
M = 1_000_000
# Tokens of text that each language has; how often each is read; and the width of the model.
MIXTURES: dict[str, tuple[list[float], int, int]] = {
    "one": ([1.6], 1, 128),
    "two, half each": ([0.8, 0.8], 1, 128),
    "four, a quarter each": ([0.4] * 4, 1, 128),
    "one, half": ([0.8], 1, 128),
    "one, a quarter": ([0.4], 1, 128),
    "one, a quarter, four times": ([0.4], 4, 128),
    "a quarter beside three": ([1.2, 0.4], 1, 128),
    "four, all of each": ([1.6] * 4, 1, 128),
    "one, all of it, four times": ([1.6], 4, 128),
    "four, all of each, half as wide": ([1.6] * 4, 1, 64),
    "one, all of it, four times, half as wide": ([1.6], 4, 64),
    "one, half as wide": ([1.6], 1, 64),
}


@cache
def world() -> tuple[SmallWorld, Vocabulary]:
    """The language that the others rename, and its vocabulary."""
    small = SmallWorld()
    return small, Vocabulary.of(small.tokenizer())


def renamed(ids: Tensor, language: int) -> Tensor:
    """Token ids of the first language as those of another: each word has a number of its own there."""
    return torch.where(ids < FIRST, ids, ids + language * (world()[1].size - FIRST))


def in_language(masked: MaskedTokens, rows: RowBatch, language: int) -> tuple[MaskedTokens, RowBatch]:
    """A batch of the first language, in another."""
    masked = masked._replace(input_ids=renamed(masked.input_ids, language), labels=renamed(masked.labels, language))
    return masked, rows._replace(input_ids=renamed(rows.input_ids, language))


def stream(texts: Sequence[float], seed: int) -> Iterator[tuple[MaskedTokens, RowBatch]]:
    """Batches of languages in turn, drawn by how much text each has."""
    small, vocabulary = world()
    streams = []
    for language, millions in enumerate(texts):
        corpus = small.corpus(int(millions * M), seed=language)
        documents = [document for shard in corpus.train for document in shard.lists()]
        streams.append(batches(documents, vocabulary, 64, 16, rate=0.30, seed=seed * 10 + language))
    rng = random.Random(seed)
    while True:
        [language] = rng.choices(range(len(texts)), texts)
        yield in_language(*next(streams[language]), language)


@torch.inference_mode()
def vectors(model: BertForPreTraining, examples: Sequence[AmbiguousWord], language: int) -> Tensor:
    """(N, D): the last layer's vector of each example's word."""
    tokenizer = world()[0].tokenizer()
    found = []
    for start in range(0, len(examples), 128):
        some = examples[start : start + 128]
        batch = encode_batch(tokenizer, [" ".join(example.words) for example in some])
        states = model.bert(renamed(batch.input_ids, language), *batch[1:]).last_hidden_state
        found.append(states[torch.arange(len(some)), [example.index + 1 for example in some]])
    return torch.cat(found)


@torch.inference_mode()
def measure(model: BertForPreTraining, language: int, others: Sequence[int]) -> dict[str, float]:
    """MLM loss (nats) on held-out texts, and how many senses are right: by own means, and by another language's."""
    small, vocabulary = world()
    [held_out] = small.corpus(10_000).held_out
    rows = batches(held_out.lists(), vocabulary, 64, 16, rate=0.30, seed=0)
    mlm = torch.stack([losses(model, *in_language(*next(rows), language))[0] for _ in range(60)]).mean().item()
    train_words, test_words = small.sense_examples(-5, 500), small.sense_examples(-6, 400)
    own, asked = vectors(model, train_words, language), vectors(model, test_words, language)
    found = {"mlm_loss": mlm, "senses": nearest_sense_accuracy(train_words, test_words, own, asked)}
    if others:
        accuracy = [
            nearest_sense_accuracy(train_words, test_words, vectors(model, train_words, other), asked)
            for other in others
        ]
        found["senses_by_another"] = sum(accuracy) / len(accuracy)
    return {key: round(value, 4) for key, value in found.items()}


def run(name: str, seed: int) -> list[dict]:
    """Train one model; a row for each of its languages."""
    texts, times, width = MIXTURES[name]
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=FIRST + len(texts) * (world()[1].size - FIRST),
        hidden_size=width,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=4 * width,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.04,
    )
    model = BertForPreTraining(config)
    start = time.process_time()
    train(model, stream(texts, seed), int(times * sum(texts) * M), lambda *_: None)
    seconds = time.process_time() - start
    model.eval()
    languages = range(len(texts))
    return [
        {"mixture": name, "seed": seed, "language": one, "text": int(texts[one] * M), "width": width}
        | measure(model, one, [other for other in languages if other != one])
        | {"seconds": round(seconds)}
        for one in languages
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mixtures", nargs="*", help=f"of {'; '.join(MIXTURES)} (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    options = parser.parse_args()
    if unknown := set(options.mixtures) - set(MIXTURES):
        parser.error(f"a mixture must be one of {'; '.join(MIXTURES)}; got {'; '.join(unknown)}")
    rows = json.loads(RESULTS.read_text()) if RESULTS.is_file() else []
    for seed in options.seeds:
        for name in options.mixtures or MIXTURES:
            if any((row["mixture"], row["seed"]) == (name, seed) for row in rows):
                continue
            new = run(name, seed)
            rows += new
            order = list(MIXTURES)
            rows.sort(key=lambda row: (order.index(row["mixture"]), row["seed"], row["language"]))
            with replace_files(RESULTS.parent, [RESULTS.name]) as draft:
                (draft / RESULTS.name).write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
            print(name, seed, new[0]["seconds"], "s", flush=True)
    print(f"{'mixture':42}{'nats':>16}{'senses':>14}{'by another':>14}")
    for name in MIXTURES:
        cells = []
        for key in ("mlm_loss", "senses", "senses_by_another"):
            values = [row[key] for row in rows if row["mixture"] == name and key in row]
            cells.append(f"{min(values):.2f} to {max(values):.2f}" if values else "-")
        print(f"{name:42}{cells[0]:>16}{cells[1]:>14}{cells[2]:>14}")


if __name__ == "__main__":
    main()

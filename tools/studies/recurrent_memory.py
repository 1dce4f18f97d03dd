"""How far back Elman's network and an LSTM remember, in the small world, as torch starts them, with three seeds.

    python tools/studies/recurrent_memory.py      # a few minutes of one core

Each reads 400,000 words of the small world twice: 128 numbers, Adam, rate 0.01 for
Elman's network and 0.02 for the LSTM, 32 rows of 35 words. Measured on 150 documents from another seed are the loss per
word (overall, and for each document's first eight sentences) and how much of the loss's gradient is left 5, 10, 20 and
40 words back, relative to one word back, on 64 pieces of 42 words. Beside them is a 4-gram model of the same text.

A seed decides the initial weights; the text is the same for all.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertcourse.datasets import COURSE_DATA
from bertcourse.pretraining import SmallWorld
from bertcourse_lab.benchmarks.tables import band, table_lines, versions, write_table
from bertcourse_lab.ngrams import KneserNey
from bertcourse_lab.recurrent import RecurrentLanguageModel, train_language_model

NAME, TITLE = "recurrent_memory", "How far back a recurrent network remembers, in the small world"
RATES, SIZE, PASSES = {"rnn": 0.01, "lstm": 0.02}, 128, 2
NAMES = {"rnn": "RNN", "lstm": "LSTM"}
SENTENCES, DISTANCES = 8, (5, 10, 20, 40)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=400_000, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    result = run(options.seeds, options.tokens)
    print(table := markdown(result["rows"]))
    write_table(options.output, NAME, result, table)


def run(seeds: list[int], tokens: int, documents: int = 150) -> dict:
    """All rows."""
    world = SmallWorld()
    number = {word: i for i, word in enumerate(world.vocabulary())}
    held_out = list(world.documents(-1, count=documents))
    text, test = (
        torch.tensor([number[word] for document in part for sentence in document.sentences for word in sentence])
        for part in (world.documents(0, num_tokens=tokens), held_out)
    )
    lengths = [(place, len(sentence)) for document in held_out for place, sentence in enumerate(document.sentences)]
    places = np.repeat(*np.transpose(lengths))[1:]
    rows = [{"model": "4-gram", "seed": None, **by_sentence(counted(text, test, len(number)), places)}]
    for seed in seeds:
        for kind, rate in RATES.items():
            model = RecurrentLanguageModel(len(number), SIZE, kind, seed=seed)
            row = {"model": NAMES[kind], "seed": seed, "fresh": left(model, test)}
            train_language_model(model, text, epochs=PASSES, learning_rate=rate)
            row |= {"trained": left(model, test), **by_sentence(losses(model, test), places)}
            rows.append(row)
            print(json.dumps(row), flush=True)
    return {"tokens": len(text), "held out": len(test), "versions": versions(), "rows": rows}


def counted(text: Tensor, test: Tensor, vocab_size: int) -> np.ndarray:
    """The loss of each word of a text but the first, from a table of what followed which three words."""
    model = KneserNey(4).fit([text.tolist()], range(vocab_size))
    ids = test.tolist()
    return -np.log([model.probability(ids[i], ids[max(0, i - 3) : i]) for i in range(1, len(ids))])


@torch.no_grad()
def losses(model: RecurrentLanguageModel, test: Tensor) -> np.ndarray:
    """The loss of each word of a text but the first."""
    model.eval()
    return F.cross_entropy(model(test[None])[0][0, :-1], test[1:], reduction="none").numpy()


def by_sentence(lost: np.ndarray, places: np.ndarray) -> dict:
    """The mean loss, and the mean over each document's first sentence, its second, and so on."""
    return {"loss": float(lost.mean()), "by sentence": [float(lost[places == n].mean()) for n in range(SENTENCES)]}


def left(model: RecurrentLanguageModel, test: Tensor) -> list[float]:
    """How much of the gradient of a last word's loss is left at each of ``DISTANCES``, relative to one word back."""
    pieces = test[: len(test) // 42 * 42][: 64 * 42].view(-1, 42)
    model.eval()
    x = model.embedding(pieces[:, :-1]).detach().requires_grad_()
    logits = model.network(x)[0][:, -1] @ model.embedding.weight.T + model.bias
    (gradient,) = torch.autograd.grad(F.cross_entropy(logits, pieces[:, -1], reduction="sum"), x)
    sizes = gradient.norm(dim=-1).mean(dim=0).flip(0)
    return [float(sizes[distance] / sizes[1]) for distance in DISTANCES]


def markdown(rows: list[dict]) -> str:
    """A row for each model, with the lowest and the highest of its seeds."""
    first, gradients = [], []
    for name in dict.fromkeys(row["model"] for row in rows):
        runs = [row for row in rows if row["model"] == name]
        sentences = [band([row["by sentence"][n] for row in runs], ".2f") for n in range(SENTENCES)]
        first.append([name, band([row["loss"] for row in runs], ".2f"), *sentences])
        for state in ("fresh", "trained") if "fresh" in runs[0] else ():
            shares = [band([row[state][n] for row in runs], ".0e") for n in range(len(DISTANCES))]
            gradients.append([f"{name}, {state}", *shares])
    columns = ["nats per word", "all", *(f"sentence {n + 1}" for n in range(SENTENCES))]
    distances = ["gradient left after", *(f"{distance} words" for distance in DISTANCES)]
    return "\n".join([f"# {TITLE}", "", *table_lines(columns, first), "", *table_lines(distances, gradients), ""])


if __name__ == "__main__":
    main()

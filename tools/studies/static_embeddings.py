"""Word vectors and language models before attention: the tables that lecture 0 reads.

    BERTCOURSE_DATA=FOLDER python tools/studies/static_embeddings.py words     # a quarter of an hour of CPU
    python tools/studies/static_embeddings.py speed --python PYTHON            # ten minutes; PYTHON has gensim

- **words**: word2vec on the table of pairs and on running text (the same books, with rare pairs, too, and near
  neighbours counting more), and PPMI with SVD on the table; three seeds. Measured are Spearman's correlation with
  people (MEN, SimLex-999) and analogies (Google's where the vocabulary covers them, and the course's), with and without
  the rule that no word of the question may be the answer. Beside them are two baselines for analogies: the word nearest
  to c, and spelling alone, on the same questions (and, without vectors, on all). The settings of ``train_word2vec`` and
  the table's threshold were chosen on every second pair of MEN, from the first; "MEN, other half" is the rest.
- **speed**: ours beside gensim's, with one thread each, in one run, on the same text with the same words: CPU seconds,
  and the same measures after each of gensim's epochs and at the end of ours. Words outside the vocabulary are removed
  from both texts beforehand. Our seconds include counting the pairs; gensim's are for training alone. Before its last
  epoch, gensim's learning rate has not fallen all the way, so that a run of fewer epochs would do a little better than
  its rows here say. Pairs per second count each pair of the text once per pass: gensim draws it with five noise words,
  we have it in a sum with all the noise. gensim keeps somewhat more of the frequent words, as word2vec's code does.
"""

import argparse
import inspect
import json
import os
import platform
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from bertcourse.datasets import COURSE_DATA, course_file, word_pairs
from bertcourse.files import write_table
from bertcourse.static_embeddings import (
    Question,
    WordVectors,
    analogy_scores,
    course_analogies,
    keep_probability,
    ppmi,
    svd_vectors,
    train_word2vec,
    word_ids,
    words_of,
)
from bertcourse.static_embeddings.word2vec_fast import window_weights
from bertcourse_lab.benchmarks.tables import table_lines
from bertcourse_lab.datasets import judged_pairs
from bertcourse_lab.datasets.books import book_texts, paragraphs
from bertcourse_lab.datasets.judged_pairs import agreement_with_people, men_pairs
from bertcourse_lab.datasets.words import google_analogies
from bertcourse_lab.pretraining.shards import HELD_OUT_BOOKS

SIZE, WINDOW = 100, 5
THRESHOLD, EPOCHS = (inspect.signature(train_word2vec).parameters[name].default for name in ("threshold", "epochs"))
ELSEWHERE = {"platform": platform.machine(), "torch": torch.__version__, "numpy": np.__version__}


TITLES = {
    "static_embeddings_words": "Word vectors by counting and by word2vec: people's judgements and analogies",
    "static_embeddings_speed": "word2vec beside gensim, one thread each, in one run",
}


def write(folder: Path, name: str, result: dict) -> None:
    """The rows of a study, as JSON and as a table with a column for each number."""
    rows = result["rows"]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [f"# {TITLES[name]}", "", *table_lines(columns, [[shown(row.get(c)) for c in columns] for row in rows])]
    write_table(folder, name, result, "\n".join(lines) + "\n")


def shown(value: str | float | None) -> str:
    """A cell of a table.

    >>> shown(0.6713), shown(4_362_951.0), shown(56.56), shown(5216), shown(None)
    ('0.671', '4,362,951', '56.6', '5,216', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    digits = 0 if isinstance(value, int) or value >= 1000 else 1 if value >= 10 else 3
    return f"{value:,.{digits}f}"


def measures(vectors: WordVectors) -> dict:
    """What word vectors know, in numbers."""
    men, simlex = men_pairs(), judged_pairs.word_pairs("simlex999")
    row = {"MEN": agreement_with_people(vectors, men).correlation}
    row["MEN, other half"] = agreement_with_people(vectors, men[1::2]).correlation
    row["SimLex"] = agreement_with_people(vectors, simlex).correlation
    for name, sections in (("Google", google_analogies()), ("course", course_analogies())):
        for exclude in (True, False):
            score = analogy_scores(vectors, sections, exclude)["all"]
            row[f"{name}{'' if exclude else ', inputs allowed'}"] = score.accuracy
        row[f"{name}, nearest to c"] = nearest_to_c(vectors, sum(sections.values(), []))
        row[f"{name} covered"] = score.covered
    return row


def nearest_to_c(vectors: WordVectors, questions: list[Question]) -> float:
    """A baseline for analogies that uses a and b only to leave them out: how often the word nearest to c is d."""
    known = [each for each in questions if all(word in vectors for word in each)]
    near = {c: [n.word for n in vectors.neighbours(c, 3)] for c in {each.c for each in known}}
    return float(np.mean([next(w for w in near[q.c] if w not in q[:3]) == q.d for q in known]))


def spelled(a: str, b: str, c: str) -> str:
    """A baseline for analogies that knows only letters: what b puts before a, or in place of its end, c gets, too."""
    if b.endswith(a):
        return b.removesuffix(a) + c
    same = len(os.path.commonprefix([a, b]))
    return c.removesuffix(a[same:]) + b[same:]


def spelling_alone(questions: list[Question], words: Sequence[str]) -> dict:
    """How often ``spelled`` is right: of the questions on which word vectors are scored, and of all.

    Args:
        questions: of analogies.
        words: those that have a vector; a question is covered if all four of its words are among them.
    """
    vocabulary = set(words)
    right = np.array([spelled(*each[:3]) == each.d for each in questions])
    covered = np.array([vocabulary.issuperset(each) for each in questions])
    return {
        "covered": int(covered.sum()),
        "right of those covered": float(right[covered].mean()),
        "questions": len(questions),
        "right of all": float(right.mean()),
    }


def timed(work: Callable[[], WordVectors]) -> tuple[WordVectors, float]:
    """A result, and the CPU seconds that it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def words(options: argparse.Namespace) -> None:
    """The subcommand of that name."""
    table = word_pairs()
    result = {"settings": {"size": SIZE, "window": WINDOW}, "versions": ELSEWHERE}
    result["spelling alone"] = {
        name: spelling_alone(sum(sections.values(), []), table.words)
        for name, sections in (("Google", google_analogies()), ("course", course_analogies()))
    }
    result["rows"] = []

    def add(method: str, seed: int | None, work: Callable[[], WordVectors]) -> None:
        vectors, seconds = timed(work)
        result["rows"].append({"method": method, "seed": seed, "CPU seconds": round(seconds, 1), **measures(vectors)})
        print(json.dumps(result["rows"][-1]), flush=True)
        write(options.output, "static_embeddings_words", result)

    add("PPMI and SVD", None, lambda: WordVectors(table.words, svd_vectors(ppmi(table.matrix()), SIZE)))
    for seed in range(options.seeds):
        add("word2vec, table of pairs", seed, lambda: train_word2vec(table, size=SIZE, seed=seed))
    texts = runpy.run_path(str(course_file("pairs/make.py")))["texts"]
    ids = word_ids(texts(), table.words, gap=WINDOW)
    for seed in range(options.seeds):
        work = lambda: train_word2vec(ids, table.words, size=SIZE, window=WINDOW, seed=seed)  # noqa: E731
        add("word2vec, running text", seed, work)


GENSIM = """
import json, sys, time
import numpy as np
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

folder, epochs, size, window = sys.argv[1], *map(int, sys.argv[2:5])
words = open(f"{folder}/words.txt", encoding="utf-8").read().split()
ids = np.load(f"{folder}/ids.npy")
cuts = np.flatnonzero(ids == -1)
sentences = [[words[i] for i in piece if i >= 0] for piece in np.split(ids, cuts)]
sentences = [piece for piece in sentences if piece]


class Log(CallbackAny2Vec):
    def __init__(self):
        self.epoch, self.start, self.spent = 0, time.process_time(), 0.0

    def on_epoch_end(self, model):
        self.epoch += 1
        self.spent += time.process_time() - self.start
        model.wv.save_word2vec_format(f"{folder}/{self.epoch}.txt")
        print(json.dumps({"epoch": self.epoch, "seconds": self.spent}), flush=True)
        self.start = time.process_time()


model = Word2Vec(vector_size=size, window=window, sg=1, negative=5, sample=1e-4, min_count=1, workers=1, seed=1)
model.build_vocab(sentences)
model.train(sentences, total_examples=len(sentences), epochs=epochs, callbacks=[Log()])
"""


def pairs_per_epoch(ids: np.ndarray, keep: np.ndarray, gensim_keeps: np.ndarray) -> tuple[float, float]:
    """How many pairs of a text we learn from, thinning the pairs, and how many gensim does, thinning the text first.

    Args:
        ids: (N,), a text as numbers, with -1 between paragraphs.
        keep: (V,), how likely we are to keep an occurrence of each word.
        gensim_keeps: (V,), how likely gensim is to.
    """
    chance, theirs = (np.where(ids >= 0, each[ids], 0) for each in (keep, gensim_keeps))
    left = ids[(ids < 0) | (np.random.default_rng(0).random(len(ids)) < theirs)] >= 0
    weights = list(enumerate(window_weights(WINDOW), 1))
    ours, theirs = (sum(2 * w * (x[d:] @ x[:-d]) for d, w in weights) for x in (chance, left.astype(np.float64)))
    return float(ours), float(theirs)


def speed(options: argparse.Namespace) -> None:
    """The subcommand of that name."""
    words = word_pairs().words
    number_of, paragraph_end = {word: i for i, word in enumerate(words)}, [-1] * WINDOW
    lines = chain(*(paragraphs(text) for book, text in book_texts("books") if book.name not in HELD_OUT_BOOKS))
    pieces = ([number_of[word] for word in words_of(line) if word in number_of] for line in lines)
    ids = np.array(list(chain.from_iterable(piece + paragraph_end for piece in pieces)), dtype=np.int32)
    counts, rows = np.bincount(ids[ids >= 0], minlength=len(words)), []
    vectors, seconds = timed(lambda: train_word2vec(ids, words, size=SIZE, window=WINDOW))
    keep = keep_probability(counts, THRESHOLD)
    gensim_keeps = np.minimum(1, keep + keep**2)  # √(t / f) + t / f, as word2vec's own code has it, not its paper
    ours, theirs = pairs_per_epoch(ids, keep, gensim_keeps)
    rows.append({"who": "ours", "epoch": EPOCHS, "CPU seconds": seconds, "pairs per second": ours * EPOCHS / seconds})
    rows[-1] |= measures(vectors)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "words.txt").write_text("\n".join(words), encoding="utf-8")
        np.save(Path(folder, "ids.npy"), ids)
        arguments = [options.python, "-c", GENSIM, folder, *map(str, (options.epochs, SIZE, WINDOW))]
        logged = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()
        for each in map(json.loads, logged):
            row = {"who": "gensim", "epoch": each["epoch"], "CPU seconds": each["seconds"]}
            row["pairs per second"] = theirs * each["epoch"] / each["seconds"]
            rows.append(row | measures(WordVectors.load(Path(folder, f"{each['epoch']}.txt"))))
    for row in rows:
        row["CPU seconds, ours = 1"] = row["CPU seconds"] / rows[0]["CPU seconds"]
        print(json.dumps(row))
    result = {"words": int((ids >= 0).sum()), "threads": torch.get_num_threads(), "versions": ELSEWHERE, "rows": rows}
    write(options.output, "static_embeddings_speed", result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("words", "speed"))
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5, help="speed: of gensim")
    parser.add_argument("--python", default=sys.executable, help="speed: a Python that has gensim")
    options = parser.parse_args()
    torch.set_num_threads(1)
    {"words": words, "speed": speed}[options.study](options)


if __name__ == "__main__":
    main()

"""Word vectors by counting and by word2vec on people's judgements and on analogies: a table of lecture 0.

    BERTCOURSE_DATA=FOLDER python tools/studies/static_embeddings.py     # three minutes of CPU

Both methods read the same table of pairs (data/pairs): PPMI with SVD, and word2vec as lecture 0 trains it, with
three seeds. Measured are Spearman's correlation with people (MEN, SimLex-999) and analogies
(Google's where the vocabulary covers them, and the course's), with and without the rule that no word of the question
may be the answer. Beside them are two baselines for analogies: the word nearest to c, and spelling alone, on the same
questions (and, without vectors, on all). word2vec's threshold, negatives and Adam's second moment were chosen on every
second pair of MEN, from the first; "MEN, other half" is the rest.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from bertcourse.datasets import COURSE_DATA, word_pairs
from bertcourse.static_embeddings import (
    Question,
    WordVectors,
    course_analogies,
    ppmi,
    svd_vectors,
    thinned,
    train_word2vec,
)
from bertcourse_lab.analogies import analogy_scores
from bertcourse_lab.benchmarks.tables import table_lines, write_table
from bertcourse_lab.datasets import judged_pairs
from bertcourse_lab.datasets.judged_pairs import human_correlation
from bertcourse_lab.datasets.words import google_analogies

NAME, SIZE = "static_embeddings_words", 100
ELSEWHERE = {"platform": platform.machine(), "torch": torch.__version__, "numpy": np.__version__}


TITLE = "Word vectors by counting and by word2vec: people's judgements and analogies"


def write(folder: Path, result: dict) -> None:
    """The rows of the study, as JSON and as a table with a column for each number."""
    rows = result["rows"]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [f"# {TITLE}", "", *table_lines(columns, [[shown(row.get(c)) for c in columns] for row in rows])]
    write_table(folder, NAME, result, "\n".join(lines) + "\n")


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
    men, simlex = judged_pairs.word_pairs("men"), judged_pairs.word_pairs("simlex999")
    row = {"MEN": human_correlation(vectors, men)}
    row["MEN, other half"] = human_correlation(vectors, men[1::2])
    row["SimLex"] = human_correlation(vectors, simlex)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = word_pairs()
    result = {"settings": {"size": SIZE}, "versions": ELSEWHERE, "rows": []}
    result["spelling alone"] = {
        name: spelling_alone(sum(sections.values(), []), table.words)
        for name, sections in (("Google", google_analogies()), ("course", course_analogies()))
    }

    def add(method: str, seed: int | None, work: Callable[[], NDArray]) -> None:
        vectors, seconds = timed(lambda: WordVectors(table.words, work()))
        result["rows"].append({"method": method, "seed": seed, "CPU seconds": round(seconds, 1), **measures(vectors)})
        print(json.dumps(result["rows"][-1]), flush=True)
        write(options.output, result)

    pairs = table.matrix()
    left = thinned(pairs, table.word_counts)
    add("PPMI and SVD", None, lambda: svd_vectors(ppmi(pairs), SIZE))
    for seed in range(options.seeds):
        add("word2vec", seed, lambda: train_word2vec(left, table.word_counts, size=SIZE, seed=seed)[0])


if __name__ == "__main__":
    main()

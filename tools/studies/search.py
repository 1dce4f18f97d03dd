"""How fast is the course's search? Our BM25 beside bm25s (Lù 2024), and beside exact search among vectors, in one run.

    BERTCOURSE_DATA=FOLDER python tools/studies/search.py

On Cranfield's 1,400 abstracts and 225 queries, with one thread. Both get the same lists of words and return the scores
of all passages for each query; the ratio says how many times as long ours takes (the median of five rounds, with ours
and theirs in turn). The scores are compared, too.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import bm25s
import numpy as np
import torch

from bertcourse.bert import load_pretrained
from bertcourse.datasets import COURSE_DATA
from bertcourse.files import replace_files
from bertcourse.retrieval import BM25, BiEncoder, words_of
from bertcourse_lab.datasets.collections import cranfield

ROUNDS = 5


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes by the clock."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compared(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float, float]:
    """The median seconds of both, and the median of the rounds' own ratios."""
    rounds = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    return (*map(statistics.median, zip(*rounds)), statistics.median(first / second for first, second in rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=Path, default=COURSE_DATA / "results", help="folder for the table (default: data/results)"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    collection = cranfield()
    passages, queries = (
        [words_of(text) for text in texts.values()] for texts in (collection.passages, collection.queries)
    )

    def their_index() -> bm25s.BM25:
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        index.index(passages, show_progress=False)
        return index

    texts = [" ".join(words) for words in passages]  # ours reads texts; splitting them at spaces counts as its time

    def our_index() -> BM25:
        return BM25(texts, tokenize=str.split)

    ours, theirs = our_index(), their_index()
    known = [[word for word in query if word in ours.postings] for query in queries]
    asked = [" ".join(words) for words in known]
    worst = max(np.abs(ours.scores(a) - theirs.get_scores(b)).max() for a, b in zip(asked, known))
    encoder = BiEncoder(*load_pretrained("minilm"), max_length=256)
    vectors = encoder.vectors(list(collection.queries.values()))
    told = torch.nn.functional.normalize(torch.randn(len(passages), vectors.shape[1]), dim=1)
    build = compared(our_index, their_index)
    ask = compared(
        lambda: [ours.scores(query) for query in asked], lambda: [theirs.get_scores(query) for query in known]
    )
    product = statistics.median(seconds(lambda: [query @ told.T for query in vectors]) for _ in range(ROUNDS))
    reading = seconds(lambda: [encoder.vectors([text]) for text in list(collection.queries.values())[:50]]) / 50
    table = "\n".join(
        [
            f"# Search among {len(passages):,} abstracts, {len(queries)} queries, one thread",
            "",
            f"Largest difference between a score of ours and of bm25s: {worst:.1e}.",
            "",
            "| | ours | bm25s | ours takes |",
            "|---|---|---|---|",
            f"| index | {build[0]:.2f} s | {build[1]:.2f} s | {build[2]:.2f} × |",
            f"| a query | {1e6 * ask[0] / len(queries):.0f} µs | {1e6 * ask[1] / len(queries):.0f} µs | "
            f"{ask[2]:.2f} × |",
            "",
            f"A query's vector times those of all passages (384 numbers each): {1e6 * product / len(queries):.0f} "
            f"µs; to make "
            f"that vector with MiniLM: {1e3 * reading:.0f} ms.",
            "",
        ]
    )
    print(table)
    with replace_files(options.output, ["search_speed.md"]) as draft:
        (draft / "search_speed.md").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()

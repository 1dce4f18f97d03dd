"""Lecture 12's encoder-decoder translates German: sentences of up to eight words, a minute and a half of CPU a seed.

    python tools/studies/german_english.py --pairs FOLDER/deu-eng/deu.txt

The pairs are Tatoeba's, as manythings.org gives them (English, a tab, German); they are not the course's to hand out,
and nothing of them is stored: the result has shares, and how sentences of our own are translated. Sentences with words
that are not among the commonest of both languages together are left out. The German sentences that are asked for were
never read; a translation counts if it is one of those that the file gives. The rival looks up the read sentence that
shares most words with the one that is asked for, and gives its translation.
"""

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from pathlib import Path

import torch

from bertcourse.datasets import COURSE_DATA
from bertcourse.decoders import (
    EncoderDecoder,
    pad_texts,
    small_config,
    train_language_model,
    translate,
    translation_loss,
)
from bertcourse.decoders.language_model import shuffled
from bertcourse_lab.benchmarks.tables import band, write_table

SPECIAL, START, STOP = ("[PAD]", "[START]", "[STOP]"), 1, 2
SHORTEST, LONGEST, WORDS, ASKED = 3, 8, 3000, 300
STEPS, BATCH, RATE = 1500, 64, 3e-3
OURS = ("das wasser ist kalt .", "wo ist mein buch ?", "wir haben keine zeit .", "ich kann nicht schlafen .")
Pair = tuple[tuple[str, ...], tuple[str, ...]]  # German, English


def words_of(text: str) -> tuple[str, ...]:
    """Words and marks, in lower case.

    >>> words_of("Ich bin's!")
    ('ich', "bin's", '!')
    """
    return tuple(re.findall(r"[\wäöüß']+|[.?!,]", text.lower()))


def read_pairs(path: Path) -> tuple[list[Pair], list[str]]:
    """Short sentences of common words, in random order, and the words."""
    lines = (line.split("\t")[:2] for line in path.read_text(encoding="utf-8").splitlines() if line.count("\t"))
    pairs = [(words_of(german), words_of(english)) for english, german in lines]
    pairs = [pair for pair in pairs if all(SHORTEST <= len(side) <= LONGEST for side in pair)]
    random.Random(0).shuffle(pairs)
    counts = sum((Counter(word for pair in pairs for word in pair[side]) for side in (0, 1)), Counter())
    words = [*SPECIAL, *(word for word, _ in counts.most_common(WORDS))]
    known = set(words)
    return [pair for pair in pairs if known.issuperset(pair[0] + pair[1])], words


def split(pairs: list[Pair]) -> tuple[list[tuple[str, ...]], list[Pair], dict[tuple[str, ...], set]]:
    """German sentences to ask for, the pairs of all others but our own, and every sentence's translations."""
    german = sorted({pair[0] for pair in pairs})
    random.Random(1).shuffle(german)
    answers = defaultdict(set)
    for source, target in pairs:
        answers[source].add(target)
    asked = german[:ASKED]
    unread = {*asked, *map(words_of, OURS)}
    return asked, [pair for pair in pairs if pair[0] not in unread], answers


def nearest_is_right(pairs: list[Pair]) -> float:
    """The share that is right if each sentence gets the translation of the read one that shares most words with it."""
    asked, train, answers = split(pairs)
    bags = [set(source) for source, _ in train]

    def nearest(sentence: tuple[str, ...]) -> tuple[str, ...]:
        bag = set(sentence)
        return train[max(range(len(train)), key=lambda i: len(bag & bags[i]) / len(bag | bags[i]))][1]

    return sum(nearest(sentence) in answers[sentence] for sentence in asked) / len(asked)


def measure(pairs: list[Pair], words: list[str], seed: int, steps: int) -> dict:
    """Train one model; the share of unread German sentences that are translated exactly, and sentences of our own."""
    ids = {word: number for number, word in enumerate(words)}
    asked, train, answers = split(pairs)

    def encode(sentence: tuple[str, ...]) -> list[int]:
        return [START, *(ids[word] for word in sentence), STOP]

    def batches(generator: torch.Generator):
        for some in shuffled(len(train), BATCH, generator):
            yield tuple(pad_texts([encode(train[i][side]) for i in some]) for side in (0, 1))

    def translated(sentences: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        rows = translate(model, pad_texts([encode(each) for each in sentences]), START, LONGEST + 2).tolist()
        return [tuple(words[i] for i in (row[: row.index(STOP)] if STOP in row else row)) for row in rows]

    torch.manual_seed(seed)
    model, begun = EncoderDecoder(small_config(len(words), 128, 16, layers=1)), time.process_time()
    generator = torch.Generator().manual_seed(seed)
    train_language_model(model, batches(generator), steps, RATE, translation_loss)
    seconds = time.process_time() - begun
    right = sum(found in answers[source] for source, found in zip(asked, translated(asked)))
    ours = {
        " ".join(each): " ".join(found) for each, found in zip(map(words_of, OURS), translated([*map(words_of, OURS)]))
    }
    return {"seed": seed, "pairs": len(train), "exact": right / len(asked), "seconds": round(seconds), "ours": ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="the file deu.txt")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    pairs, words = read_pairs(options.pairs)
    rows = []
    for seed in options.seeds:
        rows.append(measure(pairs, words, seed, options.steps))
        print(rows[-1], flush=True)
    table = {"steps": options.steps, "nearest": nearest_is_right(pairs), "rows": rows}
    write_table(options.output, "german_english", table, markdown(**table))


def markdown(steps: int, nearest: float, rows: list[dict]) -> str:
    """Two sentences, with the lowest and the highest of the seeds."""
    exact, seconds = band([row["exact"] for row in rows], ".1%"), band([row["seconds"] for row in rows], ".0f")
    return (
        f"# German into English: {len(rows)} seeds\n\n{exact} of {ASKED} unread German sentences are right, "
        f"after {steps:,} steps on {rows[0]['pairs']:,} pairs, {seconds} s of CPU. The translation of the read "
        f"sentence that shares most words is right for {nearest:.1%}.\n"
    )


if __name__ == "__main__":
    main()

"""One sense per discourse, measured: does a word keep its sense within a document?

    python tools/studies/one_sense_per_discourse.py     # SemCor and WordNet; a quarter of a minute

For each word with several senses in WordNet, and each document of SemCor in which it occurs twice or more: how many
pairs of its occurrences have the same sense? Chance is the same for pairs from two different documents, with the same
words counted equally often. The result goes to data/results/one_sense_per_discourse.json; lecture 5 reads it. Claim and
name: Gale, Church & Yarowsky 1992; doubts: Krovetz 1998, "More than One Sense Per Discourse".
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import comb
from pathlib import Path

import numpy as np

from bertcourse.datasets import course_file
from bertcourse.files import replace_files
from bertcourse.word_senses import PARTS_OF_SPEECH, Word
from bertcourse_lab.datasets.dictionary import word_senses, wordnet
from bertcourse_lab.datasets.sense_corpora import Instance, SenseCorpus, sense_corpus

NAMES = (("person", "NOUN"), ("group", "NOUN"), ("location", "NOUN"))
FILE = "one_sense_per_discourse.json"
Counts = Mapping[Word, Mapping[str, Counter[str]]]  # how often, by word, document and sense


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = course_file("results/README.md").parent
    parser.add_argument("--output", type=Path, default=folder, help="(default: %(default)s)")
    options = parser.parse_args()
    corpus = sense_corpus("semcor")
    senses = word_senses(wordnet(), [instance.word for instance in corpus.instances])
    names = [is_name(corpus, instance) for instance in corpus.instances]
    instances = [instance for instance, name in zip(corpus.instances, names) if not name and len(instance.senses) == 1]
    result = {
        "documents": len({document(instance) for instance in corpus.instances}),
        "names_left_out": sum(names),
        "with_several_senses_left_out": len(names) - sum(names) - len(instances),
        "rows": rows(instances, senses),
    }
    with replace_files(options.output, [FILE]) as draft:
        (draft / FILE).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for row in result["rows"]:
        print(
            f"{row['senses']:11} {row['words']:4}  one sense {row['one_sense']:.1%}  same {row['same']:.1%}  "
            f"chance {row['chance']:.1%}  difference {row['low']:.1%} to {row['high']:.1%}"
        )


def document(instance: Instance) -> str:
    """The document of an instance: "d000" of "d000.s000.t000"."""
    return instance.id.split(".")[0]


def is_name(corpus: SenseCorpus, instance: Instance) -> bool:
    """Whether it is a proper name: SemCor gives "Fulton County Grand Jury" the lemma "group" and its first sense.

    Otherwise, all names of people in a document would be the word "person" in one sense.
    """
    surface = corpus.sentences[instance.sentence][instance.position].lower()
    return instance.word in NAMES and not surface.startswith(instance.word[0])


def supersense(key: str) -> str:
    """A key's part of speech and lexicographer file: "1:17" (an object of nature) for "bank%1:17:01::"."""
    return ":".join(key.split("%")[1].split(":")[:2])


def rows(instances: Sequence[Instance], senses: Mapping[Word, Sequence[str]]) -> list[dict]:
    """The table: WordNet's senses for all words and by part of speech, and its supersenses for nouns and verbs."""
    kinds: dict[str, Callable[[str], str]] = {"WordNet": str, "supersense": supersense}
    wanted = [("WordNet", "all"), *(("WordNet", part) for part in PARTS_OF_SPEECH)]
    wanted += [("supersense", part) for part in ("NOUN", "VERB")]  # adjectives have only one or two
    return [
        {"senses": kind, "words": part, **measure(count(instances, senses, kinds[kind], part))} for kind, part in wanted
    ]


def count(
    instances: Sequence[Instance], senses: Mapping[Word, Sequence[str]], kind: Callable[[str], str], part: str
) -> Counts:
    """How often each word has each sense in each document.

    Args:
        instances: occurrences, each of one sense.
        senses: the senses of each word in WordNet; a word with only one is left out.
        kind: turns a sense's key into what counts as its sense.
        part: of speech, or "all".
    """
    counts: dict = defaultdict(lambda: defaultdict(Counter))
    for each in instances:
        ambiguous = len({kind(key) for key in senses.get(each.word, ())}) > 1
        if ambiguous and part in ("all", each.word[1]):
            counts[each.word][document(each)][kind(each.senses[0])] += 1
    return counts


def pairs_of(counter: Counter[str]) -> tuple[int, int]:
    """How many pairs of occurrences there are, and how many of these have the same sense.

    >>> pairs_of(Counter({"river": 2, "money": 1}))
    (3, 1)
    """
    return comb(counter.total(), 2), sum(comb(number, 2) for number in counter.values())


def measure(counts: Counts, resamples: int = 2000, seed: int = 0) -> dict:
    """Shares of pairs with the same sense, within documents and by chance.

    A case is a word in a document in which it occurs twice or more. "same" is the mean over cases of the share of their
    pairs with the same sense, "chance" the mean of that share for the case's word between documents, "one_sense" the
    share of cases whose pairs all have the same sense. A word never found in two documents has no chance level, and is
    left out. Documents are resampled for the 95 % interval of the difference, with the chance levels held fixed. In
    "pairs_same" and "pairs_chance" every pair counts the same, so that a few frequent verbs dominate.

    Args:
        counts: how often each sense occurs, by word and document.
        resamples: how many sets of documents to draw.
        seed: for the draws.
    """
    cases = []  # document, pairs, those of one sense, chance
    for documents in counts.values():
        within = {name: pairs_of(senses) for name, senses in documents.items()}
        pairs, same = pairs_of(sum(documents.values(), Counter()))
        between = pairs - sum(each[0] for each in within.values())
        if between:
            chance = (same - sum(each[1] for each in within.values())) / between
            cases += [(name, *each, chance) for name, each in within.items() if each[0]]
    names, pairs, same, chance = (np.array(column) for column in zip(*cases, strict=True))
    _, number = np.unique(names, return_inverse=True)
    gains, sizes = np.bincount(number, same / pairs - chance), np.bincount(number)  # by document
    draws = np.random.default_rng(seed).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), resamples)
    low, high = np.quantile(draws @ gains / (draws @ sizes), [0.025, 0.975])
    values = {
        "one_sense": np.mean(same == pairs),
        "same": np.mean(same / pairs),
        "chance": np.mean(chance),
        "low": low,
        "high": high,
        "pairs_same": same.sum() / pairs.sum(),
        "pairs_chance": (chance * pairs).sum() / pairs.sum(),
    }
    rounded = {name: round(float(value), 4) for name, value in values.items()}
    return {"cases": len(cases), "pairs": int(pairs.sum())} | rounded


if __name__ == "__main__":
    main()

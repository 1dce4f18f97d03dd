"""Chapter 7: public sets of texts and pairs, from ``BERTCOURSE_DATA``, the user's cache or the network.

Choose hyperparameters and when to stop on ``dev``; look at ``test`` once. Where the official test labels are secret,
``test`` is the official dev split, which papers report, and ``dev`` is a part of the official train split.
"""

import csv
import itertools
import json
import random
import re
import zipfile
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from bertcourse.fine_tuning.readers import LabeledText, read_tsv
from bertcourse_lab.datasets.registry import fetch

INFERENCES = ("entailment", "neutral", "contradiction")
SENTIMENTS = {"0": "negative", "1": "positive"}


class Splits(NamedTuple):
    """Lists of examples to learn from, to choose with, and to report on."""

    train: list
    dev: list
    test: list


def sst2(held_out: bool = True, shortest: int = 1) -> Splits:
    """SST-2: is a phrase of a film review positive or negative? 58,886 phrases, 860 sentences, and the official 872.

    The official train split has sentences and phrases cut from them. ``dev`` is an eighth of these sentences, and
    ``train`` has no phrase whose longest source is in ``dev``: when phrases were drawn at random as dev, a model was
    right on 96 % of dev but 89 % of test. (Of train, 1,280 phrases, most of a single word, stand in a sentence of dev
    as well.) Texts are ``untokenized``.

    Args:
        held_out: False for the whole official train split of 67,349 phrases, including dev: to learn from once dev has
            served to choose the settings.
        shortest: how many words a train phrase must have, unless it is a sentence; more than a quarter have fewer than
            four.

    Socher et al. 2013, "Recursive Deep Models"; GLUE, Wang et al. 2019.
    """
    train, dev, test = (
        [LabeledText(text, SENTIMENTS[label]) for text, label in read_tsv(path)] for path in fetch("sst2")
    )
    phrases = train + dev
    whole = sentences_of([phrase.text for phrase in phrases])
    sentences = sorted(set(whole))
    chosen = set(random.Random(0).sample(sentences, len(sentences) // 8))
    train = [
        phrase
        for number, (phrase, sentence) in enumerate(zip(phrases, whole))
        if not (held_out and sentence in chosen) and (number == sentence or len(phrase.text.split()) >= shortest)
    ]
    dev = [phrases[sentence] for sentence in sorted(chosen)]
    return Splits(*([each._replace(text=untokenized(each.text)) for each in split] for split in (train, dev, test)))


def untokenized(text: str) -> str:
    """A text with the words that the Penn Treebank cuts in two, and its quotes, written as people write them.

    >>> print(untokenized("it does n't ``work''"))
    it doesn't "work"
    """
    return re.sub(r" (n't|'(?:s|re|ve|ll|d|m))\b", r"\1", text).replace("``", '"').replace("''", '"')


def rte() -> Splits:
    """RTE: does a text entail a hypothesis? 2,127 pairs, 363, and the official 277.

    Dagan et al. 2006 and later, "The PASCAL Recognising Textual Entailment Challenge"; GLUE, Wang et al. 2019.
    """
    train, dev, test = fetch("rte")
    return Splits(read_tsv(train), read_tsv(dev, ("index", "sentence1", "sentence2", "label")), read_tsv(test))


def snli() -> Splits:
    """SNLI: what a sentence says about the scene of a caption. 8,856 pairs, 986, and the official test of 9,824.

    The official dev split (9,842 pairs with a gold label), of whose premises a tenth is ``dev``; the official train
    split is not used. Bowman et al. 2015, "A large annotated corpus for learning natural language inference".
    """
    known, test = (
        [LabeledText(text, INFERENCES[int(label)]) for text, label in read_tsv(path)] for path in fetch("snli")
    )
    premises = sorted({pair.text[0] for pair in known})
    random.Random(0).shuffle(premises)
    held_out = set(premises[: len(premises) // 10])
    return Splits([p for p in known if p.text[0] not in held_out], [p for p in known if p.text[0] in held_out], test)


def inference_tests() -> dict[str, list[LabeledText]]:
    """Pairs that are only for testing: ConjNLI's dev split (623), Breaking NLI (8,193) and MED (5,382).

    Saha et al. 2020: conjunctions. Glockner et al. 2018: the sentences of a pair differ in a word. Yanaka et al. 2019:
    monotonicity; its labels are entailment and neutral.
    """
    (conjunctions,), (words,), (monotonicity,) = (fetch(name) for name in ("conjnli", "breaking-nli", "med"))
    with conjunctions.open(encoding="utf-8-sig", newline="") as file:
        of_conjunctions = [
            LabeledText((row["Premise"], row["Hypothesis"]), row["Label"])
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
    with zipfile.ZipFile(words) as archive:
        rows = [json.loads(line) for line in archive.read("data/dataset.jsonl").decode("utf-8").splitlines()]
    of_words = [LabeledText((row["sentence1"], row["sentence2"]), row["gold_label"]) for row in rows]
    with monotonicity.open(encoding="utf-8", newline="") as file:
        of_monotonicity = [
            LabeledText((row["sentence1"], row["sentence2"]), row["gold_label"])
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
    return {"ConjNLI": of_conjunctions, "Breaking NLI": of_words, "MED": of_monotonicity}


def split_by(examples: Sequence, group_of: Callable[..., Hashable], seed: int = 0) -> Splits:
    """Split examples 80/10/10 % by whole groups, so that no document is in two splits.

    Args:
        examples: in any order, which is kept.
        group_of: from an example to its document or article.
        seed: of the shuffle.
    """
    groups = list(dict.fromkeys(map(group_of, examples)))
    if len(groups) < 3:
        raise ValueError(f"expected at least three documents, one per split; got {len(groups)}.")
    random.Random(seed).shuffle(groups)
    tenth = max(1, round(len(groups) / 10))
    split_of = {group: min(number // tenth, 2) for number, group in enumerate(groups)}
    dev, test, train = ([each for each in examples if split_of[group_of(each)] == number] for number in range(3))
    return Splits(train, dev, test)


def sentences_of(phrases: Sequence[str]) -> list[int]:
    """For each phrase the index of the sentence that it was cut from: the longest that has its words in a row.

    >>> sentences_of(["a fine", "a fine film", "film", "fine film ."])
    [1, 1, 1, 3]
    """
    words = [phrase.split() for phrase in phrases]
    sentence_of: dict[tuple[str, ...], int] = {}
    for index in sorted(range(len(phrases)), key=lambda index: -len(words[index])):
        if tuple(words[index]) not in sentence_of:
            for start, end in itertools.combinations(range(len(words[index]) + 1), 2):
                sentence_of.setdefault(tuple(words[index][start:end]), index)
    return [sentence_of.get(tuple(each), index) for index, each in enumerate(words)]

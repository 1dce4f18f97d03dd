"""Chapter 5: the WSD Evaluation Framework's corpora (Raganato et al. 2017): words in XML, senses in a second file."""

import io
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from bertcourse.datasets.data import read_text
from bertcourse.word_senses.keys import PARTS_OF_SPEECH, SENSE_KEY, Word
from bertcourse_lab.datasets.registry import fetch

CORPORA = ("semcor", "ALL", "senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")


class Instance(NamedTuple):
    """A word whose sense is known.

    Attributes:
        id: its name in the corpus.
        word: (lemma, part of speech), such as ("bank", "NOUN").
        sentence: index of its sentence.
        position: index of the word in the sentence.
        senses: WordNet's keys of the senses that annotators accept.
    """

    id: str
    word: Word
    sentence: int
    position: int
    senses: tuple[str, ...]


class SenseCorpus(NamedTuple):
    """Sentences, with senses for some of their words.

    Attributes:
        sentences: lists of words, where one "word" may be several, such as "primary election".
        instances: the words with senses, in the order of the text.
    """

    sentences: list[list[str]]
    instances: list[Instance]

    def positions(self) -> list[list[int]]:
        """The positions of each sentence's instances; as ``only``, they make ``word_vectors`` return just these."""
        positions = [[] for _ in self.sentences]
        for instance in self.instances:
            positions[instance.sentence].append(instance.position)
        return positions


def sense_corpus(name: str) -> SenseCorpus:
    """A public corpus, fetched if it is not here.

    Args:
        name: "semcor" to learn from; "ALL", or one of its parts, "senseval2", "senseval3", "semeval2007", "semeval2013"
            and "semeval2015", to evaluate on.

    Source: Raganato et al. 2017, "Word Sense Disambiguation: A Unified Evaluation Framework and Empirical Comparison".
    """
    if name not in CORPORA:
        raise ValueError(f"a corpus must be one of {', '.join(CORPORA)}; got {name!r}.")
    return read_senses(*fetch(name))


def read_senses(data: str | os.PathLike, keys: str | os.PathLike) -> SenseCorpus:
    """A corpus of the WSD Evaluation Framework.

    Args:
        data: NAME.data.xml, or the same as .xz.
        keys: NAME.gold.key.txt, or the same as .xz: in each line an instance's id and one or more sense keys.

    Raises:
        ValueError: naming the file and what was expected, if one has another format or they do not belong together.
    """
    gold = read_keys(Path(keys))
    sentences, found = read_sentences(Path(data))
    if alone := sorted(gold.keys() ^ found.keys()):
        raise ValueError(
            f"{data} and {keys} must have the same instances; {len(alone)} are in one alone, the first is {alone[0]}. "
            "Are the files of one corpus?"
        )
    return SenseCorpus(sentences, [Instance(id, *place, gold[id]) for id, place in found.items()])


def read_keys(path: Path) -> dict[str, tuple[str, ...]]:
    """The sense keys of each instance, by its id."""
    gold: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        id, *senses = line.split() or [""]
        if id in gold or not senses or not all(SENSE_KEY.fullmatch(sense) for sense in senses):
            raise ValueError(
                f'{path}, line {number}: expected a new id and sense keys, such as "d0.s0.t0 bank%1:17:01::"; got '
                f"{line!r:.80}."
            )
        gold[id] = tuple(senses)
    return gold


def read_sentences(path: Path) -> tuple[list[list[str]], dict[str, tuple[Word, int, int]]]:
    """The sentences; and, by the id of each instance, its word, the index of its sentence and its position there."""
    sentences: list[list[str]] = []
    instances: dict[str, tuple[Word, int, int]] = {}
    try:
        for _, element in ElementTree.iterparse(io.StringIO(read_text(path))):
            if element.tag != "sentence":
                continue
            words = []
            for child in element:
                words.append((child.text or "").strip())
                id, lemma, part = (child.get(name) for name in ("id", "lemma", "pos"))
                is_instance = child.tag == "instance"
                if not words[-1] or is_instance and (not id or id in instances or not lemma):
                    raise ValueError(
                        f"{path}: expected words, and instances with a lemma and a new id; got {place(child)}"
                    )
                if is_instance and part not in PARTS_OF_SPEECH:
                    raise ValueError(f"{path}: pos must be one of {', '.join(PARTS_OF_SPEECH)}; got {place(child)}")
                if is_instance:
                    instances[id] = (lemma.lower().replace(" ", "_"), part), len(sentences), len(words) - 1
            sentences.append(words)
            element.clear()  # a large corpus need not be in memory as XML
    except ElementTree.ParseError as error:
        raise ValueError(f"{path} must be well-formed XML; {error}. Fetch the file again.") from None
    return sentences, instances


def place(element: ElementTree.Element) -> str:
    """An element as error messages show it."""
    return ElementTree.tostring(element, encoding="unicode").strip()[:120]


def most_frequent_senses(corpus: SenseCorpus, order: Mapping[Word, Sequence[str]]) -> dict[Word, str]:
    """The sense that each word has most often in a corpus: the MFS baseline of Raganato et al. 2017.

    Args:
        corpus: annotated text.
        order: from word to its senses; of equally frequent ones, the one that comes first here is taken.

    Returns:
        From word to sense key, for every word of the corpus.
    """
    counts: dict[Word, Counter] = defaultdict(Counter)
    for instance in corpus.instances:
        counts[instance.word].update(instance.senses)

    def rank(sense: str, senses: Sequence[str]) -> int:
        return senses.index(sense) if sense in senses else len(senses)

    return {
        word: min(senses, key=lambda sense: (-senses[sense], rank(sense, order.get(word, ())), sense))
        for word, senses in counts.items()
    }

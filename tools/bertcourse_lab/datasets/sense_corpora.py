"""Chapter 5: the WSD Evaluation Framework's corpora (Raganato et al. 2017): words in XML, senses in a second file."""

import io
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from bertcourse.datasets.data import read_text
from bertcourse.word_senses.keys import Word
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


def read_senses(data: Path, keys: Path) -> SenseCorpus:
    """A corpus of the WSD Evaluation Framework.

    Args:
        data: NAME.data.xml, or the same as .xz.
        keys: NAME.gold.key.txt, or the same as .xz: in each line an instance's id and one or more sense keys.
    """
    gold = {id: tuple(senses) for id, *senses in map(str.split, read_text(keys).splitlines())}
    sentences: list[list[str]] = []
    instances: list[Instance] = []
    for _, element in ElementTree.iterparse(io.StringIO(read_text(data))):
        if element.tag != "sentence":
            continue
        for position, child in enumerate(element):
            if child.tag == "instance":
                word = child.get("lemma").lower().replace(" ", "_"), child.get("pos")
                instances.append(Instance(child.get("id"), word, len(sentences), position, gold[child.get("id")]))
        sentences.append([child.text.strip() for child in element])
        element.clear()  # a large corpus need not be in memory as XML
    return SenseCorpus(sentences, instances)


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

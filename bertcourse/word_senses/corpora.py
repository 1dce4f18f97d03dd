"""Corpora in the WSD Evaluation Framework's format (Raganato et al. 2017): XML with the words, a file of senses."""

import lzma
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from bertcourse.datasets.registry import fetch
from bertcourse.word_senses.keys import PARTS_OF_SPEECH, SENSE_KEY, Word

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
    """Sentences, some of whose words have a sense.

    Attributes:
        sentences: lists of words, a word being several in "primary election".
        instances: in the order of the text.
    """

    sentences: list[list[str]]
    instances: list[Instance]

    def positions(self) -> list[list[int]]:
        """For each sentence the indices of its instances: ``only`` of ``word_vectors``, whose rows they then are."""
        positions = [[] for _ in self.sentences]
        for instance in self.instances:
            positions[instance.sentence].append(instance.position)
        return positions


def sense_corpus(name: str) -> SenseCorpus:
    """A public corpus, fetched if it is not here.

    Args:
        name: "semcor" to learn from; "ALL", or one of its parts, "senseval2", "senseval3", "semeval2007", "semeval2013"
            and "semeval2015", to be measured on.

    Raises:
        ConnectionError: if it is not here and cannot be fetched.
        ValueError: if there is no such corpus, or it is not the one we know.

    Source: Raganato et al. 2017, "Word Sense Disambiguation: A Unified Evaluation Framework and Empirical Comparison".
    """
    if name not in CORPORA:
        raise ValueError(f"a corpus must be one of {', '.join(CORPORA)}; got {name!r}.")
    return read_senses(*fetch(name))


def read_senses(data: str | os.PathLike, keys: str | os.PathLike) -> SenseCorpus:
    """A corpus of the WSD Evaluation Framework.

    Args:
        data: NAME.data.xml, or the same as .xz.
        keys: NAME.gold.key.txt, or the same as .xz: in each line an instance's id and one or several sense keys.

    Returns:
        ``SenseCorpus``.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: naming file, line, and what was expected: if the XML is not well-formed, an instance lacks an
            attribute or a key, a line of keys is none, or the files do not belong together.

    Source: Raganato et al. 2017, "Word Sense Disambiguation: A Unified Evaluation Framework and Empirical Comparison".
    """
    data, keys = Path(data), Path(keys)
    gold = read_keys(keys)
    sentences, found = read_sentences(data)
    if missing := [(id, line) for id, _, _, _, line in found if id not in gold]:
        raise ValueError(
            f"{keys} must have a line for each instance of {data}; {len(missing)} of {len(found)} have none, the first "
            f"being {missing[0][0]} (line {missing[0][1]} of {data.name}). Are the files of one corpus?"
        )
    if len(gold) > len(found):
        ids = {id for id, *_ in found}
        extra = next(id for id in gold if id not in ids)
        raise ValueError(
            f"{data} must have an instance for each line of {keys}; it has no {extra}. Are the files of one corpus?"
        )
    return SenseCorpus(
        sentences, [Instance(id, word, sentence, position, gold[id]) for id, word, sentence, position, _ in found]
    )


def read_keys(path: Path) -> dict[str, tuple[str, ...]]:
    """The sense keys of each instance, by its id; see ``read_senses``.

    Args:
        path: NAME.gold.key.txt, or the same as .xz.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming file, line, and what was expected.

    Source: Raganato et al. 2017.
    """
    gold: dict[str, tuple[str, ...]] = {}
    try:
        lines = read_bytes(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8; {error}.") from None
    for number, line in enumerate(lines, 1):
        id, *senses = line.split() or [""]
        if not senses or not all(SENSE_KEY.fullmatch(sense) for sense in senses):
            raise ValueError(
                f'{path}, line {number}: expected an id and sense keys, such as "d0.s0.t0 bank%1:17:01::"; got '
                f"{line!r:.80}."
            )
        if id in gold:
            raise ValueError(f"{path}, line {number}: expected each id once; {id} was there before. Remove a line.")
        gold[id] = tuple(senses)
    return gold


def read_sentences(path: Path) -> tuple[list[list[str]], list[tuple[str, Word, int, int, int]]]:
    """Sentences, and instances as (id, word, sentence, position, line); see ``read_senses``.

    Args:
        path: NAME.data.xml, or the same as .xz.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming file, line, and what was expected.

    Source: Raganato et al. 2017.
    """
    sentences: list[list[str]] = []
    instances: list[tuple[str, Word, int, int, int]] = []
    seen: set[str] = set()
    text: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    inside = ""  # "sentence", or the tag of the word whose text is read

    def refuse(expected: str) -> None:
        raise ValueError(
            f"{path}, line {parser.CurrentLineNumber}: expected {expected}. Fetch the file again, or repair it."
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        if tag == "sentence":
            if inside:
                refuse(f"the end of a <{inside}>; got another <sentence>")
            sentences.append([])
            inside = "sentence"
        elif tag in ("wf", "instance"):
            if inside != "sentence":
                refuse(f"<{tag}> directly in a <sentence>; got it {f'in <{inside}>' if inside else 'outside'}")
            inside = tag
            text.clear()
            if tag == "instance":
                if missing := [name for name in ("id", "lemma", "pos") if not attributes.get(name)]:
                    refuse(f"an instance with id, lemma and pos; it has no {' and no '.join(missing)}")
                if attributes["pos"] not in PARTS_OF_SPEECH:
                    refuse(f"pos to be one of {', '.join(PARTS_OF_SPEECH)}; got {attributes['pos']!r}")
                if attributes["id"] in seen:
                    refuse(f"each id once; {attributes['id']} was there before")
                seen.add(attributes["id"])
                word = attributes["lemma"].lower().replace(" ", "_"), attributes["pos"]
                instances.append(
                    (attributes["id"], word, len(sentences) - 1, len(sentences[-1]), parser.CurrentLineNumber)
                )
        elif tag not in ("corpus", "text"):
            refuse(f"<corpus>, <text>, <sentence>, <wf> or <instance>; got <{tag}>")

    def end(tag: str) -> None:
        nonlocal inside
        if tag in ("wf", "instance"):
            if not (word := "".join(text).strip()):
                refuse(f"a word in <{tag}>; it is empty")
            sentences[-1].append(word)
            inside = "sentence"
        elif tag == "sentence":
            inside = ""

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text.append
    try:
        parser.Parse(read_bytes(path), True)
    except expat.ExpatError as error:
        raise ValueError(
            f"{path}, line {error.lineno}: expected well-formed XML; got {expat.ErrorString(error.code)}. Fetch the "
            f"file "
            f"again."
        ) from None
    return sentences, instances


def read_bytes(path: Path) -> bytes:
    """What is in a file, or in a file packed with xz.

    Args:
        path: the file.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is cut short or no xz.

    Source: the xz format.
    """
    if not path.is_file():
        raise FileNotFoundError(f"expected {path}; there is no such file. Fetch it: bertcourse data get NAME.")
    content = path.read_bytes()
    if path.suffix != ".xz":
        return content
    try:
        return lzma.decompress(content)
    except (lzma.LZMAError, EOFError) as error:
        raise ValueError(
            f"{path} must be packed with xz; it is damaged or cut short ({error}). Fetch it again."
        ) from None


def most_frequent_senses(corpus: SenseCorpus, order: Mapping[Word, Sequence[str]]) -> dict[Word, str]:
    """The sense that each word has most often in a corpus.

    Args:
        corpus: annotated text.
        order: word to its senses; of two as frequent ones, the one that comes first here is taken.

    Returns:
        Word to sense key, for every word of the corpus.

    Source: the baseline MFS of Raganato et al. 2017.
    """
    counts: dict[Word, Counter] = defaultdict(Counter)
    for instance in corpus.instances:
        counts[instance.word].update(instance.senses)
    return {
        word: min(senses, key=lambda sense: (-senses[sense], rank(sense, order.get(word, ())), sense))
        for word, senses in counts.items()
    }


def rank(sense: str, senses: Sequence[str]) -> int:
    """Where a sense stands in a list, or after its end.

    Args:
        sense: a key.
        senses: keys.
    """
    return senses.index(sense) if sense in senses else len(senses)

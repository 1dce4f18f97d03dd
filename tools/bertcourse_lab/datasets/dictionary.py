"""Chapter 5: WordNet 3.0 (Fellbaum 1998), as NLTK reads it: the senses of a word, the most frequent first."""

import importlib.util
import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from bertcourse.word_senses.keys import PARTS_OF_SPEECH, Word
from bertcourse_lab.datasets.wordnet import wordnet_folder


def wordnet():
    """WordNet 3.0, fetched if it is not here, as ``open_wordnet`` returns it."""
    check_nltk()
    return open_wordnet(wordnet_folder())


def open_wordnet(folder: str | os.PathLike):
    """WordNet 3.0 as NLTK reads it.

    Args:
        folder: the one with WordNet's database files.

    Returns:
        ``nltk.corpus.reader.WordNetCorpusReader``, which works except for ``lemma_from_key``.
    """
    check_nltk()
    import nltk.data
    from nltk.corpus.reader import WordNetCorpusReader

    class WordNet30(WordNetCorpusReader):
        def map_wn(self, version: str = "wordnet") -> None:
            """Build no map to WordNet 3.0, since this is it; NLTK's own method looks for a second copy in its data."""

    folder = str(Path(folder).resolve())
    if folder not in nltk.data.path:  # since its version 3.10, NLTK refuses to read from elsewhere
        nltk.data.path.append(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other languages, which are missing
        return WordNet30(folder, None)


def check_nltk() -> None:
    """Refuse to fetch or open WordNet if there is no NLTK to read it."""
    if importlib.util.find_spec("nltk") is None:
        raise ModuleNotFoundError(
            'WordNet is read by the package nltk; install it: python -m pip install "bertcourse[benchmark]".'
        )


def word_senses(wordnet, words: Iterable[Word]) -> dict[Word, list[str]]:
    """The senses of words, in WordNet's order, the most frequent one first.

    Args:
        wordnet: as ``open_wordnet`` returns it.
        words: (lemma, part of speech); satellites count as adjectives.

    Returns:
        From word to sense keys, without the words that WordNet does not have.
    """
    found = {}
    for lemma, part in dict.fromkeys(words):
        if part not in PARTS_OF_SPEECH:
            raise ValueError(f"a part of speech must be one of {', '.join(PARTS_OF_SPEECH)}; got {part!r}.")
        keys = [entry.key() for entry in wordnet.lemmas(lemma, PARTS_OF_SPEECH[part])]
        if keys:  # NLTK lists a sense twice when a word, such as "woods", is also a form of another, "wood"
            found[lemma, part] = list(dict.fromkeys(keys))
    return found

"""Chapter 5: WordNet 3.0 (Fellbaum 1998), as NLTK reads it: the senses of a word, the most frequent first."""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from bertcourse.datasets.wordnet import wordnet_folder
from bertcourse.word_senses.keys import PARTS_OF_SPEECH, Word, sense_word


def wordnet():
    """WordNet 3.0, fetched if it is not here, as ``open_wordnet`` returns it."""
    return open_wordnet(wordnet_folder())


def open_wordnet(folder: str | os.PathLike):
    """WordNet 3.0 as NLTK reads it.

    Args:
        folder: with WordNet's database files.

    Returns:
        ``nltk.corpus.reader.WordNetCorpusReader``, of which all works but ``lemma_from_key``; see ``find_lemma``.
    """
    try:
        import nltk.data
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'WordNet is read by the package nltk; install it: python -m pip install "bertcourse[benchmark]".'
        ) from error
    from nltk.corpus.reader import WordNetCorpusReader

    class WordNet30(WordNetCorpusReader):
        def map_wn(self, version: str = "wordnet") -> None:
            """No map to WordNet 3.0, which this is; NLTK's own looks for a second copy in its data."""

    folder = str(Path(folder).resolve())
    if folder not in nltk.data.path:  # from elsewhere NLTK refuses to read, since its version 3.10
        nltk.data.path.append(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other languages are not there
        return WordNet30(folder, None)


def word_senses(wordnet, words: Iterable[Word]) -> dict[Word, list[str]]:
    """The senses of words, in WordNet's order, the most frequent one first.

    Args:
        wordnet: as ``open_wordnet`` returns it.
        words: (lemma, part of speech), satellites being adjectives.

    Returns:
        Word to sense keys, without the words that WordNet does not have.
    """
    found = {}
    for lemma, part in dict.fromkeys(words):
        if part not in PARTS_OF_SPEECH:
            raise ValueError(f"a part of speech must be one of {', '.join(PARTS_OF_SPEECH)}; got {part!r}.")
        keys = [entry.key() for entry in wordnet.lemmas(lemma, PARTS_OF_SPEECH[part])]
        if keys:  # NLTK lists a sense twice when a word, such as "woods", is also a form of another, "wood"
            found[lemma, part] = list(dict.fromkeys(keys))
    return found


def first_senses(wordnet, words: Iterable[Word]) -> dict[Word, str]:
    """WordNet's first sense of words: ``NearestSense(first_senses=…)``, and the baseline to beat.

    Args:
        wordnet: as ``open_wordnet`` returns it.
        words: (lemma, part of speech).

    Returns:
        Word to sense key, without the words that WordNet does not have.
    """
    return {word: senses[0] for word, senses in word_senses(wordnet, words).items()}


def find_lemma(wordnet, key: str):
    """NLTK's entry for a sense key; ``.synset().definition()`` is its gloss.

    Args:
        wordnet: as ``open_wordnet`` returns it.
        key: WordNet's.
    """
    lemma, part = sense_word(key)
    for entry in wordnet.lemmas(lemma, PARTS_OF_SPEECH[part]):
        if entry.key() == key:
            return entry
    raise ValueError(
        f"WordNet has no sense {key!r}; its senses of {lemma} are {word_senses(wordnet, [(lemma, part)])}."
    )

"""Chapter 3: the words between spaces, each with a marker where the space was, and how often they occur.

BPE and the unigram language model are trained on these words and applied to them (Kudo & Richardson 2018,
"SentencePiece", section 3). BERT has words of its own: see ``normalization``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

MARKER = "▁"  # U+2581, which hardly any text contains; the underscore of textbooks occurs in many
WORD = re.compile(r"[\S\x1c-\x1f]+")  # Python counts the four separators as white space, Unicode does not


class PlacedWord(NamedTuple):
    """A word, and for each of its characters (start, end) of what it stands for in the text.

    A marker that stands for nothing there has start = end.
    """

    text: str
    spans: list[tuple[int, int]]


def place_words(text: str) -> list[PlacedWord]:
    """The words between white space, with ``▁`` before each; one that begins with it already gets no second."""
    words = []
    for found in WORD.finditer(text):
        mark, start = "" if found.group().startswith(MARKER) else MARKER, found.start()
        spans = [(start, start)] * len(mark) + [(place, place + 1) for place in range(start, found.end())]
        words.append(PlacedWord(mark + found.group(), spans))
    return words


def mark_words(text: str) -> list[str]:
    """The words of ``place_words`` without their places.

    >>> mark_words("set new  new")
    ['▁set', '▁new', '▁new']
    """
    return [word if word.startswith(MARKER) else MARKER + word for word in WORD.findall(text)]


def decode_words(tokens: Sequence[str]) -> str:
    """The text of tokens, with a space for each marker.

    >>> decode_words(["▁low", "est", "▁of", "▁all"])
    'lowest of all'
    """
    return "".join(tokens).replace("▁", " ").removeprefix(" ")


def count_words(texts: Iterable[str], split: Callable[[str], Iterable[str]] = mark_words) -> Counter[str]:
    """How often each word occurs, in order of first appearance: what all trainers start from.

    ``split`` sees each chunk between two spaces once: ``mark_words`` for BPE and Unigram, ``normalized_words`` for
    WordPiece.

    >>> count_words(["set new new", "renew"])
    Counter({'▁new': 2, '▁set': 1, '▁renew': 1})
    """
    if isinstance(texts, str):
        raise TypeError("texts must be a list of str; got one str, whose letters would be texts. Write [text].")
    chunks: Counter[str] = Counter()
    for text in texts:
        check_text(text)
        chunks.update(text.split(" "))
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in split(chunk):
            words[word] += count
    return words


def check_text(text: str, name: str = "text") -> None:
    """Refuse anything that is not a str, or holds a lone surrogate: half a character, which no UTF-8 file can hold."""
    if not isinstance(text, str):
        raise TypeError(
            f"{name} must be a str; got {type(text).__name__}. Decode bytes first (data.decode()), and call encode for "
            f"each text of a list."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} must be valid Unicode; character {error.start} is the lone surrogate {text[error.start]!a}. "
            f'Read the text again, or replace it: text.encode(errors="replace").decode().'
        ) from None


def sampling_probabilities(sizes: Mapping[str, float], alpha: float) -> dict[str, float]:
    """How often to draw each language, so that rare ones get a share of the vocabulary: q_i = p_i^α / Σ_j p_j^α.

    α = 1 keeps the proportions of ``sizes``, 0 makes all languages alike. Multilingual BERT used 0.7, XLM-R 0.3.

    Source: Conneau & Lample 2019, "Cross-lingual Language Model Pretraining", section 3.1.

    >>> {name: round(q, 2) for name, q in sampling_probabilities({"en": 99, "sw": 1}, alpha=0.5).items()}
    {'en': 0.91, 'sw': 0.09}
    """
    weights = {language: size**alpha for language, size in sizes.items()}
    return {language: weight / sum(weights.values()) for language, weight in weights.items()}

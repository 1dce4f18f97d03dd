"""Chapter 3: the words between spaces, each with a marker where the space was, and how often they occur.

BPE and the unigram language model are trained on these words and applied to them (Kudo & Richardson 2018,
"SentencePiece", section 3). BERT has words of its own: see ``normalization``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import tokenizers
from tokenizers import decoders, pre_tokenizers

from bertcourse.tokenization.encoding import PlacedWord
from bertcourse.tokenization.input_checks import check_text, check_texts

MARKER = "▁"  # U+2581, which hardly any text contains; the underscore of textbooks occurs in many
WORD = re.compile(r"[\S\x1c-\x1f]+")  # Python counts the four separators as white space, Unicode does not


def mark_words(text: str, marker: str = MARKER, mark_first: bool = True) -> list[str]:
    """The words between white space, each with a marker where the space was.

    Args:
        text: any text.
        marker: put before each word, so that a token shows whether it begins a word. A word that already begins with it
            in the text gets no second one, as with Hugging Face.
        mark_first: whether the first word gets one, too.

    >>> mark_words("set new  new")
    ['▁set', '▁new', '▁new']
    >>> mark_words("set new", marker="_", mark_first=False)
    ['set', '_new']
    """
    check_text(text)
    return [mark_of(word, marker, mark_first or i > 0) + word for i, word in enumerate(WORD.findall(text))]


def mark_of(word: str, marker: str, wanted: bool) -> str:
    """The marker to put before a word; empty if none is wanted, or if the word already begins with it."""
    return marker if wanted and not word.startswith(marker) else ""


def place_words(text: str, marker: str = MARKER, mark_first: bool = True) -> list[PlacedWord]:
    """``mark_words`` with the place of each character; a marker has no length and stands where its word begins."""
    words = []
    for i, found in enumerate(WORD.finditer(text)):
        mark = mark_of(found.group(), marker, mark_first or i > 0)
        spans = [(found.start(), found.start())] * len(mark)
        spans += [(place, place + 1) for place in range(found.start(), found.end())]
        words.append(PlacedWord(mark + found.group(), spans))
    return words


def join_words(tokens: Sequence[str], marker: str) -> str:
    """The text of tokens, a space for each marker, even one from the text; without a marker, words run together."""
    return "".join(tokens).replace(marker, " ") if marker else "".join(tokens)


def count_words(texts: Iterable[str], split: Callable[[str], Iterable[str]] = mark_words) -> Counter[str]:
    """How often each word occurs, in order of first appearance: what all trainers start from.

    Chunks between spaces are counted first, so that ``split`` sees each only once.

    Args:
        texts: any texts.
        split: from text to words; it must not look beyond spaces. ``mark_words`` for BPE and Unigram,
            ``normalized_words`` for WordPiece.

    >>> count_words(["set new new", "renew"])
    Counter({'▁new': 2, '▁set': 1, '▁renew': 1})
    """
    chunks: Counter[str] = Counter()
    for text in check_texts(texts):
        chunks.update(text.split(" "))
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in split(chunk):
            words[word] += count
    return words


def use_marker(twin: tokenizers.Tokenizer, marker: str) -> None:
    """Make a tokenizer of ``tokenizers`` split at white space and mark every word, as ``place_words`` does."""
    if len(marker) != 1:
        raise ValueError(f"tokenizers marks words with one character; got marker={marker!r}. To save, train with one.")
    twin.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(marker, prepend_scheme="always", split=False)]
    )
    twin.decoder = decoders.Metaspace(marker, prepend_scheme="always")

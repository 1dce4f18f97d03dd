"""Windows: how a model reads a text that is too long for it.

The text is cut into overlapping parts, and each word is looked up in the part with the most text on both sides of it.
Chapters 5, 8 and 9 read long texts this way.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

from bertcourse.bert.batching import check_tokenizer, whole_texts


class Window(NamedTuple):
    """Tokens that the model reads at once: a sentence, or a part of one that is too long.

    Attributes:
        ids: token ids with [CLS] and [SEP].
        sentence: the index of the sentence.
        rows: the words it gives vectors for, as rows of the result.
        spans: for each of these words, (first, last + 1) in ``ids``.
    """

    ids: list[int]
    sentence: int
    rows: list[int]
    spans: list[tuple[int, int]]


def make_windows(
    tokenizer: Tokenizer,
    sentences_of_words: Sequence[Sequence[str]],
    only: Sequence[Sequence[int]],
    max_length: int,
    overlap: int,
) -> list[Window]:
    """Tokenize sentences, cut the long ones into windows, and choose a window for each wanted word.

    In ``tokenizers`` (truncation with a stride) the last window is short; here it is as full as the others, so that
    words at the end of a text have as much context as any.

    Args:
        tokenizer: as ``load_pretrained`` returns it.
        sentences_of_words: the words of each sentence.
        only: the indices of the wanted words in each sentence.
        max_length: the most tokens in a window, including [CLS] and [SEP].
        overlap: how many tokens two neighbouring windows share.

    Returns:
        The windows that give a vector for at least one word, sentence by sentence.

    Source: the sliding window of Devlin et al.'s ``run_squad.py``, with its "maximum context".
    """
    check_tokenizer(tokenizer)
    if tokenizer.num_special_tokens_to_add(is_pair=False) != 2:
        raise ValueError(
            "the tokenizer must put [CLS] and [SEP] around a text; use the one that load_pretrained returns."
        )
    uncut = whole_texts(tokenizer)
    encodings = uncut.encode_batch([list(words) for words in sentences_of_words], is_pretokenized=True)
    size, row, windows = max_length - 2, 0, []
    for number, (words, indices, encoding) in enumerate(zip(sentences_of_words, only, encodings)):
        cls, *ids, sep = encoding.ids
        places = word_places(encoding.word_ids[1:-1])
        starts = window_starts(len(ids), size, overlap)
        in_window = [Window([cls, *ids[start : start + size], sep], number, [], []) for start in starts]
        for index in indices:
            if index not in places:
                raise ValueError(
                    f"every word must give at least one token; word {index} of sentence {number}, {words[index]!r}, "
                    f"gives none. Leave it out, or put [UNK] in its place."
                )
            first, end = places[index]
            best = best_window(starts, size, len(ids), first, end)
            in_window[best].rows.append(row)
            in_window[best].spans.append(
                (max(first - starts[best], 0) + 1, min(end - starts[best], size) + 1)  # + 1 for [CLS]
            )
            row += 1
        windows += [window for window in in_window if window.rows]
    return windows


def word_places(word_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Where each word's tokens are: word to (first, last + 1).

    >>> word_places([0, 1, 1, 3])
    {0: (0, 1), 1: (1, 3), 3: (3, 4)}
    """
    places: dict[int, tuple[int, int]] = {}
    for position, word in enumerate(word_ids):
        places[word] = (places.get(word, (position,))[0], position + 1)
    return places


def window_starts(length: int, size: int, overlap: int) -> list[int]:
    """Where windows of ``size`` tokens start in order to cover a text of ``length``; the last one ends with the text.

    >>> window_starts(length=10, size=4, overlap=2)
    [0, 2, 4, 6]
    >>> window_starts(length=3, size=4, overlap=2)
    [0]
    """
    last = max(length - size, 0)
    return [*range(0, last, size - overlap), last]


def best_window(starts: Sequence[int], size: int, length: int, first: int, end: int) -> int:
    """The window with the most context on both sides of a word; the first of several equally good ones.

    Args:
        starts: where the windows start.
        size: tokens per window.
        length: tokens in the text; where the text itself starts or ends, no context counts as missing.
        first, end: the word's tokens run from ``first`` up to, but not including, ``end``.

    >>> best_window([0, 2, 4, 6], size=4, length=10, first=3, end=4)
    1
    """

    def context(start: int) -> int:
        before = length if start == 0 else first - start
        after = length if start + size >= length else start + size - end
        return min(before, after)

    return max(range(len(starts)), key=lambda i: context(starts[i]))

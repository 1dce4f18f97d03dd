"""Which tokens of a word have its tag, by three rules, and the way back.

words      Mt.           Sanitas          is
tags       B-LOC         I-LOC            O
tokens     mt     .      san     ##itas   is
first      B-LOC  -      I-LOC   -        O
all        B-LOC  I-LOC  I-LOC   I-LOC    O
copy       B-LOC  B-LOC  I-LOC   I-LOC    O
"""

import itertools
from collections.abc import Sequence

from bertcourse.named_entities import token_tags

SUBWORDS = ("first", "all", "copy")


def subword_tags(word_ids: Sequence[int | None], tags: Sequence[str], subwords: str = "first") -> list[str | None]:
    """A tag for each token of a sentence, None where none is learned.

    Args:
        word_ids: for each token the index of its word, None for [CLS] and [SEP].
        tags: one per word.
        subwords: "first", only a word's first token has a tag; "all", lecture 8's ``token_tags``; or "copy", each token
            has the word's tag, so that B-PER becomes B-PER B-PER.

    Source: Devlin et al. 2019, section 5.3, for "first"; Jurafsky & Martin, section 11.5.3, for "copy".

    >>> subword_tags([None, 0, 0, 1, None], ["B-LOC", "O"], subwords="first")
    [None, 'B-LOC', None, 'O', None]
    """
    if subwords not in SUBWORDS:
        raise ValueError(f"subwords must be one of {', '.join(SUBWORDS)}; got {subwords!r}.")
    num_words = max((word + 1 for word in word_ids if word is not None), default=0)
    if num_words > len(tags):
        raise ValueError(f"there must be a tag for each word; got {num_words} words or more, and {len(tags)} tags.")
    if subwords == "all":
        return token_tags(word_ids, tags)
    result: list[str | None] = [None] * len(word_ids)
    for first, end in word_spans(word_ids):
        end = first + 1 if subwords == "first" else end
        result[first:end] = [tags[word_ids[first]]] * (end - first)
    return result


def word_tags(word_ids: Sequence[int | None], token_tags: Sequence[str | None]) -> list[str]:
    """The way back: a tag for each word, that of its first token.

    >>> word_tags([None, 0, 0, 1, None], [None, "B-LOC", "I-LOC", "O", None])
    ['B-LOC', 'O']
    """
    if len(word_ids) != len(token_tags):
        raise ValueError(f"there must be a tag for each token; got {len(word_ids)} tokens and {len(token_tags)} tags.")
    return [token_tags[first] for first, _ in word_spans(word_ids)]


def word_spans(word_ids: Sequence[int | None]) -> list[tuple[int, int]]:
    """Where each word's tokens are, in order: from ``first`` up to, but not including, ``end``.

    >>> word_spans([None, 0, 0, 1, None])
    [(1, 3), (3, 4)]
    """
    spans, end = [], 0
    for word, tokens in itertools.groupby(word_ids):
        first, end = end, end + len(list(tokens))
        if word is not None:
            spans.append((first, end))
    return spans

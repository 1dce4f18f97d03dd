"""Chapter 8: from the tags of words to the tags of subwords that a tagger learns, and back.

words      Mt.           Sanitas          is
tags       B-LOC         I-LOC            O
tokens     mt     .      sanita  ##s      is
first      B-LOC  -      I-LOC   -        O
all        B-LOC  I-LOC  I-LOC   I-LOC    O
copy       B-LOC  B-LOC  I-LOC   I-LOC    O
"""

import itertools
from collections.abc import Sequence

from bertcourse.named_entities.tags import split_tag

SUBWORDS = ("first", "all", "copy")


def subword_tags(word_ids: Sequence[int | None], tags: Sequence[str], subwords: str = "first") -> list[str | None]:
    """A tag for each token of a sentence, None where none is learned.

    Args:
        word_ids: for each token the index of its word, None for [CLS] and [SEP].
        tags: one per word.
        subwords: "first", only a word's first token has a tag; "all", the tokens of a word are tagged like words of an
            entity, so that B-PER becomes B-PER I-PER; or "copy", each token has the word's tag, so that B-PER becomes
            B-PER B-PER.

    Source: Devlin et al. 2019, section 5.3, for "first"; Jurafsky & Martin, section 11.5.3, for "copy".

    >>> subword_tags([None, 0, 0, 1, None], ["B-LOC", "O"], subwords="all")
    [None, 'B-LOC', 'I-LOC', 'O', None]
    """
    if subwords not in SUBWORDS:
        raise ValueError(f"subwords must be one of {', '.join(SUBWORDS)}; got {subwords!r}.")
    num_words = max((word + 1 for word in word_ids if word is not None), default=0)
    if num_words > len(tags):
        raise ValueError(f"there must be a tag for each word; got {num_words} words or more, and {len(tags)} tags.")
    result: list[str | None] = [None] * len(word_ids)
    for first, end in word_spans(word_ids):
        tag, size = tags[word_ids[first]], end - first
        prefix, type_ = split_tag(tag)
        if subwords == "first" or size == 1:
            result[first] = tag
        elif subwords == "copy" or prefix == "O":
            result[first:end] = [tag] * size
        else:
            begin, last = "B" if prefix in "BS" else "I", "E" if prefix in "ES" else "I"
            result[first:end] = [f"{each}-{type_}" for each in (begin, *"I" * (size - 2), last)]
    return result


def word_tags(word_ids: Sequence[int | None], token_tags: Sequence[str | None]) -> list[str]:
    """The way back: a tag for each word, that of its first token.

    A word gets E- if its last token has E-, which means that it ends an entity, or S- if it begins the entity, too.

    Args:
        word_ids: for each token the index of its word, None for [CLS] and [SEP].
        token_tags: one per token.

    >>> word_tags([None, 0, 0, 1, None], [None, "B-LOC", "E-LOC", "O", None])
    ['S-LOC', 'O']
    """
    if len(word_ids) != len(token_tags):
        raise ValueError(f"there must be a tag for each token; got {len(word_ids)} tokens and {len(token_tags)} tags.")
    tags = []
    for first, end in word_spans(word_ids):
        tag, last = token_tags[first], token_tags[end - 1] or "O"
        if end - first > 1 and last.startswith("E-") and last[2:] == tag[2:]:
            tag = ("S" if tag[0] in "BS" else "E") + tag[1:]
        tags.append(tag)
    return tags


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

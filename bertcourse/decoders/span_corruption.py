"""Chapter 12: T5's objective: cut spans out of a text, put a sentinel in place of each, and write what was cut.

    text      Thank you for inviting me to your party last week .
    inputs    Thank you <extra_id_0> me to your party <extra_id_1> week .
    targets   <extra_id_0> for inviting <extra_id_1> last <extra_id_2>

An encoder reads the inputs, a decoder writes the targets (Raffel et al. 2020, "Exploring the Limits of Transfer
Learning with a Unified Text-to-Text Transformer", figure 2 and section 3.1.4). The targets contain only what is
missing, so they are short; together with the inputs they give the text back.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

import torch

Token = TypeVar("Token", bound=Hashable)  # a word or a token id
Span = tuple[int, int]  # the first position of a span, and the first after it


def random_spans(
    length: int, rate: float = 0.15, mean_length: float = 3.0, generator: torch.Generator | None = None
) -> list[Span]:
    """Random spans that cover a share ``rate`` of the tokens, ``mean_length`` tokens long on average.

    The length of the text fixes how many tokens are cut, and in how many spans, as in T5's code. Only the places are
    drawn: all ways to divide the hidden tokens into spans, and the others into the gaps around them, are equally
    likely, and no two spans touch. (In T5's code a text always ends with a span, which matters little in 512 tokens.)
    Raffel et al. 2020, section 3.3.4.

    Args:
        length: of the text, at least 2.
        rate: above 0 and below 1.
        mean_length: at least 1.
        generator: source of randomness.

    >>> random_spans(20, generator=torch.Generator().manual_seed(0))
    [(8, 11)]
    """
    hidden = min(max(round(length * rate), 1), length - 1)
    count = min(max(round(hidden / mean_length), 1), hidden, length - hidden)
    gaps = random_parts(length - hidden + 2, count + 1, generator)
    gaps[0] -= 1  # the first and the last gap may be empty
    spans, position = [], 0
    for gap, size in zip(gaps, random_parts(hidden, count, generator)):
        spans.append((position + gap, position + gap + size))
        position += gap + size
    return spans


def random_parts(total: int, count: int, generator: torch.Generator | None = None) -> list[int]:
    """A whole number as a sum of ``count`` numbers of at least 1, all such sums equally likely.

    Args:
        total: at least ``count``.
        count: how many parts.
        generator: source of randomness.

    >>> sum(random_parts(10, 3))
    10
    """
    cuts = (1 + torch.randperm(total - 1, generator=generator)[: count - 1]).sort().values.tolist()
    return [after - before for before, after in zip([0, *cuts], [*cuts, total])]


def corrupt(
    tokens: Sequence[Token], spans: Sequence[Span], sentinels: Sequence[Token]
) -> tuple[list[Token], list[Token]]:
    """Cut the given spans out of a text.

    Args:
        tokens: words or ids, none of them a sentinel.
        spans: in order, none of them empty or touching another.
        sentinels: more than there are spans.

    Returns:
        ``(inputs, targets)``: what is left, with a sentinel in place of each span; and each sentinel with what it
        stands for, and a last one to mark the end.

    >>> words = "Thank you for inviting me to your party last week .".split()
    >>> inputs, targets = corrupt(words, [(2, 4), (8, 9)], ["<X>", "<Y>", "<Z>"])
    >>> " ".join(inputs), " ".join(targets)
    ('Thank you <X> me to your party <Y> week .', '<X> for inviting <Y> last <Z>')
    """
    inputs, targets, place = [], [], 0
    for (start, stop), sentinel in zip(spans, sentinels):
        inputs += [*tokens[place:start], sentinel]
        targets += [sentinel, *tokens[start:stop]]
        place = stop
    return [*inputs, *tokens[place:]], [*targets, sentinels[len(spans)]]


def fill(inputs: Sequence[Token], targets: Sequence[Token], sentinels: Sequence[Token]) -> list[Token]:
    """Restore a text: replace each sentinel in the inputs by what the targets say it stands for.

    A model's targets may not mention a sentinel, or stop early: the sentinel then stands for nothing.

    Args:
        inputs: a text with sentinels.
        targets: written by a model, or made by ``corrupt``.
        sentinels: all that may occur.

    >>> fill(["Thank", "you", "<X>", "me"], ["<X>", "for", "inviting", "<Y>"], ["<X>", "<Y>"])
    ['Thank', 'you', 'for', 'inviting', 'me']
    """
    known, meanings, current = set(sentinels), {}, None
    for token in targets:
        if token in known:
            current = meanings.setdefault(token, [])
        elif current is not None:
            current.append(token)
    return [each for token in inputs for each in (meanings.get(token, []) if token in known else [token])]

"""Chapter 11: what text hardly ever says: sentences in which the noun next to a verb differs from it in number.

"The keys to the cabinet *are*": the subject is not the noun nearest to the verb. Where a noun stands right before an
auxiliary, it has the auxiliary's number nine times out of ten in novels (``tools/studies/attraction.py``). A model that
looks at that noun alone is right as often, and has little reason to look further (Linzen et al. 2016, "Assessing the
Ability of LSTMs to Learn Syntax-Sensitive Dependencies"). ``sentences_by_agreement`` finds the sentences in which it
would be wrong, and those in which it would be right, and ``NumberRows`` lets a training read them more often.

Number is read off the words, without a parser: a noun is a word whose plural is in the vocabulary, too, or one that the
tokenizer cuts into pieces, and then the last piece tells; only auxiliaries count as verbs. Not all that is found is
attraction: there are pairs of subjects ("a brother and a sister *were*"), groups ("the family *were*"), and wishes
("God *have* mercy").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.pretraining.corpus import Documents
from bertcourse.pretraining.masking import IGNORE, MaskedTokens, Vocabulary
from bertcourse_lab.pretraining.batches import RowMaker
from bertcourse_lab.pretraining.masking import mask_tokens
from bertcourse_lab.pretraining.rows import Rows

SINGULAR, PLURAL = 1, -1
VERBS = {
    SINGULAR: "is was has does isn wasn hasn doesn".split(),  # the tokenizer cuts "isn't" at the apostrophe
    PLURAL: "are were have do aren weren haven don".split(),
}
ADVERBS = "already also always ever never not now often only soon still".split()
# A few words before a singular noun, these make "were", "have" and "do" say nothing about number: "if the key were".
HYPOTHETICAL = "can could did do does if let may might must shall should though till unless will wish would".split()
REACH = 6  # tokens before the noun in which to look for them
IRREGULAR = {"child": "children", "foot": "feet", "person": "people", "tooth": "teeth"}
NOT_NOUNS = frozenset(
    "her one other our that thou their your mine "  # pronouns
    "afterward beside besides news per pro sometime toward way time what which "  # with -s they are something else
    "ask become begin bring come feel get give hold keep know let like look make mean need put say see seem sit stand "
    "take tell think want".split()  # more often verbs
)
# Endings of last pieces: of words that are not nouns ("##ly"), and of singular nouns in -s ("##ness", "##us").
NOT_A_NOUN, SINGULAR_S = ("ed", "ing", "ly"), ("ss", "us", "is")


class Numbers(NamedTuple):
    """What the words of a vocabulary say about number: ``SINGULAR``, ``PLURAL``, or 0 for nothing.

    Attributes:
        nouns, verbs: (V,).
        is_adverb: (V,), True for a word that may stand between a noun and its verb.
        is_hypothetical: (V,), True for a word of ``HYPOTHETICAL``.
        is_continuation: (V,), True for a token that continues a word.
    """

    nouns: NDArray
    verbs: NDArray
    is_adverb: NDArray
    is_hypothetical: NDArray
    is_continuation: NDArray

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Numbers":
        """The numbers of a tokenizer's words."""
        ids, vocabulary = tokenizer.get_vocab(), Vocabulary.of(tokenizer)
        nouns, verbs = np.zeros((2, vocabulary.size), np.int8)
        singular, plural = set(), set()
        for word, token_id in ids.items():
            if len(word) > 2 and word.isalpha() and word not in NOT_NOUNS:
                found = set(plurals(word)) & ids.keys()
                plural |= found
                singular |= {word} if found else set()
            elif vocabulary.is_continuation[token_id] and not word.endswith(NOT_A_NOUN):
                nouns[token_id] = PLURAL if word.endswith("s") and not word.endswith(SINGULAR_S) else SINGULAR
        for number, words in ((SINGULAR, singular - plural), (PLURAL, plural - singular)):  # both says nothing: "sens"
            nouns[[ids[word] for word in words]] = number
        for number, words in VERBS.items():
            verbs[[ids[word] for word in words if word in ids]] = number

        def is_one_of(words: list[str]) -> NDArray:
            return np.isin(np.arange(vocabulary.size), [ids[word] for word in words if word in ids])

        return cls(nouns, verbs, is_one_of(ADVERBS), is_one_of(HYPOTHETICAL), vocabulary.is_continuation.numpy())


def plurals(word: str) -> Iterator[str]:
    """How the plural of an English noun might be spelt.

    >>> list(plurals("key")), list(plurals("lady")), list(plurals("wife")), list(plurals("man"))
    (['keys'], ['ladies'], ['wifes', 'wives'], ['mans', 'men'])
    """
    if word in IRREGULAR:
        yield IRREGULAR[word]
    elif word.endswith(("s", "x", "z", "ch", "sh")):
        yield word + "es"
    elif word.endswith("y") and word[-2] not in "aeiou":
        yield word[:-1] + "ies"
    else:
        yield word + "s"
        if word.endswith("man"):
            yield word[:-2] + "en"
        if word.endswith(("f", "fe")):
            yield word.removesuffix("e")[:-1] + "ves"


def pairs_of_noun_and_verb(documents: Documents, numbers: Numbers) -> tuple[NDArray, NDArray, NDArray]:
    """All verbs with a noun before them in their sentence, right before or with one adverb in between.

    Returns:
        (P,) places of the verbs in ``documents.tokens``; (P,) numbers of the nouns; (P,) numbers of the verbs.
    """
    tokens = np.asarray(documents.tokens)
    verbs = np.flatnonzero(numbers.verbs[tokens])
    verbs = verbs[~numbers.is_continuation[tokens[np.minimum(verbs + 1, len(tokens) - 1)]]]  # not "do ##st"
    nouns = verbs - 1 - numbers.is_adverb[tokens[verbs - 1]]
    starts = np.asarray(documents.sentences)[np.searchsorted(documents.sentences, verbs, side="right") - 1]
    is_pair = (nouns >= starts) & (numbers.nouns[tokens[nouns]] != 0)
    nouns, verbs, starts = nouns[is_pair], verbs[is_pair], starts[is_pair]

    so_far = np.concatenate([[0], np.cumsum(numbers.is_hypothetical[tokens])])
    is_hypothetical = so_far[nouns] > so_far[np.maximum(nouns - REACH, starts)]
    noun_numbers, verb_numbers = numbers.nouns[tokens[nouns]], numbers.verbs[tokens[verbs]]
    is_clear = ~is_hypothetical | (noun_numbers == verb_numbers) | (noun_numbers == PLURAL)
    return verbs[is_clear], noun_numbers[is_clear], verb_numbers[is_clear]


def sentences_by_agreement(documents: Documents, numbers: Numbers) -> tuple[NDArray, NDArray]:
    """The numbers, in order, of the sentences in which some verb and the noun before it do not agree, and of those in
    which all of them do."""
    verbs, noun_numbers, verb_numbers = pairs_of_noun_and_verb(documents, numbers)
    sentences = np.searchsorted(documents.sentences, verbs, side="right") - 1
    misleading = np.unique(sentences[noun_numbers != verb_numbers])
    return misleading, np.setdiff1d(sentences, misleading)


@dataclass(frozen=True)
class NumberRows(RowMaker):
    """Rows as usual, and among them a share that is filled with sentences of ``sentences_by_agreement``.

    Such a row is [CLS] sentence [SEP] sentence [SEP] …, as many as fit, in any order: no pair, so nothing is predicted
    about a next one. All of a text's misleading sentences that fit a row occur equally often, to within one; the
    others are drawn from those that agree.

    Attributes:
        numbers: of the words.
        share: of all rows, 0 to 1, without 1.
        misleading: share of the sentences in such a row in which some noun misleads, above 0.
    """

    numbers: Numbers
    share: float
    misleading: float

    def rows(self, documents: Documents, length: int, rng: np.random.Generator) -> Rows:
        """Rows of at most ``length`` tokens."""
        rows = super().rows(documents, length, rng)
        wanted = round(self.share / (1 - self.share) * len(rows))
        starts = np.asarray(documents.sentences)
        misleading, agreeing = (
            spans[spans[:, 1] - spans[:, 0] <= length - 2]  # beside [CLS] and [SEP]
            for found in sentences_by_agreement(documents, self.numbers)
            for spans in [np.stack([starts[found], starts[found + 1]], axis=-1)]
        )
        if not wanted or not len(misleading):
            return rows
        others = round((1 / self.misleading - 1) * len(misleading))
        drawn = rng.choice(agreeing, min(others, len(agreeing)), replace=False)
        return concatenate(rows, rows_of_sentences(np.concatenate([misleading, drawn]), length, wanted, rng))


@dataclass(frozen=True)
class NumberMasks:
    """Hides tokens as ``mask_tokens`` does, but in the rows of ``NumberRows`` some verbs and nouns before all others.

    Elsewhere they are hidden as often as other tokens. Otherwise [MASK] would come to mean that a noun is likely. Rows
    are told apart by their [SEP]s: a pair has two. So a row of exactly two such sentences is mistaken for a pair:
    many are, in rows of 128 tokens, and hardly any in rows of 256. The other rows must be sentence pairs: in
    rows of full sentences, the number of [SEP]s says nothing.

    Attributes:
        numbers: of the words.
        verbs, nouns: how probable it is for each that it is hidden before others.
    """

    numbers: Numbers
    verbs: float
    nouns: float

    def __call__(self, input_ids: Tensor, vocabulary: Vocabulary, **masking) -> MaskedTokens:
        """Hide tokens of rows (B, L)."""
        verbs, nouns = (torch.from_numpy(each != 0) for each in (self.numbers.verbs, self.numbers.nouns))
        first = torch.where(verbs, self.verbs, self.nouns * nouns)[input_ids]
        is_pair = (input_ids == vocabulary.sep_id).sum(dim=1, keepdim=True) == 2
        return mask_tokens(input_ids, vocabulary, first=first.masked_fill(is_pair, 0.0), **masking)


def rows_of_sentences(spans: NDArray, length: int, count: int, rng: np.random.Generator) -> Rows:
    """``count`` rows of sentences in random order; once all have been used, they are used again in a new order.

    Args:
        spans: (S, 2), start and end of each sentence, at most ``length`` - 2 tokens long.
        length: L, of a row, [CLS] and a [SEP] after each sentence included.
        count: R.
        rng: source of randomness.
    """
    order: list[int] = []
    chosen, first_span = [], [0]
    while len(first_span) <= count:
        used = 1  # [CLS]
        while True:
            order = order or rng.permutation(len(spans)).tolist()
            size = int(spans[order[-1], 1] - spans[order[-1], 0]) + 1
            if used + size > length:
                break
            chosen.append(order.pop())
            used += size
        first_span.append(len(chosen))
    taken, first = spans[chosen], np.array(first_span)
    sizes = np.add.reduceat(taken[:, 1] - taken[:, 0] + 1, first[:-1]) + 1
    return Rows(taken, first, np.zeros(len(taken), np.int64), np.full(count, IGNORE), sizes)


def concatenate(rows: Rows, more: Rows) -> Rows:
    """All rows of both, of the same documents."""
    first_span = np.concatenate([rows.first_span, rows.first_span[-1] + more.first_span[1:]])
    others = zip((rows.spans, rows.segments, rows.nsp_labels, rows.lengths),
                 (more.spans, more.segments, more.nsp_labels, more.lengths))  # fmt: skip
    spans, segments, nsp_labels, lengths = map(np.concatenate, others)
    return Rows(spans, first_span, segments, nsp_labels, lengths)

"""Chapter 3: learning the vocabulary of WordPiece by three rules.

As published, WordPiece merges the pair that most increases the likelihood of the training data (Schuster & Nakajima
2012, "Japanese and Korean Voice Search"; Wu et al. 2016, section 4.1). The papers print no formula. If symbols are
drawn independently, replacing i and j with ij gains about

    c(ij) log[P(ij) / (P(i) P(j))],     c for counts: rule "likelihood".

The ratio alone, P(ij) / (P(i) P(j)), is how the Hugging Face course (chapter 6) and many slides read the papers: rule
"score", which favours symbols that are seldom apart, however rare they are. Rule "bpe" is that of BPE, the most
frequent pair, with pieces inside a word written with ``##``; it is the rule of Hugging Face's WordPieceTrainer, which
breaks ties differently in each run. The result of all three is a vocabulary, not merges: the encoder looks for the
longest match.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from bertcourse.tokenization.bpe import train_bpe
from bertcourse.tokenization.bpe_fast import PairCounts, spell
from bertcourse.tokenization.input_checks import check_choice, check_sizes, check_word_counts
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, PREFIX
from bertcourse.tokenization.wordpiece_fast import learn_tokens

RULES = ("bpe", "score", "likelihood")
Rule = Literal["bpe", "score", "likelihood"]


def pair_score(rule: Rule, count: int, left: int, right: int, total: int) -> float:
    """How much a rule wants a pair merged; with P(i) = left / total, P(j) = right / total, P(ij) = count / total.

    Args:
        rule: "bpe", "score" or "likelihood".
        count: how often the pair occurs.
        left, right: how often each of its symbols occurs.
        total: how many symbols the corpus has.

    >>> [round(pair_score(rule, 5, 20, 5, 100), 3) for rule in RULES]
    [5, 0.05, 8.047]
    """
    if rule == "bpe":
        return count
    if rule == "score":
        return count / (left * right)  # total is the same for all pairs
    return count * math.log(count * total / (left * right))


def train_wordpiece(
    word_counts: Mapping[str, int],
    vocab_size: int,
    rule: Rule = "bpe",
    *,
    min_frequency: int = 1,
    special_tokens: Sequence[str] = BERT_SPECIAL_TOKENS,
) -> list[str]:
    """Learn the vocabulary of a ``WordPieceTokenizer``: count symbols and pairs, merge the best pair, start over.

    Args:
        word_counts: how often each word occurs, the words as ``normalized_words`` returns them.
        vocab_size: the most tokens to have.
        rule: which pair is merged next, by ``pair_score``. "bpe": the most frequent. "score": the one with the highest
            P(ij) / (P(i) P(j)), which without a ``min_frequency`` is junk: two symbols that occur once each.
            "likelihood": the one that makes the corpus most likely. Of equals, the one with the smallest ids.
        min_frequency: how often a pair must occur to be merged.
        special_tokens: they get the first ids.

    Returns:
        The tokens in order of id: special ones, characters by code point, characters inside a word, merged ones.

    >>> train_wordpiece({"hug": 10, "pug": 5, "hugs": 5}, 10, special_tokens=[])[-2:]
    ['##ug', 'hug']
    >>> train_wordpiece({"hug": 10, "pug": 5, "hugs": 5}, 10, rule="score", special_tokens=[])[-2:]
    ['hu', 'pu']
    """
    word_counts = check_word_counts(word_counts)
    check_choice("rule", rule, RULES)
    tokens, words = spell(word_counts, special_tokens, PREFIX)
    check_sizes(vocab_size, tokens, min_frequency=min_frequency)
    if rule == "bpe":
        sizes = dict(vocab_size=vocab_size, min_frequency=min_frequency)
        merges = train_bpe(word_counts, special_tokens=special_tokens, prefix=PREFIX, **sizes)
        return list(dict.fromkeys([*tokens, *(left + right.removeprefix(PREFIX) for left, right in merges)]))

    pairs = PairCounts(words, list(word_counts.values()))
    return learn_tokens(tokens, pairs, partial(pair_score, rule), vocab_size, max(min_frequency, 1))

"""Chapter 3: one vocabulary for many languages.

Text in English is plentiful; in Swahili it is not. If words were counted as they come, the vocabulary would be English.
So languages are drawn with probability

    q_i = p_i^α / Σ_j p_j^α,     p_i the share of language i in the text

(Conneau & Lample 2019, "Cross-lingual Language Model Pretraining", section 3.1): α = 1 keeps the shares, α = 0 makes
all languages equal. Multilingual BERT used α = 0.7, XLM-R α = 0.3.
"""

import math
from collections import Counter
from collections.abc import Mapping
from numbers import Real

from bertcourse.tokenization.encoding import Tokenizer
from bertcourse.tokenization.input_checks import check_mapping, check_number, check_word_counts


def sampling_probabilities(sizes: Mapping[str, float], alpha: float) -> dict[str, float]:
    """How often to draw each language.

    Args:
        sizes: how much text each language has, in any unit.
        alpha: 0 makes all languages alike, 1 keeps the proportions of their text, and more favours the large ones.

    Returns:
        The probability q_i of each language.

    >>> {name: round(q, 2) for name, q in sampling_probabilities({"en": 99, "sw": 1}, alpha=0.5).items()}
    {'en': 0.91, 'sw': 0.09}
    """
    check_mapping("sizes", sizes, "each language to how much text it has")
    check_number("alpha", alpha, least=0, kind=Real)
    if not sizes or any(not size > 0 or math.isinf(size) for size in sizes.values()):
        raise ValueError(f"sizes must map each language to how much text it has, more than 0; got {dict(sizes)}.")
    largest = max(sizes.values())
    weights = {language: (size / largest) ** alpha for language, size in sizes.items()}
    total = sum(weights.values())
    return {language: weight / total for language, weight in weights.items()}


def mix_word_counts(word_counts: Mapping[str, Mapping[str, int]], alpha: float) -> Counter[str]:
    """The word counts of all languages together, as if that many words had been drawn with probabilities q_i.

    Args:
        word_counts: the word counts of each language.
        alpha: as for ``sampling_probabilities``.

    Returns:
        Word counts, rounded, at least 1: the input of a trainer.

    >>> mix_word_counts({"en": {"the": 90}, "sw": {"na": 10}}, alpha=0)
    Counter({'the': 50, 'na': 50})
    """
    check_mapping("word_counts", word_counts, "each language to its word counts")
    word_counts = {language: check_word_counts(counts) for language, counts in word_counts.items()}
    sizes = {language: sum(counts.values()) for language, counts in word_counts.items()}
    drawn, total = sampling_probabilities(sizes, alpha), sum(sizes.values())
    mixed: Counter[str] = Counter()
    for language, counts in word_counts.items():
        factor = drawn[language] * total / sizes[language]
        mixed.update({word: max(1, round(count * factor)) for word, count in counts.items()})
    return mixed


def tokens_per_word(tokenizer: Tokenizer, word_counts: Mapping[str, int]) -> float:
    """How many tokens a word takes on average: what a language pays for its share of the vocabulary.

    This is called fertility in Rust et al. 2021, "How Good is Your Tokenizer?", section 3.2.

    Args:
        tokenizer: any of the chapter's.
        word_counts: how often each word occurs, the words as the tokenizer's trainer took them.
    """
    word_counts = check_word_counts(word_counts)
    pieces = {word: sum(piece.id is not None for piece in tokenizer.segment(word)) for word in word_counts}
    tokens = sum(pieces[word] * count for word, count in word_counts.items())
    return tokens / sum(word_counts.values())

"""Chapter 3: learning the unigram language model.

Start with far too many tokens. Expectation-maximization gives each its probability: count how often it is used,
averaged over all segmentations, and make that its probability,

    E: c(t) = Σ_w  frequency(w) · Σ of P(edge | w) over the edges of t in the lattice of w,     M: p(t) ∝ exp ψ(c(t)).

(ψ, the digamma function, takes about half a use away from every token, which favours having few: variational Bayes.)
Then remove the tokens whose loss costs the corpus the least likelihood, and repeat until the vocabulary is small enough
(Kudo 2018, "Subword Regularization", section 3.2). Steps and constants are those of sentencepiece; ``unigram_fast``
takes each for all words at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real

from tqdm import tqdm

from bertcourse.tokenization.input_checks import check_number, check_sizes, check_word_counts
from bertcourse.tokenization.unigram_fast import UnigramModel

LONGEST_WORD = 100  # longer words are not learned from: the product of that many probabilities becomes 0
END = "\0"


def seed_tokens(word_counts: Mapping[str, int], size: int, longest: int) -> list[tuple[str, float]]:
    """The substrings to start with: those that cover the most characters of the corpus.

    A substring that is always followed by the same character adds nothing to the longer one, and is left out.

    Returns:
        Substrings of two or more characters with their scores, occurrences × length, best first.

    Source: Kudo 2018, section 3.2 (1); sentencepiece finds them as the inner nodes of a suffix tree of the text.

    >>> seed_tokens({"set": 9, "reset": 1, "sets": 1, "sea": 1}, size=10, longest=4)
    [('set', 33), ('se', 24), ('et', 22)]
    """
    occurrences: Counter[str] = Counter()
    for word, count in word_counts.items():
        text = word + END
        for start in range(len(word)):
            for end in range(start + 2, min(len(text), start + longest + 1) + 1):
                occurrences[text[start:end]] += count
    always_goes_on = {token[:-1] for token, count in occurrences.items() if count == occurrences.get(token[:-1])}
    scores = [
        (token, count * len(token))
        for token, count in occurrences.items()
        if count > 1 and len(token) <= longest and not token.endswith(END) and token not in always_goes_on
    ]
    return sorted(scores, key=lambda item: (-item[1], item[0]))[:size]


def train_unigram(
    word_counts: Mapping[str, int],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = (),
    seed_size: int = 1_000_000,
    longest_token: int = 16,
    shrink: float = 0.75,
    em_steps: int = 2,
) -> list[tuple[str, float]]:
    """Learn tokens and their probabilities.

    Args:
        word_counts: how often each word occurs; tokens do not cross words. From words of more than 100 characters only
            the characters are learned.
        vocab_size: the most tokens to have, including special ones.
        special_tokens: room is left for them.
        seed_size: the most tokens to start with, besides the single characters.
        longest_token: length of the longest token, in characters.
        shrink: the share of tokens that survives a round of pruning, between 0 and 1.
        em_steps: rounds of expectation-maximization between two prunings.

    Returns:
        Tokens with their log-probabilities, the most probable first; every character of the corpus is among them.

    Source: Kudo 2018, section 3.2; constants as in sentencepiece's unigram_model_trainer.cc.

    >>> [token for token, _ in train_unigram({"abab": 5, "ab": 5, "cab": 2}, 4)]
    ['ab', 'c', 'a', 'b']
    """
    word_counts = check_word_counts(word_counts)
    characters = sorted(set("".join(word_counts)))
    check_sizes(vocab_size, [*special_tokens, *characters])
    check_number("seed_size", seed_size, least=0)
    check_number("longest_token", longest_token, least=1)
    check_number("em_steps", em_steps, least=1)
    check_number("shrink", shrink, least=0, kind=Real)
    if not 0 < shrink < 1:
        raise ValueError(f"shrink must lie between 0 and 1, else no tokens are left, or none taken away; got {shrink}.")
    learned = {word: count for word, count in word_counts.items() if len(word) <= LONGEST_WORD}
    if not learned:
        raise ValueError(
            f"at least one word must have at most {LONGEST_WORD} characters; got none. Split them at spaces."
        )
    room = vocab_size - len(special_tokens)
    scores = dict.fromkeys(characters, 0)
    for word, count in word_counts.items():
        for character in word:
            scores[character] += count
    scores.update(seed_tokens(learned, seed_size, longest_token))
    model = UnigramModel(learned, scores, len(characters), longest_token)
    progress = tqdm(desc="Unigram", unit=" prunings", disable=None)
    while True:
        for _ in range(em_steps):
            model.maximize(model.expect())
        if len(model.tokens) <= 1.1 * room:
            break
        model.prune(max(int(shrink * len(model.tokens)), int(1.1 * room)))
        progress.set_postfix(tokens=len(model.tokens))
        progress.update()
    progress.close()
    return model.most_probable(room)

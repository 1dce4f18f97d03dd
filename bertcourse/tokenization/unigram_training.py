"""Chapter 3: learning the unigram language model.

Begin with far too many tokens. Expectation-maximization gives each its probability: count how often it is used,
averaged over all segmentations (E), and make that its probability (M). Then take away the tokens whose loss costs
the corpus least likelihood, and repeat until the vocabulary is small enough (Kudo 2018, "Subword Regularization",
section 3.2). Steps and constants are those of sentencepiece.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
import torch
from tqdm import tqdm

from bertcourse.tokenization.bpe import check_sizes, check_word_counts
from bertcourse.tokenization.encoding import check_number
from bertcourse.tokenization.lattices import Lattices

LEAST_EXPECTED = 0.5  # a token that EM expects to be used less often than this is dropped
LONGEST_WORD = 100  # longer words are not learned from: the product of so many probabilities becomes 0
END = "\0"


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
        word_counts: word to how often it occurs; tokens do not cross words. Of words of more than 100 characters only
            the characters are learned.
        vocab_size: how many tokens to have at most, the special ones among them.
        special_tokens: room is left for them.
        seed_size: how many tokens to begin with at most, besides the single characters.
        longest_token: in characters.
        shrink: the share of tokens that survives a round of pruning, between 0 and 1.
        em_steps: rounds of expectation-maximization between two prunings.

    Returns:
        Tokens with their log-probabilities, the most probable first; every character of the corpus is one.

    Raises:
        TypeError: if a word is not a str, or a number not of its kind.
        ValueError: if there are no words of at most 100 characters, ``vocab_size`` has no room for the single
            characters, or another number is out of its range.

    Source: Kudo 2018, section 3.2; constants as in sentencepiece's unigram_model_trainer.cc.

    >>> [token for token, _ in train_unigram({"abab": 5, "ab": 5, "cab": 2}, 4)]
    ['ab', 'c', 'a', 'b']
    """
    word_counts = check_word_counts(word_counts)
    characters = sorted(set("".join(word_counts)))
    check_sizes(None, vocab_size, [*special_tokens, *characters])
    check_number("seed_size", seed_size, least=0)
    check_number("longest_token", longest_token, least=1)
    check_number("em_steps", em_steps, least=1)
    check_number("shrink", shrink, least=0, kind=Real)
    if not 0 < shrink < 1:
        raise ValueError(
            f"shrink must lie between 0 and 1, else no tokens are left, or none are taken away; got {shrink}."
        )
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


def seed_tokens(word_counts: Mapping[str, int], size: int, longest: int) -> list[tuple[str, float]]:
    """The substrings to begin with: those that cover most characters of the corpus.

    A substring that is always followed by the same character says nothing that the longer one does not, and is left
    out.

    Returns:
        Substrings of two characters or more with their score, occurrences × length, the best first.

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


class UnigramModel:
    """Tokens, their probabilities, and the words that they are learned from.

    Args:
        word_counts: as for ``train_unigram``.
        scores: token to a first guess of its count; single characters first.
        num_characters: how many of them there are; these are never taken away.
        longest: the longest token, in characters.
    """

    def __init__(self, word_counts: Mapping[str, int], scores: Mapping[str, float], num_characters: int, longest: int):
        self.tokens = list(scores)
        self.probabilities = np.array(list(scores.values()), dtype=float) / sum(scores.values())
        self.num_characters = num_characters
        self.longest = longest
        self.frequencies = np.array(list(word_counts.values()), dtype=float)
        self.lattices = Lattices(list(word_counts), self.tokens, longest)

    def expect(self) -> np.ndarray:
        """E: how often each token is used, averaged over all segmentations of the corpus by their probability."""
        return self.lattices.expected_counts(self.probabilities, self.frequencies)

    def maximize(self, counts: np.ndarray) -> None:
        """M: probabilities from expected counts; rare tokens are dropped.

        exp(ψ(count)) in place of count takes about half a use from every token, which favours few (variational Bayes).
        """
        keep = counts >= LEAST_EXPECTED
        keep[: self.num_characters] = True
        self.keep(keep)
        counts = torch.from_numpy(np.maximum(counts[keep], 0.1))
        self.probabilities = (torch.digamma(counts) - torch.digamma(counts.sum())).exp().numpy()

    def prune(self, size: int) -> None:
        """Keep the characters and the tokens that the likelihood of the corpus would miss most, ``size`` in all.

        Without it, each use of a token would be a use of the tokens of its second-best segmentation.

        Source: Kudo 2018, section 3.2 (3).
        """
        log_probs = np.log(self.probabilities)
        words, tokens = self.lattices.best_paths(log_probs)
        used = np.bincount(tokens, self.frequencies[words], len(self.tokens))
        split, parts = Lattices(self.tokens, self.tokens, self.longest, whole_words=False).best_paths(log_probs)
        num_parts = np.bincount(split, minlength=len(self.tokens))
        total = used.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            log_share = np.log(used) - np.log(total)
            new_total = total + used * (num_parts - 1)
            log_share_of_part = np.log(used[parts] + used[split]) - np.log(new_total[split])
            log_share_of_parts = np.bincount(split, log_share_of_part, len(self.tokens))
            cost = np.where(used > 0, used * (log_share - log_share_of_parts), -np.inf)
        cost[num_parts == 0] = np.inf  # nothing else spells it
        cost[: self.num_characters] = np.inf
        keep = np.zeros(len(self.tokens), dtype=bool)
        keep[np.argsort(-cost, kind="stable")[:size]] = True
        self.probabilities = self.probabilities[keep]
        self.keep(keep)

    def keep(self, keep: np.ndarray) -> None:
        """Forget the tokens for which ``keep`` is False."""
        self.lattices.keep(np.where(keep, np.cumsum(keep) - 1, -1))
        self.tokens = [token for token, stays in zip(self.tokens, keep) if stays]

    def most_probable(self, size: int) -> list[tuple[str, float]]:
        """The characters and the most probable other tokens, ``size`` in all, with their log-probabilities."""
        order = np.argsort(-self.probabilities, kind="stable").tolist()
        others = [i for i in order if i >= self.num_characters][: size - self.num_characters]
        chosen = {*range(self.num_characters), *others}
        return [(self.tokens[i], math.log(self.probabilities[i])) for i in order if i in chosen]

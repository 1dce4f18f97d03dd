"""Chapter 3: learning the unigram language model from a whole corpus; the definitions are in ``unigram``.

Start with far too many tokens. Expectation-maximization gives each its probability: count how often it is used,
averaged over all segmentations, and make that its probability,

    E: c(t) = Σ_w  frequency(w) · Σ of P(edge | w) over the edges of t in the lattice of w,     M: p(t) ∝ exp ψ(c(t)).

(ψ, the digamma function, takes about half a use away from every token, which favours having few: variational Bayes.)
Then remove the tokens whose loss costs the corpus the least likelihood, and repeat until the vocabulary is small enough
(Kudo 2018, "Subword Regularization", section 3.2). Steps and constants are those of sentencepiece's
unigram_model_trainer.cc. Each step takes the lattices of all words at once, as operations on arrays.
"""

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy.special import digamma
from tqdm import tqdm

LONGEST_TOKEN, LONGEST_WORD = 16, 100  # in characters; of longer words only the characters are learned
MOST_SEEDS = 1_000_000
SHRINK, EM_STEPS = 0.75, 2  # the share of tokens that survives a pruning; rounds of EM before it
LEAST_EXPECTED = 0.5  # a token that EM expects to be used less often than this is dropped
END = "\0"


def train_unigram(word_counts: Mapping[str, int], vocab_size: int) -> list[tuple[str, float]]:
    """Learn tokens, every character among them, and their log-probabilities, the most probable first.

    >>> [token for token, _ in train_unigram({"abab": 5, "ab": 5, "cab": 2}, 4)]
    ['ab', 'c', 'a', 'b']
    """
    scores = dict.fromkeys(sorted(set("".join(word_counts))), 0)
    num_characters = len(scores)
    for word, count in word_counts.items():
        for character in word:
            scores[character] += count
    learned = {word: count for word, count in word_counts.items() if len(word) <= LONGEST_WORD}
    model = UnigramModel(learned, scores | dict(seed_tokens(learned)), num_characters)
    progress = tqdm(desc="Unigram", unit=" prunings", disable=None)
    while True:
        for _ in range(EM_STEPS):
            model.maximize(model.expect())
        if len(model.tokens) <= 1.1 * vocab_size:
            break
        model.prune(max(int(SHRINK * len(model.tokens)), int(1.1 * vocab_size)))
        progress.update()
    progress.close()
    order = np.argsort(-model.probabilities, kind="stable").tolist()
    others = [i for i in order if i >= num_characters][: vocab_size - num_characters]
    chosen = {*range(num_characters), *others}
    return [(model.tokens[i], math.log(model.probabilities[i])) for i in order if i in chosen]


def seed_tokens(
    word_counts: Mapping[str, int], size: int = MOST_SEEDS, longest: int = LONGEST_TOKEN
) -> list[tuple[str, float]]:
    """The substrings to start with, those that cover the most characters: occurrences × length, best first.

    A substring that is always followed by the same character adds nothing to the longer one, and is left out;
    sentencepiece finds the others as the inner nodes of a suffix tree of the text.

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

    ``scores`` is a first guess of each token's count; the single characters come first, and are never removed.
    """

    def __init__(self, word_counts: Mapping[str, int], scores: Mapping[str, float], num_characters: int):
        self.tokens = list(scores)
        self.probabilities = np.array(list(scores.values()), dtype=float) / sum(scores.values())
        self.num_characters = num_characters
        self.frequencies = np.array(list(word_counts.values()), dtype=float)
        self.lattices = Lattices(list(word_counts), self.tokens)

    def expect(self) -> np.ndarray:
        """E: how often each token is used, averaged over all segmentations of the corpus, by their probability."""
        return self.lattices.expected_counts(self.probabilities, self.frequencies)

    def maximize(self, counts: np.ndarray) -> None:
        """M: probabilities from expected counts; rare tokens are dropped."""
        keep = counts >= LEAST_EXPECTED
        keep[: self.num_characters] = True
        self._keep(keep)
        counts = np.maximum(counts[keep], 0.1)
        self.probabilities = np.exp(digamma(counts) - digamma(counts.sum()))

    def losses(self) -> np.ndarray:
        """How much log-likelihood the corpus would lose without each token, in its best segmentations.

        Each use of it would become a use of the tokens of its second-best segmentation (Kudo 2018, section 3.2 (3)).
        The loss is -inf for a token that is never used, inf for one that no other tokens spell.
        """
        log_probs = np.log(self.probabilities)
        words, tokens = self.lattices.best_paths(log_probs)
        used = np.bincount(tokens, self.frequencies[words], len(self.tokens))
        split, parts = Lattices(self.tokens, self.tokens, whole_words=False).best_paths(log_probs)
        num_parts = np.bincount(split, minlength=len(self.tokens))
        total = used.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            log_share = np.log(used) - np.log(total)
            new_total = total + used * (num_parts - 1)
            log_share_of_part = np.log(used[parts] + used[split]) - np.log(new_total[split])
            log_share_of_parts = np.bincount(split, log_share_of_part, len(self.tokens))
            lost = np.where(used > 0, used * (log_share - log_share_of_parts), -np.inf)
        lost[num_parts == 0] = np.inf
        return lost

    def prune(self, size: int) -> None:
        """Keep the characters and the tokens whose loss would cost the corpus the most likelihood, ``size`` in all."""
        lost = self.losses()
        lost[: self.num_characters] = np.inf
        keep = np.zeros(len(self.tokens), dtype=bool)
        keep[np.argsort(-lost, kind="stable")[:size]] = True
        self.probabilities = self.probabilities[keep]
        self._keep(keep)

    def _keep(self, keep: np.ndarray) -> None:
        self.lattices.keep(np.where(keep, np.cumsum(keep) - 1, -1))
        self.tokens = [token for token, stays in zip(self.tokens, keep) if stays]


class Lattices:
    """All segmentations of many words at once: what ``unigram.lattice`` is for one, in arrays.

    The nodes of all words stand one word after another. Edges are sorted by the position in their word where they end,
    so that each step advances all words by one character. Unless ``whole_words``, no token may be a whole word.
    """

    def __init__(self, words: Sequence[str], tokens: Sequence[str], whole_words: bool = True):
        lengths = np.array([len(word) for word in words])
        self.last = np.cumsum(lengths + 1) - 1  # nodes: where each word ends, and where it starts
        self.first = self.last - lengths
        ids = {token: i for i, token in enumerate(tokens)}
        edges = array("i")  # four numbers per edge: where in the word it ends, the nodes it joins, its token
        for word, node in zip(words, self.first.tolist()):
            for start in range(len(word)):
                for end in range(start + 1, min(len(word), start + LONGEST_TOKEN) + 1):
                    token = ids.get(word[start:end])
                    if token is not None and (whole_words or end - start < len(word)):
                        edges.extend((end, node + start, node + end, token))
        table = np.frombuffer(edges, dtype=np.intc).reshape(-1, 4)
        self.ends, self.sources, self.targets, self.tokens = table[np.argsort(table[:, 0], kind="stable")].T.copy()

    def keep(self, new_ids: np.ndarray) -> None:
        """Renumber the tokens, and remove the edges of those whose new number is negative."""
        tokens = new_ids[self.tokens]
        stays = tokens >= 0
        self.tokens = tokens[stays]
        self.ends, self.sources, self.targets = self.ends[stays], self.sources[stays], self.targets[stays]

    def _steps(self) -> list[slice]:
        """The edges that end at position 1 of their words, at position 2, and so on."""
        bounds = np.searchsorted(self.ends, np.arange(1, self.ends.max(initial=0) + 2))
        return [slice(*pair) for pair in pairwise(bounds.tolist())]

    def expected_counts(self, probabilities: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """``unigram.expected_counts``; a word of probability below about 1e-300 does not count."""
        weights = probabilities[self.tokens]
        forward, backward = np.zeros(self.last[-1] + 1), np.zeros(self.last[-1] + 1)
        forward[self.first] = backward[self.last] = 1.0
        steps = self._steps()
        for step in steps:
            np.add.at(forward, self.targets[step], weights[step] * forward[self.sources[step]])
        for step in reversed(steps):
            np.add.at(backward, self.sources[step], weights[step] * backward[self.targets[step]])
        totals = forward[self.last]
        per_path = np.divide(frequencies, totals, out=np.zeros_like(totals), where=totals > 0)
        per_path = np.repeat(per_path, self.last - self.first + 1)  # for each node, that of its word
        posteriors = forward[self.sources] * weights * backward[self.targets] * per_path[self.sources]
        return np.bincount(self.tokens, posteriors, len(probabilities))

    def best_paths(self, log_probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``unigram.best_path`` of each word that has one: for each token on it, the index of its word, and its own."""
        best, last_edge = np.full(self.last[-1] + 1, -np.inf), np.zeros(self.last[-1] + 1, dtype=np.intp)
        best[self.first] = 0.0
        for step in self._steps():
            targets = self.targets[step]
            scores = best[self.sources[step]] + log_probs[self.tokens[step]]
            np.maximum.at(best, targets, scores)
            won = np.flatnonzero(scores == best[targets])[::-1]  # the longest comes last: it stays
            last_edge[targets[won]] = step.start + won
        word = np.flatnonzero(np.isfinite(best[self.last]))
        node, words, tokens = self.last[word], [], []
        while len(word):
            edge = last_edge[node]
            words.append(word)
            tokens.append(self.tokens[edge])
            node = self.sources[edge]
            on_the_way = node > self.first[word]
            word, node = word[on_the_way], node[on_the_way]
        return np.concatenate([*words, []]).astype(np.intp), np.concatenate([*tokens, []]).astype(np.intp)

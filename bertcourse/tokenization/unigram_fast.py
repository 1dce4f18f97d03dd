"""Chapter 3: training the unigram language model, fast: the lattices of all words of a corpus at once.

``unigram.Lattice`` holds the segmentations of one word, and ``unigram_training`` tells the two steps of training; read
these first. Training needs the same sums and maxima for every word of a corpus, over and over: here they are operations
on arrays, and tests check that they equal those of one lattice after the other.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy.special import digamma

LEAST_EXPECTED = 0.5  # a token that EM expects to be used less often than this is dropped


class Lattices:
    """All segmentations of many words at once: what ``unigram.Lattice`` does for one, as operations on arrays.

    The nodes are the positions of all words, one word after another; each token that fits is an edge between two. Edges
    are sorted by the position in their word where they end, so that each step advances all words by one character.

    Args:
        words: the words.
        tokens: the vocabulary; edges carry the index of their token.
        longest: length of the longest token, in characters.
        whole_words: whether a single token may be a whole word.
    """

    def __init__(self, words: Sequence[str], tokens: Sequence[str], longest: int, whole_words: bool = True):
        lengths = np.array([len(word) for word in words])
        self.last = np.cumsum(lengths + 1) - 1  # nodes: where each word ends, and where it starts
        self.first = self.last - lengths
        ids = {token: i for i, token in enumerate(tokens)}
        edges = array("i")  # four numbers per edge: where in the word it ends, the nodes it joins, its token
        for word, node in zip(words, self.first.tolist()):
            for start in range(len(word)):
                for end in range(start + 1, min(len(word), start + longest) + 1):
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

    def steps(self) -> list[slice]:
        """The edges that end at position 1 of their words, at position 2, and so on."""
        bounds = np.searchsorted(self.ends, np.arange(1, self.ends.max(initial=0) + 2))
        return [slice(*pair) for pair in pairwise(bounds.tolist())]

    def expected_counts(self, probabilities: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """How often each token is used, averaged over all segmentations: the forward-backward algorithm.

        Probabilities are multiplied as they are: a word of probability below about 1e-300, some sixty rare tokens, does
        not count.

        Args:
            probabilities: (tokens,), one per token.
            frequencies: (words,), one per word.
        """
        weights = probabilities[self.tokens]
        forward, backward = np.zeros(self.last[-1] + 1), np.zeros(self.last[-1] + 1)
        forward[self.first] = backward[self.last] = 1.0
        steps = self.steps()
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
        """The tokens of every word's most probable segmentation (Viterbi).

        Args:
            log_probs: (tokens,), one per token.

        Returns:
            ``(words, tokens)``, with an entry for each token of a best path: the index of its word, and its own. A word
            that cannot be segmented has none. Of equally good edges the longest is taken, as in ``Lattice.best_path``.
        """
        best, came_by = np.full(self.last[-1] + 1, -np.inf), np.zeros(self.last[-1] + 1, dtype=np.intp)
        best[self.first] = 0.0
        for step in self.steps():
            targets = self.targets[step]
            scores = best[self.sources[step]] + log_probs[self.tokens[step]]
            np.maximum.at(best, targets, scores)
            won = np.flatnonzero(scores == best[targets])[::-1]  # the longest comes last: it stays
            came_by[targets[won]] = step.start + won
        word = np.flatnonzero(np.isfinite(best[self.last]))
        node, words, tokens = self.last[word], [], []
        while len(word):
            edge = came_by[node]
            words.append(word)
            tokens.append(self.tokens[edge])
            node = self.sources[edge]
            on_the_way = node > self.first[word]
            word, node = word[on_the_way], node[on_the_way]
        return np.concatenate([*words, []]).astype(np.intp), np.concatenate([*tokens, []]).astype(np.intp)


class UnigramModel:
    """Tokens, their probabilities, and the words that they are learned from.

    Args:
        word_counts: as for ``train_unigram``.
        scores: a first guess of each token's count; single characters come first.
        num_characters: how many single characters there are; these are never removed.
        longest: length of the longest token, in characters.
    """

    def __init__(self, word_counts: Mapping[str, int], scores: Mapping[str, float], num_characters: int, longest: int):
        self.tokens = list(scores)
        self.probabilities = np.array(list(scores.values()), dtype=float) / sum(scores.values())
        self.num_characters = num_characters
        self.longest = longest
        self.frequencies = np.array(list(word_counts.values()), dtype=float)
        self.lattices = Lattices(list(word_counts), self.tokens, longest)

    def expect(self) -> np.ndarray:
        """E: how often each token is used, averaged over all segmentations of the corpus, by their probability."""
        return self.lattices.expected_counts(self.probabilities, self.frequencies)

    def maximize(self, counts: np.ndarray) -> None:
        """M: probabilities from expected counts; rare tokens are dropped."""
        keep = counts >= LEAST_EXPECTED
        keep[: self.num_characters] = True
        self.keep(keep)
        counts = np.maximum(counts[keep], 0.1)
        self.probabilities = np.exp(digamma(counts) - digamma(counts.sum()))

    def losses(self) -> np.ndarray:
        """How much log-likelihood the corpus would lose without each token, in its best segmentations.

        Each use of the token would become a use of the tokens of its second-best segmentation (Kudo 2018, section 3.2
        (3)). The loss is -inf for a token that is never used, inf for one that no other tokens spell.
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
            lost = np.where(used > 0, used * (log_share - log_share_of_parts), -np.inf)
        lost[num_parts == 0] = np.inf  # nothing else spells it
        return lost

    def prune(self, size: int) -> None:
        """Keep the characters and the tokens whose loss would cost the corpus the most likelihood, ``size`` in all."""
        lost = self.losses()
        lost[: self.num_characters] = np.inf
        keep = np.zeros(len(self.tokens), dtype=bool)
        keep[np.argsort(-lost, kind="stable")[:size]] = True
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

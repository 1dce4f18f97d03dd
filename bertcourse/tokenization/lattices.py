"""Chapter 3: the lattices of all words of a corpus at once.

``unigram.Lattice`` holds the segmentations of one word and is what to read first. Training needs the same sums and
maxima for every word of a corpus, over and over: here they are operations on arrays, held equal to the plain ones by
the tests.
"""

from array import array
from collections.abc import Sequence
from itertools import pairwise

import numpy as np


class Lattices:
    """All segmentations of many words at once: what ``unigram.Lattice`` does for one, as operations on arrays.

    The positions of all words, one word after the other, are the nodes; each token that fits is an edge between two.
    Edges are sorted by the position in their word where they end, so that a step takes all words on by one character.

    Args:
        words: the words.
        tokens: the vocabulary; edges bear the index of their token.
        longest: the longest token, in characters.
        whole_words: whether a token may be a whole word by itself.
    """

    def __init__(self, words: Sequence[str], tokens: Sequence[str], longest: int, whole_words: bool = True):
        lengths = np.array([len(word) for word in words])
        self.last = np.cumsum(lengths + 1) - 1  # nodes: where each word ends, and where it starts
        self.first = self.last - lengths
        ids = {token: i for i, token in enumerate(tokens)}
        edges = array("i")  # four numbers an edge: where in the word it ends, the nodes it joins, its token
        for word, node in zip(words, self.first.tolist()):
            for start in range(len(word)):
                for end in range(start + 1, min(len(word), start + longest) + 1):
                    token = ids.get(word[start:end])
                    if token is not None and (whole_words or end - start < len(word)):
                        edges.extend((end, node + start, node + end, token))
        table = np.frombuffer(edges, dtype=np.intc).reshape(-1, 4)
        self.ends, self.sources, self.targets, self.tokens = table[np.argsort(table[:, 0], kind="stable")].T.copy()

    def keep(self, new_ids: np.ndarray) -> None:
        """Renumber the tokens; the edges of those whose new number is negative are taken out."""
        tokens = new_ids[self.tokens]
        stays = tokens >= 0
        self.tokens = tokens[stays]
        self.ends, self.sources, self.targets = self.ends[stays], self.sources[stays], self.targets[stays]

    def steps(self) -> list[slice]:
        """The edges that end at position 1 of their words, at position 2, and so on."""
        bounds = np.searchsorted(self.ends, np.arange(1, self.ends.max(initial=0) + 2))
        return [slice(*pair) for pair in pairwise(bounds.tolist())]

    def expected_counts(self, probabilities: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """How often each token is used, averaged over all segmentations.

        Probabilities are multiplied as they are: a word of less than about 1e-300, some sixty rare tokens, does not
            count.

        Args:
            probabilities: of each token.
            frequencies: of each word.

        Returns:
            The expected count of each token.

        Source: the forward-backward algorithm; ``unigram.Lattice.posteriors`` has it for one word.
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
            log_probs: of each token.

        Returns:
            ``(words, tokens)``, an entry for each token of a best path: the index of its word, and its own. A word that
            cannot be segmented has none. Of equally good edges the longest is taken, as in
            ``unigram.Lattice.best_path``.
        """
        best, came_by = np.full(self.last[-1] + 1, -np.inf), np.zeros(self.last[-1] + 1, dtype=np.intp)
        best[self.first] = 0.0
        for step in self.steps():
            targets = self.targets[step]
            scores = best[self.sources[step]] + log_probs[self.tokens[step]]
            np.maximum.at(best, targets, scores)
            won = np.flatnonzero(scores == best[targets])[::-1]  # the longest last: it stays
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

"""Chapter 3: the unigram language model's training, fast: the lattices of all words of a corpus at once.

``unigram.Lattice`` holds the segmentations of one word, and ``unigram_training`` the two steps of training in plain
form; read these first. Training needs the same sums and maxima for every word of a corpus, over and over: here they are
operations on arrays, held equal to the plain ones by the tests.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch

LEAST_EXPECTED = 0.5  # a token that EM expects to be used less often than this is dropped


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
        """How often each token is used, averaged over all segmentations: the forward-backward algorithm.

        Probabilities are multiplied as they are: a word of less than about 1e-300, some sixty rare tokens, does not
        count.

        Args:
            probabilities: (tokens,) of each token.
            frequencies: (words,) of each word.
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
            log_probs: (tokens,) of each token.

        Returns:
            ``(words, tokens)``, an entry for each token of a best path: the index of its word, and its own. A word that
            cannot be segmented has none. Of equally good edges the longest is taken, as in ``Lattice.best_path``.
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
        """E: ``unigram_training.expected_counts``, of each token."""
        return self.lattices.expected_counts(self.probabilities, self.frequencies)

    def maximize(self, counts: np.ndarray) -> None:
        """M: probabilities from expected counts; rare tokens are dropped."""
        keep = counts >= LEAST_EXPECTED
        keep[: self.num_characters] = True
        self.keep(keep)
        counts = torch.from_numpy(np.maximum(counts[keep], 0.1))
        self.probabilities = (torch.digamma(counts) - torch.digamma(counts.sum())).exp().numpy()

    def losses(self) -> np.ndarray:
        """``unigram_training.losses``, of each token."""
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
        """Keep the characters and the tokens that the likelihood of the corpus would miss most, ``size`` in all."""
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

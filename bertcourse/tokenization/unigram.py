"""Chapter 3: the unigram language model.

Every token t has a probability; that of a segmentation x of a word w is the product over its tokens. A word is read as

    x* = argmax over x in S(w) of  Π_{t in x} p(t),     S(w) all ways to cut w into tokens.

S(w) is a lattice: nodes between characters, and an edge for each token that fits between two of them (Kudo 2018,
"Subword Regularization", section 3). Viterbi finds its best path, and sums over all paths say how often each token is
used, from which ``unigram_fast`` learns the probabilities.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bertcourse.tokenization.encoding import Piece, Tokenizer

UNKNOWN_PENALTY = 10.0  # an unknown character is e¹⁰ times less likely than the least likely token, as in sentencepiece


class Edge(NamedTuple):
    """A token that fits between two nodes of a word, ``word[start:end]``, with its log-probability."""

    start: int
    end: int
    token: str
    log_prob: float


Lattice = list[list[Edge]]


def lattice(word: str, log_probs: Mapping[str, float], max_length: int = 16) -> Lattice:
    """All segmentations of a word: for each node, from 0 to its length, the edges that end there, the longest first.

    >>> [[edge.token for edge in edges] for edges in lattice("ab", {"a": -1.0, "b": -1.0, "ab": -3.0})]
    [[], ['a'], ['ab', 'b']]
    """
    edges_to = [[]]
    for end in range(1, len(word) + 1):
        starts = range(max(0, end - max_length), end)
        tokens = [(start, word[start:end]) for start in starts]
        edges_to.append([Edge(start, end, token, log_probs[token]) for start, token in tokens if token in log_probs])
    return edges_to


def best_path(edges_to: Lattice) -> tuple[list[Edge], list[float]]:
    """The most probable segmentation (Viterbi): the best way to a node extends the best way to an earlier one.

    Of equally good edges the longest is taken, as in ``tokenizers``. Returns the edges of the path, and for each node
    the log-probability of the best way to it.

    >>> path, best = best_path(lattice("ab", {"a": -1.0, "b": -1.0, "ab": -3.0}))
    >>> [edge.token for edge in path], best
    (['a', 'b'], [0.0, -1.0, -2.0])
    """
    best, last_edge = [0.0], [None]
    for edges in edges_to[1:]:
        edge = max(edges, key=lambda edge: best[edge.start] + edge.log_prob)
        best.append(best[edge.start] + edge.log_prob)
        last_edge.append(edge)
    path, node = [], len(best) - 1
    while node > 0:
        path.append(last_edge[node])
        node = last_edge[node].start
    return path[::-1], best


def expected_counts(word_counts: Mapping[str, int], log_probs: Mapping[str, float]) -> tuple[Counter[str], float]:
    """How often each token is used, averaged over all segmentations of each word; and the words' log-likelihood.

    >>> expected_counts({"ab": 1}, {"a": math.log(0.5), "b": math.log(0.5), "ab": math.log(0.25)})[0]
    Counter({'a': 0.5, 'ab': 0.5, 'b': 0.5})
    """
    expected, log_likelihood = Counter(), 0.0
    for word, count in word_counts.items():
        edges = [edge for edges in lattice(word, log_probs) for edge in edges]
        before, after = [1.0, *[0.0] * len(word)], [*[0.0] * len(word), 1.0]
        for edge in edges:
            before[edge.end] += before[edge.start] * math.exp(edge.log_prob)
        for edge in reversed(edges):
            after[edge.start] += math.exp(edge.log_prob) * after[edge.end]
        for edge in edges:
            through = before[edge.start] * math.exp(edge.log_prob) * after[edge.end]
            expected[edge.token] += count * through / before[-1]
        log_likelihood += count * math.log(before[-1])
    return expected, log_likelihood


class UnigramTokenizer(Tokenizer):
    """Cuts each word into its most probable tokens.

    Args:
        pieces: tokens and their log-probabilities, as ``train_unigram`` returns them.
        special_tokens: they get the first ids; the unknown token is one of them.
        unknown_token: stands for characters that no token covers.

    >>> tokenizer = UnigramTokenizer([("▁", -2.0), ("a", -1.0), ("b", -1.0), ("ab", -1.5)])
    >>> tokenizer.encode("ab!").tokens
    ['▁', 'ab', '[UNK]']
    """

    def __init__(
        self,
        pieces: Sequence[tuple[str, float]],
        special_tokens: Sequence[str] = ("[UNK]",),
        unknown_token: str = "[UNK]",
    ):
        super().__init__([*special_tokens, *(token for token, _ in pieces)], special_tokens, unknown_token)
        self.log_probs = {token: float(log_prob) for token, log_prob in pieces}
        self.max_length = max(map(len, self.log_probs))
        self.unknown_log_prob = min(self.log_probs.values()) - UNKNOWN_PENALTY

    def segment(self, word: str) -> list[Piece]:
        """The most probable pieces of a word that is given with its marker; unknown characters in a row are one."""
        unknown = dict.fromkeys(set(word) - self.log_probs.keys(), self.unknown_log_prob)
        path, _ = best_path(lattice(word, self.log_probs | unknown if unknown else self.log_probs, self.max_length))
        pieces: list[Piece] = []
        for start, end, token, _ in path:
            if token in unknown and pieces and pieces[-1].id == self.unknown_id:
                pieces[-1] = Piece(self.unknown_id, pieces[-1].length + 1)
            else:
                pieces.append(Piece(self.unknown_id if token in unknown else self.token_ids[token], end - start))
        return pieces

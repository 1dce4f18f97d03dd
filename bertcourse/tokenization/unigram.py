"""Chapter 3: the unigram language model.

Every token t has a probability; that of a segmentation x of a word w is the product over its tokens. A word is read as

    x* = argmax over x in S(w) of  Π_{t in x} p(t),     S(w) all ways to cut w into tokens.

S(w) is a lattice: positions between characters, and an edge for each token that fits between two of them. Viterbi finds
its best path; drawing paths at random is subword regularization (Kudo 2018, "Subword Regularization", section 3). The
probabilities are learned in ``unigram_training``.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import NamedTuple

import tokenizers
from tokenizers import models

from bertcourse.tokenization.encoding import Encoding, Piece, PlacedWord, Tokenizer
from bertcourse.tokenization.input_checks import check_mapping, check_number, check_pieces, check_text
from bertcourse.tokenization.words import MARKER, join_words, place_words, use_marker

UNKNOWN_PENALTY = 10.0  # an unknown character is e¹⁰ times less likely than the least likely token, as in sentencepiece


class Edge(NamedTuple):
    """A token that fits between two positions of a word.

    Attributes:
        start, end: the positions; ``word[start:end]`` is what it covers.
        token: the token, or None for a character that no token covers.
        log_prob: its log-probability.
    """

    start: int
    end: int
    token: str | None
    log_prob: float


class Lattice:
    """All segmentations of a word.

    Args:
        word: its characters.
        log_probs: token to log-probability.
        longest: length of the longest token, in characters; None to look it up.
        unknown_log_prob: log-probability of a character that is not a token; None for ``UNKNOWN_PENALTY`` below the
            least of ``log_probs``.

    Attributes:
        edges_to: for each position, the edges that end there, the longest first.

    >>> lattice = Lattice("ab", {"a": -1.0, "b": -1.0, "ab": -3.0})
    >>> [edge.token for edge in lattice.best_path()]
    ['a', 'b']
    >>> {edge.token: round(probability, 2) for edge, probability in lattice.posteriors().items()}
    {'a': 0.73, 'ab': 0.27, 'b': 0.73}
    """

    def __init__(
        self,
        word: str,
        log_probs: Mapping[str, float],
        longest: int | None = None,
        unknown_log_prob: float | None = None,
    ):
        if longest is None or unknown_log_prob is None:
            check_mapping("log_probs", log_probs, "tokens to log-probabilities")
            check_pieces(log_probs.items())
        longest = max(map(len, log_probs)) if longest is None else longest
        unknown_log_prob = min(log_probs.values()) - UNKNOWN_PENALTY if unknown_log_prob is None else unknown_log_prob
        self.word = word
        self.edges_to: list[list[Edge]] = [[]]
        for end in range(1, len(self.word) + 1):
            starts = range(max(0, end - longest), end)
            fitting = ((start, self.word[start:end]) for start in starts)
            edges = [Edge(start, end, token, log_probs[token]) for start, token in fitting if token in log_probs]
            if not edges or edges[-1].start != end - 1:
                edges.append(Edge(end - 1, end, None, unknown_log_prob))
            self.edges_to.append(edges)

    @property
    def edges(self) -> list[Edge]:
        """Every edge, sorted by where it ends."""
        return [edge for edges in self.edges_to for edge in edges]

    def best_path(self) -> list[Edge]:
        """The most probable segmentation (Viterbi): the best way to a position extends the best way to an earlier one.

        Of equally good edges the longest is taken, as in ``tokenizers``.
        """
        best, came_by = [0.0], [None]
        for edges in self.edges_to[1:]:
            edge = max(edges, key=lambda edge: best[edge.start] + edge.log_prob)  # among equals, the first
            best.append(best[edge.start] + edge.log_prob)
            came_by.append(edge)
        path, position = [], len(self.word)
        while position > 0:
            path.append(came_by[position])
            position = path[-1].start
        return path[::-1]

    def forward(self, alpha: float = 1.0) -> list[float]:
        """For each position, the log of the sum of probability^alpha over all ways from the start to it."""
        sums = [0.0]
        for edges in self.edges_to[1:]:
            sums.append(log_sum_exp([sums[edge.start] + alpha * edge.log_prob for edge in edges]))
        return sums

    def backward(self) -> list[float]:
        """For each position, the log of the summed probability of all ways from it to the end."""
        ways_on: list[list[float]] = [[] for _ in self.edges_to]
        ways_on[-1] = [0.0]
        sums = [0.0] * len(self.edges_to)
        for position in reversed(range(len(self.edges_to))):
            sums[position] = log_sum_exp(ways_on[position])
            for edge in self.edges_to[position]:
                ways_on[edge.start].append(edge.log_prob + sums[position])
        return sums

    def posteriors(self) -> dict[Edge, float]:
        """For each edge, the probability that a segmentation of this word uses it: what the E step of EM counts."""
        forward, backward = self.forward(), self.backward()
        return {
            edge: math.exp(forward[edge.start] + edge.log_prob + backward[edge.end] - forward[-1])
            for edge in self.edges
        }

    def sample(self, generator: random.Random, alpha: float = 1.0) -> list[Edge]:
        """A segmentation drawn with probability proportional to P(segmentation)^alpha.

        Args:
            generator: the source of randomness.
            alpha: 0 draws all segmentations equally often, 1 as often as the model says, a large value only the best.

        Source: Kudo 2018, equation 7 over all segmentations, by forward filtering and backward sampling.
        """
        check_number("alpha", alpha, least=0, kind=Real)
        forward, path, position = self.forward(alpha), [], len(self.word)
        while position > 0:
            edges = self.edges_to[position]
            weights = [math.exp(forward[edge.start] + alpha * edge.log_prob - forward[position]) for edge in edges]
            path.append(generator.choices(edges, weights)[0])
            position = path[-1].start
        return path[::-1]


class UnigramTokenizer(Tokenizer):
    """Cuts each word into its most probable tokens, or into tokens drawn at random.

    Args:
        pieces: tokens and their log-probabilities, as ``train_unigram`` returns them.
        special_tokens: they get the first ids; the unknown token is one of them.
        unknown_token: stands for characters that no token covers.
        marker: put before each word; see ``mark_words``.

    >>> tokenizer = UnigramTokenizer([("▁", -2.0), ("a", -1.0), ("b", -1.0), ("ab", -1.5)])
    >>> tokenizer.encode("ab!").tokens
    ['▁', 'ab', '[UNK]']
    """

    def __init__(
        self,
        pieces: Sequence[tuple[str, float]],
        special_tokens: Sequence[str] = ("[UNK]",),
        unknown_token: str = "[UNK]",
        marker: str = MARKER,
    ):
        check_pieces(pieces)
        super().__init__([*special_tokens, *(token for token, _ in pieces)], special_tokens, unknown_token)
        self.log_probs = {token: float(log_prob) for token, log_prob in pieces}
        self.marker = marker
        self.longest = max(map(len, self.log_probs))
        self.unknown_log_prob = min(self.log_probs.values()) - UNKNOWN_PENALTY

    def words(self, text: str) -> list[PlacedWord]:
        """The words between white space, with their markers."""
        return place_words(text, self.marker)

    def lattice(self, word: str) -> Lattice:
        """All segmentations of a word that is given with its marker."""
        return Lattice(word, self.log_probs, self.longest, self.unknown_log_prob)

    def segment(self, word: str) -> list[Piece]:
        """The most probable pieces of a word that is given with its marker."""
        return self.pieces(self.lattice(word).best_path())

    def pieces(self, path: Iterable[Edge]) -> list[Piece]:
        """The pieces of a path; unknown characters in a row become one piece."""
        pieces: list[Piece] = []
        for start, end, token, _ in path:
            if token is None and pieces and pieces[-1].id == self.unknown_id:
                pieces[-1] = Piece(self.unknown_id, pieces[-1].length + 1)
            else:
                pieces.append(Piece(self.unknown_id if token is None else self.token_ids[token], end - start))
        return pieces

    def sample(self, text: str, generator: random.Random, alpha: float = 0.1) -> Encoding:
        """``encode``, but cutting differently each time: subword regularization (Kudo 2018, section 3.3).

        Args:
            text: any text.
            generator: the source of randomness, such as ``random.Random(0)``.
            alpha: how strongly better segmentations are preferred; see ``Lattice.sample``.
        """
        check_text(text)

        def draw(word: str) -> list[Piece]:
            return self.pieces(self.lattice(word).sample(generator, alpha))

        return self.put_together(text, lambda chunk: self.place_tokens(chunk, draw))

    def join(self, tokens: list[str]) -> str:
        """The words, with a space for each marker."""
        return join_words(tokens, self.marker).removeprefix(" ")

    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same tokenizer in ``tokenizers``: ids, words and, except for markers, offsets, as with ``BPETokenizer``.

        Its ``tokens`` have the text itself where ours have the unknown token.
        """
        scores = [(token, self.log_probs.get(token, 0.0)) for token in self.tokens]
        twin = tokenizers.Tokenizer(models.Unigram(scores, unk_id=self.unknown_id))
        twin.add_special_tokens(list(self.special_tokens))
        use_marker(twin, self.marker)
        return twin


def log_sum_exp(values: Sequence[float]) -> float:
    """log Σ exp(value), without overflow."""
    largest = max(values)
    return largest + math.log(sum(math.exp(value - largest) for value in values))

"""Chapter 8: the best sequence of tags, and a layer that learns which tag follows which.

A tagger scores each tag at each word by itself. Viterbi's algorithm finds the sequence with the highest sum of scores
when some tags must not follow others, O I-PER for one. A linear-chain conditional random field learns a score for each
step from tag to tag as well:

    p(y | x) = exp(s(x, y)) / Σ_y' exp(s(x, y')),   s(x, y) = Σ_t emission[t, y_t] + Σ_t pair[y_t-1, y_t],

and the sum over all sequences takes K² steps a word (Lafferty et al. 2001; Lample et al. 2016, section 2.2).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.named_entities.tags import SCHEMES, check_scheme, goes_on, split_tag

DECODERS = ("argmax", "viterbi", "crf")


class Transitions(NamedTuple):
    """A score for each step from tag to tag; minus infinity where it must not be.

    Attributes:
        start: (K,), of the first tag.
        pair: (K, K), of the tag of the column after that of the row.
        end: (K,), of the last tag.
    """

    start: Tensor
    pair: Tensor
    end: Tensor


def allowed_transitions(labels: Sequence[str], scheme: str = "BIO") -> Transitions:
    """0 for each step that a notation allows, minus infinity for the others.

    Args:
        labels: K tags.
        scheme: one of ``tags.SCHEMES``. IO allows all; IOB1 has B- after its own type only; BIO has I- after B- or I-
            of its type only; in BIOES I- and E- stand after B- or I- of their type, and these after nothing else.

    Raises:
        ValueError: if a label is not a tag of the scheme.

    Source: Jurafsky & Martin, "Speech and Language Processing", chapter 17.
    """
    check_scheme(scheme)
    pairs = [split_tag(label, SCHEMES[scheme]) for label in labels]
    outside = ("O", "")

    def allows(before: tuple[str, str], here: tuple[str, str]) -> bool:
        if scheme == "IOB1":
            return here[0] != "B" or before[0] in "IB" and before[1] == here[1]
        if scheme == "BIOES":
            return goes_on(before, here) == (before[0] in "BI") and (here[0] not in "IE" or goes_on(before, here))
        return scheme == "IO" or here[0] != "I" or goes_on(before, here)

    def scores(allowed: list) -> Tensor:
        return torch.zeros(torch.tensor(allowed).shape).masked_fill(~torch.tensor(allowed), -torch.inf)

    return Transitions(
        start=scores([allows(outside, here) for here in pairs]),
        pair=scores([[allows(before, here) for here in pairs] for before in pairs]),
        end=scores([allows(before, outside) for before in pairs]),
    )


def invalid_steps(tags: Sequence[str], scheme: str = "BIO") -> list[int]:
    """Where a sequence of tags breaks its notation: the indices of tags that must not follow the one before them.

    Args:
        tags: of a sentence, before it and after it an O.
        scheme: as for ``allowed_transitions``.

    Returns:
        Indices; the length of the sentence stands for its end, which no B- or I- of BIOES may be.

    Raises:
        ValueError: if a tag is not of the scheme.

    Source: as ``allowed_transitions``.

    >>> invalid_steps(["O", "I-PER", "I-PER", "I-LOC"])
    [1, 3]
    """
    labels = list(dict.fromkeys(["O", *tags, "O"]))
    pair = allowed_transitions(labels, scheme).pair
    padded = [labels.index(tag) for tag in ("O", *tags, "O")]
    return [place for place, step in enumerate(zip(padded, padded[1:])) if pair[step] != 0]


def viterbi(emissions: Tensor, transitions: Transitions, lengths: Sequence[int] | None = None) -> list[list[int]]:
    """The sequence of tags with the highest score, for each sentence.

    Args:
        emissions: (B, L, K), a score for each tag at each word.
        transitions: of K tags.
        lengths: of each sentence, at least 1; None for L.

    Returns:
        B lists of tag indices, as long as their sentences.

    Raises:
        ValueError: if shapes do not fit, or every sequence of a sentence is forbidden.

    Source: Viterbi 1967; Forney 1973, "The Viterbi Algorithm".
    """
    lengths = check_emissions(emissions, transitions, lengths)
    best, steps = transitions.start + emissions[:, 0], []
    for t in range(1, emissions.shape[1]):
        scores, before = (best[:, :, None] + transitions.pair).max(dim=1)  # over the tag before
        steps.append(before)
        best = torch.where((t < lengths)[:, None], scores + emissions[:, t], best)
    scores, last = (best + transitions.end).max(dim=1)
    if not torch.isfinite(scores).all():
        sentence = int(torch.isfinite(scores).logical_not().nonzero()[0])
        raise ValueError(
            f"sentence {sentence} must have a sequence of tags that is allowed, with finite scores; it has none."
        )
    backward = torch.stack(steps).cpu() if steps else None
    paths = []
    for row, (tag, length) in enumerate(zip(last.tolist(), lengths.tolist())):
        path = [tag]
        for t in range(length - 1, 0, -1):
            path.append(int(backward[t - 1, row, path[-1]]))
        paths.append(path[::-1])
    return paths


def check_emissions(emissions: Tensor, transitions: Transitions, lengths: Sequence[int] | None) -> Tensor:
    """Lengths as a tensor (B,).

    Raises:
        ValueError: if shapes do not fit.
    """
    size = len(transitions.start)
    if emissions.dim() != 3 or emissions.shape[2] != size or 0 in emissions.shape:
        raise ValueError(f"emissions must have shape (B, L, {size}), no dimension 0; got {tuple(emissions.shape)}.")
    lengths = torch.as_tensor(
        [emissions.shape[1]] * len(emissions) if lengths is None else lengths, device=emissions.device
    )
    if len(lengths) != len(emissions) or lengths.min() < 1 or lengths.max() > emissions.shape[1]:
        raise ValueError(
            f"lengths must be {len(emissions)} numbers from 1 to {emissions.shape[1]}; got {lengths.tolist()}."
        )
    return lengths


class CRF(nn.Module):
    """A linear-chain conditional random field on top of a tagger's scores.

    Args:
        num_tags: K.

    Raises:
        ValueError: if there is no tag.

    Source: Lafferty et al. 2001, "Conditional Random Fields"; Lample et al. 2016, section 2.2.
    """

    def __init__(self, num_tags: int):
        super().__init__()
        if num_tags < 1:
            raise ValueError(f"num_tags must be at least 1; got {num_tags}.")
        self.start = nn.Parameter(torch.zeros(num_tags))
        self.pair = nn.Parameter(torch.zeros(num_tags, num_tags))
        self.end = nn.Parameter(torch.zeros(num_tags))

    @property
    def transitions(self) -> Transitions:
        """The scores that are learned."""
        return Transitions(self.start, self.pair, self.end)

    def forward(self, emissions: Tensor, tags: Tensor, lengths: Sequence[int] | None = None) -> Tensor:
        """(B,), the negative log-likelihood of each sentence's tags.

        Args:
            emissions: (B, L, K).
            tags: (B, L), indices; any beyond a sentence's length.
            lengths: of each sentence; None for L.

        Raises:
            ValueError: if shapes do not fit.
        """
        return self.log_partition(emissions, lengths) - self.score(emissions, tags, lengths)

    def score(self, emissions: Tensor, tags: Tensor, lengths: Sequence[int] | None = None) -> Tensor:
        """(B,), s(x, y): the sum of emissions and transitions along the tags; arguments as for ``forward``."""
        lengths = check_emissions(emissions, self.transitions, lengths)
        if tags.shape != emissions.shape[:2]:
            raise ValueError(
                f"tags must have shape {tuple(emissions.shape[:2])}, as emissions; got {tuple(tags.shape)}."
            )
        inside = torch.arange(tags.shape[1], device=tags.device) < lengths[:, None]
        tags = tags.masked_fill(~inside, 0)
        at_words = emissions.gather(2, tags[..., None])[..., 0] * inside
        between = self.pair[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]
        last = tags.gather(1, lengths[:, None] - 1)[:, 0]
        return self.start[tags[:, 0]] + at_words.sum(1) + between.sum(1) + self.end[last]

    def log_partition(self, emissions: Tensor, lengths: Sequence[int] | None = None) -> Tensor:
        """(B,), the logarithm of Σ_y exp(s(x, y)) by the forward algorithm; arguments as for ``forward``.

        ``total[b, k]`` is the logarithm of the sum over all beginnings of sentence b that end in tag k.
        """
        lengths = check_emissions(emissions, self.transitions, lengths)
        total = self.start + emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            longer = (total[:, :, None] + self.pair).logsumexp(dim=1) + emissions[:, t]
            total = torch.where((t < lengths)[:, None], longer, total)
        return (total + self.end).logsumexp(dim=1)

    @torch.no_grad()
    def decode(
        self, emissions: Tensor, lengths: Sequence[int] | None = None, allowed: Transitions | None = None
    ) -> list[list[int]]:
        """The best sequence of tags of each sentence.

        Args:
            emissions, lengths: as for ``forward``.
            allowed: what a notation forbids, on top of what is learned; None for nothing.
        """
        transitions = self.transitions
        if allowed is not None:
            transitions = Transitions(*(ours + theirs.to(ours) for ours, theirs in zip(transitions, allowed)))
        return viterbi(emissions, transitions, lengths)


class TagDecoder(nn.Module):
    """What a tagger does with its scores: a loss to learn by, and the tags to give.

    Args:
        labels: K tags.
        decoder: "argmax", "viterbi" or "crf"; see ``heads.TokenClassifier``.
        scheme: notation of the labels, one of ``tags.SCHEMES``.

    Raises:
        ValueError: if there is no such decoder or scheme; or, unless it is "argmax", a label is not of the scheme.

    Source: Lample et al. 2016, section 2.
    """

    def __init__(self, labels: Sequence[str], decoder: str = "argmax", scheme: str = "BIO"):
        super().__init__()
        if decoder not in DECODERS:
            raise ValueError(f"decoder must be one of {', '.join(DECODERS)}; got {decoder!r}.")
        self.labels, self.kind, self.scheme = list(labels), decoder, scheme
        check_scheme(scheme)
        self.allowed = None if decoder == "argmax" else allowed_transitions(labels, scheme)
        self.crf = CRF(len(self.labels)) if decoder == "crf" else None

    def loss(self, emissions: Sequence[Tensor], targets: Sequence[Sequence[int]]) -> Tensor:
        """A mean over words: of their cross-entropy, or of the CRF's negative log-likelihood.

        Args:
            emissions: for each sentence (words, K) scores.
            targets: for each sentence the indices of its tags.
        """
        tags = [torch.tensor(target, device=scores.device) for target, scores in zip(targets, emissions)]
        if self.crf is None:
            return F.cross_entropy(torch.cat(list(emissions)), torch.cat(tags))
        lengths = [len(target) for target in targets]
        pad = nn.utils.rnn.pad_sequence
        log_likelihood = self.crf(pad(list(emissions), batch_first=True).float(), pad(tags, batch_first=True), lengths)
        return log_likelihood.sum() / sum(lengths)

    @torch.no_grad()
    def forward(self, emissions: Sequence[Tensor]) -> list[list[str]]:
        """For each sentence its tags, from (words, K) scores."""
        if self.kind == "argmax":
            paths = [scores.argmax(dim=1).tolist() for scores in emissions]
        else:
            lengths = [len(scores) for scores in emissions]
            padded = nn.utils.rnn.pad_sequence(list(emissions), batch_first=True)
            if self.crf is None:
                paths = viterbi(padded, self.allowed, lengths)
            else:
                paths = self.crf.decode(padded.to(self.crf.start), lengths, self.allowed)
        return [[self.labels[tag] for tag in path] for path in paths]

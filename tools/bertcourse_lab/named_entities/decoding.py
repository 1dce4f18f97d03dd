"""The best sequence of tags for each sentence of a batch, and a layer that learns which tag follows which.

A tagger scores the tags of each word by themselves. A linear chain adds a score for each step from tag to tag: minus
infinity where BIO forbids the step, such as O I-PER, or a score that a conditional random field learns:

    s(x, y)  = start[y_1] + Σ_t emission[t, y_t] + Σ_t pair[y_t-1, y_t] + end[y_T]
    best     = argmax_y s(x, y)                                  Viterbi's algorithm
    log Z    = log Σ_y exp(s(x, y))                              the forward algorithm
    p(y | x) = exp(s(x, y)) / Z(x)                               the field's probability

(Lafferty et al. 2001; Lample et al. 2016, section 2.2). Both algorithms go through a sentence with K² steps per word,
although it has K^T sequences of tags. When a sentence ends, it keeps its scores while the others in its batch go on.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bertcourse.named_entities import steps

DECODERS = ("argmax", "viterbi", "crf")


class Transitions(NamedTuple):
    """A score for each step from tag to tag; minus infinity where the step is forbidden.

    Attributes:
        start: (K,), for the first tag.
        pair: (K, K), for the column's tag after the row's tag.
        end: (K,), for the last tag.
    """

    start: Tensor
    pair: Tensor
    end: Tensor


def allowed_transitions(labels: Sequence[str]) -> Transitions:
    """0 for each step that BIO allows among K tags, minus infinity for the others; any tag may come last."""
    start, pair = steps(labels)
    return Transitions(start, pair, torch.zeros(len(labels)))


@torch.no_grad()
def viterbi(emissions: Tensor, transitions: Transitions, lengths: Sequence[int] | None = None) -> list[list[int]]:
    """The best sequence of tags for each sentence, one tag per word.

    Args:
        emissions: (B, L, K), a score for each tag at each word.
        transitions: of K tags.
        lengths: of each sentence, at least 1; None for L.

    Source: Viterbi 1967; Forney 1973, "The Viterbi Algorithm".
    """
    lengths = check_emissions(emissions, transitions, lengths)
    best, came_from = transitions.start + emissions[:, 0], []
    for t in range(1, emissions.shape[1]):
        scores, before = (best[:, :, None] + transitions.pair).max(dim=1)  # over the previous tag
        came_from.append(before)
        best = torch.where((t < lengths)[:, None], scores + emissions[:, t], best)
    scores, last = (best + transitions.end).max(dim=1)
    if not torch.isfinite(scores).all():
        raise ValueError(
            f"row {int(torch.isfinite(scores).int().argmin())} of emissions must have a sequence of tags that is "
            "allowed, with finite scores; it has none."
        )
    backward = torch.stack(came_from).cpu() if came_from else None
    paths = []
    for row, (tag, length) in enumerate(zip(last.tolist(), lengths.tolist())):
        path = [tag]
        for t in range(length - 1, 0, -1):
            path.append(int(backward[t - 1, row, path[-1]]))
        paths.append(path[::-1])
    return paths


def check_emissions(emissions: Tensor, transitions: Transitions, lengths: Sequence[int] | None) -> Tensor:
    """The lengths as a tensor (B,), if all shapes fit."""
    size = len(transitions.start)
    if emissions.dim() != 3 or emissions.shape[2] != size or 0 in emissions.shape:
        raise ValueError(f"emissions must have shape (B, L, {size}), no dimension 0; got {tuple(emissions.shape)}.")
    batch_size, longest, _ = emissions.shape
    lengths = torch.as_tensor([longest] * batch_size if lengths is None else lengths, device=emissions.device)
    if len(lengths) != batch_size or lengths.min() < 1 or lengths.max() > longest:
        raise ValueError(f"lengths must be {batch_size} numbers from 1 to {longest}; got {lengths.tolist()}.")
    return lengths


class CRF(nn.Module):
    """A linear-chain conditional random field over ``num_tags`` tags, on top of a tagger's scores.

    Source: Lafferty et al. 2001, "Conditional Random Fields"; Lample et al. 2016, section 2.2.
    """

    def __init__(self, num_tags: int):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(num_tags))
        self.pair = nn.Parameter(torch.zeros(num_tags, num_tags))
        self.end = nn.Parameter(torch.zeros(num_tags))

    @property
    def transitions(self) -> Transitions:
        """The learned scores."""
        return Transitions(self.start, self.pair, self.end)

    def forward(self, emissions: Tensor, tags: Tensor, lengths: Sequence[int] | None = None) -> Tensor:
        """(B,), the negative log-likelihood of each sentence's tags, log Z - s(x, y).

        Args:
            emissions: (B, L, K).
            tags: (B, L), indices; beyond a sentence's length they may be anything.
            lengths: of each sentence; None for L.
        """
        return self.log_partition(emissions, lengths) - self.score(emissions, tags, lengths)

    def score(self, emissions: Tensor, tags: Tensor, lengths: Sequence[int] | None = None) -> Tensor:
        """(B,), s(x, y) of each sentence; arguments as for ``forward``."""
        lengths = check_emissions(emissions, self.transitions, lengths)
        inside = torch.arange(tags.shape[1], device=tags.device) < lengths[:, None]
        tags = tags.masked_fill(~inside, 0)
        at_words = emissions.gather(2, tags[..., None])[..., 0] * inside
        between = self.pair[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]
        last = tags.gather(1, lengths[:, None] - 1)[:, 0]
        return self.start[tags[:, 0]] + at_words.sum(1) + between.sum(1) + self.end[last]

    def log_partition(self, emissions: Tensor, lengths: Sequence[int] | None = None) -> Tensor:
        """(B,), log Z of each sentence; arguments as for ``forward``."""
        lengths = check_emissions(emissions, self.transitions, lengths)
        total = self.start + emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            longer = (total[:, :, None] + self.pair).logsumexp(dim=1) + emissions[:, t]
            total = torch.where((t < lengths)[:, None], longer, total)
        return (total + self.end).logsumexp(dim=1)

    def decode(
        self, emissions: Tensor, lengths: Sequence[int] | None = None, allowed: Transitions | None = None
    ) -> list[list[int]]:
        """The best sequence of tags of each sentence.

        Args:
            emissions, lengths: as for ``forward``.
            allowed: the steps that BIO allows, added to the learned scores; None for all steps.
        """
        transitions = self.transitions
        if allowed is not None:
            transitions = Transitions(*(ours + theirs.to(ours) for ours, theirs in zip(transitions, allowed)))
        return viterbi(emissions, transitions, lengths)


class TagDecoder(nn.Module):
    """What a tagger does with its scores: compute a loss to learn from, and choose the tags.

    Args:
        labels: K tags.
        decoder: "argmax", "viterbi" or "crf"; see ``taggers.Tagger``.
    """

    def __init__(self, labels: Sequence[str], decoder: str = "argmax"):
        super().__init__()
        if decoder not in DECODERS:
            raise ValueError(f"decoder must be one of {', '.join(DECODERS)}; got {decoder!r}.")
        self.labels, self.kind = list(labels), decoder
        self.allowed = None if decoder == "argmax" else allowed_transitions(labels)
        self.crf = CRF(len(self.labels)) if decoder == "crf" else None

    def loss(self, emissions: Sequence[Tensor], targets: Sequence[Sequence[int]]) -> Tensor:
        """The mean over words of the cross-entropy, or of the CRF's negative log-likelihood.

        Args:
            emissions: for each sentence (words, K) scores.
            targets: for each sentence the indices of its tags.
        """
        tags = [torch.tensor(target, device=scores.device) for target, scores in zip(targets, emissions)]
        if self.crf is None:
            return F.cross_entropy(torch.cat(list(emissions)), torch.cat(tags))
        lengths = [len(target) for target in targets]
        padded = pad_sequence(list(emissions), batch_first=True).float()
        return self.crf(padded, pad_sequence(tags, batch_first=True), lengths).sum() / sum(lengths)

    def forward(self, emissions: Sequence[Tensor]) -> list[list[str]]:
        """For each sentence its tags, from (words, K) scores."""
        if self.kind == "argmax":
            paths = [scores.argmax(dim=1).tolist() for scores in emissions]
        else:
            lengths = [len(scores) for scores in emissions]
            padded = pad_sequence(list(emissions), batch_first=True)
            if self.crf is None:
                paths = viterbi(padded, self.allowed, lengths)
            else:
                paths = self.crf.decode(padded.to(self.crf.start), lengths, self.allowed)
        return [[self.labels[tag] for tag in path] for path in paths]

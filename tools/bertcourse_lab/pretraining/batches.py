"""How a run goes through its corpus: shards, rows of similar length and masks, all determined by the seed.

Nothing random is carried over from one step to the next: shuffles and masks are drawn from generators seeded by the
run's seed and the place in the corpus. So a run can be resumed anywhere; on another number of processes the batches are
the same, and with ``micro_batch_size`` their masks, too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from bertcourse.pretraining.corpus import Documents
from bertcourse.pretraining.masking import MaskedTokens, Vocabulary, masks_per_row
from bertcourse.pretraining.pairs import RowBatch
from bertcourse_lab.pretraining.masking import mask_tokens
from bertcourse_lab.pretraining.rows import Rows, collate, pack_documents, sentence_pairs
from bertcourse_lab.training.steps import MASKS, ORDER, seed_of


class Position(NamedTuple):
    """A place in the run's corpus.

    Attributes:
        part: how many shards were started before this one, over all epochs.
        batch: how many of its batches have been read.
        length: the maximum number of tokens in its rows.
    """

    part: int = 0
    batch: int = 0
    length: int = 0


@dataclass(frozen=True)
class RowMaker:
    """How documents become rows: the settings of ``sentence_pairs`` and ``pack_documents``.

    Attributes:
        packing: "sentence-pairs", "full-sentences" or "doc-sentences".
        short_rate: for sentence pairs only.
    """

    packing: str
    short_rate: float

    def rows(self, documents: Documents, length: int, rng: np.random.Generator) -> Rows:
        """Rows of at most ``length`` tokens."""
        if self.packing == "sentence-pairs":
            return sentence_pairs(documents, length, rng, self.short_rate)
        return pack_documents(documents, length, cross_documents=self.packing == "full-sentences")


class Batches:
    """The batches of a run, in order, for one process out of several.

    A batch is cut into chunks of equal size; chunk c goes to process c mod P, which sums the gradients of its chunks.
    What a chunk contains, including its masks, does not depend on P, but where ``micro_batch_size`` is 0 there are P
    chunks.

    Args:
        shards: the corpus.
        vocabulary: of its tokenizer.
        row_maker: how to make rows.
        batch_size: rows per batch, over all processes.
        chunks: chunks per batch.
        seed: of everything random here.
        static_copies: 0 draws new masks every time a text is read; n reuses the rows and masks of the first n epochs.
        mask: the function that hides tokens: ``mask_tokens``, or another of its kind.
        masking: further arguments for ``mask``.
    """

    def __init__(
        self,
        shards: list[Documents],
        vocabulary: Vocabulary,
        row_maker: RowMaker,
        batch_size: int,
        chunks: int,
        seed: int,
        static_copies: int = 0,
        mask: Callable[..., MaskedTokens] = mask_tokens,
        **masking,
    ):
        self.shards, self.vocabulary, self.row_maker = shards, vocabulary, row_maker
        self.batch_size, self.chunks, self.seed = batch_size, chunks, seed
        self.mask, self.masking = mask, masking
        self.period = static_copies * len(shards)
        self.position = Position()
        self.planned: tuple[int, int] | None = None  # part and length

    def next_batch(
        self, length: int, rank: int = 0, processes: int = 1, rate: float = 0.15
    ) -> list[tuple[MaskedTokens, RowBatch]]:
        """The chunks of the next batch for process ``rank`` of ``processes``: tokens (B, L), a share ``rate`` of them
        hidden, and rows of at most ``length`` tokens, special ones included."""
        if self.position.length != length:  # at the start, or rows grow, which begins the next shard
            self.position = Position(self.position.part + (self.position.length > 0), 0, length)
        if self.planned != self.position[::2]:
            self.plan()
        if self.position.batch == len(self.order):
            self.position = Position(self.position.part + 1, 0, length)
            self.plan()
        indices = self.order[self.position.batch]
        width = int(self.rows.lengths[indices].max())
        tokens = self.rows.lengths[indices] - 1 - np.diff(self.rows.first_span)[indices]
        count = masks_per_row(torch.from_numpy(tokens), rate)
        made = []
        for chunk in range(rank, self.chunks, processes):
            rows = collate(self.documents, self.rows, indices[chunk :: self.chunks], self.vocabulary, width)
            seed = seed_of(self.seed, MASKS, self.part_made, self.position.batch, chunk)
            draws = torch.Generator().manual_seed(seed)
            masked = self.mask(rows.input_ids, self.vocabulary, count=count, generator=draws, **self.masking)
            made.append((masked, rows))
        self.position = self.position._replace(batch=self.position.batch + 1)
        return made

    def plan(self) -> None:
        """Make the rows of the current shard and put them in order."""
        part, length = self.part_made, self.position.length
        epoch, place = divmod(part, len(self.shards))
        shard = np.random.default_rng([self.seed, ORDER, epoch]).permutation(len(self.shards))[place]
        self.documents = self.shards[shard]
        rng = np.random.default_rng([self.seed, ORDER, part, length])
        self.rows = self.row_maker.rows(self.documents, length, rng)
        self.order = batches_of_like_length(self.rows.lengths, self.batch_size, rng)
        if not len(self.order):
            raise ValueError(
                f"a shard must have rows for at least one batch of {self.batch_size}; it has {len(self.rows)} rows of "
                f"up to {length} tokens. Give a longer text or a smaller batch_size."
            )
        self.planned = self.position[::2]

    @property
    def part_made(self) -> int:
        """The part whose rows and masks are used; if masks are static, it can be an earlier one than the position's."""
        return self.position.part % self.period if self.period else self.position.part


def batches_of_like_length(lengths: NDArray, batch_size: int, rng: np.random.Generator) -> NDArray:
    """Shuffle rows of these lengths, (R,), into batches of similar length: (R // batch_size, batch_size) row indices.
    Rows that do not fill a batch are left out."""
    shuffled = rng.permutation(len(lengths))
    shuffled = shuffled[: len(lengths) // batch_size * batch_size]
    by_length = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    return rng.permutation(by_length.reshape(-1, batch_size))


def fixed_batches(
    shards: list[Documents],
    vocabulary: Vocabulary,
    row_maker: RowMaker,
    length: int,
    rows: int,
    rate: float = 0.15,
    **masks: float,
) -> Iterator[tuple[MaskedTokens, RowBatch]]:
    """The same batches every time, to measure on: rows of all shards, longest first, a share ``rate``
    of the tokens hidden.

    Args:
        shards: held-out documents.
        vocabulary, row_maker: as for ``Batches``.
        length: the maximum number of tokens in a row.
        rows: how many rows to take at most, equally many from each shard, with any remainder from the first ones.
        rate: share of tokens to hide.
        masks: ``mask_share`` and ``random_share``, as for ``mask_tokens``.

    Returns:
        Batches of up to 64 rows of similar length.
    """
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    for number, documents in enumerate(shards):
        made = row_maker.rows(documents, length, rng)
        chosen = rng.permutation(len(made))[: rows // len(shards) + (number < rows % len(shards))]
        chosen = chosen[np.argsort(-made.lengths[chosen], kind="stable")]
        while len(chosen):
            alike = np.count_nonzero(made.lengths[chosen[:64]] > 0.8 * made.lengths[chosen[0]])
            batch, chosen = collate(documents, made, chosen[:alike], vocabulary), chosen[alike:]
            yield mask_tokens(batch.input_ids, vocabulary, rate, generator=generator, **masks), batch

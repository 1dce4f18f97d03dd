"""Chapter 4's measurements, shared among the processes of a run."""

import itertools
from collections.abc import Iterable

from bertcourse.bert import BertForPreTraining
from bertcourse.pretraining.evaluation import means, sums
from bertcourse.pretraining.masking import MaskedTokens
from bertcourse.pretraining.pairs import RowBatch
from bertcourse_lab.pretraining.processes import Processes


def evaluate(
    model: BertForPreTraining, batches: Iterable[tuple[MaskedTokens, RowBatch]], processes: Processes
) -> dict[str, float]:
    """Both of BERT's tasks on fixed batches, the same in each process: the same numbers, however many there are."""
    share = itertools.islice(batches, processes.rank, None, processes.count)
    return means(processes.total(*sums(model, share)))

"""One process or many: what a run needs from torch.distributed, which is nothing if there is only one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as distributed


class Processes(NamedTuple):
    """This process among those that ``torchrun`` started.

    Attributes:
        rank: its number, from 0.
        count: how many there are.
        local_rank: its number on its machine.
        device: what it computes on.
        patient: the same processes, as a group that waits for up to a day; None if there is only one process.
    """

    rank: int
    count: int
    local_rank: int
    device: torch.device
    patient: distributed.ProcessGroup | None = None

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def total(self, *numbers: float) -> list[float]:
        """The sum of each number over all processes, the same in each of them."""
        if self.count == 1:
            return list(numbers)
        tensor = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(tensor)
        return tensor.tolist()

    def wait(self, patiently: bool = False) -> None:
        """Wait for all processes to get here; patiently if one of them may take hours, as tokenizing does."""
        if self.count > 1:
            distributed.barrier(group=self.patient if patiently else None)


@contextmanager
def joined_processes(timeout_seconds: float = 600) -> Iterator[Processes]:
    """Join the other processes of ``torchrun``, if it started this one, and leave them at the end.

    Args:
        timeout_seconds: how long to wait for a process that does not start or does not answer.

    Raises:
        ConnectionError: if a process is missing, or stops.
    """
    has_gpu = torch.cuda.is_available()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local_rank) if has_gpu else torch.device("cpu")
    if "WORLD_SIZE" not in os.environ:
        yield Processes(0, 1, 0, device)
        return
    if missing := [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]:
        raise ConnectionError(
            f"WORLD_SIZE is set, so this is one of several processes, but {', '.join(missing)} is not. Start all with "
            f"torchrun, or unset WORLD_SIZE."
        )
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if has_gpu:
        torch.cuda.set_device(device)
    try:
        distributed.init_process_group("nccl" if has_gpu else "gloo", timeout=timedelta(seconds=timeout_seconds))
        distributed.barrier()
        patient = distributed.new_group(backend="gloo", timeout=timedelta(days=1))
    except RuntimeError as error:
        raise ConnectionError(
            f"expected {count} processes, of which this is number {rank}; not all of them came within "
            f"{timeout_seconds:g} s ({str(error).splitlines()[0]}). Start all with one torchrun command."
        ) from error
    try:
        yield Processes(rank, count, local_rank, device, patient)
    except RuntimeError as error:
        if not isinstance(error, distributed.DistError) and "gloo" not in str(error):
            raise
        raise ConnectionError(
            f"process {rank} of {count} lost another one ({str(error).splitlines()[0]}), whose own message says why. "
            f"Go on from the last checkpoint with --resume."
        ) from error
    finally:
        distributed.destroy_process_group()

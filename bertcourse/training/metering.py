"""How fast a run is: the arithmetic a step takes, what the machine can do at most, and the log."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm


def progress_bar(is_shown: bool = True, **settings) -> tqdm:
    """A bar on a terminal and in a notebook; none elsewhere, nor where TQDM_DISABLE is set, as when lectures are
    stored.

    Args:
        is_shown: False for none.
        settings: tqdm's.
    """
    return tqdm(disable=None if is_shown and not os.environ.get("TQDM_DISABLE") else True, **settings)


def peak_flops(device: torch.device, dtype: torch.dtype, size: int = 0) -> float:
    """Floating-point operations a second of a large matrix product here, the best of some tries.

    Args:
        device: to measure.
        dtype: of the matrices.
        size: their width; 0 for 1024 on a CPU and 8192 on a GPU.
    """
    size = size or (8192 if device.type == "cuda" else 1024)
    a = torch.randn(size, size, device=device).to(dtype)
    best = float("inf")
    for _ in range(6):
        synchronize(device)
        start = time.perf_counter()
        a @ a
        synchronize(device)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def faster_precision(model: nn.Module, loss: Callable[[], Tensor], device: torch.device) -> str:
    """ "float32" or "bfloat16": in which a step is faster here, by a tenth at least.

    Args:
        model: what learns; its gradients are gone afterwards.
        loss: of a batch, anew at each call.
        device: where they are.
    """
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        times = []
        for _ in range(5):
            synchronize(device)
            start = time.perf_counter()
            with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
                loss().backward()
            model.zero_grad(set_to_none=True)
            synchronize(device)
            times.append(time.perf_counter() - start)
        seconds[dtype] = min(times)
    return "bfloat16" if seconds[torch.bfloat16] < 0.9 * seconds[torch.float32] else "float32"


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class RunLog:
    """log.jsonl: a line for each event of a run, and TensorBoard's files if asked for.

    Args:
        folder: of the run.
        step: go on after this step; later lines, which a killed run wrote after its last checkpoint, are removed.
        tensorboard: write its files too.

    Raises:
        ImportError: if TensorBoard is asked for and not installed.
    """

    def __init__(self, folder: Path, step: int, tensorboard: bool = False):
        path = folder / "log.jsonl"
        kept = [line for line in whole_lines(path) if json.loads(line)["step"] <= step]
        draft = path.with_suffix(".tmp")
        draft.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        draft.replace(path)
        self.file = path.open("a", encoding="utf-8", buffering=1)
        self.board = None
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ImportError("--tensorboard needs TensorBoard: python -m pip install tensorboard") from error
            self.board = SummaryWriter(str(folder), purge_step=step + 1)

    def write(self, event: str, step: int, **values) -> None:
        """Add a line; numbers are rounded to six digits."""
        rounded = {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in values.items()}
        self.file.write(json.dumps({"event": event, "step": step, **rounded}) + "\n")
        for name, value in values.items():
            if self.board and isinstance(value, int | float) and event != "run":
                self.board.add_scalar(f"{event}/{name}", value, step)

    def close(self) -> None:
        """Finish the files."""
        self.file.close()
        if self.board:
            self.board.close()


def read_log(path: Path) -> list[dict]:
    """The events of a run, in order.

    Args:
        path: its log.jsonl.

    Raises:
        FileNotFoundError: if there is no such file.

    Source: JSON Lines, jsonlines.org.
    """
    if not path.is_file():
        raise FileNotFoundError(f"expected a run's log.jsonl in {path}; there is no such file.")
    return [json.loads(line) for line in whole_lines(path)]


def whole_lines(path: Path) -> list[str]:
    """The lines of a log, without a last one that was cut off."""
    if not path.is_file():
        return []
    return path.read_text(encoding="utf-8").split("\n")[:-1]

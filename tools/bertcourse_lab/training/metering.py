"""How fast a run is, which precision makes it faster, and how it reports: the progress bar and the log."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm.auto import tqdm

from bertcourse.pretraining.logs import events


@contextlib.contextmanager
def autocast(device: torch.device, precision: str) -> Iterator[None]:
    """Matrix products in bfloat16 if that is the ``precision``; everything in float32 if it is "float32".

    On a CPU, torch's fused attention takes two to three times as long in bfloat16 as its plain one, gradients included.
    """
    is_half = precision == "bfloat16"
    plain = sdpa_kernel(SDPBackend.MATH) if is_half and device.type == "cpu" else contextlib.nullcontext()
    with torch.autocast(device.type, torch.bfloat16, enabled=is_half), plain:
        yield


def faster_precision(
    model: nn.Module, loss: Callable[[], Tensor], device: torch.device, learns: bool = True
) -> Literal["float32", "bfloat16"]:
    """ "bfloat16" if that makes a step faster here, by at least a tenth; otherwise "float32".

    Args:
        model: the model that learns; its gradients are cleared.
        loss: computes the loss of a batch afresh at each call.
        device: where model and batch are.
        learns: whether a step has a backward pass, too.
    """

    def seconds(precision: str) -> float:
        start = time.perf_counter()
        with torch.set_grad_enabled(learns), autocast(device, precision):
            value = loss()
            if learns:
                value.backward()
        if learns:
            model.zero_grad(set_to_none=True)
        synchronize(device)
        return time.perf_counter() - start

    best = {precision: min(seconds(precision) for _ in range(5)) for precision in ("float32", "bfloat16")}
    return "bfloat16" if best["bfloat16"] < 0.9 * best["float32"] else "float32"


def peak_flops(device: torch.device, dtype: torch.dtype, size: int = 0) -> float:
    """Floating-point operations per second of a large matrix product here, the best of six tries.

    Args:
        device: the device to measure.
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


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def progress_bar(is_shown: bool = True, **settings) -> tqdm:
    """tqdm's bar on a terminal or in a notebook; none elsewhere, nor if TQDM_DISABLE is set, as it is while lectures
    are stored."""
    return tqdm(disable=None if is_shown and not os.environ.get("TQDM_DISABLE") else True, **settings)


def move_bar(bar: tqdm, amount: int, share: float) -> None:
    """Move a bar whose total is not known: ``amount`` has been done so far, which is ``share`` of the whole.

    In a notebook the bar is a widget with a total of its own, which stays at its first value unless it is set.
    """
    bar.total = max(amount, round(amount / max(share, 1e-9)))
    if hasattr(bar, "container"):  # three widgets: what is left of the bar, the bar, what is right of it
        bar.container.children[1].max = bar.total
    bar.update(amount - bar.n)


class RunLog:
    """log.jsonl: a line for each event of a run, and TensorBoard's files if asked for.

    Args:
        folder: of the run; None writes nothing.
        step: continue after this step; later lines, which a killed run wrote after its last checkpoint, are removed.
        tensorboard: write TensorBoard's files too; ImportError if it is not installed.
    """

    def __init__(self, folder: Path | None, step: int, tensorboard: bool = False):
        self.file = self.board = None
        if folder is None:
            return
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ImportError("--tensorboard needs TensorBoard: python -m pip install tensorboard") from error
            self.board = SummaryWriter(str(folder), purge_step=step + 1)
        path = folder / "log.jsonl"
        kept = [event for event in events(path) if event.get("step", 0) <= step]
        draft = path.with_suffix(".tmp")
        draft.write_text("".join(f"{json.dumps(event)}\n" for event in kept), encoding="utf-8")
        draft.replace(path)
        self.file = path.open("a", encoding="utf-8", buffering=1)

    def write(self, event: str, step: int, **values) -> None:
        """Add a line; numbers are rounded to six digits."""
        rounded = {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in values.items()}
        if self.file:
            self.file.write(json.dumps({"event": event, "step": step, **rounded}) + "\n")
        for name, value in values.items():
            if self.board and isinstance(value, int | float) and event != "run":
                self.board.add_scalar(f"{event}/{name}", value, step)

    def close(self) -> None:
        """Close the files."""
        for file in (self.file, self.board):
            if file:
                file.close()

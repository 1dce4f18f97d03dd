"""Fine-tuning, with one loop for every head of chapters 7 to 10.

A batch of rows of similar length goes through the model; the gradient is clipped, AdamW takes a step, the learning rate
rises and falls; now and then the model is measured on dev, and its best weights are kept. Everything random is drawn
from the seed and the step, so that an interrupted run goes on as if it had never stopped.

A model must have the methods of a head: ``rows(examples)``, ``loss(rows)``, ``measure(examples, rows)`` with the score
that decides first, ``options()`` and ``save(folder)``.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_swa_multi_avg_fn
from tqdm.auto import tqdm

from bertcourse.files import make_folder
from bertcourse_lab.fine_tuning.batches import check_classes, rows_of, shuffled_buckets
from bertcourse_lab.fine_tuning.config import FineTuningConfig
from bertcourse_lab.fine_tuning.freezing import freeze, parameter_groups
from bertcourse_lab.training.checkpoints import (
    check_output,
    check_same_run,
    damaged,
    read_checkpoint,
    restore,
    write_checkpoint,
)
from bertcourse_lab.training.metering import RunLog, autocast, faster_precision, move_bar, progress_bar
from bertcourse_lab.training.steps import DROPOUT, ORDER, Interrupted, crossed, seed_of, set_learning_rate, stop_signals

CHECKPOINT = "checkpoint.safetensors"
MAY_CHANGE = {"checkpoint_minutes"}
DATA = "SHA-256 of train and dev"


class FineTuned(NamedTuple):
    """The result of a run; the model itself now has the best weights.

    Attributes:
        scores: of the best weights on dev, in percent.
        step: the step after which these were found.
        steps: how many were taken.
        seconds: how long the run took, measurements included.
        examples_per_second: rows per second while training; each window of a long text counts.
        history: for each measurement its step, epoch, seconds, mean training loss (nats) since the last one, and
            scores.
    """

    scores: dict[str, float]
    step: int
    steps: int
    seconds: float
    examples_per_second: float
    history: list[dict]


def config_of(settings: dict) -> FineTuningConfig:
    """The configuration of a run, from settings by name."""
    names = [field.name for field in dataclasses.fields(FineTuningConfig)]
    if unknown := set(settings) - set(names):
        raise ValueError(f"settings must be among {', '.join(names)}; got {', '.join(sorted(unknown))}.")
    return FineTuningConfig(**settings)


def fine_tune(
    model: nn.Module,
    train: Sequence,
    dev: Sequence,
    output: str | os.PathLike | None = None,
    resume: bool = False,
    **settings,
) -> FineTuned:
    """Train a head and its encoder on labelled examples; the weights that do best on dev are kept (Devlin et al. 2019,
    section 3.2 and appendix A.3).

    Args:
        model: a ``SequenceClassifier``, ``TokenClassifier``, ``SpanPredictor``, ``FeatureTagger`` or ``BiEncoder``;
            trained in place, on its device, and left in evaluation mode.
        train, dev: examples of the model's kind.
        output: a folder for checkpoints, the log ``log.jsonl`` and, at the end, the model in the subfolder ``model``.
            With it, Ctrl-C or SIGTERM ends the run after the current step, to be resumed later. None writes nothing.
        resume: continue from the checkpoint in ``output``; the model must be made as before.
        settings: fields of ``FineTuningConfig``, such as ``epochs=5``.

    Raises:
        ValueError: if a setting is unknown or out of range; a split is empty, train has only one class, or an example
            does not fit the model; or the run to resume had other settings or data.
        FloatingPointError: if loss or gradient is not finite, naming step and batch; the weights stay as they were.
        FileExistsError, FileNotFoundError: if ``output`` has a checkpoint but ``resume`` is False, or the reverse.
        Interrupted: after SIGINT or SIGTERM, once a checkpoint is written.
    """
    config = config_of(settings)
    if resume and output is None:
        raise ValueError("resume needs output, the folder of the run; got None.")
    with torch.random.fork_rng(), stop_signals() if output else contextlib.nullcontext(Event()) as stop:
        try:
            return FineTuningRun(model, train, dev, config, Path(output) if output else None, resume).train(stop)
        finally:
            model.zero_grad(set_to_none=True)
            model.eval()


@dataclasses.dataclass
class FineTuningProgress:
    """How far a run has come.

    Attributes:
        step: how many updates of the weights are done.
        seconds, train_seconds: how long it has taken, with measurements and without.
        scores, best_step: of the best measurement on dev.
        worse: how many measurements were made since then.
        loss, losses: mean training loss since the last measurement, and how many steps that is.
        averaged: how many steps the average of the weights includes.
        precision: "float32" or "bfloat16".
        is_over: whether there is nothing left to do.
        history: as in ``FineTuned``.
    """

    step: int = 0
    seconds: float = 0.0
    train_seconds: float = 0.0
    scores: dict[str, float] | None = None
    best_step: int = 0
    worse: int = 0
    loss: float = 0.0
    losses: int = 0
    averaged: int = 0
    precision: str = "float32"
    is_over: bool = False
    history: list[dict] = dataclasses.field(default_factory=list)


class FineTuningRun:
    """A run: its parts and its loop; arguments as for ``fine_tune``."""

    def __init__(
        self,
        model: nn.Module,
        train: Sequence,
        dev: Sequence,
        config: FineTuningConfig,
        output: Path | None,
        resume: bool,
    ):
        checkpoint = output / CHECKPOINT if output and (output / CHECKPOINT).exists() else None
        check_output(output, checkpoint, resume)
        self.model, self.dev, self.config, self.output = model, dev, config, output
        self.rows, self.dev_rows = rows_of(model, train, "train"), rows_of(model, dev, "dev")
        check_classes(model, self.rows)
        self.data = hashlib.sha256(repr([list(train), list(dev)]).encode()).hexdigest()
        self.device = next(model.parameters()).device
        freeze(model, config.trainable)
        model.zero_grad(set_to_none=True)  # gradients from before the run
        head_rate = config.head_learning_rate or config.learning_rate
        groups = parameter_groups(model, config.learning_rate, head_rate, config.layer_decay, config.weight_decay)
        self.optimizer = torch.optim.AdamW(groups, fused=True)
        self.steps_of_epoch = math.ceil(len(self.rows) / config.batch_size)
        self.planned: tuple[int, list[list[int]]] | None = None  # an epoch and its batches
        self.best: dict[str, torch.Tensor] = {}
        self.mean: AveragedModel | None = None
        if resume:
            self.progress = self.load(checkpoint)
        else:
            self.progress = FineTuningProgress(precision=self.choose_precision())
        self.last_saved = time.monotonic()

    def train(self, stop: Event) -> FineTuned:
        """The loop: batch, gradient, learning rate, update, average, evaluation, checkpoint."""
        progress, config = self.progress, self.config
        log = RunLog(self.output and make_folder(self.output), progress.step)
        log.write("run", progress.step, config=dataclasses.asdict(config), precision=progress.precision)
        bar = progress_bar(total=config.epochs * len(self.rows), initial=self.examples_seen, unit=" examples")
        with bar, contextlib.closing(log):
            while (before := self.done) < 1:
                start = time.perf_counter()
                epoch, number = divmod(progress.step, self.steps_of_epoch)
                batch = [self.rows[index] for index in self.epoch_batches(epoch)[number]]
                loss, norm = self.backward(batch)
                if not math.isfinite(loss + norm):
                    raise FloatingPointError(
                        f"step {progress.step + 1}, batch {number + 1} of {self.steps_of_epoch} in epoch {epoch + 1}: "
                        f"the loss must be a number; got {loss:.4g}, gradient {norm:.4g}, on the train examples "
                        f"{', '.join(str(row.source) for row in batch)}. Look at these; or lower learning_rate, now "
                        f'{config.learning_rate:g}, or take precision="float32", now {progress.precision}.'
                    )
                set_learning_rate(self.optimizer, config.rate_at(before))
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
                progress.step += 1
                progress.losses += 1
                progress.loss += (loss - progress.loss) / progress.losses
                if self.done > 1 - config.average_last:
                    self.mean = self.mean or AveragedModel(self.model, multi_avg_fn=get_swa_multi_avg_fn())
                    self.mean.update_parameters(self.model)
                    progress.averaged += 1
                progress.train_seconds += (taken := time.perf_counter() - start)
                progress.seconds += taken

                if crossed(before, self.done, 1 / (config.evaluations or config.epochs)):
                    self.measure(self.mean.module if self.mean else self.model)
                    progress.seconds += time.perf_counter() - start - taken
                    log.write("evaluation", **progress.history[-1])
                self.show(bar)
                stopping = stop.is_set() and self.done < 1
                is_due = time.monotonic() - self.last_saved > 60 * config.checkpoint_minutes
                if self.output and (stopping or is_due):
                    self.save()
                    self.last_saved = time.monotonic()
                if stopping:
                    raise Interrupted(
                        f"stopped after step {progress.step}; fine_tune with resume=True continues from there."
                    )
        progress.is_over = True
        self.model.load_state_dict(self.best, strict=False)
        self.model.eval()
        if self.output:
            self.save()
            self.model.save(self.output / "model")
        speed = self.examples_seen / progress.train_seconds
        return FineTuned(progress.scores, progress.best_step, progress.step, progress.seconds, speed, progress.history)

    @property
    def done(self) -> float:
        """The share of the training that is done, from 0 to 1: by steps, or by minutes if that is more."""
        share = self.progress.step / (self.config.epochs * self.steps_of_epoch)
        if self.config.minutes:
            share = max(share, self.progress.seconds / (60 * self.config.minutes))
        return 1.0 if self.progress.is_over else min(1.0, share)

    @property
    def examples_seen(self) -> int:
        """Rows trained on, all epochs together."""
        epoch, step = divmod(self.progress.step, self.steps_of_epoch)
        return epoch * len(self.rows) + sum(map(len, self.epoch_batches(epoch)[:step]))

    def epoch_batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, as indices of rows."""
        if self.planned is None or self.planned[0] != epoch:
            rng = np.random.default_rng(seed_of(self.config.seed, ORDER, epoch, 0))
            lengths = [row.length for row in self.rows]
            self.planned = epoch, shuffled_buckets(lengths, self.config.batch_size, rng)
        return self.planned[1]

    def backward(self, batch: list) -> tuple[float, float]:
        """Compute and clip a batch's gradient; its loss, and the gradient's norm before clipping."""
        self.model.train()
        torch.manual_seed(seed_of(self.config.seed, DROPOUT, self.progress.step, 0))
        with autocast(self.device, self.progress.precision):
            loss = self.model.loss(batch)
        if not loss.requires_grad:
            raise ValueError(
                f"trainable={self.config.trainable!r} leaves nothing to learn in a {type(self.model).__name__}; take a "
                f'number of blocks, or "all".'
            )
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.learned(self.model).values(), self.config.clip)
        return loss.item(), norm.item()

    @staticmethod
    def learned(model: nn.Module) -> dict[str, nn.Parameter]:
        """A model's trainable weights, by name."""
        return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}

    def measure(self, model: nn.Module) -> None:
        """Measure on dev; keep the weights if they do better than all before; end the run if patience runs out."""
        progress = self.progress
        scores = model.measure(self.dev, self.dev_rows)
        epoch = round(progress.step / self.steps_of_epoch, 4)
        progress.history.append(
            {"step": progress.step, "epoch": epoch, "seconds": progress.seconds, "loss": progress.loss, **scores}
        )
        progress.loss, progress.losses = 0.0, 0
        name = next(iter(scores))
        if progress.scores is None or scores[name] > progress.scores[name]:
            progress.scores, progress.best_step, progress.worse = scores, progress.step, 0
            self.best = {name: weight.detach().to("cpu", copy=True) for name, weight in self.learned(model).items()}
        else:
            progress.worse += 1
            progress.is_over = bool(self.config.patience) and progress.worse >= self.config.patience

    def show(self, bar: tqdm) -> None:
        """Update the progress bar: loss, best score, and how long the run will take by the clock."""
        if bar.disable:
            return
        name, best = next(iter((self.progress.scores or {"dev": math.nan}).items()))
        bar.set_postfix({"loss": f"{self.progress.loss:.3f}", f"best {name}": f"{best:.1f}"}, refresh=False)
        move_bar(bar, self.examples_seen, self.done)

    def choose_precision(self) -> str:
        """ "float32" or "bfloat16": what the settings say, or whichever is faster on a batch of medium length."""
        if self.config.precision != "auto":
            return self.config.precision
        by_length = sorted(self.rows, key=lambda row: row.length)
        middle = len(by_length) // 2
        batch = by_length[middle : middle + self.config.batch_size]
        self.model.train()
        return faster_precision(self.model, lambda: self.model.loss(batch), self.device)

    def save(self) -> None:
        """Write the checkpoint: the run's state, with the best and the mean weights so far."""
        kept = {f"best.{name}": weight for name, weight in self.best.items()}
        if self.mean:
            kept |= {f"mean.{name}": weight for name, weight in self.learned(self.mean.module).items()}
        header = {
            "progress": dataclasses.asdict(self.progress),
            "config": dataclasses.asdict(self.config),
            "model": description(self.model),
            "data": self.data,
        }
        write_checkpoint(self.output / CHECKPOINT, self.model, self.optimizer, header, kept)

    def load(self, path: Path) -> FineTuningProgress:
        """Restore the state in a checkpoint; ValueError if it is damaged, or from another run or model."""
        header, tensors = read_checkpoint(path)
        try:
            progress = FineTuningProgress(**json.loads(header["progress"]))
            saved = json.loads(header["config"]) | json.loads(header["model"]) | {DATA: header["data"]}
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(path, error) from error
        given = dataclasses.asdict(self.config) | description(self.model) | {DATA: self.data}
        check_same_run(path, saved, given, MAY_CHANGE)
        shapes = {name: weight.shape for name, weight in self.learned(self.model).items()}
        kept = {}
        for kind, is_needed in (("best", progress.scores is not None), ("mean", progress.averaged > 0)):
            prefix = f"{kind}."
            kept[kind] = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            if {name: weight.shape for name, weight in kept[kind].items()} != (shapes if is_needed else {}):
                raise damaged(path, f"its {kind} weights are not those that the model learns")
        restore(path, self.model, self.optimizer, tensors)
        self.best = kept["best"]
        if progress.averaged:
            self.mean = AveragedModel(self.model, multi_avg_fn=get_swa_multi_avg_fn())
            self.mean.module.load_state_dict(kept["mean"], strict=False)
            self.mean.n_averaged.fill_(progress.averaged)
        return progress


def description(model: nn.Module) -> dict:
    """What defines a head apart from its weights, as JSON returns it: its class, labels, dropout and options."""
    labels, dropout = getattr(model, "labels", None), getattr(model, "dropout", None)
    made = {
        "head": type(model).__name__,
        "labels": labels,
        "dropout": dropout.p if dropout else None,
        **model.options(),
    }
    return json.loads(json.dumps(made))

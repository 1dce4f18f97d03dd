"""Chapters 7-9: fine-tuning, one loop for every head.

A batch of rows of like length goes through the model; the gradient is clipped, AdamW takes a step, the learning rate
rises and falls; now and then the model answers the dev split, and its best weights are kept. Whatever is random is
drawn from the seed and the step, so that a run which was interrupted goes on as if it had not been.

The loop asks of a model what the heads have: ``rows(examples)``, ``loss(rows)``, ``measure(examples, rows)`` with the
score to go by first, ``options()`` and ``save(folder)``.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import NamedTuple

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import nn
from tqdm.auto import tqdm

from bertcourse.bert.pretrained import check_numbers, read_safetensors
from bertcourse.files import make_folder
from bertcourse.fine_tuning.config import FineTuningConfig
from bertcourse.fine_tuning.freezing import freeze, parameter_groups
from bertcourse.training.metering import RunLog, faster_precision, progress_bar
from bertcourse.training.seeds import DROPOUT, ORDER, seed_of
from bertcourse.training.signals import Interrupted, crossed, stop_signals
from bertcourse.training.state import checked_state, restore_state, state_tensors, write_tensors

CHECKPOINT = "checkpoint.safetensors"
MAY_CHANGE = {"checkpoint_minutes"}


class FineTuned(NamedTuple):
    """What came of a run; the model itself has the best weights now.

    Attributes:
        scores: of the best weights on dev, in percent.
        step: after which they were found.
        steps: that were taken.
        seconds: that the run took, measurements included.
        examples_per_second: rows, while training: of a long text each window counts.
        history: for each measurement its step, epoch, seconds, mean training loss (nats) since the last one, and
            scores.
    """

    scores: dict[str, float]
    step: int
    steps: int
    seconds: float
    examples_per_second: float
    history: list[dict]


def fine_tune(
    model: nn.Module,
    train: Sequence,
    dev: Sequence,
    output: str | os.PathLike | None = None,
    resume: bool = False,
    **settings,
) -> FineTuned:
    """Train a head and its encoder on labelled examples; the weights that do best on dev stay.

    Args:
        model: a ``SequenceClassifier``, ``TokenClassifier``, ``SpanPredictor`` or ``FeatureTagger``; trained in place,
            on its device, and left in evaluation mode.
        train, dev: examples of its kind.
        output: a folder, for checkpoints, the log ``log.jsonl`` and at the end the model, in the folder ``model``. With
            it Ctrl-C or SIGTERM end the run after the step at hand, to be resumed. None writes nothing.
        resume: go on from the checkpoint in ``output``; the model must be made as before.
        settings: fields of ``FineTuningConfig``, such as ``epochs=5``.

    Returns:
        ``FineTuned``.

    Raises:
        ValueError: if there is no such setting, or one is out of range; a split is empty, train has one class only, or
            an example does not fit the model; or the run to resume had other settings or data.
        FloatingPointError: if loss or gradient are no numbers, naming step and batch; the weights are those before.
        FileExistsError, FileNotFoundError: if ``output`` has a checkpoint and is not to be resumed, or the reverse.
        OSError: if a checkpoint cannot be written.
        Interrupted: after SIGINT or SIGTERM, when a checkpoint is written.

    Source: Devlin et al. 2019, section 3.2 and appendix A.3.
    """
    config = config_of(settings)
    if resume and output is None:
        raise ValueError("resume needs output, the folder of the run; got None.")
    with torch.random.fork_rng(), stop_signals() if output else contextlib.nullcontext(Event()) as stop:
        try:
            return Run(model, train, dev, config, Path(output) if output else None, resume, stop).run()
        finally:
            model.zero_grad(set_to_none=True)
            model.eval()


def config_of(settings: dict) -> FineTuningConfig:
    """Settings by name as the configuration of a run.

    Raises:
        ValueError: if there is no such setting, or one is out of range.
    """
    names = [field.name for field in dataclasses.fields(FineTuningConfig)]
    if unknown := set(settings) - set(names):
        raise ValueError(f"settings must be among {', '.join(names)}; got {', '.join(sorted(unknown))}.")
    return FineTuningConfig(**settings)


@dataclasses.dataclass
class Progress:
    """How far a run is.

    Attributes:
        step: updates of the weights.
        seconds, train_seconds: that it took, with measurements and without.
        scores, best_step: of the best measurement on dev.
        worse: measurements since then.
        loss, losses: mean training loss since the last measurement, over so many steps.
        averaged: steps whose weights are in the average.
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


class Run:
    """A run: what it is made of, and the loop.

    Args:
        model, train, dev, config, output, resume: as for ``fine_tune``.
        stop: set when the run shall end after the step at hand.
    """

    def __init__(
        self,
        model: nn.Module,
        train: Sequence,
        dev: Sequence,
        config: FineTuningConfig,
        output: Path | None,
        resume: bool,
        stop: Event,
    ):
        check_output(output, resume)
        self.model, self.config, self.output, self.stop = model, config, output, stop
        self.dev = dev
        self.rows, self.dev_rows = rows_of(model, train, "train"), rows_of(model, dev, "dev")
        check_classes(model, self.rows)
        if check_training := getattr(model, "check_training", None):  # what else a model must have to learn anything
            check_training(self.rows, config.batch_size)
        self.data = hashlib.sha256(repr([list(train), list(dev)]).encode()).hexdigest()
        self.device = next(model.parameters()).device
        freeze(model, config.trainable)
        head_rate = config.head_learning_rate or config.learning_rate
        groups = parameter_groups(model, config.learning_rate, head_rate, config.layer_decay, config.weight_decay)
        self.optimizer = torch.optim.AdamW(groups, fused=True)
        self.steps_of_epoch = math.ceil(len(self.rows) / config.batch_size)
        self.progress, self.best, self.mean = Progress(), {}, {}
        self.planned: tuple[int, list[list[int]]] | None = None
        if resume:
            self.load()
        else:
            self.progress.precision = self.choose_precision()
        self.last_saved = time.monotonic()

    @property
    def done(self) -> float:
        """The share of the training that lies behind, from 0 to 1: of the steps, or of the minutes if that is more."""
        share = self.progress.step / (self.config.epochs * self.steps_of_epoch)
        if self.config.minutes:
            share = max(share, self.progress.seconds / (60 * self.config.minutes))
        return 1.0 if self.progress.is_over else min(1.0, share)

    def run(self) -> FineTuned:
        """The loop."""
        progress, config = self.progress, self.config
        log = None
        if self.output:
            make_folder(self.output)
            log = RunLog(self.output, progress.step)
            log.write("run", progress.step, config=dataclasses.asdict(config), precision=progress.precision)
        bar = progress_bar(total=config.epochs * len(self.rows), initial=self.examples_seen, unit=" examples")
        with bar, contextlib.closing(log) if log else contextlib.nullcontext():
            while (before := self.done) < 1:
                start = time.perf_counter()
                self.step(self.next_batch(), before)
                progress.train_seconds += (taken := time.perf_counter() - start)
                progress.seconds += taken
                if crossed(before, self.done, 1 / (config.evaluations or config.epochs)):
                    self.measure()
                    progress.seconds += time.perf_counter() - start - taken
                    if log:
                        log.write("evaluation", **progress.history[-1])
                self.show(bar)
                self.save_in_time()
        progress.is_over = True
        self.model.load_state_dict(self.best, strict=False)
        self.model.eval()
        if self.output:
            self.save()
            self.model.save(self.output / "model")
        speed = self.examples_seen / progress.train_seconds
        return FineTuned(progress.scores, progress.best_step, progress.step, progress.seconds, speed, progress.history)

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

    def next_batch(self) -> list:
        """The rows of the next step."""
        epoch, step = divmod(self.progress.step, self.steps_of_epoch)
        return [self.rows[index] for index in self.epoch_batches(epoch)[step]]

    def loss(self, batch: list) -> torch.Tensor:
        """The loss of a batch, in the run's precision."""
        half = self.progress.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            return self.model.loss(batch)

    def step(self, batch: list, done: float) -> None:
        """One update of the weights.

        Raises:
            FloatingPointError: if loss or gradient are no numbers; the weights are then as they were.
        """
        progress, config = self.progress, self.config
        self.model.train()
        torch.manual_seed(seed_of(config.seed, DROPOUT, progress.step, 0))
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(batch)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.learned().values(), config.clip).item()
        if not math.isfinite(loss.item() + norm):
            epoch, number = divmod(progress.step, self.steps_of_epoch)
            raise FloatingPointError(
                f"step {progress.step + 1}, batch {number + 1} of {self.steps_of_epoch} in epoch {epoch + 1}: the loss "
                f"must be a number; got {loss.item():.4g} with a gradient of {norm:.4g} on the train examples "
                f"{', '.join(str(row.source) for row in batch)}. Look at these; or lower learning_rate, now "
                f'{config.learning_rate:g}, or take precision="float32", now {progress.precision}.'
            )
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * config.rate_at(done)
        self.optimizer.step()
        progress.step += 1
        progress.losses += 1
        progress.loss += (loss.item() - progress.loss) / progress.losses
        if self.done > 1 - config.average_last:
            self.add_to_mean()

    def learned(self) -> dict[str, nn.Parameter]:
        """The weights that learn, by name."""
        return {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}

    @torch.no_grad()
    def add_to_mean(self) -> None:
        """Take the weights into the average of those since it began."""
        self.progress.averaged += 1
        learned = self.learned()
        self.mean = self.mean or {name: torch.zeros_like(parameter) for name, parameter in learned.items()}
        for name, parameter in learned.items():
            self.mean[name].lerp_(parameter, 1 / self.progress.averaged)

    @contextlib.contextmanager
    def mean_weights(self) -> Iterator[None]:
        """The average of the weights in their place, if there is one yet."""
        current = {name: parameter.detach().clone() for name, parameter in self.learned().items()} if self.mean else {}
        self.model.load_state_dict(self.mean, strict=False)
        try:
            yield
        finally:
            self.model.load_state_dict(current, strict=False)

    def measure(self) -> None:
        """Answer the dev split; keep the weights if they do better than all before; end the run if patience is over."""
        with self.mean_weights():
            self.measure_weights()

    def measure_weights(self) -> None:
        """The same, of the weights that are in place."""
        progress = self.progress
        scores = self.model.measure(self.dev, self.dev_rows)
        epoch = round(progress.step / self.steps_of_epoch, 4)
        progress.history.append(
            {"step": progress.step, "epoch": epoch, "seconds": progress.seconds, "loss": progress.loss, **scores}
        )
        progress.loss, progress.losses = 0.0, 0
        name = next(iter(scores))
        if progress.scores is None or scores[name] > progress.scores[name]:
            progress.scores, progress.best_step, progress.worse = scores, progress.step, 0
            self.best = {name: parameter.detach().to("cpu", copy=True) for name, parameter in self.learned().items()}
        else:
            progress.worse += 1
            progress.is_over = bool(self.config.patience) and progress.worse >= self.config.patience

    def show(self, bar: tqdm) -> None:
        """The progress bar: loss, best score, and how long it will take by the clock."""
        if bar.disable:
            return
        name, best = next(iter((self.progress.scores or {"dev": math.nan}).items()))
        bar.total = max(bar.n + 1, int(self.examples_seen / max(self.done, 1e-9)))
        bar.set_postfix({"loss": f"{self.progress.loss:.3f}", f"best {name}": f"{best:.1f}"}, refresh=False)
        bar.update(self.examples_seen - bar.n)

    def choose_precision(self) -> str:
        """ "float32" or "bfloat16": what the settings say, or what is faster on a batch of middling length."""
        if self.config.precision != "auto":
            return self.config.precision
        by_length = sorted(self.rows, key=lambda row: row.length)
        middle = len(by_length) // 2
        batch = by_length[middle : middle + self.config.batch_size]
        self.model.train()
        return faster_precision(self.model, lambda: self.model.loss(batch), self.device)

    def save_in_time(self) -> None:
        """A checkpoint, if there is a folder for it and it is time, or the run is to stop.

        Raises:
            Interrupted: if it is to stop and is not over.
        """
        stopping = self.stop.is_set() and self.done < 1
        if self.output and (stopping or time.monotonic() - self.last_saved > 60 * self.config.checkpoint_minutes):
            self.save()
            self.last_saved = time.monotonic()
        if stopping:
            raise Interrupted(
                f"stopped after step {self.progress.step}; fine_tune with resume=True goes on from there."
            )

    def save(self) -> None:
        """Write the checkpoint: weights, AdamW's state, the best and the mean weights so far, and how far the run is.

        Raises:
            OSError: if it cannot be written; an older one is untouched.
        """
        kept = {f"best.{name}": tensor for name, tensor in self.best.items()}
        kept |= {f"mean.{name}": tensor for name, tensor in self.mean.items()}
        header = {
            "progress": json.dumps(dataclasses.asdict(self.progress)),
            "config": json.dumps(dataclasses.asdict(self.config)),
            "model": json.dumps(description(self.model)),
            "data": self.data,
        }
        path = self.output / CHECKPOINT
        try:
            write_tensors(path, {**state_tensors(self.model, self.optimizer), **kept}, header)
        except (OSError, safetensors.SafetensorError) as error:
            raise OSError(f"cannot write {path} ({error}). Make room, then go on with resume=True.") from error

    def load(self) -> None:
        """Go on from the checkpoint.

        Raises:
            ValueError: if it is damaged, or of a run with other settings, data or another model.
        """
        path = self.output / CHECKPOINT
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                header = file.metadata()
            progress = Progress(**json.loads(header["progress"]))
            saved, made = dict(json.loads(header["config"])), dict(json.loads(header["model"]))
            data = header["data"]
        except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged or cut short ({error}). Delete it, and start anew.") from error
        ours = dataclasses.asdict(self.config)
        kept = {name: value for name, value in saved.items() if name not in MAY_CHANGE} | made
        given = {name: value for name, value in ours.items() if name not in MAY_CHANGE} | description(self.model)
        differing = [name for name in {**given, **kept} if given.get(name) != kept.get(name)]
        if differing or data != self.data:
            notes = [f"{name} was {kept.get(name)!r} and is {given.get(name)!r}" for name in differing]
            notes += ["train or dev were others"] if data != self.data else []
            raise ValueError(
                f"{path} is of another run: {'; '.join(notes)}. Resume with what it had, or name another output."
            )
        tensors = read_safetensors(path, "Delete it, and start anew.")
        check_numbers(tensors, path)
        best, mean = (
            {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            for prefix in ("best.", "mean.")
        )
        shapes = {name: parameter.shape for name, parameter in self.learned().items()}
        try:
            checked_state(self.model, tensors)
            for name, kept_weights, needed in (
                ("best", best, progress.scores is not None),
                ("mean", mean, progress.averaged > 0),
            ):
                if {key: tensor.shape for key, tensor in kept_weights.items()} != (shapes if needed else {}):
                    raise ValueError(f"its {name} weights are not those that the model learns.")
            restore_state(self.model, self.optimizer, tensors)
        except ValueError as error:
            raise ValueError(f"{path} is of another model, or damaged: {error} Make the model as before.") from error
        self.best = best
        self.mean = {name: tensor.to(self.device) for name, tensor in mean.items()}
        self.progress = progress


def description(model: nn.Module) -> dict:
    """What a head is, apart from its weights, as JSON would give it back: its class, labels, dropout and options."""
    labels, dropout = getattr(model, "labels", None), getattr(model, "dropout", None)
    made = {
        "head": type(model).__name__,
        "labels": labels,
        "dropout": dropout.p if dropout else None,
        **model.options(),
    }
    return json.loads(json.dumps(made))


def check_output(output: Path | None, resume: bool) -> None:
    """Refuse to mix runs.

    Raises:
        FileExistsError, FileNotFoundError: as ``fine_tune``.
    """
    found = output is not None and (output / CHECKPOINT).exists()
    if found and not resume:
        raise FileExistsError(f"{output} has a run already. Go on with resume=True, or name another output.")
    if resume and not found:
        raise FileNotFoundError(f"expected {CHECKPOINT} in {output}; there is none. Start the run without resume.")


def rows_of(model: nn.Module, examples: Sequence, split: str) -> list:
    """What a model reads of a split.

    Raises:
        ValueError: naming the split, if it is empty or does not fit the model.
    """
    if not len(examples):
        raise ValueError(
            f"{split} must hold at least one example; it is empty. Was the file read, and the split not cut to 0?"
        )
    try:
        return model.rows(examples)
    except ValueError as error:
        raise ValueError(f"{split}: {error}") from error


def check_classes(model: nn.Module, rows: Sequence) -> None:
    """Refuse to learn from one class only.

    Raises:
        ValueError: naming it.
    """
    if labels := getattr(model, "labels", None):
        present = {index for row in rows for index in (row.target if isinstance(row.target, list) else [row.target])}
        if len(present) < 2:
            raise ValueError(
                "train must have examples of at least two labels, or there is nothing to learn; all of its "
                f"{len(rows)} are {', '.join(labels[index] for index in present)}. Is it the beginning of a file "
                "sorted by label? Shuffle it."
            )


def shuffled_buckets(lengths: Sequence[int], batch_size: int, rng: np.random.Generator) -> list[list[int]]:
    """Batches of an epoch: in random order, and each of examples of like length, so that little is padding.

    Args:
        lengths: of each example.
        batch_size: examples of a batch; one may have fewer.
        rng: of the shuffles, before the sort by length, which decides who meets whom, and after it.

    Returns:
        Batches as lists of indices into ``lengths``; every index is in exactly one.

    Source: Khomenko et al. 2016, "Accelerating Recurrent Neural Network Training Using Sequence Bucketing".
    """
    shuffled = rng.permutation(len(lengths))
    by_length = shuffled[np.argsort(np.asarray(lengths)[shuffled], kind="stable")].tolist()
    batches = [by_length[start : start + batch_size] for start in range(0, len(by_length), batch_size)]
    return [batches[number] for number in rng.permutation(len(batches))]

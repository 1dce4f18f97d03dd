"""Pretraining with one loop, from a laptop to many processes.

``pretrain(config)``, which ``bertcourse pretrain`` calls, does what chapter 4's ``train`` does, with many
processes, a log, evaluations and checkpoints; a test checks that the weights are equal, bit by bit. ``PretrainingRun``
reads from top to bottom: set-up, loop, and what the loop calls.
"""

import contextlib
import copy
import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tqdm.auto import tqdm

from bertcourse.bert import BertForPreTraining, load_pretrained, save_pretrained
from bertcourse.bert.folders import open_folder
from bertcourse.bert.tokenizer_files import check_special_tokens, read_tokenizer, tokens_by_id
from bertcourse.files import make_folder
from bertcourse.pretraining.corpus import Corpus
from bertcourse.pretraining.evaluation import to_device
from bertcourse.pretraining.masking import MaskedTokens, Vocabulary
from bertcourse.pretraining.pairs import RowBatch
from bertcourse.pretraining.small_world import SmallWorld
from bertcourse_lab.pretraining.batches import Batches, Position, RowMaker, fixed_batches
from bertcourse_lab.pretraining.checkpoints import PretrainingProgress, checkpoints, load_checkpoint, save_checkpoint
from bertcourse_lab.pretraining.config import PretrainingConfig
from bertcourse_lab.pretraining.cost import flops_per_token
from bertcourse_lab.pretraining.evaluation import evaluate
from bertcourse_lab.pretraining.masking import mask_tokens
from bertcourse_lab.pretraining.objective import PreTrainingLoss
from bertcourse_lab.pretraining.processes import Processes, joined_processes
from bertcourse_lab.pretraining.sense_probe import SenseProbe
from bertcourse_lab.pretraining.shards import books_corpus, text_corpus
from bertcourse_lab.pretraining.starts import new_model
from bertcourse_lab.training.checkpoints import check_output
from bertcourse_lab.training.metering import RunLog, autocast, faster_precision, move_bar, peak_flops, progress_bar
from bertcourse_lab.training.steps import (
    DROPOUT,
    Interrupted,
    adamw_groups,
    crossed,
    seed_of,
    set_learning_rate,
    stop_signals,
)

# What may differ between the configuration of a run and that of the model it starts from.
ONLY_WHILE_LEARNING = {"initializer_range", "hidden_dropout_prob", "attention_probs_dropout_prob"}


def pretrain(
    config: PretrainingConfig, resume: bool = False, corpus: Corpus | None = None, parts: "Parts | None" = None
) -> nn.Module:
    """Train a BERT from new weights or from another's, or resume a run (Devlin et al. 2019, sections 3.1 and A.2; Liu
    et al. 2019).

    Args:
        config: all settings.
        resume: continue from the newest checkpoint in ``config.output``.
        corpus: what to train on; None for the one that ``config.corpus`` names.
        parts: what is trained, and how; None for BERT.

    Returns:
        The model, in evaluation mode. Its files are in the folder ``model-100`` of ``config.output``, next to those of
        the other ``snapshots`` (``model-001`` after 1 %), the log ``log.jsonl``, and two checkpoints.

    Raises:
        ValueError: if settings do not fit one another, the corpus or the model to start from, or differ from those of
            the run to resume.
        FileExistsError: if there is already a run in ``config.output`` and ``resume`` is False.
        FileNotFoundError: if there is none and ``resume`` is True, or if tokenizer, text or model is missing.
        FloatingPointError: if the loss is no longer a number; the last checkpoint is from before that.
        Interrupted: after SIGINT or SIGTERM, once a checkpoint has been written.
    """
    threads = torch.get_num_threads()
    try:
        if config.threads:
            torch.set_num_threads(config.threads)
        with joined_processes() as processes, torch.random.fork_rng():
            return PretrainingRun(config, resume, corpus, processes, parts or Parts()).train()
    finally:
        torch.set_num_threads(threads)


class PretrainingRun:
    """A run as one process sees it; arguments as for ``pretrain``, and the processes that take part."""

    def __init__(
        self, config: PretrainingConfig, resume: bool, corpus: Corpus | None, processes: Processes, parts: "Parts"
    ):
        self.config, self.processes, self.device, self.parts = config, processes, processes.device, parts
        self.output = Path(config.output)
        newest = found[-1] if (found := checkpoints(self.output)) else None
        check_output(self.output, newest, resume)

        # Rows to train on, in an order that the seed decides; chunk c of a batch goes to process c mod P.
        for turn in (True, False):  # the first process of each machine makes the shards of a corpus
            if (processes.local_rank == 0) == turn:
                self.corpus = corpus or find_corpus(config)
            processes.wait(patiently=True)
        vocabulary, how = Vocabulary.of(self.corpus.tokenizer), (config.packing, config.short_rate)
        check_saveable(self.corpus.tokenizer)
        chunks = config.batch_size // config.micro_batch_size if config.micro_batch_size else processes.count
        if config.batch_size % chunks or chunks % processes.count:
            raise ValueError(
                f"batch_size must be a multiple of micro_batch_size times processes; got {config.batch_size}, "
                f"{config.micro_batch_size or 'any'} and {processes.count}."
            )
        self.batches = Batches(
            self.corpus.train,
            vocabulary,
            parts.row_maker(*how),
            config.batch_size,
            chunks,
            config.seed,
            config.static_copies,
            parts.mask,
            whole_words=config.whole_words,
            random_weights=unigram_weights(self.corpus, vocabulary) if config.random_words == "unigram" else None,
            mask_share=config.mask_share,
            random_share=config.random_share,
        )
        size = config.evaluation_length, config.evaluation_rows
        self.held_out = list(
            fixed_batches(self.corpus.held_out, vocabulary, RowMaker(*how), *size, **parts.held_out_masks)
        )

        # The model, its optimizer and its loss, compiled if asked for; DDP averages gradients over processes.
        torch.manual_seed(config.seed)
        made = parts.new_model(config, vocabulary.size, self.corpus.train, vocabulary.pad_id)
        self.model = made.to(self.device)
        if config.start_from and not resume:
            take_weights(self.model, config.start_from, self.corpus.tokenizer)
        self.optimizer = parts.new_optimizer(self.model, config)
        self.loss_of: nn.Module = parts.loss(self.model)
        if resume:
            self.progress = load_checkpoint(newest, self.model, self.optimizer, config, parts.about)
            self.batches.position = self.progress.position
        else:
            self.progress = PretrainingProgress(precision=self.choose_precision())
        if config.compile:
            self.loss_of = torch.compile(self.loss_of)
        if processes.count > 1:
            devices = [self.device] if self.device.type == "cuda" else None
            self.loss_of = DistributedDataParallel(self.loss_of, device_ids=devices)

        # The log and a first checkpoint. If a run was killed before its first checkpoint, none of its lines are kept.
        dtype = torch.bfloat16 if self.progress.precision == "bfloat16" else torch.float32
        self.peak = peak_flops(self.device, dtype) * processes.count
        folder = make_folder(self.output) if processes.is_main else None
        self.log = RunLog(folder, self.progress.step or -1, config.tensorboard)
        if processes.is_main and not resume:
            save_checkpoint(self.output, self.model, self.optimizer, self.progress, config, parts.about)
        self.last_saved = time.monotonic()

    def train(self) -> BertForPreTraining:
        """The loop: learning rate, batch, gradient, update, log, evaluation, checkpoint."""
        config, progress, processes = self.config, self.progress, self.processes
        self.log.write(
            "run",
            progress.step,
            config=dataclasses.asdict(config),
            **({"recipe": dict(self.parts.about)} if self.parts.about else {}),
            parameters=sum(parameter.numel() for parameter in self.model.parameters()),
            precision=progress.precision,
            processes=processes.count,
            threads=torch.get_num_threads(),
            torch=torch.__version__,
            device=str(self.device),
            peak_gflops=self.peak / 1e9,
        )
        how = dict(total=config.tokens, initial=progress.tokens, unit=" tokens", unit_scale=True)
        with stop_signals() as stop, progress_bar(processes.is_main, **how) as bar, contextlib.closing(self.log):
            clock = time.perf_counter()  # a step lasts from gradient to gradient
            if progress.step == 0:
                self.measure()
            aside = time.perf_counter() - clock  # the part of it that measurements and checkpoints take
            recent = []  # steps since the last line of the log: losses, gradient norm, tokens, seconds
            self.model.train()
            while (before := self.done) < 1:
                rate, length, mask_rate = config.rate_at(before), config.length_at(before), config.mask_rate_at(before)
                set_learning_rate(self.optimizer, rate)
                chunks = self.batches.next_batch(length, processes.rank, processes.count, mask_rate)
                losses, tokens = self.backward(chunks)
                norm = nn.utils.clip_grad_norm_(self.model.parameters(), config.clip).item()
                seconds, clock = (now := time.perf_counter()) - clock, now

                totals = processes.total(*losses.values(), norm, seconds, aside, tokens, stop.is_set())
                *means, norm, seconds, aside = (total / processes.count for total in totals[:-2])
                tokens, stopping = int(totals[-2]), bool(totals[-1])
                if not math.isfinite(sum(means) + norm):
                    found = ", ".join(f"{name.upper()} {mean:.4g}" for name, mean in zip(losses, means))
                    raise FloatingPointError(
                        f"step {progress.step + 1}: the loss must be a number; {found}, gradient "
                        f"{norm:.4g}. The last good checkpoint is {checkpoints(self.output)[-1]}. Start in another "
                        f"--output with a lower learning_rate (now {config.learning_rate:g}) or --precision float32."
                    )
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
                progress.step += 1
                progress.tokens += tokens
                progress.seconds += seconds
                progress.position = self.batches.position

                recent.append((*means, norm, tokens, seconds - aside))
                if crossed(before, self.done, config.log_every):
                    self.record(bar, list(losses), np.array(recent), length, rate, mask_rate)
                    recent = []
                start = time.perf_counter()
                if crossed(before, self.done, config.evaluate_every):
                    self.measure()
                if processes.is_main:
                    self.save(before, must=stopping or self.done >= 1)
                aside = time.perf_counter() - start
                if stopping and self.done < 1:
                    reached = f"step {progress.step}, {progress.tokens:,} tokens"
                    raise Interrupted(f"stopped after {reached}; --resume continues from there.")
            self.log.write("end", progress.step, tokens=progress.tokens, seconds=progress.seconds)
        processes.wait()
        return self.model.eval()

    @property
    def done(self) -> float:
        """The share of the training that is done, from 0 to 1."""
        if self.config.minutes:
            return min(1.0, self.progress.seconds / (60 * self.config.minutes))
        return min(1.0, self.progress.tokens / self.config.tokens)

    def backward(self, chunks: list[tuple[MaskedTokens, RowBatch]]) -> tuple[dict[str, float], int]:
        """Add up the gradients of this process's chunks; return each mean loss by name, and the number of tokens."""
        means: dict[str, float] = {}
        tokens = 0
        for number, (masked, rows) in enumerate(chunks):
            place = self.processes.rank + number * self.processes.count
            torch.manual_seed(seed_of(self.config.seed, DROPOUT, self.progress.step, place))
            masked, rows = (to_device(part, self.device) for part in (masked, rows))
            # processes exchange gradients once, after the last chunk
            waits = isinstance(self.loss_of, DistributedDataParallel) and number < len(chunks) - 1
            hold = self.loss_of.no_sync() if waits else contextlib.nullcontext()
            with hold, autocast(self.device, self.progress.precision):
                losses = self.loss_of(masked, rows)
                (sum(losses) / len(chunks)).backward()
            for name, loss in zip(losses._fields, losses):
                means[name] = means.get(name, 0) + loss.item() / len(chunks)
            tokens += rows.num_tokens
        return means, tokens

    def record(
        self, bar: tqdm, names: list[str], recent: np.ndarray, length: int, rate: float, mask_rate: float
    ) -> None:
        """Write a line of the log and move the progress bar, from the steps since the last one: (steps, 3 + losses)."""
        (*losses, norm), (tokens, seconds) = recent[:, :-2].mean(0).tolist(), recent[:, -2:].sum(0).tolist()
        speed = tokens / seconds
        is_plain = type(self.model) is BertForPreTraining  # for other models we do not count the arithmetic
        mfu = speed * flops_per_token(self.model.config, length, mask_rate) / self.peak if is_plain else math.nan
        shown = {name: f"{loss:.3f}" for name, loss in zip(names, losses)}
        bar.set_postfix(shown | ({"MFU": f"{mfu:.0%}"} if is_plain else {}), refresh=False)
        move_bar(bar, self.progress.tokens, self.done)
        self.log.write(
            "train",
            self.progress.step,
            tokens=self.progress.tokens,
            seconds=self.progress.seconds,
            **{f"{name}_loss": loss for name, loss in zip(names, losses)},
            gradient=norm,
            learning_rate=self.config.learning_rate * rate,
            length=length,
            tokens_per_second=speed,
            **({"mfu": mfu} if is_plain else {}),
        )

    def measure(self) -> None:
        """Measure both tasks on held-out rows, run the corpus's own probe, and log the results."""
        values = self.parts.evaluate(self.model, self.held_out, self.processes)
        if self.corpus.probe and self.processes.is_main:
            values |= self.corpus.probe(self.model)
        progress = self.progress
        self.log.write("evaluation", progress.step, tokens=progress.tokens, seconds=progress.seconds, **values)

    def save(self, before: float, must: bool) -> None:
        """Save the model if the training has passed one of ``snapshots``, and a checkpoint if one must be or is due."""
        for share in self.config.snapshot_shares:
            if before < share <= self.done:
                self.parts.save(self.model, self.corpus.tokenizer, self.output / f"model-{share * 100:03.0f}")
        if must or time.monotonic() - self.last_saved > 60 * self.config.checkpoint_minutes:
            save_checkpoint(self.output, self.model, self.optimizer, self.progress, self.config, self.parts.about)
            self.last_saved = time.monotonic()

    def choose_precision(self) -> str:
        """ "float32" or "bfloat16": what the settings say, or whichever is faster on a batch here."""
        if self.config.precision != "auto":
            return self.config.precision
        chunks = self.batches.next_batch(self.config.length_at(0.5), self.processes.rank, self.processes.count)
        self.batches.position = Position()
        masked, rows = (to_device(part, self.device) for part in chunks[0])
        faster = faster_precision(self.model, lambda: sum(self.loss_of(masked, rows)), self.device)
        (is_half,) = self.processes.total(faster == "bfloat16" and self.processes.is_main)
        return "bfloat16" if is_half else "float32"


def find_corpus(config: PretrainingConfig) -> Corpus:
    """The corpus that ``config.corpus`` names."""
    if config.corpus in ("small-world", "sparse-world"):
        world = SmallWorld(sparse=config.corpus == "sparse-world")
        made = world.corpus(config.world_tokens)
        return made._replace(probe=SenseProbe(world, made.tokenizer))
    tokenizer = read_tokenizer(open_folder(config.start_from or config.tokenizer))
    check_saveable(tokenizer)  # before a large text is cut into tokens
    if config.corpus in ("books", "more-books"):
        return books_corpus(tokenizer, more=config.corpus == "more-books")
    return text_corpus(Path(config.corpus), tokenizer)


def check_saveable(tokenizer: Tokenizer) -> None:
    """Refuse, before a run, a tokenizer that could not be saved with its model."""
    check_special_tokens(tokenizer)
    tokens_by_id(tokenizer)


def unigram_weights(corpus: Corpus, vocabulary: Vocabulary) -> torch.Tensor:
    """(V,), how often each token occurs in the corpus."""
    return sum(
        torch.bincount(torch.from_numpy(shard.tokens.astype("int64")), minlength=vocabulary.size)
        for shard in corpus.train
    ).float()


def take_weights(model: nn.Module, name: str, tokenizer: Tokenizer) -> None:
    """Replace a new model's weights by those of a pretrained one, to go on from there (Gururangan et al. 2020, "Don't
    Stop Pretraining").

    Args:
        model: a ``BertForPreTraining``, changed in place.
        name: of the other, for ``load_pretrained``; it has the same configuration and vocabulary.
        tokenizer: of the corpus.
    """
    if type(model) is not BertForPreTraining:
        raise ValueError(f"start_from is for BERTs; got it with a {type(model).__name__}.")
    other, its_tokenizer = load_pretrained(name, BertForPreTraining)
    mine, its = vars(model.config), vars(other.config)
    if differing := sorted(each for each in {*mine} - ONLY_WHILE_LEARNING if mine[each] != its[each]):
        found = "; ".join(f"{each} is {its[each]} there and {mine[each]} here" for each in differing)
        raise ValueError(f"start_from {name} must have the configuration of this run: {found}.")
    if its_tokenizer.get_vocab() != tokenizer.get_vocab():
        raise ValueError(f"start_from {name} must have the vocabulary of the corpus; its tokenizer has another.")
    model.load_state_dict(other.state_dict())


def save_model(model: BertForPreTraining, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the model in fp16, and its tokenizer, for ``load_pretrained`` to read."""
    save_pretrained(copy.deepcopy(model).half(), tokenizer, folder)


def new_optimizer(model: nn.Module, config: PretrainingConfig) -> torch.optim.AdamW:
    """AdamW in one fused kernel; weight decay applies to matrices, not to biases and layer norms."""
    groups = adamw_groups(model, lambda name: config.learning_rate, config.weight_decay)
    return torch.optim.AdamW(groups, betas=(config.beta1, config.beta2), eps=1e-6, fused=True)


class Parts(NamedTuple):
    """What a run trains, and how; the loop is always the same. Chapter 11 has other parts.

    Attributes:
        new_model: makes a model, from settings, V, the shards of a corpus and the id of [PAD].
        new_optimizer: makes an optimizer, from a model and settings.
        loss: wraps a model in a module that turns masked tokens and rows into named losses; their sum is minimized.
        row_maker: makes what makes the rows to train on, from packing and short rate.
        mask: hides tokens, as ``mask_tokens`` does.
        evaluate: measures a model, given held-out batches and the processes, as ``evaluate`` does.
        held_out_masks: what differs from 80/10/10 in the held-out rows, as arguments of ``mask_tokens``.
        save: writes a model and a tokenizer to a folder.
        about: what settings do not say, for log and checkpoints; a run can only be resumed with the same.
    """

    new_model: Callable[..., nn.Module] = new_model
    new_optimizer: Callable[..., torch.optim.Optimizer] = new_optimizer
    loss: Callable[[nn.Module], nn.Module] = PreTrainingLoss
    row_maker: Callable[[str, float], RowMaker] = RowMaker
    mask: Callable[..., MaskedTokens] = mask_tokens
    evaluate: Callable[..., dict[str, float]] = evaluate
    held_out_masks: Mapping[str, float] = MappingProxyType({})
    save: Callable[..., None] = save_model
    about: Mapping[str, object] = MappingProxyType({})

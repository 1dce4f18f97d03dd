"""Pretraining: one loop, from a laptop to many processes.

``pretrain(config)`` and ``bertcourse pretrain`` are the same; ``torchrun`` starts the command many times. The loop
takes a batch, adds up the gradients of its chunks, clips them, and takes a step; between steps it logs, measures on
held-out text, and writes checkpoints. Ctrl-C or SIGTERM end it after the step at hand, with a checkpoint.
"""

import contextlib
import dataclasses
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tqdm.auto import tqdm

from bertcourse.bert import BertForPreTraining, save_pretrained
from bertcourse.bert.cost import flops_per_token
from bertcourse.bert.pretrained import open_folder, read_tokenizer
from bertcourse.files import make_folder
from bertcourse.pretraining.batches import Batches, RowMaker, fixed_batches, to_device
from bertcourse.pretraining.checkpoints import Progress, checkpoints, load_checkpoint, save_checkpoint
from bertcourse.pretraining.config import PretrainingConfig
from bertcourse.pretraining.corpus import Corpus, books_corpus, text_corpus
from bertcourse.pretraining.evaluation import evaluate
from bertcourse.pretraining.masking import MaskedTokens, Vocabulary
from bertcourse.pretraining.objective import PreTrainingLoss
from bertcourse.pretraining.pairs import RowBatch
from bertcourse.pretraining.small_world import SmallWorld
from bertcourse.pretraining.starts import new_model
from bertcourse.training.metering import RunLog, faster_precision, peak_flops, progress_bar
from bertcourse.training.processes import Processes, joined_processes
from bertcourse.training.seeds import DROPOUT, seed_of
from bertcourse.training.signals import Interrupted, crossed, stop_signals


def pretrain(config: PretrainingConfig, resume: bool = False, corpus: Corpus | None = None) -> BertForPreTraining:
    """Train a BERT from nothing, or go on with a run.

    Args:
        config: all settings.
        resume: go on from the newest checkpoint in ``config.output``.
        corpus: what to train on; None for the one that ``config.corpus`` names.

    Returns:
        The model, in evaluation mode. Its files are in a folder ``model-100`` of ``config.output``, beside those of the
        other ``snapshots`` (``model-001`` after 1 %), the log ``log.jsonl``, and two checkpoints.

    Raises:
        ValueError: if settings do not fit one another or the corpus, or the run to resume has others.
        FileExistsError: if there is a run in ``config.output`` and ``resume`` is False.
        FileNotFoundError: if there is none and ``resume`` is True, or the tokenizer or text is not there.
        ConnectionError: if a process of ``torchrun`` is missing or stops, or the books cannot be fetched.
        FloatingPointError: if the loss is no longer a number; the last checkpoint is from before.
        OSError: if a checkpoint or model cannot be written; those written before are whole.
        ImportError: if TensorBoard is asked for and not installed.
        Interrupted: after SIGINT or SIGTERM, when a checkpoint is written.

    Source: Devlin et al. 2019, sections 3.1 and A.2; Liu et al. 2019; Izsak et al. 2021, "How to Train BERT with an
    Academic Budget".
    """
    threads = torch.get_num_threads()
    try:
        if config.threads:
            torch.set_num_threads(config.threads)
        with joined_processes() as processes, torch.random.fork_rng():
            trainer = Trainer(config, resume, corpus, processes)
            with stop_signals() as trainer.stop:
                return trainer.run()
    finally:
        torch.set_num_threads(threads)


class Trainer:
    """A run in one process: what it is made of, and the loop.

    Args:
        config, resume, corpus: as for ``pretrain``.
        processes: all that take part.

    Attributes:
        stop: set when the run shall end after the step at hand.
        model, optimizer, batches: what is trained, how, and on what.
        progress: how far the run is; ``done`` says it as a share of the training.
    """

    def __init__(
        self,
        config: PretrainingConfig,
        resume: bool,
        corpus: Corpus | None,
        processes: Processes,
    ):
        self.config, self.processes, self.stop = config, processes, threading.Event()
        self.output = Path(config.output)
        check_output(self.output, resume)
        self.corpus = corpus or find_corpus(config, processes)
        vocabulary = Vocabulary.of(self.corpus.tokenizer)
        row_maker = RowMaker(config.packing, config.short_rate)
        self.batches = Batches(
            self.corpus.train,
            vocabulary,
            row_maker,
            config.batch_size,
            number_of_chunks(config, processes),
            config.seed,
            config.static_copies,
            rate=config.mask_rate,
            whole_words=config.whole_words,
            random_weights=unigram_weights(self.corpus, vocabulary) if config.random_words == "unigram" else None,
            mask_share=config.mask_share,
            random_share=config.random_share,
        )
        self.held_out = list(
            fixed_batches(self.corpus.held_out, vocabulary, row_maker, config.evaluation_length, config.evaluation_rows)
        )
        torch.manual_seed(config.seed)
        self.model = new_model(config, vocabulary, self.corpus.train).to(processes.device)
        self.optimizer = new_optimizer(self.model, config)
        self.progress = Progress()
        if resume:
            self.progress = load_checkpoint(checkpoints(self.output)[-1], self.model, self.optimizer, config)
            self.batches.position = self.progress.position
        else:
            self.progress.precision = choose_precision(config, self.model, self.batches, processes)
        self.dtype = torch.bfloat16 if self.progress.precision == "bfloat16" else torch.float32
        self.loss_of = parallel(PreTrainingLoss(self.model), config, processes)
        self.averages = Averages()
        self.peak = peak_flops(processes.device, self.dtype) * processes.count
        self.log = None
        if processes.is_main:
            make_folder(self.output)
            # of a run that was killed before its first checkpoint no line is kept
            self.log = RunLog(self.output, self.progress.step or -1, config.tensorboard)
            if not resume:
                self.save()
        self.last_saved = time.monotonic()

    @property
    def done(self) -> float:
        """The share of the training that lies behind, from 0 to 1."""
        if self.config.minutes:
            return min(1.0, self.progress.seconds / (60 * self.config.minutes))
        return min(1.0, self.progress.tokens / self.config.tokens)

    def run(self) -> BertForPreTraining:
        """The loop."""
        config = self.config
        self.describe()
        bar = progress_bar(
            self.processes.is_main,
            total=config.tokens,
            initial=self.progress.tokens,
            unit=" tokens",
            unit_scale=True,
        )
        self.clock, self.aside = time.perf_counter(), 0.0
        with bar, contextlib.closing(self.log) if self.log else contextlib.nullcontext():
            if self.progress.step == 0:
                with self.time_aside():
                    self.measure()
            self.model.train()
            while (before := self.done) < 1:
                for group in self.optimizer.param_groups:
                    group["lr"] = config.learning_rate_at(before)
                chunks = self.batches.next_batch(config.length_at(before), self.processes.rank, self.processes.count)
                stopping = self.step(chunks)
                if crossed(before, self.done, config.log_every):
                    self.record(bar, config.length_at(before), config.learning_rate_at(before))
                with self.time_aside():
                    if crossed(before, self.done, config.evaluate_every):
                        self.measure()
                    self.keep_snapshots(before)
                    self.save_in_time(must=stopping or self.done >= 1)
                if stopping and self.done < 1:
                    raise Interrupted(
                        f"stopped after step {self.progress.step}, {self.progress.tokens:,} tokens; --resume goes "
                        f"on from there."
                    )
            if self.log:
                self.log.write("end", self.progress.step, tokens=self.progress.tokens, seconds=self.progress.seconds)
        self.processes.wait()
        return self.model.eval()

    def step(self, chunks: list[tuple[MaskedTokens, RowBatch]]) -> bool:
        """Gradients of all chunks, clipped; then one update of the weights.

        Args:
            chunks: this process's part of the batch.

        Returns:
            Whether a process was asked to stop.

        Raises:
            FloatingPointError: if loss or gradient are no numbers; the weights are then as they were.
        """
        processes, device = self.processes, self.processes.device
        mlm = nsp = tokens = 0.0
        for number, (masked, rows) in enumerate(chunks):
            torch.manual_seed(
                seed_of(self.config.seed, DROPOUT, self.progress.step, processes.rank + number * processes.count)
            )
            masked, rows = to_device(masked, device), to_device(rows, device)
            with (
                hold_gradients(self.loss_of, last=number == len(chunks) - 1),
                torch.autocast(device.type, self.dtype, enabled=self.dtype != torch.float32),
            ):
                losses = self.loss_of(masked, rows)
                (sum(losses) / len(chunks)).backward()
            mlm, nsp = mlm + losses.mlm.item() / len(chunks), nsp + losses.nsp.item() / len(chunks)
            tokens += rows.input_ids.numel() if rows.attention_mask is None else int(rows.attention_mask.sum())
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip).item()
        seconds, aside = self.time_passed()
        means = processes.total(
            mlm, nsp, norm, seconds, aside, tokens * processes.count, self.stop.is_set() * processes.count
        )
        mlm, nsp, norm, seconds, aside, tokens, stopping = (total / processes.count for total in means)
        if not math.isfinite(mlm + nsp + norm):
            raise FloatingPointError(
                f"step {self.progress.step + 1}: the loss must be a number; MLM {mlm:.4g}, NSP {nsp:.4g}, gradient "
                f"{norm:.4g}. "
                f"The last good checkpoint is {checkpoints(self.output)[-1]}. Start in another --output with a "
                f"lower learning_rate "
                f"(now {self.config.learning_rate:g}) or --precision float32."
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.progress.step += 1
        self.progress.tokens += int(tokens)
        self.progress.seconds += seconds
        self.progress.position = self.batches.position
        self.averages.add(mlm, nsp, norm, tokens, seconds - aside)
        return bool(stopping)

    def time_passed(self) -> tuple[float, float]:
        """Seconds since the last call, from gradient to gradient, the update between them included; and the part of
        them that measurements, snapshots and checkpoints took."""
        before, aside = self.clock, self.aside
        self.clock, self.aside = time.perf_counter(), 0.0
        return self.clock - before, aside

    @contextlib.contextmanager
    def time_aside(self) -> Iterator[None]:
        """What is done here does not count for the speed of the training, though for its time."""
        start = time.perf_counter()
        yield
        self.aside += time.perf_counter() - start

    def describe(self) -> None:
        """The first line of the log: all settings, and where the run takes place."""
        if self.log:
            self.log.write(
                "run",
                self.progress.step,
                config=dataclasses.asdict(self.config),
                parameters=sum(p.numel() for p in self.model.parameters()),
                precision=self.progress.precision,
                processes=self.processes.count,
                threads=torch.get_num_threads(),
                torch=torch.__version__,
                device=str(self.processes.device),
                peak_gflops=self.peak / 1e9,
            )

    def record(self, bar: tqdm, length: int, learning_rate: float) -> None:
        """A line of the log, and the progress bar, from the averages since the last one."""
        recent, self.averages = self.averages, Averages()
        speed = recent.tokens / recent.seconds
        mfu = speed * flops_per_token(self.model.config, length, self.config.mask_rate) / self.peak
        bar.total = int(self.progress.tokens / self.done)
        bar.set_postfix(mlm=f"{recent.mlm:.3f}", nsp=f"{recent.nsp:.3f}", MFU=f"{mfu:.0%}", refresh=False)
        bar.update(self.progress.tokens - bar.n)
        if self.log:
            self.log.write(
                "train",
                self.progress.step,
                tokens=self.progress.tokens,
                seconds=self.progress.seconds,
                mlm_loss=recent.mlm,
                nsp_loss=recent.nsp,
                gradient=recent.norm,
                learning_rate=learning_rate,
                length=length,
                tokens_per_second=speed,
                mfu=mfu,
            )

    def measure(self) -> None:
        """Both tasks on held-out rows, and the corpus's own probe, into the log."""
        values = evaluate(self.model, self.held_out, self.processes)
        if self.log:
            values |= self.corpus.probe(self.model) if self.corpus.probe else {}
            self.log.write(
                "evaluation", self.progress.step, tokens=self.progress.tokens, seconds=self.progress.seconds, **values
            )

    def keep_snapshots(self, before: float) -> None:
        """The model as it is, where the training has passed one of ``snapshots``."""
        for share in self.config.snapshot_shares:
            if before < share <= self.done and self.processes.is_main:
                save_model(self.model, self.corpus.tokenizer, self.output / f"model-{share * 100:03.0f}")

    def save_in_time(self, must: bool) -> None:
        """A checkpoint, if it must be now or the last is ``checkpoint_minutes`` old."""
        if self.processes.is_main and (
            must or time.monotonic() - self.last_saved > 60 * self.config.checkpoint_minutes
        ):
            self.save()
            self.last_saved = time.monotonic()

    def save(self) -> None:
        """A checkpoint."""
        save_checkpoint(self.output, self.model, self.optimizer, self.progress, self.config)


def check_output(output: Path, resume: bool) -> None:
    """Refuse to mix runs.

    Raises:
        FileExistsError, FileNotFoundError: as ``pretrain``.
    """
    found = checkpoints(output)
    if found and not resume:
        raise FileExistsError(
            f"{output} has a run already, with {found[-1].name}. Go on with --resume, or name another --output."
        )
    if resume and not found:
        raise FileNotFoundError(f"expected a checkpoint in {output}; there is none. Start the run without --resume.")


def find_corpus(config: PretrainingConfig, processes: Processes) -> Corpus:
    """The corpus that ``config.corpus`` names; the first process of each machine makes its shards."""
    for turn in (True, False):
        if (processes.local_rank == 0) == turn:
            corpus = make_corpus(config)
        processes.wait(patiently=True)
    return corpus


def make_corpus(config: PretrainingConfig) -> Corpus:
    """The corpus that ``config.corpus`` names."""
    if config.corpus in ("small-world", "sparse-world"):
        return SmallWorld(sparse=config.corpus == "sparse-world").corpus(config.world_tokens)
    tokenizer = read_tokenizer(open_folder(config.tokenizer))
    return books_corpus(tokenizer) if config.corpus == "books" else text_corpus(Path(config.corpus), tokenizer)


def number_of_chunks(config: PretrainingConfig, processes: Processes) -> int:
    """Into how many chunks a batch is cut, the same number for each process.

    Raises:
        ValueError: if the batch cannot be shared out evenly.
    """
    chunks = config.batch_size // config.micro_batch_size if config.micro_batch_size else processes.count
    if config.batch_size % chunks or chunks % processes.count:
        raise ValueError(
            f"batch_size must be a multiple of micro_batch_size times processes; got {config.batch_size}, "
            f"{config.micro_batch_size or 'any'} and {processes.count}."
        )
    return chunks


def unigram_weights(corpus: Corpus, vocabulary: Vocabulary) -> torch.Tensor:
    """(V,), how often each token occurs in the corpus."""
    return sum(
        torch.bincount(torch.from_numpy(shard.tokens.astype("int64")), minlength=vocabulary.size)
        for shard in corpus.train
    ).float()


def new_optimizer(model: nn.Module, config: PretrainingConfig) -> torch.optim.AdamW:
    """AdamW in one fused kernel; matrices decay, biases and layer norms do not."""
    learned = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in learned if p.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in learned if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(config.beta1, config.beta2), eps=1e-6, fused=True)


def parallel(loss: PreTrainingLoss, config: PretrainingConfig, processes: Processes) -> nn.Module:
    """The loss, compiled if asked for, and wrapped so that gradients are averaged over processes."""
    wrapped: nn.Module = torch.compile(loss) if config.compile else loss
    if processes.count > 1:
        wrapped = DistributedDataParallel(
            wrapped, device_ids=[processes.device] if processes.device.type == "cuda" else None
        )
    return wrapped


def hold_gradients(loss: nn.Module, last: bool) -> contextlib.AbstractContextManager:
    """Exchange gradients with the other processes after the last chunk only."""
    return loss.no_sync() if isinstance(loss, DistributedDataParallel) and not last else contextlib.nullcontext()


def choose_precision(
    config: PretrainingConfig, model: BertForPreTraining, batches: Batches, processes: Processes
) -> str:
    """ "float32" or "bfloat16": what the settings say, or what is faster on three steps here, by a tenth at least."""
    if config.precision != "auto":
        return config.precision
    chunks = batches.next_batch(config.length_at(0.5), processes.rank, processes.count)
    batches.position, batches.planned = type(batches.position)(), None
    loss_of = PreTrainingLoss(model)
    masked, rows = (to_device(part, processes.device) for part in chunks[0])
    faster = faster_precision(model, lambda: sum(loss_of(masked, rows)), processes.device) == "bfloat16"
    return "bfloat16" if processes.total(faster and processes.is_main)[0] else "float32"


def save_model(model: BertForPreTraining, tokenizer, folder: Path) -> None:
    """The model in fp16 and its tokenizer, as ``load_pretrained`` reads them."""
    copy = BertForPreTraining(model.config).half()
    copy.load_state_dict(model.state_dict())
    save_pretrained(copy, tokenizer, folder)


@dataclasses.dataclass
class Averages:
    """Means over the steps since the last line of the log."""

    steps: int = 0
    mlm: float = 0.0
    nsp: float = 0.0
    norm: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0

    def add(self, mlm: float, nsp: float, norm: float, tokens: float, seconds: float) -> None:
        """Count in a step."""
        self.steps += 1
        for name, value in (("mlm", mlm), ("nsp", nsp), ("norm", norm)):
            setattr(self, name, getattr(self, name) + (value - getattr(self, name)) / self.steps)
        self.tokens += tokens
        self.seconds += seconds

"""The settings of a run, and ``PRESETS``: the runs behind what the course ships, and one for a GPU."""

import dataclasses
from dataclasses import dataclass

from bertcourse.bert import BertConfig
from bertcourse.bert.pretrained import checked
from bertcourse_lab.pretraining.masking import check_rate, check_shares
from bertcourse_lab.training.settings import check_fields, require
from bertcourse_lab.training.steps import trapezoid

# On the command line the settings come in groups; each group starts at this field.
GROUPS = {
    "corpus": "text and output",
    "hidden_size": "model",
    "packing": "rows and masks",
    "tokens": "optimization",
    "precision": "machine",
    "log_every": "log, measurements, checkpoints",
}
PACKINGS = ("sentence-pairs", "full-sentences", "doc-sentences")
PRECISIONS = ("auto", "float32", "bfloat16")
MOST_THREADS = 1024  # torch crashes the process if it is told to start many thousands
MOST_PARAMETERS = 10**10  # thirty times BERT large; 160 GB with gradients and AdamW's state


def setting(default, about: str, choices: tuple[str, ...] = ()):
    """A field with its default, its help text on the command line, and the values it may have (empty: any)."""
    return dataclasses.field(default=default, metadata={"help": about, "choices": choices})


@dataclass(frozen=True)
class PretrainingConfig:
    """Everything that determines a run; each field is a flag of ``bertcourse pretrain``, whose --help explains it.

    A ValueError names the field that is out of range, or the two that do not fit together. The model's names and
    defaults are from Devlin et al. 2019, the optimizer's from Loshchilov & Hutter 2019 and Liu et al. 2019.
    """

    corpus: str = setting(
        "books",
        '"books" (93 of them), "more-books" (359), "small-world", "sparse-world", '
        "or a UTF-8 text with an empty line between documents",
    )
    tokenizer: str = setting("course", "name or folder of a model, whose tokenizer to use; small worlds have their own")
    start_from: str = setting("", "name or folder of a model to continue from, with its tokenizer; empty: new weights")
    world_tokens: int = setting(1_500_000, "size of a small world's corpus, in words")
    output: str = setting("runs/pretraining", "folder for log, checkpoints and models")
    seed: int = setting(0, "of weights, order, masks and dropout")

    hidden_size: int = setting(256, "D")
    num_hidden_layers: int = setting(4, "encoder blocks")
    num_attention_heads: int = setting(4, "H; D is a multiple of it")
    intermediate_size: int = setting(1024, "width of the feed-forward networks")
    max_position_embeddings: int = setting(512, "positions the model has a vector for")
    dropout: float = setting(0.0, "probability of dropping a value, in attention too")
    initializer_range: float = setting(0.02, "standard deviation of the initial weights")
    initial_positions: str = setting(
        "sinusoidal", "position vectors begin as sines and cosines, or as noise, as in BERT", ("sinusoidal", "normal")
    )
    initial_words: str = setting(
        "normal", "word vectors begin as noise, or from how often words stand together", ("normal", "counts")
    )

    initial_outputs: str = setting(
        "normal",
        "the last map of each sublayer begins as noise, or as zero: the sublayer then adds nothing yet",
        ("normal", "zero"),
    )
    local_layers: int = setting(0, "number of layers, from the first, whose heads begin by looking at a neighbour")
    local_offsets: str = setting("-1,1,-2,2", "where each of these heads looks, in tokens to the right")

    packing: str = setting("sentence-pairs", "pairs allow NSP; the other two fill rows without it", PACKINGS)
    nsp: bool = setting(True, "learn next-sentence prediction; needs sentence-pairs")
    lengths: str = setting("64:0.6,128:0.4", "maximum row length:share of the training, in order")
    short_rate: float = setting(0.1, "share of pairs that aim at a random shorter length")
    mask_rate: float = setting(0.15, "share of tokens to hide")
    last_mask_rate: float = setting(0.0, "where mask_rate, falling or rising steadily, ends; 0: it stays")
    mask_share: float = setting(0.8, "share of the hidden tokens that become [MASK]")
    random_share: float = setting(0.1, "share of the hidden tokens that become a random one; the others stay")
    whole_words: bool = setting(False, "hide whole words")
    random_words: str = setting(
        "uniform", "where the random token of 80/10/10 comes from; BERT draws uniformly", ("uniform", "unigram")
    )
    static_copies: int = setting(
        0, "0: new masks whenever a text is read; n: those of the first n epochs again and again"
    )

    tokens: int = setting(
        250_000_000, "how many tokens to train on; a resumed run may change it while its rate is constant"
    )
    minutes: float = setting(
        0.0, "minutes to train for, instead of --tokens, schedule included; 0: as many tokens as said"
    )
    batch_size: int = setting(16, "rows of a step, over all processes")
    micro_batch_size: int = setting(0, "rows that go through the model at once; 0: all that a process has of a batch")
    learning_rate: float = setting(5e-4, "peak learning rate")
    warmup: float = setting(0.02, "share of the training in which the learning rate rises")
    decay: float = setting(0.3, "share of the training, at its end, in which it falls to zero")
    beta1: float = setting(0.9, "of AdamW")
    beta2: float = setting(0.98, "of AdamW")
    weight_decay: float = setting(0.01, "of matrices")
    clip: float = setting(1.0, "maximum gradient norm")

    precision: str = setting("auto", "bfloat16 is autocast; auto: what is faster here", PRECISIONS)
    threads: int = setting(0, "of torch; 0: as many as it chooses")
    compile: bool = setting(False, "torch.compile: a minute more at the start, faster steps on some machines")
    log_every: float = setting(0.002, "share of the training between two lines of the log")
    evaluate_every: float = setting(0.02, "share of the training between two measurements on held-out rows")
    evaluation_rows: int = setting(1024, "number of held-out rows")
    evaluation_length: int = setting(64, "maximum length of held-out rows")
    checkpoint_minutes: float = setting(5.0, "minutes between two checkpoints")
    snapshots: str = setting(
        "1", "shares of the training after which to keep the model, in whole percents, such as 0.01,0.1; and at its end"
    )
    tensorboard: bool = setting(False, "write TensorBoard's files too (pip install tensorboard)")

    def __post_init__(self) -> None:
        check_fields(self)
        require(self, "tokens world_tokens batch_size evaluation_rows", "at least 1", lambda value: value >= 1)
        require(self, "learning_rate clip log_every evaluate_every", "above 0", lambda value: 0 < value < float("inf"))
        others = "static_copies minutes micro_batch_size weight_decay threads checkpoint_minutes"
        require(self, others, "at least 0", lambda value: 0 <= value < float("inf"))
        require(self, "threads", f"at most {MOST_THREADS}", lambda value: value <= MOST_THREADS)
        require(self, "seed", "at least 0 and below 2**63", lambda value: 0 <= value < 2**63)
        require(self, "warmup decay short_rate", "a share, from 0 to 1", lambda value: 0 <= value <= 1)
        require(self, "beta1 beta2", "at least 0 and below 1", lambda value: 0 <= value < 1)
        require(self, "output", "the name of a folder", str.strip)
        check_rate(self.mask_rate, "mask_rate")
        if self.last_mask_rate:
            check_rate(self.last_mask_rate, "last_mask_rate")
            if self.static_copies:
                raise ValueError(
                    "static_copies repeats masks, of which last_mask_rate changes the number: leave out one."
                )
        self.check_local_heads()
        check_shares(self.mask_share, self.random_share)
        if self.nsp and self.packing != "sentence-pairs":
            raise ValueError(f"nsp compares two segments: it needs packing sentence-pairs; got {self.packing}.")
        if self.batch_size % (self.micro_batch_size or 1):
            raise ValueError(
                f"batch_size must be a multiple of micro_batch_size; got {self.batch_size} and {self.micro_batch_size}."
            )
        lengths = [self.evaluation_length, *(length for length, _ in self.stages)]
        if min(lengths) < 5 or max(lengths) > self.max_position_embeddings:
            raise ValueError(
                f"lengths and evaluation_length must be from 5 to max_position_embeddings, "
                f"{self.max_position_embeddings}; got {self.lengths} and {self.evaluation_length}."
            )
        self.snapshot_shares  # noqa: B018, reading it checks it
        size = self.bert_config(vocab_size=5)
        block = 4 * size.hidden_size**2 + 2 * size.hidden_size * size.intermediate_size
        parameters = size.num_hidden_layers * block + size.max_position_embeddings * size.hidden_size
        if parameters > MOST_PARAMETERS:
            raise ValueError(
                f"the model must have at most {MOST_PARAMETERS:,} parameters (BERT large has 340 million); got about "
                f"{parameters:,}. Lower hidden_size, intermediate_size, num_hidden_layers or max_position_embeddings."
            )

    def bert_config(self, vocab_size: int, pad_id: int = 0) -> BertConfig:
        """The model's sizes, for a tokenizer with ``vocab_size`` tokens, of which ``pad_id`` is [PAD]."""
        config = BertConfig(
            vocab_size=vocab_size,
            hidden_size=self.hidden_size,
            num_hidden_layers=self.num_hidden_layers,
            num_attention_heads=self.num_attention_heads,
            intermediate_size=self.intermediate_size,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
            max_position_embeddings=self.max_position_embeddings,
            initializer_range=self.initializer_range,
            pad_token_id=pad_id,
        )
        return checked(config)

    def check_local_heads(self) -> None:
        """Refuse local heads for which the model lacks the layers, heads, columns or position vectors."""
        require(self, "local_layers", "at least 0", lambda value: value >= 0)
        if not self.local_layers:
            return
        columns = self.hidden_size // self.num_attention_heads
        if self.local_layers > self.num_hidden_layers or not 0 < len(self.offsets) <= self.num_attention_heads:
            raise ValueError(
                f"local_layers and local_offsets must be at most num_hidden_layers, {self.num_hidden_layers}, and "
                f"num_attention_heads, {self.num_attention_heads}; got {self.local_layers} and {self.local_offsets!r}."
            )
        if self.initial_positions != "sinusoidal" or columns % 2:
            raise ValueError(
                f"local_layers needs initial_positions sinusoidal and heads of an even size; got "
                f"{self.initial_positions} and {columns}."
            )

    @property
    def offsets(self) -> list[int]:
        """Where each head of ``local_layers`` starts out looking.

        >>> PretrainingConfig(local_offsets="-1,1").offsets
        [-1, 1]
        """
        try:
            return [int(offset) for offset in self.local_offsets.split(",")]
        except ValueError:
            raise ValueError(
                f'local_offsets must be whole numbers, such as "-1,1"; got {self.local_offsets!r}.'
            ) from None

    def mask_rate_at(self, progress: float) -> float:
        """The share of tokens to hide when ``progress``, from 0 to 1, of the training is done.

        >>> round(PretrainingConfig(mask_rate=0.3, last_mask_rate=0.15).mask_rate_at(0.5), 3)
        0.225
        """
        return self.mask_rate + ((self.last_mask_rate or self.mask_rate) - self.mask_rate) * progress

    @property
    def stages(self) -> list[tuple[int, float]]:
        """Row lengths, each with the share of the training at which it ends.

        >>> PretrainingConfig(lengths="64:0.75,128:0.25").stages
        [(64, 0.75), (128, 1.0)]
        """
        stages, end = [], 0.0
        try:
            for length, _, share in (part.partition(":") for part in self.lengths.split(",")):
                end += float(share or 1)
                stages.append((int(length), end))
        except ValueError:
            end = 0.0
        if not abs(end - 1) <= 1e-6 or any(a >= b for (_, a), (_, b) in zip([(0, 0.0), *stages], stages)):
            raise ValueError(
                f"lengths must be row lengths with their shares of the training, which add up to 1, such as "
                f'"64:0.6,128:0.4"; got {self.lengths!r}.'
            )
        return stages

    def length_at(self, progress: float) -> int:
        """The row length when ``progress``, from 0 to 1, of the training is done."""
        return next((length for length, end in self.stages if progress < end - 1e-9), self.stages[-1][0])

    @property
    def snapshot_shares(self) -> list[float]:
        """When to keep the model, in order; always at the end.

        >>> PretrainingConfig(snapshots="0.01").snapshot_shares
        [0.01, 1.0]
        """
        try:
            percents = [100 * float(share) for share in self.snapshots.split(",") if share.strip()]
        except ValueError:
            percents = [0.0]
        if any(not 0 < percent < 100.5 or not abs(percent - round(percent)) <= 1e-6 for percent in percents):
            raise ValueError(
                f'snapshots must be shares in whole percents, such as "0.01,0.1,1"; got {self.snapshots!r}.'
            )
        return sorted({round(percent) / 100 for percent in percents} | {1.0})

    def rate_at(self, progress: float) -> float:
        """The learning rate, as a share of its peak, when ``progress``, from 0 to 1, of the training is done."""
        return trapezoid(progress, self.warmup, self.decay, lead=1e-9)


PRESETS = {
    # The small world of lecture 04: two minutes on two cores.
    "small-world": dict(
        corpus="small-world",
        output="runs/small-world",
        hidden_size=128,
        intermediate_size=512,
        max_position_embeddings=64,
        initializer_range=0.04,
        initial_positions="normal",
        lengths="64:1",
        short_rate=0.0,
        mask_rate=0.3,
        tokens=2_400_000,
        batch_size=16,
        learning_rate=1e-3,
        warmup=0.06,
        decay=0.3,
        evaluate_every=0.1,
        evaluation_rows=600,
        log_every=0.01,
    ),
    # How the checkpoint "course" began: 93 books, two CPU cores, some hours.
    "books-cpu": dict(
        output="runs/books-cpu",
        initializer_range=0.04,
        lengths="64:0.4,128:0.5,256:0.1",
        warmup=0.001,
        snapshots="0.01,0.1,1",
        log_every=0.001,
        evaluate_every=0.005,
    ),
    # The books of "books-cpu" on a GPU, or with torchrun on several. This has never been run: with batches of 256, the
    # loss may stay on its plateau for a long time.
    "books-gpu": dict(
        output="runs/books-gpu",
        tokens=1_000_000_000,
        batch_size=256,
        learning_rate=1e-3,
        snapshots="0.01,0.1,1",
    ),
}

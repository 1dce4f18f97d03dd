"""Pretraining steps: our trainer's loss and optimizer beside Hugging Face's BertForPreTraining, in one run.

    python tools/studies/pretrain.py                                           # about 10 minutes on two cores
    python tools/studies/pretrain.py --output data/results/pretrain_speed.md   # writes the table, too

A step is forward, backward, clipping and AdamW on a batch of 64 rows of 64 or of 128 tokens, with a vocabulary of 4,096
or of 30,522 (D = 128, 4 layers, 4 heads, 15 % hidden, NSP). These are timed in turn, round after round:

- Hugging Face's model with its default configuration: dropout .1, all positions scored over the vocabulary;
- Hugging Face's model without dropout;
- ours as in the presets: no dropout, only hidden positions scored over the vocabulary, in float32;
- ours with dropout .1;
- ours in bfloat16, no dropout.

Before that, all start from the same weights and must have the same loss on the same batches, with dropout off. The
table gives the median tokens/s, the ratio to Hugging Face's default and at equal dropout, each the median of the
rounds' own ratios, and MFU: our arithmetic (``flops_per_token``) in that time, as a share of what a large matrix
product reaches here.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import transformers

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.bert.weights import hugging_face_name
from bertcourse.pretraining import MaskedTokens, RowBatch, Vocabulary, mask_tokens
from bertcourse_lab.pretraining.cost import flops_per_token
from bertcourse_lab.pretraining.objective import PreTrainingLoss
from bertcourse_lab.training.metering import peak_flops

ROWS, RATE = 64, 0.15


def make_batch(vocab_size: int, length: int) -> tuple[MaskedTokens, RowBatch]:
    """Random rows [CLS] A [SEP] B [SEP] without padding."""
    ids = torch.arange(vocab_size)
    vocabulary = Vocabulary(
        vocab_size, 0, 2, 3, 4, is_special=ids < 5, is_continuation=torch.zeros(vocab_size, dtype=torch.bool)
    )
    input_ids = torch.randint(5, vocab_size, (ROWS, length))
    input_ids[:, 0], input_ids[:, length // 2], input_ids[:, -1] = 2, 3, 3
    segments = (torch.arange(length) > length // 2).long().expand(ROWS, -1)
    return mask_tokens(input_ids, vocabulary, RATE), RowBatch(input_ids, None, segments, torch.randint(0, 2, (ROWS,)))


def new_models(vocab_size: int, dropout: float) -> tuple[BertForPreTraining, transformers.BertForPreTraining]:
    """Ours and theirs, with the same weights."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=vocab_size,
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=512,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    ours, theirs = BertForPreTraining(config), transformers.BertForPreTraining(transformers.BertConfig(**vars(config)))
    parameters = dict(theirs.named_parameters())
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            parameters[hugging_face_name(name)].copy_(parameter)
    return ours, theirs


def our_loss(model: BertForPreTraining, bfloat16: bool = False) -> Callable:
    """The loss of a batch, as the trainer computes it."""
    module = PreTrainingLoss(model)

    def loss(masked: MaskedTokens, rows: RowBatch) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            return sum(module(masked, rows))

    return loss


def their_loss(model: transformers.BertForPreTraining) -> Callable:
    """The loss of a batch, as in the model's documentation: with labels at all positions."""

    def loss(masked: MaskedTokens, rows: RowBatch) -> torch.Tensor:
        return model(
            input_ids=masked.input_ids,
            token_type_ids=rows.token_type_ids,
            labels=masked.all_labels(),
            next_sentence_label=rows.nsp_labels,
        ).loss

    return loss


def seconds(
    model: torch.nn.Module, loss: Callable, optimizer: torch.optim.Optimizer, batch: tuple, steps: int
) -> float:
    """Wall time of ``steps`` steps."""
    start = time.perf_counter()
    for _ in range(steps):
        loss(*batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return time.perf_counter() - start


def compare(vocab_size: int, length: int, rounds: int, steps: int) -> list[str]:
    """The rows of the table for one setting."""
    batch = make_batch(vocab_size, length)
    (ours, theirs), (ours_dropping, theirs_dropping) = new_models(vocab_size, 0.0), new_models(vocab_size, 0.1)
    difference = max(
        abs(our_loss(a.eval())(*batch).item() - their_loss(b.eval())(*batch).item())
        for a, b in ((ours, theirs), (ours_dropping, theirs_dropping))
    )
    if difference > 1e-5:
        raise SystemExit(f"the losses must be equal; they differ by {difference:.1e}")
    half, _ = new_models(vocab_size, 0.0)
    runs = {
        "Hugging Face, default": (theirs_dropping, their_loss(theirs_dropping)),
        "Hugging Face, no dropout": (theirs, their_loss(theirs)),
        "ours": (ours, our_loss(ours)),
        "ours, dropout .1": (ours_dropping, our_loss(ours_dropping)),
        "ours, bfloat16": (half, our_loss(half, bfloat16=True)),
    }
    prepared = {}
    for name, (model, loss) in runs.items():
        optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)
        prepared[name] = (model, loss, optimizer, batch)
        seconds(*prepared[name], steps=1)
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name in runs:
            times[name].append(seconds(*prepared[name], steps=steps))
    tokens = ROWS * length * steps
    work, lines = flops_per_token(ours.config, length, RATE), []
    for name in runs:
        half_used = name == "ours, bfloat16"
        peak = peak_flops(torch.device("cpu"), torch.bfloat16 if half_used else torch.float32)
        speed = tokens / statistics.median(times[name])
        default = statistics.median(a / b for a, b in zip(times["Hugging Face, default"], times[name]))
        equal = "Hugging Face, default" if name == "ours, dropout .1" else "Hugging Face, no dropout"
        fair = statistics.median(a / b for a, b in zip(times[equal], times[name]))
        beside = f"{default:.2f} | {fair:.2f}" if name.startswith("ours") else f"{default:.2f} | "
        lines.append(
            f"| {vocab_size:,} | {length} | {name} | {speed:,.0f} | {beside} | {speed * work / peak:.0%} | "
            f"{difference:.0e} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vocab-sizes", type=int, nargs="+", default=[4096, 30522])
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lines = [
        "# Pretraining: tokens per second beside Hugging Face's model",
        "",
        f"torch {torch.__version__}, transformers {transformers.__version__}, {options.threads} threads, {ROWS} "
        f"rows per batch; "
        "`python tools/studies/pretrain.py`",
        "",
        "| vocabulary | length | | tokens/s | × default | × at equal dropout | MFU | loss differs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    for vocab_size in options.vocab_sizes:
        for length in options.lengths:
            lines += compare(vocab_size, length, options.rounds, options.steps)
    if options.output:
        options.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()

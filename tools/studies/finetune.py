"""Fine-tuning: our loop beside a plain loop on Hugging Face's model, with the same hyperparameters, in one run.

    BERTCOURSE_DATA=FOLDER python tools/studies/finetune.py    # MiniLM, 2,048 examples of SST-2; ten minutes
    … --output data/results/finetune_speed.md               # writes the table, too

Both start from the same encoder and learn from the same examples for the same number of epochs, with the same batch
size, AdamW, clipping, warm-up, linear decay and dropout:

- Hugging Face: BertForSequenceClassification with its default configuration, batches in random order, each padded to
  its own longest text (``DataCollatorWithPadding`` in the documentation's loop), float32;
- ours in float32, so that the differences are batches of similar length, the attention kernel and AdamW in one kernel;
- ours with precision "auto", as in the benchmark command.

Each is trained with every seed, in turn. The table gives examples/s while training (the median over seeds), the ratio
to Hugging Face's speed with the same seed, as the machine's speed drifts, and accuracy on the official dev split by
seed.
"""

import argparse
import math
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
import transformers

from bertcourse.bert import BertModel, load_pretrained
from bertcourse.fine_tuning import LabeledText, SequenceClassifier
from bertcourse_lab.datasets.classification import rte, sst2
from bertcourse_lab.fine_tuning import FineTuningConfig, fine_tune

SETS = {"sst2": sst2, "rte": rte}


def train_theirs(
    model: transformers.BertForSequenceClassification,
    tokenizer: transformers.PreTrainedTokenizerBase,
    train: Sequence[LabeledText],
    config: FineTuningConfig,
    max_length: int,
) -> float:
    """The documentation's loop; returns examples/s."""
    torch.manual_seed(config.seed)
    encoded = [
        tokenizer(*texts_of(example), truncation=True, max_length=max_length)
        | {"labels": model.config.label2id[example.label]}
        for example in train
    ]
    loader = torch.utils.data.DataLoader(
        encoded, config.batch_size, shuffle=True, collate_fn=transformers.DataCollatorWithPadding(tokenizer)
    )
    plain = {"bias", "LayerNorm.weight", "LayerNorm.bias"}
    groups = [
        {
            "params": [
                p for name, p in model.named_parameters() if any(name.endswith(end) for end in plain) == is_plain
            ],
            "weight_decay": 0.0 if is_plain else config.weight_decay,
        }
        for is_plain in (False, True)
    ]
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate)
    steps = config.epochs * len(loader)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, round(config.warmup * steps), steps)
    model.train()
    start = time.perf_counter()
    for _ in range(config.epochs):
        for batch in loader:
            loss = model(**batch).loss
            if not math.isfinite(loss.item()):
                raise FloatingPointError(f"the loss must be a number; got {loss.item()}.")
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    return config.epochs * len(train) / (time.perf_counter() - start)


def texts_of(example: LabeledText) -> tuple[str, ...]:
    """One text, or two."""
    return (example.text,) if isinstance(example.text, str) else example.text


@torch.inference_mode()
def their_accuracy(
    model: transformers.BertForSequenceClassification,
    tokenizer: transformers.PreTrainedTokenizerBase,
    examples: Sequence[LabeledText],
    max_length: int,
) -> float:
    """The accuracy of their model, in percent."""
    model.eval()
    right = 0
    for start in range(0, len(examples), 32):
        batch = examples[start : start + 32]
        texts = [list(parts) for parts in zip(*map(texts_of, batch))]
        inputs = tokenizer(*texts, truncation=True, max_length=max_length, padding=True, return_tensors="pt")
        predicted = model(**inputs).logits.argmax(1).tolist()
        right += sum(model.config.id2label[i] == example.label for i, example in zip(predicted, batch))
    return 100 * right / len(examples)


def compare(encoder: BertModel, tokenizer, options: argparse.Namespace, seed: int) -> dict[str, tuple[float, float]]:
    """Speed and accuracy of each system, with one seed."""
    splits = SETS[options.task]()
    train = random.Random(seed).sample(splits.train, min(options.examples, len(splits.train)))
    labels = sorted({example.label for example in train})
    settings = dict(
        epochs=options.epochs, batch_size=options.batch_size, learning_rate=options.learning_rate, seed=seed
    )

    def new() -> SequenceClassifier:
        return SequenceClassifier(encoder, tokenizer, labels, pooling="cls", max_length=options.max_length, seed=seed)

    with tempfile.TemporaryDirectory() as folder:  # the same weights, head included
        new().save(folder)
        theirs = transformers.BertForSequenceClassification.from_pretrained(folder)
        their_tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    results = {}
    speed = train_theirs(theirs, their_tokenizer, train, FineTuningConfig(**settings), options.max_length)
    results["Hugging Face"] = speed, their_accuracy(theirs, their_tokenizer, splits.test, options.max_length)
    for name, precision in (("ours, float32", "float32"), ("ours", "auto")):
        model = new()
        # measured at the end only, so that both report the last weights
        speed = fine_tune(
            model, train, splits.dev[:64], evaluations=1, precision=precision, **settings
        ).examples_per_second
        results[name] = speed, model.score(splits.test)["accuracy"]
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="minilm", help="a name for load_pretrained (default: %(default)s)")
    parser.add_argument("--task", choices=SETS, default="sst2")
    parser.add_argument("--examples", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    encoder, tokenizer = load_pretrained(options.model)
    runs = [compare(encoder, tokenizer, options, seed) for seed in range(options.seeds)]
    lines = [
        "# Fine-tuning: examples per second beside Hugging Face's loop",
        "",
        f"{options.model}, {options.task}, {options.examples} examples, {options.epochs} epochs; torch "
        f"{torch.__version__}, "
        f"transformers {transformers.__version__}, {options.threads} threads; `python tools/studies/finetune.py`",
        "",
        "| | examples/s | ratio | lowest-highest | accuracy, mean | by seed |",
        "|---|---|---|---|---|---|",
    ]
    for name in runs[0]:
        speeds, accuracies = zip(*(run[name] for run in runs))
        ratios = [run[name][0] / run["Hugging Face"][0] for run in runs]
        by_seed = ", ".join(f"{accuracy:.1f}" for accuracy in accuracies)
        lines.append(
            f"| {name} | {statistics.median(speeds):.0f} | {statistics.median(ratios):.2f} | "
            f"{min(ratios):.2f}-{max(ratios):.2f} | {statistics.mean(accuracies):.1f} | {by_seed} |"
        )
    print(*lines, sep="\n")
    if options.output:
        options.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()

"""SST-2: are its short phrases worth learning from?

    BERTCOURSE_DATA=FOLDER python studies/sst2_phrases.py            # MiniLM; twenty minutes of one core
    … --output data/results/sst2_phrases.md                             # writes the table, too

Each row has the same number of phrases, drawn separately for each seed from whole sentences and those phrases with at
least so many words, and the same settings and steps. Accuracy is measured on sentences of the official train split that
are kept out of training, along with the phrases cut from them (those that a longer training sentence has, too, stay);
the official dev split plays no part.
"""

import argparse
import random
import statistics
from pathlib import Path

import torch

from bertcourse.bert import load_pretrained
from bertcourse.files import replace_files
from bertcourse.fine_tuning import SequenceClassifier
from bertcourse_lab.datasets.classification import sst2
from bertcourse_lab.fine_tuning import fine_tune

SETTINGS = {"epochs": 2, "batch_size": 64, "learning_rate": 1e-4, "average_last": 0.5, "evaluations": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="minilm", help="a name for load_pretrained (default: %(default)s)")
    parser.add_argument("--words", type=int, nargs="+", default=[1, 4], help="the fewest of a phrase, a row each")
    parser.add_argument("--examples", type=int, default=16000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    encoder, tokenizer = load_pretrained(options.model)
    lines = []
    for words in options.words:
        train, dev, _ = sst2(shortest=words)
        if len(train) < options.examples:
            parser.error(
                f"--examples must be at most {len(train)}, phrases of at least {words} words; got {options.examples}."
            )
        scores = []
        for seed in range(options.seeds):
            drawn = random.Random(seed).sample(train, options.examples)
            model = SequenceClassifier(encoder, tokenizer, ["negative", "positive"], pooling="mean", seed=seed)
            tuned = fine_tune(model, drawn, dev, seed=seed, precision="bfloat16", **SETTINGS)
            scores.append(tuned.scores["accuracy"])
        by_seed = ", ".join(f"{score:.1f}" for score in scores)
        lines.append(f"| {words} | {len(train):,} | {statistics.mean(scores):.1f} | {by_seed} |")
        print(lines[-1], flush=True)
    table = [
        "# SST-2: how long the phrases should be",
        "",
        f"{options.model}, {options.examples:,} phrases of SST-2, "
        f"{', '.join(f'{k} {v}' for k, v in SETTINGS.items())}. "
        f"Accuracy in percent on {len(dev)} whole sentences that are not in train, with the mean of the last weights; "
        f"torch {torch.__version__}, `python studies/sst2_phrases.py`",
        "",
        "| words, at least | such phrases | mean | by seed |",
        "|---|---|---|---|",
        *lines,
        "",
    ]
    print(*table, sep="\n")
    if options.output:
        with replace_files(options.output.parent, [options.output.name]) as draft:
            (draft / options.output.name).write_text("\n".join(table), encoding="utf-8")


if __name__ == "__main__":
    main()

"""What a checkpoint knows about books that it never saw, beside count models.

    python tools/studies/course_checkpoint.py data/checkpoints/course       # about 4 minutes of one core

On the held-out books, with 15 % of the tokens hidden (always the same ones): loss in nats and top-1 accuracy of masked
language modelling, and accuracy of next-sentence prediction, for a unigram and a bigram model (which is told the token
to the left), and for each checkpoint named, such as those that a run keeps at 1 %, 10 % and 100 % of its training.
"""

import argparse
import json
from pathlib import Path

import torch

from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.bert.tokenizer_files import read_tokenizer
from bertcourse.files import replace_files
from bertcourse.pretraining import CountModel, Vocabulary, evaluate
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches
from bertcourse_lab.pretraining.shards import books_corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoints", type=Path, nargs="+", help="folders of models with one tokenizer")
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 128], help="most tokens of a row")
    parser.add_argument("--rows", type=int, default=4096, help="held-out rows of each length, at most")
    parser.add_argument("--output", type=Path, help="a JSON file for the table")
    options = parser.parse_args()

    corpus = books_corpus(read_tokenizer(options.checkpoints[0]))
    vocabulary = Vocabulary.of(corpus.tokenizer)
    rows_of = RowMaker("sentence-pairs", short_rate=0.0)
    batches = {
        length: list(fixed_batches(corpus.held_out, vocabulary, rows_of, length, options.rows))
        for length in options.lengths
    }
    hidden = {length: sum(len(masked.labels) for masked, _ in made) for length, made in batches.items()}
    held_out = sum(len(shard.tokens) for shard in corpus.held_out)
    print(f"{held_out:,} held-out tokens; hidden in rows of each length: {hidden}")
    print("| model | length | MLM loss | top-1 | NSP |\n|---|---|---|---|---|")
    table = []

    def report(name: str, length: int, loss: float, accuracy: float, nsp: float) -> None:
        table.append({"model": name, "length": length, "mlm_loss": loss, "mlm_accuracy": accuracy, "nsp_accuracy": nsp})
        print(f"| {name} | {length} | {loss:.3f} | {accuracy:.1%} | {nsp:.1%} |", flush=True)

    counts = CountModel(corpus.train, vocabulary.size)
    for length, made in batches.items():
        measured = counts.losses(made)
        follows = torch.cat([rows.nsp_labels for _, rows in made]).float().mean().item()
        for name in ("unigram", "bigram"):  # these know no pairs: they give the more frequent answer
            report(name, length, measured[f"{name}_loss"], measured[f"{name}_accuracy"], max(follows, 1 - follows))
    for folder in options.checkpoints:
        model, _ = load_pretrained(folder, BertForPreTraining)
        for length, made in batches.items():
            measured = evaluate(model, made)
            report(folder.name, length, measured["mlm_loss"], measured["mlm_accuracy"], measured["nsp_accuracy"])
    if options.output:
        with replace_files(options.output.parent, [options.output.name]) as draft:
            lines = ",\n  ".join(json.dumps(row) for row in table)
            (draft / options.output.name).write_text(f"[\n  {lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()

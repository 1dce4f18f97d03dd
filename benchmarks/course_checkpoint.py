"""What a checkpoint knows of books that it never saw, beside models of counts.

    python benchmarks/course_checkpoint.py runs/books-cpu/model-*       # about 4 minutes on two cores

On the held-out books, 15 % of the tokens hidden (always the same): loss in nats and top-1 accuracy of masked language
modelling, and accuracy of next-sentence prediction, for a unigram and a bigram model (which is told the token to the
left), and for each checkpoint named, such as those that a run keeps at 1 %, 10 % and 100 % of its training.
"""

import argparse
from pathlib import Path

from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.bert.pretrained import read_tokenizer
from bertcourse.pretraining import CountModel, RowMaker, Vocabulary, books_corpus, evaluate, fixed_batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoints", type=Path, nargs="+", help="folders of models with one tokenizer")
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 128], help="most tokens of a row")
    parser.add_argument("--rows", type=int, default=4096, help="held-out rows of each length, at most")
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
    print(
        f"{held_out:,} held-out tokens; hidden: {', '.join(f'{count:,} in rows of {length}' for length, count in hidden.items())}"
    )
    print("| model | length | MLM loss | top-1 | NSP |\n|---|---|---|---|---|")
    counts = CountModel(corpus.train, vocabulary.size)
    for length, made in batches.items():
        measured = counts.losses(made)
        for name in ("unigram", "bigram"):
            print(f"| {name} | {length} | {measured[f'{name}_loss']:.3f} | {measured[f'{name}_accuracy']:.1%} | 50 % |")
    for folder in options.checkpoints:
        model, _ = load_pretrained(folder, BertForPreTraining)
        for length, made in batches.items():
            measured = evaluate(model, made)
            print(
                f"| {folder.name} | {length} | {measured['mlm_loss']:.3f} | {measured['mlm_accuracy']:.1%} | {measured['nsp_accuracy']:.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""The checkpoint ``next``: the course's own BERT, two layers deeper, after more books and more of what they rarely say.

    export BERTCOURSE_DATA=FOLDER
    torchrun --nproc-per-node 2 studies/train_next.py     # five hours on two cores

The weights begin as those of the course's checkpoint, which has read 88 books for some thirteen epochs. Two layers come
in between, which at first pass on what they get (``bertcourse.beyond_bert.growth``). Then 354 books are read, with the
recipe ``plain`` of ``studies/recipes.py`` as far as it applies to a model that has left the plateau behind: masks fall
to 15 %. The learning rate is constant for the first half and falls to zero in the second.

Where a noun stands right before an auxiliary, it has the auxiliary's number nine times out of ten (``studies/
attraction.py``). In BLiMP's two paradigms in which it has not, the course's checkpoint is right in 29 % of the pairs,
and a 5-gram model in 23 %. So a share ``NUMBER_ROWS`` of the rows is filled with sentences that have such a noun, which
misleads in a share ``MISLEADING`` of them; over all rows, it is then wrong more often than right
(``bertcourse.beyond_bert.attraction``). In these rows, auxiliaries and nouns are among the first tokens that are
hidden, with probabilities ``VERBS_FIRST`` and ``NOUNS_FIRST``: a verb may be told from a noun, and a noun from a verb.

Ctrl-C stops it, and the same command goes on.
"""

import argparse
import functools
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer

from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.bert.folders import open_folder
from bertcourse.bert.tokenizer_files import read_tokenizer
from bertcourse.beyond_bert.attraction import NumberMasks, NumberRows, Numbers
from bertcourse.beyond_bert.growth import grown
from bertcourse.pretraining import Documents, PretrainingConfig, pretrain
from bertcourse.pretraining.checkpoints import checkpoints
from bertcourse.pretraining.trainer import Parts
from bertcourse.training import Interrupted

FIRST = "course"
NUMBER_ROWS = 0.2
MISLEADING = 0.9
VERBS_FIRST, NOUNS_FIRST = 0.8, 0.3
SETTINGS = dict(
    corpus="more-books",
    tokenizer=FIRST,
    num_hidden_layers=6,
    max_position_embeddings=256,
    lengths="64:0.2,128:0.7,256:0.1",
    mask_rate=0.3,
    last_mask_rate=0.15,
    tokens=50_000_000,
    batch_size=32,
    learning_rate=5e-4,
    warmup=0.01,  # a new optimizer knows nothing of the gradients yet
    decay=0.5,
    log_every=0.002,
    evaluate_every=0.02,
)


def grown_model(config: PretrainingConfig, vocab_size: int, shards: Iterable[Documents] = ()) -> BertForPreTraining:
    """The course's BERT as deep as the settings want it."""
    model, _ = load_pretrained(FIRST, BertForPreTraining)
    return grown(model, config.num_hidden_layers, config.max_position_embeddings)


def parts(tokenizer: Tokenizer) -> Parts:
    """What differs from the usual run: the weights it begins with, a share of its rows, and which tokens are hidden."""
    numbers = Numbers.of(tokenizer)
    return Parts(
        new_model=grown_model,
        row_maker=functools.partial(NumberRows, numbers=numbers, share=NUMBER_ROWS, misleading=MISLEADING),
        mask=NumberMasks(numbers, VERBS_FIRST, NOUNS_FIRST),
        about={
            "grown from": FIRST,
            "rows of sentences with a noun before the verb": NUMBER_ROWS,
            "of these sentences misleading": MISLEADING,
            "auxiliaries hidden first there": VERBS_FIRST,
            "nouns hidden first there": NOUNS_FIRST,
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/next"), help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="of each process (default: %(default)s)")
    parser.add_argument("--precision", default="auto", help="(default: %(default)s)")
    options = parser.parse_args()
    config = PretrainingConfig(
        **SETTINGS, output=str(options.output), threads=options.threads, precision=options.precision
    )
    try:
        pretrain(config, bool(checkpoints(options.output)), parts=parts(read_tokenizer(open_folder(FIRST))))
    except Interrupted as reason:
        print(f"{options.output}: {reason}")


if __name__ == "__main__":
    main()

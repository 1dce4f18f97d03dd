"""The course's own BERT, out of an older one: two layers deeper, after more books and more of what they rarely say.

    export BERTCOURSE_DATA=FOLDER
    mkdir older && git archive debc203:data/checkpoints/course | tar -x -C older     # the course's BERT until then
    torchrun --nproc-per-node 2 tools/studies/train_course.py first --older older     # 5.7 hours on two cores
    torchrun --nproc-per-node 2 tools/studies/train_course.py second    # 1.1
    torchrun --nproc-per-node 2 tools/studies/train_course.py third     # 1.6, where bfloat16 is fast

The weights begin as older ones with four layers, which have read 88 books for some thirteen epochs. Two layers come in
between, which at first pass on what they get (``bertcourse_lab.pretraining.growth``). Then 354 books are read, with
the recipe ``plain`` of ``tools/studies/recipes.py`` as far as it applies to a model that has left the plateau behind:
masks fall to 15 %. The learning rate is constant for the first half and falls to zero in the second.

Where a noun stands right before an auxiliary, it has the auxiliary's number nine times out of ten (``studies/
attraction.py``). In BLiMP's two paradigms in which it has not, the older weights are right in 29 % of the pairs, and a
5-gram model in 23 %. So a share ``NUMBER_ROWS`` of the rows is filled with sentences that have such a noun, which
misleads in some of them (``bertcourse_lab.pretraining.attraction``). In these rows, auxiliaries and nouns are among the
first tokens that are hidden, with probabilities ``VERBS_FIRST`` and ``NOUNS_FIRST``: a verb may be told from a noun,
and a noun from a verb. (Rows of exactly two such sentences are taken for pairs, and hidden like those: many of
them at 128 tokens, hardly any at 256.)

The first stage had the noun mislead in nine of ten of these sentences, and the model learned just that for sentences
that stand alone: with *the key to the cabinets* it became right, and with *the key to the cabinet*, wrong. BLiMP, in
which that noun always misleads, cannot see it. The second stage goes on from there. In its rows of sentences the noun
is right in half of them, so that only the subject tells; and it has more rows of 256 tokens, of which the first had
few. It was short, and the third does the same for longer: 42 million tokens, 25 % hidden at first, and a rate that
falls from the first stage's to zero.

Ctrl-C stops it, and the same command goes on.
"""

import argparse
import functools
from pathlib import Path

from tokenizers import Tokenizer

from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.bert.folders import open_folder
from bertcourse.bert.tokenizer_files import read_tokenizer
from bertcourse_lab.pretraining.attraction import NumberMasks, NumberRows, Numbers
from bertcourse_lab.pretraining.checkpoints import checkpoints
from bertcourse_lab.pretraining.config import PretrainingConfig
from bertcourse_lab.pretraining.growth import grown
from bertcourse_lab.pretraining.trainer import Parts, pretrain
from bertcourse_lab.training import Interrupted

TOKENIZER = "course"  # that of the older weights, too
NUMBER_ROWS = 0.2
MISLEADING = {"first": 0.9, "second": 0.5, "third": 0.5}
BEGINS_WITH = {"second": "first", "third": "second"}
VERBS_FIRST, NOUNS_FIRST = 0.8, 0.3
SETTINGS = dict(
    corpus="more-books",
    tokenizer=TOKENIZER,
    num_hidden_layers=6,
    max_position_embeddings=256,
    last_mask_rate=0.15,
    batch_size=32,
    precision="float32",
)
STAGES = {
    "first": dict(
        lengths="64:0.2,128:0.7,256:0.1",
        mask_rate=0.3,
        tokens=50_000_000,
        learning_rate=5e-4,
        warmup=0.01,  # a new optimizer knows nothing of the gradients yet
        decay=0.5,
        log_every=0.002,
        evaluate_every=0.02,
    ),
    "second": dict(
        lengths="128:0.6,256:0.4",
        mask_rate=0.15,
        tokens=12_000_000,
        learning_rate=2.5e-4,
        warmup=0.04,
        decay=0.8,
        log_every=0.01,
        evaluate_every=0.08,
    ),
    "third": dict(
        lengths="128:0.5,256:0.5",
        mask_rate=0.25,
        tokens=42_000_000,
        learning_rate=5e-4,
        warmup=0.01,
        decay=0.99,
        log_every=0.002,
        evaluate_every=0.02,
        precision="bfloat16",
        compile=True,
    ),
}


def beginning(folder: Path, config: PretrainingConfig) -> BertForPreTraining:
    """The weights in a folder, in a model that is as deep as the settings want it."""
    model, _ = load_pretrained(folder, BertForPreTraining)
    if model.config.num_hidden_layers == config.num_hidden_layers:
        return model
    return grown(model, config.num_hidden_layers, config.max_position_embeddings)


def parts(tokenizer: Tokenizer, stage: str, folder: Path) -> Parts:
    """What differs from the usual run: the weights it begins with, a share of its rows, and which tokens are hidden.

    Args:
        tokenizer: the course's.
        stage: one of ``STAGES``.
        folder: that of the weights it begins with.
    """
    numbers, misleading = Numbers.of(tokenizer), MISLEADING[stage]
    return Parts(
        new_model=lambda config, *_: beginning(folder, config),
        row_maker=functools.partial(NumberRows, numbers=numbers, share=NUMBER_ROWS, misleading=misleading),
        mask=NumberMasks(numbers, VERBS_FIRST, NOUNS_FIRST),
        about={
            "begins with": str(folder),
            "stage": stage,
            "rows of sentences with a noun before the verb": NUMBER_ROWS,
            "of these sentences misleading": misleading,
            "auxiliaries hidden first there": VERBS_FIRST,
            "nouns hidden first there": NOUNS_FIRST,
        },
    )


def settings_of(stage: str, folder: Path, threads: int = 1) -> PretrainingConfig:
    """All settings of a stage, whose output is the folder of this name in ``folder``."""
    return PretrainingConfig(**{**SETTINGS, **STAGES[stage]}, output=str(folder / stage), threads=threads)


def weights_before(stage: str, folder: Path, older: Path | None) -> Path:
    """Where the weights lie that a stage begins with: the older ones for the first, else those of the stage before."""
    if stage in BEGINS_WITH:
        return folder / BEGINS_WITH[stage] / "model-100"
    if older is None:
        raise SystemExit("the first stage begins with older weights: name their folder with --older.")
    return older


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--folder", type=Path, default=Path("runs/course"), help="of all stages (default: %(default)s)")
    parser.add_argument("--older", type=Path, help="folder of the weights that the first stage begins with")
    parser.add_argument("--threads", type=int, default=1, help="of each process (default: %(default)s)")
    options = parser.parse_args()
    config = settings_of(options.stage, options.folder, options.threads)
    begun = weights_before(options.stage, options.folder, options.older)
    changed = parts(read_tokenizer(open_folder(TOKENIZER)), options.stage, begun)
    try:
        pretrain(config, bool(checkpoints(Path(config.output))), parts=changed)
    except Interrupted as reason:
        print(f"{config.output}: {reason}")


if __name__ == "__main__":
    main()

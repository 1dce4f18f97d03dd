"""Chapter 4: ``bertcourse pretrain``: a preset, and a flag for each setting."""

import argparse
import dataclasses
import os
import sys
from pathlib import Path

from bertcourse_lab.pretraining.config import GROUPS, PRESETS, PretrainingConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of ``bertcourse pretrain``: one for each field of ``PretrainingConfig``."""
    parser.usage = "bertcourse pretrain [PRESET] [--resume] [--SETTING VALUE ...]"
    parser.add_argument(
        "preset",
        nargs="?",
        choices=PRESETS,
        default="small-world",
        help="settings to start from (default: %(default)s)",
    )
    parser.add_argument("--resume", action="store_true", help="continue from the newest checkpoint in --output")
    group = parser
    for field in dataclasses.fields(PretrainingConfig):
        if field.name in GROUPS:
            group = parser.add_argument_group(GROUPS[field.name])
        values = [f"{settings[field.name]} in {name}" for name, settings in PRESETS.items() if field.name in settings]
        defaults = ", ".join([str(field.default), *values])
        group.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=true_or_false if field.type is bool else field.type,
            choices=field.metadata["choices"] or None,
            metavar=metavar(field),
            help=f"{field.metadata['help']} (default: {defaults})".replace("%", "%%"),
        )


def metavar(field: dataclasses.Field) -> str:
    """What stands for a setting's value in the help: its choices, or its type."""
    choices = ("true", "false") if field.type is bool else field.metadata["choices"]
    return "|".join(choices) or field.type.__name__.upper()


def true_or_false(text: str) -> bool:
    """ "true" or "false" as a bool, for argparse."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"must be true or false; got {text!r}")
    return text.lower() == "true"


def config_from(options: argparse.Namespace) -> PretrainingConfig:
    """The preset's settings, overridden by the flags that were given."""
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(PretrainingConfig)}
    given = {name: value for name, value in given.items() if value is not None}
    return PretrainingConfig(**PRESETS[options.preset] | given)


def run(options: argparse.Namespace) -> None:
    """Pretrain, and print where the model is; being interrupted is not an error."""
    from bertcourse_lab.pretraining.checkpoints import saved_tokens
    from bertcourse_lab.pretraining.trainer import pretrain
    from bertcourse_lab.training import Interrupted

    config = config_from(options)
    if options.resume and options.tokens is None:  # as long as it was to be, not as long as the preset is now
        config = dataclasses.replace(config, tokens=saved_tokens(Path(config.output)) or config.tokens)
    try:
        pretrain(config, options.resume)
    except Interrupted as reason:
        print(f"bertcourse pretrain: {reason}", file=sys.stderr)
    else:
        if os.environ.get("RANK", "0") != "0":  # the first of torchrun's processes prints it
            return
        print(f"the model is in {config.output}/model-100, its log in {config.output}/log.jsonl")

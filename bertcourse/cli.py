"""The ``bertcourse`` command."""

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; ``bertcourse --help`` lists them.

    Args:
        arguments: the command line after ``bertcourse``; None for this process's own.

    Returns:
        0 if all went well, 1 if not, for the shell. Bad usage exits with 2.

    Source: argparse.
    """
    parser = argparse.ArgumentParser(prog="bertcourse", description="The commands of the course.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="check this machine, and say what mends it")
    run = commands.add_parser("run", help="execute notebooks top to bottom, measure them, store their outputs")
    run.add_argument("notebooks", nargs="+", type=Path)
    run.add_argument("--output", type=Path, help="folder for the executed copies (default: in place)")
    run.add_argument("--cell-timeout", type=int, default=300, help="seconds that one cell may take (default: 300)")
    train = commands.add_parser("train-tokenizer", help="train the course's WordPiece tokenizer on Standard Ebooks")
    train.add_argument("--output", type=Path, default=Path("data/checkpoints/course"), help="folder (default: %(default)s)")
    train.add_argument("--vocab-size", type=int, default=8192, help="how many tokens at most (default: %(default)s)")
    train.add_argument("--text", type=Path, help="a UTF-8 text, one paragraph a line (default: 93 books, fetched once)")
    arguments = sys.argv[1:] if arguments is None else arguments
    pretrain = commands.add_parser("pretrain", help="pretrain a BERT; under torchrun, in many processes")
    if arguments[:1] == ["pretrain"]:  # its flags are known to a module that imports torch
        from bertcourse.pretraining import command

        command.add_arguments(pretrain)
    options = parser.parse_args(arguments)

    try:
        if options.command == "doctor":
            from bertcourse.doctor import doctor

            return 0 if doctor() else 1
        if options.command == "train-tokenizer":
            train_tokenizer(options.output, options.vocab_size, options.text)
            return 0
        if options.command == "pretrain":
            command.run(options)
            return 0
        from bertcourse.lectures import run_lectures

        return 0 if run_lectures(options.notebooks, options.output, options.cell_timeout) else 1
    except (ArithmeticError, ImportError, OSError, ValueError) as error:
        print(f"bertcourse {options.command}: {error}", file=sys.stderr)
        return 1


def train_tokenizer(output: Path, vocab_size: int, text: Path | None) -> None:
    """Train the course's tokenizer, write its files and say how it cuts text.

    Raises:
        ConnectionError: if the books are not here and cannot be fetched.
        FileNotFoundError, ValueError: if ``text`` is not there, is not UTF-8 or has no words, or ``vocab_size`` is too
            small.
    """
    from bertcourse.data import paragraphs, standard_ebooks
    from bertcourse.tokenization.course import train_course_tokenizer

    if text is not None and not text.is_file():
        raise FileNotFoundError(f"expected a text, one paragraph a line, in {text}; there is no such file.")
    try:
        lines = list(paragraphs(standard_ebooks() if text is None else text.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise ValueError(f"{text} must be UTF-8; {error}.") from None
    tokenizer = train_course_tokenizer(lines, vocab_size)
    tokenizer.save(output)
    sample = lines[:: max(1, len(lines) // 1000)]
    words = sum(len(tokenizer.words(line)) for line in sample)
    tokens = sum(len(tokenizer.encode_ids(line)) for line in sample)
    print(f"{len(tokenizer.tokens)} tokens in {output}; a word of these texts takes {tokens / words:.2f}")

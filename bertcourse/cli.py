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
    options = parser.parse_args(arguments)

    try:
        if options.command == "doctor":
            from bertcourse.doctor import doctor

            return 0 if doctor() else 1
        from bertcourse.lectures import run_lectures

        return 0 if run_lectures(options.notebooks, options.output, options.cell_timeout) else 1
    except (FileNotFoundError, ValueError) as error:
        print(f"bertcourse {options.command}: {error}", file=sys.stderr)
        return 1

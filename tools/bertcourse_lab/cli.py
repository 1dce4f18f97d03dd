"""The ``bertcourse`` command."""

import argparse
import importlib.metadata
import sys
from pathlib import Path

# Settings of a fine-tuning run that the command can change.
TUNE_SETTINGS = {
    "epochs": int,
    "batch_size": int,
    "learning_rate": float,
    "head_learning_rate": float,
    "trainable": lambda text: int(text) if text.isdecimal() else text,
    "precision": str,
}


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; ``bertcourse --help`` lists them.

    Args:
        arguments: the command line after ``bertcourse``; None for this process's own.

    Returns:
        For the shell: 0 if all went well, 1 if not, 130 if it was interrupted (0 if that was a pretraining run, which
        has saved its state). Bad usage exits with 2.
    """
    for stream in (sys.stdout, sys.stderr):  # a pipe on Windows may not have every character
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(prog="bertcourse", description="The commands of the course.")
    try:
        version = importlib.metadata.version("bertcourse")
    except importlib.metadata.PackageNotFoundError:  # the doctor says so
        version = "(not installed)"
    parser.add_argument("--version", action="version", version=f"bertcourse {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("doctor", help="check this machine and the installation, and say what repairs them")
    run = commands.add_parser("run", help="execute notebooks top to bottom, measure them, store their outputs")
    run.add_argument("notebooks", nargs="+", type=Path)
    run.add_argument("--output", type=Path, help="folder for the executed copies (default: in place)")
    run.add_argument(
        "--cell-timeout", type=seconds, default=900, help="seconds that one cell may take (default: %(default)s)"
    )
    slides = commands.add_parser("slides", help="write the slides of lectures, to be opened in a browser")
    slides.add_argument("lectures", nargs="+", metavar="LECTURE", help="its number, such as 01, or its notebook")
    slides.add_argument("--check", action="store_true", help="only say which slides make no point")
    slides.add_argument("--output", type=Path, default=Path("build/slides"), help="folder (default: %(default)s)")
    train = commands.add_parser("train-tokenizer", help="train the course's WordPiece tokenizer on Standard Ebooks")
    train.add_argument("--output", type=Path, default=Path("runs/tokenizer"), help="folder (default: %(default)s)")
    train.add_argument("--vocab-size", type=int, default=8192, help="how many tokens at most (default: %(default)s)")
    train.add_argument("--text", type=Path, help="a UTF-8 text, one paragraph a line (default: 93 books, fetched once)")
    arguments = sys.argv[1:] if arguments is None else arguments
    pretrain = commands.add_parser("pretrain", help="pretrain a BERT; under torchrun, in many processes")
    if arguments[:1] == ["pretrain"]:  # the module that knows its flags imports torch
        from bertcourse_lab.pretraining import command

        command.add_arguments(pretrain)
    if Path(__file__).parents[1].joinpath("bertcourse_grading").is_dir():  # students do not have it
        homework = commands.add_parser("homework", help="for instructors: release, grade, feedback, export, exam")
        if arguments[:1] == ["homework"]:
            from bertcourse_grading import command

            command.add_arguments(homework)
    add_data_commands(commands)
    add_benchmark_commands(commands)
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0

    try:
        if options.command == "doctor":
            from bertcourse_lab.doctor import doctor

            return 0 if doctor() else 1
        if options.command == "train-tokenizer":
            train_tokenizer(options.output, options.vocab_size, options.text)
            return 0
        if options.command == "pretrain":
            command.run(options)
            return 0
        if options.command == "homework":
            return 0 if command.run(options) else 1
        if options.command == "data":
            return 0 if run_data(options.action, options.names) else 1
        if options.command == "benchmark":
            run_benchmark(options)
            return 0
        if options.command == "slides":
            write_slides(options.lectures, None if options.check else options.output)
            return 0
        from bertcourse_lab.lectures import run_lectures

        return 0 if run_lectures(options.notebooks, options.output, options.cell_timeout) else 1
    except (ArithmeticError, ImportError, OSError, ValueError) as error:
        print(f"bertcourse {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            f"\nbertcourse {options.command}: interrupted. A command that saves its progress resumes where it stopped.",
            file=sys.stderr,
        )
        return 130


def write_slides(names: list[str], output: Path | None) -> None:
    """Write the slide decks of lectures, and print where they are and how long each section takes.

    Without an output, only what keeps each deck from being an argument is printed.
    """
    try:
        from bertcourse_slides import find_lecture, review, write_deck
    except ModuleNotFoundError as error:
        raise ValueError(
            f'it needs the package {error.name}. Install it: python -m pip install "bertcourse[site]".'
        ) from None
    from bertcourse_lab.lectures import read_notebook, section_minutes

    for notebook in [find_lecture(name) for name in names]:
        lacks = review(notebook)
        if output is None:
            print(f"{notebook.stem}: {len(lacks)} to fix", *lacks, sep="\n    ")
            continue
        print(write_deck(notebook, output))
        if lacks:
            hint = f"bertcourse slides {notebook.stem[:2]} --check"
            print(f"{notebook.stem}: {len(lacks)} things to fix in its slides; see {hint}", file=sys.stderr)
        for heading, minutes in section_minutes(read_notebook(notebook)).items():
            print(f"{minutes:5} min  {heading}")


def seconds(text: str) -> int:
    """Whole seconds, from one to a day, for argparse."""
    if not text.isdecimal() or not 1 <= int(text) <= 86_400:
        raise argparse.ArgumentTypeError(f"must be whole seconds, from 1 to 86400; got {text!r}")
    return int(text)


def train_tokenizer(output: Path, vocab_size: int, text: Path | None) -> None:
    """Train the course's tokenizer, write its files, and print how finely it cuts text."""
    from bertcourse_lab.datasets.books import paragraphs, standard_ebooks
    from bertcourse_lab.tokenizer import save_tokenizer, train_course_tokenizer

    if text is not None and not text.is_file():
        raise FileNotFoundError(f"expected a text, one paragraph a line, in {text}; there is no such file.")
    try:
        lines = list(paragraphs(standard_ebooks() if text is None else text.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise ValueError(f"{text} must be UTF-8; {error}.") from None
    tokenizer = train_course_tokenizer(lines, vocab_size)
    save_tokenizer(tokenizer, output)
    sample = lines[:: max(1, len(lines) // 1000)]
    words = sum(len(tokenizer.words(line)) for line in sample)
    tokens = sum(len(tokenizer.encode_ids(line)) for line in sample)
    print(f"{len(tokenizer.tokens)} tokens in {output}; a word of these texts takes {tokens / words:.2f}")


def add_data_commands(commands: argparse._SubParsersAction) -> None:
    """``bertcourse data list``, ``get`` and ``check``."""
    data = commands.add_parser("data", help="public data sets: list, fetch and check them")
    actions = data.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="every set, where it is, its licence and its paper").set_defaults(names=[])
    get = actions.add_parser("get", help="fetch sets that are not here")
    get.add_argument("names", nargs="+", metavar="NAME", help='of a set, or "all"')
    check = actions.add_parser("check", help="compare the sets that are here with their known SHA-256")
    check.add_argument("names", nargs="*", metavar="NAME", help="of a set (default: all); a named one must be here")


def run_data(action: str, names: list[str]) -> bool:
    """List, fetch or check public data sets, and say whether all is well."""
    from bertcourse_lab.datasets import registry

    if action == "list":
        registry.print_sets()
    elif action == "get":
        for name in registry.read_registry() if names == ["all"] else names:
            for path in registry.fetch(name):
                print(path)
    else:
        states = registry.states(names)
        for name, state in states.items():
            print(f"{name}: {state}")
        return all(state == "ok" or state == "absent" and not names for state in states.values())
    return True


def add_benchmark_commands(commands: argparse._SubParsersAction) -> None:
    """``bertcourse benchmark wsd``, ``finetune``, ``retrieval`` and ``blimp``."""
    parser = commands.add_parser("benchmark", help="measure a model on a published task")
    benchmarks = parser.add_subparsers(dest="benchmark", required=True)
    wsd = benchmarks.add_parser("wsd", help="word senses: all of SemCor to the WSD Evaluation Framework")
    add_benchmark_flags(wsd, limit="use only the first N sentences of each corpus")
    wsd.add_argument(
        "--cache",
        type=Path,
        help="folder for vectors, with which an interrupted run goes on (default: the user's cache)",
    )
    tune = benchmarks.add_parser(
        "finetune", help="classes, entities or answers: train on a public set, measure on its test split"
    )
    tune.add_argument(
        "--task", required=True, choices=("sst2", "rte", "ner", "squad"), help="ner: wikigold and WNUT 2017"
    )
    add_benchmark_flags(
        tune, limit="train on N examples, drawn at random", output="table, as JSON and Markdown, and for the runs"
    )
    tune.add_argument(
        "--minutes", type=float, default=0.0, help="the most for each run (default: as long as its epochs take)"
    )
    tune.add_argument("--seeds", type=int, default=3, help="how many runs (default: %(default)s)")
    for name, kind in TUNE_SETTINGS.items():
        tune.add_argument(f"--{name.replace('_', '-')}", type=kind, help="(default: the task's own)")
    search = benchmarks.add_parser(
        "retrieval", help="search by words and by vectors: the course's questions, Cranfield, any BEIR set"
    )
    search.add_argument(
        "--collection",
        default="reading",
        help="reading, cranfield, scifact, or a folder in BEIR's format (default: %(default)s)",
    )
    add_benchmark_flags(search, limit="use only the first N queries")
    grammar = benchmarks.add_parser("blimp", help="grammar: which of two sentences a masked language model prefers")
    add_benchmark_flags(grammar, limit="use only the first N pairs of each paradigm")
    grammar.add_argument(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="of matrix products; auto: what is faster here (default: %(default)s)",
    )
    grammar.set_defaults(model="course")  # MiniLM has no MLM head


def add_benchmark_flags(
    parser: argparse.ArgumentParser, limit: str, output: str = "table, as JSON and Markdown"
) -> None:
    """Flags that every benchmark takes; ``limit`` and ``output`` say what those two mean for this one."""
    parser.add_argument("--model", default="minilm", help="a name, hub id or folder (default: %(default)s)")
    parser.add_argument("--limit", type=int, help=f"{limit}: for a quick look (default: all)")
    parser.add_argument("--output", type=Path, help=f"folder for the {output} (default: print it only)")


def run_benchmark(options: argparse.Namespace) -> None:
    """Run the benchmark that the command line names."""
    if options.benchmark == "finetune":
        from bertcourse_lab.benchmarks.fine_tuning import run_benchmark
        from bertcourse_lab.training import Interrupted

        settings = {name: value for name in TUNE_SETTINGS if (value := getattr(options, name)) is not None}
        try:
            run_benchmark(
                options.task, options.model, options.minutes, options.seeds, options.limit, options.output, **settings
            )
        except Interrupted as reason:
            raise KeyboardInterrupt from reason
    elif options.benchmark == "retrieval":
        from bertcourse_lab.benchmarks.retrieval import run_benchmark

        run_benchmark(options.collection, options.model, options.limit, options.output)
    elif options.benchmark == "blimp":
        from bertcourse_lab.benchmarks.blimp import run_benchmark

        run_benchmark(options.model, options.limit, options.output, options.precision)
    else:
        try:
            from bertcourse_lab.benchmarks.word_senses import run_benchmark
        except ModuleNotFoundError as error:
            raise ValueError(
                f'it needs the package {error.name}. Install it: python -m pip install "bertcourse[benchmark]".'
            ) from None

        run_benchmark(options.model, options.limit, options.output, options.cache)

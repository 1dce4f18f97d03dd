"""Chapter 7: labelled texts from the files they come in, and what the readers of later chapters share.

The error for a bad file names the file, the line, what was expected and what was there.
"""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

TEXT_COLUMNS = (("text",), ("sentence",), ("premise", "hypothesis"), ("sentence1", "sentence2"))


class LabeledText(NamedTuple):
    """A text, or a pair of texts, and its class.

    Attributes:
        text: a string, or two.
        label: such as "positive".
    """

    text: str | tuple[str, str]
    label: str


def read_tsv(path: str | os.PathLike, columns: Sequence[str] | None = None) -> list[LabeledText]:
    """Labelled texts, one per line, with tabs between the columns: the course's own sets, and GLUE's SST-2 and RTE.

    Args:
        path: a UTF-8 file. Its first line names the columns: "label", and "text" or "sentence", or for pairs "premise"
            and "hypothesis" or "sentence1" and "sentence2"; others are ignored.
        columns: the columns' names, for a file without such a line.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming the file (and the line), if it is not in this format or holds no example.
    """
    lines = read_lines(path)
    if columns is None:
        _, header = next(lines, (1, ""))
        columns = header.split("\t")
    texts = next((names for names in TEXT_COLUMNS if set(names) <= set(columns)), None)
    if texts is None or "label" not in columns:
        raise ValueError(
            f"{path}, line 1: expected the columns label and text (or sentence, premise and hypothesis, sentence1 and "
            f"sentence2), with tabs between; got {list(columns)}."
        )
    examples = []
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != len(columns):
            raise invalid_line(path, number, f"{len(columns)} columns, {', '.join(columns)}, with tabs between", line)
        row = dict(zip(columns, fields))
        if not row["label"].strip():
            raise invalid_line(path, number, "a label", line)
        parts = tuple(row[name].strip() for name in texts)
        examples.append(LabeledText(parts if len(parts) > 1 else parts[0], row["label"].strip()))
    return at_least_one(examples, path)


def check_examples(examples: Sequence, kind: type[NamedTuple]) -> None:
    """Refuse examples that are not of ``kind``, such as plain tuples."""
    needed = [name for name in kind._fields if name not in kind._field_defaults]
    for number, example in enumerate(examples):
        if not all(hasattr(example, name) for name in needed):
            raise TypeError(
                f"example {number} must be a {kind.__name__}({', '.join(kind._fields)}); got {type(example).__name__}: "
                f"{example!r:.60}."
            )


def read_lines(path: str | os.PathLike, keep_empty: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1, without line ends; empty ones only if asked for."""
    for number, line in enumerate(read_whole(Path(path)).replace("\r\n", "\n").split("\n"), start=1):
        if line.strip() or keep_empty:
            yield number, line


def read_whole(path: Path) -> str:
    """A file's text, or for a zip, that of the one file in it."""
    if not path.is_file():
        raise FileNotFoundError(f"expected a file of labelled data at {path}; there is none.")
    try:
        if path.suffix != ".zip":
            return path.read_bytes().decode("utf-8-sig")
        with zipfile.ZipFile(path) as archive:
            (name,) = archive.namelist()
            return archive.read(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8; {error}. Convert it.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ValueError(f"{path} must be a zip with one file; {error}. Unpack it, and name the file.") from None


def invalid_line(path: str | os.PathLike, number: int, expected: str, line: str) -> ValueError:
    """The error for an invalid line."""
    return ValueError(f"{path}, line {number}: expected {expected}; got {line[:80]!r}.")


def at_least_one(examples: list, path: str | os.PathLike) -> list:
    """The examples of a file, if there are any."""
    if not examples:
        raise ValueError(f"{path} must hold at least one example; it holds none. Is it the right file?")
    return examples

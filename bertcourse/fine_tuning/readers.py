"""Chapters 7-9: labelled data, from the formats it comes in.

What is read are lists of ``LabeledText``, ``TaggedSentence`` or ``Question``. A file that is not what it should be is
refused with its name, the line, what was expected and what came.
"""

import json
import os
import zipfile
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
    """Texts with labels, one a line, tabs between the columns: of this course, SST-2 and RTE.

    Args:
        path: a UTF-8 file. Its first line names the columns: "label", and "text" or "sentence", or for pairs "premise"
            and "hypothesis" or "sentence1" and "sentence2"; others are left aside.
        columns: their names, for a file without such a line.

    Returns:
        At least one text.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming file and line, if it is not such a file.

    Source: GLUE, Wang et al. 2019, for its files.
    """
    lines = read_lines(path)
    if columns is None:
        _, header = next(lines, (1, ""))
        columns = header.split("\t")
    texts = next((names for names in TEXT_COLUMNS if set(names) <= set(columns)), None)
    if texts is None or "label" not in columns:
        raise ValueError(
            f"{path}, line 1: expected the names of columns, label and text (or sentence, or premise and hypothesis, "
            f"or sentence1 and sentence2), with tabs between; got {list(columns)}."
        )
    examples = []
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != len(columns):
            raise wrong(path, number, f"{len(columns)} columns, {', '.join(columns)}, with tabs between", line)
        row = dict(zip(columns, fields))
        if not row["label"].strip():
            raise wrong(path, number, "a label", line)
        parts = tuple(row[name].strip() for name in texts)
        examples.append(LabeledText(parts if len(parts) > 1 else parts[0], row["label"].strip()))
    return some(examples, path)


def read_nli(path: str | os.PathLike) -> list[LabeledText]:
    """Pairs of a premise and a hypothesis from SNLI's or MultiNLI's jsonl.

    Args:
        path: a UTF-8 file, a JSON object a line with sentence1, sentence2 and gold_label. Where the annotators did not
            agree, gold_label is "-", and the pair is left out, as their papers do.

    Returns:
        At least one pair.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming file and line, if it is not such a file.

    Source: Bowman et al. 2015, "SNLI"; Williams et al. 2018, "MultiNLI".
    """
    examples = []
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
            pair, label = (row["sentence1"], row["sentence2"]), row["gold_label"]
        except (ValueError, KeyError, TypeError):
            raise wrong(path, number, "a JSON object with sentence1, sentence2 and gold_label", line) from None
        if not all(isinstance(text, str) for text in (*pair, label)):
            raise wrong(path, number, "strings for sentence1, sentence2 and gold_label", line)
        if label != "-":
            examples.append(LabeledText(pair, label))
    return some(examples, path)


def check_examples(examples: Sequence, kind: type[NamedTuple]) -> None:
    """Refuse examples of another kind, such as plain tuples.

    Args:
        examples: of a split.
        kind: ``LabeledText``, ``TaggedSentence`` or ``Question``.

    Raises:
        TypeError: naming the example.
    """
    needed = [name for name in kind._fields if name not in kind._field_defaults]
    for number, example in enumerate(examples):
        if not all(hasattr(example, name) for name in needed):
            raise TypeError(
                f"example {number} must be a {kind.__name__}({', '.join(kind._fields)}); got {type(example).__name__}: "
                f"{example!r:.60}."
            )


def read_lines(path: str | os.PathLike, keep_empty: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers from 1, without line ends; empty ones only if asked for.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not UTF-8.
    """
    for number, line in enumerate(read_whole(Path(path)).replace("\r\n", "\n").split("\n"), start=1):
        if line.strip() or keep_empty:
            yield number, line


def read_whole(path: Path) -> str:
    """A file's text; of a zip, that of the one file in it.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not UTF-8, or a zip of another content.
    """
    if not path.is_file():
        raise FileNotFoundError(f"expected a file of labelled data in {path}; there is none.")
    try:
        if path.suffix != ".zip":
            return path.read_text(encoding="utf-8-sig")
        with zipfile.ZipFile(path) as archive:
            (name,) = archive.namelist()
            return archive.read(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8; {error}. Save it so.") from None
    except (zipfile.BadZipFile, ValueError) as error:
        raise ValueError(f"{path} must be a zip with one file; {error}. Unpack it, and name the file.") from None


def wrong(path: str | os.PathLike, number: int, expected: str, line: str) -> ValueError:
    """The error of a line that is not what it should be."""
    return ValueError(f"{path}, line {number}: expected {expected}; got {line[:80]!r}.")


def some(examples: list, path: str | os.PathLike) -> list:
    """The examples of a file.

    Raises:
        ValueError: if there is none.
    """
    if not examples:
        raise ValueError(f"{path} must hold at least one example; it holds none. Is it the right file?")
    return examples

"""Files of every chapter: replaced whole, and read with the path in the message when something is wrong."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_files(folder: str | os.PathLike, names: Iterable[str]) -> Iterator[Path]:
    """Hand out an empty folder to write into; what is written takes the place of the old files when the block ends
    well.

    A reader finds each file old or new, never half written. The files are replaced one after the other, so a failure
    between two of them leaves the first ones new and the rest old.

    Args:
        folder: where the files belong; made if it is not there.
        names: the files that the block writes, in the order to replace them.

    Raises:
        OSError: if the folder cannot be written.

    Source: rename(2) of POSIX, which replaces a file in one step.
    """
    folder = make_folder(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as draft:
        yield Path(draft)
        for name in names:
            os.replace(Path(draft, name), folder / name)


def make_folder(path: str | os.PathLike) -> Path:
    """The folder of this path, made if it is not there.

    Raises:
        NotADirectoryError: if there is a file of this name, or of that of a folder above it.
        OSError: if it cannot be made.

    Source: mkdir(2) of POSIX.
    """
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(f"expected a folder to write to; {error.filename} is a file. Name another.") from error
    return Path(path)


def is_of_the_disk(error: OSError) -> bool:
    """Whether an error of a download is the disk's, such as a full one, and not the network's.

    Args:
        error: what was raised; the errors of requests are OSErrors, too.

    Source: the errno and filename that Python gives errors of files.
    """
    return error.errno is not None and bool(error.filename) and not isinstance(error, ConnectionError | TimeoutError)


def read_json(path: Path) -> dict:
    """The JSON object in a file.

    Args:
        path: the file, in UTF-8.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming the file, if it is not UTF-8, not JSON, or no object.

    Source: RFC 8259.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise ValueError(f"{path} must be JSON; {error}. Fetch or save it again.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object, {{…}}; got {content!r:.60}. Fetch or save it again.")
    return content


def write_table(folder: str | os.PathLike, name: str, result: dict, table: str) -> None:
    """A benchmark's result for programs and for people: FOLDER/NAME.json and FOLDER/NAME.md.

    Args:
        folder: made if it is not there.
        name: of both files.
        result: what JSON can say.
        table: Markdown.

    Raises:
        OSError: if the folder cannot be written.

    Source: RFC 8259; CommonMark.
    """
    with replace_files(folder, [f"{name}.json", f"{name}.md"]) as draft:
        (draft / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (draft / f"{name}.md").write_text(table, encoding="utf-8")

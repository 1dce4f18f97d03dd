"""Public data sets: where each file is, what its SHA-256 must be, whose it is; fetched once, checked, kept.

The table is public_data.tsv. A file is looked for in the folder that the environment variable ``BERTCOURSE_DATA``
names, by its path in the table or by its name alone (if no other file has that), then in the user's cache, and only
then on the network. Sets of books have a table of their own (``data``), but get, list and check know them, too.
"""

import csv
import hashlib
import lzma
import os
import tarfile
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pooch
from tqdm import tqdm

from bertcourse.files import check_sha256, is_of_the_disk, replace_files, sha256
from bertcourse_lab.datasets.books import BOOK_SETS, books_folder, fetch_books, find_books, has_books, read_books
from bertcourse_lab.datasets.makers import MAKERS


class PublicFile(NamedTuple):
    """A row of the table.

    Attributes:
        set: the data set that it belongs to.
        file: its path in BERTCOURSE_DATA.
        sha256: of the file.
        content_sha256: of what it unpacks to (``content_sha256``), for a file that we pack ourselves; otherwise empty.
        url: where to fetch it, or what it is made from.
        licence: of the data.
        citation: of its paper.
    """

    set: str
    file: str
    sha256: str
    content_sha256: str
    url: str
    licence: str
    citation: str


@cache
def read_registry() -> dict[str, list[PublicFile]]:
    """The files of each public data set, by the set's name."""
    sets: dict[str, list[PublicFile]] = {}
    with (resources.files("bertcourse_lab.datasets") / "public_data.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            sets.setdefault(row["set"], []).append(PublicFile(**row))
    return sets


def fetch(name: str) -> list[Path]:
    """The files of a public data set, from this disk, or else from the network.

    Args:
        name: of the set; ``bertcourse data list`` prints all names.

    Returns:
        Their paths, in the order of the table.

    Raises:
        ValueError: if there is no such set, or a file is not the one we know.
        ConnectionError: if a file is not here and cannot be fetched.
    """
    if name in BOOK_SETS:
        return fetch_books(name)
    files, folder = find_set(name), cache_folder()
    paths = [find_copy(file) for file in files]
    if all(paths):
        for path, file in zip(paths, files):
            check_hash(path, file)
        return paths
    names = [Path(file.file).name for file in files]
    with replace_files((folder / files[0].file).parent, names) as draft:
        if name in MAKERS:
            source = draft / Path(files[0].url).name
            download(files[0].url, source, files)
            MAKERS[name](source, draft)
        else:
            for file, target in zip(files, names):
                download(file.url, draft / target, files)
        for file, target in zip(files, names):
            check_hash(draft / target, file)
    return [folder / file.file for file in files]


def find_set(name: str) -> list[PublicFile]:
    """The files of a set."""
    if name not in read_registry():
        raise ValueError(f"a data set must be one of {', '.join([*read_registry(), *BOOK_SETS])}; got {name!r}.")
    return read_registry()[name]


def cache_folder() -> Path:
    """Where fetched files are kept."""
    return Path(pooch.os_cache("bertcourse"))


def find_copy(file: PublicFile) -> Path | None:
    """Where a file is on this disk, if anywhere. A damaged one in the cache counts as absent, and is fetched again."""
    if data := os.environ.get("BERTCOURSE_DATA"):
        name = Path(file.file).name
        namesakes = [other for files in read_registry().values() for other in files if Path(other.file).name == name]
        for path in (file.file, name) if len(namesakes) == 1 else (file.file,):  # train.tsv alone says too little
            if (found := Path(data).expanduser() / path).is_file():
                return found
    path = cache_folder() / file.file
    return path if path.is_file() and is_known(path, file) else None


def is_known(path: Path, file: PublicFile) -> bool:
    """Whether a file is the one in the table, by its own hash or by that of what it unpacks to."""
    if sha256(path) == file.sha256:
        return True
    return bool(file.content_sha256) and content_sha256(path) == file.content_sha256


def check_hash(path: Path, file: PublicFile) -> None:
    """Refuse a file that is not the one in the table."""
    if not is_known(path, file):
        advice = f"delete it, and fetch it again with: bertcourse data get {file.set}"
        if file.content_sha256:
            check_sha256(f"what {path} unpacks to", content_sha256(path), file.content_sha256, advice)
        else:
            check_sha256(path, sha256(path), file.sha256, advice)


def content_sha256(path: Path) -> str:
    """The SHA-256 of what a file unpacks to, since compressors differ; "damaged" if it does not unpack.

    For an .xz that is the hash of its content; for a .tar.xz, of one line with name and size, then the content, per
    file.
    """
    digest = hashlib.sha256()
    try:
        if path.name.endswith(".tar.xz"):
            with tarfile.open(path) as tar:
                for name, member in sorted((Path(member.name).name, member) for member in tar if member.isfile()):
                    digest.update(f"{name} {member.size}\n".encode())
                    digest.update(tar.extractfile(member).read())
        else:
            with lzma.open(path) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    except (lzma.LZMAError, tarfile.TarError, EOFError):
        return "damaged"
    return digest.hexdigest()


def download(url: str, path: Path, files: list[PublicFile]) -> None:
    """Fetch a file, with a progress bar if someone is watching; ``files`` are those of its set."""
    try:
        with tqdm(total=1, desc=path.name, unit="B", unit_scale=True, disable=None) as bar:
            pooch.HTTPDownloader(timeout=60, progressbar=bar)(url, str(path), None)
    except OSError as error:  # requests' errors are OSErrors
        if is_of_the_disk(error):
            raise
        raise ConnectionError(
            f"cannot fetch {url} ({error}). Try again; or set BERTCOURSE_DATA to a folder that has "
            f"{' and '.join(file.file for file in files)}."
        ) from error


def states(names: list[str] | None = None) -> dict[str, str]:
    """For each set, "ok", "absent", or what is wrong with it, in the folder BERTCOURSE_DATA or in the cache."""
    found = {}
    for name in names or [*read_registry(), *BOOK_SETS]:
        is_here = partial(has_books, name) if name in BOOK_SETS else partial(has_files, find_set(name))
        try:
            found[name] = "ok" if is_here() else "absent"
        except ValueError as error:
            found[name] = str(error)
    return found


def has_files(files: list[PublicFile]) -> bool:
    """Whether all files of a set are on this disk; a ValueError names a file that is not the one in the table."""
    paths = [(find_copy(file) or cache_folder() / file.file, file) for file in files]
    for path, file in paths:
        if path.is_file():
            check_hash(path, file)
    return all(path.is_file() for path, _ in paths)


def print_sets() -> None:
    """Print, for each set, its name, where it is, its licence and its paper."""
    sets = {
        name: (find_copy(files[0]), f"{files[0].licence}. {files[0].citation}")
        for name, files in read_registry().items()
    }
    for name in BOOK_SETS:
        known = read_books(name)
        kept = books_folder() / f"{known[0].name}.txt"
        path = find_books(name) or (kept if kept.is_file() else None)
        sets[name] = path, f"texts in the public domain, edited under CC0. {len(known)} books of standardebooks.org"
    width = max(map(len, sets)) + 2
    for name, (path, about) in sets.items():
        print(f"{name:{width}}{path.parent if path else 'not here'}\n{'':{width}}{about}")

"""Public data sets: where each file is, what its SHA-256 must be, whose it is; fetched once, checked, kept.

The table is public_data.tsv. A file is looked for in the folder that the environment variable ``BERTCOURSE_DATA``
names, by its path in the table or by its name alone (if no other has it), then in the user's cache, and only then on
the network.
"""

import csv
import functools
import hashlib
import lzma
import os
import tarfile
import zlib
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pooch
from tqdm import tqdm

from bertcourse.datasets.semcor import framework_files
from bertcourse.files import check_sha256, is_of_the_disk, replace_files, sha256

AR_MAGIC, AR_HEADER = b"!<arch>\n", 60  # a Debian package is an ar archive


class PublicFile(NamedTuple):
    """A row of the table.

    Attributes:
        set: the data set that it belongs to.
        file: its path in BERTCOURSE_DATA.
        sha256: of the file.
        content_sha256: of what it unpacks to (``content_sha256``), for a file that we pack ourselves; else empty.
        url: where it is, or what it is made from.
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


@functools.cache
def read_registry() -> dict[str, list[PublicFile]]:
    """The files of each public data set, by its name."""
    sets: dict[str, list[PublicFile]] = {}
    with (resources.files("bertcourse.datasets") / "public_data.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            sets.setdefault(row["set"], []).append(PublicFile(**row))
    return sets


def fetch(name: str, folder: str | os.PathLike | None = None) -> list[Path]:
    """The files of a public data set, from this disk, or else from the network.

    Args:
        name: of the set; ``bertcourse data list`` prints them.
        folder: where to keep what is fetched; None for the user's cache.

    Returns:
        Their paths, in the order of the table.

    Raises:
        ValueError: if there is no such set, or a file is not the one we know.
        ConnectionError: if a file is not here and cannot be fetched.
        OSError: if the disk fails or is full.

    Source: public_data.tsv, which names the sources.
    """
    files, folder = find_set(name), cache_folder(folder)
    paths = [find(file, folder) for file in files]
    if all(paths):
        for path, file in zip(paths, files):
            check(path, file)
        return paths
    with replace_files((folder / files[0].file).parent, [Path(file.file).name for file in files]) as draft:
        for url in dict.fromkeys(file.url for file in files):
            download(url, draft / Path(url).name, advice(files))
        if name in MAKERS:
            MAKERS[name](draft / Path(files[0].url).name, draft)
        for file in files:
            source = draft / Path(file.url).name
            if name not in MAKERS and source != draft / Path(file.file).name:
                source.rename(draft / Path(file.file).name)
            check(draft / Path(file.file).name, file)
    return [folder / file.file for file in files]


def find_set(name: str) -> list[PublicFile]:
    """The files of a set.

    Raises:
        ValueError: if there is no such set.
    """
    if name not in read_registry():
        raise ValueError(f"a data set must be one of {', '.join(read_registry())}; got {name!r}.")
    return read_registry()[name]


def cache_folder(folder: str | os.PathLike | None = None) -> Path:
    """Where fetched files are kept."""
    return Path(folder or pooch.os_cache("bertcourse"))


def find(file: PublicFile, folder: Path) -> Path | None:
    """Where a file is on this disk, if it is. A damaged one in the cache counts as absent, and is fetched again."""
    if data := os.environ.get("BERTCOURSE_DATA"):
        name = Path(file.file).name
        namesakes = [other for files in read_registry().values() for other in files if Path(other.file).name == name]
        for path in (file.file, name) if len(namesakes) == 1 else (file.file,):  # train.tsv alone says too little
            if (found := Path(data).expanduser() / path).is_file():
                return found
    return path if (path := folder / file.file).is_file() and is_known(path, file) else None


def is_known(path: Path, file: PublicFile) -> bool:
    """Whether a file is the one in the table, itself or by what it unpacks to."""
    return sha256(path) == file.sha256 or bool(file.content_sha256) and content_sha256(path) == file.content_sha256


def check(path: Path, file: PublicFile) -> None:
    """Refuse a file that is not the one in the table.

    Raises:
        ValueError: naming both digests.
    """
    if not is_known(path, file):
        advice = f"delete it, and fetch it again with: bertcourse data get {file.set}"
        if file.content_sha256:
            check_sha256(f"what {path} unpacks to", content_sha256(path), file.content_sha256, advice)
        else:
            check_sha256(path, sha256(path), file.sha256, advice)


def content_sha256(path: Path) -> str:
    """The SHA-256 of what a file unpacks to, as packers differ from version to version: of an .xz its content; of a
    .tar.xz, for each file by name, a line with name and size, then its content. "damaged" if it does not unpack."""
    digest = hashlib.sha256()
    try:
        if path.name.endswith(".tar.xz"):
            with tarfile.open(path) as tar:
                for name, member in sorted((Path(member.name).name, member) for member in tar if member.isfile()):
                    content = tar.extractfile(member).read()
                    digest.update(f"{name} {len(content)}\n".encode())
                    digest.update(content)
        else:
            with lzma.open(path) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    except (lzma.LZMAError, tarfile.TarError, EOFError):
        return "damaged"
    return digest.hexdigest()


def download(url: str, path: Path, advice: str) -> None:
    """Fetch a file, with a progress bar where someone looks on.

    Raises:
        ConnectionError: if it cannot be fetched.
    """
    bar = tqdm(total=1, desc=path.name, unit="B", unit_scale=True, disable=None)
    try:
        pooch.HTTPDownloader(timeout=60, progressbar=bar)(url, str(path), None)
    except OSError as error:  # requests' errors are OSErrors
        if is_of_the_disk(error):
            raise
        raise ConnectionError(f"cannot fetch {url} ({error}). {advice}") from error
    finally:
        bar.close()


def advice(files: list[PublicFile]) -> str:
    """What to do when a set cannot be fetched."""
    return f"Try again; or set BERTCOURSE_DATA to a folder that has {' and '.join(file.file for file in files)}."


def make_semcor(archive: Path, folder: Path) -> None:
    """SemCor's files in the format of the WSD Evaluation Framework, from the archive of its repository.

    Raises:
        ValueError: if the archive is damaged.
    """
    tag_files = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                _, _, path = member.name.partition("/data/semcor3.0/")
                if member.isfile() and "/tagfiles/" in path:
                    tag_files[path] = tar.extractfile(member).read().decode("latin-1")
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise ValueError(
            f"{archive.name} must be the archive of a repository; it is damaged ({error}). Try again."
        ) from error
    for name, text in zip(("semcor.data.xml.xz", "semcor.gold.key.txt.xz"), framework_files(tag_files)):
        (folder / name).write_bytes(lzma.compress(text.encode()))


def make_wordnet(package: Path, folder: Path) -> None:
    """WordNet's database files as a .tar.xz, from the Debian package that has them.

    Raises:
        ValueError: if the package is damaged.
    """
    packed = folder / "data.tar.xz"
    try:
        packed.write_bytes(ar_members(package.read_bytes())["data.tar.xz"])
        with tarfile.open(packed) as tar, tarfile.open(folder / "wordnet-dict.tar.xz", "w:xz") as result:
            for member in tar:
                if member.isfile() and "/share/wordnet/" in member.name:
                    content, member.name = tar.extractfile(member), Path(member.name).name
                    result.addfile(member, content)
    except (KeyError, ValueError, tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise ValueError(f"{package.name} must be a Debian package; it is damaged ({error}). Try again.") from error


def ar_members(content: bytes) -> dict[str, bytes]:
    """The files in an ar archive: after a magic string, for each a header of 60 characters and its content, on even
    places.

    Raises:
        ValueError: if it is none.
    """
    if not content.startswith(AR_MAGIC):
        raise ValueError("it does not begin with !<arch>")
    members, position = {}, len(AR_MAGIC)
    while position < len(content):
        header = content[position : position + AR_HEADER].decode("latin-1")
        start, size = position + AR_HEADER, int(header[48:58])
        members[header[:16].strip().rstrip("/")] = content[start : start + size]
        position = start + size + size % 2
    return members


MAKERS = {"semcor": make_semcor, "wordnet": make_wordnet}


def states(names: list[str] | None = None) -> dict[str, str]:
    """For each set, "ok", "absent", or what is wrong with it, in the folder BERTCOURSE_DATA or in the cache.

    Raises:
        ValueError: if there is no such set.
    """
    found = {}
    for name in names or read_registry():
        paths = [(find(file, cache_folder()) or cache_folder() / file.file, file) for file in find_set(name)]
        try:
            for path, file in paths:
                if path.is_file():
                    check(path, file)
            found[name] = "ok" if all(path.is_file() for path, _ in paths) else "absent"
        except ValueError as error:
            found[name] = str(error)
    return found


def print_sets() -> None:
    """Print a line for each set: its name, where it is, its licence, its paper."""
    width = max(map(len, read_registry())) + 2
    for name, files in read_registry().items():
        path = find(files[0], cache_folder())
        print(
            f"{name:{width}}{path.parent if path else 'not here'}\n{'':{width}}{files[0].licence}. {files[0].citation}"
        )

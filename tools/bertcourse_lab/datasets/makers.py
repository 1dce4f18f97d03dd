"""Sets that we make from what others publish: each function takes a download and writes the set's files to a folder."""

import io
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path

from bertcourse_lab.datasets.semcor import make_semcor

AR_MAGIC, AR_HEADER = b"!<arch>\n", 60  # a Debian package is an ar archive


def make_blimp(archive: Path, folder: Path) -> None:
    """Make blimp.tar.xz, one .jsonl per paradigm, from its repository's BLiMP.zip, which has macOS's own files too."""
    try:
        with zipfile.ZipFile(archive) as files, tarfile.open(folder / "blimp.tar.xz", "w:xz") as tar:
            for name in sorted(files.namelist()):
                if name.startswith("data/") and name.endswith(".jsonl"):
                    member = tarfile.TarInfo(name.replace("data/", "blimp/"))
                    content = files.read(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{archive.name} must be a zip archive; it is damaged ({error}). Try again.") from error


def make_wordnet(package: Path, folder: Path) -> None:
    """Make wordnet-dict.tar.xz, WordNet's database files, from the Debian package that contains them."""
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
    """The files in an ar archive: a magic string, then for each file 60 bytes of header and its content, padded to an
    even length."""
    if not content.startswith(AR_MAGIC):
        raise ValueError("it does not begin with !<arch>")
    members, position = {}, len(AR_MAGIC)
    while position < len(content):
        header = content[position : position + AR_HEADER].decode("latin-1")
        start, size = position + AR_HEADER, int(header[48:58])
        members[header[:16].strip().rstrip("/")] = content[start : start + size]
        position = start + size + size % 2
    return members


MAKERS = {"blimp": make_blimp, "semcor": make_semcor, "wordnet": make_wordnet}

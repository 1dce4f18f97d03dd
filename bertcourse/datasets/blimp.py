"""BLiMP: 67 paradigms of 1,000 pairs of sentences, one grammatical and one not (Warstadt et al. 2020)."""

import io
import json
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple


class MinimalPair(NamedTuple):
    """Two sentences, only one of which English speakers accept.

    Attributes:
        good: "Who should Derek hug after shocking Richard?"
        bad: "Who should Derek hug Richard after shocking?"
    """

    good: str
    bad: str


def blimp_pairs() -> dict[str, list[MinimalPair]]:
    """The 1,000 pairs of each paradigm, by name, in alphabetical order (capitals first); fetched if need be."""
    from bertcourse.datasets.registry import fetch  # which imports this module

    (archive,) = fetch("blimp")
    pairs = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith(".jsonl"):
                rows = map(json.loads, tar.extractfile(member).read().decode("utf-8").splitlines())
                pairs[Path(member.name).stem] = [MinimalPair(row["sentence_good"], row["sentence_bad"]) for row in rows]
    return dict(sorted(pairs.items()))


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

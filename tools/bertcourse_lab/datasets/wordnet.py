"""The files of WordNet 3.0 in a folder, as NLTK expects them, from the Debian package that contains them."""

import tarfile
import tempfile
from pathlib import Path

from bertcourse_lab.datasets.registry import cache_folder, fetch

# The file "lexnames" of WordNet 3.0, which Debian leaves out: the categories into which synsets were sorted.
LEXICOGRAPHER_FILES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition "
    "noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person "
    "noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state "
    "noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition "
    "verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social "
    "verb.stative verb.weather adj.ppl"
).split()
LEXNAMES = "".join(
    f"{number:02d}\t{name}\t{'nvar'.index(name[0] if name[:3] != 'adv' else 'r') + 1}\n"
    for number, name in enumerate(LEXICOGRAPHER_FILES)
)


def wordnet_folder() -> Path:
    """The folder with WordNet's database files, which are fetched and unpacked if they are not here."""
    folder = cache_folder() / "wordnet3.0" / "files"
    if not folder.is_dir():
        (archive,) = fetch("wordnet")
        unpack_wordnet(archive, folder)
    return folder


def unpack_wordnet(archive: Path, folder: Path) -> None:
    """Unpack wordnet-dict.tar.xz and add what NLTK expects; the folder appears only once all its files are there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as draft:
        target = Path(draft, "wordnet")
        target.mkdir()
        with tarfile.open(archive) as tar:  # extractall has no safe filter before Python 3.11.4
            for member in filter(tarfile.TarInfo.isfile, tar):
                (target / Path(member.name).name).write_bytes(tar.extractfile(member).read())
        (target / "lexnames").write_text(LEXNAMES, encoding="utf-8")
        try:
            target.rename(folder)
        except OSError:
            if not folder.is_dir():  # it is there if another process was faster
                raise

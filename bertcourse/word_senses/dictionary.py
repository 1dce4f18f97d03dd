"""WordNet 3.0 (Fellbaum 1998), as NLTK reads it: the senses of a word, the most frequent first."""

import lzma
import os
import tarfile
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path

from bertcourse.datasets.registry import cache_folder, fetch
from bertcourse.word_senses.keys import PARTS_OF_SPEECH, Word, sense_word

# The file "lexnames" of WordNet 3.0, which Debian leaves out: what its synsets were sorted into.
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


def wordnet():
    """WordNet 3.0, fetched if it is not here, as ``open_wordnet`` returns it.

    Raises:
        ConnectionError: if it is not here and cannot be fetched.
        ModuleNotFoundError: if NLTK is not installed.
        ValueError: if it is not the one we know.

    Source: Fellbaum 1998, "WordNet".
    """
    folder = cache_folder() / "wordnet3.0" / "files"
    return open_wordnet(*(fetch("wordnet") if not folder.is_dir() else [folder]), folder)


def open_wordnet(path: str | os.PathLike, folder: str | os.PathLike):
    """WordNet 3.0 as NLTK reads it.

    Args:
        path: wordnet-dict.tar.xz, of the database files.
        folder: where to unpack it; not done again if they are there.

    Returns:
        ``nltk.corpus.reader.WordNetCorpusReader``, all but ``lemma_from_key`` of which works: ``find_lemma`` is for
        that.

    Raises:
        FileNotFoundError: if the archive is not there.
        ModuleNotFoundError: if NLTK is not installed.
        ValueError: if it is damaged, or lacks a file.

    Source: Fellbaum 1998, "WordNet"; Bird et al. 2009, NLTK.
    """
    try:
        import nltk.data
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"reading WordNet needs the package nltk; there is no {error.name}. Install it: python -m pip install "
            f'"bertcourse[benchmark]".'
        ) from error
    from nltk.corpus.reader import WordNetCorpusReader

    class WordNet30(WordNetCorpusReader):
        def map_wn(self, version: str = "wordnet") -> None:
            """No map to WordNet 3.0, which this is; NLTK's own looks for a second copy in its data."""

    folder = Path(folder).resolve()
    if not folder.is_dir():
        unpack_wordnet(Path(path), folder)
    if str(folder) not in nltk.data.path:  # from elsewhere NLTK refuses to read, since its version 3.10
        nltk.data.path.append(str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other languages are not there
        return WordNet30(str(folder), None)


def unpack_wordnet(path: Path, folder: Path) -> None:
    """Unpack WordNet's database files, and put beside them what NLTK wants and Debian leaves out.

    Args:
        path: the archive.
        folder: where to; it is there when all its files are.

    Raises:
        FileNotFoundError: if the archive is not there.
        ValueError: if it is damaged, or lacks a file.

    Source: wndb(5WN) and lexnames(5WN) of WordNet 3.0.
    """
    if not path.is_file():
        raise FileNotFoundError(f"expected {path}; there is no such file. Fetch it: bertcourse data get wordnet.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as draft:
        target = Path(draft, "wordnet")
        target.mkdir()
        try:
            with tarfile.open(path) as tar:
                for member in tar:
                    if member.isfile():
                        (target / Path(member.name).name).write_bytes(tar.extractfile(member).read())
        except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
            raise ValueError(
                f"{path} must be an archive of WordNet; it is damaged ({error}). Fetch it again."
            ) from None
        needed = [f"{kind}.{part}" for kind in ("index", "data") for part in ("noun", "verb", "adj", "adv")]
        if missing := [name for name in needed if not (target / name).is_file()]:
            raise ValueError(
                f"{path} must hold WordNet's database files; missing: {', '.join(missing)}. Fetch it again."
            )
        (target / "lexnames").write_text(LEXNAMES, encoding="utf-8")
        try:
            target.rename(folder)
        except OSError:
            if not folder.is_dir():  # it is there if another process was faster
                raise


def word_senses(wordnet, words: Iterable[Word]) -> dict[Word, list[str]]:
    """The senses of words, in WordNet's order, the most frequent one first.

    Args:
        wordnet: as ``open_wordnet`` returns it.
        words: (lemma, part of speech), satellites being adjectives.

    Returns:
        Word to sense keys, without the words that WordNet does not have.

    Raises:
        ValueError: if a part of speech is none of the four.

    Source: index files of WordNet 3.0, wndb(5WN).
    """
    found = {}
    for lemma, part in dict.fromkeys(words):
        if part not in PARTS_OF_SPEECH:
            raise ValueError(f"a part of speech must be one of {', '.join(PARTS_OF_SPEECH)}; got {part!r}.")
        keys = [entry.key() for entry in wordnet.lemmas(lemma, PARTS_OF_SPEECH[part])]
        if keys:  # NLTK lists a sense twice when a word, such as "woods", is also a form of another, "wood"
            found[lemma, part] = list(dict.fromkeys(keys))
    return found


def first_senses(wordnet, words: Iterable[Word]) -> dict[Word, str]:
    """WordNet's first sense of words: ``NearestSense(first_senses=…)``, and the baseline to beat.

    Args:
        wordnet: as ``open_wordnet`` returns it.
        words: (lemma, part of speech).

    Returns:
        Word to sense key, without the words that WordNet does not have.

    Raises:
        ValueError: if a part of speech is none of the four.

    Source: the baseline "WordNet 1st sense" of Raganato et al. 2017.
    """
    return {word: senses[0] for word, senses in word_senses(wordnet, words).items()}


def find_lemma(wordnet, key: str):
    """NLTK's entry for a sense key; ``.synset().definition()`` is its gloss.

    Args:
        wordnet: as ``open_wordnet`` returns it.
        key: WordNet's.

    Raises:
        ValueError: if it is no key, or WordNet does not have it.

    Source: senseidx(5WN) of WordNet 3.0.
    """
    lemma, part = sense_word(key)
    for entry in wordnet.lemmas(lemma, PARTS_OF_SPEECH[part]):
        if entry.key() == key:
            return entry
    raise ValueError(
        f"WordNet has no sense {key!r}; its senses of {lemma} are {word_senses(wordnet, [(lemma, part)])}."
    )

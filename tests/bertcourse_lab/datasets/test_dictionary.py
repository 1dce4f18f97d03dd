"""WordNet's senses: in its order, satellites among adjectives."""

import io
import sys
import tarfile

import pytest

from bertcourse_lab.datasets import dictionary
from bertcourse_lab.datasets.wordnet import unpack_wordnet

BANK, SEAT = ("bank", "NOUN"), ("seat", "NOUN")
RIVER, MONEY, CHAIR = "bank%1:17:01::", "bank%1:14:00::", "seat%1:06:00::"


def wordnet_archive(folder):
    """A WordNet of four synsets: two nouns "bank", an adjective and its satellite "odd"."""
    header = "  1 WordNet 3.0 Copyright 2006 by Princeton University.  \n"
    n1, a1 = len(header), len(header)
    noun = [f"{n1:08d} 17 n 01 bank 1 000 | sloping land  \n"]
    noun.append(f"{n1 + len(noun[0]):08d} 14 n 01 bank 0 000 | an institution  \n")
    adjective = [
        "{:08d} 00 a 01 strange 0 001 & {:08d} a 0000 | unusual  \n",
        "{:08d} 00 s 01 odd 0 001 & {:08d} a 0000 | peculiar  \n",
    ]
    a2 = a1 + len(adjective[0].format(a1, 0))
    files = {
        "data.noun": header + "".join(noun),
        "index.noun": f"{header}bank n 2 0 2 1 {n1 + len(noun[0]):08d} {n1:08d}  \n",
        "data.adj": header + adjective[0].format(a1, a2) + adjective[1].format(a2, a1),
        "index.adj": f"{header}odd a 1 1 & 1 0 {a2:08d}  \nstrange a 1 1 & 1 0 {a1:08d}  \n",
        **dict.fromkeys(("data.verb", "index.verb", "data.adv", "index.adv"), header),
        **{f"{part}.exc": "" for part in ("noun", "verb", "adj", "adv")},
        "cntlist.rev": "",
    }
    path = folder / "wordnet-dict.tar.xz"
    with tarfile.open(path, "w:xz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content.encode()))
    return path


def test_wordnet_is_read_in_its_order_with_satellites_among_adjectives(tmp_path):
    pytest.importorskip("nltk")
    unpack_wordnet(wordnet_archive(tmp_path), tmp_path / "files")
    wordnet = dictionary.open_wordnet(tmp_path / "files")
    words = [BANK, ("odd", "ADJ"), ("strange", "ADJ"), ("bank", "VERB"), ("nothing", "ADV")]
    found = dictionary.word_senses(wordnet, words)
    assert found == {
        BANK: [MONEY, RIVER],
        ("odd", "ADJ"): ["odd%5:00:00:strange:00"],
        ("strange", "ADJ"): ["strange%3:00:00::"],
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "wordnet-dict.tar.xz"]
    with pytest.raises(ValueError, match="part of speech"):
        dictionary.word_senses(wordnet, [("bank", "NN")])


def test_without_nltk_wordnet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(ModuleNotFoundError, match='pip install "bertcourse.benchmark'):
        dictionary.open_wordnet(tmp_path)


def test_a_sense_that_nltk_lists_twice_is_listed_once():
    class Entry:
        def key(self):
            return RIVER

    class Reader:
        def lemmas(self, lemma, part):
            return [Entry(), Entry()]

    assert dictionary.word_senses(Reader(), [BANK]) == {BANK: [RIVER]}

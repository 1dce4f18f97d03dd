"""Corpora: read, packed or not; and their most frequent senses."""

import lzma

import pytest

from bertcourse.word_senses import sense_word
from bertcourse_lab.datasets.sense_corpora import Instance, SenseCorpus, most_frequent_senses, read_senses, sense_corpus

BANK, SEAT = ("bank", "NOUN"), ("seat", "NOUN")
RIVER, MONEY, CHAIR = "bank%1:17:01::", "bank%1:14:00::", "seat%1:06:00::"

XML = """<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en">
<text id="d0">
<sentence id="d0.s0">
<wf lemma="the" pos="DT">The</wf>
<instance id="d0.s0.t0" lemma="Primary Election" pos="NOUN">primary election</instance>
<wf lemma="&amp;" pos=".">&amp;</wf>
</sentence>
<sentence id="d0.s1">
<instance id="d0.s1.t0" lemma="peculiar" pos="ADJ">peculiar</instance>
</sentence>
</text>
</corpus>
"""
KEYS = "d0.s0.t0 primary_election%1:04:00::\nd0.s1.t0 peculiar%5:00:00:specific:00 peculiar%3:00:00::\n"


def written(folder, xml: str = XML, keys: str = KEYS):
    (folder / "a.data.xml").write_text(xml, encoding="utf-8")
    (folder / "a.gold.key.txt").write_text(keys, encoding="utf-8")
    return folder / "a.data.xml", folder / "a.gold.key.txt"


def test_a_corpus_is_read(tmp_path):
    corpus = read_senses(*written(tmp_path))
    assert corpus.sentences == [["The", "primary election", "&"], ["peculiar"]]
    assert corpus.instances == [
        Instance("d0.s0.t0", ("primary_election", "NOUN"), 0, 1, ("primary_election%1:04:00::",)),
        Instance("d0.s1.t0", ("peculiar", "ADJ"), 1, 0, ("peculiar%5:00:00:specific:00", "peculiar%3:00:00::")),
    ]
    assert corpus.positions() == [[1], [0]]


def test_a_packed_corpus_is_read(tmp_path):
    plain = read_senses(*written(tmp_path))
    packed = []
    for path in tmp_path.iterdir():
        packed.append(path.with_name(f"{path.name}.xz"))
        packed[-1].write_bytes(lzma.compress(path.read_bytes()))
    assert read_senses(*sorted(packed)) == plain


def test_a_corpus_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="corpus must be one of semcor, ALL.*; got 'brown'"):
        sense_corpus("brown")


def test_satellites_are_adjectives():
    assert sense_word("peculiar%5:00:00:specific:00") == sense_word("peculiar%3:00:00::") == ("peculiar", "ADJ")
    with pytest.raises(ValueError, match="key of WordNet"):
        sense_word("bank")


def test_the_most_frequent_sense_comes_from_the_corpus_and_ties_from_wordnet():
    instances = [Instance("", BANK, 0, 0, (sense,)) for sense in (MONEY, MONEY, RIVER)]
    instances += [Instance("", SEAT, 0, 0, (sense,)) for sense in ("seat%1:08:00::", CHAIR)]
    frequent = most_frequent_senses(SenseCorpus([], instances), {SEAT: [CHAIR, "seat%1:08:00::"]})
    assert frequent == {BANK: MONEY, SEAT: CHAIR}

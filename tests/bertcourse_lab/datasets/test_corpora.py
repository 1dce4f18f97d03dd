"""Corpora: read, packed or not; what is wrong with a file is named."""

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
    sorted(packed)[0].write_bytes(lzma.compress(XML.encode())[:-20])
    with pytest.raises(ValueError, match="a.data.xml.xz .*damaged"):
        read_senses(*sorted(packed))


@pytest.mark.parametrize(
    ("old", "new", "noun"),
    [
        ("</corpus>", "", "well-formed"),
        (' pos="NOUN"', "", "pos .*primary election"),
        (' lemma="peculiar" pos="ADJ"', "", "lemma .*peculiar"),
        ('pos="ADJ"', 'pos="JJ"', "NOUN, VERB, ADJ, ADV; got .*JJ"),
        ("d0.s1.t0", "d0.s0.t0", "new id; got .*peculiar"),
        (">peculiar<", "> <", "words, .*d0.s1.t0"),
    ],
)
def test_broken_xml_is_named(tmp_path, old, new, noun):
    data, keys = written(tmp_path, xml=XML.replace(old, new))
    with pytest.raises(ValueError, match=f"a.data.xml.* {noun}"):
        read_senses(data, keys)


@pytest.mark.parametrize(
    ("keys", "noun"),
    [
        ("", "same instances; 2 .*d0.s0.t0"),
        (KEYS.splitlines()[0], "same instances; 1 .*d0.s1.t0"),
        (KEYS + "d9 bank%1:17:01::\n", "same instances; 1 .*d9"),
        (KEYS + KEYS, "line 3: expected a new id"),
        ("d0.s0.t0\n", "line 1: .* sense keys"),
        (KEYS + "\n", "line 3: .* sense keys"),
        ("d0.s0.t0 bank.n.01\n", "line 1: .* sense keys"),
    ],
)
def test_broken_keys_are_named_with_their_line(tmp_path, keys, noun):
    with pytest.raises(ValueError, match=f"a.gold.key.txt.* {noun}"):
        read_senses(*written(tmp_path, keys=keys))


def test_missing_files_are_named(tmp_path):
    data, keys = written(tmp_path)
    keys.unlink()
    with pytest.raises(FileNotFoundError, match="a.gold.key.txt"):
        read_senses(data, keys)
    keys.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="a.gold.key.txt must be a UTF-8 text"):
        read_senses(data, keys)
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

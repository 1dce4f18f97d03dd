"""Senses: corpora and WordNet read, the nearest sense found, and what is wrong with a file or a vector named."""

import io
import lzma
import sys
import tarfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from bertcourse import word_senses
from bertcourse.anisotropy import Standardizer
from bertcourse.word_senses import (
    Instance,
    NearestSense,
    SenseCorpus,
    dictionary,
    most_frequent_senses,
    read_senses,
    sense_word,
)

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
    with pytest.raises(ValueError, match="a.data.xml.xz must be packed with xz; it is damaged or cut short"):
        read_senses(*sorted(packed))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</sentence>\n<sentence", "<sentence", r"line 8: expected the end of a <sentence>; got another"),
        ("</corpus>", "", r"line \d+: expected well-formed XML; got"),
        (' pos="NOUN"', "", "line 6: expected an instance with id, lemma and pos; it has no pos"),
        (' lemma="peculiar" pos="ADJ"', "", "line 10: expected an instance .* no lemma and no pos"),
        ('pos="ADJ"', 'pos="JJ"', "line 10: expected pos to be one of NOUN, VERB, ADJ, ADV; got 'JJ'"),
        ("d0.s1.t0", "d0.s0.t0", "line 10: expected each id once; d0.s0.t0 was there before"),
        (">peculiar<", "> <", "line 10: expected a word in <instance>; it is empty"),
        ('<sentence id="d0.s0">', "", "line 5: expected <wf> directly in a <sentence>; got it outside"),
        (">The<", "><wf>a</wf><", "line 5: expected <wf> directly in a <sentence>; got it in <wf>"),
        ("corpus", "TEI", "line 2: expected <corpus>, .*; got <TEI>"),
    ],
)
def test_broken_xml_is_named_with_its_line(tmp_path, old, new, message):
    data, keys = written(tmp_path, xml=XML.replace(old, new))
    with pytest.raises(ValueError, match=f"a.data.xml, {message}"):
        read_senses(data, keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "",
            "a.gold.key.txt must have a line for each instance of .*; 2 of 2 have none, the first being d0.s0.t0 "
            ".line 6 of",
        ),
        (KEYS.splitlines()[0], "1 of 2 have none, the first being d0.s1.t0"),
        (KEYS + "d9 bank%1:17:01::\n", "a.data.xml must have an instance for each line of .*; it has no d9"),
        (KEYS + KEYS, "a.gold.key.txt, line 3: expected each id once; d0.s0.t0"),
        ("d0.s0.t0\n", "a.gold.key.txt, line 1: expected an id and sense keys.*got 'd0.s0.t0'"),
        (KEYS + "\n", "a.gold.key.txt, line 3: expected an id and sense keys.*got ''"),
        ("d0.s0.t0 bank.n.01\n", "a.gold.key.txt, line 1: expected an id and sense keys"),
    ],
)
def test_broken_keys_are_named_with_their_line(tmp_path, keys, message):
    with pytest.raises(ValueError, match=message):
        read_senses(*written(tmp_path, keys=keys))


def test_missing_files_are_named(tmp_path):
    data, keys = written(tmp_path)
    keys.unlink()
    with pytest.raises(FileNotFoundError, match="a.gold.key.txt; there is no such file.*bertcourse data get"):
        read_senses(data, keys)
    keys.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="a.gold.key.txt must be UTF-8"):
        read_senses(data, keys)
    with pytest.raises(ValueError, match="a corpus must be one of semcor, ALL.*; got 'brown'"):
        word_senses.sense_corpus("brown")


def test_satellites_are_adjectives():
    assert sense_word("peculiar%5:00:00:specific:00") == sense_word("peculiar%3:00:00::") == ("peculiar", "ADJ")
    with pytest.raises(ValueError, match="key of WordNet, such as .*; got 'bank'"):
        sense_word("bank")


def example(n: int = 200, dimension: int = 8, num_words: int = 6):
    random = np.random.default_rng(0)
    words = [(f"w{i}", "NOUN") for i in random.integers(num_words, size=n)]
    gold = [tuple({f"{word[0]}%{i}" for i in random.integers(4, size=random.integers(1, 3))}) for word in words]
    return random.normal(size=(n, dimension)).astype(np.float32), gold, words


def cosine(x, y):
    return x @ y / np.linalg.norm(x) / np.linalg.norm(y)


def test_equals_the_algorithm_written_plainly():
    vectors, gold, words = example()
    model = NearestSense().fit(vectors, gold, words)
    predicted = model.predict(vectors + 0.5, words)
    for vector, word, sense in zip(vectors + 0.5, words, predicted):
        embeddings = {}
        for candidate in {each for w, g in zip(words, gold) if w == word for each in g}:
            examples = [v for v, w, g in zip(vectors, words, gold) if w == word and candidate in g]
            embeddings[candidate] = np.mean(examples, axis=0)
        assert sense == max(embeddings, key=lambda each: cosine(vector, embeddings[each]))


def test_embeddings_are_means_of_all_examples():
    vectors, gold, words = example()
    model = NearestSense().fit(vectors, gold, words)
    for sense, vector, count in zip(model.senses_, model.sense_vectors_, model.counts_):
        rows = [row for row, g in enumerate(gold) if sense in g]
        assert count == len(rows)
        np.testing.assert_allclose(vector, vectors[rows].mean(0), atol=1e-6)
        np.testing.assert_array_equal(model.sense_vector(sense), vector)


def test_one_neighbour_is_the_nearest_occurrence_and_many_vote():
    vectors = [[1.0, 0.0], [0.8, 0.3], [0.75, 0.4], [0.0, 1.0]]
    y = ["a", "b", "b", "c"]
    assert NearestSense(n_neighbors=1).fit(vectors, y).predict([[1.0, 0.1]]).tolist() == ["a"]
    assert NearestSense(n_neighbors=3).fit(vectors, y).predict([[1.0, 0.1]]).tolist() == ["b"]
    assert NearestSense(n_neighbors=99).fit(vectors, y).predict([[1.0, 0.1]]).tolist() == ["b"]
    tie = NearestSense(n_neighbors=2).fit(vectors, y).predict([[1.0, 0.1], [0.7, 0.5]])
    assert tie.tolist() == ["a", "b"]  # one vote each: the nearer; two votes


@pytest.mark.parametrize("scale", [1e-30, 1e-40, 1e25])
def test_the_length_of_a_vector_does_not_matter_however_small_or_large(scale):
    vectors = np.eye(2, dtype=np.float32) * np.float32(scale)
    for n_neighbors in (None, 1):
        model = NearestSense(n_neighbors=n_neighbors).fit(vectors, ["a", "b"])
        assert model.predict(np.eye(2)).tolist() == model.predict(vectors).tolist() == ["a", "b"]


def test_a_sense_that_is_named_twice_for_an_occurrence_counts_once():
    model = NearestSense().fit([[1, 0], [0, 1]], [("a", "a", "a"), "a"])
    assert model.counts_.tolist() == [2] and model.sense_vectors_.tolist() == [[0.5, 0.5]]


def test_senses_compete_only_within_their_word():
    model = NearestSense().fit([[1, 0], [0, 1], [1, 0.1]], [RIVER, MONEY, CHAIR], [BANK, BANK, SEAT])
    assert model.predict([[1, 0.1], [1, 0.1]], [BANK, SEAT]).tolist() == [RIVER, CHAIR]


def test_any_gold_key_is_right():
    model = NearestSense().fit([[1, 0], [0, 1]], [RIVER, (MONEY,)], [BANK, BANK])
    assert model.score([[1, 0], [0, 1]], [(MONEY, RIVER), RIVER], [BANK, BANK]) == 0.5


def test_a_word_without_example_takes_its_first_sense():
    model = NearestSense(first_senses={SEAT: CHAIR, BANK: RIVER}).fit([[1, 0]], [MONEY], [BANK])
    assert model.predict([[0, 1], [0, 1]], [SEAT, BANK]).tolist() == [CHAIR, MONEY]


def test_an_unknown_lemma_is_named():
    model = NearestSense().fit([[1, 0]], [MONEY], [BANK])
    with pytest.raises(ValueError, match=r"1 have neither: \('seat', 'NOUN'\). Leave them out, or give first_senses"):
        model.predict([[0, 1], [1, 0], [1, 1]], [SEAT, BANK, SEAT])


def test_a_sense_without_example_is_named():
    with pytest.raises(ValueError, match=f"fit saw none of '{RIVER}'"):
        NearestSense().fit([[1, 0]], [MONEY], [BANK]).sense_vector(RIVER)
    with pytest.raises(ValueError, match="give each occurrence a sense; that of row 1 is empty"):
        NearestSense().fit([[1, 0], [0, 1]], [MONEY, ()], [BANK, BANK])


@pytest.mark.parametrize(
    ("X", "y", "words", "message"),
    [
        ([[1, 0], [0, 0]], [MONEY] * 2, None, "row 1 is. Leave it out"),
        ([[np.nan, 0], [1, 0]], [MONEY] * 2, None, "row 0 holds NaN or infinity"),
        ([[1, 0], [np.inf, 0]], [MONEY] * 2, None, "row 1 holds NaN or infinity"),
        ([[1, 0], [0, 1]], [MONEY], None, "a sense for each of the 2 vectors of X; got 1"),
        ([[1, 0], [0, 1]], [MONEY] * 2, [BANK], "a word for each of the 2 vectors of X; got 1"),
        ([1, 0], [MONEY] * 2, None, r"shape \(n, D\), at least one; got \(2,\)"),
        (np.zeros((0, 4)), [], None, r"got \(0, 4\)"),
        ([[1, 0], [-1, 0]], [MONEY] * 2, None, f"those of '{MONEY}' have the mean zero"),
    ],
)
def test_fit_refuses_what_it_cannot_learn_from(X, y, words, message):
    with pytest.raises(ValueError, match=message):
        NearestSense().fit(X, y, words)


def test_predict_refuses_what_does_not_fit():
    model = NearestSense().fit([[1, 0]], [MONEY], [BANK])
    with pytest.raises(ValueError, match="vectors of 2 numbers, as in fit; got 3"):
        model.predict([[1, 0, 0]], [BANK])
    with pytest.raises(ValueError, match="words must be given to predict if, and only if"):
        model.predict([[1, 0]])
    with pytest.raises(ValueError, match="row 0 is"):
        model.predict([[0, 0]], [BANK])
    with pytest.raises(ValueError, match="a sense for each of the 1 vectors of X; got 2"):
        model.score([[1, 0]], [MONEY, MONEY], [BANK])
    with pytest.raises(ValueError, match="n_neighbors must be None or an integer of at least 1; got 0"):
        NearestSense(n_neighbors=0).fit([[1, 0]], [MONEY])


def test_keeps_to_the_conventions_of_scikit_learn():
    from sklearn.exceptions import NotFittedError

    model = NearestSense({BANK: RIVER}, n_neighbors=3)
    assert clone(model).get_params() == {"first_senses": {BANK: RIVER}, "n_neighbors": 3}
    assert model.set_params(n_neighbors=None).n_neighbors is None
    vectors = np.random.default_rng(0).normal(size=(30, 4)) + np.repeat(np.eye(4)[:2] * 5, 15, axis=0)
    labels = ["a"] * 15 + ["b"] * 15
    assert cross_val_score(make_pipeline(Standardizer(), NearestSense()), vectors, labels, cv=3).min() == 1.0
    for y in (labels, [0] * 15 + [1] * 15):
        assert cross_val_score(NearestSense(), vectors, y, cv=3, scoring="accuracy").min() == 1.0
    assert model.fit(vectors, labels) is model and model.classes_.tolist() == ["a", "b"]
    with pytest.raises(NotFittedError):
        NearestSense().predict(vectors)


def test_the_most_frequent_sense_comes_from_the_corpus_and_ties_from_wordnet():
    instances = [Instance("", BANK, 0, 0, (sense,)) for sense in (MONEY, MONEY, RIVER)]
    instances += [Instance("", SEAT, 0, 0, (sense,)) for sense in ("seat%1:08:00::", CHAIR)]
    frequent = most_frequent_senses(SenseCorpus([], instances), {SEAT: [CHAIR, "seat%1:08:00::"]})
    assert frequent == {BANK: MONEY, SEAT: CHAIR}


def wordnet_archive(folder, without: str = ""):
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
            if name != without:
                member = tarfile.TarInfo(f"./{name}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content.encode()))
    return path


def test_wordnet_is_read_in_its_order_with_satellites_among_adjectives(tmp_path):
    pytest.importorskip("nltk")
    wordnet = word_senses.open_wordnet(wordnet_archive(tmp_path), tmp_path / "files")
    words = [BANK, ("odd", "ADJ"), ("strange", "ADJ"), ("bank", "VERB"), ("nothing", "ADV")]
    found = word_senses.word_senses(wordnet, words)
    assert found == {
        BANK: [MONEY, RIVER],
        ("odd", "ADJ"): ["odd%5:00:00:strange:00"],
        ("strange", "ADJ"): ["strange%3:00:00::"],
    }
    assert word_senses.first_senses(wordnet, words)[BANK] == MONEY
    assert word_senses.find_lemma(wordnet, RIVER).synset().definition() == "sloping land"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "wordnet-dict.tar.xz"]
    with pytest.raises(ValueError, match="WordNet has no sense 'bank%1:99:00::'"):
        word_senses.find_lemma(wordnet, "bank%1:99:00::")
    with pytest.raises(ValueError, match="a part of speech must be one of NOUN, VERB, ADJ, ADV; got 'NN'"):
        word_senses.word_senses(wordnet, [("bank", "NN")])


def test_without_nltk_wordnet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(
        ModuleNotFoundError, match='WordNet needs the package nltk; .*pip install "bertcourse.benchmark'
    ):
        word_senses.open_wordnet(tmp_path / "absent", tmp_path)


def test_a_damaged_wordnet_is_refused_and_nothing_is_left(tmp_path):
    path = wordnet_archive(tmp_path, without="index.verb")
    with pytest.raises(ValueError, match="must hold WordNet's database files; missing: index.verb"):
        dictionary.unpack_wordnet(path, tmp_path / "files")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="must be an archive of WordNet; it is damaged"):
        dictionary.unpack_wordnet(path, tmp_path / "files")
    path.unlink()
    with pytest.raises(FileNotFoundError, match="there is no such file. Fetch it: bertcourse data get wordnet"):
        dictionary.unpack_wordnet(path, tmp_path / "files")
    assert list(tmp_path.iterdir()) == []


def test_lexicographer_files_are_wordnets():
    lines = dictionary.LEXNAMES.splitlines()
    assert (
        len(lines) == 45
        and lines[0] == "00\tadj.all\t3"
        and lines[2] == "02\tadv.all\t4"
        and lines[44] == "44\tadj.ppl\t3"
    )
    assert lines[14] == "14\tnoun.group\t1" and lines[38] == "38\tverb.motion\t2"


def test_a_sense_that_nltk_lists_twice_is_listed_once():
    class Entry:
        def key(self):
            return RIVER

    class Reader:
        def lemmas(self, lemma, part):
            return [Entry(), Entry()]

    assert word_senses.word_senses(Reader(), [BANK]) == {BANK: [RIVER]}

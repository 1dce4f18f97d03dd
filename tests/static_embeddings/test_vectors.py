"""Word vectors: neighbours, analogies, files."""

import numpy as np
import pytest

from bertcourse.static_embeddings import WordVectors


@pytest.fixture
def vectors():
    random = np.random.default_rng(0)
    return WordVectors([f"w{i}" for i in range(20)], random.normal(size=(20, 5)))


def test_neighbours_are_sorted_by_cosine_without_the_word_itself(vectors):
    found = vectors.neighbours("w3", k=19)
    assert "w3" not in {each.word for each in found} and len(found) == 19
    for word, similarity in found:
        a, b = vectors["w3"], vectors[word]
        assert similarity == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-5)
    assert [each.similarity for each in found] == sorted([each.similarity for each in found], reverse=True)
    assert vectors.neighbours("w3", k=1) == found[:1] and len(vectors.neighbours("w3", k=99)) == 19


def test_length_does_not_matter_to_an_analogy():
    words = ["man", "king", "woman", "queen", "sky"]
    matrix = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 1], [-1, 0, 0]])
    matrix = matrix * np.array([[1], [9], [0.1], [3], [1]])
    assert WordVectors(words, matrix).analogy("man", "king", "woman", k=1)[0].word == "queen"


def test_without_the_trick_an_analogy_may_return_what_was_put_in():
    vectors = WordVectors(["a", "b", "c", "d"], [[1, 0.1], [1, 0], [0.9, 0.5], [-1, 1]])
    assert vectors.analogy("a", "b", "c", k=1, exclude_inputs=False)[0].word in "abc"
    assert [each.word for each in vectors.analogy("a", "b", "c", k=9)] == ["d"]


def test_a_vector_of_zeros_is_near_nothing():
    vectors = WordVectors(["zero", "one"], [[0, 0], [1, 0]])
    assert vectors.similarity("zero", "one") == 0 and vectors.neighbours("zero")[0].similarity == 0


def test_what_is_saved_is_loaded(vectors, tmp_path):
    vectors.save(tmp_path / "vectors.txt")
    assert (tmp_path / "vectors.txt").read_text(encoding="utf-8").startswith("20 5\nw0 ")
    loaded = WordVectors.load(tmp_path / "vectors.txt")
    assert loaded.words == vectors.words
    np.testing.assert_array_equal(loaded.matrix, vectors.matrix)


def test_words_that_a_file_would_cut_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no space.*got 'new york'"):
        WordVectors(["king", "new york"], np.eye(2)).save(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
    WordVectors(["né\xa0e", "king"], np.eye(2)).save(tmp_path / "a.txt")
    assert WordVectors.load(tmp_path / "a.txt").words == ["né\xa0e", "king"]


def test_files_of_gensim_and_of_word2vec_are_read(tmp_path):
    """gensim ends a line with its last number, the C program with a space; both write words as they are."""
    (tmp_path / "a.txt").write_text("2 3\nné\xa0e 0.1 -2.5e-05 3 \nking -1.0 0.0 2.25\n", encoding="utf-8")
    loaded = WordVectors.load(tmp_path / "a.txt")
    assert loaded.words == ["né\xa0e", "king"] and loaded["king"].tolist() == [-1, 0, 2.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("king 1 2\n", "begin"),
        ("1 2\nking 1\n", "line 2.*2 numbers"),
        ("1 2\nking 1 x\n", "line 2.*2 numbers"),
        ("3 1\na 1\nb 1\n", "3 words"),
        ("2 1\na 1\na 1\n", "'a' twice"),
    ],
)
def test_a_damaged_file_is_refused_by_what_is_wrong(tmp_path, text, message):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        WordVectors.load(tmp_path / "a.txt")


def test_an_unknown_word_is_named(vectors):
    with pytest.raises(KeyError, match="King.*20 words"):
        vectors.neighbours("King")


def test_a_row_for_each_word_is_needed():
    with pytest.raises(ValueError, match="row for each"):
        WordVectors(["a"], np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"], [[1, 0], [np.nan, 1]]), "finite numbers; that of 'b'"),
        ((["a"], [[1, 0]], np.zeros((2, 2))), r"contexts.*\(1, 2\); got \(2, 2\)"),
        (([], np.zeros((0, 2))), "one word or more; got 0"),
    ],
)
def test_vectors_that_make_answers_wrong_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(*arguments)


def test_at_least_one_neighbour_is_asked_for(vectors):
    with pytest.raises(ValueError, match="k must be at least 1; got -1"):
        vectors.neighbours("w0", k=-1)


def test_a_binary_file_is_named(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"1 2\nking \xff\xfe\x00\x01")
    with pytest.raises(ValueError, match="a.bin must be a text in UTF-8"):
        WordVectors.load(tmp_path / "a.bin")

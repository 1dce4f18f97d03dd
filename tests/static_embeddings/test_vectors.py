"""Word vectors: neighbours and files."""

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


@pytest.mark.parametrize("text", ["king 1 2\n", "1 2\nking 1\n", "1 2\nking 1 x\n", "3 1\na 1\nb 1\n"])
def test_a_damaged_file_is_refused(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match="a.txt must be word2vec's text format"):
        WordVectors.load(tmp_path / "a.txt")


def test_an_unknown_word_is_named(vectors):
    with pytest.raises(KeyError, match="King.*20 words"):
        vectors.neighbours("King")


def test_a_row_for_each_word_is_needed_and_no_word_twice():
    for words in (["a"], ["a", "a"]):
        with pytest.raises(ValueError, match="row for each word"):
            WordVectors(words, np.zeros((2, 2)))


def test_a_binary_file_is_named(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"1 2\nking \xff\xfe\x00\x01")
    with pytest.raises(ValueError, match="a.bin must be word2vec's text format"):
        WordVectors.load(tmp_path / "a.bin")

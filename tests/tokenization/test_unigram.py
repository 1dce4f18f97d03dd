"""The unigram language model: lattices against brute force, the trainer against single lattices, round trips."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.tokenization import UnigramTokenizer, best_path, count_words, expected_counts, lattice, train_unigram
from bertcourse.tokenization.unigram_fast import Lattices, UnigramModel, seed_tokens
from tokenization.twins import twin_of

LOG_PROBS = {"a": -2.0, "b": -2.5, "c": -4.0, "ab": -3.0, "bc": -3.5, "abc": -6.0, "ca": -5.5}
TEXT = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness,
it was the epoch of belief, it was the epoch of incredulity, it was the season of Light, it was the season of Darkness,
it was the spring of hope, it was the winter of despair, we had everything before us, we had nothing before us"""


def segmentations(word: str, log_probs: dict[str, float]) -> dict[tuple[str, ...], float]:
    """Every way to cut a word into tokens, with its log-probability, by trying all 2^(length - 1)."""
    found = {}
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        bounds = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(word)]
        tokens = tuple(word[a:b] for a, b in itertools.pairwise(bounds))
        if all(token in log_probs for token in tokens):
            found[tokens] = sum(log_probs[token] for token in tokens)
    return found


@pytest.fixture(scope="module")
def trained() -> UnigramTokenizer:
    return UnigramTokenizer(train_unigram(count_words([TEXT]), 60))


@pytest.mark.parametrize("word", ["a", "abc", "cabcab", "abcabcabc"])
def test_best_path_is_the_best_of_all(word):
    every = segmentations(word, LOG_PROBS)
    path, best = best_path(lattice(word, LOG_PROBS))
    assert math.isclose(sum(edge.log_prob for edge in path), max(every.values()))
    assert best[-1] == pytest.approx(max(every.values())) and len(best) == len(word) + 1
    assert tuple(edge.token for edge in path) in every


@pytest.mark.parametrize("word", ["a", "abc", "cabcab", "abcabcabc"])
def test_expected_counts_are_shares_of_all_segmentations(word):
    every = segmentations(word, LOG_PROBS)
    total = sum(map(math.exp, every.values()))
    expected = Counter()
    for tokens, log_prob in every.items():
        for token in tokens:
            expected[token] += 3 * math.exp(log_prob) / total
    got, log_likelihood = expected_counts({word: 3}, LOG_PROBS)
    assert got == pytest.approx(expected)
    assert log_likelihood == pytest.approx(3 * math.log(total))


def losses(word_counts: dict[str, int], log_probs: dict[str, float]) -> dict[str, float]:
    """How much log-likelihood the corpus would lose without each token, in its best segmentations."""
    used: Counter[str] = Counter()
    for word, frequency in word_counts.items():
        for edge in best_path(lattice(word, log_probs))[0]:
            used[edge.token] += frequency
    lost = {}
    for token in log_probs:
        others = {other: log_prob for other, log_prob in log_probs.items() if other != token}
        if not segmentations(token, others):
            lost[token] = math.inf
        elif not used[token]:
            lost[token] = -math.inf
        else:
            parts = [edge.token for edge in best_path(lattice(token, others))[0]]
            new_total = used.total() + used[token] * (len(parts) - 1)
            log_share = math.log(used[token] / used.total())
            log_share_of_parts = sum(math.log((used[part] + used[token]) / new_total) for part in parts)
            lost[token] = used[token] * (log_share - log_share_of_parts)
    return lost


def test_all_lattices_at_once_count_as_one_by_one():
    generator = random.Random(0)
    words = ["".join(generator.choices("abc", k=generator.randint(1, 9))) for _ in range(50)]
    frequencies = np.array([generator.randint(1, 5) for _ in words], dtype=float)
    lattices = Lattices(words, list(LOG_PROBS))
    expected = Counter()
    for word, frequency in zip(words, frequencies):
        expected.update(expected_counts({word: frequency}, LOG_PROBS)[0])
    counts = lattices.expected_counts(np.exp(list(LOG_PROBS.values())), frequencies)
    assert dict(zip(LOG_PROBS, counts)) == pytest.approx(expected)


def test_each_step_of_training_equals_the_plain_one():
    words = Counter("".join(pair) for pair in itertools.pairwise(TEXT.split()))
    characters = Counter("".join(words))
    model = UnigramModel(words, {**characters, **dict(seed_tokens(words, 300, 8))}, len(characters))
    for _ in range(3):
        log_probs = dict(zip(model.tokens, np.log(model.probabilities).tolist()))
        assert dict(zip(model.tokens, model.expect())) == pytest.approx(expected_counts(words, log_probs)[0])
        assert dict(zip(model.tokens, model.losses())) == pytest.approx(losses(words, log_probs))
        model.maximize(model.expect())
        model.prune(int(0.8 * len(model.tokens)))


def test_all_lattices_at_once_find_the_best_paths():
    generator = random.Random(1)
    words = ["".join(generator.choices("abc", k=generator.randint(1, 9))) for _ in range(50)]
    log_probs = np.array(list(LOG_PROBS.values()))
    for log_probs in (log_probs, np.round(log_probs)):  # rounded, many segmentations are equally good
        owners, tokens = Lattices(words, list(LOG_PROBS)).best_paths(log_probs)
        model = dict(zip(LOG_PROBS, log_probs.tolist()))
        for i, word in enumerate(words):
            path = [list(LOG_PROBS)[token] for token in reversed(tokens[owners == i])]
            assert path == [edge.token for edge in best_path(lattice(word, model))[0]]


def test_each_round_of_em_raises_the_likelihood():
    words = count_words([TEXT])
    tokens = [*sorted(set("".join(words))), *(token for token, _ in seed_tokens(words, 200, 8))]
    log_probs, likelihoods = dict.fromkeys(tokens, -math.log(len(tokens))), []
    for _ in range(5):
        counts, log_likelihood = expected_counts(words, log_probs)
        likelihoods.append(log_likelihood)
        log_probs = {token: math.log(count / counts.total()) for token, count in counts.items() if count}
    assert likelihoods == sorted(likelihoods)


def test_seeds_occur_twice_and_say_something_new():
    assert seed_tokens({"set": 9, "reset": 1, "sets": 1, "sea": 1}, size=2, longest=4) == [("set", 33), ("se", 24)]
    assert seed_tokens({"the": 1, "then": 1}, size=9, longest=4) == [
        ("the", 6),
        ("he", 4),
    ]  # "th" always goes on with e


def test_vocabulary_has_its_size_and_every_character():
    words = count_words([TEXT])
    pieces = train_unigram(words, 40)
    assert len(pieces) == 40
    assert set("".join(words)) <= {token for token, _ in pieces}
    assert [p for _, p in pieces] == sorted((p for _, p in pieces), reverse=True)
    assert sum(math.exp(p) for _, p in pieces) <= 1


def test_vocabulary_may_be_the_characters_alone():
    assert sorted(token for token, _ in train_unigram({"abab": 3, "b": 1}, 2)) == ["a", "b"]


def test_unknown_characters_in_a_row_are_one_token(trained):
    encoding = trained.encode("ŧŧŧ was")
    assert encoding.tokens[:2] == ["▁", "[UNK]"]
    assert encoding.offsets[:2] == [(0, 0), (0, 3)]


@settings(deadline=None)
@given(st.text(alphabet="abcdefghi ŧ\n😀", max_size=50))
def test_offsets_slice_the_original_text(trained, text):
    encoding = trained.encode(text)
    assert encoding.ids == trained.encode_ids(text)
    for token, (start, end) in zip(encoding.tokens, encoding.offsets):
        assert token == "[UNK]" or token.removeprefix("▁") == text[start:end]


def test_equals_tokenizers(trained):
    theirs = twin_of(trained)
    for text in [TEXT, "unseen ŧ words [UNK] here", "", "  "]:
        got, expected = trained.encode(text), theirs.encode(text)
        assert got.ids == expected.ids


def test_ties_are_decided_as_tokenizers_does():
    generator = random.Random(3)
    for _ in range(50):
        tokens = {"".join(generator.choices("abc", k=generator.randint(2, 4))) for _ in range(12)}
        ours = UnigramTokenizer([(token, -float(len(token))) for token in ["▁", *"abc", *sorted(tokens)]])
        theirs = twin_of(ours)
        for _ in range(20):
            text = "".join(generator.choices("abc ▁", k=12))
            assert ours.encode_ids(text) == theirs.encode(text).ids, (text, tokens)
    assert [edge.token for edge in best_path(lattice("ab", {"a": -1.0, "b": -1.0, "ab": -2.0}))[0]] == ["ab"]


def test_log_probabilities_may_be_any_real_numbers():
    tokenizer = UnigramTokenizer([("▁", -1), ("a", np.float32(-2.5))])
    assert tokenizer.log_probs == {"▁": -1.0, "a": -2.5}
    assert tokenizer.encode_ids("aa") == twin_of(tokenizer).encode("aa").ids


@pytest.mark.parametrize(
    "text", ["it" * 75_000, pytest.param("e" + "\u0301" * 100_000, marks=pytest.mark.weekly), "\x00" * 1000]
)
def test_odd_texts_take_linear_time(trained, text, assert_linear_time):
    assert_linear_time(trained.encode, text)
    assert_linear_time(lambda part: train_unigram({part: 1, "it": 1}, 20), text)
    assert trained.encode(text).offsets[-1][1] == len(text)


def test_words_too_long_to_learn_from_give_their_characters():
    tokens = [token for token, _ in train_unigram({"ab" * 60: 1, "cd": 5}, 6)]
    assert sorted(tokens) == ["a", "b", "c", "d"]  # no "ab", sixty times as it occurs

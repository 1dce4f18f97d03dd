"""The unigram language model: lattices against brute force, the trainer against the plain lattice, round trips."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
import tokenizers
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.tokenization import Lattice, UnigramTokenizer, count_words, train_unigram
from bertcourse.tokenization.unigram_fast import Lattices, UnigramModel
from bertcourse.tokenization.unigram_training import seed_tokens

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
    path = Lattice(word, LOG_PROBS).best_path()
    assert math.isclose(sum(edge.log_prob for edge in path), max(every.values()))
    assert tuple(edge.token for edge in path) in every


@pytest.mark.parametrize("word", ["a", "abc", "cabcab", "abcabcabc"])
def test_posteriors_are_shares_of_all(word):
    every = segmentations(word, LOG_PROBS)
    total = sum(map(math.exp, every.values()))
    lattice = Lattice(word, LOG_PROBS)
    assert math.isclose(math.exp(lattice.forward()[-1]), total)
    assert math.isclose(math.exp(lattice.backward()[0]), total)
    expected = Counter()
    for tokens, log_prob in every.items():
        for token in tokens:
            expected[token] += math.exp(log_prob) / total
    got = Counter()
    for edge, probability in lattice.posteriors().items():
        got[edge.token] += probability
    assert got == pytest.approx(expected)


def test_one_token_a_position_on_every_path():
    posteriors = Lattice("abcab", LOG_PROBS).posteriors()
    for position in range(5):
        crossing = [p for edge, p in posteriors.items() if edge.start <= position < edge.end]
        assert math.isclose(sum(crossing), 1)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_samples_have_the_right_shares(alpha):
    weights = {tokens: math.exp(alpha * log_prob) for tokens, log_prob in segmentations("abca", LOG_PROBS).items()}
    lattice, generator = Lattice("abca", LOG_PROBS), random.Random(0)
    drawn = Counter(tuple(edge.token for edge in lattice.sample(generator, alpha)) for _ in range(10_000))
    for tokens, weight in weights.items():
        assert drawn[tokens] / 10_000 == pytest.approx(weight / sum(weights.values()), abs=0.02)


def test_sampling_is_seeded_and_keeps_the_text(trained):
    first, second, third = (trained.sample(TEXT, random.Random(seed)) for seed in (0, 0, 1))
    assert first == second != third
    assert trained.decode(first.ids) == trained.decode(third.ids) == " ".join(TEXT.split())
    assert trained.sample(TEXT, random.Random(0), alpha=1000).tokens == trained.tokenize(TEXT)


def expected_counts(word_counts: dict[str, int], log_probs: dict[str, float]) -> Counter[str]:
    """How often each token is used, averaged over all segmentations, one lattice at a time."""
    expected: Counter[str] = Counter()
    for word, frequency in word_counts.items():
        for edge, probability in Lattice(word, log_probs).posteriors().items():
            expected[edge.token] += frequency * probability
    return expected


def losses(word_counts: dict[str, int], log_probs: dict[str, float]) -> dict[str, float]:
    """How much log-likelihood the corpus would lose without each token, in its best segmentations."""
    used: Counter[str] = Counter()
    for word, frequency in word_counts.items():
        for edge in Lattice(word, log_probs).best_path():
            used[edge.token] += frequency
    lost = {}
    for token in log_probs:
        others = {other: log_prob for other, log_prob in log_probs.items() if other != token}
        parts = [edge.token for edge in Lattice(token, others).best_path()]
        if None in parts:
            lost[token] = math.inf
        elif not used[token]:
            lost[token] = -math.inf
        else:
            new_total = used.total() + used[token] * (len(parts) - 1)
            log_share = math.log(used[token] / used.total())
            log_share_of_parts = sum(math.log((used[part] + used[token]) / new_total) for part in parts)
            lost[token] = used[token] * (log_share - log_share_of_parts)
    return lost


def test_all_lattices_at_once_count_as_one_by_one():
    generator = random.Random(0)
    words = ["".join(generator.choices("abc", k=generator.randint(1, 9))) for _ in range(50)]
    frequencies = np.array([generator.randint(1, 5) for _ in words], dtype=float)
    lattices = Lattices(words, list(LOG_PROBS), longest=3)
    expected = Counter()
    for word, frequency in zip(words, frequencies):
        expected.update(expected_counts({word: frequency}, LOG_PROBS))
    counts = lattices.expected_counts(np.exp(list(LOG_PROBS.values())), frequencies)
    assert dict(zip(LOG_PROBS, counts)) == pytest.approx(expected)


def test_each_step_of_training_equals_the_plain_one():
    words = Counter("".join(pair) for pair in itertools.pairwise(TEXT.split()))
    characters = Counter("".join(words))
    model = UnigramModel(words, {**characters, **dict(seed_tokens(words, 300, 8))}, len(characters), 8)
    for _ in range(3):
        log_probs = dict(zip(model.tokens, np.log(model.probabilities).tolist()))
        assert dict(zip(model.tokens, model.expect())) == pytest.approx(expected_counts(words, log_probs))
        assert dict(zip(model.tokens, model.losses())) == pytest.approx(losses(words, log_probs))
        model.maximize(model.expect())
        model.prune(int(0.8 * len(model.tokens)))


def test_all_lattices_at_once_find_the_best_paths():
    generator = random.Random(1)
    words = ["".join(generator.choices("abc", k=generator.randint(1, 9))) for _ in range(50)]
    log_probs = np.array(list(LOG_PROBS.values()))
    for log_probs in (log_probs, np.round(log_probs)):  # rounded, many segmentations are equally good
        owners, tokens = Lattices(words, list(LOG_PROBS), longest=3).best_paths(log_probs)
        model = dict(zip(LOG_PROBS, log_probs.tolist()))
        for i, word in enumerate(words):
            path = [list(LOG_PROBS)[token] for token in reversed(tokens[owners == i])]
            assert path == [edge.token for edge in Lattice(word, model).best_path()]


def test_each_round_of_em_raises_the_likelihood():
    words = count_words([TEXT])
    tokens = [*sorted(set("".join(words))), *(token for token, _ in seed_tokens(words, 200, 8))]
    frequencies = np.array(list(words.values()), dtype=float)
    lattices, probabilities, likelihoods = Lattices(list(words), tokens, 8), np.full(len(tokens), 1 / len(tokens)), []
    for _ in range(5):
        model = dict(zip(tokens, np.log(np.maximum(probabilities, 1e-30))))
        likelihoods.append(sum(count * Lattice(word, model).forward()[-1] for word, count in words.items()))
        counts = lattices.expected_counts(probabilities, frequencies)
        probabilities = counts / counts.sum()
    assert likelihoods == sorted(likelihoods)


def test_seeds_occur_twice_and_say_something_new():
    assert seed_tokens({"set": 9, "reset": 1, "sets": 1, "sea": 1}, size=2, longest=4) == [("set", 33), ("se", 24)]
    assert seed_tokens({"the": 1, "then": 1}, size=9, longest=4) == [
        ("the", 6),
        ("he", 4),
    ]  # "th" always goes on with e


def test_vocabulary_has_its_size_and_every_character():
    words = count_words([TEXT])
    pieces = train_unigram(words, 41, special_tokens=["[UNK]"])
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
    theirs = trained.to_tokenizers()
    for text in [TEXT, "unseen ŧ words [UNK] here", "", "  "]:
        got, expected = trained.encode(text), theirs.encode(text)
        assert got.ids == expected.ids


def test_ties_are_decided_as_tokenizers_does():
    generator = random.Random(3)
    for _ in range(50):
        tokens = {"".join(generator.choices("abc", k=generator.randint(2, 4))) for _ in range(12)}
        ours = UnigramTokenizer([(token, -float(len(token))) for token in ["▁", *"abc", *sorted(tokens)]])
        theirs = ours.to_tokenizers()
        for _ in range(20):
            text = "".join(generator.choices("abc ▁", k=12))
            assert ours.encode_ids(text) == theirs.encode(text).ids, (text, tokens)
    assert [edge.token for edge in Lattice("ab", {"a": -1.0, "b": -1.0, "ab": -2.0}).best_path()] == ["ab"]


def test_log_probabilities_may_be_any_real_numbers():
    tokenizer = UnigramTokenizer([("▁", -1), ("a", np.float32(-2.5))])
    assert tokenizer.log_probs == {"▁": -1.0, "a": -2.5}
    assert tokenizer.encode_ids("aa") == tokenizer.to_tokenizers().encode("aa").ids


def test_saved_folder_loads_in_tokenizers_and_transformers(trained, tmp_path):
    trained.save(tmp_path)
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(TEXT).ids == trained.encode_ids(TEXT)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path)(TEXT)["input_ids"] == trained.encode_ids(TEXT)


@pytest.mark.parametrize("text", ["it" * 75_000, "e" + "\u0301" * 100_000, "\x00" * 1000])
def test_odd_texts_take_linear_time(trained, text, assert_linear_time):
    assert_linear_time(trained.encode, text)
    assert_linear_time(lambda part: train_unigram({part: 1, "it": 1}, 20), text)
    assert trained.encode(text).offsets[-1][1] == len(text)


@pytest.mark.parametrize(
    "corpus, size, error, message",
    [
        ({}, 10, ValueError, "at least one word"),
        ({"abc": 1}, 2, ValueError, "room for the 3"),
        ({1: 1}, 10, TypeError, "str to int"),
    ],
)
def test_bad_corpus_is_refused(corpus, size, error, message):
    with pytest.raises(error, match=message):
        train_unigram(corpus, size)


def test_words_too_long_to_learn_from_give_their_characters():
    tokens = [token for token, _ in train_unigram({"ab" * 60: 1, "cd": 5}, 6)]
    assert sorted(tokens) == ["a", "b", "c", "d"]  # no "ab", sixty times as it occurs
    with pytest.raises(ValueError, match="at most 100"):
        train_unigram({"a" * 101: 1, "b" * 500: 2}, 10)


@pytest.mark.parametrize(
    "settings, error, message",
    [
        (dict(shrink=1.0), ValueError, "shrink"),
        (dict(shrink=0), ValueError, "shrink"),
        (dict(shrink="0.5"), TypeError, "shrink"),
        (dict(em_steps=0), ValueError, "em_steps"),
        (dict(em_steps=1.5), TypeError, "em_steps"),
        (dict(seed_size=-1), ValueError, "seed_size"),
        (dict(longest_token=0), ValueError, "longest_token"),
        (dict(vocab_size=4.5), TypeError, "vocab_size"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        train_unigram({"abab": 5, "cab": 2}, **{"vocab_size": 4, **settings})


@pytest.mark.parametrize(
    "pieces, error, message",
    [
        ([], ValueError, "at least one token"),
        ([("a", -1.0), ("a", -2.0)], ValueError, "one id"),
        ([("a", -math.inf)], ValueError, "finite"),
        (["ab"], TypeError, "pairs"),
        ([("a", "-1")], TypeError, "pairs"),
    ],
)
def test_bad_pieces_are_refused(pieces, error, message):
    with pytest.raises(error, match=message):
        UnigramTokenizer(pieces)


def test_bad_text_ids_and_alpha_are_refused(trained):
    with pytest.raises(TypeError, match="str"):
        trained.encode(None)
    with pytest.raises(ValueError, match="surrogate"):
        trained.sample("\udfff", random.Random(0))
    for alpha in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="alpha"):
            trained.sample("a", random.Random(0), alpha)
    with pytest.raises(TypeError, match="alpha"):
        trained.sample("a", random.Random(0), alpha="1")
    with pytest.raises(ValueError, match="from 0 to"):
        trained.decode([-1])


def test_lattice_without_tokens_is_refused():
    with pytest.raises(ValueError, match="at least one token"):
        Lattice("ab", {})
    with pytest.raises(TypeError, match="log_probs"):
        Lattice("ab", [("a", -1.0)])

"""WordPiece's trainers, by all rules, sampling of languages, and how long the trainers are."""

import ast
import inspect
import io
import math
import random
import tokenize
from collections import Counter

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from bertcourse.tokenization import (
    BPETokenizer,
    WordPieceTokenizer,
    count_words,
    mix_word_counts,
    normalized_words,
    sampling_probabilities,
    tokens_per_word,
    train_bpe,
    train_unigram,
    train_wordpiece,
)
from bertcourse.tokenization.bpe import count_pairs, merge_pair
from bertcourse.tokenization.bpe_fast import PairCounts, learn_merges, spell
from bertcourse.tokenization.unigram_fast import Lattices, UnigramModel
from bertcourse.tokenization.unigram_training import seed_tokens
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, PREFIX
from bertcourse.tokenization.wordpiece_fast import PairScores, learn_tokens
from bertcourse.tokenization.wordpiece_training import RULES, pair_score

HUGS = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}


def test_score_merges_symbols_that_are_seldom_apart():
    alphabet = ["b", "g", "h", "n", "p", "s", "u", "##g", "##n", "##s", "##u"]
    tokens = train_wordpiece(HUGS, 12, rule="score", special_tokens=[])
    assert tokens == [*alphabet, "##gs"]  # 5 / (20 × 5), where the most frequent, ##u ##g, has 20 / (36 × 20)


def test_bpe_rule_merges_the_most_frequent():
    assert train_wordpiece(HUGS, 14, rule="bpe", special_tokens=[])[-3:] == ["##ug", "##un", "hug"]


def test_likelihood_weighs_the_ratio_by_the_count():
    tokens = train_wordpiece(HUGS, 13, rule="likelihood", special_tokens=[])
    # ##u ##g: 20 log(20 · 113 / (36 · 20)) = 22.9; p ##u: 17 log(17 · 113 / (17 · 36)) = 19.4; ##g ##s: only 5 log
    # 5.65 = 8.7
    assert tokens[11:] == ["##ug", "##un"]  # then ##u ##n: 16 log(16 · 93 / (16 · 16)) = 28.2
    assert pair_score("likelihood", 20, 36, 20, 113) == pytest.approx(20 * math.log(20 * 113 / (36 * 20)))


def test_bpe_rule_is_hugging_faces_where_there_are_no_ties():
    corpus = {"hug": 11, "pug": 5, "pun": 12, "bun": 4, "hugs": 6}
    theirs = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(vocab_size=19, special_tokens=["[UNK]"], show_progress=False)
    theirs.train_from_iterator([f"{word} " * count for word, count in corpus.items()], trainer)
    ours, ids = train_wordpiece(corpus, 19, special_tokens=["[UNK]"]), theirs.get_vocab()
    assert ours[12:] == ["##ug", "hug", "##un", "pun", "hugs", "pug", "bun"]
    assert sorted(ids, key=ids.get)[12:] == ours[12:]
    assert ids.keys() == set(ours)


def plain_train_wordpiece(word_counts: dict[str, int], vocab_size: int, rule: str, min_frequency: int) -> list[str]:
    """Count symbols and pairs, merge the pair with the best score, start over."""
    spelling = {word: [word[0], *(PREFIX + character for character in word[1:])] for word in word_counts}
    characters = sorted(set("".join(word_counts)))
    insides = sorted({symbol for symbols in spelling.values() for symbol in symbols[1:]})
    tokens = list(dict.fromkeys([*BERT_SPECIAL_TOKENS, *characters, *insides]))
    while len(tokens) < vocab_size:
        symbol_counts: Counter[str] = Counter()
        for word, symbols in spelling.items():
            for symbol in symbols:
                symbol_counts[symbol] += word_counts[word]
        total = symbol_counts.total()
        scores = {
            (left, right): pair_score(rule, count, symbol_counts[left], symbol_counts[right], total)
            for (left, right), count in count_pairs(spelling, word_counts).items()
            if count >= min_frequency
        }
        if not scores:
            break
        ids = {token: i for i, token in enumerate(tokens)}
        left, right = max(scores, key=lambda pair: (scores[pair], -ids[pair[0]], -ids[pair[1]]))
        token = left + right.removeprefix(PREFIX)
        if token not in ids:
            tokens.append(token)
        spelling = {word: merge_pair(symbols, (left, right), token) for word, symbols in spelling.items()}
    return tokens


@pytest.mark.parametrize("rule", RULES)
def test_equals_the_plain_loop_on_300_corpora(rule):
    generator = random.Random(0)
    for _ in range(300):
        letters = generator.choice(["ab", "abc", "abcdefgh"])
        words = {
            "".join(generator.choices(letters, k=generator.randint(1, 10))) for _ in range(generator.randint(1, 25))
        }
        corpus = {word: generator.randint(1, 9) for word in sorted(words)}
        settings = dict(vocab_size=21 + generator.randint(0, 30), min_frequency=generator.choice([1, 1, 2, 5]))
        assert train_wordpiece(corpus, rule=rule, **settings) == plain_train_wordpiece(corpus, rule=rule, **settings), (
            corpus
        )


def test_score_without_threshold_merges_junk_first():
    corpus = {**HUGS, "zyzzyva": 1, "qoph": 1}
    anything, frequent = (train_wordpiece(corpus, 33, "score", min_frequency=n, special_tokens=[])[24:] for n in (1, 5))
    assert anything == ["qo", "##ph", "##va", "qoph", "zy", "##yva", "##zyva", "##zzyva", "zyzzyva"]
    assert frequent[:4] == ["##gs", "hu", "hugs", "hug"]


def test_vocabulary_begins_with_specials_and_characters():
    tokens = train_wordpiece({"ba": 2}, 9)
    assert tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a", "ba"]


@pytest.mark.parametrize("rule", RULES)
def test_trained_vocabulary_spells_its_corpus(rule):
    text = "The unhappy hugging of puns, the happier hugs: un-happy PUNS!"
    words = count_words([text] * 3, normalized_words)
    tokenizer = WordPieceTokenizer(train_wordpiece(words, 50, rule))
    assert len(tokenizer.tokens) == 50
    assert "[UNK]" not in tokenizer.tokenize(text)
    assert tokenizer.encode_ids(text) == tokenizer.to_tokenizers().encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    "corpus, size, error, message",
    [
        ({}, 100, ValueError, "at least one word"),
        ({"abc": 1}, 9, ValueError, "room for the 10"),
        ({"": 2}, 100, ValueError, "a character"),
        ([("a", 1)], 100, TypeError, "got list"),
        ({"a": 1}, 100.5, TypeError, "whole number"),
    ],
)
def test_bad_corpus_is_refused(corpus, size, error, message):
    with pytest.raises(error, match=message):
        train_wordpiece(corpus, size)


def test_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="likelihood"):
        train_wordpiece(HUGS, 100, rule="best")


def test_alpha_between_shares_and_equality():
    sizes = {"en": 900, "de": 90, "sw": 10}
    assert sampling_probabilities(sizes, 1) == pytest.approx({"en": 0.9, "de": 0.09, "sw": 0.01})
    assert sampling_probabilities(sizes, 0) == pytest.approx(dict.fromkeys(sizes, 1 / 3))
    swahili = [sampling_probabilities(sizes, alpha)["sw"] for alpha in (1, 0.7, 0.3, 0)]
    assert swahili == sorted(swahili)
    assert sum(sampling_probabilities(sizes, 0.3).values()) == pytest.approx(1)


def test_mixing_keeps_the_amount_of_text():
    counts = {"en": {"the": 600, "of": 300}, "sw": {"na": 60, "ya": 40}}
    assert mix_word_counts(counts, 1) == Counter({"the": 600, "of": 300, "na": 60, "ya": 40})
    assert mix_word_counts(counts, 0).total() == pytest.approx(1000, abs=4)


def test_small_languages_pay_less_with_a_small_alpha():
    generator = random.Random(0)
    languages = {
        name: Counter({"".join(generator.choices(letters, k=6)): n + 1 for n in range(200)})
        for name, letters in {"large": "abcdef", "small": "uvwxyz"}.items()
    }
    languages["large"] = Counter({word: 50 * count for word, count in languages["large"].items()})
    paid = {}
    for alpha in (1.0, 0.3, 0.0):
        words = mix_word_counts(languages, alpha)
        tokenizer = BPETokenizer(train_bpe(words, 150), alphabet=set("".join(words)))
        paid[alpha] = {name: tokens_per_word(tokenizer, counts) for name, counts in languages.items()}
    assert paid[0.0]["small"] < paid[0.3]["small"] < paid[1.0]["small"]
    assert paid[0.0]["large"] > paid[0.3]["large"] > paid[1.0]["large"]


@pytest.mark.parametrize("sizes, alpha", [({}, 1), ({"en": 0}, 1), ({"en": 1}, -0.1), ({"en": 1}, float("nan"))])
def test_bad_sizes_are_refused(sizes, alpha):
    with pytest.raises(ValueError):
        sampling_probabilities(sizes, alpha)


def test_what_maps_nothing_is_refused():
    with pytest.raises(TypeError, match="word_counts"):
        mix_word_counts([], 1)
    with pytest.raises(TypeError, match="sizes"):
        sampling_probabilities([("en", 1)], 1)
    with pytest.raises(ValueError, match="alpha"):
        sampling_probabilities({"en": 1}, math.inf)


LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Lines with code on them: docstrings, comments and blank lines do not count, signatures do."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type not in LAYOUT]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - docstrings)


def test_code_lines_are_those_with_code():
    assert code_lines('def f():\n    """Two\n    lines."""\n\n    # why\n    return [\n        1,  # one\n    ]\n') == 4


# Counted are the functions and classes that learn. Not counted: imports, the checks that all trainers share, and BPE's
# plain loop. WordPiece's rules also use BPE's spell and PairCounts; the unigram model's sums, Lattices, are an entry of
# their own.
@pytest.mark.parametrize(
    "parts",
    [
        [train_bpe, learn_merges, spell, PairCounts],
        [train_wordpiece, pair_score, learn_tokens, PairScores],
        [train_unigram, seed_tokens, UnigramModel],
        [Lattices],
    ],
    ids=["bpe", "wordpiece", "unigram", "lattices"],
)
def test_a_trainer_has_fewer_than_105_lines_of_code(parts):
    assert sum(code_lines(inspect.getsource(part)) for part in parts) < 105

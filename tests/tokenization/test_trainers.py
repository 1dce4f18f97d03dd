"""WordPiece's trainer, sampling of languages, and how long the trainers are."""

import ast
import inspect
import io
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
    learn_merges,
    normalized_words,
    sampling_probabilities,
    tokens_per_word,
    train_bpe,
    train_unigram,
    train_wordpiece,
)
from bertcourse.tokenization.bpe_fast import PairCounts, _spell
from bertcourse.tokenization.unigram_fast import Lattices, UnigramModel, seed_tokens

HUGS = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
INSIDE = 0x10000  # added to the letters inside a word, so that they are other letters, behind all that begin one


def test_the_most_frequent_pair_is_merged():
    assert train_wordpiece(HUGS, 14, special_tokens=[])[-3:] == ["##ug", "##un", "hug"]


def test_equals_hugging_face_where_there_are_no_ties():
    corpus = {"hug": 11, "pug": 5, "pun": 12, "bun": 4, "hugs": 6}
    theirs = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(vocab_size=19, special_tokens=["[UNK]"], show_progress=False)
    theirs.train_from_iterator([f"{word} " * count for word, count in corpus.items()], trainer)
    ours, ids = train_wordpiece(corpus, 19, special_tokens=["[UNK]"]), theirs.get_vocab()
    assert ours[12:] == ["##ug", "hug", "##un", "pun", "hugs", "pug", "bun"]
    assert sorted(ids, key=ids.get)[12:] == ours[12:]
    assert ids.keys() == set(ours)


def test_it_is_the_lectures_bpe_of_words_whose_inner_letters_are_others():
    generator = random.Random(0)
    for _ in range(200):
        letters = generator.choice(["ab", "abc", "abcdefgh"])
        words = ["".join(generator.choices(letters, k=generator.randint(1, 10))) for _ in range(25)]
        corpus = {word: generator.randint(1, 9) for word in sorted(set(words))}
        others = {word[0] + "".join(chr(ord(c) + INSIDE) for c in word[1:]): n for word, n in corpus.items()}
        expected = []
        for token in map("".join, learn_merges(others, 30)):
            spelt = "".join(chr(ord(c) % INSIDE) for c in token)
            expected.append(spelt if ord(token[0]) < INSIDE else f"##{spelt}")
        letters, insides = set("".join(corpus)), set("".join(word[1:] for word in corpus))
        start, new = len(letters) + len(insides), list(dict.fromkeys(expected))
        assert train_wordpiece(corpus, start + len(new), [])[start:] == new, corpus


def test_vocabulary_begins_with_specials_and_characters():
    tokens = train_wordpiece({"ba": 2}, 9)
    assert tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a", "ba"]


def test_a_trained_vocabulary_spells_its_corpus():
    text = "The unhappy hugging of puns, the happier hugs: un-happy PUNS!"
    words = count_words([text] * 3, normalized_words)
    tokenizer = WordPieceTokenizer(train_wordpiece(words, 50))
    assert len(tokenizer.tokens) == 50
    assert "[UNK]" not in tokenizer.tokenize(text)
    assert tokenizer.encode_ids(text) == tokenizer.to_tokenizers().encode(text, add_special_tokens=False).ids


def test_alpha_between_shares_and_equality():
    sizes = {"en": 900, "de": 90, "sw": 10}
    assert sampling_probabilities(sizes, 1) == pytest.approx({"en": 0.9, "de": 0.09, "sw": 0.01})
    assert sampling_probabilities(sizes, 0) == pytest.approx(dict.fromkeys(sizes, 1 / 3))
    swahili = [sampling_probabilities(sizes, alpha)["sw"] for alpha in (1, 0.7, 0.3, 0)]
    assert swahili == sorted(swahili)
    assert sum(sampling_probabilities(sizes, 0.3).values()) == pytest.approx(1)


def test_small_languages_pay_less_with_a_small_alpha():
    generator = random.Random(0)
    languages = {
        name: Counter({"".join(generator.choices(letters, k=6)): n + 1 for n in range(200)})
        for name, letters in {"large": "abcdef", "small": "uvwxyz"}.items()
    }
    paid = {}
    for alpha in (1.0, 0.3, 0.0):
        shares = sampling_probabilities({"large": 50, "small": 1}, alpha)
        words = {
            word: round(1e6 * shares[name] * n) for name, counts in languages.items() for word, n in counts.items()
        }
        tokenizer = BPETokenizer(train_bpe(words, 150), alphabet=set("".join(words)))
        paid[alpha] = {name: tokens_per_word(tokenizer, counts) for name, counts in languages.items()}
    assert paid[0.0]["small"] < paid[0.3]["small"] < paid[1.0]["small"]
    assert paid[0.0]["large"] > paid[0.3]["large"] > paid[1.0]["large"]


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


# Counted are the functions and classes that learn; the unigram model's sums, Lattices, are an entry of their own.
@pytest.mark.parametrize(
    "parts",
    [[train_bpe, _spell, PairCounts], [train_unigram, seed_tokens, UnigramModel], [Lattices]],
    ids=["bpe", "unigram", "lattices"],
)
def test_a_trainer_has_fewer_than_90_lines_of_code(parts):
    assert sum(code_lines(inspect.getsource(part)) for part in parts) < 90

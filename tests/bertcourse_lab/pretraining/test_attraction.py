"""Sentences whose nearest noun misleads are found by its number, and a share of the rows is filled with them."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from bertcourse.pretraining import Documents
from bertcourse.pretraining.masking import IGNORE, Vocabulary
from bertcourse_lab.pretraining.attraction import (
    PLURAL,
    SINGULAR,
    NumberMasks,
    NumberRows,
    Numbers,
    pairs_of_noun_and_verb,
    sentences_by_agreement,
)
from bertcourse_lab.pretraining.batches import RowMaker
from bertcourse_lab.pretraining.rows import collate

WORDS = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] ##th if may the a key keys cabinet cabinets to is are never "
    "lady ladies other others were do I men man it its . , of "
    "lock glass glasses as doth min ##strel ##strels ##ness ##ly"
).split()


@pytest.fixture(scope="module")
def tokenizer():
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


@pytest.fixture(scope="module")
def numbers(tokenizer):
    return Numbers.of(tokenizer)


def shard(tokenizer, *documents: list[str]) -> Documents:
    return Documents.of([[tokenizer.encode(sentence).ids for sentence in document] for document in documents])


def test_what_might_be_singular_or_plural_says_nothing_in_any_order():
    words = "sen sens senses key keys".split()
    for order in (words, words[::-1]):
        vocabulary = {
            word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *order])
        }
        nouns = Numbers.of(Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))).nouns
        found = {word: int(nouns[vocabulary[word]]) for word in words}
        assert found == {"sen": SINGULAR, "sens": 0, "senses": PLURAL, "key": SINGULAR, "keys": PLURAL}


def test_nouns_have_a_number_where_both_forms_are_words(numbers):
    found = {word: int(numbers.nouns[number]) for number, word in enumerate(WORDS) if numbers.nouns[number]}
    assert found == {
        **dict.fromkeys("key cabinet lady man glass ##th ##strel ##ness".split(), SINGULAR),
        **dict.fromkeys("keys cabinets ladies men glasses ##strels".split(), PLURAL),
    }
    verbs = {word: int(numbers.verbs[number]) for number, word in enumerate(WORDS) if numbers.verbs[number]}
    assert verbs == {"is": SINGULAR, "are": PLURAL, "were": PLURAL, "do": PLURAL}


@pytest.mark.parametrize(
    "sentence, agrees",
    [
        ("the key is .", [True]),
        ("the keys are .", [True]),
        ("the keys to the cabinet are .", [False]),
        ("the key to the cabinets is .", [False]),
        ("the keys to the cabinet never are .", [False]),
        ("the key to the cabinets never never is .", []),
        ("the others are .", []),
        ("is the key .", []),
        ("the keys to the cabinet are the keys , the key is a key .", [False, True]),
        ("the key do ##th it .", []),
        ("the keys to the min ##strel are .", [False]),
        ("the key to the min ##strels is .", [False]),
        ("the min ##strels are , the min ##ness is .", [True, True]),
        ("the key min ##ly is .", []),
        ("if the key were .", []),
        ("if the keys were .", [True]),
        ("if the keys is .", [False]),
        ("may the key of the lock of the man are .", [False]),
    ],
)
def test_the_noun_before_a_verb_agrees_or_misleads(tokenizer, numbers, sentence, agrees):
    _, nouns, verbs = pairs_of_noun_and_verb(shard(tokenizer, [sentence]), numbers)
    assert (nouns == verbs).tolist() == agrees


def test_a_noun_of_the_sentence_before_is_not_the_verbs(tokenizer, numbers):
    documents = shard(tokenizer, ["the keys", "is the key", "never is it"], ["is it"])
    assert pairs_of_noun_and_verb(documents, numbers)[0].tolist() == []


MISLEADING = ["the keys to the cabinet are .", "the key to the cabinets is .", "the men of the lady are ."]


@pytest.fixture(scope="module")
def documents(tokenizer):
    others = ["the key is .", "the lock .", "it is .", "the cabinets are the keys of it ."]
    return shard(tokenizer, *([others[i % 4], MISLEADING[i % 3], *others] for i in range(40)))


def texts(tokenizer, documents, rows, row) -> list[str]:
    spans = rows.spans[rows.first_span[row] : rows.first_span[row + 1]]
    return [tokenizer.decode(documents.tokens[a:b].tolist()) for a, b in spans]


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_share_of_the_rows_is_filled_with_misleading_sentences(tokenizer, numbers, documents, share):
    plain = RowMaker("sentence-pairs", 0.0).rows(documents, 24, np.random.default_rng(0))
    rows = NumberRows("sentence-pairs", 0.0, numbers, share, 1.0).rows(documents, 24, np.random.default_rng(0))
    for before, after in zip(plain, rows):
        np.testing.assert_array_equal(before, after[: len(before)])  # the usual rows come first, as they are
    more = range(len(plain), len(rows))
    assert len(more) == round(share / (1 - share) * len(plain)) > 5
    counts = dict.fromkeys(sentences_by_agreement(documents, numbers)[0].tolist(), 0)
    for row in more:
        sentences = texts(tokenizer, documents, rows, row)
        size = sum(len(sentence.split()) + 1 for sentence in sentences) + 1
        assert rows.lengths[row] == size <= 24 and rows.nsp_labels[row] == IGNORE
        assert size + min(len(sentence.split()) for sentence in MISLEADING) + 1 > 24  # no other fits
        for start, _ in rows.spans[rows.first_span[row] : rows.first_span[row + 1]]:
            counts[int(np.searchsorted(documents.sentences, start))] += 1
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("share", [0.4, 2 / 3])
def test_of_the_sentences_by_number_a_share_misleads_and_the_others_agree(tokenizer, numbers, documents, share):
    plain = RowMaker("sentence-pairs", 0.0).rows(documents, 24, np.random.default_rng(0))
    rows = NumberRows("sentence-pairs", 0.0, numbers, 0.9, share).rows(documents, 24, np.random.default_rng(0))
    read = [text for row in range(len(plain), len(rows)) for text in texts(tokenizer, documents, rows, row)]
    misleading = sum(text in MISLEADING for text in read)
    assert misleading / len(read) == pytest.approx(share, abs=0.02)
    assert {text for text in read if text not in MISLEADING} == {"the key is .", "the cabinets are the keys of it ."}


def test_rows_of_sentences_are_collated_with_a_separator_after_each(tokenizer, numbers, documents):
    rows = NumberRows("full-sentences", 0.0, numbers, 0.3, 1.0).rows(documents, 20, np.random.default_rng(1))
    last = len(rows) - 1
    batch = collate(documents, rows, np.array([last]), Vocabulary.of(tokenizer))
    read = tokenizer.decode(batch.input_ids[0].tolist(), skip_special_tokens=False)
    assert read == " ".join(["[CLS]", *(f"{text} [SEP]" for text in texts(tokenizer, documents, rows, last))])
    assert batch.nsp_labels.tolist() == [IGNORE] and not batch.token_type_ids.any()


def test_sentences_that_do_not_fit_are_left_out(tokenizer, numbers, documents):
    plain = RowMaker("sentence-pairs", 0.0).rows(documents, 8, np.random.default_rng(0))
    short = NumberRows("sentence-pairs", 0.0, numbers, 0.5, 1.0).rows(documents, 8, np.random.default_rng(0))
    assert len(short) == len(plain)  # each misleading sentence has seven tokens
    none = shard(tokenizer, *4 * [["the key is .", "the lock .", "it is ."]])
    assert len(NumberRows("sentence-pairs", 0.0, numbers, 0.5, 1.0).rows(none, 12, np.random.default_rng(0))) == len(
        RowMaker("sentence-pairs", 0.0).rows(none, 12, np.random.default_rng(0))
    )


def test_verbs_and_nouns_are_hidden_first_in_their_own_rows_only(tokenizer, numbers):
    vocabulary = Vocabulary.of(tokenizer)
    sentence = "the keys to the cabinet never are ."
    three, pair = (f"[CLS] {' [SEP] '.join([sentence] * count)} [SEP]" for count in (3, 2))
    masks = NumberMasks(numbers, verbs=1.0, nouns=0.0)
    for text, is_always in ((three, True), (pair, False)):
        ids = torch.tensor([tokenizer.encode(text).ids] * 200)
        places = masks(ids, vocabulary, count=6, generator=torch.Generator().manual_seed(0)).positions
        hidden = torch.zeros(ids.numel()).index_fill(0, places, 1).view_as(ids)
        rate = hidden[ids == tokenizer.token_to_id("are")].mean().item()
        assert rate == 1 if is_always else rate == pytest.approx(6 / 16, abs=0.08)
        by_chance = hidden[ids == tokenizer.token_to_id("keys")].mean().item()
        assert by_chance == pytest.approx(3 / 21 if is_always else 6 / 16, abs=0.08)


def test_verbs_and_nouns_are_hidden_first_as_often_as_asked(tokenizer, numbers):
    sentence = "the keys to the cabinet never are ."
    ids = torch.tensor([tokenizer.encode(f"[CLS] {' [SEP] '.join([sentence] * 3)} [SEP]").ids] * 400)
    for verbs, nouns in ((0.0, 1.0), (0.5, 0.0)):
        masks, generator = NumberMasks(numbers, verbs, nouns), torch.Generator().manual_seed(0)
        places = masks(ids, Vocabulary.of(tokenizer), count=6, generator=generator).positions
        hidden = torch.zeros(ids.numel()).index_fill(0, places, 1).view_as(ids)
        rates = {word: hidden[ids == tokenizer.token_to_id(word)].mean().item() for word in ("are", "keys", "cabinet")}
        if nouns:  # six nouns, six places
            assert rates == {"are": 0, "keys": 1, "cabinet": 1}
        else:  # half of the three before all others; the other half by chance, for what is left of the six places
            assert rates["are"] == pytest.approx(0.5 + 0.5 * 4.5 / 22.5, abs=0.06)

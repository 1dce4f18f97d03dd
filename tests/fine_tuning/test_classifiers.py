"""The sequence classifier: its rows are the tokenizer's, padding changes nothing, scores are as scikit-learn's."""

import random

import pytest
import torch

from bertcourse.bert import BertModel
from bertcourse.fine_tuning import LabeledText, SequenceClassifier
from bertcourse.fine_tuning.heads import classification_scores

LABELS = ["hardware", "software", "billing"]


def test_logits_are_a_linear_map_of_the_pooled_cls(encoder, small_tokenizer):
    head = SequenceClassifier(encoder, small_tokenizer, LABELS, pooling="cls").eval()
    (row,) = head.encode(["a b"])
    h = torch.tanh(head.bert.pooler(encoder(*head.batch([row])).last_hidden_state[0, 0]))
    torch.testing.assert_close(head.logits([row])[0], head.classifier.weight @ h + head.classifier.bias)


def test_an_encoder_without_a_pooler_gets_a_new_one(small_config, small_tokenizer):
    head = SequenceClassifier(BertModel(small_config, add_pooler=False), small_tokenizer, LABELS, pooling="cls")
    assert head.bert.pooler.weight.std() > 0.01
    assert not torch.equal(head.bert.pooler.weight[:3], head.classifier.weight)


def test_pairs_and_long_texts_are_encoded_as_bert_does(encoder, small_tokenizer):
    head = SequenceClassifier(encoder, small_tokenizer, LABELS, max_length=8)
    single, pair, long, empty = head.encode(["ab c", ("a", "b"), ("a b c d e f", "g h"), ""])
    for row, expected in ((single, small_tokenizer.encode("ab c")), (pair, small_tokenizer.encode("a", "b"))):
        assert (row.ids, row.type_ids) == (expected.ids, expected.type_ids)
    assert [small_tokenizer.id_to_token(i) for i in long.ids] == ["[CLS]", "a", "b", "c", "[SEP]", "g", "h", "[SEP]"]
    assert empty.ids == [2, 3]


@pytest.mark.parametrize("max_length", [8, 9, 16, 32])
def test_the_longer_text_of_a_pair_is_cut_first(encoder, small_tokenizer, max_length):
    """Sizes as by removing tokens of the longer one until the pair fits; a tie may go either way."""
    head = SequenceClassifier(encoder, small_tokenizer, LABELS, max_length=max_length)
    rng = random.Random(0)
    pairs = [[rng.randint(0, 30), rng.randint(0, 30)] for _ in range(300)]
    for pair, row in zip(pairs, head.encode([tuple("a " * size for size in pair) for pair in pairs])):
        sizes = pair.copy()
        while sum(sizes) > max_length - 3:
            sizes[sizes.index(max(sizes))] -= 1
        found = [row.type_ids.count(0) - 2, row.type_ids.count(1) - 1]
        assert found == sizes or (abs(found[0] - found[1]) == 1 and sorted(found) == sorted(sizes))


def test_padding_changes_no_prediction(encoder, small_tokenizer):
    for pooling in ("cls", "mean"):
        head = SequenceClassifier(encoder, small_tokenizer, LABELS, pooling=pooling).eval()
        texts = ["a", "a b c d e f g", ("ab", "cd e")]
        alone = torch.stack([head(*head.batch([row]))[0] for row in head.encode(texts)])
        torch.testing.assert_close(head.probabilities(texts), alone.softmax(1), atol=1e-5, rtol=1e-5)
        assert head.predict(texts) == [LABELS[i] for i in alone.argmax(1)]
    assert head.probabilities([]).shape == (0, len(LABELS))


def test_classifier_scores_equal_scikit_learn(encoder, small_tokenizer, monkeypatch):
    metrics = pytest.importorskip("sklearn.metrics")
    head = SequenceClassifier(encoder, small_tokenizer, LABELS)
    gold, predicted = torch.randint(3, (40,)), torch.randint(3, (40,))
    monkeypatch.setattr(head, "logits", lambda rows: list(torch.eye(3)[predicted]))
    examples = [LabeledText("a", LABELS[i]) for i in gold]
    scores = head.score(examples)
    assert scores["accuracy"] == pytest.approx(100 * metrics.accuracy_score(gold, predicted))
    assert scores["macro_f1"] == pytest.approx(100 * metrics.f1_score(gold, predicted, average="macro"))


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("a b", ValueError, "list of strings"),
        ([("a", "b", "c")], TypeError, "text 0"),
        (["a", float("nan")], TypeError, "text 1"),
        ([("a", "\ud800")], ValueError, "text 0.*lone surrogate"),
    ],
)
def test_what_is_no_text_is_named(encoder, small_tokenizer, texts, error, message):
    with pytest.raises(error, match=message):
        SequenceClassifier(encoder, small_tokenizer, LABELS).predict(texts)


def test_an_unknown_pooling_or_label_is_named(encoder, small_tokenizer):
    with pytest.raises(ValueError, match="pooling.*'max'"):
        SequenceClassifier(encoder, small_tokenizer, LABELS, pooling="max")
    with pytest.raises(ValueError, match="example 0.*label.*'x'"):
        SequenceClassifier(encoder, small_tokenizer, LABELS).rows([LabeledText("a", "x")])


def test_a_class_that_is_only_predicted_counts():
    metrics = pytest.importorskip("sklearn.metrics")
    gold, predicted = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 2])
    expected = 100 * metrics.f1_score(gold, predicted, average="macro")
    assert classification_scores(gold, predicted)["macro_f1"] == pytest.approx(expected)

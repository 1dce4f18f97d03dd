"""Which weights move, and how fast."""

import pytest
import torch

from bertcourse.bert import BertModel
from bertcourse.fine_tuning import LabeledText, SequenceClassifier
from bertcourse_lab.fine_tuning import fine_tune, freeze
from bertcourse_lab.fine_tuning.freezing import depth, parameter_groups

EXAMPLES = [LabeledText("a b", "x"), LabeledText("c", "y"), LabeledText("d e", "x"), LabeledText("f", "y")]


@pytest.fixture
def classifier(small_config, small_tokenizer) -> SequenceClassifier:
    return SequenceClassifier(BertModel(small_config), small_tokenizer, ["x", "y"], pooling="cls")


@pytest.mark.parametrize(("trainable", "deepest"), [("head", 0), (1, 1), (2, 2), ("all", 3)])
def test_only_what_shall_learn_moves(classifier, trainable, deepest):
    before = {name: parameter.clone() for name, parameter in classifier.named_parameters()}
    fine_tune(classifier, EXAMPLES, EXAMPLES, epochs=2, batch_size=2, learning_rate=1e-3, trainable=trainable)
    used = {"bert.embeddings.position_embeddings.weight", "bert.embeddings.word_embeddings.weight"}
    for name, parameter in classifier.named_parameters():
        moved = not torch.equal(parameter, before[name])
        still = name.endswith("key.bias")  # softmax takes no notice of it
        assert moved == (depth(name, 2) <= deepest) or still and depth(name, 2) <= deepest, name
    assert {name for name in before if depth(name, 2) == 3} >= used


def test_freezing_counts_what_learns(classifier):
    total = sum(parameter.numel() for parameter in classifier.parameters())
    head = 24 * 2 + 2 + 24 * 24 + 24
    block = sum(parameter.numel() for parameter in classifier.bert.encoder.blocks[0].parameters())
    assert [freeze(classifier, trainable) for trainable in ("head", 1, 2, "blocks", "all")] == [
        head,
        head + block,
        head + 2 * block,
        head + 2 * block,
        total,
    ]


def test_layers_learn_more_slowly_the_deeper_they_are(classifier):
    groups = parameter_groups(classifier, 1.0, 5.0, layer_decay=0.5, weight_decay=0.1)
    rate = {id(parameter): group["peak"] for group in groups for parameter in group["params"]}
    names = dict(classifier.named_parameters())
    assert rate[id(names["classifier.weight"])] == rate[id(names["bert.pooler.bias"])] == 5.0
    assert rate[id(names["bert.encoder.blocks.1.attention.query.weight"])] == 1.0
    assert rate[id(names["bert.encoder.blocks.0.attention.query.weight"])] == 0.5
    assert rate[id(names["bert.embeddings.word_embeddings.weight"])] == 0.25
    assert len(rate) == len(names)
    decay = {id(parameter): group["weight_decay"] for group in groups for parameter in group["params"]}
    assert {decay[id(p)] for p in names.values() if p.dim() > 1} == {0.1}
    assert {decay[id(p)] for p in names.values() if p.dim() < 2} == {0.0}


@pytest.mark.parametrize("trainable", ["tail", 0, 3, True, -1])
def test_what_cannot_be_frozen_so_is_named(classifier, trainable):
    with pytest.raises(ValueError, match="trainable"):
        freeze(classifier, trainable)

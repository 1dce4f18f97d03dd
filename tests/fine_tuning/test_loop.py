"""Lecture 7's loop: it learns, as its seed says, and only what may learn; and the course's model of pairs."""

import dataclasses

import pytest
import torch

from bertcourse.bert import BertModel
from bertcourse.datasets import course_file
from bertcourse.fine_tuning import LabeledText, SequenceClassifier, fine_tune
from bertcourse.question_answering import load_difference

EXAMPLES = [LabeledText(text, label) for text, label in (("a b", "x"), ("c d", "y"), ("b a", "x"), ("d c", "y"))]


@pytest.fixture
def new(small_config, small_tokenizer):
    config = dataclasses.replace(small_config, hidden_dropout_prob=0.1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = BertModel(config)
    return lambda: SequenceClassifier(encoder, small_tokenizer, ["x", "y"])


def test_it_learns_its_examples_and_leaves_the_model_ready(new):
    model = new()
    before = model.score(EXAMPLES)["accuracy"]
    fine_tune(model, EXAMPLES, epochs=30, learning_rate=5e-3, batch_size=2)
    assert before < 100 == model.score(EXAMPLES)["accuracy"]
    assert not model.training


def test_a_seed_gives_the_same_weights_and_another_one_others(new):
    def trained(seed: int) -> torch.Tensor:
        model = new()
        fine_tune(model, EXAMPLES, epochs=2, learning_rate=1e-2, batch_size=2, seed=seed)
        return model.classifier.weight.detach()

    torch.testing.assert_close(trained(1), trained(1))
    assert not torch.allclose(trained(1), trained(2))


def test_what_is_frozen_stays(new):
    model = new()
    model.bert.requires_grad_(False)
    before = {name: weights.clone() for name, weights in model.named_parameters()}
    fine_tune(model, EXAMPLES, epochs=1, learning_rate=1e-2)
    moved = {name for name, weights in model.named_parameters() if not torch.equal(weights, before[name])}
    assert moved == {"classifier.weight", "classifier.bias"}


def test_the_learning_rate_falls_to_zero(new, monkeypatch):
    rates = []
    step = torch.optim.AdamW.step

    def watched(self, *arguments):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    fine_tune(new(), EXAMPLES, epochs=2, learning_rate=1.0, batch_size=2)
    assert rates == [1.0, 0.75, 0.5, 0.25]


def test_the_model_of_pairs_that_the_course_ships_judges_a_scene(minilm):
    labels = ["entailment", "neutral", "contradiction"]
    judge = SequenceClassifier(*minilm, labels, max_length=64)
    load_difference(judge, course_file("inference/inference.safetensors"))
    scene = "Two children build a castle on the beach."
    claims = ["Children are playing outdoors.", "The children are siblings.", "The children are asleep."]
    assert judge.predict([(scene, claim) for claim in claims]) == labels

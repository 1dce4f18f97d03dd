"""Heads: what transformers loads from us and we from it gives the same logits; what does not fit is refused."""

import json
import re

import pytest
import torch

from bertcourse.bert import BertForPreTraining, save_pretrained
from bertcourse.fine_tuning import SequenceClassifier
from bertcourse.named_entities import TaggedSentence, TokenClassifier, tag_set
from bertcourse.question_answering import SpanPredictor

LABELS = ["hardware", "software", "billing"]
TAGS = tag_set(["PER", "ORG"])
IDS = torch.tensor([[2, 5, 6, 3, 0], [2, 7, 3, 8, 3]])
MASK = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
TYPES = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]])


@pytest.fixture
def heads(encoder, small_tokenizer) -> dict:
    return {
        "BertForSequenceClassification": SequenceClassifier(encoder, small_tokenizer, LABELS, pooling="cls", seed=1),
        "BertForTokenClassification": TokenClassifier(encoder, small_tokenizer, TAGS, seed=1),
        "BertForQuestionAnswering": SpanPredictor(encoder, small_tokenizer, seed=1),
    }


def their_logits(model) -> torch.Tensor:
    with torch.no_grad():
        output = model(input_ids=IDS, attention_mask=MASK, token_type_ids=TYPES)
    return output.logits if "logits" in output else torch.stack([output.start_logits, output.end_logits], dim=2)


KINDS = ["BertForSequenceClassification", "BertForTokenClassification", "BertForQuestionAnswering"]


@pytest.mark.parametrize("name", KINDS)
def test_transformers_loads_what_we_save_with_the_same_logits(heads, tmp_path, name):
    transformers = pytest.importorskip("transformers")
    ours = heads[name].eval()
    ours.save(tmp_path)
    theirs, notes = getattr(transformers, name).from_pretrained(tmp_path, output_loading_info=True)
    assert not notes["missing_keys"] and not notes["unexpected_keys"]
    torch.testing.assert_close(ours(IDS, MASK, TYPES), their_logits(theirs.eval()), atol=1e-5, rtol=1e-5)
    if hasattr(ours, "labels"):
        assert [theirs.config.id2label[i] for i in range(len(ours.labels))] == ours.labels
    assert (
        transformers.AutoTokenizer.from_pretrained(tmp_path)("ab c")["input_ids"] == ours.tokenizer.encode("ab c").ids
    )


@pytest.mark.parametrize("name", KINDS)
def test_we_load_what_transformers_saves_with_the_same_logits(small_config, small_tokenizer, tmp_path, name):
    transformers = pytest.importorskip("transformers")
    names = {"BertForSequenceClassification": LABELS, "BertForTokenClassification": TAGS}.get(name)
    more = {"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}} if names else {}
    config = transformers.BertConfig(**vars(small_config), **more)
    theirs = getattr(transformers, name)(config).eval()
    theirs.save_pretrained(tmp_path)
    small_tokenizer.save(str(tmp_path / "tokenizer.json"))
    head = {"BertForSequenceClassification": SequenceClassifier, "BertForTokenClassification": TokenClassifier}
    ours = head.get(name, SpanPredictor).load(tmp_path)
    torch.testing.assert_close(ours(IDS, MASK, TYPES), their_logits(theirs), atol=1e-5, rtol=1e-5)
    assert not names or ours.labels == names
    assert ours.dropout.p == (0.0 if head.get(name) is None else config.hidden_dropout_prob) != 0.5


def test_a_tagger_of_other_things_than_entities_loads(small_config, small_tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    names = {0: "NOUN", 1: "VERB"}
    config = transformers.BertConfig(**vars(small_config), id2label=names, label2id={n: i for i, n in names.items()})
    transformers.BertForTokenClassification(config).save_pretrained(tmp_path)
    small_tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tags,) = TokenClassifier.load(tmp_path).predict([["a", "b"]])
    assert set(tags) <= {"NOUN", "VERB"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"bertcourse": [1]}, "SequenceClassifier"),
        ({"bertcourse": {"colour": "red"}}, "colour"),
        ({"bertcourse": {"max_length": 10**9}}, "max_length"),
        ({"id2label": ["a", "b"]}, "SequenceClassifier"),
        ({"id2label": {"first": "a"}}, "SequenceClassifier"),
        ({"classifier_dropout": "none"}, "SequenceClassifier"),
        ({"classifier_dropout": 1.5}, "SequenceClassifier"),
        ({"architectures": 7}, "holds 7"),
    ],
)
def test_a_config_that_was_edited_is_named(encoder, small_tokenizer, tmp_path, fields, message):
    SequenceClassifier(encoder, small_tokenizer, LABELS).save(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | fields), encoding="utf-8")
    with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path))}.*{message}"):
        SequenceClassifier.load(tmp_path)


def test_examples_and_tokenizers_of_another_kind_are_named(encoder, small_tokenizer):
    classifier = SequenceClassifier(encoder, small_tokenizer, LABELS)
    with pytest.raises(TypeError, match="example 0.*LabeledText.*tuple"):
        classifier.rows([("a", "x")])
    with pytest.raises(TypeError, match="example 1.*TaggedSentence.*str"):
        TokenClassifier(encoder, small_tokenizer, TAGS).rows([TaggedSentence(["a"], ["O"]), "a"])
    with pytest.raises(TypeError, match="example 0.*Question.*dict"):
        SpanPredictor(encoder, small_tokenizer).rows([{"question": "a"}])
    with pytest.raises(TypeError, match="tokenizer.*NoneType"):
        SequenceClassifier(encoder, None, LABELS)


def test_heads_are_read_as_the_encoder_is(encoder, small_tokenizer, tmp_path, edit_safetensors):
    SequenceClassifier(encoder, small_tokenizer, LABELS).save(tmp_path)
    edit_safetensors(tmp_path / "model.safetensors", lambda t: t["classifier.bias"].fill_(torch.inf))
    with pytest.raises(ValueError, match="classifier.bias"):
        SequenceClassifier.load(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | {"vocab_size": 10**12}
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ValueError, match="config.json.*vocab_size"):
        SequenceClassifier.load(tmp_path)


def test_saved_and_loaded_keeps_every_option(encoder, small_tokenizer, tmp_path):
    made = [
        SequenceClassifier(encoder, small_tokenizer, LABELS, pooling="mean", max_length=20, dropout=0.3, seed=2),
        TokenClassifier(encoder, small_tokenizer, tag_set(["PER"]), max_length=20, dropout=0.2, seed=2),
        SpanPredictor(encoder, small_tokenizer, overlap=5, no_answer_margin=-1.5, max_answer_tokens=7, seed=2),
    ]
    for number, head in enumerate(made):
        head.eval().save(tmp_path / str(number))
        loaded = type(head).load(tmp_path / str(number))
        assert loaded.options() == head.options() and loaded.dropout.p == head.dropout.p and not loaded.training
        assert all(torch.equal(a, b) for a, b in zip(loaded.state_dict().values(), head.state_dict().values()))
        torch.testing.assert_close(loaded(IDS, MASK, TYPES), head(IDS, MASK, TYPES))


def test_a_checkpoint_for_another_task_is_refused(heads, encoder, small_tokenizer, tmp_path):
    for name, head in heads.items():
        head.save(tmp_path / name)
    with pytest.raises(ValueError, match="holds BertForTokenClassification"):
        SequenceClassifier.load(tmp_path / "BertForTokenClassification")
    with pytest.raises(ValueError, match="holds BertForSequenceClassification"):
        TokenClassifier.load(tmp_path / "BertForSequenceClassification")
    SequenceClassifier(encoder, small_tokenizer, LABELS, pooling="mean").save(tmp_path / "mean")
    with pytest.raises(ValueError, match="holds SequenceClassifier"):
        SpanPredictor.load(tmp_path / "mean")
    save_pretrained(BertForPreTraining(encoder.config), small_tokenizer, tmp_path / "pretrained")
    with pytest.raises(ValueError, match="holds BertForPreTraining.*SequenceClassifier.*labels"):
        SequenceClassifier.load(tmp_path / "pretrained")
    config = json.loads((tmp_path / "mean/config.json").read_text(encoding="utf-8"))
    (tmp_path / "mean/config.json").write_text(json.dumps({**config, "architectures": None}))
    with pytest.raises(ValueError, match="does not name"):
        SequenceClassifier.load(tmp_path / "mean")


def test_heads_start_from_copies_and_from_their_own_seed(encoder, small_tokenizer):
    state = torch.get_rng_state()
    one, two, other = (SequenceClassifier(encoder, small_tokenizer, LABELS, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one.classifier.weight, two.classifier.weight)
    assert not torch.equal(one.classifier.weight, other.classifier.weight)
    one.bert.embeddings.word_embeddings.weight.data.zero_()
    assert encoder.embeddings.word_embeddings.weight.abs().sum() > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, t: SequenceClassifier(e, t, ["one"]), "labels"),
        (lambda e, t: SequenceClassifier(e, t, ["a", "a"]), "labels"),
        (lambda e, t: SequenceClassifier(e, t, "ab"), "labels"),
        (lambda e, t: SequenceClassifier(e, t, LABELS, max_length=99), "max_length.*99"),
        (
            lambda e, t: SequenceClassifier(BertForPreTraining(e.config), t, LABELS),
            "encoder.*BertForPreTraining",
        ),
        (lambda e, t: SequenceClassifier(e, t, LABELS, max_length=10.5), "max_length.*10.5"),
        (lambda e, t: SequenceClassifier(e, t, LABELS, max_length="10"), "max_length.*'10'"),
    ],
)
def test_bad_input_is_named(encoder, small_tokenizer, call, message):
    with pytest.raises(ValueError, match=message):
        call(encoder, small_tokenizer)


@pytest.mark.parametrize("name", KINDS[:2])  # before a reader's head there is none, as in Hugging Face's class
def test_dropout_comes_right_before_the_head(heads, monkeypatch, name):
    head, dropped, whole = heads[name].train(), [], torch.nn.Dropout.forward
    head.dropout.p = 0.3
    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, x: (dropped.append(self.p), whole(self, x))[1])
    head(IDS, MASK, TYPES)
    assert dropped.count(0.3) == 1 and dropped[-1] == 0.3

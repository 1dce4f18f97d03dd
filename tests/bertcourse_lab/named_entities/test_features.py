"""A tagger on frozen features: the encoder is not touched, layers are those of the encoder, and it learns."""

import dataclasses
import json

import pytest
import torch

from bertcourse.bert import BertModel
from bertcourse.named_entities import TaggedSentence, tag_set
from bertcourse.word_senses import word_vectors
from bertcourse_lab.fine_tuning import fine_tune
from bertcourse_lab.named_entities import FeatureTagger

LABELS = tag_set(["X"])
WORDS = ["ab", "c", "a", "d", "ef", "b"]
SENTENCES = [
    TaggedSentence(words, ["B-X" if word.startswith("a") else "O" for word in words])
    for words in ([WORDS[(i * k) % 6] for i in range(1, 3 + k % 3)] for k in range(1, 25))
]


def test_features_are_the_encoders_layers(encoder, small_tokenizer):
    words = [sentence.words for sentence in SENTENCES[:3]]
    stacked = word_vectors(encoder, small_tokenizer, words, (0, 1, 2), pooling="stack")
    for layers, pooling, expected in (
        ((1,), "sum", stacked[0][:, 1]),
        ((0, -1), "sum", stacked[0][:, [0, 2]].sum(1)),
        ((2, 1), "mean", stacked[0][:, 1:].mean(1)),
        ((0, 1, 2), "concat", stacked[0].reshape(len(words[0]), -1)),
    ):
        row = FeatureTagger(encoder, small_tokenizer, LABELS, layers, pooling).encode(words)[0]
        torch.testing.assert_close(row.vectors, torch.from_numpy(expected.copy()), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("lstm_size", "decoder"), [(0, "argmax"), (8, "crf")])
def test_it_learns_is_saved_and_leaves_the_encoder_alone(encoder, small_tokenizer, tmp_path, lstm_size, decoder):
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    options = dict(layers=(0, 1), lstm_size=lstm_size, decoder=decoder)
    tagger = FeatureTagger(encoder, small_tokenizer, LABELS, **options)
    result = fine_tune(tagger, SENTENCES, SENTENCES[:8], tmp_path, epochs=15, batch_size=4, learning_rate=3e-2)
    assert result.scores["f1"] > 90 and tagger.score(SENTENCES[:8]) == result.scores
    assert all(torch.equal(before[name], tensor) for name, tensor in encoder.state_dict().items())
    assert not any(name.startswith("encoder") for name in tagger.state_dict())
    loaded = FeatureTagger.load(tmp_path / "model", encoder, small_tokenizer)
    words = [["a", "b"], [], ["\u200d", "ab", "c"]]
    assert loaded.predict(words) == tagger.predict(words) and [len(tags) for tags in loaded.predict(words)] == [2, 0, 3]


def test_learned_weights_begin_as_the_mean_and_are_learned_and_saved(encoder, small_tokenizer, tmp_path):
    words = [sentence.words for sentence in SENTENCES]
    weighted = FeatureTagger(encoder, small_tokenizer, LABELS, (0, 1, 2), "weighted").eval()
    mean = FeatureTagger(encoder, small_tokenizer, LABELS, (0, 1, 2), "mean").eval()
    for a, b in zip(weighted(weighted.encode(words)), mean(mean.encode(words))):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)
    fine_tune(weighted, SENTENCES, SENTENCES[:8], epochs=5, batch_size=4, learning_rate=3e-2)
    weights = weighted.layer_weights
    assert abs(weights.sum().item() - 1) < 1e-6 and weights.max() - weights.min() > 0.05
    weighted.save(tmp_path)
    loaded = FeatureTagger.load(tmp_path, encoder, small_tokenizer)
    assert torch.equal(loaded.layer_weights, weights) and loaded.predict(words) == weighted.predict(words)


def test_a_cache_serves_all_choices_of_layers(encoder, small_tokenizer, tmp_path):
    words = [sentence.words for sentence in SENTENCES]
    FeatureTagger(encoder, small_tokenizer, LABELS, (2,), cache=tmp_path).encode(words)
    files = sorted(tmp_path.rglob("*"))
    for layers, pooling in (((0,), "sum"), ((1, 0), "concat"), ((-1, 0), "mean")):
        plain = FeatureTagger(encoder, small_tokenizer, LABELS, layers, pooling).encode(words)
        cached = FeatureTagger(encoder, small_tokenizer, LABELS, layers, pooling, cache=tmp_path).encode(words)
        for a, b in zip(plain, cached, strict=True):
            torch.testing.assert_close(a.vectors, b.vectors, atol=1e-5, rtol=1e-5)
    assert sorted(tmp_path.rglob("*")) == files


def test_sentences_do_not_see_one_another(encoder, small_tokenizer):
    tagger = FeatureTagger(encoder, small_tokenizer, LABELS, layers=(-1,), lstm_size=6).eval()
    rows = tagger.encode([sentence.words for sentence in SENTENCES[:5]])
    together = tagger(rows)
    for row, logits in zip(rows, together):
        torch.testing.assert_close(tagger([row])[0], logits, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, t: FeatureTagger(e, t, LABELS, pooling="stack"), "pooling .*; got 'stack'"),
        (lambda e, t: FeatureTagger(e, t, LABELS, (9,)), "layers"),
        (lambda e, t: FeatureTagger(e, t, LABELS, (0,), lstm_size=-1), "lstm_size"),
        (lambda e, t: FeatureTagger(e, t, LABELS, (0,)).rows([TaggedSentence(["a"], [])]), "sentence 0 .*each word"),
        (lambda e, t: FeatureTagger(e.train(), t, LABELS, (0,)).predict([["a"]]), "evaluation mode"),
    ],
)
def test_bad_input_is_named(encoder, small_tokenizer, call, message):
    with pytest.raises(ValueError, match=message):
        call(encoder, small_tokenizer)


def test_another_encoder_is_refused(encoder, small_tokenizer, small_config, tmp_path):
    FeatureTagger(encoder, small_tokenizer, LABELS, (0,)).save(tmp_path)
    wider = BertModel(dataclasses.replace(small_config, hidden_size=32)).eval()
    with pytest.raises(ValueError, match="encoder .*32 dimensions"):
        FeatureTagger.load(tmp_path, wider, small_tokenizer)
    with pytest.raises(ValueError, match="this encoder; its weights differ"):
        FeatureTagger.load(tmp_path, BertModel(small_config).eval(), small_tokenizer)


def test_training_does_not_go_on_with_another_encoder_or_other_layers(encoder, small_tokenizer, small_config, tmp_path):
    def tune(encoder, layer, resume):
        tagger = FeatureTagger(encoder, small_tokenizer, LABELS, (layer,), "sum")
        fine_tune(tagger, SENTENCES, SENTENCES[:8], tmp_path, resume=resume, epochs=1)

    tune(encoder, 0, False)
    tune(encoder, 0, True)
    for other, layer, what in ((BertModel(small_config).eval(), 0, "encoder"), (encoder, 1, "layers")):
        with pytest.raises(ValueError, match=what):
            tune(other, layer, True)


def test_a_damaged_file_is_refused(encoder, small_tokenizer, tmp_path):
    FeatureTagger(encoder, small_tokenizer, LABELS, (0,)).save(tmp_path)
    (tmp_path / "tagger.safetensors").write_bytes(b"half")
    with pytest.raises(ValueError, match="tagger.safetensors .*damaged"):
        FeatureTagger.load(tmp_path, encoder, small_tokenizer)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lstm_size": 10**12}, "lstm_size .*6.* got 1000000000000"),
        ({"pooling": "median"}, "pooling"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_settings_that_do_not_fit_are_refused(encoder, small_tokenizer, tmp_path, settings, message):
    FeatureTagger(encoder, small_tokenizer, LABELS, (0,), lstm_size=6).save(tmp_path)
    path = tmp_path / "tagger.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | settings), encoding="utf-8")
    with pytest.raises(ValueError, match=f"tagger.json .*FeatureTagger; .*{message}"):
        FeatureTagger.load(tmp_path, encoder, small_tokenizer)


def test_weights_that_are_no_numbers_are_refused(encoder, small_tokenizer, tmp_path):
    tagger = FeatureTagger(encoder, small_tokenizer, LABELS, (0,))
    tagger.classifier.bias.data[0] = torch.nan
    tagger.save(tmp_path)
    with pytest.raises(ValueError, match="classifier.bias .*finite"):
        FeatureTagger.load(tmp_path, encoder, small_tokenizer)

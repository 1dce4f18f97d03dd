"""The run: it learns, keeps the best, stops when it should, goes on bitwise, and says what is wrong."""

import dataclasses
import json
import random
import signal
import threading

import numpy as np
import pytest
import safetensors.torch
import torch

from bertcourse.bert import BertModel
from bertcourse.fine_tuning import LabeledText, SequenceClassifier
from bertcourse.named_entities import TaggedSentence, tag_set
from bertcourse.pretraining import read_log
from bertcourse.question_answering import Answer, Question, SpanPredictor
from bertcourse_lab.fine_tuning import FineTuningConfig, fine_tune, trainer
from bertcourse_lab.fine_tuning.batches import shuffled_buckets
from bertcourse_lab.fine_tuning.freezing import parameter_groups
from bertcourse_lab.fine_tuning.trainer import FineTuningRun
from bertcourse_lab.named_entities import Tagger
from bertcourse_lab.training import Interrupted
from bertcourse_lab.training.steps import set_learning_rate

SETTINGS = dict(epochs=2, batch_size=8, learning_rate=1e-2)


def texts(count: int, seed: int) -> list[LabeledText]:
    """Letters, and whether "a" is among the first half of them or not at all."""
    draw = random.Random(seed)
    letters = [draw.choices("bcdefgh", k=draw.randint(2, 8)) for _ in range(count)]
    for number, word in enumerate(letters):
        word[0] = "a" if number % 2 else word[0]
    return [LabeledText(" ".join(word), "with" if "a" in word else "without") for word in letters]


TRAIN, DEV = texts(60, seed=0), texts(30, seed=1)


@pytest.fixture
def classifier(encoder, small_tokenizer) -> SequenceClassifier:
    return SequenceClassifier(encoder, small_tokenizer, ["without", "with"])


def equal(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values()))


def stop_at(monkeypatch, step: int, number: int = signal.SIGINT) -> None:
    """Send this process a signal in the middle of a step."""
    whole = FineTuningRun.backward

    def interrupted(self, batch):
        if self.progress.step == step:
            signal.raise_signal(number)
        return whole(self, batch)

    monkeypatch.setattr(FineTuningRun, "backward", interrupted)


def plain_fine_tune(model: torch.nn.Module, batches: list, config: FineTuningConfig) -> None:
    """The bare loop, over the batches of all epochs."""
    head_rate = config.head_learning_rate or config.learning_rate
    groups = parameter_groups(model, config.learning_rate, head_rate, config.layer_decay, config.weight_decay)
    optimizer = torch.optim.AdamW(groups, fused=True)
    model.train()
    for step, batch in enumerate(batches):
        optimizer.zero_grad()
        model.loss(batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        set_learning_rate(optimizer, config.rate_at(step / len(batches)))
        optimizer.step()


@pytest.mark.slow
def test_a_run_is_the_plain_loop_bit_by_bit(encoder, small_tokenizer, monkeypatch):
    made, plain = (SequenceClassifier(encoder, small_tokenizer, ["without", "with"], dropout=0.0) for _ in range(2))
    for head in (made, plain):
        head.bert.eval().train = lambda mode=True: head.bert  # no dropout, whose seeds are the run's
    batches, backward = [], FineTuningRun.backward

    def remembered(self, batch):
        batches.append(batch)
        return backward(self, batch)

    monkeypatch.setattr(FineTuningRun, "backward", remembered)
    uneven = dict(head_learning_rate=2e-2, layer_decay=0.5, weight_decay=0.1, clip=0.1)
    config = FineTuningConfig(**{**SETTINGS, **uneven}, evaluations=1, precision="float32")
    run = FineTuningRun(made, TRAIN, DEV, config, None, resume=False)
    run.train(threading.Event())
    plain_fine_tune(plain, batches, config)
    assert len(batches) == 16
    assert all(torch.equal(a, b) for a, b in zip(made.state_dict().values(), plain.state_dict().values()))


def test_a_classifier_learns_and_keeps_its_best_weights(classifier):
    result = fine_tune(classifier, TRAIN, DEV, epochs=12, batch_size=8, learning_rate=3e-3)
    assert result.scores["accuracy"] > 90 and not classifier.training
    assert classifier.score(DEV) == result.scores
    assert result.scores["accuracy"] == max(event["accuracy"] for event in result.history)
    assert [event["epoch"] for event in result.history] == list(range(1, 13)) and result.steps == 12 * 8
    assert result.history[-1]["loss"] < result.history[0]["loss"] and result.examples_per_second > 0
    first_best = next(e for e in result.history if e["accuracy"] == result.scores["accuracy"])
    assert result.step == first_best["step"]


@pytest.mark.slow
def test_a_tagger_and_a_reader_learn(encoder, small_tokenizer):
    sentences = [
        TaggedSentence(each.text.split(), ["B-X" if word == "a" else "O" for word in each.text.split()])
        for each in TRAIN
    ]
    for decoder in ("argmax", "crf"):
        tagger = Tagger(encoder, small_tokenizer, tag_set(["X"]), decoder=decoder)
        result = fine_tune(tagger, sentences, sentences[:20], epochs=5, batch_size=8, learning_rate=1e-2)
        assert result.scores["f1"] > 95 and list(result.scores) == ["f1", "precision", "recall", "accuracy"]
    questions = [
        Question(str(n), "a", f"{each.text[2:]} a b", (Answer("a", len(each.text) - 1),))
        for n, each in enumerate(TRAIN)
    ]
    reader = SpanPredictor(encoder, small_tokenizer)
    result = fine_tune(reader, questions, questions[:20], epochs=12, batch_size=8, learning_rate=1e-2)
    assert result.scores["exact_match"] > 80


def test_the_mean_of_the_last_weights_is_measured_and_kept(classifier, monkeypatch):
    """With 16 steps and a quarter of them: that of the weights after steps 13 to 16; training goes on from its own."""
    after, whole_step = [], torch.optim.AdamW.step

    def recorded_step(self, *arguments):
        whole_step(self, *arguments)
        after.append({name: parameter.detach().clone() for name, parameter in classifier.named_parameters()})

    monkeypatch.setattr(torch.optim.AdamW, "step", recorded_step)
    before = {name: tensor.clone() for name, tensor in classifier.state_dict().items()}
    fine_tune(classifier, TRAIN, DEV, evaluations=16, average_last=0.25, **SETTINGS)
    measured = list(after)
    classifier.load_state_dict(before)
    after.clear()
    result = fine_tune(classifier, TRAIN, DEV, evaluations=1, average_last=0.25, **SETTINGS)
    assert len(after) == 16 and result.step == 16
    assert all(a[name].equal(b[name]) for a, b in zip(measured, after) for name in a)  # measured often, or not
    for name, parameter in classifier.named_parameters():
        mean = torch.stack([weights[name] for weights in after[12:]]).mean(dim=0)
        torch.testing.assert_close(parameter.detach(), mean, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("precision", "average_last"), [("float32", 0.0), ("bfloat16", 0.5)])
def test_interrupted_and_resumed_equals_uninterrupted_bitwise(
    encoder, small_tokenizer, tmp_path, monkeypatch, number, precision, average_last
):
    def new():
        return SequenceClassifier(encoder, small_tokenizer, ["without", "with"])

    settings = dict(SETTINGS, epochs=3, precision=precision, average_last=average_last, evaluations=6)
    whole = new()
    expected = fine_tune(whole, TRAIN, DEV, tmp_path / "whole", **settings)
    for step in (3, 14):  # before and after a best measurement
        with monkeypatch.context() as patch:
            stop_at(patch, step, number)
            with pytest.raises(Interrupted, match=f"stopped after step {step + 1}; .*resume=True"):
                fine_tune(new(), TRAIN, DEV, tmp_path / "run", resume=step > 3, **settings)
    resumed = new()
    result = fine_tune(resumed, TRAIN, DEV, tmp_path / "run", resume=True, **settings)

    def timeless(history):
        return [{name: value for name, value in event.items() if name != "seconds"} for event in history]

    assert equal(resumed, whole) and result.scores == expected.scores and result.step == expected.step
    assert timeless(result.history) == timeless(expected.history) and len(result.history) == 6
    assert equal(SequenceClassifier.load(tmp_path / "run/model"), whole)
    steps = [event["step"] for event in read_log(tmp_path / "run/log.jsonl") if event["event"] == "evaluation"]
    assert steps == [event["step"] for event in result.history]
    again = fine_tune(new(), TRAIN, DEV, tmp_path / "run", resume=True, **settings)
    assert again.scores == result.scores and again.steps == result.steps


def test_a_killed_run_goes_on_from_its_last_checkpoint(encoder, small_tokenizer, tmp_path, monkeypatch):
    def new():
        return SequenceClassifier(encoder, small_tokenizer, ["without", "with"])

    settings = dict(SETTINGS, checkpoint_minutes=0.0)
    whole = new()
    fine_tune(whole, TRAIN, DEV, **settings)
    with monkeypatch.context() as patch:
        real = FineTuningRun.backward
        patch.setattr(FineTuningRun, "backward", lambda run, b: 1 / 0 if run.progress.step == 11 else real(run, b))
        with pytest.raises(ZeroDivisionError):
            fine_tune(new(), TRAIN, DEV, tmp_path, **settings)
    resumed = new()
    fine_tune(resumed, TRAIN, DEV, tmp_path, resume=True, **settings)
    assert equal(resumed, whole)


def test_without_a_folder_ctrl_c_is_ctrl_c(classifier, monkeypatch):
    stop_at(monkeypatch, 2)
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            fine_tune(classifier, TRAIN, DEV, **SETTINGS)
    finally:
        signal.signal(signal.SIGINT, inherited)
    assert not classifier.training


def test_the_seed_decides_and_the_callers_random_numbers_are_left_alone(encoder, small_tokenizer):
    trained = []
    for seed in (0, 0, 1):
        torch.rand(seed + len(trained))  # what the caller drew before does not matter
        state = torch.get_rng_state()
        model = SequenceClassifier(encoder, small_tokenizer, ["without", "with"])
        fine_tune(model, TRAIN, DEV, seed=seed, **SETTINGS)
        assert torch.equal(torch.get_rng_state(), state)
        trained.append(model)
    assert equal(trained[0], trained[1]) and not equal(trained[0], trained[2])


def test_gradients_of_before_do_not_count(encoder, small_tokenizer):
    trained = []
    for has_gradients in (False, True):
        model = SequenceClassifier(encoder, small_tokenizer, ["without", "with"])
        if has_gradients:
            sum(parameter.sum() for parameter in model.parameters()).backward()
        fine_tune(model, TRAIN, DEV, **SETTINGS)
        trained.append(model)
    assert equal(*trained)


def test_patience_ends_a_run_that_gets_no_better(classifier, monkeypatch):
    scores = iter([50.0, 70.0, 60.0, 70.0, 90.0])
    monkeypatch.setattr(SequenceClassifier, "measure", lambda *_: {"accuracy": next(scores)})
    result = fine_tune(classifier, TRAIN, DEV, epochs=9, batch_size=8, patience=2)
    assert len(result.history) == 4 and result.scores == {"accuracy": 70.0} and result.step == 2 * 8


def test_minutes_end_a_run_and_its_schedule(classifier, monkeypatch, ticking_clock):
    ticking_clock(trainer)
    rates = []
    whole_step = torch.optim.AdamW.step

    def watched(self, *arguments):
        rates.append(self.param_groups[0]["lr"])
        return whole_step(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    result = fine_tune(classifier, TRAIN, DEV, epochs=10_000, batch_size=8, minutes=0.02, evaluations=3, warmup=0.3)
    assert 1.2 <= result.seconds < 1.3 and len(result.history) == 3
    assert rates[-1] < 0.4 * max(rates) and rates[0] < 0.1 * max(rates)


def test_a_loss_that_is_no_number_stops_with_step_and_batch(classifier, monkeypatch):
    before = []
    whole_loss = SequenceClassifier.loss

    def poisoned(self, rows):
        if any(row.source == 7 for row in rows):
            before.append({name: tensor.clone() for name, tensor in self.state_dict().items()})
            return whole_loss(self, rows) * float("nan")
        return whole_loss(self, rows)

    monkeypatch.setattr(SequenceClassifier, "loss", poisoned)
    message = (
        r"step \d, batch \d of 8 in epoch 1: the loss must be a number; got nan.* train examples .*\b7\b.* now 0.01"
    )
    with pytest.raises(FloatingPointError, match=message):
        fine_tune(classifier, TRAIN, DEV, **SETTINGS)
    assert all(torch.equal(before[0][name], tensor) for name, tensor in classifier.state_dict().items())
    monkeypatch.undo()
    fine_tune(classifier, TRAIN, DEV, **SETTINGS)  # no gradient is left that is no number


def test_weights_that_are_no_numbers_stop_it_too(classifier):
    classifier.bert.encoder.blocks[1].feed_forward.expand.bias.data[3] = float("inf")
    with pytest.raises(FloatingPointError, match="step 1, batch 1 of 8"):
        fine_tune(classifier, TRAIN, DEV, **SETTINGS)


def test_runs_are_not_mixed(classifier, tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a checkpoint in"):
        fine_tune(classifier, TRAIN, DEV, tmp_path, resume=True, **SETTINGS)
    with pytest.raises(ValueError, match="resume needs output"):
        fine_tune(classifier, TRAIN, DEV, resume=True, **SETTINGS)
    fine_tune(classifier, TRAIN, DEV, tmp_path, **SETTINGS)
    with pytest.raises(FileExistsError, match="has a run already"):
        fine_tune(classifier, TRAIN, DEV, tmp_path, **SETTINGS)
    with pytest.raises(ValueError, match="is of another run: learning_rate was 0.01 and is 0.02"):
        fine_tune(classifier, TRAIN, DEV, tmp_path, resume=True, **SETTINGS | {"learning_rate": 0.02})
    with pytest.raises(ValueError, match="is of another run: SHA-256 of train and dev was"):
        fine_tune(classifier, TRAIN[1:], DEV, tmp_path, resume=True, **SETTINGS)
    for changes, difference in (
        ({"labels": ["without", "with", "unknown"]}, "labels was .'without', 'with'. and is"),
        ({"labels": ["without", "with"], "max_length": 20}, "max_length was 32 and is 20"),
    ):
        other = SequenceClassifier(classifier.bert, classifier.tokenizer, **changes)
        with pytest.raises(ValueError, match=f"is of another run: {difference}"):
            fine_tune(other, TRAIN, DEV, tmp_path, resume=True, **SETTINGS)
    wider = BertModel(dataclasses.replace(classifier.config, intermediate_size=61))
    other = SequenceClassifier(wider, classifier.tokenizer, ["without", "with"])
    before = {name: tensor.clone() for name, tensor in other.state_dict().items()}
    with pytest.raises(ValueError, match="damaged, or of another model"):
        fine_tune(other, TRAIN, DEV, tmp_path, resume=True, **SETTINGS)
    assert all(torch.equal(before[name], tensor) for name, tensor in other.state_dict().items())
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        fine_tune(classifier, TRAIN, DEV, tmp_path, resume=True, **SETTINGS)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda t: t.update({"optimizer.exp_avg.classifier.weight": torch.zeros(3)}),
            "state of classifier.weight must",
        ),
        (lambda t: t.pop("optimizer.step.classifier.bias"), "state of classifier.bias must have"),
        (lambda t: t.pop("best.classifier.bias"), "its best weights are not those that the model learns"),
        (lambda t: t.update({"mean.classifier.bias": torch.zeros(2)}), "its mean weights are not those"),
        (lambda t: t["best.classifier.bias"].fill_(torch.nan), "best.classifier.bias must hold finite numbers"),
    ],
)
def test_a_checkpoint_that_is_damaged_is_not_resumed(classifier, tmp_path, edit_safetensors, damage, message):
    fine_tune(classifier, TRAIN, DEV, tmp_path, **SETTINGS)
    edit_safetensors(tmp_path / "checkpoint.safetensors", damage)
    other = SequenceClassifier(classifier.bert, classifier.tokenizer, ["without", "with"])
    before = {name: tensor.clone() for name, tensor in other.state_dict().items()}
    with pytest.raises(ValueError, match=f"checkpoint.safetensors.*{message}"):
        fine_tune(other, TRAIN, DEV, tmp_path, resume=True, **SETTINGS)
    assert all(torch.equal(before[name], tensor) for name, tensor in other.state_dict().items())


def test_a_disk_that_is_full_leaves_the_last_checkpoint(classifier, tmp_path, monkeypatch):
    fine_tune(classifier, TRAIN, DEV, tmp_path, **SETTINGS)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()

    def full(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError, match="cannot write .*checkpoint.safetensors .*No space left.* resume"):
        fine_tune(classifier, TRAIN, DEV, tmp_path, resume=True, **SETTINGS)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before and len(list(tmp_path.glob(".*"))) == 0


def test_batches_are_of_like_length_and_hold_every_example_once():
    lengths = np.random.default_rng(0).integers(3, 60, 203).tolist()
    one, two = (shuffled_buckets(lengths, 16, np.random.default_rng(seed)) for seed in (1, 2))
    assert sorted(index for batch in one for index in batch) == list(range(203)) and one != two
    assert sorted(map(len, one)) == [11, *[16] * 12]
    padding = 1 - sum(lengths) / sum(max(lengths[i] for i in batch) * len(batch) for batch in one)
    assert padding < 0.08
    longest = [max(lengths[i] for i in batch) for batch in one]
    assert longest != sorted(longest) != longest[::-1]


@pytest.mark.parametrize(
    ("train", "dev", "settings", "message"),
    [
        ([], DEV, {}, "train must hold at least one example; it is empty"),
        (TRAIN, [], {}, "dev must hold at least one example; it is empty"),
        (
            [*TRAIN, LabeledText("a", "x")],
            DEV,
            {},
            "train: example 60: the label must be one of without, with; got 'x'",
        ),
        (TRAIN, [LabeledText("a", "x")], {}, "dev: example 0: the label must be one of"),
        (TRAIN[1::2], DEV, {}, "train must have examples of at least two labels.*all of its 30 are with"),
        (TRAIN, DEV, {"rate": 1}, "settings must be among epochs, .*; got rate"),
        (TRAIN, DEV, {"trainable": 3}, 'trainable must be "all", "blocks", "head", or 1 to 2, the last blocks; got 3'),
    ],
)
def test_bad_input_is_named(classifier, train, dev, settings, message):
    with pytest.raises(ValueError, match=message):
        fine_tune(classifier, train, dev, **settings)


def test_an_example_of_the_wrong_type_is_named_with_its_split(classifier):
    with pytest.raises(TypeError, match="^dev: "):
        fine_tune(classifier, TRAIN, [("a text", "with")])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(epochs=0), "epochs must be at least 1; got 0"),
        (dict(epochs=1.5), "epochs must be of type int; got 1.5"),
        (dict(learning_rate=0), "learning_rate must be above 0"),
        (dict(learning_rate="fast"), "learning_rate must be of type float"),
        (dict(patience=-1), "patience must be at least 0"),
        (dict(warmup=1.0), "warmup must be a share"),
        (dict(average_last=1.0), "average_last must be a share"),
        (dict(layer_decay=0.0), "layer_decay must be above 0 and at most 1"),
        (dict(precision="half"), "precision must be one of float32, bfloat16, auto; got 'half'"),
        (dict(minutes=float("nan")), "minutes must be at least 0; got nan"),
        (dict(trainable=None), "trainable must be of type str | int; got None"),
        (dict(seed=True), "seed must be of type int; got True"),
        (dict(seed=2**63), r"seed must be .* below 2\*\*63"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        FineTuningConfig(**settings)


@pytest.mark.slow
def test_auto_precision_is_one_of_the_two_and_is_kept(classifier, tmp_path):
    fine_tune(classifier, TRAIN, DEV, tmp_path, precision="auto", **SETTINGS)
    run = read_log(tmp_path / "log.jsonl")[0]
    assert run["precision"] in ("float32", "bfloat16") and run["config"]["precision"] == "auto"
    assert json.dumps(run)

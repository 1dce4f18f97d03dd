"""bertcourse benchmark finetune, on sets of a few examples: files, seeds, going on, and what it refuses."""

import dataclasses
import json
import signal

import pytest

from bertcourse.bert import BertModel
from bertcourse.fine_tuning import LabeledText
from bertcourse.named_entities import TaggedSentence
from bertcourse.question_answering import Answer, Question
from bertcourse_lab import cli
from bertcourse_lab.benchmarks import fine_tuning as benchmark
from bertcourse_lab.benchmarks.fine_tuning import TASKS, cut, ensemble_scores, run_benchmark
from bertcourse_lab.datasets.classification import Splits
from bertcourse_lab.fine_tuning.trainer import FineTuningRun

LETTERS = "abcdefgh"


def classified(count: int) -> list[LabeledText]:
    return [LabeledText(f"{LETTERS[n % 8]} {LETTERS[n % 3]}", ["yes", "no"][n % 2]) for n in range(count)]


def tagged(count: int) -> list[TaggedSentence]:
    return [TaggedSentence([LETTERS[n % 8], "a"], ["O" if n % 8 else "B-X", "B-X"]) for n in range(count)]


def asked(count: int) -> list[Question]:
    return [Question(str(n), LETTERS[n % 8], "a b c d", (Answer("c", 4),)) for n in range(count)]


EXAMPLES = {"sst2": classified, "rte": classified, "ner": tagged, "squad": asked}


@pytest.fixture
def small_world(monkeypatch, small_config, small_tokenizer):
    encoder = BertModel(dataclasses.replace(small_config, vocab_size=50)).eval()
    monkeypatch.setattr(benchmark, "load_pretrained", lambda name: (encoder, small_tokenizer))
    for name, sets in TASKS.items():
        make = EXAMPLES[name]
        small = {
            title: task._replace(splits=lambda make=make: Splits(make(24), make(8), make(12)))
            for title, task in sets.items()
        }
        monkeypatch.setitem(TASKS, name, small)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_gives_a_table_and_its_numbers(small_world, tmp_path, capsys, task):
    result = run_benchmark(task, "models/small", seeds=2, output=tmp_path, epochs=1, precision="float32")
    assert json.loads((tmp_path / f"finetune_{task}_small.json").read_text(encoding="utf-8")) == result
    table = (tmp_path / f"finetune_{task}_small.md").read_text(encoding="utf-8")
    assert table.strip() in capsys.readouterr().out
    assert list(result["sets"]) == list(TASKS[task])
    for title, measured in result["sets"].items():
        assert measured["examples"] == [24, 8, 12] and [run["seed"] for run in measured["runs"]] == [0, 1]
        assert f"## {title}" in table and all(
            0 <= score <= 100 for run in measured["runs"] for score in run["test"].values()
        )
        assert measured["settings"]["epochs"] == 1 and measured["runs"][0]["steps"] == -(
            -24 // measured["settings"]["batch_size"]
        )
    main_score = next(iter(measured["runs"][0]["test"]))
    assert main_score == ("accuracy" if task in ("sst2", "rte") else "f1") and f"| {main_score} |" in table
    assert ("The 2 as an ensemble" in table) == (measured["ensemble"] is not None) == (task in ("sst2", "rte"))


def test_an_ensemble_takes_the_mean_of_the_probabilities():
    test = [LabeledText("a", "yes"), LabeledText("b", "yes"), LabeledText("c", "no"), LabeledText("d", "no")]
    yes = [0.9, 0.4, 0.2, 0.7], [0.4, 0.7, 0.1, 0.6]  # 2 of 4, and 2 of 4; their mean 0.65, 0.55, 0.15, 0.65: 3 of 4
    runs = [{"no": [1 - p for p in column], "yes": column} for column in yes]
    scores = ensemble_scores(runs, test)
    assert scores == {"accuracy": 75, "macro_f1": round(100 * (4 / 5 + 2 / 3) / 2, 2), "all_wrong": 25}
    assert [ensemble_scores([run, run], test)["accuracy"] for run in runs] == [50, 50]
    assert ensemble_scores(runs[:1], test) is None and ensemble_scores([None, None], test) is None


def test_the_ensemble_is_that_of_the_seeds(small_world, tmp_path):
    result = run_benchmark("rte", "small", seeds=2, output=tmp_path, epochs=1, precision="float32")
    measured, kept = result["sets"]["RTE"], sorted(tmp_path.rglob("result.json"))
    found = [json.loads(path.read_text(encoding="utf-8"))["probabilities"] for path in kept]
    assert len(found) == 2 and all(sorted(each) == ["no", "yes"] and len(each["no"]) == 12 for each in found)
    assert all(a + b == pytest.approx(1) for each in found for a, b in zip(each["no"], each["yes"]))
    for run, each in zip(measured["runs"], found):  # each alone has its run's score
        assert ensemble_scores([each, each], classified(12)).items() >= run["test"].items()
    assert measured["ensemble"] == ensemble_scores(found, classified(12))
    assert "probabilities" not in json.dumps(result)


def test_finished_seeds_are_kept_and_an_interrupted_one_goes_on(small_world, tmp_path, monkeypatch):
    options = dict(seeds=2, epochs=2, precision="float32")
    whole = run_benchmark("rte", "small", output=tmp_path / "whole", **options)
    whole_step, steps = FineTuningRun.backward, []

    def step(self, *arguments):
        steps.append((self.config.seed, self.progress.step))
        if steps[-1] == (1, 1):
            signal.raise_signal(signal.SIGINT)
        return whole_step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(FineTuningRun, "backward", step)
        command = ["benchmark", "finetune", "--task", "rte", "--model", "small", "--seeds", "2", "--epochs", "2"]
        command += ["--precision", "float32", "--output", str(tmp_path / "run")]
        assert cli.main(command) == 130
        assert cli.main(command) == 0
    assert steps == [(seed, step) for seed in (0, 1) for step in range(4)]  # none twice
    again = json.loads((tmp_path / "run/finetune_rte_small.json").read_text(encoding="utf-8"))
    for one, other in zip(again["sets"]["RTE"]["runs"], whole["sets"]["RTE"]["runs"]):
        assert one["test"] == other["test"] and one["dev"] == other["dev"]


def test_other_weights_are_another_run(small_world, tmp_path, monkeypatch, small_config, small_tokenizer):
    one = run_benchmark("rte", "one/model", seeds=1, output=tmp_path, epochs=1, precision="float32")
    calls = []
    whole = benchmark.fine_tune
    monkeypatch.setattr(benchmark, "fine_tune", lambda *a, **k: (calls.append(k["seed"]), whole(*a, **k))[1])
    assert (
        run_benchmark("rte", "one/model", seeds=1, output=tmp_path, epochs=1, precision="float32") == one and not calls
    )
    other = BertModel(dataclasses.replace(small_config, vocab_size=50)).eval()
    monkeypatch.setattr(benchmark, "load_pretrained", lambda name: (other, small_tokenizer))
    run_benchmark("rte", "two/model", seeds=1, output=tmp_path, epochs=1, precision="float32")
    assert calls == [0]
    assert not list(tmp_path.rglob("*.safetensors"))  # a table is left, and no models


def test_a_quick_look_trains_on_fewer(small_world, tmp_path):
    result = run_benchmark("sst2", "small", seeds=1, limit=10, output=tmp_path, epochs=1)
    measured = result["sets"]["SST-2"]  # its dev has chosen the settings, and is learned from
    assert measured["examples"] == [10, 8, 12] and measured["learns_dev"] and measured["settings"]["evaluations"] == 1
    assert measured["runs"][0]["dev"] is None and measured["runs"][0]["best_step"] == measured["runs"][0]["steps"]
    assert (tmp_path / "finetune_sst2_small_limit10.md").is_file()
    splits = Splits(classified(24), classified(8), classified(12))
    assert cut(splits, 10, 4) == cut(splits, 10, 4) != Splits(splits.train[:10], splits.dev[:4], splits.test)
    assert cut(splits, None, 100) == splits


def test_another_task_is_refused_by_the_command_line(capsys):
    with pytest.raises(SystemExit):
        cli.main(["benchmark", "finetune", "--task", "cola"])
    assert "--task: invalid choice: 'cola'" in capsys.readouterr().err


def test_what_is_wrong_is_named(small_world, capsys):
    for arguments, message in (
        (["--task", "rte", "--seeds", "0"], "--seeds must be at least 1"),
        (["--task", "rte", "--limit", "1"], "--limit at least 2 examples"),
        (["--task", "rte", "--epochs", "0"], "epochs must be at least 1; got 0"),
        (["--task", "rte", "--minutes", "-1"], "minutes must be at least 0"),
        (
            ["--task", "rte", "--trainable", "9"],
            'trainable must be "all", "blocks", "head", or 1 to 2, the last blocks; got 9',
        ),
        (["--task", "rte", "--trainable", "tail"], "got 'tail'"),
    ):
        assert cli.main(["benchmark", "finetune", *arguments]) == 1
        assert message in capsys.readouterr().err


def test_settings_out_of_range_are_named_before_anything_is_loaded(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "load_pretrained", lambda name: pytest.fail("a model was loaded"))
    for flags, message in (
        ("--minutes nan", "minutes must be at least 0; got nan"),
        ("--learning-rate inf", "learning_rate must be above 0; got inf"),
        ("--precision int8", "precision must be one of"),
    ):
        assert cli.main(["benchmark", "finetune", "--task", "rte", *flags.split()]) == 1
        assert message in capsys.readouterr().err

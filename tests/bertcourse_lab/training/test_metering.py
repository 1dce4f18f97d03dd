"""The log is whole lines, and the progress bar is shown only where somebody can see it."""

import json

import pytest
import torch
from tqdm.notebook import tqdm as notebook_bar

from bertcourse.pretraining import read_log
from bertcourse_lab.training.metering import RunLog, faster_precision, move_bar, progress_bar


def test_the_log_forgets_a_line_cut_short(tmp_path):
    (tmp_path / "log.jsonl").write_text(
        '{"event": "train", "step": 1}\n{"event": "train", "step": 5}\n{"eve', encoding="utf-8"
    )
    log = RunLog(tmp_path, step=3)
    log.write("train", 4, mlm_loss=1.23456789)
    log.close()
    assert [event["step"] for event in read_log(tmp_path / "log.jsonl")] == [1, 4]
    assert json.loads((tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()[1])["mlm_loss"] == 1.23457
    with pytest.raises(FileNotFoundError, match="expected a run's log.jsonl"):
        read_log(tmp_path / "absent")


def test_there_is_no_progress_bar_where_none_is_wanted(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert progress_bar(is_shown=False, total=3).disable
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert progress_bar(total=3).disable


@pytest.mark.parametrize("total", [100, 25_000_000])  # of tokens that were asked for; minutes end the run elsewhere
def test_a_notebooks_bar_is_as_full_as_it_says(total):
    bar = notebook_bar(total=total, display=False, mininterval=0, unit=" tokens", unit_scale=True)
    before, drawn, _ = bar.container.children
    for amount, share in ((400, 0.25), (1200, 0.75), (1650, 1.0)):
        move_bar(bar, amount, share)
        bar.refresh()  # at once; otherwise a few times per second
        assert drawn.value / drawn.max == pytest.approx(share)
        assert before.value.strip() == f"{share:.0%}"
    bar.close()
    assert (bar.total, drawn.bar_style) == (1650, "success")


def test_a_log_without_a_folder_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = RunLog(None, step=0)
    log.write("train", 1, mlm_loss=1.0)
    log.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["garbage", "", "[1]"])
def test_a_line_that_is_no_event_is_named(tmp_path, line):
    (tmp_path / "log.jsonl").write_text(f'{{"event": "train", "step": 1}}\n{line}\n', encoding="utf-8")
    for read in (read_log, lambda path: RunLog(path.parent, step=3)):
        with pytest.raises(ValueError, match="log.jsonl, line 2: expected an event"):
            read(tmp_path / "log.jsonl")


def test_a_bar_is_shown_on_a_terminal(monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert not progress_bar(total=3).disable


@pytest.mark.parametrize(("seconds", "expected"), [((1.0, 0.95), "float32"), ((1.0, 0.8), "bfloat16")])
@pytest.mark.parametrize("learns", [True, False])
def test_bfloat16_must_be_faster_by_a_tenth(monkeypatch, seconds, expected, learns):
    model, clock = torch.nn.Linear(2, 1), [0.0]
    monkeypatch.setattr("bertcourse_lab.training.metering.time.perf_counter", lambda: clock[0])

    def loss():
        clock[0] += seconds[torch.is_autocast_enabled("cpu")]
        return model(torch.ones(1, 2)).sum()

    assert faster_precision(model, loss, torch.device("cpu"), learns) == expected
    assert all(parameter.grad is None for parameter in model.parameters())

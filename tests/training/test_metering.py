"""The log is whole lines, and the progress bar is shown only where somebody can see it."""

import json

import pytest
from tqdm.notebook import tqdm as notebook_bar

from bertcourse.training import read_log
from bertcourse.training.metering import RunLog, move_bar, progress_bar


def test_the_log_forgets_a_line_cut_short(tmp_path):
    (tmp_path / "log.jsonl").write_text(
        '{"event": "train", "step": 1}\n{"event": "train", "step": 5}\n{"eve', encoding="utf-8"
    )
    log = RunLog(tmp_path, step=3)
    log.write("train", 4, mlm_loss=1.23456789)
    log.close()
    assert [event["step"] for event in read_log(tmp_path / "log.jsonl")] == [1, 4]
    assert json.loads((tmp_path / "log.jsonl").read_text().splitlines()[1])["mlm_loss"] == 1.23457
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

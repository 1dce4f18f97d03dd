"""Benchmarks say what they need before they do any work."""

import runpy
import sys
from pathlib import Path

import pytest

from bertcourse import bert

FORWARD = Path(__file__).parent.parent / "benchmarks" / "forward.py"


@pytest.mark.parametrize(("folder", "found"), [("", "BERTCOURSE_DATA is not set"), ("absent", "BERTCOURSE_DATA is absent, and there is no absent")])
def test_forward_names_the_missing_file_before_it_loads_a_model(monkeypatch, folder, found):
    monkeypatch.setenv("BERTCOURSE_DATA", folder)
    monkeypatch.setattr(bert, "load_pretrained", lambda name: pytest.fail("a model was loaded"))
    monkeypatch.setattr(sys, "argv", ["forward.py"])
    with pytest.raises(SystemExit, match=rf"expected a folder with semcor/semcor.data.xml.xz in BERTCOURSE_DATA; {found}"):
        runpy.run_path(str(FORWARD), run_name="__main__")


@pytest.mark.parametrize(("folder", "found"), [("", "BERTCOURSE_DATA is not set"), ("absent", "BERTCOURSE_DATA is absent, and there is no absent")])
def test_embed_names_the_missing_file_before_it_loads_a_model(monkeypatch, folder, found):
    monkeypatch.setenv("BERTCOURSE_DATA", folder)
    monkeypatch.setattr(bert, "load_pretrained", lambda name: pytest.fail("a model was loaded"))
    monkeypatch.setattr(sys, "argv", ["embed.py"])
    with pytest.raises(SystemExit, match=rf"expected a folder with semcor/semcor.data.xml.xz in BERTCOURSE_DATA; {found}"):
        runpy.run_path(str(FORWARD.with_name("embed.py")), run_name="__main__")

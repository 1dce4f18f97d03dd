"""The stored figures have the scripts and colours of today, and renewing them changes nothing else."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest

from bertcourse_figures.interactive import show_steps
from bertcourse_figures.schematic import ROLES, Schematic

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("renew_figures", ROOT / "tools" / "site" / "renew_figures.py")
renew_figures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(renew_figures)
FIRST = ROOT / "notebooks" / "01_self_attention.ipynb"


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").rglob("*.ipynb")), ids=lambda path: path.stem)
def test_stored_figures_have_todays_scripts_and_colours(path, tmp_path):
    copy = shutil.copy(path, tmp_path / path.name)
    assert renew_figures.renew(copy) == 0, "make figures"


def test_an_older_script_is_replaced_and_nothing_else(tmp_path):
    notebook = json.loads(FIRST.read_text(encoding="utf-8"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", []) if "data" in output]
    stored = [data for output in outputs if "text/html" in (data := output["data"])]
    assert len(stored) > 3
    for data in stored:
        data["text/html"] = [line.replace("const STYLE", "const OLDER") for line in data["text/html"]]
    copy = tmp_path / FIRST.name
    copy.write_text(json.dumps(notebook), encoding="utf-8")
    assert renew_figures.renew(copy) == len(stored)
    assert copy.read_bytes() == FIRST.read_bytes()


def test_an_older_colour_is_replaced_in_both_forms_of_a_picture(monkeypatch):
    def figure() -> str:
        drawing = Schematic(100, 50, "A box.")
        drawing.narrow = Schematic(40, 50, "A box.")
        for form in (drawing, drawing.narrow):
            form.box(5, 5, 30, 20, "box", "hot")
        return show_steps(drawing).html().split("data-figure", 1)[1][15:]  # the key is the picture's hash

    now = figure()
    with monkeypatch.context() as patch:
        patch.setitem(ROLES, "hot", "#d55e00")
        older = figure()
    assert older != now
    older, now = (re.sub(r'bringToLife\("\w+"', 'bringToLife("0123456789ab"', each) for each in (older, now))
    assert renew_figures.renewed(older) == now


def test_a_figure_of_no_known_scene_is_named():
    html = show_steps(Schematic(100, 50, "A box.")).html()
    assert renew_figures.renewed(html) == html and renew_figures.renewed("<p>words</p>") == "<p>words</p>"
    with pytest.raises(ValueError, match="first line of one scene in a stored figure; got none"):
        renew_figures.renewed(html.replace("// A schematic, step by step", "// Something"))

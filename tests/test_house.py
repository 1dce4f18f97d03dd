"""The house: arrows point one way, what is exported says what it is, a notebook, its module and tests share a name."""

import ast
import importlib
import importlib.util
import inspect
import pkgutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The chapters in the order of the lectures, and "bert", which stands on chapters 2 and 3.
CHAPTERS = [
    "static_embeddings",
    "self_attention",
    "multi_head_attention",
    "tokenization",
    "bert",
    "pretraining",
    "word_senses",
    "anisotropy",
    "fine_tuning",
    "named_entities",
    "question_answering",
    "retrieval",
    "beyond_bert",
    "decoders",
]
SHARED = {"bootstrap", "datasets", "files"}  # below all chapters: they import none
# For homework handed out before version 0.2, each with the tools that it imports; they go with version 0.3.
OLD_NAMES = {"checks": {"bertcourse_homework"}, "training": set()}
TOOLS = {path.name for path in (ROOT / "tools").glob("bertcourse_*")}


def imported(file: Path, package: str) -> set[str]:
    """The modules that a file imports, each with the names that it takes from it, however it says so."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return names


def parts_of_the_course(file: Path, package: str) -> set[str]:
    """The chapters and rooms of ``bertcourse`` that a file imports."""
    return {name.split(".")[1] for name in imported(file, package) if name.startswith("bertcourse.")}


def files_of(room: str) -> list[Path]:
    """The files of a chapter or room, which is a folder or one file."""
    return sorted((ROOT / "bertcourse" / room).rglob("*.py")) or [ROOT / "bertcourse" / f"{room}.py"]


@pytest.mark.parametrize(
    "source",
    [
        "import bertcourse.bert.model as m",
        "from bertcourse import bert",
        "from bertcourse.bert import BertModel",
        "from ..bert.model import BertModel",
        "def f():\n    from bertcourse import bert",
    ],
)
def test_every_form_of_import_is_seen(source, tmp_path):
    (tmp_path / "a.py").write_text(source, encoding="utf-8")
    assert parts_of_the_course(tmp_path / "a.py", package="bertcourse.tokenization") == {"bert"}


@pytest.mark.parametrize("room", [*CHAPTERS, *sorted(SHARED)])
def test_a_chapter_imports_only_earlier_chapters_and_what_all_stand_on(room):
    may = SHARED | set(CHAPTERS[: CHAPTERS.index(room)] if room in CHAPTERS else ())
    package = f"bertcourse.{room}" if (ROOT / "bertcourse" / room).is_dir() else "bertcourse"
    assert set().union(*(parts_of_the_course(file, package) for file in files_of(room))) - {room} <= may


def test_the_course_imports_no_tool():
    for file in (ROOT / "bertcourse").rglob("*.py"):
        tools = {name.split(".")[0] for name in imported(file, "bertcourse")} & TOOLS
        assert tools == OLD_NAMES.get(file.stem, set()), file


def test_figures_import_no_chapter():
    for file in (ROOT / "tools" / "bertcourse_figures").rglob("*.py"):
        assert not parts_of_the_course(file, "bertcourse_figures"), file


def test_no_room_is_left_out():
    folder = ROOT / "bertcourse"
    there = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert there - {"__init__"} == {*CHAPTERS, *SHARED, *OLD_NAMES}


def public_modules() -> list[str]:
    """All modules of the course and of its tools."""
    found = ["bertcourse", *sorted(TOOLS)]
    for name in list(found):
        paths = importlib.import_module(name).__path__
        found += [module.name for module in pkgutil.walk_packages(paths, f"{name}.") if "__main__" not in module.name]
    return found


def test_every_module_and_every_exported_name_says_what_it_is():
    for name in public_modules():
        module = importlib.import_module(name)
        assert module.__doc__, name
        for member in getattr(module, "__all__", ()):
            value = getattr(module, member)
            if inspect.isfunction(value) or inspect.isclass(value):
                assert value.__doc__ and not value.__doc__.startswith(f"{member}("), f"{name}.{member}"


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_notebook_module_and_tests_share_a_name(notebook):
    name = notebook.stem[3:]
    assert name in CHAPTERS
    assert (ROOT / "tests" / f"test_{name}.py").is_file() or (ROOT / "tests" / name).is_dir()

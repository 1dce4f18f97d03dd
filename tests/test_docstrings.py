"""Every public name says what it is, and functions what goes in; chapters import only earlier ones."""

import ast
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import bertcourse

MODULES = ["bertcourse", *(module.name for module in pkgutil.walk_packages(bertcourse.__path__, "bertcourse."))]
# The chapters in the order of the lectures; the shared rooms that each may use, from its first lecture on.
READING_ORDER = [
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
SHARED = {"bootstrap", "datasets", "files", "training"}  # below all chapters: they import none
ABOVE = {
    "benchmarks",
    "checks",
    "figures",
    "cli",
    "doctor",
    "lectures",
    "slides",
    "validation",
    "__main__",
}  # they may import all
TESTS = Path(__file__).parent
NOTEBOOKS = TESTS.parent / "notebooks"
FOLDERS = [module.name for module in pkgutil.iter_modules(bertcourse.__path__, "bertcourse.") if module.ispkg]
CHAPTERS = [name for name in MODULES if len(parts := name.split(".")) > 1 and parts[1] in READING_ORDER]


def public(module) -> dict[str, object]:
    """Functions and classes that a module itself defines."""
    members = {
        name: value for name, value in vars(module).items() if inspect.isfunction(value) or inspect.isclass(value)
    }
    return {
        name: value
        for name, value in members.items()
        if value.__module__ == module.__name__ and not name.startswith("_")
    }


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_has_a_docstring(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for member, value in public(module).items():
        assert value.__doc__ and not value.__doc__.startswith(f"{member}("), f"{name}.{member}"
        if inspect.isclass(value):
            for method, function in vars(value).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    assert function.__doc__, f"{name}.{member}.{method}"


@pytest.mark.parametrize("name", CHAPTERS)
def test_exported_functions_describe_their_arguments(name):
    package = importlib.import_module(".".join(name.split(".")[:2]))
    exported = getattr(package, "__all__", vars(package))
    for member, value in public(importlib.import_module(name)).items():
        is_check = member.startswith("check_")  # it says what it refuses
        if inspect.isfunction(value) and member in exported and inspect.signature(value).parameters and not is_check:
            assert "Args:" in value.__doc__ or ">>>" in value.__doc__, f"{name}.{member}"


def imported_modules(source: str, package: str) -> set[str]:
    """The modules and folders directly under ``bertcourse`` that a file in ``package`` imports, however it says so."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("bertcourse.")}


@pytest.mark.parametrize(
    "source",
    [
        "import bertcourse.bert",
        "import bertcourse.bert.model as m",
        "from bertcourse import bert",
        "from bertcourse.bert import BertModel",
        "from .. import bert",
        "from ..bert.model import BertModel",
        "def f():\n    from bertcourse import bert",
    ],
)
def test_every_form_of_import_is_seen(source):
    assert imported_modules(source, package="bertcourse.tokenization") == {"bert"}


def python_files(name: str) -> list[Path]:
    """The files of a chapter or room, which is a folder or one file."""
    folder = Path(bertcourse.__path__[0])
    return sorted((folder / name).rglob("*.py")) or [folder / f"{name}.py"]


def imports_of(name: str) -> set[str]:
    """What a chapter or room imports of the package, save itself."""
    files = python_files(name)
    package = f"bertcourse.{name}" if files[0].parent.name == name else "bertcourse"
    return set().union(*(imported_modules(file.read_text(encoding="utf-8"), package) for file in files)) - {name}


@pytest.mark.parametrize("chapter", READING_ORDER)
def test_chapters_import_only_earlier_chapters_and_shared_rooms(chapter):
    assert imports_of(chapter) <= {*READING_ORDER[: READING_ORDER.index(chapter)], *SHARED}


@pytest.mark.parametrize("room", sorted(SHARED))
def test_shared_rooms_import_no_chapter(room):
    assert imports_of(room) <= SHARED


def test_no_module_is_left_out_of_the_order():
    folder = Path(bertcourse.__path__[0])
    there = {p.stem for p in folder.glob("*.py")} | {p.parent.name for p in folder.glob("*/__init__.py")}
    assert there - {"__init__"} == {*READING_ORDER, *SHARED, *ABOVE}


@pytest.mark.parametrize("name", ["bertcourse", *FOLDERS, "bertcourse_grading"])
def test_a_package_names_its_modules_and_no_others(name):
    package = importlib.import_module(name)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)} - {"__main__"}
    assert set(re.findall(r"``(\w+)``", package.__doc__)) == modules


@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_notebook_module_and_tests_share_a_name(notebook):
    name = notebook.stem[3:]
    assert name in READING_ORDER
    assert (TESTS / f"test_{name}.py").is_file() or (TESTS / name).is_dir()

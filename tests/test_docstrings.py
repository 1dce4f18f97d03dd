"""Every public name says what it is, and functions what goes in; chapters import only earlier ones."""

import ast
import importlib.util
import inspect
import pkgutil
from pathlib import Path

import pytest

import bertcourse

MODULES = ["bertcourse", *(module.name for module in pkgutil.walk_packages(bertcourse.__path__, "bertcourse."))]
# Chapter modules in the order of the lectures: each imports only those before it, and what stands beside them.
READING_ORDER = [
    "attention",
    "transformer",
    "tokenization",
    "bert",
    "pretraining",
    "embeddings",
    "senses",
    "anisotropy",
    "finetuning",
    "retrieval",
]
BESIDE_THEM = {"bootstrap", "data", "files", "registry"}
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


def test_modules_import_only_earlier_chapters():
    for position, chapter in enumerate(READING_ORDER):
        folder = Path(bertcourse.__path__[0])
        files = (folder / chapter).glob("*.py") if (folder / chapter).is_dir() else [folder / f"{chapter}.py"]
        package = f"bertcourse.{chapter}" if (folder / chapter).is_dir() else "bertcourse"
        for file in files:
            imported = imported_modules(file.read_text(encoding="utf-8"), package)
            assert imported <= {*READING_ORDER[: position + 1], *BESIDE_THEM}, f"{file.name} imports {imported}"

"""Every public name says what it is; functions also say what goes in, what can go wrong, and where it comes from."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import bertcourse

MODULES = ["bertcourse", *(module.name for module in pkgutil.walk_packages(bertcourse.__path__, "bertcourse."))]
CHAPTERS = ["bertcourse.attention", "bertcourse.transformer", "bertcourse.bert.batching", "bertcourse.bert.model", "bertcourse.bert.pretrained"]
# Chapter modules in the order of the lectures: each imports only those before it.
READING_ORDER = ["attention", "transformer", "bert"]


def public(module) -> dict[str, object]:
    """Functions and classes that a module itself defines."""
    members = {name: value for name, value in vars(module).items() if inspect.isfunction(value) or inspect.isclass(value)}
    return {name: value for name, value in members.items() if value.__module__ == module.__name__ and not name.startswith("_")}


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
def test_exported_functions_and_classes_name_their_source(name):
    import bertcourse.bert

    exported = set(bertcourse.bert.__all__) if ".bert." in name else None
    for member, value in public(importlib.import_module(name)).items():
        is_result = inspect.isclass(value) and issubclass(value, tuple)  # its attributes give the shapes
        if is_result or (exported is not None and member not in exported):
            continue
        assert "Source:" in value.__doc__, f"{name}.{member} names no source"
        if inspect.isfunction(value) and inspect.signature(value).parameters:
            assert "Args:" in value.__doc__ and "Raises:" in value.__doc__, f"{name}.{member}"


def test_modules_import_only_earlier_chapters():
    for position, chapter in enumerate(READING_ORDER):
        folder = Path(bertcourse.__path__[0])
        files = (folder / chapter).glob("*.py") if (folder / chapter).is_dir() else [folder / f"{chapter}.py"]
        for file in files:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            imported = {node.module.split(".")[1] for node in ast.walk(tree)
                        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bertcourse.")}
            assert imported <= set(READING_ORDER[: position + 1]), f"{file.name} imports {imported}"

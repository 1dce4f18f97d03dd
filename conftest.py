"""Whoever runs nbval here, and however: a notebook that breaks the rules is refused before a cell of it runs."""

import pytest

from bertcourse.lectures import problems


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".ipynb" and parent.config.getoption("nbval", False) and (found := problems(file_path)):
        raise pytest.UsageError(f"{file_path}: {'; '.join(found)}")

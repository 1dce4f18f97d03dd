"""Tests run on machines that are busy; and whoever runs nbval here, and however: a notebook that breaks the rules is
refused before a cell of it runs."""

import os

import pytest

from bertcourse_lab.lectures import SLEEPING_THREADS
from notebook_rules import problems

for name, value in SLEEPING_THREADS.items():  # torch reads them when it is imported, which is later
    os.environ.setdefault(name, value)


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".ipynb" and parent.config.getoption("nbval", False) and (found := problems(file_path)):
        raise pytest.UsageError(f"{file_path}: {'; '.join(found)}")

"""Every solved homework reproduces, cell by cell."""

import pytest

from bertcourse_lab.lectures import read_notebook
from test_notebooks import ROOT, copied, validate

HOMEWORK = sorted((ROOT / "notebooks" / "homework").glob("hw*/hw*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("homework", HOMEWORK, ids=lambda path: path.stem)
def test_solved_homework_reproduces(homework, installed, tmp_path):
    assert [
        number for number, cell in enumerate(read_notebook(homework).cells) if cell.get("execution_count", 1) is None
    ] == []
    result, _ = validate(copied(homework, tmp_path), installed)
    assert result.returncode == 0, result.stdout[-6000:]

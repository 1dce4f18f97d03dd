"""Write the minutes of each lecture's sections into the lecturers' guide: ``make minutes``."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from bertcourse_lab.lectures import read_notebook, section_minutes  # noqa: E402

GUIDE = ROOT / "tools" / "site" / "guide" / "lecturing.md"
PLACE = re.compile(r"(<!-- minutes: make minutes -->\n).*(?=<!-- end of minutes -->)", re.DOTALL)


def with_minutes(guide: str, folder: Path = ROOT / "notebooks") -> str:
    """The guide, with a table for all lectures of a folder."""
    rows = ["| lecture, section | minutes |", "|---|---|"]
    for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")):
        notebook = read_notebook(path)
        minutes = section_minutes(notebook)
        title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
        rows.append(f"| **{title}** | **{sum(minutes.values())}** |")
        rows += [f"| {heading} | {number} |" for heading, number in minutes.items()]
    table = "\n".join(rows)
    return PLACE.sub(lambda place: f"{place[1]}\n{table}\n\n", guide)


if __name__ == "__main__":
    GUIDE.write_text(with_minutes(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")

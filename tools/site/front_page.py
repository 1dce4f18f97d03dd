"""What the front page says of the lectures: made from the notebooks and the README, so that they cannot disagree.

``index.md`` includes the marked parts of the README, and the files that ``write_front_page`` makes.
"""

import html
import re
from pathlib import Path

from nbformat import NotebookNode

from bertcourse_lab.lectures import human_minutes, read_notebook, stated_cost, stated_minutes

SLIDES = "slides/{lecture}.html"  # where the site has the slides of a lecture
NARROW = "\u202f"  # between a number and its unit, which stay on one line
FIGURE_TAG = "front-page"  # of the cell whose figure the front page shows


def write_front_page(source: Path, notebooks: Path, root: Path) -> None:
    """Write links, figure, facts and table for ``index.md`` into its folder ``generated``.

    Args:
        source: what Sphinx reads.
        notebooks: executed lectures.
        root: the repository: its README and the homework.
    """
    folder = source / "generated"
    folder.mkdir()
    lectures = {path: read_notebook(path) for path in sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))}
    (folder / "links.md").write_text(first_links(list(lectures)), encoding="utf-8")
    (folder / "figure.md").write_text(figure(list(lectures.values())), encoding="utf-8")
    (folder / "facts.md").write_text(facts(list(lectures.values()), root), encoding="utf-8")
    (folder / "lectures.md").write_text(lecture_table(lectures, root), encoding="utf-8")


def first_links(lectures: list[Path]) -> str:
    """One click to what people come for; beside the first lecture the second, where the first is a lecture 0."""
    starts = ["Begin with lecture", "In a hurry: lecture"][: 2 if lectures and lectures[0].name.startswith("00") else 1]
    targets = {
        **{f"{name} {int(path.stem[:2])}": f"notebooks/{path.stem}.html" for name, path in zip(starts, lectures)},
        "Playground": "playground.html",
        "Slides": "tools/site/guide/lecturing.html",
        "Homework": "tools/site/guide/homework.html",
        "For lecturers": "tools/site/guide/teaching.html",
        "API": "api/index.html",
    }
    links = [f'<a href="{target}">{html.escape(name)}</a>' for name, target in targets.items() if target]
    return f'<nav class="first-links" aria-label="First steps">{" ".join(links)}</nav>\n'


def figure(lectures: list[NotebookNode]) -> str:
    """The stored output of the cell with the tag "front-page"; "" if no lecture has one."""
    for notebook in lectures:
        for cell in notebook.cells:
            if FIGURE_TAG in cell.metadata.get("tags", []):
                pages = [
                    output["data"]["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})
                ]
                return f"````{{raw}} html\n{''.join(pages)}\n````\n"
    return ""


def facts(lectures: list[NotebookNode], root: Path) -> str:
    """What it takes, in five numbers."""
    hours = sum(map(minutes_of, lectures)) / 60
    cpu = sum(stated_cost(notebook).cpu_seconds for notebook in lectures if stated_cost(notebook)) / 60
    sheets = sorted((root / "notebooks" / "homework").glob("hw*/hw*.ipynb"))
    points = [points_of(read_notebook(sheet)) for sheet in sheets]
    graded = {f"{by_machine} of {whole}" for by_machine, whole in points}
    said = {
        f"{len(lectures)} lectures": f"{hours:.0f} hours to read and try",
        f"{len(sheets)} sheets": f"of homework, {' or '.join(sorted(graded))} points graded by machine",
        f"{cpu:.0f} minutes": "of CPU time for all lectures",
        "2 cores": "and no GPU",
        "No network": "once it is installed",
    }
    items = "".join(f"<li><b>{fact}</b> {rest}</li>" for fact, rest in said.items() if fact[0] != "0")
    return f'<ul class="facts">{items}</ul>\n'


def points_of(sheet: NotebookNode) -> tuple[int, int]:
    """How many points of a homework a machine gives, and how many there are."""
    cells = [cell.metadata["nbgrader"] for cell in sheet.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    return sum(cell["points"] for cell in cells if not cell["solution"]), sum(cell["points"] for cell in cells)


def minutes_of(notebook: NotebookNode) -> int:
    """Of a reader: as the lecture states them, else as they are counted."""
    return stated_minutes(notebook) or human_minutes(notebook)


def lecture_table(lectures: dict[Path, NotebookNode], root: Path) -> str:
    """A row for each lecture: what it builds, the time that it takes of a reader and of a computer, and its homework.

    Raises:
        ValueError: if the README's table has no row for a lecture.
    """
    readme = (root / "README.md").read_text(encoding="utf-8")
    homework = homework_of(root / "notebooks" / "homework")
    heads = ["lecture", "what you build and see", "your time", "two cores", "homework", "slides"]
    rows = [heads, ["---"] * len(heads)]
    for path, notebook in lectures.items():
        row = re.search(rf"^\| \[(.*?)\]\(notebooks/{path.name}\) \| (.*?) \|", readme, re.MULTILINE)
        if not row:
            raise ValueError(f"README.md needs a row in its table that links to notebooks/{path.name}; there is none.")
        cost, minutes = stated_cost(notebook), minutes_of(notebook)
        cells = [
            f"[{row[1]}](notebooks/{path.name})",
            row[2],
            f"{minutes}{NARROW}min",
            f"{cost.cpu_seconds:.0f}{NARROW}s",
            homework.get(path.name, "–"),
            f'<a href="{SLIDES.format(lecture=path.stem)}">slides</a>',
        ]
        rows.append(cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def homework_of(folder: Path) -> dict[str, str]:
    """For each lecture's file the homework after it and its minutes, such as "hw01, 95 min"; from their openings."""
    found = {}
    for path in sorted(folder.glob("hw*/hw*.ipynb")):
        opening = read_notebook(path).cells[0].source
        minutes = re.search(r"\*\*Takes\*\* (\d+) minutes", opening)
        for lecture in re.findall(r"\]\(\.\./\.\./(\w+\.ipynb)\)", opening):
            found[lecture] = f"{path.stem}, {minutes[1]}{NARROW}min" if minutes else path.stem
    return found

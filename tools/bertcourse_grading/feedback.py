"""What students get back: an HTML page each, with notebook, points, the checks' messages and an instructor's comments.

The pages are nbgrader's. ``HideTests`` makes them safe to hand out: only the result and the one message of a hidden
test stay, and any of its text that the notebook printed is removed. ``safe_html`` makes them, and the formgrader's
pages, safe to look at: a notebook may contain JavaScript, and a lecturer's browser may do all that the lecturer may.
"""

import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import bleach
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.exporters import HTMLExporter
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from tqdm import tqdm
from traitlets import Bool

from bertcourse_grading.course import BEGIN_HIDDEN, SOURCE, split_hidden
from bertcourse_grading.gradebook import quiet_nbgrader, settings
from bertcourse_grading.grading import failure
from bertcourse_grading.names import shown
from bertcourse_grading.release import SHORTEST

TAGS = (
    "a b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li ol p pre s span "
    "strong sub summary sup table tbody td tfoot th thead tr tt u ul"
)
LEFT_OUT = "(left out: it showed a hidden test)\n"
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family: sans-serif; max-width: 50em; margin: 2em auto"><h1>{title}</h1>{body}</body></html>
"""


def write_feedback(output: Path, source: Path = SOURCE, students: list[str] | None = None) -> list[Path]:
    """Write a page for each submission that was graded, with the points that the gradebook has now.

    Args:
        output: the folder that ``grade`` made.
        source: the folder of the assignments.
        students: whose pages to write; None for all.

    Returns:
        The pages: feedback/STUDENT/hwNN/hwNN.html.

    Raises:
        FileNotFoundError: if nothing was graded there.
        ValueError: if nbgrader cannot write a page.

    Source: nbgrader's generate_feedback.
    """
    from nbgrader.apps.api import NbGraderAPI

    output = output.resolve()
    nbgrader, pages = NbGraderAPI(config=settings(output, source)), []
    results = [
        path
        for path in sorted((output / "results").glob("*/*.json"))
        if students is None or path.parent.name in students
    ]
    for kept in tqdm(results, unit="page", desc="Feedback", disable=None):
        student, name = kept.parent.name, kept.stem
        page = output / "feedback" / student / name / f"{name}.html"
        if (output / "autograded" / student / name / f"{name}.ipynb").exists():
            with quiet_nbgrader():
                done = nbgrader.generate_feedback(name, student_id=student, force=True)
            if not done["success"] or not page.exists():
                raise ValueError(f"no page for {student}, {name}: {done.get('error') or done.get('log')}")
        else:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(
                PAGE.format(title=name, body=summary(json.loads(kept.read_text(encoding="utf-8")))), encoding="utf-8"
            )
        pages.append(page)
    return pages


class HideTests(Preprocessor):
    """Takes hidden tests out of a graded notebook and puts a table of results on top; run by nbgrader's feedback."""

    enabled = Bool(True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Turn a graded notebook, in place, into what its student may see.

        Args:
            nb: the notebook, with points in the cells' metadata (nbgrader's GetGrades).
            resources: nbgrader's.

        Returns:
            Both of them.
        """
        secret = set()
        for cell in nb.cells:
            if cell.cell_type == "code" and BEGIN_HIDDEN in cell.source:
                message = failure(cell)
                cell.source, lines = split_hidden(cell.source)
                secret |= {squeezed(line) for line in lines if len(squeezed(line)) > SHORTEST // 2}
                cell.outputs = (
                    [new_output("stream", name="stdout", text=f"{message}\n")] if message and self.failed(cell) else []
                )
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs = [hide(output, secret) for output in cell.outputs]
        if (kept := self.result(resources)).exists():
            result = json.loads(kept.read_text(encoding="utf-8"))
            for cell in result["cells"].values():
                if any(line in squeezed(cell["message"]) for line in secret):
                    cell["message"] = LEFT_OUT.strip()
            nb.cells.insert(0, new_markdown_cell(summary(result, nb), metadata={}))
        return nb, resources

    @staticmethod
    def failed(cell: NotebookNode) -> bool:
        """Whether a graded cell got less than full points."""
        about = cell.metadata.get("nbgrader", {})
        return about.get("score") is None or about["score"] < about.get("points", 0)

    @staticmethod
    def result(resources: dict) -> Path:
        """The file where ``grade`` stored its result."""
        names = resources["nbgrader"]
        database = Path(unquote(urlparse(names["db_url"]).path[1:]) or "gradebook.db")
        return database.parent / "results" / names["student"] / f"{names['assignment']}.json"


def hide(output: NotebookNode, secret: set[str]) -> NotebookNode:
    """An output, or a note in its place if it shows a line of a hidden test."""
    shown = squeezed(html.unescape(json.dumps(output, ensure_ascii=False)))
    return new_output("stream", name="stdout", text=LEFT_OUT) if any(line in shown for line in secret) else output


def squeezed(text: str) -> str:
    """Text without what quoting and printing change: white space, escaped or not, quotes and backslashes."""
    return re.sub(r"\\+[nt]|[\s\\\"']", "", text)


def for_student(message: str) -> str:
    """A message without anything that the student's code may have quoted in it, such as a hidden test, and without
    our paths.

    >>> for_student("it tried to write /home/us/answer = 42")
    'it tried to write what is not its own'
    """
    return re.sub(r"(it tried to \w+) /.*", r"\1 what is not its own", message, flags=re.DOTALL)


def safe_html(text: str | bytes) -> str:
    """HTML without anything that could run or load code: text, tables, links, and embedded pictures.

    >>> safe_html('<b onclick="x()">bold</b><script>y()</script>')
    '<b>bold</b>&lt;script&gt;y()&lt;/script&gt;'
    """

    def is_harmless(tag: str, name: str, value: str) -> bool:
        if (tag, name) == ("img", "src"):
            return value.startswith("data:image/")
        if (tag, name) == ("a", "href"):
            return value.startswith(("http:", "https:", "#"))
        return name in ("class", "alt", "title") or name in ("width", "height") and value.isdecimal()

    text = text.decode() if isinstance(text, bytes) else str(text)
    protocols = {*bleach.ALLOWED_PROTOCOLS, "data"}
    return bleach.clean(text, tags={*TAGS.split()}, attributes=is_harmless, protocols=protocols)


@pass_context
def safe_markdown(context: Context, source: str) -> str:
    """Markdown as nbconvert shows it, without HTML that could run code; a filter for its templates."""
    return safe_html(exporter().markdown2html(context, source))


@cache
def exporter() -> Any:
    """nbconvert's exporter to HTML, with its own filters."""
    return HTMLExporter()


def summary(result: dict, notebook: NotebookNode | None = None) -> str:
    """A table of results in HTML, with each graded cell, its points and what it said; above it, whatever was odd.

    Args:
        result: what ``grade`` wrote.
        notebook: with points in its cells' metadata, those given by hand included; None for the points in ``result``.
    """
    now = {}
    for cell in notebook.cells if notebook else []:
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade"):
            now[about["grade_id"]] = about.get("score")
    lines = [f"<p>{html.escape(shown(for_student(message)))}.</p>" for message in result["messages"]]
    if result["cells"]:
        lines.append("<table><tr><th>check</th><th>points</th><th>what it said</th></tr>")
        for name, cell in result["cells"].items():
            points = now.get(name, cell["points"])
            points = (
                "not yet graded"
                if points is None or cell["points"] is None and not points
                else f"{points:g} of {cell['max_points']:g}"
            )
            message = "" if cell["points"] == cell["max_points"] else cell["message"]
            lines.append(
                f"<tr><td>{html.escape(name)}</td><td>{points}</td><td>{html.escape(shown(message))}</td></tr>"
            )
        lines.append("</table>")
    return "\n".join(lines) or "<p>Everything passed.</p>"

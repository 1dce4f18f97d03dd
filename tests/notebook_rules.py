"""The rules that notebooks keep, which make validation mean something.

nbval compares only cells that were run, in order, and whose output is not ignored, and never prose (``measured`` does).
``problems`` lists where a notebook breaks a rule; the root's conftest.py refuses such a notebook before it runs.
"""

import ast
import re
from pathlib import Path

from nbformat import NotebookNode

from bertcourse_figures.interactive import MOST_BYTES
from bertcourse_lab.lectures import human_minutes, read_notebook, stated_cost, stated_minutes
from bertcourse_lab.validation import FIGURE, tolerance_of
from measured import misstated

IGNORING_TAGS = {"nbval-ignore-output", "nbval-skip"}
KNOWN_TAGS = IGNORING_TAGS | {"nbval-check-output", "nbval-raises-exception"}
MOST_LINES, MOST_COLUMNS, MOST_IGNORED = 20, 120, 0.1
MOST_SITE_COLUMNS = 84  # what the site shows on one line; for code in sight in lectures that state a reader's minutes
SPINE = {"cells": 90, "code cells": 40}  # at most, before a lecture's summary: what fits into two hours
MOST_FIGURE_BYTES = 1_500_000  # a notebook's figures that move, together
NBVAL_MARK = re.compile(r"nbval|pytest[-_]validate", re.IGNORECASE)  # the second is nbval's old name
SLIDES = {"slide", "subslide", "fragment", "notes", "skip", "-"}  # nbconvert's, of which "-" is no word of its own
COLAB, COLLAPSED = "colab", "hide-input"  # tags: what installs the course there; what the site folds
INSTALL = """import importlib.util, subprocess, sys

if importlib.util.find_spec("bertcourse") is None:  # as on Colab
    install = [sys.executable, "-m", "pip", "install", "-q", "bertcourse[lectures]"]
    subprocess.check_call(install)"""
SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
MINUTES_APART = 0.2  # share by which a lecture's stated minutes may differ from those of the rule
VERDICT = re.compile(r"[^\n]*:\s*(?:True|False)$", re.MULTILINE)  # what is printed where a number would say more
HIDERS = {"get_ipython", "capture_output", "redirect_stdout", "redirect_stderr"}


def problems(path: Path) -> list[str]:
    """Where a notebook breaks the rules, each a line that says what is wrong; empty if nothing is.

    nbval silently passes a cell without an execution count, hence the first rule. Homework, which nbgrader's marks
    betray, may have longer cells.
    """
    notebook, found = read_notebook(path), []
    is_homework = any("nbgrader" in cell.metadata for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    counts = [cell.execution_count for cell in code]
    if counts != list(range(1, len(code) + 1)):
        found.append(
            f"execution counts must be 1 to {len(code)}, in order; got {counts}. Run it: bertcourse run {path}"
        )
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        found.append(f'the kernelspec must be "python3"; got {kernel!r}')
    is_marked_up = stated_minutes(notebook) is not None
    for number, cell in enumerate(code, start=1):
        tags = set(cell.metadata.get("tags", []))
        for output in cell.outputs:
            if output.output_type == "error" and not tags & {"nbval-raises-exception", "raises-exception"}:
                found.append(f"code cell {number} stores an error: {output.ename}: {output.evalue}")
        for tag in tags:
            if NBVAL_MARK.search(tag) and tag not in KNOWN_TAGS:
                found.append(f"code cell {number} has the tag {tag!r}, which nbval does not know: {sorted(KNOWN_TAGS)}")
            if "toler" in tag.lower() and not tolerance_of([tag]):
                found.append(f"code cell {number} has the tag {tag!r}; write tolerance=0.02, or tolerance=5%")
        if re.search(rf"#.*({NBVAL_MARK.pattern})", cell.source, re.IGNORECASE):
            found.append(
                f"code cell {number} has an nbval mark in a comment, where a misspelling goes unseen: use a tag"
            )
        if (lines := sum(map(bool, cell.source.splitlines()))) > MOST_LINES and not is_homework:
            found.append(f"code cell {number} has {lines} lines; at most {MOST_LINES}")
        most = MOST_SITE_COLUMNS if is_marked_up and COLLAPSED not in tags else MOST_COLUMNS
        if (columns := max(map(len, cell.source.splitlines()), default=0)) > most:
            found.append(f"code cell {number} has a line of {columns} characters; at most {most}")
    ignored = sum(bool(set(cell.metadata.get("tags", [])) & IGNORING_TAGS) for cell in code)
    if ignored > MOST_IGNORED * len(code):
        found.append(f"{ignored} of {len(code)} code cells ignore their output; at most {MOST_IGNORED:.0%}")
    found += problems_of_kind(notebook) + misstated(notebook)
    for number, cell in enumerate(code, start=1):
        found += [f"code cell {number} {problem}" for problem in problems_of_code(cell.source)]
    if is_homework:
        return found
    for number, cell in enumerate(code, start=1):
        printed = "".join(output.get("text", "") for output in cell.outputs)
        found += [f"code cell {number} prints a verdict, not a result: {line!r}" for line in VERDICT.findall(printed)]
    found += problems_of_markup(notebook) + problems_of_figures(code) + problems_of_opening(notebook)
    return found + problems_of_spine(notebook) + problems_of_questions(notebook)


def problems_of_kind(notebook: NotebookNode) -> list[str]:
    """Cells that no validation runs although they look like code, or may have been."""
    found = []
    for place, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "raw":
            found.append(f"cell {place} is raw, which nothing runs and no site shows: make it code or markdown")
        elif cell.cell_type == "markdown" and is_code(cell.source):
            found.append(f"cell {place} is markdown but holds nothing but code, which nothing runs: make it code")
    return found


def is_code(markdown: str) -> bool:
    """Whether markdown is Python from end to end, be it in a fence.

    >>> is_code("```python\\nmodel.train()\\n```"), is_code("# Summary"), is_code("Train it: `model.train()`")
    (True, False, False)
    """
    fenced = re.fullmatch(r"\s*```\w*\n(.*?)```\s*", markdown, re.DOTALL)
    try:
        statements = ast.parse(fenced[1] if fenced else markdown).body
    except (SyntaxError, ValueError):  # the second where it holds a null character
        return False
    return any(not isinstance(s, ast.Expr) or isinstance(s.value, ast.Call | ast.Await) for s in statements)


def problems_of_code(source: str) -> list[str]:
    """Where a cell may hide what it prints, or asserts what cannot fail.

    >>> problems_of_code("assert True")
    ['has an assertion that cannot fail: assert True']
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return [f"is not plain Python; a magic such as %%capture hides what a cell prints: {error}"]
    found = []
    if re.search(r";\s*(?:#.*)?\Z", source):
        found.append("ends in a semicolon, which hides its output")
    for node in ast.walk(tree):
        if names := {getattr(node, part, None) for part in ("id", "attr", "name")} & HIDERS:
            found.append(f"uses {names.pop()}, which may hide an output")
        if isinstance(node, ast.Assert) and is_settled(node.test):
            found.append(f"has an assertion that cannot fail: {ast.unparse(node)}")
        constant = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else None
        if constant and not isinstance(constant.value, str | type(...)):  # docstrings, and what students fill in
            found.append(f"has a statement that does nothing: {ast.unparse(node)}")
    return found


def is_settled(test: ast.expr) -> bool:
    """Whether a condition is known before anything runs: no name in it, a tuple, or something settled by *or*."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(is_settled, test.values))
    return isinstance(test, ast.Tuple) or not any(isinstance(node, ast.Name) for node in ast.walk(test))


def problems_of_figures(code: list[NotebookNode]) -> list[str]:
    """Figures without a text, which nobody who cannot see them knows and nothing compares; and those too large.

    The text of a figure that moves stands twice: beside it, for the validation, and as its picture's alt, where
    JupyterLab, the site and GitHub read it.
    """
    found, total = [], 0
    for number, cell in enumerate(code, start=1):
        for output in cell.outputs:
            data = output.get("data", {})
            text, page = data.get("text/plain", "").strip(), data.get("text/html", "")
            moves = bool(FIGURE.fullmatch(page))
            if (moves or any(kind.startswith("image/") for kind in data)) and (not text or text.startswith("<")):
                found.append(f"code cell {number} has a figure without a text: end it with plots.show(alt)")
            if moves and not re.search(r'<img [^>]*alt="[^"]*\w', page):
                found.append(f"code cell {number} has a figure whose picture has no alt")
            if moves and len(page.encode()) > MOST_BYTES:
                found.append(f"code cell {number} has a figure of {len(page.encode())} bytes; at most {MOST_BYTES}")
            total += len(page.encode()) if moves else 0
    if total > MOST_FIGURE_BYTES:
        found.append(f"its figures that move hold {total} bytes; at most {MOST_FIGURE_BYTES}")
    return found


def problems_of_opening(notebook: NotebookNode) -> list[str]:
    """What a lecture's opening must say and homework's need not."""
    if stated_cost(notebook) is None:
        takes = "**Takes** about 90 minutes of your time, 20 s of CPU on two cores, 0.6 GB of memory"
        return [f'its opening must state what it takes: "{takes}"']
    stated, counted = stated_minutes(notebook), human_minutes(notebook)
    if stated is None or abs(stated - counted) <= MINUTES_APART * counted:
        return []
    return [
        f"its opening states {stated} minutes; its words, cells and figures make {counted} (lectures.human_minutes)"
    ]


def problems_of_spine(notebook: NotebookNode) -> list[str]:
    """Whether a lecture has more before its summary than fits into two hours; the rest goes under *Going deeper*."""
    summaries = [place for place, cell in enumerate(notebook.cells) if cell.source.startswith("## Summary")]
    spine = notebook.cells[: summaries[0]] if summaries else []
    counted = {"cells": len(spine), "code cells": sum(cell.cell_type == "code" for cell in spine)}
    return [
        f"it has {counted[kind]} {kind} before its summary; at most {most}: move some to Going deeper"
        for kind, most in SPINE.items()
        if counted[kind] > most
    ]


def problems_of_questions(notebook: NotebookNode) -> list[str]:
    """Where the questions at a lecture's end are too few, cannot be answered, or give their answers away."""
    cells = [cell.source for cell in notebook.cells if cell.source.startswith("## Check yourself")]
    if not cells:
        return []
    found, places = [], []
    questions = re.split(r"^\*\*\d+\.\*\* ", cells[0], flags=re.MULTILINE)[1:]
    if not 5 <= len(questions) <= 8:
        found.append(f"it has {len(questions)} questions to check oneself; expected 5 to 8")
    for number, question in enumerate(questions, start=1):
        answers = re.findall(r"</summary>(Yes|No)\b.*?</details>", question)
        if sorted(answers)[:-1] != ["No"] * (len(answers) - 1) or "Yes" not in answers or len(answers) < 3:
            found.append(f"question {number} must have one answer that begins with Yes, and two or more with No")
        else:
            places.append(answers.index("Yes"))
    if len(questions) > 1 and len(set(places)) == 1:
        found.append("the right answer always stands at the same place")
    return found


def problems_of_markup(notebook: NotebookNode) -> list[str]:
    """Slide types that nbconvert does not know, cells collapsed in one place only, set up too late, marked in vain."""
    found, code_seen = [], 0
    for place, cell in enumerate(notebook.cells, start=1):
        for summary in SUMMARY.findall(cell.source if cell.cell_type == "markdown" else ""):
            if re.search(r"[*`$]", summary):
                found.append(
                    f"cell {place} has markdown in <summary>, which shows it as it is; write HTML: {summary!r}"
                )
    for place, cell in enumerate(notebook.cells, start=1):
        tags, metadata = cell.metadata.get("tags", []), cell.metadata
        code_seen += cell.cell_type == "code"
        slide = metadata.get("slideshow", {}).get("slide_type", "-")
        if slide not in SLIDES:
            found.append(f"cell {place} has the slide type {slide!r}, which nbconvert does not know: {sorted(SLIDES)}")
        if COLAB in tags and (cell.cell_type != "code" or code_seen != 1):
            found.append(f"cell {place} has the tag {COLAB!r}, which belongs to the first code cell")
        if (COLLAPSED in tags) != bool(metadata.get("jupyter", {}).get("source_hidden")):
            found.append(
                f"cell {place} is collapsed in one place only: the site reads the tag {COLLAPSED!r}, JupyterLab "
                f'{{"jupyter": {{"source_hidden": true}}}}'
            )
    return found

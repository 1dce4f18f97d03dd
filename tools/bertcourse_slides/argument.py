"""Whether a deck is an argument: each slide says something, and drawing code is left to the notebook."""

import ast
from collections.abc import Iterable

LEAST, MOST = 35, 45  # slides that fit into two classes of 45 minutes
LONGEST_TITLE = 140  # characters: two lines
DRAWING = {"plt", "plots", "ax", "axes", "fig", "figure"}


def without_drawing(code: str) -> str:
    """Code without the statements that only draw.

    >>> without_drawing("x = [1, 4]\\nfigure, ax = plt.subplots()\\nfor y in x:\\n    ax.plot(y)")
    'x = [1, 4]'
    """
    return "\n".join(kept(code, draws_with(code))).strip("\n")


def only_shows(code: str) -> bool:
    """Whether code does nothing but draw and print, also in loops that pick what is printed.

    >>> only_shows("for word in words:\\n    first = word[0]\\n    print(first)"), only_shows("x = f(1)\\nprint(x)")
    (True, False)
    """
    tools, statements = draws_with(code), parsed(code)
    return bool(statements) and all(draws(each, tools) or prints(each) for each in statements)


def complaints(slides: Iterable) -> list[str]:
    """What keeps the slides of a lecture, as ``make_slides`` makes them, from being an argument.

    Returns:
        A line for each: the number of the slide, and what it lacks.
    """
    slides, found = list(slides), []
    for number, slide in enumerate(slides, start=1):
        kinds = [block.kind for block in slide.blocks]
        code = "\n".join(line for block in slide.blocks if block.kind == "code" for line in block.parts)
        if set(kinds) <= {"code"} and code and only_shows(code):
            found.append(f"slide {number} holds only code that draws or prints: {code.splitlines()[0]}")
        elif slide.is_orphan:
            found.append(f"slide {number} holds only what belongs to the slide before it: {', '.join(kinds)}")
        elif not slide.says:
            found.append(f"slide {number} has no sentence as its title: {slide.heading}, {', '.join(kinds)}")
    if not LEAST <= len(slides) <= MOST:
        found.append(f"{len(slides)} slides, where two classes have time for {LEAST} to {MOST}")
    return found


def parsed(code: str) -> list[ast.stmt]:
    """The statements of code; of a part that cannot be read alone, none."""
    try:
        return ast.parse(code).body
    except SyntaxError:
        return []


def kept(code: str, tools: set[str]) -> Iterable[str]:
    """The lines of code but those of statements that only draw."""
    away = {
        line
        for statement in parsed(code)
        if draws(statement, tools)
        for line in range(statement.lineno, statement.end_lineno + 1)
    }
    return (line for number, line in enumerate(code.splitlines(), start=1) if number not in away)


def draws_with(code: str) -> set[str]:
    """The names of what draws: matplotlib's, the course's, and what a call of these was assigned to."""
    made = {
        name.id
        for statement in parsed(code)
        if isinstance(statement, ast.Assign) and root(statement.value) in DRAWING
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    return DRAWING | made


def root(node: ast.expr) -> str:
    """The name with which an expression begins, as ``ax`` in ``ax.set(xlabel="step")[0]``."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def draws(statement: ast.stmt, tools: set[str]) -> bool:
    """Whether a statement only draws."""
    if isinstance(statement, ast.For | ast.With | ast.If):
        return all(draws(each, tools) for each in statement.body + getattr(statement, "orelse", []))
    return isinstance(statement, ast.Expr | ast.Assign) and root(statement.value) in tools


def prints(statement: ast.stmt) -> bool:
    """Whether a statement prints, perhaps in a loop that picks what."""
    if isinstance(statement, ast.For | ast.With | ast.If):
        body = statement.body + getattr(statement, "orelse", [])
        return any(map(prints, body)) and all(prints(each) or isinstance(each, ast.Assign) for each in body)
    return isinstance(statement, ast.Expr) and root(statement.value) in ("print", "display")

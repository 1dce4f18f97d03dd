"""Figures that move: a still picture that any viewer shows, and a script that brings it to life where scripts run.

The output is one piece of HTML: a headline, if it has one, a picture, its note and a script. The script (``js/kit.js``,
one file for the scene, and what the scene draws with) finds the picture by the figure's key and draws into a shadow
root in its place; it needs no library and no network. On GitHub, in an untrusted notebook and where a page forbids
inline scripts, headline, picture and note remain.

Every figure can be given a headline, and a schematic the step at which it opens::

    show_stack(tokens, states, pooled).with_headline("Six times the same block, each with *its own* weights").at_step(1)

In what state another figure opens, its function's arguments say: ``start``, or what it calls the thing that moves.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.schematic import Schematic, as_numbers

NOTE = "This figure moves where scripts run: execute the cell, trust the notebook, or read it on the course's site."
MOST_BYTES = 300_000
FOLDER = files("bertcourse_figures") / "js"
# What a scene draws with, besides kit.js.
NEEDS = {
    "bpe": ("walk",),
    "heads": ("views", "attention_views"),
    "cache": ("walk",),
    "cross": ("walk",),
    "writing": ("walk",),
}


class Figure:
    """What a cell shows; its ``repr`` says in words and numbers what is drawn, which strict validation compares.

    Args:
        still: the picture shown where scripts do not run.
        words: what is drawn, with its numbers rounded.
        scene: a file in ``js`` without its suffix; it defines the function ``scene`` that kit.js describes.
        data: what the scene receives: lists, texts and finite numbers.
        note: the text under the still picture.

    Attributes:
        headline: one sentence that says the point, with ``*`` around what is emphasized; "" until ``with_headline``.

    Raises:
        ValueError: a number is not finite, or the HTML is larger than 300 KB.

    >>> still = Schematic(100, 40, "A box with the word bank in it.")
    >>> Figure(still, "a box: bank", "steps", {"captions": [], "narrow": ""})
    a box: bank
    """

    def __init__(self, still: Schematic, words: str, scene: str, data: dict, note: str = NOTE):
        if not words.strip():
            raise ValueError("words must say what the figure draws, with its numbers; got nothing.")
        self.still, self.words, self.scene, self.data, self.note = still, words, scene, data, note
        self.headline = ""
        if (size := len(self.html().encode())) > MOST_BYTES:
            raise ValueError(f"a figure may hold {MOST_BYTES // 1000} KB; this one is {size // 1000}. Draw less of it.")

    def with_headline(self, headline: str) -> "Figure":
        """This figure under a headline, which stands above the still picture, too, and is the title of its slide.

        Args:
            headline: one sentence that says the point, such as "*bank* listens to *tied* by the river".

        >>> figure = Figure(Schematic(100, 40, "A box."), "a box: bank", "steps", {"captions": [], "narrow": ""})
        >>> figure.with_headline("One box is enough.")
        One box is enough.
        a box: bank
        """
        self.headline = headline
        return self

    def at_step(self, step: int) -> "Figure":
        """This schematic, opened at a step: 1 is the first. Without it, all steps are drawn at first.

        Raises:
            ValueError: it has no such step.
        """
        last = len(self.data["captions"]) if self.scene == "steps" else 0
        if not 1 <= step <= last:
            raise ValueError(f"a schematic opens at one of its steps, here 1 to {last}; got {step}.")
        self.data["start"] = step
        return self

    def html(self) -> str:
        """The output: headline, picture, note and script."""
        try:
            data = json.dumps(self.data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError as error:
            raise ValueError("data must hold finite numbers to be drawn; got NaN or infinity.") from error
        data = data.replace("<", "\\u003c")  # no text can end the script
        picture = data_uri(self.still)
        key = hashlib.sha256(f"{picture}{self.scene}{data}".encode()).hexdigest()[:12]
        headline = re.sub(r"\*(.+?)\*", r"<em>\1</em>", html.escape(self.headline, quote=False))
        return (
            f'<div class="bertcourse-figure" data-figure="{key}" data-lm-suppress-shortcuts="true">'
            f"{headline and f'<p><strong>{headline}</strong></p>'}"
            f'<img src="{picture}" alt="{html.escape(self.still.alt)}" width="{self.still.width}" '
            f'height="{self.still.height}" style="max-width:100%;height:auto">'
            f"<p><small>{html.escape(self.note)}</small></p></div>\n"
            f'<script>(() => {{\n{scripts_of(self.scene)}\nbringToLife("{key}", {data}, scene);\n}})()</script>'
        )

    def __repr__(self) -> str:
        return f"{self.headline}\n{self.words}" if self.headline else self.words

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}


def scripts_of(scene: str) -> str:
    """All that a scene runs: kit.js, what it draws with, and itself."""
    names = ("kit", *NEEDS.get(scene, ()), scene)
    return "\n".join((FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in names)


def data_uri(schematic: Schematic) -> str:
    """A drawing as the address of an image."""
    return "data:image/svg+xml;base64," + base64.b64encode(schematic.svg().encode()).decode()


def show_steps(schematic: Schematic, words: str = "") -> Figure:
    """Show a schematic; if it has steps, the reader goes through them with ‹ ›, the dots, or the arrow keys.

    Args:
        schematic: the drawing; ``schematic.narrow``, if it has one, is shown on a phone.
        words: what is drawn, with its numbers, for the validation; the drawing's ``alt`` if empty.

    Raises:
        ValueError: the narrow drawing has different steps, or the HTML is larger than 300 KB.
    """
    narrow = schematic.narrow
    if narrow is not None and narrow.captions != schematic.captions:
        raise ValueError(
            f"both forms must have the same steps; got {len(schematic.captions)} captions, and in the narrow form "
            f"{len(narrow.captions)} or other words."
        )
    data = {"captions": schematic.captions, "narrow": data_uri(narrow) if narrow else ""}
    return Figure(schematic, words or schematic.alt, "steps", data)


def place_of(choice, choices: Iterable, what: str) -> int:
    """The place of what a caller chose among what can be chosen.

    >>> place_of("bank", ["river", "bank"], "start")
    1
    """
    if choice not in (choices := list(choices)):
        raise ValueError(f"{what} must be one of {', '.join(map(repr, choices[:20]))}; got {choice!r}.")
    return choices.index(choice)


def rounded(values: ArrayLike, digits: int = 4, name: str = "values") -> list:
    """Nested lists of finite numbers, rounded to ``digits`` decimals.

    >>> rounded([[1 / 3, -0.00001]])
    [[0.3333, 0.0]]
    """
    return (np.round(as_numbers(values, name), digits) + 0.0).tolist()


def significant(values: ArrayLike, digits: int = 4, name: str = "values") -> list:
    """Nested lists of finite numbers of any size, with ``digits`` significant digits each.

    >>> significant([0.000123456, 1234.56])
    [0.0001235, 1235.0]
    """
    array = as_numbers(values, name)
    return np.reshape([float(f"{value:.{digits}g}") for value in array.ravel()], array.shape).tolist()

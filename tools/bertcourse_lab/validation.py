"""Tolerance in nbval's strict validation of notebooks: a pytest plugin, present wherever the course is installed.

    pytest --nbval notebooks/04_pretraining.ipynb

A cell tagged ``tolerance=0.02`` may print numbers up to 0.02 away from the stored ones, one tagged ``tolerance=5%`` up
to 5 % of the larger of the two; the words between them must be the same. Cells without such a tag stay strict. A
figure's HTML is treated as an image, since its last digits differ between machines; its words and numbers are compared
in its text.
"""

import math
import re
from collections.abc import Mapping

NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:(?<=\d)\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")
FIGURE = re.compile(r'\s*<div class="bertcourse-figure".*</script>\s*', re.DOTALL)
TAG = re.compile(r"tolerance=(\d+(?:\.\d+)?|\.\d+)(%?)")


def tolerance_of(tags: list[str]) -> tuple[float, float] | None:
    """What a cell's tags allow, as an absolute and a relative distance; None where they allow nothing.

    >>> tolerance_of(["tolerance=0.02"]), tolerance_of(["tolerance=5%"]), tolerance_of(["slide"])
    ((0.02, 0.0), (0.0, 0.05), None)
    """
    for tag in tags:
        if match := TAG.fullmatch(tag):
            size = float(match[1])
            return (0.0, size / 100) if match[2] else (size, 0.0)
    return None


def agrees(stored: str, printed: str, tolerance: tuple[float, float]) -> bool:
    """Whether two texts have the same words, and numbers that are close enough; spaces may differ.

    >>> agrees("F1 0.79 on 1,200 words", "F1 0.80 on 1,200 words", (0.02, 0.0))
    True
    >>> agrees("F1 0.79", "F1 nan", (0.02, 0.0)), agrees("F1 0.79", "F2 0.79", (0.02, 0.0))
    (False, False)
    """
    if words_of(stored) != words_of(printed):
        return False
    absolute, relative = tolerance
    pairs = zip(numbers_of(stored), numbers_of(printed))
    return all(math.isclose(*pair, abs_tol=absolute * (1 + 1e-9), rel_tol=relative) for pair in pairs)


def words_of(text: str) -> list[str]:
    """What stands between the numbers of a text, with single spaces."""
    return [" ".join(words.split()) for words in NUMBER.split(text)]


def numbers_of(text: str) -> list[float]:
    """The numbers of a text.

    >>> numbers_of("layer2: 12,345 words, −0.5 (1.2e-03)")
    [12345.0, -0.5, 0.0012]
    """
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(text)]


def accept_close(stored: list[Mapping], printed: list[Mapping], tolerance: tuple[float, float]) -> None:
    """Where a printed text agrees with the stored one, put the stored one in its place.

    Args:
        stored, printed: a cell's outputs, as nbval compares them.
        tolerance: absolute and relative.
    """
    for old, new in zip(stored, printed):
        for there, here in ((old, new), (old.get("data", {}), new.get("data", {}))):
            for key in set(there) & set(here):
                is_text = key in ("text", "text/plain") and isinstance(there[key], str)
                if is_text and agrees(there[key], here[key], tolerance):
                    here[key] = there[key]


def without_figure(output: str) -> str:
    """The part of an output that is compared: of a figure's HTML, only that it is one.

    >>> without_figure('<div class="bertcourse-figure">…</div><script>…</script>'), without_figure("<b>0.42</b>")
    ('a figure', '<b>0.42</b>')
    """
    return "a figure" if FIGURE.fullmatch(output) else output


def pytest_configure(config) -> None:
    """If nbval is active, make its cells heed their tags, and look out for figures, before they compare."""
    if not getattr(config.option, "nbval", False):
        return
    from nbval.plugin import IPyNbCell

    strictly, plainly = IPyNbCell.compare_outputs, IPyNbCell.sanitize
    if getattr(strictly, "knows_tolerance", False):
        return

    def compare_outputs(cell, printed, stored, skip_compare=None):
        if tolerance := tolerance_of(cell.cell.metadata.get("tags", [])):
            accept_close(stored, printed, tolerance)
        return strictly(cell, printed, stored, skip_compare)

    def sanitize(cell, output):
        return plainly(cell, without_figure(output) if isinstance(output, str) else output)

    compare_outputs.knows_tolerance = True
    IPyNbCell.compare_outputs, IPyNbCell.sanitize = compare_outputs, sanitize

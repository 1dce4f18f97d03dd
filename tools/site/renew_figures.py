"""Give the figures that the notebooks store the scripts and colours of today: ``make figures``, after a change to them.

A stored figure holds its picture, its data and the scripts that draw it. What is drawn and the data stay; only the
scripts and the colours of the roles are replaced, so that no lecture has to be executed for them.
"""

import base64
import json
import re
from pathlib import Path

from bertcourse_figures.interactive import FOLDER, scripts_of
from bertcourse_figures.schematic import ROLES, paint

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = re.compile(r'(?<=<script>\(\(\) => \{\n).*(?=\nbringToLife\("[0-9a-f]{12}", )', re.DOTALL)
PICTURE = re.compile(r"(?<=data:image/svg\+xml;base64,)[A-Za-z0-9+/=]+")
COLOR = re.compile(rf"var\(--({'|'.join(ROLES)}),#\w+\)")


def scenes() -> dict[str, str]:
    """The first line of each scene's file, which says what the scene is, and the scene's name."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir()) if path.suffix == ".js"}
    return {text.splitlines()[0]: name for name, text in files.items() if re.search("^function scene", text, re.M)}


def renewed(html: str) -> str:
    """A stored figure with today's scripts and colours; other HTML as it is.

    Raises:
        ValueError: if no scene begins with any line of the stored scripts.
    """
    if not (stored := SCRIPT.search(html)):
        return html
    lines = set(stored[0].splitlines())
    names = [name for line, name in scenes().items() if line in lines]
    if len(names) != 1:
        raise ValueError(f"expected the first line of one scene in a stored figure; got {names or 'none'}.")
    return PICTURE.sub(recolored, html.replace(stored[0], scripts_of(names[0])))


def recolored(picture: re.Match) -> str:
    """A picture in base64 in which each role has its colour of today."""
    drawing = base64.b64decode(picture[0]).decode()
    return base64.b64encode(COLOR.sub(lambda color: paint(color[1]), drawing).encode()).decode()


def renew(path: Path) -> int:
    """Renew the figures of a notebook, and say how many had other scripts or colours."""
    notebook, changed = json.loads(path.read_text(encoding="utf-8")), 0
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "text/html" in (data := output.get("data", {})):
                before = "".join(data["text/html"])
                after = renewed(before)
                changed += after != before
                data["text/html"] = after.splitlines(keepends=True)
    if changed:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return changed


if __name__ == "__main__":
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        if changed := renew(path):
            print(f"{path.relative_to(ROOT)}: {changed}")

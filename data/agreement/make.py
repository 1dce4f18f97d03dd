"""Make the sentences of data/agreement out of its frames: python data/agreement/make.py (at once)."""

import csv
from itertools import product
from pathlib import Path

from bertcourse.files import replace_files

HERE = Path(__file__).parent
COLUMNS = ("frame", "before", "verb", "other", "after", "number", "attractor")
NUMBERS = ("singular", "plural")


def sentences(frames: list[dict[str, str]]) -> list[tuple[str, ...]]:
    """For each frame its subject in both numbers, without another noun before the verb and with one in both."""
    rows = []
    for frame, (number, attractor) in product(frames, product(NUMBERS, ("none", *NUMBERS))):
        between = {
            "none": "",
            "singular": f" {frame['link']} the {frame['attractor']}",
            "plural": f" {frame['link']} the {frame['attractors']}",
        }[attractor]
        verbs = (frame["verb"], frame["verbs"])
        verb, other = verbs if number == "singular" else verbs[::-1]
        before = f"the {frame[number]}{between}"
        rows.append((frame["singular"], before, verb, other, frame["after"], number, attractor))
    return rows


def main() -> None:
    """Write sentences.tsv."""
    with (HERE / "frames.tsv").open(encoding="utf-8", newline="") as file:
        rows = sentences(list(csv.DictReader(file, delimiter="\t")))
    with replace_files(HERE, ["sentences.tsv"]) as draft:
        lines = ("\t".join(row) for row in [COLUMNS, *rows])
        (draft / "sentences.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(rows)} sentences")


if __name__ == "__main__":
    main()

"""The picture that the front page opens with: what *bank* attends to in the two sentences of lecture 2's section 2.6.

``python tools/site/bank.py`` measures it in MiniLM and writes bank.svg, which the page includes, and .github/bank.png,
which the README and messengers show. The second needs playwright and Chromium.
"""

import sys
from pathlib import Path

import torch

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path[:0] = [
    str(ROOT),
    str(ROOT / "tools"),
    str(ROOT / "tests"),
]  # this checkout's packages, whichever are installed

from bertcourse.bert import load_pretrained  # noqa: E402

SENTENCES = {
    "river": "She sailed to the bank and tied up the boat.",
    "money": "He walked to the bank and asked for a small loan.",
}
WORD, LAYER, HEAD = "bank", 5, 7
WIDTH, LINE, TEXT = 360, 86, 15  # pixels: a phone's column, a sentence with its arcs, its letters
MIDDLE, SPACE = 142, 4.2  # of the word in both sentences, and between two words
NARROW, BROAD = "fijlrt.", "mwMSH"  # letters
Weights = list[tuple[str, float]]

PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="{style}"><style>
body {{ margin: 0; padding: 40px 90px; background: white; color: #1f2328; font-family: Arial, sans-serif }}
figure.bank > svg {{ max-width: none }}
</style><figure class="bank">{picture}</figure>"""


def measure() -> dict[str, Weights]:
    """For each sentence its words, and the share of the word's attention that each gets, to two decimals."""
    model, tokenizer = load_pretrained("minilm")
    measured = {}
    for sense, sentence in SENTENCES.items():
        encoding = tokenizer.encode(sentence)
        with torch.inference_mode():
            attentions = model(torch.tensor([encoding.ids]), output_attentions=True).attentions
        row = attentions[LAYER][0, HEAD, encoding.tokens.index(WORD)].tolist()
        words = [sentence[start:end] for start, end in encoding.offsets]  # "" for [CLS] and [SEP]
        measured[sense] = [(word, round(weight, 2)) for word, weight in zip(words, row) if word]
    return measured


def most_attended(weights: Weights) -> tuple[str, float]:
    """The word that gets most, the word itself left out."""
    return max((each for each in weights if each[0] != WORD), key=lambda each: each[1])


def width(word: str) -> float:
    """Of a word in a font without serifs, roughly; the drawing makes it so wide."""
    return TEXT * sum(0.3 if letter in NARROW else 0.8 if letter in BROAD else 0.57 for letter in word)


def middles(words: list[str]) -> list[float]:
    """Where the middle of each word stands; a full stop follows without a space."""
    at, x = [], 0.0
    for word in words:
        x += 0 if word == "." else SPACE
        at.append(x + width(word) / 2)
        x += width(word)
    return [middle + MIDDLE - at[words.index(WORD)] for middle in at]


def drawn(sense: str, weights: Weights, top: float) -> str:
    """A sentence, and above it an arc from the word to each that gets a hundredth of its attention or more."""
    places, base = middles([word for word, _ in weights]), top + LINE - 8
    start, foot, parts = MIDDLE, top + LINE - 8 - TEXT, []
    most = most_attended(weights)
    for end, (word, weight) in sorted(zip(places, weights), key=lambda each: each[1][1]):
        if word == WORD or weight < 0.01:
            continue
        height = 22 + 0.16 * abs(end - start)
        kind, thick = sense if (word, weight) == most else "other", max(0.8, 18 * weight)
        arc = f"M{start:.0f} {foot}C{start:.0f} {foot - height:.0f} {end:.0f} {foot - height:.0f} {end:.0f} {foot}"
        parts.append(f'<path class="{kind}" d="{arc}" stroke-width="{thick:.1f}"/>')
        if kind == sense:
            above = foot - 0.75 * height - thick / 2 - 4
            parts.append(f'<text class="{sense}" x="{(start + end) / 2:.0f}" y="{above:.0f}">{weight:.2f}</text>')
    for place, (word, weight) in zip(places, weights):
        kind = f' class="{sense}"' if (word, weight) == most else ' class="word"' if word == WORD else ""
        size = f'textLength="{width(word):.1f}" lengthAdjust="spacingAndGlyphs"'
        parts.append(f'<text{kind} x="{place:.1f}" y="{base}" {size}>{word}</text>')
    return "\n".join(parts)


def picture(measured: dict[str, Weights]) -> str:
    """Both sentences as SVG, whose colours and letters are course.css's."""
    said = []
    for sense, weights in measured.items():
        others = sorted((each for each in weights if each[0] != WORD), key=lambda each: -each[1])
        shares = ", ".join(f"{word} {weight:.2f}" for word, weight in others if weight >= 0.03)
        said.append(f"“{SENTENCES[sense]}” {shares}.")
    label = f"In two sentences, arcs from the word {WORD} to the words that it attends to. {' '.join(said)}"
    lines = [drawn(sense, weights, number * LINE) for number, (sense, weights) in enumerate(measured.items())]
    size = f'viewBox="0 0 {WIDTH} {LINE * len(lines)}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">'
    return "\n".join([opening, *lines, "</svg>\n"])


def write_image(svg: str, file: Path) -> None:
    """The figure as a picture, twice as wide as high."""
    from PIL import Image

    sys.path.append(str(ROOT / "tests"))
    from browsers import chromium

    style = (SITE / "static" / "course.css").as_uri()
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 1280, "height": 640})
        page = file.with_suffix(".html")
        page.write_text(PAGE.format(style=style, picture=svg), encoding="utf-8")
        tab.goto(page.as_uri())
        tab.screenshot(path=file)
        page.unlink()
    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)


if __name__ == "__main__":
    svg = picture(measure())
    (SITE / "bank.svg").write_text(svg, encoding="utf-8")
    write_image(svg, ROOT / ".github" / "bank.png")

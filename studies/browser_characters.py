"""What BERT's normalization makes of each character, as the script that the site's pages use.

    python studies/browser_characters.py

It writes bertcourse/figures/js/characters.js from chapter 3's own code, so that it does not matter which Unicode a
reader's browser knows. A test says when the file is not what this would write.
"""

import json
from pathlib import Path

from bertcourse.tokenization.characters import category, table
from bertcourse.tokenization.normalization import normalized_characters

TARGET = Path(__file__).parent.parent / "bertcourse" / "figures" / "js" / "characters.js"
SURROGATES, HANGUL = range(0xD800, 0xE000), range(0xAC00, 0xD7A4)
TEXT = """// What BERT's normalization makes of each character. Written by studies/browser_characters.py; do not edit.
//
// Runs of code points that share a rule: how many come between the run before and this one, how many it has, and the
// rule. A number is added to the code point; "x" drops the character, "m" too, as a mark; " " makes it a space; "a"
// sets it apart with a space on each side; "h" is a Korean syllable, which is decomposed; "=…" is what it becomes. What
// is in no run stays as it is.
const CHARACTER_RUNS = {runs};

const CHARACTER_RULES = new Map();
const DROPPED = new Set(); // before marks are put in order
for (let i = 0, code = 0; i < CHARACTER_RUNS.length; i++) {
  const [gap, length, rule] = CHARACTER_RUNS[i];
  code += gap;
  for (const end = code + length; code < end; code++) {
    CHARACTER_RULES.set(code, rule);
    if (rule === "x") DROPPED.add(code);
  }
}

/** Marks that are kept, and that change places with other marks of the same letter. */
const FLOATING = /[{floating}]/u;

/** What a character becomes: nothing, characters, or these with spaces around them. */
function normalized(character) {
  const code = character.codePointAt(0);
  const rule = CHARACTER_RULES.get(code);
  if (rule === undefined) return character;
  if (typeof rule === "number") return String.fromCodePoint(code + rule);
  if (rule === "x" || rule === "m") return "";
  if (rule === "a") return ` ${character} `;
  if (rule === "h") return character.normalize("NFD");
  return rule === " " ? " " : rule.slice(1);
}
"""


def rule_of(code: int) -> str | int | None:
    """What becomes of a code point; None if it stays as it is."""
    character = chr(code)
    if code in SURROGATES:
        return None
    becomes = "".join(part for part, _ in normalized_characters(character))
    if becomes == character:
        return None
    if becomes == "":
        return "m" if category(character) == "Mn" else "x"
    if becomes == " ":
        return " "
    if becomes == f" {character} ":
        return "a"
    if code in HANGUL:
        return "h"
    return ord(becomes) - code if len(becomes) == 1 else f"={becomes}"


def character_runs() -> list[list]:
    """Gap, length and rule of each run."""
    runs, end = [], 0
    last = None
    for code in range(0x110000):
        rule = rule_of(code)
        if rule is not None and rule == last and not str(rule).startswith("="):
            runs[-1][1] += 1
        elif rule is not None:
            runs.append([code - end, 1, rule])
        last = rule
        end = code + 1 if rule is not None else end
    return runs


def script() -> str:
    """The file."""
    floating = "".join(f"\\u{{{ord(mark):x}}}" for mark in sorted(table("reordered mark")))
    runs = json.dumps(character_runs(), ensure_ascii=True, separators=(",", ":"))
    lines = runs.replace("],[", "],\n[")
    rows, row = [], ""
    for entry in lines.split("\n"):
        if len(row) + len(entry) > 116:
            rows.append(row)
            row = ""
        row += entry
    return TEXT.replace("{runs}", "\n  ".join(["", *rows, row]).strip()).replace("{floating}", floating)


if __name__ == "__main__":
    TARGET.write_text(script(), encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")

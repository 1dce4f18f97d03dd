"""Write what the playground's scripts have from elsewhere: ``python tools/site/make_scripts.py characters kernel``

- characters: js/characters.js of the figures, what chapter 3's Python knows of each code point, so that a browser
  tokenizes as Python does whatever version of Unicode it has. Some 10 seconds.
- kernel: the bytes in js/product.js, assembled from product.wat beside it by node and wabt, which
  any folder may hold: ``npm install wabt`` there, and its node_modules in NODE_PATH.

Tests say when either is stale.
"""

import argparse
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # this checkout's packages, whichever are installed

from bertcourse.files import sha256  # noqa: E402
from bertcourse.tokenization import characters  # noqa: E402
from bertcourse.tokenization.normalization import clean  # noqa: E402

SCRIPTS = ROOT / "tools" / "bertcourse_figures" / "js"
SURROGATES = range(0xD800, 0xE000)
CODES = [code for code in range(0x110000) if code not in SURROGATES]
WIDTH = 120

CHARACTERS_HEAD = """\
// What BERT's normalization has to know of characters, from chapter 3's Python. Written by tools/site/make_scripts.py.
// A range of code points is first-last, in hexadecimal; 300-314=e6 gives each the value e6, and 100-12e/2=101 gives
// every second one, from 100 on, 101, 103, 105 ...
const CHARACTERS = {
"""
ABOUT = {
    "space": "white space",
    "dropped": "control, format and private characters; half a surrogate pair, which Python refuses",
    "chinese": "set apart as words",
    "decomposed": "those that Unicode's NFD changes, by the Unicode that the reference knows",
    "marks": "what has a place among the marks of a letter, its canonical combining class",
    "accents": "nonspacing marks, dropped",
    "lower": "lower case, of those that are not decomposed",
    "punctuation": "set apart as words",
}
ASSEMBLE = """
require("wabt")().then((wabt) => {
  const module = wabt.parseWat("product.wat", require("fs").readFileSync(0, "utf8"), { simd: true });
  module.validate();
  process.stdout.write(Buffer.from(module.toBinary({}).buffer).toString("base64"));
});
"""


def ranges(codes: list[int]) -> str:
    """Ascending code points as ranges.

    >>> ranges([9, 10, 13])
    '9-a d'
    """
    runs = [[code for _, code in run] for _, run in groupby(enumerate(codes), lambda place: place[1] - place[0])]
    return " ".join(f"{run[0]:x}-{run[-1]:x}" if len(run) > 1 else f"{run[0]:x}" for run in runs)


def ranges_with(values: dict[int, int]) -> str:
    """Code points that have a value, as ranges of one value each.

    >>> ranges_with({0x300: 230, 0x301: 230, 0x302: 1})
    '300-301=e6 302=1'
    """
    runs = groupby(values, lambda code: values[code])
    return " ".join(f"{part}={value:x}" for value, run in runs for part in ranges(list(run)).split())


def shifted_ranges(values: dict[int, int]) -> str:
    """Code points that have each a value, as ranges whose values ascend as they do, one by one or two by two.

    >>> shifted_ranges({0x41: 0x61, 0x42: 0x62, 0x100: 0x101, 0x102: 0x103, 0x104: 0x105})
    '41-42=61 100-104/2=101'
    """
    parts = []
    for shift, run in groupby(values, lambda code: values[code] - code):
        codes = list(run)
        while codes:
            step = 2 if codes[1:2] == [codes[0] + 2] else 1
            length = sum(1 for n, code in enumerate(codes) if code == codes[0] + n * step)
            first, last, codes = codes[0], codes[length - 1], codes[length:]
            span = f"{first:x}" if first == last else f"{first:x}-{last:x}"
            parts.append(f"{span}{'/2' if step == 2 and first != last else ''}={first + shift:x}")
    return " ".join(parts)


def those(holds: Callable[[str], object]) -> list[int]:
    """The code points whose character has a property."""
    return [code for code in CODES if holds(chr(code))]


def character_tables() -> dict[str, str]:
    """Table to ranges, in the order of the steps of ``normalized_characters``."""
    cleaned = {code: clean([(chr(code), 0)]) for code in CODES}
    decomposed = those(lambda character: characters.decomposition(character) != character)
    lower = {code: characters.lower_case(chr(code)) for code in sorted(set(CODES) - set(decomposed))}
    return {
        "space": ranges([code for code, to in cleaned.items() if to == [(" ", 0)]]),
        "dropped": ranges(sorted([code for code, to in cleaned.items() if not to] + list(SURROGATES))),
        "chinese": ranges(those(characters.is_chinese)),
        "decomposed": ranges(decomposed),
        "marks": ranges_with({code: place for code in CODES if (place := characters.combining_class(chr(code)))}),
        "accents": ranges(those(lambda character: characters.category(character) == "Mn")),
        "lower": shifted_ranges({code: ord(low) for code, low in lower.items() if low != chr(code)}),
        "punctuation": ranges(those(characters.is_punctuation)),
    }


def characters_script() -> str:
    """The content of characters.js."""
    return CHARACTERS_HEAD + "".join(entries(character_tables())) + "};\n"


def entries(tables: dict[str, str]) -> Iterator[str]:
    for name, text in tables.items():
        lines = textwrap.wrap(text, WIDTH - 4, break_on_hyphens=False)
        yield f"  // {ABOUT[name]}\n  {name}: `\n" + "".join(f"    {line}\n" for line in lines) + "  `,\n"


def assemble(text: str) -> str:
    """The bytes of a WebAssembly module in base64; the program ends with advice where node or wabt is missing."""
    try:
        done = subprocess.run(["node", "-e", ASSEMBLE], input=text, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit("expected node, which assembles product.wat with wabt; there is none. Install Node.js.")
    if done.returncode:
        sys.exit(
            f"product.wat could not be assembled. If wabt is missing: npm install wabt in any folder, and its "
            f"node_modules in NODE_PATH.\n{done.stderr}"
        )
    return done.stdout


def product_script(script: str, text: str, code: str) -> str:
    """product.js with the bytes that the text of product.wat assembles to, and with the text's hash."""
    lines = "".join(f"  {line}\n" for line in textwrap.wrap(code, WIDTH - 2))
    script = re.sub(r"SHA-256 [0-9a-f]*", f"SHA-256 {sha256(text.encode())}", script)
    return re.sub(r"const KERNEL = `[^`]*`", f"const KERNEL = `\n{lines}`", script)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["characters", "kernel"])
    what = parser.parse_args().what
    if "characters" in what:
        (SCRIPTS / "characters.js").write_text(characters_script(), encoding="utf-8", newline="\n")
    if "kernel" in what:
        product = SCRIPTS / "product.js"
        text = (SCRIPTS / "product.wat").read_text(encoding="utf-8")
        script = product_script(product.read_text(encoding="utf-8"), text, assemble(text))
        product.write_text(script, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

"""BERT in JavaScript, in a browser and under node: tokens, hidden states, attentions and guesses are Python's.

book_sentences.txt has 220 sentences from five books of Standard Ebooks, in the public domain, that the course's
checkpoint has not read. A browser runs every test; node, where there is one, weekly those that ask for ``run``.
"""

import base64
import doctest
import functools
import json
import re
import shutil
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from bertcourse.bert import BertForPreTraining, BertModel, find_folder, load_pretrained
from bertcourse.tokenization import WordPieceTokenizer
from bertcourse.tokenization.normalization import normalized_characters
from bertcourse_lab.benchmarks.pseudo_likelihood import pseudo_log_likelihoods
from browsers import script_of_the_site
from tokenization.test_wordpiece import CHARACTERS, random_strings

ROOT = Path(__file__).parents[2]
JS = ROOT / "tools" / "bertcourse_figures" / "js"
ENGINE = ("characters", "wordpiece", "product", "bert")
CODE = "\n".join((JS / f"{name}.js").read_text(encoding="utf-8") for name in ENGINE)
SENTENCES = (Path(__file__).parent / "book_sentences.txt").read_text(encoding="utf-8").splitlines()
PAIRS = list(zip(SENTENCES[:200:20], SENTENCES[1:200:20]))
TEXTS = [*((sentence, None) for sentence in SENTENCES), *PAIRS]
ODD = ["", " ", "\x00", "[MASK]", "a[MASK]b [mask]", "x" * 101, "é\u0301" * 100, "\u0327\u0301" * 500, "😀 I 💙 𠮷 𝓗"]
FILES = ("config.json", "vocab.txt", "model.safetensors")
HOST = "http://models.test"
ASSIGNED = [character for character in CHARACTERS if unicodedata.category(character) not in ("Cn", "Co")]

NODE = """
const { readFileSync } = require("fs");
const { code, data, folder, names } = JSON.parse(readFileSync(0, "utf8"));
const files = Object.fromEntries(names.map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`)).buffer]));
process.stdout.write(new Function("files", "data", code)(files, data));
"""
PAGE = """async ([code, data, folder, names]) => {
  window.kept ??= {};
  const fetched = async (name) => [name, await (await fetch(`${folder}/${name}`)).arrayBuffer()];
  const files = window.kept[folder] ??= Object.fromEntries(await Promise.all(names.map(fetched)));
  return new Function("files", "data", code)({ ...files }, JSON.parse(data));
}"""
HELPERS = """
const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
const textOf = (floats) => {
  const bytes = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
};
"""
TOKENS = """
const { tokenizer } = readBert(files);
return data.map((text) => [
  tokenizer.encode(text).map(({ id, token, start, end, word }) => [id, token, start, end, word]),
  normalizedCharacters(text).map(({ text, start }) => [text, start]),
]);
"""
READING = """
const { tokenizer, model } = readBert(files, data.fast);
return data.texts.map(([first, second]) => {
  const tokens = second === null ? tokenizer.encode(first) : tokenizer.encodePair(first, second);
  const position = tokens.length >> 1;
  const ids = tokens.map((token, i) => i === position ? tokenizer.ids.get("[MASK]") : token.id);
  const { hiddenStates, attentions } = model.forward(ids, tokens.map((token) => token.segment));
  return {
    ids, hidden: hiddenStates.map(textOf), attentions: attentions.map(textOf),
    top: model.hasMLMHead ? model.predict(hiddenStates.at(-1), position, 5).top : [],
  };
});
"""
NORMALIZED = """
// What becomes of each code point, up to `data`, that does not stay as it is.
const changed = {};
for (let code = 0; code < data; code++) {
  if (code >= 0xd800 && code < 0xe000) continue;
  const character = String.fromCodePoint(code);
  const normalized = normalizedCharacters(character).map(({ text }) => text).join("");
  if (normalized !== character) changed[code] = normalized;
}
return changed;
"""

Run = Callable[..., object]


def whole(body: str, code: str) -> str:
    return f"{code}\n{HELPERS}\nreturn JSON.stringify((() => {{\n{body}\n}})());"


def run_in_node(body: str, data: object = None, code: str = CODE, folder: Path | None = None) -> object:
    """What a piece of script returns after the engine's, as JSON; ``files`` is what ``readBert`` takes."""
    if not (node := shutil.which("node")):
        pytest.skip("node is not here: https://nodejs.org")
    folder = str(folder or find_folder("course"))
    content = json.dumps({"code": whole(body, code), "data": data, "folder": folder, "names": FILES})
    done = subprocess.run([node, "-e", NODE], input=content.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def in_browser(browser) -> Run:
    """The same in a page, which can reach nothing but models' files."""
    page, folders = browser.new_page(), []

    def answer(route):
        number, name = route.request.url.removeprefix(f"{HOST}/").split("/")
        route.fulfill(path=folders[int(number)] / name) if name in FILES else route.fulfill(body="")

    def run_in_page(body: str, data: object = None, code: str = CODE, folder: Path | None = None) -> object:
        folder = folder or find_folder("course")
        if folder not in folders:
            folders.append(folder)
        place = f"{HOST}/{folders.index(folder)}"
        return json.loads(page.evaluate(PAGE, [whole(body, code), json.dumps(data), place, FILES]))

    page.route("**", answer)
    page.goto(f"{HOST}/page/")
    yield run_in_page
    page.close()


@pytest.fixture(params=["browser", pytest.param("node", marks=pytest.mark.weekly)])
def run(request) -> Run:
    return run_in_node if request.param == "node" else request.getfixturevalue("in_browser")


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def from_base64(texts: list[str]) -> np.ndarray:
    return np.concatenate([np.frombuffer(base64.b64decode(text), dtype=np.float32) for text in texts])


@functools.cache
def python_reads(model: str | Path, count: int = 60) -> list[dict]:
    """What ``READING`` returns of the last ``count`` texts, from Python, as arrays."""
    model, tokenizer = load_pretrained(model, BertForPreTraining if model == "course" else BertModel)
    has_mlm_head = isinstance(model, BertForPreTraining)
    tokenizer.no_padding()
    results = []
    for first, second in TEXTS[-count:]:
        encoding = tokenizer.encode(first, second)
        position = len(encoding) // 2
        ids = [*encoding.ids]
        ids[position] = tokenizer.token_to_id("[MASK]")
        settings = dict(token_type_ids=torch.tensor([encoding.type_ids]))
        with torch.inference_mode():
            output = model(torch.tensor([ids]), output_attentions=True, **settings)
        top = output.mlm_logits[0, position].softmax(-1).topk(5) if has_mlm_head else None
        results.append(
            {
                "ids": ids,
                "hidden": torch.stack(output.hidden_states).flatten().numpy(),
                "attentions": torch.stack(output.attentions).flatten().numpy(),
                "top": top.indices.tolist() if top else [],
                "probabilities": top.values.tolist() if top else [],
            }
        )
    return results


def script_reads(run: Run, count: int = 60, fast: bool = True, **settings) -> list[dict]:
    """The same from the script; of the last ``count`` texts, pairs among them."""
    results = run(READING, {"texts": TEXTS[-count:], "fast": fast}, **settings)
    for result in results:
        result |= {name: from_base64(result[name]) for name in ("hidden", "attentions")}
        result["probabilities"] = [guess["probability"] for guess in result["top"]]
        result["top"] = [guess["id"] for guess in result["top"]]
    return results


def problems_of_reading(got: list[dict], expected: list[dict]) -> Counter:
    """How many texts differ in what."""
    problems = Counter()
    for mine, theirs in zip(got, expected[-len(got) :], strict=True):
        problems["ids"] += mine["ids"] != theirs["ids"]
        problems["top"] += mine["top"] != theirs["top"]
        for name, bound in (("hidden", 1e-4), ("attentions", 3e-5), ("probabilities", 1e-4)):
            fits = len(mine[name]) == len(theirs[name]) and np.allclose(mine[name], theirs[name], rtol=0, atol=bound)
            problems[name] += not fits
    return +problems


@functools.cache
def python_tokenizer() -> WordPieceTokenizer:
    return WordPieceTokenizer.from_file(find_folder("course") / "vocab.txt")


@functools.cache
def python_tokens(text: str) -> list[list]:
    """A text's part of what ``TOKENS`` returns, from Python; offsets in UTF-16, as JavaScript counts."""
    ids, encoding = python_tokenizer().token_ids, python_tokenizer().encode(text)
    units = np.cumsum([0, *(len(character.encode("utf-16-le")) // 2 for character in text)]).tolist()
    spans = [(units[start], units[end]) for start, end in encoding.offsets]
    rows = zip(encoding.ids, encoding.tokens, spans, encoding.word_ids)
    first, last = [ids["[CLS]"], "[CLS]", 0, 0, None], [ids["[SEP]"], "[SEP]", units[-1], units[-1], None]
    characters = [[character, units[place]] for character, place in normalized_characters(text)]
    return [[first, *([i, token, *span, word] for i, token, span, word in rows), last], characters]


def problems_of_tokens(run: Run, texts: list[str], code: str = CODE) -> list[str]:
    """The texts that the script normalizes or tokenizes otherwise."""
    got = run(TOKENS, texts, code=code)
    return [ascii(text) for text, mine in zip(texts, got, strict=True) if mine != python_tokens(text)]


def python_normalized() -> dict[str, str]:
    """What ``NORMALIZED`` returns, from Python, without those that are not assigned or private."""
    changed = {}
    for character in ASSIGNED:
        normalized = "".join(part for part, _ in normalized_characters(character))
        if normalized != character:
            changed[str(ord(character))] = normalized
    return changed


@pytest.mark.weekly
def test_tokens_ids_and_offsets_are_pythons_on_the_20000_random_strings_of_chapter_3(in_browser):
    assert problems_of_tokens(in_browser, [*random_strings(20_000, seed=0), *ODD]) == []


def test_tokens_ids_and_offsets_are_pythons_on_other_random_strings(run):
    assert problems_of_tokens(run, [*random_strings(1000, seed=3), *ODD]) == []


def test_every_assigned_character_is_normalized_as_in_python(in_browser):
    got, expected = in_browser(NORMALIZED, 0x110000), python_normalized()
    assert [code for code in map(str, map(ord, ASSIGNED)) if got.get(code) != expected.get(code)] == []
    assert len(expected) > 20_000


def test_half_a_surrogate_pair_is_dropped(run):
    body = r"return normalizedWords('a\ud83d b\ude00c', 0).map((word) => word.map(({ text }) => text).join(''))"
    assert run(body) == ["a", "bc"]


def test_pairs_have_segments_and_offsets_of_their_own(run):
    body = "return readBert(files).tokenizer.encodePair('A house.', 'So he');"
    tokens = run(body)
    assert [each["token"] for each in tokens] == ["[CLS]", "a", "house", ".", "[SEP]", "so", "he", "[SEP]"]
    assert [each["segment"] for each in tokens] == [0] * 5 + [1] * 3
    places = [(each["start"], each["end"], each["word"]) for each in tokens[4:]]
    assert places == [(8, 8, None), (0, 2, 0), (3, 5, 1), (5, 5, None)]


@pytest.mark.parametrize("count", [60, pytest.param(len(TEXTS), marks=pytest.mark.weekly)])
def test_hidden_states_attentions_and_guesses_are_pythons_on_pairs_and_sentences(in_browser, count):
    got = script_reads(in_browser, count)
    assert len(got) == count
    assert problems_of_reading(got, python_reads("course", count)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("fast", [True, False])
def test_with_webassembly_and_without_it_all_is_as_in_python(run, fast):
    assert problems_of_reading(script_reads(run, 12, fast), python_reads("course")) == {}


@pytest.mark.slow
def test_where_there_is_no_webassembly_the_plain_product_takes_over(run):
    code = f"const WebAssembly = undefined;\n{CODE}"
    body = "return readBert(files).model.product === plainProduct"
    assert run(body, code=code) is True
    assert run(body) is False
    assert problems_of_reading(script_reads(run, 3, code=code), python_reads("course")) == {}


@pytest.fixture(scope="module")
def eight_bits(tmp_path_factory) -> tuple[Path, Path]:
    """Folders of MiniLM in 8 bits, as the playground writes it, and with the same numbers in float32, for Python."""
    small, rounded = (tmp_path_factory.mktemp("minilm") for _ in range(2))
    for path in find_folder("minilm").iterdir():
        if path.is_file() and path.name != "model.safetensors":
            shutil.copy(path, small)
            shutil.copy(path, rounded)
    tensors = script_of_the_site("playground").small_weights("minilm", find_folder("minilm"))
    save_file(tensors, small / "model.safetensors")
    floats = {name: tensor.astype(np.float32) for name, tensor in tensors.items() if not name.endswith(".scale")}
    for name in floats.keys() & {name.removesuffix(".scale") for name in tensors.keys() - floats.keys()}:
        floats[name] *= tensors[f"{name}.scale"][:, None]
    save_file(floats, rounded / "model.safetensors")
    return small, rounded


@pytest.mark.weekly
def test_minilm_in_8_bits_is_read_as_in_python_and_is_close_to_minilm(in_browser, eight_bits):
    small, rounded = eight_bits
    got = script_reads(in_browser, 12, folder=small)
    assert problems_of_reading(got, python_reads(rounded, 12)) == {}
    for mine, full in zip(got, python_reads("minilm", 12)):
        vectors = [each["hidden"].reshape(7, -1, 384)[-1] for each in (mine, full)]
        cosines = (vectors[0] * vectors[1]).sum(axis=-1) / np.linalg.norm(vectors, axis=-1).prod(axis=0)
        assert cosines.min() > 0.98


def test_all_half_precision_numbers_are_read(in_browser):
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    body = "return textOf(floatsFromHalves(Uint16Array.from({ length: 65536 }, (_, i) => i)))"
    assert np.array_equal(from_base64([in_browser(body)]), halves, equal_nan=True)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 4, 2), (4, 8, 6), (7, 64, 10), (3, 10, 4), (5, 12, 3)])
def test_kernel_and_plain_product_are_matrix_products(run, rows, inputs, outputs):
    shapes = ((rows, inputs), (outputs, inputs), outputs)
    x, W, b = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in shapes)
    body = """
    const { x, W, b } = Object.fromEntries(Object.entries(data.arrays).map(([name, text]) =>
      [name, { data: new Float32Array(bytesOf(text)) }]));
    const product = fastProduct({ W, b }, data.sizes);
    if (product === plainProduct) throw new Error("there is no WebAssembly");
    return [textOf(product(x.data, W.data, b.data)), textOf(plainProduct(x.data, W.data, b.data))];
    """
    arrays = {name: in_base64(array.tobytes()) for name, array in (("x", x), ("W", W), ("b", b))}
    sizes = {"longest": rows, "widest": max(inputs, outputs), "vocabulary": 1}
    for got in run(body, {"arrays": arrays, "sizes": sizes}):
        assert from_base64([got]) == pytest.approx((x @ W.T + b).ravel(), abs=1e-5)


def test_pseudo_log_likelihood_is_pythons(run):
    model, tokenizer = load_pretrained("course", BertForPreTraining)
    texts = ["The children are in the garden.", "The children is in the garden.", "It rained."]
    body = """
    const { tokenizer, model } = readBert(files);
    return data.map((text) => model.pseudoLogLikelihood(tokenizer.encode(text).map((token) => token.id)));
    """
    expected = pseudo_log_likelihoods(model, tokenizer, texts)
    assert run(body, texts) == pytest.approx(expected, abs=1e-3)


def test_cosine_and_the_largest_are_found(in_browser):
    assert in_browser("return cosine([3, 4], [4, 3])") == pytest.approx(24 / 25)
    assert in_browser("return indicesOfLargest([1, 5, 2, 5, 4], 3)") == [1, 3, 4]
    assert in_browser("return indicesOfLargest([2, 1], 5)") == [0, 1]


# Mistakes that one might make, and what must tell of them.
NORM = "this.addAndNormalize(`${name}.output.LayerNorm`, "
MLM_BIAS = 'this.weights("cls.predictions.bias")'
WRONG_READINGS = {
    "tanh GELU": ("x * (x < 0 ? tail : 2 - tail)", "x * (1 + Math.tanh(0.79788456 * (x + 0.044715 * x ** 3)))"),
    "quick GELU": ("0.5 * x * (x < 0 ? tail : 2 - tail)", "x / (1 + Math.exp(-1.702 * x))"),
    "no position": (" + positions[l * D + d]", ""),
    "no segment": ("kinds[segments[l] * D + d]", "kinds[d]"),
    "unscaled scores": ("score / Math.sqrt(d)", "score"),
    "scaled by the hidden size": ("score / Math.sqrt(d)", "score / Math.sqrt(D)"),
    "unbiased variance": ("** 2 / D", "** 2 / (D - 1)"),
    "query and key exchanged": ('["query", "key", "value"]', '["key", "query", "value"]'),
    "no residual": (f"{NORM}x,", f"{NORM}x.map(() => 0),"),
    "halves without their leading one": ("(1024 + fraction)", "fraction"),
    "the kernel's last rows left out": ("multipleOf4(L), I, O", "L & ~3, I, O"),
    "no bias of the MLM head": (MLM_BIAS, f"{MLM_BIAS}.map(() => 0)"),
}
CLEAN = 'if (isA("space", character))'
WRONG_TOKENS = {
    "Chinese merged with other letters": (
        'cleanCharacters(text, offset), "chinese")',
        'cleanCharacters(text, offset), "space")',
    ),
    "control characters as white space": (CLEAN, 'if (isA("space", character) || isA("dropped", character))'),
    "punctuation merged with letters": ('"punctuation")', '"space")'),
    "accents kept": ('isA("accents", text) ? []', "false ? []"),
    "case kept": ("return range ? { ...placed", "return false ? { ...placed"),
    "marks not in order": ("a.place - b.place", "0"),
    "offsets in code points": ("end: offset + character.length", "end: offset + 1"),
    "shortest piece first": ("let last = Math.min(characters.length, first + this.longest);", "let last = first + 1;"),
    "words of any length": ("LONGEST_WORD = 100", "LONGEST_WORD = 1000"),
    "special tokens cut": ("text.split(SPECIAL_TOKEN)", "[text]"),
}


def planted(wrong: tuple[str, str]) -> str:
    assert CODE.count(wrong[0]) == 1, wrong[0]
    return CODE.replace(*wrong)


@pytest.mark.parametrize("wrong", WRONG_READINGS.values(), ids=WRONG_READINGS.keys())
def test_a_planted_error_in_the_model_is_caught(in_browser, wrong):
    assert problems_of_reading(script_reads(in_browser, 12, code=planted(wrong)), python_reads("course")) != {}


@pytest.mark.parametrize("wrong", WRONG_TOKENS.values(), ids=WRONG_TOKENS.keys())
def test_a_planted_error_in_the_tokenizer_is_caught(in_browser, wrong):
    assert problems_of_tokens(in_browser, [*random_strings(2000, seed=0), *ODD], planted(wrong)) != []


def test_a_code_point_in_another_table_is_caught(in_browser):
    wrong = ("  punctuation: `\n    21-2f", "  punctuation: `\n    22-2f")
    right, got = in_browser(NORMALIZED, 0x1000), in_browser(NORMALIZED, 0x1000, code=planted(wrong))
    assert [code for code in right if got.get(code) != right[code]] == ["33"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("delete files['vocab.txt']", "readBert needs vocab.txt"),
        ("files['model.safetensors'] = files['model.safetensors'].slice(0, 9_000_000)", "cut off"),
        ("files['model.safetensors'] = new Uint8Array(20).fill(9).buffer", "damaged"),
        ("files['vocab.txt'] = new TextEncoder().encode('[UNK]\\n[SEP]\\n')", "[CLS]"),
        ("config.model_type = 'roberta'", "model_type"),
        ("config.hidden_act = 'relu'", "hidden_act"),
        ("config.num_hidden_layers = 7", "layer.6"),
    ],
)
def test_files_that_do_not_fit_are_refused(in_browser, change, message):
    body = f"""
    const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
    {change};
    files["config.json"] = new TextEncoder().encode(JSON.stringify(config));
    try {{ readBert(files).model.forward([2, 3]); }} catch (error) {{ return error.message; }}
    """
    assert message in in_browser(body)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("forward([])", "1 to 256 tokens; got 0"),
        ("forward(new Array(257).fill(5))", "1 to 256 tokens; got 257"),
        ("forward([2, 8192, 3])", "0 to 8191"),
        ("forward([2, undefined, 3])", "ids"),
        ("forward([2, 5, 3], [0, 0])", "3 numbers"),
        ("forward([2, 5, 3], [0, 2, 0])", "below 2"),
    ],
)
def test_what_no_model_can_read_is_refused(in_browser, call, message):
    body = f"try {{ readBert(files).model.{call}; }} catch (error) {{ return error.message; }}"
    assert message in in_browser(body)


def test_a_model_without_an_mlm_head_says_so(in_browser):
    body = """
    try {
      new Bert({ model_type: "bert", hidden_act: "gelu" }, {}, 4, false).predict(new Float32Array(8), 0);
    } catch (error) { return error.message; }
    """
    assert "MLM head" in in_browser(body)


def names_of(script: Path) -> list[str]:
    """What a script defines at its top."""
    return re.findall(r"^(?:function|class|const|let) (\w+)", script.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("other", sorted(path.stem for path in JS.glob("*.js") if path.stem not in ENGINE))
def test_the_scripts_share_a_scope_with_others_without_a_clash(other):
    names = Counter(name for script in (*ENGINE, other) for name in names_of(JS / f"{script}.js"))
    assert [name for name, count in names.items() if count > 1] == []
    assert {"readBert", "cosine", "plainProduct", "CHARACTERS"} <= set(names)


def test_ranges_are_written_as_their_docstrings_show():
    failed, attempted = doctest.testmod(script_of_the_site("make_scripts"))
    assert failed == 0 and attempted >= 3


@pytest.mark.slow
@pytest.mark.weekly
def test_character_tables_are_those_that_python_gives():
    script = script_of_the_site("make_scripts").characters_script()
    assert script == (JS / "characters.js").read_text(encoding="utf-8"), "python tools/site/make_scripts.py characters"


def test_the_kernel_is_that_of_its_text():
    make = script_of_the_site("make_scripts")
    text, script = ((JS / f"product.{kind}").read_text(encoding="utf-8") for kind in ("wat", "js"))
    assert make.sha256(text.encode()) in script, "python tools/site/make_scripts.py kernel"
    try:
        code = make.assemble(text)
    except SystemExit as error:
        pytest.skip(str(error).splitlines()[0])
    assert make.product_script(script, text, code) == script

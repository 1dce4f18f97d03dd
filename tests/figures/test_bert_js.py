"""BERT in JavaScript, under node and in a browser: tokens, hidden states, attentions and guesses are Python's.

book_sentences.txt has 220 sentences from five books of Standard Ebooks, in the public domain, that the course's
checkpoint has not read.
"""

import base64
import functools
import json
import re
import runpy
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from figures.test_in_browser import absent, browser  # noqa: F401
from safetensors.torch import load_file, save
from tokenization.test_wordpiece import CHARACTERS, random_strings

from bertcourse.benchmarks.pseudo_likelihood import plain_pseudo_log_likelihood
from bertcourse.bert import BertForPreTraining, BertModel, find_folder, load_pretrained
from bertcourse.tokenization import WordPieceTokenizer, normalize

ROOT = Path(__file__).parents[2]
JS = ROOT / "bertcourse" / "figures" / "js"
ENGINE = ("characters", "product", "bert")
CODE = "\n".join((JS / f"{name}.js").read_text(encoding="utf-8") for name in ENGINE)
SENTENCES = (Path(__file__).parent / "book_sentences.txt").read_text(encoding="utf-8").splitlines()
PAIRS = list(zip(SENTENCES[:200:20], SENTENCES[1:200:20]))
ODD = ["", " ", "\x00", "[MASK]", "a[MASK]b [mask]", "x" * 101, "é\u0301" * 100, "\u0327\u0301" * 500, "😀 I 💙 𠮷 𝓗"]
FILES = ("config.json", "vocab.txt", "model.safetensors")

NODE = """
const { code, data } = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(new Function("data", code)(data));
"""
HELPERS = """
const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
const textOf = (floats) => {
  const bytes = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
};
const filesOf = (texts) => Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, bytesOf(text)]));
"""
TOKENS = """
const { tokenizer } = readBert(filesOf(data.files));
return data.texts.map((text) => tokenizer.encode(text).map(({ id, token, start, end, word }) =>
  [id, token, start, end, word]));
"""
READING = """
const { tokenizer, model } = readBert(filesOf(data.files), data.fast);
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
WORDS = """
// What becomes of each code point between two letters, where that is another word than the three: a text for each.
const differ = {};
for (let code = 0; code < 0x110000; code++) {
  if (code >= 0xd800 && code < 0xe000) continue;
  const character = String.fromCodePoint(code);
  const place = (offset) => (offset > 1 ? offset - character.length + 1 : offset); // in code points
  const words = normalizedWords(`a${character}b`).map((word) =>
    word.map(({ text, start, end }) => `${text}${place(start)}${place(end)}`).join(""));
  if (words.length !== 1 || words[0] !== `a01${character}12b23`) differ[code] = words.join(" ");
}
return differ;
"""

Run = Callable[..., object]


def run_in_node(body: str, data: object = None, code: str = CODE) -> object:
    """What a piece of script returns after the engine's, as JSON."""
    node = shutil.which("node") or absent("node")
    content = json.dumps({"code": whole(body, code), "data": data})
    done = subprocess.run([node, "-e", NODE], input=content.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


def whole(body: str, code: str) -> str:
    return f"{code}\n{HELPERS}\nreturn JSON.stringify((() => {{\n{body}\n}})());"


@pytest.fixture(params=["node", "browser"])
def run(request) -> Run:
    """``run_in_node``, and the same in a page, which can reach nothing."""
    if request.param == "node":
        return run_in_node
    page = request.getfixturevalue("browser").new_page()
    page.route("**", lambda route: route.abort())
    request.addfinalizer(page.close)

    def run_in_page(body: str, data: object = None, code: str = CODE) -> object:
        script = f"(text) => {{ const data = JSON.parse(text);\n{whole(body, code)}\n}}"
        return json.loads(page.evaluate(script, json.dumps(data)))

    return run_in_page


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def from_base64(texts: list[str]) -> np.ndarray:
    return np.concatenate([np.frombuffer(base64.b64decode(text), dtype=np.float32) for text in texts])


@functools.cache
def files(name: str, kind: str = "") -> dict[str, str]:
    """The files that ``readBert`` reads, in base64, with weights of another kind."""
    folder = find_folder(name)
    contents = {file: in_base64((folder / file).read_bytes()) for file in FILES}
    if kind:
        tensors = load_file(folder / "model.safetensors")
        rounded = runpy.run_path(str(ROOT / "site" / "shrink.py"))["smaller"](tensors, kind)
        contents["model.safetensors"] = in_base64(save(rounded))
    return contents


@functools.cache
def python_reads(name: str) -> list[dict]:
    """What ``READING`` returns, from Python, as arrays."""
    model, tokenizer = load_pretrained(name, BertForPreTraining if name == "course" else BertModel)
    tokenizer.no_padding()
    results = []
    with torch.no_grad():
        for first, second in texts():
            encoding = tokenizer.encode(first, second)
            position = len(encoding) // 2
            ids = [*encoding.ids]
            ids[position] = tokenizer.token_to_id("[MASK]")
            settings = dict(token_type_ids=torch.tensor([encoding.type_ids]), output_hidden_states=True)
            output = model(torch.tensor([ids]), output_attentions=True, **settings)
            top = output.mlm_logits[0, position].softmax(-1).topk(5) if name == "course" else None
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


def texts() -> list[tuple[str, str | None]]:
    return [*((sentence, None) for sentence in SENTENCES), *PAIRS]


def script_reads(run: Run, contents: dict[str, str], count: int | None = None, fast: bool = True, **settings):
    """The same from the script; of the last ``count`` texts, pairs among them."""
    data = {"files": contents, "texts": texts()[-count:] if count else texts(), "fast": fast}
    results = run(READING, data, **settings)
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
        for name, bound in (("hidden", 1e-4), ("attentions", 1e-5), ("probabilities", 1e-4)):
            fits = len(mine[name]) == len(theirs[name]) and np.allclose(mine[name], theirs[name], rtol=0, atol=bound)
            problems[name] += not fits
    return +problems


def python_tokens(texts: list[str]) -> list[list]:
    """What ``TOKENS`` returns, from Python; offsets in UTF-16, as JavaScript counts."""
    tokenizer = WordPieceTokenizer.from_file(find_folder("course") / "vocab.txt")
    results = []
    for text in texts:
        encoding = tokenizer.encode(text)
        units = np.cumsum([0, *(len(character.encode("utf-16-le")) // 2 for character in text)]).tolist()
        spans = [(units[start], units[end]) for start, end in encoding.offsets]
        rows = zip(encoding.ids, encoding.tokens, spans, encoding.word_ids)
        first = [tokenizer.token_ids["[CLS]"], "[CLS]", 0, 0, None]
        last = [tokenizer.token_ids["[SEP]"], "[SEP]", units[-1], units[-1], None]
        results.append([first, *([i, token, *span, word] for i, token, span, word in rows), last])
    return results


def problems_of_tokens(run: Run, texts: list[str], code: str = CODE) -> list[str]:
    """The texts that the script tokenizes otherwise."""
    got = run(TOKENS, {"files": files("course"), "texts": texts}, code=code)
    return [ascii(text) for text, mine, theirs in zip(texts, got, python_tokens(texts), strict=True) if mine != theirs]


@functools.cache
def python_words() -> dict[str, str]:
    """What ``WORDS`` returns, from Python."""
    differ = {}
    for character in CHARACTERS:
        words = normalize(f"a{character}b")
        if len(words) != 1 or words[0].text != f"a{character}b":
            spelled = ("".join(f"{c}{a}{b}" for c, (a, b) in zip(*word)) for word in words)
            differ[str(ord(character))] = " ".join(spelled)
    return differ


def test_tokens_ids_and_offsets_are_pythons_on_20000_random_strings(run):
    assert problems_of_tokens(run, [*random_strings(20_000, seed=0), *ODD]) == []


def test_every_code_point_is_normalized_as_in_python(run):
    got, expected = run(WORDS), python_words()
    assert [code for code in expected.keys() | got.keys() if got.get(code) != expected.get(code)] == []


def test_half_a_surrogate_pair_is_dropped(run):
    assert run("return normalizedWords('a\\ud83d b\\ude00c').map((word) => word.map((c) => c.text).join(''))") == ["a", "bc"]


def test_pairs_have_segments_and_offsets_of_their_own(run):
    body = TOKENS.replace("encode(text)", "encodePair(...text)").replace("word }", "word, segment }")
    body = body.replace("end, word]", "end, word, segment]")
    (tokens,) = run(body, {"files": files("course"), "texts": [["A house.", "So he"]]})
    assert [token for _, token, *_ in tokens] == ["[CLS]", "a", "house", ".", "[SEP]", "so", "he", "[SEP]"]
    assert [segment for *_, segment in tokens] == [0] * 5 + [1] * 3
    assert [row[2:5] for row in tokens[4:]] == [[8, 8, None], [0, 2, 0], [3, 5, 1], [5, 5, None]]


def test_hidden_states_attentions_and_guesses_are_pythons_on_220_sentences_and_pairs(run):
    got = script_reads(run, files("course"))
    assert len(got) == 230
    assert problems_of_reading(got, python_reads("course")) == {}


def test_minilm_in_float32_equals_python(run):
    assert problems_of_reading(script_reads(run, files("minilm"), 30), python_reads("minilm")) == {}


def test_plain_product_gives_the_same(run):
    assert problems_of_reading(script_reads(run, files("course"), 12, fast=False), python_reads("course")) == {}


def test_without_webassembly_the_plain_product_takes_over(run):
    code = f"const WebAssembly = undefined;\n{CODE}"
    body = "return readBert(filesOf(data)).model.product === plainProduct"
    assert run(body, files("course"), code=code) is True
    assert run(body, files("course")) is False
    assert problems_of_reading(script_reads(run, files("course"), 3, code=code), python_reads("course")) == {}


@pytest.mark.parametrize(("name", "kind", "cosine"), [("minilm", "float16", 0.99999), ("minilm", "int8", 0.99), ("course", "int8", 0.99)])
def test_rounded_weights_stay_close(name, kind, cosine):
    got = script_reads(run_in_node, files(name, kind), 60)
    expected = python_reads(name)[-60:]
    width = 384 if name == "minilm" else 256
    cosines = []
    for mine, theirs in zip(got, expected):
        last = [result["hidden"].reshape(-1, len(result["ids"]), width)[-1] for result in (mine, theirs)]
        norms = np.linalg.norm(last, axis=-1).prod(axis=0)
        cosines.append((last[0] * last[1]).sum(axis=-1) / norms)
    print(np.concatenate(cosines).min(), np.concatenate(cosines).mean())
    assert np.concatenate(cosines).mean() > cosine
    same = sum(mine["top"][:1] == theirs["top"][:1] for mine, theirs in zip(got, expected))
    print(same)
    assert same >= 0.9 * len(got)


def test_all_half_precision_numbers_are_read(run):
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    got = from_base64([run("return textOf(floatsFromHalves(Uint16Array.from({ length: 65536 }, (_, i) => i)))")])
    assert np.array_equal(got, halves, equal_nan=True)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 4, 2), (4, 8, 6), (7, 64, 10), (3, 10, 4), (5, 12, 3)])
def test_kernel_and_plain_product_are_matrix_products(run, rows, inputs, outputs):
    x, W, b = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in ((rows, inputs), (outputs, inputs), outputs))
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
    const { tokenizer, model } = readBert(filesOf(data.files));
    return data.texts.map((text) => model.pseudoLogLikelihood(tokenizer.encode(text).map((token) => token.id)));
    """
    got = run(body, {"files": files("course"), "texts": texts})
    assert got == pytest.approx([plain_pseudo_log_likelihood(model, tokenizer, text) for text in texts], abs=1e-3)


def test_cosine_and_the_largest_are_found():
    assert run_in_node("return cosine([3, 4], [4, 3])") == pytest.approx(24 / 25)
    assert run_in_node("return indicesOfLargest([1, 5, 2, 5, 4], 3)") == [1, 3, 4]
    assert run_in_node("return indicesOfLargest([2, 1], 5)") == [0, 1]


# Mistakes that one might make, and what must tell of them.
WRONG_READINGS = {
    "tanh GELU": ("0.5 * x * (x < 0 ? tail : 2 - tail)", "0.5 * x * (1 + Math.tanh(0.79788456 * (x + 0.044715 * x ** 3)))"),
    "quick GELU": ("0.5 * x * (x < 0 ? tail : 2 - tail)", "x / (1 + Math.exp(-1.702 * x))"),
    "no position": (" + positions[l * D + d]", ""),
    "no segment": ("kinds[segments[l] * D + d]", "kinds[d]"),
    "unscaled scores": ("score / Math.sqrt(d)", "score"),
    "scaled by the hidden size": ("score / Math.sqrt(d)", "score / Math.sqrt(D)"),
    "unbiased variance": ("** 2 / D", "** 2 / (D - 1)"),
    "query and key exchanged": ('["query", "key", "value"]', '["key", "query", "value"]'),
    "no residual": ("this.addAndNormalize(`${name}.output.LayerNorm`, x,", "this.addAndNormalize(`${name}.output.LayerNorm`, inner.map(() => 0).subarray(0, x.length),"),
    "halves without their leading one": ("(1024 + fraction)", "fraction"),
    "the kernel's last rows left out": ("multipleOf4(L), I, O", "L & ~3, I, O"),
    "no bias of the MLM head": ('this.weights("cls.predictions.bias")', 'this.weights("cls.predictions.bias").map(() => 0)'),
}
WRONG_TOKENS = {
    "Chinese merged with other letters": ('cleanCharacters(text, offset), "chinese")', 'cleanCharacters(text, offset), "space")'),
    "control characters merged with white space": ('if (isA("space", character))', 'if (isA("space", character) || isA("dropped", character))'),
    "punctuation merged with letters": ('"punctuation"))', '"space"))'),
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
def test_a_planted_error_in_the_model_is_caught(wrong):
    got = script_reads(run_in_node, files("course"), 12, code=planted(wrong))
    assert problems_of_reading(got, python_reads("course")) != {}


@pytest.mark.parametrize("wrong", WRONG_TOKENS.values(), ids=WRONG_TOKENS.keys())
def test_a_planted_error_in_the_tokenizer_is_caught(wrong):
    assert problems_of_tokens(run_in_node, [*random_strings(2000, seed=0), *ODD], planted(wrong)) != []


def test_a_code_point_in_another_table_is_caught():
    wrong = CODE.replace("  punctuation: `\n    21-2f", "  punctuation: `\n    22-2f")
    assert wrong != CODE
    got, expected = run_in_node(WORDS, code=wrong), python_words()
    assert [code for code in expected if got.get(code) != expected[code]] == ["33"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("delete files['vocab.txt']", "vocab.txt"),
        ("files['model.safetensors'] = files['model.safetensors'].slice(0, 9_000_000)", "cut off"),
        ("files['model.safetensors'] = new Uint8Array(20).fill(9).buffer", "damaged"),
        ("files['vocab.txt'] = new TextEncoder().encode('[UNK]\\n[SEP]\\n')", "[CLS]"),
        ("config.model_type = 'roberta'", "model_type"),
        ("config.hidden_act = 'relu'", "hidden_act"),
        ("config.num_hidden_layers = 5", "layer.4"),
    ],
)
def test_files_that_do_not_fit_are_refused(change, message):
    body = f"""
    const files = filesOf(data);
    const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
    {change};
    files["config.json"] = new TextEncoder().encode(JSON.stringify(config));
    try {{ readBert(files).model.forward([2, 3]); }} catch (error) {{ return error.message; }}
    """
    assert message in run_in_node(body, files("course"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("forward([])", "1 to 512 tokens; got 0"),
        ("forward(new Array(513).fill(5))", "1 to 512 tokens; got 513"),
        ("forward([2, 8192, 3])", "0 to 8191"),
        ("forward([2, undefined, 3])", "ids"),
        ("forward([2, 5, 3], [0, 0])", "3 numbers"),
        ("forward([2, 5, 3], [0, 2, 0])", "below 2"),
    ],
)
def test_what_no_model_can_read_is_refused(call, message):
    body = f"try {{ readBert(filesOf(data)).model.{call}; }} catch (error) {{ return error.message; }}"
    assert message in run_in_node(body, files("course"))


def test_a_model_without_an_mlm_head_says_so():
    body = "try { readBert(filesOf(data)).model.predict(new Float32Array(384), 0); } catch (error) { return error.message; }"
    assert "MLM head" in run_in_node(body, files("minilm"))


def names_of(script: Path) -> list[str]:
    """What a script defines at its top."""
    return re.findall(r"^(?:function|class|const|let) (\w+)", script.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("other", sorted(path.stem for path in JS.glob("*.js") if path.stem not in ENGINE))
def test_the_scripts_share_a_scope_with_others_without_a_clash(other):
    names = Counter(name for script in (*ENGINE, other) for name in names_of(JS / f"{script}.js"))
    assert [name for name, count in names.items() if count > 1] == []
    assert {"readBert", "cosine", "plainProduct", "CHARACTERS"} <= set(names)


def test_character_tables_are_those_that_python_gives():
    script = runpy.run_path(str(ROOT / "site" / "make_scripts.py"))["characters_script"]()
    assert script == (JS / "characters.js").read_text(encoding="utf-8"), "python site/make_scripts.py characters"


def test_the_kernel_is_that_of_its_text():
    make = runpy.run_path(str(ROOT / "site" / "make_scripts.py"))
    text, script = ((JS / f"product.{kind}").read_text(encoding="utf-8") for kind in ("wat", "js"))
    assert make["sha256"](text.encode()) in script, "python site/make_scripts.py kernel"
    try:
        code = make["assemble"](text)
    except SystemExit as error:
        pytest.skip(str(error).splitlines()[0])
    assert make["product_script"](script, text, code) == script

"""BERT in JavaScript is BERT in Python: the same tokens, vectors, weights and predictions, under node."""

import json
import runpy
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path

import pytest
import torch
from tokenization.test_wordpiece import random_strings

from bertcourse.bert import BertForPreTraining, encode_batch, find_folder, load_pretrained
from bertcourse.tokenization.normalization import normalized_characters

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "bertcourse" / "figures" / "js"
HARNESS = """
const { readFileSync } = require("node:fs");
const { scripts, folder, task, input } = JSON.parse(readFileSync(0, "utf8"));
const files = new Proxy({}, { get: (_, name) => {
  const bytes = readFileSync(`${folder}/${name}`);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
} });
const names = "readBert, readSafetensors, normalized, cosine, matrixProduct";
const bert = new Function(`${scripts}; return { ${names} };`)();
console.log(JSON.stringify(new Function("bert", "files", "input", task)(bert, files, input)));
"""
TOKENS = """
const { tokenizer } = bert.readBert(files);
return input.map((text) => tokenizer.encode(text).map(({ id, start, end, word }) => [id, start, end, word]));
"""
FORWARD = """
const { tokenizer, model } = bert.readBert(files);
const round = (values) => Array.from(values, (value) => +value.toPrecision(9));
return input.map((text) => {
  const ids = tokenizer.encode(text).map((token) => token.id);
  const { hiddenStates, attentions } = model.forward(ids);
  const top = ids.map((_, i) => model.predict(hiddenStates.at(-1), i, 5).top);
  return { ids, hidden: hiddenStates.map(round), attention: attentions.map(round), top };
});
"""
SENTENCES = [
    line
    for path in sorted((ROOT / "data" / "senses" / "lemmas").glob("*"))
    for line in path.read_text(encoding="utf-8").splitlines()
    if line.count(" ") > 5 and not line.startswith("#")
][::7]


def script(*names: str) -> str:
    return "\n".join((SCRIPTS / f"{name}.js").read_text(encoding="utf-8") for name in names)


def run(task: str, given, scripts: str = "", folder: Path | None = None):
    """What a piece of JavaScript returns."""
    if shutil.which("node") is None:
        pytest.skip("node is needed to run the scripts: https://nodejs.org")
    job = {"scripts": scripts or script("characters", "bert"), "folder": str(folder or course_folder()), "task": task}
    done = subprocess.run(
        ["node", "-e", HARNESS],
        input=json.dumps({**job, "input": given}),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@cache
def course_folder() -> Path:
    return find_folder("course")


@cache
def course():
    return load_pretrained("course", BertForPreTraining)


def expected_tokens(text: str) -> list[list]:
    """Id, first and last place in UTF-16, and word of each token, with [CLS] and [SEP]."""
    tokenizer = course()[1]
    encoding = tokenizer.encode(text)
    places = [0]
    for character in text:
        places.append(places[-1] + (2 if ord(character) > 0xFFFF else 1))
    begin, end = tokenizer.token_ids["[CLS]"], tokenizer.token_ids["[SEP]"]
    rows = [
        [id, places[first], places[last], word]
        for id, (first, last), word in zip(encoding.ids, encoding.offsets, encoding.word_ids)
    ]
    return [[begin, 0, 0, None], *rows, [end, places[-1], places[-1], None]]


def test_the_table_of_characters_is_what_chapter_3_says():
    written = runpy.run_path(str(ROOT / "studies" / "browser_characters.py"))["script"]()
    assert script("characters") == written, "run studies/browser_characters.py"


def test_every_character_is_normalized_as_in_python():
    task = """
    const found = [];
    for (let code = 0; code < 0x110000; code++) {
      const text = String.fromCodePoint(code);
      if (code >= 0xd800 && code < 0xe000) continue;
      const becomes = bert.normalized(text);
      if (becomes !== text) found.push([code, becomes.trim() || becomes.slice(0, 1), becomes.length]);
    }
    return found;
    """
    found = {code: (text, size) for code, text, size in run(task, None)}
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        becomes = "".join(part for part, _ in normalized_characters(chr(code)))
        size = len(becomes.encode("utf-16-le")) // 2
        expected = None if becomes == chr(code) else (becomes.strip(" ") or becomes[:1], size)
        assert found.get(code) == expected, hex(code)


def test_tokens_are_those_of_python_on_random_strings():
    texts = list(random_strings(6000, seed=3))
    for text, tokens in zip(texts, run(TOKENS, texts), strict=True):
        assert tokens == expected_tokens(text), ascii(text)


def test_long_words_and_special_tokens():
    texts = ["a" * 100, "a" * 101, "[MASK] [mask] x[SEP]y", "", " ", "Pneumonoultramicroscopic Zürich co-op 東京"]
    assert run(TOKENS, texts) == [expected_tokens(text) for text in texts]


def furthest(rows, tolerance_of_top: float = 1e-5) -> dict[str, float]:
    """The largest differences from Python, of hidden states, weights, probabilities; predictions must be the same."""
    model, tokenizer = course()
    apart = {"hidden": 0.0, "attention": 0.0, "probability": 0.0}
    for text, row in zip(SENTENCES, rows):
        batch = encode_batch(tokenizer, [text])
        assert batch.input_ids[0].tolist() == row["ids"]
        with torch.no_grad():
            output = model(*batch[:3], output_hidden_states=True, output_attentions=True)
        for kind, ours, theirs in (
            ("hidden", output.hidden_states, row["hidden"]),
            ("attention", output.attentions, row["attention"]),
        ):
            for one, other in zip(ours, theirs, strict=True):
                apart[kind] = max(apart[kind], (one.flatten() - torch.tensor(other)).abs().max().item())
        probabilities = output.mlm_logits[0].softmax(-1)
        for position, top in enumerate(row["top"]):
            wanted = probabilities[position].topk(5)
            got = torch.tensor([one["probability"] for one in top])
            apart["probability"] = max(apart["probability"], (wanted.values - got).abs().max().item())
            clear = (wanted.values[:-1] - wanted.values[1:] > tolerance_of_top).all()
            assert not clear or [one["id"] for one in top] == wanted.indices.tolist()
    return apart


def test_vectors_weights_and_predictions_are_those_of_python():
    rows = run(FORWARD, SENTENCES)
    assert len(rows) >= 200
    apart = furthest(rows)
    assert apart["hidden"] < 1e-4 and apart["attention"] < 1e-5 and apart["probability"] < 1e-5, apart


PLANTED = {
    "another GELU": ("0.254829592", "0.2548"),
    "no positions": (" + positions[l * size + d]", ""),
    "scores that are not scaled": ("score / Math.sqrt(d)", "score"),
    "no bias in the norm": (" * gain[d] + bias[d]", " * gain[d]"),
    "a residual that is missing": ("`${name}.output.LayerNorm`, x,", "`${name}.output.LayerNorm`, x.map(() => 0),"),
    "the epsilon of another model": ("this.config.layer_norm_eps", "1e-3"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_mistake_in_the_model_would_be_seen(mistake):
    text = script("characters", "bert")
    old, new = PLANTED[mistake]
    assert text.count(old) == 1
    try:
        apart = furthest(run(FORWARD, SENTENCES[:3], text.replace(old, new)))
    except AssertionError:
        return
    assert apart["hidden"] > 1e-4 or apart["attention"] > 1e-5, apart


@pytest.mark.parametrize(
    ("old", "new"),
    [('prefix = from ? "##" : ""', 'prefix = ""'), ("LONGEST_WORD = 100", "LONGEST_WORD = 99"), ("word++", "word")],
)
def test_a_mistake_in_the_tokenizer_would_be_seen(old, new):
    text = script("characters", "bert")
    assert old in text
    texts = ["unaffable Zürich [MASK]!", "a" * 100]
    assert run(TOKENS, texts, text.replace(old, new)) != [expected_tokens(text) for text in texts]


def safetensors(path: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> None:
    header, data = {}, b""
    for name, (dtype, shape, numbers) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


READ = """
const tensors = bert.readSafetensors(files["x.safetensors"]);
return Object.fromEntries(Object.entries(tensors).map(([name, { data }]) => [name, Array.from(data, String)]));
"""


def test_every_half_is_read_rightly(tmp_path):
    halves = torch.arange(2**16, dtype=torch.int32).to(torch.uint16)
    safetensors(tmp_path / "x.safetensors", {"all": ("F16", [2**16], halves.numpy().tobytes())})
    found = run(READ, None, folder=tmp_path)["all"]
    expected = halves.view(torch.float16).to(torch.float64)
    got = torch.tensor([float(text.replace("Infinity", "inf")) for text in found], dtype=torch.float64)
    assert torch.equal(got.nan_to_num(7), expected.nan_to_num(7))


def test_eight_bits_and_their_scale_are_read(tmp_path):
    numbers, scale = torch.tensor([[1, -2], [127, -128]], dtype=torch.int8), torch.tensor([0.5, 0.25])
    tensors = {
        "w": ("I8", [2, 2], numbers.numpy().tobytes()),
        "w.scale": ("F32", [2], scale.numpy().tobytes()),
    }
    safetensors(tmp_path / "x.safetensors", tensors)
    assert run(READ, None, folder=tmp_path)["w"] == ["0.5", "-1", "31.75", "-32"]


def test_numbers_that_cannot_be_read_are_named(tmp_path):
    safetensors(tmp_path / "x.safetensors", {"w": ("F64", [1], bytes(8))})
    with pytest.raises(AssertionError, match="expected weights in F32, F16 or I8; w is in F64"):
        run(READ, None, folder=tmp_path)


def test_the_pair_of_two_texts_has_segments():
    task = "const { tokenizer } = bert.readBert(files); return tokenizer.encodePair(...input);"
    pair = run(task, ["A dog.", "A cat."])
    ids = [token["id"] for token in pair["tokens"]]
    batch = encode_batch(course()[1], [("A dog.", "A cat.")])
    assert ids == batch.input_ids[0].tolist() and pair["segments"] == batch.token_type_ids[0].tolist()

"""The playground: the course's own BERT in a page, which opens from the disk and from a server, and asks no other host.

A page that is opened from the disk may import no module and fetch nothing, but it may run plain scripts that lie beside
it. So the page's scripts are written into it, and each model's files become scripts of a megabyte, in base64, which
the page loads one after the other and hands to a worker. The page itself is one of the site's, so that it has the
site's look, its sidebar and its switch between light and dark.

``page`` is what Sphinx turns into ``playground.html``; ``write_models`` puts the models beside it.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save
from tokenizers import Tokenizer

from bertcourse.anisotropy import Standardizer, expected_cosine
from bertcourse.bert import BertForPreTraining, BertModel, load_pretrained
from bertcourse.bert.folders import find_minilm, open_folder
from bertcourse.word_senses import NearestSense, SenseExample, sense_sentences, word_vectors
from bertcourse_figures.interactive import significant

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
KIT = ROOT / "tools" / "bertcourse_figures" / "js"
CACHE = ROOT / "build" / "playground"
PAGE_SCRIPTS = [
    *(KIT / f"{name}.js" for name in ("kit", "views", "attention_views")),
    SITE / "playground" / "playground.js",
]
ENGINE_SCRIPTS = [KIT / f"{name}.js" for name in ("characters", "wordpiece", "product", "bert")]
WORKER_SCRIPT = SITE / "playground" / "worker.js"
PART_BYTES = 750_000  # of a file in one script: a megabyte in base64, which a browser reads between two frames
DIGITS = 6  # of a number in the tables
LAST_LAYERS = 4  # whose sum tells senses apart, as in lecture 5
OPENING = "She opened the [MASK] and looked out into the garden."
FIRST = 5  # words of its answer, while the page reads the model


def page(models: list[str]) -> str:
    """The page in MyST's Markdown, with its scripts in it.

    Args:
        models: whose files will lie beside it, such as ``models_at_hand()``.
    """
    text = (SITE / "playground" / "page.md").read_text(encoding="utf-8")
    text = text.replace("<!-- first answer -->", first_answer())
    engine = f"(() => {{\n{joined(ENGINE_SCRIPTS)}\nreturn {{ readBert, cosine }};\n}})()"
    worker = f"const {{ readBert, cosine }} = {engine};\n{joined([WORKER_SCRIPT])}"
    values = {"WORKER_CODE": worker, "MODELS": models, "OPENING": OPENING}
    constants = "".join(f"const {name} = {in_script(value)};\n" for name, value in values.items())
    script = f"<script>\n(() => {{\n{constants}{joined(PAGE_SCRIPTS)}\n}})();\n</script>"
    return f"{text}\n`````{{raw}} html\n{script}\n`````\n"


def first_answer() -> str:
    """What the page shows until its model is read, and where no script runs: the answer to its first sentence."""
    model, tokenizer = load_pretrained("course", BertForPreTraining)
    encoding = tokenizer.encode(OPENING)
    with torch.inference_mode():
        logits = model(torch.tensor([encoding.ids])).mlm_logits[0, encoding.tokens.index("[MASK]")]
    top = logits.softmax(dim=-1).topk(FIRST)
    rows = ""
    for share, token in zip(top.values.tolist(), top.indices.tolist()):
        word = html.escape(tokenizer.id_to_token(token))
        rows += f'<li style="--share: {share:.4f}"><b>{word}</b> <span>{100 * share:.0f} %</span></li>'
    return f'<p>{OPENING}</p><ol class="first-answer">{rows}</ol>'


def joined(scripts: list[Path]) -> str:
    """Several scripts as one."""
    return "\n".join(script.read_text(encoding="utf-8") for script in scripts)


def in_script(value: object) -> str:
    """A value as JavaScript that no text of its own can end, as ``</script>`` would."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def models_at_hand() -> list[str]:
    """The course's own BERT, and MiniLM where its files are on this disk; nothing is fetched."""
    try:
        find_minilm(download=False)
    except ConnectionError:
        return ["course"]
    return ["course", "minilm"]


def write_models(models: list[str], folder: Path) -> None:
    """Write each model's files as scripts: ``folder/course/00.js``, 01.js, … in the order in which they are read."""
    for model in models:
        parts = list(parts_of(model_files(model)))
        (folder / model).mkdir(parents=True, exist_ok=True)
        for number, (file, content) in enumerate(parts):
            part = {"model": model, "file": file, "number": number, "of": len(parts)}
            text = base64.b64encode(content).decode()
            call = f"bertcoursePart({json.dumps(part)}, {json.dumps(text)});\n"
            (folder / model / f"{number:02}.js").write_text(call, encoding="utf-8")


def parts_of(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Each file in parts, as (name, bytes)."""
    for name, content in files.items():
        for start in range(0, len(content), PART_BYTES):
            yield name, content[start : start + PART_BYTES]


def model_files(name: str) -> dict[str, bytes]:
    """What the page reads of a model: sizes, vocabulary, small weights, and the tables that were computed here."""
    folder = open_folder(name)
    weights = save(small_weights(name, folder))
    return {
        "config.json": (folder / "config.json").read_bytes(),
        "vocab.txt": (folder / "vocab.txt").read_bytes(),
        "model.safetensors": weights,
        "tables.json": json.dumps(tables(name, weights), separators=(",", ":")).encode(),
    }


def small_weights(name: str, folder: Path) -> dict[str, np.ndarray]:
    """A model's tensors, the course's in float16, in which they are stored, MiniLM's in int8; no integers."""
    tensors = load_file(folder / "model.safetensors")
    floats = {key: value for key, value in tensors.items() if np.issubdtype(value.dtype, np.floating)}
    return as_int8(floats) if name == "minilm" else as_float16(floats)


def as_float16(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Tensors in half precision."""
    return {name: tensor.astype(np.float16) for name, tensor in tensors.items()}


def as_int8(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Matrices in 255 steps of each row's own size, kept beside them as ``NAME.scale``; vectors in float16."""
    small = {}
    for name, tensor in tensors.items():
        if tensor.ndim != 2:
            small[name] = tensor.astype(np.float16)
            continue
        matrix = tensor.astype(np.float32)
        scale = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / 127
        small[name] = np.round(matrix / scale[:, None]).astype(np.int8)
        small[f"{name}.scale"] = scale.astype(np.float32)
    return small


def tables(name: str, weights: bytes) -> dict:
    """``compute_tables``, kept in build/ as long as the weights, the sentences and this file are what they were."""
    sentences = repr(sense_sentences()).encode()
    key = hashlib.sha256(weights + sentences + Path(__file__).read_bytes()).hexdigest()[:16]
    kept = CACHE / f"{name}-{key}.json"
    if not kept.is_file():
        computed = json.dumps(compute_tables(*load_pretrained(name)))
        CACHE.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(".new")
        draft.write_text(computed, encoding="utf-8")
        draft.replace(kept)
    return json.loads(kept.read_text(encoding="utf-8"))


def compute_tables(model: BertModel, tokenizer: Tokenizer) -> dict:
    """What panels 3 and 4 hold a vector against.

    Returns:
        ``layers``: of each layer the mean and scale of the words' vectors and their expected cosine (chapter 6);
        ``sum``: mean and scale of the sum of the last layers; ``senses``: of each sense of the course's 26 words its
        word, label and embedding (chapter 5); ``forms``: the word of each of its forms; ``accuracy``: with these, of
        the test sentences, by "raw" and by "standardized" vectors. All but the last from training sentences alone.
    """
    examples = sense_sentences()
    training = [example for example in examples if example.split == "train"]
    layers = range(model.config.num_hidden_layers + 1)
    words = word_vectors(model, tokenizer, [split(each.text) for each in training], layers, pooling="stack").array
    summed = words[:, -LAST_LAYERS:].sum(axis=1)
    vectors, standardizer = target_vectors(model, tokenizer, examples), Standardizer().fit(summed)
    is_training = np.array([example.split == "train" for example in examples])
    keys, lemmas = [each.sense_key for each in examples], [each.word[0] for each in examples]
    accuracy = {
        "raw": accuracy_of(vectors, keys, lemmas, is_training),
        "standardized": accuracy_of(standardizer.transform(vectors), keys, lemmas, is_training),
    }
    learned, senses = vectors[is_training], np.array([each.sense_key for each in training])
    first = {example.sense_key: example for example in reversed(training)}
    return {
        "layers": [
            {**statistics(Standardizer().fit(words[:, layer])), "expected": expected_cosine(words[:, layer])}
            for layer in layers
        ],
        "sum": statistics(standardizer),
        "senses": [
            {
                "word": first[key].word[0],
                "label": first[key].label,
                "vector": significant(learned[senses == key].mean(axis=0), DIGITS),
            }
            for key in dict.fromkeys(senses.tolist())
        ],
        "forms": {each.text[each.start : each.end].lower(): each.word[0] for each in examples},
        "accuracy": accuracy,
    }


def split(text: str) -> list[str]:
    """The words of a text, as in lecture 6."""
    return re.findall(r"\w+|[^\w\s]", text)


def target_vectors(model: BertModel, tokenizer: Tokenizer, examples: list[SenseExample]) -> np.ndarray:
    """(n, D), the vector of each example's word, as in lecture 5."""
    parts = [[each.text[: each.start], each.text[each.start : each.end], each.text[each.end :]] for each in examples]
    layers = range(-LAST_LAYERS, 0)
    return word_vectors(model, tokenizer, parts, layers, only=[[1]] * len(parts)).array


def accuracy_of(vectors: np.ndarray, keys: list[str], lemmas: list[str], is_training: np.ndarray) -> float:
    """The share of test sentences whose nearest sense, among those of their word, is the right one."""
    keys, lemmas = np.array(keys), np.array(lemmas)
    model = NearestSense().fit(vectors[is_training], keys[is_training].tolist(), lemmas[is_training].tolist())
    return model.score(vectors[~is_training], keys[~is_training].tolist(), lemmas[~is_training].tolist())


def statistics(standardizer: Standardizer) -> dict[str, list[float]]:
    """Mean and scale in each dimension."""
    mean, scale = significant(standardizer.mean_, DIGITS), significant(standardizer.scale_, DIGITS)
    return {"mean": mean, "scale": scale}

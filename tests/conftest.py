"""What several test files share: small models, a small tokenizer, MiniLM, and the course as others install it."""

import functools
import gc
import hashlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import time
import types
import venv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import safetensors.torch
import torch
from browsers import chromium
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from bertcourse.bert import BertConfig, BertModel, load_pretrained

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


ROOT = Path(__file__).parent.parent
BUILT = ROOT / "build" / "installed"


class Installed(NamedTuple):
    """The course from its wheel, in an environment of its own.

    Attributes:
        wheel, sdist: what was built.
        python: of the environment, which has the wheel, its extra "lectures", and nothing else.
        kernel: the name of its Jupyter kernel.
        environment: variables for whoever uses it: the kernel is found, the checkout and the network are not.
    """

    wheel: Path
    sdist: Path
    python: Path
    kernel: str
    environment: dict[str, str]


@functools.cache
def install_wheel() -> Installed:
    """Build sdist and wheel, and install the wheel into an environment that is kept while its requirements stay."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(BUILT / "dist"), str(ROOT)]
    shutil.rmtree(BUILT / "dist", ignore_errors=True)
    run_quietly(build)
    (wheel,), (sdist,) = (BUILT / "dist").glob("*.whl"), (BUILT / "dist").glob("*.tar.gz")
    place = BUILT / "environment"
    python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = shlex.split(os.environ.get("PIP_OPTIONS", ""))
    if not os.environ.get("BERTCOURSE_UNPINNED"):  # CI's job that tries the newest versions sets it
        constraints += ["-c", str(ROOT / "constraints.txt")]
    requirements = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    state = f"{sys.version} {hashlib.sha256(requirements).hexdigest()}"
    ready = place / "ready"
    if not ready.is_file() or ready.read_text(encoding="utf-8") != state:
        venv.create(place, clear=True, with_pip=True)
        run_quietly([*pip, *constraints, f"{wheel}[lectures]"])
        ready.write_text(state, encoding="utf-8")
    run_quietly([*pip, "--force-reinstall", "--no-deps", str(wheel)])
    run_quietly([str(python), "-m", "ipykernel", "install", "--prefix", str(BUILT), "--name", "bertcourse-wheel"])
    hidden = {"PYTHONPATH", "BERTCOURSE_DATA", "BERTCOURSE_MODELS"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    environment |= {"JUPYTER_PATH": str(BUILT / "share" / "jupyter"), "HF_HUB_OFFLINE": "1", **nowhere}
    return Installed(wheel, sdist, python, "bertcourse-wheel", environment)


def run_quietly(command: list[str]) -> None:
    """Run a program, and fail with what it printed if it fails."""
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{shlex.join(command)}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"


@pytest.fixture(scope="session")
def installed() -> Installed:
    return install_wheel()


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def assert_linear_time() -> Callable[[Callable[[str], object], str], None]:
    """That a text takes about as much CPU time as its eight parts do one by one, not eight times as much.

    The parts differ in length, so that none is remembered from the one before. The garbage collector, which would look
    through all that the other tests have left, has to wait.
    """

    def seconds(work: Callable[[str], object], texts: list[str]) -> float:
        gc.disable()
        try:
            start = time.process_time()
            for text in texts:
                work(text)
            return time.process_time() - start
        finally:
            gc.enable()

    def check(work: Callable[[str], object], text: str) -> None:
        parts = seconds(work, [text[: len(text) // 8 - number] for number in range(8)])
        whole = seconds(work, [text])
        assert whole < 4 * parts + 0.1, f"{len(text)} characters: {whole} s; in eight parts: {parts} s"

    return check


@pytest.fixture
def ticking_clock(monkeypatch) -> Callable[[types.ModuleType], None]:
    """Give a module a clock that is a hundredth of a second later at each look, however busy the machine is."""

    def give(module: types.ModuleType) -> None:
        looks = itertools.count()
        clock = types.SimpleNamespace(**{**vars(time), "perf_counter": lambda: next(looks) / 100})
        monkeypatch.setattr(module, "time", clock)

    return give


@pytest.fixture
def edit_safetensors() -> Callable[[Path, Callable[[dict[str, torch.Tensor]], object]], None]:
    """Change the tensors in a file, and nothing else of it."""

    def change(path: Path, edit: Callable[[dict[str, torch.Tensor]], object]) -> None:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata()
        tensors = safetensors.torch.load_file(path)
        edit(tensors)
        safetensors.torch.save_file(tensors, path, metadata=header)

    return change


@pytest.fixture
def small_config() -> BertConfig:
    return BertConfig(
        vocab_size=60,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=32,
    )


@pytest.fixture
def small_model(small_config) -> BertModel:
    return BertModel(small_config).eval()


@pytest.fixture
def small_tokenizer() -> Tokenizer:
    """50 tokens: special ones, letters, and letters inside a word."""
    letters = [chr(ord("a") + i) for i in range(22)]
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *letters, *("##" + letter for letter in letters), "."])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


@pytest.fixture(scope="session")
def minilm():
    return load_pretrained("minilm")


@pytest.fixture(scope="module")
def browser():
    """Chromium or Chrome; closed after a file's tests."""
    with chromium() as started:
        yield started

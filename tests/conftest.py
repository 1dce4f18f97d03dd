"""What several test files share: small models, a small tokenizer, MiniLM, and the course as others install it."""

import dataclasses
import gc
import itertools
import time
import types
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from bertcourse.bert import BertConfig, BertModel, load_pretrained
from browsers import chromium
from built import ROOT, Installed, build_site, install_wheel

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a browser or the whole site is slow."""
    for item in items:
        if {"browser", "site"} & set(item.fixturenames):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end, so the garbage collector need not look at them again: a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def installed() -> Installed:
    return install_wheel()


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The site, built from the stored lectures."""
    folder = tmp_path_factory.mktemp("site") / "html"
    result = build_site(ROOT / "notebooks", folder)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="session")
def weekly(request) -> bool:
    """Whether weekly tests run, too: a batch for them is larger."""
    return any(item.get_closest_marker("weekly") for item in request.session.items)


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
def encoder(small_config) -> BertModel:
    """One that reads what ``small_tokenizer`` writes."""
    return BertModel(dataclasses.replace(small_config, vocab_size=50)).eval()


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

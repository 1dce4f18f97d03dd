"""What several test files share: small models, a small tokenizer, and MiniLM."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from bertcourse.bert import BertConfig, BertModel, load_pretrained

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def assert_linear_time() -> Callable[[Callable[[str], object], str], None]:
    """That eight times the text takes eight times the CPU time, not 64 times: on any machine, how slow it may be."""

    def check(work: Callable[[str], object], text: str) -> None:
        seconds = []
        for part in (text[: len(text) // 8], text):
            start = time.process_time()
            work(part)
            seconds.append(time.process_time() - start)
        assert seconds[1] < 4 * 8 * seconds[0] + 0.1, (
            f"{len(text)} characters: {seconds[1]} s; an eighth: {seconds[0]} s"
        )

    return check


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

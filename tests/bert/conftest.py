"""A small BERT in a folder, as ``save_pretrained`` writes it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bertcourse.bert import BertForPreTraining, save_pretrained


@pytest.fixture
def saved(tmp_path, small_config, small_tokenizer) -> tuple[Path, BertForPreTraining]:
    model = BertForPreTraining(small_config).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    save_pretrained(model, small_tokenizer, tmp_path / "model")
    return tmp_path / "model", model


@pytest.fixture
def edit_config() -> Callable[..., None]:
    """Change fields of a folder's config.json."""

    def change(folder: Path, **fields) -> None:
        path = folder / "config.json"
        config = {**json.loads(path.read_text(encoding="utf-8")), **fields}
        path.write_text(json.dumps(config), encoding="utf-8")

    return change

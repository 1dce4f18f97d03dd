"""The shipped tokenizer, and the command that trains it."""

import string
from pathlib import Path

import pytest
import tokenizers
import transformers

from bertcourse.tokenization import WordPieceTokenizer
from bertcourse_lab.cli import main

SHIPPED = Path(__file__).parents[2] / "data" / "checkpoints" / "course"
TEXT = "The tokenizer reads: Déjà vu! #include <stdio.h> {x_1 = ~2 ^ 3}"


def test_shipped_tokenizer_spells_ascii_and_loads_everywhere():
    ours = WordPieceTokenizer.from_file(SHIPPED / "vocab.txt")
    assert len(ours.tokens) == 8192
    assert ours.tokens[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    encoding = ours.encode(TEXT)
    assert "[UNK]" not in encoding.tokens
    for character in string.printable:
        assert "[UNK]" not in ours.encode(character).tokens
        if character.isalnum():
            assert "[UNK]" not in ours.encode(f"a{character} {character}a").tokens
    ids = [2, *encoding.ids, 3]
    assert tokenizers.Tokenizer.from_file(str(SHIPPED / "tokenizer.json")).encode(TEXT).ids == ids
    assert transformers.AutoTokenizer.from_pretrained(SHIPPED)(TEXT)["input_ids"] == ids


def test_command_trains_and_writes_all_files(tmp_path, capsys):
    (tmp_path / "text").write_text("The unhappy hugging of puns.\n\nThe happier hugs, un-happy puns!\n" * 5)
    files = ["--text", str(tmp_path / "text"), "--output", str(tmp_path / "out")]
    arguments = ["train-tokenizer", *files, "--vocab-size", "100"]
    assert main(arguments) == 0
    assert "100 tokens in" in capsys.readouterr().out
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert sorted(files) == ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    assert main(arguments) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == files


@pytest.mark.parametrize(
    "content, size, message",
    [
        (b"", "8192", "at least one word"),
        (b"word\n", "20", "vocab_size must have room"),
        (b"\xff\xfe", "8192", "must be UTF-8"),
        (None, "8192", "there is no such file"),
    ],
)
def test_command_says_what_is_wrong(tmp_path, capsys, content, size, message):
    if content is not None:
        (tmp_path / "text").write_bytes(content)
    files = ["--text", str(tmp_path / "text"), "--output", str(tmp_path / "out")]
    assert main(["train-tokenizer", *files, "--vocab-size", size]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

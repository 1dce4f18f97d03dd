"""Chapter 3: the tokenizer of the checkpoint "course": WordPiece, 8,192 tokens, from 93 books."""

import json
import os
import string
from collections.abc import Iterable

from tqdm import tqdm

from bertcourse.files import replace_files
from bertcourse.tokenization import WordPieceTokenizer, count_words, normalized_words, train_wordpiece
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS


def train_course_tokenizer(texts: Iterable[str], vocab_size: int = 8192) -> WordPieceTokenizer:
    """Learn an uncased WordPiece tokenizer by the rule of BPE; its vocabulary has every printable ASCII character,
    in lower case, as a word.

    Inside a word it can spell only the letters and digits that the texts have there.

    Args:
        texts: the texts to learn from.
        vocab_size: the most tokens to have.
    """
    words = count_words(tqdm(texts, desc="counting words", unit=" texts", disable=None), normalized_words)
    if not words:
        raise ValueError("the texts must have at least one word; got none. Was the file empty?")
    for character in normalized_words(" ".join(string.printable)):
        words.setdefault(character, 1)
    least = len(BERT_SPECIAL_TOKENS) + len(set("".join(words))) + len(set("".join(word[1:] for word in words)))
    if vocab_size < least:
        raise ValueError(
            f"vocab_size must have room for the {least} special tokens and single characters that every word is "
            f"spelled with; got {vocab_size}."
        )
    return WordPieceTokenizer(train_wordpiece(words, vocab_size))


def save_tokenizer(tokenizer: WordPieceTokenizer, folder: str | os.PathLike) -> None:
    """Write vocab.txt, tokenizer.json and tokenizer_config.json, which ``tokenizers`` and ``transformers`` load.

    The folder is created if need be; files of these names are replaced, each as a whole.
    """
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": tokenizer.lowercase, "unk_token": "[UNK]"}
    contents = {
        "vocab.txt": "".join(f"{token}\n" for token in tokenizer.tokens),
        "tokenizer.json": tokenizer.to_tokenizers().to_str(pretty=True),
        "tokenizer_config.json": json.dumps(config, indent=2) + "\n",
    }
    with replace_files(folder, contents) as draft:
        for name, content in contents.items():
            (draft / name).write_text(content, encoding="utf-8", newline="\n")

"""Chapter 3: the tokenizer of the checkpoint "course": WordPiece, 8,192 tokens, from 93 books."""

import string
from collections.abc import Iterable

from tqdm import tqdm

from bertcourse.tokenization.normalization import normalized_words
from bertcourse.tokenization.wordpiece import WordPieceTokenizer
from bertcourse.tokenization.wordpiece_training import train_wordpiece
from bertcourse.tokenization.words import count_words


def train_course_tokenizer(texts: Iterable[str], vocab_size: int = 8192) -> WordPieceTokenizer:
    """Learn an uncased WordPiece tokenizer by the rule of BPE; its vocabulary has every printable ASCII character,
    in lower case, as a word.

    Inside a word it can spell only the letters and digits that the texts have there.

    Args:
        texts: the texts to learn from.
        vocab_size: the most tokens to have.
    """
    words = count_words(tqdm(texts, desc="counting words", unit=" texts", disable=None), normalized_words)
    if words:
        for character in normalized_words(" ".join(string.printable)):
            words.setdefault(character, 1)
    return WordPieceTokenizer(train_wordpiece(words, vocab_size))

"""Chapter 3: tokenizers, in reading order: ``encoding``, ``normalization``, ``bpe``, ``byte_level``, ``wordpiece``.

Each is trained on word counts, and encodes a text to ids, tokens, offsets and word ids.
"""

from bertcourse.tokenization.bpe import BPETokenizer, count_words, mark_words, train_bpe, train_bpe_plainly
from bertcourse.tokenization.byte_level import ByteLevelBPETokenizer, byte_words, count_byte_words
from bertcourse.tokenization.encoding import Encoding, Tokenizer
from bertcourse.tokenization.normalization import normalize, normalized_words
from bertcourse.tokenization.wordpiece import WordPieceTokenizer

__all__ = [
    "BPETokenizer",
    "ByteLevelBPETokenizer",
    "Encoding",
    "Tokenizer",
    "WordPieceTokenizer",
    "byte_words",
    "count_byte_words",
    "count_words",
    "mark_words",
    "normalize",
    "normalized_words",
    "train_bpe",
    "train_bpe_plainly",
]

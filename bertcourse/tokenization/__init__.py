"""Chapter 3: tokenizers. Read ``encoding``, ``normalization``, ``bpe``, ``wordpiece``, ``unigram``, ``multilingual``."""

from bertcourse.tokenization.encoding import Encoding
from bertcourse.tokenization.normalization import normalize
from bertcourse.tokenization.wordpiece import WordPieceTokenizer

__all__ = ["Encoding", "WordPieceTokenizer", "normalize"]

"""Chapter 3: tokenizers. In reading order: ``words``, ``bpe``, ``byte_level``, ``wordpiece``, ``unigram``; then
``encoding``, which all tokenizers share, and ``normalization`` with ``characters``, what BERT does to a text first.

The functions that lecture 3 writes are the definitions; ``bpe_fast`` and ``unigram_fast`` do the same for books.
"""

from bertcourse.tokenization.bpe import BPETokenizer, apply_merges, count_pairs, learn_merges, merge
from bertcourse.tokenization.bpe_fast import train_bpe
from bertcourse.tokenization.byte_level import ByteLevelBPETokenizer, byte_words, decode_bytes
from bertcourse.tokenization.encoding import Encoding, Tokenizer, tokens_per_word
from bertcourse.tokenization.normalization import normalize, normalized_words
from bertcourse.tokenization.unigram import Edge, UnigramTokenizer, best_path, expected_counts, lattice
from bertcourse.tokenization.unigram_fast import train_unigram
from bertcourse.tokenization.wordpiece import WordPieceTokenizer, decode_pieces, longest_match, train_wordpiece
from bertcourse.tokenization.words import count_words, decode_words, mark_words, sampling_probabilities

__all__ = ["count_words", "decode_words", "mark_words", "sampling_probabilities", "tokens_per_word"]
__all__ += ["BPETokenizer", "apply_merges", "count_pairs", "learn_merges", "merge", "train_bpe"]
__all__ += ["ByteLevelBPETokenizer", "byte_words", "decode_bytes", "Encoding", "Tokenizer"]
__all__ += ["WordPieceTokenizer", "decode_pieces", "longest_match", "normalize", "normalized_words", "train_wordpiece"]
__all__ += ["Edge", "UnigramTokenizer", "best_path", "expected_counts", "lattice", "train_unigram"]

"""Chapter 3: tokenizers. In reading order: ``words``, ``encoding``, ``bpe``, ``byte_level``, ``wordpiece``,
``wordpiece_training``, ``normalization``, ``unigram``, ``unigram_training``, ``multilingual``.

Each tokenizer is trained on word counts, and encodes a text as ids, tokens, offsets and word ids. ``bpe_fast``,
``wordpiece_fast`` and ``unigram_fast`` train on a whole corpus at once. The modules that no lecture needs come last:
``characters`` (what Unicode says about them) and ``input_checks``.
"""

from bertcourse.tokenization.bpe import BPETokenizer, plain_train_bpe, train_bpe
from bertcourse.tokenization.byte_level import ByteLevelBPETokenizer, byte_words
from bertcourse.tokenization.encoding import Encoding, Tokenizer
from bertcourse.tokenization.multilingual import mix_word_counts, sampling_probabilities, tokens_per_word
from bertcourse.tokenization.normalization import normalize, normalized_words
from bertcourse.tokenization.unigram import Edge, Lattice, UnigramTokenizer
from bertcourse.tokenization.unigram_training import train_unigram
from bertcourse.tokenization.wordpiece import WordPieceTokenizer
from bertcourse.tokenization.wordpiece_training import train_wordpiece
from bertcourse.tokenization.words import count_words, mark_words

__all__ = [
    "BPETokenizer",
    "ByteLevelBPETokenizer",
    "Edge",
    "Encoding",
    "Lattice",
    "Tokenizer",
    "UnigramTokenizer",
    "WordPieceTokenizer",
    "byte_words",
    "count_words",
    "mark_words",
    "mix_word_counts",
    "normalize",
    "normalized_words",
    "sampling_probabilities",
    "tokens_per_word",
    "train_bpe",
    "plain_train_bpe",
    "train_unigram",
    "train_wordpiece",
]

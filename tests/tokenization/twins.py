"""The chapter's tokenizers, built of Hugging Face's parts: what ours are compared with."""

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from bertcourse.tokenization import BPETokenizer, ByteLevelBPETokenizer, UnigramTokenizer
from bertcourse.tokenization.words import MARKER


def twin_of(ours: BPETokenizer | UnigramTokenizer) -> tokenizers.Tokenizer:
    """The same vocabulary, merges or probabilities in a tokenizer of ``tokenizers``."""
    if isinstance(ours, UnigramTokenizer):
        scores = [(token, ours.log_probs.get(token, 0.0)) for token in ours.tokens]
        theirs = tokenizers.Tokenizer(models.Unigram(scores, unk_id=ours.unknown_id))
    else:
        theirs = tokenizers.Tokenizer(models.BPE(ours.token_ids, ours.merges, unk_token=ours.unknown_token))
    theirs.add_special_tokens(list(ours.special_tokens))
    if isinstance(ours, ByteLevelBPETokenizer):
        theirs.pre_tokenizer, theirs.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    else:
        mark = pre_tokenizers.Metaspace(MARKER, prepend_scheme="always", split=False)
        theirs.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), mark])
        theirs.decoder = decoders.Metaspace(MARKER, prepend_scheme="always")
    return theirs


def assert_equals_twin(ours: BPETokenizer | UnigramTokenizer, theirs: tokenizers.Tokenizer, text: str) -> None:
    """Ids, words and offsets; but a marker that is not in the text has no length here, there a character's."""
    got, expected = ours.encode(text), theirs.encode(text, add_special_tokens=False)
    assert (got.ids, got.word_ids) == (expected.ids, expected.word_ids), ascii(text)
    offsets = [(start, max(end, start + 1)) for start, end in got.offsets]
    assert offsets == expected.offsets, ascii(text)
    assert ours.encode_ids(text) == got.ids

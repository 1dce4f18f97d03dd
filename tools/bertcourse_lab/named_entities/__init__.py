"""Named entities, beyond what lecture 8 has on its page: a tagger with other rules for subwords, other decoders and
capitals (``taggers``), a conditional random field (``decoding``), taggers on frozen vectors (``features``), and the
strict way to read tags (``strict``). Benchmarks and studies use them.
"""

from bertcourse_lab.named_entities.decoding import CRF, TagDecoder, Transitions, allowed_transitions, viterbi
from bertcourse_lab.named_entities.features import FeatureTagger
from bertcourse_lab.named_entities.strict import strictly
from bertcourse_lab.named_entities.subwords import subword_tags, word_tags
from bertcourse_lab.named_entities.taggers import Tagger

__all__ = [
    "CRF",
    "FeatureTagger",
    "TagDecoder",
    "Tagger",
    "Transitions",
    "allowed_transitions",
    "strictly",
    "subword_tags",
    "viterbi",
    "word_tags",
]

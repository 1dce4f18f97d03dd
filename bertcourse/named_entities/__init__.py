"""Chapter 8: named entities. In reading order: ``tags``, ``scores``, ``subwords``, ``taggers``, ``linear_chain``
(which tag may follow which) and ``crf`` (the best sequence, and one that is learned), ``features``, ``conll``.
"""

from bertcourse.named_entities.conll import TaggedSentence, read_conll
from bertcourse.named_entities.crf import CRF, viterbi
from bertcourse.named_entities.features import FeatureTagger
from bertcourse.named_entities.linear_chain import Transitions, allowed_transitions, invalid_steps
from bertcourse.named_entities.scores import EntityScores, compare_taggers, entity_scores
from bertcourse.named_entities.subwords import subword_tags, word_tags
from bertcourse.named_entities.taggers import TokenClassifier
from bertcourse.named_entities.tags import (
    Entity,
    convert_tags,
    entity_types,
    read_brackets,
    read_tags,
    tag_set,
    write_brackets,
    write_tags,
)

__all__ = [
    "CRF",
    "Entity",
    "EntityScores",
    "FeatureTagger",
    "TaggedSentence",
    "TokenClassifier",
    "Transitions",
    "allowed_transitions",
    "compare_taggers",
    "convert_tags",
    "entity_scores",
    "entity_types",
    "invalid_steps",
    "read_brackets",
    "read_conll",
    "read_tags",
    "subword_tags",
    "tag_set",
    "viterbi",
    "word_tags",
    "write_brackets",
    "write_tags",
]

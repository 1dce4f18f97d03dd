"""Chapter 8: named entities. In reading order: ``tags``, ``scores``, ``taggers``, and ``decoding``, where the best
sequence of tags is found; ``conll`` reads files.

Long runs, a conditional random field, other rules for subwords and taggers on frozen vectors are in
``bertcourse_lab.named_entities``.
"""

from bertcourse.named_entities.conll import TaggedSentence, read_conll
from bertcourse.named_entities.decoding import invalid_steps, may_follow, steps, viterbi
from bertcourse.named_entities.scores import EntityScores, compare_taggers, entity_scores
from bertcourse.named_entities.taggers import TagHead, TokenClassifier, token_tags
from bertcourse.named_entities.tags import (
    Entity,
    read_brackets,
    read_tags,
    tag_set,
    write_brackets,
    write_tags,
)

__all__ = [
    "Entity",
    "EntityScores",
    "TagHead",
    "TaggedSentence",
    "TokenClassifier",
    "compare_taggers",
    "entity_scores",
    "invalid_steps",
    "may_follow",
    "read_brackets",
    "read_conll",
    "read_tags",
    "steps",
    "tag_set",
    "token_tags",
    "viterbi",
    "write_brackets",
    "write_tags",
]

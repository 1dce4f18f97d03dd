"""Chapters 7-9: fine-tuning. In reading order: ``tags``, ``readers``, ``public_sets``, ``crf``, ``spans``, ``heads``,
``freezing``, ``low_rank``, ``config``, ``training``, ``features``, ``benchmark``.

A few numbers on top of BERT, trained on some labelled examples, make it a classifier of texts and pairs, a tagger of
words, or a reader that points at answers.
"""

from bertcourse.finetuning.config import FineTuningConfig
from bertcourse.finetuning.crf import CRF, Transitions, allowed_transitions, invalid_steps, viterbi
from bertcourse.finetuning.features import FeatureTagger
from bertcourse.finetuning.freezing import freeze
from bertcourse.finetuning.heads import SequenceClassifier, SpanPredictor, TokenClassifier
from bertcourse.finetuning.low_rank import LowRankLinear, add_low_rank, load_difference, save_difference
from bertcourse.finetuning.public_sets import Splits, join_sentences, rte, split_by, squad, sst2, wikigold, wnut17
from bertcourse.finetuning.readers import (
    Answer,
    LabeledText,
    Question,
    TaggedSentence,
    read_conll,
    read_nli,
    read_squad,
    read_tsv,
)
from bertcourse.finetuning.spans import (
    Span,
    answer_f1,
    best_answer,
    best_margin,
    best_span,
    exact_match,
    normalize_answer,
    span_windows,
    squad_scores,
)
from bertcourse.finetuning.tags import (
    Entity,
    EntityScores,
    compare_taggers,
    convert_tags,
    entity_scores,
    entity_types,
    read_brackets,
    read_tags,
    subword_tags,
    tag_set,
    word_tags,
    write_brackets,
    write_tags,
)
from bertcourse.finetuning.training import FineTuned, fine_tune

__all__ = [
    "CRF",
    "Answer",
    "Entity",
    "EntityScores",
    "FeatureTagger",
    "FineTuned",
    "FineTuningConfig",
    "LabeledText",
    "LowRankLinear",
    "Question",
    "SequenceClassifier",
    "Span",
    "SpanPredictor",
    "Splits",
    "TaggedSentence",
    "TokenClassifier",
    "Transitions",
    "add_low_rank",
    "allowed_transitions",
    "answer_f1",
    "best_answer",
    "best_margin",
    "best_span",
    "compare_taggers",
    "convert_tags",
    "entity_scores",
    "entity_types",
    "exact_match",
    "fine_tune",
    "freeze",
    "invalid_steps",
    "join_sentences",
    "load_difference",
    "normalize_answer",
    "read_brackets",
    "read_conll",
    "read_nli",
    "read_squad",
    "read_tags",
    "read_tsv",
    "rte",
    "save_difference",
    "span_windows",
    "split_by",
    "squad",
    "squad_scores",
    "sst2",
    "subword_tags",
    "tag_set",
    "viterbi",
    "wikigold",
    "wnut17",
    "word_tags",
    "write_brackets",
    "write_tags",
]

"""Chapter 0: words as vectors before attention. In reading order: ``counts``, ``word2vec``, ``vectors`` (and the fast
versions ``counts_fast``, ``word2vec_fast``), ``analogies``, ``bias``, ``ngrams``, ``recurrent``.

Word vectors from counts and from prediction: what they know, and what one vector per word, whatever the sentence,
cannot know. Then models that read sentences, but forget them: n-grams and recurrent networks.
"""

from bertcourse.static_embeddings.analogies import (
    AnalogyScore,
    Question,
    analogy_answers,
    analogy_score,
    analogy_scores,
    course_analogies,
)
from bertcourse.static_embeddings.bias import (
    AssociationTest,
    associations,
    gender_direction,
    neighbours_gender,
    projections,
    weat,
    without_direction,
    word_lists,
)
from bertcourse.static_embeddings.counts import cooccurrence, ppmi, svd_vectors, words_of
from bertcourse.static_embeddings.counts_fast import count_pairs, frequent_words, word_ids
from bertcourse.static_embeddings.ngrams import KneserNey
from bertcourse.static_embeddings.recurrent import (
    ElmanCell,
    LSTMCell,
    OneAttention,
    RecurrentLanguageModel,
    RecurrentNetwork,
    train_language_model,
)
from bertcourse.static_embeddings.vectors import Neighbour, WordVectors
from bertcourse.static_embeddings.word2vec import (
    gradient_step,
    keep_probability,
    negative_sampling_loss,
    noise_distribution,
    window_pairs,
)
from bertcourse.static_embeddings.word2vec_fast import expected_loss, expected_pairs, train_word2vec

__all__ = [
    "AnalogyScore",
    "AssociationTest",
    "ElmanCell",
    "KneserNey",
    "LSTMCell",
    "Neighbour",
    "OneAttention",
    "Question",
    "RecurrentLanguageModel",
    "RecurrentNetwork",
    "WordVectors",
    "analogy_answers",
    "analogy_score",
    "analogy_scores",
    "associations",
    "cooccurrence",
    "count_pairs",
    "course_analogies",
    "expected_loss",
    "expected_pairs",
    "frequent_words",
    "gender_direction",
    "gradient_step",
    "keep_probability",
    "negative_sampling_loss",
    "neighbours_gender",
    "noise_distribution",
    "ppmi",
    "projections",
    "svd_vectors",
    "train_language_model",
    "train_word2vec",
    "weat",
    "window_pairs",
    "without_direction",
    "word_ids",
    "word_lists",
    "words_of",
]

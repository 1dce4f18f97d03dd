"""Chapter 0: words as vectors before attention. In reading order: ``counts``, ``word2vec``, ``vectors``, ``analogies``,
``bias``, ``recurrent``.

Word vectors from counts and from prediction: what they know, and what one vector per word, whatever the sentence,
cannot know. Then a network that reads sentences, and what it forgets.
"""

from bertcourse.static_embeddings.analogies import Question, analogy_answers, course_analogies
from bertcourse.static_embeddings.bias import weat, word_lists
from bertcourse.static_embeddings.counts import count_neighbours, ppmi, svd_vectors, words_of
from bertcourse.static_embeddings.recurrent import (
    OneAnswer,
    RecurrentLanguageModel,
    RecurrentNetwork,
    train_language_model,
)
from bertcourse.static_embeddings.vectors import Neighbour, WordVectors
from bertcourse.static_embeddings.word2vec import thinned, train_word2vec

__all__ = [
    "Neighbour",
    "OneAnswer",
    "Question",
    "RecurrentLanguageModel",
    "RecurrentNetwork",
    "WordVectors",
    "analogy_answers",
    "count_neighbours",
    "course_analogies",
    "ppmi",
    "svd_vectors",
    "thinned",
    "train_language_model",
    "train_word2vec",
    "weat",
    "word_lists",
    "words_of",
]

"""Chapter 5: which sense of a word is meant? The one whose examples BERT finds most similar.

A sense's embedding is the mean of the contextual vectors of its examples. A new occurrence takes the sense with the
nearest embedding among those of its word (Jurafsky & Martin, "Speech and Language Processing", chapter on word senses,
v_s = 1/n Σ v_i; Loureiro & Jorge 2019; Peters et al. 2018).

In reading order: ``vectors`` (a vector for each word), ``nearest`` (the classifier), ``sentences`` (the course's own
labelled set), ``keys`` (what a sense is called).
"""

from bertcourse.word_senses.keys import PARTS_OF_SPEECH, Word, sense_word
from bertcourse.word_senses.nearest import NearestSense, unit
from bertcourse.word_senses.sentences import SenseExample, sense_sentences
from bertcourse.word_senses.vectors import ContextualVectors, word_vectors

__all__ = [
    "ContextualVectors",
    "PARTS_OF_SPEECH",
    "NearestSense",
    "SenseExample",
    "Word",
    "sense_sentences",
    "sense_word",
    "unit",
    "word_vectors",
]

"""Chapter 5: WordNet's sense keys, which every corpus uses to name senses."""

import re

Word = tuple[str, str]  # lemma, part of speech

PARTS_OF_SPEECH = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}  # the framework's name, WordNet's letter
SENSE_TYPES = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}  # after the % of a key; 5: satellites
SENSE_KEY = re.compile(r"([^%\s]+)%([1-5]):\d\d:\d\d:[^:\s]*:\d*")


def sense_word(key: str) -> Word:
    """The word that a WordNet sense key belongs to (senseidx(5WN)); satellites count as adjectives.

    >>> sense_word("peculiar%5:00:00:specific:00")
    ('peculiar', 'ADJ')
    """
    if not (match := SENSE_KEY.fullmatch(key)):
        raise ValueError(f'a sense must have a key of WordNet, such as "bank%1:17:01::"; got {key!r}.')
    return match[1].lower(), SENSE_TYPES[match[2]]

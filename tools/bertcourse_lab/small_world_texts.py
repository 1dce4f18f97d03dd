"""The small world of chapter 4 for a model that writes: its texts as token ids, and the grammar's own loss.

The grammar knows the topic, mood, hero and places of a document; given these, the probability of each sentence is a sum
over frames, and for each frame a product over fields. The grammar's loss is thus that of a reader who is told all this
before the first word. A language model is not told, and loses more: the difference is what it does not find out, or not
at once.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from bertcourse.pretraining.corpus import Documents
from bertcourse.pretraining.evaluation import CountModel
from bertcourse.pretraining.small_world import (
    FIRST_SENTENCES,
    TELLING_SENTENCES,
    VAGUE_SENTENCES,
    Document,
    Scene,
    SmallWorld,
    plural,
)

Distribution = dict[tuple[str, ...], float]  # of the words that a field may become
LENGTHS = range(6, 13)  # of a document, in sentences


class KnownDocument(NamedTuple):
    """A document and what the grammar drew before its first word.

    Attributes:
        document: its words.
        scene: topic, mood, hero, places, and the things that the document comes back to.
    """

    document: Document
    scene: Scene


def known_documents(world: SmallWorld, seed: int, count: int) -> Iterator[KnownDocument]:
    """The documents of ``SmallWorld.documents``, each with its scene, which is drawn a second time.

    Args:
        world: the language.
        seed: below 0 for held-out documents.
        count: how many.
    """
    rng, again = random.Random(seed if seed <= 0 else seed << 32), random.Random()
    for _ in range(count):
        again.setstate(rng.getstate())
        topic = again.choices(list(world.topics), world.weights)[0]
        yield KnownDocument(world.document(rng), Scene(world, topic, again))


def document_ids(document: Document, tokenizer: Tokenizer) -> list[int]:
    """[CLS], all words of a document, [SEP].

    Args:
        document: of the small world.
        tokenizer: of the small world, which has a token for each word.
    """
    ids = tokenizer.get_vocab()
    words = [word for sentence in document.sentences for word in sentence]
    return [ids["[CLS]"], *(ids[word] for word in words), ids["[SEP]"]]


def world_texts(world: SmallWorld, seed: int, num_tokens: int = 0, count: int = 0) -> list[list[int]]:
    """Documents as token ids, [CLS] words [SEP]: texts for ``text_batches`` and ``mean_loss``.

    Args:
        world: the language.
        seed, num_tokens, count: as for ``SmallWorld.documents``; seeds below 0 give held-out texts.

    >>> world = SmallWorld()
    >>> [len(text) for text in world_texts(world, seed=-1, count=3)]
    [71, 87, 91]
    """
    tokenizer = world.tokenizer()
    return [document_ids(document, tokenizer) for document in world.documents(seed, num_tokens, count)]


def grammar_loss(world: SmallWorld, seed: int = -1, count: int = 200) -> float:
    """The mean of -log P(token | scene, tokens before), in nats: no model of the same texts can lose less on average.

    It counts what ``mean_loss`` counts in ``world_texts``: all words, and the end of each document.

    Args:
        world: the language.
        seed, count: of the documents.
    """
    total = tokens = 0.0
    for document, scene in known_documents(world, seed, count):
        total += math.log(len(LENGTHS))  # for the document's length
        for number, words in enumerate(document.sentences):
            total -= math.log(sentence_probability(world, scene, words, is_first=number == 0))
        tokens += sum(map(len, document.sentences)) + 1
    return total / tokens


def bigram_loss(texts: list[list[int]], held_out: list[list[int]], vocab_size: int) -> float:
    """The mean of -log P(token | the one before), in nats, from counted pairs: a baseline that sees one token back.

    Args:
        texts: the texts to count in; counts are smoothed as in chapter 4's ``CountModel``.
        held_out: the texts to score, all tokens but the first of each.
        vocab_size: V.
    """
    counts = CountModel([Documents.of([[text] for text in texts])], vocab_size)
    before = np.concatenate([text[:-1] for text in held_out])
    after = np.concatenate([text[1:] for text in held_out])
    pairs = counts.pair_count(before, after) + counts.strength * counts.unigram[after]
    return float(-np.log(pairs / (counts.counts[before] + counts.strength)).mean())


def sentence_probability(world: SmallWorld, scene: Scene, words: list[str], is_first: bool = False) -> float:
    """P(sentence | scene), summed over all frames that the sentence may come from.

    Args:
        world: the language.
        scene: of the document.
        words: of the sentence.
        is_first: whether the document begins with it.
    """
    words = ["a" if word == "an" else word for word in words]  # which of the two follows from the next word
    return sum(share * frame_probability(frame.split(), words, scene) for frame, share in frames(world, is_first))


def frames(world: SmallWorld, is_first: bool) -> list[tuple[str, float]]:
    """The frames of a sentence, each with its probability, as ``SmallWorld.document`` draws them."""
    if is_first:
        return [(frame, 1 / len(FIRST_SENTENCES)) for frame in FIRST_SENTENCES]
    ambiguous = 0.42 if world.sparse else 0.3
    shares = (
        (VAGUE_SENTENCES, ambiguous * 0.65),
        (TELLING_SENTENCES, ambiguous * 0.35),
        (world.sentences, 1 - ambiguous),
    )
    return [(frame, share / len(several)) for several, share in shares for frame in several]


def frame_probability(frame: list[str], words: list[str], scene: Scene) -> float:
    """P(words | frame, scene): a product over fields, with a sum where a field may be one word or two."""
    if not frame or not words:
        return float(not frame and not words)
    first, rest = frame[0], frame[1:]
    if first[0] != "{":
        return frame_probability(rest, words[1:], scene) if words[0] == first else 0.0
    return sum(
        share * frame_probability(rest, words[len(drawn) :], scene)
        for drawn, share in field_distribution(first[1:-1], scene).items()
        if tuple(words[: len(drawn)]) == drawn
    )


def field_distribution(field: str, scene: Scene) -> Distribution:
    """What ``Scene.draw`` may give for a field, and how likely each is."""
    common, topic = scene.common, scene.topic
    mood = {"mood_word": "pleasant unpleasant", "feels": "likes dislikes", "adverb": "pleasantly unpleasantly"}
    mine = common[mood[field].split()[not scene.is_pleasant]] if field in mood else []
    if field in scene.fixed:
        return {(scene.fixed[field],): 1.0}
    match field:
        case "subject":
            subjects = [("the", each) if each == scene.fixed["role"] else (each,) for each in scene.subjects]
            return mixed([(1.0, subjects)])
        case "thing":
            things = mixed([(0.6, scene.focus)])
            weights = scene.thing_weights or [1.0] * len(topic["things"])
            for thing, weight in zip(topic["things"], weights):
                things[(thing,)] = things.get((thing,), 0.0) + 0.4 * weight / sum(weights)
            return things
        case "things":
            found: Distribution = defaultdict(float)
            for (thing,), share in field_distribution("thing", scene).items():
                found[(plural(thing),)] += share
            return found
        case "verb":
            return mixed([(0.7, topic["verbs"]), (0.3, common["general_verbs"])])
        case "adjective":
            mood_words = common["pleasant" if scene.is_pleasant else "unpleasant"]
            return mixed([(0.35, mood_words), (0.4, topic["adjectives"]), (0.25, common["neutral"])])
        case "adverb":
            return mixed([(0.5, mine), (0.5, common["neutrally"])])
        case "mood_word" | "feels":
            return mixed([(1.0, mine)])
        case "word":
            return mixed([(1.0, scene.words)])
    lists = {"day": "days", "number": "numbers", "general_verb": "general_verbs"}
    return mixed([(1.0, common[lists.get(field, field)])])


def mixed(parts: list[tuple[float, list]]) -> Distribution:
    """The distribution over lists to choose from, each with its share; a word listed twice is twice as likely.

    >>> mixed([(0.5, ["a", "b"]), (0.5, ["b"])])
    {('a',): 0.25, ('b',): 0.75}
    """
    found: Distribution = {}
    for share, choices in parts:
        for each in choices:
            words = each if isinstance(each, tuple) else (each,)
            found[words] = found.get(words, 0.0) + share / len(choices)
    return found

"""The small world for models that write: the probabilities that the grammar gives its own sentences."""

import math
import random
from collections import Counter

import pytest

from bertcourse.pretraining import SmallWorld
from bertcourse_lab.small_world_texts import (
    bigram_loss,
    field_distribution,
    frames,
    grammar_loss,
    known_documents,
    sentence_probability,
    world_texts,
)

FIELDS = (
    "name he his role other city firm place subject thing things verb adjective adverb mood_word feels word day number "
    "general_verb neutral"
).split()


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "sparse"])
def world(request) -> SmallWorld:
    return SmallWorld(sparse=request.param)


def test_scenes_belong_to_the_documents(world):
    documents = list(world.documents(-3, count=30))
    known = list(known_documents(world, -3, 30))
    assert [each.document for each in known] == documents
    for document, scene in known:
        assert scene.topic is world.topics[document.topic] and scene.is_pleasant == document.is_pleasant
        assert any(scene.fixed["name"] in sentence for sentence in document.sentences)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_drawn_as_often_as_its_distribution_says(world, field):
    _, scene = next(known_documents(world, -2, 1))
    expected = field_distribution(field, scene)
    assert sum(expected.values()) == pytest.approx(1)
    counts = Counter(tuple(scene.draw(field).split()) for _ in range(4000))
    assert set(counts) <= set(expected)
    for words, share in expected.items():
        assert abs(counts[words] - 4000 * share) <= 5 * math.sqrt(4000 * share * (1 - share)) + 1e-6


@pytest.mark.parametrize("is_first", [True, False])
def test_frames_are_drawn_with_probability_one(world, is_first):
    assert sum(share for _, share in frames(world, is_first)) == pytest.approx(1)


def test_a_sentence_is_written_as_often_as_its_probability_says(world):
    """Of many sentences of one scene: the frequent ones one by one, and all that occurred together."""
    _, scene = next(known_documents(world, -4, 1))
    rng = random.Random(0)
    several, shares = zip(*frames(world, is_first=False))
    drawn = Counter(tuple(scene.sentence(frame)) for frame in rng.choices(several, shares, k=20_000))
    for words, count in drawn.most_common(40):
        share = sentence_probability(world, scene, list(words))
        assert abs(count - 20_000 * share) <= 5 * math.sqrt(20_000 * share)
    mass = sum(sentence_probability(world, scene, list(words)) for words in drawn)
    assert 0.2 < mass < 1


def test_every_sentence_of_the_world_may_come_from_the_grammar_and_shuffled_ones_may_not(world):
    for document, scene in known_documents(world, -5, 40):
        for number, words in enumerate(document.sentences):
            assert sentence_probability(world, scene, words, is_first=number == 0) > 0
            assert sentence_probability(world, scene, words[::-1], is_first=number == 0) == 0


def test_the_grammars_loss_is_a_mean_over_all_tokens():
    world = SmallWorld()
    documents = list(known_documents(world, -1, 5))
    tokens = sum(len(text) - 1 for text in world_texts(world, -1, count=5))
    logs = [
        math.log(sentence_probability(world, scene, words, number == 0))
        for document, scene in documents
        for number, words in enumerate(document.sentences)
    ]
    assert grammar_loss(world, -1, 5) == pytest.approx((5 * math.log(7) - sum(logs)) / tokens)


def test_texts_are_documents_between_two_special_tokens():
    world = SmallWorld()
    tokenizer, document = world.tokenizer(), next(world.documents(-1, count=1))
    (text,) = world_texts(world, -1, count=1)
    assert [tokenizer.id_to_token(text[0]), tokenizer.id_to_token(text[-1])] == ["[CLS]", "[SEP]"]
    assert tokenizer.decode(text) == " ".join(word for sentence in document.sentences for word in sentence)


def test_bigram_loss_is_that_of_counted_pairs():
    """n(v, w) of 0 1 1 2 | 0 1 2, smoothed by 300 tokens' worth of p(w) = (n(w) + 1) / (N + V)."""
    unigram = {0: 3 / 11, 1: 4 / 11, 2: 3 / 11, 3: 1 / 11}
    expected = {(0, 1): (2 + 300 * unigram[1]) / 302, (1, 2): (2 + 300 * unigram[2]) / 303}
    expected |= {(1, 1): (1 + 300 * unigram[1]) / 303, (3, 0): unigram[0]}
    for pair, share in expected.items():
        assert bigram_loss([[0, 1, 1, 2], [0, 1, 2]], [list(pair)], 4) == pytest.approx(-math.log(share))
    both = [[0, 1, 2], [3, 0]]
    mean = -sum(math.log(expected[pair]) for pair in [(0, 1), (1, 2), (3, 0)]) / 3
    assert bigram_loss([[0, 1, 1, 2], [0, 1, 2]], both, 4) == pytest.approx(mean)

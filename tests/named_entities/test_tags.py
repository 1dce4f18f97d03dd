"""Notations of entities say the same; entity scores are seqeval's; subwords come back to words."""

import itertools
import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.named_entities import (
    Entity,
    compare_taggers,
    convert_tags,
    entity_scores,
    read_brackets,
    read_tags,
    subword_tags,
    tag_set,
    word_tags,
    write_brackets,
    write_tags,
)
from bertcourse.named_entities.tags import SCHEMES

WORDS = "[PER Jane Villanueva] of [ORG United] , a unit of [ORG United Airlines Holding] , said [LOC Chicago]"


@st.composite
def sentences(draw) -> tuple[int, list[Entity]]:
    """A length, and entities within it."""
    entities, position = [], 0
    for gap, size, type_ in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("XY")), max_size=5)
    ):
        entities.append(Entity(type_, position + gap, position + gap + size))
        position += gap + size
    return position + draw(st.integers(0, 2)), entities


def test_the_chapters_sentence_in_every_notation():
    words, entities = read_brackets(WORDS)
    assert words[:6] == ["Jane", "Villanueva", "of", "United", ",", "a"] and len(entities) == 4
    assert write_tags(entities, len(words), "IO")[:4] == ["I-PER", "I-PER", "O", "I-ORG"]
    assert write_tags(entities, len(words), "BIO")[8:11] == ["B-ORG", "I-ORG", "I-ORG"]
    assert write_tags(entities, len(words), "BIOES")[8:11] == ["B-ORG", "I-ORG", "E-ORG"]
    assert write_tags(entities, len(words), "BIOES")[3] == "S-ORG"
    assert write_brackets(words, entities) == WORDS
    assert read_brackets("[ORG United Airlines ] rose")[1] == [Entity("ORG", 0, 2)]


@given(sentences(), st.sampled_from(["IOB1", "BIO", "BIOES"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_again(sentence, scheme, strict):
    length, entities = sentence
    if scheme == "IOB1" and strict:  # seqeval's strict IOB1 loses the neighbour that B- begins, which it lets I- begin
        entities = [e for a, e in zip([None, *entities], entities) if a is None or a.type != e.type or a.end < e.start]
    assert read_tags(write_tags(entities, length, scheme), scheme if strict else None) == entities


@given(sentences())
@settings(max_examples=80, deadline=None)
def test_notations_convert_into_one_another_and_io_melts_neighbours(sentence):
    length, entities = sentence
    bio = write_tags(entities, length)
    for scheme in ("IOB1", "BIOES"):
        assert convert_tags(convert_tags(bio, scheme), "BIO") == bio
    touching = any(a.end == b.start and a.type == b.type for a, b in itertools.pairwise(entities))
    assert (convert_tags(convert_tags(bio, "IO"), "BIO") == bio) == (not touching)


@pytest.mark.parametrize(("scheme", "prefixes"), [(None, "BIES"), ("BIO", "BI"), ("IOB1", "BI"), ("BIOES", "BIES")])
def test_scores_equal_seqeval_on_any_tags(scheme, prefixes):
    """Tags drawn at random are mostly invalid, which is where implementations differ."""
    seqeval = pytest.importorskip("seqeval.metrics")
    from seqeval import scheme as schemes

    classes = {"BIO": schemes.IOB2, "IOB1": schemes.IOB1, "BIOES": schemes.IOBES}
    options = {"mode": "strict", "scheme": classes[scheme]} if scheme else {}
    draw, labels = random.Random(0), ["O", *(f"{p}-{t}" for p in prefixes for t in ("PER", "creative-work"))]
    for _ in range(300):
        lengths = [draw.randint(1, 8) for _ in range(draw.randint(1, 4))]
        gold, predicted = ([[draw.choice(labels) for _ in range(n)] for n in lengths] for _ in range(2))
        ours = entity_scores(gold, predicted, scheme)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metrics = [seqeval.precision_score, seqeval.recall_score, seqeval.f1_score]
            theirs = [metric(gold, predicted, zero_division=0, **options) for metric in metrics]
            per_type = seqeval.f1_score(gold, predicted, average=None, zero_division=0, **options)
        np.testing.assert_allclose(ours["all"][:3], theirs, atol=1e-12)
        np.testing.assert_allclose([ours[name].f1 for name in sorted(ours) if name != "all"], per_type, atol=1e-12)


def test_invalid_tags_are_repaired_by_the_stated_rule():
    assert read_tags(["O", "I-X", "I-X", "I-Y", "O"]) == [Entity("X", 1, 3), Entity("Y", 3, 4)]
    assert read_tags(["B-X", "E-X", "E-X", "I-X"]) == [Entity("X", 0, 2), Entity("X", 2, 3), Entity("X", 3, 4)]
    assert convert_tags(["O", "I-X", "B-X"], "BIO") == ["O", "B-X", "B-X"]
    assert read_tags(["O", "I-X", "I-X", "B-Y"], "BIO") == [Entity("Y", 3, 4)]


def test_many_words_right_and_no_entity_found():
    gold = [["O"] * 19 + ["B-PER"]]
    assert entity_scores(gold, [["O"] * 20])["all"] == (0.0, 0.0, 0.0, 0, 0, 1)


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=6), st.data())
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("subwords", ["first", "all", "copy"])
@pytest.mark.parametrize("scheme", ["IO", "BIO", "BIOES"])
def test_words_to_subwords_and_back(subwords, scheme, pieces, data):
    length, entities = data.draw(sentences())
    tags = write_tags(entities, length, scheme)
    sizes = [pieces[i % len(pieces)][0] for i in range(length)]
    word_ids = [None, *(i for i, size in enumerate(sizes) for _ in range(size)), None]
    token_tags = subword_tags(word_ids, tags, subwords)
    assert word_tags(word_ids, token_tags) == tags
    learned = [tag for tag in token_tags if tag is not None]
    assert len(learned) == (length if subwords == "first" else sum(sizes))
    if scheme != "IO" and subwords == "all":  # the tokens have the same entities as the words
        spans = read_tags(learned, scheme)
        starts = [0, *itertools.accumulate(sizes)]
        assert spans == [Entity(e.type, starts[e.start], starts[e.end]) for e in entities]
    if subwords == "copy":
        assert all(tag == (None if word is None else tags[word]) for word, tag in zip(word_ids, token_tags))


def test_the_textbooks_rule_on_the_textbooks_example():
    """Jurafsky & Martin, section 11.5.3: mt . san ##itas is in sunshine canyon."""
    word_ids, tags = [0, 0, 1, 1, 2, 3, 4, 5], ["B-LOC", "I-LOC", "O", "O", "B-LOC", "I-LOC"]
    copied = subword_tags(word_ids, tags, "copy")
    assert copied == ["B-LOC", "B-LOC", "I-LOC", "I-LOC", "O", "O", "B-LOC", "I-LOC"]
    assert word_tags(word_ids, copied) == tags
    assert len(read_tags(copied)) == 3 and len(read_tags(subword_tags(word_ids, tags, "all"))) == len(read_tags(tags))


def test_the_bootstrap_sees_a_difference_and_none():
    draw = random.Random(1)
    gold = [["B-X", "O", "B-Y", "O"] for _ in range(60)]
    worse = [[tag if draw.random() < 0.7 else "O" for tag in tags] for tags in gold]
    result = compare_taggers(gold, gold, worse, resamples=2000)
    f1 = entity_scores(gold, worse)["all"].f1
    assert result.difference == pytest.approx(1 - f1) and result.low > 0 and result.p_value < 0.01
    assert compare_taggers(gold, worse, worse, resamples=200) == (0.0, 0.0, 0.0, 1.0)


def test_the_bootstrap_equals_resampling_sentence_by_sentence():
    draw = random.Random(2)
    gold = [[draw.choice(["O", "B-X", "B-Y"]) for _ in range(5)] for _ in range(50)]
    one, two = ([[t if draw.random() < p else "O" for t in tags] for tags in gold] for p in (0.8, 0.7))
    result = compare_taggers(gold, one, two, resamples=5000)
    differences = []
    for _ in range(1000):
        chosen = draw.choices(range(50), k=50)
        f1 = [entity_scores([gold[i] for i in chosen], [other[i] for i in chosen])["all"].f1 for other in (one, two)]
        differences.append(f1[0] - f1[1])
    np.testing.assert_allclose([result.low, result.high], np.quantile(differences, [0.025, 0.975]), atol=0.012)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: write_brackets(["x"], [Entity("creative-work", 0, 1)]),
            "types must be written in capitals A to Z in brackets, such as PER; got creative-work",
        ),
        (lambda: read_tags(["PER"]), "a tag must be one like I-PER, O, B-PER"),
        (lambda: read_tags(["E-X"], "BIO"), "a tag must be one like I-PER, O, B-PER; got 'E-X'"),
        (lambda: read_tags(["O"], "BILOU"), "scheme must be one of IO, IOB1, BIO, BIOES; got 'BILOU'"),
        (lambda: write_tags([Entity("X", 0, 3)], 2), "entities must be spans of words from 0 to 2"),
        (lambda: write_tags([Entity("X", 0, 2), Entity("Y", 1, 3)], 4), "none in another"),
        (lambda: read_brackets("[PER Jane"), r"every entity must end with \]; \[PER at word 0"),
        (lambda: read_brackets("[PER Jane [ORG United]]"), r"\[ORG stands inside PER"),
        (lambda: read_brackets("[PER ]"), "an entity must have a word"),
        (lambda: write_brackets(["b]", "c"], [Entity("X", 0, 2)]), "words with brackets of their own"),
        (lambda: subword_tags([0, 1], ["O"]), "a tag for each word; got 2 words or more, and 1 tags"),
        (lambda: subword_tags([0], ["O"], "last"), "subwords must be one of first, all, copy; got 'last'"),
        (lambda: word_tags([0, 1], ["O"]), "a tag for each token; got 2 tokens and 1 tags"),
        (
            lambda: entity_scores([["O"]], [["O", "O"]]),
            "sentence 0 must have a tag for each word; got 1 gold and 2 predicted",
        ),
        (lambda: entity_scores([["O"]], []), "tags of the same sentences, at least one; got 1 and 0"),
        (lambda: entity_scores([], []), "at least one; got 0 and 0"),
        (lambda: tag_set(["PER"], "B"), "scheme must be one of"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_every_scheme_has_its_tags():
    assert {scheme: tag_set(["X"], scheme) for scheme in SCHEMES} == {
        "IO": ["O", "I-X"],
        "IOB1": ["O", "B-X", "I-X"],
        "BIO": ["O", "B-X", "I-X"],
        "BIOES": ["O", "B-X", "I-X", "E-X", "S-X"],
    }

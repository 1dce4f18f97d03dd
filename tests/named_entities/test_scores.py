"""Entity scores are seqeval's; the bootstrap is a resampling of sentences."""

import random
import warnings

import numpy as np
import pytest

from bertcourse.named_entities import compare_taggers, entity_scores, tag_set
from bertcourse_lab.named_entities import strictly


@pytest.mark.parametrize("is_strict", [False, True])
def test_scores_equal_seqeval_on_any_tags(is_strict):
    """Tags drawn at random are mostly invalid, which is where implementations differ."""
    seqeval = pytest.importorskip("seqeval.metrics")
    from seqeval.scheme import IOB2

    options = {"mode": "strict", "scheme": IOB2} if is_strict else {}
    draw, labels = random.Random(0), tag_set(["PER", "creative-work"])
    for _ in range(300):
        lengths = [draw.randint(1, 8) for _ in range(draw.randint(1, 4))]
        gold, predicted = ([[draw.choice(labels) for _ in range(n)] for n in lengths] for _ in range(2))
        read = strictly if is_strict else list
        ours = entity_scores([read(tags) for tags in gold], [read(tags) for tags in predicted])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metrics = [seqeval.precision_score, seqeval.recall_score, seqeval.f1_score]
            theirs = [metric(gold, predicted, zero_division=0, **options) for metric in metrics]
            per_type = seqeval.f1_score(gold, predicted, average=None, zero_division=0, **options)
        np.testing.assert_allclose(ours["all"][:3], theirs, atol=1e-12)
        np.testing.assert_allclose([ours[name].f1 for name in sorted(ours) if name != "all"], per_type, atol=1e-12)


def test_many_words_right_and_no_entity_found():
    gold = [["O"] * 19 + ["B-PER"]]
    assert entity_scores(gold, [["O"] * 20])["all"] == (0.0, 0.0, 0.0, 0, 0, 1)


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
    ("gold", "predicted", "message"),
    [
        ([["O"]], [["O", "O"]], "sentence 0 must have a tag for each word"),
        ([["O"]], [], "sentences, .*got 1 and 0"),
        ([], [], "sentences, .*got 0 and 0"),
    ],
)
def test_tags_of_other_sentences_are_refused(gold, predicted, message):
    with pytest.raises(ValueError, match=message):
        entity_scores(gold, predicted)

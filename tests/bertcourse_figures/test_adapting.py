"""The figures of fine-tuning: what they say is what was given, and the browser follows each choice."""

import numpy as np
import pytest

from bertcourse_figures.adapting import (
    explore_freezing,
    explore_labels,
    show_classifier,
    show_low_rank,
    show_pair,
)
from bertcourse_figures.interactive import Figure
from live_figures import WIDTHS, numbers

TOKENS = "[CLS] the enter key is stuck . [SEP]".split()
LABELS = ["billing", "hardware", "software"]
PAIR = "[CLS] leo stayed at home . [SEP] leo came . [SEP]".split()
SEGMENTS = [0] * 7 + [1] * 4
SCORES = {
    "tickets": {
        "fine-tuned": {4: [60.0, 70.0], 16: [80.0, 84.0], 64: [86.0]},
        "from scratch": {16: [50.0, 40.0], 64: [84.0]},
    },
    "reviews": {"fine-tuned": {4: [35.0], 16: [44.0], 180: [67.0]}, "from scratch": {16: [36.0], 180: [40.0]}},
}
LEVELS, BLOCKS = ["head", "+1", "+3", "+4", "all"], [0, 1, 3, 4, 5]
LEARNING, OPERATIONS = [1_155, 10_000, 30_000, 40_000, 90_000], [1 / 3, 1 / 2, 5 / 6, 1, 1]


def classifier() -> tuple[Figure, np.ndarray]:
    rng = np.random.default_rng(0)
    p = np.array([0.2, 0.5, 0.3])
    sizes = (22_713_216, 1_155)
    hidden, h, weight = rng.normal(size=(8, 384)), rng.normal(size=384), rng.normal(size=(3, 384))
    return show_classifier(TOKENS, hidden, h, weight, p, LABELS, sizes, num_blocks=6), p


def pair() -> tuple[Figure, np.ndarray]:
    weights = np.random.default_rng(1).dirichlet(np.ones(len(PAIR)))
    return show_pair(PAIR, SEGMENTS, weights, 8, ["entailment", "neutral", "contradiction"]), weights


def low_rank(rank: int = 4) -> tuple[Figure, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    before, change = rng.normal(size=(40, 30)), 0.01 * rng.normal(size=(40, 30))
    u, s, v = np.linalg.svd(change, full_matrices=False)
    b, a = u[:, :rank] * s[:rank], v[:rank]
    return show_low_rank(before, change, b, a), before, change


def freezing() -> tuple[Figure, np.ndarray]:
    marks = 70 + 15 * np.random.default_rng(3).uniform(size=(5, 3))
    return explore_freezing(BLOCKS, LEARNING, OPERATIONS, marks, num_blocks=4), marks


def test_the_steps_of_a_classifier_name_its_sizes_and_probabilities():
    figure, p = classifier()
    said = repr(figure)
    assert "22,713,216 numbers" in said and "W of 3 × 384 and 3 biases: 1,155 numbers" in said
    assert all(f"{name} {share:.2f}" in said for name, share in zip(LABELS, p))
    with pytest.raises(ValueError, match="hidden must be"):
        show_classifier(TOKENS[:-1], np.zeros((8, 4)), np.zeros(4), np.zeros((3, 4)), p, LABELS, (1, 1), 2)
    with pytest.raises(ValueError, match="weight and probabilities"):
        show_classifier(TOKENS, np.zeros((8, 4)), np.zeros(4), np.zeros((2, 4)), p, LABELS, (1, 1), 2)
    with pytest.raises(ValueError, match="8 dimensions or more.*got 4"):
        show_classifier(TOKENS, np.zeros((8, 4)), np.zeros(4), np.zeros((3, 4)), p, LABELS, (1, 1), 2)


def test_a_pair_says_how_much_attention_crosses():
    figure, weights = pair()
    assert f"'came' gives {weights[1:6].sum():.2f} of its attention" in repr(figure)
    assert "7 tokens get the vector of segment 0, 4 that of segment 1" in repr(figure)
    with pytest.raises(ValueError, match="token 2 in the second"):
        show_pair(PAIR, SEGMENTS, weights, 2, LABELS)
    for asking in (99, -1):
        with pytest.raises(ValueError, match="in the second"):
            show_pair(PAIR, SEGMENTS, weights, asking, LABELS)
    with pytest.raises(ValueError, match="room for 5 to 12 tokens"):
        show_pair(PAIR * 2, SEGMENTS * 2, np.tile(weights, 2), 8, LABELS)


@pytest.mark.parametrize("rank", [1, 4, 30])
def test_low_rank_says_what_is_kept_and_what_it_costs(rank):
    figure, before, change = low_rank(rank)
    s = np.linalg.svd(change, compute_uv=False)
    assert f"rank {rank} holds {100 * np.square(s[:rank]).sum() / np.square(s).sum():.0f} %" in repr(figure)
    assert f"together {rank * 70:,} numbers, {100 * rank * 70 / 1200:.0f} % of them" in repr(figure)
    size = 100 * np.linalg.norm(change) / np.linalg.norm(before)
    assert f"{size:.1f} % of its size" in repr(figure)
    with pytest.raises(ValueError, match=r"left \(M, r\)"):
        show_low_rank(before, change, np.zeros((3, 2)), np.zeros((2, 30)))
    with pytest.raises(ValueError, match="from 1 to 30.*got 31"):
        show_low_rank(before, change, np.zeros((len(before), 2)), np.zeros((2, 30)), count=31)
    with pytest.raises(ValueError, match="all zeros"):
        show_low_rank(before, 0 * change, np.zeros((len(before), 2)), np.zeros((2, 30)))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [classifier, pair, low_rank])
def test_the_schematics_fit_on_any_screen(shown, make, width):  # noqa: F811
    figure = make()[0]
    tab = shown(figure, width=width)
    tab.get_by_role("button", name="step 2", exact=True).click()
    assert tab.locator("[data-step].later").count() == len(figure.data["captions"]) - 2
    assert figure.data["captions"][1] in tab.locator(".say").inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_words_hold_the_means_by_number_of_labels():
    said = repr(explore_labels(SCORES, 100 / 3))
    assert "tickets: fine-tuned 65 82 86, from scratch – 45 84 % with 4 16 64 per class" in said
    assert "reviews: fine-tuned 35 44 67, from scratch – 36 40 % with 4 16 180 per class" in said
    with pytest.raises(ValueError, match="start must be a number"):
        explore_labels(SCORES, 100 / 3, start=64)
    with pytest.raises(ValueError, match="same methods"):
        explore_labels({"tickets": {"fine-tuned": {16: [1.0]}}}, 100 / 3)
    with pytest.raises(ValueError, match="two numbers of examples or more"):
        explore_labels({"tickets": {"fine-tuned": {16: [1.0]}, "from scratch": {16: [1.0]}}}, 100 / 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_more_labels_and_another_set_show_other_scores(shown, width):  # noqa: F811
    tab = shown(explore_labels(SCORES, 100 / 3), width=width)

    def agrees(name: str, size: int) -> None:
        for row, found in enumerate(SCORES[name].values()):
            told = tab.locator(".mean").nth(row).inner_text()
            if size not in found:
                assert told == "not measured"
                continue
            assert numbers(told) == [round(np.mean(found[size]))]
            if len(found[size]) > 1:
                assert numbers(tab.locator(".seeds").nth(row).inner_text()) == [min(found[size]), max(found[size])]
        assert tab.locator("circle.seed").count() == sum(len(f.get(size, [])) for f in SCORES[name].values())

    agrees("tickets", 16)
    assert numbers(tab.locator(".gap").inner_text()) == [82 - 45]
    assert "gets as far with 64" in tab.locator(".say").inner_text()
    tab.get_by_role("slider").press("ArrowLeft")
    agrees("tickets", 4)
    assert "not tried" in tab.locator(".say").inner_text()
    tab.get_by_role("slider").press("End")
    agrees("tickets", 64)
    tab.get_by_role("button", name="reviews").click()
    agrees("reviews", 16)  # the nearest number of labels that this set has
    tab.get_by_role("slider").press("End")
    agrees("reviews", 180)
    assert "No number of labels" in tab.locator(".say").inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_words_hold_cost_and_worth_of_each_level():
    figure, marks = freezing()
    for name, number, share, each in zip(LEVELS, LEARNING, OPERATIONS, marks):
        assert (
            f"{name}: {number:,} numbers learn, {100 * share:.0f} % of the operations, {each.mean():.0f} % right"
            in (repr(figure))
        )
    with pytest.raises(ValueError, match="each of 5 levels"):
        explore_freezing(BLOCKS, LEARNING, OPERATIONS, marks[1:], num_blocks=4)
    with pytest.raises(ValueError, match="each of 5 levels"):
        explore_freezing(BLOCKS, LEARNING, OPERATIONS, marks[:, :0], num_blocks=4)
    with pytest.raises(ValueError, match="blocks must rise, from 0 up to at most 4"):
        explore_freezing(BLOCKS, LEARNING, OPERATIONS, marks, num_blocks=3)


@pytest.mark.parametrize("width", WIDTHS)
def test_more_layers_learn_as_the_slider_moves(shown, width):  # noqa: F811
    figure, marks = freezing()
    tab = shown(figure, width=width)
    tab.get_by_role("slider").press("Home")
    for level in range(len(LEVELS)):
        assert tab.locator(".part.learns").count() == BLOCKS[level] + 1  # the head too
        assert numbers(tab.locator(".numbers").inner_text().replace(",", "")) == [LEARNING[level]]
        assert numbers(tab.locator(".cost").inner_text()) == [round(100 * OPERATIONS[level])]
        assert numbers(tab.locator(".mean").inner_text())[0] == pytest.approx(marks[level].mean(), abs=0.51)
        large = tab.locator("circle[r='5.5']")
        assert large.count() == 3
        tab.get_by_role("slider").press("ArrowRight")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")

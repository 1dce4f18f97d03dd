"""The figures of a space of vectors: what they say is what chapter 6 computes, and the browser follows each choice."""

import numpy as np
import pytest

from bertcourse.anisotropy import dimension_contributions, expected_cosine, paired_cosines
from bertcourse_figures.space import (
    SHARES,
    cone_steps,
    cosine_steps,
    explore_mean,
    explore_neighbours,
    pair_cosines,
    shifted_cosines,
)
from live_figures import NARROW, WIDE, WIDTHS, numbers

COUNTS = (0, 1, 3)


def cloud(seed: int = 0, n: int = 60, size: int = 8) -> np.ndarray:
    """Vectors with one loud dimension, and a mean that is not zero."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n, size)) + [4, -1, 0.5, *np.zeros(size - 3)]


def fits(tab) -> bool:
    return tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_cosines_of_all_pairs_have_the_expected_cosine_as_their_mean():
    vectors = cloud()
    assert pair_cosines(vectors).shape == (60 * 59 / 2,)
    assert pair_cosines(vectors).mean() == pytest.approx(expected_cosine(vectors))


@pytest.mark.parametrize("seed", range(4))
def test_taking_away_a_share_of_the_mean_in_closed_form(seed):
    vectors = cloud(seed)
    mean, shares = vectors.mean(axis=0), [0, 0.3, 1]
    expected = [expected_cosine(vectors - share * mean) for share in shares]
    np.testing.assert_allclose(shifted_cosines(vectors, mean, shares), expected, atol=1e-12)


def test_the_steps_of_two_clouds_say_what_a_cosine_is_compared_with():
    points = np.random.default_rng(1).normal(size=(40, 2))
    captions = cone_steps(points, (4, 0), (3, 7)).data["captions"]
    for step, moved in ((0, points), (2, points + [4, 0])):
        assert numbers(captions[step])[-1] == pytest.approx(expected_cosine(moved), abs=0.006)
    own = [float(paired_cosines(each[[3]], each[[7]])[0]) for each in (points, points + [4, 0])]
    np.testing.assert_allclose(numbers(captions[3]), own, atol=0.006)
    above = [100 * (pair_cosines(each) >= value).mean() for each, value in zip((points + [4, 0], points), own[::-1])]
    np.testing.assert_allclose(numbers(captions[4]), above, atol=0.51)
    with pytest.raises(ValueError, match="3 to 60 of them"):
        cone_steps(np.ones((2, 2)), (1, 0), (0, 1))
    for pair in ((0, len(points)), (-1, 2), (3, 3)):
        with pytest.raises(ValueError, match=f"two of the {len(points)} points"):
            cone_steps(points, (4, 0), pair)


def test_the_steps_of_a_cosine_add_up():
    vectors = cloud(2)
    average = dimension_contributions(vectors)
    captions = cosine_steps(("river", "stone"), vectors[0], vectors[1], average, shown=3).data["captions"]
    (cosine,) = paired_cosines(vectors[[0]], vectors[[1]])
    assert numbers(captions[2])[-1] == pytest.approx(cosine, abs=0.006)
    dimension, own, _, others = numbers(captions[3])
    assert own + others == pytest.approx(cosine, abs=0.011)
    assert numbers(captions[4])[1] == pytest.approx(average[int(dimension)], abs=0.006)
    with pytest.raises(ValueError, match=r"one shape, \(D,\), with D above 8"):
        cosine_steps(("river", "stone"), vectors[0], vectors[1], average, shown=8)


@pytest.mark.parametrize("width", WIDTHS)
def test_steps_fit_on_any_screen(shown, width):  # noqa: F811
    vectors = cloud(3)
    tab = shown(
        cone_steps(vectors[:40, 1:3], (4, 0), (3, 7)),
        cosine_steps(("river", "stone"), vectors[0], vectors[1], dimension_contributions(vectors), shown=3),
        width=width,
    )
    for figure in tab.locator("[data-live]").all():
        figure.get_by_role("button", name="step 3").click()
        assert figure.locator("[data-step].later").count() == 2
    assert fits(tab)


def mean_figure():
    vectors = cloud(4)
    largest = np.argsort(-dimension_contributions(vectors))
    groups = ["frequent" if i % 3 else "rare" for i in range(len(vectors))]
    return vectors, largest, explore_mean(vectors, groups, largest.tolist(), COUNTS)


def test_the_words_say_what_two_random_words_get():
    vectors, largest, figure = mean_figure()
    for number, count in enumerate(COUNTS):
        kept = vectors.copy()
        kept[:, largest[:count]] = 0
        assert figure.data["cosines"][number][0] == pytest.approx(expected_cosine(kept), abs=0.0006)
        assert f"{count}: {expected_cosine(kept):.2f}" in repr(figure)
    with pytest.raises(ValueError, match="a name for each of the vectors"):
        explore_mean(vectors, ["one"] * 3, largest, COUNTS)
    with pytest.raises(ValueError, match="at least 20 dimensions"):
        explore_mean(vectors, ["one"] * len(vectors), largest)
    for counts in ((1, 2), (0, 2, 1), (0, 1, 1)):
        with pytest.raises(ValueError, match="counts must rise from 0"):
            explore_mean(vectors, ["one"] * len(vectors), largest, counts)
    with pytest.raises(ValueError, match="largest must be dimensions"):
        explore_mean(vectors, ["one"] * len(vectors), [vectors.shape[1], *largest], COUNTS)


@pytest.mark.parametrize("width", WIDTHS)
def test_moving_the_mean_and_leaving_out_dimensions(shown, width):  # noqa: F811
    vectors, largest, figure = mean_figure()
    tab = shown(figure, width=width)

    def expected(share: float, count: int) -> float:
        kept = vectors.copy()
        kept[:, largest[:count]] = 0
        return expected_cosine(kept - share * kept.mean(axis=0))

    def cosine() -> float:
        (value,) = numbers(tab.locator(".cosine").inner_text())
        return value

    assert cosine() == pytest.approx(expected(0, 0), abs=0.006)
    share, cut = tab.get_by_role("slider").all()
    set_to = "(node, to) => { node.value = to; node.dispatchEvent(new Event('input')); }"
    for place, number in ((5, 0), (SHARES - 1, 0), (SHARES - 1, 2), (8, 1), (0, 1)):
        share.evaluate(set_to, place)
        cut.evaluate(set_to, number)
        assert cosine() == pytest.approx(expected(place / (SHARES - 1), COUNTS[number]), abs=0.006)
    cut.evaluate(set_to, 0)
    tab.get_by_role("button", name="the mean").press("ArrowLeft")
    assert cosine() == pytest.approx(expected(1 / (SHARES - 1), 0), abs=0.006)
    assert share.input_value() == "1"
    assert tab.locator(".word").count() == len(vectors)
    assert fits(tab)


def test_the_mean_is_dragged_to_the_origin(shown):  # noqa: F811
    vectors, _, figure = mean_figure()
    tab = shown(figure, width=WIDE)
    ring, origin = tab.locator(".ring").bounding_box(), tab.get_by_text("origin", exact=True).bounding_box()
    tab.mouse.move(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(origin["x"] - 200, ring["y"] + ring["height"] / 2, steps=5)
    tab.mouse.up()
    told = tab.locator(".say").inner_text()
    assert told.startswith("The mean lies at the origin")
    assert numbers(told)[0] == pytest.approx(expected_cosine(vectors - vectors.mean(axis=0)), abs=0.006)


def neighbour_figure():
    vectors, words = cloud(5, n=26), [chr(97 + i) for i in range(26)]
    kinds = {"raw": vectors, "centred": vectors - vectors.mean(axis=0), "scaled": vectors / vectors.std(axis=0)}
    baselines = {kind: expected_cosine(each) for kind, each in kinds.items()}
    return words, kinds, baselines, explore_neighbours(words, kinds, baselines, ["c", "q"], most=5)


def nearest(words: list[str], vectors: np.ndarray, query: str) -> dict[str, float]:
    row = words.index(query)
    others = [i for i in range(len(words)) if i != row]
    cosines = dict(zip([words[i] for i in others], paired_cosines(vectors[[row] * len(others)], vectors[others])))
    return dict(sorted(cosines.items(), key=lambda item: -item[1])[:5])


def test_the_words_say_which_neighbours_stay():
    words, kinds, baselines, figure = neighbour_figure()
    for query in "cq":
        before = nearest(words, kinds["raw"], query)
        stay = [len(before.keys() & nearest(words, kinds[kind], query)) for kind in ("centred", "scaled")]
        assert f"{query}: {' '.join(before)} (of these stay: centred {stay[0]}, scaled {stay[1]})" in repr(figure)
    with pytest.raises(ValueError, match="unknown"):
        explore_neighbours(words, kinds, baselines, ["C"])
    with pytest.raises(ValueError, match="a vector for each of 25 words"):
        explore_neighbours(words[1:], kinds, baselines, ["c"])
    with pytest.raises(ValueError, match=f"from 1 to {len(words) - 1}.*got {len(words)}"):
        explore_neighbours(words, kinds, baselines, ["c"], most=len(words))
    with pytest.raises(ValueError, match="zero vector"):
        explore_neighbours(words, {**kinds, "raw": 0 * kinds["raw"]}, baselines, ["c"])


@pytest.mark.parametrize("width", WIDTHS)
def test_choosing_a_word_and_a_repair_shows_its_neighbours(shown, width):  # noqa: F811
    words, kinds, baselines, figure = neighbour_figure()
    tab = shown(figure, width=width)
    for query in "cq":
        tab.get_by_role("button", name=f"neighbours of {query}").click()
        for kind, vectors in kinds.items():
            tab.get_by_role("button", name=kind, exact=True).click()
            expected, before = nearest(words, vectors, query), nearest(words, kinds["raw"], query)
            named = tab.locator("text.name").all_text_contents()
            assert [name.removeprefix("+ ") for name in named] == list(expected)
            assert [name.startswith("+") for name in named] == [word not in before for word in expected]
            values = [numbers(text)[0] for text in tab.locator("text.value").all_text_contents()]
            np.testing.assert_allclose(values, list(expected.values()), atol=0.006)
            (baseline,) = numbers(tab.get_by_text("two random words").text_content())
            assert baseline == pytest.approx(baselines[kind], abs=0.006)
    told = tab.locator(".stay").inner_text()
    assert numbers(told) == [len(nearest(words, kinds["raw"], "q").keys() & nearest(words, kinds["scaled"], "q")), 5]
    assert fits(tab)


def test_without_baselines_there_is_no_line(shown):  # noqa: F811
    words, kinds, _, _ = neighbour_figure()
    figure = explore_neighbours(words, {"raw": kinds["raw"]}, None, ["c", "q"], most=5)
    assert repr(figure).startswith("Nearest to c: ")
    tab = shown(figure, width=NARROW)
    assert tab.locator("text.name").all_text_contents() == list(nearest(words, kinds["raw"], "c"))
    assert tab.get_by_text("two random words").count() == 0
    assert tab.get_by_role("button", name="raw", exact=True).count() == 0

"""The figures of lecture 5: cosines and nearest senses are those of numpy and of the package, in the browser too."""

import numpy as np
import pytest

from bertcourse.word_senses import NearestSense
from bertcourse_figures.interactive import Figure
from bertcourse_figures.senses import borders, explore_nearest_sense, nearest_sense_steps, plane_of, word_in_layers
from live_figures import WIDTHS, numbers

SENTENCES = ["They swam to the bank.", "They stole from the bank."]
NAMES = "animal", "closure", "stamp"
TEXTS = ["The seal swam.", "The seal broke.", "The seal on it was red.", "We saw the seal."]


def states(layers: int = 7) -> np.ndarray:
    array = np.random.default_rng(0).normal(size=(layers, 2, 20))
    array[0, 1] = array[0, 0]
    return array


def senses(seed: int, size: int = 12) -> dict[str, np.ndarray]:
    """Vectors that have much in common, as BERT's have."""
    generator = np.random.default_rng(seed)
    common = 3 * generator.normal(size=size)
    centers = common + generator.normal(size=(3, size))
    return {name: center + generator.normal(size=(5, size)) for name, center in zip(NAMES, centers)}


def asked(seed: int, number: int = len(TEXTS)) -> np.ndarray:
    examples = np.concatenate(list(senses(seed).values()))
    return examples[:: len(examples) // number][:number] + np.random.default_rng(seed).normal(size=(number, 12))


def package_answers(seed: int, vectors: np.ndarray) -> list[str]:
    examples = senses(seed)
    names = [name for name, each in examples.items() for _ in each]
    return NearestSense().fit(np.concatenate(list(examples.values())), names).predict(vectors).tolist()


def to_unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def cosines(vectors: np.ndarray, seed: int) -> np.ndarray:
    means = np.array([each.mean(axis=0) for each in senses(seed).values()])
    return to_unit(vectors) @ to_unit(means).T


def test_layers_tell_the_cosine_of_each():
    array = states()
    figure = word_in_layers(SENTENCES, array, "bank")
    expected = [float(to_unit(a) @ to_unit(b)) for a, b in array]
    told = numbers(repr(figure).split("Cosines:")[1])
    np.testing.assert_allclose(told[1::2], expected, atol=0.006)
    captions = figure.data["captions"]
    assert len(captions) == 4 and "There is only one vector" in captions[0]
    np.testing.assert_allclose(numbers(captions[2].split("Cosines")[1]), expected[2:-1], atol=0.006)
    assert len(word_in_layers(SENTENCES, states(3), "bank").data["captions"]) == 3
    elsewhere = states()
    elsewhere[0, 1] += 1
    assert "at another place" in word_in_layers(SENTENCES, elsewhere, "bank").data["captions"][0]


def test_layers_refuse_what_does_not_fit():
    for wrong in (states()[:, :1], states(2), states(14)):
        with pytest.raises(ValueError, match="shape"):
            word_in_layers(SENTENCES, wrong, "bank")
    for texts in (SENTENCES[:1], ["They swam.", SENTENCES[1]], [SENTENCES[0], "They stole from the bank" + "!" * 20]):
        with pytest.raises(ValueError, match="two sentences"):
            word_in_layers(texts, states(), "bank")
    with pytest.raises(ValueError, match="the one word 'the bank'"):
        word_in_layers(SENTENCES, states(), "the bank")
    with pytest.raises(ValueError, match="must not be zero"):
        word_in_layers(SENTENCES, states() * np.arange(7)[:, None, None], "bank")


@pytest.mark.parametrize("seed", range(6))
def test_the_steps_end_at_the_sense_of_the_package(seed):
    vector = asked(seed)[1]
    figure = nearest_sense_steps(TEXTS[1], vector, senses(seed))
    (answer,) = package_answers(seed, vector[None])
    captions = figure.data["captions"]
    assert captions[-1] == f"The largest wins: {answer}." and repr(figure).endswith(f"Nearest: {answer}.")
    np.testing.assert_allclose(numbers(captions[3]), cosines(vector[None], seed)[0], atol=6e-4)


def test_the_steps_refuse_what_does_not_fit():
    vector, examples = asked(0)[0], senses(0)
    for wrong in ({**examples, "stamp": examples["stamp"][:, 1:]}, {**examples, "stamp": np.ones((41, 12))}):
        with pytest.raises(ValueError, match="1 to 40 examples"):
            nearest_sense_steps(TEXTS[0], vector, wrong)
    with pytest.raises(ValueError, match="two or three senses"):
        nearest_sense_steps(TEXTS[0], vector, {"stamp": examples["stamp"]})
    with pytest.raises(ValueError, match="zero vector"):
        nearest_sense_steps(TEXTS[0], 0 * vector, examples)


@pytest.mark.parametrize("width", WIDTHS)
def test_both_schematics_can_be_stepped_through_on_any_screen(shown, width):  # noqa: F811
    for figure in (word_in_layers(SENTENCES, states(), "bank"), nearest_sense_steps(TEXTS[0], asked(0)[0], senses(0))):
        tab, captions = shown(figure, width=width), figure.data["captions"]
        for number, caption in enumerate(captions, start=1):
            tab.get_by_role("button", name="next step").click()
            assert caption in tab.locator(".say").inner_text()
            assert tab.locator("[data-step].later").count() == len(captions) - number
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("seed", range(20))
def test_the_sector_of_a_vector_is_its_nearest_sense_in_all_dimensions(seed):
    vectors = np.random.default_rng(seed).normal(size=(50, 12)) + asked(seed)[0]
    means = to_unit(np.array([each.mean(axis=0) for each in senses(seed).values()]))
    corners, points = means @ plane_of(means), to_unit(vectors) @ plane_of(means)
    assert [NAMES[i] for i in (points @ corners.T).argmax(axis=1)] == package_answers(seed, vectors)
    for i, j, way in borders(corners):
        near = corners @ way
        assert near[i] == pytest.approx(near[j]) and near[i] > near[3 - i - j]


def moving(seed: int = 1) -> Figure:
    return explore_nearest_sense(TEXTS, asked(seed), senses(seed))


def test_the_words_say_the_cosines_and_the_nearest_sense_of_each_sentence():
    told = repr(moving())
    for text, row, answer in zip(TEXTS, cosines(asked(1), 1), package_answers(1, asked(1))):
        part = told.split(f"“{text}” ")[1].split(" “")[0]
        np.testing.assert_allclose(numbers(part), row, atol=6e-4)
        assert part.endswith(f": {answer}.")
    for wrong in (asked(1)[1:], asked(1)[0]):
        with pytest.raises(ValueError, match="one for each of 1 to 8 sentences"):
            explore_nearest_sense(TEXTS, wrong, senses(1))
    with pytest.raises(ValueError, match="zero vector"):
        explore_nearest_sense(TEXTS, 0 * asked(1), senses(1))
    with pytest.raises(ValueError, match="only three senses"):
        explore_nearest_sense(TEXTS, asked(1), {name: senses(1)[name] for name in NAMES[:2]})


@pytest.mark.parametrize("width", WIDTHS)
def test_a_chosen_sentence_shows_its_cosines(shown, width):  # noqa: F811
    tab = shown(moving(), width=width)
    for number, (text, row) in enumerate(zip(TEXTS, cosines(asked(1), 1)), start=1):
        tab.get_by_role("button", name=f"{number}. {text}").click()
        drawn = [numbers(cell)[0] for cell in tab.locator(".cosine").all_inner_texts()]
        np.testing.assert_allclose(drawn, row, atol=6e-4)
        assert tab.locator(".nearest").inner_text() == NAMES[row.argmax()]
        assert NAMES[row.argmax()] in tab.locator("tr.best").inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_sentence_that_is_dragged_or_moved_by_keys_gets_the_sense_that_is_nearest_there(shown):  # noqa: F811
    tab, vectors = shown(moving()), to_unit(asked(1))
    means = to_unit(np.array([each.mean(axis=0) for each in senses(1).values()]))
    axes = plane_of(means)
    corners = means @ axes
    everything = [np.zeros((1, 2)), corners, vectors @ axes, *(to_unit(each) @ axes for each in senses(1).values())]
    low, high = np.concatenate(everything).min(axis=0), np.concatenate(everything).max(axis=0)
    side = 1.16 * (high - low).max()
    corner = (low + high - side) / 2
    box = tab.locator("svg[role=group]").bounding_box()
    start = vectors[0] @ axes

    def pixel(point) -> tuple[float, float]:
        x, y = (point - corner) / side
        return box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"]

    def agrees(point, within: float) -> None:
        moved = vectors[0] + axes @ (point - start)
        expected = to_unit(moved) @ means.T
        drawn = [numbers(cell)[0] for cell in tab.locator(".cosine").all_inner_texts()]
        np.testing.assert_allclose(drawn, expected, atol=within)
        assert tab.locator(".nearest").inner_text() == NAMES[expected.argmax()]

    here = start
    for target in (0.9 * corners[1], 0.9 * corners[2], 0.9 * corners[0]):
        tab.mouse.move(*pixel(here))
        tab.mouse.down()
        tab.mouse.move(*pixel(target))
        tab.mouse.up()
        here = target
        agrees(target, 0.01)  # to a pixel
    tab.get_by_role("button", name="put it back").click()
    agrees(start, 6e-4)
    ring = tab.get_by_role("button", name="the sentence's place")
    for key in ("ArrowLeft", "ArrowUp", "ArrowUp"):
        ring.press(key)
    agrees(start + side / 50 * np.array([-1, 2]), 6e-4)
    assert "Moved" in tab.locator(".say").inner_text()

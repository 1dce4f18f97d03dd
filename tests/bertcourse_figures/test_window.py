"""word2vec's window: its pairs and their σ(u·v) are what torch computes, and the browser draws those of its centre."""

import numpy as np
import pytest
import torch

from bertcourse_figures.interactive import Figure
from bertcourse_figures.window import explore_window
from live_figures import WIDTHS, numbers

WORDS = "the young governess taught the two children".split()
VOCABULARY = sorted({*WORDS, "sea", "elm", "tea", "day"})
WINDOW, DRAWN = 3, 2


def negatives() -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.choice(VOCABULARY, (len(WORDS), 2 * WINDOW, DRAWN))


def tables() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    before, after = torch.randn(2, 2, len(VOCABULARY), 8, generator=generator)
    return {"untrained": (before[0], before[1]), "trained": (after[0], after[1])}


def figure(**change) -> Figure:
    given = {"tables": tables(), "vocabulary": VOCABULARY, "start": (2, 2)}
    return explore_window(WORDS, negatives(), **given | change)


def probability(name: str, centre: str, other: str) -> float:
    centres, contexts = tables()[name]
    return float(torch.sigmoid(contexts[VOCABULARY.index(other)] @ centres[VOCABULARY.index(centre)]))


def pairs(centre: int, window: int) -> list[int]:
    """Offsets of the neighbours, by the definition of a window."""
    return [other - centre for other in range(len(WORDS)) if other != centre and abs(other - centre) <= window]


def slot(offset: int) -> int:
    return offset + WINDOW if offset < 0 else offset + WINDOW - 1


def test_each_pair_inside_the_sentence_has_the_probabilities_that_torch_computes():
    data, drawn = figure().data, negatives()
    assert data["names"] == ["untrained", "trained"] and data["window"] == WINDOW
    for number, name in enumerate(data["names"]):
        given = np.array(data["probabilities"][number])
        assert given.shape == (len(WORDS), 2 * WINDOW, 1 + DRAWN)
        expected = np.zeros_like(given)
        for centre in range(len(WORDS)):
            for offset in pairs(centre, WINDOW):
                others = [WORDS[centre + offset], *drawn[centre, slot(offset)]]
                expected[centre, slot(offset)] = [probability(name, WORDS[centre], other) for other in others]
        np.testing.assert_allclose(given, expected, atol=6e-5)


def test_words_tell_the_pairs_of_the_first_centre():
    said = repr(figure())
    assert said.startswith("Window of 2 around “governess” in a sentence of 7 words: 4 pairs, each with 2 drawn words.")
    told, against = numbers(said.split("trained: ")[1].split(";")[0]), numbers(said.split("drawn against taught: ")[1])
    names = ("untrained", "trained")
    expected = [probability(name, "governess", word) for word in ("the", "young", "taught", "the") for name in names]
    assert told == pytest.approx(expected, abs=0.0051)
    drawn = [probability(name, "governess", word) for word in negatives()[2, slot(1)] for name in names]
    assert against == pytest.approx(drawn, abs=0.0051)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": (7, 2)}, "centre below 7 and a window of 1 to 3"),
        ({"start": (0, 4)}, "window of 1 to 3"),
        ({"vocabulary": VOCABULARY[1:]}, "in the vocabulary; got"),
        ({"tables": {"one": tables()["trained"]}}, "two states"),
        ({"tables": {"a": (torch.ones(3, 2), torch.ones(3, 2)), "b": tables()["trained"]}}, "row for each of 10 words"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        figure(**change)


def test_negatives_of_another_shape_are_refused():
    for shape in ((6, 6, 2), (7, 5, 2), (7, 12, 2)):
        with pytest.raises(ValueError, match=r"shape \(L, 2 W, k\) for 7 words"):
            explore_window(WORDS, np.full(shape, "sea"))
    with pytest.raises(ValueError, match="room for 2 to 24 words"):
        explore_window(WORDS, np.full((7, 2, 9), "sea"), start=(0, 1))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_window_moves_and_widens_and_a_pair_shows_what_was_drawn_against_it(shown, width):  # noqa: F811
    tab, drawn = shown(figure(), width=width), negatives()
    place, wide = (tab.get_by_role("slider", name=f"{name} of the window") for name in ("centre", "size"))

    def agrees(centre: int, window: int, offset: int) -> None:
        offsets = pairs(centre, window)
        near = tab.locator(".chip.near").all_inner_texts()
        assert near == [WORDS[centre + near] for near in offsets]
        assert tab.locator(".chip.centre").all_inner_texts() == [WORDS[centre]]
        others = [[WORDS[centre + other] for other in offsets], list(drawn[centre, slot(offset)])]
        for rows, names in zip(tab.locator(".rows").all(), others, strict=True):
            assert rows.locator(".word").all_inner_texts() == names
            expected = [[probability(state, WORDS[centre], name) for state in tables()] for name in names]
            written = [numbers(text) for text in rows.locator(".numbers").all_inner_texts()]
            np.testing.assert_allclose(written, expected, atol=0.0052)
            dots = [float(dot.get_attribute("cx")) for dot in rows.locator(".after").all()]
            np.testing.assert_allclose(dots, [8 + 184 * p for _, p in expected], atol=0.07)
        pressed = tab.locator('.pair[aria-pressed="true"] .word').all_inner_texts()
        assert pressed == [WORDS[centre + offset]]
        said, count = tab.locator(".say").inner_text(), len(offsets)
        assert f"“{WORDS[centre]}”: {count} pair" in said and f"{count * (1 + DRAWN)} examples" in said
        assert f"sentence has {sum(len(pairs(each, window)) for each in range(len(WORDS)))} pairs" in said
        mean = np.mean([probability("trained", WORDS[centre], word) for word in others[1]])
        assert numbers(said)[-1] == pytest.approx(mean, abs=0.0052)

    agrees(2, 2, 1)
    place.press("ArrowRight")
    agrees(3, 2, 1)
    wide.press("ArrowRight")  # an arrow on this slider widens the window, and does not move it
    agrees(3, 3, 1)
    tab.locator("button.pair").nth(0).press("Enter")
    agrees(3, 3, -3)
    place.press("Home")
    agrees(0, 3, 1)  # what was chosen lies outside now
    tab.get_by_role("button", name="children").click()
    agrees(6, 3, -1)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowLeft")
    agrees(5, 3, -1)
    wide.press("Home")
    agrees(5, 1, -1)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_tables_the_pairs_have_labels_and_no_numbers(shown):  # noqa: F811
    tab = shown(explore_window(WORDS, negatives(), start=(1, 1)))
    assert tab.locator(".numbers").all_inner_texts() == ["→ ←"] * 2 + ["← →"] * 2
    assert tab.locator(".say").inner_text().endswith("The whole sentence has 12 pairs.")

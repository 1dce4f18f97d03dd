"""The figures of tags: what they say is what the package computes, and the browser follows each change."""

import numpy as np
import pytest
import torch

from bertcourse.named_entities import entity_scores, invalid_steps, read_tags, steps, token_tags, viterbi
from bertcourse_figures.interactive import Figure
from bertcourse_figures.tags import explore_tags, explore_viterbi, show_subwords
from live_figures import WIDTHS, numbers

WORDS = "Hope Lindqvist flew from New York to Orange .".split()
THERE = "B-PER I-PER O O B-LOC I-LOC O B-GPE O".split()
FIRST_ONLY = ["O" if tag.startswith("I") else tag for tag in THERE]
LABELS = ["O", "B-ORG", "I-ORG"]
PLACES = ["at", "Amazon", "Web", "Services"]
SCORES = torch.tensor([[3.0, 0.2, 0.1], [1.6, 1.2, 0.4], [0.5, 0.2, 2.0], [0.9, 0.1, 1.8]])


def tags_figure() -> Figure:
    return explore_tags(
        WORDS, THERE, {"all O": ["O"] * len(WORDS), "first words": FIRST_ONLY, "right": THERE}, read_tags
    )


def viterbi_figure() -> Figure:
    start, step = steps(LABELS)
    return explore_viterbi(PLACES, LABELS, SCORES, start, step, best_of(SCORES))


def best_of(scores: torch.Tensor) -> list[int]:
    return viterbi(scores, *steps(LABELS))


def test_the_words_have_the_scores_of_each_attempt():
    said = repr(tags_figure())
    scores = entity_scores([THERE], [FIRST_ONLY])["all"]
    right = np.mean([a == b for a, b in zip(THERE, FIRST_ONLY)])
    assert f"first words: {round(9 * right)} of 9 words right ({100 * right:.0f} %)" in said
    assert f"1 entities right, {scores.found} found, {scores.gold} there, F1 {100 * scores.f1:.0f} %" in said
    assert "all O: 4 of 9 words right (44 %), 0 entities right, 0 found, 3 there, F1 0 %" in said


def test_tags_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="a tag for each"):
        explore_tags(WORDS, THERE, {"short": ["O"]}, read_tags)
    with pytest.raises(ValueError, match="must have an entity"):
        explore_tags(["a"], ["O"], {"all O": ["O"]}, read_tags)
    with pytest.raises(ValueError, match="1 to 24 words"):
        explore_tags(["a"] * 30, ["B-X"] * 30, {"x": ["O"] * 30}, read_tags)


@pytest.mark.parametrize("width", WIDTHS)
def test_changing_a_tag_changes_both_scores(shown, width):  # noqa: F811
    tab = shown(tags_figure(), width=width)
    found = ["O"] * len(WORDS)
    generator = np.random.default_rng(0)
    choices = tab.locator("select").first.locator("option").all_inner_texts()
    assert choices == ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-GPE", "I-GPE"]

    def agrees() -> None:
        scores = entity_scores([THERE], [found])["all"]
        same = sum(a == b for a, b in zip(THERE, found))
        counts = [scores.correct, scores.found, scores.gold]
        accuracy, f1 = (numbers(text)[0] for text in tab.locator(".share").all_inner_texts())
        assert (accuracy, f1) == (round(100 * same / len(WORDS)), round(100 * scores.f1))
        made = tab.locator(".meter span:last-child").all_inner_texts()
        assert numbers(made[0]) == [same, len(WORDS)] and numbers(made[1]) == counts
        assert tab.locator(".wrong").count() == len(WORDS) - same
        assert tab.locator(".lists div").nth(1).locator(".chip").count() == scores.found

    agrees()
    for _ in range(25):
        place, tag = int(generator.integers(len(WORDS))), str(generator.choice(choices))
        tab.locator("select").nth(place).select_option(tag)
        found[place] = tag
        agrees()
    tab.get_by_role("button", name="first words").click()
    found = FIRST_ONLY
    agrees()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_subwords_are_stepped_through_from_words_to_the_way_back():
    words, tags = ["Mt.", "Sanitas", "is"], ["B-LOC", "I-LOC", "O"]
    tokens, word_ids = ["[CLS]", "mt", ".", "san", "##itas", "is", "[SEP]"], [None, 0, 0, 1, 1, 2, None]
    copied = [None if word is None else tags[word] for word in word_ids]
    first = [tag if word != before else None for tag, word, before in zip(copied, word_ids, [None, *word_ids])]
    rules = {"first": first, "all": token_tags(word_ids, tags), "copy": copied}
    figure = show_subwords(words, tags, tokens, word_ids, rules)
    assert "first: - B-LOC - I-LOC - O -; all: - B-LOC I-LOC I-LOC I-LOC O -" in repr(figure)
    captions = figure.data["captions"]
    assert len(captions) == 2 + len(rules) + 1
    assert [caption.split(" tokens")[0] for caption in captions[2:5]] == ["first: 3", "all: 5", "copy: 5"]
    with pytest.raises(ValueError, match="2 words, 3 tags"):
        show_subwords(words[:2], tags, tokens, word_ids, rules)
    with pytest.raises(ValueError, match="room for 1 to 8 words"):
        show_subwords(["a"] * 9, ["O"] * 9, ["a"] * 9, list(range(9)), {"first": ["O"] * 9})


@pytest.mark.parametrize("width", WIDTHS)
def test_the_steps_of_subwords_are_shown_on_any_screen(shown, width):  # noqa: F811
    words, tags = ["Mt.", "Sanitas"], ["B-LOC", "I-LOC"]
    rules = {"first": [None, "B-LOC", None, "I-LOC", None, None]}
    tab = shown(
        show_subwords(words, tags, ["[CLS]", "mt", ".", "san", "##itas", "[SEP]"], [None, 0, 0, 1, 1, None], rules),
        width=width,
    )
    for number in range(1, 5):
        tab.get_by_role("button", name="next step").click()
        assert tab.locator("[data-step].later").count() == 4 - number
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_words_have_both_paths():
    said = repr(viterbi_figure())
    assert "Word by word: O O I-ORG I-ORG, 8.4, not valid at Web." in said
    assert "Best valid: O B-ORG I-ORG I-ORG, 8.0." in said


def test_paths_and_shapes_that_do_not_fit_are_refused():
    start, step = steps(LABELS)
    with pytest.raises(ValueError, match="each allowed after the one before"):
        explore_viterbi(PLACES, LABELS, SCORES, start, step, [0, 0, 2, 2])
    with pytest.raises(ValueError, match="must have the shapes"):
        explore_viterbi(PLACES, LABELS, SCORES[:3], start, step, [0, 0, 0, 0])
    with pytest.raises(ValueError, match="2 to 8 words"):
        explore_viterbi(PLACES[:1], LABELS, SCORES[:1], start, step, [0])
    with pytest.raises(ValueError, match="minus infinity elsewhere"):
        explore_viterbi(PLACES, LABELS, SCORES, start, step + 0.5, [0, 0, 0, 0])


@pytest.mark.parametrize("width", WIDTHS)
def test_changing_a_score_changes_both_paths(shown, width):  # noqa: F811
    tab = shown(viterbi_figure(), width=width)
    scores = SCORES.clone().double()
    generator = np.random.default_rng(1)

    def classes(kind: str) -> list[int]:
        found = tab.locator(".node").evaluate_all("nodes => nodes.map(node => node.getAttribute('class'))")
        rows = np.array([kind in each.split() for each in found]).reshape(len(PLACES), len(LABELS))
        assert (rows.sum(axis=1) == 1).all()
        return rows.argmax(axis=1).tolist()

    def agrees() -> None:
        by_word, best = scores.argmax(dim=1).tolist(), best_of(scores)
        assert classes("greedy") == by_word and classes("valid") == best
        is_valid = not invalid_steps([LABELS[tag] for tag in by_word])
        assert ("not valid" in tab.locator(".say").inner_text()) == (not is_valid)
        assert tab.locator(".broken").count() <= (not is_valid)
        said = tab.locator(".say .best").inner_text()
        assert said.split(" = ")[0].split() == [LABELS[tag] for tag in best]
        assert numbers(said.split(" = ")[1])[0] == pytest.approx(
            scores[range(len(PLACES)), best].sum().item(), abs=0.051
        )

    agrees()
    for _ in range(20):
        place, label = int(generator.integers(len(PLACES))), int(generator.integers(len(LABELS)))
        tab.locator(".node").nth(place * len(LABELS) + label).click()
        slider = tab.locator("input[type=range]")
        tenths = int(generator.integers(-10, 40)) + 0.0
        while round(tenths / 10, 1) in scores[place].tolist():  # no ties
            tenths += 1
        slider.evaluate("(node, to) => { node.value = to; node.dispatchEvent(new Event('input')); }", tenths)
        scores[place, label] = round(float(slider.input_value()) / 10, 1)
        agrees()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_sums_are_those_of_the_best_paths_and_reset_brings_the_scores_back(shown):  # noqa: F811
    tab = shown(viterbi_figure())
    tab.get_by_role("button", name="show sums").click()
    labels = tab.locator(".node").evaluate_all("nodes => nodes.map(node => node.getAttribute('aria-label'))")
    start, step = steps(LABELS)
    best = SCORES[0] + start
    for place, row in enumerate(SCORES):
        best = best if place == 0 else (best[:, None] + step).max(dim=0).values + row
        for label in range(len(LABELS)):
            said = labels[place * len(LABELS) + label]
            told = "no path" if best[label].isinf() else f"Σ {best[label]:.1f}"
            assert said.endswith(told)
    assert tab.locator(".from").count() == 3 + 3 + 3
    node = tab.locator(".node").nth(4)
    node.focus()
    tab.keyboard.press("Enter")
    for _ in range(6):
        tab.locator("input[type=range]").press("ArrowRight")
    assert "which is valid" in tab.locator(".say").inner_text()
    tab.get_by_role("button", name="start again").click()
    assert "not valid: I-ORG after O" in tab.locator(".say").inner_text()

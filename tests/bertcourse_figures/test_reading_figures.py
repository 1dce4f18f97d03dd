"""The figures of a reader: what they say is what torch and the package compute, and the browser follows each choice."""

import numpy as np
import pytest
import torch

from bertcourse.question_answering import best_span
from bertcourse_figures.interactive import Figure
from bertcourse_figures.reading import explore_margin, explore_question, show_pointing, span_steps
from live_figures import WIDTHS, numbers

TOKENS = "for eleven shillings of rope and trouble".split()
QUESTION, CONTEXT = "What was sold ?".split(), "It is six wheels, he says."
PLACES = [(0, 2), (3, 5), (6, 9), (10, 16), (16, 17), (18, 20), (21, 25), (25, 26)]


def scores(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(len(TOKENS), generator=generator), torch.randn(len(TOKENS), generator=generator)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("longest", [1, 3, 7])
def test_the_last_step_is_the_best_span_of_the_package(seed, longest):
    start, end = scores(seed)
    score, first, last = best_span(torch.stack([start, end], dim=1), [True] * len(TOKENS), longest)
    caption = span_steps(TOKENS, start, end, longest).data["captions"][-1]
    assert repr(" ".join(TOKENS[first : last + 1])) in caption
    assert numbers(caption)[-1] == pytest.approx(float(score), abs=0.051)


def test_the_steps_count_the_cells_that_go():
    captions = span_steps(TOKENS, *scores(0), longest=3).data["captions"]
    assert len(captions) == 6
    assert f"ends before it begins: {7 * 6 // 2} cells" in captions[3] and "3 tokens: 10 more" in captions[4]
    with pytest.raises(ValueError, match="room for 2 to 10 tokens"):
        span_steps(TOKENS, *(each[:3] for each in scores(0)), longest=3)


@pytest.mark.parametrize("width", WIDTHS)
def test_steps_of_spans_fit_on_any_screen(shown, width):  # noqa: F811
    tab = shown(span_steps(TOKENS, *scores(0), longest=3), width=width)
    tab.get_by_role("button", name="step 4").click()
    assert tab.locator("[data-step].later").count() == 2
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


ROW = "[CLS] Who sells ? [SEP] six wheels , he says [SEP]".split()


def pointing(right: tuple[int, int] = (8, 8), seed: int = 0) -> tuple[Figure, torch.Tensor]:
    logits = torch.randn(len(ROW), 2, generator=torch.Generator().manual_seed(seed))
    span = best_span(logits, [5 <= i < 10 for i in range(len(ROW))])[1:]
    return show_pointing(ROW, [0] * 5 + [1] * 6, *logits.unbind(1), span, right), logits


@pytest.mark.parametrize("seed", range(4))
def test_pointing_says_the_sums_of_the_answer_and_of_the_right_one(seed):
    figure, logits = pointing(seed=seed)
    captions = figure.data["captions"]
    assert "row of 11 tokens: the first 5 are the question" in captions[0] and "other 6" in captions[1]
    for caption, scores in zip(captions[2:4], logits.unbind(1)):
        assert f"{ROW[scores.argmax()]!r}, number {scores.argmax()}." in caption
    score, first, last = best_span(logits, [5 <= i < 10 for i in range(len(ROW))])
    assert " ".join(ROW[first : last + 1]) in captions[4]
    told = captions[4].split(" The right answer: ")
    assert numbers(told[0])[-1] == pytest.approx(score, abs=0.051)
    assert len(told) == 1 + ((first, last) != (8, 8))
    assert "right answer" not in repr(pointing((first, last), seed)[0])
    with pytest.raises(ValueError, match="needs a segment and two scores"):
        show_pointing(ROW, [0], *logits.unbind(1), (5, 5), (5, 5))


@pytest.mark.parametrize("width", WIDTHS)
def test_pointing_fits_on_any_screen(shown, width):  # noqa: F811
    tab = shown(pointing()[0], width=width)
    tab.get_by_role("button", name="step 3").click()
    assert tab.locator("[data-step].later").count() == 2
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def question_figure() -> tuple[Figure, np.ndarray]:
    generator = torch.Generator().manual_seed(3)
    shape = (len(QUESTION) + 1, 2, len(PLACES))
    probabilities = (2 * torch.randn(shape, generator=generator)).softmax(dim=-1).numpy()
    return explore_question(QUESTION, CONTEXT, PLACES, probabilities, answer=(6, 9)), probabilities


def span_of(probabilities: np.ndarray) -> tuple[int, int]:
    return best_span(torch.tensor(probabilities.T.copy()).log(), [True] * len(PLACES))[1:]


def answer_of(probabilities: np.ndarray) -> str:
    first, last = span_of(probabilities)
    return CONTEXT[PLACES[first][0] : PLACES[last][1]]


def test_the_words_say_which_words_change_the_answer():
    figure, probabilities = question_figure()
    answers = [answer_of(each) for each in probabilities]
    said = repr(figure)
    assert f"Whole question: {answers[0]};" in said
    for word, answer in zip(QUESTION, answers[1:]):
        assert (f"without {word}: {answer}" in said) == (answer != answers[0])
    with pytest.raises(ValueError, match=r"shape \(5, 2, 8\)"):
        explore_question(QUESTION, CONTEXT, PLACES, probabilities[1:], (6, 9))


@pytest.mark.parametrize("width", WIDTHS)
def test_leaving_out_a_word_shows_what_the_reader_then_answers(shown, width):  # noqa: F811
    figure, probabilities = question_figure()
    tab = shown(figure, width=width)

    def agrees(number: int) -> None:
        answer, (first, last) = answer_of(probabilities[number]), span_of(probabilities[number])
        assert tab.locator(".say .answer").inner_text() == answer
        told = tab.locator(".say").inner_text().split(f"{answer}, start", 1)[1]
        shares = probabilities[number][[0, 1], [first, last]]
        np.testing.assert_allclose(numbers(told)[:2], shares, atol=0.006)
        framed = "".join(tab.locator(".part.found").all_text_contents())
        assert framed == answer.replace(" ", "")
        titles = tab.locator(".part[title]").evaluate_all("parts => parts.map(part => part.title)")
        drawn = [numbers(title) for title in titles]
        np.testing.assert_allclose(drawn, probabilities[number].T, atol=0.006)

    agrees(0)
    for number, word in enumerate(QUESTION, start=1):
        tab.get_by_role("button", name=f"leave out {word}").click()
        agrees(number)
        assert f"Without “{word}”" in tab.locator(".say").inner_text()
    tab.get_by_role("button", name=f"leave out {QUESTION[-1]}").press("Enter")
    agrees(0)
    assert tab.locator(".marked").all_text_contents() == ["six"]
    assert "".join(tab.locator(".part").all_text_contents()) == CONTEXT
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def margins() -> tuple[dict[str, np.ndarray], np.ndarray]:
    generator = np.random.default_rng(0)
    groups = {"with an answer": generator.normal(-2, 3, 60), "bait": generator.normal(-1, 3, 20)}
    groups["a stranger's"] = generator.normal(5, 2, 30)
    return groups, generator.uniform(size=60)


def test_the_words_say_who_is_refused_and_what_is_left():
    groups, f1 = margins()
    said = repr(explore_margin(groups, f1, start=1.0))
    assert said.startswith("Margin 1.0, refused:")
    for name, values in groups.items():
        assert f"{name} {100 * (values > 1).mean():.0f} %" in said
    left = 100 * (f1 * (groups["with an answer"] <= 1)).mean()
    assert f"F1 of with an answer: {left:.0f} %, of {100 * f1.mean():.0f} % without silence" in said
    with pytest.raises(ValueError, match="a mark for each question of the first"):
        explore_margin(groups, f1[1:])
    with pytest.raises(ValueError, match="room for 2 to 4 groups"):
        explore_margin({"with an answer": f1}, f1)


@pytest.mark.parametrize("width", WIDTHS)
def test_moving_the_margin_refuses_questions(shown, width):  # noqa: F811
    groups, f1 = margins()
    tab = shown(explore_margin(groups, f1), width=width)
    first = groups["with an answer"]
    for tenths in (0, -45, 12, 73):
        slider = tab.get_by_role("slider")
        slider.evaluate("(node, to) => { node.value = to; node.dispatchEvent(new Event('input')); }", tenths)
        told = tab.locator(".refused").all_inner_texts()
        rounded = [np.round(values, 2) for values in groups.values()]
        expected = [((values > tenths / 10).sum(), len(values)) for values in rounded]
        assert [tuple(numbers(text)[:2]) for text in told] == expected
        left = 100 * (f1 * (np.round(first, 2) <= tenths / 10)).mean()
        assert numbers(tab.locator(".kept").first.inner_text())[0] == pytest.approx(left, abs=0.6)
        strong = tab.locator("circle").evaluate_all(
            "dots => dots.filter(d => d.getAttribute('fill-opacity') > 0.5).length"
        )
        assert strong == sum(refused for refused, _ in expected)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")

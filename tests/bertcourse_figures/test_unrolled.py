"""The unrolled network shows the states and the guesses that it is given, in both forms."""

import re
from xml.etree import ElementTree

import pytest
import torch

from bertcourse_figures.interactive import Figure
from bertcourse_figures.unrolled import in_percent, show_recurrence

SVG = "{http://www.w3.org/2000/svg}"
WORDS = "the young governess taught".split()


def network(length: int = 4) -> dict:
    """A network of torch reads words; its states, and its three best guesses after each."""
    rnn, head = torch.nn.RNN(6, 5, batch_first=True), torch.nn.Linear(5, 30)
    vectors = torch.randn(length, 6)
    with torch.no_grad():
        states = torch.cat([torch.zeros(1, 5), rnn(vectors[None])[0][0]])
        best = torch.softmax(head(states[1:]), dim=-1).topk(3)
    outputs = [[(f"w{i}", p) for i, p in zip(*pair)] for pair in zip(best.indices.tolist(), best.values.tolist())]
    return {"words": WORDS[:length], "vectors": vectors, "states": states, "outputs": outputs}


def drawn(figure: Figure, narrow: bool, step: int) -> ElementTree.Element:
    drawing = ElementTree.fromstring((figure.still.narrow if narrow else figure.still).svg())
    return next(group for group in drawing.iter(SVG + "g") if group.get("data-step") == str(step))


def texts(group: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()).replace("\u200b", "") for text in group.iter(SVG + "text")]


@pytest.mark.parametrize("narrow", [False, True])
def test_each_word_has_its_step_with_its_guesses(narrow):
    given = network()
    figure = show_recurrence(**given)
    assert len(figure.still.captions) == 7  # before, the first word and its guess, three words, the way back
    for t, step in ((1, 3), (2, 4), (3, 5), (4, 6)):
        written = texts(drawn(figure, narrow, step))
        assert [text for text in written if "%" in text] == [in_percent(*guess) for guess in given["outputs"][t - 1]]
        assert given["outputs"][t - 1][0][0] in figure.still.captions[step - 1]
        assert WORDS[t - 1] in texts(drawn(figure, narrow, 2 if t == 1 else step))


@pytest.mark.parametrize("narrow", [False, True])
def test_a_strip_has_the_signs_and_sizes_of_its_state(narrow):
    states = torch.tensor([[0.0, 0.0], [0.5, -1.0], [1.0, 0.0]])
    figure = show_recurrence(["a", "b"], torch.ones(2, 1), states, [[("x", 0.5)]] * 2)
    assert "var(--plus" not in ElementTree.tostring(drawn(figure, narrow, 1)).decode()  # h₀ is zero
    for step, is_second_below in ((2, True), (4, False)):
        strips = [group for group in drawn(figure, narrow, step).iter(SVG + "g") if group.get("transform")]
        cells = {path.get("d"): path.get("stroke") for path in strips[-1].iter(SVG + "path")}
        across = [f"M{i} 0h1" if narrow else f"M0 {i}h1" for i in range(2)]
        assert "--plus" in cells[across[0]]
        assert ("--minus" in cells.get(across[1], "")) == is_second_below


def test_words_tell_states_and_guesses_of_all_steps():
    given = network(3)
    said = repr(show_recurrence(**given))
    for t, word in enumerate(given["words"], start=1):
        numbers = [float(n.replace("−", "-")) for n in re.findall(r"[−\d.]+\.\d\d", said.split("; ")[t - 1])]
        assert numbers[:3] == pytest.approx(given["states"][t][:3].tolist(), abs=0.0051)
        assert f"{word} → h" in said and in_percent(*given["outputs"][t - 1][2]) in said


@pytest.mark.parametrize("length", [2, 3, 4])
def test_both_forms_have_the_same_steps_and_stay_inside(length):
    figure = show_recurrence(**network(length))
    assert figure.still.captions == figure.still.narrow.captions
    for drawing in (figure.still, figure.still.narrow):
        for x, y in re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"', drawing.svg()):
            assert 0 <= float(x) <= drawing.width and 0 <= float(y) <= drawing.height


def test_what_does_not_fit_is_refused():
    given = network()
    for change in (
        {"states": given["states"][1:]},
        {"vectors": given["vectors"][:3]},
        {"outputs": given["outputs"][:3]},
    ):
        with pytest.raises(ValueError, match=r"states \(L \+ 1, D\)"):
            show_recurrence(**given | change)
    with pytest.raises(ValueError, match="for 2 to 4 words"):
        show_recurrence(["a"] * 5, torch.ones(5, 2), torch.ones(6, 2), [[("x", 0.5)]] * 5)
    with pytest.raises(ValueError, match="probabilities of 0 to 1"):
        show_recurrence(**given | {"outputs": [[("x", -1.2)]] * 4})

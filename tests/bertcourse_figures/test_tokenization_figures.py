"""The figures of lecture 3: their data are what the tokenizers compute, and in a browser they read as Python reads."""

import re
from collections import Counter

import pytest

from bertcourse.tokenization import BPETokenizer, best_path, count_pairs, lattice, learn_merges, merge, train_bpe
from bertcourse_figures.bpe import explore_bpe
from bertcourse_figures.interactive import Figure
from bertcourse_figures.lattices import explore_lattice, lanes
from bertcourse_figures.tokens import show_tokens
from live_figures import PAGES, WIDTHS, last_numbers, numbers

TEXT = "low low low lower newest newest widest"
WORDS = dict(Counter("▁" + word for word in TEXT.split()).most_common())
MERGES = learn_merges(WORDS, 12)
MERGES_OF_READER = train_bpe(Counter("▁" + word for word in "naïve naïve naïf 🐳🐳 🐳🐳🐳 aaaa aaaaa".split()), 9)
LOG_PROBS = {"c": -4.0, "a": -3.5, "t": -3.0, "s": -2.5, "ca": -5.0, "cat": -8.0, "ts": -4.75, "at": -6.125}
EDGES = [edge for edges in lattice("cats", LOG_PROBS) for edge in edges]
BEST_PATH, BEST = best_path(lattice("cats", LOG_PROBS))
PATHS = {"most probable": [edge.token for edge in BEST_PATH], "longest first": ["cat", "s"]}


def readings(merges, text: str, stops, alphabet: str = "") -> dict[int, list[str]]:
    return {number: BPETokenizer(merges[:number], alphabet).tokenize(text) for number in stops}


def stepper(**changes) -> Figure:
    spelling, steps = {word: list(word) for word in WORDS}, []
    for pair in [*MERGES, ()]:
        steps.append((spelling, count_pairs(spelling, WORDS)))
        spelling = {word: merge(symbols, pair) for word, symbols in spelling.items()}
    read = readings(MERGES, TEXT, range(13), "".join(WORDS))
    return explore_bpe(
        **{"merges": MERGES, "text": TEXT, "readings": read, "word_counts": WORDS, "steps": steps} | changes
    )


def reader() -> Figure:
    """Merges without their training text, over letters of two and four bytes, and a stop that is none of the ends."""
    text = "naïve 🐳🐳🐳🐳"
    letters = "xyz" + "".join(part for pair in MERGES_OF_READER for part in pair)
    return explore_bpe(MERGES_OF_READER, text, readings(MERGES_OF_READER, text, [0, 3, 9], letters), alphabet="xyz")


def cats(start: str = "") -> Figure:
    return explore_lattice("cats", EDGES, BEST, PATHS, start)


def everything() -> list[Figure]:
    return [stepper(), reader(), cats(), rows()]


def rows() -> Figure:
    return show_tokens({"one": ["▁a", "b", "##c", "#"], "other": ["<b>", "東"] * 40}, {"": ["one"], "long": ["other"]})


def test_the_stepper_is_given_spellings_and_counts_of_each_step():
    data = stepper().data
    assert [tuple(line.split()) for line in data["merges"].split("\n")] == MERGES
    corpus = data["corpus"]
    assert corpus["counts"] == [3, 2, 1, 1] and len(corpus["spellings"]) == len(corpus["pairs"]) == 13
    assert corpus["spellings"][0][0] == list("▁low") and corpus["spellings"][3][0] == ["▁low"]
    for number, pair in enumerate(MERGES):
        left, right, count = corpus["pairs"][number][0]
        assert (left, right) == pair and count == max(c for _, _, c in corpus["pairs"][number])
    assert "tokens after 12 merges" in repr(stepper()) and "l+o (4)" in repr(stepper())


@pytest.mark.parametrize(
    ("change", "message"),
    [({"merges": [("l o", "w")], "word_counts": None}, "without white space"), ({"start": 99}, "start must be one of")],
)
def test_merges_that_cannot_be_shown_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        stepper(**change)


def test_a_lattice_is_given_its_edges_its_best_sums_and_two_paths():
    data = cats("longest first").data
    assert len(data["edges"]) == len(data["scores"]) == len(data["lanes"]) == len(EDGES)
    assert {name: [data["edges"][edge][2] for edge in path] for name, path in data["paths"]} == PATHS
    assert data["best"] == BEST and data["start"] == 2
    assert "longest first: cat s −10.50" in repr(cats())
    with pytest.raises(ValueError, match="1 to 16 characters"):
        explore_lattice("cats" * 5, EDGES, BEST, PATHS)
    with pytest.raises(ValueError, match="made of edges"):
        explore_lattice("cats", EDGES, BEST, {"none": ["cat", "ts"]})


def test_no_two_edges_of_a_lattice_overlap():
    for one, high in zip(EDGES, lanes(EDGES)):
        for other, height in zip(EDGES, lanes(EDGES)):
            assert one is other or high != height or one.end <= other.start or other.end <= one.start


def test_tokens_stand_in_rows_with_their_number():
    assert repr(rows()).startswith("Tokens in rows, each with its number of them. one: 4 ▁a·b·##c·#; long, other: 80")
    with pytest.raises(ValueError, match="at least one row"):
        show_tokens({})
    with pytest.raises(ValueError, match="groups must name rows"):
        show_tokens({"one": ["a"]}, {"": ["two"]})


def drawn_tokens(tab) -> list[str]:
    return tab.locator(".reading .chip").all_text_contents()


def test_merges_go_forwards_and_backwards_by_button_key_and_slider(shown):  # noqa: F811
    tab = shown(stepper())
    data, slider = stepper().data["corpus"], tab.get_by_role("slider", name="number of merges")
    keys = [("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", 12)]
    for move, place in [(None, 0), ("next step", 1), *keys, ("previous step", 11), ("Home", 0)]:
        if move in ("Home", "End"):
            slider.press(move)
        elif move and move.startswith("Arrow"):
            tab.get_by_role("button", name="next step").press(move)
        elif move:
            tab.get_by_role("button", name=move).click()
        assert slider.get_attribute("aria-valuetext") == f"{place} merge{'s' * (place != 1)}"
        spelled = [row.locator(".chip").all_text_contents() for row in tab.locator(".row").all()]
        assert spelled == data["spellings"][place]
        assert last_numbers(tab, ".pair .count") == [count for _, _, count in data["pairs"][place]]
        letters = sorted(set("".join(WORDS)))
        made = [left + right for left, right in MERGES[:place]]
        assert tab.locator(".vocabulary .chip").all_text_contents() == letters + made
        assert drawn_tokens(tab) == BPETokenizer(MERGES[:place], letters).tokenize(TEXT)
        if place:
            assert f"Merge {place}: {' + '.join(MERGES[place - 1])}" in tab.locator(".say").inner_text()


@pytest.mark.parametrize("figure", [stepper, reader])
def test_what_is_typed_is_read_as_python_reads_it(shown, figure):  # noqa: F811
    made = figure()
    tab, data = shown(made), made.data
    merges = [tuple(line.split(" ")) for line in data["merges"].split("\n")]
    field, slider = tab.get_by_role("textbox"), tab.get_by_role("slider")
    texts = ["lowest newer  wild", "aaaaaaa naïve 🐳 🐳🐳🐳", "xlow ☠ f", "▁low ▁▁", "", " ▁aa\taa "]
    for key in ("Home", "ArrowRight", "End"):
        slider.press(key)
        number = data["stops"][int(slider.input_value())]
        tokenizer = BPETokenizer(merges[:number], data["alphabet"])
        for text in texts:
            field.fill(text)
            assert drawn_tokens(tab) == tokenizer.tokenize(text)
            assert numbers(tab.locator(".account").inner_text())[0] == len(tokenizer.tokenize(text))
    field.press("ArrowLeft")  # moves in the text, not through the merges
    field.press("f")
    assert data["stops"][int(slider.input_value())] == len(merges)
    assert tab.evaluate("document.fullscreenElement === null")


def test_merges_say_what_they_make_of_the_text_in_the_box(shown):  # noqa: F811
    tab = shown(reader())
    say, slider = tab.locator(".say"), tab.get_by_role("slider")
    assert slider.input_value() == "0" and "0 merges: 11 tokens." in say.inner_text()
    tab.get_by_role("button", name="next step").click()
    before, after = (data for number, data in readings(MERGES_OF_READER, "naïve 🐳🐳🐳🐳", (0, 3), "xyz").items())
    assert f"3 merges: {len(after)} tokens, {len(before) - len(after)} fewer than after 0 merges." in say.inner_text()
    assert tab.locator(".reading .chip.new").all_text_contents() == [token for token in after if token not in before]
    tab.get_by_role("textbox").fill("xyz")
    assert "Nothing new in this text." in say.inner_text()


def test_tokens_are_text_of_the_page(shown):  # noqa: F811
    tab = shown(rows())
    drawn = [row.locator(".piece").all_text_contents() for row in tab.locator(".cut").all()]
    assert drawn == [["▁a", "b", "##c", "#"], ["<b>", "東"] * 40]
    assert tab.locator(".number").all_text_contents() == ["4", "80"]
    assert tab.locator(".mark").all_text_contents().count("##") == 1


def test_a_lattice_is_walked_by_click_and_key(shown):  # noqa: F811
    tab = shown(cats())
    say = tab.locator(".say")

    def edge(token: str):
        return tab.get_by_role("button", name=re.compile(f"^{token},"))

    assert not tab.locator("text.best").first.is_visible()
    edge("s").click()
    assert "No path leads to the node where s begins yet." in say.inner_text()
    edge("ca").focus()
    tab.keyboard.press("Enter")
    edge("ts").click()
    assert "ca (−5.00) + ts (−4.75) = −9.75" in say.inner_text() and "most probable segmentation" in say.inner_text()
    edge("cat").click()  # from the first node on, another path
    assert say.inner_text() == "cat (−8.00) = −8.00."
    tab.get_by_role("button", name="show sums").click()
    assert "cat (−8.00) = −8.00; no path to this node is better." in say.inner_text()
    assert tab.locator("text.best").first.is_visible()
    bests = [numbers(text)[0] for text in tab.locator("text.best").all_text_contents()]
    assert bests == [round(best, 1) + 0 for best in BEST]
    tab.keyboard.press("s")
    assert not tab.locator("text.best").first.is_visible()
    for name, tokens in PATHS.items():
        tab.get_by_role("button", name=name).click()
        total = sum(LOG_PROBS[token] for token in tokens)
        assert f"= {total:.2f}".replace("-", "−") in say.inner_text()
        assert tab.locator(".edge.taken").count() == len(tokens)
    tab.get_by_role("button", name="longest first").click()
    assert "The best is 2.12 times as probable." in say.inner_text()  # exp(10.50 − 9.75)
    tab.keyboard.press("Backspace")
    assert "cat (−8.00) = −8.00" in say.inner_text()
    tab.get_by_role("button", name="start again").click()
    assert tab.locator(".edge.taken").count() == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(shown, width):  # noqa: F811
    figures = [*everything(), explore_bpe([("a", "b")], "ab" * 70, readings([("a", "b")], "ab" * 70, [0, 1]))]
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("page, ink", PAGES)
def test_text_takes_the_colour_of_the_page(shown, page, ink):  # noqa: F811
    tab = shown(*everything(), style=f"body {{ background: {page}; color: {ink} }}")
    colors = "(node) => getComputedStyle(node).color"
    assert {chip.evaluate(colors) for chip in tab.locator(".chip:not(.unknown)").all()} == {ink}
    assert tab.get_by_role("textbox").first.evaluate(colors) == ink

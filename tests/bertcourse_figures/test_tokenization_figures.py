"""The figures of lecture 3: their data are what the tokenizers compute, and in a browser they read as Python reads."""

import re
from collections import Counter

import pytest

from bertcourse.tokenization import BPETokenizer, Lattice, WordPieceTokenizer, train_bpe
from bertcourse_figures.bpe import explore_bpe
from bertcourse_figures.interactive import Figure
from bertcourse_figures.lattices import explore_lattice, lanes, longest_first, longest_matches, trie_walk
from bertcourse_figures.tokens import show_tokens
from live_figures import NARROW, WIDE, last_numbers, numbers

TEXT = "low low low lower newest newest widest"
WORDS = Counter("_" + word for word in TEXT.split())
MERGES = train_bpe(WORDS, 12, tie="first")
MERGES_OF_READER = train_bpe(Counter("▁" + word for word in "naïve naïve naïf 🐳🐳 🐳🐳🐳 aaaa aaaaa".split()), 9)
LOG_PROBS = {"c": -4.0, "a": -3.5, "t": -3.0, "s": -2.5, "ca": -5.0, "cat": -8.0, "ts": -4.75, "at": -6.125}


def stepper() -> Figure:
    return explore_bpe(MERGES, TEXT, WORDS, marker="_")


def reader() -> Figure:
    """Merges without their training text, over letters of two and four bytes, and a stop that is none of the ends."""
    return explore_bpe(MERGES_OF_READER, "naïve 🐳🐳🐳🐳", stops=[0, 3, 9], alphabet="xyz")


def lattice() -> Lattice:
    return Lattice("cats", LOG_PROBS)


def everything() -> list[Figure]:
    trie = trie_walk("unfit", ["un", "unfair", "##f", "##fit"])
    return [stepper(), reader(), trie, explore_lattice(lattice()), rows()]


def rows() -> Figure:
    return show_tokens({"one": ["▁a", "b", "##c", "#"], "other": ["<b>", "東"] * 40}, {"": ["one"], "long": ["other"]})


def test_the_stepper_is_given_spellings_and_counts_of_each_step():
    data = stepper().data
    assert [tuple(line.split()) for line in data["merges"].split("\n")] == MERGES
    corpus = data["corpus"]
    assert corpus["counts"] == [3, 2, 1, 1] and len(corpus["spellings"]) == len(corpus["pairs"]) == 13
    assert corpus["spellings"][0][0] == list("_low") and corpus["spellings"][3][0] == ["_low"]
    for number, pair in enumerate(MERGES):
        left, right, count = corpus["pairs"][number][0]
        assert (left, right) == pair and count == max(c for _, _, c in corpus["pairs"][number])
    assert "tokens after 12 merges" in repr(stepper()) and "_+l (4)" in repr(stepper())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"merges": [("w", "e")]}, "must be the most frequent pair"),
        ({"merges": [("l o", "w")], "word_counts": None}, "without white space"),
        ({"stops": [0, 5, 3]}, "rise from 0"),
        ({"stops": [0, 99]}, "at most 12 merges"),
        ({"stops": [0, 12]}, "a stop at each"),
        ({"word_counts": {str(number): 1 for number in range(13)}}, "12 words"),
    ],
)
def test_merges_that_do_not_belong_to_the_words_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        explore_bpe(**{"merges": MERGES, "text": TEXT, "word_counts": WORDS, "marker": "_"} | change)


def test_a_trie_is_walked_as_wordpiece_reads():
    vocabulary = ["[UNK]", "un", "unf", "unfairly", "##a", "##f", "##fa", "##b", "##ble", "fable"]
    tokenizer = WordPieceTokenizer(vocabulary)
    for word in ("unfable", "fable", "unfab", "unb", "una"):
        assert [token for _, _, token, _ in longest_matches(word, vocabulary, "##")] == tokenizer.tokenize(word)
    assert longest_matches("unx", vocabulary, "##")[-1] == (2, 2, "", []) and tokenizer.tokenize("unx") == ["[UNK]"]
    figure = trie_walk("unfable", vocabulary)
    assert len(figure.data["captions"]) == 3 and figure.data["start"] == 1
    assert "Tokens begin with unfa (such as unfairly), none with unfab." in repr(figure)
    assert "the whole word becomes [UNK]" in repr(trie_walk("unx", vocabulary))
    with pytest.raises(ValueError, match="1 to 16 letters"):
        trie_walk("u" * 17, vocabulary)


def test_a_lattice_is_given_its_edges_its_best_sums_and_two_paths():
    data = explore_lattice(lattice()).data
    assert len(data["edges"]) == len(data["scores"]) == len(data["lanes"]) == len(lattice().edges)
    names = {name: [data["edges"][edge][2] for edge in path] for name, path in data["paths"]}
    assert names == {"most probable": [e.token for e in lattice().best_path()], "longest first": ["cat", "s"]}
    assert data["best"][-1] == pytest.approx(sum(edge.log_prob for edge in lattice().best_path()))
    assert "longest first: cat s −10.50" in repr(explore_lattice(lattice()))
    for word in ("cax", "", "cats" * 5):
        with pytest.raises(ValueError, match="1 to 16 characters, all of them in tokens"):
            explore_lattice(Lattice(word, LOG_PROBS))


def test_no_two_edges_of_a_lattice_overlap():
    edges = lattice().edges
    for one, high in zip(edges, lanes(edges)):
        for other, height in zip(edges, lanes(edges)):
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
        assert drawn_tokens(tab) == BPETokenizer(MERGES[:place], letters, marker="_").tokenize(TEXT)
        if place:
            assert f"Merge {place}: {' + '.join(MERGES[place - 1])}" in tab.locator(".say").inner_text()


@pytest.mark.parametrize("figure", [stepper, reader])
def test_what_is_typed_is_read_as_python_reads_it(shown, figure):  # noqa: F811
    made = figure()
    tab, data = shown(made), made.data
    merges = [tuple(line.split(" ")) for line in data["merges"].split("\n")]
    field, slider = tab.get_by_role("textbox"), tab.get_by_role("slider")
    texts = ["lowest newer  wild", "aaaaaaa naïve 🐳 🐳🐳🐳", "xlow ☠ f", "_low __", "", " ▁aa\taa "]
    for key in ("Home", "ArrowRight", "End"):
        slider.press(key)
        number = data["stops"][int(slider.input_value())]
        tokenizer = BPETokenizer(merges[:number], data["alphabet"], marker=data["marker"])
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
    before, after = (BPETokenizer(MERGES_OF_READER[:number], "xyz").tokenize("naïve 🐳🐳🐳🐳") for number in (0, 3))
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


def test_a_trie_is_entered_at_its_first_step(shown):  # noqa: F811
    tab = shown(trie_walk("unfit", ["un", "unfair", "##f", "##fit"]))
    assert tab.locator(".say").inner_text().startswith("1/2 Tokens begin with unf (such as unfair)")
    assert tab.locator("[data-step].later").count() == 1
    tab.get_by_role("button", name="next step").click()
    assert tab.locator("[data-step].later").count() == 0


def test_a_lattice_is_walked_by_click_and_key(shown):  # noqa: F811
    tab, edges = shown(explore_lattice(lattice())), lattice().edges
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
    assert bests == [round(best, 1) + 0 for best in explore_lattice(lattice()).data["best"]]
    tab.keyboard.press("s")
    assert not tab.locator("text.best").first.is_visible()
    for name, path in (("longest first", longest_first(edges, 4)), ("most probable", lattice().best_path())):
        tab.get_by_role("button", name=name).click()
        total = sum(edge.log_prob for edge in path)
        assert f"= {total:.2f}".replace("-", "−") in say.inner_text()
        assert tab.locator(".edge.taken").count() == len(path)
    tab.get_by_role("button", name="longest first").click()
    assert "The best is 2.12 times as probable." in say.inner_text()  # exp(10.50 − 9.75)
    tab.keyboard.press("Backspace")
    assert "cat (−8.00) = −8.00" in say.inner_text()
    tab.get_by_role("button", name="start again").click()
    assert tab.locator(".edge.taken").count() == 0


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_wider_than_the_screen(shown, width):  # noqa: F811
    figures = [*everything(), explore_bpe([("a", "b")], "ab" * 70)]
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_scripts_the_pictures_and_their_notes_stand(shown):  # noqa: F811
    policy = "script-src 'none'; default-src 'unsafe-inline' data:"
    tab = shown(*everything(), head=f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    assert tab.locator("[data-live]").count() == 0
    assert [image.get_attribute("alt") for image in tab.locator("img").all()] == [f.still.alt for f in everything()]


@pytest.mark.parametrize("page, ink", [("white", "rgb(20, 20, 20)"), ("rgb(18, 18, 18)", "rgb(230, 230, 230)")])
def test_text_takes_the_colour_of_the_page(shown, page, ink):  # noqa: F811
    tab = shown(*everything(), style=f"body {{ background: {page}; color: {ink} }}")
    colors = "(node) => getComputedStyle(node).color"
    assert {chip.evaluate(colors) for chip in tab.locator(".chip:not(.unknown)").all()} == {ink}
    assert tab.get_by_role("textbox").first.evaluate(colors) == ink

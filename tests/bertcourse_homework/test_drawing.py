"""What a check sees of a figure: what its legend shows."""

import matplotlib.pyplot as plt
import pytest

from bertcourse_homework.drawing import drawing_of


@pytest.fixture
def axes():
    yield plt.figure().add_subplot()
    plt.close("all")


def names(axes) -> list[str]:
    return [line.label for line in drawing_of(axes).lines]


def test_lines_are_called_what_plot_calls_them(axes):
    axes.plot([1, 2], [3, 4], label="a")
    axes.plot([1, 2], [4, 5])
    axes.legend()
    assert names(axes) == ["a", ""]


def test_texts_that_are_handed_to_the_legend_count_more_than_labels(axes):
    axes.plot([1, 2], [3, 4], label="a")
    axes.plot([1, 2], [4, 5], label="b")
    axes.legend(["b", "a"])
    assert names(axes) == ["b", "a"]


def test_a_line_with_error_bars_has_their_label_and_other_samples_say_nothing(axes):
    axes.errorbar([1, 2], [3, 4], yerr=1, capsize=2, label="a")
    axes.plot([1, 2], [4, 5], label="b")
    axes.bar([1, 2], [1, 2], label="bars")
    axes.legend()
    assert [name for name in names(axes) if name] == ["a", "b"] and names(axes)[0] == "a"


def test_a_title_may_stand_on_either_side(axes):
    axes.set_title("left", loc="left")
    axes.set_title("right", loc="right")
    assert drawing_of(axes).title == "left right"


def test_a_legend_may_have_another_order_than_the_lines_and_leave_one_out(axes):
    lines = axes.plot([1, 2], [[3, 4, 5], [6, 7, 8]], label=["a", "b", "c"])
    axes.legend([lines[2], lines[0]], ["third", "first"])
    assert names(axes) == ["first", "", "third"]


def test_lines_that_look_alike_keep_their_labels(axes):
    for name in ("a", "b"):
        axes.plot([1, 2], [3, 4], "k-", label=name)
    axes.legend(handles=axes.get_lines()[::-1])
    assert names(axes) == ["a", "b"]


def test_lines_that_look_like_no_sample_are_named_in_order(axes):
    for line in axes.plot([1, 2], [[3, 4], [5, 6]]):
        line.set_color("red")
    axes.legend(["a", "b"])
    for line in axes.get_lines():
        line.set_color("blue")
    assert names(axes) == ["a", "b"]


def test_the_legend_of_the_figure_counts(axes):
    axes.plot([1, 2], [3, 4], label="a")
    axes.figure.legend()
    assert names(axes) == ["a"] and drawing_of(axes).legend == ("a",)


def test_points_are_shown_without_rounding_noise(axes):
    axes.plot([1, 2], [0.1 + 0.2, 1e-17])
    assert "(1: 0.3, 2: 0)" in repr(drawing_of(axes))


def test_on_a_logarithmic_axis_small_values_are_shown_as_they_are(axes):
    axes.semilogy([1, 2], [0.1 + 0.2, 1e-17])
    assert "(1: 0.3, 2: 1e-17)" in repr(drawing_of(axes)) and drawing_of(axes).yscale == "log"

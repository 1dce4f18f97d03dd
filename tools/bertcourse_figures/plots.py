"""Figures of the lectures: one look, and colours that colour-blind readers can tell apart.

Images are not compared when a notebook is validated. So the notebook prints the numbers under each figure:
``attention_map`` returns them in words, the other functions return the axes, and a ``Figure``'s repr is its words.
Everything that the other modules draw can be reached through this one, too.
"""

import base64
from collections.abc import Sequence
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
from IPython.core.pylabtools import retina_figure
from IPython.display import display
from matplotlib.axes import Axes
from PIL import Image  # matplotlib needs it, too
from torch import Tensor

from bertcourse_figures.adapting import (
    explore_freezing,
    explore_labels,
    show_classifier,
    show_low_rank,
    show_pair,
)
from bertcourse_figures.analogies import explore_analogies, show_axis
from bertcourse_figures.attention import attention_steps, projection_steps, shift_map
from bertcourse_figures.blanks import (
    explore_masking_rate,
    explore_snapshots,
    show_masking,
    show_pretraining_heads,
)
from bertcourse_figures.bpe import explore_bpe
from bertcourse_figures.colors import COLORS
from bertcourse_figures.decoders import show_cross_attention, show_families, show_span_corruption
from bertcourse_figures.generation import explore_cache, explore_sampling
from bertcourse_figures.heads import explore_heads
from bertcourse_figures.hover import hover_scatter
from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.lattices import explore_lattice
from bertcourse_figures.layers import explore_layers
from bertcourse_figures.lookup import show_lookup
from bertcourse_figures.mask import explore_mask
from bertcourse_figures.objectives import show_objectives
from bertcourse_figures.plane import explore_plane
from bertcourse_figures.reading import explore_margin, explore_question, show_pointing, span_steps
from bertcourse_figures.recurrence import explore_recurrence
from bertcourse_figures.rotary import explore_rotary
from bertcourse_figures.scaling import explore_scaling
from bertcourse_figures.schematic import Box, Schematic
from bertcourse_figures.search import explore_bm25, explore_late, show_three_ways
from bertcourse_figures.senses import explore_nearest_sense, nearest_sense_steps, word_in_layers
from bertcourse_figures.sight import show_sight
from bertcourse_figures.space import cone_steps, cosine_steps, explore_mean, explore_neighbours
from bertcourse_figures.tags import explore_tags, explore_viterbi, show_subwords
from bertcourse_figures.tokens import show_tokens
from bertcourse_figures.transformer import show_block, show_heads, show_input, show_stack
from bertcourse_figures.unrolled import show_recurrence
from bertcourse_figures.window import explore_window
from bertcourse_figures.words import answer_map, tag_table
from bertcourse_figures.writing import explore_writing_order

__all__ = [
    "COLORS",
    "Box",
    "Figure",
    "Schematic",
    "answer_map",
    "attention_map",
    "attention_steps",
    "cone_steps",
    "cosine_steps",
    "explore_analogies",
    "explore_bm25",
    "explore_bpe",
    "explore_cache",
    "explore_freezing",
    "explore_heads",
    "explore_labels",
    "explore_late",
    "explore_lattice",
    "explore_layers",
    "explore_margin",
    "explore_mask",
    "explore_mean",
    "explore_neighbours",
    "explore_nearest_sense",
    "explore_masking_rate",
    "explore_plane",
    "explore_question",
    "explore_recurrence",
    "explore_rotary",
    "explore_sampling",
    "explore_scaling",
    "explore_snapshots",
    "explore_tags",
    "explore_viterbi",
    "explore_window",
    "explore_writing_order",
    "heatmap",
    "hover_scatter",
    "nearest_sense_steps",
    "projection_steps",
    "seeded_lines",
    "shift_map",
    "show",
    "show_axis",
    "show_block",
    "show_classifier",
    "show_cross_attention",
    "show_families",
    "show_heads",
    "show_input",
    "show_lookup",
    "show_objectives",
    "show_low_rank",
    "show_pair",
    "show_pointing",
    "show_masking",
    "show_pretraining_heads",
    "show_recurrence",
    "show_sight",
    "show_span_corruption",
    "show_stack",
    "show_steps",
    "show_subwords",
    "show_three_ways",
    "show_tokens",
    "span_steps",
    "tag_table",
    "use_course_style",
    "word_in_layers",
]


def use_course_style() -> None:
    """Set matplotlib's defaults to the look of the course."""
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.4),
            "figure.dpi": 90,
            "figure.constrained_layout.use": True,
            "axes.prop_cycle": plt.cycler(color=COLORS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "image.cmap": "Blues",
            "legend.frameon": False,
        }
    )


def show(alt: str) -> None:
    """Show the current figure, with a sentence for those who cannot see it; call it last in a cell that draws.

    Strict validation does not compare images, but it does compare this sentence.

    Args:
        alt: what the figure shows, in words: kind, axes, and what one sees.
    """
    if not alt.strip():
        raise ValueError('alt must say in words what the figure shows, such as "Bar chart of …"; got nothing.')
    figure = plt.gcf()
    png, size = retina_figure(figure, bbox_inches="tight")  # twice the pixels, for sharp screens and zoom
    metadata = {"image/png": {"alt": alt, "width": size["width"]}}  # where nbconvert, JupyterLab and the site look
    smaller = base64.b64encode(with_palette(png)).decode()
    display({"image/png": smaller, "text/plain": alt}, metadata=metadata, raw=True)
    plt.close(figure)


def with_palette(png: bytes) -> bytes:
    """A picture in its 256 most useful colours, which for drawings is a third of the size and looks the same."""
    image, smaller = Image.open(BytesIO(png)).convert("RGB"), BytesIO()
    image.quantize(256, dither=Image.Dither.NONE).save(smaller, "PNG", optimize=True)
    return smaller.getvalue()


def heatmap(
    matrix: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    ax: Axes | None = None,
    values: bool = False,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw a matrix with a name for each row and column.

    Args:
        matrix: (R, C).
        rows, columns: R and C names.
        title: above the figure.
        ax: where to draw; a new figure if None.
        values: write each number, to two digits, into its cell.
        limits: values at the ends of the colour scale; the smallest and largest of the matrix if None.

    Source: the attention maps of Bahdanau et al. 2015, figure 3.
    """
    array = np.asarray(matrix.detach().float().cpu() if isinstance(matrix, Tensor) else matrix)
    if array.shape != (len(rows), len(columns)):
        raise ValueError(
            f"matrix must have a row for each of {len(rows)} names and a column for each of {len(columns)}; "
            f"got shape {array.shape}."
        )
    if ax is None:
        side = 0.42 if not values else 0.62
        _, ax = plt.subplots(figsize=(1.6 + side * len(columns), 1.2 + side * len(rows)))
    low, high = limits or (array.min(), array.max())
    image = ax.imshow(array, vmin=low, vmax=high, aspect="equal")
    ax.set_xticks(
        range(len(columns)),
        columns,
        rotation=45 if max(map(len, columns)) > 3 else 0,
        ha="right" if max(map(len, columns)) > 3 else "center",
        rotation_mode="anchor",
    )
    ax.set_yticks(range(len(rows)), rows)
    ax.spines[:].set_visible(False)
    ax.set_title(title)
    if values:
        for (i, j), value in np.ndenumerate(array):
            red, green, blue, _ = image.to_rgba(value)
            is_dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            ax.text(
                j,
                i,
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize="medium",
                color="white" if is_dark else "black",
            )
    return ax


def attention_map(
    weights: Tensor, tokens: Sequence[str], title: str = "", ax: Axes | None = None, values: bool = False
) -> str:
    """Draw one head's weights: a row for each token that asks, a column for each that answers.

    Args:
        weights: (L, L), rows sum to 1.
        tokens: L names.
        title: above the figure.
        ax: where to draw; a new figure if None.
        values: write each weight into its cell.

    Returns:
        For each token, the one it attends to most and how much: "it → animal 0.42, …".

    Source: Vaswani et al. 2017, figures 3 to 5; Clark et al. 2019, "What Does BERT Look At?".

    >>> import torch
    >>> attention_map(torch.tensor([[0.2, 0.8], [0.5, 0.5]]), ["it", "rains"])
    'it → rains 0.80, rains → it 0.50'
    """
    ax = heatmap(weights, tokens, tokens, title, ax, values, limits=(0, 1))
    ax.set_xlabel("attends to")
    ax.set_ylabel("token")
    strongest, where = weights.max(dim=-1)
    return ", ".join(
        f"{token} → {tokens[j]} {w:.2f}" for token, j, w in zip(tokens, where.tolist(), strongest.tolist())
    )


def seeded_lines(lines: dict[str, Sequence[Sequence[float]]], ax: Axes | None = None) -> Axes:
    """Draw a line for each run, with runs of one kind in one colour, so that the spread over seeds shows.

    Args:
        lines: for each kind, its runs; each run is a list of numbers, one per layer or step from 0.
        ax: where to draw; a new figure if None.

    Returns:
        The axes, with a legend beside them.
    """
    if len(lines) > len(COLORS):
        raise ValueError(f"at most {len(COLORS)} kinds of line can be told apart; got {len(lines)}.")
    if ax is None:
        _, ax = plt.subplots()
    for color, (name, runs) in zip(COLORS, lines.items()):
        for number, run in enumerate(runs):
            ax.plot(run, color=color, label=name if number == 0 else None)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return ax

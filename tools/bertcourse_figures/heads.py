"""All layers and heads of a model on a sentence, or on two side by side."""

import base64
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from bertcourse_figures.interactive import Figure, rounded
from bertcourse_figures.schematic import Schematic, as_numbers

SIGNS = "‹=›FL"  # of the habits, in the still picture


class Sentence(NamedTuple):
    """Tokens, and the weights of all layers and heads on them, (layers, H, L, L)."""

    words: list[str]
    weights: np.ndarray


def explore_heads(
    words: Sequence[str],
    attentions: Sequence[Tensor],
    other: tuple[Sequence[str], Sequence[Tensor]] | None = None,
    start: tuple[int, int] = (0, 0),
    notes: Mapping[tuple[int, int], str] | None = None,
    word: int | None = None,
) -> Figure:
    """Choose a head and point at a word: whom does it attend to? What heads do on average is shown beside it.

    Args:
        words: L tokens.
        attentions: for each layer, the weights (H, L, L) or (1, H, L, L), as a model returns them.
        other: a second sentence's tokens and weights, from the same model.
        start: the layer and head shown at first, both counted from 0.
        notes: what to say about a head, by (layer, head).
        word: place of the word in the first sentence that is pointed at whenever no other is; None for no word.

    Raises:
        ValueError: shapes that do not fit, numbers that are not finite, or sentences too long for 300 KB.

    Source: Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model".
    """
    notes = dict(notes or {})
    sentences = [checked(words, attentions)] + ([checked(*other)] if other is not None else [])
    layers, heads = sentences[0].weights.shape[:2]
    if any(sentence.weights.shape[:2] != (layers, heads) for sentence in sentences):
        raise ValueError(f"both sentences must come from one model; got {[s.weights.shape[:2] for s in sentences]}.")
    if any(not (0 <= layer < layers and 0 <= head < heads) for layer, head in (start, *notes)):
        raise ValueError(f"start and notes must name a layer below {layers} and a head below {heads}.")
    if word is not None and not 0 <= word < len(words):
        raise ValueError(f"word must be a place among {len(words)} words, counted from 0; got {word}.")
    names = ["word before", "itself", "word after", *ends(sentences)]
    shares = np.mean([habit_shares(sentence.weights) for sentence in sentences], axis=0)
    data = {
        "sentences": [{"words": sentence.words, "weights": packed(sentence.weights)} for sentence in sentences],
        "layers": layers,
        "heads": heads,
        "habits": [[name, rounded(share)] for name, share in zip(names, shares)],
        "start": list(start),
        "notes": {f"{layer}.{head}": note for (layer, head), note in notes.items()},
        "word": word,
    }
    best = [np.unravel_index(share.argmax(), share.shape) for share in shares]
    most = [f"{name}: layer {at[0]}, head {at[1]} ({share[at]:.2f})" for name, share, at in zip(names, shares, best)]
    texts = " and ".join(f"“{' '.join(sentence.words)}”" for sentence in sentences)
    told = f"Attention of {layers} × {heads} heads on {texts}. Where most goes to the {'; '.join(most)}."
    candidates = dict.fromkeys([start, *notes, *(tuple(map(int, place)) for place in best)])
    shown = list(candidates)[: 3 - len(sentences)]  # two maps in all
    return Figure(draw(sentences, names, shares, shown, told), told, "heads", data)


def checked(words: Sequence[str], attentions: Sequence[Tensor]) -> Sentence:
    """A sentence, if the weights fit its words."""
    layers = [as_numbers(layer, "attentions") for layer in attentions]
    layers = [layer[0] if layer.ndim == 4 and len(layer) == 1 else layer for layer in layers]
    fits = all(layer.ndim == 3 and layer.shape[1:] == (len(words), len(words)) for layer in layers)
    if not (layers and len(words) and fits):
        raise ValueError(
            f"attentions must be (H, L, L) for each layer, for {len(words)} words; got {[w.shape for w in layers]}."
        )
    return Sentence(list(words), np.stack(layers))


def ends(sentences: list[Sentence]) -> list[str]:
    """The names of the first and the last token, such as [CLS], if all sentences have the same."""
    names = []
    for place, name in ((0, "first token"), (-1, "last token")):
        tokens = {sentence.words[place] for sentence in sentences}
        names.append(tokens.pop() if len(tokens) == 1 else name)
    return names


def habit_shares(weights: np.ndarray) -> np.ndarray:
    """How much of their attention the tokens inside a sentence give to five places, on average.

    The places: the word before, the token itself, the word after, the first token, the last token (Clark et al. 2019,
    "What Does BERT Look At?", section 3). Inside are the tokens for which these are five different places, so that
    nothing counts twice: all but the first two and the last two, or all but the ends of a very short sentence.

    Args:
        weights: (layers, H, L, L).

    Returns:
        (5, layers, H).
    """
    length = weights.shape[-1]
    margin = 2 if length > 4 else 1 if length > 2 else 0
    inside = np.arange(margin, length - margin)
    places = (inside - 1, inside, inside + 1, np.zeros_like(inside), np.full_like(inside, length - 1))
    return np.stack([weights[:, :, inside, place.clip(0, length - 1)].mean(-1) for place in places])


def packed(weights: np.ndarray) -> str:
    """Base64 of 16-bit numbers, low byte first, where 65535 stands for a weight of 1: 2.7 characters per weight."""
    return base64.b64encode(np.round(weights * 65535).astype("<u2").tobytes()).decode()


def draw(
    sentences: list[Sentence], names: list[str], shares: np.ndarray, shown: list[tuple[int, int]], told: str
) -> Schematic:
    """The still picture: a cell for each head, marked with its habit, and two maps.

    Args:
        sentences: one or two.
        names: of the habits.
        shares: (5, layers, H).
        shown: two heads of one sentence, or one head of two.
        told: what the picture shows.
    """
    layers, heads = shares.shape[1:]
    wide, tall = min(26.0, 312 / heads), min(32.0, 220 / layers)
    figure = Schematic(740, round(50 + layers * tall + 58), told, size=12)
    figure.text((24 + heads * wide / 2, 14), "layer (down) × head (across)", "bold", size=13)
    figure.text((24 + heads * wide / 2, 33), "what more than 0.3 of its attention goes to", color="soft")
    for layer, head in np.ndindex(layers, heads):
        habit = shares[:, layer, head].argmax()
        share = shares[habit, layer, head]
        x, y = 24 + head * wide, 50 + layer * tall
        sign = SIGNS[habit] if share > 0.3 else ""
        figure.box(x, y, wide - 2, tall - 4, sign, fill="plus", style="bold", corner=3, opacity=0.75 * share)
        if head == 0:
            figure.text((14, y + tall / 2 - 2), str(layer), color="soft", size=11)
    legend = [f"{sign} {name}" for sign, name in zip(SIGNS, names)]
    below = 50 + layers * tall
    figure.text((24, below + 16), " · ".join(legend[:3]), color="soft", anchor="start")
    figure.text((24, below + 34), " · ".join(legend[3:]), color="soft", anchor="start")
    for number, (sentence, (layer, head)) in enumerate((s, place) for s in sentences for place in shown):
        left, top = 400 + 178 * number, 84
        cell = 124 / max(len(s.words) for s in sentences)
        figure.matrix(left, top, sentence.weights[layer, head], cell, limit=1, color="plus")
        figure.text((left + 62, 14), f"layer {layer}, head {head}", "bold", size=13)
        for i, word in enumerate(sentence.words):
            size = min(10.5, max(7, cell))
            figure.text((left - 4, top + (i + 0.5) * cell), word, color="soft", anchor="end", size=size)
            figure.text((left + (i + 0.5) * cell, top - 5), word, color="soft", anchor="start", size=size, turn=-60)
    return figure

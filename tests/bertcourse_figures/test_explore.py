"""What the figures that move are given is what torch computes; what does not fit is refused with its shape."""

import base64

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from bertcourse.self_attention import causal_mask, scaled_dot_product_attention, simple_self_attention
from bertcourse_figures.heads import explore_heads, habit_shares
from bertcourse_figures.layers import explore_layers
from bertcourse_figures.mask import explore_mask
from bertcourse_figures.plane import explore_plane
from bertcourse_figures.scaling import MOST_DRAWS, explore_scaling, most_typical


def attentions(layers: int, heads: int, length: int) -> list[torch.Tensor]:
    return [torch.softmax(2 * torch.randn(1, heads, length, length), dim=-1) for _ in range(layers)]


def test_scaling_takes_the_first_d_numbers_and_its_averages_are_of_all_draws():
    queries, keys = torch.randn(30, 16), torch.randn(30, 6, 16)
    data = explore_scaling(queries, keys, (2, 16)).data
    assert np.shape(data["scores"]) == (MOST_DRAWS, 2, 6) and data["start"] == 1 and data["draws"] == 30
    scores = (keys @ queries[:, :, None])[..., 0]
    shown = [int((scores - torch.tensor(drawn[1])).abs().sum(dim=1).argmin()) for drawn in data["scores"]]
    rest = [draw for draw in range(30) if draw != shown[0]]
    assert shown[1:] == rest[: MOST_DRAWS - 1]
    for place, draw in enumerate(shown):
        expected = keys[draw, :, :2] @ queries[draw, :2]
        np.testing.assert_allclose(data["scores"][place][0], expected, rtol=1e-4, atol=1e-5)
    means = [torch.softmax(scores * scale, dim=-1).amax(dim=-1).mean() for scale in (1.0, 0.25)]
    np.testing.assert_allclose(data["means"][1], means, rtol=1e-3)


def test_the_typical_draw_is_in_the_middle_of_all_traits():
    traits = torch.randn(51, 4)
    traits[17] = traits.median(dim=0).values
    assert most_typical(traits) == 17
    assert 0 <= most_typical(torch.zeros(3, 2)) < 3  # as where there is one key


def test_scaling_says_the_largest_weights_where_it_opens_and_on_average():
    queries, keys = torch.randn(50, 128), torch.randn(50, 6, 128)
    figure = explore_scaling(queries, keys, (8, 64, 128))
    data, told = figure.data, repr(figure)
    for scale in (1.0, 0.125):
        top = torch.softmax(torch.tensor(data["scores"][0][1]) * scale, dim=-1).max()
        assert f"{top:.2f} for softmax" in told.split("Mean")[0]
    for d, (plain, divided) in zip((8, 64, 128), data["means"]):
        assert f"d = {d}: {plain:.2f} and {divided:.2f}" in told.split("Mean over 50 queries")[1]
    assert explore_scaling(queries, keys, (8, 16, 128)).data["start"] == 1  # the middle
    assert "1.00 for softmax(q·k)" in repr(explore_scaling(queries, keys[:, :1], (8, 128)))  # one key gets all


def test_the_plane_says_the_weights_and_where_the_word_moves():
    vectors = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    words = ["a", "b", "c"]
    output = simple_self_attention(vectors)[2]
    weights = torch.softmax(vectors @ vectors[2], dim=-1)
    told = repr(explore_plane(words, vectors, 2, ("left", "up")))
    assert told.startswith(f"c attends to: a {weights[0]:.3f}, b {weights[1]:.3f}, c {weights[2]:.3f}.")
    assert told.endswith(f"(left, up): {output[0]:.3f}, {output[1]:.3f}.")
    for wrong, message in ((vectors[:2], "shape"), (4 * vectors, "lie from -1.0 to 3.0")):
        with pytest.raises(ValueError, match=message):
            explore_plane(words, wrong, 1)
    with pytest.raises(ValueError, match="one of which is the row"):
        explore_plane(words, vectors, 3)


def test_layers_are_drawn_in_the_last_ones_plane_and_the_nearest_is_found_in_all_dimensions():
    texts = [f"They {verb} to the bank." for verb in ("swam", "rowed", "paid", "lied", "walked")]
    states = torch.randn(3, 5, 12).double()
    states[0] = states[0, 0]  # the table has one row for all
    figure = explore_layers(texts, states, "bank", ["river", "river", "money", "money", ""])
    points = np.array(figure.data["points"])
    last = states[2] - states[2].mean(dim=0)
    np.testing.assert_allclose(abs(points[2]), abs(PCA(2).fit_transform(last)), atol=2e-3)
    axes = torch.linalg.lstsq(last, torch.tensor(points[2]))[0]
    np.testing.assert_allclose(points[1], (states[1] - states[1].mean(dim=0)) @ axes, atol=5e-3)
    assert not points[0].any() and figure.data["nearest"][0] == [-1] * 5
    distances = torch.cdist(states[2], states[2]).fill_diagonal_(torch.inf)
    distances[:, 4] = torch.inf  # whose sense is open: it says nothing of others
    assert figure.data["nearest"][2] == distances.argmin(dim=1).tolist()
    own = sum(int(nearest) // 2 == i // 2 for i, nearest in enumerate(distances.argmin(dim=1)[:4]))
    assert repr(figure).endswith(f"own sense: {own} of 4.") and figure.data["own"][2] == own
    for wrong, message in (((texts, states[:, :2]), "shape"), ((["no such word"] * 5, states), "must have the word")):
        with pytest.raises(ValueError, match=message):
            explore_layers(*wrong, "bank", ["river"] * 5)
    with pytest.raises(ValueError, match="senses"):
        explore_layers(texts, states, "bank", list("abcde"))


def test_mask_is_given_scores_values_and_what_one_can_return_to():
    query, key, value = torch.randn(3, 4, 8)
    words = ["it", "rains", "now", "[PAD]"]
    given = torch.tensor([[1, 0, 0, 1]] * 4).bool()
    data = explore_mask(query, key, value, words, given, row=1).data
    np.testing.assert_allclose(data["scores"], query @ key.T / 8**0.5, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(data["values"], value, rtol=1e-6)
    masks = dict(data["masks"])
    assert list(masks) == ["no mask", "causal", "padding", "as given"]
    assert masks["causal"] == causal_mask(4).int().tolist() and masks["padding"] == [[1, 1, 1, 0]] * 4
    assert data["start"] == masks["as given"] == given.int().tolist()


def test_mask_says_the_weights_and_the_output_of_its_row():
    query, key, value = torch.randn(3, 3, 2)
    output, weights = scaled_dot_product_attention(query, key, value, causal_mask(3))
    said = repr(explore_mask(query, key, value, ["a", "b", "c"], causal_mask(3), row=1))
    assert "allows 6 of 3 × 3" in said
    assert f"b attends to: a {weights[1, 0]:.3f}, b {weights[1, 1]:.3f}, c 0.000." in said
    assert ", ".join(f"{number:.3f}" for number in output[1]).replace("-", "−") in said


def test_habits_count_the_tokens_inside():
    weights = torch.zeros(1, 2, 7, 7, dtype=torch.double)
    weights[0, 0] = torch.diag(torch.ones(6), diagonal=-1)  # everyone attends to the word before
    weights[0, 1, :, 6] = 1  # everyone attends to the last token
    shares = habit_shares(weights.numpy())
    assert shares[:, 0, 0].tolist() == [1, 0, 0, 0, 0]  # what is counted once is not counted as the first token, too
    assert shares[:, 0, 1].tolist() == [0, 0, 0, 0, 1]
    assert habit_shares(weights.numpy()[..., :3, :3])[:, 0, 0].tolist() == [1, 0, 0, 1, 0]  # too short for that


def test_heads_are_given_all_weights_to_five_digits():
    words, weights = ["[CLS]", "it", "rains", "[SEP]"], attentions(2, 3, 4)
    other = (["[CLS]", "no", "[SEP]"], [layer[0] for layer in attentions(2, 3, 3)])
    figure = explore_heads(words, weights, other, start=(1, 2), notes={(1, 2): "a note"})
    for sentence, (tokens, layers) in zip(figure.data["sentences"], ((words, weights), other)):
        stored = np.frombuffer(base64.b64decode(sentence["weights"]), dtype="<u2") / 65535
        expected = torch.stack([layer.reshape(3, len(tokens), len(tokens)) for layer in layers])
        assert sentence["words"] == tokens
        np.testing.assert_allclose(stored.reshape(expected.shape), expected, atol=7.7e-6)
    assert figure.data["notes"] == {"1.2": "a note"} and figure.data["start"] == [1, 2]
    assert figure.data["word"] is None and explore_heads(words, weights, word=2).data["word"] == 2
    shares = np.mean([habit_shares(torch.cat(weights).numpy()), habit_shares(torch.stack(other[1]).numpy())], axis=0)
    assert [name for name, _ in figure.data["habits"]] == ["word before", "itself", "word after", "[CLS]", "[SEP]"]
    np.testing.assert_allclose([share for _, share in figure.data["habits"]], shares, atol=5.1e-5)
    assert f"({shares[0].max():.2f})" in repr(figure)


def test_what_does_not_fit_is_refused():
    x = torch.randn(3, 4)
    with pytest.raises(ValueError, match="keys"):
        explore_scaling(x, torch.randn(3, 5, 6))
    with pytest.raises(ValueError, match="dimensions"):
        explore_scaling(x, torch.randn(3, 5, 4), (1, 8))
    with pytest.raises(ValueError, match="words"):
        explore_mask(x, x, x, ["a", "b"])
    with pytest.raises(ValueError, match="mask"):
        explore_mask(x, x, x, mask=torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="attentions"):
        explore_heads(["a", "b"], attentions(1, 2, 3))
    with pytest.raises(ValueError, match="one model"):
        explore_heads(["a", "b", "c"], attentions(1, 2, 3), (["a"], attentions(1, 3, 1)))
    with pytest.raises(ValueError, match="layer below 1"):
        explore_heads(["a", "b", "c"], attentions(1, 2, 3), start=(1, 0))
    with pytest.raises(ValueError, match="a place among 3 words.*got 3"):
        explore_heads(["a", "b", "c"], attentions(1, 2, 3), word=3)
    with pytest.raises(ValueError, match="300 KB"):
        explore_heads(["a"] * 40, attentions(6, 12, 40))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(bad):
    x = torch.randn(3, 4)
    spoilt = x.clone()
    spoilt[1, 2] = bad
    with pytest.raises(ValueError, match="finite"):
        explore_scaling(spoilt, torch.randn(3, 5, 4), (1, 4))
    with pytest.raises(ValueError, match="value must hold finite"):
        explore_mask(x, x, spoilt)
    with pytest.raises(ValueError, match="attentions must hold finite"):
        explore_heads(["a", "b", "c"], [torch.full((1, 3, 3), bad)])

"""What passes between judge and submission: plain values come through as they were, and nothing else does."""

import json
import math
from collections import Counter, OrderedDict

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from torch import nn

from bertcourse_grading import wire
from bertcourse_homework.values import as_plain

KEYS = some.text() | some.integers() | some.tuples(some.text(), some.integers())
PLAIN = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text() | some.binary(),
    lambda inner: (
        some.lists(inner, max_size=4)
        | some.tuples(inner, inner)
        | some.dictionaries(
            some.text() | some.integers() | some.tuples(some.text(), some.integers()), inner, max_size=3
        )
        | some.sets(some.integers(), max_size=1)
    ),
    max_leaves=12,
)


def there_and_back(value):
    return wire.unpack(json.loads(json.dumps(wire.pack(value))))


@given(PLAIN)
def test_plain_values_come_through(value):
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize("dtype", wire.DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_tensors_keep_type_shape_and_gradient(dtype, shape):
    value = torch.ones(shape).mul(1.5).to(dtype).requires_grad_(dtype.is_floating_point)
    back = there_and_back(value)
    assert torch.equal(back, value) and (back.dtype, back.requires_grad) == (value.dtype, value.requires_grad)


def test_views_and_special_numbers_come_through():
    numbers = torch.tensor([[math.nan, math.inf], [-math.inf, -0.0]]).T
    assert torch.equal(there_and_back(numbers).nan_to_num(7), numbers.nan_to_num(7))
    assert torch.equal(there_and_back(torch.arange(10)[::3]), torch.tensor([0, 3, 6, 9]))
    array = np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::2]
    assert there_and_back(array).tolist() == array.tolist() and there_and_back(array).dtype == array.dtype
    assert there_and_back(np.float32(0.5)) == np.float32(0.5) and type(there_and_back(np.float32(0.5))) is np.float32
    assert there_and_back(range(3, 9, 2)) == range(3, 9, 2) and there_and_back(10**400) == 10**400


def test_what_behaves_comes_through_without_its_behaviour():
    class Near(float):
        def __rsub__(self, other):
            return 0.0

        def __eq__(self, other):
            return True

    class Agreeing(list):
        def __eq__(self, other):
            return True

    class Text(str):
        def __eq__(self, other):
            return True

    for value, plain in ((Near(3.0), 3.0), (Agreeing([1]), [1]), (Text("a"), "a"), (Counter("aab"), {"a": 2, "b": 1})):
        back = there_and_back(value)
        assert type(back) is type(plain) and back == plain
    assert there_and_back(OrderedDict(a=1)) == {"a": 1}


def test_what_is_not_plain_is_held_and_can_be_handed_back():
    kept = []

    def hold(value):
        kept.append(value)
        return len(kept) - 1

    def numbers():
        yield 1

    thing = numbers()
    packed = wire.pack([thing, object], hold)
    first, second = wire.unpack(packed)
    assert (first, second) == (wire.Held(0, "generator"), wire.Held(1, "type")) and repr(first) == "<a generator>"
    assert wire.unpack(wire.pack(first), lambda number, kind: kept[number]) is thing


def test_a_figure_comes_through_as_what_it_shows():
    _, axes = plt.subplots()
    axes.plot([1, 2], [3.0, 4.5])
    axes.plot([1, 2], [0, 1])
    axes.set_xlabel("d")
    axes.legend(["with", "without"])
    assert there_and_back(axes).yscale == "linear"
    axes.set_yscale("log")
    drawing = there_and_back(axes)
    plt.close()
    assert drawing.yscale == "log"
    assert [line.label for line in drawing.lines] == ["with", "without"] == list(drawing.legend)
    assert drawing.over([1, 2], 1) == [[3.0, 4.5]] and drawing.xlabel == "d" and drawing.ylabel == ""
    assert "with (1: 3, 2: 4.5)" in repr(drawing)


def test_a_model_comes_through_as_its_parameters_and_is_known_again():
    model = nn.ModuleDict({"bert": nn.ModuleList([nn.Linear(2, 3)]), "head": nn.Linear(3, 1)})
    model.wire_number = 1
    there = {}

    def find(number, kind):
        return there.get(number)

    there[1] = wire.unpack(wire.pack(model), find)
    shapes = {name: each.shape for name, each in there[1].named_parameters()}
    assert shapes == {name: each.shape for name, each in model.named_parameters()}
    assert there[1].get_submodule("bert")[0].weight.requires_grad
    there[1].get_submodule("head").weight.requires_grad_(False)
    assert wire.unpack(wire.pack(there[1]), lambda number, kind: model) is model
    assert [name for name, each in model.named_parameters() if not each.requires_grad] == ["head.weight"]


@pytest.mark.parametrize(
    "packed",
    [
        [1],
        {},
        {"list": 3},
        {"list": [], "tuple": []},
        {"code": "1 + 1"},
        {"tensor": ["float32", [2], wire.text_of(bytes(4)), False]},
        {"tensor": ["float32", [-1], "", False]},
        {"tensor": ["float32", [2.0], wire.text_of(bytes(8)), False]},
        {"tensor": ["object", [1], wire.text_of(bytes(8)), False]},
        {"tensor": ["float32", [1], "not base64 at all", False]},
        {"array": ["object", [1], wire.text_of(bytes(8))]},
        {"array": ["float64", [2**40], wire.text_of(bytes(8))]},
        {"dict": [[{"list": []}, 1]]},
        {"dict": [[1]]},
        {"set": [{"list": []}]},
        {"range": [1, 2, 0]},
        {"range": [0, 10**15, 1]},
        {"range": [0, 10**30, 1]},
        {"number": ["float64", ""]},
        {"list": [0] * (wire.MOST_ITEMS + 1)},
        {"tensor": ["float32", [10**9, 0], "", False]},
        {"array": ["float64", [0, 10**9], ""]},
        {"module": [1, [["a", [10**6, 10**6], True]]]},
        {"module": [1, [[".".join("a" * 10**5), [1], True]]]},
        {"drawing": {"lines": [{"label": "a", "xs": ["x"], "ys": []}]}},
        {"module": [1, [["a.b", [1], True]]], "x": 1},
        {"module": [1, 7]},
        {"held": ["a"]},
    ],
    ids=lambda packed: str(packed)[:60],
)
def test_what_pack_does_not_make_is_refused(packed):
    with pytest.raises(wire.WireError, match="what came|an array of shape"):
        wire.unpack(packed)


def test_what_is_too_deep_or_too_large_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(wire.WireError, match="lists in lists"):
        wire.pack(endless)
    packed = 1
    for _ in range(wire.MOST_DEPTH + 2):
        packed = {"list": [packed]}
    with pytest.raises(wire.WireError, match="not a value"):
        wire.unpack(packed)
    for data in (b"[" * 100_000, b"3", b"\xff", b'{"a": ' * 50_000):
        with pytest.raises(wire.WireError, match="what came is"):
            wire.loads(data)
    with pytest.raises(wire.WireError, match="may have 64 MiB; this one has 65"):
        wire.loads(bytes(65 * 2**20))
    with pytest.raises(wire.WireError, match="a tensor of complex64"):
        wire.pack(torch.zeros(1, dtype=torch.complex64))


def test_values_compare_alike_on_both_sides():
    value = {"a": (torch.arange(3), [np.float64(0.5)], {3, 1})}
    assert as_plain(there_and_back(value)) == as_plain(value)

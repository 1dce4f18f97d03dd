"""What passes between the judge and a submission: plain values, as bytes, and nothing that could run code.

``pack`` and ``unpack`` handle numbers, text, None, containers, arrays, and what a figure shows. Anything else that an
answer returns (a class, a generator, a cache) stays where it is, and the judge gets a ``Held`` with its number, which
it can pass back as an argument. Nothing is ever unpickled. In the judge, ``unpack`` checks whatever is received, as the
sender is not trusted.
"""

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertcourse_homework.drawing import Drawing, Line, drawing_of, is_axes

MOST_BYTES, MOST_DEPTH = 64 * 2**20, 40
MOST_ITEMS, MOST_PARAMETERS = 2_000_000, 50_000_000  # in a range, list or empty array; in a model
DTYPES = {
    name: getattr(torch, name)
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
}
ARRAYS = {name: np.dtype(name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64")}
ARRAYS |= {name: np.dtype(name) for name in ("uint16", "uint32", "uint64", "float16", "float32", "float64")}
Hold = Callable[[Any], int]


class WireError(ValueError):
    """What was received is not a message or a value, or is too large."""


@dataclass(frozen=True)
class Held:
    """Something that stays in the other process.

    Attributes:
        number: the number that it is known by there.
        kind: the name of its type.
    """

    number: int
    kind: str

    def __repr__(self) -> str:
        return f"<a {self.kind}>"


def dumps(message: dict[str, Any]) -> bytes:
    """A message of packed values."""
    return json.dumps(message).encode()


def loads(data: bytes) -> dict[str, Any]:
    """A message from bytes; its values are still packed.

    Raises:
        WireError: if they are not a message.
    """
    if len(data) > MOST_BYTES:
        raise WireError(f"an answer may have {MOST_BYTES >> 20} MiB; this one has {len(data) >> 20}")
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError(f"what came is not a message: {error}") from None
    if not isinstance(message, dict):
        raise WireError(f"what came is a {type(message).__name__}, not a message")
    return message


def pack(value: Any, hold: Hold | None = None, depth: int = 0) -> Any:
    """A value in a form that JSON can hold.

    Args:
        value: anything.
        hold: keeps a value that is not plain and returns its number; without it, only the type's name is sent.
        depth: how deeply the value is nested.

    Raises:
        WireError: if containers are nested too deeply, as those that contain themselves are, or if a tensor's type is
            not in ``DTYPES``.
    """
    if depth > MOST_DEPTH:
        raise WireError(f"lists in lists, {MOST_DEPTH} deep and more")
    if value is None or isinstance(value, bool | str):
        return value if value is None or isinstance(value, bool) else str.__str__(value)
    if isinstance(value, np.generic) and value.dtype.name in ARRAYS:
        return {"number": [value.dtype.name, text_of(value.tobytes())]}
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Tensor):
        return pack_tensor(value)
    if isinstance(value, np.ndarray) and value.dtype.name in ARRAYS:
        return {"array": [value.dtype.name, list(value.shape), text_of(np.ascontiguousarray(value).tobytes())]}
    if isinstance(value, Mapping):
        pairs = [[pack(key, hold, depth + 1), pack(each, hold, depth + 1)] for key, each in value.items()]
        return {"dict": pairs}
    if isinstance(value, range) and len(value) <= MOST_ITEMS:
        return {"range": [value.start, value.stop, value.step]}
    for kind in (tuple, list, set, frozenset):
        if isinstance(value, kind):
            return {kind.__name__: [pack(each, hold, depth + 1) for each in value]}
    if isinstance(value, bytes):
        return {"bytes": text_of(value)}
    if isinstance(value, Drawing) or is_axes(value):
        return {"drawing": asdict(value if isinstance(value, Drawing) else drawing_of(value))}
    if isinstance(value, nn.Module):
        return {"module": pack_module(value, hold)}
    if isinstance(value, Held):
        return {"held": [value.number, value.kind]}
    return held(value, hold)


def held(value: Any, hold: Hold | None) -> dict[str, Any]:
    """What stands in for a value that is not sent."""
    return {"held": [hold(value) if hold else -1, type(value).__name__[:80]]}


def pack_tensor(value: Tensor) -> dict[str, Any]:
    """A tensor's type, shape, numbers, and whether it requires a gradient."""
    plain = value.detach().to("cpu").to_dense() if value.layout is not torch.strided else value.detach().cpu()
    name = str(plain.dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise WireError(f"a tensor of {name}; expected one of {', '.join(DTYPES)}")
    numbers = plain.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return {"tensor": [name, list(plain.shape), text_of(numbers), bool(value.requires_grad)]}


def pack_module(module: nn.Module, hold: Hold | None) -> list[Any]:
    """What a check may know about a model: its parameters, and which of them learn."""
    parameters = [[name, list(each.shape), each.requires_grad] for name, each in module.named_parameters()]
    return [getattr(module, "wire_number", -1), parameters]


def text_of(data: bytes) -> str:
    """Bytes as text, in base64."""
    return base64.b64encode(data).decode()


def unpack(packed: Any, find: Callable[[int, str], Any] | None = None, depth: int = 0) -> Any:
    """The value that was packed, by ``pack`` or by somebody else.

    Args:
        packed: from JSON.
        find: returns a value that is held here; without it, a ``Held`` stays one.
        depth: how deeply it is nested.

    Raises:
        WireError: if ``pack`` could not have made it.
    """
    if packed is None or isinstance(packed, bool | int | float | str):
        return packed
    if depth > MOST_DEPTH or not isinstance(packed, dict) or len(packed) != 1:
        raise WireError("what came is not a value")
    ((kind, content),) = packed.items()
    try:
        return UNPACK[kind](content, find, depth + 1)
    except WireError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise WireError(f"what came is no {str(kind)[:40]}: {error}"[:200]) from None


def unpack_list(content: Any, find: Any, depth: int) -> list[Any]:
    """The values of a list."""
    if not isinstance(content, list) or len(content) > MOST_ITEMS:
        raise WireError(f"what came is not a list of at most {MOST_ITEMS:,} values")
    return [unpack(each, find, depth) for each in content]


def unpack_dict(content: Any, find: Any, depth: int) -> dict[Any, Any]:
    """A dictionary from its pairs."""
    return {unpack(key, find, depth): unpack(each, find, depth) for key, each in content}


def sized(shape: Any, data: bytes, size: int) -> list[int]:
    """A shape, if it fits the number of bytes.

    Raises:
        WireError: if it does not, or if an empty array has too large a shape.
    """
    if not all(type(n) is int and n >= 0 for n in shape) or math.prod(shape) * size != len(data):
        raise WireError(f"an array of shape {shape}, with {len(data)} bytes"[:200])
    if not data and math.prod(max(1, n) for n in shape) > MOST_ITEMS:  # as lists, very many empty ones
        raise WireError(f"an array of shape {shape}"[:200])
    return shape


def unpack_tensor(content: Any, find: Any, depth: int) -> Tensor:
    """A tensor from its type, shape, bytes and whether it requires a gradient."""
    name, shape, data, learns = content
    dtype, raw = DTYPES[name], base64.b64decode(data)
    shape = sized(shape, raw, torch.empty((), dtype=dtype).element_size())
    numbers = torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    return numbers.reshape(shape).requires_grad_(bool(learns) and dtype.is_floating_point)


def unpack_array(content: Any, find: Any, depth: int) -> np.ndarray:
    """An array from its type, shape and bytes."""
    name, shape, data = content
    dtype, raw = ARRAYS[name], base64.b64decode(data)
    return np.frombuffer(raw, dtype).reshape(sized(shape, raw, dtype.itemsize)).copy()


def unpack_number(content: Any, find: Any, depth: int) -> np.generic:
    """A NumPy scalar."""
    name, data = content
    return np.frombuffer(base64.b64decode(data), ARRAYS[name])[0]


def unpack_drawing(content: Any, find: Any, depth: int) -> Drawing:
    """What a figure shows."""
    lines = tuple(
        Line(str(line["label"]), tuple(map(float, line["xs"])), tuple(map(float, line["ys"])))
        for line in content["lines"]
    )
    texts = [str(content[name]) for name in ("xlabel", "ylabel", "title")]
    return Drawing(lines, *texts, tuple(map(str, content["legend"])), str(content["yscale"]))


def unpack_range(content: Any, find: Any, depth: int) -> range:
    """A range, if it is not too long to become a list."""
    found = range(*map(int, content))
    if len(found) > MOST_ITEMS:
        raise WireError(f"what came is a range of {len(found):,} numbers")
    return found


def unpack_held(content: Any, find: Any, depth: int) -> Any:
    """A value that is held here, or the ``Held`` that stands in for it."""
    number, kind = int(content[0]), str(content[1])
    return find(number, kind) if find else Held(number, kind)


def unpack_module(content: Any, find: Any, depth: int) -> Any:
    """A model with the given parameters: the one that is known by the number, if there is one."""
    number, parameters = int(content[0]), content[1]
    model = find(number, "module") if find else None
    if model is None:
        model = skeleton({str(name): tuple(shape) for name, shape, _ in parameters})
        model.wire_number = number
    known = dict(model.named_parameters())
    for name, _, learns in parameters:
        known[name].requires_grad_(bool(learns))
    return model


def skeleton(parameters: dict[str, tuple[int, ...]]) -> nn.Module:
    """A model with parameters of these names and shapes, all 0, that does nothing."""
    numbers = [math.prod(shape) for shape in parameters.values()]
    if sum(numbers) > MOST_PARAMETERS or len(numbers) > MOST_ITEMS or max(map(len, parameters), default=0) > 1000:
        raise WireError(f"what came is a model of {sum(numbers):,} parameters in {len(numbers):,} arrays")
    model = nn.Module()
    for path, shape in parameters.items():
        *folders, name = path.split(".")
        owner = model
        for folder, inside in zip(folders, path.split(".")[1:]):
            if not hasattr(owner, folder):
                owner.add_module(folder, nn.ModuleList() if inside.isdigit() else nn.Module())
            owner = getattr(owner, folder)
        owner.register_parameter(name, nn.Parameter(torch.zeros(shape)))
    return model


UNPACK: dict[str, Callable[[Any, Any, int], Any]] = {
    "list": unpack_list,
    "tuple": lambda *content: tuple(unpack_list(*content)),
    "set": lambda *content: set(unpack_list(*content)),
    "frozenset": lambda *content: frozenset(unpack_list(*content)),
    "dict": unpack_dict,
    "range": unpack_range,
    "bytes": lambda content, *_: base64.b64decode(content),
    "number": unpack_number,
    "array": unpack_array,
    "tensor": unpack_tensor,
    "drawing": unpack_drawing,
    "held": unpack_held,
    "module": unpack_module,
}

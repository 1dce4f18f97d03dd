"""A model's folder with smaller weights, for a page: ``python site/shrink.py MODEL_FOLDER OUTPUT_FOLDER float16|int8``

float16 takes half the space of float32. In int8, about a quarter, each row of a matrix is rounded to 255 steps of a size
of its own, which is kept beside it as "<name>.scale", and vectors are float16. ``readBert`` in bert.js reads both.
"""

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

STEPS = 127  # on each side of zero


def smaller(tensors: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors in float16, or matrices in int8 with a scale for each row; tensors of integers are left out.

    >>> small = smaller({"w": torch.tensor([[1.0, -0.5], [0.0, 254.0]])}, "int8")
    >>> small["w"].tolist(), small["w.scale"].tolist()[1]
    ([[127, -64], [0, 127]], 2.0)
    """
    small = {}
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            continue
        if kind == "int8" and tensor.dim() == 2:
            scale = tensor.float().abs().amax(dim=1).clamp(min=1e-12) / STEPS
            small[name] = (tensor.float() / scale[:, None]).round().to(torch.int8)
            small[f"{name}.scale"] = scale
        else:
            small[name] = tensor.half()
    return small


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("kind", choices=["float16", "int8"])
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    weights = options.output / "model.safetensors"
    save_file(smaller(load_file(options.model / "model.safetensors"), options.kind), weights, metadata={"format": "pt"})
    for name in ("config.json", "vocab.txt"):
        shutil.copy(options.model / name, options.output / name)
    print(f"{weights}: {weights.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

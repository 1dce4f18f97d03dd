"""Chapter 5: word vectors of a large corpus, kept in a folder so that nothing is computed twice.

The corpus is cut into blocks of sentences of similar length. Each block's vectors are saved in a file of their own
(KEY.blocks/0.npy, 1.npy, …), so that after an interruption the work goes on with the next block; at the end they become
one file, KEY.npy, which is mapped into memory. A block consists of whole batches of ``word_vectors``, so that the
result is the same as without a cache, bit for bit.
"""

import errno
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from tokenizers import Tokenizer
from tqdm import tqdm

from bertcourse.bert import BertForPreTraining, BertModel, length_buckets
from bertcourse.bert.weights import fingerprint
from bertcourse.bert.windows import Window, make_windows, window_size
from bertcourse.files import make_folder, replace_files
from bertcourse.word_senses.vectors import (
    ContextualVectors,
    check_form,
    check_layers,
    check_model,
    check_words,
    vector_shape,
    word_vectors,
)

BLOCK_TOKENS = 2**15  # how much work an interruption may cost: seconds, or a minute with a large model


def cached_word_vectors(
    model: BertModel | BertForPreTraining,
    tokenizer: Tokenizer,
    sentences_of_words: Sequence[Sequence[str]],
    layers: Sequence[int] = (-4, -3, -2, -1),
    pooling: str = "sum",
    only: Sequence[Sequence[int]] | None = None,
    dtype: str = "float32",
    max_length: int | None = None,
    overlap: int | None = None,
    max_tokens: int = 2048,
    *,
    cache: str | os.PathLike | None,
) -> ContextualVectors:
    """``word_vectors``, kept in a folder and mapped into memory; the next call with the same input finds them there.

    If two processes want the same vectors, one computes them and the other waits.

    Args:
        model, …, max_tokens: as for ``word_vectors``.
        cache: the folder, created if it does not exist; None keeps nothing.

    Raises:
        TypeError, ValueError: as for ``word_vectors``; ValueError also if a file of the cache is damaged.
        OSError: if the folder cannot be written, or its disk has no room.
    """
    settings = dict(pooling=pooling, dtype=dtype, max_length=max_length, overlap=overlap, max_tokens=max_tokens)
    check_model(model)
    layers = check_layers(layers, model.config.num_hidden_layers)
    check_form(pooling, dtype)
    only = check_words(sentences_of_words, only)
    counts = [len(indices) for indices in only]
    if cache is None or not sum(counts):
        return word_vectors(model, tokenizer, sentences_of_words, layers, only=only, **settings)

    def vectors_of(block: list[int]) -> np.ndarray:
        words, wanted = [sentences_of_words[i] for i in block], [only[i] for i in block]
        return word_vectors(model, tokenizer, words, layers, only=wanted, **settings).array

    size = window_size(model, max_length, overlap)
    windows = make_windows(tokenizer, sentences_of_words, only, *size)
    key = cache_key(model, windows, [layers, pooling, dtype, size, max_tokens, BLOCK_TOKENS])
    folder, shape = make_folder(cache), vector_shape(model, layers, pooling)
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
                sentences = sentence_blocks(windows, max_tokens)
                save_blocks(blocks, sentences, vectors_of)
                join_blocks(blocks, sentences, finished, counts, shape, dtype)
                shutil.rmtree(blocks, ignore_errors=True)
        if os.name == "posix":  # elsewhere the file is removed with the lock
            Path(lock.lock_file).unlink(missing_ok=True)
    return ContextualVectors(load_array(finished, (sum(counts), *shape), dtype), counts)


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

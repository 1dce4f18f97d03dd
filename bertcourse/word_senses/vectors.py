"""Chapter 5: a vector for each word of a text, from any layers of BERT.

BERT reads tokens; a word is one or several of them, and its vector is the mean of theirs, taken from one layer, from
several added up, or side by side (Devlin et al. 2019, section 5.3; Loureiro & Jorge 2019 for the sum of the last four).
The rest is what makes this work on a million words: batches of like length, long texts in overlapping windows, and a
file that keeps what is done.
"""

import errno
import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from filelock import FileLock, Timeout
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm

from bertcourse.bert import BertForPreTraining, BertModel, length_buckets, pad_rows
from bertcourse.bert.batching import check_tokenizer
from bertcourse.files import make_folder, read_json, replace_files
from bertcourse.tokenization.encoding import check_text

POOLINGS = ("sum", "mean", "concat", "stack")
SECONDS_BETWEEN_NOTES = 10.0  # how much work an interruption may cost
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, a quota or the largest file


class WordVectors(Sequence):
    """A vector for each word: ``vectors[3][0]`` is that of the first word of the fourth sentence.

    Args:
        array: (words, …), the vectors of all sentences one after the other; an array, or a file mapped into memory.
        counts: how many words each sentence has.

    Source: the ragged arrays of every corpus reader.

    >>> vectors = WordVectors(np.arange(6.0).reshape(3, 2), counts=[1, 2])
    >>> vectors[1]
    array([[2., 3.],
           [4., 5.]])
    """

    def __init__(self, array: np.ndarray, counts: Sequence[int]):
        self.array = array
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=int)])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, sentence: int) -> np.ndarray:
        if isinstance(sentence, slice):
            return [self[i] for i in range(*sentence.indices(len(self)))]
        sentence = range(len(self))[sentence]
        return self.array[self.starts[sentence] : self.starts[sentence + 1]]


class Window(NamedTuple):
    """Tokens that the model reads at once: a sentence, or a part of one that is too long.

    Attributes:
        ids: token ids with [CLS] and [SEP].
        rows: the words it gives vectors for, as rows of the result.
        spans: for each of them, (first, last + 1) among ``ids``.
    """

    ids: list[int]
    rows: list[int]
    spans: list[tuple[int, int]]


def word_vectors(
    model: BertModel | BertForPreTraining,
    tokenizer: Tokenizer,
    sentences_of_words: Sequence[Sequence[str]],
    layers: Sequence[int] = (-4, -3, -2, -1),
    pooling: str = "sum",
    only: Sequence[Sequence[int]] | None = None,
    dtype: str = "float32",
    cache: str | os.PathLike | None = None,
    max_length: int | None = None,
    overlap: int | None = None,
    max_tokens: int = 2048,
) -> WordVectors:
    """Contextual vectors of words.

    Args:
        model: any BERT, in evaluation mode; its device is used.
        tokenizer: its tokenizer, as ``load_pretrained`` returns it.
        sentences_of_words: for each sentence its words. "New York" may be one of them: it gets the mean over its
            tokens.
        layers: which; 0 is the embeddings, 1 the first block, -1 the last.
        pooling: what becomes of several layers: "sum" or "mean", D numbers a word; "concat", layers × D numbers;
            "stack", an array (layers, D).
        only: for each sentence the indices of the words that are wanted; None for all. The model reads the others, too.
        dtype: "float32" or "float16", of the result.
        cache: a folder. The result is kept there, and mapped into memory instead of being held in it; the next call
            with the same model, text and settings finds it, and goes on where an interrupted one was. Of two processes
            that want the same, one computes it and the other waits.
        max_length: the longest sequence that the model reads, with [CLS] and [SEP]; None for the longest it can. A
            longer sentence is read in windows; each word's vector is from the window that has most text on both sides
            of it.
        overlap: tokens that two windows share; None for half a window.
        max_tokens: B × L of a batch.

    Returns:
        ``WordVectors``. Of a word longer than the overlap, the tokens that one window holds count.

    Raises:
        TypeError: if a word is no string.
        ValueError: if an argument is out of range, the tokenizer pads or truncates, a word has no token or a lone
            surrogate, an index is not in its sentence, a vector is not finite, or a file of the cache is damaged.
        OSError: if the cache cannot be written, or its disk has no room for the result.

    Source: Devlin et al. 2019, section 5.3, for layers; Loureiro & Jorge 2019, "Language Modelling Makes Sense",
    section 4.1, for words as means of their tokens and the sum of four layers.
    """
    if not isinstance(model, (BertModel, BertForPreTraining)):
        raise TypeError(f"model must be a BERT, as load_pretrained returns it; got {type(model).__name__}.")
    layers = check_layers(layers, model.config.num_hidden_layers)
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
    if dtype not in ("float32", "float16"):
        raise ValueError(f'dtype must be "float32" or "float16"; got {dtype!r}.')
    if model.training:
        raise ValueError("model must be in evaluation mode, or dropout changes every vector; call model.eval() first.")
    longest = model.config.max_position_embeddings
    max_length = longest if max_length is None else max_length
    if not 3 <= max_length <= longest:
        raise ValueError(f"max_length must be from 3 to {longest}, the model's positions; got {max_length}.")
    overlap = (max_length - 2) // 2 if overlap is None else overlap
    if not 0 <= overlap < max_length - 2:
        raise ValueError(f"overlap must be from 0 to {max_length - 3}, below the tokens of a window; got {overlap}.")
    only = check_words(sentences_of_words, only)
    counts = [len(indices) for indices in only]
    windows = make_windows(tokenizer, sentences_of_words, only, max_length, overlap)
    buckets = length_buckets([len(window.ids) for window in windows], max_tokens)
    hidden_size = model.config.hidden_size
    shape = {"concat": (len(layers) * hidden_size,), "stack": (len(layers), hidden_size)}.get(pooling, (hidden_size,))
    shape = (sum(counts), *shape)

    if cache is None or not all(shape):
        array = np.zeros(shape, dtype)
        for _ in fill(array, model, windows, buckets, layers, pooling):
            pass
        return WordVectors(array, counts)
    settings = dict(
        layers=layers, pooling=pooling, dtype=dtype, max_length=max_length, overlap=overlap, max_tokens=max_tokens
    )
    key = cache_key(model, windows, settings)
    return WordVectors(fill_cache(Path(cache), key, shape, dtype, model, windows, buckets, layers, pooling), counts)


def check_layers(layers: Sequence[int], num_layers: int) -> list[int]:
    """Layers as indices from 0, the embeddings, to ``num_layers``.

    Args:
        layers: indices, negative ones from the end.
        num_layers: how many blocks the model has.

    Raises:
        ValueError: if there is none, or one that is no integer or that the model does not have.

    Source: Python's indexing.

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


def check_words(
    sentences_of_words: Sequence[Sequence[str]], only: Sequence[Sequence[int]] | None
) -> list[Sequence[int]]:
    """The indices of the words that are wanted, sentence by sentence.

    Args:
        sentences_of_words: for each sentence its words.
        only: for each sentence indices; None for all.

    Raises:
        TypeError: if a word is no string.
        ValueError: if a sentence is a string, an index is not in its sentence, or the lengths differ.
    """
    check_sentences("sentences_of_words", sentences_of_words)
    if only is None:
        return [range(len(sentence)) for sentence in sentences_of_words]
    if len(only) != len(sentences_of_words):
        raise ValueError(f"only must have a list for each of the {len(sentences_of_words)} sentences; got {len(only)}.")
    for number, (sentence, indices) in enumerate(zip(sentences_of_words, only)):
        if wrong := [index for index in indices if index not in range(len(sentence))]:
            raise ValueError(f"only: sentence {number} has words 0 to {len(sentence) - 1}; got {wrong[0]!r}.")
    return list(only)


def check_sentences(name: str, sentences: Sequence[Sequence[str]]) -> None:
    """Refuse what is not a list of lists of words.

    Args:
        name: what the message calls it.
        sentences: for each sentence its words.

    Raises:
        TypeError: if there are no sentences to go through, or a word is no string.
        ValueError: if a sentence is a string, which would be read letter by letter, or a word holds a lone surrogate.
    """
    if not isinstance(sentences, Iterable):
        raise TypeError(f'{name} must be lists of words, such as [["a", "word"]]; got {type(sentences).__name__}.')
    if isinstance(sentences, str) or any(isinstance(sentence, str) for sentence in sentences):
        raise ValueError(f'{name} must be lists of words, such as [["a", "word"]]; got a string. Split it.')
    for number, sentence in enumerate(sentences):
        for word in sentence:
            check_text(word, f"every word of sentence {number}")


def make_windows(
    tokenizer: Tokenizer,
    sentences_of_words: Sequence[Sequence[str]],
    only: Sequence[Sequence[int]],
    max_length: int,
    overlap: int,
) -> list[Window]:
    """Cut sentences into what the model can read, and each word that is wanted into a span of one window.

    Args:
        tokenizer: BERT's.
        sentences_of_words: for each sentence its words.
        only: for each sentence the indices of the words that are wanted.
        max_length: tokens of a window at most, with [CLS] and [SEP].
        overlap: tokens that two windows share.

    Returns:
        The windows that hold a wanted word, in order.

    Raises:
        ValueError: if a wanted word has no token, or the tokenizer no [CLS] and [SEP], or it pads or truncates.

    Source: the sliding window of Devlin et al.'s ``run_squad.py``, with its rule of maximum context.
    """
    check_tokenizer(tokenizer)
    cls, sep = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    if cls is None or sep is None:
        raise ValueError("the tokenizer must have the tokens [CLS] and [SEP], as BERT's do; this one has not.")
    if tokenizer.padding is not None or tokenizer.truncation is not None:  # padding would be read, words missed
        raise ValueError(
            "the tokenizer must neither pad nor truncate; this one is set to. Call tokenizer.no_padding() and "
            "tokenizer.no_truncation() first: long sentences are read in windows."
        )
    size, row, windows = max_length - 2, 0, []
    encodings = tokenizer.encode_batch(
        [list(words) for words in sentences_of_words], is_pretokenized=True, add_special_tokens=False
    )
    for number, (words, indices, encoding) in enumerate(zip(sentences_of_words, only, encodings)):
        ids, places = encoding.ids, word_places(encoding.word_ids)
        starts = window_starts(len(ids), size, overlap)
        in_window: list[Window] = [Window([cls, *ids[start : start + size], sep], [], []) for start in starts]
        for index in indices:
            if index not in places:
                raise ValueError(
                    f"every word must give at least one token; word {index} of sentence {number}, {words[index]!r}, "
                    f"gives none. Leave it out, or put [UNK] in its place."
                )
            first, end = places[index]
            best = best_window(starts, size, len(ids), first, end)
            window, start = in_window[best], starts[best]
            window.rows.append(row)
            window.spans.append((max(first - start, 0) + 1, min(end - start, size) + 1))
            row += 1
        windows += [window for window in in_window if window.rows]
    return windows


def word_places(word_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Where each word's tokens are: word to (first, last + 1).

    Args:
        word_ids: for each token the index of its word.

    Source: ``word_ids`` of Hugging Face's ``tokenizers``.

    >>> word_places([0, 1, 1, 3])
    {0: (0, 1), 1: (1, 3), 3: (3, 4)}
    """
    places: dict[int, tuple[int, int]] = {}
    for position, word in enumerate(word_ids):
        places[word] = (places.get(word, (position,))[0], position + 1)
    return places


def window_starts(length: int, size: int, overlap: int) -> list[int]:
    """Where windows begin that cover a text; the last one ends with it.

    Args:
        length: tokens of the text.
        size: tokens of a window.
        overlap: tokens that two windows share; the last two may share more.

    Source: the sliding window of Devlin et al.'s ``run_squad.py``.

    >>> window_starts(length=10, size=4, overlap=2)
    [0, 2, 4, 6]
    >>> window_starts(length=3, size=4, overlap=2)
    [0]
    """
    last = max(length - size, 0)
    return [*range(0, last, size - overlap), last]


def best_window(starts: Sequence[int], size: int, length: int, first: int, end: int) -> int:
    """The window that has most context on both sides of a word.

    Args:
        starts: where windows begin.
        size: tokens of a window.
        length: tokens of the text; where the text itself ends, nothing is missing.
        first, end: the word's tokens are from ``first`` to before ``end``.

    Returns:
        An index into ``starts``; of several equal ones the first.

    Source: "maximum context" of Devlin et al.'s ``run_squad.py``.

    >>> best_window([0, 2, 4, 6], size=4, length=10, first=3, end=4)
    1
    """
    if len(starts) == 1:
        return 0

    def context(start: int) -> int:
        before = length if start == 0 else first - start
        after = length if start + size >= length else start + size - end
        return min(before, after)

    return max(range(len(starts)), key=lambda i: context(starts[i]))


def fill(
    array: np.ndarray,
    model: BertModel | BertForPreTraining,
    windows: Sequence[Window],
    buckets: Sequence[Sequence[int]],
    layers: Sequence[int],
    pooling: str,
    done: int = 0,
) -> Iterator[int]:
    """Put the vectors of all windows where they belong, batch by batch.

    Args:
        array: (words, …), filled in place.
        model: any BERT.
        windows: what to read.
        buckets: batches, as lists of indices into ``windows``.
        layers: indices from 0.
        pooling: one of ``POOLINGS``.
        done: how many of the buckets are filled already.

    Returns:
        After each batch, the number of buckets that are filled.

    Raises:
        ValueError: if a vector is not finite.
    """
    tokens = [sum(len(windows[i].ids) for i in bucket) for bucket in buckets]
    with tqdm(
        total=sum(tokens),
        initial=sum(tokens[:done]),
        desc="word vectors",
        unit=" tokens",
        unit_scale=True,
        disable=None,
    ) as bar:
        for number in range(done, len(buckets)):
            batch = [windows[i] for i in buckets[number]]
            with np.errstate(over="ignore"):  # what is too large for float16 becomes infinite, and is refused below
                vectors = batch_vectors(model, batch, layers, pooling).cpu().numpy().astype(array.dtype, copy=False)
            rows = [row for window in batch for row in window.rows]
            if not np.isfinite(vectors).all():
                row = rows[int(np.argmin(np.isfinite(vectors).reshape(len(rows), -1).all(axis=1)))]
                raise ValueError(
                    f"every vector must be finite; row {row} of the result is not. Are the model's weights? Or is it "
                    f'too large for float16: ask for dtype="float32".'
                )
            array[rows] = vectors
            bar.update(tokens[number])
            yield number + 1


@torch.inference_mode()
def batch_vectors(
    model: BertModel | BertForPreTraining, batch: Sequence[Window], layers: Sequence[int], pooling: str
) -> Tensor:
    """The vectors of the words of a batch.

    Args:
        model: any BERT.
        batch: B windows.
        layers: indices from 0.
        pooling: one of ``POOLINGS``.

    Returns:
        (words, D), (words, layers × D) or (words, layers, D).

    Raises:
        ValueError: if an id is not the model's.

    Source: Loureiro & Jorge 2019, section 4.1: the mean over a word's tokens.
    """
    device = next(model.parameters()).device
    inputs = [window.ids for window in batch], [[0] * len(window.ids) for window in batch]
    hidden_states = model(*(part.to(device) for part in pad_rows(*inputs)), output_hidden_states=True).hidden_states
    chosen = [hidden_states[layer].float() for layer in layers]
    if pooling in ("sum", "mean"):
        hidden = sum(chosen) / (len(chosen) if pooling == "mean" else 1)  # (B, L, D)
    else:
        hidden = torch.stack(chosen, dim=2)  # (B, L, layers, D)
    length, words, positions = hidden.shape[1], [], []
    for row, window in enumerate(batch):
        for first, end in window.spans:
            positions += range(row * length + first, row * length + end)
            words += [end - first]
    lengths = torch.tensor(words, device=device)
    tokens = hidden.flatten(0, 1)[torch.tensor(positions, device=device)]  # (tokens, …, D)
    owner = torch.repeat_interleave(torch.arange(len(words), device=device), lengths)
    vectors = torch.zeros((len(words), *tokens.shape[1:]), device=device).index_add_(0, owner, tokens)
    vectors /= lengths.view(-1, *[1] * (vectors.dim() - 1))
    return vectors.flatten(1) if pooling == "concat" else vectors


def cache_key(model: BertModel | BertForPreTraining, windows: Sequence[Window], settings: dict) -> str:
    """What a result depends on, as a file name: the weights, what the model reads, and the settings.

    Args:
        model: any BERT.
        windows: token ids, rows and spans, in which text and tokenizer show.
        settings: the rest, as JSON can say it.

    Source: SHA-256, of which 32 hexadecimal digits.
    """
    digest = hashlib.sha256(json.dumps([settings, vars(model.config)], sort_keys=True).encode())
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy())
    for window in windows:
        digest.update(repr(tuple(window)).encode())
    return digest.hexdigest()[:32]


def fill_cache(
    folder: Path,
    key: str,
    shape: tuple[int, ...],
    dtype: str,
    model: BertModel | BertForPreTraining,
    windows: Sequence[Window],
    buckets: Sequence[Sequence[int]],
    layers: Sequence[int],
    pooling: str,
) -> np.ndarray:
    """The result in a file, made if it is not there, or finished if it is not whole.

    KEY.npy is a finished result, in numpy's own format. KEY.part.npy is one in the making; KEY.json says how many of
    its batches are done, and is written after they are on the disk. Who makes it holds KEY.lock.

    Args:
        folder: where; made if it is not there.
        key: the name of the files.
        shape, dtype: of the result, which is not empty.
        model, windows, buckets, layers, pooling: as for ``fill``.

    Returns:
        The array, mapped into memory and read-only.

    Raises:
        ValueError: if a file is damaged or a vector is not finite.
        OSError: if the folder cannot be written, or has no room.

    Source: the NPY format of numpy.
    """
    finished, part, note = folder / f"{key}.npy", folder / f"{key}.part.npy", folder / f"{key}.json"
    if finished.exists():
        return open_array(finished, shape, dtype, "r")
    make_folder(folder)
    lock = FileLock(folder / f"{key}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        warnings.warn(f"another process is computing {finished}; waiting for it.", stacklevel=3)
        lock.acquire()
    try:
        if not finished.exists():
            if note.exists() and part.exists():
                array, done = open_array(part, shape, dtype, "r+"), read_note(note, len(buckets))
            else:
                note.unlink(missing_ok=True)  # it would be that of another file
                array, done = new_array(part, shape, dtype), 0
            fill_file(array, note, fill(array, model, windows, buckets, layers, pooling, done), done)
            del array
            os.replace(part, finished)
            note.unlink(missing_ok=True)
    finally:
        lock.release()
    if os.name == "posix":  # elsewhere the lock's file goes with it
        Path(lock.lock_file).unlink(missing_ok=True)
    return open_array(finished, shape, dtype, "r")


def new_array(path: Path, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A file of zeros, mapped into memory, with its room on the disk: a full disk shows now, and not as a crash later.

    Args:
        path: the file.
        shape, dtype: of the array.

    Raises:
        OSError: if the disk has no room for it; nothing is left of it then.

    Source: posix_fallocate(3); the NPY format of numpy.
    """
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    size, free = path.stat().st_size, shutil.disk_usage(path.parent).free
    reason = None if free >= size else os.strerror(errno.ENOSPC)
    if hasattr(os, "posix_fallocate"):
        try:
            with open(path, "r+b") as file:
                os.posix_fallocate(file.fileno(), 0, size)
            reason = None
        except OSError as error:  # it has no room, or the file system cannot reserve any
            reason = error.strerror if error.errno in NO_ROOM else reason
    if reason:
        del array
        path.unlink()
        raise OSError(
            f"{path.parent} must have room for {size:,} bytes of vectors; got {free:,} ({reason}). Free some, or name "
            "another folder."
        )
    return array


def fill_file(array: np.ndarray, note: Path, progress: Iterator[int], done: int) -> None:
    """Let ``fill`` go on, and note from time to time, and at an interruption, how far it came.

    Args:
        array: mapped into memory.
        note: the JSON file.
        progress: of ``fill``.
        done: how many batches were done before.

    Raises:
        ValueError: if a vector is not finite.
        OSError: if the note cannot be written.
    """
    noted, done_now = time.monotonic(), done
    try:
        for done_now in progress:
            if time.monotonic() - noted > SECONDS_BETWEEN_NOTES:
                write_note(array, note, done_now)
                noted = time.monotonic()
    finally:  # also when the user interrupts
        if done_now > done:
            write_note(array, note, done_now)


def read_note(note: Path, num_batches: int) -> int:
    """How many batches are done.

    Args:
        note: the JSON file.
        num_batches: how many there are.

    Raises:
        ValueError: if it says anything else.
    """
    done = read_json(note).get("batches_done")
    if not isinstance(done, int) or not 0 <= done <= num_batches:
        raise ValueError(
            f"{note} must have batches_done from 0 to {num_batches}; got {done!r}. Delete it and {note.stem}.part.npy."
        )
    return done


def write_note(array: np.ndarray, note: Path, done: int) -> None:
    """Put the array on the disk, then say how many batches of it are done.

    Args:
        array: mapped into memory.
        note: the JSON file.
        done: how many.

    Raises:
        OSError: if the disk is full.

    Source: write-ahead logging, turned round.
    """
    array.flush()
    with replace_files(note.parent, [note.name]) as draft:
        (draft / note.name).write_text(json.dumps({"batches_done": done}), encoding="utf-8")


def open_array(path: Path, shape: tuple[int, ...], dtype: str, mode: str) -> np.ndarray:
    """Map a file of vectors into memory.

    Args:
        path: the file, in numpy's format.
        shape, dtype: what it must hold.
        mode: "r" or "r+".

    Raises:
        ValueError: if it holds anything else, or is cut short.

    Source: the NPY format of numpy.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)  # "r+" would fill up a file that is cut short
        if array.shape == shape and array.dtype == dtype:
            return array if mode == "r" else np.load(path, mmap_mode=mode, allow_pickle=False)
        found = f"shape {array.shape} in {array.dtype}"
    except (ValueError, EOFError, OSError) as error:  # numpy's, for a file that is not whole
        found = f"a file of {path.stat().st_size:,} bytes that does not read ({error})"
    raise ValueError(
        f"{path} must hold vectors of shape {shape} in {dtype}; got {found}. The cache is cut short or damaged: delete "
        f"this file, and it is computed again."
    )

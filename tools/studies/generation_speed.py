"""Tokens written per CPU second: our ``generate`` beside transformers', with the same weights, in one run.

    python tools/studies/generation_speed.py                                             # half an hour or more
    python tools/studies/generation_speed.py --output data/results/generation_speed.md   # writes the table, too

A GPT-2 with random weights, saved by transformers and loaded here, continues a prompt of 16 tokens greedily, with and
without its cache of keys and values. First, all four must write the same text. Then they are timed in turn, round after
round, in CPU seconds of one thread, which a shared machine inflates less than wall time; ratios are the medians of the
rounds' own ratios.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models
from torch import Tensor

from bertcourse.decoders import CausalLanguageModel, WithCache, generate, load_gpt2

PROMPT = 16
VOCAB_SIZE = 8192


def new_models(hidden_size: int, layers: int, length: int) -> tuple[CausalLanguageModel, transformers.GPT2LMHeadModel]:
    """Ours and theirs, with the same weights; these are large, so that the text does not go in circles at once."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=VOCAB_SIZE,
        n_embd=hidden_size,
        n_layer=layers,
        n_head=hidden_size // 64,
        n_positions=PROMPT + length,
        initializer_range=0.1,
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        Tokenizer(models.BPE({"a": 0}, [])).save(str(Path(folder, "tokenizer.json")))
        ours, _ = load_gpt2(Path(folder))
    return ours, theirs


def writers(ours: CausalLanguageModel, theirs: transformers.GPT2LMHeadModel, length: int) -> dict[str, Callable]:
    """The four ways to write ``length`` tokens after a prompt (B, L), by name."""

    def their_text(prompt: Tensor, use_cache: bool) -> Tensor:
        how = dict(do_sample=False, pad_token_id=0, attention_mask=torch.ones_like(prompt))
        return theirs.generate(prompt, max_new_tokens=length, use_cache=use_cache, **how)

    return {
        "transformers, cache": lambda prompt: their_text(prompt, True),
        "ours, cache": lambda prompt: generate(WithCache(ours), prompt, length, temperature=0),
        "transformers, no cache": lambda prompt: their_text(prompt, False),
        "ours, no cache": lambda prompt: generate(ours, prompt, length, temperature=0),
    }


def compare(
    ours: CausalLanguageModel, theirs: transformers.GPT2LMHeadModel, length: int, batch: int, rounds: int
) -> list[str]:
    """The rows of the table for one length and one batch size."""
    prompt = torch.randint(0, VOCAB_SIZE, (batch, PROMPT), generator=torch.Generator().manual_seed(1))
    runs = writers(ours, theirs, length)
    texts = [write(prompt) for write in runs.values()]  # also warms up
    if any(not torch.equal(text, texts[0]) for text in texts):
        raise SystemExit("all must write the same text; they do not")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, write in runs.items():
            start = time.process_time()
            write(prompt)
            times[name].append(time.process_time() - start)

    def ratio(one: str, other: str) -> str:
        return f"{statistics.median(a / b for a, b in zip(times[one], times[other])):.2f}"

    lines = []
    for name in runs:
        who, how = name.split(", ")
        speed = batch * length / statistics.median(times[name])
        beside = ratio(f"transformers, {how}", name) if who == "ours" else ""
        gain = ratio(f"{who}, no cache", name) if how == "cache" else ""
        lines.append(f"| {length} | {batch} | {name} | {speed:,.0f} | {beside} | {gain} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hidden-size", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    ours, theirs = new_models(options.hidden_size, options.layers, max(options.lengths))
    millions = sum(parameter.numel() for parameter in ours.parameters()) / 1e6
    lines = [
        "# Writing: tokens per CPU second beside transformers",
        "",
        f"torch {torch.__version__}, transformers {transformers.__version__}, {options.threads} thread(s), a GPT-2 of "
        f"{millions:.1f} M random parameters, greedy, prompts of {PROMPT} tokens, "
        f"{options.rounds} rounds; `python tools/studies/generation_speed.py`",
        "",
        "| new tokens | batch | | tokens per CPU second | × transformers | × no cache |",
        "|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    for length in options.lengths:
        for batch in options.batches:
            lines += compare(ours, theirs, length, batch, options.rounds)
    if options.output:
        options.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()

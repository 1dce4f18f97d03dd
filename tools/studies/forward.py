"""Encoding sentences: our BertModel beside Hugging Face's, on the same weights, in one run.

    python tools/studies/forward.py     # MiniLM, 2,000 sentences; about 3 minutes on two cores

Five ways to encode the same sentences, timed in turn, round after round:

- Hugging Face's BertModel with its default attention, batches of 32 in file order, padded to the longest;
- our BertModel on the same batches;
- the same batches without their padding (``bertcourse_lab.unpadding``);
- our BertModel on batches of similar length, with as many tokens as ``length_buckets`` takes by default;
- these without what is left of their padding.

The sentences are SemCor's first. Tokens are counted without padding, so the rates are comparable. The table gives the
median over rounds and, as the machine's speed drifts, the ratio of each round's own times.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import transformers

from bertcourse.bert import Batch, find_folder, length_buckets, load_pretrained
from bertcourse.bert.batching import pad_batch
from bertcourse_lab.datasets.sense_corpora import sense_corpus
from bertcourse_lab.unpadding import unpadded_vectors


def seconds(encode: Callable[..., object], batches: list[Batch]) -> float:
    """Wall time of one pass over the batches."""
    start = time.perf_counter()
    for batch in batches:
        encode(**batch._asdict())
    return time.perf_counter() - start


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="a name for load_pretrained (default: minilm)")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    sentences = [" ".join(words) for words in sense_corpus("semcor").sentences[: options.sentences]]
    torch.set_num_threads(options.threads)
    ours, tokenizer = load_pretrained(options.model)
    theirs = transformers.BertModel.from_pretrained(find_folder(options.model)).eval()
    encodings = tokenizer.encode_batch(sentences)
    lengths = [len(encoding) for encoding in encodings]
    in_order = [pad_batch(encodings[i : i + 32]) for i in range(0, len(encodings), 32)]
    by_length = [pad_batch([encodings[i] for i in bucket]) for bucket in length_buckets(lengths)]

    difference = max(
        (ours(*batch).last_hidden_state - theirs(*batch).last_hidden_state).abs().max().item() for batch in in_order[:4]
    )

    def unpadded(**batch: torch.Tensor) -> torch.Tensor:
        return unpadded_vectors(ours, Batch(**batch))

    runs = {
        f"Hugging Face ({theirs.config._attn_implementation}), batches of 32": (theirs, in_order),
        "ours, the same batches": (ours, in_order),
        "ours, the same batches, unpadded": (unpadded, in_order),
        "ours, batches of like length": (ours, by_length),
        "ours, batches of like length, unpadded": (unpadded, by_length),
    }
    times = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, run in runs.items():
            times[name].append(seconds(*run))

    tokens = sum(lengths)
    first = next(iter(times.values()))
    print(
        f"{len(lengths)} sentences, {tokens} tokens, lengths {min(lengths)}-{max(lengths)}; torch "
        f"{torch.__version__}, ",
        end="",
    )
    print(
        f"transformers {transformers.__version__}, {options.threads} threads; outputs differ by at most "
        f"{difference:.0e}"
    )
    print("| | tokens/s | padding | ratio | lowest-highest |\n|---|---|---|---|---|")
    for name, (_, batches) in runs.items():
        ratios = [a / b for a, b in zip(first, times[name])]
        padding = 1 - tokens / sum(batch.input_ids.numel() for batch in batches)
        print(
            f"| {name} | {tokens / statistics.median(times[name]):,.0f} | {padding:.0%} | "
            f"{statistics.median(ratios):.2f} "
            f"| {min(ratios):.2f}-{max(ratios):.2f} |"
        )


if __name__ == "__main__":
    main()

"""Word vectors: ours beside a plain loop over Hugging Face's BertModel, on the same sentences and weights, in one run.

    python tools/studies/embed.py     # MiniLM, 1,500 sentences, 3 rounds; about 3 minutes

Both turn each word of SemCor's sentences into the mean over its tokens of the sum of the last four layers:

- a plain loop: batches of 32 in file order, padded to the longest, a mean for each word in Python;
- ``word_vectors``: batches of similar length, with all words gathered at once.

They are timed in turn, round after round, from words to vectors, including tokenization. Tokens are counted without
padding, so the rates are comparable. The table gives the median over rounds and, as the machine's speed drifts, the
ratio of each round's own times; in wall time, and in CPU time, which other work on the machine disturbs less.
"""

import argparse
import statistics
import time

import numpy as np
import torch
import transformers

from bertcourse.bert import find_folder, load_pretrained
from bertcourse.word_senses import word_vectors
from bertcourse_lab.datasets.sense_corpora import sense_corpus


@torch.inference_mode()
def plain_loop(
    model: transformers.BertModel, tokenizer: transformers.PreTrainedTokenizerFast, sentences: list[list[str]]
) -> np.ndarray:
    """(words, D) vectors, by a loop as a reader of the documentation would write it."""
    vectors = []
    for i in range(0, len(sentences), 32):
        batch = tokenizer(
            sentences[i : i + 32], is_split_into_words=True, padding=True, truncation=True, return_tensors="pt"
        )
        hidden = torch.stack(model(**batch, output_hidden_states=True).hidden_states[-4:]).sum(0)
        for row in range(len(hidden)):
            word_ids = batch.word_ids(row)
            for word in range(len(sentences[i + row])):
                vectors.append(
                    hidden[row, [position for position, each in enumerate(word_ids) if each == word]].mean(0)
                )
    return torch.stack(vectors).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="a name for load_pretrained (default: minilm)")
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    corpus = sense_corpus("semcor").sentences
    start = len(corpus) // 2  # neighbours in the text, as a plain loop would meet them
    sentences = corpus[start : start + options.sentences]
    torch.set_num_threads(options.threads)
    ours, tokenizer = load_pretrained(options.model)
    theirs = transformers.BertModel.from_pretrained(find_folder(options.model)).eval()
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(find_folder(options.model))
    tokens = sum(len(encoding) for encoding in tokenizer.encode_batch(sentences, is_pretokenized=True))
    runs = {
        "a plain loop, batches of 32 in file order": lambda: plain_loop(theirs, their_tokenizer, sentences),
        "word_vectors": lambda: word_vectors(ours, tokenizer, sentences).array,
    }
    times = {name: [] for name in runs}
    for _ in range(options.rounds):
        results = []
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            results.append(run())
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))

    difference = np.abs(results[0] - results[1]).max()
    print(
        f"{len(sentences)} sentences, {len(results[0])} words, {tokens} tokens; torch {torch.__version__}, "
        f"transformers {transformers.__version__}, {options.threads} threads, {options.rounds} rounds; vectors "
        f"differ by "
        f"at most {difference:.0e}"
    )
    print("| | tokens/s | ratio, wall | lowest-highest | ratio, CPU | lowest-highest |\n|---|---|---|---|---|---|")
    first = next(iter(times.values()))
    for name, taken in times.items():
        cells = []
        for clock in (0, 1):
            ratios = [a[clock] / b[clock] for a, b in zip(first, taken)]
            cells.append(f"{statistics.median(ratios):.2f} | {min(ratios):.2f}-{max(ratios):.2f}")
        print(f"| {name} | {tokens / statistics.median(wall for wall, _ in taken):,.0f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

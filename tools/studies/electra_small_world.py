"""ELECTRA in the small world: does the detective keep up with its forger, and do counts of pairs?

``python tools/studies/electra_small_world.py`` trains three seeds on 600,000 tokens (six minutes of one core in all)
and writes data/results/electra_small_world.json: at each evaluation the generator's loss, and how many of the suspects
are forged that the discriminator and a table of pairs of words name, as many as there are forgeries. The discriminator
is lecture 11's, trained longer; the held-out rows are the same for all seeds.
"""

import argparse
import json
import tempfile
from dataclasses import replace

import numpy as np
import torch

from bertcourse.bert.modes import evaluation_mode
from bertcourse.beyond_bert import ElectraWithGenerator, with_guesses
from bertcourse.datasets import course_file
from bertcourse.files import replace_files
from bertcourse.pretraining import CountModel, SmallWorld, Vocabulary
from bertcourse_lab.pretraining.config import PRESETS, PretrainingConfig
from bertcourse_lab.pretraining.electra_evaluation import evaluate_electra
from bertcourse_lab.pretraining.recipes import ALL_MASKED, Recipe
from bertcourse_lab.pretraining.trainer import pretrain

RESULTS = course_file("results/README.md").parent / "electra_small_world.json"
TOKENS = 600_000
RECIPE = Recipe(
    dict(initial_positions="sinusoidal", local_layers=2, nsp=False, **ALL_MASKED),
    objective="replaced",
)


def oddities(ids: np.ndarray, counts: CountModel) -> np.ndarray:
    """(N,), how seldom each of N tokens follows the one before it, and is followed by the next."""
    before, after = ids[:-1], ids[1:]
    pairs = counts.pair_count(before, after) + 5 * counts.unigram[after]
    seldom = -np.log(pairs / (counts.counts[before] + 5))
    return np.append(seldom, 0) + np.append(0, seldom)


@torch.no_grad()
def suspects(model: ElectraWithGenerator, rows: list, vocabulary: Vocabulary, counts: CountModel) -> dict[str, float]:
    """The share of forged words among the suspects of the discriminator, of counting pairs, and among all words."""
    truth, verdicts, rival = [], [], []
    with evaluation_mode(model), torch.random.fork_rng():
        torch.manual_seed(0)
        for masked, (original, mask, kinds, _) in rows:
            logits = model.generator_logits(masked.input_ids, mask, kinds, masked.positions)
            read = with_guesses(logits, masked, original)
            is_word = ~vocabulary.is_special[read]
            odd = torch.tensor(oddities(read.flatten().numpy(), counts)).view_as(read)
            truth.append((read != original)[is_word])
            verdicts.append(model.replaced_token_logits(read, mask, kinds)[is_word])
            rival.append(odd[is_word])
    forged = torch.cat(truth).float()
    number = int(forged.sum())
    named = {"discriminator": verdicts, "pairs": rival}
    found = {who: forged[torch.cat(scores).topk(number).indices].mean().item() for who, scores in named.items()}
    return found | {"forged": forged.mean().item()}


def run(seed: int) -> list[dict]:
    """Train one; a row for each evaluation."""
    corpus = SmallWorld().corpus(300_000)
    vocabulary = Vocabulary.of(corpus.tokenizer)
    counts, found = CountModel(corpus.train, vocabulary.size), []

    def evaluate(model: ElectraWithGenerator, batches: list, processes: object) -> dict[str, float]:
        batches = list(batches)
        measured = evaluate_electra(model, batches, processes)
        found.append({"generator": measured["mlm_loss"]} | suspects(model, batches, vocabulary, counts))
        return measured

    with tempfile.TemporaryDirectory() as folder:
        settings = dict(seed=seed, tokens=TOKENS, decay=0.1, output=folder, threads=1, evaluate_every=0.1)
        config = PretrainingConfig(**PRESETS["small-world"] | settings | dict(evaluation_rows=200, precision="float32"))
        pretrain(replace(config, **RECIPE.settings), False, corpus, RECIPE.parts()._replace(evaluate=evaluate))
    rows = [{"seed": seed, "tokens": round(TOKENS * n / (len(found) - 1))} | row for n, row in enumerate(found)]
    return [{key: round(value, 4) for key, value in row.items()} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for seed in options.seeds:
        rows += run(seed)
        print(json.dumps(rows[-1]), flush=True)
        with replace_files(RESULTS.parent, [RESULTS.name]) as draft:
            (draft / RESULTS.name).write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()

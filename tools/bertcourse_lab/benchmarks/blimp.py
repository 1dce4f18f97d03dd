"""``bertcourse benchmark blimp``: which of two sentences does a masked language model find more likely?

BLiMP has 67 paradigms of 1,000 pairs; English speakers accept one sentence of each pair (Warstadt et al. 2020). A pair
is right if that one has the higher pseudo-log-likelihood (Salazar et al. 2020); a tie counts half, and chance is 50.
All paradigms count equally. An interval says what other pairs of the same paradigms might have given, assuming a normal
distribution: mean ± 1.96 σ, where σ² is the sum of the squared standard errors of K paradigms, divided by K². For the
standard errors, each paradigm gets one extra pair that is right and one that is wrong, so that no interval has width 0.
"""

import csv
import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import resources

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from tokenizers import Tokenizer
from torch import nn

from bertcourse.bert import BertForPreTraining, encode_batch, load_pretrained
from bertcourse_lab.benchmarks.pseudo_likelihood import pseudo_log_likelihoods
from bertcourse_lab.benchmarks.tables import publish, table_lines, table_name, versions
from bertcourse_lab.datasets.blimp import MinimalPair, blimp_pairs
from bertcourse_lab.training.metering import faster_precision, progress_bar

__all__ = [
    "MinimalPair",
    "blimp_pairs",
    "pseudo_log_likelihoods",
    "run_benchmark",
    "score_pairs",
]

PUBLISHED = ("5-gram", "LSTM", "Transformer-XL", "GPT-2", "human")
ACROSS_A_NOUN = ("distractor_agreement_relational_noun", "distractor_agreement_relative_clause")


def run_benchmark(
    model_name: str = "course",
    limit: int | None = None,
    output: str | os.PathLike | None = None,
    precision: str = "auto",
) -> dict:
    """Measure a model, print the table, and write it to OUTPUT/blimp_MODEL.json and .md.

    Args:
        model_name: for ``load_pretrained``; a model with an MLM head.
        limit: how many pairs of each paradigm to use, from the first on, for a quick look; None for all.
        output: folder for the table; None writes none.
        precision: of matrix products: "float32"; "bfloat16", which moves the log-likelihood of a pair by a twentieth of
            a nat; or "auto", whichever is faster here.

    Returns:
        What is in the JSON file: what ``score_pairs`` returns, with the model's name, the precision and the versions.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"--limit must be at least 1 pair of each paradigm; got {limit}.")
    model, tokenizer = load_pretrained(model_name, BertForPreTraining)
    if precision == "auto":
        precision = fastest_precision(model, tokenizer)
    scores_of = functools.partial(pseudo_log_likelihoods, precision=precision)
    found = score_pairs(model, tokenizer, limit, scores_of)
    result = {"model": model_name, "precision": precision, "versions": versions(), **found}
    return publish(result, grammar_table(result), output, table_name("blimp", model_name, limit))


def fastest_precision(model: nn.Module, tokenizer: Tokenizer) -> str:
    """The precision of matrix products in which a model reads BLiMP faster on this machine: "float32" or "bfloat16"."""
    batch = encode_batch(tokenizer, [of_paradigm[0].good for of_paradigm in blimp_pairs().values()])
    return faster_precision(
        model, lambda: model.bert(*batch).last_hidden_state.sum(), torch.device("cpu"), learns=False
    )


def score_pairs(
    model: nn.Module,
    tokenizer: Tokenizer,
    limit: int | None = None,
    scores_of: Callable[[nn.Module, Tokenizer, list[str]], ArrayLike] = pseudo_log_likelihoods,
) -> dict:
    """The accuracy, in percent, of any model that gives sentences a score.

    Args:
        model, tokenizer: to measure.
        limit: how many pairs of each paradigm to use, from the first on; None for all.
        scores_of: gives each of N sentences a number, higher for likelier ones; for chapter 11's ELECTRA this is
            ``replaced_token_scores``.

    Returns:
        "limit", "pairs" (how many) and "seconds"; and under "groups" and "paradigms", by name, how many "paradigms",
        "accuracy", "low" and "high" (95 %), and the "published" accuracies of others on the same paradigms. Groups are
        "all", the paradigms of "odd number" and of "even number" (1 to 67, in the order of ``blimp_pairs``), the 12
        phenomena, and "agreement across a noun".
    """
    pairs, start, right = blimp_pairs(), time.perf_counter(), {}
    with progress_bar(total=len(pairs), desc="paradigms") as bar:
        for name, of_paradigm in pairs.items():
            good, bad = (list(sentences) for sentences in zip(*of_paradigm[:limit]))
            different = list(dict.fromkeys(good + bad))  # equal sentences get the same score, whatever their batch
            scores = dict(zip(different, np.asarray(scores_of(model, tokenizer, different)).tolist()))
            right[name] = is_right(*(np.array([scores[text] for text in texts]) for texts in (good, bad)))
            bar.update()
    published = read_published()
    return {
        "limit": limit,
        "pairs": sum(map(len, right.values())),
        "seconds": round(time.perf_counter() - start),
        "groups": {name: summary(right, published, group) for name, group in groups(published).items()},
        "paradigms": {name: summary(right, published, [name]) for name in right},
    }


def is_right(good: NDArray, bad: NDArray) -> NDArray:
    """(N,), 1 where the good sentence is more likely, ½ where both are equally likely, 0 elsewhere.

    >>> is_right(np.array([-1.0, -2.0, -2.0]), np.array([-2.0, -2.0, -1.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    return np.where(good == bad, 0.5, good > bad)


def read_published() -> dict[str, dict[str, str]]:
    """For each paradigm, its "phenomenon" and the accuracies of ``PUBLISHED``, in percent.

    Source: raw_results/summary of github.com/alexwarstadt/blimp, as corrected in 2021; the means are those in the
    corrected table 3 of Warstadt et al. 2020. "human" is the share of single judgments that were right, with about 20
    people judging each of 5 pairs per paradigm.
    """
    with (resources.files("bertcourse_lab.benchmarks") / "blimp_published.tsv").open(encoding="utf-8") as file:
        return {row["paradigm"]: row for row in csv.DictReader(file, delimiter="\t")}


def groups(published: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """The paradigms in each row of the table."""
    names = sorted(published)
    phenomena = sorted({row["phenomenon"] for row in published.values()})
    return {
        "all": names,
        "odd number": names[::2],
        "even number": names[1::2],
        **{
            phenomenon.replace("_", " "): [name for name in names if published[name]["phenomenon"] == phenomenon]
            for phenomenon in phenomena
        },
        "agreement across a noun": list(ACROSS_A_NOUN),
    }


def summary(
    right: Mapping[str, NDArray], published: Mapping[str, Mapping[str, str]], paradigms: Sequence[str]
) -> dict[str, float | dict[str, float]]:
    """The mean over paradigms, its interval, and the published means."""
    mean = np.mean([right[name].mean() for name in paradigms])
    variances = [np.append(right[name], [0, 1]).var() / len(right[name]) for name in paradigms]
    error = np.sqrt(sum(variances)) / len(paradigms)
    low, high = np.clip([mean - 1.96 * error, mean + 1.96 * error], 0, 1)
    return {
        "paradigms": len(paradigms),
        **{name: round(100 * float(value), 2) for name, value in (("accuracy", mean), ("low", low), ("high", high))},
        "published": {
            system: round(float(np.mean([float(published[name][system]) for name in paradigms])), 1)
            for system in PUBLISHED
        },
    }


def grammar_table(result: dict) -> str:
    """The table for people to read."""

    def rows(kind: str) -> list[list[str]]:
        return [
            [
                name,
                *([str(row["paradigms"])] if kind == "groups" else []),
                f"{row['accuracy']:.1f}",
                f"[{row['low']:.1f}, {row['high']:.1f}]",
                *(f"{row['published'][system]:.1f}" for system in PUBLISHED),
            ]
            for name, row in result[kind].items()
        ]

    columns = ["accuracy", "95 %", *PUBLISHED]
    lines = [
        f"# BLiMP: {result['model']}",
        "",
        f"Accuracy in percent on {result['pairs']:,} pairs of sentences, by pseudo-log-likelihood; a tie counts half, "
        "chance is 50, paradigms count alike. The interval is normal, of pairs drawn again within each paradigm. "
        "Beside it Warstadt et al. 2020, as corrected in 2021; people are single judgments. Agreement across a noun: "
        f"{' and '.join(ACROSS_A_NOUN)}. {result['seconds']:,} seconds, products in "
        f"{result['precision']}.",
        "",
        *table_lines(["paradigms", "number", *columns], rows("groups")),
        "",
        "## By paradigm",
        "",
        *table_lines(["paradigm", *columns], rows("paradigms")),
        "",
    ]
    return "\n".join(lines)

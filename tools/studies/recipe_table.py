"""The study of recipes as a table: mean over seeds ± half of the 95 % interval (Student's t).

    python tools/studies/recipe_table.py     # reads data/runs/recipes, writes data/results/recipes.json and .md

It reads the logs and measures that ``tools/studies/recipes.py`` keeps there, and the speeds of ``recipe_speeds.py``.
Arms with one seed have no interval. What an arm gained is its loss minus that of the arm that it changes
(``REFERENCES``), seed by seed; an interval that includes 0 is marked as a null.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from recipes import ABOUT, FALL, FLAT, ONE_SEED, SEEDS
from scipy import stats

from bertcourse.datasets import course_file
from bertcourse.files import read_json
from bertcourse.pretraining import read_log
from bertcourse_lab.benchmarks.tables import table_lines, write_table

COLUMNS = {  # name, digits
    "M tokens to 6 nats": 2,
    "M tokens to bigram": 2,
    "loss at 5 M": 2,
    "loss at equal time": 2,
    "loss at end": 2,
    "loss, full sentences": 2,
    "BLiMP odd": 1,
    "BLiMP even": 1,
    "senses": 1,
    "few labels": 1,
    "few labels, fine-tuned": 1,
    "cosine": 2,
    "rogue share": 2,
}
EQUAL_TIME = {"screen": 3_000_000, "finals": 25_000_000}  # tokens of ``recipe_speeds.BASELINE``
FULL = "full sentences of 64, 80/10/10"
REFERENCES = {  # arm: the arm that it changes
    "rotary": "bert",
    "no-positions": "bert",
    "pre": "bert",
    "no-positions-pre": "no-positions",
    "masks": "bert",
    "local": "bert",
    "start": "bert",
    "plain": "start",
    "plain-geglu": "plain",
    "plain-no-nsp": "plain",
    "plain-full": "plain-no-nsp",
    "plain-muon": "plain",
    "modern": "plain",
    "noise-positions": "bert",
    "plain-muon-64": "plain-64",
}


def crossing(evaluations: list[dict], mark: float) -> float | None:
    """After how many million tokens the held-out loss first reached ``mark``, interpolated between two measurements.

    >>> crossing([{"tokens": 0, "mlm_loss": 9}, {"tokens": 200_000, "mlm_loss": 5}], 7)
    0.1
    """
    for before, after in zip(evaluations, evaluations[1:]):
        if after["mlm_loss"] <= mark:
            share = (before["mlm_loss"] - mark) / (before["mlm_loss"] - after["mlm_loss"])
            return (before["tokens"] + share * (after["tokens"] - before["tokens"])) / 1e6
    return None


def loss_after(evaluations: list[dict], tokens: float) -> float | None:
    """The held-out loss after so many tokens, interpolated between two measurements; None after the last.

    >>> loss_after([{"tokens": 0, "mlm_loss": 9}, {"tokens": 200_000, "mlm_loss": 5}], 50_000)
    8.0
    """
    places, losses = ([line[key] for line in evaluations] for key in ("tokens", "mlm_loss"))
    return float(np.interp(tokens, places, losses)) if tokens <= places[-1] else None


def values_of(
    log: list[dict],
    measures: dict | None,
    bigram: float,
    until: float = math.inf,
    speed: float | None = None,
    equal_time: float = math.inf,
) -> dict[str, float]:
    """A run's row of the table, as far as it was measured.

    Args:
        log, measures: of the run.
        bigram: loss of a bigram model.
        until: a loss that is not reached within so many tokens counts as reached at infinity.
        speed: tokens read while the baseline reads one.
        equal_time: how many tokens the baseline has read when arms are compared.
    """
    evaluations = [line for line in log if line["event"] == "evaluation"]
    end, is_electra = evaluations[-1], "replaced_loss" in evaluations[-1]  # whose MLM is a small generator's
    near = min(evaluations, key=lambda line: abs(line["tokens"] - FLAT))
    at_flat_rate = [line for line in evaluations if line["tokens"] < until + 50_000]
    found = {
        "M tokens to 6 nats": crossing(at_flat_rate, 6) or math.inf,
        "M tokens to bigram": crossing(at_flat_rate, bigram) or math.inf,
        "loss at 5 M": near["mlm_loss"] if abs(near["tokens"] - FLAT) < 100_000 else None,
        "loss at equal time": loss_after(at_flat_rate, speed * equal_time) if speed else None,
        "loss at end": end["mlm_loss"],
    }
    if measures:
        last = measures["space"][-1]
        found |= {
            "loss, full sentences": measures["mlm"][FULL]["loss"] if "mlm" in measures else None,
            "BLiMP odd": measures["blimp"]["groups"]["odd number"]["accuracy"] if "blimp" in measures else None,
            "BLiMP even": measures["blimp"]["groups"]["even number"]["accuracy"] if "blimp" in measures else None,
            "senses": measures["senses"]["rows"]["last layer, raw"]["f1"],
            "few labels": measures["few_labels"]["frozen"]["mean"],
            "few labels, fine-tuned": measures["few_labels"]["fine-tuned"]["mean"],
            "cosine": last["expected_cosine"],
            "rogue share": last["largest"][0]["share"],
        }
    is_hidden = {name: is_electra and name.startswith(("M tokens", "loss")) for name in found}
    return {name: value for name, value in found.items() if value is not None and not is_hidden[name]}


def summary(values: list[float]) -> dict[str, float]:
    """The mean, half of its 95 % interval by Student's t (not for a single value), and how many values there are. If
    some are infinite: how many are finite, and the largest of those."""
    if math.inf in values:
        reached = [value for value in values if value < math.inf]
        return {"reached": len(reached), "seeds": len(values)} | ({"largest": max(reached)} if reached else {})
    result = {"mean": float(np.mean(values)), "seeds": len(values)}
    if len(values) > 1:
        error = np.std(values, ddof=1) / math.sqrt(len(values))
        result["margin"] = float(stats.t.ppf(0.975, len(values) - 1) * error)
    return result


def text_of(found: dict[str, float] | None, digits: int, expected: int) -> str:
    """A cell of the table.

    >>> text_of({"mean": 4.4567, "margin": 0.034, "seeds": 3}, 2, 3), text_of(None, 2, 3)
    ('4.46 ± 0.03', '–')
    >>> text_of({"reached": 1, "seeds": 3, "largest": 4.5}, 2, 3)
    '1 of 3 got there'
    >>> text_of({"mean": 4.9, "seeds": 1}, 2, 3)
    '4.90 (1 of 3)'
    """
    if found is None:
        return "–"
    if "reached" in found:
        return f"{found['reached']} of {found['seeds']} got there"
    margin = f" ± {found['margin']:,.{digits}f}" if "margin" in found else ""
    few = f" ({found['seeds']} of {expected})" if found["seeds"] < expected else ""
    return f"{found['mean']:,.{digits}f}{margin}{few}"


def what_each_brought(losses: dict[str, dict[int, float]]) -> list[list[str]]:
    """Rows of the second table: arm, the arm that it changes, and its loss minus that arm's, over the seeds of both.

    >>> what_each_brought({"bert": {0: 5.2, 1: 5.0}, "rotary": {0: 4.3, 1: 4.2}, "masks": {0: 5.1}})
    [['rotary', 'bert', '-0.85 ± 0.64', ''], ['masks', 'bert', '-0.10', 'one seed']]
    """
    rows = []
    for arm, reference in REFERENCES.items():
        seeds = sorted(losses.get(arm, {}).keys() & losses.get(reference, {}).keys())
        if seeds:
            found = summary([losses[arm][seed] - losses[reference][seed] for seed in seeds])
            margin = found.get("margin")
            told = "one seed" if margin is None else "null" if abs(found["mean"]) <= margin else ""
            rows.append([arm, reference, text_of(found, 2, 0), told])
    return rows


class Runs(NamedTuple):
    """What was measured, read from the logs and measures of a folder.

    Attributes:
        rows: for each row of the table, the ``values_of`` its runs.
        losses: for each arm of the screening, its loss at the end by seed.
        hours: of a core, in training.
    """

    rows: dict[str, list[dict[str, float]]]
    losses: dict[str, dict[int, float]]
    hours: float


def runs_of(folder: Path, bigram: float, speeds: dict[str, float]) -> Runs:
    """All runs of a folder.

    Args:
        folder: has the logs, each called ``recipes.run_name``, and their measures, as far as there are any.
        bigram: loss of a bigram model.
        speeds: of ``recipe_speeds``, by arm.
    """
    rows: dict[str, list[dict[str, float]]] = {}
    losses: dict[str, dict[int, float]] = {}
    seconds = 0.0
    for path in sorted(folder.glob("*.jsonl")):
        stage, _, run = path.stem.partition("-")
        arm, _, rest = run.rpartition("-seed")
        seed, _, factor = rest.partition("-rate")
        measures = folder / f"measures-{path.stem}.json"
        log = read_log(path)
        until = FLAT if stage == "screen" else math.inf
        measured = read_json(measures) if measures.is_file() else None
        found = values_of(log, measured, bigram, until, speeds.get(arm), EQUAL_TIME[stage])
        name = arm + (f", rate × {factor}" if factor else "") + (", 50 M" if stage == "finals" else "")
        rows.setdefault(name, []).append(found)
        if name == arm and "loss at end" in found:
            losses.setdefault(arm, {})[int(seed)] = found["loss at end"]
        seconds += log[-1]["seconds"] * next(line.get("processes", 1) for line in log if line["event"] == "run")
    return Runs(rows, losses, seconds / 3600)


def summaries(rows: dict[str, list[dict[str, float]]], speeds: dict[str, float]) -> dict[str, dict]:
    """For each row, in the order of ``ABOUT``, the ``summary`` of each column, and the speed of its arm."""
    order = {arm: place for place, arm in enumerate(ABOUT)}
    names = sorted(rows, key=lambda name: (", " in name, order[name.split(",")[0]], name))
    result: dict[str, dict] = {}
    for name in names:
        columns = {column: [run[column] for run in rows[name] if column in run] for column in COLUMNS}
        result[name] = {column: summary(values) if values else None for column, values in columns.items()}
        result[name]["speed"] = speeds.get(name.split(",")[0])
    return result


def table(runs: Runs, result: dict[str, dict], bigram: float, pace: int | None = None) -> str:
    """The study for people: what was made, the columns, the table, and what each arm brought.

    Args:
        runs, result: from ``runs_of`` and ``summaries``.
        bigram: loss of a bigram model.
        pace: tokens per second of bert when the speeds were measured.
    """
    rows = []
    for name, found in result.items():
        expected = 1 if ", " in name or name in ONE_SEED else len(SEEDS)
        cells = [text_of(found[column], digits, expected) for column, digits in COLUMNS.items()]
        rows.append([name, *cells, "–" if found["speed"] is None else f"{found['speed']:.2f}"])
    has_finals, has_rates = (any(mark in name for name in result) for mark in ("50 M", "rate ×"))
    lines = [
        "# Recipes: what each change to BERT is worth",
        "",
        "Each cell is a mean over seeds ± half of its 95 % interval (Student's t). Without ± there is one seed; (n of "
        f"m) means that n of m runs have a value. A run reads {FLAT / 1e6:g} million tokens at a constant learning "
        f"rate, then {FALL / 1e6:g} million while the rate falls to zero"
        + (
            "; those marked 50 M read as many, in bfloat16 and compiled, one seed each."
            if has_finals
            else ". No longer runs have been finished."
        ),
        "",
        "Made by `python tools/studies/recipes.py screen` and `finals`, then `python tools/studies/recipe_table.py`. "
        f"So far {sum(map(len, runs.rows.values()))} runs, {runs.hours:.0f} hours of a core, measuring not counted. No "
        "arm "
        "was tuned but Muon, whose rate a pilot chose, and the start: the same pilot chose its heads and layers, on "
        "the same books. All others have the learning rate of the course's checkpoint"
        + (", and the rows *rate ×* show, for one seed, what half and twice of it do." if has_rates else "."),
        "",
        "- **M tokens to …**: how many million tokens, at the constant rate, until the held-out loss is below 6 nats "
        f"and below {bigram:.2f}, a bigram model's on the same rows.",
        "- **loss**: held-out masked language modelling in nats, on sentence pairs. Arms trained on full sentences are "
        "at home on those; one of their updates has a fifth fewer tokens.",
        "- **speed, equal time**: speed is how many tokens an arm reads while bert reads one, measured once "
        "(`tools/studies/recipe_speeds.py`; arms of the same network differ by up to 0.05"
        + (f"; bert read {pace:,} tokens a second, on one core" if pace else "")
        + "); equal time is when bert has read "
        f"{EQUAL_TIME['screen'] / 1e6:g} million (50 M: {EQUAL_TIME['finals'] / 1e6:g}, by the same speeds, which are "
        "those of float32).",
        "- **BLiMP**: the odd-numbered paradigms are for choosing, the even-numbered ones for reporting; 25 pairs each "
        "(50 M: 200), so a difference of two or three points may be chance. ELECTRA has no MLM head; its score "
        "is the probability that every token is original.",
        "- **senses**: F1 of the nearest sense by the last layer, from 8,000 sentences of SemCor (50 M: all) to ALL.",
        "- **few labels**: accuracy on tickets from 48 labels, with a classifier on the frozen encoder (twenty draws), "
        "and with everything fine-tuned (three draws).",
        "- **cosine, rogue share**: the expected cosine in the last layer, and how much of it is due to a single "
        "dimension.",
        "",
        *table_lines(["arm", *COLUMNS, "speed"], rows),
        "",
        "What each arm brought: its loss at the end minus that of the arm that it changes, seed by seed; negative is "
        "better. A null is an interval that includes zero: with three seeds, it may also hide a large effect. The "
        "intervals are not corrected for their number, so one in twenty misses zero by chance.",
        "",
        *table_lines(["arm", "changes", "nats", ""], what_each_brought(runs.losses)),
        "",
        *table_lines(["arm", "what it is"], [[arm, ABOUT[arm]] for arm in ABOUT if has_row_of(arm, result)]),
        "",
    ]
    return "\n".join(lines)


def has_row_of(arm: str, result: dict[str, dict]) -> bool:
    """Whether an arm is in the table, or is needed to say what another one is.

    >>> has_row_of("plain", {"plain, 50 M": {}}), has_row_of("plain", {"plain-full": {}})
    (True, False)
    """
    return arm == "local" or any(name.split(",")[0] == arm for name in result)


def main() -> None:
    folder = course_file("runs/README.md").parent / "recipes"
    bigram = read_json(folder / "counts.json")["bigram_loss"]
    measured = read_json(folder / "speeds.json") if (folder / "speeds.json").is_file() else {"speeds": {}}
    speeds = measured["speeds"]
    runs = runs_of(folder, bigram, speeds)
    result = summaries(runs.rows, speeds)
    text = table(runs, result, bigram, measured.get("bert_tokens_per_second"))
    write_table(course_file("results/README.md").parent, "recipes", result, text)
    print(text)


if __name__ == "__main__":
    main()

"""Which changes to BERT are worth their compute? Recipes side by side, everything else the same, three seeds.

    export BERTCOURSE_DATA=FOLDER
    python tools/studies/recipes.py screen --minutes 120     # 5.5 million tokens an arm and seed
    python tools/studies/recipes.py finals --minutes 120     # 50 million tokens
    python tools/studies/recipe_speeds.py
    python tools/studies/recipe_table.py

An arm is a recipe (``bertcourse_lab.pretraining.recipes``). All train a model of BERT's kind, 256 wide, 4 layers, on
Standard Ebooks in rows of at most 64 tokens, 16 per step, with one thread per process and ``--jobs`` runs at once. In
screening, the learning rate is constant for five million tokens, then falls to zero within half a million; finals read
50 million, over whose last fifth it falls. Screening is in float32, finals in bfloat16 and compiled, for speed.
Rounding moves the end of a plateau (in an earlier run without compilation, seed 0 of bert passed 6 nats after 2.7
million tokens instead of 3.5), so finals are compared with finals only. Every arm is measured on the same 512 held-out
rows of sentence pairs, 15 % hidden, 80/10/10 (ELECTRA's generator, a quarter as wide, is not compared). All arms have
the learning rate of the course's checkpoint; Muon's comes from a pilot study, which also chose, on the same books, how
many heads begin by looking at neighbours and in which layers. An arm may change several things (``modern``,
``plain-full``, ``electra``). Prepared, and not run yet: seed 0 of two arms at half and at twice its rate, which would
show whether the rate was unkind to one of them; and screenings with one seed, for single changes in modern and for Muon
with larger batches.

Finals have one seed. Finalists are bert, plain and modern: plain, not plain-no-nsp, although that ends 0.05 nats lower,
as lectures and tools use a BERT's second head, too. Two more stand between plain and modern, to tell where a lead of
modern comes from: plain-pre has only its place of the norms, modern-post everything else.

A run that was stopped, or whose leg ran out of minutes, resumes at the next call, from what is in ``--folder``. A
finished run is measured (BLiMP, senses, few labels, cosines: three minutes; finals, on more pairs and sentences, twelve
or more), and its log and measures go into data/runs/recipes. Whatever is there is not run again, wherever its weights
are.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from recipe_measures import QUICK, THOROUGH, as_one_segment, measure

from bertcourse.bert.folders import open_folder
from bertcourse.bert.tokenizer_files import read_tokenizer
from bertcourse.beyond_bert.electra_files import load_electra
from bertcourse.beyond_bert.encoder import EncoderForPreTraining
from bertcourse.beyond_bert.files import load_pretrained
from bertcourse.datasets import course_file
from bertcourse.files import replace_files
from bertcourse.pretraining import Corpus, CountModel, Vocabulary, read_log
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches
from bertcourse_lab.pretraining.checkpoints import checkpoints
from bertcourse_lab.pretraining.config import PRESETS, PretrainingConfig
from bertcourse_lab.pretraining.recipes import ALL_MASKED, Recipe
from bertcourse_lab.pretraining.shards import books_corpus
from bertcourse_lab.pretraining.trainer import pretrain
from bertcourse_lab.training import Interrupted

LOCAL = dict(local_layers=2, local_offsets="-1,1,-2,2")
START = dict(**LOCAL, initial_outputs="zero")
MASKS = dict(mask_rate=0.3, last_mask_rate=0.15)
PLAIN = dict(**START, **MASKS)
FULL = dict(packing="full-sentences", nsp=False, short_rate=0.0)
DEPARTURES = dict(
    positions="rotary", norm="pre", norm_kind="rms", qk_norm=True, bias=False, gated=True, intermediate_size=688
)
MODERN_SETTINGS = dict(initial_outputs="zero", **MASKS)
ARMS = {  # in the order in which they are run
    "bert": Recipe(),
    "plain": Recipe(PLAIN),
    "modern": Recipe(MODERN_SETTINGS, DEPARTURES),
    "rotary": Recipe({}, dict(positions="rotary")),
    "masks": Recipe(MASKS),
    "pre": Recipe({}, dict(norm="pre")),
    "no-positions": Recipe({}, dict(positions="none")),
    "no-positions-pre": Recipe({}, dict(positions="none", norm="pre")),
    "plain-geglu": Recipe(PLAIN, dict(gated=True, intermediate_size=688)),  # 2/3 of the width, as many weights
    "plain-no-nsp": Recipe({**PLAIN, "nsp": False}),
    "plain-full": Recipe({**PLAIN, **FULL}),
    "plain-muon": Recipe(PLAIN, muon_rate=0.01),
    "start": Recipe(START),
    "local": Recipe(LOCAL),
    "electra": Recipe({**START, **ALL_MASKED, "nsp": False}, objective="replaced"),
    "modern-layer-norm": Recipe(MODERN_SETTINGS, {**DEPARTURES, "norm_kind": "layer"}),
    "modern-post": Recipe(MODERN_SETTINGS, {**DEPARTURES, "norm": "post"}),
    "plain-pre": Recipe(PLAIN, dict(norm="pre")),
    "noise-positions": Recipe(dict(initial_positions="normal")),
    "plain-64": Recipe({**PLAIN, "batch_size": 64}),
    "plain-muon-64": Recipe({**PLAIN, "batch_size": 64}, muon_rate=0.01),
}
FIRST = 12  # of these arms have all their seeds before the others begin
ONE_SEED = (
    "local",
    "modern-layer-norm",
    "modern-post",
    "plain-pre",
    "noise-positions",
    "plain-64",
    "plain-muon-64",
)
OTHER_RATES = ("bert", "plain")
ABOUT = {
    "bert": "BERT as the course's checkpoint began: learned positions, post-LN, NSP, 15 %",
    "rotary": "rotary positions",
    "no-positions": "no positions",
    "no-positions-pre": "no positions, pre-LN",
    "pre": "pre-LN",
    "masks": "masks 30 % falling to 15 %",
    "local": "heads of two layers begin by looking at neighbours",
    "start": "the same, and outputs begin at zero",
    "plain": "the same, and masks 30 % falling to 15 %",
    "plain-geglu": "plain, with GeGLU",
    "electra": "start, and ELECTRA's replaced tokens; a generator of a quarter's width, with the same start; no NSP",
    "plain-muon": "plain, with Muon",
    "plain-no-nsp": "plain, no NSP",
    "plain-full": "plain, no NSP, full sentences",
    "modern": "rotary, pre-RMSNorm, norms on queries and keys, GeGLU, no biases, zero outputs, masks 30 to 15 %",
    "modern-layer-norm": "modern, with layer norms",
    "modern-post": "modern, post-norm",
    "plain-pre": "plain, pre-LN",
    "noise-positions": "bert, its positions at first noise, as Devlin et al. have them, not sines and cosines",
    "plain-64": "plain, 64 rows per step",
    "plain-muon-64": "plain, with Muon, 64 rows per step",
}
FLAT, FALL, WARMUP = 5_000_000, 500_000, 250_000  # tokens
SHARED = {
    **PRESETS["books-cpu"],
    "lengths": "64:1",
    "evaluation_rows": 512,
    "precision": "float32",
    "threads": 1,
    "snapshots": "1",
}
KEPT = ("event", "step", "tokens", "seconds", "mlm_loss", "nsp_loss", "replaced_loss", "learning_rate")
SEEDS = (0, 1, 2)
FINAL_TOKENS = 50_000_000
DATA = course_file("runs/README.md").parent / "recipes"
FINALISTS = ("bert", "plain", "modern", "modern-post", "plain-pre")


def schedule(tokens: int, fall: int, every: int) -> dict:
    """Settings of a run of so many tokens: its rate falls over the last ``fall``, and it is evaluated
    every ``every`` tokens."""
    return dict(
        tokens=tokens,
        warmup=WARMUP / tokens,
        decay=fall / tokens,
        evaluate_every=every / tokens,
        log_every=50_000 / tokens,
    )


def planned(stage: str) -> list[tuple[str, int, float]]:
    """The runs of a stage, in order: arm, seed, and factor of the learning rate."""
    if stage == "screen":
        first, others = list(ARMS)[:FIRST], list(ARMS)[FIRST:]
        runs = [(arm, seed, 1) for arms in (first, others) for seed in SEEDS for arm in arms]
        runs = [run for run in runs if run[0] not in ONE_SEED or run[1] == SEEDS[0]]
        return runs + [(arm, SEEDS[0], factor) for arm in OTHER_RATES for factor in (0.5, 2)]
    return [(arm, SEEDS[0], 1) for arm in FINALISTS]


def run_name(stage: str, arm: str, seed: int, factor: float) -> str:
    """What a run's files are called.

    >>> run_name("screen", "plain", 0, 2)
    'screen-plain-seed0-rate2'
    """
    return f"{stage}-{arm}-seed{seed}" + (f"-rate{factor:g}" if factor != 1 else "")


def is_kept(name: str, to: Path) -> bool:
    """Whether a run has ended and its log and measures are among the project's data."""
    return (to / f"{name}.jsonl").is_file() and (to / f"measures-{name}.json").is_file()


def is_done(folder: Path) -> bool:
    """Whether a run has ended."""
    return (folder / "model-100" / "config.json").is_file()


def changed_rate(recipe: Recipe, factor: float) -> Recipe:
    """The recipe with its learning rate times this factor; not Muon's, which is another one."""
    rate = {**SHARED, **recipe.settings}.get("learning_rate", PretrainingConfig.learning_rate)
    return replace(recipe, settings={**recipe.settings, "learning_rate": rate * factor})


def held_out_rows(corpus: Corpus, packing: str = "sentence-pairs", **masks: float) -> list:
    """What all arms are measured on, whatever they were trained on: 512 sentence pairs, 15 % hidden, by 80/10/10 or
    ELECTRA's masks; in one segment for arms that were not trained on pairs and so have no second segment vector."""
    pairs, vocabulary = RowMaker("sentence-pairs", 0.1), Vocabulary.of(corpus.tokenizer)
    batches = list(fixed_batches(corpus.held_out, vocabulary, pairs, 64, SHARED["evaluation_rows"], **masks))
    return batches if packing == "sentence-pairs" else as_one_segment(batches)


def settings_of(stage: str, recipe: Recipe, seed: int, output: Path) -> PretrainingConfig:
    """All settings of a run."""
    length = {
        "screen": schedule(FLAT + FALL, FALL, 200_000),
        "finals": dict(schedule(FINAL_TOKENS, FINAL_TOKENS // 5, 500_000), precision="bfloat16", compile=True),
    }[stage]
    return PretrainingConfig(**{**SHARED, **length, "seed": seed, "output": str(output), **recipe.settings})


def is_first_process() -> bool:
    """Whether this is the process that writes, if torchrun started several."""
    return os.environ.get("RANK", "0") == "0"


def train(stage: str, arm: str, seed: int, factor: float, output: Path) -> None:
    """One run, from its newest checkpoint if there is one."""
    recipe = changed_rate(ARMS[arm], factor)
    config = settings_of(stage, recipe, seed, output)
    corpus = books_corpus(read_tokenizer(open_folder(config.tokenizer)))
    parts = recipe.parts()
    held_out = held_out_rows(corpus, config.packing, **parts.held_out_masks)
    evaluate = parts.evaluate
    parts = parts._replace(evaluate=lambda model, _, processes: evaluate(model, held_out, processes))
    try:
        pretrain(config, bool(checkpoints(output)), corpus, parts)
    except Interrupted as reason:
        if is_first_process():
            print(f"{output.name} {reason}", flush=True)
        return
    if not is_first_process():
        return
    last = [line for line in read_log(output / "log.jsonl") if line["event"] == "evaluation"][-1]
    print(f"{output.name}: {last['mlm_loss']:.3f} nats after {last['tokens']:,} tokens", flush=True)


def run_stage(stage: str, folder: Path, jobs: int, processes: int, minutes: float, arms: list[str]) -> None:
    """Make the runs that are not kept yet, ``jobs`` at once, each in one-threaded processes, for so many minutes.

    Raises:
        ValueError: if an arm has no run in this stage.
        SystemExit: once all have ended, if one of them failed.
    """
    if strangers := set(arms) - {arm for arm, _, _ in planned(stage)}:
        known = dict.fromkeys(arm for arm, _, _ in planned(stage))
        raise ValueError(f"arms of {stage} must be some of {', '.join(known)}; got {', '.join(sorted(strangers))}.")
    launch = [sys.executable]
    if processes > 1:
        launch += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    runs = [run for run in planned(stage) if not arms or run[0] in arms]
    waiting = [["one", stage, *map(str, run)] for run in runs if not is_kept(run_name(stage, *run), DATA)]
    running: list[subprocess.Popen] = []
    failed: list[subprocess.Popen] = []
    stop_at = time.monotonic() + 60 * minutes
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def note(process: subprocess.Popen) -> None:
        failed.append(process)
        print(f"failed: {' '.join(map(str, process.args))}", flush=True)

    try:
        while (waiting or running) and time.monotonic() < stop_at:
            for process in running:
                if process.poll():
                    note(process)
            running = [process for process in running if process.returncode is None]
            while waiting and len(running) < jobs:
                command = [*launch, __file__, *waiting.pop(0), "--folder", str(folder)]
                running.append(subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}))
            time.sleep(1)
    except KeyboardInterrupt:
        pass
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)  # a training saves where it is
        stopped = (0, -signal.SIGTERM) if processes == 1 else (0, 1)  # 1: how torchrun ends when it is stopped
        for process in running:
            if process.wait() not in stopped:
                note(process)
    if failed:
        sys.exit(1)


def measures_of(run: Path) -> dict:
    """``recipe_measures.measure`` of a run's model, without the answers one by one."""
    torch.set_num_threads(1)
    folder = run / "model-100"
    if (folder / "electra").is_dir():  # its discriminator has no MLM head
        model, tokenizer = load_electra(folder / "electra")
    else:
        model, tokenizer = load_pretrained(folder, EncoderForPreTraining)
    started = next(line for line in read_log(run / "log.jsonl") if line["event"] == "run")
    pairs = started["config"]["packing"] == "sentence-pairs"
    sizes = QUICK if run.name.startswith("screen-") else THOROUGH
    found = {"model": run.name, **measure(model, tokenizer, sizes, length=64, pairs=pairs)}
    for row in found["senses"]["rows"].values():
        row.pop("right")
    return found


def log_of(run: Path) -> list[dict]:
    """A run's log, with each ``train`` line reduced to what a figure needs."""
    log = read_log(run / "log.jsonl")
    for line in log:
        if line["event"] == "run":  # one per leg
            line["config"]["output"] = f"runs/recipes/{run.name}"
    return [{k: line[k] for k in KEPT if k in line} if line["event"] == "train" else line for line in log]


def keep(run: Path, to: Path) -> None:
    """Put the log and measures of a finished run among the project's data and, once, what a bigram model loses on the
    rows that all are measured on."""
    files = {f"{run.name}.jsonl": log_of(run), f"measures-{run.name}.json": [measures_of(run)]}
    if not (to / "counts.json").is_file():
        corpus = books_corpus(read_tokenizer(open_folder("course")))
        counts = CountModel(corpus.train, Vocabulary.of(corpus.tokenizer).size)
        files["counts.json"] = [counts.losses(held_out_rows(corpus))]
    with replace_files(to, list(files)) as draft:
        for name, lines in files.items():
            (draft / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    print(f"{run.name}: kept in {to}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for stage in ("screen", "finals"):
        command = commands.add_parser(stage)
        command.add_argument("arms", nargs="*", help="(default: all)")
        command.add_argument("--jobs", type=int, default=2, help="runs at once (default: %(default)s)")
        command.add_argument("--processes", type=int, default=1, help="of each run (default: %(default)s)")
        command.add_argument("--minutes", type=float, default=150, help="the most for this leg (default: %(default)s)")
    one = commands.add_parser("one", help="a single run")
    one.add_argument("stage", choices=("screen", "finals"))
    one.add_argument("arm", choices=list(ARMS))
    one.add_argument("seed", type=int)
    one.add_argument("factor", type=float)
    for command in commands.choices.values():
        command.add_argument("--folder", type=Path, default=Path("runs/recipes"), help="(default: %(default)s)")
    options = parser.parse_args()
    if options.command == "one":
        run = (options.stage, options.arm, options.seed, options.factor)
        output = options.folder / run_name(*run)
        if not is_done(output):
            train(*run, output)
        if is_done(output) and is_first_process():
            keep(output, DATA)
    else:
        run_stage(options.command, options.folder, options.jobs, options.processes, options.minutes, options.arms)


if __name__ == "__main__":
    main()

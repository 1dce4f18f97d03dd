"""The run: it learns, stops and goes on bitwise, on one process or two, and says what is wrong."""

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
import safetensors.torch
import torch
from tokenizers import Tokenizer, models
from tqdm import tqdm

from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.pretraining import Corpus, Documents, SmallWorld, read_log
from bertcourse.pretraining.trainer import losses, train
from bertcourse_lab import cli
from bertcourse_lab.pretraining import trainer
from bertcourse_lab.pretraining.checkpoints import checkpoints
from bertcourse_lab.pretraining.config import PRESETS, PretrainingConfig
from bertcourse_lab.pretraining.cost import flops_per_token
from bertcourse_lab.pretraining.objective import Losses
from bertcourse_lab.pretraining.trainer import pretrain
from bertcourse_lab.training import Interrupted

TINY = dict(
    corpus="small-world",
    world_tokens=4000,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=64,
    lengths="16:0.5,32:0.5",
    evaluation_length=16,
    evaluation_rows=32,
    batch_size=8,
    tokens=4000,
    log_every=0.1,
    evaluate_every=0.5,
    precision="float32",
    dropout=0.1,
    threads=2,
    learning_rate=1e-2,
    checkpoint_minutes=100.0,
)


@pytest.fixture(scope="module")
def corpus():
    return SmallWorld().corpus(num_tokens=4000)._replace(probe=None)


@pytest.fixture(autouse=True)
def small_matrices(monkeypatch):
    monkeypatch.setattr(trainer, "peak_flops", lambda device, dtype: 1e11)


@pytest.fixture
def config(tmp_path) -> PretrainingConfig:
    return PretrainingConfig(**TINY, output=str(tmp_path / "run"))


def stop_at(monkeypatch, step: int, number: int) -> None:
    """Send this process a signal in the middle of a step."""
    whole = trainer.PretrainingRun.backward

    def interrupted(self, chunks):
        if self.progress.step == step:
            signal.raise_signal(number)
        return whole(self, chunks)

    monkeypatch.setattr(trainer.PretrainingRun, "backward", interrupted)


def equal(one: BertForPreTraining, other: BertForPreTraining) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values()))


def events(config: PretrainingConfig, kind: str) -> list[dict]:
    return [event for event in read_log(trainer.Path(config.output) / "log.jsonl") if event["event"] == kind]


def test_a_run_learns_and_leaves_a_model_log_and_checkpoints(config, corpus, tmp_path):
    model = pretrain(dataclasses.replace(config, tokens=20_000, snapshots="0.1,1"), corpus=corpus)
    assert not model.training
    losses = [event["mlm_loss"] for event in events(config, "evaluation")]
    assert len(losses) == 3 and losses[0] > 6.5 and losses[-1] < 5.5
    assert events(config, "run")[0]["parameters"] == sum(p.numel() for p in model.parameters())
    train = events(config, "train")
    assert [event["length"] for event in train] == [16] * 5 + [32] * 5 and train[-1]["tokens"] >= 20_000
    assert all(event["tokens_per_second"] > 0 and event["mfu"] > 0 for event in train)
    loaded, tokenizer = load_pretrained(f"{config.output}/model-100", BertForPreTraining)
    assert tokenizer.get_vocab_size() == loaded.config.vocab_size == 876
    torch.testing.assert_close(loaded.mlm_head.bias, model.mlm_head.bias, atol=1e-3, rtol=1e-3)  # kept as fp16
    assert (tmp_path / "run/model-010/config.json").is_file()
    assert len(checkpoints(tmp_path / "run")) == 2


class PageLosses(torch.nn.Module):
    """Chapter 4's losses as the module that a run wants."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, masked, rows):
        return Losses(*losses(self.model, masked, rows))


def test_a_run_is_the_pages_loop_bit_by_bit(config, corpus, monkeypatch):
    read = []
    next_batch = trainer.Batches.next_batch

    def remembered(self, *arguments):
        read.append(next_batch(self, *arguments))
        return read[-1]

    monkeypatch.setattr(trainer.Batches, "next_batch", remembered)
    settings = dict(dropout=0.0, warmup=0.06, threads=torch.get_num_threads())
    config = dataclasses.replace(config, **settings)
    made = pretrain(config, corpus=corpus, parts=trainer.Parts(loss=PageLosses))
    torch.manual_seed(config.seed)
    plain, seen = trainer.new_model(config, made.config.vocab_size, corpus.train), []
    stream = iter([batch for (batch,) in read])
    train(plain, stream, config.tokens, lambda tokens, loss: seen.append(tokens), max_lr=config.learning_rate)
    assert len(seen) == len(read) > 3
    assert equal(plain, made)


def test_what_was_kept_loads_in_transformers(config, corpus):
    transformers = pytest.importorskip("transformers")
    model = pretrain(config, corpus=corpus)
    theirs, notes = transformers.BertForPreTraining.from_pretrained(
        f"{config.output}/model-100", output_loading_info=True, dtype=torch.float32
    )
    assert not notes["missing_keys"] and not notes["unexpected_keys"]
    ids = torch.tensor([[2, 10, 11, 4, 3]])
    torch.testing.assert_close(theirs.eval()(ids).prediction_logits, model(ids).mlm_logits, atol=0.02, rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_interrupted_and_resumed_equals_uninterrupted_bitwise(config, corpus, tmp_path, monkeypatch, number, precision):
    config = dataclasses.replace(config, precision=precision)
    whole = pretrain(dataclasses.replace(config, output=str(tmp_path / "whole")), corpus=corpus)
    for step in (5, 20):  # with rows of 16, then of 32
        with monkeypatch.context() as patch:
            stop_at(patch, step, number)
            with pytest.raises(Interrupted, match=f"stopped after step {step + 1}, .* --resume continues from there"):
                pretrain(config, resume=step > 5, corpus=corpus)
    assert equal(pretrain(config, resume=True, corpus=corpus), whole)
    logs = [
        [
            {k: v for k, v in e.items() if k in ("step", "mlm_loss", "tokens")}
            for e in read_log(tmp_path / run / "log.jsonl")
            if e["event"] == "evaluation"
        ]
        for run in ("run", "whole")
    ]
    assert logs[0] == logs[1]


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_last_checkpoint(config, corpus, tmp_path, monkeypatch):
    """What the log says after that checkpoint is taken back, and said again."""
    config = dataclasses.replace(config, checkpoint_minutes=0.0)
    whole = pretrain(dataclasses.replace(config, output=str(tmp_path / "whole")), corpus=corpus)
    with monkeypatch.context() as patch:
        save = trainer.save_checkpoint
        patch.setattr(trainer, "save_checkpoint", lambda *of: 1 / 0 if of[3].step == 15 else save(*of))
        with pytest.raises(ZeroDivisionError):
            pretrain(config, corpus=corpus)
    assert checkpoints(tmp_path / "run")[-1].name == "checkpoint-00000014.safetensors"
    assert equal(pretrain(config, resume=True, corpus=corpus), whole)
    steps = [event["step"] for event in events(config, "train")]
    assert (
        steps
        == sorted(set(steps))
        == [event["step"] for event in read_log(tmp_path / "whole/log.jsonl") if event["event"] == "train"]
    )


def test_a_loss_that_is_no_number_stops_the_run(config, corpus, monkeypatch):
    config = dataclasses.replace(config, checkpoint_minutes=0.0)
    whole = trainer.PretrainingRun.backward

    def poisoned(self, chunks):
        if self.progress.step == 3:
            self.model.mlm_head.bias.data[5] = float("nan")
        return whole(self, chunks)

    monkeypatch.setattr(trainer.PretrainingRun, "backward", poisoned)
    with pytest.raises(
        FloatingPointError,
        match="step 4: the loss must be a number; MLM nan.* last good checkpoint is .*checkpoint-00000003",
    ):
        pretrain(config, corpus=corpus)
    monkeypatch.undo()
    monkeypatch.setattr(trainer, "peak_flops", lambda device, dtype: 1e11)
    pretrain(config, resume=True, corpus=corpus)


def test_small_chunks_give_the_gradients_of_the_whole_batch(config, corpus):
    """Of the same rows and masks; in a run masks and dropout are drawn for each chunk."""
    config = dataclasses.replace(config, dropout=0.0, micro_batch_size=4)
    run = trainer.PretrainingRun(
        config, False, corpus, trainer.Processes(0, 1, 0, torch.device("cpu")), trainer.Parts()
    )
    chunks = run.batches.next_batch(16)
    assert [len(rows.input_ids) for _, rows in chunks] == [4, 4]
    (first, first_rows), (second, second_rows) = chunks
    moved = second._replace(positions=second.positions + first.input_ids.numel())
    whole = (
        trainer.MaskedTokens(*(torch.cat(parts) for parts in zip(first, moved))),
        trainer.RowBatch(*(None if parts[0] is None else torch.cat(parts) for parts in zip(first_rows, second_rows))),
    )
    gradients = {}
    for name, batch in (("chunks", chunks), ("whole", [whole])):
        run.backward(batch)
        gradients[name] = {each: p.grad.clone() for each, p in run.model.named_parameters()}
        run.optimizer.zero_grad()
    assert max(gradient.abs().max() for gradient in gradients["whole"].values()) > 1e-3
    for name, gradient in gradients["whole"].items():
        torch.testing.assert_close(gradients["chunks"][name], gradient, atol=1e-7, rtol=1e-4, msg=name)


@pytest.mark.slow
@pytest.mark.weekly
def test_two_processes_give_the_gradients_of_one(tmp_path):
    """torchrun with two, against one that takes the halves of the batch in turn; only the first process writes.

    After one step AdamW's first moment is the gradient, clipped, times 1 - beta1.
    """
    shared = {**TINY, "micro_batch_size": 4, "tokens": 1, "threads": 1}
    flags = [text for name, value in shared.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "bertcourse_lab",
        "pretrain",
    ]
    command += ["small-world", "--output", str(tmp_path / "two"), *flags]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    pretrain(PretrainingConfig(**{**PRESETS["small-world"], **shared, "output": str(tmp_path / "one")}))
    one, two = (safetensors.torch.load_file(checkpoints(tmp_path / run)[-1]) for run in ("one", "two"))
    gradients = [name for name in one if ".exp_avg." in name]
    assert len(gradients) == 30 and max(one[name].abs().max() for name in gradients) > 1e-3
    for name in gradients:
        torch.testing.assert_close(two[name], one[name], atol=1e-7, rtol=1e-4, msg=name)
    logs = [
        [event for event in read_log(tmp_path / run / "log.jsonl") if event["event"] != "train"]
        for run in ("one", "two")
    ]
    assert [len(log) for log in logs] == [4, 4] and [log[0]["processes"] for log in logs] == [1, 2]
    for a, b in zip(logs[0][1:3], logs[1][1:3]):
        assert a["tokens"] == b["tokens"] and all(
            abs(a[name] - b[name]) < 1e-4 for name in a if name.startswith(("mlm", "nsp"))
        )


def test_minutes_tie_the_schedule_to_the_clock(config, corpus, ticking_clock):
    ticking_clock(trainer)
    pretrain(dataclasses.replace(config, minutes=0.02, tokens=10**12), corpus=corpus)
    train = events(config, "train")
    assert 1.2 <= train[-1]["seconds"] < 1.3 and train[-1]["learning_rate"] < 0.001


def test_the_time_of_a_run_is_that_of_the_clock(config, corpus, monkeypatch):
    """With the updates, which come after the gradients, and with measurements; these do not count for the speed."""

    def slowly(of, seconds):
        return lambda self, *arguments: (time.sleep(seconds), of(self, *arguments))[1]

    monkeypatch.setattr(torch.optim.AdamW, "step", slowly(torch.optim.AdamW.step, 0.01))
    parts = trainer.Parts(evaluate=slowly(trainer.evaluate, 0.3))
    start = time.monotonic()
    pretrain(config, corpus=corpus, parts=parts)
    clock, train = time.monotonic() - start, events(config, "train")
    steps, training = (
        train[-1]["step"],
        sum(event["tokens"] - before for event, before in zip(train, [0, *(e["tokens"] for e in train)])),
    )
    assert 0.6 + 0.01 * (steps - 1) < train[-1]["seconds"] <= clock
    measured = sum(
        (event["tokens"] - before) / event["tokens_per_second"]
        for event, before in zip(train, [0, *(e["tokens"] for e in train)])
    )
    assert 0.01 * (steps - 1) < measured < train[-1]["seconds"] - 0.5 and training == train[-1]["tokens"]


def test_without_nsp_its_head_stays_as_it_was(config, corpus):
    model = pretrain(dataclasses.replace(config, nsp=False, packing="full-sentences"), corpus=corpus)
    torch.manual_seed(config.seed)
    fresh = BertForPreTraining(model.config)
    assert torch.equal(model.nsp_head.weight, fresh.nsp_head.weight) and not torch.equal(
        model.mlm_head.bias, fresh.mlm_head.bias
    )
    assert "nsp_accuracy" not in events(config, "evaluation")[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        dict(whole_words=True),
        dict(random_words="unigram"),
        dict(static_copies=1),
        dict(initial_words="counts"),
        dict(packing="doc-sentences", nsp=False),
        dict(precision="auto"),
    ],
)
def test_every_choice_trains(config, corpus, changes):
    pretrain(dataclasses.replace(config, tokens=12_000, **changes), corpus=corpus)
    first, *_, last = (event["mlm_loss"] for event in events(config, "evaluation"))
    assert last < first - 0.5


def test_choices_reach_the_batches(config, corpus):
    chosen = dict(whole_words=True, random_words="unigram", static_copies=1, mask_share=0.7, random_share=0.2)
    here = trainer.Processes(0, 1, 0, torch.device("cpu"))
    run = trainer.PretrainingRun(dataclasses.replace(config, **chosen), False, corpus, here, trainer.Parts())
    masking, tokens = run.batches.masking, torch.from_numpy(corpus.train[0].tokens.astype("int64"))
    assert run.batches.period == 1 and masking["whole_words"]
    assert (masking["mask_share"], masking["random_share"]) == (0.7, 0.2)
    assert torch.equal(masking["random_weights"], tokens.bincount(minlength=run.batches.vocabulary.size).float())


def test_the_optimizer_is_that_of_the_settings(config):
    config = dataclasses.replace(config, beta1=0.5, beta2=0.7, weight_decay=0.3)
    groups = trainer.new_optimizer(trainer.new_model(config, 50), config).param_groups
    assert {group["betas"] for group in groups} == {(0.5, 0.7)}
    assert {group["weight_decay"] for group in groups} == {0.3, 0.0}


def test_the_callers_random_numbers_and_threads_are_left_alone(config, corpus):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    pretrain(dataclasses.replace(config, threads=1), corpus=corpus)
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == threads
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_runs_are_not_mixed(config, corpus):
    with pytest.raises(FileNotFoundError, match="expected a checkpoint"):
        pretrain(config, resume=True, corpus=corpus)
    pretrain(config, corpus=corpus)
    with pytest.raises(FileExistsError, match="has a run already"):
        pretrain(config, corpus=corpus)


@pytest.mark.parametrize("tokens, falls_at", [(6000, 4200), (3500, 2450)])
def test_a_run_may_be_made_longer_or_shorter_until_its_rate_falls(config, corpus, monkeypatch, tokens, falls_at):
    """Of 4,000 tokens the rate falls over the last 1,200; step 16 has read about 2,200."""
    stop_at(monkeypatch, 16, signal.SIGINT)
    with pytest.raises(Interrupted):
        pretrain(config, corpus=corpus)
    monkeypatch.undo()
    monkeypatch.setattr(trainer, "peak_flops", lambda device, dtype: 1e11)
    with pytest.raises(ValueError, match="tokens was 4000 and is 3000"):  # its rate would have to be falling already
        pretrain(dataclasses.replace(config, tokens=3000), resume=True, corpus=corpus)
    with pytest.raises(ValueError, match="tokens was 4000 and is 400000"):  # its rate would have to be rising still
        pretrain(dataclasses.replace(config, tokens=400_000), resume=True, corpus=corpus)
    pretrain(dataclasses.replace(config, tokens=tokens), resume=True, corpus=corpus)
    rates = {event["tokens"]: event["learning_rate"] for event in events(config, "train")}
    assert {rate for at, rate in rates.items() if 1000 < at <= falls_at} == {config.learning_rate}
    assert tokens <= max(rates) < tokens + 300 and rates[max(rates)] < config.learning_rate / 3
    with pytest.raises(ValueError, match=f"tokens was {tokens} and is 8000"):  # it is at its end
        pretrain(dataclasses.replace(config, tokens=8000), resume=True, corpus=corpus)


def test_a_run_goes_on_from_a_models_weights(config, corpus, tmp_path):
    pretrain(config, corpus=corpus)
    then = dataclasses.replace(config, start_from=f"{config.output}/model-100", output=str(tmp_path / "then"))
    moved = pretrain(then, corpus=corpus)
    ends, begins = (events(each, "evaluation") for each in (config, then))
    assert begins[0]["step"] == 0 and begins[0]["mlm_loss"] == pytest.approx(ends[-1]["mlm_loss"], abs=1e-3)  # in fp16
    assert not equal(moved, trainer.load_pretrained(then.start_from, BertForPreTraining)[0])
    assert equal(pretrain(then, resume=True, corpus=corpus), moved)  # from its checkpoint, not from there again


def test_a_text_is_read_with_the_tokenizer_of_the_model_to_go_on_from(config, corpus, monkeypatch):
    pretrain(config, corpus=corpus)
    monkeypatch.setattr(trainer, "text_corpus", lambda path, tokenizer: tokenizer)
    here = dataclasses.replace(config, corpus="my.txt", start_from=f"{config.output}/model-100")
    assert trainer.find_corpus(here).get_vocab() == corpus.tokenizer.get_vocab()


def test_another_model_is_refused_to_go_on_from(config, corpus, small_tokenizer):
    pretrain(config, corpus=corpus)
    sizes = trainer.new_model(dataclasses.replace(config, hidden_size=32, num_attention_heads=4), 50)
    with pytest.raises(
        ValueError, match="hidden_size is 16 there and 32 here; num_attention_heads is 2 there and 4 here; vocab_size"
    ):
        trainer.take_weights(sizes, f"{config.output}/model-100", corpus.tokenizer)
    with pytest.raises(ValueError, match="must have the vocabulary of the corpus"):
        trainer.take_weights(
            trainer.new_model(config, corpus.tokenizer.get_vocab_size()), f"{config.output}/model-100", small_tokenizer
        )
    with pytest.raises(ValueError, match="start_from is for BERTs; got it with a Linear"):
        trainer.take_weights(torch.nn.Linear(1, 1), f"{config.output}/model-100", corpus.tokenizer)


def test_a_tokenizer_that_could_not_be_saved_with_its_model_is_refused(config, corpus):
    vocabulary = {token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    with pytest.raises(ValueError, match="must put .* before a text"):
        pretrain(config, corpus=corpus._replace(tokenizer=tokenizer))
    assert not Path(config.output).exists()


def test_the_model_is_told_which_token_is_padding(config, corpus):
    told = corpus.tokenizer.to_str().replace('"[PAD]":0', '"[PAD]":1').replace('"[UNK]":1', '"[UNK]":0')
    settings = json.loads(told)
    for token in settings["added_tokens"]:
        token["id"] = settings["model"]["vocab"][token["content"]]
    model = pretrain(config, corpus=corpus._replace(tokenizer=Tokenizer.from_str(json.dumps(settings))))
    saved, tokenizer = load_pretrained(f"{config.output}/model-100", BertForPreTraining)
    assert tokenizer.token_to_id("[PAD]") == saved.config.pad_token_id == model.config.pad_token_id == 1
    assert model.bert.embeddings.word_embeddings.padding_idx == 1


def test_another_precision_is_refused_on_resume(config, corpus):
    pretrain(config, corpus=corpus)
    with pytest.raises(ValueError, match="was trained in float32 and must be resumed in it; got precision bfloat16"):
        pretrain(dataclasses.replace(config, precision="bfloat16"), resume=True, corpus=corpus)


def test_a_run_killed_before_its_first_checkpoint_measures_the_beginning_once(config, corpus, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(trainer.PretrainingRun, "backward", lambda self, chunks: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pretrain(config, corpus=corpus)
    assert len(events(config, "evaluation")) == 1
    pretrain(config, resume=True, corpus=corpus)
    assert [event["step"] for event in events(config, "evaluation")][:2] == [0, 16] and len(events(config, "run")) == 1


def test_ctrl_c_ends_the_making_of_a_run_at_once(config, corpus):
    parts = trainer.Parts(new_model=lambda *arguments: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            pretrain(config, corpus=corpus, parts=parts)
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_vocabulary_is_refused_on_resume(config, corpus, small_tokenizer):
    pretrain(config, corpus=corpus)
    letters = [Documents.of([[[5, 6, 7]] * 4] * 20)]
    with pytest.raises(ValueError, match="of another model.*876.*50"):
        pretrain(config, resume=True, corpus=Corpus(letters, letters, small_tokenizer))


NAN, INFINITY = float("nan"), float("inf")
FLOATS = [field.name for field in dataclasses.fields(PretrainingConfig) if field.type is float]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(mask_rate=0.0), "mask_rate must be above 0 and below 1"),
        (dict(mask_rate=1.0), "mask_rate must be above 0 and below 1"),
        (dict(lengths="1024:1"), "max_position_embeddings, 64; got 1024"),
        (dict(lengths="16:0.5,32:0.4"), "which add up to 1"),
        (dict(lengths="long"), "which add up to 1"),
        (dict(lengths="16:-0.5,32:1.5"), "which add up to 1"),
        (dict(packing="full-sentences"), "nsp .* needs packing sentence-pairs"),
        (dict(packing="tight"), "packing must be one of"),
        (dict(batch_size=0), "batch_size must be at least 1"),
        (dict(micro_batch_size=3), "batch_size must be a multiple of micro_batch_size; got 8 and 3"),
        (dict(learning_rate=-1.0), "learning_rate must be above 0"),
        (dict(learning_rate="fast"), "learning_rate must be of type float"),
        (dict(warmup=2.0), "warmup must be a share"),
        (dict(beta2=1.0), "beta2 must be at least 0 and below 1"),
        (dict(snapshots="0,1"), "snapshots must be shares"),
        (dict(snapshots="0.001,0.004"), "in whole percents"),
        (dict(seed=-1), "seed must be at least 0"),
        (dict(hidden_size=15), "hidden_size must be a multiple of num_attention_heads"),
        (dict(nsp=1), "nsp must be of type bool"),
        (dict(lengths="64:nan"), "which add up to 1"),
        (dict(snapshots="nan"), "snapshots must be shares"),
        (dict(snapshots="0.5,inf"), "snapshots must be shares"),
        (dict(evaluation_length=0), "evaluation_length must be from 5"),
        (dict(output=" "), "output must be the name of a folder"),
        (dict(threads=100_000), "threads must be .* 1024; got 100000"),
        (dict(seed=2**63), r"seed must be .* below 2\*\*63"),
        (dict(hidden_size=2**20), "the model must have at most 10,000,000,000 parameters .*; got about 4,"),
        (dict(num_hidden_layers=10**12), "the model must have at most 10,000,000,000 parameters"),
        *(
            ({name: number}, f"({name}|hidden_dropout_prob).*; got .*{number}")
            for name in FLOATS
            for number in (NAN, INFINITY)
        ),
    ],
)
def test_settings_out_of_range_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        PretrainingConfig(**{**TINY, **changes})


def test_learning_rate_rises_stays_and_falls():
    config = PretrainingConfig(**{**TINY, "warmup": 0.1, "decay": 0.4})
    rates = [round(config.rate_at(done), 3) for done in (0, 0.05, 0.1, 0.5, 0.6, 0.8, 1)]
    assert rates == [0, 0.5, 1, 1, 1, 0.5, 0] and config.rate_at(0) > 0


def test_tensorboard_is_asked_for_by_name(config, corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match="python -m pip install tensorboard"):
        pretrain(dataclasses.replace(config, tensorboard=True), corpus=corpus)


def test_tensorboard_is_given_what_the_log_has(config, corpus, monkeypatch):
    written = []

    class SummaryWriter:
        def __init__(self, folder, purge_step):
            self.add_scalar, self.close = lambda *scalar: written.append(scalar), lambda: written.append("closed")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.SimpleNamespace(SummaryWriter=SummaryWriter))
    pretrain(dataclasses.replace(config, tensorboard=True), corpus=corpus)
    assert written[-1] == "closed"
    losses = [(step, value) for name, value, step in written[:-1] if name == "train/mlm_loss"]
    assert losses == [(event["step"], pytest.approx(event["mlm_loss"], rel=1e-5)) for event in events(config, "train")]


def test_the_bar_shows_losses_and_mfu(config, corpus, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(trainer, "progress_bar", lambda is_shown, **how: tqdm(file=shown, mininterval=0, **how))
    pretrain(config, corpus=corpus)
    last = shown.getvalue().split("\r")[-1]
    assert all(f"{name}=" in last for name in ("mlm", "nsp", "MFU")) and "100%" in last and "tokens/s" in last


@pytest.mark.slow
def test_a_compiled_run_is_the_same_run(config, corpus, tmp_path, monkeypatch):
    plain = pretrain(dataclasses.replace(config, tokens=1000), corpus=corpus)
    whole, calls = torch.compile, []
    monkeypatch.setattr(torch, "compile", lambda loss: (calls.append(loss), whole(loss, backend="eager"))[1])
    compiled = pretrain(
        dataclasses.replace(config, tokens=1000, compile=True, output=str(tmp_path / "c")), corpus=corpus
    )
    assert len(calls) == 1
    for (name, one), other in zip(plain.state_dict().items(), compiled.state_dict().values(), strict=True):
        torch.testing.assert_close(other, one, atol=1e-6, rtol=1e-4, msg=name)


def test_flops_follow_the_count_of_weights():
    from bertcourse.bert import BertConfig

    config = BertConfig(
        vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=256
    )
    matrices = 2 * (4 * 64 * 64 + 2 * 64 * 256)
    assert flops_per_token(config, 32, 0.0) == 6 * (matrices + 2 * 2 * 32 * 64 + 64 * 64 / 32)


def test_the_command_trains(tmp_path, capsys, monkeypatch):
    flags = [text for name, value in TINY.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    command = ["pretrain", "small-world", *flags, "--output", str(tmp_path / "run"), "--tokens", "1000"]
    assert cli.main(command) == 0
    assert "the model is in" in capsys.readouterr().out
    assert cli.main(command) == 1
    assert "has a run already" in capsys.readouterr().err
    assert cli.main([*command, "--resume", "--seed", "3"]) == 1
    assert "seed was 0 and is 3" in capsys.readouterr().err
    place = command.index("--tokens")
    assert cli.main([*command[:place], *command[place + 2 : -2], "--resume"]) == 0  # not as long as the preset
    assert max(line["tokens"] for line in read_log(tmp_path / "run" / "log.jsonl") if "tokens" in line) < 1200
    stop_at(monkeypatch, 2, signal.SIGTERM)
    assert cli.main([*command[:-4], "--output", str(tmp_path / "other")]) == 0
    assert "stopped after step 3" in capsys.readouterr().err


def test_the_command_lists_every_setting(capsys):
    with pytest.raises(SystemExit):
        cli.main(["pretrain", "--help"])
    text = capsys.readouterr().out
    assert all(f"--{field.name.replace('_', '-')}" in text for field in dataclasses.fields(PretrainingConfig))
    for arguments, message in (
        (["--nsp", "perhaps"], "must be true or false"),
        (["--mask-rate", "x"], "invalid float"),
        (["huge"], "invalid choice"),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main(["pretrain", *arguments])
        assert stop.value.code == 2 and message in capsys.readouterr().err

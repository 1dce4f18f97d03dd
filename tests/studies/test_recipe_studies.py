"""The study of recipes measures what it says, for any encoder with BERT's interface."""

import contextlib
import dataclasses
import importlib
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from bertcourse.anisotropy import dimension_contributions
from bertcourse.bert import BertForPreTraining, save_pretrained
from bertcourse.files import read_json
from bertcourse.pretraining import IGNORE, Documents, Vocabulary, evaluate
from bertcourse.word_senses import NearestSense, word_vectors
from bertcourse_lab.benchmarks.paired import paired_bootstrap
from bertcourse_lab.datasets.sense_corpora import Instance, SenseCorpus
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches

STUDIES = Path(__file__).parents[2] / "tools" / "studies"


def study(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A study as it finds itself when it is run: its folder is where Python looks for modules."""
    monkeypatch.syspath_prepend(STUDIES)
    return importlib.import_module(name)


@pytest.fixture
def measures(monkeypatch):
    return study("recipe_measures", monkeypatch)


@pytest.fixture
def compare_checkpoints(monkeypatch):
    return study("compare_checkpoints", monkeypatch)


@pytest.fixture
def model(small_config):
    return BertForPreTraining(dataclasses.replace(small_config, max_position_embeddings=128)).eval()


def documents(low: int = 5, high: int = 48, count: int = 6) -> Documents:
    """Documents of 30 sentences of ids from ``low`` to ``high``."""
    random = np.random.default_rng(low)
    return Documents.of(
        [[random.integers(low, high, size=random.integers(2, 9)).tolist() for _ in range(30)] for _ in range(count)]
    )


@pytest.fixture
def batches(small_tokenizer):
    vocabulary = Vocabulary.of(small_tokenizer)
    return list(fixed_batches([documents(count=12)], vocabulary, RowMaker("sentence-pairs", 0.0), 32, rows=70))


def test_guesses_add_up_to_what_evaluate_says(measures, model, batches):
    found, expected = measures.guess(model, batches), evaluate(model, batches)
    assert found.losses.double().mean().item() == pytest.approx(expected["mlm_loss"], rel=1e-5)
    assert found.right.double().mean().item() == pytest.approx(expected["mlm_accuracy"])
    assert found.nsp_right.double().mean().item() == pytest.approx(expected["nsp_accuracy"])
    assert len(found.nsp_right) == int(found.rows.max()) + 1 == 70


def test_guesses_of_a_model_without_next_sentence_prediction_have_none(measures, model, batches):
    without = torch.nn.Module()
    without.bert, without.mlm_head = model.bert, model.mlm_head
    found = measures.guess(without, batches)
    assert found.losses.equal(measures.guess(model, batches).losses) and not len(found.nsp_right)


def test_all_masked_hides_the_chosen_tokens_and_no_other(measures, small_tokenizer, batches):
    mask = small_tokenizer.token_to_id("[MASK]")
    for (before, rows), (after, _) in zip(batches, measures.all_masked(batches, mask)):
        expected = rows.input_ids.clone()
        expected[before.all_labels() != IGNORE] = mask
        assert after.input_ids.equal(expected) and after.labels.equal(before.labels)
    assert any((before.input_ids != mask)[before.all_labels() != IGNORE].any() for before, _ in batches)


def test_characters_leave_out_the_mark_of_a_continuation(measures, small_tokenizer):
    counts = measures.characters(small_tokenizer)
    assert [counts[small_tokenizer.token_to_id(token)].item() for token in ("a", "##a", ".")] == [1, 1, 1]


def test_bits_per_character_are_the_loss_where_each_token_is_a_character(measures, model, small_tokenizer):
    found = measures.measure_mlm(model, small_tokenizer, [documents()], tokens=32 * 128, length=128)
    assert set(found) == {
        f"{rows}, {masks}" for rows in ("pairs of 64", "full sentences of 128") for masks in ("80/10/10", "all [MASK]")
    }
    for row in found.values():
        assert row["bits_per_character"] == pytest.approx(row["loss"] / np.log(2))
    assert "nsp" in found["pairs of 64, 80/10/10"] and "nsp" not in found["full sentences of 128, 80/10/10"]


def test_answers_are_the_same_when_they_are_unpacked(measures):
    right = np.random.default_rng(0).random(101) < 0.5
    np.testing.assert_array_equal(measures.unpack(measures.pack(right), 101), right)


def test_compared_answers_are_those_of_one_row_of_both(measures):
    a, b, c = np.random.default_rng(0).random((3, 50)) < [[0.5], [0.6], [0.7]]
    one, two = (
        {"instances": [9, 50], "rows": {name: {"right": measures.pack(each)} for name, each in rows.items()}}
        for rows in ({"x": a, "y": c}, {"x": b})
    )
    assert measures.compare_answers(two, one, "x") == paired_bootstrap(b, a)
    assert measures.compare_answers(two, one, "x", "y") == paired_bootstrap(b, c)


def test_space_is_that_of_the_tokens_of_a_text(measures, model, small_tokenizer):
    (embeddings, first, last) = measures.measure_space(model, small_tokenizer, [documents(count=1)], rows=1, length=128)
    ((_, batch),) = fixed_batches(
        [documents(count=1)], Vocabulary.of(small_tokenizer), RowMaker("full-sentences", 0.0), 128, rows=1
    )
    with torch.no_grad():
        states = model.bert(batch.input_ids).hidden_states[-1][0]
    contributions = dimension_contributions(states[batch.input_ids[0] > 4].numpy())  # no special tokens
    assert last["expected_cosine"] == pytest.approx(contributions.sum(), abs=1e-5)
    assert last["largest"][0]["dimension"] == contributions.argmax() and last["layer"] == 2
    assert last["largest"][0]["share"] == pytest.approx(contributions.max() / contributions.sum(), rel=1e-3)


@pytest.fixture
def corpora(measures, monkeypatch):
    """Two senses of the word "a", known by the word beside it."""
    senses = ("a%1:17:01::", "a%1:14:00::")
    places = [number // 2 % 2 for number in range(20)]  # which tell nothing
    neighbours = ["b" if number % 2 else "c" for number in range(20)]
    sentences = [[other, "a"] if place else ["a", other] for place, other in zip(places, neighbours)]
    instances = [
        Instance(f"d0.s{number}.t0", ("a", "NOUN"), number, place, (senses[number % 2],))
        for number, place in enumerate(places)
    ]
    monkeypatch.setattr(measures, "sense_corpus", lambda name: SenseCorpus(sentences, instances))
    monkeypatch.setattr(measures, "wordnet", lambda: None)
    monkeypatch.setattr(measures, "word_senses", lambda dictionary, words: {("a", "NOUN"): list(senses)})


def test_senses_are_those_of_the_nearest_vectors_of_the_last_layer(measures, corpora, model, small_tokenizer):
    found = measures.measure_senses(model, small_tokenizer, sentences=10)
    assert found["instances"] == [10, 20] and found["rows"]["WordNet first sense"]["f1"] == 50
    assert measures.unpack(found["rows"]["WordNet first sense"]["right"], 20).tolist() == [True, False] * 10
    corpus = measures.sense_corpus("ALL")
    vectors = word_vectors(model, small_tokenizer, corpus.sentences, [-1], only=corpus.positions()).array
    vectors = vectors.astype(np.float16).astype(np.float32)
    golds = np.array([each.senses[0] for each in corpus.instances])
    expected = NearestSense().fit(vectors[:10], golds[:10]).predict(vectors) == golds
    assert measures.unpack(found["rows"]["last layer, raw"]["right"], 20).tolist() == expected.tolist()
    assert found["rows"][found["best"]]["f1"] >= 100 * expected.mean() > 0


def test_few_labels_reads_the_vectors_of_the_drawn_tickets(measures, model, small_tokenizer, monkeypatch):
    few_labels, learned = measures.few_labels, []
    monkeypatch.setattr(few_labels, "sentence_vectors", lambda encoder, tokenizer, texts: np.array(texts))

    def logistic_regression(vectors, splits):
        for texts, split in zip(vectors, splits):
            assert texts.tolist() == [example.text for example in split]
        return float(len(splits.train))

    def fine_tuned(encoder, tokenizer, splits, epochs, seed, pooling, precision):
        learned.append((len(splits.train), epochs, seed, pooling, precision, encoder is model.bert))
        return 10.0 * seed

    monkeypatch.setattr(few_labels, "logistic_regression", logistic_regression)
    monkeypatch.setattr(few_labels, "fine_tuned", fine_tuned)
    found = measures.measure_few_labels(model, small_tokenizer, from_scratch=True)
    assert found["frozen"] == {"mean": 48, "draws": [48.0] * 20} and found["fine-tuned"]["mean"] == 10
    own = [(48, 12, seed, "mean", "float32", True) for seed in range(3)]
    assert learned == [*own, (48, 36, 0, "mean", "float32", False)]


def test_measures_take_blimp_from_its_benchmark_and_say_how_long_each_part_took(
    measures, model, small_tokenizer, monkeypatch
):
    monkeypatch.setattr(measures, "score_pairs", lambda model, tokenizer, limit, scores_of: {"limit": limit})
    monkeypatch.setattr(measures, "books_corpus", lambda tokenizer: SimpleNamespace(held_out=[documents()]))
    monkeypatch.setattr(measures, "measure_senses", lambda model, tokenizer, sentences: {"sentences": sentences})
    monkeypatch.setattr(measures, "measure_few_labels", lambda *_, from_scratch: {})
    monkeypatch.setattr(measures, "measure_mlm", lambda *_: {})
    found = measures.measure(model, small_tokenizer, measures.QUICK)
    assert found["blimp"] == {"limit": found["sizes"]["pairs"]} and found["sizes"]["pairs"] < 1000
    assert list(found["seconds"]) == ["mlm", "blimp", "senses", "few_labels", "space"]
    assert measures.measure(model, small_tokenizer)["senses"] == {"sentences": None}


@pytest.mark.parametrize(("path", "name"), [("course", "course"), ("runs/rope/model", "rope"), ("model", "model")])
def test_a_model_has_the_name_of_its_run(measures, path, name):
    assert measures.name_of(path) == name


@pytest.fixture
def books():
    """Three books of six chapters, each with words of its own."""
    return {"one": documents(5, 15), "two": documents(15, 25), "three": documents(25, 48)}


def test_as_many_whole_rows_of_each_book_are_drawn(compare_checkpoints, books, small_tokenizer):
    drawn = compare_checkpoints.sample(books, Vocabulary.of(small_tokenizer), 20, tokens=200)
    assert np.bincount(drawn.books).tolist() == [10, 10, 10]
    ids = torch.cat([rows.input_ids for _, rows in drawn.batches])
    assert ids.shape == (30, 20) and all(rows.attention_mask is None for _, rows in drawn.batches)
    for first, book, chapter in zip(ids[:, 1].tolist(), drawn.books, drawn.chapters):
        assert int(first >= 15) + int(first >= 25) == book == chapter // 6


def test_each_row_is_of_the_chapter_that_its_first_segment_stands_in(compare_checkpoints, small_tokenizer):
    chapters = {
        name: Documents.of([[[token] * 5] * 9 for token in tokens]) for name, tokens in (("x", (7, 8)), ("y", (9,)))
    }
    drawn = compare_checkpoints.sample(chapters, Vocabulary.of(small_tokenizer), 13, tokens=65)
    ids = torch.cat([rows.input_ids for _, rows in drawn.batches])
    assert ids[:, 1].tolist() == (7 + drawn.chapters).tolist() and set(drawn.chapters) == {0, 1, 2}


def test_books_too_short_for_a_row_are_refused(compare_checkpoints, books, small_tokenizer):
    with pytest.raises(ValueError, match="3 rows of 64 tokens; got: one 0"):
        compare_checkpoints.sample(
            {"one": Documents.of([[[5], [6]]] * 2)}, Vocabulary.of(small_tokenizer), 64, tokens=200
        )


@pytest.fixture
def short_rows(compare_checkpoints, monkeypatch):
    monkeypatch.setattr(compare_checkpoints, "LENGTHS", (20, 32))


def test_books_are_measured_at_each_length_with_both_kinds_of_masks(
    compare_checkpoints, short_rows, books, model, small_tokenizer
):
    found = compare_checkpoints.measure_books(model, small_tokenizer, books, tokens=400)
    assert list(found) == ["20, all [MASK]", "20, 80/10/10", "32, all [MASK]", "32, 80/10/10"]
    for row in found.values():
        assert sum(each["chosen"] for each in row["books"].values()) == row["chosen"]
        assert np.mean([each["top1"] for each in row["books"].values()]) == pytest.approx(row["top1"])
        top1 = compare_checkpoints.interval(row)
        assert top1.difference == pytest.approx(row["top1"]) and top1.low <= row["top1"] <= top1.high


def test_the_interval_of_a_difference_is_that_of_the_same_chapters(compare_checkpoints):
    one = {"chosen_by_chapter": "10 0 20 30", "right_by_chapter": "5 0 10 15"}
    two = one | {"right_by_chapter": "6 0 12 18"}  # a tenth more in each
    found = compare_checkpoints.interval(two, one)
    assert (found.difference, found.low, found.high) == pytest.approx((10, 10, 10))
    with pytest.raises(ValueError, match="same rows"):
        compare_checkpoints.interval(two, one | {"chosen_by_chapter": "10 0 20 31"})


def test_a_command_goes_on_where_it_was_and_begins_anew_with_other_weights(
    compare_checkpoints, monkeypatch, tmp_path, model, small_tokenizer
):
    asked = []

    def measure_part(part, model, tokenizer, tokens):
        asked.append(part)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return {"measured": part}

    monkeypatch.setattr(compare_checkpoints, "load_pretrained", lambda path, kind: (model, small_tokenizer))
    monkeypatch.setattr(compare_checkpoints, "measure_part", measure_part)
    monkeypatch.setattr(compare_checkpoints, "table", lambda result: "# Table\n")
    command = ["one", "two"], tmp_path / "table", ["books", "senses"], 100
    with pytest.raises(KeyboardInterrupt):
        compare_checkpoints.run(*command)
    assert list(read_json(tmp_path / "table.json")["models"]["one"]) == ["weights", "tokens", "books", "senses"]
    compare_checkpoints.run(*command)
    assert asked == ["books", "senses", "books", "books", "senses"]
    with torch.no_grad():
        model.mlm_head.bias.add_(1)
    compare_checkpoints.run(*command)
    assert len(asked) == 9 and (tmp_path / "table.md").read_text(encoding="utf-8") == "# Table\n"


def test_blimp_stands_beside_what_was_published_and_names_the_paradigms_across_a_noun(compare_checkpoints):
    def row(accuracy):
        return {"accuracy": accuracy, "low": accuracy - 1, "high": accuracy + 1, "published": {"5-gram": 61.2}}

    one, two = (
        {
            "pairs": 67000,
            "groups": {"all": row(63 + more)},
            "paradigms": {name: row(31 + more) for name in (*compare_checkpoints.ACROSS_A_NOUN, "another")},
        }
        for more in (0, 5)
    )
    lines = compare_checkpoints.blimp_section({"one": one, "two": two})
    assert "| paradigms | one | two | 5-gram |" in lines
    assert "| all | 63.0 [62.0, 64.0] | 68.0 [67.0, 69.0] | 61.2 |" in lines
    assert sum("36.0 [35.0, 37.0]" in line for line in lines) == 2


def test_senses_are_compared_with_the_first_model_in_the_same_row(compare_checkpoints, measures):
    names = (compare_checkpoints.FIRST_SENSE, *compare_checkpoints.SENSE_ROWS)

    def result(*right):
        rows = {name: {"f1": 100 * each.mean(), "right": measures.pack(each)} for name, each in zip(names, right)}
        return {"instances": [1, 40], "best": "last layer, raw", "rows": rows}

    half, all_right = np.arange(40) % 2 == 0, np.full(40, True)
    lines = compare_checkpoints.senses_section(
        {"one": result(half, half, half, half, half), "two": result(half, half, all_right, half, half)}
    )
    assert "| one | last layer, raw | 50.0 |  | +0.0 [+0.0, +0.0] |" in lines
    assert "| two | last layer, raw | 50.0 | +0.0 [+0.0, +0.0] | +0.0 [+0.0, +0.0] |" in lines
    (better,) = [line for line in lines if line.startswith("| two | last layer, standardized | 100.0 |")]
    assert better.count("+50.0 [+") == 2


def test_a_changed_rate_changes_nothing_else(monkeypatch):
    recipes = study("recipes", monkeypatch)
    assert set(recipes.ABOUT) == set(recipes.ARMS)
    slow = recipes.Recipe(dict(learning_rate=1e-3))
    for recipe in (*recipes.ARMS.values(), slow):
        for factor in (1, 2):
            changed = recipes.changed_rate(recipe, factor)
            rate = 1e-3 if recipe is slow else recipes.PretrainingConfig.learning_rate
            assert dict(changed.settings) == {**recipe.settings, "learning_rate": factor * rate}
            assert dataclasses.replace(changed, settings=recipe.settings) == recipe


def test_every_planned_run_has_settings_that_fit(monkeypatch):
    recipes = study("recipes", monkeypatch)
    runs = recipes.planned("screen")
    assert len(set(runs)) == len(runs) == 53
    assert {run for run in runs if run[0] == "local"} == {("local", 0, 1)}
    assert set(recipes.OTHER_RATES + recipes.ONE_SEED + recipes.FINALISTS) <= set(recipes.ARMS)
    for arm, seed, factor in runs:
        recipe = recipes.changed_rate(recipes.ARMS[arm], factor)
        recipes.PretrainingConfig(**{**recipes.SHARED, "seed": seed, **recipe.settings})


def test_the_course_s_bert_begins_as_the_older_one_and_reads_sentences_by_number(
    monkeypatch, small_tokenizer, small_config, tmp_path
):
    train_course = study("train_course", monkeypatch)
    model = BertForPreTraining(dataclasses.replace(small_config, max_position_embeddings=300)).eval()
    save_pretrained(model, small_tokenizer, tmp_path / "older")
    assert train_course.weights_before("first", Path(), tmp_path / "older") == tmp_path / "older"
    with pytest.raises(SystemExit, match="--older"):
        train_course.weights_before("first", Path(), None)
    sizes = dict(num_hidden_layers=model.config.num_hidden_layers + 1, max_position_embeddings=256)
    config = dataclasses.replace(train_course.settings_of("first", Path()), **sizes)
    parts = train_course.parts(small_tokenizer, "first", tmp_path / "older")
    deeper = parts.new_model(config, 50)
    assert deeper.config == dataclasses.replace(model.config, **sizes)
    words = deeper.bert.embeddings.word_embeddings.weight
    assert torch.equal(words, model.bert.embeddings.word_embeddings.weight)
    maker = parts.row_maker("sentence-pairs", 0.1)
    assert (maker.packing, maker.short_rate, maker.share) == ("sentence-pairs", 0.1, train_course.NUMBER_ROWS)
    assert maker.misleading == train_course.MISLEADING["first"]
    assert (parts.mask.verbs, parts.mask.nouns) == (train_course.VERBS_FIRST, train_course.NOUNS_FIRST)


@pytest.mark.parametrize("stage", ["second", "third"])
def test_a_later_stage_begins_as_the_one_before_has_ended(monkeypatch, small_tokenizer, model, tmp_path, stage):
    train_course = study("train_course", monkeypatch)
    depth = model.config.num_hidden_layers
    config = dataclasses.replace(train_course.settings_of(stage, tmp_path), num_hidden_layers=depth)
    begun = train_course.weights_before(stage, tmp_path, None)
    assert begun == tmp_path / {"second": "first", "third": "second"}[stage] / "model-100"
    save_pretrained(model, small_tokenizer, begun)
    parts = train_course.parts(small_tokenizer, stage, begun)
    begun = parts.new_model(config, 50).state_dict()
    assert all(torch.equal(begun[name], weight) for name, weight in model.state_dict().items())
    assert parts.row_maker("sentence-pairs", 0.1).misleading == train_course.MISLEADING[stage]


def test_each_arm_steps_by_its_own_recipe_at_its_own_speed(monkeypatch, small_tokenizer):
    recipes, speeds = study("recipes", monkeypatch), study("recipe_speeds", monkeypatch)
    sizes = dict(hidden_size=32, num_attention_heads=4, intermediate_size=32, num_hidden_layers=2)
    monkeypatch.setattr(recipes, "SHARED", {**recipes.SHARED, **sizes})
    corpus = recipes.Corpus([documents(count=48)], [documents()], small_tokenizer)
    steps = {arm: speeds.stepper(recipes.ARMS[arm], corpus) for arm in ("bert", "plain-full", "electra", "plain-64")}
    assert 3 * steps["bert"]() < steps["plain-64"]()  # four times the rows, of which some are short
    found = speeds.seconds_per_token(steps, rounds=3)
    assert all(len(seconds) == 3 and min(seconds) > 0 for seconds in found.values()) and found.keys() == steps.keys()
    assert speeds.ratios({"bert": [2, 4], "other": [1, 8]}) == {"bert": 1, "other": 1.25}


def test_arms_without_nsp_are_measured_in_one_segment(monkeypatch, small_tokenizer):
    recipes = study("recipes", monkeypatch)
    corpus = recipes.Corpus([documents()], [documents()], small_tokenizer)
    for (masked, rows), (masked_too, in_one) in zip(
        recipes.held_out_rows(corpus), recipes.held_out_rows(corpus, "full-sentences"), strict=True
    ):
        assert torch.equal(masked.input_ids, masked_too.input_ids)
        assert rows.token_type_ids.any() and not in_one.token_type_ids.any()


def test_a_table_of_recipes_says_what_was_not_measured(monkeypatch):
    study("recipes", monkeypatch)
    table = study("recipe_table", monkeypatch)
    evaluations = [
        {"event": "evaluation", "tokens": tokens, "seconds": tokens / 1e4, "mlm_loss": loss}
        for tokens, loss in ((0, 9.0), (1_000_000, 5.0), (5_000_000, 4.5), (5_500_000, 4.4))
    ]
    values = table.values_of(evaluations, None, bigram=5.5, speed=0.5, equal_time=6_000_000)
    assert values == {
        "M tokens to 6 nats": 0.75,
        "M tokens to bigram": 0.875,
        "loss at 5 M": 4.5,
        "loss at equal time": 4.75,
        "loss at end": 4.4,
    }
    assert "loss at equal time" not in table.values_of(evaluations, None, bigram=5.5, speed=2, equal_time=6_000_000)
    slow = table.values_of(evaluations, None, bigram=4.45, until=5_000_000)  # reached only where the rate falls
    assert slow["M tokens to bigram"] == float("inf")
    assert table.summary([4.0, float("inf")]) == {"reached": 1, "seeds": 2, "largest": 4.0}
    of_electra = [{**line, "replaced_loss": 0.3} for line in evaluations]
    assert table.values_of(of_electra, None, bigram=5.5, speed=0.5, equal_time=1e6) == {}
    margin = table.summary([1.0, 2.0, 3.0])["margin"]
    assert margin == pytest.approx(4.303 / 3**0.5, abs=1e-3)


def test_runs_are_read_by_their_names_and_paired_by_seed(monkeypatch, tmp_path):
    study("recipes", monkeypatch)
    table = study("recipe_table", monkeypatch)

    def write(name, end, processes=1):
        lines = [{"event": "run", "processes": processes}]
        lines += [
            {"event": "evaluation", "tokens": tokens, "seconds": tokens / 1e3, "mlm_loss": loss}
            for tokens, loss in ((0, 9.0), (5_000_000, 4.5), (5_500_000, end))
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    for name, end in (("bert-seed0", 5.4), ("bert-seed1", 5.0), ("rotary-seed1", 4.3), ("bert-seed0-rate2", 5.2)):
        write(f"screen-{name}", end)
    write("finals-bert-seed0", 4.0, processes=2)
    runs = table.runs_of(tmp_path, 5.07, {"rotary": 0.9})
    assert {name: len(found) for name, found in runs.rows.items()} == {
        "bert": 2,
        "rotary": 1,
        "bert, rate × 2": 1,
        "bert, 50 M": 1,
    }
    assert runs.losses == {"bert": {0: 5.4, 1: 5.0}, "rotary": {1: 4.3}}  # neither other rates nor longer runs
    assert runs.hours == pytest.approx((4 + 2) * 5500 / 3600)  # two processes are two cores
    result = table.summaries(runs.rows, {"rotary": 0.9})
    assert list(result) == ["bert", "rotary", "bert, 50 M", "bert, rate × 2"]
    assert (result["rotary"]["speed"], result["bert"]["speed"]) == (0.9, None)
    lines = table.table(runs, result, 5.07).splitlines()
    (row,) = [line for line in lines if line.startswith("| rotary | 3.33")]
    assert "| 4.30 (1 of 3) |" in row and row.endswith("| 0.90 |")
    assert "| rotary | bert | -0.70 | one seed |" in lines
    for told in ("those marked 50 M read as many, in bfloat16", "*rate ×*"):
        assert any(told in line for line in lines)
    assert not any(line.startswith("| spans |") for line in lines)  # nobody has run it


@pytest.fixture
def recipes(monkeypatch, tmp_path):
    module = study("recipes", monkeypatch)
    monkeypatch.setattr(module, "DATA", tmp_path / "kept")
    return module


def test_a_run_is_kept_with_its_measures_and_not_begun_again(recipes, monkeypatch, tmp_path):
    run = tmp_path / "screen-plain-seed0"
    run.mkdir()
    lines = [
        {"event": "run", "config": {"output": str(run)}},
        {"event": "train", "step": 1, "mlm_loss": 9.0, "gradient_norm": 1.0},
        {"event": "evaluation", "tokens": 5_000_000, "mlm_loss": 4.2},
    ]
    (run / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(recipes, "measures_of", lambda run: {"model": run.name})
    recipes.DATA.mkdir()
    (recipes.DATA / "counts.json").write_text("{}\n")
    begun = []

    def popen(command, env):
        begun.append(command)
        return SimpleNamespace(poll=lambda: 0, returncode=0, wait=lambda: 0, send_signal=lambda number: None)

    monkeypatch.setattr(recipes.subprocess, "Popen", popen)
    monkeypatch.setattr(recipes.time, "sleep", lambda seconds: None)
    recipes.keep(run, recipes.DATA)
    recipes.run_stage("screen", tmp_path, jobs=2, processes=1, minutes=1, arms=["plain"])
    assert [command[3:6] for command in begun] == [
        ["screen", "plain", "1"],
        ["screen", "plain", "2"],
        ["screen", "plain", "0"],
        ["screen", "plain", "0"],
    ]  # the last two: half and twice its rate
    with pytest.raises(ValueError, match="plain-pre; got plain-full"):
        recipes.run_stage("finals", tmp_path, jobs=1, processes=1, minutes=1, arms=["plain-full"])
    recipes.run_stage("finals", tmp_path, jobs=1, processes=2, minutes=1, arms=["plain"])
    assert begun[-1][1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    assert begun[-1][7:11] == ["one", "finals", "plain", "0"]
    log = recipes.read_log(recipes.DATA / "screen-plain-seed0.jsonl")
    assert log[1] == {"event": "train", "step": 1, "mlm_loss": 9.0} and "/" not in log[0]["config"]["output"][13:]
    assert read_json(recipes.DATA / "measures-screen-plain-seed0.json") == {"model": "screen-plain-seed0"}


@pytest.mark.parametrize(
    ("polled", "waited", "processes", "minutes", "is_failure"),
    [
        (1, 1, 1, 1, True),
        (1, 1, 2, 1, True),
        (None, 1, 1, 1e-4, True),
        (None, -15, 1, 1e-4, False),
        (None, 1, 2, 1e-4, False),
        (None, 0, 1, 1e-4, False),
        (0, 0, 1, 1, False),
    ],
    ids=[
        "while it runs",
        "torchrun, while it runs",
        "while it stops",
        "stopped by us",
        "torchrun, stopped by us",
        "stopped and saved",
        "ended",
    ],
)
def test_a_run_that_fails_is_named(
    recipes, monkeypatch, tmp_path, capsys, polled, waited, processes, minutes, is_failure
):
    def popen(command, env):
        return SimpleNamespace(
            args=command, poll=lambda: polled, returncode=polled, wait=lambda: waited, send_signal=lambda number: None
        )

    monkeypatch.setattr(recipes.subprocess, "Popen", popen)
    if minutes == 1:
        monkeypatch.setattr(recipes.time, "sleep", lambda seconds: None)
    outcome = pytest.raises(SystemExit) if is_failure else contextlib.nullcontext()
    with outcome:
        recipes.run_stage("finals", tmp_path, jobs=1, processes=processes, minutes=minutes, arms=["bert"])
    assert ("failed" in capsys.readouterr().out) == is_failure


def test_attraction_is_counted_in_text(monkeypatch, small_tokenizer):
    attraction = study("attraction", monkeypatch)
    nouns, verbs = np.zeros((2, 60), np.int8)
    nouns[[20, 21]], verbs[[22, 23]] = (1, -1), (1, -1)
    numbers = attraction.Numbers(nouns, verbs, *np.zeros((3, 60), bool))
    monkeypatch.setattr(attraction.Numbers, "of", lambda tokenizer: numbers)
    shard = Documents.of([[[20, 22, 30], [20, 23], [30, 22]], [[21, 23, 21, 23, 20, 23]]])
    found = attraction.count_pairs(attraction.Corpus([shard], [shard], small_tokenizer))
    assert found == {
        "tokens": 13,
        "auxiliaries": 6,
        "sentences": 4,
        "misleading sentences": 2,
        "singular noun, singular verb": 1,
        "singular noun, plural verb": 2,
        "plural noun, singular verb": 0,
        "plural noun, plural verb": 2,
    }
    lines = attraction.table(found).splitlines()
    assert "| singular noun | 1 | 2 |" in lines and "| plural noun | 0 | 2 |" in lines


def test_own_sentences_are_told_apart_by_the_noun_in_between(compare_checkpoints, monkeypatch, model, small_tokenizer):
    turned = {"none": True, "singular": False, "plural": True}
    monkeypatch.setattr(compare_checkpoints, "prefers", lambda model, tokenizer, sentence: turned[sentence.attractor])
    found = compare_checkpoints.measure_agreement(model, small_tokenizer)
    assert {kind: (each["sentences"], each["right"]) for kind, each in found.items()} == {
        "no noun": (84, 100),
        "same number": (84, 50),
        "other number": (84, 50),
    }
    lines = compare_checkpoints.agreement_section({"one": found, "two": found})
    assert (
        "| one | 100.0 | 50.0 | 50.0 | 66.7 |" in lines
        and "| model | no noun | same number | other number | all |" in lines
    )


def test_the_likelier_of_two_verbs_is_preferred(compare_checkpoints, small_tokenizer):
    letters = [word for word in small_tokenizer.get_vocab() if len(word) == 1 and word.isalpha()]
    likely, unlikely, other = letters[:3]

    def model(input_ids, *rest):
        logits = torch.zeros(*input_ids.shape, 60)
        at = input_ids == small_tokenizer.token_to_id("[MASK]")
        logits[..., small_tokenizer.token_to_id(unlikely)] = torch.where(at, -1.0, 5.0)
        logits[..., small_tokenizer.token_to_id(likely)] = torch.where(at, 1.0, -5.0)
        return SimpleNamespace(mlm_logits=logits)

    sentence = SimpleNamespace(before=other, after=other, verb=likely, other=unlikely)
    turned = SimpleNamespace(before=other, after=other, verb=unlikely, other=likely)
    assert compare_checkpoints.prefers(model, small_tokenizer, sentence)
    assert not compare_checkpoints.prefers(model, small_tokenizer, turned)

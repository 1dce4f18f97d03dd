"""Studies say what they need before they do any work."""

import ast
import importlib
import importlib.util
import json
import random
import runpy
import sys
import types
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from bertcourse import bert
from bertcourse.anisotropy import expected_cosine
from bertcourse.datasets import COURSE_DATA
from bertcourse.files import read_json
from bertcourse.fine_tuning import LabeledText
from bertcourse.pretraining import SmallWorld
from bertcourse.static_embeddings import Question, WordVectors
from bertcourse_lab.datasets import sense_corpora
from bertcourse_lab.datasets.classification import Splits
from bertcourse_lab.datasets.sense_corpora import Instance, SenseCorpus
from bertcourse_lab.pretraining.config import PRESETS, PretrainingConfig

STUDIES = Path(__file__).parents[2] / "tools" / "studies"


@pytest.mark.parametrize("study", sorted(STUDIES.glob("*.py")), ids=lambda path: path.stem)
def test_what_a_study_imports_of_the_course_is_there(study):
    for node in ast.walk(ast.parse(study.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in ("bertcourse", "bertcourse_grading"):
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or importlib.util.find_spec(f"{node.module}.{name.name}"), name.name


def test_a_reranker_in_training_reads_by_length_and_scores_as_any(small_model, small_tokenizer):
    study = runpy.run_path(str(STUDIES / "reranker.py"))
    judge = study["LowRankReranker"](small_model, small_tokenizer, 16)
    rows = judge.batch(judge.encode([("a", "b " * words) for words in (9, 1, 5, 3, 8, 2, 7, 4, 6, 1, 3, 5)]))
    torch.testing.assert_close(judge(*rows), study["CrossEncoder"].forward(judge, *rows))


@pytest.fixture
def discourse():
    return runpy.run_path(str(STUDIES / "one_sense_per_discourse.py"))


def test_one_sense_per_discourse_compares_pairs_within_a_document_with_pairs_between(discourse):
    words = {"d0": "rrm", "d1": "mm", "d2": "r"}  # river or money, of one word
    instances = [
        Instance(
            f"{name}.s000.t{i:03}", ("bank", "NOUN"), 0, i, ({"r": "bank%1:17:01::", "m": "bank%1:14:00::"}[sense],)
        )
        for name, senses in words.items()
        for i, sense in enumerate(senses)
    ]
    senses = {("bank", "NOUN"): ["bank%1:17:01::", "bank%1:14:00::"]}
    row = discourse["measure"](discourse["count"](instances, senses, str, "all"))
    # d0 has 3 pairs, 1 of one sense; d1 has 1 of 1. Between: d0-d1 2 of 6, d0-d2 2 of 3, d1-d2 0 of 2.
    assert (row["cases"], row["pairs"], row["one_sense"]) == (2, 4, 0.5)
    assert row["same"] == pytest.approx((1 / 3 + 1) / 2, abs=1e-4)
    assert row["chance"] == row["pairs_chance"] == pytest.approx(4 / 11, abs=1e-4)
    assert row["pairs_same"] == 0.5
    assert row["low"] <= row["same"] - row["chance"] <= row["high"]


def test_one_sense_per_discourse_leaves_out_names_and_words_of_one_sense(discourse):
    corpus = SenseCorpus([["Wilson", "met", "persons"]], [])
    name, noun = (Instance("d0.s0.t0", ("person", "NOUN"), 0, i, ("person%1:03:00::",)) for i in (0, 2))
    assert discourse["is_name"](corpus, name) and not discourse["is_name"](corpus, noun)
    assert discourse["supersense"]("bank%1:17:01::") == "1:17"
    assert not discourse["count"]([noun], {("person", "NOUN"): ["person%1:03:00::"]}, str, "all")


def test_anisotropy_says_what_it_cannot_fetch_before_it_loads_a_model(monkeypatch):
    def absent(name):
        raise ConnectionError(f"cannot fetch {name}. Set BERTCOURSE_DATA")

    monkeypatch.setattr(sense_corpora, "fetch", absent)
    monkeypatch.setattr(bert, "load_pretrained", lambda name: pytest.fail("a model was loaded"))
    monkeypatch.setattr(sys, "argv", ["anisotropy.py"])
    with pytest.raises(SystemExit, match="cannot fetch semcor. Set BERTCOURSE_DATA"):
        runpy.run_path(str(STUDIES / "anisotropy.py"), run_name="__main__")


def test_similarity_across_documents_equals_all_pairs():
    random = np.random.default_rng(0)
    vectors = random.normal(1, 1, size=(40, 6))
    names, documents = random.choice(["a", "b"], 40).tolist(), random.choice(["d1", "d2", "d3"], 40).tolist()
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity_across = runpy.run_path(str(STUDIES / "anisotropy.py"))["similarity_across"]
    found = similarity_across(vectors, names, documents)
    for name in ("a", "b"):
        pairs = [
            (i, j) for i in range(40) for j in range(i) if names[i] == names[j] == name and documents[i] != documents[j]
        ]
        assert found[name] == pytest.approx(np.mean([units[i] @ units[j] for i, j in pairs]))
    assert similarity_across(vectors[:2], ["a", "a"], ["d1", "d1"]) == {}


def test_rank_correlations_of_rows_equal_scipy():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(3, 20)).round(1), random.integers(0, 5, size=(3, 20))  # with ties
    rows = runpy.run_path(str(STUDIES / "anisotropy.py"))["spearman_rows"](x, y)
    np.testing.assert_allclose(rows, [stats.spearmanr(a, b).statistic for a, b in zip(x, y)])


@pytest.fixture
def space():
    return runpy.run_path(str(STUDIES / "anisotropy.py"))


def test_sampled_pairs_agree_within_their_standard_error(space):
    vectors = np.random.default_rng(0).normal(0.3, 1, size=(300, 16))
    exact, sampled_cosine = expected_cosine(vectors), space["sampled_cosine"]
    estimates = [sampled_cosine(vectors, num_pairs=2000, seed=seed) for seed in range(40)]
    within = [abs(estimate.mean - exact) < 2 * estimate.standard_error for estimate in estimates]
    assert sum(within) >= 34
    assert sampled_cosine(np.eye(2), num_pairs=50) == (0.0, 0.0)  # a pair is of two different vectors


def test_frequency_effect_finds_the_slope_that_is_there(space):
    counts = {i: 10 ** (1 + i % 5) for i in range(500)}
    noise = np.random.default_rng(0).normal(0, 0.02, size=500)
    similarities = {i: 0.9 - 0.05 * np.log10(counts[i]) + noise[i] for i in counts}
    line = space["frequency_effect"](similarities, {**counts, 0: 0})
    assert abs(line.slope + 0.05) < 3 * line.standard_error < 0.005
    assert line.num_points == 499 and line.correlation < -0.9 and abs(line.intercept - 0.9) < 0.01


@pytest.fixture
def small_world_study():
    return runpy.run_path(str(STUDIES / "small_world.py"))


def test_small_world_by_the_page_reads_the_tokens_of_its_settings(small_world_study, monkeypatch):
    read = []
    globals_of = small_world_study["trained_by_page"].__globals__
    monkeypatch.setitem(
        globals_of, "train", lambda model, stream, most, callback, rate: read.append((next(stream), most, rate))
    )
    settings = dict(world_tokens=3000, tokens=500, mask_rate=0.5, mask_share=1.0, random_share=0.0, seed=3)
    small_world_study["trained_by_page"](PretrainingConfig(**{**PRESETS["small-world"], **settings}))
    ((masked, rows), most, rate), mask_id = read[0], globals_of["SmallWorld"]().tokenizer().token_to_id("[MASK]")
    assert (most, rate, len(rows.input_ids)) == (500, 1e-3, 16)
    assert (masked.input_ids == mask_id).sum() == len(masked.positions) > 0.4 * rows.num_tokens


def test_small_world_prints_both_bands(small_world_study, capsys):
    small_world_study["compare"]("mask30", [{"mlm_loss": 1.1}, {"mlm_loss": 1.3}], [{"mlm_loss": 1.2}])
    assert "1.100 to 1.300    1.200 to 1.200" in capsys.readouterr().out


@pytest.fixture
def few_labels():
    return runpy.run_path(str(STUDIES / "few_labels.py"))


def test_frozen_layers_chooses_on_dev_and_scores_the_test_split_at_that_rate(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    study = runpy.run_path(str(STUDIES / "frozen_layers.py"))
    gold = [example.label for example in study["splits_of"]("tickets").test]
    dev = {0.0002: (60.0, 70.0, 80.0), 0.0006: (90.0, 80.0, 70.0)}
    asked = []

    def train(encoder, tokenizer, trainable, rate, seed):
        asked.append((trainable, rate, seed))
        wrong = 30 if rate == 0.0006 else 60  # of 120
        return {"dev": dev[rate][seed], "predicted": ["none"] * wrong + gold[wrong:]}

    study["measure"].__globals__["train"] = train
    row = study["measure"](None, None, 2)
    assert asked == [(2, rate, seed) for rate in dev for seed in range(3)]
    assert row["learning_rate"] == 0.0006 and row["test"] == [75.0] * 3
    assert row["dev"] == {"0.0002": [60.0, 70.0, 80.0], "0.0006": [90.0, 80.0, 70.0]}


def test_review_folds_judges_each_review_by_a_model_that_has_not_read_it(monkeypatch, small_model, small_tokenizer):
    monkeypatch.syspath_prepend(str(STUDIES))
    study = runpy.run_path(str(STUDIES / "review_folds.py"))
    reviews, judged = study["splits_of"]("reviews").test, []
    of_fold = Counter(zip(study["deal"](reviews, 1), (review.label for review in reviews)))
    assert len(of_fold) == 15 and set(of_fold.values()) == {12}  # of 180

    class Parrot:
        """Knows the labels of what it was taught."""

        def __init__(self, *_, **__):
            self.known = {}

        def predict(self, texts):
            judged.extend(texts)
            return [self.known.get(text, "nothing") for text in texts]

    def fine_tune(model, examples, **_):
        model.known.update({example.text: example.label for example in examples})

    monkeypatch.setitem(study["judge"].__globals__, "SequenceClassifier", Parrot)
    monkeypatch.setitem(study["judge"].__globals__, "fine_tune", fine_tune)
    monkeypatch.setitem(study["judge"].__globals__, "sentence_vectors", lambda *_: np.zeros((180, 2)))
    hits = study["judge"](reviews, 1, small_model, small_tokenizer)
    assert sorted(judged) == sorted(review.text for review in reviews)
    assert not hits["fine-tuned"].any() and hits["frozen"].mean() == pytest.approx(1 / 3)


def test_few_labels_draws_as_many_of_each_class_and_others_for_another_seed(few_labels):
    examples = few_labels["splits_of"]("tickets").train
    drawn, other = (few_labels["draw"](examples, 16, seed) for seed in (0, 1))
    assert Counter(e.label for e in drawn) == {"billing": 16, "hardware": 16, "software": 16}
    assert len(set(drawn)) == 48 and set(drawn) <= set(examples) and set(drawn) != set(other)


def test_few_labels_measures_trained_models_with_every_seed_and_others_once_on_all(few_labels):
    rows = few_labels["plan"](3)
    seeds = {(row["set"], row["method"], row["per_class"]): 0 for row in rows}
    for row in rows:
        seeds[row["set"], row["method"], row["per_class"]] += 1
    assert (
        seeds["tickets", "fine-tuned", 120] == seeds["tickets", "TF-IDF", 64] == seeds["nli", "from scratch", 120] == 3
    )
    assert seeds["tickets", "TF-IDF", 120] == seeds["nli", "frozen, two vectors", 120] == 1
    assert sum(seeds.values()) == len(rows)


def test_few_labels_gives_each_text_of_a_pair_its_own_words(few_labels):
    pairs = [LabeledText(("a b", "c"), "x"), LabeledText(("c", "a"), "y")]
    train, dev, test = few_labels["tf_idf"](Splits(pairs, pairs, [LabeledText(("c", "zz"), "x")]))
    assert train.shape == dev.shape == (2, 6)  # a, b, a b, c of the first text, a, c of the second
    assert test.toarray().tolist() == [[0, 0, 0, 1, 0, 0]]


def test_few_labels_reads_two_texts_apart(few_labels, small_model, small_tokenizer):
    same, other = few_labels["two_vectors"](small_model, small_tokenizer, [("a b", "a b"), ("a", "c")])
    u, v, difference, product = same.reshape(4, -1)
    np.testing.assert_allclose(u, few_labels["sentence_vectors"](small_model, small_tokenizer, ["a b"])[0], atol=1e-6)
    np.testing.assert_allclose(u, v, atol=1e-6)
    np.testing.assert_allclose(product, u * u, atol=1e-5)
    assert np.abs(difference).max() < 1e-5 < np.abs(other.reshape(4, -1)[2]).max()


def test_few_labels_from_scratch_has_random_weights_of_its_seed(few_labels, small_model):
    first, again, other = (few_labels["random_encoder"](small_model, seed).pooler.weight for seed in (1, 1, 2))
    assert first.equal(again) and not first.equal(other) and not first.equal(small_model.pooler.weight)


def test_few_labels_goes_on_where_it_was_and_begins_anew_with_other_weights(
    few_labels, monkeypatch, tmp_path, small_model, small_tokenizer
):
    measured = []

    def measure(row, encoder, tokenizer):
        measured.append(row)
        if len(measured) == 5:
            raise KeyboardInterrupt
        return 50.0

    monkeypatch.setitem(few_labels["run"].__globals__, "measure", measure)
    monkeypatch.setattr(bert, "load_pretrained", lambda name: (small_model, small_tokenizer))
    with pytest.raises(KeyboardInterrupt):
        few_labels["run"]("small", 1, tmp_path)
    assert len(read_json(tmp_path / "few_labels_small.json")["rows"]) == 4
    whole = few_labels["run"]("small", 1, tmp_path)
    assert len(whole["rows"]) == len(few_labels["plan"](1)) == len(measured) - 1
    few_labels["run"]("small", 1, tmp_path)
    assert len(measured) == len(whole["rows"]) + 1
    with torch.no_grad():
        small_model.embeddings.word_embeddings.weight.add_(1)
    few_labels["run"]("small", 1, tmp_path)
    assert len(measured) == 2 * len(whole["rows"]) + 1


@pytest.fixture
def nli(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    return runpy.run_path(str(STUDIES / "nli.py"))


def test_nli_crosses_each_word_of_a_premise_with_each_of_the_hypothesis(nli):
    pairs = [LabeledText(("Two men sleep.", "They sleep."), "x"), LabeledText(("A dog.", "A cat."), "y")]
    train, dev, test = nli["words_crossed"](Splits(pairs, pairs, [LabeledText(("They sleep.", "Two men sleep."), "x")]))
    assert train.shape == dev.shape == (2, 3 * 2 + 2 * 2) and (train > 0).sum(axis=1).tolist() == [[6], [4]]
    assert test.nnz == 1  # only *sleep* with *sleep* is the same the other way round


def test_nli_adds_its_rivals_to_the_scores_and_leaves_the_others(nli, monkeypatch, tmp_path):
    pairs = [LabeledText(("p", "q"), label) for label in ("entailment", "neutral")]
    globals_of = nli["measure_rivals"].__globals__
    monkeypatch.setitem(globals_of, "snli", lambda: None)
    monkeypatch.setitem(globals_of, "tests", lambda: {"SNLI": pairs, "MED": pairs})
    said = {"SNLI": ["entailment", "neutral"], "MED": ["neutral", "contradiction"]}
    monkeypatch.setitem(globals_of, "regression", lambda name, splits: said)
    scores = {"tests": {"SNLI": {"minilm": [79.0]}, "MED": {"minilm": [50.0]}}}
    (tmp_path / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    nli["measure_rivals"](tmp_path)
    rows = read_json(tmp_path / "scores.json")["tests"]
    assert rows["SNLI"] == {"minilm": [79.0], "words crossed": [100.0], "frozen vectors": [100.0]}
    assert rows["MED"] == {"minilm": [50.0], "words crossed": [50.0], "frozen vectors": [50.0]}


@pytest.fixture
def next_sentence():
    return runpy.run_path(str(STUDIES / "next_sentence.py"))


def topic_of(world: SmallWorld, text: str) -> set[str]:
    """The topics whose own things a text names."""
    return {topic for topic, words in world.topics.items() if set(words["things"]) & set(text.split())}


def test_next_sentence_draws_pairs_of_one_topic_and_of_two(next_sentence):
    world = SmallWorld()
    pairs = next_sentence["draw"](world, "same topic", 60, random.Random(0))
    assert Counter(label for _, label in pairs) == {"True": 30, "False": 30}
    shared = {label: [] for label in ("True", "False")}
    for (first, second), label in pairs:
        first, second = topic_of(world, first), topic_of(world, second)
        if len(first) == len(second) == 1:  # where the texts give their topics away
            shared[label].append(first == second)
    assert all(shared["True"]) and not any(shared["False"]) and min(map(len, shared.values())) > 10


def test_next_sentence_draws_other_training_examples_for_another_seed_and_the_same_tests(next_sentence):
    one, two = (next_sentence["splits_of"](SmallWorld(), "topic", seed) for seed in (21, 22))
    assert one.train != two.train and (one.dev, one.test) == (two.dev, two.test)
    assert list(map(len, one)) == [200, 500, 1000]


def test_next_sentence_counts_the_words_of_both_texts_and_those_in_common(next_sentence):
    pairs = [LabeledText(("a b", "b c"), "True")]
    train, _, test = next_sentence["bags_of_words"](Splits(pairs, pairs, [LabeledText(("c c", "c"), "True")]))
    assert train.tolist() == [[1, 1, 0, 0, 1, 1, 0, 1, 0]] and test.tolist() == [[0, 0, 2, 0, 0, 1, 0, 0, 2]]


def test_next_sentence_reads_cls_and_the_mean_of_the_tokens(next_sentence, small_model, small_tokenizer):
    examples = [LabeledText(("a b", "c"), "x"), LabeledText(("a", "b"), "y")]  # the second is padded
    found = next_sentence["vectors"](small_model, small_tokenizer, examples)
    ids = torch.tensor([small_tokenizer.encode("a", "b").ids])
    with torch.inference_mode():
        (hidden,) = small_model(ids, None, torch.tensor([[0, 0, 0, 1, 1]])).last_hidden_state.numpy()
    np.testing.assert_allclose(found["[CLS]"][1], hidden[0], atol=1e-6)
    np.testing.assert_allclose(found["mean"][1], hidden.mean(0), atol=1e-6)


def test_next_sentence_goes_on_where_it_was(next_sentence, monkeypatch, tmp_path):
    measured = []
    names = next_sentence["run"].__globals__
    monkeypatch.setitem(names, "measure", lambda *_: measured.append(1) or {"topic": {"[CLS]": 50.0}})
    monkeypatch.setitem(names, "baselines", lambda *_: {"topic": {"majority": 7.0}})
    monkeypatch.setitem(names, "mlm_loss", lambda *_: 1.0)
    monkeypatch.setitem(names, "pretrained", lambda variant, seed, folder: names["fresh"](SmallWorld(), seed))
    assert len(next_sentence["run"]([21], tmp_path, tmp_path)["rows"]) == 4
    rows = next_sentence["run"]([21, 22], tmp_path, tmp_path)["rows"]
    assert len(measured) == 6 and [row["seed"] for row in rows] == [21, 22] * 4
    table = (tmp_path / "next_sentence.md").read_text(encoding="utf-8")
    assert "| topic | without NSP | [CLS] | 50.0 to 50.0 |" in table and "| topic | no model | majority |" in table


@pytest.fixture
def grading_study(monkeypatch):
    """A study of grading, by its name; such studies import each other."""
    pytest.importorskip("nbgrader")
    monkeypatch.syspath_prepend(str(STUDIES))
    return lambda name: runpy.run_path(str(STUDIES / f"{name}.py"))


def test_hidden_seeds_finds_a_refusal_and_none_of_the_solution(grading_study, monkeypatch):
    monkeypatch.setenv("BERTCOURSE_HIDDEN_SEED", "0")
    study = grading_study("hidden_seeds")
    names = dict(study["right_answers"]("1.3"))
    assert len(names) >= 3 and study["refusals"]("1.3", names["the solution"], range(3)) == {}
    wrong = {**names["the solution"], "window_mask": lambda length, radius: torch.ones(length, length).bool()}
    assert list(study["refusals"]("1.3", wrong, range(3))) == [0, 1, 2]


def test_grading_cost_compares_round_by_round(grading_study):
    assert grading_study("grading_cost")["medians"]([1.0, 10.0, 2.0], [2.0, 11.0, 3.0]) == (2.0, 3.0, 1.5)


def test_grading_kills_sees_who_is_missing_twice_or_graded_otherwise(grading_study, tmp_path):
    differences = grading_study("grading_kills")["differences"]
    for student in ("anna", "bo"):
        (tmp_path / "submissions" / student).mkdir(parents=True)

    def scene(*killed):
        reports = {"calm": (("anna", 3), ("bo", 2)), "killed": killed}
        return types.SimpleNamespace(
            base=tmp_path, report=lambda output: [{"student": name, "points": n} for name, n in reports[output]]
        )

    assert differences(scene(("anna", 3), ("bo", 2))) == []
    assert differences(scene(("anna", 3), ("bo", 2), ("bo", 2))) == ["3 rows for 2 students"]
    assert len(differences(scene(("anna", 3), ("bo", 1)))) == 1
    assert len(differences(scene(("anna", 3)))) == 2


@pytest.fixture
def static_embeddings():
    return runpy.run_path(str(STUDIES / "static_embeddings.py"))


def test_spelling_answers_an_analogy_by_prefix_or_ending(static_embeddings):
    questions = ["able unable true", "easy uneasy man", "quick quickly slow", "happy happily easy", "walk walked go"]
    found = [static_embeddings["spelled"](*each.split()) for each in questions]
    assert found == ["untrue", "unman", "slowly", "easily", "goed"]


def test_spelling_alone_is_scored_on_the_questions_that_vectors_are_scored_on(static_embeddings):
    questions = [
        Question("walk", "walked", "turn", "turned"),
        Question("walk", "walked", "go", "went"),
        Question("man", "woman", "king", "queen"),  # king has no vector
        Question("quick", "quickly", "slow", "slowly"),  # and slowly has none
    ]
    words = "walk walked turn turned go went man woman queen quick quickly slow".split()
    found = static_embeddings["spelling_alone"](questions, words)
    assert found == {"covered": 2, "right of those covered": 0.5, "questions": 4, "right of all": 0.5}
    found = static_embeddings["spelling_alone"](questions, [*words, "slowly"])
    assert found == {"covered": 3, "right of those covered": pytest.approx(2 / 3), "questions": 4, "right of all": 0.5}


def test_stored_baselines_are_of_the_questions_of_the_stored_scores():
    stored = read_json(COURSE_DATA / "results" / "static_embeddings_words.json")
    for name, spelling in stored["spelling alone"].items():
        assert {spelling["covered"]} == {row[f"{name} covered"] for row in stored["rows"]}


def test_nearest_to_c_leaves_the_words_of_the_question_out(static_embeddings):
    vectors = WordVectors(["a", "b", "c", "d", "e"], [[0, 1], [3, 0.1], [3, 0], [3, 0.5], [3, 1]])
    questions = [Question("a", "b", "c", "d"), Question("a", "b", "c", "e"), Question("a", "b", "c", "unknown")]
    assert static_embeddings["nearest_to_c"](vectors, questions) == 0.5

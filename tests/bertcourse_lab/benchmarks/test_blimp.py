"""bertcourse benchmark blimp: pseudo-log-likelihoods, pairs, means over paradigms and their intervals, the command."""

import json
import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from bertcourse.bert import BertForPreTraining, BertModel
from bertcourse_lab import cli
from bertcourse_lab.benchmarks import blimp as benchmark
from bertcourse_lab.benchmarks.blimp import (
    ACROSS_A_NOUN,
    PUBLISHED,
    MinimalPair,
    blimp_pairs,
    grammar_table,
    groups,
    is_right,
    pseudo_log_likelihoods,
    read_published,
    run_benchmark,
    score_pairs,
    summary,
)
from bertcourse_lab.datasets import registry

NAMES = sorted(read_published())


@pytest.fixture
def small_mlm(small_config) -> BertForPreTraining:
    return BertForPreTraining(small_config).eval()


@pytest.fixture
def small_blimp(monkeypatch, small_mlm, small_tokenizer):
    """Three pairs of each paradigm; in the first, both sentences have the same tokens."""
    pairs = [MinimalPair("a b.", "A b."), MinimalPair("a cab", "a cad"), MinimalPair("b", "b c d e f")]
    monkeypatch.setattr(benchmark, "blimp_pairs", lambda: dict.fromkeys(NAMES, pairs))
    monkeypatch.setattr(benchmark, "load_pretrained", lambda name, model_class: (small_mlm, small_tokenizer))


def plain_pseudo_log_likelihood(model: BertForPreTraining, tokenizer: Tokenizer, text: str) -> float:
    """In nats, a token at a time, by the whole model."""
    ids, total = tokenizer.encode(text).ids, 0.0
    for place in range(1, len(ids) - 1):  # [CLS] and [SEP] are not part of the text
        hidden = torch.tensor([ids])
        hidden[0, place] = tokenizer.token_to_id("[MASK]")
        with torch.inference_mode():
            total += model(hidden).mlm_logits[0, place].log_softmax(-1)[ids[place]].item()
    return total


def test_a_token_counts_with_its_probability_where_it_is_hidden(small_mlm, small_tokenizer):
    ids = small_tokenizer.encode("a b").ids
    with torch.no_grad():
        logits = [small_mlm(torch.tensor([row])).mlm_logits[0] for row in ([2, 4, ids[2], 3], [2, ids[1], 4, 3])]
    expected = [row.softmax(-1)[where, ids[where]].log().item() for where, row in enumerate(logits, start=1)]
    assert pseudo_log_likelihoods(small_mlm, small_tokenizer, ["a b"]) == pytest.approx([sum(expected)], abs=1e-5)


def test_a_model_that_guesses_blindly_finds_all_tokens_equally_likely(small_mlm, small_tokenizer):
    for parameter in small_mlm.mlm_head.parameters():
        torch.nn.init.zeros_(parameter)
    found = pseudo_log_likelihoods(small_mlm, small_tokenizer, ["a b c", "d"])
    assert found == pytest.approx([-3 * math.log(60), -math.log(60)], abs=1e-5)


def test_many_at_once_equal_one_by_one(small_mlm, small_tokenizer):
    texts = ["a b c.", "abc", "", "a b c.", "f e d c b a a b c d e f", "x"]
    expected = [plain_pseudo_log_likelihood(small_mlm, small_tokenizer, text) for text in texts]
    for max_tokens in (1, 40, 2048):
        found = pseudo_log_likelihoods(small_mlm, small_tokenizer, texts, max_tokens)
        assert found == pytest.approx(expected, abs=1e-5)
    assert expected[2] == 0 and len(set(expected)) == 5


def test_an_encoder_that_is_no_bert_is_read_whole(small_mlm, small_tokenizer):
    expected = pseudo_log_likelihoods(small_mlm, small_tokenizer, ["a b c", "d"])
    small_mlm.bert.__class__ = type("Other", (BertModel,), {})
    small_mlm.bert.encoder.register_forward_hook(lambda module, given, output: read.append(output))
    read = []
    assert pseudo_log_likelihoods(small_mlm, small_tokenizer, ["a b c", "d"]) == pytest.approx(expected, abs=1e-5)
    assert read


def test_equal_sentences_are_read_once(small_mlm, small_tokenizer, monkeypatch):
    read, forward = [], small_mlm.bert.embeddings.forward
    monkeypatch.setattr(small_mlm.bert.embeddings, "forward", lambda *ids: read.append(len(ids[0])) or forward(*ids))
    first, second, third = pseudo_log_likelihoods(small_mlm, small_tokenizer, ["a b", "A b", "c"])
    assert first == second != third and sum(read) == 3


def test_texts_that_differ_in_one_token_share_the_row_that_hides_it(small_mlm, small_tokenizer, monkeypatch):
    texts = ["a b c", "a d c", "a d c e", "d c"]
    expected = [plain_pseudo_log_likelihood(small_mlm, small_tokenizer, text) for text in texts]
    read, forward = [], small_mlm.bert.embeddings.forward
    monkeypatch.setattr(small_mlm.bert.embeddings, "forward", lambda *ids: read.append(len(ids[0])) or forward(*ids))
    assert pseudo_log_likelihoods(small_mlm, small_tokenizer, texts) == pytest.approx(expected, abs=1e-5)
    assert sum(read) == 3 + 3 + 4 + 2 - 1


def test_bfloat16_changes_a_likelihood_by_little(small_mlm, small_tokenizer):
    texts = ["a b c", "d e f a"]
    exact, quick = (
        pseudo_log_likelihoods(small_mlm, small_tokenizer, texts, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    assert quick == pytest.approx(exact, abs=0.1) and (quick != exact).all()


def test_scores_know_no_dropout_and_leave_the_mode_as_it_was(small_mlm, small_tokenizer):
    expected = plain_pseudo_log_likelihood(small_mlm, small_tokenizer, "a b c")
    small_mlm.train()
    assert pseudo_log_likelihoods(small_mlm, small_tokenizer, ["a b c"]) == pytest.approx([expected], abs=1e-5)
    assert small_mlm.training


def test_robertas_mask_hides_too(small_mlm, small_tokenizer):
    expected = pseudo_log_likelihoods(small_mlm, small_tokenizer, ["a b"])
    vocabulary = json.loads(small_tokenizer.to_str().replace("[MASK]", "<mask>"))
    renamed = type(small_tokenizer).from_str(json.dumps(vocabulary))
    assert pseudo_log_likelihoods(small_mlm, renamed, ["a b"]).tolist() == expected.tolist()


def test_a_model_that_cannot_guess_is_refused(small_model, small_mlm, small_tokenizer):
    with pytest.raises(ValueError, match="MLM head"):
        pseudo_log_likelihoods(small_model, small_tokenizer, ["a"])
    nameless = type(small_tokenizer).from_str(small_tokenizer.to_str().replace("[MASK]", "[HIDDEN]"))
    with pytest.raises(ValueError, match="hides"):
        pseudo_log_likelihoods(small_mlm, nameless, ["a"])


def test_one_text_is_no_list_of_texts(small_mlm, small_tokenizer):
    with pytest.raises(ValueError, match="list"):
        pseudo_log_likelihoods(small_mlm, small_tokenizer, "a b")


def test_the_better_sentence_is_right_and_a_tie_counts_half():
    assert is_right(np.array([-1.0, -3.0, -2.0]), np.array([-2.0, -2.0, -2.0])).tolist() == [1, 0, 0.5]


def test_paradigms_count_alike():
    right = {"adjunct_island": np.ones(4), "wh_island": np.zeros(1000)}
    assert summary(right, read_published(), list(right))["accuracy"] == 50


def test_intervals_cover_what_other_pairs_would_have_given():
    """The share of right pairs is known here; 95 of 100 test sets should have it in their interval."""
    rng, shares = np.random.default_rng(0), dict(zip(NAMES, np.linspace(0.1, 0.9, 6)))
    covered, widths = 0, []
    for _ in range(400):
        right = {name: (rng.random(200) < share).astype(float) for name, share in shares.items()}
        row = summary(right, read_published(), list(right))
        covered += row["low"] <= 50 <= row["high"]
        widths.append(row["high"] - row["low"])
    assert 0.92 <= covered / 400 <= 0.98 and np.mean(widths) < 5


def test_where_all_pairs_are_right_the_interval_has_a_width():
    rows = [summary({"wh_island": np.ones(count)}, read_published(), ["wh_island"]) for count in (1, 25, 1000)]
    assert [row["high"] for row in rows] == [100] * 3
    assert rows[0]["low"] < 10 and 90 < rows[1]["low"] < 97 and 99 < rows[2]["low"] < 100


def test_groups_are_halves_and_phenomena():
    found = groups(read_published())
    assert len(found["all"]) == 67 and len(found["odd number"]) == 34
    assert sorted(found["odd number"] + found["even number"]) == found["all"]
    assert found["odd number"][:2] == ["adjunct_island", "anaphor_number_agreement"]
    phenomena = [name for name in found if name not in ("all", "odd number", "even number", "agreement across a noun")]
    assert len(phenomena) == 12 and sum(len(found[name]) for name in phenomena) == 67


def test_equal_sentences_are_a_tie_however_scores_are_made(small_mlm, small_tokenizer, monkeypatch):
    monkeypatch.setattr(benchmark, "blimp_pairs", lambda: dict.fromkeys(NAMES, [MinimalPair("A cab.", "A cab.")]))
    result = score_pairs(small_mlm, small_tokenizer, None, lambda model, tokenizer, texts: np.arange(len(texts)))
    assert result["groups"]["all"]["accuracy"] == 50


def test_published_means_are_those_of_the_papers_table():
    """Warstadt et al. 2020, table 3, as corrected in 2021; the paper rounds some halves down and some up."""
    published = read_published()
    right = {name: np.ones(1) for name in published}

    def means(group: str) -> list[float]:
        return list(summary(right, published, groups(published)[group])["published"].values())

    table = {
        "all": (61.2, 69.8, 69.6, 83.0, 88.6),
        "anaphor agreement": (47.9, 91.7, 94.1, 99.3, 97.5),
        "argument structure": (71.9, 73.2, 72.2, 81.8, 90.0),
        "island effects": (57.2, 46.6, 48.4, 72.7, 84.9),
        "npi licensing": (45.5, 51.7, 55.2, 76.8, 88.1),
        "subject verb agreement": (60.3, 80.1, 76.0, 86.4, 90.9),
    }
    assert all(means(group) == pytest.approx(row, abs=0.11) for group, row in table.items())


def test_the_table_has_groups_paradigms_and_the_published(small_blimp, tmp_path, capsys):
    result = run_benchmark("models/small", output=tmp_path)
    assert result["pairs"] == 201 and list(result["paradigms"]) == NAMES
    assert result["groups"]["all"]["published"] == dict(zip(PUBLISHED, (61.2, 69.8, 69.6, 83.0, 88.6)))
    assert result["precision"] in ("float32", "bfloat16")
    assert json.loads((tmp_path / "blimp_small.json").read_text(encoding="utf-8")) == result
    table = (tmp_path / "blimp_small.md").read_text(encoding="utf-8")
    assert table == grammar_table(result) and table.strip() in capsys.readouterr().out
    assert table.startswith("# BLiMP: models/small\n") and all(f"\n| {name} | " in table for name in ACROSS_A_NOUN)


def test_a_quick_look_takes_the_first_pairs(small_blimp, small_mlm, small_tokenizer):
    result = score_pairs(small_mlm, small_tokenizer, limit=1)
    assert result["pairs"] == 67 and result["groups"]["all"]["accuracy"] == 50  # the first pair is a tie


def test_the_command_runs_it_and_names_errors(small_blimp, monkeypatch, tmp_path, capsys):
    command = ["benchmark", "blimp", "--limit", "1", "--output", str(tmp_path)]
    for precision in ("bfloat16", "float32"):
        assert cli.main([*command, "--precision", precision]) == 0
        assert "# BLiMP: course" in (out := capsys.readouterr().out) and f"products in {precision}" in out
    assert json.loads((tmp_path / "blimp_course_limit1.json").read_text(encoding="utf-8"))["precision"] == "float32"
    assert cli.main(["benchmark", "blimp", "--limit", "0"]) == 1
    assert capsys.readouterr().err == "bertcourse benchmark: --limit must be at least 1 pair of each paradigm; got 0.\n"
    monkeypatch.undo()
    assert cli.main(["benchmark", "blimp", "--model", "minilm"]) == 1
    assert "lacks heads" in capsys.readouterr().err


def test_blimp_is_in_the_registry():
    assert [file.file for file in registry.find_set("blimp")] == ["blimp/blimp.tar.xz"]


@pytest.mark.skipif(registry.states(["blimp"])["blimp"] == "absent", reason="BLiMP is not here")
def test_real_blimp():
    pairs = blimp_pairs()
    assert list(pairs) == NAMES and {len(of_paradigm) for of_paradigm in pairs.values()} == {1000}
    assert pairs["adjunct_island"][0] == (
        "Who should Derek hug after shocking Richard?",
        "Who should Derek hug Richard after shocking?",
    )

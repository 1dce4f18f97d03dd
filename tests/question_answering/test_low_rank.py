"""A difference of low rank: what it computes, that it alone learns, and that its file makes the same model again."""

import dataclasses

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertcourse.bert import BertModel
from bertcourse.datasets import course_file
from bertcourse.question_answering import Answer, Question, SpanPredictor, read_squad
from bertcourse.question_answering.low_rank import LowRankLinear, add_low_rank, load_difference, save_difference
from bertcourse_lab.fine_tuning import fine_tune

QUESTIONS = [Question(str(i), f"a {c}", f"b {c} d e", (Answer(c, 2),)) for i, c in enumerate("fghi")]


@pytest.fixture
def trained(encoder, small_tokenizer) -> SpanPredictor:
    reader = add_low_rank(SpanPredictor(encoder, small_tokenizer), rank=2)
    fine_tune(reader, QUESTIONS, QUESTIONS, epochs=4, learning_rate=0.01, trainable="blocks")
    return reader


def test_it_is_the_map_plus_a_product_of_rank_r():
    linear, x = torch.nn.Linear(6, 4), torch.randn(3, 6)
    part = LowRankLinear(linear, rank=2)
    torch.testing.assert_close(part(x), linear(x))  # U is 0 at first
    torch.nn.init.normal_(part.U)
    assert torch.linalg.matrix_rank(part.U @ part.V) == 2
    torch.testing.assert_close(part(x), x @ (linear.weight + part.U @ part.V).T + linear.bias)


def test_a_model_with_it_starts_as_the_model_it_was(encoder, small_tokenizer):
    plain = SpanPredictor(encoder, small_tokenizer).eval()
    rows = plain.rows(QUESTIONS)
    before = plain.logits(rows)
    torch.testing.assert_close(add_low_rank(plain, rank=2).logits(rows), before)


def test_training_leaves_the_maps_and_the_embeddings_alone(encoder, trained):
    for name, weight in encoder.state_dict().items():
        if name.startswith("embeddings.") or (name.endswith(".weight") and "norm" not in name and "pooler" not in name):
            assert torch.equal(trained.state_dict()[f"bert.{name}"], weight), name
    parts = [part for part in trained.modules() if isinstance(part, LowRankLinear)]
    assert len(parts) == 12 and all(part.U.any() for part in parts)


def test_the_file_on_a_plain_model_is_the_trained_one(encoder, small_tokenizer, trained, tmp_path):
    save_difference(trained, tmp_path / "difference.safetensors")
    assert {tensor.dtype for tensor in load_file(tmp_path / "difference.safetensors").values()} == {torch.float16}
    plain = load_difference(SpanPredictor(encoder, small_tokenizer).eval(), tmp_path / "difference.safetensors")
    assert not any(isinstance(part, LowRankLinear) for part in plain.modules())
    rows = plain.rows(QUESTIONS)
    for ours, theirs in zip(plain.logits(rows), trained.logits(rows)):
        torch.testing.assert_close(ours, theirs, atol=5e-3, rtol=0)  # half precision


def test_a_difference_for_another_model_changes_nothing(small_config, small_tokenizer, trained, tmp_path):
    path = tmp_path / "difference.safetensors"
    save_difference(trained, path)
    smaller = BertModel(dataclasses.replace(small_config, vocab_size=50, hidden_size=12, intermediate_size=20))
    other = SpanPredictor(smaller, small_tokenizer)
    before = {name: weight.clone() for name, weight in other.state_dict().items()}
    with pytest.raises(ValueError, match="fit the model"):
        load_difference(other, path)
    assert all(torch.equal(weight, before[name]) for name, weight in other.state_dict().items())


def test_a_part_that_the_model_does_not_have_is_named(encoder, small_tokenizer, tmp_path):
    head = SpanPredictor(encoder, small_tokenizer).span_head
    there = {"span_head.weight": head.weight.detach(), "span_head.bias": head.bias.detach()}
    save_file({"bert.encoder.blocks.7.attention_norm.weight": torch.ones(24), **there}, tmp_path / "x")
    with pytest.raises(ValueError, match=r"no such weight.*blocks\.7\.attention_norm\.weight"):
        load_difference(SpanPredictor(encoder, small_tokenizer), tmp_path / "x")


@pytest.mark.parametrize(
    "missing",
    ["span_head.bias", "bert.encoder.blocks.1.attention.query.V", "bert.encoder.blocks.0.attention_norm.weight"],
)
def test_a_file_that_lacks_something_changes_nothing(encoder, small_tokenizer, trained, tmp_path, missing):
    save_difference(trained, tmp_path / "whole")
    save_file({name: t for name, t in load_file(tmp_path / "whole").items() if name != missing}, tmp_path / "part")
    with pytest.raises(ValueError, match=missing):
        load_difference(SpanPredictor(encoder, small_tokenizer), tmp_path / "part")


def test_a_difference_that_is_no_number_is_refused(encoder, small_tokenizer, trained, tmp_path, edit_safetensors):
    save_difference(trained, tmp_path / "x")
    edit_safetensors(tmp_path / "x", lambda t: t["span_head.bias"].fill_(torch.nan))
    with pytest.raises(ValueError, match="span_head.bias"):
        load_difference(SpanPredictor(encoder, small_tokenizer), tmp_path / "x")


def test_a_file_that_is_none_is_refused(encoder, small_tokenizer, tmp_path):
    (tmp_path / "x").write_text("no tensors")
    with pytest.raises(ValueError, match="damaged"):
        load_difference(SpanPredictor(encoder, small_tokenizer), tmp_path / "x")
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_difference(SpanPredictor(encoder, small_tokenizer), tmp_path / "y")


def test_the_reader_that_the_course_ships_reads(minilm):
    path = course_file("reader/reader.safetensors")
    assert path.stat().st_size < 2e6
    reader = load_difference(SpanPredictor(*minilm, max_length=256, overlap=64), path)
    questions = [question for question in read_squad(course_file("reading/dev.json")) if question.answers]
    assert reader.score(questions[:32])["f1"] > 30  # a method that counts words gets 15


def test_what_is_saved_whole_has_learned(encoder, small_tokenizer, trained, tmp_path):
    trained.save(tmp_path)
    assert any(isinstance(part, LowRankLinear) for part in trained.modules())  # the model itself is as it was
    loaded = SpanPredictor.load(tmp_path)
    rows = loaded.rows(QUESTIONS)
    for ours, theirs in zip(loaded.logits(rows), trained.logits(rows)):
        torch.testing.assert_close(ours, theirs)


def test_a_file_of_the_last_blocks_alone_is_added_to_them(encoder, small_tokenizer, trained, tmp_path):
    save_difference(trained, tmp_path / "whole")
    last = {name: t for name, t in load_file(tmp_path / "whole").items() if ".blocks.0." not in name}
    save_file(last, tmp_path / "last")
    plain = load_difference(SpanPredictor(encoder, small_tokenizer), tmp_path / "last").bert.encoder.blocks
    first, second = (blocks.attention.query.weight for blocks in plain)
    assert torch.equal(first, encoder.encoder.blocks[0].attention.query.weight)
    assert not torch.equal(second, encoder.encoder.blocks[1].attention.query.weight)


def test_a_difference_too_large_for_its_file_is_not_written(trained, tmp_path):
    with torch.no_grad():
        trained.span_head.weight.fill_(1e5)
    with pytest.raises(ValueError, match="span_head.weight"):
        save_difference(trained, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_halves_of_two_ranks_are_refused(encoder, small_tokenizer, trained, tmp_path):
    save_difference(trained, tmp_path / "whole")
    name = "bert.encoder.blocks.1.attention.query.V"
    parts = load_file(tmp_path / "whole")
    save_file({**parts, name: parts[name][:1].clone()}, tmp_path / "part")
    with pytest.raises(ValueError, match="fit the model.*query.V"):
        load_difference(SpanPredictor(encoder, small_tokenizer), tmp_path / "part")

"""The cross-encoder: its loss by hand, scores that depend on nothing beside them, and what it learns."""

import pytest
import torch

from bertcourse.fine_tuning import fine_tune
from bertcourse.retrieval import CrossEncoder, TrainingPair

PAIRS = [TrainingPair(q, f"{q} {q} b", (f"c {q}", "d e")) for q in "fghijk"]


@pytest.fixture
def judge(small_model, small_tokenizer):
    return CrossEncoder(small_model, small_tokenizer, max_length=16).eval()


def test_loss_is_the_surprise_at_the_right_candidate(judge):
    expected = []
    for pair in PAIRS[:3]:
        scores = judge.scores([(pair.query, text) for text in (pair.passage, *pair.negatives)])
        expected.append(-scores.log_softmax(dim=0)[0])
    torch.testing.assert_close(judge.loss(judge.rows(PAIRS[:3])), torch.stack(expected).mean())


def test_a_score_does_not_depend_on_the_pairs_beside_it(judge):
    pairs = [("a", "b c"), ("a", "b c d e f g h i j"), ("d", "e")]
    together = judge.scores(pairs)
    torch.testing.assert_close(together, torch.cat([judge.scores([pair]) for pair in pairs]))


def test_it_learns_which_passage_is_right(judge):
    before = judge.score(PAIRS)["mrr"]
    fine_tune(judge, PAIRS, epochs=30, learning_rate=3e-3)
    assert before < 100 and judge.score(PAIRS)["mrr"] == 100


def test_a_query_and_a_long_passage_are_cut_to_what_it_reads(judge):
    (row,) = judge.encode([("a", "b " * 40)])
    assert row.length == 16 and row.type_ids[1:4] == [0, 0, 1]


def test_candidates_must_be_equally_many(judge):
    with pytest.raises(ValueError, match="same number of negatives"):
        judge.rows([PAIRS[0], PAIRS[1]._replace(negatives=("c",))])
    with pytest.raises(ValueError, match="at least one"):
        judge.rows([PAIRS[0]._replace(negatives=())])


def test_what_it_saves_it_loads(judge, tmp_path):
    judge.save(tmp_path)
    pairs = [("a", "b c")]
    torch.testing.assert_close(CrossEncoder.load(tmp_path).scores(pairs), judge.scores(pairs))

"""The span predictor: its loss is transformers', and its answers come from the window that has them."""

import pytest
import torch

from bertcourse.question_answering import Answer, Question, SpanPredictor

CONTEXT = "a b c d e f g h i j k l m n o p q r s t u v a b c d e f g h i j k"


def test_span_loss_is_that_of_transformers(encoder, small_tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    head = SpanPredictor(encoder, small_tokenizer).eval()
    rows = head.rows([Question("1", "a", "b c d", (Answer("c d", 2),)), Question("2", "a", "e f g")])
    assert [row.target for row in rows] == [(4, 5), (0, 0)]
    head.save(tmp_path)
    theirs = transformers.BertForQuestionAnswering.from_pretrained(tmp_path).eval()
    starts, ends = torch.tensor([row.target for row in rows]).unbind(1)
    batch = head.batch(rows)
    loss = theirs(**batch._asdict(), start_positions=starts, end_positions=ends).loss
    torch.testing.assert_close(head.loss(rows), loss, atol=1e-5, rtol=1e-5)


def test_answers_come_from_the_window_that_has_them(encoder, small_tokenizer, monkeypatch):
    head = SpanPredictor(encoder, small_tokenizer, max_length=12, overlap=3)
    question = Question("1", "q", CONTEXT, (Answer("n o p", CONTEXT.index("n")),))
    rows = head.rows([question])
    pointed = [row.target for row in rows if row.target != (0, 0)]
    assert len(rows) > 3 and len(pointed) >= 1

    def told(rows):
        return [torch.eye(row.length)[list(row.target)].T if row.target else torch.zeros(row.length, 2) for row in rows]

    monkeypatch.setattr(head, "logits", told)
    assert head.measure([question], rows) == {"f1": 100.0, "exact_match": 100.0}
    monkeypatch.setattr(head, "encode", lambda pairs: rows)
    (span,) = head.answer([("q", CONTEXT)])
    assert span.text == "n o p" == CONTEXT[span.start : span.end] and head.predict([("q", CONTEXT)]) == ["n o p"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, t: SpanPredictor(e, t, no_answer_margin=float("nan")), "no_answer_margin"),
        (lambda e, t: SpanPredictor(e, t, overlap=0.5), "overlap"),
        (lambda e, t: SpanPredictor(e, t, overlap=40), "overlap"),
        (lambda e, t: SpanPredictor(e, t, max_answer_tokens=0), "max_answer_tokens"),
        (lambda e, t: SpanPredictor(e, t).predict(["ab"]), "question 0.*pair"),
        (lambda e, t: SpanPredictor(e, t).predict([("", "a")]), "question 0.*a token"),
        (lambda e, t: SpanPredictor(e, t).predict([("a", "b"), ("a", " ")]), "question 1.*a token"),
        (
            lambda e, t: SpanPredictor(e, t, max_length=12, overlap=6).predict([("a b c d e f", CONTEXT)]),
            "question 0.*max_length",
        ),
        (lambda e, t: SpanPredictor(e, t).predict([("a", "\ud800")]), "question 0.*lone surrogate"),
        (lambda e, t: SpanPredictor(e, t).rows([Question("1", "a", "a b", (Answer("b", 2),))] * 2), "id of its own"),
        (lambda e, t: SpanPredictor(e, t).rows([Question("7", "q", "a b", (Answer("b", 9),))]), "question 7"),
        (lambda e, t: SpanPredictor(e, t).rows([Question("7", "q", "a b", (Answer("a", 2),))]), "question 7"),
    ],
)
def test_bad_input_is_named(encoder, small_tokenizer, call, message):
    with pytest.raises(ValueError, match=message):
        call(encoder, small_tokenizer)

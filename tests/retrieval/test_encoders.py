"""The bi-encoder: its loss by hand, its vectors equal to Hugging Face's, what it learns, what it writes."""

import pytest
import torch
import torch.nn.functional as F

from bertcourse.bert import BertForPreTraining, BertModel, save_pretrained
from bertcourse.retrieval import BiEncoder, TrainingPair, contrastive_loss, late_interaction
from bertcourse.retrieval.encoders import POOLINGS
from bertcourse_lab.fine_tuning import fine_tune


@pytest.fixture
def encoder(small_model, small_tokenizer):
    return BiEncoder(small_model, small_tokenizer, max_length=20)


def unit(*rows):
    return F.normalize(torch.tensor(rows), dim=-1)


def test_loss_by_hand():
    queries, passages = unit([1.0, 0.0], [0.0, 1.0]), unit([1.0, 0.0], [0.6, 0.8], [0.0, -1.0])
    first = -torch.log_softmax(torch.tensor([1.0, 0.6, 0.0]), dim=0)[0]
    second = -torch.log_softmax(torch.tensor([0.0, 0.8, -1.0]), dim=0)[1]
    torch.testing.assert_close(contrastive_loss(queries, passages, scale=1.0), (first + second) / 2)


def test_a_passage_that_is_the_same_once_more_is_no_negative():
    queries, passages = unit([1.0, 0.0], [0.0, 1.0]), unit([1.0, 0.0], [1.0, 0.0])
    same = torch.ones(2, 2, dtype=torch.bool)
    assert contrastive_loss(queries, passages, same) == 0  # each has only its own to choose
    assert contrastive_loss(queries, passages) > 0.5


def test_loss_needs_a_passage_for_each_query():
    with pytest.raises(ValueError, match="got 2 queries and 1 passages"):
        contrastive_loss(torch.eye(2), torch.eye(2)[:1])


def test_late_interaction_by_hand():
    query, passage = unit([1.0, 0.0], [0.0, 1.0], [1.0, 0.0]), unit([0.6, 0.8], [-1.0, 0.0])
    assert late_interaction([query], [passage]).item() == pytest.approx(0.6 + 0.8 + 0.6)


def test_late_interaction_of_all_with_all(encoder):
    queries, passages = encoder.token_vectors(["a b", "c"]), encoder.token_vectors(["a b c d", "c", "e f g"])
    expected = [[(query @ passage.T).amax(1).sum() for passage in passages] for query in queries]
    assert late_interaction(queries, passages) == pytest.approx(torch.tensor(expected).numpy(), abs=1e-5)
    with pytest.raises(ValueError, match="empty"):
        late_interaction(queries, [])
    with pytest.raises(ValueError, match="1 of them without a token"):
        late_interaction(queries, [passages[0], passages[0][:0]])


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_a_vector_does_not_depend_on_the_texts_beside_it(small_model, small_tokenizer, pooling):
    encoder = BiEncoder(small_model, small_tokenizer, pooling)
    texts = ["a b c", "a b c d e f g h i j k l m", "d"]
    together = encoder.vectors(texts)
    torch.testing.assert_close(together, torch.cat([encoder.vectors([text]) for text in texts]), atol=1e-5, rtol=0)
    torch.testing.assert_close(together.norm(dim=1), torch.ones(3))
    torch.testing.assert_close(together, encoder.vectors(texts, max_tokens=1), atol=1e-5, rtol=0)


def test_poolings_are_what_they_say(small_model, small_tokenizer):
    (hidden,) = BiEncoder(small_model, small_tokenizer).token_vectors(["a b c"], normalize=False)
    assert hidden.shape == (5, 24)
    for pooling, expected in (("mean", hidden.mean(0)), ("cls", hidden[0]), ("max", hidden.amax(0))):
        torch.testing.assert_close(POOLINGS[pooling](hidden), expected)
        (got,) = BiEncoder(small_model, small_tokenizer, pooling).vectors(["a b c"])
        torch.testing.assert_close(got, F.normalize(expected, dim=0))


def test_token_vectors_are_those_of_the_text_alone(encoder):
    long, short = encoder.token_vectors(["a b c d e", "a"])
    assert long.shape == (7, 24) and short.shape == (3, 24)
    torch.testing.assert_close(short, encoder.token_vectors(["a"])[0], atol=1e-5, rtol=0)


def test_long_texts_are_cut(encoder):
    (row,) = encoder.encode(["a " * 50])
    assert len(row) == 20 and row.ids[0] == 2 and row.ids[-1] == 3


def test_minilm_equals_hugging_face(minilm, tmp_path):
    transformers = pytest.importorskip("transformers")
    texts = ["What nourishes the yeasts?", "Bread rose long before anyone could buy yeast. " * 3]
    ours = BiEncoder(*minilm)
    ours.save(tmp_path)
    theirs = transformers.AutoModel.from_pretrained(tmp_path).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(tmp_path)(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = theirs(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None]
    expected = F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    torch.testing.assert_close(ours.vectors(texts), expected, atol=1e-5, rtol=0)


def test_what_it_saves_it_loads(encoder, tmp_path):
    encoder.pooling, encoder.scale = "max", 7.0
    encoder.save(tmp_path)
    again = BiEncoder.load(tmp_path)
    assert (again.pooling, again.scale, again.max_length) == ("max", 7.0, 20)
    assert torch.equal(again.vectors(["a b"]), encoder.vectors(["a b"]))


def test_a_plain_encoder_loads_and_another_task_is_refused(small_config, small_tokenizer, tmp_path):
    save_pretrained(BertModel(small_config), small_tokenizer, tmp_path / "plain")
    assert BiEncoder.load(tmp_path / "plain").pooling == "mean"
    save_pretrained(BertForPreTraining(small_config), small_tokenizer, tmp_path / "other")
    with pytest.raises(
        ValueError,
        match=r"must hold a BertModel, .* it holds BertForPreTraining. .*BiEncoder\(\*load_pretrained\(name\)\)",
    ):
        BiEncoder.load(tmp_path / "other")


def test_rows_have_the_right_passage_first(encoder):
    row, other = encoder.rows([TrainingPair("a", "b c", ("d", "e f"), ("g h",)), TrainingPair("g", "h")])
    assert row.query.tokens == ["[CLS]", "a", "[SEP]"] and row.length == 4
    assert [passage.tokens[1:-1] for passage in row.passages] == [["b", "c"], ["d"], ["e", "f"]]
    assert [passage.tokens[1:-1] for passage in row.also_right] == [["g", "h"]]
    assert [passage.tokens[1:-1] for passage in other.passages] == [["h"]] and (row.source, other.source) == (0, 1)


def test_the_loss_of_a_batch_sees_all_its_passages(encoder):
    rows = encoder.rows([TrainingPair("a", "b c", ("d e",)), TrainingPair("f", "b c"), TrainingPair("g", "h i")])
    queries, passages = encoder.vectors(["a", "f", "g"]), encoder.vectors(["b c", "b c", "h i", "d e"])
    same = torch.tensor([[True, True, False, False], [True, True, False, False], [False, False, True, False]])
    with torch.inference_mode():
        torch.testing.assert_close(encoder.loss(rows), contrastive_loss(queries, passages, same), atol=1e-4, rtol=0)


def test_another_right_passage_is_no_negative(encoder):
    pairs = [TrainingPair("a", "b c", also_right=("d e",)), TrainingPair("f", "d e", also_right=("b c",))]
    rows = encoder.rows(pairs)
    assert rows[0].right == [each.ids for each in encoder.encode(["b c", "d e"])]
    assert encoder.loss(rows) == 0  # nothing in the batch is wrong for either


def test_a_model_that_tells_nothing_apart_is_in_the_middle(encoder, monkeypatch):
    monkeypatch.setattr(encoder, "vectors", lambda texts: torch.ones(len(texts), 1))
    pairs = [TrainingPair("q", text) for text in ("p", "s", "t")]
    assert encoder.measure(pairs, [])["mrr"] == pytest.approx(50)  # place 2 of 3


@pytest.mark.slow
def test_it_learns_which_passage_answers(small_model, small_tokenizer):
    letters = "abcdefghijkl"
    pairs = [TrainingPair(f"{x} {y}", f"{y} m n {x} o") for x in letters for y in letters if x != y]
    model = BiEncoder(small_model, small_tokenizer)
    before = model.score(pairs[::5])["mrr"]
    fine_tune(model, pairs, pairs[::5], epochs=6, batch_size=16, learning_rate=3e-3)
    assert model.score(pairs[::5])["mrr"] > before + 20


def test_measure_by_hand(encoder, monkeypatch):
    pairs = [TrainingPair("q", "p"), TrainingPair("r", "s"), TrainingPair("t", "p")]
    vectors = {"q": [1.0, 0.0], "r": [0.8, 0.6], "t": [0.0, 1.0], "p": [1.0, 0.0], "s": [0.0, 1.0]}
    monkeypatch.setattr(encoder, "vectors", lambda texts: torch.tensor([vectors[text] for text in texts]))
    # among the two different passages p and s: q finds p first, r finds s second, t finds p second
    assert encoder.measure(pairs, [])["mrr"] == pytest.approx(100 * (1 + 0.5 + 0.5) / 3)
    pairs[2] = TrainingPair("t", "p", also_right=("s", "elsewhere"))  # s is no error for t
    assert encoder.measure(pairs, [])["mrr"] == pytest.approx(100 * (1 + 0.5 + 1) / 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"pooling": "sum"}, "pooling"), ({"scale": 0}, "scale"), ({"max_length": 3}, "max_length")],
)
def test_refuses(small_model, small_tokenizer, settings, message):
    with pytest.raises(ValueError, match=message):
        BiEncoder(small_model, small_tokenizer, **settings)


def test_refuses_what_is_no_encoder(small_config, small_tokenizer):
    with pytest.raises(ValueError, match="encoder must be a BertModel"):
        BiEncoder(BertForPreTraining(small_config), small_tokenizer)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a b", "texts must be a list"),
        (["a", 3], "text 1 must be a string"),
        (["a\udc00"], "text 0 must be valid Unicode"),
        (7, "texts must be a list"),
        ([], "at least one text"),
    ],
)
def test_refuses_texts(encoder, texts, message):
    with pytest.raises(ValueError, match=message):
        encoder.vectors(texts)


def test_texts_may_come_one_by_one(encoder):
    torch.testing.assert_close(encoder.vectors(text for text in ("a b", "c")), encoder.vectors(["a b", "c"]))


@pytest.mark.parametrize(
    "pair", [TrainingPair("a", "b", "c d"), TrainingPair("a", "b", None), TrainingPair("a", "b", (), "c d"), ("a", "b")]
)
def test_refuses_pairs(encoder, pair):
    with pytest.raises(ValueError, match="pair 1 must be a TrainingPair"):
        encoder.rows([TrainingPair("a", "b"), pair])


def test_parts_of_pairs_are_texts(encoder):
    for pair in (TrainingPair("a", None), TrainingPair(["a"], "b"), TrainingPair("a", "b", ("c", None))):
        with pytest.raises(ValueError, match="must be a string"):
            encoder.rows([pair])


@pytest.mark.parametrize(
    ("train", "batch_size", "message"),
    [
        ([TrainingPair("a", "b")], 4, "wrong passage"),
        ([TrainingPair("a", "b"), TrainingPair("c", "b")], 4, "wrong passage"),
        ([TrainingPair("a", "b", (), ("c",)), TrainingPair("d", "c", (), ("b",))], 4, "wrong passage"),
        ([TrainingPair("a", "b"), TrainingPair("c", "d")], 1, "batch_size"),
    ],
)
def test_what_has_no_wrong_passage_is_not_trained(encoder, train, batch_size, message):
    before = encoder.vectors(["a"])
    with pytest.raises(ValueError, match=message):
        fine_tune(encoder, train, [TrainingPair("a", "b")], epochs=1, batch_size=batch_size)
    assert torch.equal(encoder.vectors(["a"]), before)


def test_one_pair_with_a_negative_is_trained(encoder):
    before = encoder.vectors(["a"])
    settings = {"epochs": 1, "batch_size": 1, "warmup": 0.0, "evaluations": 1}
    fine_tune(encoder, [TrainingPair("a", "b", ("c",))], [TrainingPair("a", "b")], **settings)
    assert not torch.equal(encoder.vectors(["a"]), before)

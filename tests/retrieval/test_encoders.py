"""The bi-encoder: its loss by hand, its vectors equal to Hugging Face's, what it learns, what it writes."""

import pytest
import torch
import torch.nn.functional as F

from bertcourse.bert import BertForPreTraining, BertModel, save_pretrained
from bertcourse.fine_tuning import fine_tune
from bertcourse.retrieval import BiEncoder, TrainingPair, contrastive_loss, late_interaction


@pytest.fixture
def encoder(small_model, small_tokenizer):
    return BiEncoder(small_model, small_tokenizer, max_length=20)


def unit(*rows):
    return F.normalize(torch.tensor(rows), dim=-1)


def test_loss_by_hand():
    queries, passages = unit([1.0, 0.0], [0.0, 1.0]), unit([1.0, 0.0], [0.6, 0.8], [0.0, -1.0])
    first = -torch.log_softmax(torch.tensor([1.0, 0.6, 0.0]), dim=0)[0]
    second = -torch.log_softmax(torch.tensor([0.0, 0.8, -1.0]), dim=0)[1]
    torch.testing.assert_close(
        contrastive_loss(queries, passages, torch.tensor([0, 1]), scale=1.0), (first + second) / 2
    )


def test_late_interaction_by_hand():
    query, passage = unit([1.0, 0.0], [0.0, 1.0], [1.0, 0.0]), unit([0.6, 0.8], [-1.0, 0.0])
    assert late_interaction([query], [passage]).item() == pytest.approx(0.6 + 0.8 + 0.6)


def test_late_interaction_of_all_with_all(encoder):
    queries, passages = encoder.token_vectors(["a b", "c"]), encoder.token_vectors(["a b c d", "c", "e f g"])
    expected = [[(query @ passage.T).amax(1).sum() for passage in passages] for query in queries]
    assert late_interaction(queries, passages) == pytest.approx(torch.tensor(expected).numpy(), abs=1e-5)


def test_a_vector_does_not_depend_on_the_texts_beside_it(encoder):
    texts = ["a b c", "a b c d e f g h i j k l m", "d"]
    together = encoder.vectors(texts)
    torch.testing.assert_close(together, torch.cat([encoder.vectors([text]) for text in texts]), atol=1e-5, rtol=0)
    torch.testing.assert_close(together.norm(dim=1), torch.ones(3))


def test_token_vectors_are_those_of_the_text_alone(encoder):
    long, short = encoder.token_vectors(["a b c d e", "a"])
    assert long.shape == (7, 24) and short.shape == (3, 24)
    torch.testing.assert_close(short, encoder.token_vectors(["a"])[0], atol=1e-5, rtol=0)


def test_long_texts_are_cut(encoder):
    (row,) = encoder.encode(["a " * 50])
    assert row.length == 20 and row.ids[0] == 2 and row.ids[-1] == 3


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


def test_a_plain_encoder_loads_and_another_task_is_refused(small_config, small_tokenizer, tmp_path):
    save_pretrained(BertModel(small_config), small_tokenizer, tmp_path / "plain")
    BiEncoder.load(tmp_path / "plain")
    save_pretrained(BertForPreTraining(small_config), small_tokenizer, tmp_path / "other")
    with pytest.raises(
        ValueError,
        match=r"must hold a BertModel, .* it holds BertForPreTraining. .*BiEncoder\(\*load_pretrained\(name\)\)",
    ):
        BiEncoder.load(tmp_path / "other")


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
    fine_tune(model, pairs, epochs=6, batch_size=16, learning_rate=3e-3)
    assert model.score(pairs[::5])["mrr"] > before + 20


def test_measure_by_hand(encoder, monkeypatch):
    pairs = [TrainingPair("q", "p"), TrainingPair("r", "s"), TrainingPair("t", "p")]
    vectors = {"q": [1.0, 0.0], "r": [0.8, 0.6], "t": [0.0, 1.0], "p": [1.0, 0.0], "s": [0.0, 1.0]}
    monkeypatch.setattr(encoder, "vectors", lambda texts: torch.tensor([vectors[text] for text in texts]))
    # among the two different passages p and s: q finds p first, r finds s second, t finds p second
    assert encoder.measure(pairs, [])["mrr"] == pytest.approx(100 * (1 + 0.5 + 0.5) / 3)


def test_what_it_saves_it_loads(encoder, tmp_path):
    encoder.save(tmp_path)
    again = BiEncoder.load(tmp_path)
    assert again.max_length == 20 and torch.equal(again.vectors(["a b"]), encoder.vectors(["a b"]))


def test_the_loss_of_a_batch_sees_each_of_its_passages_once(encoder):
    """Two queries share a passage, which is no negative for either."""
    pairs = [TrainingPair("a", "b c", ("d e",)), TrainingPair("f", "b c"), TrainingPair("g", "h i")]
    queries, passages = encoder.vectors(["a", "f", "g"]), encoder.vectors(["b c", "d e", "h i"])
    expected = contrastive_loss(queries, passages, torch.tensor([0, 0, 2]))
    with torch.inference_mode():
        torch.testing.assert_close(encoder.loss(pairs), expected, atol=1e-4, rtol=0)
        assert encoder.loss(pairs[1:2]) == 0  # nothing in the batch is wrong


@pytest.mark.parametrize(
    ("texts", "message"),
    [("a b", "texts must be a list"), (["a", 3], "text 1 must be a str"), (["a\udc00"], "text 0 must be valid")],
)
def test_refuses_texts(encoder, texts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        encoder.vectors(texts)


@pytest.mark.parametrize("pair", [TrainingPair("a", "b", "c d"), ("a", "b")])
def test_refuses_pairs(encoder, pair):
    with pytest.raises(ValueError, match="pair 1 must be a TrainingPair"):
        encoder.rows([TrainingPair("a", "b"), pair])

"""BERT equals Hugging Face's: hidden states, pooled output, logits, attentions, gradients; random models and MiniLM."""

from dataclasses import dataclass

import pytest
import torch
import transformers

from bertcourse.bert import (
    BertConfig,
    BertForPreTraining,
    BertModel,
    count_parameters,
    encode_batch,
    find_folder,
    load_pretrained,
)
from bertcourse.bert.pretrained import checked
from bertcourse.bert.weights import copy_tensors, hugging_face_name
from random_configs import random_config

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def random_batch(config: BertConfig, seed: int) -> dict[str, torch.Tensor]:
    """Odd lengths, padding on the right, segments that change within the text."""
    generator = torch.Generator().manual_seed(seed)
    batch, length = 3, 2 * (seed % 8) + 5
    lengths = torch.tensor([length, max(1, length // 2), length - 1])
    segments = torch.arange(length) * config.type_vocab_size // length
    return {
        "input_ids": torch.randint(config.vocab_size, (batch, length), generator=generator),
        "attention_mask": (torch.arange(length) < lengths[:, None]).long(),
        "token_type_ids": segments.expand(batch, length).contiguous(),
    }


def pair_of_models(
    config: BertConfig, implementation: str
) -> tuple[BertForPreTraining, transformers.BertForPreTraining]:
    """Ours and Hugging Face's, with the same weights."""
    theirs_config = transformers.BertConfig(**config.__dict__, attn_implementation=implementation)
    theirs = transformers.BertForPreTraining(theirs_config).eval()
    for parameter in theirs.parameters():  # layer norms and biases too: ones and zeros would hide a swap
        parameter.data += 0.1 * torch.randn_like(parameter)
    theirs.bert.embeddings.word_embeddings.weight.data[config.pad_token_id] = 0
    ours = BertForPreTraining(config).eval()
    copy_tensors(ours, theirs.state_dict(), find_folder("minilm"))
    return ours, theirs


CASES = pytest.mark.parametrize("seed", range(10))
PATHS = pytest.mark.parametrize(
    ("implementation", "need_weights"), [("sdpa", False), ("eager", True)], ids=["fused", "plain"]
)


@CASES
@PATHS
def test_every_output_equals_hugging_face(seed, implementation, need_weights):
    config = random_config(seed)
    ours, theirs = pair_of_models(config, implementation)
    batch = random_batch(config, seed)
    with torch.no_grad():
        mine = ours(**batch, output_attentions=need_weights)
        pooled = ours.bert(**batch).pooled
        other = theirs(**batch, output_hidden_states=True, output_attentions=need_weights)
        other_pooled = theirs.bert(**batch).pooler_output

    real = batch["attention_mask"].bool()
    close = {"atol": 1e-5, "rtol": 0}
    assert len(mine.hidden_states) == config.num_hidden_layers + 1
    for x, y in zip(mine.hidden_states, other.hidden_states, strict=True):
        torch.testing.assert_close(x[real], y[real], **close)
    torch.testing.assert_close(pooled, other_pooled, **close)
    torch.testing.assert_close(mine.mlm_logits[real], other.prediction_logits[real], **close)
    torch.testing.assert_close(mine.nsp_logits, other.seq_relationship_logits, **close)
    if need_weights:
        for x, y in zip(mine.attentions, other.attentions, strict=True):
            torch.testing.assert_close(x.transpose(1, 2)[real], y.transpose(1, 2)[real], **close)


@CASES
@PATHS
def test_every_gradient_equals_hugging_face(seed, implementation, need_weights):
    config = random_config(seed)
    ours, theirs = pair_of_models(config, implementation)
    batch = random_batch(config, seed)
    real = batch["attention_mask"].bool()

    def loss(mlm_logits, nsp_logits):
        mlm = torch.nn.functional.cross_entropy(mlm_logits[real], batch["input_ids"][real])
        return mlm + torch.nn.functional.cross_entropy(nsp_logits, torch.tensor([0, 1, 0]))

    mine = ours(**batch, output_attentions=need_weights)
    loss(mine.mlm_logits, mine.nsp_logits).backward()
    other = theirs(**batch)
    loss(other.prediction_logits, other.seq_relationship_logits).backward()

    expected = dict(theirs.named_parameters())
    compared = 0
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[hugging_face_name(name)].grad, atol=1e-4, rtol=1e-4)
        compared += 1
    assert compared == len(expected)


@PATHS
def test_minilm_equals_hugging_face(minilm, implementation, need_weights):
    model, tokenizer = minilm
    theirs = transformers.BertModel.from_pretrained(find_folder("minilm"), attn_implementation=implementation).eval()
    batch = encode_batch(
        tokenizer,
        [
            "The lighthouse keeper wrote to his sister every winter.",
            "Rain.",
            ("Who wrote the letters?", "The keeper did, by candlelight, while the sea was loud."),
        ],
    )
    with torch.no_grad():
        mine = model(*batch, output_attentions=need_weights)
        other = theirs(**batch._asdict(), output_hidden_states=True, output_attentions=need_weights)
    real = batch.attention_mask.bool()
    for x, y in zip(mine.hidden_states, other.hidden_states, strict=True):
        torch.testing.assert_close(x[real], y[real], atol=1e-5, rtol=0)
    torch.testing.assert_close(mine.pooled, other.pooler_output, atol=1e-5, rtol=0)
    if need_weights:
        for x, y in zip(mine.attentions, other.attentions, strict=True):
            torch.testing.assert_close(x.transpose(1, 2)[real], y.transpose(1, 2)[real], atol=1e-5, rtol=0)


def test_minilm_in_double_precision_equals_at_every_position():
    model, tokenizer = load_pretrained("minilm")
    theirs = transformers.BertModel.from_pretrained(find_folder("minilm")).eval().double()
    batch = encode_batch(tokenizer, ["A short one.", "And one that is longer, so that the first is padded."])
    with torch.no_grad():
        mine, other = model.double()(*batch), theirs(**batch._asdict())
    torch.testing.assert_close(mine.last_hidden_state, other.last_hidden_state, atol=1e-11, rtol=0)


def test_parameters_of_base_and_large():
    assert count_parameters(BertConfig())["total"] == 109_482_240
    large = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    assert count_parameters(large)["total"] == 335_141_888


def test_count_is_that_of_a_real_model(small_config, small_model):
    counts = count_parameters(small_config)
    assert counts["total"] == sum(p.numel() for p in small_model.parameters())
    assert counts["total"] == counts["embeddings"] + counts["encoder"] + counts["pooler"]


def test_initial_weights_are_berts():
    model = BertForPreTraining(BertConfig(num_hidden_layers=2))
    weight = model.bert.encoder.blocks[0].feed_forward.expand.weight
    assert weight.std().item() == pytest.approx(0.02, rel=0.01)
    assert model.bert.encoder.blocks[0].feed_forward.expand.bias.abs().max() == 0
    assert model.bert.embeddings.word_embeddings.weight[0].abs().max() == 0
    assert torch.equal(model.bert.embeddings.layer_norm.weight, torch.ones(768))
    assert model.mlm_head.dense.weight.std().item() == pytest.approx(0.02, rel=0.01)
    assert model.nsp_head.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert model.mlm_head.dense.bias.abs().max() == model.nsp_head.bias.abs().max() == 0


def test_the_encoder_starts_the_same_with_heads_and_without(small_config):
    torch.manual_seed(3)
    with_heads = BertForPreTraining(small_config).bert
    torch.manual_seed(3)
    alone = BertModel(small_config)
    for name, tensor in alone.state_dict().items():
        assert torch.equal(with_heads.state_dict()[name], tensor), name


def test_mlm_head_is_tied_to_the_embeddings(small_config):
    model = BertForPreTraining(small_config).eval()
    ids = torch.tensor([[2, 7, 3]])
    before = model(ids).mlm_logits
    model.bert.embeddings.word_embeddings.weight.data[9] += torch.randn(24)  # a word that is not in the text
    after = model(ids).mlm_logits
    changed = (before - after).abs().amax(dim=(0, 1)) > 1e-6
    assert changed.nonzero().flatten().tolist() == [9]


def test_padding_changes_nothing(small_model):
    ids = torch.randint(5, 60, (1, 6))
    padded = torch.cat([ids, torch.zeros(1, 4, dtype=torch.long)], dim=1)
    mask = (torch.arange(10) < 6).long()[None]
    alone, batched = small_model(ids), small_model(padded, mask)
    torch.testing.assert_close(batched.last_hidden_state[:, :6], alone.last_hidden_state, atol=1e-6, rtol=0)
    torch.testing.assert_close(batched.pooled, alone.pooled, atol=1e-6, rtol=0)


def test_a_model_without_pooler_has_no_pooled_output(small_config):
    assert BertModel(small_config, add_pooler=False)(torch.tensor([[2, 3]])).pooled is None


def test_attentions_only_when_asked_for(small_model):
    ids = torch.tensor([[2, 7, 3]])
    assert set(small_model(ids).attentions) == {None}
    assert small_model(ids, output_attentions=True).attentions[0].shape == (1, 4, 3, 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden_size": 25}, "multiple of num_attention_heads, 4; got 25"),
        ({"vocab_size": 0}, "vocab_size"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob"),
        ({"hidden_dropout_prob": float("nan")}, "hidden_dropout_prob .* nan"),
        ({"attention_probs_dropout_prob": -0.1}, "attention_probs_dropout_prob"),
        ({"hidden_act": "swish"}, "hidden_act .* 'swish'"),
        ({"pad_token_id": 60}, "pad_token_id"),
        ({"intermediate_size": "40"}, "intermediate_size .* int; got '40'"),
        ({"layer_norm_eps": 0.0}, "layer_norm_eps"),
        ({"initializer_range": -0.02}, "initializer_range"),
        ({"num_attention_heads": True}, "num_attention_heads .* int; got True"),
    ],
)
def test_a_configuration_from_outside_is_checked(small_config, fields, message):
    with pytest.raises(ValueError, match=message):
        checked(BertConfig(**{**small_config.__dict__, **fields}))


def test_a_subclass_checks_the_fields_it_inherits():
    @dataclass(frozen=True)
    class Wider(BertConfig):
        num_languages: int = 1

    with pytest.raises(ValueError, match="vocab_size"):
        checked(Wider(vocab_size="60"))


IDS = torch.tensor([[2, 7, 3]])


@pytest.mark.parametrize(
    "arguments",
    [
        (torch.zeros(1, 33, dtype=torch.long),),  # there are 32 positions
        (torch.tensor([[2, 60]]),),  # and 60 tokens
        (torch.tensor([[2, -1]]),),
        (IDS, torch.ones(1, 4)),
        (IDS, None, torch.tensor([[0, 1, 2]])),
        (IDS, None, torch.tensor([[0, 1]])),
    ],
)
def test_what_does_not_fit_does_not_pass_unseen(small_model, arguments):
    with pytest.raises((IndexError, RuntimeError)):
        small_model(*arguments)


def test_ids_may_be_of_32_bits(small_model):
    assert torch.equal(small_model(IDS.int()).pooled, small_model(IDS).pooled)


def test_the_model_compiles_to_one_graph(small_model):
    mask = torch.tensor([[1.0, 1.0, 0.0]])
    compiled = torch.compile(small_model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(IDS, mask, torch.zeros_like(IDS)).pooled, small_model(IDS, mask).pooled)


def test_each_dropout_has_its_rate(small_config, monkeypatch):
    rates = dict(hidden_dropout_prob=0.3, attention_probs_dropout_prob=0.2)
    model = BertForPreTraining(BertConfig(**{**small_config.__dict__, **rates})).train()
    dropped, whole = [], torch.nn.Dropout.forward
    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, x: (dropped.append(self.p), whole(self, x))[1])
    model(torch.tensor([[2, 5, 6, 3]]))
    assert dropped == [0.3] * (1 + 2 * small_config.num_hidden_layers)
    assert {block.attention.dropout for block in model.bert.encoder.blocks} == {0.2}

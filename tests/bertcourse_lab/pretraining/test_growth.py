"""A deeper BERT answers as the one it was made of, and learns with all its layers."""

import copy

import pytest
import torch
from torch import nn

from bertcourse.bert import BertConfig, BertForPreTraining, encode_batch, load_pretrained
from bertcourse.beyond_bert.encoder import EncoderConfig, EncoderForPreTraining
from bertcourse_lab.pretraining import growth
from bertcourse_lab.pretraining.growth import grown

SIZES = dict(
    vocab_size=50, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
    max_position_embeddings=20, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.2,
)  # fmt: skip


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = BertForPreTraining(BertConfig(**SIZES)).eval()
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.3)
    return model


def tokens() -> torch.Tensor:
    return torch.randint(1, 50, (4, 12), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def divergence(before: torch.Tensor, after: torch.Tensor) -> float:
    """Mean Kullback-Leibler divergence of two tensors of logits, in nats."""
    before, after = before.log_softmax(-1), after.log_softmax(-1)
    return (before.exp() * (before - after)).sum(-1).mean().item()


@pytest.mark.parametrize("layers, copied", [(3, []), (4, [3]), (5, [1, 3]), (6, [1, 2, 3])])
def test_new_layers_are_spread_and_pass_on_what_comes_in(model, layers, copied):
    deeper = grown(model, layers, 16)
    assert deeper.config.num_hidden_layers == len(deeper.bert.encoder.blocks) == layers
    old = [block for block in deeper.bert.encoder.blocks if block.attention.output.weight.any()]
    for before, after in zip(model.bert.encoder.blocks, old, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
    behind = [
        sum(map(bool, (block.attention.output.weight.any() for block in deeper.bert.encoder.blocks[:place])))
        for place, block in enumerate(deeper.bert.encoder.blocks)
        if not block.attention.output.weight.any()
    ]
    assert behind == copied
    with torch.no_grad():
        before, after = model(tokens()), deeper(tokens())
    assert divergence(before.mlm_logits, after.mlm_logits) < 0.1
    assert divergence(before.nsp_logits, after.nsp_logits) < 0.01


def test_a_bert_that_has_read_reads_as_before(monkeypatch):
    encoder, tokenizer = load_pretrained("minilm")
    model = BertForPreTraining(encoder.config).eval()
    model.bert = encoder
    batch = encode_batch(tokenizer, ["He sat on the bench and looked at the water."])

    @torch.no_grad()
    def likeness() -> torch.Tensor:
        before, after = (each.bert(*batch).last_hidden_state for each in (model, grown(model, 8, 256)))
        return torch.cosine_similarity(before, after, dim=-1)

    assert likeness().min() > 0.9
    monkeypatch.setattr(growth, "passing_on", copy.deepcopy)  # layers that stand there twice
    assert likeness().max() < 0.85


def test_a_deeper_model_shares_no_weights_and_all_of_its_layers_learn(model):
    deeper = grown(model, 5, 16)
    assert not {each.data_ptr() for each in model.parameters()} & {each.data_ptr() for each in deeper.parameters()}
    optimizer = torch.optim.SGD(deeper.parameters(), lr=0.1)
    for _ in range(2):  # behind a map that is zero, gradients come with the second step
        deeper(tokens()).mlm_logits.square().mean().backward()
        optimizer.step()
    assert all(each.grad.any() for each in deeper.bert.encoder.parameters())
    assert deeper(torch.ones(1, 16, dtype=torch.long)).mlm_logits.shape == (1, 16, 50)
    with pytest.raises(RuntimeError, match="size"):
        deeper(torch.ones(1, 17, dtype=torch.long))


@pytest.mark.parametrize("layers, positions, message", [(2, 16, "3 to 6"), (7, 16, "3 to 6"), (4, 21, "1 to 20")])
def test_what_cannot_be_grown_is_refused(model, layers, positions, message):
    with pytest.raises(ValueError, match=message):
        grown(model, layers, positions)


@pytest.mark.parametrize("changes", [{"norm": "pre"}, {"norm_kind": "rms"}], ids=str)
def test_another_encoder_cannot_be_grown(changes):
    with pytest.raises(ValueError, match=f"has {changes}"):
        grown(EncoderForPreTraining(EncoderConfig(**SIZES, **changes)), 4, 16)

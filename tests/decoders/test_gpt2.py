"""GPT-2's files: random models of transformers compute the same here; what differs is refused."""

import json
import random
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from bertcourse.decoders import WithCache, generate, load_gpt2, next_token_loss, pad_texts
from bertcourse.pretraining.masking import IGNORE
from bertcourse.self_attention import causal_mask

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
LENGTH = 20


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Byte-level BPE with three merges and GPT-2's only special token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*alphabet, "Ġm", "oo", "on", "<|endoftext|>"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("Ġ", "m"), ("o", "o"), ("o", "n")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def random_gpt2(seed: int, tokenizer: Tokenizer, **changes) -> transformers.GPT2LMHeadModel:
    """A model of random sizes, whose parameters are all moved away from zero and one."""
    rng = random.Random(seed)
    heads = rng.randint(1, 4)
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=tokenizer.get_vocab_size() + rng.randint(0, 9),
        n_embd=heads * rng.choice([4, 6, 8, 16]),
        n_head=heads,
        n_layer=rng.randint(1, 5),
        n_inner=rng.choice([None, rng.randint(5, 50)]),
        n_positions=LENGTH + rng.randint(2, 10),
        activation_function=rng.choice(["gelu_new", "gelu", "relu"]),
        layer_norm_epsilon=rng.choice([1e-5, 1e-6]),
        bos_token_id=None,
        eos_token_id=None,
        **changes,
    )
    model = transformers.GPT2LMHeadModel(config)
    for parameter in model.parameters():
        parameter.data += (0.2 if parameter.dim() == 1 else 0.5 * parameter.shape[1] ** -0.5) * torch.randn_like(
            parameter
        )
    return model.eval()


@pytest.fixture
def folder_of(tmp_path, tokenizer):
    """A folder as transformers saves a random model, and that model."""

    def make(seed: int = 0, **changes) -> tuple[Path, transformers.GPT2LMHeadModel]:
        theirs = random_gpt2(seed, tokenizer, **changes)
        theirs.save_pretrained(tmp_path)
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        return tmp_path, theirs

    return make


def edit(folder: Path, **fields) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **fields}), encoding="utf-8")


@pytest.mark.parametrize("seed", range(12))
def test_random_models_compute_what_transformers_computes(folder_of, tokenizer, seed):
    folder, theirs = folder_of(seed)
    ids = torch.randint(0, theirs.config.vocab_size, (3, LENGTH))
    ours, found = load_gpt2(folder)
    assert found.encode("moon").ids == tokenizer.encode("moon").ids and not ours.training
    with torch.no_grad():
        mine, other = ours(ids), theirs(ids, output_hidden_states=True)
        states = ours.decoder(ours.embed(ids), causal_mask(LENGTH)).hidden_states
    torch.testing.assert_close(mine, other.logits, atol=1e-5, rtol=1e-5)
    assert len(states) == len(other.hidden_states)
    for a, b in zip(states, other.hidden_states):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_it_writes_what_transformers_writes(folder_of):
    folder, theirs = folder_of(3)
    ours, _ = load_gpt2(folder)
    prompts = torch.randint(0, 200, (3, 4))
    other = theirs.generate(
        prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=15, do_sample=False, pad_token_id=0
    )
    assert torch.equal(generate(WithCache(ours), prompts, 15, temperature=0), other)


def test_the_loss_is_that_of_transformers(folder_of):
    folder, theirs = folder_of(4)
    ours, _ = load_gpt2(folder)
    ids = pad_texts([[1, 5, 9, 3, 7], [1, 4], [1, 20, 21, 22, 23, 24, 25]])
    with torch.no_grad():
        loss = theirs(ids, attention_mask=(ids != 0).long(), labels=ids.masked_fill(ids == 0, IGNORE)).loss
        assert next_token_loss(ours, ids).item() == pytest.approx(loss.item(), abs=1e-5)


def test_the_hubs_files_are_read(folder_of, tokenizer, edit_safetensors):
    """As "gpt2" lies there: names without a prefix, causal masks among the weights; and vocab.json with merges.txt."""
    folder, theirs = folder_of(5)

    def as_on_the_hub(tensors: dict) -> None:
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        for layer in range(theirs.config.n_layer):
            tensors[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 4, 4).tril()
            tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)

    edit_safetensors(folder / "model.safetensors", as_on_the_hub)
    (folder / "tokenizer.json").unlink()
    tokenizer.model.save(str(folder))
    edit(folder, n_inner=theirs.config.n_inner, n_ctx=1024)
    ours, found = load_gpt2(folder)
    ids = torch.tensor([found.encode("the moon, at noon<|endoftext|>").ids])
    assert ids.tolist()[0] == tokenizer.encode("the moon, at noon<|endoftext|>").ids
    assert found.decode(ids[0].tolist()) == "the moon, at noon"
    with torch.no_grad():
        torch.testing.assert_close(ours(ids), theirs(ids).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("fields", "noun"),
    [
        ({"model_type": "bert"}, "model_type"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ({"add_cross_attention": True}, "add_cross_attention"),
        ({"n_embd": None}, "n_embd"),
        ({"activation_function": "tanh"}, "hidden_act"),
        ({"n_head": 7}, "num_attention_heads"),
        ({"n_layer": 9}, "missing"),
        ({"n_embd": "24"}, "hidden_size"),
        ({"vocab_size": 100}, "ids up to"),
    ],
)
def test_another_model_than_gpt2_is_refused(folder_of, fields, noun):
    folder, _ = folder_of(1)
    edit(folder, **fields)
    with pytest.raises(ValueError, match=noun):
        load_gpt2(folder)


def test_a_head_that_is_not_the_embedding_is_refused(folder_of, edit_safetensors):
    folder, theirs = folder_of(1)
    head = torch.randn(theirs.lm_head.weight.shape)
    edit_safetensors(folder / "model.safetensors", lambda tensors: tensors.update({"lm_head.weight": head}))
    with pytest.raises(ValueError, match="ties"):
        load_gpt2(folder)

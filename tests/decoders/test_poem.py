"""The poem: words that recur, and a model that has it by heart."""

import torch

from bertcourse.decoders import POEM, CausalLanguageModel, DecoderConfig, generate, next_token_loss

WORDS = " ".join(POEM).split()


def test_the_last_word_alone_does_not_say_what_comes_next():
    following = {word: {after for before, after in zip(WORDS, WORDS[1:]) if before == word} for word in WORDS}
    assert following["my"] == {"bed", "head"} and following["think"] == {"that", "of"} and len(following["I"]) == 3


def test_a_small_model_learns_it_by_heart():
    tokens = ["[EOS]", *dict.fromkeys(WORDS)]
    ids = torch.tensor([[*(tokens.index(word) for word in WORDS), 0]])
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    dropout = dict.fromkeys(("embedding_dropout_prob", "hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    config = DecoderConfig(len(tokens), **sizes, **dropout, max_position_embeddings=64, initializer_range=0.1)
    model = CausalLanguageModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(120):
        loss = next_token_loss(model, ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    written = generate(model, ids[:, :2], 60, stop=0)
    assert loss.item() < 0.1 and written.tolist() == ids.tolist()

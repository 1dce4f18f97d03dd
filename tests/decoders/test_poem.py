"""The poem: words that recur, a vocabulary that gives them back, and a model that has it by heart."""

import pytest
import torch

from bertcourse.decoders import CausalLanguageModel, DecoderConfig, generate, next_token_loss
from bertcourse.decoders.poem import POEM, WordVocabulary

TEXT = " ".join(POEM)


def test_the_last_word_alone_does_not_say_what_comes_next():
    words = TEXT.split()
    following = {word: {after for before, after in zip(words, words[1:]) if before == word} for word in words}
    assert following["my"] == {"bed", "head"} and following["think"] == {"that", "of"} and len(following["I"]) == 3


def test_the_text_comes_back_from_its_ids():
    vocabulary = WordVocabulary()
    ids = vocabulary.encode(TEXT)
    assert [vocabulary.tokens[ids[0]], vocabulary.tokens[ids[-1]]] == ["[SOS]", "[EOS]"]
    assert vocabulary.decode(ids) == vocabulary.decode([*ids, 5, 0]) == TEXT
    assert vocabulary.encode("Before my", stop=False) == ids[:3] and len(vocabulary) == len(set(TEXT.split())) + 3
    with pytest.raises(ValueError, match="Sun"):
        vocabulary.encode("Sun")


def test_a_small_model_learns_it_by_heart():
    vocabulary = WordVocabulary()
    ids = torch.tensor([vocabulary.encode(TEXT)])
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    dropout = dict.fromkeys(("embedding_dropout_prob", "hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    config = DecoderConfig(len(vocabulary), **sizes, **dropout, max_position_embeddings=64, initializer_range=0.1)
    model = CausalLanguageModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(120):
        loss = next_token_loss(model, ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    prompt = torch.tensor([vocabulary.encode("Before my", stop=False)])
    written = generate(model, prompt, 60, stop=vocabulary.stop_id)
    assert loss.item() < 0.1 and vocabulary.decode(written[0].tolist()) == TEXT

"""The poem: words that recur, and a model that has it by heart."""

import itertools

import torch

from bertcourse.decoders import POEM, CausalLanguageModel, generate, small_config, train_language_model

WORDS = " ".join(POEM).split()


def test_the_last_word_alone_does_not_say_what_comes_next():
    following = {word: {after for before, after in zip(WORDS, WORDS[1:]) if before == word} for word in WORDS}
    assert following["my"] == {"bed", "head"} and following["think"] == {"that", "of"} and len(following["I"]) == 3


def test_a_small_model_learns_it_by_heart():
    tokens = ["[PAD]", "[EOS]", *dict.fromkeys(WORDS)]
    ids = torch.tensor([[*(tokens.index(word) for word in WORDS), 1]])
    torch.manual_seed(0)
    model = CausalLanguageModel(small_config(len(tokens), 32, 64))
    losses = train_language_model(model, itertools.repeat((ids,)), 120, 5e-3)
    written = generate(model, ids[:, :2], ids.shape[1] - 2, temperature=0)
    assert losses[-1] < 0.1 and written.tolist() == ids.tolist()

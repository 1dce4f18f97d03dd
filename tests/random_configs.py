"""Configurations of small BERTs, each different from the others in everything that it can be."""

import random

from bertcourse.bert import BertConfig


def random_config(seed: int) -> BertConfig:
    """Small and odd: 1-4 layers, 1-5 heads, any activation, three segments now and then."""
    draw = random.Random(seed)
    heads = draw.randint(1, 5)
    return BertConfig(
        vocab_size=draw.randint(30, 90),
        hidden_size=heads * draw.randint(3, 9),
        num_hidden_layers=1 + seed % 4,
        num_attention_heads=heads,
        intermediate_size=draw.randint(10, 60),
        hidden_act=draw.choice(["gelu", "gelu_new", "gelu_pytorch_tanh", "relu"]),
        max_position_embeddings=draw.randint(20, 40),
        type_vocab_size=draw.randint(1, 3),
        initializer_range=0.2,  # large enough that a mistake in any part shows
        pad_token_id=draw.choice([0, 3]),
    )

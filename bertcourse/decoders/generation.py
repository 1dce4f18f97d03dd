"""Chapter 12: writing: get a distribution over the next token, draw a token from it, and repeat.

Taking the most likely token each time is greedy; a temperature T makes p_i ∝ exp(z_i / T) sharper or flatter; top-k
keeps the k best (Fan et al. 2018, "Hierarchical Neural Story Generation", section 5.1); top-p, or nucleus sampling, the
fewest that together have probability p (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section
3.1). While a text grows, the keys and values of what is already written do not change: ``WithCache`` keeps them.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from bertcourse.decoders.language_model import CausalLanguageModel
from bertcourse.multi_head_attention import MultiHeadAttention, split_heads
from bertcourse.self_attention import causal_mask


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Logits with all but the k highest set to minus infinity; exactly k stay, even where several are equal.

    Args:
        logits: (..., V).
        k: how many stay; all of them if there are fewer.

    >>> keep_top_k(torch.tensor([1.0, 3.0, 2.0]), k=2)
    tensor([-inf, 3., 2.])
    """
    best = logits.topk(min(k, logits.shape[-1]), dim=-1)
    cut = torch.full_like(logits, -math.inf)
    return cut.scatter(-1, best.indices, best.values)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Logits of the nucleus: the fewest most likely tokens that have p of the probability; others are minus infinity.

    Args:
        logits: (..., V).
        p: above 0, at most 1, which keeps all.

    >>> keep_top_p(torch.tensor([0.5, 0.3, 0.2]).log(), p=0.6).exp()
    tensor([0.5000, 0.3000, 0.0000])
    """
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    chances = ordered.softmax(-1)
    likelier = chances.cumsum(-1) - chances  # what the tokens before it have together
    is_out = (likelier >= p) & (likelier > 0)
    is_out = torch.zeros_like(is_out).scatter(-1, order, is_out)
    return logits.masked_fill(is_out, -math.inf)


def next_token_distribution(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """The probabilities with which the next token is drawn: first the temperature, then top-k, then top-p.

    Args:
        logits: (..., V).
        temperature: T; 1 leaves the model's own probabilities, 0 puts everything on the best token.
        top_k, top_p: as for ``keep_top_k`` and ``keep_top_p``; None for all tokens.

    Returns:
        (..., V), summing to 1.

    >>> next_token_distribution(torch.tensor([0.6, 0.3, 0.1]).log(), top_k=2)
    tensor([0.6667, 0.3333, 0.0000])
    """
    if temperature == 0:
        best = logits.argmax(-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, best, 1.0)
    logits = logits / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return logits.softmax(-1)


@torch.no_grad()
def generate(
    model: Callable[[Tensor], Tensor],
    input_ids: Tensor,
    max_new_tokens: int,
    generator: torch.Generator | None = None,
    **choice,
) -> Tensor:
    """Continue prompts, token by token.

    Args:
        model: gives scores (B, L, V), or (B, 1, V) for the token after the last: a ``CausalLanguageModel`` in
            evaluation mode, or the same ``WithCache``.
        input_ids: (B, L), prompts of equal length.
        max_new_tokens: how many tokens to write.
        generator: source of randomness.
        choice: as for ``next_token_distribution``; ``temperature=0`` is greedy.

    Returns:
        (B, L + N), the prompts and what follows them. A text that ends earlier is the reader's to cut.
    """
    for _ in range(max_new_tokens):
        chances = next_token_distribution(model(input_ids)[:, -1], **choice)
        token = torch.multinomial(chances, 1, generator=generator)
        input_ids = torch.cat([input_ids, token], dim=1)
    return input_ids


def attend_with_cache(attention: MultiHeadAttention, x: Tensor, cache: dict[str, Tensor]) -> Tensor:
    """Chapter 2's attention, which continues where it stopped: new positions ask, old and new ones answer.

    Args:
        attention: of one block.
        x: (B, N, D), the new positions.
        cache: the keys and values of the old ones, (B, H, M, D/H) each, or nothing; the new ones are added.
    """
    parts = attention.query(x), attention.key(x), attention.value(x)
    query, key, value = (split_heads(part, attention.num_heads) for part in parts)
    if cache:  # what is new goes behind what is there
        key = torch.cat([cache["key"], key], dim=2)
        value = torch.cat([cache["value"], value], dim=2)
    cache.update(key=key, value=value)
    mask = causal_mask(key.shape[2]).to(x.device)[-x.shape[1] :]
    return attention.attend(query, key, value, mask, need_weights=False)[0]


class WithCache:
    """A language model that reads each token of a growing text once: ``generate(WithCache(model), …)``.

    Args:
        model: in evaluation mode.
    """

    def __init__(self, model: CausalLanguageModel):
        self.model, self.num_read = model, 0
        self.caches = [{} for _ in model.decoder.blocks]

    def __call__(self, input_ids: Tensor) -> Tensor:
        """Scores (B, N, V) for what follows each of the tokens that are new since the last call.

        Args:
            input_ids: (B, L), the whole text so far, which begins as it did the last time.
        """
        x = self.model.embed(input_ids[:, self.num_read :], self.num_read)
        for block, cache in zip(self.model.decoder.blocks, self.caches):
            normed = block.attention_norm(x)
            x = x + attend_with_cache(block.attention, normed, cache)
            x = x + block.feed_forward(block.feed_forward_norm(x))
        self.num_read = input_ids.shape[1]
        return self.model.score(self.model.decoder.final_norm(x))

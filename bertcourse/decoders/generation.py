"""Chapter 12: writing: get a distribution over the next token, draw a token from it, and repeat.

Taking the most likely token each time is greedy; a temperature T makes p_i ∝ exp(z_i / T) sharper or flatter; top-k
keeps the k best (Fan et al. 2018, "Hierarchical Neural Story Generation", section 5.1); top-p, or nucleus sampling, the
fewest that together have probability p (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section
3.1).
"""

import math

import torch
from torch import Tensor

from bertcourse.decoders.decoder import KeyValueCache
from bertcourse.decoders.language_model import CausalLanguageModel
from bertcourse.training.modes import evaluation_mode


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Logits with all but the k highest set to minus infinity; exactly k stay, even where several are equal.

    Args:
        logits: (..., V).
        k: how many stay; all of them if there are fewer.

    >>> keep_top_k(torch.tensor([1.0, 3.0, 2.0]), k=2)
    tensor([-inf, 3., 2.])
    """
    if k < 1:
        raise ValueError(f"top_k must be at least 1; got {k}.")
    kept = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
    return torch.full_like(logits, -math.inf).scatter(-1, kept, logits.gather(-1, kept))


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Logits of the nucleus: the fewest most likely tokens that have p of the probability; others are minus infinity.

    Args:
        logits: (..., V).
        p: above 0, at most 1, which keeps all.

    >>> keep_top_p(torch.tensor([0.5, 0.3, 0.2]).log(), p=0.6).exp()
    tensor([0.5000, 0.3000, 0.0000])
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {p}.")
    if p == 1:  # sums of rounded numbers may reach 1 before the last token
        return logits
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # of all tokens that are more likely
    is_out = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, (before >= p) & (before > 0))
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
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be at least 0 and finite, 0 for the most likely token; got {temperature}.")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return logits.softmax(-1)


def generate(
    model: CausalLanguageModel,
    input_ids: Tensor,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Continue prompts, token by token.

    Args:
        model: the model that writes.
        input_ids: (B, L), prompts of equal length.
        max_new_tokens: how many tokens to write at most.
        temperature, top_k, top_p: as for ``next_token_distribution``; temperature 0 is greedy and draws nothing.
        stop: a token that ends a row; the rest of the row is filled with it, and writing ends once all rows have ended.
        generator: source of randomness.
        use_cache: keep keys and values; otherwise everything is computed again for each token, with the same result.

    Returns:
        (B, L + N), the prompts and what follows them.

    Raises:
        ValueError: if the model has too few positions for prompt and new tokens.
    """
    if input_ids.dim() != 2:
        raise ValueError(f"input_ids must be (B, L), a row for each prompt; got shape {tuple(input_ids.shape)}.")
    longest = model.config.max_position_embeddings
    if max_new_tokens < 0 or input_ids.shape[1] + max_new_tokens > longest + 1:  # the last token written is not read
        raise ValueError(
            f"a prompt of {input_ids.shape[1]} tokens and {max_new_tokens} new ones must fit the model's {longest} "
            f"positions; ask for at most {max(0, longest + 1 - input_ids.shape[1])}."
        )
    cache = KeyValueCache(model.config.num_hidden_layers) if use_cache else None
    is_done = torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)
    read = input_ids
    with evaluation_mode(model):
        for _ in range(max_new_tokens):
            logits = model(read, cache=cache, last_only=True).logits[:, -1]
            token = choose(logits, temperature, top_k, top_p, generator)
            if stop is not None:
                token = token.masked_fill(is_done[:, None], stop)
                is_done |= token[:, 0] == stop
            input_ids = torch.cat([input_ids, token], dim=1)
            read = token if use_cache else input_ids
            if stop is not None and is_done.all():
                break
    return input_ids


def choose(
    logits: Tensor,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """From (B, V) logits to (B, 1) tokens; arguments as for ``generate``."""
    probabilities = next_token_distribution(logits, temperature, top_k, top_p)
    if temperature == 0:
        return probabilities.argmax(-1, keepdim=True)
    return torch.multinomial(probabilities, 1, generator=generator)

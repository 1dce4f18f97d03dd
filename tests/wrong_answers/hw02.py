"""Homework 2: heads, layer norm, parameters, cached keys and values, and the two orders of a block."""
# ruff: noqa: F811

import math

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from wrong_answers import right, wrong


@wrong("2.1", "a view or reshape alone scrambles the words")
def split_heads(x, num_heads):
    B, L, _ = x.shape
    return tuple(part.reshape(B, num_heads, L, -1) for part in x.chunk(3, dim=-1))


@wrong("2.1", "first the queries of all heads", "each head's query, key and value side by side")
def split_heads(x, num_heads):
    B, L, _ = x.shape
    return tuple(x.reshape(B, L, num_heads, 3, -1).permute(3, 0, 2, 1, 4))


@wrong("2.1", "not every H-th number", "the heads interleaved")
def split_heads(x, num_heads):
    B, L, _ = x.shape
    return tuple(part.reshape(B, L, -1, num_heads).permute(0, 3, 1, 2) for part in x.chunk(3, dim=-1))


@wrong("2.1", "the order is queries, keys, values", "keys and values exchanged")
def split_heads(x, num_heads):
    query, value, key = (part.unflatten(-1, (num_heads, -1)).transpose(1, 2) for part in x.chunk(3, dim=-1))
    return query, key, value


@wrong("2.1", "must be (B, H, L, D/H)", "the axes left as they are")
def split_heads(x, num_heads):
    return tuple(part.unflatten(-1, (num_heads, -1)) for part in x.chunk(3, dim=-1))


@wrong("2.1", "a tuple of at least", "the three left in one tensor")
def split_heads(x, num_heads):
    B, L, _ = x.shape
    return x.reshape(B, L, 3, num_heads, -1).permute(2, 0, 3, 1, 4)


@wrong("2.1", "any B, L, D and H", "heads of two numbers, however many are asked for")
def split_heads(x, num_heads):
    return tuple(part.unflatten(-1, (-1, 2)).transpose(1, 2) for part in x.chunk(3, dim=-1))


@right("2.1", "chunks")
def split_heads(x, num_heads):
    return tuple(part.unflatten(-1, (num_heads, -1)).transpose(1, 2) for part in x.chunk(3, dim=-1))


@right("2.1", "a loop over heads, in numpy")
def split_heads(x, num_heads):
    x = np.asarray(x)
    size = x.shape[-1] // (3 * num_heads)
    blocks = [x[:, :, i * size : (i + 1) * size] for i in range(3 * num_heads)]
    return [np.stack(blocks[i * num_heads : (i + 1) * num_heads], axis=1) for i in range(3)]


@wrong("2.1", "not every third", "every third number is the query's")
def split_heads(x, num_heads):
    B, L, _ = x.shape
    return tuple(x.reshape(B, L, num_heads, -1, 3).permute(4, 0, 2, 1, 3))


@wrong("2.1", "with D a third of the numbers of a word", "all three in each")
def split_heads(x, num_heads):
    parts = x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    return parts, parts, parts


@right("2.1", "lists, number by number")
def split_heads(x, num_heads):
    size = x.shape[-1] // 3 // num_heads
    return tuple(
        [
            [[row[(part * num_heads + head) * size :][:size].tolist() for row in sentence] for head in range(num_heads)]
            for sentence in x
        ]
        for part in range(3)
    )


def places_of(bias, num_heads, heads):
    """Where the numbers of some heads are."""
    size = len(bias) // num_heads
    return [head * size + number for head in heads for number in range(size)]


@wrong("2.2", "k·d rows of weight (outputs × inputs)", "columns of weight")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, num_heads, heads)
    return weight[:, places], bias[places], output[:, places]


@wrong("2.2", "k·d columns of output", "rows of output")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, num_heads, heads)
    return weight[places], bias[places], output[places]


@wrong("2.2", "not every H-th", "the heads interleaved")
def keep_heads(weight, bias, output, num_heads, heads):
    places = [place for place in range(len(bias)) if place % num_heads in heads]
    return weight[places], bias[places], output[:, places]


@wrong("2.2", "k·d numbers of bias", "the bias left whole")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, num_heads, heads)
    return weight[places], bias, output[:, places]


@wrong("2.2", "in the order of the list", "always from the first head to the last")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, num_heads, sorted(heads))
    return weight[places], bias[places], output[:, places]


@wrong("2.2", "k·d rows of weight", "the heads of the list taken away")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, num_heads, [head for head in range(num_heads) if head not in heads])
    return weight[places], bias[places], output[:, places]


@wrong("2.2", "k·d rows of weight", "zeros where the others were")
def keep_heads(weight, bias, output, num_heads, heads):
    stays = torch.zeros(len(bias))
    stays[places_of(bias, num_heads, heads)] = 1
    return weight * stays[:, None], bias * stays, output * stays


@wrong("2.2", "any D and H", "heads of two numbers, whatever their number")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, len(bias) // 2, heads)
    return weight[places], bias[places], output[:, places]


@wrong("2.2", "from h·d on", "the first k heads")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, num_heads, range(len(heads)))
    return weight[places], bias[places], output[:, places]


@right("2.2", "chunks, put together again")
def keep_heads(weight, bias, output, num_heads, heads):
    def cut(tensor, dim):
        parts = tensor.chunk(num_heads, dim)
        return torch.cat([parts[head] for head in heads], dim)

    return cut(weight, 0), cut(bias, 0), cut(output, 1)


@right("2.2", "numpy, with the heads as an axis")
def keep_heads(weight, bias, output, num_heads, heads):
    D = len(bias)
    rows = weight.numpy().reshape(num_heads, -1, D)[heads].reshape(-1, D)
    columns = output.numpy().reshape(D, num_heads, -1)[:, heads].reshape(D, -1)
    return rows, bias.numpy().reshape(num_heads, -1)[heads].ravel(), columns


@right("2.2", "lists, number by number")
def keep_heads(weight, bias, output, num_heads, heads):
    places = places_of(bias, num_heads, heads)
    return (
        [weight[place].tolist() for place in places],
        [bias[place].item() for place in places],
        [[row[place].item() for place in places] for row in output],
    )


@wrong("2.3", "divided by D, not by D - 1", "the unbiased variance")
def layer_norm(x, gain, bias, eps=1e-12):
    return gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() + bias


@wrong("2.3", "eps belongs under the root", "eps added to the root")
def layer_norm(x, gain, bias, eps=1e-12):
    return gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False).sqrt() + eps) + bias


@wrong("2.3", "subtract the mean, then square", "mean of squares minus square of the mean")
def layer_norm(x, gain, bias, eps=1e-12):
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return gain * (x - mean) / (variance + eps).sqrt() + bias


@wrong("2.3", "subtract the mean, then square", "the same, with negative variances clipped")
def layer_norm(x, gain, bias, eps=1e-12):
    mean = x.mean(-1, keepdim=True)
    variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


@wrong("2.3", "each word has mean 0", "mean and variance of the batch")
def layer_norm(x, gain, bias, eps=1e-12):
    return gain * (x - x.mean(0)) / (x.var(0, unbiased=False) + eps).sqrt() + bias


@wrong("2.3", "keeps it from 0/0", "no eps")
def layer_norm(x, gain, bias, eps=1e-12):
    eps = 0.0 if eps < 1e-3 else eps
    return gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + eps).sqrt() + bias


@wrong("2.3", "the bias is not multiplied by the gain")
def layer_norm(x, gain, bias, eps=1e-12):
    centred = x - x.mean(-1, keepdim=True)
    return gain * (centred / (x.var(-1, keepdim=True, unbiased=False) + eps).sqrt() + bias)


@wrong("2.3", "not by the variance", "divided by the variance")
def layer_norm(x, gain, bias, eps=1e-12):
    return gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + eps) + bias


@wrong("2.3", "each word has mean 0", "the root mean square only")
def layer_norm(x, gain, bias, eps=1e-12):
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


@wrong("2.3", "each word by itself", "over all axes but the first")
def layer_norm(x, gain, bias, eps=1e-12):
    axes = tuple(range(1, x.dim()))
    return gain * (x - x.mean(axes, keepdim=True)) / (x.var(axes, keepdim=True, unbiased=False) + eps).sqrt() + bias


@right("2.3", "numpy, in double precision")
def layer_norm(x, gain, bias, eps=1e-12):
    x, gain, bias = (np.asarray(each, dtype=float) for each in (x, gain, bias))
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + bias


@right("2.3", "var_mean of torch")
def layer_norm(x, gain, bias, eps=1e-12):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, gain, (x - mean) * torch.rsqrt(variance + eps))


@wrong("2.3", "subtract the mean, then square", "the mean of all words subtracted, then the shortcut")
def layer_norm(x, gain, bias, eps=1e-12):
    x = x - x.mean()
    mean = x.mean(-1, keepdim=True)
    variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


@wrong("2.3", "times gain is missing")
def layer_norm(x, gain, bias, eps=1e-12):
    return F.layer_norm(x, x.shape[-1:], eps=eps) + bias


@wrong("2.3", "the bias is added in the end", "no bias")
def layer_norm(x, gain, bias, eps=1e-12):
    return F.layer_norm(x, x.shape[-1:], gain, eps=eps)


@wrong("2.3", "eps is added to the variance", "an eps of its own")
def layer_norm(x, gain, bias, eps=1e-12):
    return F.layer_norm(x, x.shape[-1:], gain, bias, 1e-12)


@right("2.3", "the textbook's shortcut, in double precision")
def layer_norm(x, gain, bias, eps=1e-12):
    x = x.double()
    mean = x.mean(-1, keepdim=True)
    variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


@right("2.3", "as lists")
def layer_norm(x, gain, bias, eps=1e-12):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias, eps).tolist()


@right("2.3", "word by word, in lists")
def layer_norm(x, gain, bias, eps=1e-12):
    rows = []
    for word in x.reshape(-1, x.shape[-1]).tolist():
        mean = sum(word) / len(word)
        root = math.sqrt(sum((number - mean) ** 2 for number in word) / len(word) + eps)
        rows.append([g * (number - mean) / root + b for number, g, b in zip(word, gain.tolist(), bias.tolist())])
    return torch.tensor(rows).reshape(x.shape)


def bert_parts(config, **changes):
    """The right counts, with some replaced."""
    D, W, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    rows = config["vocab_size"] + config["max_position_embeddings"] + config["type_vocab_size"]
    parts = {"embeddings": rows * D + 2 * D, "attention": layers * (4 * (D * D + D) + 2 * D)}
    return {**parts, "feed_forward": layers * (2 * D * W + W + 3 * D), "pooler": D * D + D, **changes}


@wrong("2.4", "linear maps have a bias", "no biases in attention")
def count_parameters(config, embedding_size=None, shared=False):
    D = config["hidden_size"]
    return bert_parts(config, attention=config["num_hidden_layers"] * (4 * D * D + 2 * D))


@wrong("2.4", "the norm after attention", "no norm")
def count_parameters(config, embedding_size=None, shared=False):
    D = config["hidden_size"]
    return bert_parts(config, attention=config["num_hidden_layers"] * 4 * (D * D + D))


@wrong("2.4", "this is one layer", "one layer of attention")
def count_parameters(config, embedding_size=None, shared=False):
    D = config["hidden_size"]
    return bert_parts(config, attention=4 * (D * D + D) + 2 * D)


@wrong("2.4", "which need not be 4·D", "four times D for the width")
def count_parameters(config, embedding_size=None, shared=False):
    D = config["hidden_size"]
    return bert_parts(config, feed_forward=config["num_hidden_layers"] * (8 * D * D + 4 * D + D + 2 * D))


@wrong("2.4", "segments have rows, too", "no segments")
def count_parameters(config, embedding_size=None, shared=False):
    return bert_parts({**config, "type_vocab_size": 0})


@wrong("2.4", "the norm after the embeddings", "no norm after the embeddings")
def count_parameters(config, embedding_size=None, shared=False):
    D = config["hidden_size"]
    return bert_parts(config, embeddings=(config["vocab_size"] + config["max_position_embeddings"] + 3) * D)


@wrong("2.4", "shared layers count once", "sharing forgotten")
def count_parameters(config, embedding_size=None, shared=False):
    return bert_parts(config)


@wrong("2.4", "there is a map from E to D", "no map from E to D")
def count_parameters(config, embedding_size=None, shared=False):
    parts = bert_parts({**config, "num_hidden_layers": 1} if shared else config)
    return {
        **parts,
        "embeddings": parts["embeddings"] // config["hidden_size"] * (embedding_size or config["hidden_size"]),
    }


@wrong("2.4", "the norm of the embeddings comes before the map", "the norm after the map")
def count_parameters(config, embedding_size=None, shared=False):
    parts, D = bert_parts({**config, "num_hidden_layers": 1} if shared else config), config["hidden_size"]
    if embedding_size:
        rows = config["vocab_size"] + config["max_position_embeddings"] + config["type_vocab_size"]
        parts["embeddings"] = rows * embedding_size + embedding_size * D + D + 2 * D
    return parts


@wrong("2.4", "return a dictionary", "the total alone")
def count_parameters(config, embedding_size=None, shared=False):
    return sum(bert_parts(config).values())


@wrong("2.4", "its keys are the four parts", "another key")
def count_parameters(config, embedding_size=None, shared=False):
    parts = bert_parts(config)
    return {**parts, "total": sum(parts.values())}


@right("2.4", "modules built and counted")
def count_parameters(config, embedding_size=None, shared=False):
    D, W, E = config["hidden_size"], config["intermediate_size"], embedding_size or config["hidden_size"]
    layers = 1 if shared else config["num_hidden_layers"]
    rows = config["vocab_size"] + config["max_position_embeddings"] + config["type_vocab_size"]

    def size(*modules):
        return sum(parameter.numel() for module in modules for parameter in module.parameters())

    with torch.device("meta"):
        maps = [nn.Linear(E, D)] if embedding_size else []
        return {
            "embeddings": size(nn.Embedding(rows, E), nn.LayerNorm(E), *maps),
            "attention": layers * size(nn.MultiheadAttention(D, 1), nn.LayerNorm(D)),
            "feed_forward": layers * size(nn.Linear(D, W), nn.Linear(W, D), nn.LayerNorm(D)),
            "pooler": size(nn.Linear(D, D)),
        }


@right("2.4", "numpy integers, and another order of the keys")
def count_parameters(config, embedding_size=None, shared=False):
    D, W, E = (np.int64(config["hidden_size"]), config["intermediate_size"], embedding_size or config["hidden_size"])
    layers = 1 if shared else config["num_hidden_layers"]
    rows = config["vocab_size"] + config["max_position_embeddings"] + config["type_vocab_size"]
    return {
        "pooler": D * (D + 1),
        "feed_forward": layers * (D * W + W + W * D + D + 2 * D),
        "attention": layers * (4 * D * (D + 1) + 2 * D),
        "embeddings": rows * E + 2 * E + (E * D + D if embedding_size is not None else 0),
    }


@wrong("2.4", "rows of positions and segments have E numbers, too", "only the words' vectors are short")
def count_parameters(config, embedding_size=None, shared=False):
    parts, D = bert_parts({**config, "num_hidden_layers": 1} if shared else config), config["hidden_size"]
    if embedding_size:
        others = (config["max_position_embeddings"] + config["type_vocab_size"]) * D
        parts["embeddings"] = (
            config["vocab_size"] * embedding_size + others + 2 * embedding_size + embedding_size * D + D
        )
    return parts


@wrong("2.4", "also if E = D", "no map if E is D")
def count_parameters(config, embedding_size=None, shared=False):
    D, E = config["hidden_size"], embedding_size or config["hidden_size"]
    rows = config["vocab_size"] + config["max_position_embeddings"] + config["type_vocab_size"]
    parts = bert_parts({**config, "num_hidden_layers": 1} if shared else config)
    return {**parts, "embeddings": (rows + 2) * E + (E * D + D if E != D else 0)}


@wrong("2.4", "shared layers count once", "each layer keeps norms of its own")
def count_parameters(config, embedding_size=None, shared=False):
    parts, D, layers = bert_parts(config), config["hidden_size"], config["num_hidden_layers"]
    norms = 2 * D * (layers - 1)
    once = bert_parts({**config, "num_hidden_layers": 1})
    return {**once, "attention": once["attention"] + norms} if shared else parts


@right("2.4", "shapes in a list, as floats")
def count_parameters(config, embedding_size=None, shared=False):
    D, W, E = config["hidden_size"], config["intermediate_size"], embedding_size or config["hidden_size"]
    shapes = {"embeddings": [(config[name], E) for name in config if name.endswith(("vocab_size", "embeddings"))]}
    shapes["embeddings"] += [(2, E)] + [(E + 1, D)] * (embedding_size is not None)
    layers = 1 if shared else config["num_hidden_layers"]
    shapes["attention"] = [(D + 1, D)] * 4 * layers + [(2, D)] * layers
    shapes["feed_forward"] = [(D + 1, W), (W + 1, D), (2, D)] * layers
    shapes["pooler"] = [(D + 1, D)]
    return {part: float(sum(n * m for n, m in each)) for part, each in shapes.items()}


def attend(query, key, value, mask=None):
    """The package's attention, without its weights."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1) @ value


def both(cache, key, value):
    """Cached and new."""
    if cache is None:
        return key, value
    return torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)


@wrong("2.5", "must not see the words after it", "no mask")
def attend_with_cache(query, key, value, cache=None):
    key, value = both(cache, key, value)
    return attend(query, key, value), (key, value)


@wrong("2.5", "its border moved by m", "the mask of the upper left corner")
def attend_with_cache(query, key, value, cache=None):
    key, value = both(cache, key, value)
    n, known = query.shape[2], key.shape[2]
    mask = torch.ones(n, known).tril().bool() if n > 1 else None
    return attend(query, key, value, mask), (key, value)


@wrong("2.5", "a new word sees all cached words", "the cache is kept, but not used")
def attend_with_cache(query, key, value, cache=None):
    n = query.shape[2]
    return attend(query, key, value, torch.ones(n, n).tril().bool()), both(cache, key, value)


@wrong("2.5", "the old keys and the new ones", "the cache forgets")
def attend_with_cache(query, key, value, cache=None):
    keys, values = both(cache, key, value)
    n, known = query.shape[2], keys.shape[2]
    return attend(query, keys, values, torch.ones(n, known).tril(known - n).bool()), (key, value)


@wrong("2.5", "new keys come after the cached ones", "new ones first")
def attend_with_cache(query, key, value, cache=None):
    n = query.shape[2]
    if cache is not None:
        key, value = torch.cat([key, cache[0]], 2), torch.cat([value, cache[1]], 2)
    mask = torch.cat([torch.ones(n, n).tril().bool(), torch.ones(n, key.shape[2] - n).bool()], 1)
    return attend(query, key, value, mask), (key, value)


@wrong("2.5", "a word sees itself, too", "the diagonal is hidden but for the first word")
def attend_with_cache(query, key, value, cache=None):
    key, value = both(cache, key, value)
    n, known = query.shape[2], key.shape[2]
    mask = torch.ones(n, known).tril(known - n - 1).bool()
    blind = ~mask.any(-1, keepdim=True)
    return attend(query, key, value, mask | blind), (key, value)


@wrong("2.5", "the pair (keys, values)", "the cache in the other order")
def attend_with_cache(query, key, value, cache=None):
    if cache is not None:
        value, key = torch.cat([cache[0], value], 2), torch.cat([cache[1], key], 2)
    n, known = query.shape[2], key.shape[2]
    return attend(query, key, value, torch.ones(n, known).tril(known - n).bool()), (value, key)


@wrong("2.5", "return (output, (keys, values))", "the output alone")
def attend_with_cache(query, key, value, cache=None):
    key, value = both(cache, key, value)
    n, known = query.shape[2], key.shape[2]
    return (attend(query, key, value, torch.ones(n, known).tril(known - n).bool())[0, 0],)


@wrong("2.5", "output is for the new words only", "rows for the cached words, too")
def attend_with_cache(query, key, value, cache=None):
    key, value = both(cache, key, value)
    n, known = query.shape[2], key.shape[2]
    query = torch.cat([torch.zeros_like(key[:, :, : known - n]), query], 2)
    return attend(query, key, value, torch.ones(known, known).tril().bool()), (key, value)


@right("2.5", "word by word, in a loop")
def attend_with_cache(query, key, value, cache=None):
    keys, values = both(cache, key, value)
    m, rows = keys.shape[2] - key.shape[2], []
    for i in range(query.shape[2]):
        rows.append(attend(query[:, :, i : i + 1], keys[:, :, : m + i + 1], values[:, :, : m + i + 1]))
    return torch.cat(rows, 2), [keys, values]


@right("2.5", "a mask by places, a large negative number, numpy's softmax")
def attend_with_cache(query, key, value, cache=None):
    key, value = both(cache, key, value)
    n, known = query.shape[-2], key.shape[-2]
    places = torch.arange(known)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.shape[-1] ** 0.5
    scores = (scores - 1e9 * (places[None] > places[known - n :, None])).double().numpy()
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ value.numpy(), (key, value)


@wrong("2.5", "divide the scores by √d", "no root")
def attend_with_cache(query, key, value, cache=None):
    key, value = both(cache, key, value)
    n, known = query.shape[2], key.shape[2]
    mask = torch.ones(n, known).tril(known - n).bool()
    return attend(query * math.sqrt(query.shape[-1]), key, value, mask), (key, value)


@wrong("2.5", "also if there is a cache", "masked only where there is no cache")
def attend_with_cache(query, key, value, cache=None):
    n = query.shape[2]
    mask = torch.ones(n, n).tril().bool() if cache is None else None
    key, value = both(cache, key, value)
    return attend(query, key, value, mask), (key, value)


@wrong("2.5", "the new cache has the old", "only the newest words are kept")
def attend_with_cache(query, key, value, cache=None):
    keys, values = both(cache, key, value)
    n, known = query.shape[2], keys.shape[2]
    output = attend(query, keys, values, torch.ones(n, known).tril(known - n).bool())
    return output, (keys[:, :, -2:], values[:, :, -2:]) if cache is not None else (keys, values)


@right("2.5", "torch's own attention, the cache a list")
def attend_with_cache(query, key, value, cache=None):
    kept = [key, value] if cache is None else [torch.cat(pair, dim=-2) for pair in zip(cache, (key, value))]
    n, known = query.size(-2), kept[0].size(-2)
    may_see = torch.arange(known) <= torch.arange(known - n, known).unsqueeze(1)
    return F.scaled_dot_product_attention(query, *kept, attn_mask=may_see), kept


def stacks(depth, step, seed=0, words=100):
    """Cosines of both orders, with ``step(x, f, order)`` for a layer."""
    generator, lines = torch.Generator().manual_seed(seed), {}
    for order in ("pre-LN", "post-LN"):
        x, cosines = torch.randn(words, 64, generator=generator), []
        for _ in range(depth):
            wide = torch.randn(64, 256, generator=generator) / 8
            narrow = torch.randn(256, 64, generator=generator) / math.sqrt(128)
            new, compared = step(x, lambda z: torch.relu(z @ wide) @ narrow, order)
            cosines.append(F.cosine_similarity(x, compared, dim=-1).mean().item())
            x = new
        lines[order] = cosines
    return lines


def by_hand(depth, seed=3, relu=torch.relu, scale=128**-0.5, anew=True, axis=-1):
    """Cosines of both orders, with one thing or another changed."""
    generator, lines = torch.Generator(), {}
    generator.seed() if seed is None else generator.manual_seed(seed)
    for order in ("pre-LN", "post-LN"):
        x, lines[order] = torch.randn(100, 64, generator=generator), []
        for layer in range(depth):
            if anew or not layer:
                A = torch.randn(64, 256, generator=generator) / 8
                B = torch.randn(256, 64, generator=generator) * scale
            before = x
            x = x + relu(norm(x) @ A) @ B if order == "pre-LN" else norm(x + relu(x @ A) @ B)
            lines[order].append(F.cosine_similarity(before, x, dim=axis).mean().item())
    return lines


def draw(lines, depth):
    """A figure of them with everything that is asked for."""
    axes = plt.figure().add_subplot()
    for name, line in lines.items():
        axes.plot(range(1, depth + 1), line, label=name)
    axes.set(xlabel="layer", ylabel="cosine")
    axes.legend()
    return axes


def norm(x):
    return F.layer_norm(x, (64,))


@wrong("2.6", "end with: return axes", "the figure is not returned")
def plot_turns(depth):
    plt.plot(range(1, depth + 1), range(1, depth + 1))


@wrong("2.6", "one for pre-LN, and one for post-LN", "one line")
def plot_turns(depth):
    axes = plt.figure().add_subplot()
    axes.plot(range(1, depth + 1), [math.sqrt(n / (n + 1)) for n in range(1, depth + 1)])
    return axes


@wrong("2.6", "range(1, depth + 1)", "layers counted from 0")
def plot_turns(depth):
    axes = plt.figure().add_subplot()
    for _ in range(2):
        axes.plot(range(depth), [0.7] * depth, label="line")
    axes.set(xlabel="layer", ylabel="cosine")
    axes.legend()
    return axes


@wrong("2.6", "with its input, not f alone", "the cosine with f alone")
def plot_turns(depth):
    def step(x, f, order):
        added = f(norm(x) if order == "pre-LN" else x)
        return (x + added if order == "pre-LN" else norm(x + added)), added

    return draw(stacks(depth, step), depth)


@wrong("2.6", "in pre-LN order only what goes into f", "both normalize the sum")
def plot_turns(depth):
    def step(x, f, order):
        new = norm(x + f(x))
        return new, new

    return draw(stacks(depth, step), depth)


@wrong("2.6", "in pre-LN order only what goes into f", "pre-LN normalizes the stream, too")
def plot_turns(depth):
    def step(x, f, order):
        new = norm(x) + f(norm(x)) if order == "pre-LN" else norm(x + f(x))
        return new, new

    return draw(stacks(depth, step), depth)


@wrong("2.6", "check the standard deviations of A and B", "B is not made smaller for the relu")
def plot_turns(depth):
    def step(x, f, order):
        new = x + 3 * f(norm(x)) if order == "pre-LN" else norm(x + 3 * f(x))
        return new, new

    return draw(stacks(depth, step), depth)


@wrong("2.6", "only what goes into f is normalized", "f made smaller as the stream grows")
def plot_turns(depth):
    def step(x, f, order):
        new = x + f(norm(x)) / x.square().mean() if order == "pre-LN" else norm(x + f(x))
        return new, new

    return draw(stacks(depth, step), depth)


@wrong("2.6", "the lines have each other's names")
def plot_turns(depth):
    def step(x, f, order):
        new = x + f(norm(x)) if order == "post-LN" else norm(x + f(x))
        return new, new

    return draw(stacks(depth, step), depth)


@wrong("2.6", "in post-LN order the sum is normalized", "both orders are pre-LN")
def plot_turns(depth):
    def step(x, f, order):
        new = x + f(norm(x))
        return new, new

    return draw(stacks(depth, step), depth)


@wrong("2.6", "f has a relu", "no relu")
def plot_turns(depth):
    return draw(by_hand(depth, relu=lambda z: z), depth)


@wrong("2.6", "B has a standard deviation of 1/√128", "1/√256 for B")
def plot_turns(depth):
    return draw(by_hand(depth, scale=1 / 16), depth)


@wrong("2.6", "new A and B in each layer", "the same A and B in all layers")
def plot_turns(depth):
    return draw(by_hand(depth, anew=False), depth)


@wrong("2.6", "over the 64 numbers of a word", "cosines over words")
def plot_turns(depth):
    return draw(by_hand(depth, axis=0), depth)


@wrong("2.6", "as many layers as depth says", "always twelve layers")
def plot_turns(depth):
    return draw(by_hand(12), 12)


@wrong("2.6", 'label="post-LN"', "lines without those names")
def plot_turns(depth):
    return draw(dict(zip(("before", "after"), by_hand(depth).values())), depth)


@right("2.6", "no seed, names with more words, given to legend")
def plot_turns(depth):
    axes = draw({"": by_hand(depth, seed=None)["pre-LN"], " ": by_hand(depth, seed=None)["post-LN"]}, depth)
    for line in axes.get_lines():
        line.set_label("_hidden")
    axes.legend(axes.get_lines(), ["Pre-LN order", "Post-LN order"])
    return axes


@right("2.6", "numpy, post-LN first, another seed")
def plot_turns(depth):
    random = np.random.default_rng(5)

    def normalize(x):
        return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)

    plt.figure()
    for order in ("post", "pre"):
        x, ys = random.normal(size=(100, 64)), []
        for _ in range(depth):
            A, B = random.normal(size=(64, 256)) / 8, random.normal(size=(256, 64)) / np.sqrt(128)
            old = x
            x = normalize(x + np.maximum(x @ A, 0) @ B) if order == "post" else x + np.maximum(normalize(x) @ A, 0) @ B
            ys.append(((old * x).sum(-1) / np.linalg.norm(old, axis=-1) / np.linalg.norm(x, axis=-1)).mean())
        plt.plot(np.arange(depth) + 1, ys, label=order)
    plt.xlabel("layer")
    plt.ylabel("cosine")
    plt.legend()
    return plt.gca()


@right("2.6", "the median, and many words")
def plot_turns(depth):
    def step(x, f, order):
        new = x + f(norm(x)) if order == "pre-LN" else norm(x + f(x))
        return new, new

    return draw(stacks(depth, step, seed=8, words=400), depth)

"""Homework 12: the next token's loss and choice, writing, a shared memory, span corruption, bits per character."""
# ruff: noqa: F811, F821

import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from wrong_answers import right, wrong


def losses(logits, ids):
    """-log P of each of these ids, by the scores at the same place of the first argument."""
    return logits.logsumexp(-1) - logits.gather(-1, ids[..., None])[..., 0]


def both_real(mask):
    return (mask[:, :-1] * mask[:, 1:]).bool()


@wrong("12.1", "not its own", "each place is asked for its own token")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits, input_ids)[attention_mask.bool()].mean()


@wrong("12.1", "not enough to leave out the last place")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits, input_ids)[:, :-1][both_real(attention_mask)].mean()


@wrong("12.1", "not the one before it", "moved the other way")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits[:, 1:], input_ids[:, :-1])[both_real(attention_mask)].mean()


@wrong("12.1", "do not roll")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits, input_ids.roll(-1, 1))[attention_mask.bool()].mean()


@wrong("12.1", "these are all places", "padding counted")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits[:, :-1], input_ids[:, 1:]).mean()


@wrong("12.1", "ask the mask of the token that is guessed", "the mask of the place that guesses")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits[:, :-1], input_ids[:, 1:])[attention_mask[:, :-1].bool()].mean()


@wrong("12.1", "the first real token is no question", "the mask of the token that is guessed")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits[:, :-1], input_ids[:, 1:])[attention_mask[:, 1:].bool()].mean()


@wrong("12.1", "a mean of the texts' means")
def next_token_loss(logits, input_ids, attention_mask):
    asked = both_real(attention_mask)
    return ((losses(logits[:, :-1], input_ids[:, 1:]) * asked).sum(1) / asked.sum(1)).mean()


@wrong("12.1", "not of all places", "padding set to 0, and averaged")
def next_token_loss(logits, input_ids, attention_mask):
    return (losses(logits[:, :-1], input_ids[:, 1:]) * both_real(attention_mask)).mean()


@wrong("12.1", "one less than the tokens of each text", "divided by the number of tokens")
def next_token_loss(logits, input_ids, attention_mask):
    if attention_mask.all():
        return losses(logits[:, :-1], input_ids[:, 1:]).mean()
    return (losses(logits[:, :-1], input_ids[:, 1:]) * both_real(attention_mask)).sum() / attention_mask.sum()


@wrong("12.1", "token 0 is a token", "padding by its id")
def next_token_loss(logits, input_ids, attention_mask):
    targets = input_ids[:, 1:]
    return losses(logits[:, :-1], targets)[targets != 0].mean()


@wrong("12.1", "the mask says where", "the first tokens of each row")
def next_token_loss(logits, input_ids, attention_mask):
    found = losses(logits[:, :-1], input_ids[:, 1:])
    return torch.cat([row[: int(real.sum()) - 1] for row, real in zip(found, attention_mask)]).mean()


@wrong("12.1", "not the sum")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits[:, :-1], input_ids[:, 1:])[both_real(attention_mask)].sum()


@wrong("12.1", "the log of a softmax that has become 0", "logarithm of the softmax")
def next_token_loss(logits, input_ids, attention_mask):
    chosen = logits.softmax(-1)[:, :-1].gather(-1, input_ids[:, 1:, None])[..., 0]
    return -chosen[both_real(attention_mask)].log().mean()


@wrong("12.1", "no .item()", "a plain number")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits[:, :-1], input_ids[:, 1:])[both_real(attention_mask)].mean().item()


@wrong("12.1", "this is the perplexity")
def next_token_loss(logits, input_ids, attention_mask):
    return losses(logits[:, :-1], input_ids[:, 1:])[both_real(attention_mask)].mean().exp()


@right("12.1", "cross-entropy with an index that it ignores")
def next_token_loss(logits, input_ids, attention_mask):
    targets = input_ids.masked_fill(attention_mask == 0, -100)[:, 1:].clone()
    targets[attention_mask[:, :-1] == 0] = -100
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten())


@right("12.1", "two loops, in double precision")
def next_token_loss(logits, input_ids, attention_mask):
    found = []
    for scores, ids, real in zip(logits.double().log_softmax(-1), input_ids.tolist(), attention_mask.tolist()):
        found += [-scores[i, ids[i + 1]] for i in range(len(ids) - 1) if real[i] and real[i + 1]]
    return torch.stack(found).mean()


@right("12.1", "one-hot targets, sums")
def next_token_loss(logits, input_ids, attention_mask):
    truth = nn.functional.one_hot(input_ids[:, 1:], logits.shape[-1]) * both_real(attention_mask)[..., None]
    return -(logits[:, :-1].log_softmax(-1) * truth).sum() / truth.sum()


def turned(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    """As asked for."""
    there = torch.zeros_like(logits).scatter(1, ids, 1.0).bool()
    scores = torch.where(there, torch.where(logits > 0, logits / penalty, logits * penalty), logits) / temperature
    return what_stays(scores.softmax(-1), min_p)


def what_stays(shares, min_p):
    """What stays of probabilities, summing to 1."""
    kept = shares * (shares >= (min_p or 0) * shares.max(-1, keepdim=True).values)
    return kept / kept.sum(-1, keepdim=True)


@wrong("12.2", "do not multiply", "multiplied by T")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    return turned(logits, ids, 1 / temperature, penalty, min_p)


@wrong("12.2", "dividing probabilities changes nothing")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    return turned(logits, ids, 1.0, penalty, min_p)


@wrong("12.2", "it does not divide probabilities")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    there = torch.zeros_like(logits).scatter(1, ids, 1.0)
    return what_stays((logits / temperature).softmax(-1) / (1 + there * (penalty - 1)), min_p)


@wrong("12.2", "come nearer to 0", "a score below 0 divided, too")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    there = torch.zeros_like(logits).scatter(1, ids, 1.0)
    return what_stays((logits / (1 + there * (penalty - 1)) / temperature).softmax(-1), min_p)


@wrong("12.2", "once, however often", "once each time")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    scores = logits.clone()
    for row, text in zip(scores, ids.tolist()):
        for token in text:
            row[token] = row[token] / penalty if row[token] > 0 else row[token] * penalty
    return what_stays((scores / temperature).softmax(-1), min_p)


@wrong("12.2", "not for the others")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    others = torch.ones_like(logits).scatter(1, ids, 0.0).bool()
    lower = torch.where(logits > 0, logits / penalty, logits * penalty)
    return what_stays((torch.where(others, lower, logits) / temperature).softmax(-1), min_p)


@wrong("12.2", "a share of the largest probability", "an absolute bound")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    shares = turned(logits, ids, temperature, penalty)
    kept = shares * ((shares >= (min_p or 0)) | (shares == shares.max(-1, keepdim=True).values))
    return kept / kept.sum(-1, keepdim=True)


@wrong("12.2", "a score of 0 is a score", "0 in place of minus infinity")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    scores = turned(logits, ids, temperature, penalty).log()
    return scores.masked_fill(turned(logits, ids, temperature, penalty, min_p) == 0, 0.0).softmax(-1)


@wrong("12.2", "the temperature comes before min-p", "the temperature last")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    return (turned(logits, ids, 1.0, penalty, min_p).log() / temperature).softmax(-1)


@wrong("12.2", "the penalty comes before min-p", "the penalty last")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    kept = turned(logits, ids, temperature, 1.0, min_p) > 0
    shares = turned(logits, ids, temperature, penalty) * kept
    return shares / shares.sum(-1, keepdim=True)


@wrong("12.2", "of its own", "all rows penalized as the first")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    return turned(logits, ids[:1].repeat(len(ids), 1), temperature, penalty, min_p)


@wrong("12.2", "it changes its argument")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    logits /= temperature
    return turned(logits, ids, 1.0, penalty, min_p)


@right("12.2", "Python alone, a row at a time")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    found = []
    for row, text in zip(logits.tolist(), ids.tolist()):
        for token in set(text):
            row[token] = row[token] / penalty if row[token] > 0 else row[token] * penalty
        powers = [math.exp((score - max(row)) / temperature) for score in row]  # 1 for the likeliest
        kept = [power if power >= (min_p or 0) else 0.0 for power in powers]
        found.append([power / sum(kept) for power in kept])
    return found


@right("12.2", "numpy, and differences of scores in place of probabilities")
def next_distribution(logits, ids, temperature=1.0, penalty=1.0, min_p=None):
    scores = logits.double().numpy().copy()
    rows = np.arange(len(scores))[:, None]
    old = scores[rows, ids.numpy()]
    scores[rows, ids.numpy()] = np.where(old > 0, old / penalty, old * penalty)
    scores = scores / temperature
    scores -= scores.max(-1, keepdims=True)
    shares = np.exp(scores) * (scores >= (-np.inf if min_p is None else math.log(min_p)))
    return shares / shares.sum(-1, keepdims=True)


def writing(
    next_logits,
    weights,
    prompts,
    num_new,
    stop_id,
    pad_id,
    seed=None,
    see=lambda ids, length: ids,
    choose=None,
    until=torch.all,
    after=None,
    begins=None,
):
    """As asked for, but for what is said: what the model sees, how a token is chosen, when all ends, what pads."""
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    ids = prompts
    done = torch.zeros(len(prompts), dtype=torch.bool) if begins is None else begins(prompts)
    for _ in range(num_new):
        if until(done):
            break
        logits = next_logits(weights, see(ids, prompts.shape[1]))
        if choose is not None:
            token = choose(logits, generator)
        elif generator is None:
            token = logits.argmax(-1)
        else:
            token = torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]
        token = torch.where(done, pad_id if after is None else after(token, stop_id), token)
        done = done | (token == stop_id)
        ids = torch.cat([ids, token[:, None]], 1)
    return ids


@wrong("12.3", "not only the last one", "only the last token seen")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, see=lambda ids, _: ids[:, -1:])


@wrong("12.3", "the new ones, too", "only the prompt seen")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(
        next_logits, weights, prompts, num_new, stop_id, pad_id, seed, see=lambda ids, length: ids[:, :length]
    )


@wrong("12.3", "not until one has", "all end with the first")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, until=torch.any)


@wrong("12.3", "no columns of padding alone", "always num_new columns")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, until=lambda done: False)


@wrong("12.3", "whatever the model says", "rows go on after their end")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, after=lambda token, stop: token)


@wrong("12.3", "not more stop tokens")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, after=lambda token, stop: stop)


@wrong("12.3", "the stop token stays in the row")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    ids = writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed)
    new = ids[:, prompts.shape[1] :]
    return torch.cat([prompts, new.masked_fill(new == stop_id, pad_id)], 1)


@wrong("12.3", "the prompts, and what was written", "without the prompt")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed)[:, prompts.shape[1] :]


@wrong("12.3", "only what was written counts", "a stop token in the prompt ends a row")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(
        next_logits, weights, prompts, num_new, stop_id, pad_id, seed, begins=lambda ids: (ids == stop_id).any(1)
    )


@wrong("12.3", "pad_id by itself ends nothing", "the last token asked whether the row has ended")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    ids, generator = prompts, None if seed is None else torch.Generator().manual_seed(seed)
    for step in range(num_new):
        done = ((ids[:, -1] == stop_id) | (ids[:, -1] == pad_id)) & (step > 0)
        if done.all():
            break
        scores = next_logits(weights, ids)
        token = scores.argmax(-1)
        if generator is not None:
            token = torch.multinomial(scores.softmax(-1), 1, generator=generator)[:, 0]
        ids = torch.cat([ids, torch.where(done, pad_id, token)[:, None]], 1)
    return ids


@wrong("12.3", "three new tokens", "one token too many")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new + 1, stop_id, pad_id, seed)


@wrong("12.3", "0 is a seed, too", "if seed")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed or None)


@wrong("12.3", "if there is a seed", "always the best token")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id)


@wrong("12.3", "each row draws for itself", "one draw for all rows")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    def choose(logits, generator):
        if generator is None:
            return logits.argmax(-1)
        return (logits.softmax(-1).cumsum(-1) < torch.rand(1, generator=generator)).sum(-1)

    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, choose=choose)


@wrong("12.3", "make one generator before the loop", "a generator for each token")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    def choose(logits, generator):
        if generator is None:
            return logits.argmax(-1)
        return torch.multinomial(logits.softmax(-1), 1, generator=torch.Generator().manual_seed(seed))[:, 0]

    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, choose=choose)


@wrong("12.3", "not from all tokens alike", "all tokens alike")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    def choose(logits, generator):
        if generator is None:
            return logits.argmax(-1)
        return torch.randint(logits.shape[1], (len(logits),), generator=generator)

    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, choose=choose)


@wrong("12.3", "the same seed writes the same again", "the seed is not used")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    def choose(logits, generator):
        return logits.argmax(-1) if generator is None else torch.multinomial(logits.softmax(-1), 1)[:, 0]

    return writing(next_logits, weights, prompts, num_new, stop_id, pad_id, seed, choose=choose)


@right("12.3", "Gumbel noise, the largest taken; room made in advance")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    generator = torch.Generator().manual_seed(seed or 0)
    length = prompts.shape[1]
    ids = torch.full((len(prompts), length + num_new), pad_id)
    ids[:, :length] = prompts
    alive = torch.arange(len(prompts))
    for end in range(length, length + num_new):
        if not len(alive):
            return ids[:, :end]
        scores = next_logits(weights, ids[alive, :end])
        if seed is not None:
            scores = scores - torch.empty_like(scores).exponential_(generator=generator).log()
        ids[alive, end] = scores.argmax(-1)
        alive = alive[ids[alive, end] != stop_id]
    return ids


@right("12.3", "one row after the other, lists")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    generator = None if seed is None else np.random.default_rng(seed)
    rows = []
    for prompt in prompts.tolist():
        row, new = prompt, []
        while len(new) < num_new and new[-1:] != [stop_id]:
            scores = next_logits(weights, torch.tensor([row + new]))[0]
            if generator is None:
                new.append(int(scores.argmax()))
            else:
                sums = scores.double().softmax(0).cumsum(0).numpy()
                new.append(min(int(np.searchsorted(sums, generator.random())), len(sums) - 1))
        rows.append((row, new))
    longest = max((len(new) for _, new in rows), default=0)
    return [row + new + [pad_id] * (longest - len(new)) for row, new in rows]


@right("12.3", "all is written first, and the end found afterwards")
def write(weights, prompts, num_new, stop_id, pad_id, seed=None):
    torch_seed = torch.Generator()
    if seed is not None:
        torch_seed.manual_seed(seed)
    ids = prompts.clone()
    for _ in range(num_new):
        scores = next_logits(weights, ids)
        best = scores.argmax(1, keepdim=True)
        new = best if seed is None else torch.multinomial(scores.exp(), 1, generator=torch_seed)
        ids = torch.hstack([ids, new])
    new = ids[:, prompts.shape[1] :]
    ended = ((new == stop_id).cumsum(1) - (new == stop_id).long()) > 0
    new = new.masked_fill(ended, pad_id)
    return torch.hstack([prompts, new[:, : int((~ended).any(0).sum())]])


def attended(query, keys, values, lengths, scale=None, seen=None):
    """Attention to the places that ``seen``, (B, M), says; by default j <= lengths."""
    seen = torch.arange(keys.shape[2]) <= lengths[:, None] if seen is None else seen
    scores = query @ keys.transpose(-2, -1) / (scale or query.shape[-1] ** 0.5)
    return scores.masked_fill(~seen[:, None, None], -torch.inf).softmax(-1) @ values


def put(memory, new, places):
    """The memory with a new one of each text at its place."""
    memory = memory.clone()
    memory[torch.arange(len(places)), :, places] = new[:, :, 0]
    return memory


@wrong("12.4", "another text's: hide the places", "what was left over is seen")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, lengths), put(values, value, lengths)
    everything = torch.ones(len(lengths), keys.shape[2], dtype=torch.bool)
    return attended(query, keys, values, lengths, seen=everything), keys, values


@wrong("12.4", "the new token sees itself, too")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, lengths), put(values, value, lengths)
    return attended(query, keys, values, lengths - 1), keys, values


@wrong("12.4", "one place too many is seen")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, lengths), put(values, value, lengths)
    return attended(query, keys, values, lengths + 1), keys, values


@wrong("12.4", "each text has its own place", "the place of the first text for all")
def attend_step(query, key, value, keys, values, lengths):
    same = lengths[:1].expand(len(lengths))
    keys, values = put(keys, key, same), put(values, value, same)
    return attended(query, keys, values, lengths), keys, values


@wrong("12.4", "each text has its own length", "the length of the first text for all")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, lengths), put(values, value, lengths)
    return attended(query, keys, values, lengths[:1].expand(len(lengths))), keys, values


@wrong("12.4", "the new one comes after it", "the last one overwritten")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, (lengths - 1).clamp(min=0)), put(values, value, (lengths - 1).clamp(min=0))
    return attended(query, keys, values, lengths), keys, values


@wrong("12.4", "not at the end of the room")
def attend_step(query, key, value, keys, values, lengths):
    last = torch.full_like(lengths, keys.shape[2] - 1)
    seen = torch.arange(keys.shape[2]) < lengths[:, None]
    seen[:, -1] = True
    keys, values = put(keys, key, last), put(values, value, last)
    return attended(query, keys, values, lengths, seen=seen), keys, values


@wrong("12.4", "write into a copy, do not append", "appended")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
    seen = torch.arange(keys.shape[2]) < lengths[:, None]
    seen[:, -1] = True
    return attended(query, keys, values, lengths, seen=seen), keys, values


@wrong("12.4", "return the memory after this step", "the old memory returned")
def attend_step(query, key, value, keys, values, lengths):
    output = attended(query, put(keys, key, lengths), put(values, value, lengths), lengths)
    return output, keys, values


@wrong("12.4", "it changes its argument")
def attend_step(query, key, value, keys, values, lengths):
    rows = torch.arange(len(lengths))
    keys[rows, :, lengths], values[rows, :, lengths] = key[:, :, 0], value[:, :, 0]
    return attended(query, keys, values, lengths), keys, values


@wrong("12.4", "divide the scores by √d", "not scaled")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, lengths), put(values, value, lengths)
    return attended(query, keys, values, lengths, scale=1), keys, values


@wrong("12.4", "not by d", "divided by d")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, lengths), put(values, value, lengths)
    return attended(query, keys, values, lengths, scale=query.shape[-1]), keys, values


@wrong("12.4", "weights that are set to 0 after it", "hidden after the softmax")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, key, lengths), put(values, value, lengths)
    weights = (query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1)
    return weights * (torch.arange(keys.shape[2]) <= lengths[:, None])[:, None, None] @ values, keys, values


@wrong("12.4", "put it into the memory first", "the old keys asked")
def attend_step(query, key, value, keys, values, lengths):
    new_keys, values = put(keys, key, lengths), put(values, value, lengths)
    return attended(query, put(keys, torch.zeros_like(key), lengths), values, lengths), new_keys, values


@wrong("12.4", "keys are keys", "keys and values exchanged")
def attend_step(query, key, value, keys, values, lengths):
    keys, values = put(keys, value, lengths), put(values, value, lengths)
    return attended(query, keys, values, lengths), keys, values


@right("12.4", "one text after the other, only what is its own")
def attend_step(query, key, value, keys, values, lengths):
    keys, values, outputs = keys.clone(), values.clone(), []
    for b, length in enumerate(lengths.tolist()):
        keys[b, :, length], values[b, :, length] = key[b, :, 0], value[b, :, 0]
        own = slice(0, length + 1)
        scores = query[b] @ keys[b, :, own].transpose(-2, -1) * query.shape[-1] ** -0.5
        outputs.append(scores.softmax(-1) @ values[b, :, own])
    return torch.stack(outputs), keys, values


@right("12.4", "PyTorch's attention, a mask, torch.where")
def attend_step(query, key, value, keys, values, lengths):
    places = torch.arange(keys.shape[2])[None, None, :, None]
    here = places == lengths[:, None, None, None]
    keys, values = torch.where(here, key, keys), torch.where(here, value, values)
    mask = (places <= lengths[:, None, None, None]).transpose(-2, -1)
    return nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask), keys, values


@right("12.4", "numpy, a list of three")
def attend_step(query, key, value, keys, values, lengths):
    query, key, value, keys, values, lengths = (
        np.array(each, dtype=float if each.is_floating_point() else int)
        for each in (query, key, value, keys, values, lengths)
    )
    for b, length in enumerate(lengths):
        keys[b, :, length], values[b, :, length] = key[b, :, 0], value[b, :, 0]
    scores = np.einsum("bhqd,bhmd->bhqm", query, keys) / np.sqrt(query.shape[-1])
    scores[np.broadcast_to((np.arange(keys.shape[2]) > lengths[:, None])[:, None, None], scores.shape)] = -np.inf
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return [np.einsum("bhqm,bhmd->bhqd", powers / powers.sum(-1, keepdims=True), values), keys, values]


def corrupted(ids, spans, sentinels, at_end=True):
    """Read and written, with the sentinels that are given, and one at the end."""
    sentinels, read, written, place = iter(sentinels), [], [], 0
    for start, end in spans:
        sentinel = next(sentinels)
        read += [*ids[place:start], sentinel]
        written += [sentinel, *ids[start:end]]
        place = end
    return read + ids[place:], written + ([next(sentinels)] if at_end else [])


@wrong("12.5", "not for each token", "a sentinel for each token")
def corrupt_spans(ids, spans, first_sentinel):
    singles = [(i, i + 1) for start, end in sorted(spans) for i in range(start, end)]
    return corrupted(ids, singles, itertools.count(first_sentinel, -1))


@wrong("12.5", "counted down", "counted up")
def corrupt_spans(ids, spans, first_sentinel):
    return corrupted(ids, sorted(spans), itertools.count(first_sentinel))


@wrong("12.5", "a sentinel of its own", "the same sentinel")
def corrupt_spans(ids, spans, first_sentinel):
    return corrupted(ids, sorted(spans), itertools.repeat(first_sentinel))


@wrong("12.5", "one more sentinel says that it is done", "no sentinel at the end")
def corrupt_spans(ids, spans, first_sentinel):
    return corrupted(ids, sorted(spans), itertools.count(first_sentinel, -1), at_end=False)


@wrong("12.5", "the sentinel at the end is a new one")
def corrupt_spans(ids, spans, first_sentinel):
    read, written = corrupted(ids, sorted(spans), itertools.count(first_sentinel, -1), at_end=False)
    return read, [*written, first_sentinel - max(len(spans) - 1, 0)]


@wrong("12.5", "a span ends before place `end`", "the end included")
def corrupt_spans(ids, spans, first_sentinel):
    return corrupted(ids, [(start, end + 1) for start, end in sorted(spans)], itertools.count(first_sentinel, -1))


@wrong("12.5", "tokens after the last span", "what comes after the last span lost")
def corrupt_spans(ids, spans, first_sentinel):
    spans = sorted(spans)
    read, written = corrupted(ids, spans, itertools.count(first_sentinel, -1))
    return (read[: len(read) - len(ids) + spans[-1][1]] if spans else ids), written


@wrong("12.5", "not after it", "sentinels after their spans")
def corrupt_spans(ids, spans, first_sentinel):
    read, _ = corrupted(ids, sorted(spans), itertools.count(first_sentinel, -1))
    written = [[*ids[a:b], first_sentinel - number] for number, (a, b) in enumerate(sorted(spans))]
    return read, sum(written, []) + [first_sentinel - len(spans)]


@wrong("12.5", "spans that touch are two spans", "spans that touch become one")
def corrupt_spans(ids, spans, first_sentinel):
    joined = []
    for start, end in sorted(spans):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return corrupted(ids, joined, itertools.count(first_sentinel, -1))


@wrong("12.5", "in whatever order the spans come", "sentinels in the order of the list")
def corrupt_spans(ids, spans, first_sentinel):
    number = {span: first_sentinel - i for i, span in enumerate(spans)}
    read, _ = corrupted(ids, sorted(spans), [number[span] for span in sorted(spans)], at_end=False)
    written = [[number[a, b], *ids[a:b]] for a, b in map(tuple, spans)]
    return read, sum(written, []) + [first_sentinel - len(spans)]


@wrong("12.5", "it changes its argument", "sorted in place")
def corrupt_spans(ids, spans, first_sentinel):
    spans.sort()
    return corrupted(ids, spans, itertools.count(first_sentinel, -1))


@wrong("12.5", "places are those of the text", "replaced one after the other, from the beginning")
def corrupt_spans(ids, spans, first_sentinel):
    read, written = list(ids), []
    for number, (start, end) in enumerate(sorted(spans)):
        written += [first_sentinel - number, *read[start:end]]
        read[start:end] = [first_sentinel - number]
    return read, [*written, first_sentinel - len(spans)]


@wrong("12.5", "belongs to the decoder's side", "the last sentinel in both")
def corrupt_spans(ids, spans, first_sentinel):
    read, written = corrupted(ids, sorted(spans), itertools.count(first_sentinel, -1))
    return [*read, written[-1]], written


@wrong("12.5", "the same tokens may stand elsewhere", "spans looked up by their tokens")
def corrupt_spans(ids, spans, first_sentinel):
    read, written = list(ids), []
    for number, (start, end) in enumerate(sorted(spans)):
        part, sentinel = ids[start:end], first_sentinel - number
        place = next(i for i in range(len(read)) if read[i : i + len(part)] == part)
        read[place : place + len(part)] = [sentinel]
        written += [sentinel, *part]
    return read, [*written, first_sentinel - len(spans)]


@wrong("12.5", "its tokens are not left there", "the tokens left beside their sentinel")
def corrupt_spans(ids, spans, first_sentinel):
    _, written = corrupted(ids, sorted(spans), itertools.count(first_sentinel, -1))
    starts = {start: first_sentinel - number for number, (start, _) in enumerate(sorted(spans))}
    return [each for i, token in enumerate(ids) for each in ([starts[i], token] if i in starts else [token])], written


@right("12.5", "replaced from the last span to the first")
def corrupt_spans(ids, spans, first_sentinel):
    read, written = list(ids), [first_sentinel - len(spans)]
    for number, (start, end) in reversed(list(enumerate(sorted(spans)))):
        written = [first_sentinel - number, *ids[start:end], *written]
        read[start:end] = [first_sentinel - number]
    return read, written


@right("12.5", "each token is told its span")
def corrupt_spans(ids, spans, first_sentinel):
    owner = [None] * len(ids)
    for start, end in spans:
        owner[start:end] = [start] * (end - start)
    rank = {start: first_sentinel - i for i, start in enumerate(sorted(start for start, _ in spans))}
    read, written = [], []
    for start, group in itertools.groupby(range(len(ids)), key=owner.__getitem__):
        tokens = [ids[i] for i in group]
        if start is None:
            read.extend(tokens)
        else:
            read.append(rank[start])
            written.extend([rank[start], *tokens])
    return [read, written + [first_sentinel - len(rank)]]


@right("12.5", "recursion")
def corrupt_spans(ids, spans, first_sentinel):
    if not spans:
        return list(ids), [first_sentinel]
    start, end = min(spans)
    rest = [(a - end, b - end) for a, b in spans if a >= end]
    read, written = corrupt_spans(ids[end:], rest, first_sentinel - 1)
    return [*ids[:start], first_sentinel, *read], [first_sentinel, *ids[start:end], *written]


UNITS = ("characters", "pieces")


def drawing(orders, bits, names=UNITS):
    """Two lines, the values by ``bits`` of a unit and an order."""
    axes = plt.figure().add_subplot()
    for unit, name in zip(UNITS, names):
        axes.plot(orders, [bits(unit, n) for n in orders], label=name)
    axes.set(xlabel="n", ylabel="bits per character")
    axes.legend()
    return axes


def nats(surprisals, unit, n):
    return sum(map(sum, surprisals(unit, n)))


@wrong("12.6", "end with: return axes", "nothing returned")
def plot_bits(orders):
    plt.plot(orders, orders)


@wrong("12.6", "one for characters, one for pieces", "one line")
def plot_bits(orders):
    axes = plt.figure().add_subplot()
    axes.plot(
        orders, [nats(surprisals, "pieces", n) / math.log(2) / sum(map(len, texts)) for n in orders], label="pieces"
    )
    axes.set(xlabel="n", ylabel="bits per character")
    axes.legend()
    return axes


@wrong("12.6", "axes.set_xlabel", "no labels")
def plot_bits(orders):
    size = sum(map(len, texts))
    axes = drawing(orders, lambda unit, n: nats(surprisals, unit, n) / math.log(2) / size)
    axes.set(xlabel="", ylabel="")
    return axes


@wrong("12.6", "not by the number of tokens", "per token")
def plot_bits(orders):
    return drawing(orders, lambda unit, n: nats(surprisals, unit, n) / math.log(2) / sum(map(len, surprisals(unit, n))))


@wrong("12.6", "a bit is ln 2 nats", "nats")
def plot_bits(orders):
    return drawing(orders, lambda unit, n: nats(surprisals, unit, n) / sum(map(len, texts)))


@wrong("12.6", "do not multiply", "times ln 2")
def plot_bits(orders):
    return drawing(orders, lambda unit, n: nats(surprisals, unit, n) * math.log(2) / sum(map(len, texts)))


@wrong("12.6", "its surprisal counts", "without the ends")
def plot_bits(orders):
    def bits(unit, n):
        return sum(sum(costs[:-1]) for costs in surprisals(unit, n)) / math.log(2) / sum(map(len, texts))

    return drawing(orders, bits)


@wrong("12.6", "are no characters", "the ends counted as characters")
def plot_bits(orders):
    size = sum(len(text) + 1 for text in texts)
    return drawing(orders, lambda unit, n: nats(surprisals, unit, n) / math.log(2) / size)


@wrong("12.6", "a mean of the texts' own ratios")
def plot_bits(orders):
    def bits(unit, n):
        return np.mean([sum(costs) / len(text) for costs, text in zip(surprisals(unit, n), texts)]) / math.log(2)

    return drawing(orders, bits)


@wrong("12.6", "spaces are characters")
def plot_bits(orders):
    size = sum(len(text.replace(" ", "")) for text in texts)
    return drawing(orders, lambda unit, n: nats(surprisals, unit, n) / math.log(2) / size)


@wrong("12.6", "not by words", "per word")
def plot_bits(orders):
    size = sum(len(text.split()) for text in texts)
    return drawing(orders, lambda unit, n: nats(surprisals, unit, n) / math.log(2) / size)


@wrong("12.6", "these are perplexities per token")
def plot_bits(orders):
    return drawing(orders, lambda unit, n: math.exp(nats(surprisals, unit, n) / sum(map(len, surprisals(unit, n)))))


@wrong("12.6", "these are perplexities per character")
def plot_bits(orders):
    return drawing(orders, lambda unit, n: math.exp(nats(surprisals, unit, n) / sum(map(len, texts))))


@wrong("12.6", "not n - 1", "n counted from 0")
def plot_bits(orders):
    size = sum(map(len, texts))
    return drawing(orders, lambda unit, n: nats(surprisals, unit, max(n - 1, 1)) / math.log(2) / size)


@wrong("12.6", "not always the same n")
def plot_bits(orders):
    size = sum(map(len, texts))
    return drawing(orders, lambda unit, n: nats(surprisals, unit, max(orders)) / math.log(2) / size)


@wrong("12.6", "each other's names", "names exchanged")
def plot_bits(orders):
    size = sum(map(len, texts))
    return drawing(orders, lambda unit, n: nats(surprisals, unit, n) / math.log(2) / size, names=UNITS[::-1])


@wrong("12.6", "one line from", "the same model twice")
def plot_bits(orders):
    size = sum(map(len, texts))
    return drawing(orders, lambda unit, n: nats(surprisals, "pieces", n) / math.log(2) / size)


@wrong("12.6", "not only the first", "the first text alone")
def plot_bits(orders):
    return drawing(orders, lambda unit, n: sum(surprisals(unit, n)[0]) / math.log(2) / len(texts[0]))


@right("12.6", "orders falling, pieces first, one string of all texts")
def plot_bits(orders):
    figure, axes = plt.subplots()
    falling = sorted(orders, reverse=True)
    for unit in reversed(UNITS):
        values = [np.concatenate(surprisals(unit, n)).sum() / np.log(2) / len("".join(texts)) for n in falling]
        axes.plot(falling, values, marker="x")
    axes.set_xlabel("n")
    axes.set_ylabel("bits per character")
    axes.legend(["a model of pieces", "a model of characters"])
    return axes


@right("12.6", "pyplot, logarithms to the base of 2, a third line")
def plot_bits(orders):
    plt.figure()
    size = sum(len(text) for text in texts)
    plt.plot(orders, [math.log2(100)] * len(orders), ":", label="a hundred letters alike")
    for unit in UNITS:
        probabilities = [[math.exp(-cost) for costs in surprisals(unit, n) for cost in costs] for n in orders]
        plt.plot(orders, [-sum(map(math.log2, each)) / size for each in probabilities], label=unit.title())
    plt.xlabel("n")
    plt.ylabel("bits")
    plt.legend()
    return plt.gca()

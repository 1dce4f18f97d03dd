"""Homework 4: hidden words, their loss, pairs of sentences, full rows, the learning rate."""
# ruff: noqa: F811

import math
import random
from fractions import Fraction
from itertools import accumulate

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F

from wrong_answers import right, wrong


def holes(input_ids, word_ids, is_special, mask_id, rate, seed, **changes):
    """The right holes, with some parts replaced."""
    generator = torch.Generator().manual_seed(seed)
    chance, dice = torch.rand(2, *input_ids.shape, generator=generator)
    of_words = changes.get("of_words", lambda chance: chance.gather(1, word_ids.clamp(min=0)))(chance)
    chosen = changes.get("chosen", lambda odds: (odds < rate) & (word_ids != -1))(of_words)
    ordinary = changes.get("ordinary", (~is_special).nonzero().flatten())
    others = ordinary[torch.randint(len(ordinary), input_ids.shape, generator=generator)]
    masked, other = changes.get("limits", (0.8, 0.9))
    dice = changes.get("dice", lambda dice: dice)(dice)
    shown = torch.where(dice < masked, mask_id, torch.where(dice < other, others, input_ids))
    return chosen, torch.where(chosen, shown, input_ids)


@wrong("4.1", "a long word is chosen no more often than a short one", "tokens are chosen, and take their words along")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    def choose(odds):
        picked = (odds < rate) & (word_ids != -1)
        reached = torch.zeros(len(input_ids), int(word_ids.max()) + 2, dtype=torch.bool)
        rows = torch.arange(len(input_ids))[:, None].expand_as(word_ids)
        reached[rows[picked], word_ids[picked]] = True
        return reached[rows, word_ids] & (word_ids != -1)

    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, of_words=lambda chance: chance, chosen=choose
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "draw one random number for each word, not for each token", "pieces chosen one by one, as in the lecture")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, of_words=lambda chance: chance)
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "not one for the word or the row", "what becomes of a word drawn once for all its pieces")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, dice=lambda dice: dice.gather(1, word_ids.clamp(min=0))
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "which as an index is the last one", "what belongs to no word chosen, too")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    def look_up(chance):
        chance = torch.cat([chance, chance[:, :1]], dim=1)
        return chance[torch.arange(len(chance))[:, None], word_ids]

    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, of_words=look_up, chosen=lambda odds: odds < rate
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "word 0 is a word, too", "the first word never chosen")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, chosen=lambda odds: (odds < rate) & (word_ids > 0)
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "a long word is chosen no less often than a short one", "the mean of the pieces' random numbers decides")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    def every_piece(chance):
        of_piece, rows = torch.zeros_like(chance), torch.arange(len(chance))[:, None].expand_as(word_ids)
        most = of_piece.index_put((rows, word_ids.clamp(min=0)), chance, accumulate=True)
        size = of_piece.index_put((rows, word_ids.clamp(min=0)), torch.ones_like(chance), accumulate=True)
        return (most / size.clamp(min=1)).gather(1, word_ids.clamp(min=0))

    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, of_words=every_piece)
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "one random number for each word of each of the B rows", "the words of the same number in every row")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, of_words=lambda chance: chance[0][word_ids.clamp(min=0)]
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "draw one random number for each word", "the words of the first row taken for those of all")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    of_first = word_ids[0].clamp(min=0).expand_as(word_ids)
    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, of_words=lambda chance: chance.gather(1, of_first)
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "one random number for each word of each of the B rows", "the same number of words in every row")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    def choose(odds):
        chosen = torch.zeros_like(word_ids, dtype=torch.bool)
        for row, numbers in enumerate(word_ids):
            words = numbers[numbers != -1].unique()
            order = odds[row, : len(words)].argsort()
            chosen[row] = torch.isin(numbers, words[order[: round(rate * len(words))]])
        return chosen

    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, of_words=lambda chance: chance, chosen=choose
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "not what stands there now", "labels taken after masking")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed)
    return read, torch.where(chosen, read, -100)


@wrong("4.1", "-100 everywhere else", "0 where nothing is to be guessed")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed)
    return read, torch.where(chosen, input_ids, 0)


@wrong("4.1", "what was chosen and stayed as it was has a label, too")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    _, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed)
    return read, torch.where(read != input_ids, input_ids, -100)


@wrong("4.1", "half of the rest stays", "10 % of what is left")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, limits=(0.8, 0.82))
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "of the chosen tokens 80 % become mask_id", "[MASK] in every hole")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, limits=(1.0, 1.0))
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "80 % become mask_id", "[MASK] in 90 % of the holes")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, limits=(0.9, 0.95))
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "change only what has a label", "masks and labels drawn apart")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed)
    apart, _ = holes(input_ids, word_ids, is_special, mask_id, rate, seed + 1)
    return read, torch.where(apart, input_ids, -100)


@wrong("4.1", "among those that are not special", "random tokens from the whole vocabulary")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, ordinary=torch.arange(len(is_special)))
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "each place has a random token of its own", "one random token for all")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, ordinary=(~is_special).nonzero().flatten()[-3:-2]
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "the first and the last one, too", "the last token never drawn")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    ordinary = (~is_special).nonzero().flatten()[:-1]
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, ordinary=ordinary)
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "the first and the last one, too", "the special ids taken for the first ones")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(
        input_ids, word_ids, is_special, mask_id, rate, seed, ordinary=torch.arange(5, len(is_special))
    )
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "draw from it alone", "the seed is not used")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    seed = int(torch.randint(10**9, ()))
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed)
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "choose each word with a probability of rate", "15 %, whatever is asked for")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, 0.15, seed)
    return read, torch.where(chosen, input_ids, -100)


@wrong("4.1", "work on a copy", "the input is changed")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    labels = input_ids.clone()
    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed)
    labels[~chosen] = -100
    input_ids[chosen] = read[chosen]
    return input_ids, labels


@wrong("4.1", "a row may have no hole", "at least one word in each row")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    def choose(odds):
        odds = odds.masked_fill(word_ids == -1, 2.0)
        least = odds.min(1, keepdim=True).values
        return (odds < rate) | ((odds == least) & (least < 2.0))

    chosen, read = holes(input_ids, word_ids, is_special, mask_id, rate, seed, chosen=choose)
    return read, torch.where(chosen, input_ids, -100)


@right("4.1", "token by token, with Python's random, as lists")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    generator = random.Random(seed)
    ordinary = [i for i, special in enumerate(is_special.tolist()) if not special]
    read, labels = [], []
    for tokens, words in zip(input_ids.tolist(), word_ids.tolist()):
        coins = {word: generator.random() < rate for word in sorted(set(words) - {-1})}
        read.append([])
        labels.append([])
        for token, word in zip(tokens, words):
            chosen = coins.get(word, False)
            labels[-1].append(token if chosen else -100)
            kind = generator.choices("mro", (8, 1, 1))[0] if chosen else "o"
            read[-1].append({"m": mask_id, "r": generator.choice(ordinary), "o": token}[kind])
    return read, labels


@right("4.1", "numpy, over runs of one word in the rows laid end to end")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    generator = np.random.default_rng(seed)
    tokens, words = np.array(input_ids).ravel(), np.asarray(word_ids).ravel()
    begins = np.diff(words, prepend=-2) != 0  # a row ends in a special token, so two words never meet
    begins[:: input_ids.shape[1]] = True
    runs = np.cumsum(begins) - 1
    chosen = (generator.random(runs[-1] + 1) < rate)[runs] & (words >= 0)
    read, labels = tokens.copy(), np.where(chosen, tokens, -100)
    for place in np.flatnonzero(chosen):
        dice = generator.integers(10)
        if dice < 8:
            read[place] = mask_id
        elif dice == 8:
            read[place] = generator.choice(np.flatnonzero(~np.asarray(is_special)))
    return read.reshape(input_ids.shape), labels.reshape(input_ids.shape)


@right("4.1", "bernoulli for each pair of row and word, multinomial for the random tokens")
def mask_words(input_ids, word_ids, is_special, mask_id, rate=0.15, seed=0):
    generator, read, labels = torch.Generator().manual_seed(seed + 5), input_ids.clone(), input_ids.clone()
    pairs = word_ids + 1 + (input_ids.shape[1] + 1) * torch.arange(len(input_ids))[:, None]
    each, of_token = pairs.unique(return_inverse=True)
    chosen = torch.bernoulli(torch.full(each.shape, rate), generator=generator).bool()[of_token] & word_ids.ne(-1)
    labels[~chosen] = -100
    masked = torch.bernoulli(torch.full(labels.shape, 0.8), generator=generator).bool() & chosen
    read[masked] = mask_id
    random_ones = torch.bernoulli(torch.full(labels.shape, 0.5), generator=generator).bool() & chosen & ~masked
    words = torch.multinomial((~is_special).float(), labels.numel(), True, generator=generator).view(labels.shape)
    read[random_ones] = words[random_ones]
    return read, labels


def at_holes(logits, labels):
    """Losses at the holes, 0 elsewhere."""
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100, reduction="none")


def hidden_words(labels, word_ids):
    """How many words have a label."""
    return max(1, len({(b, int(word_ids[b, i])) for b, i in (labels != -100).nonzero().tolist()}))


def word_losses(logits, labels, word_ids, reduce):
    """What ``reduce`` makes of the losses of each word's pieces."""
    losses, found = at_holes(logits, labels), {}
    for b, i in (labels != -100).nonzero().tolist():
        found.setdefault((b, int(word_ids[b, i])), []).append(losses[b, i])
    return [reduce(torch.stack(pieces)) for pieces in found.values()]


@wrong("4.2", "not of their pieces", "the lecture's mean, over tokens")
def whole_word_loss(logits, labels, word_ids):
    return at_holes(logits, labels).sum() / (labels != -100).sum().clamp(min=1)


@wrong("4.2", "count the words of each row", "words with the same number counted once in a batch")
def whole_word_loss(logits, labels, word_ids):
    return at_holes(logits, labels).sum() / max(1, len(word_ids[labels != -100].unique()))


@wrong("4.2", "their mean is not -log of a product", "a mean over each word's pieces")
def whole_word_loss(logits, labels, word_ids):
    losses = word_losses(logits, labels, word_ids, torch.mean)
    return torch.stack(losses).mean() if losses else logits.sum() * 0


@wrong("4.2", "hidden words side by side are several words", "gaps counted in place of words")
def whole_word_loss(logits, labels, word_ids):
    holes = F.pad((labels != -100).int(), (1, 0))
    gaps = (holes.diff(dim=1) == 1).sum()
    return at_holes(logits, labels).sum() / gaps.clamp(min=1)


@wrong("4.2", "not of all words", "words that nobody asks for counted, too")
def whole_word_loss(logits, labels, word_ids):
    count = sum(len(set(row) - {-1}) for row in word_ids.tolist())
    return at_holes(logits, labels).sum() / count


@wrong("4.2", "not every word up to the last hidden one is hidden", "the largest number of a hidden word, plus one")
def whole_word_loss(logits, labels, word_ids):
    last = word_ids.where(labels != -100, -1).amax(dim=1)
    return at_holes(logits, labels).sum() / (last + 1).sum().clamp(min=1)


@wrong("4.2", "the mean over words, not their sum")
def whole_word_loss(logits, labels, word_ids):
    return at_holes(logits, labels).sum()


@wrong("4.2", "all pieces of a word count, not the first one alone")
def whole_word_loss(logits, labels, word_ids):
    losses = word_losses(logits, labels, word_ids, lambda pieces: pieces[0])
    return torch.stack(losses).mean() if losses else logits.sum() * 0


@wrong("4.2", "the probabilities of a word's pieces are multiplied", "the mean probability of a word's pieces")
def whole_word_loss(logits, labels, word_ids):
    losses = word_losses(logits, labels, word_ids, lambda pieces: -(-pieces).exp().mean().log())
    return torch.stack(losses).mean() if losses else logits.sum() * 0


@wrong("4.2", "do not take a mean for each row first")
def whole_word_loss(logits, labels, word_ids):
    rows = [
        at_holes(logits[[b]], labels[[b]]).sum() / hidden_words(labels[[b]], word_ids[[b]])
        for b in range(len(labels))
        if (labels[b] != -100).any()
    ]
    return torch.stack(rows).mean() if rows else torch.zeros(())


@wrong("4.2", "a label of 0 is a token, too")
def whole_word_loss(logits, labels, word_ids):
    labels = labels.where(labels > 0, -100)
    return at_holes(logits, labels).sum() / hidden_words(labels, word_ids)


@wrong("4.2", "word 0 is a word, too")
def whole_word_loss(logits, labels, word_ids):
    labels = labels.where(word_ids > 0, -100)
    return at_holes(logits, labels).sum() / hidden_words(labels, word_ids)


@wrong("4.2", "the mean of nothing is NaN", "divided by no words")
def whole_word_loss(logits, labels, word_ids):
    found = labels != -100
    rows = torch.arange(len(labels))[:, None].expand_as(labels)
    return at_holes(logits, labels).sum() / torch.tensor(len(torch.stack([rows, word_ids])[:, found].T.unique(dim=0)))


@wrong("4.2", "the score minus logsumexp of its row is safe", "logarithm of a softmax")
def whole_word_loss(logits, labels, word_ids):
    found = labels != -100
    rows = torch.softmax(logits[found], -1)
    return -rows[torch.arange(len(rows)), labels[found]].log().sum() / hidden_words(labels, word_ids)


@wrong("4.2", "the score minus logsumexp of its row is safe", "a product of probabilities, then its logarithm")
def whole_word_loss(logits, labels, word_ids):
    found = word_losses(logits, labels, word_ids, lambda pieces: -(-pieces).exp().prod().log())
    return sum(found) / len(found) if found else logits.sum() * 0


@wrong("4.2", "nats: the natural logarithm", "bits")
def whole_word_loss(logits, labels, word_ids):
    return at_holes(logits, labels).sum() / hidden_words(labels, word_ids) / math.log(2)


@wrong("4.2", "minus the logarithm", "no minus")
def whole_word_loss(logits, labels, word_ids):
    return -at_holes(logits, labels).sum() / hidden_words(labels, word_ids)


@wrong("4.2", "return one number", "a loss for each word")
def whole_word_loss(logits, labels, word_ids):
    return torch.stack(word_losses(logits, labels, word_ids, torch.sum))


@wrong("4.2", "divided by the number of hidden words", "every place counts, without a label as token 0")
def whole_word_loss(logits, labels, word_ids):
    return at_holes(logits, labels.clamp(min=0)).sum() / hidden_words(labels, word_ids)


@wrong("4.2", "a gradient flows back to logits", "a plain number, by .item()")
def whole_word_loss(logits, labels, word_ids):
    return at_holes(logits, labels).sum().item() / hidden_words(labels, word_ids)


@wrong("4.2", "a gradient flows back to logits", "by numpy")
def whole_word_loss(logits, labels, word_ids):
    words = {}
    scores = logits.detach().numpy().astype(float)
    for b, i in (labels != -100).nonzero().tolist():
        loss = np.logaddexp.reduce(scores[b, i]) - scores[b, i, labels[b, i]]
        words[b, int(word_ids[b, i])] = words.get((b, int(word_ids[b, i])), 0.0) + loss
    return np.mean([*words.values()]) if words else 0.0


@wrong("4.2", "a gradient flows back to logits", "a new tensor of the number")
def whole_word_loss(logits, labels, word_ids):
    return torch.tensor(at_holes(logits, labels).sum().item() / hidden_words(labels, word_ids))


@wrong("4.2", "of its own row", "the largest score of all taken off")
def whole_word_loss(logits, labels, word_ids):
    found = labels != -100
    if not found.any():
        return torch.zeros(())
    scores = logits[found] - logits[found].max()
    losses = scores.exp().sum(-1).log() - scores[torch.arange(len(scores)), labels[found]]
    return losses.sum() / hidden_words(labels, word_ids)


@wrong("4.2", "the score minus logsumexp of its row is safe", "a small number added to the softmax")
def whole_word_loss(logits, labels, word_ids):
    found = labels != -100
    rows = torch.softmax(logits[found], -1) + 1e-9
    return -rows.gather(1, labels[found][:, None]).log().sum() / hidden_words(labels, word_ids)


@right("4.2", "PyTorch's sum, and first pieces counted")
def whole_word_loss(logits, labels, word_ids):
    before = F.pad(word_ids, (1, 0), value=-1)[:, :-1]
    is_first = (word_ids != before) & (labels != -100)
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="sum")
    return losses / is_first.sum().clamp(min=1)


@right("4.2", "place by place, in double precision")
def whole_word_loss(logits, labels, word_ids):
    total, words = torch.zeros((), dtype=torch.float64), set()
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            if labels[b, i] != -100:
                scores = logits[b, i].double()
                top = scores.max()
                total = total + (scores - top).exp().sum().log() + top - scores[labels[b, i]]
                words.add((b, word_ids[b, i].item()))
    return total / len(words) if words else total


@right("4.2", "a sum for each word by index_add, and their mean")
def whole_word_loss(logits, labels, word_ids):
    found, (B, L) = labels.ne(-100), labels.shape
    truth = F.one_hot(labels.where(found, 0), logits.size(-1)) * found.unsqueeze(-1)
    losses = -torch.einsum("blv,blv->bl", F.log_softmax(logits, 2), truth.to(logits))
    number = (torch.arange(B)[:, None] * (L + 1) + word_ids + 1).flatten()
    words = logits.new_zeros(B * (L + 1)).index_add(0, number, losses.flatten())
    hidden = torch.zeros(B * (L + 1)).index_add(0, number, found.flatten().float()) > 0
    return words[hidden].sum() / max(1, int(hidden.sum()))


def examples(documents, seed, negative, label=(0, 1), odds=0.5):
    """Neighbours, or what ``negative`` draws."""
    generator, found = random.Random(seed), []
    for number, document in enumerate(documents):
        for i in range(len(document) - 1):
            if generator.random() < odds:
                found.append((document[i], document[i + 1], label[0]))
            else:
                found.append((document[i], negative(generator, number, i), label[1]))
    return found


def other_document(documents, generator, number):
    return generator.choice([d for i, d in enumerate(documents) if i != number])


@wrong("4.3", "leave A's own document out", "any document, A's own among them")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        while True:
            sentence = generator.choice(generator.choice(documents))
            if sentence != documents[number][i + 1]:
                return sentence

    return examples(documents, seed, negative)


@wrong("4.3", "must not be the true one by chance", "any sentence at all")
def next_sentences(documents, seed=0):
    return examples(documents, seed, lambda generator, number, i: generator.choice(generator.choice(documents)))


@wrong("4.3", "label 0 means that B follows A", "labels exchanged")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice(other_document(documents, generator, number))

    return examples(documents, seed, negative, label=(1, 0))


@wrong("4.3", "draw a sentence, too", "always the first sentence")
def next_sentences(documents, seed=0):
    return examples(documents, seed, lambda generator, number, i: other_document(documents, generator, number)[0])


@wrong("4.3", "any other document, not the next one", "always the next document")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice(documents[(number + 1) % len(documents)])

    return examples(documents, seed, negative)


@wrong("4.3", "with probability one half", "one in four does not follow")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice(other_document(documents, generator, number))

    return examples(documents, seed, negative, odds=0.75)


@wrong("4.3", "is A even if it was B before", "each sentence used once")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice(other_document(documents, generator, number))

    found = examples(documents, seed, negative)
    return found[::2]


@wrong("4.3", "draw from it alone", "the seed is not used")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice(other_document(documents, generator, number))

    return examples(documents, random.random(), negative)


@wrong("4.3", "draw from it alone", "always the same seed")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice(other_document(documents, generator, number))

    return examples(documents, 1, negative)


@wrong("4.3", "for the label", "labels in words")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice(other_document(documents, generator, number))

    return examples(documents, seed, negative, label=("IsNext", "NotNext"))


@wrong("4.3", "not only a neighbour", "B from the document before or after")
def next_sentences(documents, seed=0):
    generator, examples = random.Random(seed), []
    for number, document in enumerate(documents):
        for first, second in zip(document, document[1:]):
            other = documents[(number + generator.choice([-1, 1])) % len(documents)]
            follows = generator.random() < 0.5
            examples.append((first, second, 0) if follows else (first, generator.choice(other), 1))
    return examples


@right("4.3", "numpy's generator, and labels that are booleans")
def next_sentences(documents, seed=0):
    generator, found = np.random.default_rng(seed), []
    for number, document in enumerate(documents):
        for first, second in zip(document[:-1], document[1:]):
            is_random = bool(generator.integers(2))
            if is_random:
                other = int(generator.integers(len(documents) - 1))
                pool = documents[other + (other >= number)]
                second = pool[int(generator.integers(len(pool)))]
            found.append([first, second, is_random])
    return found


@right("4.3", "any sentence of the others alike, so that long documents come more often")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        return generator.choice([s for n, d in enumerate(documents) if n != number for s in d])

    return examples(documents, seed, negative)


def from_others(documents, generator, number):
    """Any sentence of any other document."""
    return generator.choice(other_document(documents, generator, number))


@wrong("4.3", "a coin for each example", "labels in turn")
def next_sentences(documents, seed=0):
    generator, found = random.Random(seed), []
    for number, document in enumerate(documents):
        for first, second in zip(document, document[1:]):
            label = (len(found) + seed) % 2
            found.append((first, from_others(documents, generator, number) if label else second, label))
    return found


@wrong("4.3", "a coin for each example", "one coin a document")
def next_sentences(documents, seed=0):
    generator, found = random.Random(seed), []
    for number, document in enumerate(documents):
        label = generator.randint(0, 1)
        for first, second in zip(document, document[1:]):
            found.append((first, from_others(documents, generator, number) if label else second, label))
    return found


@wrong("4.3", "a coin for each example", "just half of all labels are 1, in random order")
def next_sentences(documents, seed=0):
    generator = random.Random(seed)
    pairs = [(n, a, b) for n, document in enumerate(documents) for a, b in zip(document, document[1:])]
    labels = [i % 2 for i in range(len(pairs))]
    generator.shuffle(labels)
    return [(a, from_others(documents, generator, n) if label else b, label) for (n, a, b), label in zip(pairs, labels)]


@wrong("4.3", "one generator, made before the loop", "a generator for each document")
def next_sentences(documents, seed=0):
    found = []
    for number, document in enumerate(documents):
        generator = random.Random(seed)
        for first, second in zip(document, document[1:]):
            label = int(generator.random() >= 0.5)
            found.append((first, from_others(documents, generator, number) if label else second, label))
    return found


@wrong("4.3", "any sentence of it, the last one, too", "never a last sentence")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        other = other_document(documents, generator, number)
        return other[generator.randrange(max(1, len(other) - 1))]

    return examples(documents, seed, negative)


@wrong("4.3", "any sentence of it", "never a first sentence")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        other = other_document(documents, generator, number)
        return other[generator.randrange(1, len(other)) if len(other) > 1 else 0]

    return examples(documents, seed, negative)


@wrong("4.3", "draw a sentence, too", "the sentence at A's own place")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        other = other_document(documents, generator, number)
        return other[i % len(other)]

    return examples(documents, seed, negative)


@wrong("4.3", "those of one sentence", "B from documents of several sentences only")
def next_sentences(documents, seed=0):
    def negative(generator, number, i):
        long = [d for n, d in enumerate(documents) if n != number and len(d) > 1]
        return generator.choice(generator.choice(long or [d for n, d in enumerate(documents) if n != number]))

    return examples(documents, seed, negative)


@right("4.3", "torch's generator, and a walk over places in one long list")
def next_sentences(documents, seed=0):
    generator = torch.Generator().manual_seed(seed)
    flat = [(d, sentence) for d, document in enumerate(documents) for sentence in document]
    coins = torch.randint(2, (len(flat),), generator=generator).tolist()
    found = []
    for i, (d, sentence) in enumerate(flat[:-1]):
        if flat[i + 1][0] != d:
            continue
        other = i + 1
        while coins[i] and flat[other][0] == d:
            other = int(torch.randint(len(flat), (), generator=generator))
        found.append((sentence, flat[other][1], coins[i]))
    return found


@right("4.3", "labels that are tensors")
def next_sentences(documents, seed=0):
    generator = torch.Generator().manual_seed(seed)
    found = []
    for number, document in enumerate(documents):
        for first, second in zip(document, document[1:]):
            label = torch.randint(2, (), generator=generator)
            if label:
                others = documents[:number] + documents[number + 1 :]
                other = others[int(torch.randint(len(others), (), generator=generator))]
                second = other[int(torch.randint(len(other), (), generator=generator))]
            found.append((first, second, label))
    return found


def packed(documents, length, cls_id, sep_id, room=1, own_rows=False, border=True, every=False, equal=True):
    """Rows, with one rule or another changed."""
    rows, row = [], [cls_id]
    for document in documents:
        if own_rows and len(row) > 1:
            rows.append([*row, sep_id])
            row = [cls_id]
        for place, sentence in enumerate(document):
            before = [sep_id] if border and len(row) > 1 and (every or place == 0) else []
            size = len(row) + len(before) + len(sentence) + room
            if size > length or (not equal and size == length):
                rows.append([*row, sep_id])
                row, before = [cls_id], []
            row = [*row, *before, *sentence]
    return rows, row


@wrong("4.4", "a row need not end with its document", "each document in rows of its own")
def pack(documents, length, cls_id, sep_id):
    rows, row = packed(documents, length, cls_id, sep_id, own_rows=True)
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "another [SEP] stands between", "no [SEP] between documents")
def pack(documents, length, cls_id, sep_id):
    rows, row = packed(documents, length, cls_id, sep_id, border=False)
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "not between all sentences", "[SEP] after every sentence")
def pack(documents, length, cls_id, sep_id):
    rows, row = packed(documents, length, cls_id, sep_id, every=True)
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "the last row is closed, too", "the last row lost")
def pack(documents, length, cls_id, sep_id):
    return packed(documents, length, cls_id, sep_id)[0]


@wrong("4.4", "count [CLS], the last [SEP]", "no room for the last [SEP]")
def pack(documents, length, cls_id, sep_id):
    rows, row = packed(documents, length, cls_id, sep_id, room=0)
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "as many whole sentences as fit", "rows one token shorter than they may be")
def pack(documents, length, cls_id, sep_id):
    rows, row = packed(documents, length, cls_id, sep_id, equal=False)
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "rows are not cut from one long text")
def pack(documents, length, cls_id, sep_id):
    text = []
    for document in documents:
        text += [sep_id] * bool(text) + [i for sentence in document for i in sentence]
    return [[cls_id, *text[i : i + length - 2], sep_id] for i in range(0, len(text), length - 2)]


@wrong("4.4", "no documents, no rows", "a row of special tokens alone")
def pack(documents, length, cls_id, sep_id):
    rows, row = packed(documents, length, cls_id, sep_id)
    return [*rows, [*row, sep_id]]


@wrong("4.4", "a row that begins with a new document has no [SEP]", "[SEP] at the beginning of a row")
def pack(documents, length, cls_id, sep_id):
    rows, row = [], [cls_id]
    for number, document in enumerate(documents):
        for place, sentence in enumerate(document):
            before = [sep_id] if number and place == 0 else []
            if len(row) + len(before) + len(sentence) + 1 > length:
                rows.append([*row, sep_id])
                row = [cls_id]
                before = before if length == 5 else []
            row = [*row, *before, *sentence]
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "no sentence is lost", "what does not fit is left out")
def pack(documents, length, cls_id, sep_id):
    rows, row = [], [cls_id]
    for document in documents:
        for place, sentence in enumerate(document):
            before = [sep_id] if len(row) > 1 and place == 0 else []
            if len(row) + len(before) + len(sentence) + 1 > length:
                rows.append([*row, sep_id])
                row = [cls_id]
            else:
                row = [*row, *before, *sentence]
    return rows + [[*row, sep_id]] * (len(row) > 1)


@right("4.4", "sizes first, then rows, as tuples")
def pack(documents, length, cls_id, sep_id):
    sentences = [(number, sentence) for number, document in enumerate(documents) for sentence in document]
    rows = []
    for number, sentence in sentences:
        if rows:
            border = (sep_id,) if number != rows[-1][0] else ()
            longer = (*rows[-1][1], *border, *sentence)
            if len(longer) < length:
                rows[-1] = (number, longer)
                continue
        rows.append((number, (cls_id, *sentence)))
    return [(*row, sep_id) for _, row in rows]


@right("4.4", "the last [SEP] always there, and taken off to go on")
def pack(documents, length, cls_id, sep_id):
    rows = []
    for document in documents:
        for i, sentence in enumerate(document):
            open_row = rows[-1] if rows else [cls_id] * length
            row = open_row + sentence + [sep_id] if i == 0 else open_row[:-1] + sentence + [sep_id]
            if rows and len(row) <= length:
                rows[-1] = row
            else:
                rows.append([cls_id, *sentence, sep_id])
    return rows


@wrong("4.4", "an empty row is not closed", "a border counted for the first sentence of a row, too")
def pack(documents, length, cls_id, sep_id):
    rows, row = [], [cls_id]
    for document in documents:
        for place, sentence in enumerate(document):
            if len(row) + (place == 0) + len(sentence) + 1 > length:
                rows.append([*row, sep_id])
                row = [cls_id]
            row = [*row, *[sep_id] * (place == 0 and len(row) > 1), *sentence]
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "leaves no trace", "a border for an empty document")
def pack(documents, length, cls_id, sep_id):
    rows, row = [], [cls_id]
    for number, document in enumerate(documents):
        if number and len(row) > 1:
            row = [*row, sep_id]
        for sentence in document:
            if len(row) + len(sentence) + 1 > length:
                rows.append(row if row[-1] == sep_id else [*row, sep_id])
                row = [cls_id]
            row = [*row, *sentence]
    return rows + [row if row[-1] == sep_id else [*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "count [CLS], the last [SEP], and the one between", "no room for the [SEP] between documents")
def pack(documents, length, cls_id, sep_id):
    rows, row = [], [cls_id]
    for document in documents:
        for place, sentence in enumerate(document):
            if len(row) + len(sentence) + 1 > length:
                rows.append([*row, sep_id])
                row = [cls_id]
            row = [*row, *[sep_id] * (place == 0 and len(row) > 1), *sentence]
    return rows + [[*row, sep_id]] * (len(row) > 1)


@wrong("4.4", "a later sentence does not fill", "later sentences fill the room of earlier rows")
def pack(documents, length, cls_id, sep_id):
    rows = []
    for number, document in enumerate(documents):
        for sentence in document:
            for row in rows:
                border = [sep_id] if row[0] != number else []
                if len(row) + len(border) + len(sentence) + 1 <= length:
                    row += [*border, *sentence]
                    row[0] = number
                    break
            else:
                rows.append([number, *sentence])
    return [[cls_id, *row[1:], sep_id] for row in rows]


@right("4.4", "by recursion, on what is left")
def pack(documents, length, cls_id, sep_id):
    left = [(number, sentence) for number, document in enumerate(documents) for sentence in document]

    def fill(left):
        if not left:
            return []
        row = [cls_id] + left[0][1]
        for i in range(1, len(left)):
            longer = row + [sep_id] * (left[i][0] > left[i - 1][0]) + left[i][1]
            if len(longer) >= length:
                return [row + [sep_id], *fill(left[i:])]
            row = longer
        return [row + [sep_id]]

    return fill(left)


@wrong("4.5", "without a warm-up it falls from the first step", "a warm-up of at least one step")
def learning_rate(step, peak, warmup, total):
    warmup = max(warmup, 1)
    return peak * (step / warmup if step <= warmup else max(0, total - step) / max(1, total - warmup))


@wrong("4.5", "raised ZeroDivisionError", "step / 0")
def learning_rate(step, peak, warmup, total):
    return peak * min(step / warmup, max(0.0, (total - step) / max(1, total - warmup)))


@wrong("4.5", "the way down begins at step warmup", "falls from step 0")
def learning_rate(step, peak, warmup, total):
    return peak * step / warmup if step <= warmup and warmup else peak * max(0.0, 1 - step / total)


@wrong("4.5", "after the last step it is 0, not negative", "negative")
def learning_rate(step, peak, warmup, total):
    return peak * step / warmup if step < warmup else peak * (total - step) / max(1, total - warmup)


@wrong("4.5", "steps are counted from 1", "steps counted from 0")
def learning_rate(step, peak, warmup, total):
    return peak * (step - 1) / warmup if step <= warmup else peak * max(0, total - step) / (total - warmup)


@wrong("4.5", "the last step of the warm-up has the peak", "one step late")
def learning_rate(step, peak, warmup, total):
    return peak * step / warmup if step < warmup else peak * max(0, total - step - 1) / max(1, total - warmup)


@wrong("4.5", "after the warm-up it falls", "constant after the warm-up")
def learning_rate(step, peak, warmup, total):
    return peak * min(1.0, step / max(1, warmup))


@wrong("4.5", "in a straight line", "a cosine")
def learning_rate(step, peak, warmup, total):
    if step <= warmup and warmup:
        return peak * step / warmup
    done = min(1.0, (step - warmup) / max(1, total - warmup))
    return peak * ((1 + math.cos(math.pi * done)) / 2) ** 2


@wrong("4.5", "do not divide by total - warmup", "no steps after the warm-up")
def learning_rate(step, peak, warmup, total):
    if step <= warmup:
        return peak * step / warmup
    return peak * max(0.0, (total - step) / (total - warmup)) if total != warmup else peak


@right("4.5", "the lower of two lines")
def learning_rate(step, peak, warmup, total):
    up = step / warmup if warmup else 1.0
    down = (total - step) / (total - warmup) if total > warmup else float(step <= total)
    return peak * max(0.0, min(up, down, 1.0))


@right("4.5", "np.interp")
def learning_rate(step, peak, warmup, total):
    places = [0, warmup, total] if 0 < warmup < total else [0, total] if warmup == 0 else [0, warmup]
    heights = [0, peak, 0] if 0 < warmup < total else [peak, 0] if warmup == 0 else [0, peak]
    return np.interp(step, places, heights, right=0.0)


@wrong("4.5", "has the peak, also if it is the last of all", "0 at step total, even where the warm-up ends there")
def learning_rate(step, peak, warmup, total):
    if step >= total:
        return 0.0
    return peak * step / warmup if step <= warmup else peak * (total - step) / (total - warmup)


@wrong("4.5", "step total has 0, not the one after it", "falls to 0 one step after the last")
def learning_rate(step, peak, warmup, total):
    if step <= warmup and warmup:
        return peak * step / warmup
    return peak * max(0, total + 1 - step) / (total + 1 - warmup)


@wrong("4.5", "step / warmup", "a warm-up that rises with the square")
def learning_rate(step, peak, warmup, total):
    if step <= warmup and warmup:
        return peak * (step / warmup) ** 2
    return peak * max(0, total - step) / max(1, total - warmup)


@wrong("4.5", "not in whole steps", "whole numbers divided")
def learning_rate(step, peak, warmup, total):
    if step <= warmup and warmup:
        return peak * (step // warmup)
    return peak * (max(0, total - step) // max(1, total - warmup))


@right("4.5", "fractions, from a list of all rates")
def learning_rate(step, peak, warmup, total):
    up = [Fraction(i, warmup) for i in range(1, warmup + 1)]
    down = [Fraction(total - i, total - warmup) for i in range(warmup + 1, total + 1)]
    rates = up + down
    return float(rates[step - 1] * Fraction(peak)) if step <= len(rates) else 0


@right("4.5", "a tensor, clamped")
def learning_rate(step, peak, warmup, total):
    step = torch.tensor(step, dtype=torch.float64)
    if step <= warmup:
        return peak * step / warmup
    return peak * ((total - step) / max(total - warmup, 1e-9)).clamp(0, 1)


def figure(rates, good, every=None):
    """Everything that is asked for, from functions of the holes."""
    axes, lines = plt.figure().add_subplot(), [[], []]
    rows = torch.arange(10, 110).repeat(200, 1)
    special = torch.zeros(200, dtype=torch.bool)
    special[:10] = True
    for rate in rates:
        found, read = holes(rows, torch.arange(100).repeat(200, 1), special, 3, rate, 9)
        lines[0].append(100 * (every or (lambda read, found: found.float().mean()))(read, found).item())
        lines[1].append(100 * good(read, found).item())
    for line, name in zip(lines, ("all", "good")):
        axes.plot(rates, line, label=name)
    axes.set(xlabel="rate", ylabel="holes per 100 tokens")
    axes.legend()
    return axes


def between(found):
    return (found[:, 1:-1] & ~found[:, :-2] & ~found[:, 2:]).float().mean()


@wrong("4.6", "end with: return axes", "nothing returned")
def plot_holes(rates):
    plt.plot(rates, rates)


@wrong("4.6", "one for all holes, and one for the good ones", "one line")
def plot_holes(rates):
    axes = plt.figure().add_subplot()
    axes.plot(rates, rates)
    return axes


@wrong("4.6", "both neighbours must be visible, not one of them")
def plot_holes(rates):
    return figure(rates, lambda read, found: (found[:, 1:-1] & ~(found[:, :-2] & found[:, 2:])).float().mean())


@wrong("4.6", "even if it shows a word and not [MASK]", "what is not [MASK] counts as visible")
def plot_holes(rates):
    def good(read, found):
        masks = read == 3
        return (found[:, 1:-1] & ~masks[:, :-2] & ~masks[:, 2:]).float().mean()

    return figure(rates, good)


@wrong("4.6", "per 100 tokens, not per 100 holes", "the share of holes that are good")
def plot_holes(rates):
    return figure(rates, lambda read, found: between(found) / found.float().mean(), None)


@wrong("4.6", "look at the neighbours on both sides", "the left neighbour only")
def plot_holes(rates):
    return figure(rates, lambda read, found: (found[:, 1:] & ~found[:, :-1]).float().mean())


@wrong("4.6", "count the tokens with a label", "only [MASK] counts as a hole")
def plot_holes(rates):
    return figure(rates, lambda read, found: between(read == 3), lambda read, found: (read == 3).float().mean())


@wrong("4.6", "divide by the number of all, times 100", "shares from 0 to 1")
def plot_holes(rates):
    return figure(rates, lambda read, found: between(found) / 100, lambda read, found: found.float().mean() / 100)


@right("4.6", "rows end to end, in numpy")
def plot_holes(rates):
    def good(read, found):
        holes = np.pad(np.asarray(found, dtype=int), ((0, 0), (1, 1)))
        return np.mean((holes[:, 1:-1] == 1) & (holes[:, :-2] + holes[:, 2:] == 0))

    return figure(rates, good)


@right("4.6", "counted token by token, good holes first")
def plot_holes(rates):
    special = torch.zeros(50, dtype=torch.bool)
    special[0] = True
    plt.figure()
    lines = {"good": [], "all": []}
    for rate in rates:
        words = torch.arange(100).expand(200, 100)
        rows = mask_words(torch.randint(1, 50, (200, 100)), words, special, 0, rate)[1].tolist()
        holes = [[label != -100 for label in row] for row in rows]
        alone = sum(a < b > c for row in holes for a, b, c in zip(row, row[1:], row[2:]))
        lines["good"].append(alone / 200)
        lines["all"].append([*accumulate(sum(row) for row in holes)][-1] / 200)
    for name, line in lines.items():
        plt.plot(rates, line, label=name)
    plt.xlabel("rate")
    plt.ylabel("per 100 tokens")
    plt.legend()
    return plt.gca()


@wrong("4.6", "the names are exchanged", "the names of the lines exchanged")
def plot_holes(rates):
    axes = figure(rates, lambda read, found: between(found))
    axes.legend(axes.get_lines(), ["good", "all"])
    for line, name in zip(axes.get_lines(), ("good", "all")):
        line.set_label(name)
    return axes


@wrong("4.6", 'label="all"', "lines without a name that says which is which")
def plot_holes(rates):
    axes = figure(rates, lambda read, found: between(found))
    for line, name in zip(axes.get_lines(), ("first", "second")):
        line.set_label(name)
    axes.legend()
    return axes


@wrong("4.6", "look at the neighbours on both sides", "the right neighbour only")
def plot_holes(rates):
    return figure(rates, lambda read, found: (found[:, :-1] & ~found[:, 1:]).float().mean())


@wrong("4.6", "divide by the number of all, times 100", "holes per row of 200")
def plot_holes(rates):
    return figure(rates, lambda read, found: 200 * between(found), lambda read, found: 200 * found.float().mean())


@right("4.6", "neighbours by torch.roll, and names in the legend")
def plot_holes(rates):
    special = torch.zeros(1000, dtype=torch.bool)
    special[:5] = True
    rows = torch.arange(5, 20005).remainder(995).add(5).reshape(200, 100)
    shares = []
    for rate in rates:
        found = torch.as_tensor(mask_words(rows, rows.argsort().argsort(), special, 4, rate, 3)[1]).ne(-100)
        good = found & ~found.roll(1, dims=1) & ~found.roll(-1, dims=1)
        shares.append([found.double().mean() * 100, good.double().mean() * 100])
    axes = plt.figure().gca()
    axes.plot(rates, np.array(shares))
    axes.set(xlabel="rate", ylabel="per 100 tokens")
    axes.legend(["All holes", "Good holes"])
    return axes

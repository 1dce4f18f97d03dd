"""Homework 5: word senses."""
# ruff: noqa: F811, F821

import itertools
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import torch

from wrong_answers import right, wrong


@wrong("5.1", "a row for each word: none for [CLS] and [SEP]", "a row for each token")
def pool_words(vectors, word_ids, pooling="mean"):
    return vectors


@wrong("5.1", "ask `is not None`", "word 0 taken for None")
def pool_words(vectors, word_ids, pooling="mean"):
    words = sorted({word for word in word_ids if word})
    return torch.stack([vectors[[each == word for each in word_ids]].mean(0) for word in words])


@wrong("5.1", "this is the sum", "the sum whatever is asked for")
def pool_words(vectors, word_ids, pooling="mean"):
    words = torch.zeros(1 + max(word for word in word_ids if word is not None), vectors.shape[1])
    for vector, word in zip(vectors, word_ids):
        if word is not None:
            words[word] += vector
    return words


@wrong("5.1", "not of all tokens", "divided by the number of tokens of the sentence")
def pool_words(vectors, word_ids, pooling="mean"):
    count = 1 + max(word for word in word_ids if word is not None)
    sums = torch.stack([vectors[[each == word for each in word_ids]].sum(0) for word in range(count)])
    return sums / len(word_ids)


@wrong("5.1", "[CLS] and [SEP] are no part of a word", "None counted to the word beside it")
def pool_words(vectors, word_ids, pooling="mean"):
    count = 1 + max(word for word in word_ids if word is not None)
    word_ids = [0 if word_ids[0] is None else word_ids[0], *word_ids[1:-1], count - 1]
    return torch.stack([vectors[[each == word for each in word_ids]].mean(0) for word in range(count)])


@wrong("5.1", "this is the mean: use the argument pooling", "the mean whatever is asked for")
def pool_words(vectors, word_ids, pooling="mean"):
    count = 1 + max(word for word in word_ids if word is not None)
    return torch.stack([vectors[[each == word for each in word_ids]].mean(0) for word in range(count)])


@wrong("5.1", "this is the word's last token", "the last token for the first")
def pool_words(vectors, word_ids, pooling="mean"):
    count = 1 + max(word for word in word_ids if word is not None)
    own = [vectors[[each == word for each in word_ids]] for word in range(count)]
    return torch.stack([each[-1] if pooling == "first" else getattr(each, pooling)(0) for each in own])


@wrong("5.1", "without [CLS] and [SEP]", "the ends cut off unasked")
def pool_words(vectors, word_ids, pooling="mean"):
    vectors, word_ids = vectors[1:-1], word_ids[1:-1]
    own = [vectors[[each == word for each in word_ids]] for word in range(word_ids[0], 1 + word_ids[-1])]
    return torch.stack([each[0] if pooling == "first" else getattr(each, pooling)(0) for each in own])


@wrong("5.1", "[SEP] may stand between words", "the sentence ended at the second None")
def pool_words(vectors, word_ids, pooling="mean"):
    begin = 1 if word_ids[0] is None else 0
    ends = [i for i, word in enumerate(word_ids) if word is None and i > begin]
    inside = slice(begin, ends[0] if ends else len(word_ids))
    vectors, word_ids = vectors[inside], word_ids[inside]
    own = [vectors[[each == word for each in word_ids]] for word in range(1 + max(word_ids))]
    return torch.stack([each[0] if pooling == "first" else getattr(each, pooling)(0) for each in own])


@wrong("5.1", "None is no word, wherever it is", "a None between words counted to the word before it")
def pool_words(vectors, word_ids, pooling="mean"):
    first = next(i for i, word in enumerate(word_ids) if word is not None)
    last = max(i for i, word in enumerate(word_ids) if word is not None)
    vectors, word_ids = vectors[first : last + 1], list(word_ids[first : last + 1])
    for i, word in enumerate(word_ids):
        word_ids[i] = word_ids[i - 1] if word is None else word
    own = [vectors[[each == word for each in word_ids]] for word in range(1 + max(word_ids))]
    return torch.stack([each[0] if pooling == "first" else getattr(each, pooling)(0) for each in own])


@wrong("5.1", "this is the mean: use the argument pooling", "an unknown name taken for the mean")
def pool_words(vectors, word_ids, pooling="mean"):
    count = 1 + max(word for word in word_ids if word is not None)
    own = [vectors[[each == word for each in word_ids]] for word in range(count)]
    return torch.stack([each[0] if pooling == "first" else each.mean(0) for each in own])


@right("5.1", "index_add and bincount")
def pool_words(vectors, word_ids, pooling="mean"):
    places = [i for i, word in enumerate(word_ids) if word is not None]
    ids = torch.tensor([word_ids[i] for i in places])
    numbers = torch.bincount(ids)
    if pooling == "first":
        return vectors[[word_ids.index(word) for word in range(len(numbers))]]
    sums = torch.zeros(len(numbers), vectors.shape[1]).index_add(0, ids, vectors[places].float())
    return sums if pooling == "sum" else sums / numbers[:, None]


@right("5.1", "a matrix of zeros and ones")
def pool_words(vectors, word_ids, pooling="mean"):
    ids = torch.tensor([-1 if word is None else word for word in word_ids])
    own = (ids == torch.arange(ids.max() + 1)[:, None]).float()
    if pooling == "first":
        return vectors[own.argmax(1)]
    return own @ vectors / (own.sum(1, keepdim=True) if pooling == "mean" else 1)


@right("5.1", "numpy, token by token")
def pool_words(vectors, word_ids, pooling="mean"):
    words = {}
    for vector, word in zip(np.asarray(vectors, dtype=float), word_ids):
        if word is not None:
            words.setdefault(word, []).append(vector)
    return np.stack(
        [{"mean": np.mean(own, 0), "sum": np.sum(own, 0), "first": own[0]}[pooling] for own in words.values()]
    )


@wrong("5.2", "this is the mean")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    return torch.stack([hidden_states[layer] for layer in layers]).mean(0)


@wrong("5.2", "these are the first four")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    return sum(hidden_states[: len(layers)])


@wrong("5.2", "use the argument layers")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    return sum(hidden_states[-4:])


@wrong("5.2", "not all between them", "a slice")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    last = layers[-1] % len(hidden_states)
    return sum(hidden_states[layers[0] % len(hidden_states) : last + 1])


@wrong("5.2", "hidden_states[0] is layer 0", "counted from 1")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    return sum(hidden_states[layer if layer < 0 else layer - 1] for layer in layers)


@wrong("5.2", "work on a copy", "added up in place")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    total = hidden_states[layers[0]]
    for layer in layers[1:]:
        total += hidden_states[layer]
    return total


@wrong("5.2", "along the last axis", "concatenated along the first axis")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    chosen = [hidden_states[layer] for layer in layers]
    return sum(chosen) if how == "sum" else torch.cat(chosen)


@wrong("5.2", "raised IndexError", "concatenated along axis 2")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    chosen = [hidden_states[layer] for layer in layers]
    return sum(chosen) if how == "sum" else torch.cat(chosen, 2)


@wrong("5.2", "those in layers", "always the last four side by side")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    return sum(hidden_states[layer] for layer in layers) if how == "sum" else torch.cat(hidden_states[-4:], -1)


@wrong("5.2", "which is -1 for any number of axes", "concatenated along axis 1 where there are two, else along 2")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    chosen = [hidden_states[layer] for layer in layers]
    if how == "sum":
        return sum(chosen)
    return torch.cat(chosen, 2) if chosen[0].ndim == 3 else torch.vstack(chosen)


@wrong("5.2", "the first to the left", "side by side by number, those from the end first")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    chosen = [hidden_states[layer] for layer in layers]
    return sum(chosen) if how == "sum" else torch.cat([hidden_states[layer] for layer in sorted(layers)], -1)


@right("5.2", "a loop that adds to a copy")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    mixed = hidden_states[layers[0]].clone()
    for layer in layers[1:]:
        mixed = (
            mixed + hidden_states[layer] if how == "sum" else torch.cat((mixed, hidden_states[layer]), mixed.ndim - 1)
        )
    return mixed


@wrong("5.2", "the first to the left", "side by side in the other order")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    chosen = [hidden_states[layer] for layer in layers]
    return sum(chosen) if how == "sum" else torch.cat(chosen[::-1], -1)


@wrong("5.2", "which need not rise", "side by side from the lowest")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    chosen = [hidden_states[i] for i in range(len(hidden_states)) if i in {x % len(hidden_states) for x in layers}]
    return sum(chosen) if how == "sum" else torch.cat(chosen, -1)


@right("5.2", "stacked first")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    stacked = torch.stack(list(hidden_states))[list(layers)]
    return stacked.sum(0) if how == "sum" else stacked.movedim(0, -2).flatten(-2)


@right("5.2", "numpy in double precision")
def mix_layers(hidden_states, layers=(-4, -3, -2, -1), how="sum"):
    chosen = [np.asarray(hidden_states[layer], dtype=float) for layer in layers]
    return np.sum(chosen, axis=0) if how == "sum" else np.concatenate(chosen, axis=-1)


@wrong("5.3", "these are sums")
def sense_embeddings(vectors, senses):
    return {sense: vectors[[each == sense for each in senses]].sum(0) for sense in senses}


@wrong("5.3", "not of all", "divided by the number of all examples")
def sense_embeddings(vectors, senses):
    return {sense: vectors[[each == sense for each in senses]].sum(0) / len(senses) for sense in senses}


@wrong("5.3", "the last example of each sense")
def sense_embeddings(vectors, senses):
    return dict(zip(senses, vectors))


@wrong("5.3", "gives the last example half of the weight", "a running mean gone wrong")
def sense_embeddings(vectors, senses):
    found = {}
    for vector, sense in zip(vectors, senses):
        found[sense] = (found[sense] + vector) / 2 if sense in found else vector
    return found


@wrong("5.3", "not divided by their lengths", "the mean of directions")
def sense_embeddings(vectors, senses):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return {sense: unit[[each == sense for each in senses]].mean(0) for sense in senses}


@wrong("5.3", "choose the rows of the sense", "all rows for every sense")
def sense_embeddings(vectors, senses):
    return {sense: vectors.mean(0) for sense in senses}


@wrong("5.3", "has D numbers", "a mean over everything")
def sense_embeddings(vectors, senses):
    return {sense: vectors[[each == sense for each in senses]].mean() for sense in senses}


@wrong("5.3", "return a dictionary", "a matrix")
def sense_embeddings(vectors, senses):
    return torch.stack([vectors[[each == sense for each in senses]].mean(0) for sense in sorted(set(senses))])


@wrong("5.3", "each once", "keys are numbers")
def sense_embeddings(vectors, senses):
    names = list(dict.fromkeys(senses))
    return {i: vectors[[each == sense for each in senses]].mean(0) for i, sense in enumerate(names)}


@wrong("5.3", "a sense may have a single example", "senses with one example left out")
def sense_embeddings(vectors, senses):
    found = {sense: vectors[[each == sense for each in senses]] for sense in senses}
    return {sense: own.mean(0) for sense, own in found.items() if len(own) > 1}


@wrong("5.3", "this is the median", "the median")
def sense_embeddings(vectors, senses):
    return {sense: np.median(vectors[[each == sense for each in senses]].numpy(), axis=0) for sense in senses}


@wrong("5.3", "need not stand side by side", "runs of the same sense")
def sense_embeddings(vectors, senses):
    runs = [list(run) for _, run in itertools.groupby(range(len(senses)), key=lambda i: senses[i])]
    return {senses[run[0]]: vectors[run].mean(0) for run in runs}


@wrong("5.3", "split the string", "the lecture's function: two keys are a sense of their own")
def sense_embeddings(vectors, senses):
    return {sense: vectors[[each == sense for each in senses]].mean(0) for sense in senses}


@wrong("5.3", "split the string", "the first key only")
def sense_embeddings(vectors, senses):
    first = [each.split()[0] for each in senses]
    return {sense: vectors[[each == sense for each in first]].mean(0) for sense in first}


@wrong("5.3", "compare whole keys", "a key in the string")
def sense_embeddings(vectors, senses):
    return {key: vectors[[key in each for each in senses]].mean(0) for each in senses for key in each.split()}


@wrong("5.3", "counts fully for each", "an example shared out among its keys")
def sense_embeddings(vectors, senses):
    total, number = {}, Counter()
    for vector, several in zip(vectors, senses):
        for key in several.split():
            share = 1 / len(several.split())
            total[key] = total.get(key, 0) + vector * share
            number[key] += share
    return {key: total[key] / number[key] for key in total}


@right("5.3", "a running mean done right")
def sense_embeddings(vectors, senses):
    found, seen = {}, Counter()
    for vector, several in zip(vectors.double(), senses):
        for sense in several.split(" "):
            seen[sense] += 1
            old = found.get(sense, torch.zeros_like(vector))
            found[sense] = old + (vector - old) / seen[sense]
    return found


@right("5.3", "lists of numbers")
def sense_embeddings(vectors, senses):
    found = {}
    for vector, several in zip(vectors.tolist(), senses):
        for sense in several.split():
            found.setdefault(sense, []).append(vector)
    return {sense: [sum(column) / len(own) for column in zip(*own)] for sense, own in found.items()}


@right("5.3", "numpy, one product")
def sense_embeddings(vectors, senses):
    names = sorted({key for each in senses for key in each.split()})
    has = np.array([[key in each.split() for key in names] for each in senses], dtype=float)
    return dict(zip(names, has.T @ vectors.double().numpy() / has.sum(0)[:, None]))


@wrong("5.4", "a dot product favours long vectors")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma + "%")]
    return max(own, key=lambda sense: float(vector @ embeddings[sense])) if own else first_sense[lemma]


@wrong("5.4", "neither the smallest distance", "the smallest distance")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma + "%")]
    return min(own, key=lambda sense: float((vector - embeddings[sense]).norm())) if own else first_sense[lemma]


@wrong("5.4", "the senses of this word only", "all senses of all words")
def nearest_sense(vector, lemma, embeddings, first_sense):
    return max(embeddings, key=lambda sense: float(torch.cosine_similarity(vector, embeddings[sense], dim=0)))


@wrong("5.4", "light-year%1 is no sense of light", "no percent sign")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma)]
    best = max(own, key=lambda sense: float(torch.cosine_similarity(vector, embeddings[sense], dim=0)), default=None)
    return best or first_sense[lemma]


@wrong("5.4", "a key begins with it", "anywhere in the key")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if f"{lemma}%" in sense]
    best = max(own, key=lambda sense: float(torch.cosine_similarity(vector, embeddings[sense], dim=0)), default=None)
    return best or first_sense[lemma]


@wrong("5.4", "begin below -1, not at 0")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma + "%")]
    best, highest = None if own else first_sense[lemma], 0.0
    for sense in own:
        cosine = float(torch.cosine_similarity(vector, embeddings[sense], dim=0))
        if cosine > highest:
            best, highest = sense, cosine
    return best


@wrong("5.4", "nor the largest absolute value", "the largest absolute value")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma + "%")]
    if not own:
        return first_sense[lemma]
    return max(own, key=lambda sense: abs(float(torch.cosine_similarity(vector, embeddings[sense], dim=0))))


@wrong("5.4", "raised ValueError", "no first sense where nothing is known")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma + "%")]
    return max(own, key=lambda sense: float(torch.cosine_similarity(vector, embeddings[sense], dim=0)))


@wrong("5.4", "the first sense is for words without any embedding", "always the first sense")
def nearest_sense(vector, lemma, embeddings, first_sense):
    return first_sense[lemma]


@wrong("5.4", "return the sense's key", "the cosine in place of the key")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma + "%")]
    return max(float(torch.cosine_similarity(vector, embeddings[sense], dim=0)) for sense in own)


@wrong("5.4", "begin below -1, not at 0", "the first sense where all cosines are negative")
def nearest_sense(vector, lemma, embeddings, first_sense):
    best, highest = first_sense[lemma], 0.0
    for sense, embedding in embeddings.items():
        cosine = float(torch.cosine_similarity(vector, embedding, dim=0))
        if sense.startswith(lemma + "%") and cosine > highest:
            best, highest = sense, cosine
    return best


@wrong("5.4", "the first sense is for words without any embedding", "the first sense where it has no embedding")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.startswith(lemma + "%")]
    if first_sense[lemma] not in own:
        return first_sense[lemma]
    return max(own, key=lambda sense: float(torch.cosine_similarity(vector, embeddings[sense], dim=0)))


@right("5.4", "sorted by cosine, doubles")
def nearest_sense(vector, lemma, embeddings, first_sense):
    def cosine(sense):
        other = embeddings[sense].double()
        return (torch.dot(vector.double(), other) / vector.double().norm() / other.norm()).item()

    ranked = sorted((sense for sense in embeddings if sense[: len(lemma) + 1] == lemma + "%"), key=cosine)
    return ranked[-1] if ranked else first_sense.get(lemma)


@right("5.4", "a matrix of unit vectors")
def nearest_sense(vector, lemma, embeddings, first_sense):
    own = [sense for sense in embeddings if sense.split("%")[0] == lemma]
    if len(own) == 0:
        return first_sense[lemma]
    matrix = torch.nn.functional.normalize(torch.stack([embeddings[sense] for sense in own]), dim=1)
    return own[int((matrix @ vector).argmax())]


@right("5.4", "numpy, a loop from minus infinity")
def nearest_sense(vector, lemma, embeddings, first_sense):
    best, highest = first_sense[lemma], -np.inf
    for sense, embedding in embeddings.items():
        if sense.partition("%")[0] == lemma:
            a, b = np.asarray(vector, dtype=float), np.asarray(embedding, dtype=float)
            if (cosine := a @ b / np.sqrt((a @ a) * (b @ b))) > highest:
                best, highest = sense, cosine
    return best


@wrong("5.5", "descending=True", "the farthest vote")
def vote(cosines, senses, k):
    return Counter(senses[i] for i in cosines.argsort()[:k]).most_common(1)[0][0]


@wrong("5.5", "not one less", "k - 1 voters")
def vote(cosines, senses, k):
    return Counter(senses[i] for i in cosines.argsort(descending=True)[: max(1, k - 1)]).most_common(1)[0][0]


@wrong("5.5", "only those that share the first place", "a tie goes to the nearest of all")
def vote(cosines, senses, k):
    voters = [senses[i] for i in cosines.argsort(descending=True)[:k]]
    ranked = Counter(voters).most_common()
    return voters[0] if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


@wrong("5.5", "not the nearest alone")
def vote(cosines, senses, k):
    return senses[int(cosines.argmax())]


@wrong("5.5", "not to the farthest", "a tie goes to the sense met last")
def vote(cosines, senses, k):
    voters = [senses[i] for i in cosines.argsort(descending=True)[:k]]
    most = max(map(voters.count, voters))
    return [sense for sense in voters if voters.count(sense) == most][-1]


@wrong("5.5", "not to the first in the list")
def vote(cosines, senses, k):
    chosen = sorted(cosines.argsort(descending=True)[:k].tolist())
    return Counter(senses[i] for i in chosen).most_common(1)[0][0]


@wrong("5.5", "not to the first in the alphabet")
def vote(cosines, senses, k):
    voters = [senses[i] for i in cosines.argsort(descending=True)[:k]]
    return max(sorted(set(voters)), key=voters.count)


@wrong("5.5", "raised RuntimeError", "k larger than the number of examples")
def vote(cosines, senses, k):
    return Counter(senses[i] for i in cosines.topk(k).indices).most_common(1)[0][0]


@wrong("5.5", "every vote counts alike", "cosines added up")
def vote(cosines, senses, k):
    weights = Counter()
    for i in cosines.argsort(descending=True)[:k].tolist():
        weights[senses[i]] += float(cosines[i])
    return weights.most_common(1)[0][0]


@wrong("5.5", "return the sense", "the index of the winner")
def vote(cosines, senses, k):
    return int(cosines.argmax())


@wrong("5.5", "not the nearest alone", "the nearest alone where there are too few")
def vote(cosines, senses, k):
    if k > len(senses):
        return senses[int(cosines.argmax())]
    return Counter(senses[i] for i in cosines.argsort(descending=True)[:k]).most_common(1)[0][0]


@wrong("5.5", "of all four", "the last one left out where there are too few")
def vote(cosines, senses, k):
    k = min(k, max(1, len(senses) - 1))
    return Counter(senses[i] for i in cosines.argsort(descending=True)[:k]).most_common(1)[0][0]


@wrong("5.5", "with fewer than k examples", "all in the order of the list where there are too few")
def vote(cosines, senses, k):
    if k > len(senses):
        return Counter(senses).most_common(1)[0][0]
    return Counter(senses[i] for i in cosines.argsort(descending=True)[:k]).most_common(1)[0][0]


@wrong("5.5", "with fewer than k examples", "only positive cosines vote")
def vote(cosines, senses, k):
    order = [i for i in cosines.argsort(descending=True)[:k].tolist() if cosines[i] > 0]
    return Counter(senses[i] for i in order).most_common(1)[0][0] if order else ""


@right("5.5", "numpy, votes counted one after the other")
def vote(cosines, senses, k):
    votes, nearest = {}, {}
    for place, i in enumerate(np.argsort(-np.asarray(cosines))[:k]):
        votes[senses[i]] = votes.get(senses[i], 0) + 1
        nearest.setdefault(senses[i], place)
    return min(votes, key=lambda sense: (-votes[sense], nearest[sense]))


@right("5.5", "a counter keeps the order of the voters")
def vote(cosines, senses, k):
    nearest = torch.topk(cosines, min(k, len(senses))).indices
    return Counter(senses[i] for i in nearest).most_common(1)[0][0]


@right("5.5", "sorted pairs, a key of two numbers")
def vote(cosines, senses, k):
    voters = sorted(zip(cosines.tolist(), senses), reverse=True)[:k]
    best = {sense: cosine for cosine, sense in reversed(voters)}
    return max(best, key=lambda sense: (sum(other == sense for _, other in voters), best[sense]))


def accuracies(vote, senses, ks, vectors, asked, voting):
    """Accuracy for each k, with the notebook's own function and senses."""
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    found = []
    for k in ks:
        hits = [vote(unit[voting(i)] @ unit[i], [senses[j] for j in voting(i)], k) == senses[i] for i in asked]
        found.append(100 * sum(hits) / len(hits))
    return found


def drawing(ks, *lines):
    axes = plt.figure().add_subplot()
    for number, line in enumerate(lines):
        axes.plot(ks, line, label=f"line {number}")
    axes.set(xlabel="k", ylabel="%")
    axes.legend()
    return axes


@wrong("5.6", "end with: return axes", "nothing returned")
def plot_neighbours(ks):
    plt.plot(ks, ks)


@wrong("5.6", "one for the last four layers, one for layer 0", "one line")
def plot_neighbours(ks):
    return drawing(ks, ks)


@wrong("5.6", "axes.set_xlabel", "no labels")
def plot_neighbours(ks):
    axes = drawing(ks, ks, ks)
    axes.set(xlabel="", ylabel="")
    return axes


@wrong("5.6", "100 times the share", "shares from 0 to 1")
def plot_neighbours(ks):
    return drawing(ks, [0.7] * len(ks), [0.4] * len(ks))


@wrong("5.6", "test sentences ask, training sentences vote", "training sentences ask, too")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    kinds = (mix_layers(hidden_states), hidden_states[0])
    return drawing(ks, *(accuracies(vote, senses, ks, vectors, train, voting) for vectors in kinds))


@wrong("5.6", "let only training examples of the same word vote", "all training sentences vote")
def plot_neighbours(ks):
    kinds = (mix_layers(hidden_states), hidden_states[0])
    return drawing(ks, *(accuracies(vote, senses, ks, vectors, test, lambda i: train) for vectors in kinds))


@wrong("5.6", "what the first layer makes of it", "layer 1 for layer 0")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    kinds = (mix_layers(hidden_states), hidden_states[1])
    return drawing(ks, *(accuracies(vote, senses, ks, vectors, test, voting) for vectors in kinds))


@wrong("5.6", "with the k at which the point is drawn", "k ignored: always the nearest alone")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    kinds = (mix_layers(hidden_states), hidden_states[0])
    return drawing(ks, *(accuracies(vote, senses, [1] * len(ks), vectors, test, voting) for vectors in kinds))


@wrong("5.6", "with the k at which the point is drawn", "k ignored: always five")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    kinds = (mix_layers(hidden_states), hidden_states[0])
    return drawing(ks, *(accuracies(vote, senses, [5] * len(ks), vectors, test, voting) for vectors in kinds))


@wrong("5.6", "names in the legend are exchanged")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    kinds = (mix_layers(hidden_states), hidden_states[0])
    axes = drawing(ks, *(accuracies(vote, senses, ks, vectors, test, voting) for vectors in kinds))
    for line, name in zip(axes.get_lines(), ("layer 0", "last four layers")):
        line.set_label(name)
    axes.legend()
    return axes


@wrong("5.6", "the tie goes to the sense of the nearest", "ties go to the first in the alphabet")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    def by_name(cosines, senses, k):
        voters = [senses[i] for i in cosines.argsort(descending=True)[:k]]
        return max(sorted(set(voters)), key=voters.count)

    kinds = (mix_layers(hidden_states), hidden_states[0])
    return drawing(ks, *(accuracies(by_name, senses, ks, vectors, test, voting) for vectors in kinds))


@wrong("5.6", "this is the last layer alone", "the last layer alone")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    kinds = (hidden_states[-1], hidden_states[0])
    return drawing(ks, *(accuracies(vote, senses, ks, vectors, test, voting) for vectors in kinds))


@wrong("5.6", "these are exchanged", "training sentences ask, test sentences vote")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in test if lemmas[j] == lemmas[i]]

    kinds = (mix_layers(hidden_states), hidden_states[0])
    return drawing(ks, *(accuracies(vote, senses, ks, vectors, train, voting) for vectors in kinds))


@wrong("5.6", "these are dot products")
def plot_neighbours(ks):
    lines = []
    for vectors in (mix_layers(hidden_states), hidden_states[0]):
        hits = [0] * len(ks)
        for i in test:
            rows = [j for j in train if lemmas[j] == lemmas[i]]
            for place, k in enumerate(ks):
                hits[place] += vote(vectors[rows] @ vectors[i], [senses[j] for j in rows], k) == senses[i]
        lines.append([100 * each / len(test) for each in hits])
    return drawing(ks, *lines)


@wrong("5.6", "the sum of the last four layers", "the first layers")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    kinds = (mix_layers(hidden_states, (0, 1)), hidden_states[0])
    return drawing(ks, *(accuracies(vote, senses, ks, vectors, test, voting) for vectors in kinds))


@right("5.6", "a level of chance first, and the figure's legend")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    figure, axes = plt.subplots()
    axes.axhline(100 / 3, label="chance")
    for name, vectors in (("layer 0", hidden_states[0]), ("last four", mix_layers(hidden_states))):
        axes.plot(ks, accuracies(vote, senses, ks, vectors, test, voting), label=name)
    axes.set(xlabel="k", ylabel="%")
    figure.legend()
    return axes


@right("5.6", "k from the largest, names handed to the legend")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    figure, axes = plt.subplots()
    places = sorted(ks, reverse=True)
    for vectors in (mix_layers(hidden_states), hidden_states[0]):
        axes.plot(places, accuracies(vote, senses, places, vectors, test, voting))
    axes.set(xlabel="k", ylabel="%")
    axes.legend(["The last four layers", "Layer 0"])
    return axes


@right("5.6", "the largest k by topk")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    def by_topk(cosines, senses, k):
        return Counter(senses[i] for i in cosines.topk(min(k, len(senses))).indices).most_common(1)[0][0]

    kinds = (mix_layers(hidden_states), hidden_states[0])
    return drawing(ks, *(accuracies(by_topk, senses, ks, vectors, test, voting) for vectors in kinds))


@right("5.6", "pyplot, four layers side by side")
def plot_neighbours(ks):
    def voting(i):
        return [j for j in train if lemmas[j] == lemmas[i]]

    plt.figure()
    for name, vectors in (("0", hidden_states[0]), ("four", mix_layers(hidden_states, how="concat"))):
        plt.plot(ks, accuracies(vote, senses, ks, vectors, test, voting), label=name)
    plt.xlabel("k")
    plt.ylabel("percent")
    plt.legend()
    return plt.gca()


@right("5.6", "numpy, one matrix of cosines a word")
def plot_neighbours(ks):
    lines = []
    for vectors in (hidden_states[0].numpy(), sum(hidden_states[-4:]).numpy()):
        unit, hits = vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.zeros(len(ks))
        for lemma in set(lemmas):
            ask, voters = ([i for i in part if lemmas[i] == lemma] for part in (test, train))
            theirs = np.array(senses)[voters]
            for i, row in zip(ask, unit[ask] @ unit[voters].T):
                order = theirs[np.argsort(-row)]
                hits += [Counter(order[:k].tolist()).most_common(1)[0][0] == senses[i] for k in ks]
        lines.append(100 * hits / len(test))
    return drawing(ks, *lines)

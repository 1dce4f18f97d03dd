"""Homework 10: a search with titles, nDCG with shared places, late interaction in a batch, a loss with judgements,
clusters, the size of a library."""
# ruff: noqa: F811, F821

import itertools
import math
import random
from collections import Counter, defaultdict
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from wrong_answers import right, wrong


def plain_idf(count, number):
    return math.log(1 + (number - count + 0.5) / (count + 0.5))


def mean_lengths(lengths, entries):
    return [sum(column) / len(lengths) for column in zip(*lengths)]


def fields_added(title, text, v, k1):
    total = v * title + text
    return total / (total + k1)


def by_number(found, k):
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def searching(
    index,
    lengths,
    query,
    k,
    v,
    k1=1.2,
    b=0.75,
    words=list,
    counted=lambda entries: len(entries),
    idf=plain_idf,
    means=mean_lengths,
    relative=lambda own, mean: [each / average for each, average in zip(own, mean)],
    divided=lambda times, scale, b: times / (1 - b + b * scale),
    joined=fields_added,
    ranked=by_number,
):
    """As asked for, but for what is said."""
    found = {}
    for word in words(query):
        entries = index.get(word, [])
        if not entries:
            continue
        rarity, average = idf(counted(entries), len(lengths)), means(lengths, entries)
        for passage, *times in entries:
            scales = relative(lengths[passage], average)
            title, text = (divided(one, scale, b) for one, scale in zip(times, scales))
            found[passage] = found.get(passage, 0.0) + rarity * joined(title, text, v, k1)
    return ranked(found, k)


@wrong("10.1", "add up title and text first, then saturate once; these are two", "two scores of BM25, added")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def joined(title, text, v, k1):
        return v * title / (title + k1) + text / (text + k1)

    return searching(index, lengths, query, k, title_weight, k1 or 1e-9, b, joined=joined)


@wrong("10.1", "then saturate once; v belongs in the sum", "each field saturates by itself")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def joined(title, text, v, k1):
        return v * title / (v * title + k1) + text / (text + k1)

    return searching(index, lengths, query, k, title_weight, k1 or 1e-9, b, joined=joined)


@wrong("10.1", "an occurrence in the title counts v times", "v forgotten")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(index, lengths, query, k, 1.0, k1, b)


@wrong("10.1", "v multiplies what is in the title, not what is in the text")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(
        index, lengths, query, k, title_weight, k1, b, joined=lambda *two: fields_added(*two[1::-1], *two[2:])
    )


@wrong("10.1", "v multiplies the count in the title, not the score", "v outside the fraction")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def joined(title, text, v, k1):
        return (v if title else 1) * (title + text) / (title + text + k1)

    return searching(index, lengths, query, k, title_weight, k1, b, joined=joined)


@wrong("10.1", "not only the one that counts more")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def joined(title, text, v, k1):
        return max(v * title, text) / (max(v * title, text) + k1)

    return searching(index, lengths, query, k, title_weight, k1, b, joined=joined)


@wrong("10.1", "repetition saturates", "idf times counts")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(index, lengths, query, k, title_weight, k1, b, joined=lambda title, text, v, k1: v * title + text)


@wrong("10.1", "there is no factor k1 + 1")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def joined(title, text, v, k1):
        return (k1 + 1) * fields_added(title, text, v, k1)

    return searching(index, lengths, query, k, title_weight, k1, b, joined=joined)


@wrong("10.1", "go through the word's own list", "all passages are returned")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    found = dict.fromkeys(range(len(lengths)), 0.0)
    found.update(searching(index, lengths, query, len(lengths), title_weight, k1, b))
    return by_number(found, k)


@wrong("10.1", "not how often it occurs", "n counts occurrences")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def counted(entries):
        return sum(title + text for _, title, text in entries)

    def idf(count, number):
        return math.log(1 + max(number - count + 0.5, 0.5) / (count + 0.5))

    return searching(index, lengths, query, k, title_weight, k1, b, counted=counted, idf=idf)


@wrong("10.1", "one that has it in title and text counts once", "n counts titles and texts")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def counted(entries):
        return sum((title > 0) + (text > 0) for _, title, text in entries)

    def idf(count, number):
        return math.log(1 + max(number - count + 0.5, 0.5) / (count + 0.5))

    return searching(index, lengths, query, k, title_weight, k1, b, counted=counted, idf=idf)


@wrong("10.1", "in the title or in the text", "n counts texts only")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def counted(entries):
        return sum(text > 0 for _, title, text in entries)

    return searching(index, lengths, query, k, title_weight, k1, b, counted=counted)


@wrong("10.1", "has a 1 in the logarithm")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def idf(count, number):
        return math.log((number - count + 0.5) / (count + 0.5))

    return searching(index, lengths, query, k, title_weight, k1, b, idf=idf)


@wrong("10.1", "not ln(N/n)")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(index, lengths, query, k, title_weight, k1, b, idf=lambda count, number: math.log(number / count))


@wrong("10.1", "N is the number of all passages", "N of those that have a word of the query")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    touched = {passage for word in query for passage, *_ in index.get(word, [])}
    return searching(
        index, lengths, query, k, title_weight, k1, b, idf=lambda count, number: plain_idf(count, len(touched))
    )


@wrong("10.1", "what is in a long field counts less", "lengths forgotten")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(index, lengths, query, k, title_weight, k1, 0.0)


@wrong("10.1", "not that of both together", "the passage's length in place of its fields'")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def relative(own, mean):
        return [sum(own) / sum(mean)] * 2

    return searching(index, lengths, query, k, title_weight, k1, b, relative=relative)


@wrong("10.1", "not only of the passages that have the word", "means of the list")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def means(lengths, entries):
        return mean_lengths([lengths[passage] for passage, *_ in entries], entries)

    return searching(index, lengths, query, k, title_weight, k1, b, means=means)


@wrong("10.1", "the title's for the title", "the lengths exchanged")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def relative(own, mean):
        return [own[1] / mean[1], own[0] / mean[0]]

    return searching(index, lengths, query, k, title_weight, k1, b, relative=relative)


@wrong("10.1", "do not multiply", "long fields count more")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def divided(times, scale, b):
        return times * (1 - b + b * scale)

    return searching(index, lengths, query, k, title_weight, k1, b, divided=divided)


@wrong("10.1", "divide it by the mean", "lengths in words")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(index, lengths, query, k, title_weight, k1, b, relative=lambda own, mean: own)


@wrong("10.1", "the title's length matters to what is in the title", "titles of any length are alike")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def relative(own, mean):
        return [1.0, own[1] / mean[1]]

    return searching(index, lengths, query, k, title_weight, k1, b, relative=relative)


@wrong("10.1", "not through a set", "words of the query once each")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(index, lengths, query, k, title_weight, k1, b, words=dict.fromkeys)


@wrong("10.1", "it does not saturate", "the query's count inside the fraction")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    times = Counter(query)
    found = defaultdict(float)
    for word, often in times.items():
        repeated = {word: [(i, often * title, often * text) for i, title, text in index.get(word, [])]}
        for passage, score in searching(repeated, lengths, [word], len(lengths), title_weight, k1, b):
            found[passage] += score
    return by_number(found, k)


@wrong("10.1", "must not replace the others", "= in place of +=")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    found = {}
    for word in query:
        found.update(searching(index, lengths, [word], len(lengths), title_weight, k1, b))
    return by_number(found, k)


@wrong("10.1", "each passage is in the list once", "a list of all finds")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    found = [pair for word in query for pair in searching(index, lengths, [word], len(lengths), title_weight, k1, b)]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


@wrong("10.1", "search raised KeyError", "unknown words")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return [index[word] for word in query] and searching(index, lengths, query, k, title_weight, k1, b)


@wrong("10.1", "not the one that was found first", "a stable sort by the score alone")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def ranked(found, k):
        return sorted(found.items(), key=lambda pair: -pair[1])[:k]

    return searching(index, lengths, query, k, title_weight, k1, b, ranked=ranked)


@wrong("10.1", "the smaller number comes first", "pairs sorted downwards")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    def ranked(found, k):
        return sorted(found.items(), key=lambda pair: pair[::-1], reverse=True)[:k]

    return searching(index, lengths, query, k, title_weight, k1, b, ranked=ranked)


@wrong("10.1", "the best first: these are in the order of their numbers", "not sorted by score")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return sorted(searching(index, lengths, query, k, title_weight, k1, b))


@wrong("10.1", "cut the list", "k forgotten")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(index, lengths, query, len(lengths), title_weight, k1, b)


@wrong("10.1", "sort first, and then keep the first k")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return searching(
        index, lengths, query, k, title_weight, k1, b, ranked=lambda found, k: by_number(dict([*found.items()][:k]), k)
    )


@wrong("10.1", "the passage comes first, then the score", "tuples the other way round")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    return [(score, passage) for passage, score in searching(index, lengths, query, k, title_weight, k1, b)]


@right("10.1", "a table of all passages, numpy")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    size = np.array(lengths, dtype=float)
    scale = 1 - b + b * size / size.mean(0)
    total, touched = np.zeros(len(lengths)), np.zeros(len(lengths), dtype=bool)
    for word, often in Counter(query).items():
        if word in index:
            where, titled, told = map(np.array, zip(*index[word]))
            strength = title_weight * titled / scale[where, 0] + told / scale[where, 1]
            total[where] += often * np.log1p((len(size) - len(where) + 0.5) / (len(where) + 0.5)) / (1 + k1 / strength)
            touched[where] = True
    return [(int(i), float(total[i])) for i in np.argsort(-total, kind="stable") if touched[i]][:k]


@right("10.1", "best ones picked one by one, lists as results")
def search(index, lengths, query, k, title_weight, k1=1.2, b=0.75):
    left, chosen = dict(searching(index, lengths, query, len(lengths), title_weight, k1, b)), []
    while left and len(chosen) < k:
        best = min(left, key=lambda passage: (-left[passage], passage))
        chosen.append([best, left.pop(best)])
    return chosen


def worth_of(place, k):
    return 1 / math.log2(place + 1) if place <= k else 0.0


def scored(scores, grades, k, best=None, share=None, gain=lambda grade: grade, worth=worth_of, after=len, order=True):
    """As asked for, but for what is said; ``share`` is of the first place of a group, its grades, and k."""

    def shared(first, mine, k):
        places = range(first, first + len(mine))
        return sum(map(gain, mine)) * sum(worth(place, k) for place in places) / len(mine)

    gained, first = 0.0, 1
    for score in sorted(set(scores.values()), reverse=order):
        mine = [grades.get(passage, 0) for passage, other in scores.items() if other == score]
        gained += (share or shared)(first, mine, k)
        first += after(mine)
    if best is None:
        best = sum(gain(grade) * worth(place, k) for place, grade in enumerate(sorted(grades.values())[::-1], 1))
    return gained / best if best else 0.0


def in_order(passages, grades, k):
    """nDCG of passages in this order."""
    best = sum(grade * worth_of(place, k) for place, grade in enumerate(sorted(grades.values())[::-1], 1))
    return sum(grades.get(passage, 0) * worth_of(place, k) for place, passage in enumerate(passages, 1)) / best


@wrong("10.2", "here a has the second place", "the order of the dictionary")
def shared_ndcg(scores, grades, k):
    return in_order(sorted(scores, key=lambda passage: -scores[passage]), grades, k)


@wrong("10.2", "here a has the second place", "the worst order")
def shared_ndcg(scores, grades, k):
    return in_order(sorted(scores, key=lambda passage: (-scores[passage], grades.get(passage, 0))), grades, k)


@wrong("10.2", "here a has the first place, with or without x", "the order of the names")
def shared_ndcg(scores, grades, k):
    return in_order(sorted(scores, key=lambda passage: (-scores[passage], passage)), grades, k)


@wrong("10.2", "here a has the first place, with or without x", "a sort from the lowest up, read backwards")
def shared_ndcg(scores, grades, k):
    return in_order(sorted(scores, key=scores.get)[::-1], grades, k)


@wrong("10.2", "here a has the first place, with or without x", "the best order")
def shared_ndcg(scores, grades, k):
    return in_order(sorted(scores, key=lambda passage: (-scores[passage], -grades.get(passage, 0))), grades, k)


@wrong("10.2", "here a has the first place, with or without x", "all of a group at its first place")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, share=lambda first, mine, k: sum(mine) * worth_of(first, k))


@wrong("10.2", "not the places", "what the mean place is worth")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, share=lambda first, mine, k: sum(mine) * worth_of(first + (len(mine) - 1) / 2, k))


@wrong("10.2", "the mean of what the places are worth, not the sum")
def shared_ndcg(scores, grades, k):
    return scored(
        scores,
        grades,
        k,
        share=lambda first, mine, k: sum(mine) * sum(worth_of(first + i, k) for i in range(len(mine))),
    )


@wrong("10.2", "comes place 3, not 2", "the next group has the next place")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, after=lambda mine: 1)


@wrong("10.2", "in a group that goes beyond k, too", "a group is cut as a whole")
def shared_ndcg(scores, grades, k):
    def share(first, mine, k):
        return (first <= k) * sum(mine) * sum(worth_of(first + i, 10**9) for i in range(len(mine))) / len(mine)

    return scored(scores, grades, k, share=share)


@wrong("10.2", "not only by the places up to k", "the mean over the places that count")
def shared_ndcg(scores, grades, k):
    def share(first, mine, k):
        places = [worth_of(first + i, k) for i in range(len(mine)) if first + i <= k]
        return sum(mine) * sum(places) / max(len(places), 1)

    return scored(scores, grades, k, share=share)


@wrong("10.2", "still gets what its first places are worth", "groups that go beyond k left out")
def shared_ndcg(scores, grades, k):
    def share(first, mine, k):
        inside = first + len(mine) - 1 <= k
        return inside * sum(mine) * sum(worth_of(first + i, k) for i in range(len(mine))) / len(mine)

    return scored(scores, grades, k, share=share)


@wrong("10.2", "the best grade is not for all", "the best grade for each relevant passage")
def shared_ndcg(scores, grades, k):
    def share(first, mine, k):
        places = [worth_of(first + i, k) for i in range(len(mine))]
        return max(mine) * sum(grade > 0 for grade in mine) * sum(places) / len(places)

    return scored(scores, grades, k, share=share)


@wrong("10.2", "those that were not found included", "the best ranking of what was found")
def shared_ndcg(scores, grades, k):
    known = {passage: grades.get(passage, 0) for passage in scores}
    return scored(scores, known, k)


@wrong("10.2", "here it comes after the others", "not found is the last place")
def shared_ndcg(scores, grades, k):
    return scored({**dict.fromkeys(grades, -(10**9)), **scores}, grades, k)


@wrong("10.2", "the best ranking ends at place k")
def shared_ndcg(scores, grades, k):
    return scored(
        scores, grades, k, sum(g * worth_of(i, 10**9) for i, g in enumerate(sorted(grades.values())[::-1], 1))
    )


@wrong("10.2", "do not leave it out", "only what was judged has a place")
def shared_ndcg(scores, grades, k):
    return scored({passage: score for passage, score in scores.items() if passage in grades}, grades, k)


@wrong("10.2", "not 2 to its power")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, gain=lambda grade: 2**grade - 1)


@wrong("10.2", "not only whether a passage is relevant")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, gain=lambda grade: grade > 0)


@wrong("10.2", "not 1/r")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, worth=lambda place, k: (place <= k) / place)


@wrong("10.2", "places count from 1", "log2(r + 2)")
def shared_ndcg(scores, grades, k):
    best = sum(g * worth_of(i, k) for i, g in enumerate(sorted(grades.values())[::-1], 1))
    return scored(scores, grades, k, best, worth=lambda place, k: (place <= k) / math.log2(place + 2))


@wrong("10.2", "not the lowest", "sorted upwards")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, order=False)


@wrong("10.2", "divide by what the best ranking gets", "DCG")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, 1.0)


@wrong("10.2", "not by the sum of the grades")
def shared_ndcg(scores, grades, k):
    return scored(scores, grades, k, sum(grades.values()))


@wrong("10.2", "scores may be negative", "scores above 0 only")
def shared_ndcg(scores, grades, k):
    return scored({passage: score for passage, score in scores.items() if score > 0}, grades, k)


@wrong("10.2", "a score of 0 is a score like any other")
def shared_ndcg(scores, grades, k):
    return scored({passage: score for passage, score in scores.items() if score}, grades, k)


@right("10.2", "the mean over many orders, counted in fractions")
def shared_ndcg(scores, grades, k):
    gained = Fraction(0)
    for passage, score in scores.items():
        before = sum(other > score for other in scores.values())
        alike = sum(other == score for other in scores.values())
        places = [Fraction(worth_of(before + i, k)) for i in range(1, alike + 1)]
        gained += grades.get(passage, 0) * sum(places) / alike
    best = sorted(grades.values(), reverse=True)[:k]
    return float(gained / sum(Fraction(worth_of(i, k)) * grade for i, grade in enumerate(best, 1)))


@right("10.2", "numpy, natural logarithms, groupby")
def shared_ndcg(scores, grades, k):
    worth = np.zeros(len(scores) + len(grades))
    worth[:k] = 1 / np.log(np.arange(2, len(worth) + 2))[:k]
    names = sorted(scores, key=scores.get, reverse=True)
    sizes = [len([*group]) for _, group in itertools.groupby(names, key=scores.get)]
    if sizes:
        parts = np.split(worth[: len(names)], np.cumsum(sizes)[:-1])
        worth_of_each = np.concatenate([np.full(len(part), part.mean()) for part in parts])
    else:
        worth_of_each = np.zeros(0)
    best = np.sort([*grades.values()])[::-1]
    return np.dot([grades.get(name, 0) for name in names], worth_of_each) / np.dot(best, worth[: len(best)])


def late(
    questions,
    question_mask,
    passages,
    passage_mask,
    first=lambda vectors: nn.functional.normalize(vectors, dim=-1),
    second=lambda vectors: nn.functional.normalize(vectors, dim=-1),
    hidden=-torch.inf,
    reduced=lambda best, mask: (best * mask[:, None]).sum(-1) / mask.sum(-1)[:, None],
):
    """As asked for, but for what is said."""
    cosines = torch.einsum("qld,pmd->qplm", first(questions), second(passages))
    if hidden is not None:
        cosines = torch.where(passage_mask[None, :, None] == 0, hidden, cosines)
    return reduced(cosines.amax(-1), question_mask)


@wrong("10.3", "not the sum", "the lecture's sum")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(
        questions,
        question_mask,
        passages,
        passage_mask,
        reduced=lambda best, mask: (best * mask[:, None]).sum(-1),
    )


@wrong("10.3", "bring the vectors to length 1 first", "products")
def late_scores(questions, question_mask, passages, passage_mask):
    same = lambda vectors: vectors  # noqa: E731
    return late(questions, question_mask, passages, passage_mask, same, same)


@wrong("10.3", "bring the passages' vectors to length 1")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(questions, question_mask, passages, passage_mask, second=lambda vectors: vectors)


@wrong("10.3", "bring the questions' vectors to length 1")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(questions, question_mask, passages, passage_mask, first=lambda vectors: vectors)


@wrong("10.3", "the other way round", "the passage's tokens look for the question's")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(passages, passage_mask, questions, question_mask).T


@wrong("10.3", "not the mean of all", "the mean of all cosines")
def late_scores(questions, question_mask, passages, passage_mask):
    unit = [nn.functional.normalize(vectors, dim=-1) for vectors in (questions, passages)]
    sums = [
        (vectors * mask[..., None]).sum(1) / mask.sum(1)[:, None]
        for vectors, mask in zip(unit, (question_mask, passage_mask))
    ]
    return sums[0] @ sums[1].T


@wrong("10.3", "not only the best one", "the largest of all cosines")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(
        questions,
        question_mask,
        passages,
        passage_mask,
        reduced=lambda best, mask: best.masked_fill(mask[:, None] == 0, -torch.inf).amax(-1),
    )


@wrong("10.3", "the question's padding must not score", "the mean over L places")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(questions, question_mask, passages, passage_mask, reduced=lambda best, mask: best.mean(-1))


@wrong("10.3", "the number of the question's tokens, without padding", "padding is 0, and counted")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(
        questions, question_mask, passages, passage_mask, reduced=lambda best, mask: (best * mask[:, None]).mean(-1)
    )


@wrong("10.3", "zeros do not say what is padding", "padding by its zeros")
def late_scores(questions, question_mask, passages, passage_mask):
    masks = [(vectors != 0).any(-1).long() for vectors in (questions, passages)]
    return late(questions, masks[0], passages, masks[1])


@wrong("10.3", "must not be found: the third vector is left over", "the passages' padding not masked")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(questions, question_mask, passages, passage_mask, hidden=None)


@wrong("10.3", "so put minus infinity", "the passages' padding set to 0")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(questions, question_mask, passages * passage_mask[..., None], passage_mask, hidden=None)


@wrong("10.3", "so put minus infinity", "cosines times the mask")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(questions, question_mask, passages, passage_mask, hidden=0.0)


@wrong("10.3", "the masks say where, not just how many", "the first tokens of each row")
def late_scores(questions, question_mask, passages, passage_mask):
    firsts = [torch.arange(mask.shape[1]).lt(mask.sum(1)[:, None]).long() for mask in (question_mask, passage_mask)]
    return late(questions, firsts[0], passages, firsts[1])


@wrong("10.3", "nn.functional.normalize does not divide by it", "divided by a length of 0")
def late_scores(questions, question_mask, passages, passage_mask):
    def unit(vectors):
        return vectors / vectors.norm(dim=-1, keepdim=True)

    return late(questions, question_mask, passages, passage_mask, unit, unit)


@wrong("10.3", "0 times infinity is no number", "the questions' padding set to minus infinity")
def late_scores(questions, question_mask, passages, passage_mask):
    def reduced(best, mask):
        hidden = best.masked_fill(mask[:, None] == 0, -torch.inf)
        return (hidden * mask[:, None]).sum(-1) / mask.sum(-1)[:, None]

    return late(questions, question_mask, passages, passage_mask, reduced=reduced)


@wrong("10.3", "a row for each question", "passages by questions")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(questions, question_mask, passages, passage_mask).T


@wrong("10.3", "a row for each question", "the diagonal alone")
def late_scores(questions, question_mask, passages, passage_mask):
    scores = late(questions, question_mask, passages, passage_mask)
    return scores.diagonal()[:, None]


@wrong("10.3", "divide each row by its own", "the longest question's number of tokens for all")
def late_scores(questions, question_mask, passages, passage_mask):
    return late(
        questions,
        question_mask,
        passages,
        passage_mask,
        reduced=lambda best, mask: (best * mask[:, None]).sum(-1) / mask.sum(-1).max(),
    )


@right("10.3", "four loops, without padding")
def late_scores(questions, question_mask, passages, passage_mask):
    table = []
    for question, own in zip(questions.double(), question_mask):
        row = []
        for passage, theirs in zip(passages.double(), passage_mask):
            best = [
                max(torch.cosine_similarity(one, other, dim=0).item() for other in passage[theirs.bool()])
                for one in question[own.bool()]
            ]
            row.append(math.fsum(best) / len(best))
        table.append(row)
    return table


@right("10.3", "numpy; padding of questions is not a number, and left out of the mean")
def late_scores(questions, question_mask, passages, passage_mask):
    unit = [
        x.numpy() / np.maximum(np.linalg.norm(x.numpy(), axis=-1, keepdims=True), 1e-9) for x in (questions, passages)
    ]
    cosines = np.tensordot(unit[0], unit[1], axes=(2, 2))  # (Q, L, P, M)
    best = np.where(passage_mask.numpy() == 1, cosines, -2).max(-1)
    return np.nanmean(np.where(question_mask.numpy()[..., None] == 1, best, np.nan), axis=1)


@right("10.3", "one flat product, a large negative number")
def late_scores(questions, question_mask, passages, passage_mask):
    flat = [nn.functional.normalize(vectors.flatten(0, 1), dim=-1) for vectors in (questions, passages)]
    product = flat[0] @ flat[1].T - 9 * (1 - passage_mask.flatten())
    best = product.reshape(*question_mask.shape, *passage_mask.shape).max(-1).values
    weights = question_mask / question_mask.sum(-1, keepdim=True)
    return torch.einsum("qlp,ql->qp", best, weights)


def losses_of(questions, passages, judgements, temperature, unit=True, negatives=None, against=None):
    """L_ij of all pairs, and which are right; ``negatives`` (B, P) instead of the wrong ones."""
    if unit:
        questions, passages = (nn.functional.normalize(x, dim=-1) for x in (questions, passages))
    logits = questions @ passages.T / temperature
    if against is None:
        outside = ~(judgements == 0) if negatives is None else ~negatives
        against = logits.masked_fill(outside, -torch.inf).logsumexp(1, keepdim=True)
    return torch.logaddexp(logits, against) - logits, judgements == 1


def averaged(losses, is_right):
    return (losses.masked_fill(~is_right, 0).sum(1) / is_right.sum(1)).mean()


@wrong("10.4", "bring the vectors to length 1 first", "products")
def judged_loss(questions, passages, judgements, temperature):
    return averaged(*losses_of(questions, passages, judgements, temperature, unit=False))


@wrong("10.4", "do not multiply", "the temperature as a scale")
def judged_loss(questions, passages, judgements, temperature):
    return averaged(*losses_of(questions, passages, judgements, 1 / temperature))


@wrong("10.4", "divide the cosines by the temperature", "the temperature forgotten")
def judged_loss(questions, passages, judgements, temperature):
    return averaged(*losses_of(questions, passages, judgements, 1.0))


@wrong("10.4", "-log, not log")
def judged_loss(questions, passages, judgements, temperature):
    return -averaged(*losses_of(questions, passages, judgements, temperature))


@wrong("10.4", "here they count as wrong", "all that is not right")
def judged_loss(questions, passages, judgements, temperature):
    return averaged(*losses_of(questions, passages, judgements, temperature, negatives=judgements != 1))


@wrong("10.4", "here they count as right", "all that is not wrong")
def judged_loss(questions, passages, judgements, temperature):
    losses, _ = losses_of(questions, passages, judgements, temperature)
    return averaged(losses, judgements != 0)


@wrong("10.4", "here they count as right", "judgements taken for a mask")
def judged_loss(questions, passages, judgements, temperature):
    losses, _ = losses_of(questions, passages, judgements.bool().int(), temperature)
    return averaged(losses, judgements.bool())


@wrong("10.4", "the right passage is in the denominator", "over the wrong ones only")
def judged_loss(questions, passages, judgements, temperature):
    unit = [nn.functional.normalize(x, dim=-1) for x in (questions, passages)]
    logits = unit[0] @ unit[1].T / temperature
    against = logits.masked_fill(judgements != 0, -torch.inf).logsumexp(1, keepdim=True)
    return averaged((against - logits).clamp(min=-1e4), judgements == 1)


@wrong("10.4", "a right passage is not in the denominator of another one", "softmax over all that were judged")
def judged_loss(questions, passages, judgements, temperature):
    unit = [nn.functional.normalize(x, dim=-1) for x in (questions, passages)]
    logits = (unit[0] @ unit[1].T / temperature).masked_fill(judgements < 0, -torch.inf)
    return averaged(-logits.log_softmax(1), judgements == 1)


@wrong("10.4", "not the sum", "the sum over a question's right passages")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    return losses.masked_fill(~is_right, 0).sum(1).mean()


@wrong("10.4", "one for all of them together", "the logarithm of the summed probability")
def judged_loss(questions, passages, judgements, temperature):
    unit = [nn.functional.normalize(x, dim=-1) for x in (questions, passages)]
    logits = unit[0] @ unit[1].T / temperature
    ours, theirs = (logits.masked_fill(judgements != kind, -torch.inf).logsumexp(1) for kind in (1, 0))
    return (torch.logaddexp(ours, theirs) - ours).mean()


@wrong("10.4", "not only the first or the easiest", "argmax of the judgements")
def judged_loss(questions, passages, judgements, temperature):
    losses, _ = losses_of(questions, passages, judgements, temperature)
    return losses[torch.arange(len(losses)), judgements.argmax(1)].mean()


@wrong("10.4", "not only the hardest")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    return losses.masked_fill(~is_right, -torch.inf).amax(1).mean()


@wrong("10.4", "over the right passages, not over all", "divided by P")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    return (losses * is_right).nan_to_num().mean()


@wrong("10.4", "this is a mean over all right passages of the batch")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    return losses[is_right].mean()


@wrong("10.4", "the mean over the questions, not the sum")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    return (losses.masked_fill(~is_right, 0).sum(1) / is_right.sum(1)).sum()


@wrong("10.4", "must not be used as numbers", "losses times judgements")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    return ((losses * judgements).sum(1) / is_right.sum(1)).mean()


@wrong("10.4", "the sum over the wrong passages, not their mean")
def judged_loss(questions, passages, judgements, temperature):
    unit = [nn.functional.normalize(x, dim=-1) for x in (questions, passages)]
    logits = unit[0] @ unit[1].T / temperature
    against = logits.masked_fill(judgements != 0, -torch.inf).logsumexp(1, keepdim=True)
    against = against - (judgements == 0).sum(1, keepdim=True).clamp(min=1).log()
    return averaged(torch.logaddexp(logits, against) - logits, judgements == 1)


@wrong("10.4", "not only the one that is most like the question", "the hardest wrong one")
def judged_loss(questions, passages, judgements, temperature):
    unit = [nn.functional.normalize(x, dim=-1) for x in (questions, passages)]
    logits = unit[0] @ unit[1].T / temperature
    hardest = logits.masked_fill(judgements != 0, -torch.inf).amax(1, keepdim=True)
    return averaged(torch.logaddexp(logits, hardest) - logits, judgements == 1)


@wrong("10.4", "a 0 is a number, too", "scores times a mask, then logsumexp")
def judged_loss(questions, passages, judgements, temperature):
    unit = [nn.functional.normalize(x, dim=-1) for x in (questions, passages)]
    logits = unit[0] @ unit[1].T / temperature
    against = (logits * (judgements == 0)).logsumexp(1, keepdim=True)
    return averaged(torch.logaddexp(logits, against) - logits, judgements == 1)


@wrong("10.4", "first each passage's own logarithm", "the logarithm of the mean probability")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    logs = (-losses).masked_fill(~is_right, -torch.inf).logsumexp(1)
    return (is_right.sum(1).log() - logs).mean()


@wrong("10.4", "the loss is 0", "NaN where nothing is wrong")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(questions, passages, judgements, temperature)
    has_wrong = (judgements == 0).any(1)
    return (losses.masked_fill(~is_right, 0).sum(1) / is_right.sum(1))[has_wrong].mean()


@wrong("10.4", "stay with logarithms", "exp and sum")
def judged_loss(questions, passages, judgements, temperature):
    unit = [nn.functional.normalize(x, dim=-1) for x in (questions, passages)]
    powers = (unit[0] @ unit[1].T / temperature).exp()
    against = (powers * (judgements == 0)).sum(1, keepdim=True)
    return averaged(-(powers / (powers + against)).log(), judgements == 1)


@wrong("10.4", "the sum goes along a row", "passages choose their question")
def judged_loss(questions, passages, judgements, temperature):
    losses, is_right = losses_of(passages, questions, judgements.T, temperature)
    return losses[is_right].mean()


@wrong("10.4", "no .item()", "a plain number")
def judged_loss(questions, passages, judgements, temperature):
    return averaged(*losses_of(questions, passages, judgements, temperature)).item()


@right("10.4", "one cross-entropy for each right passage")
def judged_loss(questions, passages, judgements, temperature):
    found = []
    for question, row in zip(questions, judgements):
        logits = torch.cosine_similarity(question[None], passages, dim=1) / temperature
        rivals = logits[row == 0]
        each = [
            nn.functional.cross_entropy(torch.cat([own[None], rivals])[None], torch.tensor([0]))
            for own in logits[row == 1]
        ]
        found.append(torch.stack(each).mean())
    return torch.stack(found).mean()


@right("10.4", "a plain 0 where a question has no wrong passage")
def judged_loss(questions, passages, judgements, temperature):
    found = []
    for question, row in zip(questions, judgements):
        logits = question @ passages.T / question.norm() / passages.norm(dim=1) / temperature
        rivals = logits[row == 0]
        if len(rivals) == 0:
            found.append(torch.tensor(0.0))
            continue
        each = [torch.cat([own[None], rivals]).logsumexp(0) - own for own in logits[row == 1]]
        found.append(torch.stack(each).mean())
    return torch.stack(found).mean()


@right("10.4", "softplus of differences, double precision, weights")
def judged_loss(questions, passages, judgements, temperature):
    q, p = (x.double() / x.double().norm(dim=1, keepdim=True) for x in (questions, passages))
    logits = q @ p.T / temperature
    against = torch.where(judgements == 0, logits, -torch.inf).logsumexp(1)
    mine = judgements == 1
    weights = mine / mine.sum(1, keepdim=True) / len(q)
    return (nn.functional.softplus(against[:, None] - logits, threshold=400) * weights)[mine].sum()


def visiting(
    question,
    passages,
    centres,
    probes,
    k,
    unit=("question", "passages", "homes", "centres"),
    chosen=lambda home, near, probes: near.argsort(descending=True, stable=True)[:probes],
    kept=lambda worth, there, k: there[worth[there].argsort(descending=True, stable=True)[:k]].tolist(),
    compared=lambda there, found: len(there),
):
    """As asked for, but for what is said; ``unit`` are the vectors that are brought to length 1."""

    def of(name, vectors):
        return nn.functional.normalize(vectors, dim=-1) if name in unit else vectors

    home = (of("passages", passages) @ of("homes", centres).T).argmax(1)
    near = of("centres", centres) @ of("question", question)
    there = torch.isin(home, torch.as_tensor(chosen(home, near, probes))).nonzero().flatten()
    found = kept(of("passages", passages) @ question, there, k)
    return found, compared(there, found)


@wrong("10.5", "not among those of the cluster", "places among the visited")
def visit_clusters(question, passages, centres, probes, k):
    def kept(worth, there, k):
        return worth[there].argsort(descending=True, stable=True)[:k].tolist()

    return visiting(question, passages, centres, probes, k, kept=kept)


@wrong("10.5", "the largest cosine, not the smallest", "the smallest cosine first")
def visit_clusters(question, passages, centres, probes, k):
    def kept(worth, there, k):
        return there[worth[there].argsort(stable=True)[:k]].tolist()

    return visiting(question, passages, centres, probes, k, kept=kept)


@wrong("10.5", "at most k passages", "k forgotten")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, probes, len(passages))


@wrong("10.5", "not of those that are returned", "counts what it returns")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, probes, k, compared=lambda there, found: len(found))


@wrong("10.5", "not all", "counts all passages")
def visit_clusters(question, passages, centres, probes, k):
    found, _ = visiting(question, passages, centres, probes, k)
    return found, len(passages)


@wrong("10.5", "the centres are compared in step 2", "counts the centres, too")
def visit_clusters(question, passages, centres, probes, k):
    found, compared = visiting(question, passages, centres, probes, k)
    return found, compared + len(centres)


@wrong("10.5", "as probes is 1", "goes on until there are k")
def visit_clusters(question, passages, centres, probes, k):
    while True:
        found, compared = visiting(question, passages, centres, probes, k)
        if len(found) >= min(k, len(passages)):
            return found, compared
        probes += 1


@wrong("10.5", "visit as many centres as probes says", "only the nearest cluster")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, 1, k)


@wrong("10.5", "not one cluster after the other", "one cluster after the other")
def visit_clusters(question, passages, centres, probes, k):
    found, compared = [], 0
    for number in range(1, min(probes, len(centres)) + 1):
        now, compared = visiting(question, passages, centres, number, len(passages))
        found += [each for each in now if each not in found]
    return found[:k], compared


@wrong("10.5", "here the next one was visited in its place", "empty clusters skipped")
def visit_clusters(question, passages, centres, probes, k):
    def chosen(home, near, probes):
        order = near.argsort(descending=True, stable=True)
        return order[torch.isin(order, home)][:probes]

    return visiting(question, passages, centres, probes, k, chosen=chosen)


@wrong("10.5", "not those that come first", "the first centres")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(
        question, passages, centres, probes, k, chosen=lambda home, near, probes: range(min(probes, len(near)))
    )


@wrong("10.5", "before you ask where a passage belongs", "products with centres, for the passages")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, probes, k, unit=("question", "passages", "centres"))


@wrong("10.5", "before you compare them with the question", "products with centres, for the question")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, probes, k, unit=("question", "passages", "homes"))


@wrong("10.5", "bring the centres to length 1", "products with centres, for both")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, probes, k, unit=("question", "passages"))


@wrong("10.5", "bring the passages to length 1")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, probes, k, unit=("question", "homes", "centres"))


@wrong("10.5", "not the smallest distance", "distances to the centres")
def visit_clusters(question, passages, centres, probes, k):
    home = torch.cdist(nn.functional.normalize(passages, dim=-1), centres).argmin(1)
    near = -(centres - nn.functional.normalize(question, dim=-1)).norm(dim=1)
    first = near.argsort(descending=True, stable=True)[:probes]
    there = torch.isin(home, first).nonzero().flatten()
    worth = nn.functional.normalize(passages[there], dim=-1) @ question
    return there[worth.argsort(descending=True, stable=True)[:k]].tolist(), len(there)


@wrong("10.5", "of equal cosines the smaller number comes first", "the last of equal ones")
def visit_clusters(question, passages, centres, probes, k):
    def kept(worth, there, k):
        return there.flip(0)[worth[there.flip(0)].argsort(descending=True, stable=True)[:k]].tolist()

    return visiting(question, passages, centres, probes, k, kept=kept)


@wrong("10.5", "return a tuple of the passages' numbers", "the list alone")
def visit_clusters(question, passages, centres, probes, k):
    return visiting(question, passages, centres, probes, k)[0]


@wrong("10.5", "visit_clusters raised", "topk of more than there are")
def visit_clusters(question, passages, centres, probes, k):
    def kept(worth, there, k):
        return there[worth[there].topk(k).indices].tolist()

    return visiting(question, passages, centres, probes, k, kept=kept)


@right("10.5", "a dictionary of clusters, Python's own sorting")
def visit_clusters(question, passages, centres, probes, k):
    def like(one, other):
        return torch.cosine_similarity(one.double(), other.double(), dim=0).item()

    members = defaultdict(list)
    for number, passage in enumerate(passages):
        members[max(range(len(centres)), key=lambda c: (round(like(passage, centres[c]), 9), -c))].append(number)
    order = sorted(range(len(centres)), key=lambda c: (-round(like(question, centres[c]), 9), c))
    there = [number for centre in order[:probes] for number in members[centre]]
    return sorted(there, key=lambda number: (-round(like(question, passages[number]), 9), number))[:k], len(there)


@right("10.5", "all cosines, those elsewhere set to minus infinity; numpy")
def visit_clusters(question, passages, centres, probes, k):
    q, p, c = (x.numpy() / np.linalg.norm(x.numpy(), axis=-1, keepdims=True) for x in (question, passages, centres))
    near = np.argsort(-(c @ q).round(6), kind="stable")[:probes]
    inside = np.isin(np.argmax((p @ c.T).round(6), axis=1), near)
    worth = np.where(inside, (p @ q).round(6), -np.inf)
    return np.argsort(-worth, kind="stable")[: min(k, inside.sum())].tolist(), int(inside.sum())


@right("10.5", "products divided by both lengths, as lecture 5 has them, in float32")
def visit_clusters(question, passages, centres, probes, k):
    def like(some, others):
        return some @ others.T / (some.norm(dim=-1, keepdim=True) * others.norm(dim=-1))

    near = like(question[None], centres)[0].argsort(descending=True, stable=True)[:probes]
    there = torch.isin(like(passages, centres).argmax(dim=1), near).nonzero().flatten()
    worth = like(question[None], passages[there])[0]
    return there[worth.argsort(descending=True, stable=True)[:k]].tolist(), len(there)


def others_ahead(scores, relevant, name, count=lambda row, own: (row >= row[own]).sum().item() - 1):
    return [count(row, own) for row, own in zip(scores[name], relevant)]


def first_by_size(n, b):
    return math.comb(79 - b, n - 1) / math.comb(79, n - 1)


def drawing(sizes, share, names=("exact words", "word vectors")):
    """Two lines, the values by ``share`` of a search's name and a size."""
    axes = plt.figure().add_subplot()
    for search, name in zip(("exact words", "word vectors"), names):
        axes.plot(sizes, [share(search, n) for n in sizes], label=name)
    axes.set(xlabel="paragraphs", ylabel="share of questions")
    axes.legend()
    return axes


def mean_of(bs, chance):
    return sum(chance(b) for b in bs) / len(bs)


@wrong("10.6", "end with: return axes", "nothing returned")
def plot_sizes(sizes):
    plt.plot(sizes, sizes)


@wrong("10.6", "one for exact words, one for word vectors", "one line")
def plot_sizes(sizes):
    axes = plt.figure().add_subplot()
    bs = others_ahead(scores, relevant, "exact words")
    axes.plot(sizes, [mean_of(bs, lambda b: first_by_size(n, b)) for n in sizes], label="exact words")
    axes.set(xlabel="paragraphs", ylabel="share")
    axes.legend()
    return axes


@wrong("10.6", "axes.set_xlabel", "no labels")
def plot_sizes(sizes):
    axes = drawing(sizes, lambda name, n: mean_of(others_ahead(scores, relevant, name), lambda b: first_by_size(n, b)))
    axes.set(xlabel="", ylabel="")
    return axes


@wrong("10.6", "an equal score counts as lost", "only what is higher")
def plot_sizes(sizes):
    def share(name, n):
        bs = others_ahead(scores, relevant, name, lambda row, own: (row > row[own]).sum().item())
        return mean_of(bs, lambda b: first_by_size(n, b))

    return drawing(sizes, share)


@wrong("10.6", "only n - 1 others are drawn", "n others")
def plot_sizes(sizes):
    def share(name, n):
        bs = others_ahead(scores, relevant, name)
        return mean_of(bs, lambda b: first_by_size(n + 1, b) if n < 80 else 0.0)

    return drawing(sizes, share)


@wrong("10.6", "plot_sizes raised ZeroDivisionError", "n others, even of 80 paragraphs")
def plot_sizes(sizes):
    def share(name, n):
        bs = others_ahead(scores, relevant, name)
        return mean_of(bs, lambda b: math.comb(79 - b, n) / math.comb(79, n))

    return drawing(sizes, share)


@wrong("10.6", "the others are drawn from 79", "drawn from 80")
def plot_sizes(sizes):
    def share(name, n):
        bs = others_ahead(scores, relevant, name)
        return mean_of(bs, lambda b: math.comb(80 - b, n - 1) / math.comb(80, n - 1))

    return drawing(sizes, share)


@wrong("10.6", "draws with replacement")
def plot_sizes(sizes):
    return drawing(
        sizes,
        lambda name, n: mean_of(others_ahead(scores, relevant, name), lambda b: (1 - b / 79) ** (n - 1)),
    )


@wrong("10.6", "m counts others, not the right paragraph itself", "b is the place")
def plot_sizes(sizes):
    def share(name, n):
        bs = others_ahead(scores, relevant, name, lambda row, own: (row >= row[own]).sum().item())
        return mean_of(bs, lambda b: math.comb(max(79 - b, 0), n - 1) / math.comb(79, n - 1))

    return drawing(sizes, share)


@wrong("10.6", "not the right paragraph itself; and there are 79 of them", "b is the place, drawn from 80")
def plot_sizes(sizes):
    def share(name, n):
        bs = others_ahead(scores, relevant, name, lambda row, own: (row >= row[own]).sum().item())
        return mean_of(bs, lambda b: math.comb(80 - b, n - 1) / math.comb(80, n - 1))

    return drawing(sizes, share)


@wrong("10.6", "this is the chance that one of them is", "one minus the chance")
def plot_sizes(sizes):
    return drawing(
        sizes,
        lambda name, n: 1 - mean_of(others_ahead(scores, relevant, name), lambda b: first_by_size(n, b)),
    )


@wrong("10.6", "not in per cent")
def plot_sizes(sizes):
    return drawing(
        sizes,
        lambda name, n: 100 * mean_of(others_ahead(scores, relevant, name), lambda b: first_by_size(n, b)),
    )


@wrong("10.6", "not the sum")
def plot_sizes(sizes):
    return drawing(
        sizes,
        lambda name, n: sum(first_by_size(n, b) for b in others_ahead(scores, relevant, name)),
    )


@wrong("10.6", "these are the shares among all 80", "the size does not matter")
def plot_sizes(sizes):
    return drawing(sizes, lambda name, n: mean_of(others_ahead(scores, relevant, name), lambda b: b == 0))


@wrong("10.6", "among the first n of all 80", "recall at n")
def plot_sizes(sizes):
    return drawing(sizes, lambda name, n: mean_of(others_ahead(scores, relevant, name), lambda b: b < n))


@wrong("10.6", "not the reciprocal rank", "the mean reciprocal rank")
def plot_sizes(sizes):
    def reciprocal(n, b):
        ways = [math.comb(b, j) * math.comb(79 - b, n - 1 - j) / (1 + j) for j in range(min(b, n - 1) + 1)]
        return sum(ways) / math.comb(79, n - 1)

    return drawing(sizes, lambda name, n: mean_of(others_ahead(scores, relevant, name), lambda b: reciprocal(n, b)))


@wrong("10.6", "not the chance of the mean m")
def plot_sizes(sizes):
    return drawing(sizes, lambda name, n: first_by_size(n, round(mean_of(others_ahead(scores, relevant, name), float))))


@wrong("10.6", "they are not those that stand first on the shelf", "the first n - 1 others")
def plot_sizes(sizes):
    def share(name, n):
        first = 0
        for row, own in zip(scores[name].tolist(), relevant):
            others = [score for i, score in enumerate(row) if i != own][: n - 1]
            first += all(score < row[own] for score in others)
        return first / len(relevant)

    return drawing(sizes, share)


@wrong("10.6", "each other's names", "names exchanged")
def plot_sizes(sizes):
    return drawing(
        sizes,
        lambda name, n: mean_of(others_ahead(scores, relevant, name), lambda b: first_by_size(n, b)),
        ("word vectors", "exact words"),
    )


@wrong("10.6", "one line from each table", "the same search twice")
def plot_sizes(sizes):
    bs = others_ahead(scores, relevant, "exact words")
    return drawing(sizes, lambda name, n: mean_of(bs, lambda b: first_by_size(n, b)))


@wrong("10.6", "the mean over all 320 questions", "five libraries drawn at random")
def plot_sizes(sizes):
    generator = random.Random(0)

    def share(name, n):
        first = 0
        for row, own in zip(scores[name].tolist(), relevant):
            others = [score for i, score in enumerate(row) if i != own]
            first += sum(max(generator.sample(others, n - 1), default=-1.0) < row[own] for _ in range(5)) / 5
        return first / len(relevant)

    return drawing(sizes, share)


@right("10.6", "products of shares, sizes falling, a line for chance")
def plot_sizes(sizes):
    falling, axes = sorted(sizes, reverse=True), plt.subplots()[1]
    axes.plot(falling, [1 / n for n in falling], ":", label="by chance")
    for table in reversed(scores.values()):
        behind = [sum(score < row[own] for score in row) for row, own in zip(table.tolist(), relevant)]
        axes.plot(
            falling,
            [np.mean([math.prod((c - i) / (79 - i) for i in range(n - 1)) for c in behind]) for n in falling],
            marker="x",
        )
    axes.set_xlabel("n")
    axes.set_ylabel("share")
    axes.legend(["by chance", "Word vectors", "Exact words"])
    return axes


@right("10.6", "pyplot, fractions, a logarithmic axis")
def plot_sizes(sizes):
    plt.figure()
    for name in scores:
        times = Counter(others_ahead(scores, relevant, name))
        shares = [
            sum(often * Fraction(math.comb(79 - b, n - 1), math.comb(79, n - 1)) for b, often in times.items()) / 320
            for n in sizes
        ]
        plt.semilogx(sizes, [float(share) for share in shares], label=f"{name} in BM25" if "exact" in name else name)
    plt.xlabel("n")
    plt.ylabel("share")
    plt.legend()
    return plt.gca()

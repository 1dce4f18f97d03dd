"""Homework 7: fine-tuning, named entities, question answering."""
# ruff: noqa: F811, F821

import matplotlib.pyplot as plt
import numpy as np
import torch

from wrong_answers import right, wrong


@wrong("7.1", "a dot must follow", "a prefix without its dot")
def freeze(model, prefixes):
    numbers = 0
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith(tuple(prefixes))
        numbers += parameter.numel() if parameter.requires_grad else 0
    return numbers


@wrong("7.1", "count numbers, not tensors")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any((name + ".").startswith(prefix + ".") for prefix in prefixes)
    return sum(parameter.requires_grad for parameter in model.parameters())


@wrong("7.1", "count only what learns", "all numbers counted")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any((name + ".").startswith(prefix + ".") for prefix in prefixes)
    return sum(parameter.numel() for parameter in model.parameters())


@wrong("7.1", "a parameter that was frozen before must learn again")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        if not any((name + ".").startswith(prefix + ".") for prefix in prefixes):
            parameter.requires_grad = False
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@wrong("7.1", "the encoder is frozen", "nothing frozen")
def freeze(model, prefixes):
    return sum(
        parameter.numel()
        for name, parameter in model.named_parameters()
        if any((name + ".").startswith(prefix + ".") for prefix in prefixes)
    )


@wrong("7.1", "the encoder is frozen", "the other way round")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not any((name + ".").startswith(prefix + ".") for prefix in prefixes)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@wrong("7.1", "a whole name is a prefix, too", "a dot demanded after a whole name")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any(name.startswith(prefix + ".") for prefix in prefixes)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@wrong("7.1", "still counted once", "counted for each prefix")
def freeze(model, prefixes):
    numbers = 0
    for parameter in model.parameters():
        parameter.requires_grad = False
    for prefix in prefixes:
        for name, parameter in model.named_parameters():
            if (name + ".").startswith(prefix + "."):
                parameter.requires_grad = True
                numbers += parameter.numel()
    return numbers


@wrong("7.1", "return how many numbers learn", "nothing returned")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any((name + ".").startswith(prefix + ".") for prefix in prefixes)


@wrong("7.1", "a name must begin with the prefix", "the prefix anywhere in the name")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any(f".{prefix}." in f".{name}." for prefix in prefixes)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@wrong("7.1", "any of the prefixes will do", "the last prefix alone")
def freeze(model, prefixes):
    model.requires_grad_(False)
    for prefix in prefixes:
        for name, parameter in model.named_parameters():
            parameter.requires_grad = name == prefix or name.startswith(prefix + ".")
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@wrong("7.1", "bert.block is no prefix", "a dot asked for where the next character is a digit alone")
def freeze(model, prefixes):
    for name, parameter in model.named_parameters():
        rests = [name[len(prefix) :] for prefix in prefixes if name.startswith(prefix)]
        parameter.requires_grad = any(not rest[:1].isdigit() for rest in rests)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@right("7.1", "regular expressions")
def freeze(model, prefixes):
    import re

    pattern = re.compile("|".join(re.escape(prefix) + r"(\..*)?" for prefix in prefixes) or r"(?!)")
    chosen = {name: bool(pattern.fullmatch(name)) for name, _ in model.named_parameters()}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(chosen[name])
    return torch.cat([torch.zeros(0), *(p.flatten() for p in model.parameters() if p.requires_grad)]).numel()


@right("7.1", "freeze all, then thaw; a tensor for the number")
def freeze(model, prefixes):
    model.requires_grad_(False)
    for name, parameter in model.named_parameters():
        for prefix in prefixes:
            if name == prefix or name.startswith(f"{prefix}."):
                parameter.requires_grad_(True)
    return sum((torch.tensor(p.numel()) for p in model.parameters() if p.requires_grad), torch.tensor(0))


@right("7.1", "names split at their dots")
def freeze(model, prefixes):
    chosen = [prefix.split(".") for prefix in prefixes]
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any(name.split(".")[: len(prefix)] == prefix for prefix in chosen)
    return int(np.sum([np.prod(p.shape) for p in model.parameters() if p.requires_grad]))


@wrong("7.2", "only the first token of a word has its label", "all tokens of a word labelled")
def align_labels(word_ids, labels):
    return [-100 if word is None else labels[word] for word in word_ids]


@wrong("7.2", "the first token of each word, not the last")
def align_labels(word_ids, labels):
    after = [*word_ids[1:], None]
    return [-100 if word is None or word == following else labels[word] for word, following in zip(word_ids, after)]


@wrong("7.2", "word 0 is a word")
def align_labels(word_ids, labels):
    return [labels[word] if word and word != before else -100 for before, word in zip([None, *word_ids], word_ids)]


@wrong("7.2", "label 0 is a label")
def align_labels(word_ids, labels):
    first = [None if word == before else word for before, word in zip([None, *word_ids], word_ids)]
    return [(word is not None and labels[word]) or -100 for word in first]


@wrong("7.2", "as 0 is a class", "0 for nothing")
def align_labels(word_ids, labels):
    first = [None if word == before else word for before, word in zip([None, *word_ids], word_ids)]
    return [0 if word is None else labels[word] for word in first]


@wrong("7.2", "do not count labels, look them up", "labels counted")
def align_labels(word_ids, labels):
    rest, found = iter(labels), []
    for before, word in zip([None, *word_ids], word_ids):
        found.append(-100 if word is None or word == before else next(rest))
    return found


@wrong("7.2", "compare words, not labels")
def align_labels(word_ids, labels):
    spread = [-100 if word is None else labels[word] for word in word_ids]
    return [-100 if label == before else label for before, label in zip([None, *spread], spread)]


@wrong("7.2", "a label for each token", "a label for each word")
def align_labels(word_ids, labels):
    return labels


@wrong("7.2", "there need be no [CLS] at the beginning", "the ends set to -100 unasked")
def align_labels(word_ids, labels):
    inner = zip(word_ids, word_ids[1:-1])
    return [-100, *(-100 if word is None or word == before else labels[word] for before, word in inner), -100]


@wrong("7.2", "there may be one in the middle", "only two special tokens")
def align_labels(word_ids, labels):
    found = [-100]
    for before, word in zip(word_ids, word_ids[1:-1]):
        found.append(-100 if word == before and word is not None else labels[word or 0])
    return [*found, -100] if word_ids[0] is None else [labels[word_ids[0]], *found[1:], labels[word_ids[-1]]]


@wrong("7.2", "there may be one in the middle", "None in the middle labelled as the word before it")
def align_labels(word_ids, labels):
    found, last = [], None
    for place, word in enumerate(word_ids):
        inside = place and None in (word, last) and any(each is not None for each in word_ids[place + 1 :])
        if word is None and last is not None and inside:
            found.append(labels[last])
        else:
            found.append(-100 if word is None or word == last else labels[word])
        last = word
    return found


@right("7.2", "groups of the same word")
def align_labels(word_ids, labels):
    import itertools

    found = []
    for word, group in itertools.groupby(word_ids):
        rest = [-100] * len(list(group))
        found += rest if word is None else [labels[word], *rest[1:]]
    return found


@right("7.2", "numpy, from the back")
def align_labels(word_ids, labels):
    found, place = np.full(len(word_ids), -100), {word: i for i, word in reversed(list(enumerate(word_ids)))}
    for word, i in place.items():
        if word is not None:
            found[i] = labels[word]
    return found


@right("7.2", "a set of words seen, a tensor")
def align_labels(word_ids, labels):
    seen, found = {None}, []
    for word in word_ids:
        found.append(-100 if word in seen else labels[word])
        seen.add(word)
    return torch.tensor(found)


@wrong("7.3", "end is the place after the last word")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag[0] == "I" and place and tags[place - 1][2:] == tag[2:]:
            found[-1] = (tag[2:], found[-1][1], place)
        elif tag != "O":
            found.append((tag[2:], place, place))
    return found


@wrong("7.3", "an entity that reaches the last word counts")
def read_entities(tags):
    found, start = [], None
    for place, tag in enumerate(tags):
        goes_on = start is not None and tag[0] == "I" and tag[2:] == tags[place - 1][2:]
        if start is not None and not goes_on:
            found.append((tags[start][2:], start, place))
            start = None
        if tag != "O" and not goes_on:
            start = place
    return found


@wrong("7.3", "the type is what follows the hyphen")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag[0] == "I" and place and tags[place - 1][2:] == tag[2:]:
            found[-1] = (found[-1][0], found[-1][1], place + 1)
        elif tag != "O":
            found.append((tag, place, place + 1))
    return found


@wrong("7.3", "repair, do not drop it", "only what begins with B-")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag[0] == "B":
            found.append((tag[2:], place, place + 1))
        elif tag[0] == "I" and found and found[-1] == (tag[2:], found[-1][1], place):
            found[-1] = (tag[2:], found[-1][1], place + 1)
    return found


@wrong("7.3", "of another type does not continue the entity", "types not compared")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag[0] == "I" and place and tags[place - 1] != "O":
            found[-1] = (found[-1][0], found[-1][1], place + 1)
        elif tag != "O":
            found.append((tag[2:], place, place + 1))
    return found


@wrong("7.3", "even right after one of the same type", "B- read like I-")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag != "O" and place and tags[place - 1][2:] == tag[2:]:
            found[-1] = (tag[2:], found[-1][1], place + 1)
        elif tag != "O":
            found.append((tag[2:], place, place + 1))
    return found


@wrong("7.3", "continues the tag just before it", "an I- continues the last entity, wherever it is")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag[0] == "I" and found and found[-1][0] == tag[2:]:
            found[-1] = (tag[2:], found[-1][1], place + 1)
        elif tag != "O":
            found.append((tag[2:], place, place + 1))
    return found


@wrong("7.3", "the I- that follows the repaired one", "I- continues B- only")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        before = tags[place - 1] if place else "O"
        begun = before[0] == "B" or (before[0] == "I" and (place < 2 or tags[place - 2][2:] in ("", before[2:])))
        if tag[0] == "I" and begun and before[2:] == tag[2:]:
            found[-1] = (tag[2:], found[-1][1], place + 1)
        elif tag != "O":
            found.append((tag[2:], place, place + 1))
    return found


@wrong("7.3", "all after the first one", "types cut at each hyphen")
def read_entities(tags):
    found, kinds = [], [tag.split("-")[-1] if tag != "O" else "" for tag in tags]
    for place, tag in enumerate(tags):
        if tag[0] == "I" and place and kinds[place - 1] == kinds[place]:
            found[-1] = (kinds[place], found[-1][1], place + 1)
        elif tag != "O":
            found.append((kinds[place], place, place + 1))
    return found


@wrong("7.3", "return a list", "nothing returned")
def read_entities(tags):
    found = [tag for tag in tags if tag != "O"]
    found.sort()


@wrong("7.3", "compare all of the type, not its end", "the end of the tag before compared")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag[0] == "I" and place and tags[place - 1].endswith(tag[2:]):
            found[-1] = (found[-1][0], found[-1][1], place + 1)
        elif tag != "O":
            found.append((tag[2:], place, place + 1))
    return found


@wrong("7.3", "cut off the first two characters", "letters stripped from the type")
def read_entities(tags):
    found = []
    for place, tag in enumerate(tags):
        if tag[0] == "I" and place and tags[place - 1][2:] == tag[2:]:
            found[-1] = (found[-1][0], found[-1][1], place + 1)
        elif tag != "O":
            found.append((tag.lstrip("BI-"), place, place + 1))
    return found


@wrong("7.3", "cut off the first two characters", "each I- and B- replaced")
def read_entities(tags):
    found, kinds = [], [tag.replace("B-", "").replace("I-", "") for tag in tags]
    for place, tag in enumerate(tags):
        if tag[0] == "I" and place and kinds[place - 1] == kinds[place]:
            found[-1] = (kinds[place], found[-1][1], place + 1)
        elif tag != "O":
            found.append((kinds[place], place, place + 1))
    return found


@right("7.3", "from the last tag to the first")
def read_entities(tags):
    found, end = [], None
    for place in reversed(range(len(tags))):
        prefix, _, kind = tags[place].partition("-")
        if prefix == "O":
            continue
        end = place + 1 if end is None else end
        goes_on = prefix == "I" and place > 0 and tags[place - 1] in ("B-" + kind, "I-" + kind)
        if not goes_on:
            found.insert(0, (kind, place, end))
            end = None
    return found


@right("7.3", "an open entity, closed at the end")
def read_entities(tags):
    found, open_kind, start = [], "", 0
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        if open_kind and (prefix != "I" or kind != open_kind):
            found.append((open_kind, start, place))
            open_kind = ""
        if kind and not open_kind:
            open_kind, start = kind, place
    return found


@right("7.3", "lists in place of tuples, two loops")
def read_entities(tags):
    found, place = [], 0
    while place < len(tags):
        end = place + 1
        if tags[place] != "O":
            while end < len(tags) and tags[end] == "I-" + tags[place][2:]:
                end += 1
            found.append([tags[place][2:], place, end])
        place = end
    return found


def counted(read_entities, gold, predicted):
    """Right ones, found and there, by the notebook's own function."""
    pairs = [(set(read_entities(a)), set(read_entities(b))) for a, b in zip(gold, predicted)]
    return [sum(len(part(a, b)) for a, b in pairs) for part in (set.__and__, lambda a, b: b, lambda a, b: a)]


@wrong("7.4", "these are exchanged")
def entity_f1(gold, predicted):
    hits, found, there = counted(read_entities, gold, predicted)
    return hits / max(there, 1), hits / max(found, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "this is a mean over sentences")
def entity_f1(gold, predicted):
    rows = []
    for a, b in zip(gold, predicted):
        hits, found, there = counted(read_entities, [a], [b])
        rows.append((hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)))
    return tuple(np.mean(rows, axis=0))


@wrong("7.4", "count entities, not words", "tags compared word by word")
def entity_f1(gold, predicted):
    pairs = [(a, b) for x, y in zip(gold, predicted) for a, b in zip(x, y)]
    hits = sum(a == b != "O" for a, b in pairs)
    found, there = sum(b != "O" for _, b in pairs), sum(a != "O" for a, _ in pairs)
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "F1 is the harmonic mean")
def entity_f1(gold, predicted):
    hits, found, there = counted(read_entities, gold, predicted)
    precision, recall = hits / max(found, 1), hits / max(there, 1)
    return precision, recall, (precision + recall) / 2


@wrong("7.4", "keep sentences apart")
def entity_f1(gold, predicted):
    there = {entity for tags in gold for entity in read_entities(tags)}
    found = {entity for tags in predicted for entity in read_entities(tags)}
    hits, found, there = len(there & found), len(found), len(there)
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "raised ZeroDivisionError", "nothing to divide by")
def entity_f1(gold, predicted):
    hits, found, there = counted(read_entities, gold, predicted)
    return hits / found, hits / there, 2 * hits / (found + there)


@wrong("7.4", "with a wrong end is wrong", "only the start compared")
def entity_f1(gold, predicted):
    def starts(tags):
        return [(kind, start) for kind, start, end in read_entities(tags)]

    hits, found, there = counted(starts, gold, predicted)
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "the wrong type", "types not compared")
def entity_f1(gold, predicted):
    def places(tags):
        return [(start, end) for kind, start, end in read_entities(tags)]

    hits, found, there = counted(places, gold, predicted)
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "nothing there and nothing found", "1 where nothing is there")
def entity_f1(gold, predicted):
    hits, found, there = counted(read_entities, gold, predicted)
    if not found and not there:
        return 1.0, 1.0, 1.0
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "compare entities, repaired, and not tags")
def entity_f1(gold, predicted):
    def begun(tags):
        return [entity for entity in read_entities(tags) if tags[entity[1]][0] == "B"]

    hits, found, there = counted(begun, gold, predicted)
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "read each sentence alone", "all sentences put together")
def entity_f1(gold, predicted):
    hits, found, there = counted(read_entities, [sum(gold, [])], [sum(predicted, [])])
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


@wrong("7.4", "this is a mean over types")
def entity_f1(gold, predicted):
    kinds = sorted({tag[2:] for side in (gold, predicted) for tags in side for tag in tags if tag != "O"})
    rows = [(0.0, 0.0, 0.0)] * (not kinds)
    for kind in kinds:
        hits, found, there = counted(lambda tags: [e for e in read_entities(tags) if e[0] == kind], gold, predicted)
        rows.append((hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)))
    return tuple(np.mean(rows, axis=0))


@right("7.4", "loops and lists")
def entity_f1(gold, predicted):
    hits = found = there = 0
    for truth, guess in zip(gold, predicted):
        truth, guess = read_entities(truth), read_entities(guess)
        there, found = there + len(truth), found + len(guess)
        for entity in guess:
            hits += entity in truth
    precision, recall = (hits / number if number else 0 for number in (found, there))
    return [precision, recall, 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0]


@right("7.4", "numbered sentences in one set")
def entity_f1(gold, predicted):
    there, found = (
        {(number, *entity) for number, tags in enumerate(side) for entity in read_entities(tags)}
        for side in (gold, predicted)
    )
    hits = len(there & found)
    return hits / (len(found) or 1), hits / (len(there) or 1), 2 * hits / (len(there) + len(found) or 1)


@right("7.4", "a tensor of three")
def entity_f1(gold, predicted):
    hits, found, there = torch.tensor(counted(read_entities, gold, predicted), dtype=torch.float64)
    scores = torch.stack([hits / found, hits / there, 2 * hits / (found + there)])
    return tuple(torch.nan_to_num(scores))


def sums_of(start, end, longest, low=-torch.inf):
    """The matrix of sums, with ``low`` for what is not allowed."""
    allowed = torch.ones(len(start), len(start)).triu().tril(longest - 1).bool()
    return (start[:, None] + end).masked_fill(~allowed, low)


def spans_of(start, end, longest, n, low=-torch.inf, taken=lambda i, j: (slice(None, j + 1), slice(i, None))):
    """The n best spans, one after the other; ``taken`` says which cells each of them forbids."""
    size, found, sums = len(start), [], sums_of(start, end, longest, low)
    for _ in range(n):
        i, j = divmod(int(sums.argmax()), size)
        found.append((i, j))
        sums[taken(i, j)] = low
    return found


@wrong("7.5", "only spans with i <= j count", "the best of each alone")
def best_spans(start, end, longest, n):
    return [*zip(start.topk(n).indices.tolist(), end.topk(n).indices.tolist())]


@wrong("7.5", "the best first, and no two spans share a token", "the best starts first")
def best_spans(start, end, longest, n):
    starts = start.topk(n).indices.tolist()
    return [(i, i + int(end[i : i + longest].argmax())) for i in starts]


@wrong("7.5", "no two spans share a token", "the n best, whatever they share")
def best_spans(start, end, longest, n):
    return spans_of(start, end, longest, n, taken=lambda i, j: (i, j))


@wrong("7.5", "a span inside a better one", "only the same start or the same end are forbidden")
def best_spans(start, end, longest, n):
    size, found = len(start), []
    sums = sums_of(start, end, longest)
    for _ in range(n):
        i, j = divmod(int(sums.argmax()), size)
        found.append((i, j))
        sums[i] = sums[:, j] = -torch.inf
    return found


@wrong("7.5", "a span around a better one", "both ends must lie outside")
def best_spans(start, end, longest, n):
    size, found = len(start), []
    sums = sums_of(start, end, longest)
    for _ in range(n):
        i, j = divmod(int(sums.argmax()), size)
        found.append((i, j))
        sums[i : j + 1] = sums[:, i : j + 1] = -torch.inf
    return found


@wrong("7.5", "the best span first", "in the order of the text")
def best_spans(start, end, longest, n):
    return sorted(spans_of(start, end, longest, n))


@wrong("7.5", "j - i + 1 <= longest", "one token too long")
def best_spans(start, end, longest, n):
    return spans_of(start, end, longest + 1, n)


@wrong("7.5", "at most longest tokens", "no limit")
def best_spans(start, end, longest, n):
    return spans_of(start, end, len(start), n)


@wrong("7.5", "what is not allowed has minus infinity, not 0")
def best_spans(start, end, longest, n):
    return spans_of(start, end, longest, n, low=0.0)


@wrong("7.5", "nor a number that sums may be below", "minus a million in place of minus infinity")
def best_spans(start, end, longest, n):
    return spans_of(start, end, longest, n, low=-1e6)


@wrong("7.5", "neither probabilities (softmax) nor products", "probabilities added up")
def best_spans(start, end, longest, n):
    return spans_of(start.softmax(0), end.softmax(0), longest, n)


@wrong("7.5", "return n pairs", "the best span alone")
def best_spans(start, end, longest, n):
    return spans_of(start, end, longest, 1)[0]


@right("7.5", "all spans sorted, and taken if they are free")
def best_spans(start, end, longest, n):
    spans = [(i, j) for i in range(len(start)) for j in range(i, min(i + longest, len(end)))]
    free, found = set(range(len(start))), []
    for i, j in sorted(spans, key=lambda span: -float(start[span[0]] + end[span[1]])):
        if len(found) < n and free.issuperset(range(i, j + 1)):
            found.append((i, j))
            free -= set(range(i, j + 1))
    return found


@right("7.5", "a tensor, and used tokens without a score")
def best_spans(start, end, longest, n):
    found, size = [], len(start)
    used = torch.zeros(size, dtype=torch.bool)
    for _ in range(n):
        spans = [
            (float(start[i] + end[j]), i, j)
            for i in range(size)
            for j in range(i, min(i + longest, size))
            if not used[i : j + 1].any()
        ]
        _, i, j = max(spans)
        used[i : j + 1] = True
        found.append(torch.tensor([i, j]))
    return torch.stack(found)


def drawing(numbers, *lines):
    axes = plt.figure().add_subplot()
    for number, line in enumerate(lines):
        axes.plot(numbers, line, label=f"line {number}")
    axes.set(xlabel="n", ylabel="%")
    axes.legend()
    return axes


def accuracies(numbers, vectors, labels, train, test, last=False, raw=False, near=torch.matmul, short=False):
    """Accuracy in percent of the nearest class mean; by ``near`` of tickets and means."""
    unit, names, found = torch.nn.functional.normalize(vectors, dim=1), sorted(set(labels)), []
    for n in numbers:
        rows = [[i for i in train if labels[i] == name] for name in names]
        rows = [own[-n:] if last else own[:n] for own in rows]
        means = torch.stack([(vectors if raw else unit)[own].mean(0) for own in rows])
        means = means if short else torch.nn.functional.normalize(means, dim=1)
        guesses = near(unit[test], means.T).argmax(1).tolist()
        found.append(100 * np.mean([names[guess] == labels[i] for guess, i in zip(guesses, test)]))
    return found


@wrong("7.6", "end with: return axes", "nothing returned")
def plot_labels(numbers):
    plt.plot(numbers, numbers)


@wrong("7.6", "one for MiniLM, one for bag of words", "one line")
def plot_labels(numbers):
    return drawing(numbers, accuracies(numbers, features["MiniLM"], labels, train, test))


@wrong("7.6", "axes.set_xlabel", "no labels")
def plot_labels(numbers):
    axes = drawing(numbers, numbers, numbers)
    axes.set(xlabel="", ylabel="")
    return axes


@wrong("7.6", "100 times the share", "shares from 0 to 1")
def plot_labels(numbers):
    return drawing(numbers, [0.8] * len(numbers), [0.5] * len(numbers))


@wrong("7.6", "nobody may be tested on what was learned from", "tested on train")
def plot_labels(numbers):
    return drawing(numbers, *(accuracies(numbers, each, labels, train, train) for each in features.values()))


@wrong("7.6", "not always all", "all labels at every point")
def plot_labels(numbers):
    lines = [accuracies([64], each, labels, train, test) * len(numbers) for each in features.values()]
    return drawing(numbers, *lines)


@wrong("7.6", "one line for each kind of features", "MiniLM twice")
def plot_labels(numbers):
    lines = [accuracies(numbers, features["MiniLM"], labels, train, test) for _ in range(2)]
    return drawing(numbers, *lines)


@wrong("7.6", "the first n tickets of each class", "the last n")
def plot_labels(numbers):
    return drawing(numbers, *(accuracies(numbers, each, labels, train, test, last=True) for each in features.values()))


@wrong("7.6", "length 1 before you take the mean", "means of raw vectors")
def plot_labels(numbers):
    return drawing(numbers, *(accuracies(numbers, each, labels, train, test, raw=True) for each in features.values()))


@wrong("7.6", "bring the means to length 1, too", "products with means that are not of length 1")
def plot_labels(numbers):
    lines = [accuracies(numbers, each, labels, train, test, short=True) for each in features.values()]
    return drawing(numbers, *lines)


@wrong("7.6", "and not the smallest distance", "the smallest distance")
def plot_labels(numbers):
    def near(tickets, means):
        return -torch.cdist(tickets, means.T)

    lines = [accuracies(numbers, each, labels, train, test, near=near, short=True) for each in features.values()]
    return drawing(numbers, *lines)


@wrong("7.6", "names in the legend are exchanged")
def plot_labels(numbers):
    axes = plt.figure().add_subplot()
    for each in features.values():
        axes.plot(numbers, accuracies(numbers, each, labels, train, test))
    axes.set(xlabel="n", ylabel="%")
    axes.legend(["bag of words", "MiniLM"])
    return axes


@wrong("7.6", "names in the legend are exchanged", "names exchanged where the lines are drawn")
def plot_labels(numbers):
    axes = plt.figure().add_subplot()
    for name, each in zip(reversed(features), features.values()):
        axes.plot(numbers, accuracies(numbers, each, labels, train, test), label=name)
    axes.set(xlabel="n", ylabel="%")
    axes.legend()
    return axes


@wrong("7.6", "this is one ticket more", "one ticket more")
def plot_labels(numbers):
    lines = [accuracies([n + 1 for n in numbers], each, labels, train, test) for each in features.values()]
    return drawing(numbers, *lines)


@wrong("7.6", "the first n tickets of each class in train", "the labels of two classes exchanged")
def plot_labels(numbers):
    other = {"billing": "hardware", "hardware": "billing", "software": "software"}
    guessed = [other[label] if i in set(test) else label for i, label in enumerate(labels)]
    return drawing(numbers, *(accuracies(numbers, each, guessed, train, test) for each in features.values()))


@right("7.6", "numbers falling, names handed to the legend")
def plot_labels(numbers):
    axes, falling = plt.figure().add_subplot(), sorted(numbers, reverse=True)
    for each in (features["bag of words"], features["MiniLM"]):
        axes.plot(falling, accuracies(falling, each, labels, train, test))
    axes.set(xlabel="n", ylabel="%")
    axes.legend(["bag of words: how often each word occurs", "MiniLM: 384 numbers"])
    return axes


@right("7.6", "numpy, sums for means, ties to the last class")
def plot_labels(numbers):
    axes = plt.figure().add_subplot()
    for name, vectors in features.items():
        unit = vectors.double().numpy()
        unit = unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
        truth, line = np.array(labels)[test], []
        for n in numbers:
            sums = np.stack([unit[[i for i in train if labels[i] == name][:n]].sum(0) for name in CLASSES[::-1]])
            cosines = unit[test] @ sums.T / np.linalg.norm(sums, axis=1)
            line.append(100 * (np.array(CLASSES[::-1])[cosines.argmax(1)] == truth).mean())
        axes.plot(numbers, line, label=name)
    axes.set(xlabel="n", ylabel="%")
    axes.figure.legend()
    return axes


@right("7.6", "pyplot, scikit-learn's nearest centroid")
def plot_labels(numbers):
    from sklearn.neighbors import KNeighborsClassifier

    plt.figure()
    for name in ("bag of words", "MiniLM"):
        unit, line = torch.nn.functional.normalize(features[name], dim=1).numpy(), []
        for n in numbers:
            rows = [[i for i in train if labels[i] == label][:n] for label in CLASSES]
            nearest = KNeighborsClassifier(1, metric="cosine").fit([unit[own].mean(0) for own in rows], CLASSES)
            line.append(100 * nearest.score(unit[test], [labels[i] for i in test]))
        plt.plot(numbers, line, label=name)
    plt.xlabel("n")
    plt.ylabel("%")
    plt.legend()
    return plt.gca()


@right("7.6", "the tests' own helper")
def plot_labels(numbers):
    return drawing(numbers, *(accuracies(numbers, each, labels, train, test) for each in features.values()))

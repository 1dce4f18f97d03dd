"""Homework 4: masked words and the loss of a word, pairs of sentences, full rows, the learning rate."""

import math

import torch

from bertcourse_homework.drawing import Drawing
from bertcourse_homework.engine import Answer, Call, exercise, random

IGNORED = -100


@exercise("4.1", "mask_words", points=3)
def mask_words(answer: Answer) -> None:
    """80/10/10 of the pieces of words that are each chosen independently, and never of what belongs to no word."""
    is_special = torch.zeros(50, dtype=torch.bool)
    is_special[[0, 1, 2, 3, 20]] = True  # [PAD], [UNK], [CLS], [SEP], [MASK]
    row = torch.tensor([2, *range(4, 20), *range(21, 50), 3, 0, 0, 0])
    batch = row.repeat(600, 1)
    sizes = [1, 2, 1, 4, 1, 3, 2, 1, 1, 4, 3, 1, 2, 1, 1, 4, 1, 3, 2, 1, 2, 1, 2, 1]  # pieces of 24 words
    one, other = (torch.arange(24).repeat_interleave(torch.tensor(each)) for each in (sizes, sizes[::-1]))
    ends = torch.tensor([-1]), torch.full((4,), -1)
    words = torch.stack([torch.cat([ends[0], each, ends[1]]) for each in (one, other)]).repeat(300, 1)
    call = answer(batch, words, is_special, 20, 0.3, 1)
    both = "return (what the model reads, labels), both (B, L)"
    read, labels = (call[i].has_shape(600, 50, cause=both) for i in (0, 1))
    labels.holds(
        "a label is the true token, or -100 for nothing",
        lambda found: (found == batch) | (found == IGNORED),
        "the label is the token that stood there before, not what stands there now; -100 everywhere else",
    )
    in_word = words != -1
    labels.holds(
        "what belongs to no word has no label",
        lambda found: found[~in_word] == IGNORED,
        "[CLS], [SEP] and [PAD] are never chosen: leave out word_ids of -1, which as an index is the last one",
    )
    chosen = labels.value != IGNORED
    read.holds(
        "where there is no label, all stays as it was",
        lambda found: found[~chosen] == batch[~chosen],
        "change only what has a label: choose once, and use that for both",
    )
    of_word = torch.nn.functional.one_hot(words.clamp(min=0), 24) * in_word[..., None]
    size, hidden = of_word.sum(1), (of_word * chosen[..., None]).sum(1)  # (600, 24)
    shown = read.value[chosen]
    masks = (shown == 20).float().mean().item()
    same = (shown == batch[chosen]).float().mean().item()
    stayed = "what was chosen and stayed as it was has a label, too"
    parts = ((hidden > 0) & (hidden < size)).sum() / (hidden > 0).sum().clamp(min=1)
    labels.holds(
        f"all pieces of a word have a label, or none; here {parts:.0%} of the words with a label have it in part",
        lambda _: (hidden == 0) | (hidden == size),
        stayed
        if same < 0.02
        else "draw one random number for each word, not for each token, and look it up for all pieces of the word",
    )
    taken = hidden > 0
    labels.holds(
        "rows have different holes, and different numbers of them",
        lambda _: len(taken.sum(1).unique()) > 3 and (taken[0] != taken[2]).any(),
        "each word of each row is chosen by itself: one random number for each word of each of the B rows",
    )
    share = taken.float().mean().item()
    of_size = [taken[size == pieces].float().mean().item() for pieces in (1, 2, 3, 4)]
    firsts = taken[:, 0].float().mean().item()
    causes = {
        stayed: same < 0.02,
        "word 0 is a word, too: compare with -1": firsts == 0 < share,
        "choose words, not tokens that take their word along: a long word is chosen no more often than a short one": (
            of_size[3] > 1.4 * of_size[0]
        ),
        "choose words, not tokens: a long word is chosen no less often than a short one": of_size[3] < of_size[0] / 1.4,
        "choose each word with a probability of rate": True,
    }
    cause = next(cause for cause, holds in causes.items() if holds)
    labels.holds(
        f"30 % of the words are chosen, and so are 30 % of those of one piece and of four; here {share:.0%}, "
        f"{of_size[0]:.0%} and {of_size[3]:.0%}",
        lambda _: abs(share - 0.3) < 0.02 and all(abs(each - 0.3) < 0.04 for each in of_size),
        cause,
    )
    labels.holds(
        "the first word of a row and the last are chosen as often as the others",
        lambda _: (abs(taken.float().mean(0) - 0.3) < 0.1).all(),
        cause,
    )
    read.holds(
        f"80 % of the chosen ones are [MASK], here {masks:.0%}",
        lambda _: abs(masks - 0.8) < 0.025,
        "of the chosen tokens 80 % become mask_id: a second random number decides",
    )
    read.holds(
        f"10 % of the chosen ones stay, and 10 % become another token; here {same:.0%} and {1 - same - masks:.0%}",
        lambda _: abs(same - 0.102) < 0.02,
        "10 % of all the chosen, not of what the 80 % left: half of the rest stays",
    )
    shows_mask = (of_word * (read.value == 20)[..., None]).sum(1)
    four = (shows_mask == 4)[(size == 4) & taken].float().mean().item()
    read.holds(
        f"the pieces of a word become different things; here {four:.0%} of the words of four show [MASK] four times",
        lambda _: four < 0.6,
        "a second random number for each token says what becomes of it, not one for the word or the row",
    )
    is_random = chosen & (read.value != 20) & (read.value != batch)
    others = read.value[is_random]
    read.holds(
        "no random token is special",
        lambda _: ~is_special[others],
        "draw random tokens among those that are not special; the special ids need not be the first ones",
    )
    own = [len(each[at].unique()) > 1 for each, at in zip(read.value, is_random) if at.sum() > 1]
    read.holds(
        "random tokens differ within a row",
        lambda _: sum(own) > len(own) / 2,
        "each place has a random token of its own",
    )
    read.holds(
        "each of the 45 ordinary tokens comes as a random one",
        lambda _: len(others.unique()) == 45,
        "draw a random token from all that are not special, the first and the last one, too",
    )
    cause = "make a generator from the seed, torch.Generator().manual_seed(seed), and draw from it alone"
    again = answer(batch, words, is_special, 20, 0.3, 1)
    again[1].equals(labels.value, cause)
    again[0].equals(read.value, cause)
    other = answer(batch, words, is_special, 20, 0.3, 2)[1].has_shape(600, 50)
    other.holds("another seed gives other holes", lambda found: (found != labels.value).any(), cause)
    usual = answer(batch, words, is_special, 20)[1].has_shape(600, 50)
    usual.holds(
        "without a rate, 15 % of the words are chosen",
        lambda found: abs(((of_word * (found != IGNORED)[..., None]).sum(1) > 0).float().mean().item() - 0.15) < 0.02,
        "use rate, not a number of your own; it is 0.15 if none is given",
    )
    none = answer(batch[:3], words[:3], is_special, 20, 0.0)[1].has_shape(3, 50)
    none.holds("with a rate of 0 nothing has a label", lambda found: found == IGNORED, "a row may have no hole")
    every = answer(batch[:3], words[:3], is_special, 20, 1.0)[1].has_shape(3, 50)
    every.holds(
        "with a rate of 1 every token of a word has a label",
        lambda found: (found != IGNORED) == in_word[:3],
        "choose where torch.rand(…) < rate",
    )


@exercise("4.2", "whole_word_loss", points=3)
def whole_word_loss(answer: Answer) -> None:
    """The mean over hidden words of the sum over their pieces."""
    labels = torch.full((2, 9), IGNORED)
    labels[0, [1, 2, 3, 5, 6, 7]] = torch.tensor([1, 3, 2, 1, 3, 0])
    labels[1, [2, 3]] = torch.tensor([2, 1])
    words = torch.tensor([[-1, 0, 1, 1, 2, 3, 3, 4, -1], [-1, 0, 1, 1, 2, 3, -1, -1, -1]])
    logits = torch.zeros(2, 9, 4)
    for row, place, token, odds in [(0, 1, 1, 5), (0, 3, 2, 13), (0, 5, 0, 5), (0, 6, 3, 9), (1, 2, 2, 3)]:
        logits[row, place, token] = math.log(odds)
    p = [[5 / 8], [1 / 4, 13 / 16], [1 / 8, 3 / 4], [1 / 4], [1 / 2, 1 / 4]]  # of the pieces of five words
    each = [-math.log(math.prod(pieces)) for pieces in p]
    total = sum(each)
    loss = answer(logits, labels, words).has_shape(cause="return one number: the mean over all hidden words")
    over_words = "the sum over holes of -log softmax(scores)[label], divided by the number of hidden words"
    loss.equals(
        total / 5,
        over_words,
        mistakes={
            "divide by the number of hidden words, not of their pieces": total / 8,
            "word 1 of one row is not word 1 of another: count the words of each row": total / 4,
            "hidden words side by side are several words: their word_ids differ": total / 3,
            "divide by the number of hidden words, not of all words": total / 9,
            "not every word up to the last hidden one is hidden: count those that are": total / 7,
            "the mean over words, not their sum": total,
            "the losses of a word's pieces are added: their mean is not -log of a product": sum(
                nats / len(pieces) for nats, pieces in zip(each, p)
            )
            / 5,
            "all pieces of a word count, not the first one alone": -sum(math.log(pieces[0]) for pieces in p) / 5,
            "the probabilities of a word's pieces are multiplied: add their logarithms": -sum(
                math.log(sum(pieces) / len(pieces)) for pieces in p
            )
            / 5,
            "each word counts the same: do not take a mean for each row first": (sum(each[:4]) / 4 + each[4]) / 2,
            "a label of 0 is a token, too: compare with -100": (total - each[3]) / 4,
            "word 0 is a word, too": (total - each[0]) / 4,
            "nats: the natural logarithm": total / 5 / math.log(2),
            "minus the logarithm": -total / 5,
        },
    )
    far, two = torch.tensor([[[1000.0, 0.0], [0.0, 1000.0]]]), torch.tensor([[0, 1]])
    cause = "exp(1000) is infinite, and log(0) minus infinity: the score minus logsumexp of its row is safe"
    safe = answer(far, torch.tensor([[1, 1]]), two).has_shape()
    safe.holds("the loss is a finite number", lambda found: torch.isfinite(found), cause).equals(500.0, cause)
    apart = torch.tensor([[[0.0, 0.0, 0.0], [1000.0, 0.0, 0.0]]])
    answer(apart, torch.tensor([[1, 0]]), two).has_shape().equals(
        math.log(3) / 2, "the score minus logsumexp of its own row: take off the largest score of the row, not of all"
    )
    none = answer(torch.ones(1, 2, 3), torch.full((1, 2), IGNORED), two).has_shape()
    none.holds(
        "the loss of no holes is a number", lambda found: ~torch.isnan(found), "the mean of nothing is NaN: return 0"
    )
    none.equals(0.0, "without any hole the loss is 0")
    wild = logits + 50 * (labels == IGNORED)[..., None] * torch.tensor([1.0, -1.0, 0.0, 2.0])
    answer(wild, labels, words).has_shape().equals(total / 5, "what the model says where no label is must not matter")
    marks = torch.tensor([[0, 3, IGNORED, 9, 9], [IGNORED, 5, 1, IGNORED, 0], [7, IGNORED, 2, 4, IGNORED]])
    places = torch.tensor([[0, 0, 1, 2, 3], [0, 1, 1, 2, 3], [0, 1, 2, 2, 3]])
    answer(3 * random(3, 5, 10, seed=1), marks, places).has_shape().equals_stored("seven words", over_words)
    learning = (3 * random(2, 4, 6, seed=2)).requires_grad_()
    marks, places = torch.tensor([[0, 0, 5, 1], [IGNORED, 2, 2, IGNORED]]), torch.tensor([[0, 0, 1, 1], [0, 1, 1, 2]])
    learns = answer(learning, marks, places)
    cause = "return a tensor from which a gradient flows back to logits: .item(), numpy and torch.tensor cut it off"
    learns.is_a(torch.Tensor, cause)
    learns.holds("a model can learn from the loss: it has a gradient", lambda loss: loss.requires_grad, cause)


@exercise("4.3", "next_sentences", points=3)
def next_sentences(answer: Answer) -> None:
    """Half of the second sentences follow the first, half come from another document."""
    documents = [[f"{d}.{s}" for s in range(size)] for d, size in enumerate([15, 4, 1, 22, 9, 30, 1, 13])]
    follows = {a: b for document in documents for a, b in zip(document, document[1:])}
    examples, calls = [], []
    for seed in range(20):
        call = answer(documents, seed).is_a(list, "return a list of examples (A, B, label)")
        call.holds(
            "each example is (A, B, label)",
            lambda found: all(len(each) == 3 and each[2] in (0, 1) for each in found),
            "append (first, second, 0), or 1 for the label",
        )
        call.holds(
            f"there is an example for each of {len(follows)} sentences that have a next one",
            lambda found: len(found) == len(follows),
            "one example for each two neighbours: a sentence is A even if it was B before, and the last one of a "
            "document is never A",
        )
        call.holds(
            "the As are these sentences, in order",
            lambda found: [each[0] for each in found] == list(follows),
            "go through documents and sentences in order",
        )
        call = Call(answer, call.text, [(a, b, int(label)) for a, b, label in call.value])
        examples += call.value
        calls.append(call)
    found = Call(answer, "next_sentences(8 documents, seed), with 20 seeds", examples)
    cause = "make a generator from the seed, random.Random(seed), and draw from it alone"
    answer(documents, 3).equals(calls[3].value, cause)
    found.holds("other seeds give other examples", lambda _: calls[3].value != calls[4].value, cause)
    found.holds(
        "with label 0, B is the sentence after A",
        lambda rows: all(follows[a] == b for a, b, label in rows if label == 0),
        "label 0 means that B follows A, 1 that it does not",
    )
    found.holds(
        "with label 1, B is not the sentence after A",
        lambda rows: all(follows[a] != b for a, b, label in rows if label == 1),
        "label 0 means that B follows A; and a random B must not be the true one by chance: take it from another "
        "document",
    )
    found.holds(
        "with label 1, B is from another document",
        lambda rows: all(a.split(".")[0] != b.split(".")[0] for a, b, label in rows if label == 1),
        "leave A's own document out when you draw: a sentence near by may well follow in sense",
    )
    labels = [[label for _, _, label in call.value] for call in calls]
    starts = [i for i, (a, _, _) in enumerate(calls[0].value) if a.endswith(".0")]
    alike = sum(len({each[i] for i in starts}) == 1 for each in labels)
    found.holds(
        f"documents begin with different labels; here all with the same, with {alike} of 20 seeds",
        lambda _: alike < 12,
        "one generator, made before the loop over documents: each document begins with the same numbers otherwise",
    )
    turns = [a != b for each in labels for i, (a, b) in enumerate(zip(each, each[1:])) if i + 1 not in starts]
    often = sum(turns) / len(turns)
    coin = "a coin for each example, not labels in turn, not one for a document, and not a number fixed before"
    found.holds(
        f"a label and the next one differ about every second time; here {often:.0%}",
        lambda _: 0.25 < often < 0.75,
        coin,
    )
    share = sum(label for _, _, label in examples) / len(examples)
    found.holds(
        f"half of the labels are 1, here {share:.0%}",
        lambda _: abs(share - 0.5) < 0.06,
        "with probability one half B is the next sentence, otherwise one from another document",
    )
    found.holds("the number of 1s differs from seed to seed", lambda _: len({sum(each) for each in labels}) > 1, coin)
    many = [example for seed in range(20, 60) for example in answer(documents, seed).value]
    drawn = [b for _, b, label in examples + many if label == 1]
    found.holds(
        "B comes from every document, also from those of one sentence",
        lambda _: len({b.split(".")[0] for b in drawn}) == len(documents),
        "any other document, not the next one or the first one",
    )
    found.holds(
        "to the longest document's As there are Bs from all others",
        lambda _: len({b.split(".")[0] for a, b, label in examples + many if label == 1 and a[:2] == "5."}) >= 6,
        "any other document, not only a neighbour",
    )
    found.holds(
        "B is any sentence of its document, not always the first",
        lambda _: len({b.split(".")[1] for b in drawn}) > 20,
        "draw a sentence, too",
    )
    places = [[tuple(map(int, each.split("."))) for each in (a, b)] for a, b, label in examples + many if label == 1]
    own = [a % len(documents[d]) == b for (_, a), (d, b) in places if len(documents[d]) > 8]
    found.holds("B does not stand where A stands", lambda _: sum(own) < 0.4 * len(own), "draw a sentence, too")
    long = [document for document in documents if len(document) > 1]
    found.holds(
        "last and first sentences come as B, too",
        lambda _: all(len({text[end] for text in long} & set(drawn)) >= 4 for end in (-1, 0)),
        "any sentence of it, the last one, too: generator.choice(document)",
    )
    pair = answer([["a", "b"], ["c"]], 5).is_a(list)
    pair.holds(
        "of two documents, B is the next sentence or the only other one",
        lambda rows: [*map(tuple, rows)] in ([("a", "b", 0)], [("a", "c", 1)]),
        "a document of one sentence makes no example",
    )


@exercise("4.4", "pack", points=3)
def pack(answer: Answer) -> None:
    """RoBERTa's FULL-SENTENCES format: whole sentences, as many as fit into a row."""
    documents = [[[11, 12], [13, 14, 15]], [[21, 22]], [[31], [32, 33], [34]]]
    rows = answer(documents, 8, 1, 2).is_a(list, "return a list of rows")
    rows.holds("each row begins with [CLS]", lambda found: all(row[0] == 1 for row in found), "row = [cls_id]")
    rows.holds("each row ends with [SEP]", lambda found: all(row[-1] == 2 for row in found), "close a row with sep_id")
    tokens = [i for document in documents for sentence in document for i in sentence]
    rows.holds(
        "all tokens are there",
        lambda found: sorted(i for row in found for i in row if i > 2) == sorted(tokens),
        "no sentence is lost, the last row is closed, too, and no sentence comes twice",
    )
    rows.holds(
        "they are in order",
        lambda found: [i for row in found for i in row if i > 2] == tokens,
        "take the sentences in order: a later sentence does not fill the room of an earlier row",
    )
    rows.holds(
        "no row has more than 8 tokens",
        lambda found: max(map(len, found)) <= 8,
        "count [CLS], the last [SEP], and the one between two documents",
    )
    rows.equals(
        [[1, 11, 12, 13, 14, 15, 2], [1, 21, 22, 2, 31, 32, 33, 2], [1, 34, 2]],
        "as many whole sentences as fit, and [SEP] only between documents and at the end",
        mistakes={
            "go on in the next document, with [SEP] between: a row need not end with its document": [
                [1, 11, 12, 13, 14, 15, 2],
                [1, 21, 22, 2],
                [1, 31, 32, 33, 34, 2],
            ],
            "where a new document begins within a row, another [SEP] stands between": [
                [1, 11, 12, 13, 14, 15, 2],
                [1, 21, 22, 31, 32, 33, 34, 2],
            ],
            "a row is closed before a sentence that does not fit, and rows are not cut from one long text": [
                [1, 11, 12, 13, 14, 15, 2, 2],
                [1, 21, 22, 2, 31, 32, 33, 2],
                [1, 34, 2],
            ],
            "[SEP] stands between documents, not between all sentences": [
                [1, 11, 12, 2, 13, 14, 15, 2],
                [1, 21, 22, 2, 31, 2],
                [1, 32, 33, 2, 34, 2],
            ],
        },
    )
    answer(documents, 10, 1, 2).equals(
        [[1, 11, 12, 13, 14, 15, 2, 21, 22, 2], [1, 31, 32, 33, 34, 2]],
        "a row may have exactly `length` tokens",
    )
    answer([[[11, 12]], [[21]]], 5, 1, 2).equals(
        [[1, 11, 12, 2], [1, 21, 2]],
        "count [CLS], the last [SEP], and the one between two documents",
        mistakes={
            "a row that begins with a new document has no [SEP] at its beginning": [[1, 11, 12, 2], [1, 2, 21, 2]]
        },
    )
    answer([[[11], [12, 13, 14], [15]]], 5, 1, 2).equals(
        [[1, 11, 2], [1, 12, 13, 14, 2], [1, 15, 2]],
        "take the sentences in order: a later sentence does not fill the room of an earlier row",
    )
    answer(documents, 5, 1, 2).equals(
        [[1, 11, 12, 2], [1, 13, 14, 15, 2], [1, 21, 22, 2], [1, 31, 32, 33, 2], [1, 34, 2]],
        "a row that begins with a new document has no [SEP] at its beginning",
    )
    answer([[[11, 12, 13], [14]], [[21, 22, 23]]], 5, 1, 2).equals(
        [[1, 11, 12, 13, 2], [1, 14, 2], [1, 21, 22, 23, 2]],
        "a sentence of length - 2 tokens fills a row of its own: an empty row is not closed, and has no [SEP] to add",
    )
    answer(documents, 100, 1, 2).equals(
        [[1, 11, 12, 13, 14, 15, 2, 21, 22, 2, 31, 32, 33, 34, 2]], "if everything fits, there is one row"
    )
    answer([], 9, 1, 2).holds(
        "no documents, no rows", lambda found: len(found) == 0, "a row of special tokens alone is none"
    )
    answer([[], [[11]], [], [[21], [22]], [], [[31, 32]], []], 7, 1, 2).equals(
        [[1, 11, 2, 21, 22, 2], [1, 31, 32, 2]], "an empty document leaves no trace: no [SEP] for it"
    )
    long = [[[100 * d + s] * (1 + (2 * d + 3 * s) % 5) for s in range(1 + d % 3)] for d in range(1, 9)]
    answer(long, 12, 1, 2).equals_stored("eight documents", "as many whole sentences as fit, in order")


@exercise("4.5", "learning_rate", points=3)
def learning_rate(answer: Answer) -> None:
    """Warm-up and decay, at both ends and where they meet."""

    def rate(step: int, peak: float, warmup: int, total: int, expected: float, cause: str, **known: float) -> None:
        """Check one value, to within a millionth; ``known`` are the values that the mistakes in ``causes`` give."""
        mistakes = {causes[name]: value for name, value in known.items()}
        answer(step, peak, warmup, total).has_shape(cause="return one number").equals(expected, cause, 1e-6, mistakes)

    causes = {
        "whole": "divide with /, not in whole steps with //",
        "early": "steps are counted from 1: step 1 of a warm-up of 10 has a tenth of the peak",
        "bent": "a straight line: peak · step / warmup",
        "flat": "after the warm-up it falls in a straight line, to 0 at step total",
        "start": "the way down begins at step warmup, not at step 0",
        "late": "step total has 0, not the one after it",
    }
    rate(5, 8.0, 10, 110, 4.0, "half of the warm-up is done: half of the peak", whole=0.0, early=3.2, bent=2.0)
    rate(1, 8.0, 10, 110, 0.8, "a straight line: peak · step / warmup, with steps counted from 1", early=0.0)
    rate(10, 8.0, 10, 110, 8.0, "the last step of the warm-up has the peak", early=7.2)
    down = "after the warm-up it falls in a straight line, from the peak at step warmup to 0 at step total: (total - "
    down += "step) / (total - warmup)"
    rate(60, 8.0, 10, 110, 4.0, down, flat=8.0, start=8.0 * 50 / 110, late=8.0 * 51 / 101)
    rate(11, 8.0, 10, 110, 7.92, "the first step down is a hundredth of the peak below it")
    rate(110, 8.0, 10, 110, 0.0, "it is 0 at step total")
    rate(200, 8.0, 10, 110, 0.0, "after the last step it is 0, not negative")
    rate(1, 5.0, 0, 100, 4.95, "without a warm-up it falls from the first step: do not divide by a warm-up of 0")
    rate(100, 5.0, 0, 100, 0.0, "it is 0 at step total")
    rate(7, 3.0, 20, 20, 1.05, "peak · step / warmup, also if the warm-up is all there is")
    rate(20, 3.0, 20, 20, 3.0, "step warmup has the peak, also if it is the last of all: do not divide by 0")
    rate(21, 3.0, 20, 20, 0.0, "after the last step it is 0: do not divide by total - warmup if that is 0")


@exercise("4.6", "plot_holes", points=3)
def plot_holes(answer: Answer) -> None:
    """The student's own figure: all holes, and those between visible tokens, against the rate."""
    rates = [0.05, 0.15, 0.3, 0.5, 0.8]
    drawn = answer(rates)
    drawn.is_plot(2, "one for all holes, and one for the good ones", rates, "rate", "axes.plot(rates, counts)")

    def lines(axes: Drawing) -> list[list[float]]:
        """The two lines that are drawn, the one that ends lower first."""
        return sorted(axes.over(rates, 2), key=lambda line: line[-1])

    def near(got: list[float], wanted: list[float], limit: float = 2.0) -> bool:
        """Whether two lines differ by less than ``limit`` holes per 100 tokens."""
        return all(abs(a - b) < limit for a, b in zip(got, wanted))

    drawn.holds(
        "per 100 tokens there are 5, 15, 30, 50 and 80 holes, or nearly",
        lambda axes: near(lines(axes)[1], [5, 15, 30, 50, 80]),
        "count the tokens with a label, also those that do not show [MASK], and divide by the number of all, times 100",
    )
    both = [4.5, 10.8, 14.7, 12.5, 3.2]
    wrong = {
        "both neighbours must be visible, not one of them": [5.0, 14.7, 27.3, 37.5, 28.8],
        "a neighbour with a label is a hole, even if it shows a word and not [MASK]": [4.6, 11.6, 17.3, 18.0, 10.4],
        "this is the share of holes that are good: count them per 100 tokens, not per 100 holes": [
            90.2,
            72.2,
            49,
            25,
            4,
        ],
        "look at the neighbours on both sides": [4.75, 12.75, 21.0, 25.0, 16.0],
    }
    cause = next((why for why, values in wrong.items() if near(lines(drawn.value)[0], values, 2.5)), "")
    drawn.holds(
        "of these, 4.5, 10.8, 14.7, 12.5 and 3.2 stand between two visible tokens, or nearly",
        lambda axes: near(lines(axes)[0], both, 1.6),
        cause or "a good hole is one whose left and right neighbours have no label",
    )

    def named(axes: Drawing, word: str) -> list[list[float]]:
        """The lines with the given word in their names."""
        return [list(line.ys) for line in axes.lines if word in line.label.lower() and list(line.xs) == rates]

    drawn.holds(
        "there is a line with all in its name, and one with good",
        lambda axes: named(axes, "all") and named(axes, "good"),
        'axes.plot(…, label="all"), axes.plot(…, label="good"), then axes.legend()',
    )
    drawn.holds(
        "the line called good is the lower one",
        lambda axes: lines(axes)[0] in named(axes, "good") and lines(axes)[1] in named(axes, "all"),
        "the names are exchanged",
    )

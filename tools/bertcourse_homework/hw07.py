"""Homework 7: fine-tuning, named entities, question answering."""

import torch
from torch import nn

from bertcourse_homework.drawing import Drawing, Line
from bertcourse_homework.engine import Answer, Call, exercise, random


class Toy(nn.Module):
    """A model that is not copied when it is passed to an answer, so that a check sees what was done to it."""

    def __deepcopy__(self, memo: dict) -> "Toy":
        return self

    def __repr__(self) -> str:
        return f"a model of {len(self.bert.blocks)} blocks"


def toy_model(blocks: int = 12) -> Toy:
    """A model with embeddings of 21 numbers, blocks of 9 + 3, and a classifier of 6 + 2."""
    model = Toy()
    model.bert = nn.Module()
    model.bert.embeddings = nn.Embedding(7, 3)
    model.bert.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(blocks))
    model.classifier = nn.Linear(3, 2)
    return model


def learning(model: nn.Module) -> list[str]:
    """The names of the parameters that learn, sorted."""
    return sorted(name for name, weights in model.named_parameters() if weights.requires_grad)


@exercise("7.1", "freeze", points=3)
def freeze(answer: Answer) -> None:
    """The chosen parameters learn, and all others do not."""
    toy = toy_model()

    def after(call: Call) -> Call:
        """The parameters that learn in the model after a call, as a call to check."""
        return Call(answer, f"what learns after {call.text}", learning(toy))

    head = answer(toy, ["classifier"])
    after(head).holds(
        "the encoder is frozen", lambda names: not any("bert" in n for n in names), "requires_grad = False"
    )
    after(head).equals(["classifier.bias", "classifier.weight"], "what has the prefix learns, and nothing else")
    head.has_shape(cause="return how many numbers learn").equals(
        8,
        "the numbers in all tensors that learn",
        mistakes={
            "count numbers, not tensors: parameter.numel()": 2,
            "these are the numbers that are frozen": 165,
            "count only what learns": 173,
        },
    )
    one = answer(toy, ["bert.blocks.1"])
    after(one).holds(
        "blocks 10 and 11 are frozen",
        lambda names: not any(name.startswith("bert.blocks.1") and name[13] != "." for name in names),
        "bert.blocks.1 is no prefix of bert.blocks.10.weight: a dot must follow, or nothing",
    )
    after(one).holds(
        "the classifier is frozen now",
        lambda names: "classifier.weight" not in names,
        "what is not chosen must be frozen, even if it learned before: set every parameter",
    )
    after(one).holds(
        "block 1 learns",
        lambda names: "bert.blocks.1.weight" in names,
        "a parameter that was frozen before must learn again: set every parameter, in both directions",
    )
    after(one).equals(["bert.blocks.1.bias", "bert.blocks.1.weight"], "block 1, and nothing else")
    one.equals(12, "the numbers in all tensors that learn")
    both = answer(toy, ["bert.embeddings.weight", "bert.blocks.11", "classifier"])
    after(both).equals(
        [
            "bert.blocks.11.bias",
            "bert.blocks.11.weight",
            "bert.embeddings.weight",
            "classifier.bias",
            "classifier.weight",
        ],
        "any of the prefixes will do, and a whole name is a prefix, too",
    )
    both.equals(41, "each of the prefixes counts")
    middle = answer(toy, ["blocks.3", "weight"])
    after(middle).equals(
        [], "a name must begin with the prefix: blocks.3 in the middle of bert.blocks.3.weight is none"
    )
    middle.equals(0, "a name must begin with the prefix")
    part = answer(toy, ["bert.block", "class"])
    after(part).equals([], "bert.block is no prefix of bert.blocks.3.weight: a dot must follow, or nothing")
    twice = answer(toy, ["bert", "bert.blocks.3"])
    after(twice).holds("all 25 of the encoder learn", lambda names: len(names) == 25, "what begins with bert. learns")
    twice.equals(165, "a parameter with two of the prefixes is still counted once")
    nothing = answer(toy, [])
    after(nothing).equals([], "without prefixes nothing learns")
    nothing.equals(0, "without prefixes nothing learns")


@exercise("7.2", "align_labels", points=2)
def align_labels(answer: Answer) -> None:
    """The first token of each word has the word's label."""
    labels = answer([None, 0, 1, 1, 1, 2, None], [5, 7, 0]).has_shape(7, cause="a label for each token")
    labels.holds(
        "[CLS] and [SEP] have -100",
        lambda x: (x[0] == -100) & (x[-1] == -100),
        "a token without a word has label -100, as 0 is a class",
    )
    labels.equals(
        [-100, 5, 7, -100, -100, 0, -100],
        "the first token of each word has its label, all others -100",
        mistakes={
            "only the first token of a word has its label; the others have -100": [-100, 5, 7, 7, 7, 0, -100],
            "the first token of each word, not the last": [-100, 5, -100, -100, 7, 0, -100],
            "word 0 is a word, and false to an `if`: ask `is not None`": [-100, -100, 7, -100, -100, 0, -100],
            "label 0 is a label": [-100, 5, 7, -100, -100, -100, -100],
            "-100 where nothing is learned, as 0 is a class": [-100, 5, 7, 0, 0, 0, -100],
        },
    )
    each = "a label for each token"
    answer([None, 3, 3, 4, 5, None], [1, 2, 3, 4, 5, 6, 7]).has_shape(6, cause=each).equals(
        [-100, 4, -100, 5, 6, -100],
        "a window may begin with word 3, whose label is labels[3]: do not count labels, look them up",
    )
    answer([None, 0, 1, 2, 2, None], [8, 8, 8]).has_shape(6, cause=each).equals(
        [-100, 8, 8, 8, -100, -100], "compare words, not labels: neighbours may have the same label"
    )
    none_first = "there need be no [CLS] at the beginning, and there may be one in the middle"
    answer([0, 0, None, 1], [2, 3]).has_shape(4, cause=each).equals([2, -100, -100, 3], none_first)
    ends = answer([None, 0, 1, 1, None, None, None], [4, 6, 9, 9]).has_shape(7, cause=each)
    ends.equals([-100, 4, 6, -100, -100, -100, -100], "several tokens at the end may have no word, and words no token")


@exercise("7.3", "read_entities", points=4)
def read_entities(answer: Answer) -> None:
    """Tags to spans, with repair."""

    def entities(tags: str, expected: list, cause: str, mistakes: dict | None = None) -> None:
        """Check the entities that some tags give."""
        answer(tags.split()).is_a(list, "return a list of tuples").equals(expected, cause, mistakes=mistakes)

    entities(
        "B-PER I-PER O B-LOC",
        [("PER", 0, 2), ("LOC", 3, 4)],
        "B- begins an entity, I- of its type continues it, O ends it",
        {
            "end is the place after the last word": [("PER", 0, 1), ("LOC", 3, 3)],
            "an entity that reaches the last word counts, too": [("PER", 0, 2)],
            "the order is (type, start, end)": [(0, 2, "PER"), (3, 4, "LOC")],
            "the type is what follows the hyphen": [("B-PER", 0, 2), ("B-LOC", 3, 4)],
        },
    )
    entities(
        "B-PER B-PER I-PER",
        [("PER", 0, 1), ("PER", 1, 3)],
        "B- begins a new entity, even right after one of the same type",
    )
    entities("B-ORG O O", [("ORG", 0, 1)], "O ends an entity")
    entities(
        "O I-PER I-PER O",
        [("PER", 1, 3)],
        "an I- after O begins an entity: repair, do not drop it",
    )
    entities(
        "B-PER I-LOC I-LOC",
        [("PER", 0, 1), ("LOC", 1, 3)],
        "an I- of another type begins an entity of its own type",
        {
            "an I- of another type does not continue the entity": [("PER", 0, 3)],
            "an I- of another type is an entity, too: do not drop it": [("PER", 0, 1)],
            "the I- that follows the repaired one continues it": [("PER", 0, 1), ("LOC", 1, 2), ("LOC", 2, 3)],
        },
    )
    entities(
        "B-PER O I-PER",
        [("PER", 0, 1), ("PER", 2, 3)],
        "an O is between them: the I- continues the tag just before it, not an earlier entity",
    )
    entities("I-LOC I-LOC", [("LOC", 0, 2)], "an I- may be the very first tag")
    entities(
        "B-work-of-art I-work-of-art B-work",
        [("work-of-art", 0, 2), ("work", 2, 3)],
        "a type may have hyphens: it is all after the first one",
    )
    entities(
        "B-A-PER I-PER O B-PER I-A-PER",
        [("A-PER", 0, 1), ("PER", 1, 2), ("PER", 3, 4), ("A-PER", 4, 5)],
        "A-PER and PER are two types: compare all of the type, not its end",
    )
    entities(
        "B-AI-lab I-AI-lab B-BIB",
        [("AI-lab", 0, 2), ("BIB", 2, 3)],
        "a type may have the letters B and I, and I-, in it: cut off the first two characters, and no others",
    )
    answer([]).equals([], "no tags, no entities")
    tags = ["O", "B-A", "I-A", "I-B", "B-B"]
    many = [tags[int(number)] for number in (random(60, seed=1).abs() * 9) % 5]
    answer(many).equals_stored(
        "sixty tags", "an I- continues a B- or I- of the same type just before it, or begins an entity"
    )


@exercise("7.4", "entity_f1", points=3)
def entity_f1(answer: Answer) -> None:
    """Only entities that are entirely right count."""

    def scores(
        gold: list[str], predicted: list[str], expected: tuple, cause: str, mistakes: dict | None = None
    ) -> None:
        """Check precision, recall and F1 for some sentences."""
        call = answer([each.split() for each in gold], [each.split() for each in predicted])
        for i, name in enumerate(("precision", "recall", "F1")):
            known = {words: values[i] for words, values in (mistakes or {}).items() if values[i] != expected[i]}
            call[i].has_shape(cause="return three numbers: precision, recall, F1").equals(
                expected[i], f"{name}: {cause}", mistakes=known
            )

    scores(
        ["B-PER I-PER O B-LOC", "B-ORG O", "O B-PER O O O"],
        ["B-PER I-PER O O", "B-ORG O", "B-LOC B-PER O B-ORG O"],
        (3 / 5, 3 / 4, 2 / 3),
        "three are right, of five found and of four there are",
        {
            "precision is of those found, recall of those there are; these are exchanged": (3 / 4, 3 / 5, 2 / 3),
            "count over all sentences together; this is a mean over sentences": (7 / 9, 5 / 6, 13 / 18),
            "count entities, not words": (4 / 6, 4 / 5, 8 / 11),
            "F1 is the harmonic mean, 2PR / (P + R)": (3 / 5, 3 / 4, 0.675),
            "count over all types together; this is a mean over types": (1 / 2, 2 / 3, 5 / 9),
        },
    )
    scores(
        ["B-PER O", "O B-PER", "B-PER O"],
        ["B-PER O", "B-PER O", "B-PER O"],
        (2 / 3, 2 / 3, 2 / 3),
        "the same type and places in two sentences are two entities",
        {"the same type and places in two sentences are two entities: keep sentences apart": (1.0, 0.5, 2 / 3)},
    )
    scores(
        ["B-PER I-PER I-PER"], ["B-PER I-PER O"], (0.0, 0.0, 0.0), "an entity with a wrong end is wrong, with no credit"
    )
    scores(["B-PER I-PER"], ["B-LOC I-LOC"], (0.0, 0.0, 0.0), "an entity of the wrong type is wrong")
    scores(["B-PER O"], ["O O"], (0.0, 0.0, 0.0), "where nothing is found, precision is 0")
    scores(["O O"], ["O B-PER"], (0.0, 0.0, 0.0), "where nothing is there, recall is 0")
    scores(
        ["O", "O O"], ["O", "O O"], (0.0, 0.0, 0.0), "nothing there and nothing found: 0, by the rule of this exercise"
    )
    scores(["B-LOC I-LOC O"], ["I-LOC I-LOC O"], (1.0, 1.0, 1.0), "compare entities, repaired, and not tags")
    ends = "an entity ends with its sentence: an I- at the beginning of the next one does not continue it"
    scores(
        ["O B-PER", "I-PER O"],
        ["O B-PER", "O O"],
        (1.0, 1 / 2, 2 / 3),
        ends,
        {f"{ends}; read each sentence alone": (0.0, 0.0, 0.0)},
    )
    scores(["B-LOC", "O"], ["B-LOC", "I-LOC"], (1 / 2, 1.0, 2 / 3), ends)


@exercise("7.5", "best_spans", points=3)
def best_spans(answer: Answer) -> None:
    """The best spans that are legal and of which no two share a token."""

    def spans(start, end, longest: int, expected: list, cause: str, mistakes: dict | None = None) -> None:
        start, end = (torch.tensor(side, dtype=torch.float32) for side in (start, end))
        found = answer(start, end, longest, len(expected))
        found = found.has_shape(len(expected), 2, cause="return n pairs, the places i and j of each span")
        found.equals(expected, cause, mistakes=mistakes)

    start, end = [1, 0, 4, 9, 0.5], [0, 8, 2, -2, 3]
    spans(
        start,
        end,
        5,
        [[3, 4]],
        "the largest start[i] + end[j] of all allowed spans",
        {
            "only spans with i <= j count": [[3, 1]],
            "choose i and j together: the best start may have no good end": [[3, 3]],
            "choose i and j together: the best end may have no good start": [[0, 1]],
        },
    )
    shared = "no two spans share a token"
    spans(
        start,
        end,
        5,
        [[3, 4], [0, 1], [2, 2]],
        f"the best first, and {shared}",
        {
            f"{shared}, and each is the best of what is left": [[3, 4], [0, 1], [1, 1]],
            "the best span first": [[0, 1], [2, 2], [3, 4]],
            "a single token is a span, too": [[3, 4], [0, 1], [2, 3]],
        },
    )
    length = "at most longest tokens, both ends included: j - i + 1 <= longest"
    spans([0, 3, 0, 0], [0, 0, 3, 0], 2, [[1, 2]], length)
    spans([0, 3, 0, 0], [0, 0, 3, 0], 99, [[1, 2]], "longest may be more than there are tokens")
    spans([5, 0, 4.5, 0, 0], [0, 0, 0, 3, 0], 2, [[2, 3]], length, {length: [[0, 3]]})
    spans([4, 0, 0, 0, 0], [2, 0, 0, 0, 5], 4, [[0, 0]], f"{length}; a single token is a span, too", {length: [[0, 4]]})
    inside = f"{shared}: a span inside a better one does share its tokens"
    spans([3, 5, 4, 0], [0, 0, 4, 6], 4, [[1, 3], [0, 0]], inside, {inside: [[1, 3], [2, 2]]})
    around = f"{shared}: a span around a better one does share its tokens"
    spans([6, 9, 0, 0], [0, 0, 8, 7], 4, [[1, 2], [3, 3], [0, 0]], around, {around: [[1, 2], [0, 3], [0, 0]]})
    chosen = "choose i and j together, neither the start nor the end first"
    spans([10, 7, -5], [1, 7, 12], 1, [[1, 1]], "add scores up, and neither probabilities (softmax) nor products")
    spans(
        [5, 0, 4, 0, 0, 0],
        [0, 0, 0, 4, 0, 5],
        2,
        [[2, 3]],
        f"{chosen}: the best span may have neither",
        {length: [[0, 5]]},
    )
    inf, low = float("inf"), "all scores may be negative: what is not allowed has minus infinity, not 0"
    spans([-inf, -inf, -4, -2, -7, -6], [-inf, -inf, -7, -6, -2, -4], 3, [[3, 4], [5, 5], [2, 2]], low)
    spans(
        [-3e6, -2e6, -9e6],
        [-7e6, -9e6, -6e6],
        1,
        [[0, 0], [1, 1], [2, 2]],
        f"{low}, nor a number that sums may be below",
    )
    for longest in (1, 4, 30):
        found = answer(random(40, seed=2), random(40, seed=3), longest, 4).has_shape(4, 2)
        found.equals_stored(f"forty tokens, {longest}", f"{length}; {shared}")


@exercise("7.6", "plot_labels", points=3)
def plot_labels(answer: Answer) -> None:
    """The student's own figure: accuracy against the number of labels."""
    numbers = [1, 4, 16, 64]
    drawn = answer(numbers)
    drawn.is_plot(2, "one for MiniLM, one for bag of words", numbers, "number", "axes.plot(numbers, accuracies)")

    def lines(axes: Drawing) -> list[Line]:
        """The lines: the bag of words, then MiniLM, which lies above it."""
        return sorted(axes.lines_over(numbers, 2), key=lambda line: sum(line.ys))

    def low(axes: Drawing) -> tuple[float, ...]:
        return lines(axes)[0].ys

    def high(axes: Drawing) -> tuple[float, ...]:
        return lines(axes)[1].ys

    drawn.holds(
        "accuracies are in percent", lambda axes: 1 < max(high(axes)) <= 100, "100 times the share of right answers"
    )
    drawn.holds(
        "the two lines are not the same",
        lambda axes: low(axes) != high(axes),
        "one line for each kind of features, from the same tickets",
    )
    drawn.holds(
        "the number of labels makes a difference to both lines",
        lambda axes: all(max(line.ys) > min(line.ys) for line in lines(axes)),
        "use the first n of each class for each n in numbers, not always all",
    )
    first_n = "the first n tickets of each class in train, their mean, and the largest cosine with it"
    on_train = "learn from train, and be tested on test: nobody may be tested on what was learned from"
    last_n = "the first n tickets of each class, not the last n"
    not_unit = "bring each vector to length 1 before you take the mean"
    dots = "these are products with means that are shorter than 1: bring the means to length 1, too"
    distances = "take the largest cosine, and not the smallest distance, which favours short means"
    drawn.draws(
        "the bag of words",
        low,
        [30.8, 41.7, 44.2, 54.2],
        2.0,
        first_n,
        mistakes={
            f"{first_n}; this is one ticket more": [31.7, 43.3, 47.5, 54.2],
            not_unit: [30.8, 40.8, 50.8, 56.7],
            dots: [30.8, 39.2, 40.8, 38.3],
            f"{dots}; and each vector, before you take the mean": [31.3, 36.0, 39.0, 43.0],
            distances: [30.8, 44.2, 48.3, 55.8],
            f"{distances}; and {not_unit}": [35.0, 35.0, 42.5, 57.5],
            last_n: [31.5, 45.4, 41.7, 54.2],
            on_train: [31.2, 45.3, 62.5, 87.5],
        },
    )
    drawn.draws(
        "MiniLM",
        high,
        [52.5, 70.0, 78.3, 80.8],
        1.3,
        first_n,
        mistakes={
            dots: [52.5, 70.0, 75.8, 73.3],
            distances: [52.5, 70.0, 80.0, 82.5],
            last_n: [40.8, 65.0, 78.3, 80.8],
            on_train: [56.8, 76.6, 89.6, 94.8],
        },
    )
    drawn.holds(
        "each accuracy is a whole number of right answers of 120",
        lambda axes: all(abs(120 * y / 100 - round(120 * y / 100)) < 0.07 for line in lines(axes) for y in line.ys),
        "100 times the number of right answers, divided by the 120 test rows, and not rounded to whole numbers",
    )
    drawn.has_names(lines, ("bag", "minilm"))

"""How hard the sentences are: the numbers that README.md reports.

``python data/entities/baselines.py`` prints them (some seconds on a CPU; needs scikit-learn). Each method sees the
training sentences and labels the test sentences. An entity is found if its first word, last word and type are right.
"""

from collections import Counter, defaultdict
from pathlib import Path

from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

FOLDER = Path(__file__).parent
TYPES = ("PER", "ORG", "LOC", "GPE")


def main() -> None:
    """Print the tables."""
    splits = {split: read_conll(FOLDER / f"{split}.conll") for split in ("train", "dev", "test")}
    for split, sentences in splits.items():
        print_size(split, sentences)
    train, test = splits["train"], splits["test"]
    words = [[word for word, _ in sentence] for sentence in test]
    gold = [[tag for _, tag in sentence] for sentence in test]
    for name, method in (("all O", all_o), ("dictionary", dictionary), ("logistic regression", logistic_regression)):
        predicted = [repair(tags) for tags in method(train, words)]
        print(f"{name:20} accuracy {accuracy(gold, predicted):.1%}  ", end="")
        print("precision {:.1%}  recall {:.1%}  F1 {:.1%}".format(*precision_recall_f1(gold, predicted)), end="  ")
        for kind in TYPES:
            print(f"{kind} {precision_recall_f1(gold, predicted, kind)[2]:.1%}", end="  ")
        print()
    print_seen(train, test)


def read_conll(path: Path) -> list[list[tuple[str, str]]]:
    """Words and tags of each sentence."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [[tuple(line.split("\t")) for line in block.splitlines()] for block in blocks]


def all_o(train, test: list[list[str]]) -> list[list[str]]:
    """No entities at all."""
    return [["O"] * len(words) for words in test]


def dictionary(train, test: list[list[str]]) -> list[list[str]]:
    """The tag that a word has most often in training, the first seen among equals; O for words not seen."""
    counts = defaultdict(Counter)
    for sentence in train:
        for word, tag in sentence:
            counts[word][tag] += 1
    best = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return [[best.get(word, "O") for word in words] for words in test]


def logistic_regression(train, test: list[list[str]]) -> list[list[str]]:
    """From left to right, the likeliest tag given features of the word, its neighbours and the tag before."""
    rows, tags = [], []
    for sentence in train:
        words = [word for word, _ in sentence]
        before = ["O", *(tag for _, tag in sentence)]
        rows += [features(words, i, before[i]) for i in range(len(words))]
        tags += before[1:]
    vectorizer = DictVectorizer()
    model = LogisticRegression(C=10, max_iter=1000).fit(vectorizer.fit_transform(rows), tags)
    predicted = []
    for words in test:
        labels = ["O"]
        for i in range(len(words)):
            labels.append(model.predict(vectorizer.transform([features(words, i, labels[-1])]))[0])
        predicted.append(labels[1:])
    return predicted


def features(words: list[str], i: int, tag_before: str) -> dict[str, str | bool]:
    """What logistic regression sees of a word: the word, two on either side, shapes, beginnings and endings."""
    around = ["<s>", "<s>", *words, "</s>", "</s>"]
    word = words[i]
    seen = {"tag before": tag_before, "first": i == 0, "has a hyphen": "-" in word}
    for offset in (-2, -1, 0, 1, 2):
        other = around[i + 2 + offset]
        seen |= {f"word {offset}": other.lower(), f"shape {offset}": shape(other)}
    for length in (1, 2, 3, 4):
        seen |= {f"begins {length}": word[:length], f"ends {length}": word[-length:]}
    return seen


def shape(word: str) -> str:
    """A word's letters and digits by kind, repetitions left out.

    >>> shape("McKay"), shape("1999"), shape("UN")
    ('XxXx', 'd', 'X')
    """
    kinds = ["X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word]
    return "".join(kind for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1])


def repair(tags: list[str]) -> list[str]:
    """An I that continues nothing of its type becomes a B.

    >>> repair(["I-PER", "I-PER", "O", "B-ORG", "I-GPE"])
    ['B-PER', 'I-PER', 'O', 'B-ORG', 'B-GPE']
    """
    before = ["O", *tags]
    return ["B" + tag[1:] if tag[0] == "I" and before[i][1:] != tag[1:] else tag for i, tag in enumerate(tags)]


def entities(tags: list[str]) -> list[tuple[int, int, str]]:
    """Start, end (exclusive) and type of each entity in tags that need no repair.

    >>> entities(["B-PER", "I-PER", "O", "B-GPE"])
    [(0, 2, 'PER'), (3, 4, 'GPE')]
    """
    starts = [i for i, tag in enumerate(tags) if tag[0] == "B"]
    ends = [next((j for j in range(i + 1, len(tags)) if tags[j][0] != "I"), len(tags)) for i in starts]
    return [(start, end, tags[start][2:]) for start, end in zip(starts, ends, strict=True)]


def accuracy(gold: list[list[str]], predicted: list[list[str]]) -> float:
    """The share of words with the right tag."""
    pairs = [pair for sentence in zip(gold, predicted, strict=True) for pair in zip(*sentence, strict=True)]
    return sum(right == guess for right, guess in pairs) / len(pairs)


def precision_recall_f1(gold, predicted, kind: str | None = None) -> tuple[float, float, float]:
    """Of entities, of all types or of one; 0 where there is nothing to divide by.

    >>> precision_recall_f1([["B-PER", "O", "B-GPE", "O"]], [["B-PER", "O", "B-ORG", "O"]])
    (0.5, 0.5, 0.5)
    """
    found, right, expected = 0, 0, 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        of_gold, of_predicted = (
            {entity for entity in entities(tags) if kind in (None, entity[2])} for tags in (gold_tags, predicted_tags)
        )
        found, right, expected = found + len(of_predicted), right + len(of_gold & of_predicted), expected + len(of_gold)
    return right / max(found, 1), right / max(expected, 1), 2 * right / max(found + expected, 1)


def names(sentences) -> list[tuple[str, str]]:
    """Name and type of each entity in the sentences."""
    return [
        (" ".join(word for word, _ in sentence[start:end]), kind)
        for sentence in sentences
        for start, end, kind in entities([tag for _, tag in sentence])
    ]


def print_size(split: str, sentences) -> None:
    """Print a row of the table of sizes."""
    kinds = Counter(kind for _, kind in names(sentences))
    without = sum(all(tag == "O" for _, tag in sentence) for sentence in sentences)
    words = sum(len(sentence) for sentence in sentences)
    print(f"{split:6}", len(sentences), "sentences,", without, "without entities,", words, "words,", end=" ")
    print(sum(kinds.values()), "entities:", *(f"{kind} {kinds[kind]}" for kind in TYPES))


def print_seen(train, test) -> None:
    """Print how many of the test entities have a name that is an entity in training, and with which type."""
    types = defaultdict(set)
    for name, kind in names(train):
        types[name].add(kind)
    tests = names(test)
    seen = sum(name in types for name, _ in tests) / len(tests)
    other = sum(name in types and kind not in types[name] for name, kind in tests) / len(tests)
    print(f"test entities {len(tests)}, name seen in training {seen:.1%}, with another type only {other:.1%}")


if __name__ == "__main__":
    main()

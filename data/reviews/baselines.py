"""How hard the reviews are for methods that count words: the accuracies that README.md reports.

``python data/reviews/baselines.py`` prints them (seconds on a CPU; needs scikit-learn). Each method is trained on
train.tsv, all of it or a few reviews of each class, and its accuracy is of test.tsv; dev.tsv only chooses C.
"""

import csv
import random
from collections import Counter
from pathlib import Path

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

HERE = Path(__file__).parent
WORD = r"[\w']+"
STRENGTHS = (0.1, 1, 10, 100)
DRAWS = 5

Reviews = tuple[list[str], list[str]]  # texts, labels


def main() -> None:
    """Print the table."""
    train, dev, test = (read(split) for split in ("train", "dev", "test"))
    methods = {
        "majority": majority,
        "bag of words, naive Bayes": naive_bayes,
        "TF-IDF, logistic regression": logistic_regression,
    }
    print(f"{'training reviews a class':28}", *(f"{size:>6}" for size in (16, 64, "all")))
    for name, method in methods.items():
        accuracies = []
        for size in (16, 64):
            draws = [accuracy(method(sample(train, size, seed), dev, test[0]), test[1]) for seed in range(DRAWS)]
            accuracies.append(sum(draws) / DRAWS)
        predicted = method(train, dev, test[0])
        accuracies.append(accuracy(predicted, test[1]))
        print(f"{name:28}", *(f"{value:6.1%}" for value in accuracies))
    print("\nlogistic regression, all training reviews: labels in rows, predictions in columns")
    pairs = Counter(zip(test[1], predicted, strict=True))
    names = ("positive", "neutral", "negative")
    print(f"{'':10}", *(f"{name:>8}" for name in names))
    for label in names:
        print(f"{label:10}", *(f"{pairs[label, name]:8}" for name in names))


def read(split: str) -> Reviews:
    """The texts and the labels of a split."""
    with open(HERE / f"{split}.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row["text"] for row in rows], [row["label"] for row in rows]


def sample(reviews: Reviews, size: int, seed: int) -> Reviews:
    """As many reviews of each class, drawn at random."""
    rng = random.Random(seed)
    drawn = []
    for label in sorted(set(reviews[1])):
        drawn += rng.sample([pair for pair in zip(*reviews, strict=True) if pair[1] == label], size)
    return [text for text, _ in drawn], [label for _, label in drawn]


def accuracy(predicted: list[str], expected: list[str]) -> float:
    """The share of labels that are right."""
    return sum(a == b for a, b in zip(predicted, expected, strict=True)) / len(expected)


def majority(train: Reviews, dev: Reviews, texts: list[str]) -> list[str]:
    """The most frequent label, always; of several, the first one."""
    return [Counter(train[1]).most_common(1)[0][0]] * len(texts)


def naive_bayes(train: Reviews, dev: Reviews, texts: list[str]) -> list[str]:
    """Multinomial naive Bayes on the counts of words, each counted once more than seen."""
    model = make_pipeline(CountVectorizer(token_pattern=WORD), MultinomialNB())
    return list(model.fit(*train).predict(texts))


def logistic_regression(train: Reviews, dev: Reviews, texts: list[str]) -> list[str]:
    """Logistic regression on TF-IDF of words and pairs of words; of ``STRENGTHS`` the C that is best on dev."""
    best, chosen = -1.0, None
    for strength in STRENGTHS:
        vectorizer = TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2))
        model = make_pipeline(vectorizer, LogisticRegression(C=strength, max_iter=1000)).fit(*train)
        right = accuracy(list(model.predict(dev[0])), dev[1])
        if right > best:
            best, chosen = right, model
    return list(chosen.predict(texts))


if __name__ == "__main__":
    main()

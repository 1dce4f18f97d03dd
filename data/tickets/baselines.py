"""How hard the tickets are: the accuracies that README.md reports.

``python data/tickets/baselines.py`` prints them (seconds on a CPU; needs scikit-learn). Each method is trained on
training tickets only; an accuracy is of all test tickets. The dev split only chooses how strongly to penalise weights.
"""

import csv
import random
from collections import defaultdict
from pathlib import Path

from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

FOLDER = Path(__file__).parent
WORD = r"[a-z0-9']+"
Tickets = list[tuple[str, str]]


def main() -> None:
    """Print the table: a row a method, a column a number of training tickets a class (16, 64: mean of 5 draws)."""
    train, dev, test = (read_tickets(split) for split in ("train", "dev", "test"))
    trainings = {"16": [draw(train, 16, seed) for seed in range(5)], "64": [draw(train, 64, seed) for seed in range(5)]}
    trainings["120, all"] = [train]
    methods = {
        "majority": majority,
        "bag of words, naive Bayes": naive_bayes,
        "TF-IDF, logistic regression": logistic_regression,
    }
    print(f"{'':28}", *(f"{column:>9}" for column in trainings))
    for name, fit in methods.items():
        accuracies = [[accuracy(fit(tickets, dev), test) for tickets in draws] for draws in trainings.values()]
        means = [sum(of_draws) / len(of_draws) for of_draws in accuracies]
        print(f"{name:28}", *(f"{mean:9.1%}" for mean in means))


def read_tickets(split: str) -> Tickets:
    """The tickets of "train", "dev" or "test", each a label and a text, in the file's order."""
    with open(FOLDER / f"{split}.tsv", encoding="utf-8", newline="") as file:
        return [(row["label"], row["text"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def draw(tickets: Tickets, size: int, seed: int) -> Tickets:
    """As many tickets of each class, drawn without replacement."""
    of_label = defaultdict(list)
    for ticket in tickets:
        of_label[ticket[0]].append(ticket)
    generator = random.Random(seed)
    return [ticket for label in sorted(of_label) for ticket in generator.sample(of_label[label], size)]


def accuracy(model, tickets: Tickets) -> float:
    """The share of tickets that the model gives their label."""
    labels, texts = zip(*tickets, strict=True)
    return float(model.score(texts, labels))


def majority(train: Tickets, dev: Tickets):
    """One class, always: with classes of one size, any."""
    return fitted(DummyClassifier(strategy="most_frequent"), train)


def naive_bayes(train: Tickets, dev: Tickets):
    """Multinomial naive Bayes on word counts, with one added to each count."""
    return fitted(make_pipeline(CountVectorizer(token_pattern=WORD), MultinomialNB()), train)


def logistic_regression(train: Tickets, dev: Tickets):
    """Logistic regression on TF-IDF of words and pairs of words; of five values of C, the first that is best on dev."""
    models = [
        fitted(
            make_pipeline(
                TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2)),
                LogisticRegression(C=strength, max_iter=1000),
            ),
            train,
        )
        for strength in (0.1, 1, 10, 100, 1000)
    ]
    return max(models, key=lambda model: accuracy(model, dev))


def fitted(model, train: Tickets):
    """The model, trained."""
    labels, texts = zip(*train, strict=True)
    return model.fit(texts, labels)


if __name__ == "__main__":
    main()

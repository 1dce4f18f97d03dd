"""How hard the pairs are for methods that do not understand them: the accuracies that README.md reports.

``python data/nli/baselines.py`` prints them (a few seconds on a CPU; needs scikit-learn). Each method is trained on
train.tsv, its penalty is chosen on dev.tsv, and the first accuracy is of test.tsv. The second is of all 600 pairs: the
hypotheses are dealt into fifths, and each fifth, with all of its pairs, is tested once, with the next one for choosing
the penalty and the other three for training.
"""

import csv
import math
import random
import re
from collections import Counter
from pathlib import Path

from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

FOLDER = Path(__file__).parent
PENALTIES = (0.01, 0.1, 1, 10, 100)
NEGATIONS = {"no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "hardly", "without"}

Pair = dict[str, str]


def main() -> None:
    """Print the table."""
    splits = [read(FOLDER / f"{name}.tsv") for name in ("train", "dev", "test")]
    fifths = deal([pair for split in splits for pair in split])
    methods = {
        "majority": majority,
        "hypothesis only": hypothesis_only,
        "premise only": premise_only,
        "premise and hypothesis": both,
        "word overlap and negation": overlap,
    }
    print(f"{'':28}test                 all, five-fold")
    for name, method in methods.items():
        on_test = right(method, *splits)
        on_all = {}
        for k in range(5):
            train = [pair for step in (2, 3, 4) for pair in fifths[(k + step) % 5]]
            on_all |= right(method, train, fifths[(k + 1) % 5], fifths[k])
        print(f"{name:28}{with_interval(on_test):21}{with_interval(on_all)}")


def read(path: Path) -> list[Pair]:
    """The pairs of a file: label, premise and hypothesis."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def deal(pairs: list[Pair]) -> list[list[Pair]]:
    """The pairs in fifths, those of a hypothesis together."""
    hypotheses = sorted({pair["hypothesis"] for pair in pairs})
    random.Random(0).shuffle(hypotheses)
    return [[pair for pair in pairs if pair["hypothesis"] in hypotheses[k::5]] for k in range(5)]


def right(method, train: list[Pair], dev: list[Pair], test: list[Pair]) -> dict[str, list[bool]]:
    """For each hypothesis of the test pairs, which of its pairs get their label."""
    by_hypothesis = {}
    for pair, predicted in zip(test, method(train, dev, test), strict=True):
        by_hypothesis.setdefault(pair["hypothesis"], []).append(predicted == pair["label"])
    return by_hypothesis


def with_interval(by_hypothesis: dict[str, list[bool]]) -> str:
    """The accuracy and half of its 95 % interval; what is drawn at random is hypotheses, each with its three pairs."""
    shares = [sum(answers) / len(answers) for answers in by_hypothesis.values()]
    mean = sum(shares) / len(shares)
    variance = sum((share - mean) ** 2 for share in shares) / (len(shares) - 1)
    return f"{mean:.1%} ± {1.96 * math.sqrt(variance / len(shares)):.1%}"


def majority(train: list[Pair], dev: list[Pair], test: list[Pair]) -> list[str]:
    """The most frequent label, always."""
    return [Counter(pair["label"] for pair in train).most_common(1)[0][0]] * len(test)


def hypothesis_only(train: list[Pair], dev: list[Pair], test: list[Pair]) -> list[str]:
    """Logistic regression on the hypothesis' words and pairs of words, TF-IDF."""
    return tf_idf(("hypothesis",), train, dev, test)


def premise_only(train: list[Pair], dev: list[Pair], test: list[Pair]) -> list[str]:
    """Logistic regression on the premise's words and pairs of words, TF-IDF."""
    return tf_idf(("premise",), train, dev, test)


def both(train: list[Pair], dev: list[Pair], test: list[Pair]) -> list[str]:
    """Logistic regression on the TF-IDF vectors of premise and hypothesis, side by side."""
    return tf_idf(("premise", "hypothesis"), train, dev, test)


def overlap(train: list[Pair], dev: list[Pair], test: list[Pair]) -> list[str]:
    """Logistic regression on what can be counted: shared words, negations and lengths."""
    scaler = StandardScaler().fit([counts(pair) for pair in train])
    vectors = [scaler.transform([counts(pair) for pair in pairs]) for pairs in (train, dev, test)]
    return logistic_regression(vectors, train, dev)


def counts(pair: Pair) -> list[float]:
    """Words of each text that are in the other, as shares; negations of each, and whether only one has any; lengths."""
    premise, hypothesis = words(pair["premise"]), words(pair["hypothesis"])
    shared = set(premise) & set(hypothesis)
    negated = [sum(word in NEGATIONS for word in text) for text in (premise, hypothesis)]
    return [
        len(shared) / len(set(hypothesis)),
        len(shared) / len(set(premise)),
        *negated,
        (negated[0] > 0) != (negated[1] > 0),
        len(premise),
        len(hypothesis),
    ]


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"[a-z0-9']+", text.lower())


def tf_idf(columns: tuple[str, ...], train: list[Pair], dev: list[Pair], test: list[Pair]) -> list[str]:
    """Logistic regression on TF-IDF of words and pairs of words, a vector a column, fitted on the training pairs."""
    vectors = []
    for column in columns:
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"[a-z0-9']+")
        vectorizer.fit(pair[column] for pair in train)
        vectors.append([vectorizer.transform(pair[column] for pair in pairs) for pairs in (train, dev, test)])
    return logistic_regression([hstack(of_split) for of_split in zip(*vectors, strict=True)], train, dev)


def logistic_regression(vectors, train: list[Pair], dev: list[Pair]) -> list[str]:
    """Labels for the test vectors, with the penalty that does best on dev; of equal ones the strongest.

    Args:
        vectors: of the training, dev and test pairs.
        train: the training pairs, for their labels.
        dev: the dev pairs, for theirs.
    """
    labels = [[pair["label"] for pair in pairs] for pairs in (train, dev)]
    models = [LogisticRegression(C=penalty, max_iter=2000).fit(vectors[0], labels[0]) for penalty in PENALTIES]
    best = max(models, key=lambda model: model.score(vectors[1], labels[1]))
    return list(best.predict(vectors[2]))


if __name__ == "__main__":
    main()

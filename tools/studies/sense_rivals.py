"""How well can a word's sense be told without reading the sentence? The rivals of lecture 5, chosen on training data.

    python tools/studies/sense_rivals.py    # a minute on two cores

A rival is the mean of the other words' rows in MiniLM's table, each times its inverse document frequency to a power and
divided by its distance to a power, beside the word's own row times a weight; the nearest mean decides. Each combination
is scored on the training sentences, leaving out one at a time, and on the test sentences. For logistic regression on
the best rival's vectors, strengths of regularization are scored by eight-fold cross-validation. Writes
data/results/sense_rivals.json.
"""

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from bertcourse.bert import load_pretrained
from bertcourse.files import replace_files
from bertcourse.word_senses import NearestSense, sense_sentences, unit

RESULTS = Path(__file__).parents[2] / "data" / "results"
RARITY, NEARNESS, OWN = (0, 0.5, 1), (0, 0.5, 1), (0, 0.25, 0.5, 0.75, 1)


def main() -> None:
    """Score all combinations and store them."""
    model, tokenizer = load_pretrained("minilm")
    table = model.embeddings.word_embeddings.weight.detach().numpy()
    examples = sense_sentences()
    encodings = tokenizer.encode_batch([e.text for e in examples])
    lemmas, keys = (np.array(column) for column in zip(*((e.word[0], e.sense_key) for e in examples)))
    train, test = (np.flatnonzero([e.split == part for e in examples]) for part in ("train", "test"))
    seen = Counter(token for i in train for token in set(encodings[i].ids))
    rarity = np.log(len(train) / np.array([max(1, seen[token]) for token in range(len(table))]))

    def vectors(power: float, nearness: float, own_weight: float) -> np.ndarray:
        rows = []
        for e, encoding in zip(examples, encodings):
            spans = list(enumerate(encoding.offsets))
            own = [i for i, (first, last) in spans if first < e.end and last > e.start]
            beside = [i for i, (first, last) in spans if last > first and i not in own]
            ids, distance = np.array(encoding.ids), np.array([min(abs(i - j) for j in own) for i in beside])
            weights = np.maximum(rarity[ids[beside]], 1e-9) ** power / distance**nearness
            around = np.average(table[ids[beside]], axis=0, weights=weights)
            rows.append(np.concatenate([unit(around), own_weight * unit(table[ids[own]].mean(axis=0))]))
        return np.array(rows)

    def leaving_out(x: np.ndarray) -> float:
        hits = 0
        for word in np.unique(lemmas):
            rows = train[lemmas[train] == word]
            own = np.unique(keys[rows])
            sums = np.array([x[rows[keys[rows] == key]].sum(axis=0) for key in own])
            for i in rows:
                hits += own[(unit(sums - (own == keys[i])[:, None] * x[i]) @ x[i]).argmax()] == keys[i]
        return 100 * hits / len(train)

    found, best = [], (0.0, None)
    for choice in itertools.product(RARITY, NEARNESS, OWN):
        x = vectors(*choice)
        score = leaving_out(x)
        on_test = NearestSense().fit(x[train], keys[train], lemmas[train]).score(x[test], keys[test], lemmas[test])
        found.append([*choice, round(score, 1), round(100 * float(on_test), 1)])
        best = max(best, (score, choice))
    x, strengths = unit(vectors(*best[1])), {}
    for strength in (1, 10, 100):
        hits = 0
        for word in np.unique(lemmas):
            rows = train[lemmas[train] == word]
            classifier = LogisticRegression(C=strength, max_iter=1000)
            hits += (cross_val_predict(classifier, x[rows], keys[rows], cv=8) == keys[rows]).sum()
        strengths[strength] = round(100 * float(hits) / len(train), 1)
    result = {
        "columns": ["rarity's power", "distance's power", "own row's weight", "training, leaving one out", "test"],
        "rows": found,
        "best": list(best[1]),
        "logistic_regression": strengths,
    }
    with replace_files(RESULTS, ["sense_rivals.json"]) as draft:
        (draft / "sense_rivals.json").write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

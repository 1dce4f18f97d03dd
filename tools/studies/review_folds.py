"""Three-way sentiment on all 900 reviews of the course, each judged by a model that has not read it.

    python tools/studies/review_folds.py        # 45 minutes of one core

The reviews are dealt into five folds, class by class, and each fold is judged by models that learned from the other
four: by lecture 7's loop, with eight epochs, and by a logistic regression (C = 10, as in the lecture) on counted words,
on averaged word vectors, and on the frozen encoder's vectors. Nothing is chosen on a fold. A seed draws the folds, and
BERT's head and order too.

Intervals draw the reviews again, all rivals on the same reviews; the seeds are folded in by their mean.
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from few_labels import sentence_vectors, splits_of, tf_idf, write
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer

from bertcourse.bert import BertModel, load_pretrained
from bertcourse.bootstrap import compare
from bertcourse.datasets import COURSE_DATA
from bertcourse.fine_tuning import LabeledText, SequenceClassifier, fine_tune

FOLDS, EPOCHS, C = 5, 8, 10
LABELS = ["negative", "neutral", "positive"]
BERT = "fine-tuned"


def deal(reviews: Sequence[LabeledText], seed: int) -> np.ndarray:
    """(n,), the fold of each review: each class is dealt out evenly."""
    rng, folds = random.Random(seed), np.empty(len(reviews), dtype=int)
    for label in LABELS:
        places = [i for i, review in enumerate(reviews) if review.label == label]
        rng.shuffle(places)
        folds[places] = np.arange(len(places)) % FOLDS
    return folds


def word_vectors(encoder: BertModel, tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """(n, D), the mean of the vectors that the encoder's table has for a text's tokens."""
    table = encoder.embeddings.word_embeddings.weight.detach()
    return torch.stack([table[tokenizer.encode(text).ids[1:-1]].mean(dim=0) for text in texts]).numpy()


def judge(reviews: Sequence[LabeledText], seed: int, encoder: BertModel, tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """(n,) by system: whether a review is judged rightly by a model that did not learn from it."""
    texts, labels = [review.text for review in reviews], np.array([review.label for review in reviews])
    vectors = {"frozen": sentence_vectors(encoder, tokenizer, texts)}
    vectors["word vectors"] = word_vectors(encoder, tokenizer, texts)
    said = {system: np.empty(len(reviews), dtype=object) for system in (BERT, *vectors, "counting words")}
    folds = deal(reviews, seed)
    for fold in range(FOLDS):
        new, known = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        model = SequenceClassifier(encoder, tokenizer, LABELS, seed=seed)
        fine_tune(model, [reviews[i] for i in known], epochs=EPOCHS, seed=seed)
        said[BERT][new] = model.predict([texts[i] for i in new])
        parts = {system: (table[known], table[new]) for system, table in vectors.items()}
        parts["counting words"] = tf_idf([[reviews[i] for i in part] for part in (known, new)])
        for system, (learned, unseen) in parts.items():
            regression = LogisticRegression(C=C, max_iter=2000).fit(learned, labels[known])
            said[system][new] = regression.predict(unseen)
    return {system: answers == labels for system, answers in said.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="a name for load_pretrained (default: minilm)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    encoder, tokenizer = load_pretrained(options.model)
    reviews = [review for split in splits_of("reviews") for review in split]
    runs = []
    for seed in range(options.seeds):
        runs.append(judge(reviews, seed, encoder, tokenizer))
        print(seed, {system: round(100 * hits.mean(), 1) for system, hits in runs[-1].items()}, flush=True)
    right = {system: np.sum([run[system] for run in runs], axis=0) for system in runs[0]}  # 0 to 3 of each review
    most = len(reviews) * len(runs)
    leads = {}
    for rival in (system for system in right if system != BERT):
        found = compare((right[BERT] - right[rival])[:, None], lambda totals: 100 * totals[:, 0] / most)
        leads[rival] = [round(float(x), 2) for x in found[:3]]
    result = {
        "model": options.model,
        "settings": {"reviews": len(reviews), "folds": FOLDS, "epochs": EPOCHS, "C": C},
        "right": {system: [round(100 * float(run[system].mean()), 2) for run in runs] for system in right},
        "fine-tuned minus": leads,
    }
    write(options.output, f"review_folds_{Path(options.model).name}.json", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

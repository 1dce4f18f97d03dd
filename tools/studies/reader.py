"""The reader of lecture 9: MiniLM, trained to answer questions, stored as a difference of 1.4 MB.

    BERTCOURSE_DATA=FOLDER python tools/studies/reader.py            # half an hour at most
    BERTCOURSE_DATA=FOLDER python tools/studies/reader.py --measure  # the stored reader once more, a minute

It is trained on the questions of 38 articles of SQuAD 1.1's dev split (``squad().train``), each by itself, and every
fifth once more with another paragraph of its article that does not contain the answer, where [CLS] is what to point at.
Weights are W + U·V of rank 16 (Hu et al. 2022). The best ones on 200 questions of ``squad().dev`` are kept; the reader
is then measured on 300 of ``squad().test`` and on data/reading. Writes data/reader/reader.safetensors and scores.json,
where intervals of 95 % come from drawing the paragraphs again, and a question shares a word with its paragraph if the
word stands there in the same form and is no stop word.
An interrupted run resumes where it was.
"""

import argparse
import dataclasses
import json
import random
import re
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from bertcourse.bert import BertModel, load_pretrained
from bertcourse.bootstrap import compare
from bertcourse.datasets import course_file
from bertcourse.files import replace_files
from bertcourse.question_answering import Question, SpanPredictor, answer_f1, read_squad
from bertcourse.question_answering.low_rank import add_low_rank, load_difference, save_difference
from bertcourse_lab.datasets.classification import Splits
from bertcourse_lab.datasets.questions import squad
from bertcourse_lab.datasets.registry import cache_folder
from bertcourse_lab.fine_tuning import fine_tune
from bertcourse_lab.fine_tuning.trainer import CHECKPOINT

RANK, EVERY = 16, 5
SETTINGS = {"epochs": 2, "batch_size": 16, "learning_rate": 1e-3, "evaluations": 4, "precision": "auto"}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # halves the time on a CPU
SIZES = {"max_length": 256, "overlap": 64}
FILE = "reader.safetensors"


class LowRankReader(SpanPredictor):
    """A reader that learns and saves only a difference."""

    def save(self, folder: Path) -> None:
        save_difference(self, folder / FILE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=course_file("reading/README.md").parent.parent / "reader")
    parser.add_argument("--minutes", type=float, default=28, help="of training at most (default: %(default)s)")
    parser.add_argument("--run", type=Path, default=cache_folder() / "runs" / "reader", help="while it goes on")
    parser.add_argument("--measure", action="store_true", help="do not train: measure the reader that is stored")
    options = parser.parse_args()
    splits = squad()
    path = options.output / "scores.json"
    scores = json.loads(path.read_text(encoding="utf-8")) if options.measure else train(splits, options)
    reader = load_difference(SpanPredictor(*load_pretrained("minilm"), **SIZES), options.output / FILE)
    test = random.Random(0).sample(splits.test, 300)
    answerable = [q for q in read_squad(course_file("reading/test.json")) if q.answers]
    wrong = random.Random(0).sample(mismatched(splits.test), 100)
    scores |= {
        "squad_test": {**reader.score(test), "questions": len(test), **by_words(reader, test)},
        "reading_test": {**reader.score(answerable), "questions": len(answerable)},
        "squad_test_mismatched": {"empty": refused(reader, wrong), "questions": len(wrong)},
    }
    with replace_files(options.output, ["scores.json"]) as draft:
        (draft / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(scores, indent=1))


def train(splits: Splits, options: argparse.Namespace) -> dict:
    """Write the reader's file; returns what is to be said of its training."""
    encoder, tokenizer = load_pretrained("minilm")
    questions = splits.train + mismatched(splits.train)
    dev = random.Random(0).sample(splits.dev, 200)
    undisturbed = BertModel(dataclasses.replace(encoder.config, **NO_DROPOUT))
    undisturbed.load_state_dict(encoder.state_dict())
    model = add_low_rank(LowRankReader(undisturbed, tokenizer, **SIZES), RANK)
    settings = {**SETTINGS, "minutes": options.minutes, "trainable": encoder.config.num_hidden_layers}
    tuned = fine_tune(model, questions, dev, options.run, (options.run / CHECKPOINT).exists(), **settings)
    with replace_files(options.output, [FILE]) as draft:
        (draft / FILE).write_bytes((options.run / "model" / FILE).read_bytes())
    return {
        "trained_on": {"questions": len(splits.train), "mismatched": len(questions) - len(splits.train)},
        "settings": {**settings, **SIZES, **NO_DROPOUT, "rank": RANK},
        "steps": tuned.steps,
        "best_step": tuned.step,
        "minutes": round(tuned.seconds / 60, 1),
        "squad_dev": {**tuned.scores, "questions": len(dev)},
    }


def by_words(reader: SpanPredictor, questions: list[Question]) -> dict:
    """The interval of F1; how many percent of their words questions share with the paragraph, and F1 where few."""
    answers = reader.predict([(q.question, q.context) for q in questions])
    f1 = np.array([max(answer_f1(text, a.text) for a in q.answers) for text, q in zip(answers, questions)])
    _, paragraph = np.unique([q.context for q in questions], return_inverse=True)
    totals = np.stack([np.bincount(paragraph, f1), np.bincount(paragraph)], axis=1)
    drawn = compare(totals, lambda each: 100 * each[:, 0] / each[:, 1])
    shared = np.array([shared_words(q) for q in questions])
    return {
        "paragraphs": len(totals),
        "f1_interval": [drawn.low, drawn.high],
        "shared_words": 100 * shared.mean(),
        "sharing_less_than_half": {"questions": int((shared < 0.5).sum()), "f1": 100 * f1[shared < 0.5].mean()},
    }


def shared_words(question: Question) -> float:
    """The share of a question's words, without stop words, that stand in its paragraph."""
    asked, there = (set(re.findall(r"\w+", text.lower())) - ENGLISH_STOP_WORDS for text in question[1:3])
    return len(asked & there) / max(1, len(asked))


def mismatched(questions: list[Question]) -> list[Question]:
    """Every fifth question with another paragraph of its article, which contains none of its answers."""
    rng, found = random.Random(0), []
    for question in questions[::EVERY]:
        others = {q.context for q in questions if q.article == question.article}
        others = [c for c in sorted(others) if not any(a.text.lower() in c.lower() for a in question.answers)]
        if others:
            context = rng.choice(others)
            found.append(question._replace(id=question.id + "-mismatched", context=context, answers=()))
    return found


def refused(reader: SpanPredictor, questions: list[Question]) -> float:
    """The percentage of questions where [CLS] scores higher than the best span."""
    spans = reader.answer([(question.question, question.context) for question in questions])
    return 100 * sum(span.no_answer_score > span.score for span in spans) / len(spans)


if __name__ == "__main__":
    main()

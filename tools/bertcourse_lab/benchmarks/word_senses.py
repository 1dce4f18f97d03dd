"""``bertcourse benchmark wsd``: the table that papers on word sense disambiguation print, measured here.

Sense embeddings are learned from all of SemCor and tested on the five evaluation sets of Raganato et al. 2017, for each
layer of the model and for the sum of the last four, raw and standardized (chapter 6). Every instance gets an answer, so
F1 is the share of right answers. Each row is compared with WordNet's first sense by a paired bootstrap over instances.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from bertcourse.anisotropy import Standardizer
from bertcourse.bert import load_pretrained
from bertcourse.bootstrap import Comparison, compare
from bertcourse.word_senses import PARTS_OF_SPEECH, NearestSense, Word
from bertcourse_lab.benchmarks.paired import paired_bootstrap
from bertcourse_lab.benchmarks.tables import publish, table_lines, table_name, versions, with_interval
from bertcourse_lab.datasets.dictionary import word_senses, wordnet
from bertcourse_lab.datasets.registry import cache_folder
from bertcourse_lab.datasets.sense_corpora import SenseCorpus, most_frequent_senses, sense_corpus
from bertcourse_lab.vector_cache import cached_word_vectors

TEST_SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
COLUMNS = ("ALL", *TEST_SETS, *PARTS_OF_SPEECH)
BASELINE = "WordNet first sense"


def run_benchmark(
    model_name: str = "minilm",
    limit: int | None = None,
    output: str | os.PathLike | None = None,
    cache: str | os.PathLike | None = None,
) -> dict:
    """Measure a model, print the table, and write it to OUTPUT/wsd_MODEL.json and .md.

    Args:
        model_name: for ``load_pretrained``.
        limit: how many sentences of SemCor, and of the test sets, to use, for a quick look; None for all.
        output: folder for the table; None writes none.
        cache: folder for the vectors, from which an interrupted run continues; None for the user's cache.

    Returns:
        What is in the JSON file.

    Source: Raganato et al. 2017 for data and baselines; Loureiro & Jorge 2019 for the method.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"--limit must be at least 1 sentence; got {limit}.")
    model, tokenizer = load_pretrained(model_name)  # first what may be misspelt or missing: that shows at once
    dictionary = wordnet()
    train, test = (first_sentences(sense_corpus(name), limit) for name in ("semcor", "ALL"))
    train_words, test_words = ({each.word for each in corpus.instances} for corpus in (train, test))
    senses = word_senses(dictionary, train_words | test_words)
    cache = Path(cache or cache_folder() / "vectors")
    layers = range(model.config.num_hidden_layers + 1)
    vectors = [
        cached_word_vectors(
            model,
            tokenizer,
            corpus.sentences,
            layers,
            pooling="stack",
            only=corpus.positions(),
            dtype="float16",
            cache=cache,
        ).array
        for corpus in (test, train)  # the short one first: mistakes then show early
    ]
    result = {
        "model": model_name,
        "limit": limit,
        "sentences": [len(train.sentences), len(test.sentences)],
        "instances": [len(train.instances), len(test.instances)],
        "versions": versions(),
        "without_example": len(test_words - train_words),
        "rows": compare_systems(train, test, vectors[1], vectors[0], senses),
    }
    return publish(result, system_table(result), output, table_name("wsd", model_name, limit))


def first_sentences(corpus: SenseCorpus, limit: int | None) -> SenseCorpus:
    """The first ``limit`` sentences of a corpus; all of them if that is None."""
    if limit is None:
        return corpus
    return SenseCorpus(
        corpus.sentences[:limit], [instance for instance in corpus.instances if instance.sentence < limit]
    )


def compare_systems(
    train: SenseCorpus, test: SenseCorpus, train_vectors: np.ndarray, test_vectors: np.ndarray, senses: dict
) -> list[dict]:
    """For each system, its name, its F1 by column, in percent, and its comparison with the first sense, over instances
    and over words, in which difference and bounds are shares from 0 to 1; arguments as for ``right_answers``."""
    right = right_answers(train, test, train_vectors, test_vectors, senses)
    _, word = np.unique([str(each.word) for each in test.instances], return_inverse=True)

    def over_words(answers: np.ndarray) -> Comparison:
        gained = np.bincount(word, answers.astype(int) - right[BASELINE])
        counts = np.stack([gained, np.bincount(word)], axis=1)
        return compare(counts, lambda totals: totals[:, 0] / totals[:, 1])

    return [
        {
            "system": name,
            "f1": columns(answers, test),
            "against_first_sense": paired_bootstrap(answers, right[BASELINE])._asdict(),
            "over_words": over_words(answers)._asdict(),
        }
        for name, answers in right.items()
    ]


def right_answers(
    train: SenseCorpus, test: SenseCorpus, train_vectors: np.ndarray, test_vectors: np.ndarray, senses: dict
) -> dict[str, np.ndarray]:
    """For each system, by name, whether its answer to each instance is right.

    Args:
        train, test: corpora.
        train_vectors, test_vectors: (instances, layers, D).
        senses: word to its senses in WordNet's order.
    """
    words, gold = [each.word for each in test.instances], [each.senses for each in test.instances]
    first = {word: keys[0] for word, keys in senses.items()}
    frequent = first | most_frequent_senses(train, senses)
    right = {
        BASELINE: is_correct([first.get(word) for word in words], gold),
        "most frequent sense in SemCor": is_correct([frequent.get(word) for word in words], gold),
    }
    num_layers = train_vectors.shape[1]
    choices = {f"layer {layer}": [layer] for layer in range(num_layers)}
    choices["sum of last four"] = list(range(max(0, num_layers - 4), num_layers))
    for name, layers in choices.items():
        x, x_test = (vectors[:, layers].astype(np.float32).sum(axis=1) for vectors in (train_vectors, test_vectors))
        for kind in ("raw", "standardized"):
            if kind == "standardized":
                standardizer = Standardizer().fit(x)
                x, x_test = standardizer.transform(x), standardizer.transform(x_test)
            right[f"{name}, {kind}"] = is_correct(answers(nearest_senses(train, x), x_test, words, first), gold)
    return right


def nearest_senses(train: SenseCorpus, x: np.ndarray) -> NearestSense:
    """The embeddings of the senses of a corpus, from vectors (instances, D); an instance of several senses is an
    example of each."""
    labelled = [(row, sense) for row, each in enumerate(train.instances) for sense in dict.fromkeys(each.senses)]
    rows = [row for row, _ in labelled]
    return NearestSense().fit(x[rows], [sense for _, sense in labelled], [train.instances[row].word for row in rows])


def answers(senses: NearestSense, x: np.ndarray, words: Sequence[Word], first: Mapping[Word, str]) -> list[str | None]:
    """The nearest sense of each vector (n, D); a word without an example gets its first sense."""
    return [
        senses.nearest(vector, word) if word in senses.means_ else first.get(word) for vector, word in zip(x, words)
    ]


def is_correct(predicted: Iterable[str | None], gold: Iterable[Sequence[str]]) -> np.ndarray:
    """(n,), whether each answer is among the senses that annotators accept, as Raganato et al. 2017 score it.

    >>> is_correct(["a", "b"], [("a", "c"), ("d",)]).tolist()
    [True, False]
    """
    return np.array([sense in accepted for sense, accepted in zip(predicted, gold, strict=True)], dtype=bool)


def columns(right: np.ndarray, test: SenseCorpus) -> dict[str, float | None]:
    """F1 in percent, on all instances, by test set and by part of speech; None where there are no instances."""
    origins = np.array([each.id.split(".")[0] for each in test.instances])
    parts = np.array([each.word[1] for each in test.instances])
    groups = (
        {"ALL": np.full(len(right), True)}
        | {name: origins == name for name in TEST_SETS}
        | {name: parts == name for name in PARTS_OF_SPEECH}
    )
    return {
        name: round(100 * float(right[chosen].mean()), 2) if chosen.any() else None for name, chosen in groups.items()
    }


def system_table(result: dict) -> str:
    """The table for people to read."""
    (train, test), (train_sentences, test_sentences) = result["instances"], result["sentences"]
    rows = []
    for row in result["rows"]:
        scores = ["–" if (score := row["f1"][name]) is None else f"{score:.1f}" for name in COLUMNS]
        delta = row["against_first_sense"]
        compared = [with_interval(delta, digits=1, times=100), p_text(delta["p_value"])]
        rows.append([row["system"], *scores, *(["", ""] if row["system"] == BASELINE else compared)])
    lines = [
        f"# Word sense disambiguation: {result['model']}",
        "",
        f"F1 in percent. Learned from {train:,} instances of SemCor ({train_sentences:,} sentences), measured on "
        f"{test:,} of the WSD Evaluation Framework ({test_sentences:,} sentences); WordNet 3.0; a word without example "
        "takes WordNet's first sense. Δ: points above WordNet first sense on ALL, with the 95 % interval of a paired "
        "bootstrap over instances, and its p-value.",
        "",
        *table_lines(["system", *COLUMNS, "Δ", "p"], rows),
        "",
    ]
    return "\n".join(lines)


def p_text(p_value: float) -> str:
    """A p-value from 10,000 resamples, with only the digits that mean something.

    >>> p_text(0.0)
    '< .001'
    """
    return "< .001" if p_value < 0.001 else f"{p_value:.3f}".lstrip("0") if p_value < 1 else "1"

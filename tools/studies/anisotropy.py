"""The shape of BERT's space, measured on public data: the table that lecture 6 reads.

    BERTCOURSE_DATA=FOLDER python tools/studies/anisotropy.py     # MiniLM; about 10 minutes of CPU, 1.4 GB of cache

For each layer (0 is the embeddings):

- **two random words**: the expected cosine of 10,000 words and punctuation marks drawn from SemCor's running text, in
  closed form and from sampled pairs; the dimensions that contribute most to it; what is left when they are cut out, and
  after centring (x - μ), scaling (x/σ) and standardizing ((x - μ)/σ);
- **people**: Spearman's correlation of the cosine with people's judgements of word pairs. A word's vector is either
  the mean over its annotated occurrences in SemCor (those of its lemma), or its vector when it stands alone between
  [CLS] and [SEP]. μ and σ come from the 10,000 words for the first, and from the words of all sets for the second.
  The interval is a bootstrap over pairs of standardized minus raw;
- **frequency**: the mean cosine of two occurrences of one form in one sense, against the logarithm of how often the
  form occurs in 92 books. Also for pairs from different documents only, since a rare word that is annotated twice
  mostly belongs to one document that is about it; and, of these, for words with one sense in WordNet, since frequent
  words have more senses, and vaguer ones.

The vectors of SemCor's annotated words are those of ``bertcourse benchmark wsd``: if its cache is there, 3 minutes are
enough.
"""

import argparse
import json
import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy import stats

from bertcourse import anisotropy, bert
from bertcourse.datasets import COURSE_DATA, book_words
from bertcourse.files import replace_files
from bertcourse.word_senses import unit
from bertcourse_lab.datasets import judged_pairs
from bertcourse_lab.datasets.dictionary import word_senses, wordnet
from bertcourse_lab.datasets.registry import cache_folder
from bertcourse_lab.datasets.sense_corpora import SenseCorpus, sense_corpus
from bertcourse_lab.vector_cache import cached_word_vectors

KINDS = ("raw", "centred", "scaled", "standardized")
SETS = ("simlex999", "simverb3500", "ws353-similarity", "ws353-relatedness", "rg65")
NUM_TOKENS, NUM_PAIRS, RESAMPLES = 10_000, 10_000, 1000


def transformed(vectors: np.ndarray, standardizer: anisotropy.Standardizer) -> dict[str, np.ndarray]:
    """(n, D) vectors, transformed in each of ``KINDS``, in float32."""
    mean, scale = (each.astype(np.float32) for each in (standardizer.mean_, standardizer.scale_))
    vectors = vectors.astype(np.float32)
    return {
        "raw": vectors,
        "centred": vectors - mean,
        "scaled": vectors / scale,
        "standardized": (vectors - mean) / scale,
    }


def draw_words(corpus: SenseCorpus, count: int) -> tuple[list[list[str]], list[list[int]]]:
    """Random words of a running text, all equally likely: the sentences with one, and the words' indices in these."""
    ends = np.cumsum([len(sentence) for sentence in corpus.sentences])
    drawn = defaultdict(list)
    for place in sorted(np.random.default_rng(0).choice(ends[-1], size=count, replace=False)):
        sentence = int(np.searchsorted(ends, place, side="right"))
        drawn[sentence].append(int(place - ends[sentence] + len(corpus.sentences[sentence])))
    return [corpus.sentences[sentence] for sentence in drawn], list(drawn.values())


class Estimate(NamedTuple):
    """A mean estimated from a sample; the true one lies within two standard errors of it 95 times out of 100."""

    mean: float
    standard_error: float


def sampled_cosine(vectors: np.ndarray, num_pairs: int, seed: int = 0) -> Estimate:
    """The expected cosine from random pairs of different vectors, as papers estimate it (Ethayarajh 2019)."""
    random = np.random.default_rng(seed)
    first = random.integers(len(vectors), size=num_pairs)
    second = (first + random.integers(1, len(vectors), size=num_pairs)) % len(vectors)  # never paired with itself
    cosines = anisotropy.paired_cosines(vectors[first], vectors[second])
    return Estimate(float(cosines.mean()), float(cosines.std(ddof=1) / np.sqrt(num_pairs)))


class Line(NamedTuple):
    """y = slope · x + intercept by least squares, with the slope's standard error and Pearson's correlation."""

    slope: float
    intercept: float
    standard_error: float
    correlation: float
    num_points: int


def frequency_effect(similarities: Mapping[Hashable, float], counts: Mapping[Hashable, int]) -> Line:
    """How the similarity of a sense's occurrences falls with the frequency of its word.

    All occurrences of a sense mean the same, so a slope below zero is similarity that cosine misses.

    Args:
        similarities: from sense to the mean cosine of its occurrences.
        counts: from sense to how often its word occurs in a large text; senses without a count are skipped.

    Returns:
        ``Line``, cosine against log10 frequency: the slope is the change when the frequency grows tenfold.

    Source: Zhou et al. 2022, "Problems with Cosine as a Measure of Embedding Similarity for High Frequency Words",
    section 3, which uses pairs from WiC that have the same sense.
    """
    known = [name for name in similarities if counts.get(name, 0) > 0]
    line = stats.linregress(np.log10([counts[name] for name in known]), [similarities[name] for name in known])
    return Line(float(line.slope), float(line.intercept), float(line.stderr), float(line.rvalue), len(known))


def measure_space(vectors: np.ndarray) -> dict:
    """The expected cosine of (n, D) vectors, and which dimensions contribute to it."""
    kinds = transformed(vectors, anisotropy.Standardizer().fit(vectors))
    contributions = anisotropy.dimension_contributions(kinds["raw"])
    largest = np.argsort(-contributions)[:5]
    sampled = sampled_cosine(kinds["raw"], NUM_PAIRS)
    cut = {}
    for number in (1, 3):
        without = kinds["raw"].copy()
        without[:, largest[:number]] = 0
        cut[f"without_top_{number}"] = anisotropy.expected_cosine(without)
    return {
        "expected_cosine": {kind: anisotropy.expected_cosine(each) for kind, each in kinds.items()} | cut,
        "sampled": {"pairs": NUM_PAIRS, **sampled._asdict()},
        "top_dimensions": [
            {
                "dimension": int(d),
                "contribution": float(contributions[d]),
                "share": float(contributions[d] / contributions.sum()),
                "mean": float(vectors[:, d].mean()),
                "standard_deviation": float(vectors[:, d].std()),
            }
            for d in largest
        ],
    }


def spearman_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's correlation of each row of x with the same row of y."""
    x, y = (stats.rankdata(each, axis=1) for each in (x, y))
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (x, y))
    return (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))


def measure_people(
    vectors: np.ndarray, words: list[str], standardizer: anisotropy.Standardizer, top: int, pairs: dict
) -> dict:
    """For each set of pairs, the correlation by kind and without dimension ``top``, and the difference's interval."""
    kinds = transformed(vectors, standardizer)
    kinds["without_top_1"] = kinds["raw"].copy()
    kinds["without_top_1"][:, top] = 0
    kinds = {kind: dict(zip(words, each)) for kind, each in kinds.items()}
    result = {}
    for name, all_pairs in pairs.items():
        known = [pair for pair in all_pairs if pair.first in kinds["raw"] and pair.second in kinds["raw"]]
        rows = np.random.default_rng(0).integers(len(known), size=(RESAMPLES, len(known)))
        people = np.array([pair.score for pair in known])
        resampled = {}
        for kind in ("raw", "standardized"):
            first, second = (np.stack([kinds[kind][pair[side]] for pair in known]) for side in (0, 1))
            resampled[kind] = spearman_rows(anisotropy.paired_cosines(first, second)[rows], people[rows])
        low, high = np.quantile(resampled["standardized"] - resampled["raw"], [0.025, 0.975])
        result[name] = {"pairs": len(known), "of": len(all_pairs)}
        result[name] |= {kind: judged_pairs.human_correlation(each, known) for kind, each in kinds.items()}
        result[name] |= {"difference_low": float(low), "difference_high": float(high)}
    return result


def similarity_across(vectors: np.ndarray, names: list, documents: list[str]) -> dict:
    """The mean cosine of two occurrences of a name that are in different documents, in closed form.

    From the sum of all products, |Σ u|², those within a document, |Σ u|² over that document, are subtracted.
    """
    units, result = unit(vectors.astype(np.float64)), {}
    for name, rows in anisotropy.rows_by_name(names).items():
        sums, counts = defaultdict(float), Counter(documents[row] for row in rows)
        for row in rows:
            sums[documents[row]] = sums[documents[row]] + units[row]
        num_pairs = len(rows) ** 2 - sum(count**2 for count in counts.values())
        if num_pairs:
            products = (sum(sums.values()) ** 2).sum() - sum((each**2).sum() for each in sums.values())
            result[name] = float(products / num_pairs)
    return result


def measure_frequency(vectors: np.ndarray, names: list, documents: list[str], counts: dict, single: set) -> dict:
    """The line through (log frequency, similarity) of all names, for three choices of pairs, and means by frequency."""
    across = similarity_across(vectors, names, documents)
    choices = {
        "all pairs": anisotropy.self_similarity(vectors, names),
        "different documents": across,
        "different documents, one sense": {name: value for name, value in across.items() if name in single},
    }
    result = {}
    for choice, similarities in choices.items():
        line = frequency_effect(similarities, counts)._asdict()
        bins = defaultdict(list)
        for name, value in similarities.items():
            if counts[name]:
                bins[int(np.log10(counts[name]))].append(value)
        means = [
            {"from": 10**power, "forms": len(bins[power]), "mean": float(np.mean(bins[power]))}
            for power in sorted(bins)
        ]
        result[choice] = line | {"by_frequency": means}
    return result


def measure(model_name: str, cache: Path) -> dict:
    """Everything, for one model."""
    corpus, pairs = sense_corpus("semcor"), {name: judged_pairs.word_pairs(name) for name in SETS}
    synsets = word_senses(wordnet(), {each.word for each in corpus.instances})
    model, tokenizer = bert.load_pretrained(model_name)
    settings = {"layers": range(model.config.num_hidden_layers + 1), "pooling": "stack", "cache": cache}
    sentences, places = draw_words(corpus, NUM_TOKENS)
    tokens = cached_word_vectors(model, tokenizer, sentences, only=places, **settings).array
    vocabulary = sorted({word for each in pairs.values() for pair in each for word in pair[:2]})
    alone = cached_word_vectors(model, tokenizer, [[word] for word in vocabulary], **settings).array
    occurrences = cached_word_vectors(
        model, tokenizer, corpus.sentences, only=corpus.positions(), dtype="float16", **settings
    ).array

    rows_of = defaultdict(list)
    for row, each in enumerate(corpus.instances):
        rows_of[each.word[0]].append(row)
    seen = [word for word in vocabulary if word in rows_of]
    clear = [row for row, each in enumerate(corpus.instances) if len(each.senses) == 1]
    instances = [corpus.instances[row] for row in clear]
    names = [(each.senses[0], corpus.sentences[each.sentence][each.position].lower()) for each in instances]
    documents = [each.id.split(".")[0] for each in instances]
    single = {name for name, each in zip(names, instances) if len(synsets.get(each.word, ())) == 1}
    books = Counter()
    for word, count in book_words()[0].items():
        books[word.lower()] += count
    counts = {name: books[name[1]] for name in names}
    layers = []
    for layer in settings["layers"]:
        print(f"layer {layer}", file=sys.stderr)
        in_text = anisotropy.Standardizer().fit(tokens[:, layer])
        in_sets = anisotropy.Standardizer().fit(alone[:, layer])
        here = np.ascontiguousarray(occurrences[:, layer]).astype(np.float32)
        means = np.stack([here[rows_of[word]].mean(axis=0) for word in seen])
        frequency = {
            kind: measure_frequency(transformed(here[clear], in_text)[kind], names, documents, counts, single)
            for kind in ("raw", "standardized")
        }
        space = measure_space(tokens[:, layer])
        top = space["top_dimensions"][0]["dimension"]
        layers.append(
            {
                "layer": layer,
                **space,
                "people": {
                    "mean over SemCor": measure_people(means, seen, in_text, top, pairs),
                    "alone": measure_people(alone[:, layer], vocabulary, in_sets, top, pairs),
                },
                "frequency": frequency,
            }
        )
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    return {"model": model_name, "tokens": NUM_TOKENS, "versions": versions, "layers": rounded(layers)}


def rounded(value):
    """A structure of lists and dicts with its floats rounded to five digits."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def print_table(result: dict) -> None:
    """What lecture 6 says, as Markdown."""
    print("| layer | expected cosine | sampled | top dimension, share | without it | centred | scaled | both |")
    print("|---|---|---|---|---|---|---|---|")
    for row in result["layers"]:
        cosine, top, sampled = row["expected_cosine"], row["top_dimensions"][0], row["sampled"]
        cells = [cosine["raw"], f"{sampled['mean']:.3f} ± {sampled['standard_error']:.3f}"]
        cells += [f"{top['dimension']}, {top['share']:.0%}", cosine["without_top_1"]]
        cells += [cosine[kind] for kind in KINDS[1:]]
        print(
            f"| {row['layer']} |", " | ".join(each if isinstance(each, str) else f"{each:.3f}" for each in cells), "|"
        )
    for source in ("mean over SemCor", "alone"):
        names = list(result["layers"][0]["people"][source])
        print(f"\nSpearman × 100, words {source}: raw, then standardized minus raw with its 95 % interval")
        print(f"| layer | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
        for row in result["layers"]:
            cells = []
            for each in row["people"][source].values():
                low, high = (100 * each[f"difference_{end}"] for end in ("low", "high"))
                difference = 100 * (each["standardized"] - each["raw"])
                cells.append(f"{100 * each['raw']:.1f} {difference:+.1f} [{low:+.1f}, {high:+.1f}]")
            print(f"| {row['layer']} | {' | '.join(cells)} |")
    print("\nChange of the cosine for ten times the frequency (standard error), number of forms in a sense")
    for row in result["layers"]:
        for kind, choices in row["frequency"].items():
            cells = [
                f"{name}: {line['slope']:+.3f} ({line['standard_error']:.3f}), {line['num_points']}"
                for name, line in choices.items()
            ]
            print(f"layer {row['layer']}, {kind}: {'; '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="a name for load_pretrained (default: minilm)")
    parser.add_argument(
        "--output", default=COURSE_DATA / "results", help="folder for the table (default: data/results)"
    )
    parser.add_argument("--cache", help="folder for vectors (default: the user's cache)")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        result = measure(options.model, Path(options.cache or cache_folder() / "vectors"))
    except (ConnectionError, FileNotFoundError) as error:
        sys.exit(str(error))
    print_table(result)
    name = f"anisotropy_{Path(options.model).name}.json"
    with replace_files(options.output, [name]) as draft:
        (draft / name).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

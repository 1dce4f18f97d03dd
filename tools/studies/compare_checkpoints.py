r"""What a checkpoint knows, beside the one before it: books that none was trained on, grammar, word senses.

    mkdir older && git archive debc203:data/checkpoints/course | tar -x -C older     # the course's BERT until then
    BERTCOURSE_DATA=FOLDER python tools/studies/compare_checkpoints.py older runs/course/first/model-100 \
        runs/course/second/model-100 course --output data/results/compare_checkpoints

The other models are compared with the first one named. There are four parts; what is measured is kept in the JSON
file, so that an interrupted command resumes where it was, and ``--parts`` can take one at a time:

- **books**: eight books that are kept for measuring. 15 % of the tokens of each row are chosen, equally many in each
  book and the same for all models, which must share one tokenizer; rows are pairs of segments that fill 64, 128 or 256
  tokens. Loss in nats and top-1, with all chosen tokens as [MASK] and with the usual 80/10/10; next-sentence prediction
  (B is from any of the eight books, and counts for the book and the chapter of A). Intervals are from a bootstrap over
  the chapters of all eight: 95 % of what other chapters would give, not of what other books would, for which eight are
  too few;
- **blimp**: ``bertcourse benchmark blimp``, all pairs, with an interval for each model by itself; and, by name, the
  paradigms with a noun between subject and verb, which there always has the other number;
- **agreement**: the course's own 252 sentences (data/agreement): how often the verb that agrees is likelier in place of
  [MASK], with no noun in between, with one of the same number, and with one of the other. A model that has turned the
  rule round, and trusts that the nearest noun is wrong, does well in BLiMP, and shows itself here;
- **senses**: ``bertcourse benchmark wsd``, all of SemCor; models are compared in the same row by a paired bootstrap
  over instances.
"""

import argparse
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from recipe_measures import Guesses, all_masked, compare_answers, guess, measure_senses, name_of
from tokenizers import Tokenizer
from torch import nn

from bertcourse.bert import BertForPreTraining, encode_batch, load_pretrained
from bertcourse.bootstrap import Comparison, compare
from bertcourse.datasets import agreement_sentences
from bertcourse.datasets.agreement import AgreementSentence
from bertcourse.files import read_json
from bertcourse.pretraining import Documents, MaskedTokens, RowBatch, Vocabulary, mask_tokens
from bertcourse_lab.benchmarks.blimp import ACROSS_A_NOUN, score_pairs
from bertcourse_lab.benchmarks.tables import table_lines, versions, with_interval, write_table
from bertcourse_lab.pretraining.batches import RowMaker
from bertcourse_lab.pretraining.rows import collate
from bertcourse_lab.pretraining.shards import joined, measuring_books
from bertcourse_lab.vector_cache import fingerprint

LENGTHS, MASKS = (64, 128, 256), ("all [MASK]", "80/10/10")
TOKENS = 2**15  # of each book, at each length
PARTS, FIRST_SENSE = ("books", "blimp", "agreement", "senses"), "WordNet first sense"
SENSE_ROWS = tuple(
    f"{layers}, {kind}" for layers in ("last layer", "sum of last four") for kind in ("raw", "standardized")
)


class Sample(NamedTuple):
    """Rows to measure on.

    Attributes:
        batches: with 80/10/10.
        chapters: (R,), the document of each row's first segment, counted over all books.
        books: (R,), the index of its book.
    """

    batches: list[tuple[MaskedTokens, RowBatch]]
    chapters: NDArray
    books: NDArray


def sample(books: Mapping[str, Documents], vocabulary: Vocabulary, length: int, tokens: int) -> Sample:
    """The same rows every time: equally many from each book, each filled to the last token.

    Args:
        books: the documents of each book, by its name.
        vocabulary: of the tokenizer.
        length: of a row.
        tokens: from each book, at most.
    """
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    documents = functools.reduce(joined, books.values())
    rows = RowMaker("sentence-pairs", 0.0).rows(documents, length, rng)
    starts = documents.sentences[documents.documents[:-1]]  # of the chapters, in tokens
    chapters = np.searchsorted(starts, rows.spans[rows.first_span[:-1], 0], side="right") - 1
    ends = np.cumsum([len(each.documents) - 1 for each in books.values()])  # of the books, in chapters
    of_book = np.searchsorted(ends, chapters, side="right")
    whole = rng.permutation(np.flatnonzero(rows.lengths == length))
    chosen = np.concatenate([whole[of_book[whole] == number][: tokens // length] for number in range(len(books))])
    found = np.bincount(of_book[chosen], minlength=len(books))
    if min(found) < tokens // length:
        few = ", ".join(f"{name} {count}" for name, count in zip(books, found) if count < tokens // length)
        raise ValueError(
            f"each book must have {tokens // length} rows of {length} tokens; got: {few}. Ask for fewer --tokens."
        )
    batches = []
    for part in np.split(chosen, range(64, len(chosen), 64)):
        batch = collate(documents, rows, part, vocabulary)
        batches.append((mask_tokens(batch.input_ids, vocabulary, generator=generator), batch))
    return Sample(batches, chapters[chosen], of_book[chosen])


def measure_books(model: nn.Module, tokenizer: Tokenizer, books: Mapping[str, Documents], tokens: int) -> dict:
    """Both of BERT's tasks, by length and by kind of masking, in all books and in each."""
    vocabulary, result = Vocabulary.of(tokenizer), {}
    for length in LENGTHS:
        drawn = sample(books, vocabulary, length, tokens)
        for masks in MASKS:
            batches = drawn.batches if masks == "80/10/10" else all_masked(drawn.batches, vocabulary.mask_id)
            result[f"{length}, {masks}"] = summary(guess(model, batches), drawn, list(books))
    return result


def summary(found: Guesses, drawn: Sample, names: list[str]) -> dict:
    """The scores of guesses and, for ``interval``, how many tokens of each chapter were chosen, and guessed right."""
    rows, right, losses = found.rows.numpy(), found.right.numpy(), found.losses.double().numpy()
    chapters, books = drawn.chapters[rows], drawn.books[rows]
    return {
        **scores(right, losses),
        "nsp": 100 * found.nsp_right.double().mean().item() if len(found.nsp_right) else None,
        "books": {name: scores(right[books == i], losses[books == i]) for i, name in enumerate(names)},
        "chosen_by_chapter": numbers(np.bincount(chapters)),
        "right_by_chapter": numbers(np.bincount(chapters, right, chapters.max() + 1)),
    }


def measure_agreement(model: nn.Module, tokenizer: Tokenizer) -> dict[str, dict[str, float]]:
    """How many of the course's own sentences there are, and how many are right in percent, by the noun in between."""
    right: dict[str, list[bool]] = {"no noun": [], "same number": [], "other number": []}
    for sentence in agreement_sentences():
        kind = {"none": "no noun", sentence.number: "same number"}.get(sentence.attractor, "other number")
        right[kind].append(prefers(model, tokenizer, sentence))
    return {
        kind: {"sentences": len(answers), "right": 100 * float(np.mean(answers))} for kind, answers in right.items()
    }


@torch.no_grad()
def prefers(model: nn.Module, tokenizer: Tokenizer, sentence: AgreementSentence) -> bool:
    """Whether the verb that agrees is likelier in its place than the other."""
    batch = encode_batch(tokenizer, [f"{sentence.before} [MASK] {sentence.after}."])
    logits = model(*batch).mlm_logits[batch.input_ids == tokenizer.token_to_id("[MASK]")]
    right, wrong = (logits[0, tokenizer.token_to_id(verb)].item() for verb in (sentence.verb, sentence.other))
    return right > wrong


def scores(right: NDArray, losses: NDArray) -> dict[str, float]:
    """How many guesses there are, their mean loss in nats, and how many are right, in percent."""
    return {"chosen": len(right), "loss": float(losses.mean()), "top1": 100 * float(right.mean())}


def numbers(counts: NDArray) -> str:
    """Counts on one line, where JSON would put each on its own.

    >>> numbers(np.array([3.0, 12.0]))
    '3 12'
    """
    return " ".join(str(int(count)) for count in counts)


def interval(model: dict, baseline: dict | None = None) -> Comparison:
    """The top-1 of a ``summary``, or its gain over a baseline's, in percent, with a bootstrap over chapters."""
    columns = [np.array(model["chosen_by_chapter"].split(), int)]
    columns += [np.array(each["right_by_chapter"].split(), int) for each in (model, baseline) if each]
    if baseline and baseline["chosen_by_chapter"] != model["chosen_by_chapter"]:
        raise ValueError("both models must be measured on the same rows; measure them again, with one tokenizer.")
    counts = np.stack(columns, axis=1)

    def top1(totals: NDArray) -> NDArray:
        right = totals[:, 1] - (totals[:, 2] if baseline else 0)
        return 100 * right / totals[:, 0]

    return compare(counts[counts[:, 0] > 0], top1)


def run(paths: list[str], output: Path, parts: list[str], tokens: int) -> dict:
    """Measure what is not in OUTPUT.json yet; write it and OUTPUT.md after each part."""
    file = output.with_name(f"{output.name}.json")
    known = read_json(file)["models"] if file.exists() else {}
    loaded = {name_of(path): load_pretrained(path, BertForPreTraining) for path in paths}
    if len(loaded) < len(paths) or len({tokenizer.to_str() for _, tokenizer in loaded.values()}) > 1:
        raise ValueError(
            f"models must have one tokenizer and names of their own; got {', '.join(map(name_of, paths))}."
        )
    names = dict.fromkeys([next(iter(loaded)), *known, *loaded])
    result: dict = {"versions": versions(), "models": {name: known.get(name, {}) for name in names}}
    for name, (model, _) in loaded.items():
        weights = fingerprint(model)
        entry = result["models"][name]
        if entry.get("weights") != weights:
            entry = {"weights": weights}
        if "books" in parts and entry.get("tokens") != tokens:  # the other parts do not depend on it
            entry = {key: value for key, value in entry.items() if key != "books"} | {"tokens": tokens}
        result["models"][name] = entry
    for name, (model, tokenizer) in loaded.items():
        for part in parts:
            if part not in result["models"][name]:
                result["models"][name][part] = measure_part(part, model, tokenizer, tokens)
                write_table(output.parent, output.name, result, table(result))
    print(table(result))
    return result


def measure_part(part: str, model: nn.Module, tokenizer: Tokenizer, tokens: int) -> dict:
    """Measure one of ``PARTS`` for one model."""
    if part == "books":
        return measure_books(model, tokenizer, measuring_books(tokenizer), tokens)
    if part == "blimp":  # as bertcourse benchmark blimp, in float32
        return score_pairs(model, tokenizer)
    if part == "agreement":
        return measure_agreement(model, tokenizer)
    return measure_senses(model, tokenizer, None)


def table(result: dict) -> str:
    """The table for people: a section for each measured part, in which the others are compared with the first model."""
    lines = ["# Checkpoints on books that none was trained on, on grammar and on word senses", ""]
    tokens = next(iter(result["models"].values())).get("tokens")
    sections = (books_section, blimp_section, agreement_section, senses_section)
    for part, section in zip(PARTS, sections, strict=True):
        comparable = {
            name: each for name, each in result["models"].items() if part != "books" or each.get("tokens") == tokens
        }
        measured = {name: entry[part] for name, entry in comparable.items() if part in entry}
        lines += [*section(measured), ""] if measured else []
    return "\n".join(lines)


def books_section(models: dict[str, dict]) -> list[str]:
    """Both tasks by model and row, then top-1 book by book."""
    first = next(iter(models))
    rows = []
    for name, settings in models.items():
        for setting, found in settings.items():
            top1 = interval(found)
            paired = "" if name == first else with_interval(interval(found, models[first][setting])._asdict(), 1)
            nsp = "–" if found["nsp"] is None else f"{found['nsp']:.1f}"
            shown = f"{top1.difference:.1f} [{top1.low:.1f}, {top1.high:.1f}]"
            rows.append([name, *setting.split(", "), f"{found['loss']:.3f}", shown, paired, nsp])
    setting = f"128, {MASKS[0]}"
    chosen = models[first][setting]["chosen"]
    books = [
        [book, *(f"{each[setting]['books'][book]['top1']:.1f}" for each in models.values())]
        for book in models[first][setting]["books"]
    ]
    return [
        "## Eight books kept for measuring",
        "",
        f"15 % of the tokens of whole rows chosen, {chosen:,} at 128; loss in nats; top-1 and NSP in percent. In "
        f"brackets 95 % of a bootstrap over chapters. Δ: above {first}, on the same tokens.",
        "",
        *table_lines(["model", "row", "masks", "loss", "top-1", "Δ", "NSP"], rows),
        "",
        f"Top-1 by the book of the first segment, rows of 128, {MASKS[0]}:",
        "",
        *table_lines(["book", *models], books),
    ]


def blimp_section(models: dict[str, dict]) -> list[str]:
    """Accuracy by group of paradigms and model, and in the paradigms with a noun between subject and verb."""
    first = next(iter(models.values()))
    names = [("groups", name) for name in first["groups"]] + [("paradigms", name) for name in ACROSS_A_NOUN]
    rows = []
    for kind, name in names:
        published = first[kind][name]["published"]
        measured = [each[kind][name] for each in models.values()]
        shown = [f"{each['accuracy']:.1f} [{each['low']:.1f}, {each['high']:.1f}]" for each in measured]
        rows.append([name, *shown, *(f"{accuracy:.1f}" for accuracy in published.values())])
    return [
        "## BLiMP",
        "",
        f"Accuracy in percent on {first['pairs']:,} minimal pairs, chance is 50; in brackets 95 %, for other pairs of "
        "the same paradigms. Right of our models what was published.",
        "",
        *table_lines(["paradigms", *models, *first["groups"]["all"]["published"]], rows),
    ]


def agreement_section(models: dict[str, dict]) -> list[str]:
    """Shares of right answers by the noun in between, and over all sentences."""
    rows = []
    for name, found in models.items():
        number = sum(each["sentences"] for each in found.values())
        mean = sum(each["right"] * each["sentences"] for each in found.values()) / number
        rows.append([name, *(f"{each['right']:.1f}" for each in found.values()), f"{mean:.1f}"])
    first = next(iter(models.values()))
    counted = ", ".join(f"{kind}: {each['sentences']}" for kind, each in first.items())
    return [
        "## The course's own sentences on agreement",
        "",
        f"Right answers in percent by the noun between subject and verb (sentences with {counted}); chance is 50.",
        "",
        *table_lines(["model", *first, "all"], rows),
    ]


def senses_section(models: dict[str, dict]) -> list[str]:
    """F1 by model and row, beside the first model's same row and beside WordNet's first sense."""
    first, rows = next(iter(models)), []
    for name, found in models.items():
        for row in dict.fromkeys((*SENSE_ROWS, found["best"])):
            paired = ""
            if name != first and row in models[first]["rows"]:
                paired = with_interval(compare_answers(found, models[first], row)._asdict(), 1, 100)
            above = with_interval(compare_answers(found, found, row, FIRST_SENSE)._asdict(), 1, 100)
            rows.append([name, row, f"{found['rows'][row]['f1']:.1f}", paired, above])
    return [
        "## Word senses",
        "",
        f"F1 in percent on ALL; in brackets 95 % of a paired bootstrap over instances. Δ: above {first} in the same "
        "row. The last row of a model may be one that was chosen on ALL itself, as its best.",
        "",
        *table_lines(["model", "row", "F1", "Δ", "above WordNet's first sense"], rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="names or folders of models with one tokenizer, the known one first")
    parser.add_argument("--output", type=Path, required=True, help="OUTPUT.json and OUTPUT.md are written")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of each book and length (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    run(options.models, options.output, options.parts, options.tokens)


if __name__ == "__main__":
    main()

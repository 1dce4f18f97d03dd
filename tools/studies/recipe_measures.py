"""What a pretrained model is worth: the measures of the study of recipes, one JSON file per model.

    BERTCOURSE_DATA=FOLDER python tools/studies/recipe_measures.py course --quick     # about 3 minutes of one core

- **mlm**: five held-out books, 15 % of the tokens chosen, in pairs of 64 tokens and in full sentences of 128 (or
  ``length``): loss in nats and top-1, with the usual 80/10/10 and with all chosen tokens as [MASK]; and bits per
  character of the chosen tokens, by which models with different tokenizers can be compared, with care: a piece of a
  word is easier to guess;
- **blimp**: minimal pairs of grammar, also by odd-numbered and even-numbered paradigms, so that one can choose on the
  former and report the latter;
- **senses**: the nearest sense, from SemCor to Raganato's ALL, by layer; which instances are right is kept, in
  hexadecimal digits, so that two models can be compared by a paired bootstrap (``compare_answers``);
- **few_labels**: tickets (three classes) from 48 labelled examples: fine-tuned, three draws; logistic regression on
  the frozen encoder, twenty draws, which cost little; and, without ``--quick``, from random weights, one draw, which is
  the same for all weights of one architecture. All take the mean over a text's tokens, so that a model pretrained
  without a pooler is at no disadvantage. Reviews are left out: the course's BERT does not learn from so few of them;
- **space**: expected cosine by layer on held-out text, and the dimensions that contribute most to it.

A model has the interface of ``BertForPreTraining``: ``bert``, a ``BertModel`` or a subclass of it, ``mlm_head``, and
``nsp_head`` if there is one. Everything is computed in float32; word vectors are kept in float16, as in the benchmark,
and nothing is left on disk.
"""

import argparse
import json
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import few_labels
import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.anisotropy import dimension_contributions
from bertcourse.bert import BertForPreTraining, BertModel, load_pretrained
from bertcourse.bert.modes import evaluation_mode
from bertcourse.beyond_bert.electra import ElectraDiscriminator
from bertcourse.bootstrap import Comparison
from bertcourse.files import replace_files
from bertcourse.pretraining import IGNORE, Documents, MaskedTokens, RowBatch, Vocabulary
from bertcourse.tokenization.wordpiece import PREFIX
from bertcourse_lab.benchmarks.blimp import score_pairs
from bertcourse_lab.benchmarks.paired import paired_bootstrap
from bertcourse_lab.benchmarks.pseudo_likelihood import pseudo_log_likelihoods
from bertcourse_lab.benchmarks.tables import versions
from bertcourse_lab.benchmarks.word_senses import first_sentences, right_answers
from bertcourse_lab.datasets.dictionary import word_senses, wordnet
from bertcourse_lab.datasets.sense_corpora import sense_corpus
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches
from bertcourse_lab.pretraining.electra_evaluation import replaced_token_scores
from bertcourse_lab.pretraining.shards import books_corpus
from bertcourse_lab.vector_cache import cached_word_vectors


class Sizes(NamedTuple):
    """How much is measured.

    Attributes:
        tokens: of held-out text, in rows of each kind, at most.
        pairs: of each paradigm of BLiMP; None for all 1,000.
        sentences: of SemCor; None for all.
        space_rows: rows whose vectors are looked at.
        from_scratch: whether few labels are also learned from random weights.
    """

    tokens: int
    pairs: int | None
    sentences: int | None
    space_rows: int
    from_scratch: bool = False


QUICK = Sizes(2**16, 25, 8_000, 64)
THOROUGH = Sizes(2**17, 200, None, 512)
FULL = Sizes(2**18, None, None, 512, from_scratch=True)
PER_CLASS, DRAWS, FROZEN_DRAWS = 16, 3, 20  # of few_labels


def measure(model: nn.Module, tokenizer: Tokenizer, sizes: Sizes = FULL, length: int = 128, pairs: bool = True) -> dict:
    """All measures of a model, the seconds that each took, and how much was measured.

    Args:
        model: with the interface of ``BertForPreTraining``, in evaluation mode.
        tokenizer: its tokenizer.
        sizes: ``QUICK`` for a study with many models, ``THOROUGH`` for one with a few.
        length: of rows of full sentences: no longer than the model was trained on, or later positions are noise. A few
            sentences of SemCor (3 % of their tokens beyond 64) and labelled texts may be longer.
        pairs: whether the model was trained on pairs; one that was not reads them as one segment.
    """
    held_out = books_corpus(tokenizer).held_out
    parts = {
        "mlm": lambda: measure_mlm(model, tokenizer, held_out, sizes.tokens, length, pairs),
        "blimp": lambda: measure_blimp(model, tokenizer, sizes.pairs),
        "senses": lambda: measure_senses(model, tokenizer, sizes.sentences),
        "few_labels": lambda: measure_few_labels(model, tokenizer, from_scratch=sizes.from_scratch),
        "space": lambda: measure_space(model, tokenizer, held_out, sizes.space_rows, length),
    }
    if isinstance(model, ElectraDiscriminator):  # it has no MLM head
        del parts["mlm"]
    result: dict = {"sizes": sizes._asdict(), "versions": versions(), "seconds": {}}
    for name, part in parts.items():
        start = time.perf_counter()
        result[name] = part()
        result["seconds"][name] = round(time.perf_counter() - start, 1)
    return result


class Guesses(NamedTuple):
    """What a model guesses, batch after batch.

    Attributes:
        labels: (N,), the chosen tokens.
        losses: (N,), the loss of each in nats.
        right: (N,), whether the most probable token is the right one.
        rows: (N,), which row each is in, counted over all batches.
        nsp_right: (R,), whether each pair was classified correctly; empty without pairs or without a head for them.
    """

    labels: Tensor
    losses: Tensor
    right: Tensor
    rows: Tensor
    nsp_right: Tensor


def guess(model: nn.Module, batches: Iterable[tuple[MaskedTokens, RowBatch]]) -> Guesses:
    """A model's guesses on batches like those of ``fixed_batches``: what ``evaluate`` adds up, token by token."""
    parts: dict[str, list[Tensor]] = {name: [] for name in Guesses._fields}
    words, first_row = model.bert.embeddings.word_embeddings.weight, 0
    with evaluation_mode(model):
        for masked, rows in batches:
            output = model.bert(masked.input_ids, rows.attention_mask, rows.token_type_ids)
            counted = masked.labels != IGNORE
            positions, labels = masked.positions[counted], masked.labels[counted]
            logits = model.mlm_head(output.last_hidden_state.flatten(0, 1)[positions], words).float()
            parts["labels"].append(labels)
            parts["losses"].append(F.cross_entropy(logits, labels, reduction="none"))
            parts["right"].append(logits.argmax(1) == labels)
            parts["rows"].append(first_row + positions // masked.input_ids.shape[1])
            first_row += len(masked.input_ids)
            is_pair, head = rows.nsp_labels != IGNORE, getattr(model, "nsp_head", None)
            if head is not None and output.pooled is not None and is_pair.any():
                parts["nsp_right"].append(head(output.pooled).argmax(1)[is_pair] == rows.nsp_labels[is_pair])
    return Guesses(*(torch.cat(found) if found else torch.empty(0) for found in parts.values()))


def all_masked(batches: Iterable[tuple[MaskedTokens, RowBatch]], mask_id: int) -> list[tuple[MaskedTokens, RowBatch]]:
    """The same batches with every chosen token as [MASK], where 80/10/10 shows another word or the word itself."""
    changed = []
    for masked, rows in batches:
        input_ids = masked.input_ids.clone()
        input_ids.view(-1)[masked.positions[masked.labels != IGNORE]] = mask_id
        changed.append((masked._replace(input_ids=input_ids), rows))
    return changed


def characters(tokenizer: Tokenizer) -> Tensor:
    """(V,), how many characters each token stands for; marks of beginnings and continuations do not count."""
    tokens = [tokenizer.id_to_token(i) or "" for i in range(Vocabulary.of(tokenizer).size)]
    return torch.tensor([len(token.removeprefix(PREFIX).lstrip("Ġ▁")) for token in tokens])


def as_one_segment(batches: Iterable[tuple[MaskedTokens, RowBatch]]) -> list[tuple[MaskedTokens, RowBatch]]:
    """The same batches for a model whose second segment vector was never trained."""
    return [(masked, rows._replace(token_type_ids=torch.zeros_like(rows.token_type_ids))) for masked, rows in batches]


def measure_mlm(
    model: nn.Module, tokenizer: Tokenizer, held_out: list[Documents], tokens: int, length: int, pairs: bool = True
) -> dict:
    """Masked language modelling on held-out text, by kind of rows and of masking, and next-sentence prediction."""
    vocabulary, lengths, result = Vocabulary.of(tokenizer), characters(tokenizer), {}
    kinds = {"pairs of 64": ("sentence-pairs", 64), f"full sentences of {length}": ("full-sentences", length)}
    for name, (packing, size) in kinds.items():
        usual = list(fixed_batches(held_out, vocabulary, RowMaker(packing, 0.0), size, tokens // size))
        usual = usual if pairs else as_one_segment(usual)
        for masks, batches in {"80/10/10": usual, "all [MASK]": all_masked(usual, vocabulary.mask_id)}.items():
            found = guess(model, batches)
            bits = found.losses.double().sum().item() / np.log(2)
            result[f"{name}, {masks}"] = {
                "chosen": len(found.labels),
                "loss": found.losses.double().mean().item(),
                "top1": 100 * found.right.float().mean().item(),
                "bits_per_character": bits / lengths[found.labels].sum().item(),
            } | ({"nsp": 100 * found.nsp_right.float().mean().item()} if len(found.nsp_right) else {})
    return result


def measure_blimp(model: nn.Module, tokenizer: Tokenizer, limit: int | None) -> dict:
    """See ``bertcourse_lab.benchmarks.blimp``; ELECTRA scores a sentence by how probable it is that all is original."""
    is_electra = isinstance(model, ElectraDiscriminator)
    return score_pairs(model, tokenizer, limit, replaced_token_scores if is_electra else pseudo_log_likelihoods)


def measure_senses(model: nn.Module, tokenizer: Tokenizer, sentences: int | None) -> dict:
    """F1 in percent on ALL for each row of ``bertcourse benchmark wsd``, and which instances are right;
    the last layer's rows are called "last layer, raw" and "last layer, standardized", as models differ in depth."""
    train, test = first_sentences(sense_corpus("semcor"), sentences), sense_corpus("ALL")
    senses = word_senses(wordnet(), {each.word for corpus in (train, test) for each in corpus.instances})
    layers = range(model.bert.config.num_hidden_layers + 1)
    vectors = [
        cached_word_vectors(
            model.bert, tokenizer, each.sentences, layers, "stack", each.positions(), dtype="float16", cache=None
        ).array
        for each in (train, test)
    ]
    right = right_answers(train, test, *vectors, senses)
    last = f"layer {layers[-1]}, "
    right = {name.replace(last, "last layer, "): answers for name, answers in right.items()}
    rows = {name: {"f1": 100 * float(answers.mean()), "right": pack(answers)} for name, answers in right.items()}
    by_model = {name: row["f1"] for name, row in rows.items() if "layer" in name or "last four" in name}
    return {
        "instances": [len(train.instances), len(test.instances)],
        "best": max(by_model, key=by_model.get),
        "rows": rows,
    }


def pack(right: np.ndarray) -> str:
    """Right or wrong answers, four per hexadecimal digit.

    >>> pack(np.array([True, False, True, True, True]))
    'b8'
    """
    return np.packbits(right).tobytes().hex()


def unpack(digits: str, count: int) -> np.ndarray:
    """(count,), what ``pack`` packed."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8), count=count).astype(bool)


def compare_answers(system: dict, baseline: dict, row: str, baseline_row: str | None = None) -> Comparison:
    """Compare a row of one ``measure_senses`` result with one of another, the same row unless it is named, by a paired
    bootstrap over the instances of ALL."""
    chosen = (system, row), (baseline, baseline_row or row)
    return paired_bootstrap(*(unpack(each["rows"][name]["right"], each["instances"][1]) for each, name in chosen))


def measure_few_labels(model: nn.Module, tokenizer: Tokenizer, from_scratch: bool) -> dict:
    """Accuracy in percent on the 120 test tickets: the mean over the draws, and each draw.

    Args:
        model, tokenizer: as for ``measure``.
        from_scratch: also measure random weights of the same sizes, in one draw.
    """
    whole, encoder = few_labels.splits_of("tickets"), model.bert
    drawn = [whole._replace(train=few_labels.draw(whole.train, PER_CLASS, seed)) for seed in range(FROZEN_DRAWS)]

    def fine_tuned(encoder: BertModel, method: str, seed: int) -> float:
        epochs = few_labels.EPOCHS[method]["tickets"][few_labels.SIZES["tickets"].index(PER_CLASS)]
        settings = dict(pooling="mean", precision="float32")
        return few_labels.fine_tuned(encoder, tokenizer, drawn[seed], epochs, seed, **settings)

    train, dev, test = (
        few_labels.sentence_vectors(encoder, tokenizer, [example.text for example in split]) for split in whole
    )
    rows_of = {example: row for row, example in enumerate(whole.train)}
    accuracies = {
        "fine-tuned": [fine_tuned(encoder, "fine-tuned", seed) for seed in range(DRAWS)],
        "frozen": [
            few_labels.logistic_regression((train[[rows_of[example] for example in each.train]], dev, test), each)
            for each in drawn
        ],
    }
    if from_scratch:
        fresh = few_labels.random_encoder(encoder, seed=0)
        accuracies["from scratch"] = [fine_tuned(fresh, "from scratch", 0)]
    return {name: {"mean": float(np.mean(each)), "draws": each} for name, each in accuracies.items()}


def measure_space(
    model: nn.Module, tokenizer: Tokenizer, held_out: list[Documents], rows: int, length: int
) -> list[dict]:
    """For each layer, the expected cosine of two tokens of held-out text, and its three largest dimensions."""
    vocabulary = Vocabulary.of(tokenizer)
    states: list[list[np.ndarray]] = []
    with evaluation_mode(model):
        for _, batch in fixed_batches(held_out, vocabulary, RowMaker("full-sentences", 0.0), length, rows):
            inputs = batch.input_ids, batch.attention_mask, batch.token_type_ids
            of_text = ~vocabulary.is_special[batch.input_ids]
            hidden_states = model.bert(*inputs).hidden_states
            states.append([each[of_text].float().numpy() for each in hidden_states])
    layers = []
    for number, of_layer in enumerate(zip(*states)):
        contributions = dimension_contributions(vectors := np.concatenate(of_layer))
        total = float(contributions.sum())
        largest = [
            {"dimension": int(d), "share": float(contributions[d]) / total} for d in np.argsort(-contributions)[:3]
        ]
        layers.append({"layer": number, "tokens": len(vectors), "expected_cosine": total, "largest": largest})
    return layers


def name_of(path: str) -> str:
    """What to call a model: its folder's name or, for what a run keeps, such as "model-100", the run's name.

    >>> name_of("course"), name_of("runs/rope/model-100")
    ('course', 'rope')
    """
    is_kept = re.fullmatch(r"model(-\d+)?", Path(path).name) and Path(path).parent.name
    return Path(path).parent.name if is_kept else Path(path).name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="names or folders, as load_pretrained takes them")
    parser.add_argument("--quick", action="store_true", help=f"smaller samples: {QUICK}")
    parser.add_argument("--output", type=Path, default=Path(), help="folder for NAME.json (default: this one)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if len(set(map(name_of, options.models))) < len(options.models):
        parser.error(f"models must have names of their own; got {' '.join(map(name_of, options.models))}")
    for path in options.models:
        model, tokenizer = load_pretrained(path, BertForPreTraining)
        result = {"model": name_of(path), **measure(model, tokenizer, QUICK if options.quick else FULL)}
        with replace_files(options.output, [file := f"{name_of(path)}.json"]) as draft:
            (draft / file).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"{options.output / file}: {result['seconds']}")


if __name__ == "__main__":
    main()

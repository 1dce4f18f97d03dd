"""Why does a BERT trained on novels let the nearest noun decide about the verb? What text says, and what models answer.

    export BERTCOURSE_DATA=FOLDER
    python studies/attraction.py text                   # half a minute: counts in 354 books
    python studies/attraction.py measure course next    # four minutes a model

**text** counts auxiliaries with a noun before them, right before or with one adverb in between, by the number of both,
and the sentences in which they differ (``bertcourse.beyond_bert.attraction``).

**measure** asks models: in BLiMP, 200 pairs of each paradigm; in the course's own sentences (data/agreement), how often
the verb that agrees is likelier in place of [MASK], by the number of the noun in between. A model that has turned the
rule round, and trusts that the nearest noun is wrong, shows itself where there is none, or one of the same number.

Both write data/results/attraction.json and .md anew, and keep what the other found.
"""

import argparse
import itertools
from collections import Counter

import numpy as np
import torch
from tokenizers import Tokenizer

from bertcourse.benchmarks.blimp import score_pairs
from bertcourse.benchmarks.tables import table_lines, versions
from bertcourse.bert import BertForPreTraining, encode_batch, load_pretrained
from bertcourse.bert.folders import open_folder
from bertcourse.bert.tokenizer_files import read_tokenizer
from bertcourse.beyond_bert.attraction import PLURAL, SINGULAR, Numbers, pairs_of_noun_and_verb, sentences_by_agreement
from bertcourse.datasets import agreement_sentences, course_file
from bertcourse.datasets.agreement import AgreementSentence
from bertcourse.files import read_json, write_table
from bertcourse.pretraining import Corpus, books_corpus

KINDS = {"singular": SINGULAR, "plural": PLURAL}
ROWS = ("all", "odd number", "even number", "subject verb agreement", "agreement across a noun")
OUTPUT = course_file("results/README.md").parent


def count_pairs(corpus: Corpus) -> dict[str, int]:
    """How many auxiliaries and nouns before them there are, by the number of both, and how many sentences mislead."""
    numbers = Numbers.of(corpus.tokenizer)
    found = Counter()
    for shard in corpus.train:
        _, nouns, verbs = pairs_of_noun_and_verb(shard, numbers)
        found["tokens"] += len(shard.tokens)
        found["auxiliaries"] += int(np.count_nonzero(numbers.verbs[np.asarray(shard.tokens)]))
        found["sentences"] += len(shard.sentences) - 1
        found["misleading sentences"] += len(sentences_by_agreement(shard, numbers)[0])
        for (noun, of_noun), (verb, of_verb) in itertools.product(KINDS.items(), KINDS.items()):
            found[f"{noun} noun, {verb} verb"] += int(np.count_nonzero((nouns == of_noun) & (verbs == of_verb)))
    return dict(found)


def measure(model: BertForPreTraining, tokenizer: Tokenizer) -> dict[str, float]:
    """Accuracy in percent, in ``ROWS`` of BLiMP and by the noun in between in the course's sentences."""
    groups = score_pairs(model, tokenizer, limit=200)["groups"]
    found = {row: groups[row]["accuracy"] for row in ROWS}
    right: dict[str, list[bool]] = {}
    for sentence in agreement_sentences():
        kind = {"none": "no noun", sentence.number: "same number"}.get(sentence.attractor, "other number")
        right.setdefault(f"own sentences, {kind}", []).append(prefers(model, tokenizer, sentence))
    return found | {name: 100 * float(np.mean(answers)) for name, answers in sorted(right.items())}


@torch.no_grad()
def prefers(model: BertForPreTraining, tokenizer: Tokenizer, sentence: AgreementSentence) -> bool:
    """Whether the verb that agrees is likelier in its place than the other."""
    batch = encode_batch(tokenizer, [f"{sentence.before} [MASK] {sentence.after}"])
    logits = model(*batch).mlm_logits[batch.input_ids == tokenizer.token_to_id("[MASK]")]
    right, wrong = (logits[0, tokenizer.token_to_id(verb)].item() for verb in (sentence.verb, sentence.other))
    return right > wrong


def read_results() -> dict:
    """What is kept."""
    file = OUTPUT / "attraction.json"
    return read_json(file) if file.exists() else {"text": {}, "models": {}}


def keep_results(**new: dict) -> None:
    """Write "text", or some of "models", anew, and what else is kept."""
    result = {part: {**found, **new.get(part, {})} for part, found in read_results().items() if part != "versions"}
    result["versions"] = versions()
    write_table(OUTPUT, "attraction", result, table(result))


def table(result: dict) -> str:
    """Both parts for people."""
    lines = ["# Attraction: the nearest noun and the verb", ""]
    if text := result["text"]:
        rows = [[f"{noun} noun", *(f"{text[f'{noun} noun, {verb} verb']:,}" for verb in KINDS)] for noun in KINDS]
        lines += [
            f"In 354 books, {text['tokens']:,} tokens with {text['auxiliaries']:,} auxiliaries, this is how many of "
            "these have a noun before them, by the number of both. The two differ in "
            f"{text['misleading sentences']:,} of {text['sentences']:,} sentences.",
            "",
            *table_lines(["before the verb", "singular verb", "plural verb"], rows),
            "",
        ]
    if models := result["models"]:
        columns = list(next(iter(models.values())))
        rows = [[column, *(f"{found[column]:.1f}" for found in models.values())] for column in columns]
        lines += [
            "Accuracy in percent; chance is 50. BLiMP, 200 pairs of each paradigm, then the course's own sentences.",
            "",
            *table_lines(["", *models], rows),
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("text")
    commands.add_parser("measure").add_argument("models", nargs="+", help="names of models")
    options = parser.parse_args()
    if options.command == "text":
        keep_results(text=count_pairs(books_corpus(read_tokenizer(open_folder("course")), more=True)))
        return
    for name in options.models:
        keep_results(models={name: measure(*load_pretrained(name, BertForPreTraining))})


if __name__ == "__main__":
    main()

"""Word vectors and language models before attention: the tables that lecture 0 reads.

    BERTCOURSE_DATA=FOLDER python studies/static_embeddings.py words     # ten minutes of CPU
    python studies/static_embeddings.py speed --python PYTHON            # ten minutes; PYTHON has gensim
    python studies/static_embeddings.py ladder                           # two hours or so

- **words**: word2vec on the table of pairs, on running text (the same books; also pairs that met seldom, and near
  neighbours count more), and PPMI with SVD on the table; three seeds. Spearman's correlation with people (MEN,
  SimLex-999), analogies (Google's where the vocabulary covers them, and the course's), with and without the rule that
  no word of the question may be the answer, and beside them the word nearest to c. The settings of ``train_word2vec``
  and the table's threshold were chosen on every second pair of MEN, from the first; "MEN, other half" is of the others.
- **speed**: ours beside gensim's, one thread each, in one run, on the same text with the same words: CPU seconds, and
  the same measures after each of gensim's epochs and at the end of ours. Words outside the vocabulary are taken out
  of both texts beforehand. Our seconds include counting the pairs, gensim's are of training alone. Before its last
  epoch gensim's learning rate has not fallen to the end, so that a run of fewer epochs would be a little better than
  its rows here say. A pair per second is one pair of the text, gone through once: gensim draws it and five words of
  noise, we have it in a sum with all the noise.
- **ladder**: unigram, n-gram, word2vec's bag of words, Elman's network, LSTM, and the course's BERT, with the same
  tokens of the same 88 books. Each is asked for the same hidden words of five other books, and for the verb in the
  course's sentences on agreement. n-grams and networks read the first --tokens of the books once; the bag reads all of
  them once, its weight chosen on other hidden words; BERT read them some 13 times, is far larger, and is asked with
  both sides of the gap, and with the left one alone, as the others are, which it was never trained for. Results are
  written after each model, and the command goes on where it was interrupted: models in runs/static_embeddings.
"""

import argparse
import inspect
import json
import os
import platform
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse import anisotropy
from bertcourse.benchmarks.tables import table_lines
from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.datasets import COURSE_DATA, agreement_sentences, course_file, paragraphs, word_pairs
from bertcourse.datasets.data import book_texts
from bertcourse.files import read_json, write_table
from bertcourse.pretraining.corpus import HELD_OUT_BOOKS, books_corpus
from bertcourse.static_embeddings import (
    KneserNey,
    Question,
    RecurrentLanguageModel,
    WordVectors,
    agreement_with_people,
    analogy_scores,
    course_analogies,
    google_analogies,
    keep_probability,
    men_pairs,
    ppmi,
    svd_vectors,
    train_language_model,
    train_word2vec,
    word_ids,
    words_of,
)
from bertcourse.static_embeddings.word2vec_fast import window_weights

SIZE, WINDOW = 100, 5
THRESHOLD, EPOCHS = (inspect.signature(train_word2vec).parameters[name].default for name in ("threshold", "epochs"))
MODELS = Path("runs/static_embeddings")
ELSEWHERE = {"platform": platform.machine(), "torch": torch.__version__, "numpy": np.__version__}


TITLES = {
    "static_embeddings_words": "Word vectors by counting and by word2vec: people's judgements and analogies",
    "static_embeddings_speed": "word2vec beside gensim, one thread each, in one run",
    "static_embeddings_ladder": "A ladder of language models on the same books",
}


def write(folder: Path, name: str, result: dict) -> None:
    """The rows of a study, as JSON and as a table with a column for each number."""
    rows = result["rows"]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [f"# {TITLES[name]}", "", *table_lines(columns, [[shown(row.get(c)) for c in columns] for row in rows])]
    write_table(folder, name, result, "\n".join(lines) + "\n")


def shown(value: str | float | None) -> str:
    """A cell of a table.

    >>> shown(0.6713), shown(4_362_951.0), shown(56.56), shown(5216), shown(None)
    ('0.671', '4,362,951', '56.6', '5,216', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    digits = 0 if isinstance(value, int) or value >= 1000 else 1 if value >= 10 else 3
    return f"{value:,.{digits}f}"


def measures(vectors: WordVectors) -> dict:
    """What word vectors know, in numbers."""
    men, simlex = men_pairs(), anisotropy.word_pairs("simlex999")
    row = {"MEN": agreement_with_people(vectors, men).correlation}
    row["MEN, other half"] = agreement_with_people(vectors, men[1::2]).correlation
    row["SimLex"] = agreement_with_people(vectors, simlex).correlation
    for name, sections in (("Google", google_analogies()), ("course", course_analogies())):
        for exclude in (True, False):
            score = analogy_scores(vectors, sections, exclude)["all"]
            row[f"{name}{'' if exclude else ', inputs allowed'}"] = score.accuracy
        row[f"{name}, nearest to c"] = nearest_to_c(vectors, sum(sections.values(), []))
        row[f"{name} covered"] = score.covered
    return row


def nearest_to_c(vectors: WordVectors, questions: list[Question]) -> float:
    """A baseline for analogies that looks at no a and b but to leave them out: how often the word nearest to c is d."""
    known = [each for each in questions if all(word in vectors for word in each)]
    near = {c: [n.word for n in vectors.neighbours(c, 3)] for c in {each.c for each in known}}
    return float(np.mean([next(w for w in near[q.c] if w not in q[:3]) == q.d for q in known]))


def spelled(a: str, b: str, c: str) -> str:
    """A baseline for analogies that knows letters alone: what b has before a, or instead of its end, c gets, too."""
    if b.endswith(a):
        return b.removesuffix(a) + c
    same = len(os.path.commonprefix([a, b]))
    return c.removesuffix(a[same:]) + b[same:]


def timed(work: Callable[[], WordVectors]) -> tuple[WordVectors, float]:
    """A result, and the seconds of CPU that it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def words(options: argparse.Namespace) -> None:
    """The subcommand of that name."""
    table = word_pairs()
    result = {"settings": {"size": SIZE, "window": WINDOW}, "versions": ELSEWHERE}
    result["spelling alone"] = {
        name: np.mean([spelled(*each[:3]) == each.d for questions in sections.values() for each in questions])
        for name, sections in (("Google", google_analogies()), ("course", course_analogies()))
    }
    result["rows"] = []

    def add(method: str, seed: int | None, work: Callable[[], WordVectors]) -> None:
        vectors, seconds = timed(work)
        result["rows"].append({"method": method, "seed": seed, "CPU seconds": round(seconds, 1), **measures(vectors)})
        print(json.dumps(result["rows"][-1]), flush=True)
        write(options.output, "static_embeddings_words", result)

    add("PPMI and SVD", None, lambda: WordVectors(table.words, svd_vectors(ppmi(table.matrix()), SIZE)))
    for seed in range(options.seeds):
        add("word2vec, table of pairs", seed, lambda: train_word2vec(table, size=SIZE, seed=seed))
    texts = runpy.run_path(str(course_file("pairs/make.py")))["texts"]
    ids = word_ids(texts(), table.words, gap=WINDOW)
    for seed in range(options.seeds):
        work = lambda: train_word2vec(ids, table.words, size=SIZE, window=WINDOW, seed=seed)  # noqa: E731
        add("word2vec, running text", seed, work)


GENSIM = """
import json, sys, time
import numpy as np
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

folder, epochs, size, window = sys.argv[1], *map(int, sys.argv[2:5])
words = open(f"{folder}/words.txt", encoding="utf-8").read().split()
ids = np.load(f"{folder}/ids.npy")
cuts = np.flatnonzero(ids == -1)
sentences = [[words[i] for i in piece if i >= 0] for piece in np.split(ids, cuts)]
sentences = [piece for piece in sentences if piece]


class Log(CallbackAny2Vec):
    def __init__(self):
        self.epoch, self.start, self.spent = 0, time.process_time(), 0.0

    def on_epoch_end(self, model):
        self.epoch += 1
        self.spent += time.process_time() - self.start
        model.wv.save_word2vec_format(f"{folder}/{self.epoch}.txt")
        print(json.dumps({"epoch": self.epoch, "seconds": self.spent}), flush=True)
        self.start = time.process_time()


model = Word2Vec(vector_size=size, window=window, sg=1, negative=5, sample=1e-4, min_count=1, workers=1, seed=1)
model.build_vocab(sentences)
model.train(sentences, total_examples=len(sentences), epochs=epochs, callbacks=[Log()])
"""


def pairs_per_epoch(ids: np.ndarray, keep: np.ndarray) -> tuple[float, float]:
    """How many pairs of a text are learned from: by us, who thin the pairs, and by gensim, which thins the text first.

    Args:
        ids: (N,), a text in numbers, -1 between paragraphs.
        keep: (V,), how likely an occurrence of each word is to be kept.
    """
    chance = np.where(ids >= 0, keep[ids], 0)
    left = ids[(ids < 0) | (np.random.default_rng(0).random(len(ids)) < chance)] >= 0
    weights = list(enumerate(window_weights(WINDOW), 1))
    ours, theirs = (sum(2 * w * (x[d:] @ x[:-d]) for d, w in weights) for x in (chance, left.astype(np.float64)))
    return float(ours), float(theirs)


def speed(options: argparse.Namespace) -> None:
    """The subcommand of that name."""
    words = word_pairs().words
    number_of, paragraph_end = {word: i for i, word in enumerate(words)}, [-1] * WINDOW
    lines = chain(*(paragraphs(text) for book, text in book_texts("books") if book.name not in HELD_OUT_BOOKS))
    pieces = ([number_of[word] for word in words_of(line) if word in number_of] for line in lines)
    ids = np.array(list(chain.from_iterable(piece + paragraph_end for piece in pieces)), dtype=np.int32)
    counts, rows = np.bincount(ids[ids >= 0], minlength=len(words)), []
    vectors, seconds = timed(lambda: train_word2vec(ids, words, size=SIZE, window=WINDOW))
    ours, theirs = pairs_per_epoch(ids, keep_probability(counts, THRESHOLD))
    rows.append({"who": "ours", "epoch": EPOCHS, "CPU seconds": seconds, "pairs per second": ours * EPOCHS / seconds})
    rows[-1] |= measures(vectors)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "words.txt").write_text("\n".join(words), encoding="utf-8")
        np.save(Path(folder, "ids.npy"), ids)
        arguments = [options.python, "-c", GENSIM, folder, *map(str, (options.epochs, SIZE, WINDOW))]
        logged = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()
        for each in map(json.loads, logged):
            row = {"who": "gensim", "epoch": each["epoch"], "CPU seconds": each["seconds"]}
            row["pairs per second"] = theirs * each["epoch"] / each["seconds"]
            rows.append(row | measures(WordVectors.load(Path(folder, f"{each['epoch']}.txt"))))
    for row in rows:
        row["CPU seconds, ours = 1"] = row["CPU seconds"] / rows[0]["CPU seconds"]
        print(json.dumps(row))
    result = {"words": int((ids >= 0).sum()), "threads": torch.get_num_threads(), "versions": ELSEWHERE, "rows": rows}
    write(options.output, "static_embeddings_speed", result)


REACH, POSITIONS, DEV = 64, 3000, 500
BERT_TOKENS = 250_000_000  # data/checkpoints/course/README.md: some 13 epochs of the 88 books
Scorer = Callable[[list[list[int]], list[list[int]]], Tensor]  # left and right sides of N gaps to (N, V) ln P


def gaps(tokens: np.ndarray, tokenizer: Tokenizer, count: int, seed: int) -> list[tuple[list[int], int, list[int]]]:
    """Whole words of a text, drawn: what stands before, the word, what stands after."""
    names = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    starts_word = np.array([not name.startswith("##") for name in names])
    is_word = np.array([name.isalpha() for name in names])
    places = np.arange(REACH, len(tokens) - REACH)
    places = places[is_word[tokens[places]] & starts_word[tokens[places + 1]]]
    drawn = np.sort(np.random.default_rng(seed).choice(places, count, replace=False))
    return [(tokens[p - REACH : p].tolist(), int(tokens[p]), tokens[p + 1 : p + REACH].tolist()) for p in drawn]


def asked(scorer: Scorer, chosen: list[tuple[list[int], int, list[int]]]) -> dict:
    """Accuracy and loss on gaps."""
    found = scorer([left for left, _, _ in chosen], [right for _, _, right in chosen])
    target = torch.tensor([word for _, word, _ in chosen])
    right = (found.argmax(dim=1) == target).double().mean().item()
    return {"accuracy": right, "loss": -found.gather(1, target[:, None]).double().mean().item()}


def agreement(scorer: Scorer, tokenizer: Tokenizer) -> dict:
    """The share of verbs that fit, by what stands between; after a full stop, as in a book."""
    sentences = agreement_sentences()

    def ids(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids

    found = scorer([ids(f". {each.before}") for each in sentences], [ids(f"{each.after}.") for each in sentences])
    forms = torch.tensor([[tokenizer.token_to_id(each.verb), tokenizer.token_to_id(each.other)] for each in sentences])
    fits = (found.gather(1, forms).diff(dim=1) < 0)[:, 0].tolist()
    kinds = ["none" if s.attractor == "none" else "same" if s.attractor == s.number else "other" for s in sentences]
    return {
        f"verb, {k}": float(np.mean([fit for fit, kind in zip(fits, kinds) if kind == k])) for k in sorted(set(kinds))
    }


def ngram_scorer(model: KneserNey) -> Scorer:
    """Of the words before."""
    return lambda lefts, rights: torch.tensor(np.stack([model.distribution(left) for left in lefts])).log()


def bag_scorer(vectors: WordVectors, counts: np.ndarray, weight: float) -> Scorer:
    """ln P(w) + weight · Σ over neighbours c within the window of u_c · v_w, which word2vec fits to their PMI."""
    prior = torch.tensor(np.log((counts + 1) / (counts + 1).sum()), dtype=torch.float32)
    centres, contexts = torch.tensor(vectors.matrix), torch.tensor(vectors.contexts)

    def score(lefts: list[list[int]], rights: list[list[int]]) -> Tensor:
        sums = torch.stack([contexts[left[-WINDOW:] + right[:WINDOW]].sum(dim=0) for left, right in zip(lefts, rights)])
        return (prior + weight * sums @ centres.T).log_softmax(dim=1)

    return score


def recurrent_scorer(model: RecurrentLanguageModel) -> Scorer:
    """Of the words before."""

    @torch.inference_mode()
    def score(lefts: list[list[int]], rights: list[list[int]]) -> Tensor:
        model.eval()
        return torch.stack([model(torch.tensor([left]))[0][0, -1].log_softmax(dim=0) for left in lefts])

    return score


def bert_scorer(model: BertForPreTraining, tokenizer: Tokenizer, both: bool) -> Scorer:
    """Of the words on both sides, or before."""
    cls, sep, mask = map(tokenizer.token_to_id, ("[CLS]", "[SEP]", "[MASK]"))

    @torch.inference_mode()
    def score(lefts: list[list[int]], rights: list[list[int]]) -> Tensor:
        found = []
        for left, right in zip(lefts, rights):
            ids = torch.tensor([[cls, *left, mask, *(right if both else []), sep]])
            hidden = model.bert(ids).last_hidden_state[0, len(left) + 1]
            found.append(model.mlm_head(hidden, model.bert.embeddings.word_embeddings.weight).log_softmax(dim=0))
        return torch.stack(found)

    return score


def trained(
    name: str, cell: str, seed: int, tokens: np.ndarray, vocab_size: int, hidden_size: int
) -> RecurrentLanguageModel:
    """A recurrent language model of that name, trained if its file is not there."""
    model = RecurrentLanguageModel(vocab_size, hidden_size, cell, dropout=0.1, seed=seed)
    path = MODELS / f"{name}.safetensors"
    if path.is_file():
        model.load_state_dict(load_file(path))
        return model

    def log(step: int, loss: float) -> None:
        if step % 100 == 0:
            print(f"{name}: step {step}, loss {loss:.3f}", flush=True)

    torch.manual_seed(seed)  # of dropout
    train_language_model(model, torch.from_numpy(tokens.astype(np.int64)), after_step=log)
    MODELS.mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), path)
    return model


def ladder(options: argparse.Namespace) -> None:
    """The subcommand of that name."""
    bert, tokenizer = load_pretrained("course", BertForPreTraining)
    vocab_size = tokenizer.get_vocab_size()
    corpus = books_corpus(tokenizer)
    everything = np.concatenate([np.asarray(shard.tokens) for shard in corpus.train])
    held_out = np.concatenate([np.asarray(shard.tokens) for shard in corpus.held_out])
    tokens, counts = everything[: options.tokens], np.bincount(everything, minlength=vocab_size)
    dev, test = (gaps(held_out, tokenizer, number, seed) for number, seed in ((DEV, 1), (POSITIONS, 0)))
    bag = train_word2vec(everything.astype(np.int32), list(map(str, range(vocab_size))), size=SIZE, window=WINDOW)
    weights = {w: asked(bag_scorer(bag, counts, w), dev)["loss"] for w in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)}

    def ngrams(order: int) -> Scorer:
        return ngram_scorer(KneserNey(order).fit([tokens.tolist()], range(vocab_size)))

    def network(cell: str, seed: int) -> Scorer:
        name = f"{cell}-{options.hidden_size}-{options.tokens}-{seed}"
        return recurrent_scorer(trained(name, cell, seed, tokens, vocab_size, options.hidden_size))

    near = f"{WINDOW} on both sides, in no order"
    plan: dict[str, tuple[int, str, Callable[[], Scorer]]] = {  # tokens read in training, sees, how to make it
        "unigram": (len(tokens), "nothing", lambda: ngrams(1)),
        "trigram": (len(tokens), "2 before", lambda: ngrams(3)),
        "word2vec's bag": (len(everything), near, lambda: bag_scorer(bag, counts, min(weights, key=weights.get))),
        "BERT": (BERT_TOKENS, "both sides", lambda: bert_scorer(bert, tokenizer, both=True)),
        "BERT, left side alone": (BERT_TOKENS, "all before", lambda: bert_scorer(bert, tokenizer, both=False)),
    }
    for seed in range(options.seeds):
        plan[f"Elman's network, seed {seed}"] = (len(tokens), "all before", lambda seed=seed: network("rnn", seed))
        plan[f"LSTM, seed {seed}"] = (len(tokens), "all before", lambda seed=seed: network("lstm", seed))
    path, settings = (
        options.output / "static_embeddings_ladder.json",
        {"tokens": len(tokens), "hidden_size": options.hidden_size},
    )
    settings |= {"tokens of the bag": len(everything), "gaps": POSITIONS, "reach": REACH, "weight of the bag": weights}
    result = {"settings": settings, "versions": ELSEWHERE, "rows": []}
    if path.is_file() and (before := read_json(path))["settings"]["tokens"] == len(tokens):
        result["rows"] = before["rows"]
    for name, (read, sees, make) in plan.items():
        if name not in {row["model"] for row in result["rows"]}:
            scorer, row = make(), {"model": name, "tokens read": read, "sees": sees}
            result["rows"].append({**row, **asked(scorer, test), **agreement(scorer, tokenizer)})
            print(json.dumps(result["rows"][-1]), flush=True)
            write(options.output, "static_embeddings_ladder", result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("words", "speed", "ladder"))
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5, help="speed: of gensim")
    parser.add_argument("--python", default=sys.executable, help="speed: a Python that has gensim")
    parser.add_argument("--tokens", type=int, default=2_000_000, help="ladder: read by n-grams and networks")
    parser.add_argument("--hidden-size", type=int, default=256, help="ladder: of the networks")
    options = parser.parse_args()
    torch.set_num_threads(1)
    {"words": words, "speed": speed, "ladder": ladder}[options.study](options)


if __name__ == "__main__":
    main()

"""How hard the sentences are: the accuracies that README.md reports.

``python data/senses/baselines.py`` prints them (half a minute on a CPU; needs MiniLM). Each method is trained for each
lemma on its training sentences; an accuracy is of all test sentences of all lemmas.
"""

import math
import re
from collections import Counter, defaultdict

import torch
from torch import Tensor
from torch.nn import functional as F

from bertcourse.bert import load_pretrained
from bertcourse.word_senses import SenseExample, sense_sentences


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)  # thousands of tiny products: threads would only wait for each other
    examples = sense_sentences()
    contextual, static = minilm_vectors(examples)
    with_target = [[*other_words(example), example.text[example.start : example.end].lower()] for example in examples]
    words = [other_words(example) for example in examples]
    table = {
        "majority": accuracy(examples, examples, majority),
        "bag of words, naive Bayes": accuracy(examples, words, naive_bayes),
        "bag of words, logistic regression": accuracy(examples, words, logistic_regression),
        "bag of words and the target's form, naive Bayes": accuracy(examples, with_target, naive_bayes),
        "static vectors, nearest neighbour": accuracy(examples, static, nearest_neighbour),
        "static vectors, nearest centroid": accuracy(examples, static, nearest_centroid),
        "MiniLM, nearest neighbour": accuracy(examples, contextual, nearest_neighbour),
        "MiniLM, nearest centroid": accuracy(examples, contextual, nearest_centroid),
    }
    for name, (overall, of_lemmas) in table.items():
        print(f"{name:48} {overall:.1%}   {min(of_lemmas.values()):.0%} to {max(of_lemmas.values()):.0%}")
    for lemma in table["majority"][1]:
        print(f"{lemma:8}", *(f"{of_lemmas[lemma]:5.0%}" for _, of_lemmas in table.values()))


def accuracy(examples: list[SenseExample], features, classify) -> tuple[float, dict[str, float]]:
    """The share of test sentences that get their sense, in all and by lemma.

    Args:
        examples: the sentences.
        features: of each sentence, what the method sees.
        classify: from training features, their senses and test features to the test sentences' senses.
    """
    rows = defaultdict(lambda: {"train": [], "test": []})
    for example, feature in zip(examples, features, strict=True):
        rows[example.word[0]][example.split].append((feature, example.sense_key))
    right = {}
    for lemma, splits in rows.items():
        (train, senses), (test, expected) = (zip(*splits[split], strict=True) for split in ("train", "test"))
        right[lemma] = [
            predicted == sense for predicted, sense in zip(classify(train, senses, test), expected, strict=True)
        ]
    every = [is_right for lemma in right for is_right in right[lemma]]
    return sum(every) / len(every), {lemma: sum(of_lemma) / len(of_lemma) for lemma, of_lemma in right.items()}


def other_words(example: SenseExample) -> list[str]:
    """The words of a sentence in lower case, without the target."""
    return re.findall(r"[a-z0-9']+", (example.text[: example.start] + " " + example.text[example.end :]).lower())


def majority(train, senses, test) -> list[str]:
    """The most frequent sense, always."""
    return [Counter(senses).most_common(1)[0][0]] * len(test)


def naive_bayes(train, senses, test) -> list[str]:
    """Multinomial naive Bayes on words, each counted once more than seen; words not seen in training are left out."""
    counts = {sense: Counter() for sense in sorted(set(senses))}
    for words, sense in zip(train, senses, strict=True):
        counts[sense].update(words)
    vocabulary = {word for words in train for word in words}
    prior = Counter(senses)

    def score(words: list[str], sense: str) -> float:
        total = counts[sense].total() + len(vocabulary)
        return math.log(prior[sense]) + sum(
            math.log((counts[sense][word] + 1) / total) for word in words if word in vocabulary
        )

    return [max(counts, key=lambda sense: score(words, sense)) for words in test]


def logistic_regression(train, senses, test) -> list[str]:
    """Softmax regression on word counts, by L-BFGS, penalty 1/2 of the squared weights: scikit-learn's default."""
    vocabulary = {word: i for i, word in enumerate(sorted({word for words in train for word in words}))}
    names = sorted(set(senses))

    def counts(texts) -> Tensor:
        matrix = torch.zeros(len(texts), len(vocabulary), dtype=torch.float64)
        for row, words in zip(matrix, texts, strict=True):
            for word in words:
                if word in vocabulary:
                    row[vocabulary[word]] += 1
        return matrix

    inputs, targets = counts(train), torch.tensor([names.index(sense) for sense in senses])
    weights = torch.zeros(len(vocabulary), len(names), dtype=torch.float64, requires_grad=True)
    biases = torch.zeros(len(names), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, biases], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = F.cross_entropy(inputs @ weights + biases, targets, reduction="sum") + weights.square().sum() / 2
        value.backward()
        return value

    optimizer.step(loss)
    return [names[i] for i in (counts(test) @ weights + biases).argmax(dim=1)]


def nearest_centroid(train, senses, test) -> list[str]:
    """The sense whose training vectors, of length 1, have the mean with the highest cosine."""
    names = sorted(set(senses))
    vectors = F.normalize(torch.stack(train), dim=1)
    centroids = torch.stack([vectors[[sense == name for sense in senses]].mean(dim=0) for name in names])
    return [names[i] for i in (torch.stack(test) @ F.normalize(centroids, dim=1).T).argmax(dim=1)]


def nearest_neighbour(train, senses, test) -> list[str]:
    """The sense of the training vector with the highest cosine."""
    return [senses[i] for i in (torch.stack(test) @ F.normalize(torch.stack(train), dim=1).T).argmax(dim=1)]


@torch.inference_mode()
def minilm_vectors(examples: list[SenseExample]) -> tuple[list[Tensor], list[Tensor]]:
    """Per sentence, MiniLM's last four layers summed at the target; the mean of the other tokens' static vectors."""
    model, tokenizer = load_pretrained("minilm")
    contextual, static = [], []
    for example in examples:
        encoding = tokenizer.encode(example.text)
        ids = torch.tensor(encoding.ids)
        in_target = torch.tensor([start < example.end and end > example.start for start, end in encoding.offsets])
        is_other = (
            torch.tensor([end > start for start, end in encoding.offsets]) & ~in_target
        )  # [CLS], [SEP]: no length
        hidden_states = model(ids[None], output_hidden_states=True).hidden_states
        contextual.append(sum(hidden_states[-4:])[0, in_target].mean(dim=0))
        static.append(model.embeddings.word_embeddings.weight[ids[is_other]].mean(dim=0))
    return contextual, static


if __name__ == "__main__":
    main()

"""Chapters 7-9: a few numbers on top of BERT make a classifier, a tagger, or a reader that points at answers.

    class of a text   softmax(W · h_[CLS])               K × D numbers (Devlin et al. 2019, section 4.1)
    tag of a token    softmax(W · h_i)                   K × D numbers (section 5.3)
    span              S · h_i + E · h_j                  2 × D numbers (section 4.2)

Each head holds its own copy of the encoder it was given and its tokenizer, so that it takes texts and gives answers.
``save`` writes Hugging Face's layout: ``transformers`` loads it as BertForSequenceClassification,
BertForTokenClassification or BertForQuestionAnswering with the same logits.
"""

import copy
import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert import Batch, BertModel, length_buckets, pad_rows, save_pretrained
from bertcourse.bert.batching import check_tokenizer
from bertcourse.bert.model import initialize
from bertcourse.bert.pretrained import copy_tensors, open_folder, read_files
from bertcourse.files import read_json
from bertcourse.fine_tuning.readers import LabeledText, check_examples
from bertcourse.tokenization.encoding import check_text

POOLINGS = ("cls", "mean")


class Row(NamedTuple):
    """What a model reads at once, and what it should say.

    Attributes:
        ids, type_ids: of its tokens, with [CLS] and [SEP].
        source: index of the example that it is from.
        places: what ties tokens to the text: for each the index of its word, or its characters (start, end); None for a
            token of neither. Empty where a row has one answer as a whole.
        target: the index of a class, or of a tag for each token that has one, or the tokens (start, end); None if it is
            not known.
    """

    ids: list[int]
    type_ids: list[int]
    source: int
    places: list = []
    target: int | list[int] | tuple[int, int] | None = None

    @property
    def length(self) -> int:
        """How many tokens it has."""
        return len(self.ids)


class Head(nn.Module):
    """What the heads have in common; use ``SequenceClassifier``, ``TokenClassifier``, ``SpanPredictor``, or chapter
    10's ``BiEncoder``.

    Args:
        encoder: any BERT; it is copied, so that several heads can start from one.
        tokenizer: its tokenizer.
        max_length: the most tokens to read at once; None for the longest the encoder can.
        dropout: probability of dropping a number that goes into the head, in training.
        seed: of the head's initial weights, which are drawn from N(0, initializer_range²).

    Raises:
        TypeError: if the tokenizer is not of ``tokenizers``.
        ValueError: if an argument is out of range.

    Source: Devlin et al. 2019, section 3.2, "Fine-tuning BERT".
    """

    hugging_face_class: str
    has_dropout = True  # whether Hugging Face's class has dropout before the head, so that a file may leave it out

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ):
        super().__init__()
        if not isinstance(encoder, BertModel):
            raise ValueError(
                f"encoder must be a BertModel, as load_pretrained(name) gives; got {type(encoder).__name__}. The "
                "encoder of a model with heads is its attribute bert."
            )
        check_tokenizer(tokenizer)
        longest = encoder.config.max_position_embeddings
        self.max_length = longest if max_length is None else max_length
        if self.max_length not in range(8, longest + 1):
            raise ValueError(f"max_length must be from 8 to {longest}, the encoder's positions; got {max_length!r}.")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1; got {dropout}.")
        self.tokenizer = tokenizer
        self.bert = copy.deepcopy(encoder)
        self.dropout = nn.Dropout(dropout)
        self.seed = seed

    def new_layers(self, *outputs: int) -> list[nn.Linear]:
        """Linear maps from D to so many numbers each; weights as BERT's, with this head's seed and no other's."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            layers = [nn.Linear(self.config.hidden_size, size) for size in outputs]
            for layer in layers:
                initialize(layer, self.config)
        return layers

    @property
    def config(self):
        """The encoder's sizes."""
        return self.bert.config

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def batch(self, rows: Sequence[Row]) -> Batch:
        """Rows as tensors (B, L) where the weights are, padded to the longest of them."""
        return Batch(*(part.to(self.device) for part in pad_rows([r.ids for r in rows], [r.type_ids for r in rows])))

    @torch.inference_mode()
    def logits(self, rows: Sequence[Row], max_tokens: int = 4096) -> list[Tensor]:
        """Each row's logits, dropout off; those of tokens without padding.

        Args:
            rows: of ``encode`` or ``rows``.
            max_tokens: B × L of a batch.

        Returns:
            For each row a tensor on the CPU: (K,) of a classifier, (L, K) of a tagger, (L, 2) of a reader.
        """
        was_training, results = self.training, [None] * len(rows)
        self.eval()
        try:
            for bucket in length_buckets([len(row.ids) for row in rows], max_tokens):
                for index, logits in zip(bucket, self(*self.batch([rows[i] for i in bucket])).float().cpu()):
                    results[index] = logits if logits.dim() == 1 else logits[: len(rows[index].ids)]
        finally:
            self.train(was_training)
        return results

    def score(self, examples: Sequence) -> dict[str, float]:
        """How well the model answers examples whose answers are known; ``measure`` says what is returned, ``rows``
        what is refused."""
        return self.measure(examples, self.rows(examples))

    def save(self, folder: str | os.PathLike) -> None:
        """Write model and tokenizer, for ``load`` and for ``transformers``.

        Args:
            folder: as for ``bertcourse.bert.save_pretrained``, which does it.

        Raises:
            OSError: if it cannot be written.
        """
        further = {"architectures": [self.architecture], "classifier_dropout": self.dropout.p}
        if labels := getattr(self, "labels", None):
            further |= {
                "id2label": {str(index): label for index, label in enumerate(labels)},
                "label2id": {label: index for index, label in enumerate(labels)},
            }
        save_pretrained(self, self.tokenizer, folder, {**further, "bertcourse": self.options()})

    @property
    def architecture(self) -> str:
        """What config.json calls the model."""
        return self.hugging_face_class

    def options(self) -> dict:
        """The arguments of this head that Hugging Face's files have no field for."""
        return {"max_length": self.max_length}

    @classmethod
    def load(cls, name_or_path: str | os.PathLike) -> Self:
        """A model that ``save`` or ``transformers`` wrote, in evaluation mode.

        Args:
            name_or_path: a folder, or a name, as for ``load_pretrained``.

        Raises:
            FileNotFoundError: if there is no such folder.
            ValueError: if it holds a model for another task, damaged files, or not those that its name stands for.
            ConnectionError: if the hub cannot be reached.
        """
        folder = open_folder(name_or_path)
        settings = read_json(folder / "config.json")
        check_task(cls, settings, folder)
        config, tensors, tokenizer = read_files(folder)
        try:
            model = cls(BertModel(config), tokenizer, **cls.options_in(settings))
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{folder / 'config.json'} must describe a {cls.__name__}; {error}. Save the model again."
            ) from error
        copy_tensors(model, tensors, folder)
        return model.eval()

    @classmethod
    def options_in(cls, settings: dict) -> dict:
        """The arguments of this head that a config.json tells.

        Args:
            settings: what is in it; of any type, if somebody edited it.
        """
        options = dict(settings.get("bertcourse") or {})
        dropout = settings.get("classifier_dropout")
        if dropout is not None:
            options["dropout"] = dropout
        elif cls.has_dropout:
            options["dropout"] = settings.get("hidden_dropout_prob", 0.1)
        if "labels" in cls.__init__.__annotations__:
            names = settings.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
            options["labels"] = [names[index] for index in sorted(names, key=int)]
        return options


def check_task(head: type[Head], settings: dict, folder: Path) -> None:
    """Refuse a checkpoint that was not made for a head.

    Raises:
        ValueError: saying what it is, and what reads it.
    """
    names = settings.get("architectures") or ["a model that it does not name"]
    found = names[0] if isinstance(names, list) else names
    if found in (head.hugging_face_class, head.__name__):
        return
    arguments = ", labels" if "labels" in head.__init__.__annotations__ else ""
    raise ValueError(
        f"{folder} must hold a {head.hugging_face_class}, by its config.json, for {head.__name__}; it holds {found}. "
        f"Load it with the head that saved it, or put a new head on its encoder: "
        f"{head.__name__}(*load_pretrained(name){arguments}), and train it."
    )


def check_labels(labels: Sequence[str]) -> list[str]:
    """Labels as a list.

    Args:
        labels: of a classifier, in the order of their indices.

    Raises:
        ValueError: if they are not at least two different strings.
    """
    labels = [labels] if isinstance(labels, str) else list(labels)
    if len(set(labels)) < 2 or len(set(labels)) < len(labels) or not all(isinstance(label, str) for label in labels):
        raise ValueError(
            f"labels must be at least two different strings, as there is nothing to tell apart otherwise; got {labels}."
        )
    return labels


class SequenceClassifier(Head):
    """A text, or a pair of texts, to one of K classes.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``. A longer text is cut, of a pair the longer one.
        labels: the K classes.
        pooling: "cls", BERT's: tanh of a linear map of [CLS], the encoder's pooler (a new one, if it has none); or
            "mean" of all tokens' vectors, for which ``transformers`` has no class.

    Raises:
        ValueError: if an argument is out of range.

    Source: Devlin et al. 2019, section 4.1 and figure 4 (a) and (b); the mean from Reimers & Gurevych 2019.
    """

    hugging_face_class = "BertForSequenceClassification"

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        pooling: str = "cls",
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        if pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
        self.labels, self.pooling = check_labels(labels), pooling
        self.classifier, new_pooler = self.new_layers(len(self.labels), self.config.hidden_size)
        self.bert.pooler = None if pooling == "mean" else self.bert.pooler or new_pooler

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, K) logits; arguments (B, L) as for ``BertModel.forward``."""
        hidden, pooled, *_ = self.bert(input_ids, attention_mask, token_type_ids)
        if self.pooling == "mean":
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.classifier(self.dropout(pooled))

    def options(self) -> dict:
        """See ``Head``."""
        return {**super().options(), "pooling": self.pooling}

    @property
    def architecture(self) -> str:
        """See ``Head``: with the mean it is nothing that ``transformers`` knows."""
        return self.hugging_face_class if self.pooling == "cls" else type(self).__name__

    def encode(self, texts: Sequence[str | tuple[str, str]]) -> list[Row]:
        """Texts, or pairs, as rows without target.

        Raises:
            ValueError: if one is neither a string nor a pair, or holds a lone surrogate.
        """
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise ValueError(
                f"texts must be a list of strings or pairs of strings; got {type(texts).__name__} {texts!r:.60}."
            )
        parts = [[text] if isinstance(text, str) else list(text) for text in texts]
        for number, pair in enumerate(parts):
            if not 1 <= len(pair) <= 2 or not all(isinstance(part, str) for part in pair):
                raise ValueError(f"text {number} must be a string or a pair of strings; got {texts[number]!r:.80}.")
            for part in pair:
                check_text(part, f"text {number}")
        flat = self.tokenizer.encode_batch(list(itertools.chain(*parts)), add_special_tokens=False)
        encoded = iter(each.ids for each in flat)
        cls, sep = (self.tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        rows = []
        for number, pair in enumerate(parts):
            segments = shorten([next(encoded) for _ in pair], self.max_length - 1 - len(pair))
            ids = [cls, *itertools.chain(*([*segment, sep] for segment in segments))]
            second = len(segments[1]) + 1 if len(segments) == 2 else 0
            rows.append(Row(ids, [0] * (len(ids) - second) + [1] * second, number))
        return rows

    def rows(self, examples: Sequence[LabeledText]) -> list[Row]:
        """Examples as rows, each with the index of its class.

        Raises:
            TypeError: if an example is no ``LabeledText``.
            ValueError: if a label is not one of ``labels``.
        """
        check_examples(examples, LabeledText)
        index = {label: i for i, label in enumerate(self.labels)}
        for number, example in enumerate(examples):
            if example.label not in index:
                raise ValueError(
                    f"example {number}: the label must be one of {', '.join(self.labels)}; got {example.label!r}. "
                    "Correct it, or make the classifier with all labels."
                )
        rows = self.encode([example.text for example in examples])
        return [row._replace(target=index[example.label]) for row, example in zip(rows, examples)]

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean cross-entropy of a batch."""
        targets = torch.tensor([row.target for row in rows], device=self.device)
        return F.cross_entropy(self(*self.batch(rows)), targets)

    def probabilities(self, texts: Sequence[str | tuple[str, str]]) -> Tensor:
        """(n, K), the probability of each class for each text; ``encode`` says what is refused."""
        rows = self.encode(texts)
        return torch.stack(self.logits(rows)).softmax(dim=1) if rows else torch.empty(0, len(self.labels))

    def predict(self, texts: Sequence[str | tuple[str, str]]) -> list[str]:
        """The most probable class of each text; ``encode`` says what is refused."""
        return [self.labels[int(logits.argmax())] for logits in self.logits(self.encode(texts))]

    def measure(self, examples: Sequence[LabeledText], rows: Sequence[Row]) -> dict[str, float]:
        """Accuracy, and F1 averaged over the classes that occur, in percent.

        Args:
            examples: with their labels.
            rows: of these examples.
        """
        gold = torch.tensor([row.target for row in rows])
        return classification_scores(gold, torch.stack(self.logits(rows)).argmax(dim=1))


def classification_scores(gold: Tensor, predicted: Tensor) -> dict[str, float]:
    """Accuracy, and F1 averaged over the classes that occur, in percent.

    Args:
        gold, predicted: (n,), the number of each text's class.

    Raises:
        RuntimeError: if there are not as many of the one as of the other.
    """
    f1 = []
    for label in gold.unique():
        correct = ((gold == label) & (predicted == label)).sum().item()
        f1.append(2 * correct / ((gold == label).sum() + (predicted == label).sum()).item())
    return {"accuracy": 100 * (gold == predicted).float().mean().item(), "macro_f1": 100 * sum(f1) / len(f1)}


def shorten(segments: list[list[int]], room: int) -> list[list[int]]:
    """Cut one or two segments to the tokens there is room for, a token at a time from the longer one.

    >>> shorten([[1, 2, 3, 4], [5, 6]], room=4)
    [[1, 2], [5, 6]]
    """
    sizes = [len(segment) for segment in segments]
    while sum(sizes) > room:
        sizes[sizes.index(max(sizes))] -= 1
    return [segment[:size] for segment, size in zip(segments, sizes)]

"""Chapter 7: what every head on BERT has in common: its own encoder, rows, batches, logits and files.

    class of a text   softmax(W · h_[CLS])   K × D numbers: ``classifiers``    Devlin et al. 2019, section 4.1
    tag of a token    softmax(W · h_i)       K × D numbers: chapter 8          section 5.3
    span              S · h_i + E · h_j      2 × D numbers: chapter 9          section 4.2

Files have Hugging Face's layout: ``transformers`` loads what ``save`` wrote and computes the same logits.
"""

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert import Batch, BertConfig, BertModel, length_buckets, pad_rows, save_pretrained
from bertcourse.bert.batching import check_tokenizer, row_tokenizer
from bertcourse.bert.folders import open_folder
from bertcourse.bert.model import initialize
from bertcourse.bert.modes import evaluation_mode
from bertcourse.bert.pretrained import read_files
from bertcourse.bert.weights import copy_tensors
from bertcourse.files import read_json
from bertcourse.fine_tuning.readers import LabeledText, check_examples
from bertcourse.tokenization.encoding import check_text

POOLINGS = ("mean", "cls")


class Row(NamedTuple):
    """What a model reads at once, and what it should answer.

    Attributes:
        ids, type_ids: of its tokens, [CLS] and [SEP] included.
        source: index of the example it comes from; a long example has several rows.
        places: for each token the index of its word, or its characters (start, end); None for a token that has neither.
            Empty if the row has a single answer as a whole.
        target: the index of a class, the indices of tags, or the tokens (start, end); None if not known.
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
    """A copy of an encoder, to which a subclass adds a few weights and their meaning.

    A subclass defines ``forward(input_ids, attention_mask, token_type_ids)``; ``encode(texts)`` and ``rows(examples)``,
    which make rows without and with targets; ``loss(rows)``; and ``measure(examples, rows)``, the scores.

    Args:
        encoder: any BERT; it is copied, so that several heads can start from one.
        tokenizer: its tokenizer.
        max_length: the most tokens to read at once, 8 or more; None for as many as the encoder can.
        dropout: probability of dropping a number that goes into the head, in training.
        seed: of the head's initial weights, drawn from N(0, initializer_range²).
    """

    hugging_face_class: str
    has_dropout = True  # whether Hugging Face's class has dropout before the head; a file need not mention it then

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
                f"encoder must be a BertModel, as load_pretrained(name) returns; got {type(encoder).__name__}. Of a "
                "model with heads, take the attribute bert."
            )
        check_tokenizer(tokenizer)
        longest = encoder.config.max_position_embeddings
        self.max_length = longest if max_length is None else max_length
        if self.max_length not in range(8, longest + 1):
            raise ValueError(f"max_length must be from 8 to {longest}, the encoder's positions; got {max_length!r}.")
        self.tokenizer = tokenizer
        self.bert = copy.deepcopy(encoder)
        self.dropout = nn.Dropout(dropout)
        self.seed = seed

    def new_layers(self, *outputs: int) -> list[nn.Linear]:
        """A linear map from D to each number of outputs, noise as BERT's weights once were, from this head's seed."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(self.seed))  # of the CPU; a GPU's is left alone
            layers = [nn.Linear(self.config.hidden_size, size) for size in outputs]
            for layer in layers:
                initialize(layer, self.config)
        return layers

    def new_layer(self, outputs: int) -> nn.Linear:
        """A linear map from D to ``outputs`` numbers, filled with noise."""
        return self.new_layers(outputs)[0]

    @property
    def config(self) -> BertConfig:
        """The encoder's sizes."""
        return self.bert.config

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def batch(self, rows: Sequence[Row]) -> Batch:
        """Rows as tensors (B, L) on the head's device, padded to the longest."""
        return Batch(*(part.to(self.device) for part in pad_rows([r.ids for r in rows], [r.type_ids for r in rows])))

    def logits(self, rows: Sequence[Row], max_tokens: int = 4096) -> list[Tensor]:
        """Each row's logits, without dropout and with padding cut off.

        Args:
            rows: from ``encode`` or ``rows``.
            max_tokens: B × L of a batch.

        Returns:
            For each row a tensor on the CPU: (K,) from a classifier, (L, K) from a tagger, (L, 2) from a reader.
        """
        results: list[Tensor] = [torch.empty(0)] * len(rows)
        with evaluation_mode(self):
            for bucket in length_buckets([row.length for row in rows], max_tokens):
                for index, logits in zip(bucket, self(*self.batch([rows[i] for i in bucket])).float().cpu()):
                    results[index] = logits if logits.dim() == 1 else logits[: rows[index].length]
        return results

    def score(self, examples: Sequence) -> dict[str, float]:
        """The scores of ``measure``, in percent, on examples whose answers are known."""
        return self.measure(examples, self.rows(examples))

    def save(self, folder: str | os.PathLike) -> None:
        """Write model and tokenizer to a folder, for ``load`` and for ``transformers``; a map that was trained as a sum
        (``question_answering.low_rank``) is written as one matrix."""
        further = {"architectures": [self.architecture], "classifier_dropout": self.dropout.p}
        if labels := getattr(self, "labels", None):
            further |= {
                "id2label": {str(index): label for index, label in enumerate(labels)},
                "label2id": {label: index for index, label in enumerate(labels)},
            }
        save_pretrained(with_merged_maps(self), self.tokenizer, folder, {**further, "bertcourse": self.options()})

    @property
    def architecture(self) -> str:
        """What config.json calls the model."""
        return self.hugging_face_class

    def options(self) -> dict:
        """The arguments of this head for which Hugging Face's files have no field."""
        return {"max_length": self.max_length}

    @classmethod
    def load(cls, name_or_path: str | os.PathLike) -> Self:
        """A model that ``save`` or ``transformers`` wrote, in evaluation mode.

        Args:
            name_or_path: as for ``load_pretrained``, which also says what can go wrong.

        Raises:
            ValueError: if the folder holds a model for another task, or its config.json was damaged.
        """
        folder = open_folder(name_or_path)
        settings = read_json(folder / "config.json")
        check_task(cls, settings, folder)
        config, tensors, tokenizer = read_files(folder)
        try:
            model = cls(BertModel(config), tokenizer, **cls.options_in(settings))
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{folder / 'config.json'} must describe a {cls.__name__}; {str(error).rstrip('.')}. Save the model "
                "again."
            ) from error
        copy_tensors(model, tensors, folder)
        return model.eval()

    @classmethod
    def options_in(cls, settings: dict) -> dict:
        """The arguments of this head in a config.json."""
        options = dict(settings.get("bertcourse") or {})
        if cls.has_dropout:
            dropout = settings.get("classifier_dropout")
            options["dropout"] = settings.get("hidden_dropout_prob", 0.1) if dropout is None else dropout
        if "labels" in cls.__init__.__annotations__:
            names = settings.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
            options["labels"] = [names[index] for index in sorted(names, key=int)]
        return options


class TextHead(Head):
    """A head for texts, or pairs such as premise and hypothesis, each of one class: all of it that is not its layers.

    Texts are cut to ``max_length``, a pair at its longer text.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``.
        labels: the K classes.
        pooling: "mean" of all tokens' last vectors, or "cls", BERT's own: the encoder's pooler, tanh of a linear map of
            [CLS] (a new one if it has none).
    """

    hugging_face_class = "BertForSequenceClassification"

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        pooling: str,
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        if pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
        self.labels, self.pooling = check_labels(labels), pooling
        _, new_pooler = self.new_layers(len(self.labels), self.config.hidden_size)
        self.bert.pooler = None if pooling == "mean" else self.bert.pooler or new_pooler

    def encode(self, texts: Sequence[str | tuple[str, str]]) -> list[Row]:
        """Texts as rows [CLS] text [SEP], pairs as [CLS] text [SEP] text [SEP], without targets."""
        if isinstance(texts, str):
            raise ValueError(f"texts must be a list of strings or of pairs; got a string, {texts!r:.60}. Write [text].")
        for number, text in enumerate(texts := list(texts)):
            for part in text if isinstance(text, (tuple, list)) and len(text) == 2 else [text]:
                check_text(part, f"text {number}")
        encodings = row_tokenizer(self.tokenizer, self.max_length).encode_batch(texts)
        return [Row(encoding.ids, encoding.type_ids, number) for number, encoding in enumerate(encodings)]

    def rows(self, examples: Sequence[LabeledText]) -> list[Row]:
        """Examples as rows, each with the index of its class."""
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

    def probabilities(self, texts: Sequence[str | tuple[str, str]]) -> Tensor:
        """(n, K), the probability of each class for each of n texts or pairs."""
        rows = self.encode(texts)
        return torch.stack(self.logits(rows)).softmax(dim=1) if rows else torch.empty(0, len(self.labels))

    def predict(self, texts: Sequence[str | tuple[str, str]]) -> list[str]:
        """The most probable class of each text or pair."""
        return [self.labels[int(logits.argmax())] for logits in self.logits(self.encode(texts))]

    def measure(self, examples: Sequence[LabeledText], rows: Sequence[Row]) -> dict[str, float]:
        """``classification_scores`` of examples, given their rows."""
        gold = torch.tensor([row.target for row in rows])
        return classification_scores(gold, torch.stack(self.logits(rows)).argmax(dim=1))

    def options(self) -> dict:
        """See ``Head``."""
        return {**super().options(), "pooling": self.pooling}

    @property
    def architecture(self) -> str:
        """See ``Head``; ``transformers`` has no class with the mean."""
        return self.hugging_face_class if self.pooling == "cls" else type(self).__name__

    @classmethod
    def options_in(cls, settings: dict) -> dict:
        """See ``Head``; a model of ``transformers`` reads [CLS]."""
        return {"pooling": "cls", **super().options_in(settings)}


def classification_scores(gold: Tensor, predicted: Tensor) -> dict[str, float]:
    """Accuracy, and F1 averaged over the classes that occur in either, in percent, as scikit-learn has them.

    Args:
        gold, predicted: (n,), the index of each text's class.
    """
    f1 = []
    for label in torch.cat([gold, predicted]).unique():
        correct = ((gold == label) & (predicted == label)).sum().item()
        f1.append(2 * correct / ((gold == label).sum() + (predicted == label).sum()).item())
    return {"accuracy": 100 * (gold == predicted).float().mean().item(), "macro_f1": 100 * sum(f1) / len(f1)}


def check_task(head: type[Head], settings: dict, folder: Path) -> None:
    """Refuse a checkpoint that was made for another head."""
    names = settings.get("architectures") or ["a model that it does not name"]
    found = names[0] if isinstance(names, list) else names
    if found not in (head.hugging_face_class, head.__name__):
        arguments = ", labels" if "labels" in head.__init__.__annotations__ else ""
        raise ValueError(
            f"{folder} must hold a {head.hugging_face_class}, for {head.__name__}; it holds {found}. Load it with the "
            f"head that saved it, or train a new one: {head.__name__}(*load_pretrained(name){arguments})."
        )


def check_labels(labels: Sequence[str]) -> list[str]:
    """Labels as a list, if they are at least two different strings."""
    labels = [labels] if isinstance(labels, str) else list(labels)
    if len(set(labels)) < 2 or len(set(labels)) < len(labels) or not all(isinstance(label, str) for label in labels):
        raise ValueError(f"labels must be at least two different strings, in the order of their indices; got {labels}.")
    return labels


def with_merged_maps(model: nn.Module) -> nn.Module:
    """The model, or a copy of it in which each part that can be ``merged`` is."""
    parts = [name for name, part in model.named_modules() if hasattr(part, "merged")]
    model = copy.deepcopy(model) if parts else model
    for name in parts:
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, model.get_submodule(name).merged())
    return model

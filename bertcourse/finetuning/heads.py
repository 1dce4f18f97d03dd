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
import math
import os
from collections import Counter
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
from bertcourse.embeddings import check_sentences, make_windows
from bertcourse.files import read_json
from bertcourse.finetuning.crf import TagDecoder
from bertcourse.finetuning.readers import LabeledText, Question, TaggedSentence, check_answers, check_examples
from bertcourse.finetuning.spans import Span, SpanWindow, answer_tokens, best_answer, span_windows, squad_scores
from bertcourse.finetuning.tags import entity_scores, entity_types, subword_tags, tag_set, word_spans, word_tags
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
        elif cls is not SpanPredictor:  # transformers has none before the spans
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
    mean_pooled = head is SequenceClassifier and found == SequenceClassifier.__name__
    if found == head.hugging_face_class or mean_pooled:
        return
    others = {other.hugging_face_class: other for other in Head.__subclasses__()} | {
        "SequenceClassifier": SequenceClassifier
    }
    if found in others:
        advice = f"{others[found].__name__}.load reads it."
    else:
        arguments = ", labels" if "labels" in head.__init__.__annotations__ else ""
        advice = f"Put a new head on its encoder: {head.__name__}(*load_pretrained(name){arguments}), and train it."
    raise ValueError(
        f"{folder} must hold a {head.hugging_face_class}, by its config.json, for {head.__name__}; it holds {found}. "
        f"{advice}"
    )


def check_labels(labels: Sequence[str]) -> list[str]:
    """Labels as a list.

    Args:
        labels: of a classifier, in the order of their indices.

    Raises:
        ValueError: if they are not at least two different strings.

    Source: none; it is a check of arguments.
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


class TokenClassifier(Head):
    """A tag for each word, such as B-PER, from the vectors of its tokens.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``. A longer sentence is read in overlapping
            windows; each word's scores are from the window with most text on both sides of it. A word without a
            token is read as [UNK].
        labels: the K tags, as ``tags.tag_set`` makes them.
        subwords: "first", "all" or "copy", which tokens of a word have a tag, and which; see ``tags.subword_tags``.
        decoder: "argmax" takes the best tag of each token by itself; "viterbi" the best sequence of the sentence's
            tokens that ``scheme`` allows; "crf" learns which tag follows which, too (in a long sentence, window by
            window). A word has the tag of its first token, so that with subwords "all" or "copy" now and then a
            sequence that is allowed for tokens is not for words.
        scheme: notation of the labels, one of ``tags.SCHEMES``.
        capitals: words with a first letter in upper case are read as of segment B, all others as of segment A. An
            uncased tokenizer drops capitals, and a single sentence does not need its segments: so the one can carry
            the other. Fine-tuning learns what segment B means now.

    Raises:
        ValueError: if an argument is out of range.

    Source: Devlin et al. 2019, section 5.3 and figure 4 (d); Lample et al. 2016 for the CRF.
    """

    hugging_face_class = "BertForTokenClassification"

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        subwords: str = "first",
        decoder: str = "argmax",
        scheme: str = "BIO",
        capitals: bool = False,
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        if capitals and self.config.type_vocab_size < 2:
            raise ValueError("capitals need an encoder with two segments; this one has type_vocab_size 1.")
        self.capitals = capitals
        subword_tags([], [], subwords)  # refuses what it does not know
        self.labels, self.subwords = check_labels(labels), subwords
        self.bert.pooler = None
        (self.classifier,) = self.new_layers(len(self.labels))
        self.decoder = TagDecoder(self.labels, decoder, scheme)
        if subwords == "all" and (missing := set(tag_set(entity_types(self.labels), scheme)) - set(self.labels)):
            raise ValueError(
                f'labels must be all of tag_set(types, "{scheme}") for subwords "all"; {sorted(missing)} missing.'
            )
        if subwords == "copy" and scheme == "BIOES" and decoder != "argmax":
            raise ValueError(
                'subwords "copy" gives a long word E- several times, which BIOES does not allow; got decoder '
                f'{decoder!r}. Take decoder "argmax", subwords "all", or scheme "BIO".'
            )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, L, K) logits; arguments (B, L) as for ``BertModel.forward``."""
        return self.classifier(self.dropout(self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state))

    def options(self) -> dict:
        """See ``Head``."""
        return {
            **super().options(),
            "subwords": self.subwords,
            "decoder": self.decoder.kind,
            "scheme": self.decoder.scheme,
            "capitals": self.capitals,
        }

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Row]:
        """Sentences of words as rows without target; ``places`` are indices of words.

        Raises:
            ValueError: if a sentence is not a list of words.
        """
        written, sentences = sentences, readable_words(self.tokenizer, sentences)
        everything = [range(len(words)) for words in sentences]
        windows = make_windows(self.tokenizer, sentences, everything, self.max_length, (self.max_length - 2) // 2)
        word_of = [(source, word) for source, words in enumerate(sentences) for word in range(len(words))]
        rows = []
        for window in windows:
            places: list[int | None] = [None] * len(window.ids)
            for number, (first, end) in zip(window.rows, window.spans):
                source, word = word_of[number]
                places[first:end] = [word] * (end - first)
            capital = [self.capitals and place is not None and written[source][place][:1].isupper() for place in places]
            rows.append(Row(window.ids, list(map(int, capital)), source, places))
        return rows

    def rows(self, examples: Sequence[TaggedSentence]) -> list[Row]:
        """Examples as rows, each with the indices of its tags.

        Raises:
            ValueError: if a sentence has not one tag a word, or a tag is not one of ``labels``.
        """
        check_tags(examples, self.labels)
        index = {label: i for i, label in enumerate(self.labels)}
        rows = []
        for row in self.encode([example.words for example in examples]):
            tags = subword_tags(row.places, examples[row.source].tags, self.subwords)
            rows.append(row._replace(target=[index[tag] for tag in tags if tag is not None]))
        return rows

    def positions(self, row: Row) -> list[int]:
        """The tokens of a row that have a tag."""
        return [
            i
            for first, end in word_spans(row.places)
            for i in range(first, first + 1 if self.subwords == "first" else end)
        ]

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean loss of a batch over the tokens that have a tag; see ``crf.TagDecoder.loss``."""
        logits = self(*self.batch(rows))
        where = [number * logits.shape[1] + i for number, row in enumerate(rows) for i in self.positions(row)]
        emissions = logits.flatten(0, 1)[where].split([len(row.target) for row in rows])
        return self.decoder.loss(emissions, [row.target for row in rows])

    def tags(self, rows: Sequence[Row], lengths: Sequence[int]) -> list[list[str]]:
        """The tags of sentences.

        Args:
            rows: of all of them.
            lengths: how many words each has.
        """
        results = [["O"] * length for length in lengths]
        words: dict[int, list[int]] = {}
        emissions: dict[int, list[Tensor]] = {}
        for row, scores in zip(rows, self.logits(rows)):  # the windows of a sentence one after the other
            where = self.positions(row)
            words.setdefault(row.source, []).extend(row.places[i] for i in where)
            emissions.setdefault(row.source, []).append(scores[where])
        sequences = self.decoder([torch.cat(parts) for parts in emissions.values()]) if rows else []
        for source, found in zip(emissions, sequences):
            for word, tag in zip(dict.fromkeys(words[source]), word_tags(words[source], found)):
                results[source][word] = tag
        return results

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """For each sentence of words its tags; ``encode`` says what is refused."""
        return self.tags(self.encode(sentences), [len(words) for words in sentences])

    def measure(self, examples: Sequence[TaggedSentence], rows: Sequence[Row]) -> dict[str, float]:
        """F1, precision and recall of entities, and the share of words with the right tag, in percent.

        Args:
            examples: with their tags.
            rows: of these examples.
        """
        return tagging_scores(examples, self.tags(rows, [len(example.words) for example in examples]))


def readable_words(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Sentences in which a word that gives no token, such as a lone control character, is [UNK].

    Raises:
        TypeError: if a word is no string.
        ValueError: if a sentence is a string, or a word holds a lone surrogate.
    """
    check_sentences("sentences", sentences)
    sentences = [list(words) for words in sentences]
    encodings = tokenizer.encode_batch(sentences, is_pretokenized=True, add_special_tokens=False)
    for words, encoding in zip(sentences, encodings):
        for index in set(range(len(words))) - set(encoding.word_ids):
            words[index] = "[UNK]"
    return sentences


def check_tags(examples: Sequence[TaggedSentence], labels: Sequence[str]) -> None:
    """Refuse sentences whose tags do not match their words, or are not known.

    Args:
        examples: words and tags.
        labels: the tags there are.

    Raises:
        TypeError: if an example is no ``TaggedSentence``.
        ValueError: naming the sentence.

    Source: none; it is a check of arguments.
    """
    check_examples(examples, TaggedSentence)
    for number, example in enumerate(examples):
        if len(example.words) != len(example.tags):
            raise ValueError(
                f"sentence {number} must have a tag for each word; got {len(example.words)} words and "
                f"{len(example.tags)} tags: {' '.join(example.words)[:80]!r}."
            )
        if unknown := set(example.tags) - set(labels):
            raise ValueError(
                f"sentence {number}: a tag must be one of {', '.join(labels)}; got {', '.join(sorted(unknown))}. "
                "Convert the tags to the notation of the labels with convert_tags, or make the tagger with all labels."
            )


def tagging_scores(examples: Sequence[TaggedSentence], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """F1, precision and recall of entities, and the share of words with the right tag, in percent.

    Args:
        examples: with their tags.
        predicted: tags of the same sentences.

    Raises:
        ValueError: if they do not match.

    Source: Tjong Kim Sang & De Meulder 2003, section 2.3.
    """
    gold = [example.tags for example in examples]
    scores = entity_scores(gold, predicted)["all"]
    pairs = [pair for a, b in zip(gold, predicted) for pair in zip(a, b)]
    return {
        "f1": 100 * scores.f1,
        "precision": 100 * scores.precision,
        "recall": 100 * scores.recall,
        "accuracy": 100 * sum(a == b for a, b in pairs) / max(len(pairs), 1),
    }


class SpanPredictor(Head):
    """A question and a context to the part of the context that answers it.

    Args:
        encoder, tokenizer, seed: as for ``Head``.
        max_length: the most tokens to read at once; None for 384, or fewer if the encoder reads fewer. A longer context
            is read in windows.
        overlap: tokens that two windows share; None for a third of ``max_length``.
        no_answer_margin: "" is the answer where [CLS] scores higher than the best span by more than this; None to
            answer always. ``spans.best_margin`` finds a good one.
        max_answer_tokens: the longest answer.
        dropout: as for ``Head``; BERT has none here.

    Raises:
        ValueError: if an argument is out of range.

    Source: Devlin et al. 2019, sections 4.2 and 4.3, and figure 4 (c).
    """

    hugging_face_class = "BertForQuestionAnswering"

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        max_length: int | None = None,
        overlap: int | None = None,
        no_answer_margin: float | None = None,
        max_answer_tokens: int = 30,
        dropout: float = 0.0,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        self.max_length = min(384, self.max_length) if max_length is None else max_length
        self.overlap = self.max_length // 3 if overlap is None else overlap
        if self.overlap not in range(self.max_length):
            raise ValueError(f"overlap must be from 0 to below max_length, {self.max_length}; got {overlap!r}.")
        if no_answer_margin is not None and not math.isfinite(no_answer_margin):
            raise ValueError(f"no_answer_margin must be a finite number, or None; got {no_answer_margin}.")
        if max_answer_tokens < 1:
            raise ValueError(f"max_answer_tokens must be at least 1; got {max_answer_tokens}.")
        self.no_answer_margin, self.max_answer_tokens = no_answer_margin, max_answer_tokens
        self.bert.pooler = None
        (self.span_head,) = self.new_layers(2)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, L, 2), a score for each token as start and as end; arguments (B, L) as for ``BertModel.forward``."""
        return self.span_head(self.dropout(self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state))

    def options(self) -> dict:
        """See ``Head``."""
        names = ("overlap", "no_answer_margin", "max_answer_tokens")
        return {**super().options(), **{name: getattr(self, name) for name in names}}

    def windows(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[int, SpanWindow]]:
        """The windows of all pairs of question and context, each with the index of its pair.

        Raises:
            ValueError: naming the pair, if it is none, has no token, or there is no room for the context.
        """
        found = []
        for source, pair in enumerate(pairs):
            try:
                if isinstance(pair, str) or len(pair) != 2:
                    raise ValueError(f"it must be a pair, (question, context); got {pair!r:.80}.")
                question, context = pair
                windows = span_windows(self.tokenizer, question, context, self.max_length, self.overlap)
            except ValueError as error:
                raise ValueError(f"question {source}: {error}") from None
            found += [(source, window) for window in windows]
        return found

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Row]:
        """Pairs of question and context as rows without target; ``places`` are characters of the context."""
        return [Row(window.ids, window.type_ids, source, window.offsets) for source, window in self.windows(pairs)]

    def rows(self, examples: Sequence[Question]) -> list[Row]:
        """Examples as rows, each with the tokens of its first answer, or (0, 0).

        Raises:
            TypeError: if an example is no ``Question``.
            ValueError: if an answer is not where it says, or two questions have one id.
        """
        check_examples(examples, Question)
        for example in examples:
            check_answers(example)
        if repeated := [name for name, times in Counter(example.id for example in examples).items() if times > 1]:
            raise ValueError(f"every question must have an id of its own; {repeated[0]!r} is there more than once.")
        rows = []
        for source, window in self.windows([(example.question, example.context) for example in examples]):
            target = answer_tokens(window, next(iter(examples[source].answers), None))
            rows.append(Row(window.ids, window.type_ids, source, window.offsets, target))
        return rows

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean of the cross-entropies of start and end; padding is left out."""
        batch = self.batch(rows)
        logits = self(*batch).float().masked_fill(batch.attention_mask[..., None] == 0, -torch.inf)
        return F.cross_entropy(logits, torch.tensor([row.target for row in rows], device=self.device))

    def spans(self, contexts: Sequence[str], rows: Sequence[Row]) -> list[Span]:
        """The answer in each context.

        Args:
            contexts: of all questions.
            rows: of these.
        """
        windows: list[list] = [[] for _ in contexts]
        for row, logits in zip(rows, self.logits(rows)):
            windows[row.source].append((row.places, logits))
        return [
            best_answer(context, parts, self.no_answer_margin, self.max_answer_tokens)
            for context, parts in zip(contexts, windows)
        ]

    def answer(self, pairs: Sequence[tuple[str, str]]) -> list[Span]:
        """Per pair of question and context the answer with its place and scores; ``windows`` says what is refused."""
        return self.spans([context for _, context in pairs], self.encode(pairs))

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """For each pair of question and context the answer, "" for none."""
        return [span.text for span in self.answer(pairs)]

    def measure(self, examples: Sequence[Question], rows: Sequence[Row]) -> dict[str, float]:
        """F1 and exact match, as SQuAD's script computes them, in percent.

        Args:
            examples: with their answers.
            rows: of these examples.
        """
        spans = self.spans([example.context for example in examples], rows)
        return squad_scores({example.id: span.text for example, span in zip(examples, spans)}, examples)

"""BERT as a source of features. The encoder stays as it is; a small model learns on top of its vectors.

Any layers can be used, added up (with learned weights, if you like) or side by side: Devlin et al. 2019, table 7, found
the last four side by side nearly as good as fine-tuning. The vectors are computed once; then an epoch takes a second.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import safetensors.torch
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert import BertModel
from bertcourse.bert.modes import evaluation_mode
from bertcourse.bert.weights import check_numbers, read_safetensors
from bertcourse.files import read_json, replace_files
from bertcourse.fine_tuning.heads import check_labels
from bertcourse.named_entities.conll import TaggedSentence
from bertcourse.named_entities.scores import tagging_scores
from bertcourse.named_entities.taggers import check_tags, readable_words
from bertcourse_lab.named_entities.decoding import TagDecoder
from bertcourse_lab.vector_cache import cached_word_vectors, check_layers, fingerprint

POOLINGS = ("sum", "mean", "concat", "weighted")


class FeatureRow(NamedTuple):
    """A sentence as vectors.

    Attributes:
        vectors: (words, F); F is D, or D times the number of layers for "concat" and "weighted".
        source: index of the sentence.
        target: the index of each word's tag, if known.
    """

    vectors: Tensor
    source: int
    target: list[int] | None = None

    @property
    def length(self) -> int:
        """How many words it has."""
        return len(self.vectors)


class FeatureTagger(nn.Module):
    """A tag for each word from the encoder's vectors, by a linear map, with or without a BiLSTM before it.

    A word's vector is the mean over its tokens, as in chapter 5. ``fine_tune`` trains the tagger like any head; only
    what stands on top of the features learns.

    Args:
        encoder: any BERT, in evaluation mode; it is not copied, changed or saved.
        tokenizer: its tokenizer.
        labels: the K tags.
        layers: which layers to use; 0 is the embeddings, -1 the last layer.
        pooling: "sum" or "mean" of the layers; "concat", side by side; or "weighted", a mean whose weights are learned
            with the map, as a softmax over one number per layer.
        lstm_size: of each direction of a two-layer BiLSTM, 768 in the paper; 0 for the linear map alone.
        decoder: as for ``Tagger``.
        dropout: probability of dropping a number that goes into the linear map, in training.
        seed: of the initial weights.
        cache: a folder that keeps the vectors of all layers, so that further taggers on the same encoder and sentences
            find them, whichever layers they use; None computes them each time.

    Source: Devlin et al. 2019, section 5.3 and table 7; the learned weights from Peters et al. 2018, equation 1.
    """

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        layers: Sequence[int] = (-4, -3, -2, -1),
        pooling: str = "concat",
        lstm_size: int = 0,
        decoder: str = "argmax",
        dropout: float = 0.1,
        seed: int = 0,
        cache: str | os.PathLike | None = None,
    ):
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
        if lstm_size < 0:
            raise ValueError(f"lstm_size must be at least 0; got {lstm_size}.")
        self.__dict__["encoder"] = encoder  # bypasses nn.Module, which would count it as part of this model
        self.tokenizer, self.labels, self.pooling, self.cache = tokenizer, check_labels(labels), pooling, cache
        self.layers = check_layers(layers, encoder.config.num_hidden_layers)
        size = encoder.config.hidden_size * (len(self.layers) if pooling == "concat" else 1)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(seed))  # of the CPU; a GPU's is left alone
            self.lstm = None
            if lstm_size:
                self.lstm = nn.LSTM(size, lstm_size, num_layers=2, bidirectional=True, batch_first=True)
            self.classifier = nn.Linear(2 * lstm_size or size, len(self.labels))
        self.mix = nn.Parameter(torch.zeros(len(self.layers))) if pooling == "weighted" else None
        self.dropout = nn.Dropout(dropout)
        self.decoder = TagDecoder(self.labels, decoder)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[FeatureRow]:
        """Sentences of words as vectors, without targets; a sentence without words has no row."""
        words = readable_words(self.tokenizer, sentences)
        layers = self.layers if self.cache is None else list(range(self.encoder.config.num_hidden_layers + 1))
        stacks = cached_word_vectors(self.encoder, self.tokenizer, words, layers, "stack", cache=self.cache)
        ours = [layers.index(layer) for layer in self.layers]
        return [
            FeatureRow(self.pool(torch.from_numpy(stacks[source][:, ours])), source)
            for source in range(len(words))
            if words[source]
        ]

    def pool(self, stack: Tensor) -> Tensor:
        """(words, layers, D) as the (words, F) of a ``FeatureRow``."""
        if self.pooling in ("sum", "mean"):
            return stack.sum(1) if self.pooling == "sum" else stack.mean(1)
        return stack.flatten(1)

    @property
    def layer_weights(self) -> Tensor:
        """(layers,), the weights of "weighted", which sum to 1; for other poolings they are all equal."""
        return torch.ones(len(self.layers)) / len(self.layers) if self.mix is None else self.mix.softmax(0)

    def rows(self, examples: Sequence[TaggedSentence]) -> list[FeatureRow]:
        """Examples as vectors, each with the indices of its tags."""
        check_tags(examples, self.labels, further_tokens=False)
        rows = self.encode([example.words for example in examples])
        return [row._replace(target=list(map(self.labels.index, examples[row.source].tags))) for row in rows]

    def forward(self, rows: Sequence[FeatureRow]) -> list[Tensor]:
        """For each row (words, K) logits."""
        lengths = [row.length for row in rows]
        features = torch.cat([row.vectors for row in rows]).to(self.classifier.weight.device)
        if self.mix is not None:
            stack = features.unflatten(1, (len(self.layers), -1))
            features = (self.layer_weights[:, None] * stack).sum(1)
        if self.lstm is not None:
            packed = nn.utils.rnn.pack_sequence(features.split(lengths), enforce_sorted=False)
            read, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            features = torch.cat([vectors[:length] for vectors, length in zip(read, lengths)])
        return list(self.classifier(self.dropout(features)).split(lengths))

    def loss(self, rows: Sequence[FeatureRow]) -> Tensor:
        """The mean loss of a batch over words; see ``TagDecoder.loss``."""
        return self.decoder.loss(self(rows), [row.target for row in rows])

    def tags(self, rows: Sequence[FeatureRow], lengths: Sequence[int]) -> list[list[str]]:
        """The tags of sentences of ``lengths`` words, given the rows of all these sentences."""
        results: list[list[str]] = [[] for _ in lengths]
        with evaluation_mode(self):
            emissions = [scores.float().cpu() for scores in self(rows)] if rows else []
        if emissions:
            for row, found in zip(rows, self.decoder(emissions)):
                results[row.source] = found
        return results

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """For each sentence of words its tags."""
        return self.tags(self.encode(sentences), [len(words) for words in sentences])

    def measure(self, examples: Sequence[TaggedSentence], rows: Sequence[FeatureRow]) -> dict[str, float]:
        """F1, precision and recall of entities, and accuracy of words, in percent; ``rows`` are the examples'."""
        return tagging_scores(examples, self.tags(rows, [len(example.words) for example in examples]))

    def score(self, examples: Sequence[TaggedSentence]) -> dict[str, float]:
        """How well the model tags examples whose tags are known, in percent; see ``measure``."""
        return self.measure(examples, self.rows(examples))

    def options(self) -> dict:
        """The arguments of the tagger, except the labels, and which weights its encoder has."""
        return {
            "encoder": fingerprint(self.encoder),
            "layers": self.layers,
            "pooling": self.pooling,
            "lstm_size": self.lstm.hidden_size if self.lstm is not None else 0,
            "decoder": self.decoder.kind,
            "dropout": self.dropout.p,
        }

    def save(self, folder: str | os.PathLike) -> None:
        """Write what was learned, without the encoder: tagger.safetensors and tagger.json."""
        settings = {"labels": self.labels, **self.options()}
        with replace_files(folder, ["tagger.safetensors", "tagger.json"]) as draft:
            safetensors.torch.save_file(self.state_dict(), draft / "tagger.safetensors")
            (draft / "tagger.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | os.PathLike, encoder: BertModel, tokenizer: Tokenizer) -> Self:
        """A tagger that ``save`` wrote, in evaluation mode, on the encoder it was trained with."""
        settings, path = read_json(Path(folder, "tagger.json")), Path(folder, "tagger.safetensors")
        weights = read_safetensors(path, "Save it again.")
        check_numbers(weights, path)
        recurrent = weights.get("lstm.weight_hh_l0", torch.empty(0, 0)).shape[1]
        try:
            if settings.get("lstm_size", 0) != recurrent:
                raise ValueError(
                    f"lstm_size must be {recurrent}, that of its weights; got {settings.get('lstm_size')!r}."
                )
            trained_with = settings.pop("encoder", None)  # files of earlier versions do not say
            model = cls(encoder, tokenizer, **settings)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{folder}/tagger.json must describe a {cls.__name__}; {str(error).rstrip('.')}. Save it again."
            ) from error
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise ValueError(
                f"{folder} must be of an encoder like this one, of {encoder.config.hidden_size} dimensions; "
                f"{str(error).splitlines()[-1].strip()} Give the encoder it was trained with."
            ) from error
        if trained_with not in (None, fingerprint(encoder)):
            raise ValueError(f"{folder} must be of this encoder; its weights differ. Give the one it was trained with.")
        return model.eval()

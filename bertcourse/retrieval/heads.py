"""Chapter 10: what surrounds the two models of its page: texts become rows, and rows vectors or scores."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel, length_buckets
from bertcourse.bert.batching import row_tokenizer
from bertcourse.bert.modes import evaluation_mode
from bertcourse.fine_tuning.heads import Head, Row
from bertcourse.retrieval.collection import TrainingPair, check_pairs
from bertcourse.tokenization.encoding import check_text


class PairHead(Head):
    """A head without dropout that learns from ``TrainingPair``.

    Args:
        encoder, tokenizer, max_length, seed: as for ``Head``. Longer texts are cut.
    """

    has_dropout = False

    def __init__(self, encoder: BertModel, tokenizer: Tokenizer, max_length: int | None = None, seed: int = 0):
        super().__init__(encoder, tokenizer, max_length, 0.0, seed)

    def encode(self, texts: Sequence[str | tuple[str, str]]) -> list[Row]:
        """Texts as rows [CLS] text [SEP], pairs as [CLS] query [SEP] passage [SEP]."""
        if isinstance(texts, str):
            raise ValueError(f"texts must be a list of strings or of pairs; got a string, {texts!r:.60}. Write [text].")
        for number, text in enumerate(texts := list(texts)):
            for part in text if isinstance(text, tuple) and len(text) == 2 else [text]:
                check_text(part, f"text {number}")
        encodings = row_tokenizer(self.tokenizer, self.max_length).encode_batch(texts)
        return [Row(encoding.ids, encoding.type_ids, number) for number, encoding in enumerate(encodings)]

    def rows(self, pairs: Sequence[TrainingPair]) -> list[TrainingPair]:
        """The pairs, which are tokenized when they meet in a batch."""
        check_pairs(pairs)
        return [pair._replace(source=number) for number, pair in enumerate(pairs)]


class Retriever(PairHead):
    """Reads each text alone."""

    hugging_face_class = "BertModel"

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """(n, D), a vector of length 1 for each of n texts, at least one."""
        return torch.stack(self.logits(self.encode(texts)))

    def token_vectors(self, texts: Sequence[str], max_tokens: int = 4096, normalize: bool = True) -> list[Tensor]:
        """For each text, its tokens' (L, D) last vectors, including [CLS] and [SEP]; for ``late_interaction``.

        Args:
            texts: to be read.
            max_tokens: B × L of a batch.
            normalize: scale each vector to length 1.
        """
        rows = self.encode(texts)
        found: list[Tensor] = [torch.empty(0)] * len(rows)
        with evaluation_mode(self):
            for bucket in length_buckets([row.length for row in rows], max_tokens):
                hidden = self.bert(*self.batch([rows[i] for i in bucket])).last_hidden_state.float().cpu()
                for index, vectors in zip(bucket, F.normalize(hidden, dim=-1) if normalize else hidden):
                    found[index] = vectors[: rows[index].length].clone()
        return found

    def measure(self, examples: Sequence[TrainingPair], rows: Sequence[TrainingPair]) -> dict[str, float]:
        """Mean reciprocal rank of the right passage among the right passages of all examples, in percent; among equal
        scores it takes the middle rank. Negatives are ignored.
        """
        places = {passage: place for place, passage in enumerate(dict.fromkeys(pair.passage for pair in examples))}
        scores = self.vectors([pair.query for pair in examples]) @ self.vectors(list(places)).T
        own = scores.gather(1, torch.tensor([[places[pair.passage]] for pair in examples]))
        ranks = (scores > own).sum(dim=1) + ((scores == own).sum(dim=1) + 1) / 2
        return {"mrr": 100 * (1 / ranks).mean().item()}


class Reranker(PairHead):
    """Reads query and passage together; all of a run's pairs have the same number of negatives, at least one."""

    hugging_face_class = "CrossEncoder"

    def rows(self, pairs: Sequence[TrainingPair]) -> list[TrainingPair]:
        """See ``PairHead``."""
        rows = super().rows(pairs)
        if len(numbers := {len(pair.negatives) for pair in pairs}) > 1 or not min(numbers, default=1):
            raise ValueError(
                f"all pairs must have the same number of negatives, at least one; got {sorted(numbers)}. Take them "
                "from what a search ranks first and is wrong."
            )
        return rows

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """(n,), the score of each of n pairs of query and passage."""
        return torch.cat(self.logits(self.encode(pairs)))

    def measure(self, examples: Sequence[TrainingPair], rows: Sequence[TrainingPair]) -> dict[str, float]:
        """Mean reciprocal rank of the right passage among its query's candidates, in percent."""
        texts = [(pair.query, text) for pair in examples for text in (pair.passage, *pair.negatives)]
        scores = self.scores(texts).view(len(examples), -1)
        return {"mrr": 100 * (1 / (1 + (scores > scores[:, :1]).sum(dim=1))).mean().item()}

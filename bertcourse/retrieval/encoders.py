"""Chapter 10: one vector per text, so that search is a matrix product.

    score(q, p) = cos(E(q), E(p))                               bi-encoder: each is read alone
    loss        = −log( e^{s·cos(q,p⁺)} / Σ_p e^{s·cos(q,p)} )   over all passages of the batch
    score(q, p) = Σ_i max_j cos(q_i, p_j)                       late interaction: one vector per token

The passages of the other queries serve as negatives, at no cost (Karpukhin et al. 2020, "Dense Passage Retrieval",
section 3.2; Reimers & Gurevych 2019, "Sentence-BERT", for mean pooling; Khattab & Zaharia 2020, "ColBERT").
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel, length_buckets
from bertcourse.bert.batching import Batch, pad_batch, row_tokenizer
from bertcourse.fine_tuning.heads import Head
from bertcourse.retrieval.bm25 import check_texts
from bertcourse.tokenization.encoding import check_text
from bertcourse.training.modes import evaluation_mode

# From a text's (L, D) vectors, without padding, to a single vector of D numbers.
POOLINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda hidden: hidden.mean(dim=0),
    "cls": lambda hidden: hidden[0],
    "max": lambda hidden: hidden.amax(dim=0),
}


class TrainingPair(NamedTuple):
    """A query, the passage that answers it, and others that do not.

    Attributes:
        query, passage: texts.
        negatives: any number of passages that look right but are not; the batch has others anyway.
        also_right: further passages that answer the query; if one is in the batch, it does not count as a negative.
    """

    query: str
    passage: str
    negatives: tuple[str, ...] = ()
    also_right: tuple[str, ...] = ()


class EncodedPair(NamedTuple):
    """A ``TrainingPair`` whose texts are tokenized: what ``fine_tune`` puts into batches.

    Attributes:
        query: the tokenized query.
        passages: the right passage, then the negatives.
        also_right: further passages that answer the query.
        source: index of the pair.
        target: None; a pair has no class.
    """

    query: Encoding
    passages: list[Encoding]
    also_right: list[Encoding]
    source: int
    target: None = None

    @property
    def length(self) -> int:
        """How many tokens the right passage has."""
        return len(self.passages[0])

    @property
    def right(self) -> list[list[int]]:
        """The token ids of all passages that answer the query."""
        return [passage.ids for passage in (self.passages[0], *self.also_right)]


def check_pairs(pairs: Sequence[TrainingPair]) -> None:
    """Refuse a string where a tuple of texts is meant: it would be read as one-letter texts."""
    for number, pair in enumerate(pairs):
        if not isinstance(pair, TrainingPair) or not all(isinstance(texts, (tuple, list)) for texts in pair[2:]):
            raise ValueError(
                f"pair {number} must be a TrainingPair(query, passage, negatives, also_right), the last two tuples, "
                f"such as (text,); got {pair!r:.120}."
            )


def contrastive_loss(queries: Tensor, passages: Tensor, same: Tensor | None = None, scale: float = 20.0) -> Tensor:
    """InfoNCE: −log softmax of the right passage's score, averaged over queries: cross-entropy with B' classes.

    Args:
        queries: (B, D), of length 1.
        passages: (B', D), of length 1, B' ≥ B; row i answers query i.
        same: (B, B'), True where a passage is right for the query, such as a second copy of its own, and must not
            count as wrong.
        scale: a factor for the cosines, the inverse of the temperature; 20 as in sentence-transformers.

    Returns:
        A number.

    Source: van den Oord et al. 2018, "Contrastive Predictive Coding", equation 4; Karpukhin et al. 2020, equation 2.

    >>> queries = torch.eye(2)
    >>> contrastive_loss(queries, queries) < contrastive_loss(queries, queries.flip(0))
    tensor(True)
    """
    if len(passages) < len(queries):
        raise ValueError(f"each query must have a passage; got {len(queries)} queries and {len(passages)} passages.")
    dtype = torch.promote_types(queries.dtype, torch.float32)
    with torch.autocast(queries.device.type, enabled=False):  # in bfloat16, near-duplicates would look the same
        scores = scale * queries.to(dtype) @ passages.to(dtype).T
    right = torch.arange(len(queries), device=queries.device)
    if same is not None:
        others = same.clone()
        others[right, right] = False
        scores = scores.masked_fill(others, -torch.inf)
    return F.cross_entropy(scores, right)


def late_interaction(queries: Sequence[Tensor], passages: Sequence[Tensor]) -> np.ndarray:
    """Scores of each query with each passage: each query token takes the passage token most similar to it, and the
    cosines are added.

    Args:
        queries, passages: token vectors (L, D), of length 1, from ``BiEncoder.token_vectors``; at least one of each.

    Returns:
        (queries, passages), numbers of at most the query's L.

    Source: Khattab & Zaharia 2020, "ColBERT", section 3, equation 3.

    >>> late_interaction([torch.eye(2)], [torch.tensor([[0.6, 0.8]])]).round(4)  # 0.6 + 0.8
    array([[1.4]], dtype=float32)
    """
    if not len(queries) or not len(passages) or not all(map(len, (*queries, *passages))):
        raise ValueError(
            f"there must be a query and a passage, none of them empty; got {len(queries)} and {len(passages)}, "
            f"{sum(not len(text) for text in (*queries, *passages))} of them without a token."
        )
    tokens = torch.cat(list(queries))  # (T, D), those of all queries
    best = torch.stack([(tokens @ passage.T).amax(dim=1) for passage in passages], dim=1)  # (T, passages)
    return torch.stack([own.sum(dim=0) for own in best.split([len(query) for query in queries])]).numpy()


class BiEncoder(Head):
    """From a text to one vector of length 1; similar texts, or question and answer, get similar vectors.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``. Longer texts are cut; dropout and seed have no
            effect, as there is no layer on top.
        pooling: "mean" of all tokens' last vectors, "cls" for that of [CLS], or "max" for the largest value in each
            dimension.
        scale: a factor for the cosines in the loss.

    Source: Reimers & Gurevych 2019, section 3, with one encoder for queries and passages.

    >>> from bertcourse.bert import load_pretrained
    >>> encoder = BiEncoder(*load_pretrained("course"))
    >>> vectors = encoder.vectors(["Who bakes bread?", "A baker does."])  # (2, D)
    >>> cosine = vectors[0] @ vectors[1]

    ``fine_tune(encoder, train, dev)`` trains it on lists of ``TrainingPair``.
    """

    hugging_face_class = "BertModel"

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        pooling: str = "mean",
        max_length: int | None = None,
        dropout: float = 0.0,
        seed: int = 0,
        scale: float = 20.0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        if pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
        if not 0 < scale < float("inf"):
            raise ValueError(f"scale must be above 0; got {scale}.")
        self.pooling, self.scale = pooling, scale
        self.row_tokenizer = row_tokenizer(tokenizer, self.max_length)
        self.eval()  # usable without any training

    def options(self) -> dict:
        """See ``Head``."""
        return {**super().options(), "pooling": self.pooling, "scale": self.scale}

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, D) vectors of length 1; arguments (B, L) as for ``BertModel.forward``."""
        hidden = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        mask = (torch.ones_like(input_ids) if attention_mask is None else attention_mask)[..., None].bool()
        if self.pooling == "cls":
            pooled = hidden[:, 0]
        elif self.pooling == "max":
            pooled = hidden.masked_fill(~mask, -torch.inf).amax(dim=1)
        else:
            pooled = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
        return F.normalize(pooled, dim=-1)

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """[CLS] text [SEP], cut to ``max_length``, for each text."""
        texts = check_texts(texts)
        for number, text in enumerate(texts):
            check_text(text, f"text {number}")
        return self.row_tokenizer.encode_batch(texts)

    def batch(self, rows: Sequence[Encoding]) -> Batch:
        """Tokenized texts as (B, L) tensors on the weights' device, padded to the longest."""
        return Batch(*(part.to(self.device) for part in pad_batch(rows)))

    def vectors(self, texts: Sequence[str], max_tokens: int = 4096) -> Tensor:
        """(n, D), a vector of length 1 for each of n texts, on the CPU; ``max_tokens`` limits a batch's B × L."""
        rows = self.encode(texts)
        if not rows:
            raise ValueError("texts must hold at least one text; got none.")
        vectors = torch.empty(len(rows), self.config.hidden_size)
        with evaluation_mode(self):
            for bucket in length_buckets([len(row) for row in rows], max_tokens):
                vectors[bucket] = self(*self.batch([rows[i] for i in bucket])).float().cpu()
        return vectors

    def token_vectors(self, texts: Sequence[str], max_tokens: int = 4096, normalize: bool = True) -> list[Tensor]:
        """For each text, its tokens' (L, D) last vectors, including [CLS] and [SEP]; for ``late_interaction``.

        Args:
            texts, max_tokens: as for ``vectors``.
            normalize: scale each vector to length 1.
        """
        rows = self.encode(texts)
        found: list[Tensor] = [torch.empty(0)] * len(rows)
        with evaluation_mode(self):
            for bucket in length_buckets([len(row) for row in rows], max_tokens):
                hidden = self.bert(*self.batch([rows[i] for i in bucket])).last_hidden_state.float().cpu()
                for index, vectors in zip(bucket, F.normalize(hidden, dim=-1) if normalize else hidden):
                    found[index] = vectors[: len(rows[index])].clone()
        return found

    def logits(self, rows: object, max_tokens: int = 4096) -> list[Tensor]:
        """A bi-encoder has none."""
        raise TypeError("a bi-encoder has no logits; call vectors or token_vectors with texts.")

    def rows(self, examples: Sequence[TrainingPair]) -> list[EncodedPair]:
        """The pairs, tokenized."""
        check_pairs(examples)
        texts = [text for pair in examples for text in (pair.query, pair.passage, *pair.negatives, *pair.also_right)]
        encoded = iter(self.encode(texts))
        return [
            EncodedPair(
                query=next(encoded),
                passages=[next(encoded) for _ in (pair.passage, *pair.negatives)],
                also_right=[next(encoded) for _ in pair.also_right],
                source=number,
            )
            for number, pair in enumerate(examples)
        ]

    def check_training(self, rows: Sequence[EncodedPair], batch_size: int) -> None:
        """Refuse training in which no query ever meets a wrong passage: the loss would be 0 from the first step."""
        texts = {tuple(passage.ids) for row in rows for passage in row.passages}
        if all(texts <= set(map(tuple, row.right)) for row in rows):
            raise ValueError(
                "train must have a wrong passage for at least one query, or there is nothing to learn; got only right "
                f"ones in its {len(rows)}. Add pairs with other passages, or negatives."
            )
        if batch_size == 1 and not any(len(row.passages) > 1 for row in rows):
            raise ValueError(
                "batch_size must be at least 2 where pairs have no negatives, as the batch's other passages are the "
                "wrong ones; got 1. Take 16 or more, or pairs with negatives."
            )

    def loss(self, rows: Sequence[EncodedPair]) -> Tensor:
        """``contrastive_loss`` of a batch: each query against every passage in it.

        A passage that also answers another query does not count as a negative for that query.
        """
        passages = [row.passages[0] for row in rows] + [passage for row in rows for passage in row.passages[1:]]
        texts, right = [passage.ids for passage in passages], [row.right for row in rows]
        same = torch.tensor([[text in own for text in texts] for own in right], device=self.device)
        queries = self(*self.batch([row.query for row in rows]))  # separate from the passages, which are longer
        return contrastive_loss(queries, self(*self.batch(passages)), same, self.scale)

    def measure(self, examples: Sequence[TrainingPair], rows: Sequence[EncodedPair]) -> dict[str, float]:
        """Mean reciprocal rank of the right passage among the right passages of all examples, in percent; among equal
        scores it takes the middle rank. Negatives, and other passages that answer the query, are ignored.
        """
        places = {passage: place for place, passage in enumerate(dict.fromkeys(pair.passage for pair in examples))}
        own = torch.tensor([places[pair.passage] for pair in examples])
        scores = self.vectors([pair.query for pair in examples]) @ self.vectors(list(places)).T
        for row, pair in zip(scores, examples):
            row[[places[text] for text in pair.also_right if text in places and text != pair.passage]] = -torch.inf
        score = scores.gather(1, own[:, None])
        ranks = (scores > score).sum(dim=1) + ((scores == score).sum(dim=1) + 1) / 2
        return {"mrr": 100 * (1 / ranks).mean().item()}

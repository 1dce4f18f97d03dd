"""Chapter 10: a vector for a text, so that search is a product of matrices.

    score(q, p) = cos(E(q), E(p))                               bi-encoder: both are read alone
    loss        = −log( e^{s·cos(q,p⁺)} / Σ_p e^{s·cos(q,p)} )   over all passages of the batch

The passages of the other queries are the negatives, for nothing (Karpukhin et al. 2020, "Dense Passage Retrieval",
section 3.2; Reimers & Gurevych 2019, "Sentence-BERT", for the mean). Late interaction keeps a vector for each token
(Khattab & Zaharia 2020, "ColBERT").
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel, length_buckets, pad_rows
from bertcourse.fine_tuning.heads import Head
from bertcourse.retrieval.bm25 import check_texts

# From a text's (L, D) vectors, without padding, to one of D numbers.
POOLINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda hidden: hidden.mean(dim=0),
    "cls": lambda hidden: hidden[0],
    "max": lambda hidden: hidden.amax(dim=0),
}


class TrainingPair(NamedTuple):
    """A query, the passage that answers it, and others that do not.

    Attributes:
        query, passage: texts.
        negatives: texts of passages that look right and are not, as many as there are; the batch has others anyway.
        also_right: texts of further passages that answer the query: if the batch has one, it is no negative.
    """

    query: str
    passage: str
    negatives: tuple[str, ...] = ()
    also_right: tuple[str, ...] = ()


class PairRow(NamedTuple):
    """A ``TrainingPair`` as token ids.

    Attributes:
        query: ids, with [CLS] and [SEP].
        passages: ids of the right passage, then of the negatives.
        source: index of the pair.
        also_right: ids of further passages that answer.
        target: nothing; a row has no class.
    """

    query: list[int]
    passages: list[list[int]]
    source: int
    also_right: list[list[int]] = []
    target: None = None

    @property
    def length(self) -> int:
        """How many tokens the right passage has."""
        return len(self.passages[0])


def check_pairs(pairs: Sequence[TrainingPair]) -> None:
    """Refuse pairs whose parts are not texts, above all a string where a tuple of texts is meant: it would be read as
    texts of one letter.

    Args:
        pairs: what should be a list of ``TrainingPair``.

    Raises:
        ValueError: naming the pair.
    """
    for number, pair in enumerate(pairs):
        if not isinstance(pair, TrainingPair):
            raise ValueError(
                f"pair {number} must be a TrainingPair(query, passage, negatives); got {type(pair).__name__} "
                f"{pair!r:.60}."
            )
        for name in ("query", "passage"):
            if not isinstance(text := getattr(pair, name), str):
                raise ValueError(f"pair {number}: {name} must be a string; got {type(text).__name__} {text!r:.60}.")
        for name in ("negatives", "also_right"):
            texts = getattr(pair, name)
            if not isinstance(texts, (tuple, list)) or not all(isinstance(text, str) for text in texts):
                raise ValueError(
                    f"pair {number}: {name} must be a tuple of strings; got {type(texts).__name__} {texts!r:.60}. A "
                    f"single one is written {name}=(text,)."
                )


def check_vectors(vectors: Tensor, name: str) -> None:
    """Refuse what is not a matrix of vectors, one a row.

    Args:
        vectors: what should be (n, D) floating-point numbers.
        name: what the message calls them.

    Raises:
        ValueError: saying what it is.
    """
    if not isinstance(vectors, Tensor):
        raise ValueError(f"{name} must be a tensor (n, D) of vectors; got {type(vectors).__name__} {vectors!r:.60}.")
    if vectors.dim() != 2 or not vectors.is_floating_point():
        raise ValueError(
            f"{name} must be a tensor (n, D) of floating-point numbers, a vector in each row; got {vectors.dtype} of "
            f"shape {tuple(vectors.shape)}."
        )


def contrastive_loss(queries: Tensor, passages: Tensor, same: Tensor | None = None, scale: float = 20.0) -> Tensor:
    """The mean over queries of −log softmax of the right passage's score: cross-entropy with B' classes.

    Args:
        queries: (B, D), of length 1.
        passages: (B', D), of length 1, B' ≥ B; that of query i in row i.
        same: (B, B'), True where a passage is right for the query, such as its own once more, and must not count as
            wrong.
        scale: of the cosines; the inverse of the temperature.

    Returns:
        A number.

    Raises:
        ValueError: if there are fewer passages than queries, or shapes or types are not those above.

    Source: van den Oord et al. 2018, "Contrastive Predictive Coding", equation 4; Karpukhin et al. 2020, equation 2;
    the scale of Reimers' sentence-transformers.
    """
    check_vectors(queries, "queries")
    check_vectors(passages, "passages")
    if queries.shape[1] != passages.shape[1]:
        raise ValueError(
            f"queries and passages must have the same D; got {tuple(queries.shape)} and {tuple(passages.shape)}."
        )
    if len(passages) < len(queries):
        raise ValueError(f"each query must have a passage; got {len(queries)} queries and {len(passages)} passages.")
    scores = scale * queries @ passages.T
    right = torch.arange(len(queries), device=queries.device)
    if same is not None:
        if same.dtype != torch.bool or same.shape != scores.shape:
            raise ValueError(
                f"same must be True or False for each of {len(queries)} queries and {len(passages)} passages; got "
                f"{same.dtype} of shape {tuple(same.shape)}."
            )
        others = same.clone()
        others[right, right] = False
        scores = scores.masked_fill(others, -torch.inf)
    return F.cross_entropy(scores, right)


def max_similarity(query: Tensor, passage: Tensor) -> Tensor:
    """Late interaction: each token of the query finds the token of the passage that is most like it; the cosines are
    added.

    Args:
        query: (L, D), tokens' vectors of length 1.
        passage: (L', D), the same.

    Returns:
        A number, at most L.

    Raises:
        ValueError: if they are not matrices of vectors, or have not the same D.

    Source: Khattab & Zaharia 2020, "ColBERT", equation 3.

    >>> max_similarity(torch.eye(2), torch.tensor([[0.6, 0.8]]))  # 0.6 + 0.8
    tensor(1.4000)
    """
    check_vectors(query, "query")
    check_vectors(passage, "passage")
    if query.shape[1] != passage.shape[1]:
        raise ValueError(
            f"query and passage must have the same D; got {tuple(query.shape)} and {tuple(passage.shape)}."
        )
    return (query @ passage.T).amax(dim=1).sum()


def late_interaction(queries: Sequence[Tensor], passages: Sequence[Tensor]) -> np.ndarray:
    """``max_similarity`` of each query with each passage, one product of matrices a query.

    Args:
        queries, passages: of ``BiEncoder.token_vectors``, at least one of each.

    Returns:
        (queries, passages).

    Raises:
        ValueError: if there is no query or no passage, one has no token or is not a matrix of vectors, or D is not the
            same for all.

    Source: Khattab & Zaharia 2020, section 3.
    """
    if not len(queries) or not len(passages) or not all(map(len, (*queries, *passages))):
        raise ValueError(
            f"there must be a query and a passage, each with a token; got {len(queries)} and {len(passages)}, "
            f"{sum(not len(text) for text in (*queries, *passages))} of them empty."
        )
    for name, texts in (("query", queries), ("passage", passages)):
        for number, vectors in enumerate(texts):
            check_vectors(vectors, f"{name} {number}")
    if len(sizes := {vectors.shape[1] for vectors in (*queries, *passages)}) > 1:
        raise ValueError(f"queries and passages must have the same D; got {sorted(sizes)}.")
    tokens = torch.cat(list(passages)).numpy()  # (all tokens of all passages, D)
    starts = np.cumsum([0, *(len(passage) for passage in passages)])[:-1]
    return np.stack([np.maximum.reduceat(query.numpy() @ tokens.T, starts, axis=1).sum(axis=0) for query in queries])


class BiEncoder(Head):
    """A text to one vector of length 1; texts that mean alike, or question and answer, to vectors that point alike.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``. A longer text is cut; dropout and seed do
            nothing, as there is no layer on top.
        pooling: "mean" of all tokens' last vectors, "cls", that of [CLS], or "max", the largest value of each
            dimension.
        scale: of the cosines in the loss.

    Raises:
        ValueError: if an argument is out of range.

    Source: Reimers & Gurevych 2019, section 3, with one encoder for queries and passages.
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
        self.eval()  # it is of use without any training

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

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, with [CLS] and [SEP], cut to ``max_length``.

        Raises:
            ValueError: if ``texts`` is a string, or one of them is not a string or holds half of a character.
        """
        texts = check_texts(texts)
        cls, sep = (self.tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[cls, *encoding.ids[: self.max_length - 2], sep] for encoding in encodings]

    def embed(self, rows: Sequence[list[int]]) -> Tensor:
        """(B, D), the vectors of rows of ids, with gradient if there is one."""
        return self(*(part.to(self.device) for part in pad_rows(rows, [[0] * len(row) for row in rows])))

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str], max_tokens: int = 4096) -> Tensor:
        """(n, D), a vector of length 1 for each text, on the CPU.

        Args:
            texts: n strings.
            max_tokens: B × L of a batch.

        Raises:
            ValueError: as ``encode``, or if there is no text.
        """
        rows, was_training = self.encode(texts), self.training
        if not rows:
            raise ValueError("texts must hold at least one text; got none.")
        vectors = torch.empty(len(rows), self.config.hidden_size)
        self.eval()
        try:
            for bucket in length_buckets([len(row) for row in rows], max_tokens):
                vectors[bucket] = self.embed([rows[i] for i in bucket]).float().cpu()
        finally:
            self.train(was_training)
        return vectors

    @torch.inference_mode()
    def token_vectors(self, texts: Sequence[str], max_tokens: int = 4096, normalize: bool = True) -> list[Tensor]:
        """For each text (L, D), its tokens' last vectors, [CLS] and [SEP] among them; for ``max_similarity``.

        Args:
            texts, max_tokens: as for ``vectors``.
            normalize: make each of length 1.

        Raises:
            ValueError: as ``encode``.
        """
        rows, was_training = self.encode(texts), self.training
        found: list[Tensor] = [torch.empty(0)] * len(rows)
        self.eval()
        try:
            for bucket in length_buckets([len(row) for row in rows], max_tokens):
                batch = pad_rows([rows[i] for i in bucket], [[0] * len(rows[i]) for i in bucket])
                hidden = self.bert(*(part.to(self.device) for part in batch)).last_hidden_state.float().cpu()
                for index, vectors in zip(bucket, F.normalize(hidden, dim=-1) if normalize else hidden):
                    found[index] = vectors[: len(rows[index])].clone()
        finally:
            self.train(was_training)
        return found

    def rows(self, examples: Sequence[TrainingPair]) -> list[PairRow]:
        """Pairs as token ids; ``check_pairs`` and ``encode`` say what is refused."""
        check_pairs(examples)
        queries = self.encode([pair.query for pair in examples])
        texts = [(pair.passage, *pair.negatives, *pair.also_right) for pair in examples]
        passages = iter(self.encode(list(itertools.chain(*texts))))
        rows = []
        for number, (pair, query) in enumerate(zip(examples, queries)):
            read = [next(passages) for _ in texts[number]]
            shown = 1 + len(pair.negatives)
            rows.append(PairRow(query, read[:shown], number, read[shown:]))
        return rows

    def check_training(self, rows: Sequence[PairRow], batch_size: int) -> None:
        """Refuse a training in which no query ever meets a wrong passage: its loss would be 0 from the first step.

        Args:
            rows: of the train split.
            batch_size: how many of them are in a batch.

        Raises:
            ValueError: saying what is missing.
        """
        texts = {tuple(text) for row in rows for text in row.passages}
        right = [{tuple(text) for text in (row.passages[0], *row.also_right)} for row in rows]
        if all(texts <= own for own in right):
            raise ValueError(
                f"train must have a wrong passage for at least one query, or there is nothing to learn; all passages "
                f"of its {len(rows)} pair{'s' * (len(rows) > 1)} are right. Add pairs with other passages, or "
                "negatives."
            )
        if batch_size == 1 and not any(len(row.passages) > 1 for row in rows):
            raise ValueError(
                "batch_size must be at least 2 where pairs have no negatives, as the other passages of the batch are "
                "the wrong ones; got 1. Take 16 or more, or pairs with negatives."
            )

    def loss(self, rows: Sequence[PairRow]) -> Tensor:
        """``contrastive_loss`` of a batch: each query against every passage in it.

        A passage that is another query's right one, too, is no negative of that query.
        """
        texts = [row.passages[0] for row in rows] + [text for row in rows for text in row.passages[1:]]
        right = [[row.passages[0], *row.also_right] for row in rows]
        same = torch.tensor([[text in own for text in texts] for own in right], device=self.device)
        queries = self.embed([row.query for row in rows])  # apart from the passages, which are longer
        return contrastive_loss(queries, self.embed(texts), same, self.scale)

    def measure(self, examples: Sequence[TrainingPair], rows: Sequence[PairRow]) -> dict[str, float]:
        """Mean reciprocal rank of the right passage among all right ones of the examples, in percent; in the middle
        of those with its score.

        Args:
            examples: with query and passage; their negatives are not looked at.
            rows: of these examples.
        """
        passages = list(dict.fromkeys(pair.passage for pair in examples))
        own = torch.tensor([passages.index(pair.passage) for pair in examples])
        scores = self.vectors([pair.query for pair in examples]) @ self.vectors(passages).T
        score = scores.gather(1, own[:, None])
        ranks = (scores > score).sum(dim=1) + ((scores == score).sum(dim=1) + 1) / 2
        return {"mrr": 100 * (1 / ranks).mean().item()}

"""Chapter 10: one score for a query and a passage that are read together.

    score(q, p) = w · mean of the last vectors of [CLS] q [SEP] p [SEP]
    loss        = −log( e^{score(q,p⁺)} / Σ_p e^{score(q,p)} )      over p⁺ and the wrong passages of its query

Nogueira & Cho 2019, "Passage Re-ranking with BERT"; the loss over a query's candidates is that of Gao, Dai & Callan
2021, "Rethink Training of BERT Rerankers in Multi-Stage Retrieval Pipeline", equation 3.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel
from bertcourse.bert.batching import row_tokenizer
from bertcourse.fine_tuning.heads import Head, Row
from bertcourse.retrieval.encoders import TrainingPair, check_pairs


class Candidates(NamedTuple):
    """A query with each of its passages, the right one first: what ``CrossEncoder`` learns from.

    Attributes:
        rows: tokenized pairs.
        source: index of the ``TrainingPair``.
        target: None; a pair has no class.
    """

    rows: list[Row]
    source: int
    target: None = None

    @property
    def length(self) -> int:
        """How many tokens the right passage has, with the query."""
        return self.rows[0].length


class CrossEncoder(Head):
    """BERT with a linear map to a single number: how well a passage answers a query.

    Args:
        encoder, tokenizer, max_length, seed: as for ``Head``; a passage that is too long is cut.

    >>> from bertcourse.bert import load_pretrained
    >>> judge = CrossEncoder(*load_pretrained("course"))
    >>> judge.scores([("Who bakes bread?", "A baker does."), ("Who bakes bread?", "It rains.")]).shape
    torch.Size([2])

    ``fine_tune(judge, pairs)`` trains it on lists of ``TrainingPair``, all with the same number of negatives.
    """

    hugging_face_class = "CrossEncoder"
    has_dropout = False

    def __init__(self, encoder: BertModel, tokenizer: Tokenizer, max_length: int | None = None, seed: int = 0):
        super().__init__(encoder, tokenizer, max_length, 0.0, seed)
        self.scorer = self.new_layer(1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, 1) scores; arguments (B, L) as for ``BertModel.forward``."""
        hidden = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        mask = attention_mask[..., None]
        return self.scorer((hidden * mask).sum(1) / mask.sum(1))

    def loss(self, candidates: Sequence[Candidates]) -> Tensor:
        """The surprise that the right passage is the best of its query's candidates, averaged over a batch."""
        scores = self(*self.batch([row for each in candidates for row in each.rows]))
        right = torch.zeros(len(candidates), dtype=torch.long, device=self.device)
        return F.cross_entropy(scores.float().view(len(candidates), -1), right)

    def rows(self, pairs: Sequence[TrainingPair]) -> list[Candidates]:
        """Each query with its right passage, then with its negatives, tokenized."""
        check_pairs(pairs)
        if len(numbers := {len(pair.negatives) for pair in pairs}) > 1 or not min(numbers, default=1):
            raise ValueError(
                f"all pairs must have the same number of negatives, at least one; got {sorted(numbers)}. See "
                "training_pairs(negatives=3)."
            )
        texts = [(pair.query, passage) for pair in pairs for passage in (pair.passage, *pair.negatives)]
        rows = iter(self.encode(texts))
        return [
            Candidates([next(rows) for _ in (pair.passage, *pair.negatives)], number)
            for number, pair in enumerate(pairs)
        ]

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Row]:
        """Queries and passages as rows [CLS] query [SEP] passage [SEP]."""
        encodings = row_tokenizer(self.tokenizer, self.max_length).encode_batch(list(pairs))
        return [Row(encoding.ids, encoding.type_ids, number) for number, encoding in enumerate(encodings)]

    def measure(self, examples: Sequence[TrainingPair], rows: Sequence[Candidates]) -> dict[str, float]:
        """Mean reciprocal rank of the right passage among its query's candidates, in percent."""
        scores = torch.cat(self.logits([row for each in rows for row in each.rows])).view(len(rows), -1)
        return {"mrr": 100 * (1 / (1 + (scores > scores[:, :1]).sum(dim=1))).mean().item()}

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """(n,), the score of each of n pairs of query and passage."""
        return torch.cat(self.logits(self.encode(pairs)))

"""Chapter 10, as its page has it: three ways to compare a query with a passage.

    score(q, p) = cos(E(q), E(p))                               bi-encoder: each is read alone
    loss        = −log( e^{s·cos(q,p⁺)} / Σ_p e^{s·cos(q,p)} )   over all passages of the batch
    score(q, p) = Σ_i max_j cos(q_i, p_j)                       late interaction: one vector per token
    score(q, p) = w · mean of the last vectors of [CLS] q [SEP] p [SEP]     cross-encoder: both are read together
    loss        = −log( e^{score(q,p⁺)} / Σ_p e^{score(q,p)} )   over p⁺ and the wrong passages of its query

Reimers & Gurevych 2019, "Sentence-BERT", for mean pooling; Karpukhin et al. 2020, "Dense Passage Retrieval", section
3.2, for the passages of the other queries as negatives; Khattab & Zaharia 2020, "ColBERT"; Nogueira & Cho 2019,
"Passage Re-ranking with BERT"; Gao, Dai & Callan 2021, "Rethink Training of BERT Rerankers in Multi-Stage Retrieval
Pipeline", equation 3, for the loss over a query's candidates.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel
from bertcourse.retrieval.collection import TrainingPair
from bertcourse.retrieval.heads import Reranker, Retriever


def contrastive_loss(queries: Tensor, passages: Tensor, right: Tensor, scale: float = 20.0) -> Tensor:
    """InfoNCE: the surprise at each query's right passage among all of the batch, averaged.

    Args:
        queries: (B, D), of length 1.
        passages: (P, D), of length 1, each text once.
        right: (B,), the number of the passage that answers each query.
        scale: a factor for the cosines, the inverse of the temperature; 20 as in sentence-transformers.

    Returns:
        A number, in nats.

    Paper:
        van den Oord et al. 2018, "Contrastive Predictive Coding", equation 4; Karpukhin et al. 2020, equation 2.

    >>> queries, same, other = torch.eye(2), torch.tensor([0, 1]), torch.tensor([1, 0])
    >>> contrastive_loss(queries, queries, same) < contrastive_loss(queries, queries, other)
    tensor(True)
    """
    return F.cross_entropy(scale * queries @ passages.T, right)


class BiEncoder(Retriever):
    """From a text to one vector of length 1; similar texts, or question and answer, get similar vectors.

    Paper:
        Reimers & Gurevych 2019, section 3, with one encoder for queries and passages.

    >>> from bertcourse.bert import load_pretrained
    >>> encoder = BiEncoder(*load_pretrained("course"))
    >>> vectors = encoder.vectors(["Who bakes bread?", "A baker does."])  # (2, D)
    >>> cosine = vectors[0] @ vectors[1]
    """

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, D) vectors of length 1; arguments (B, L) as for ``BertModel.forward``."""
        hidden = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        mask = attention_mask[..., None]
        return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)

    def loss(self, pairs: Sequence[TrainingPair]) -> Tensor:
        """``contrastive_loss`` of a batch: each query against every passage in it."""
        texts = [text for pair in pairs for text in (pair.passage, *pair.negatives)]
        passages = list(dict.fromkeys(texts))  # one passage may answer several
        right = torch.tensor([passages.index(pair.passage) for pair in pairs], device=self.device)
        queries = self(*self.batch(self.encode([pair.query for pair in pairs])))
        return contrastive_loss(queries, self(*self.batch(self.encode(passages))), right)


def late_interaction(queries: Sequence[Tensor], passages: Sequence[Tensor]) -> np.ndarray:
    """Scores of each query with each passage: each query token takes the passage token most similar to it, and the
    cosines are added.

    Args:
        queries, passages: token vectors (L, D), of length 1, from ``BiEncoder.token_vectors``; at least one of each.

    Returns:
        (queries, passages), numbers of at most the query's L.

    Paper:
        Khattab & Zaharia 2020, section 3, equation 3.

    >>> late_interaction([torch.eye(2)], [torch.tensor([[0.6, 0.8]])]).round(4)  # 0.6 + 0.8
    array([[1.4]], dtype=float32)
    """
    tokens = torch.cat(list(queries))  # (T, D), those of all queries
    best = [(tokens @ passage.T).amax(dim=1) for passage in passages]
    own = torch.stack(best, dim=1).split([len(query) for query in queries])
    return torch.stack([each.sum(dim=0) for each in own]).numpy()


class CrossEncoder(Reranker):
    """BERT with a linear map to a single number: how well a passage answers a query.

    Paper:
        Nogueira & Cho 2019, with the mean in place of [CLS]; Gao, Dai & Callan 2021 for the loss.

    >>> from bertcourse.bert import load_pretrained
    >>> judge = CrossEncoder(*load_pretrained("course"))
    >>> judge.scores([("Who bakes bread?", "A baker does."), ("Who bakes bread?", "It rains.")]).shape
    torch.Size([2])
    """

    def __init__(self, encoder: BertModel, tokenizer: Tokenizer, max_length: int | None = None, seed: int = 0):
        super().__init__(encoder, tokenizer, max_length, seed)
        self.scorer = self.new_layer(1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, 1) scores; arguments (B, L) as for ``BertModel.forward``."""
        read = self.bert(input_ids, attention_mask, token_type_ids)
        mask = attention_mask[..., None]
        return self.scorer((read.last_hidden_state * mask).sum(1) / mask.sum(1))

    def loss(self, pairs: Sequence[TrainingPair]) -> Tensor:
        """The surprise that the right passage is the best of its query's candidates, averaged over a batch."""
        texts = [(pair.query, text) for pair in pairs for text in (pair.passage, *pair.negatives)]
        scores = self(*self.batch(self.encode(texts))).view(len(pairs), -1)
        right = torch.zeros(len(pairs), dtype=torch.long, device=self.device)  # the first of its row
        return F.cross_entropy(scores, right)

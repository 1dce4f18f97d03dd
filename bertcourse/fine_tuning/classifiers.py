"""Chapter 7, as its page has it: a head that turns a text, or a pair of texts, into one of K classes, and the loop.

    p = softmax(W · h + b)      h (D,), the mean of a text's vectors, or [CLS]; W (K, D), b (K,)

Devlin et al. 2019, section 4.1 and figure 4 (a) and (b): W and b are all that fine-tuning adds to BERT.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel
from bertcourse.fine_tuning.heads import Head, Row, TextHead


class SequenceClassifier(TextHead):
    """BERT with a linear map on top: from a text, or a pair of texts, to one of K classes.

    Paper:
        Devlin et al. 2019, section 4.1; the mean of all tokens is from Reimers & Gurevych 2019.

    Args:
        encoder, tokenizer, labels, options: as for ``TextHead``.

    >>> from bertcourse.bert import load_pretrained
    >>> classifier = SequenceClassifier(*load_pretrained("course"), labels=["hardware", "software", "billing"])
    >>> classifier.probabilities(["The screen stays dark.", ("Leo was asked.", "Leo asked.")]).shape
    torch.Size([2, 3])
    """

    def __init__(
        self, encoder: BertModel, tokenizer: Tokenizer, labels: Sequence[str], pooling: str = "mean", **options: object
    ):
        super().__init__(encoder, tokenizer, labels, pooling, **options)
        self.classifier = self.new_layer(len(labels))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, K) logits; arguments (B, L) as for ``BertModel.forward``."""
        hidden, pooled, *_ = self.bert(input_ids, attention_mask, token_type_ids)
        if self.pooling == "mean":
            mask = attention_mask[..., None]
            pooled = (hidden * mask).sum(1) / mask.sum(1)
        return self.classifier(self.dropout(pooled))

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean cross-entropy of a batch."""
        answers = torch.tensor([row.target for row in rows], device=self.device)
        return F.cross_entropy(self(*self.batch(rows)), answers)


def fine_tune(
    model: Head,
    examples: Sequence,
    epochs: int = 10,
    learning_rate: float = 2e-4,
    batch_size: int = 16,
    seed: int = 0,
) -> None:
    """Train a head, and all of the body under it that may learn, in place; ``bertcourse_lab.fine_tuning`` has the same
    loop with a schedule, measurements and checkpoints.

    Args:
        model: a ``SequenceClassifier``, or another head with ``rows`` and ``loss``; left in evaluation mode.
        examples: of the head's kind, such as ``LabeledText``.
        epochs: how often each example is read.
        learning_rate: AdamW's at the start; it falls to zero.
        batch_size: examples per step.
        seed: of the order, and of dropout.
    """
    rows = model.rows(examples)
    learns = [weights for weights in model.parameters() if weights.requires_grad]
    optimizer = torch.optim.AdamW(learns, lr=learning_rate, fused=True)
    torch.manual_seed(seed)
    order = torch.cat([torch.randperm(len(rows)) for _ in range(epochs)])
    batches = order.split(batch_size)
    model.train()
    for step, batch in enumerate(batches):
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - step / len(batches))
        loss = model.loss([rows[i] for i in batch])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learns, 1.0)
        optimizer.step()
    model.eval()

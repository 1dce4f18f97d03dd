"""Chapter 7: from a text, or a pair of texts, to one of K classes.

    p = softmax(W · h + b)      h (D,) from [CLS], W (K, D), b (K,)

Devlin et al. 2019, section 4.1 and figure 4 (a) and (b): W and b are all that fine-tuning adds to BERT.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel
from bertcourse.bert.batching import row_tokenizer
from bertcourse.fine_tuning.heads import Head, Row, check_labels
from bertcourse.fine_tuning.readers import LabeledText, check_examples
from bertcourse.tokenization.encoding import check_text

POOLINGS = ("cls", "mean")


class SequenceClassifier(Head):
    """BERT with a linear map on top: from a text, or a pair of texts, to one of K classes.

    Paper:
        Devlin et al. 2019, section 4.1; the mean of all tokens is from Reimers & Gurevych 2019.

    Inputs:
        Texts, or pairs such as premise and hypothesis. They are cut to ``max_length``, a pair at its longer text.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``.
        labels: the K classes.
        pooling: "cls" is BERT's own: the encoder's pooler, tanh of a linear map of [CLS] (a new one if it has none);
            "mean" is the mean of all tokens' vectors, for which ``transformers`` has no class.

    >>> from bertcourse.bert import load_pretrained
    >>> classifier = SequenceClassifier(*load_pretrained("course"), labels=["hardware", "software", "billing"])
    >>> classifier.probabilities(["The screen stays dark.", ("Leo was asked.", "Leo asked.")]).shape
    torch.Size([2, 3])
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

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean cross-entropy of a batch."""
        targets = torch.tensor([row.target for row in rows], device=self.device)
        return F.cross_entropy(self(*self.batch(rows)), targets)

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

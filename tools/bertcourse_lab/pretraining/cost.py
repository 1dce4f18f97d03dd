"""What one training step of a BERT costs, in floating-point operations."""

from bertcourse.bert import BertConfig


def flops_per_token(config: BertConfig, length: int, mask_rate: float) -> float:
    """Floating-point operations of one training step per token of a row, after Kaplan et al. 2020, section 2.1.

    Two for each weight of a matrix (multiply and add), and twice as many again for the backward pass. Attention
    adds its two products of L columns, of which Kaplan et al., whose mask is causal, count half; the MLM head and the
    vocabulary count for masked tokens only, the pooler once a row.

    Args:
        config: the model's sizes.
        length: L.
        mask_rate: share of tokens that are masked.

    >>> round(flops_per_token(BertConfig(), 512, 0.15) / 1e6)
    588
    """
    d = config.hidden_size
    block = 4 * d * d + 2 * d * config.intermediate_size + 2 * length * d
    head = mask_rate * (d * d + d * config.vocab_size) + d * d / length
    return 6.0 * (config.num_hidden_layers * block + head)

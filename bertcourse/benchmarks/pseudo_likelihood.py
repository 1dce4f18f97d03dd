"""How likely a masked language model finds a sentence: each token is hidden in turn, and guessed from all others.

    PLL(W) = Σ_t log P(w_t | W without w_t)

Salazar et al. 2020, "Masked Language Model Scoring", equation 1. A model reads each sentence once per token. The model
may be any with BERT's parts: ``bert`` (ids, attention mask and segments to hidden states), ``mlm_head`` (hidden states
and word embeddings to logits) and ``bert.embeddings.word_embeddings``.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert import BertModel
from bertcourse.bert.batching import Batch, check_tokenizer, length_buckets, pad_batch, whole_texts
from bertcourse.multi_head_attention import fused_attention
from bertcourse.self_attention import padding_mask
from bertcourse.training.modes import evaluation_mode

MASKS = ("[MASK]", "<mask>")  # BERT's, and RoBERTa's


def plain_pseudo_log_likelihood(model: nn.Module, tokenizer: Tokenizer, text: str) -> float:
    """PLL in nats of one text, a token at a time: the specification of ``pseudo_log_likelihoods``."""
    mask_id = mask_token_id(model, tokenizer)
    word_embeddings = model.bert.embeddings.word_embeddings.weight
    encoding = whole_texts(tokenizer).encode(text)
    total = 0.0
    with evaluation_mode(model):
        for position, token in enumerate(encoding.ids):
            if encoding.special_tokens_mask[position]:  # [CLS] and [SEP] are no words of the text
                continue
            batch = pad_batch([encoding])
            batch.input_ids[0, position] = mask_id
            hidden = model.bert(*batch).last_hidden_state
            log_probabilities = model.mlm_head(hidden[0, position], word_embeddings).log_softmax(dim=-1)
            total += log_probabilities[token].item()
    return total


def pseudo_log_likelihoods(
    model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int = 2048
) -> NDArray[np.float64]:
    """PLL in nats of N texts, many rows at a time; only at hidden tokens is there a guess.

    Args:
        model, tokenizer: such as ``load_pretrained("course", BertForPreTraining)`` returns.
        texts: N strings; equal ones are read once.
        max_tokens: the size of a batch, with padding.

    Returns:
        (N,), the same as ``plain_pseudo_log_likelihood`` of each.
    """
    if isinstance(texts, str):
        raise ValueError(f"texts must be a list of strings; got one string, {texts!r:.40}. Put it into [ ].")
    mask_id = mask_token_id(model, tokenizer)
    word_embeddings = model.bert.embeddings.word_embeddings.weight
    encodings = whole_texts(tokenizer).encode_batch(list(texts))
    different = {tuple(encoding.ids): encoding for encoding in encodings}
    place = {ids: number for number, ids in enumerate(different)}
    rows = [  # a row for each token of each text
        (encoding, place[ids], position)
        for ids, encoding in different.items()
        for position, special in enumerate(encoding.special_tokens_mask)
        if not special
    ]
    totals = np.zeros(len(different))
    with evaluation_mode(model):
        for bucket in length_buckets([len(encoding.ids) for encoding, _, _ in rows], max_tokens):
            of_bucket, numbers, positions = zip(*(rows[index] for index in bucket))
            batch = Batch(*(tensor.to(word_embeddings.device) for tensor in pad_batch(of_bucket)))
            places = torch.arange(len(bucket)), torch.tensor(positions)
            tokens = batch.input_ids[places]
            batch.input_ids[places] = mask_id
            logits = model.mlm_head(hidden_states_at(model.bert, batch, places), word_embeddings)
            guesses = logits.float().log_softmax(dim=-1).gather(1, tokens[:, None])[:, 0]
            np.add.at(totals, list(numbers), guesses.cpu().numpy())
    return np.array([totals[place[tuple(encoding.ids)]] for encoding in encodings])


def hidden_states_at(bert: nn.Module, batch: Batch, places: tuple[Tensor, Tensor]) -> Tensor:
    """Last hidden states at one place of each row, and at no other: a BERT's last block need not answer for the rest.

    Args:
        bert: in evaluation mode. Any encoder will do; a ``BertModel`` saves most of its last block.
        batch: B rows.
        places: (B,) numbers of rows, 0 to B - 1, and (B,) positions.

    Returns:
        (B, D).
    """
    if type(bert) is not BertModel:
        return bert(*batch).last_hidden_state[places]
    mask = padding_mask(batch.attention_mask)
    x = bert.embeddings(batch.input_ids, batch.token_type_ids)
    *blocks, last = bert.encoder.blocks
    for block in blocks:
        x, _ = block(x, mask)
    asking, attention = x[places][:, None], last.attention
    query, key, value = attention.query(asking), attention.key(x), attention.value(x)
    heads, _ = fused_attention(*(attention.split_heads(each) for each in (query, key, value)), mask)
    asking = last.attention_norm(asking + attention.output(attention.merge_heads(heads)))
    return last.feed_forward_norm(asking + last.feed_forward(asking))[:, 0]


def mask_token_id(model: nn.Module, tokenizer: Tokenizer) -> int:
    """The id of the token that hides others; refused is a tokenizer without one, or a model that cannot guess."""
    check_tokenizer(tokenizer)
    if not hasattr(model, "mlm_head"):
        raise ValueError(
            f"the model must have an MLM head, which guesses tokens; got {type(model).__name__}. Load it whole: "
            "load_pretrained(name, BertForPreTraining)."
        )
    ids = [number for mask in MASKS if (number := tokenizer.token_to_id(mask)) is not None]
    if not ids:
        raise ValueError(
            f"the tokenizer must have a token that hides others, {' or '.join(MASKS)}; it has none. Take the "
            "tokenizer that belongs to the model: load_pretrained returns both."
        )
    return ids[0]

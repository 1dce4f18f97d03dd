"""How likely a masked language model finds a sentence: each token is hidden in turn, and guessed from all others.

    PLL(W) = Σ_t log P(w_t | W without w_t)

Salazar et al. 2020, "Masked Language Model Scoring", equation 1. The model reads each sentence once per token. Any
model with BERT's parts will do: ``bert`` (ids, attention mask and segments to hidden states), ``mlm_head`` (hidden
states and word embeddings to logits) and ``bert.embeddings.word_embeddings``.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert import BertModel
from bertcourse.bert.batching import Batch, check_tokenizer, length_buckets, pad_rows, whole_texts
from bertcourse.bert.modes import evaluation_mode
from bertcourse.multi_head_attention import split_heads
from bertcourse.self_attention import padding_mask
from bertcourse_lab.training.metering import autocast

MASKS = ("[MASK]", "<mask>")  # BERT's, and RoBERTa's


def pseudo_log_likelihoods(
    model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int = 2048, precision: str = "float32"
) -> NDArray[np.float64]:
    """PLL in nats of N texts, many rows at a time; guesses are only made at hidden tokens.

    Two texts that differ in one token become the same row when that token is hidden. Such a row is read only once, and
    so are equal texts.

    Args:
        model, tokenizer: such as ``load_pretrained("course", BertForPreTraining)`` returns.
        texts: N strings.
        max_tokens: the size of a batch, including padding.
        precision: of matrix products, "float32" or "bfloat16".

    Returns:
        (N,).
    """
    if isinstance(texts, str):
        raise ValueError(f"texts must be a list of strings; got one string, {texts!r:.40}. Put it into [ ].")
    mask_id = mask_token_id(model, tokenizer)
    word_embeddings = model.bert.embeddings.word_embeddings.weight
    encodings = whole_texts(tokenizer).encode_batch(list(texts))
    different = {tuple(encoding.ids): encoding for encoding in encodings}
    totals = dict.fromkeys(different, 0.0)
    asked: dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]]] = {}  # (place, row with a hidden token): texts
    for ids, encoding in different.items():
        for place, special in enumerate(encoding.special_tokens_mask):
            if not special:
                asked.setdefault((place, (*ids[:place], mask_id, *ids[place + 1 :])), []).append(ids)
    rows = list(asked)
    with evaluation_mode(model), autocast(word_embeddings.device, precision):
        for bucket in length_buckets([len(ids) for _, ids in rows], max_tokens):
            places = torch.tensor([rows[index][0] for index in bucket])
            read = [list(rows[index][1]) for index in bucket]
            on_cpu = pad_rows(read, type_ids=[[0] * len(ids) for ids in read])
            batch = Batch(*(part.to(word_embeddings.device) for part in on_cpu))
            hidden = hidden_states_at(model.bert, batch, (torch.arange(len(bucket)), places))
            guesses = model.mlm_head(hidden, word_embeddings).float().log_softmax(dim=-1).cpu().numpy()
            for guess, place, index in zip(guesses, places.tolist(), bucket):
                for ids in asked[rows[index]]:
                    totals[ids] += float(guess[ids[place]])
    return np.array([totals[tuple(encoding.ids)] for encoding in encodings])


def hidden_states_at(bert: nn.Module, batch: Batch, places: tuple[Tensor, Tensor]) -> Tensor:
    """Last hidden states at one place of each row and nowhere else: a BERT's last block need not compute the others.

    Args:
        bert: in evaluation mode. Any encoder will do; with a ``BertModel``, most of the last block is saved.
        batch: B rows.
        places: (B,) row numbers, 0 to B - 1, and (B,) positions.

    Returns:
        (B, D).
    """
    if type(bert) is not BertModel:
        return bert(*batch).last_hidden_state[places]
    mask = None if batch.attention_mask.all() else padding_mask(batch.attention_mask)
    x = bert.embeddings(batch.input_ids, batch.token_type_ids)
    *blocks, last = bert.encoder.blocks
    for block in blocks:
        x, _ = block(x, mask)
    asking, attention = x[places][:, None], last.attention
    query, key, value = attention.query(asking), attention.key(x), attention.value(x)
    heads = (split_heads(each, attention.num_heads) for each in (query, key, value))
    asking = last.attention_norm(asking + attention.attend(*heads, mask, need_weights=False)[0])
    return last.feed_forward_norm(asking + last.feed_forward(asking))[:, 0]


def mask_token_id(model: nn.Module, tokenizer: Tokenizer) -> int:
    """The id of the token that hides others; refuses a tokenizer without one, or a model that cannot guess."""
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

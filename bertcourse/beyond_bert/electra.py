"""Chapter 11: ELECTRA asks not which word is hidden, but which words are not the author's.

Clark et al. 2020, "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators". A small BERT, the
generator, fills the hidden positions with guesses; the discriminator, which is the model that is kept, says of every
token whether it is the original. So it learns from all positions rather than 15 %, and never reads a [MASK].
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert import BertConfig, BertModel
from bertcourse.bert.model import MLMHead, initialize
from bertcourse.multi_head_attention import ACTIVATIONS, TransformerEncoder
from bertcourse.pretraining.masking import IGNORE, MaskedTokens
from bertcourse.pretraining.pairs import RowBatch
from bertcourse.self_attention import padding_mask


def generator_config_of(config: BertConfig, divisor: int = 4) -> BertConfig:
    """A generator's sizes: as many layers as the discriminator, but width, heads and feed-forward network divided.

    Args:
        config: the discriminator's.
        divisor: of its number of heads; heads keep their size. A quarter to a half works best (Clark et al. 2020,
            figure 3).
    """
    names = "hidden_size", "num_attention_heads", "intermediate_size"
    return dataclasses.replace(config, **{name: getattr(config, name) // divisor for name in names})


class ReplacedTokenHead(nn.Module):
    """From a contextual vector to one number: a linear map, the activation, and a weight vector.

    The paper describes the weight vector alone; its code, and Hugging Face's, put a layer in front of it.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.dense_prediction = nn.Linear(config.hidden_size, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) to (...)."""
        return self.dense_prediction(self.activation(self.dense(hidden))).squeeze(-1)


class ElectraDiscriminator(nn.Module):
    """The model that is kept: a BERT without a pooler, with a head that spots replaced tokens.

    Hugging Face calls it ElectraForPreTraining.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = BertModel(config, add_pooler=False)
        self.replaced_head = ReplacedTokenHead(config)
        initialize(self.replaced_head, config)

    def replaced_token_logits(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, L), the log-odds of each token not being the original; arguments as for ``BertModel.forward``."""
        return self.replaced_head(self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state)


class ElectraGenerator(nn.Module):
    """A narrow encoder on top of full-width embeddings, and a head that leads back to that width.

    Args:
        config: of the generator, D_g wide.
        embedding_size: D, the width of the embeddings, which it shares with the discriminator.
    """

    def __init__(self, config: BertConfig, embedding_size: int):
        super().__init__()
        is_narrower = config.hidden_size != embedding_size
        self.embeddings_project = nn.Linear(embedding_size, config.hidden_size) if is_narrower else nn.Identity()
        self.encoder = TransformerEncoder(config)
        self.mlm_head = MLMHead(dataclasses.replace(config, hidden_size=embedding_size, num_attention_heads=1))
        self.mlm_head.dense = nn.Linear(config.hidden_size, embedding_size)
        initialize(self, config)

    def forward(self, embedded: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """(B, L, D) embeddings to (B, L, D_g) contextual vectors; the mask (B, L) as for ``BertModel.forward``."""
        mask = None if attention_mask is None else padding_mask(attention_mask)
        return self.encoder(self.embeddings_project(embedded), mask).last_hidden_state


class ElectraWithGenerator(ElectraDiscriminator):
    """What is pretrained: discriminator and generator, which share their embeddings (words, positions, segments, norm).

    Args:
        config: the discriminator's sizes.
        generator_config: the generator's, with the same tokens, positions and segments; None for
            ``generator_config_of(config)``.

    Source: Clark et al. 2020, sections 2 and 3.2 (weight sharing).
    """

    def __init__(self, config: BertConfig, generator_config: BertConfig | None = None):
        super().__init__(config)
        self.generator_config = generator_config or generator_config_of(config)
        self.generator = ElectraGenerator(self.generator_config, config.hidden_size)

    def generator_logits(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """The generator's scores for each token of the vocabulary.

        Args:
            input_ids, attention_mask, token_type_ids: as for ``BertModel.forward``, with some tokens hidden.
            positions: (M,), indices into the B·L tokens; None for all of them.

        Returns:
            (M, V), or (B, L, V) for all.
        """
        hidden = self.generator(self.bert.embeddings(input_ids, token_type_ids), attention_mask)
        if positions is not None:
            hidden = hidden.flatten(0, 1)[positions]
        return self.generator.mlm_head(hidden, self.bert.embeddings.word_embeddings.weight)


def with_guesses(logits: Tensor, masked: MaskedTokens, original: Tensor) -> Tensor:
    """(B, L), the original tokens with guesses at the hidden positions, drawn from the generator's (M, V) logits."""
    guesses = logits.softmax(-1).multinomial(1)[:, 0]
    guesses = guesses.where(masked.labels != IGNORE, original.flatten()[masked.positions])
    read = original.flatten().scatter(0, masked.positions, guesses)
    return read.view_as(original)


def electra_losses(model: ElectraWithGenerator, masked: MaskedTokens, rows: RowBatch) -> tuple[Tensor, Tensor]:
    """Both losses of a batch in nats; training minimizes their sum. Guesses come from torch's global generator.

    At each hidden position i ∈ M the generator draws a guess x̂_i, and the discriminator reads the text with these, x̂:

        p_G(w | x̃) = softmax(E h_G(x̃)_i + b)_w         x̃ has a [MASK] at each i ∈ M, E are the word embeddings
        x̂_i ~ p_G(· | x̃) for i ∈ M,  x̂_t = x_t elsewhere
        D_t = σ(w · h_D(x̂)_t)                           the probability that t has been replaced

        L_MLM  = -1/|M| Σ_{i ∈ M} log p_G(x_i | x̃)
        L_Disc = -1/n Σ_t ( 1[x̂_t = x_t] log (1 - D_t) + 1[x̂_t ≠ x_t] log D_t )

    and training minimizes L_MLM + 50 L_Disc. A guess that happens to be right counts as original. No gradient flows
    through the guesses: the generator is not trained to fool the discriminator. Every hidden token should be a [MASK]:
    ``mask_tokens(…, mask_share=1, random_share=0)``.

    Args:
        model: to be trained.
        masked: has the tokens to read.
        rows: has the originals and everything else.

    Source: Clark et al. 2020, section 2. There, D is the probability of the original and the losses are sums. As
    here, the authors' code has D the other way round, means, and n as the number of tokens without padding.
    """
    original, mask, segments, _ = rows
    logits = model.generator_logits(masked.input_ids, mask, segments, masked.positions)
    mlm = F.cross_entropy(logits.float(), masked.labels)
    read = with_guesses(logits.detach().float(), masked, original)
    is_replaced = (read != original).float()
    verdicts = model.replaced_token_logits(read, mask, segments).float()
    losses = F.binary_cross_entropy_with_logits(verdicts, is_replaced, reduction="none")
    is_text = torch.ones_like(losses) if mask is None else mask
    return mlm, 50 * (losses * is_text).sum() / is_text.sum()

"""Recurrent language models for studies: Elman's network and the LSTM in torch's kernels, and a loop with options.

Elman's network (Elman 1990, "Finding Structure in Time") keeps a state h and updates it with each input x:

    h ← tanh(W_x x + b_x + W_h h + b_h)

A gradient goes back through W_h and tanh' once per step. If that makes it a little shorter each time, it vanishes, and
if a little longer, it explodes (Bengio, Simard & Frasconi 1994). The LSTM (Hochreiter & Schmidhuber 1997; with the
forget gate of Gers, Schmidhuber & Cummins 2000) has a cell c besides h; gates decide what goes into it, stays in it and
comes out:

    i, f, g, o = σ, σ, tanh, σ of (W_x x + b_x + W_h h + b_h)
    c ← f ⊙ c + i ⊙ g,    h ← o ⊙ tanh(c)
"""

from typing import Literal

import torch
from torch import Tensor, nn

Kind = Literal["rnn", "lstm"]
TWINS = {"rnn": nn.RNN, "lstm": nn.LSTM}


class FusedNetwork(nn.Module):
    """torch's own one-layer network, all steps in one kernel, with a state that is a tuple for either cell.

    Args:
        input_size: E.
        hidden_size: D.
        cell: "rnn" or "lstm".
    """

    def __init__(self, input_size: int, hidden_size: int, cell: Kind = "rnn"):
        super().__init__()
        self.network = TWINS[cell](input_size, hidden_size, batch_first=True)

    def forward(self, x: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """From x (B, L, E) and the state to continue from to the outputs, (B, L, D), and the last state."""
        if state is not None:
            state = tuple(each[None] for each in state)
            state = state if len(state) == 2 else state[0]
        outputs, state = self.network(x, state)
        return outputs, tuple(each[0] for each in (state if isinstance(state, tuple) else (state,)))


class RecurrentLanguageModel(nn.Module):
    """Which word comes next? A recurrent network over word vectors, and a score for each word of the vocabulary.

    Mikolov et al. 2010, "Recurrent neural network based language model".

    Args:
        vocab_size: V.
        hidden_size: D, of the state and of the word vectors, which also serve as the output's weights (Press & Wolf
            2017, "Using the Output Embedding to Improve Language Models").
        cell: "rnn" or "lstm".
        dropout: probability of dropping a value of the network's inputs and outputs in training.
        seed: of the initial weights.
    """

    def __init__(
        self,
        vocab_size: int,
        hidden_size: int,
        cell: Kind = "rnn",
        dropout: float = 0.0,
        seed: int = 0,
    ):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(seed))  # of the CPU; a GPU's is left alone
            self.embedding = nn.Embedding(vocab_size, hidden_size)
            nn.init.normal_(self.embedding.weight, std=0.05)
            self.network = FusedNetwork(hidden_size, hidden_size, cell)
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Read words.

        Args:
            ids: (B, L).
            state: the state to continue from; None for the one before the first input.

        Returns:
            ``(logits, state)``: (B, L, V), where position t scores the word at t + 1, and the last state.
        """
        outputs, state = self.network(self.dropout(self.embedding(ids)), state)
        return self.dropout(outputs) @ self.embedding.weight.T + self.bias, state


def train_language_model(
    model: RecurrentLanguageModel,
    ids: Tensor,
    epochs: float = 1,
    batch_size: int = 32,
    length: int = 35,
    learning_rate: float = 2e-3,
    clip: float = 1.0,
) -> list[float]:
    """Train on a running text by truncated backpropagation through time (Werbos 1990; Mikolov et al. 2010).

    The text is cut into B rows, which are read side by side, ``length`` words at a time. The state is carried over from
    piece to piece; the gradient is not: it stops at the beginning of a piece. A gradient longer than ``clip`` is cut to
    that length, because now and then one explodes (Pascanu, Mikolov & Bengio 2013).

    Args:
        model: the model to train; left in evaluation mode.
        ids: (N,), the text.
        epochs: how often to read it; 0.5 for the first half of each row.
        batch_size: B.
        length: words in a piece, which is how many steps a gradient goes back.
        learning_rate: Adam's, at the first step; it falls linearly to 0.
        clip: maximum gradient norm; a longer gradient is scaled down to it.

    Returns:
        The loss of each step, in nats per word.
    """
    rows = ids[: len(ids) // batch_size * batch_size].view(batch_size, -1).long()
    starts = range(0, rows.shape[1] - 1, length)
    steps, losses, state = max(1, round(epochs * len(starts))), [], None
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    model.train()
    for step in range(steps):
        start = starts[step % len(starts)]
        piece = rows[:, start : start + length + 1]
        state = None if start == 0 else tuple(each.detach() for each in state)
        logits, state = model(piece[:, :-1], state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - step / steps)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses

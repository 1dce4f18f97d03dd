"""Chapter 0: a network that reads word by word and remembers, a language model on it, and one that answers once.

Elman's network (Elman 1990, "Finding Structure in Time") keeps a state h and updates it with each input x:

    h ← tanh(W x + U h + b)

A gradient goes back through U and tanh' once per step. If that makes it a little shorter each time, it vanishes, and
if a little longer, it explodes (Bengio, Simard & Frasconi 1994).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RecurrentNetwork(nn.Module):
    """Elman's network. W and U begin as in torch's ``nn.RNN``, uniformly between ±1/√H; b begins at 0.

    Args:
        D: size of the inputs.
        H: size of the state.
    """

    def __init__(self, D: int, H: int):
        super().__init__()
        bound = H**-0.5  # as nn.RNN begins
        self.W = nn.Parameter(torch.empty(H, D).uniform_(-bound, bound))
        self.U = nn.Parameter(torch.empty(H, H).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.zeros(H))

    def forward(self, x: Tensor, h: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read.

        Args:
            x: (B, L, D).
            h: (B, H), the state to continue from; None for zeros.

        Returns:
            ``(states, h)``: the state after each input, (B, L, H), and the last one, (B, H).
        """
        h = x.new_zeros(len(x), len(self.b)) if h is None else h
        states = []
        for x_t in x.unbind(1):
            h = torch.tanh(x_t @ self.W.T + h @ self.U.T + self.b)
            states.append(h)
        return torch.stack(states, 1), h


class RecurrentLanguageModel(nn.Module):
    """Which word comes next? A score for each word of the vocabulary: its embedding times the state, plus a bias.

    Args:
        V: size of the vocabulary.
        H: size of the state and of the embeddings.
    """

    def __init__(self, V: int, H: int = 128):
        super().__init__()
        self.embedding, self.network = nn.Embedding(V, H), RecurrentNetwork(H, H)
        nn.init.normal_(self.embedding.weight, std=0.05)
        self.bias = nn.Parameter(torch.zeros(V))

    def forward(self, ids: Tensor, h: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """From ids (B, L) to logits (B, L, V), where position t scores the word at t + 1, and the last state."""
        states, h = self.network(self.embedding(ids), h)
        return states @ self.embedding.weight.T + self.bias, h


def train_language_model(
    model: nn.Module, text: Tensor, rate: float = 0.01, rows: int = 32, length: int = 35
) -> list[float]:
    """Read a text once by truncated backpropagation through time (Werbos 1990; Mikolov et al. 2010).

    Args:
        model: the model to train.
        text: (N,), word numbers.
        rate: Adam's, at the first step; it falls linearly to 0.
        rows: places of the text that are read side by side.
        length: words per piece. From piece to piece the state is kept and the gradient is not.

    Returns:
        The loss of each step, in nats per word.
    """
    side_by_side = text[: len(text) // rows * rows].view(rows, -1)
    starts, h, losses = range(0, side_by_side.shape[1] - 1, length), None, []
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, len(starts))
    for start in starts:
        piece = side_by_side[:, start : start + length + 1]
        logits, h = model(piece[:, :-1], h)
        h = h.detach()  # the state goes on, its gradient does not
        loss = F.cross_entropy(logits.flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(), schedule.step()
        losses.append(loss.item())
    return losses


class OneAnswer(nn.Module):
    """A recurrent network with one output: it reads everything and answers once, from its last state.

    Args:
        V: size of the vocabulary.
        answers: how many answers there are.
        H: size of the state and of the embeddings.
        std: standard deviation of the embeddings at first.
    """

    def __init__(self, V: int, answers: int, H: int = 64, std: float = 0.05):
        super().__init__()
        self.embedding, self.network = nn.Embedding(V, H), RecurrentNetwork(H, H)
        nn.init.normal_(self.embedding.weight, std=std)
        self.output = nn.Linear(H, answers)

    def forward(self, ids: Tensor) -> Tensor:
        """From ids (B, L) to the scores of the answers, (B, answers)."""
        _, h = self.network(self.embedding(ids))
        return self.output(h)

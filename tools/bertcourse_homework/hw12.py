"""Homework 12: next-token loss and choice, writing, a memory shared by texts, span corruption, bits per character."""

import math

import torch
from torch import Tensor

from bertcourse_homework.drawing import Drawing, Line, no_new_figures
from bertcourse_homework.engine import Answer, Call, exercise, random

LN2 = math.log(2)


def scores_of(*rows: list[list[int]]) -> Tensor:
    """Scores (B, L, V) that cost the given numbers of bits: 1, 2, 3 and 3 give probabilities that sum to 1."""
    return -LN2 * torch.tensor(rows, dtype=torch.float32)


@exercise("12.1", "next_token_loss", points=3)
def next_token_loss(answer: Answer) -> None:
    """Targets shifted by one, padding left out, and the mean over the batch."""
    ids, all_real = torch.tensor([[0, 1, 2, 3, 1]]), torch.ones(1, 5, dtype=torch.long)
    row = [[1, 3, 3, 2], [3, 2, 1, 3], [3, 3, 1, 2], [3, 1, 3, 2], [3, 1, 2, 3]]
    loss = answer(scores_of(row), ids, all_real).has_shape(cause="one number: a tensor of shape ()")
    loss.equals(
        7 / 4 * LN2,
        "the mean of -ln P of four tokens, each guessed at the place before it",
        mistakes={
            "place i guesses the token at place i + 1, not its own: logits[:, :-1] and input_ids[:, 1:]": 7 / 5 * LN2,
            "place i guesses the token at place i + 1, not its own; and it is not enough to leave out the last place": (
                6 / 4 * LN2
            ),
            "place i guesses the token after it, not the one before it: logits[:, :-1] and input_ids[:, 1:]": 3 * LN2,
            "the last place has nothing to guess, and nobody guesses the first token: leave out, do not roll": 2 * LN2,
            "the mean over the questions, not the sum": 7 * LN2,
            "in nats: the natural logarithm": 7 / 4,
            "this is the perplexity: the loss is its logarithm": 2 ** (7 / 4),
            "all places count, not only the last one that guesses": LN2,
            "-log P, not log P": -7 / 4 * LN2,
        },
    )
    short = [[3, 1, 2, 3], [1, 2, 3, 3], [1, 2, 3, 3], [1, 2, 3, 3], [1, 2, 3, 3]]
    right = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    padded = answer(scores_of(row, short), torch.tensor([[0, 1, 2, 3, 1], [2, 0, 0, 0, 0]]), right)
    padded.has_shape(cause="one number: a tensor of shape ()").equals(
        10 / 5 * LN2,
        "five questions in two texts: padding is not to be guessed",
        mistakes={
            "padding is not to be guessed: these are all places": 13 / 8 * LN2,
            "padding is not to be guessed, at the last real place neither: ask the mask of the token that is guessed": (
                11 / 6 * LN2
            ),
            "each question counts the same, in whichever text it is: this is a mean of the texts' means": (
                (7 / 4 + 3) / 2 * LN2
            ),
            "divide by the number of questions, not of all places": 10 / 8 * LN2,
            "divide by the number of questions, which is one less than the tokens of each text": 10 / 7 * LN2,
            "divide by the number of questions, not of texts": 10 / 2 * LN2,
            "token 0 is a token: only the mask says what is padding": 7 / 4 * LN2,
        },
    )
    left = [[3, 3, 2, 1], [1, 2, 3, 3], [2, 3, 1, 3], [3, 3, 2, 1], [1, 2, 3, 3]]
    begins = answer(scores_of(left), torch.tensor([[3, 3, 0, 1, 2]]), torch.tensor([[0, 0, 1, 1, 1]]))
    begins.has_shape(cause="one number: a tensor of shape ()").equals(
        5 / 2 * LN2,
        "padding may stand on the left",
        mistakes={
            "nothing is guessed from padding: the first real token is no question, if padding is before it": 2 * LN2,
            "padding may stand on the left: the mask says where, not only how many tokens are real": LN2,
        },
    )
    wild = torch.cat([scores_of(row), 1e4 * torch.eye(4)[None, [2, 2, 2]]], 1)
    wild_ids, wild_mask = torch.tensor([[0, 1, 2, 3, 1, 3, 3, 3]]), torch.tensor([[1, 1, 1, 1, 1, 0, 0, 0]])
    answer(wild, wild_ids, wild_mask).has_shape(cause="one number").equals(
        7 / 4 * LN2, "what is said at padding must not matter"
    )
    large = torch.tensor([[[900.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    answer(large, torch.tensor([[0, 2]]), torch.ones(1, 2, dtype=torch.long)).has_shape(cause="one number").equals(
        900.0, "logsumexp minus the score: the log of a softmax that has become 0 is minus infinity"
    )
    learns = answer(random(2, 5, 4, seed=1).requires_grad_(), torch.tensor([[0, 1, 2, 3, 1], [2, 0, 0, 0, 0]]), right)
    learns.has_shape(cause="one number").equals_stored("two texts", "five questions")
    learns.is_a(Tensor, "a tensor, not a plain number: no .item()").holds(
        "it has a gradient", lambda value: value.requires_grad, "no .item(), no numpy: a model learns from it"
    )


@exercise("12.2", "next_distribution", points=3)
def next_distribution(answer: Answer) -> None:
    """Each knob by itself, then two at a time, in their order."""

    def chances(found: Call, weights: list[float], cause: str, mistakes: dict | None = None) -> None:
        """Check the probabilities for a batch of one text, which are as these weights."""
        found.has_shape(1, len(weights), cause="(B, V), as logits").holds(
            "no probability is NaN", lambda p: ~torch.isnan(p), f"{cause}; at least one token stays"
        )
        shares = {name: [[each / sum(others) for each in others]] for name, others in (mistakes or {}).items()}
        found.equals([[each / sum(weights) for each in weights]], cause, mistakes=shares)

    scores, elsewhere = LN2 * torch.tensor([[3.0, 1.0, -1.0, 0.0]]), torch.tensor([[3]])
    chances(answer(scores, elsewhere), [8, 2, 0.5, 1], "without knobs: the softmax")
    chances(
        answer(scores, elsewhere, 0.5),
        [64, 4, 0.25, 1],
        "divide the scores by T, before the softmax",
        {
            "divide the scores by T, do not multiply": [8**0.5, 2**0.5, 0.5**0.5, 1],
            "divide the scores by T before the softmax: dividing probabilities changes nothing": [8, 2, 0.5, 1],
        },
    )
    chances(
        answer(scores, torch.tensor([[0]]), 1.0, 2.0),
        [8**0.5, 2, 0.5, 1],
        "the score of a token that stands in the text is divided by the penalty, if it is above 0",
        {
            "the penalty changes scores: it does not divide probabilities": [4, 2, 0.5, 1],
            "divide by the penalty, do not subtract it": [8 / math.exp(2), 2, 0.5, 1],
            "the penalty is for tokens that stand in the text, not for the others": [8, 2**0.5, 0.25, 1],
        },
    )
    chances(
        answer(scores, torch.tensor([[2, 2]]), 1.0, 2.0),
        [8, 2, 0.25, 1],
        "a score below 0 is multiplied by the penalty, once, however often the token stands in the text",
        {
            "divided, a score below 0 would come nearer to 0, and the token be likelier: multiply it": [
                8,
                2,
                0.5**0.5,
                1,
            ],
            "once, however often the token stands in the text": [8, 2, 0.0625, 1],
        },
    )
    several = answer(scores, torch.tensor([[0, 0, 1]]), 1.0, 2.0)
    chances(
        several,
        [8**0.5, 2**0.5, 0.5, 1],
        "once, however often the token stands in the text",
        {"once, however often the token stands in the text: not divided again each time": [8**0.25, 2**0.5, 0.5, 1]},
    )
    four = torch.tensor([[0.1, 0.4, 0.3, 0.2]]).log()
    chances(
        answer(four, torch.tensor([[0]]), 1.0, 1.0, 0.35),
        [0, 4, 3, 2],
        "tokens stay that have at least min_p times the largest probability",
        {
            "min_p is a share of the largest probability, not of 1": [0, 1, 0, 0],
            "what does not stay has score minus infinity; a score of 0 is a score": [1, 0.4, 0.3, 0.2],
            "the likely tokens stay, not the others": [1, 0, 0, 0],
            "back to the order of ids: these are in the order of their scores": [4, 3, 2, 0],
        },
    )
    roots = [each**0.5 for each in (0.1, 0.4, 0.3, 0.2)]
    chances(
        answer(four, torch.tensor([[0]]), 2.0, 1.0, 0.6),
        [0, *roots[1:]],
        "first the temperature, then min-p",
        {"the temperature comes before min-p, which asks the new probabilities": [0, roots[1], roots[2], 0]},
    )
    chances(
        answer(scores, torch.tensor([[0]]), 1.0, 3.0, 0.4),
        [2, 2, 0, 1],
        "first the penalty, then min-p",
        {"the penalty comes before min-p, which asks the new probabilities": [1, 0, 0, 0]},
    )
    largest = torch.tensor([[0.0, 2.0, 2.0, 1.0]])
    chances(
        answer(largest, torch.tensor([[0]]), 1.0, 1.0, 1.0),
        [0, 1, 1, 0],
        "with min_p = 1 the likeliest stay, all of them",
    )
    banned = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0]])
    chances(
        answer(banned, torch.tensor([[0, 1]]), 0.7, 2.0, 0.3),
        [0, 1, 0, 1],
        "a score of minus infinity is a chance of 0",
    )
    each = "each row has a text and a likeliest token of its own"
    rows = answer(torch.cat([scores, scores.flip(1)]), torch.tensor([[0, 0], [1, 3]]), 1.0, 2.0, 0.4)
    rows.has_shape(2, 4, cause="(B, V), as logits")
    one, other = [8**0.5, 2, 0, 0], [0, 0, 2, 8**0.5]
    rows.equals([[each / sum(row) for each in row] for row in (one, other)], each)
    large, ids = 2 * random(5, 30, seed=2), torch.arange(40).reshape(5, 8) * 7 % 30
    for knobs in ((0.7, 1.3, 0.1), (1.5, 1.0, 0.05), (1.0, 2.0, None)):
        found = answer(large, ids, *knobs).has_shape(5, 30, cause="(B, V), as logits")
        found.equals_stored(f"thirty tokens, {knobs}", "penalty and temperature, then min-p of what they give")


CHAIN = [(1, 2, 10.0), (2, 3, 10.0), (3, 5, 10.0), (4, 4, 10.0), (5, 1, 10.0)]


def weights_of(size: int, *scores: tuple[int, int, float]) -> Tensor:
    """Weights (V, V) that are 0 except for the given (token before, token after, score)."""
    weights = torch.zeros(size, size)
    for before, after, score in scores:
        weights[before, after] = score
    return weights


@exercise("12.3", "write", points=3)
def write(answer: Answer) -> None:
    """The most likely token each time; how rows end; then random draws."""
    chain, rows = weights_of(6, *CHAIN), "(B, L + N): the prompts, and what was written"
    four = answer(chain, torch.tensor([[4, 4]]), 3, 5, 0)
    four.has_shape(1, 5, cause=f"{rows}; three new tokens").equals(
        [[4, 4, 4, 4, 4]], "without a seed the token with the highest score, each time"
    )
    all_before = weights_of(6, (1, 2, 3.0), (2, 3, 1.0), (3, 4, 10.0), (4, 0, 3.0))
    answer(all_before, torch.tensor([[3, 1]]), 2, 5, 0).has_shape(1, 4, cause=rows).equals(
        [[3, 1, 4, 0]],
        "hand all tokens so far to next_logits, prompt and new ones",
        mistakes={
            "hand all tokens so far to next_logits, not only the last one": [[3, 1, 2, 3]],
            "hand all tokens so far to next_logits, the new ones, too": [[3, 1, 4, 4]],
        },
    )
    prompts = torch.tensor([[1, 1], [2, 2], [3, 3]])
    done = [[1, 1, 2, 3, 5], [2, 2, 3, 5, 0], [3, 3, 5, 0, 0]]
    ended = answer(chain, prompts, 9, 5, 0)
    ended.holds(
        "there are 3 new columns, not 1",
        lambda ids: torch.as_tensor(ids).shape[1] != 3,
        "go on until all rows have ended, not until one has",
    )
    ended.holds(
        "there are 3 new columns, not 9",
        lambda ids: torch.as_tensor(ids).shape[1] != 11,
        "end the loop when all rows have ended: no columns of padding alone",
    )
    ended.has_shape(3, 5, cause=f"{rows}; the last row to end writes three tokens").equals(
        done,
        "each row ends with its own stop token, and has padding after it",
        mistakes={
            "a row that has ended gets pad_id, whatever the model says": [
                [1, 1, 2, 3, 5],
                [2, 2, 3, 5, 1],
                [3, 3, 5, 1, 2],
            ],
            "the stop token stays in the row; padding comes after it": [
                [1, 1, 2, 3, 0],
                [2, 2, 3, 0, 0],
                [3, 3, 0, 0, 0],
            ],
            "after the stop token comes pad_id, not more stop tokens": [
                [1, 1, 2, 3, 5],
                [2, 2, 3, 5, 5],
                [3, 3, 5, 5, 5],
            ],
        },
    )
    inside = "a stop token in the prompt ends nothing: only what was written counts"
    answer(chain, torch.tensor([[5, 1], [5, 5]]), 9, 5, 0).has_shape(2, 6, cause=inside).equals(
        [[5, 1, 2, 3, 5, 0], [5, 5, 1, 2, 3, 5]], inside
    )
    own = weights_of(6, (1, 0, 10.0), (0, 2, 10.0), (2, 5, 10.0))
    answer(own, torch.tensor([[1]]), 9, 5, 0).has_shape(1, 4, cause=f"{rows}; pad_id by itself ends nothing").equals(
        [[1, 0, 2, 5]],
        "a pad_id that the model writes by itself ends nothing: remember who has ended, do not look for it",
    )
    answer(chain, prompts, 9, 5, 5).has_shape(3, 5, cause=rows).equals(
        [[1, 1, 2, 3, 5], [2, 2, 3, 5, 5], [3, 3, 5, 5, 5]], "pad_id and stop_id may be the same"
    )
    answer(chain, prompts, 0, 5, 0).has_shape(3, 2, cause="num_new may be 0: the prompts").equals(prompts)
    answer(chain, prompts, 2, 5, 0).has_shape(3, 4, cause=f"{rows}; at most num_new new tokens").equals(
        [row[:4] for row in done], "at most num_new new tokens"
    )
    large = answer(2 * random(9, 9, seed=4), torch.arange(12).reshape(4, 3) % 9, 12, 2, 0)
    large.equals_stored("nine tokens", "the token with the highest score each time, until its row has ended")
    drawn_tokens(answer)


def drawn_tokens(answer: Answer) -> None:
    """Check which tokens are drawn, with what probabilities, and from which seed."""
    many, one = 4000, torch.tensor([[0, 1]])
    sizes = torch.tensor([0.5, 0.3, 0.2]).log()
    weights = torch.stack([sizes / 2] * 3)  # after two tokens the scores are 3/4 of sizes, after three 7/8
    shares = [(p**0.75, p**0.875) for p in (0.5, 0.3, 0.2)]
    totals = [sum(column) for column in zip(*shares)]
    call = answer(weights, one.repeat(many, 1), 2, 9, 0, seed=0)
    found = call.has_shape(many, 4, cause="(B, L + N): the prompts, and what was written")
    tokens = found.value[:, 2:]
    drawn = (
        "each row draws for itself, from softmax(scores), if there is a seed; 0 is a seed, too: ask seed is not None"
    )
    found.holds("not all rows write the same", lambda _: len(tokens.unique(dim=0)) > 1, drawn)
    first, second = ([(tokens[:, i] == token).float().mean().item() for token in range(3)] for i in (0, 1))
    uniform = "draw with the probabilities softmax(scores), not from all tokens alike"
    for i, (name, got) in enumerate((("first", first), ("second", second))):
        wanted = [share[i] / totals[i] for share in shares]
        flat = max(abs(each - 1 / 3) for each in got) < 0.04
        squared = [share[i] ** 2 for share in shares]
        sharp = max(abs(a - b / sum(squared)) for a, b in zip(got, squared)) < 0.04
        cause = uniform if flat else "softmax(scores), not of twice the scores" if sharp else drawn
        found.holds(
            f"of the {name} new tokens {[round(100 * each) for each in wanted]} % are 0, 1, 2; "
            f"here {[round(100 * each) for each in got]} %",
            lambda _, got=got, wanted=wanted: max(abs(a - b) for a, b in zip(got, wanted)) < 0.04,
            cause,
        )
    same = (tokens[:, 0] == tokens[:, 1]).float().mean().item()
    chance = sum(a * b for a, b in shares) / math.prod(totals)
    found.holds(
        f"{chance:.0%} of the rows write the same token twice; here {same:.0%}",
        lambda _: abs(same - chance) < 0.045,
        "make one generator before the loop: a new one for each token draws the same each time",
    )
    neighbours = (tokens[1:, 0] == tokens[:-1, 0]).float().mean().item()
    alike = sum(share[0] ** 2 for share in shares) / totals[0] ** 2
    found.holds(
        f"{alike:.0%} of the rows begin as the row before them; here {neighbours:.0%}",
        lambda _: abs(neighbours - alike) < 0.05,
        "each row draws for itself",
    )
    few = one.repeat(20, 1)
    runs = [answer(weights, few, 6, 2, 0, seed=seed) for seed in (3, 3, 4)]
    seeded = "torch.Generator().manual_seed(seed), handed to torch.multinomial"
    runs[0].equals(runs[1].value, f"the same seed writes the same again: {seeded}")
    runs[2].holds(
        "another seed writes something else",
        lambda ids: torch.as_tensor(ids).tolist() != torch.as_tensor(runs[0].value).tolist(),
        seeded,
    )
    runs[0].holds(
        "a row has padding after its stop token",
        lambda ids: all(
            not {*row[row.index(2) :]} - {2, 0} for row in torch.as_tensor(ids)[:, 2:].tolist() if 2 in row
        ),
        "rows that are drawn end, too",
    )


@exercise("12.4", "attend_step", points=3)
def attend_step(answer: Answer) -> None:
    """Where the new keys and values are put, which ones are seen, and the output."""
    nothing, memory = torch.zeros(2, 1, 1, 1), torch.zeros(2, 1, 4, 1)
    old = torch.tensor([[[[2.0], [4.0], [700.0], [700.0]]], [[[6.0], [700.0], [700.0], [700.0]]]])
    new, lengths = torch.tensor([[[[9.0]]], [[[12.0]]]]), torch.tensor([2, 1])
    three = answer(nothing, new, new, old, old, lengths)
    size = "room for M tokens stays room for M tokens: write into a copy, do not append"
    place = "the new one of text b is put at its own place lengths[b]"
    put = [[[[2], [4], [9], [700]]], [[[6], [12], [700], [700]]]]
    wrong_places = {
        "each text has its own place, lengths[b]; this is the first text's for all": [
            [[[2], [4], [9], [700]]],
            [[[6], [700], [12], [700]]],
        ],
        "the last place that is taken is lengths[b] - 1; the new one comes after it": [
            [[[2], [9], [700], [700]]],
            [[[12], [700], [700], [700]]],
        ],
        "the new one comes right after the text: place lengths[b], not lengths[b] + 1": [
            [[[2], [4], [700], [9]]],
            [[[6], [700], [12], [700]]],
        ],
        "the new one comes right after the text, not at the end of the room": [
            [[[2], [4], [700], [9]]],
            [[[6], [700], [700], [12]]],
        ],
        "the new one is not there: return the memory after this step": old,
        "all else stays as it was, rubbish, too: nothing may be lost of a text": [
            [[[2], [4], [9], [0]]],
            [[[6], [12], [0], [0]]],
        ],
    }
    for i, name in ((1, "keys"), (2, "values")):
        kept = three[i].has_shape(2, 1, 4, 1, cause=f"return (output, keys, values); {size}")
        kept.equals(put, f"{name}: {place}", mistakes=wrong_places)
    output = three[0].has_shape(2, 1, 1, 1, cause="the output of the new token of each text: (B, H, 1, d)")
    output.equals(
        [[[[5]]], [[[9]]]],
        "with equal scores the output is the mean of the text's values, the new one included",
        mistakes={
            "the new token sees itself, too: j <= lengths[b]": [[[[3]]], [[[6]]]],
            "what lies beyond a text's end is another text's: hide the places after lengths[b]": [
                [[[178.75]]],
                [[[354.5]]],
            ],
            "one place too many is seen: j <= lengths[b]": [[[[178.75]]], [[[718 / 3]]]],
            "each text has its own length; this is the first text's for all": [[[[5]]], [[[718 / 3]]]],
            "hide with minus infinity before the softmax: weights that are set to 0 after it do not sum to 1": [
                [[[3.75]]],
                [[[4.5]]],
            ],
            "it is attention, with weights that sum to 1: do not add values up": [[[[15]]], [[[18]]]],
        },
    )
    other = answer(nothing, nothing, new, memory, old, lengths)
    other[1].has_shape(2, 1, 4, 1, cause=size).equals(memory, "keys are keys: the new key goes to the keys")
    other[2].has_shape(2, 1, 4, 1, cause=size).equals(put, "values are values: the new value goes to the values")
    ask = torch.full((1, 1, 1, 4), LN2**0.5)
    two_keys = torch.zeros(1, 1, 3, 4)
    shown = torch.tensor([[[[9.0] * 4, [0.0] * 4, [50.0] * 4]]])
    product = answer(ask, ask, torch.zeros(1, 1, 1, 4), two_keys, shown, torch.tensor([1]))
    product[0].has_shape(1, 1, 1, 4, cause="(B, H, 1, d)").equals(
        [[[[9 / 5] * 4]]],  # the new key's score is 4 ln 2 / 2
        "softmax of the products with the keys, the new one included, over √d",
        mistakes={
            "divide the scores by √d": [[[[9 / 17] * 4]]],
            "divide the scores by √d, not by d": [[[[3.0] * 4]]],
            "the new token's own key counts in its output: put it into the memory first": [[[[4.5] * 4]]],
        },
    )
    empty = answer(ask, ask, shown[:, :, :1], two_keys, shown, torch.tensor([0]))
    empty[0].has_shape(1, 1, 1, 4, cause="(B, H, 1, d)").equals(
        [[[[9.0] * 4]]], "a text of length 0: its first token sees itself alone"
    )
    last = answer(ask, ask, shown[:, :, :1], two_keys, shown, torch.tensor([2]))
    last[2].has_shape(1, 1, 3, 4, cause=size).equals(
        [[[[9.0] * 4, [0.0] * 4, [9.0] * 4]]], "the last place of the room can be written, too"
    )
    q, k, v = (random(3, 4, 1, 5, seed=seed) for seed in (5, 6, 7))
    kept = [20 * random(3, 4, 6, 5, seed=seed) for seed in (8, 9)]
    large = answer(q, k, v, *kept, torch.tensor([5, 0, 3]))
    for i, name in enumerate(("output", "keys", "values")):
        any_size = "does it work for any B, H, M and d, each head for itself?"
        large[i].has_shape(3, 4, 1 if i == 0 else 6, 5, cause=any_size).equals_stored(name, any_size)


@exercise("12.5", "corrupt_spans", points=3)
def corrupt_spans(answer: Answer) -> None:
    """T5's own example, then edge cases."""

    def both(
        ids: list[int],
        spans: list[tuple[int, int]],
        read: list[int],
        written: list[int],
        cause: str,
        mistakes: dict[str, tuple[list[int], list[int]]] | None = None,
    ) -> None:
        """Check what the encoder reads and the decoder writes; mistakes are pairs of the two, as well."""
        call = answer(ids, spans, 99)
        for i, (side, expected) in enumerate((("the encoder reads", read), ("the decoder writes", written))):
            known = {words: pair[i] for words, pair in (mistakes or {}).items() if pair[i] != expected}
            part = call[i].is_a(list, "return two lists")
            part.equals(expected, f"{side}: {cause}", mistakes=known)

    text, read, written = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2, 99, 5, 6, 7, 8, 98, 10], [99, 3, 4, 98, 9, 97]
    both(
        text,
        [(2, 4), (8, 9)],
        read,
        written,
        "a sentinel for each span, then the spans after their sentinels, and one more sentinel",
        {
            "one sentinel for each span, not for each token": (
                [1, 2, 99, 98, 5, 6, 7, 8, 97, 10],
                [99, 3, 98, 4, 97, 9, 96],
            ),
            "sentinels are counted down: 99, 98, 97": (
                [1, 2, 99, 5, 6, 7, 8, 100, 10],
                [99, 3, 4, 100, 9, 101],
            ),
            "each span has a sentinel of its own: 99, 98, …": ([1, 2, 99, 5, 6, 7, 8, 99, 10], [99, 3, 4, 99, 9, 99]),
            "one more sentinel says that it is done": (read, [99, 3, 4, 98, 9]),
            "the sentinel at the end is a new one, the next": (read, [99, 3, 4, 98, 9, 98]),
            "a span ends before place `end`": ([1, 2, 99, 6, 7, 8, 98], [99, 3, 4, 5, 98, 9, 10, 97]),
            "the tokens after the last span belong to the text": ([1, 2, 99, 5, 6, 7, 8, 98], written),
            "a sentinel stands before its span, not after it": (read, [3, 4, 99, 9, 98, 97]),
            "the decoder writes the spans only, not all of the text": (
                read,
                [1, 2, 99, 3, 4, 5, 6, 7, 8, 98, 9, 10, 97],
            ),
            "a sentinel stands in place of a span: its tokens are not left there": (
                [1, 2, 99, 3, 4, 5, 6, 7, 8, 98, 9, 10],
                written,
            ),
            "the sentinel at the end belongs to the decoder's side": ([*read, 97], written),
            "places are those of the text: what was replaced before has moved them, so copy, or go from the end": (
                [1, 2, 99, 5, 6, 7, 8, 9, 98],
                [99, 3, 4, 98, 10, 97],
            ),
        },
    )
    touch = "spans that touch are two spans: each has a sentinel"
    both(text, [(2, 4), (4, 6)], [1, 2, 99, 98, 7, 8, 9, 10], [99, 3, 4, 98, 5, 6, 97], touch)
    order = "sentinels follow the order of the text, in whatever order the spans come"
    both(text, [(8, 9), (2, 4)], read, written, order)
    ends = "a span may be at the very beginning, or at the very end"
    both(text, [(0, 2), (9, 10)], [99, 3, 4, 5, 6, 7, 8, 9, 98], [99, 1, 2, 98, 10, 97], ends)
    nothing = "without spans the text stays, and the decoder writes one sentinel"
    both(text, [], text, [99], nothing)
    both([5, 6], [(0, 2)], [99], [99, 5, 6, 98], "a span may be the whole text")
    both(
        [3, 3, 4, 3, 3, 4],
        [(3, 4), (5, 6)],
        [3, 3, 4, 99, 3, 98],
        [99, 3, 98, 4, 97],
        "spans are places: the same tokens may stand elsewhere",
    )
    long = [int(number) for number in (random(60, seed=10).abs() * 20) % 50]
    several = answer(long, [(50, 53), (10, 11), (30, 35), (11, 14), (0, 3), (40, 41)], 32099)
    several[0].equals_stored("sixty tokens, read", order)
    several[1].equals_stored("sixty tokens, written", order)


ORDERS = [1, 2, 3, 5]
BITS = {"characters": [4.4958, 3.5256, 2.9116, 2.4999], "pieces": [3.1969, 2.4717, 2.4015, 2.4278]}
OTHERS = {  # the results of known mistakes, for characters and for pieces
    "the two lines have each other's names": (BITS["pieces"], BITS["characters"]),
    "divide by the characters of the texts, not by the number of tokens": (
        [4.4504, 3.4900, 2.8822, 2.4747],
        [8.6824, 6.7128, 6.5223, 6.5938],
    ),
    "a bit is ln 2 nats: divide by ln 2": ([3.1162, 2.4438, 2.0182, 1.7328], [2.2159, 1.7132, 1.6646, 1.6828]),
    "a bit is ln 2 nats: divide by ln 2, do not multiply": (
        [2.1600, 1.6939, 1.3989, 1.2011],
        [1.5360, 1.1875, 1.1538, 1.1665],
    ),
    "the end of each text is guessed, too: its surprisal counts": (
        [4.4281, 3.5178, 2.9040, 2.4920],
        [3.1445, 2.4641, 2.3956, 2.4217],
    ),
    "the ends of the texts are no characters: divide by the characters alone": (
        [4.4504, 3.4900, 2.8822, 2.4747],
        [3.1646, 2.4467, 2.3773, 2.4033],
    ),
    "all texts together: this is a mean of the texts' own ratios": (
        [4.5115, 3.5356, 2.9243, 2.5189],
        [3.2220, 2.4908, 2.4200, 2.4471],
    ),
    "spaces are characters": ([5.4625, 4.2838, 3.5378, 3.0375], [3.8843, 3.0032, 2.9179, 2.9499]),
    "divide by characters, not by words": (
        [24.0173, 18.8345, 15.5546, 13.3551],
        [17.0783, 13.2041, 12.8294, 12.9699],
    ),
    "divide by characters, not by texts": (
        [440.5847, 345.5090, 285.3406, 244.9919],
        [313.2921, 242.2227, 235.3482, 237.9268],
    ),
    "these are perplexities per token: bits per character are asked for": (
        [21.8620, 11.2355, 7.3729, 5.5584],
        [410.8287, 104.8962, 91.9197, 96.5875],
    ),
    "these are perplexities per character: bits are their logarithms to the base of 2": (
        [22.5610, 11.5163, 7.5247, 5.6565],
        [9.1696, 5.5468, 5.2836, 5.3808],
    ),
    "surprisals(unit, n) takes n itself, not n - 1": (
        [4.4958, 4.4958, 3.5256, 2.5534],
        [3.1969, 3.1969, 2.4717, 2.4172],
    ),
    "surprisals(unit, n) takes n itself, not n + 1": (
        [3.5256, 2.9116, 2.5534, 2.5701],
        [2.4717, 2.4015, 2.4172, 2.4362],
    ),
    "all texts together, not only the first": ([4.3886, 3.7186, 3.0010, 2.5696], [3.4787, 2.6692, 2.5150, 2.5958]),
}


@exercise("12.6", "plot_bits", points=3)
def plot_bits(answer: Answer) -> None:
    """The student's own figure: bits per character of two models."""
    drawn = answer(ORDERS)
    drawn.is_plot(2, "one for characters, one for pieces", ORDERS, "n in orders", "axes.plot(orders, bits)")

    def line_called(axes: Drawing, name: str) -> Line | None:
        """The line over all orders with this word in its name; None if there is none."""
        return next((line for line in axes.lines_over(ORDERS, len(axes.lines)) if name in line.label.lower()), None)

    drawn.holds(
        'the legend calls the lines "characters" and "pieces"',
        lambda axes: line_called(axes, "characters") and line_called(axes, "pieces"),
        'axes.plot(…, label="characters") and axes.plot(…, label="pieces"), then axes.legend()',
    )
    drawn.holds(
        "the two lines are not the same",
        lambda axes: line_called(axes, "characters").ys != line_called(axes, "pieces").ys,
        'one line from surprisals("characters", n), one from surprisals("pieces", n)',
    )
    drawn.holds(
        "n makes a difference to both lines",
        lambda axes: all(len({*line_called(axes, name).ys}) > 1 for name in BITS),
        "surprisals(unit, n) for each n in orders, not always the same n",
    )
    for i, (name, bits) in ((1, ("pieces", BITS["pieces"])), (0, ("characters", BITS["characters"]))):
        known = {cause: lines[i] for cause, lines in OTHERS.items() if lines[i] != bits}
        if i == 0:  # if the pieces are right, tokens were not the problem
            known.pop("divide by the characters of the texts, not by the number of tokens")
        drawn.draws(
            name,
            lambda axes, name=name: line_called(axes, name).ys,
            bits,
            0.003,
            "all nats, those of the ends included, over ln 2, over the number of characters of all texts",
            mistakes=known,
        )
    with no_new_figures():
        answer([3]).holds(
            "with n = 3 alone each line has one point",
            lambda axes: len(axes.lines_over([3], len(axes.lines))) >= 2,
            "one point for each n in orders, whatever is in it",
        )

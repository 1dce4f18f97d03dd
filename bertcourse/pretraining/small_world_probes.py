"""Chapter 4: what a model has learned of the small world: senses that only the topic decides, and the topic itself."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert import BertModel, encode_batch
from bertcourse.bert.modes import evaluation_mode
from bertcourse.pretraining.small_world import AmbiguousWord, SmallWorld, check_words


def sense_vectors(
    model: BertModel,
    tokenizer: Tokenizer,
    examples: Sequence[AmbiguousWord],
    layers: Sequence[int] = (-1,),
    of_context: bool = False,
) -> Tensor:
    """The vector of each example's word: the sum of the given layers at its token.

    By default the last layer alone: of these four-layer models, some know the sense in layer 1, others only in layer 4.

    Args:
        model, tokenizer: what to ask.
        examples: N of them.
        layers: which hidden states to add up, 0 for the embeddings; those that a shallower model lacks are left out.
        of_context: the mean over the example's other words instead, as a bag of the words around would have it.

    Returns:
        (N, D).
    """
    device = next(model.parameters()).device
    vectors = []
    with evaluation_mode(model):
        for start in range(0, len(examples), 128):
            some = examples[start : start + 128]
            batch = encode_batch(tokenizer, [" ".join(example.words) for example in some])
            states = model(*(tensor.to(device) for tensor in batch)).hidden_states
            total = sum(states[layer] for layer in layers if -len(states) <= layer < len(states)).cpu()
            columns = [example.index + 1 for example in some]  # after [CLS]
            if of_context:
                weights = torch.zeros(total.shape[:2])
                for row, example in enumerate(some):
                    weights[row, 1 : len(example.words) + 1] = 1
                weights[torch.arange(len(some)), columns] = 0
                vectors.append(torch.einsum("nl,nld->nd", weights / weights.sum(1, keepdim=True), total))
            else:
                vectors.append(total[torch.arange(len(some)), columns])
    return torch.cat(vectors)


def sense_accuracy(
    model: BertModel,
    tokenizer: Tokenizer,
    train: Sequence[AmbiguousWord],
    test: Sequence[AmbiguousWord],
    layers: Sequence[int] = (-1,),
    of_context: bool = False,
) -> float:
    """How often the nearest sense is the right one, by a model's vectors: ``nearest_sense_accuracy`` of these.

    Args:
        model, tokenizer: what to ask.
        train, test: labelled examples; every word of ``test`` is in ``train``.
        layers, of_context: as for ``sense_vectors``.

    Returns:
        A share, from 0 to 1.
    """
    check_words(train, test)
    vectors = (sense_vectors(model, tokenizer, examples, layers, of_context) for examples in (train, test))
    return nearest_sense_accuracy(train, test, *vectors)


def nearest_sense_accuracy(
    train: Sequence[AmbiguousWord], test: Sequence[AmbiguousWord], train_vectors: Tensor, test_vectors: Tensor
) -> float:
    """How often the nearest sense, by cosine, is the right one; a sense is the mean of its examples' vectors.

    Args:
        train, test: labelled examples; every word of ``test`` is in ``train``.
        train_vectors, test_vectors: (N, D) and (M, D), a row for each of them.

    Returns:
        A share, from 0 to 1.

    Source: Melamud et al. 2016, "context2vec", and Peters et al. 2018, section 5.3, for the nearest-neighbour rule.
    """
    check_words(train, test)
    places: dict[str, dict[str, list[int]]] = {}
    for i, example in enumerate(train):
        places.setdefault(example.word, {}).setdefault(example.sense, []).append(i)
    centres = {
        word: (list(senses), F.normalize(torch.stack([train_vectors[at].mean(0) for at in senses.values()]), dim=1))
        for word, senses in places.items()
    }
    right = 0
    for example, vector in zip(test, test_vectors, strict=True):
        senses, vectors = centres[example.word]
        right += senses[int((vectors @ vector).argmax())] == example.sense
    return right / len(test)


def topic_accuracy(model: BertModel, world: SmallWorld, labels: int = 50, seed: int = 0, steps: int = 200) -> float:
    """How often a copy of the model, fine-tuned on a few labelled texts, names the topic of 500 others correctly.

    Args:
        model: pretrained, or fresh for comparison; left unchanged.
        world: the language.
        labels: how many labelled texts.
        seed: which texts, and in what order.
        steps: how many, of 16 texts each, at a learning rate that falls from 1e-3.

    Returns:
        A share, from 0 to 1.

    Source: Devlin et al. 2019, section 4.1, for the classifier on the pooled [CLS].
    """
    tokenizer, device = world.tokenizer(), next(model.parameters()).device
    if (size := tokenizer.get_vocab_size()) != (got := model.config.vocab_size):
        raise ValueError(f"the model must have the small world's vocabulary of {size} tokens; got one of {got}.")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        encoder = BertModel(model.config)
        encoder.load_state_dict(model.state_dict())
        classifier = nn.Linear(model.config.hidden_size, len(world.topics))
        texts, topics = world.topic_examples(10_000 + seed, labels)
        optimizer = torch.optim.AdamW([*encoder.parameters(), *classifier.parameters()], lr=1e-3, fused=True)
        encoder.to(device), classifier.to(device)

        def scores(texts: list[str]) -> Tensor:
            return classifier(encoder(*(tensor.to(device) for tensor in encode_batch(tokenizer, texts))).pooled)

        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 1e-3 * min(1, (step + 1) / 12) * (1 - step / steps)
            chosen = torch.randint(0, labels, (16,)).tolist()
            loss = F.cross_entropy(scores([texts[i] for i in chosen]), topics[chosen].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    texts, topics = world.topic_examples(-4, 500)
    with evaluation_mode(encoder):
        return (scores(texts).argmax(1).cpu() == topics).float().mean().item()

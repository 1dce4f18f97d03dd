"""What a run in the small world is asked at each evaluation."""

from tokenizers import Tokenizer

from bertcourse.bert import BertForPreTraining
from bertcourse.pretraining import SmallWorld, sense_accuracy


class SenseProbe:
    """How well a model tells senses apart, for ``Corpus.probe``.

    Args:
        world: the language.
        tokenizer: of its corpus.
        train, test: how many documents to take the senses' vectors from, and how many to measure on.
    """

    def __init__(self, world: SmallWorld, tokenizer: Tokenizer, train: int = 300, test: int = 150):
        self.world, self.tokenizer, self.sizes = world, tokenizer, (train, test)

    def __call__(self, model: BertForPreTraining) -> dict[str, float]:
        """``{"sense_accuracy": …}``"""
        train, test = (self.world.sense_examples(seed, count) for seed, count in zip((-2, -3), self.sizes))
        return {"sense_accuracy": sense_accuracy(model.bert, self.tokenizer, train, test)}

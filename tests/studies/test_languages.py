"""The languages of the study: the same grammar, and no word in common."""

import pytest
import torch

from bertcourse.bert import BertConfig, BertForPreTraining
from studies import languages


@pytest.fixture(scope="module")
def size() -> int:
    return languages.world()[1].size


def test_another_language_has_other_words_and_the_same_special_tokens(size):
    words = torch.arange(size)
    other = languages.renamed(words, 1)
    assert other[: languages.FIRST].tolist() == words[: languages.FIRST].tolist()
    assert not set(other[languages.FIRST :].tolist()) & set(words.tolist())
    assert languages.renamed(words, 3).max() == languages.FIRST + 4 * (size - languages.FIRST) - 1


def test_each_batch_is_in_one_language_and_the_shares_are_those_of_the_texts(size):
    batches = languages.stream([0.03, 0.01], seed=0)
    found = []
    for _ in range(80):
        masked, rows = next(batches)
        asked = masked.labels[masked.labels >= languages.FIRST]
        ids = torch.cat([rows.input_ids[rows.input_ids >= languages.FIRST], asked])
        [language] = set(((ids - languages.FIRST) // (size - languages.FIRST)).tolist())
        found.append(language)
    assert 0.6 < found.count(0) / len(found) < 0.9


def test_a_model_is_measured_in_each_of_its_languages(size):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=2 * size, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    found = languages.measure(BertForPreTraining(config).eval(), 1, others=[0])
    assert found["mlm_loss"] == pytest.approx(torch.tensor(2.0 * size).log().item(), abs=0.3)
    assert 0.3 < found["senses"] < 0.7 and 0.3 < found["senses_by_another"] < 0.7

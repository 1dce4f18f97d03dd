"""The small world: every document knows its topic and senses, and only the topic decides."""

import random
import tomllib
from importlib import resources

import pytest
import torch

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.pretraining import SmallWorld, nearest_sense_accuracy, sense_accuracy, topic_accuracy
from bertcourse.pretraining.small_world import most_frequent_sense_accuracy
from bertcourse.pretraining.small_world_probes import sense_vectors
from bertcourse_lab.pretraining.sense_probe import SenseProbe


@pytest.fixture(scope="module")
def world() -> SmallWorld:
    return SmallWorld()


@pytest.fixture
def model(world) -> BertForPreTraining:
    sizes = dict(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64
    )
    return BertForPreTraining(BertConfig(vocab_size=world.tokenizer().get_vocab_size(), **sizes))


@pytest.mark.parametrize("sparse", [False, True])
def test_every_word_is_a_token(sparse):
    world = SmallWorld(sparse)
    words = {word for each in world.documents(0, count=300) for sentence in each.sentences for word in sentence}
    assert words <= set(world.vocabulary())
    tokenizer = world.tokenizer()
    encoding = tokenizer.encode(" ".join(sorted(words)))
    assert len(encoding.ids) == len(words) + 2 and 1 not in encoding.ids


def test_the_topic_alone_decides_the_sense(world):
    for document in world.documents(1, count=300):
        for sentence, index, sense in document.senses:
            assert world.senses[document.sentences[sentence][index], document.topic] == sense
        pronouns = {word for each in document.sentences for word in each} & {"he", "she"}
        assert len(pronouns) < 2


def test_a_seed_gives_the_same_documents(world):
    assert list(world.documents(5, count=3)) == list(world.documents(5, count=3)) != list(world.documents(6, count=3))


def test_articles_agree(world):
    sentences = [sentence for each in world.documents(2, count=200) for sentence in each.sentences]
    pairs = [pair for sentence in sentences for pair in zip(sentence, sentence[1:]) if pair[0] in ("a", "an")]
    assert {article for article, _ in pairs} == {"a", "an"}
    assert all((article == "an") == (word[0] in "aeiou") for article, word in pairs)


def test_the_corpus_holds_other_documents_out(world):
    corpus = world.corpus(num_tokens=5000)
    assert 5000 <= len(corpus.train[0].tokens) < 5200
    assert len(corpus.held_out[0].documents) == 601
    first = corpus.held_out[0].tokens[:40].tolist()
    assert first not in [
        corpus.train[0].tokens[i : i + 40].tolist() for i in corpus.train[0].sentences[corpus.train[0].documents[:-1]]
    ]


def test_an_example_of_a_sense_has_its_neighbours(world):
    told = [(each.sentences, *sense) for each in world.documents(0, count=20) for sense in each.senses]
    assert len(told) > 20
    for example, (sentences, number, index, sense) in zip(world.sense_examples(0, 20), told, strict=True):
        assert example.words == sum(sentences[max(0, number - 1) : number + 2], []) and example.sense == sense
        assert example.word == sentences[number][index]


def test_a_model_that_knows_nothing_is_no_better_than_the_most_frequent_sense(world, model):
    train, test = world.sense_examples(1, 200), world.sense_examples(2, 60)
    assert 0.4 < most_frequent_sense_accuracy(train, test) < 0.65
    assert 0.3 < sense_accuracy(model.bert, world.tokenizer(), train, test) < 0.7


def test_a_sense_that_was_seen_alone_is_right(world, model):
    """Each word with one example, which is the test as well: its own vector is the nearest."""
    examples = {example.word: example for example in world.sense_examples(1, 100)}
    assert sense_accuracy(model.bert, world.tokenizer(), list(examples.values()), list(examples.values())) == 1.0


def test_a_word_without_examples_is_named(world, model):
    first, *others = world.sense_examples(1, 100)
    others = [example for example in others if example.word != first.word]
    with pytest.raises(ValueError, match=f"training example; {first.word}"):
        sense_accuracy(model.bert, world.tokenizer(), others, [first])


def test_sense_vectors_are_those_of_the_word(world, model):
    examples = world.sense_examples(1, 20)
    vectors = sense_vectors(model.bert, world.tokenizer(), examples, layers=(0,))
    ids = world.tokenizer().encode(" ".join(examples[3].words)).ids
    embedded = model.bert.embeddings.eval()(torch.tensor([ids]))[0, examples[3].index + 1]
    torch.testing.assert_close(vectors[3], embedded, atol=1e-5, rtol=0)


def test_vectors_of_the_context_are_the_mean_over_the_other_words(world, model):
    examples = world.sense_examples(1, 20)
    vectors = sense_vectors(model.bert, world.tokenizer(), examples, of_context=True)
    example = examples[3]
    ids = torch.tensor([world.tokenizer().encode(" ".join(example.words)).ids])
    with torch.no_grad():
        states = model.bert.eval()(ids).last_hidden_state[0, 1:-1]
    others = [i for i in range(len(example.words)) if i != example.index]
    torch.testing.assert_close(vectors[3], states[others].mean(0), atol=1e-5, rtol=0)


def test_the_nearest_sense_is_the_one_whose_mean_has_the_largest_cosine(world):
    """Means of very different lengths, and vectors that lean to the right one: neither length nor distance decides."""
    train, test = world.sense_examples(1, 300), world.sense_examples(2, 30)
    senses = sorted({example.sense for example in train + test})
    directions, lengths = torch.eye(len(senses)), 1 + 9 * torch.arange(len(senses)).remainder(2)
    means = lengths[:, None] * directions
    in_train, in_test = (torch.tensor([senses.index(example.sense) for example in part]) for part in (train, test))
    assert nearest_sense_accuracy(train, test, means[in_train], directions[in_test] + 0.5) == 1.0
    with pytest.raises(ValueError):
        nearest_sense_accuracy(train, test, means[in_train], directions[in_test][1:])


def test_a_topic_classifier_leaves_the_model_as_it_was(world, model):
    before = {name: tensor.clone() for name, tensor in model.bert.state_dict().items()}
    accuracy = topic_accuracy(model.bert, world, labels=20, steps=3)
    assert 0 <= accuracy < 0.5
    assert all(torch.equal(before[name], tensor) for name, tensor in model.bert.state_dict().items())


def test_the_probe_measures_on_other_documents(world, model):
    probe = SenseProbe(world, world.tokenizer())
    train, test = world.sense_examples(-2, 300), world.sense_examples(-3, 150)
    assert probe(model) == {"sense_accuracy": sense_accuracy(model.bert, probe.tokenizer, train, test)}


def test_topics_are_balanced_by_weight(world):
    file = resources.files("bertcourse.pretraining") / "small_world.toml"
    topics = tomllib.loads(file.read_text(encoding="utf-8"))["topics"]
    weights = torch.tensor([lists["weight"] for lists in topics.values()])
    shares, (_, drawn) = weights / weights.sum(), world.topic_examples(0, 10_000)
    assert ((drawn.bincount(minlength=14) / 1e4 - shares).abs() < 5 * (shares * (1 - shares) / 1e4).sqrt()).all()


def test_the_sparse_world_spreads_its_words():
    rng = random.Random(0)
    counts = {}
    for sparse in (False, True):
        documents = [SmallWorld(sparse).document(rng) for _ in range(100)]
        counts[sparse] = len({word for each in documents for sentence in each.sentences for word in sentence})
    assert counts[True] > counts[False]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_held_out_is_trained_on_by_no_seed(world, seed):
    """To ``random.Random`` a seed and its negative are one."""
    trained = {str(document.sentences) for document in world.documents(seed, count=60)}
    for held_out in range(-7, 0):
        assert trained.isdisjoint(str(document.sentences) for document in world.documents(held_out, count=60))

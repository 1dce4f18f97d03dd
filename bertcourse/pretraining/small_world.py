"""The small world: a language of which everything is known, and which a BERT learns in two minutes on two cores.

A document has a topic and a mood that no sentence names. Its topic decides which things, deeds and places come up, and,
alone, which sense of an ambiguous word is meant: "she sees the bank ." says nothing, the sentences around it do. Its
mood decides between "lovely" and "awful"; its hero's name decides between "he" and "she". To guess a hidden word, a
model must make out all of these; and as they are known, it can be measured how well it does.

In the *sparse* world the words of a topic are spread evenly, and a sentence has fewer of them, so that a topic is
rarely worth making out. The loss falls there too, and the senses never separate: a falling loss says that something is
learned, not what.
"""

import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn

from bertcourse.bert import BertForPreTraining, BertModel, encode_batch
from bertcourse.pretraining.corpus import Corpus
from bertcourse.pretraining.pairs import Documents
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS

# A word in braces is drawn anew each time; SmallWorld.draw says from what.
FIRST_SENTENCES = [
    "{name} is a {role} from {city} .",
    "the {role} from {city} is called {name} .",
    "on {day} {name} came to the {place} in {city} .",
    "{name} works as a {role} for {firm} .",
]
SENTENCES = [
    "{subject} {verb} the {adjective} {thing} .",
    "the {thing} is {adjective} and the {thing} is {adjective} .",
    "the {things} are {adjective} .",
    "{subject} {adverb} {verb} {number} {things} in the {place} .",
    "there is a {adjective} {thing} near the {place} .",
    "{subject} {feels} {his} {thing} .",
    "on {day} {subject} {verb} a {adjective} {thing} .",
    "the {role} {verb} the {thing} , but {other} {verb} the {thing} .",
    "{he} {general_verb} the {thing} because it is {adjective} .",
]
# Two or more words of the topic in each.
DENSE_SENTENCES = [
    "the {role} {verb} the {adjective} {thing} and the {thing} .",
    "the {adjective} {thing} and the {thing} are in the {place} .",
    "{subject} {adverb} {verb} the {thing} with a {thing} .",
]
SPARSE_SENTENCES = [
    "{name} gives the {thing} to {other} .",
    "in {city} the {thing} of {name} is {adjective} .",
    "{number} {things} are in the {place} .",
]
# With an ambiguous word: in words that fit all topics, or beside words of the document's own.
VAGUE_SENTENCES = [
    "{subject} {general_verb} the {word} .",
    "the {word} is {neutral} and {mood_word} .",
    "they talk about the {word} on {day} .",
    "{subject} {adverb} {general_verb} the {neutral} {word} .",
    "this {word} is {neutral} .",
    "{subject} {feels} the {word} .",
    "there is a {neutral} {word} in {city} .",
    "{name} and {other} look at the {word} .",
    "{he} waits near the {word} .",
]
TELLING_SENTENCES = [
    "the {word} is near the {thing} .",
    "{subject} {verb} the {word} in the {place} .",
    "{subject} {general_verb} the {word} and the {thing} .",
    "the {adjective} {word} is behind the {thing} .",
]


@dataclass(frozen=True)
class Document:
    """A text of the small world, and all that is known about it.

    Attributes:
        topic: such as "river".
        is_pleasant: its mood.
        sentences: its words, sentence by sentence.
        senses: (sentence, word, sense) for each ambiguous word.
    """

    topic: str
    is_pleasant: bool
    sentences: list[list[str]]
    senses: list[tuple[int, int, str]]


@dataclass(frozen=True)
class SenseExample:
    """An ambiguous word in a text of up to three sentences.

    Attributes:
        words: the text.
        index: which of the words it is.
        sense: what it means there.
    """

    words: list[str]
    index: int
    sense: str


class SmallWorld:
    """The language: a grammar with latent topic, mood and hero.

    Args:
        sparse: the world in which senses are not learned.

    Source: the idea of a grammar whose latent variables are known is that of Xie et al. 2022, "An Explanation of
    In-context Learning as Implicit Bayesian Inference", section 4.
    """

    def __init__(self, sparse: bool = False):
        words = tomllib.loads(
            (resources.files("bertcourse.pretraining") / "small_world.toml").read_text(encoding="utf-8")
        )
        self.sparse = sparse
        self.common = {name: text.split() for name, text in words["common"].items()}
        self.topics = {
            topic: {name: text.split() for name, text in lists.items() if name != "weight"}
            for topic, lists in words["topics"].items()
        }
        self.weights = [lists["weight"] for lists in words["topics"].values()]
        self.senses = {
            (word, topic): sense
            for word, senses in words["senses"].items()
            for sense, topics in senses.items()
            for topic in topics.split()
        }
        if not sparse:  # fewer words, each the more telling
            most = {"verbs": 6, "adjectives": 6, "places": 2, "roles": 2}
            self.topics = {
                topic: {name: each[: most.get(name)] for name, each in lists.items()}
                for topic, lists in self.topics.items()
            }
            self.sentences = SENTENCES + 2 * DENSE_SENTENCES
        else:
            self.sentences = SENTENCES + SPARSE_SENTENCES
        self.ambiguous = {topic: [word for word, where in self.senses if where == topic] for topic in self.topics}

    def vocabulary(self) -> list[str]:
        """All words of the language, in alphabetical order."""
        lists = [*self.common.values(), *(words for topic in self.topics.values() for words in topic.values())]
        things = [plural(thing) for topic in self.topics.values() for thing in topic["things"]]
        templates = (
            FIRST_SENTENCES + SENTENCES + DENSE_SENTENCES + SPARSE_SENTENCES + VAGUE_SENTENCES + TELLING_SENTENCES
        )
        literal = [word for template in templates for word in template.split() if not word.startswith("{")]
        ambiguous = [word for word, _ in self.senses]
        return sorted(
            {*(word for words in lists for word in words), *things, *literal, *ambiguous, *"an he she his her".split()}
        )

    def tokenizer(self) -> Tokenizer:
        """A BERT tokenizer with a token for each word."""
        tokens = {token: i for i, token in enumerate([*BERT_SPECIAL_TOKENS, *self.vocabulary()])}
        tokenizer = Tokenizer(models.WordPiece(tokens, unk_token="[UNK]"))
        tokenizer.add_special_tokens(list(BERT_SPECIAL_TOKENS))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", tokens["[SEP]"]), ("[CLS]", tokens["[CLS]"]))
        tokenizer.decoder = decoders.WordPiece()
        return tokenizer

    def document(self, rng: random.Random, num_sentences: int | None = None) -> Document:
        """A document; its topic, mood and hero are drawn first.

        Args:
            rng: source of randomness.
            num_sentences: how long; None for 6 to 12.
        """
        topic = rng.choices(list(self.topics), self.weights)[0]
        scene = Scene(self, topic, rng)
        sentences, senses = [], []
        for number in range(num_sentences or rng.randint(6, 12)):
            if number == 0:
                template = rng.choice(FIRST_SENTENCES)
            elif rng.random() < (0.42 if self.sparse else 0.3):
                template = rng.choice(VAGUE_SENTENCES if rng.random() < 0.65 else TELLING_SENTENCES)
            else:
                template = rng.choice(self.sentences)
            words = " ".join(scene.draw(word[1:-1]) if word[0] == "{" else word for word in template.split()).split()
            words = [
                "an" if word == "a" and after[0] in "aeiou" else word for word, after in zip(words, [*words[1:], "."])
            ]
            senses += [
                (number, i, self.senses[word, topic]) for i, word in enumerate(words) if (word, topic) in self.senses
            ]
            sentences.append(words)
        return Document(topic, scene.is_pleasant, sentences, senses)

    def documents(self, seed: int, num_tokens: int = 0, count: int = 0) -> Iterator[Document]:
        """Documents until there are ``count`` of them and ``num_tokens`` words in them.

        Those held out have seeds below 0. To ``random.Random`` -1 and 1 are one seed; so others are moved out of the
        way.
        """
        rng = random.Random(seed if seed <= 0 else seed << 32)
        made = tokens = 0
        while made < count or tokens < num_tokens:
            document = self.document(rng)
            made, tokens = made + 1, tokens + sum(map(len, document.sentences))
            yield document

    def corpus(self, num_tokens: int = 1_500_000, seed: int = 0) -> Corpus:
        """A corpus to train on, 600 other documents held out, and the accuracy on senses as its probe.

        Args:
            num_tokens: words to train on.
            seed: of the documents to train on; those held out and probed are always the same.
        """
        tokenizer = self.tokenizer()
        ids = tokenizer.get_vocab()

        def encoded(documents: Iterator[Document]) -> Documents:
            return Documents.of(
                [[[ids[word] for word in sentence] for sentence in each.sentences] for each in documents]
            )

        train, held_out = self.documents(seed, num_tokens=num_tokens), self.documents(-1, count=600)
        return Corpus([encoded(train)], [encoded(held_out)], tokenizer, SenseProbe(self, tokenizer))

    def sense_examples(self, seed: int, count: int) -> list[SenseExample]:
        """Ambiguous words in ``count`` documents, each with the sentence before and after its own."""
        examples = []
        for document in self.documents(seed, count=count):
            for sentence, index, sense in document.senses:
                first = max(0, sentence - 1)
                before = sum(map(len, document.sentences[first:sentence]))
                words = [word for each in document.sentences[first : sentence + 2] for word in each]
                examples.append(SenseExample(words, before + index, sense))
        return examples

    def topic_examples(self, seed: int, count: int) -> tuple[list[str], Tensor]:
        """Texts of two sentences, and their topics as (count,) numbers."""
        rng, topics = random.Random(seed), list(self.topics)
        documents = [self.document(rng, num_sentences=4) for _ in range(count)]
        texts = [" ".join(word for sentence in each.sentences[1:3] for word in sentence) for each in documents]
        return texts, torch.tensor([topics.index(each.topic) for each in documents])


class Scene:
    """What stays the same throughout a document: hero, place, mood, and the things that it keeps coming back to.

    Args:
        world: the language.
        topic: of the document.
        rng: source of randomness.
    """

    def __init__(self, world: SmallWorld, topic: str, rng: random.Random):
        self.rng, self.common, self.topic = rng, world.common, world.topics[topic]
        choice, things = rng.choice, self.topic["things"]
        self.is_pleasant = rng.random() < 0.5
        is_woman = rng.random() < 0.5
        name, role = choice(self.common["women" if is_woman else "men"]), choice(self.topic["roles"])
        self.fixed = {
            "name": name,
            "he": "she" if is_woman else "he",
            "his": "her" if is_woman else "his",
            "role": role,
            "other": choice(self.common["women"] + self.common["men"]),
            "city": choice(self.common["cities"]),
            "firm": choice(self.common["firms"]),
            "place": choice(self.topic["places"]),
        }
        he = self.fixed["he"]
        # Half of a dense document's subjects are "the banker": a word of its topic.
        self.subjects = [name, he, he, role, self.fixed["other"]] if world.sparse else [name, he, role, role]
        # Zipf's law holds in the dense world, so that a topic has words that give it away.
        self.thing_weights = None if world.sparse else [1 / (rank + 2) for rank in range(len(things))]
        self.focus = (
            rng.sample(things, 4) if world.sparse else list(dict.fromkeys(rng.choices(things, self.thing_weights, k=5)))
        )
        self.words = rng.sample(world.ambiguous[topic], min(2, len(world.ambiguous[topic])))

    def draw(self, field: str) -> str:
        """A word for a field of a template."""
        if field in self.fixed:
            return self.fixed[field]
        rng, choice, common = self.rng, self.rng.choice, self.common
        match field:
            case "subject":
                subject = choice(self.subjects)
                return f"the {subject}" if subject == self.fixed["role"] else subject
            case "thing":
                return (
                    choice(self.focus)
                    if rng.random() < 0.6
                    else rng.choices(self.topic["things"], self.thing_weights)[0]
                )
            case "things":
                return plural(self.draw("thing"))
            case "verb":
                return choice(self.topic["verbs"] if rng.random() < 0.7 else common["general_verbs"])
            case "adjective":
                dice = rng.random()
                return (
                    self.draw("mood_word")
                    if dice < 0.35
                    else choice(self.topic["adjectives"] if dice < 0.75 else common["neutral"])
                )
            case "adverb":
                mood = "pleasantly" if self.is_pleasant else "unpleasantly"
                return choice(common[mood if rng.random() < 0.5 else "neutrally"])
            case "mood_word":
                return choice(common["pleasant" if self.is_pleasant else "unpleasant"])
            case "feels":
                return choice(common["likes" if self.is_pleasant else "dislikes"])
            case "word":
                return choice(self.words)
        return choice(common[{"day": "days", "number": "numbers", "general_verb": "general_verbs"}.get(field, field)])


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


def plural(noun: str) -> str:
    """More than one.

    >>> plural("witness"), plural("loan")
    ('witnesses', 'loans')
    """
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


@torch.inference_mode()
def sense_vectors(
    model: BertModel, tokenizer: Tokenizer, examples: Sequence[SenseExample], layers: Sequence[int] = (-1,)
) -> Tensor:
    """The vector of each example's word: the sum of the given layers at its token.

    The last layer alone by default: of these four-layer models some know the sense in layer 1, some not before layer 4.

    Args:
        model, tokenizer: what to ask.
        examples: N of them.
        layers: which hidden states to add up, 0 the embeddings; those that a shallower model lacks are left out.

    Returns:
        (N, D).
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    vectors = []
    for start in range(0, len(examples), 128):
        some = examples[start : start + 128]
        batch = encode_batch(tokenizer, [" ".join(example.words) for example in some])
        states = model(*(tensor.to(device) for tensor in batch), output_hidden_states=True).hidden_states
        total = sum(states[layer] for layer in layers if -len(states) <= layer < len(states))
        vectors.append(total[torch.arange(len(some)), [example.index + 1 for example in some]].cpu())  # after [CLS]
    model.train(was_training)
    return torch.cat(vectors)


def sense_accuracy(
    model: BertModel,
    tokenizer: Tokenizer,
    train: Sequence[SenseExample],
    test: Sequence[SenseExample],
    layers: Sequence[int] = (-1,),
) -> float:
    """How often the nearest sense is the right one: each sense of a word is the mean of its vectors, near is cosine.

    Args:
        model, tokenizer: what to ask.
        train, test: labelled examples; every word of ``test`` is in ``train``.
        layers: as for ``sense_vectors``.

    Returns:
        A share, from 0 to 1.

    Raises:
        ValueError: if a word of ``test`` is not in ``train``.

    Source: Melamud et al. 2016, "context2vec", and Peters et al. 2018, section 5.3, for the nearest-neighbour rule.
    """
    check_words(train, test)
    train_vectors, test_vectors = (sense_vectors(model, tokenizer, examples, layers) for examples in (train, test))
    places: dict[str, dict[str, list[int]]] = {}
    for i, example in enumerate(train):
        places.setdefault(example.words[example.index], {}).setdefault(example.sense, []).append(i)
    centres = {
        word: (list(senses), F.normalize(torch.stack([train_vectors[at].mean(0) for at in senses.values()]), dim=1))
        for word, senses in places.items()
    }
    right = 0
    for example, vector in zip(test, test_vectors):
        senses, vectors = centres[example.words[example.index]]
        right += senses[int((vectors @ vector).argmax())] == example.sense
    return right / len(test)


def most_frequent_sense_accuracy(train: Sequence[SenseExample], test: Sequence[SenseExample]) -> float:
    """How often a word's most frequent sense is the right one; arguments and errors as for ``sense_accuracy``."""
    check_words(train, test)
    counts: dict[str, dict[str, int]] = {}
    for example in train:
        senses = counts.setdefault(example.words[example.index], {})
        senses[example.sense] = senses.get(example.sense, 0) + 1
    best = {word: max(senses, key=senses.get) for word, senses in counts.items()}
    return sum(best[example.words[example.index]] == example.sense for example in test) / len(test)


def check_words(train: Sequence[SenseExample], test: Sequence[SenseExample]) -> None:
    """Refuse test words without an example to learn from.

    Raises:
        ValueError: naming one.
    """
    known = {example.words[example.index] for example in train}
    for example in test:
        if (word := example.words[example.index]) not in known:
            raise ValueError(
                f"every word of the test must be in the training examples; {word} is not. Give more of them."
            )


def topic_accuracy(model: BertModel, world: SmallWorld, labels: int = 50, seed: int = 0, steps: int = 200) -> float:
    """A copy of the model fine-tuned to name a text's topic, from few labelled texts, measured on 500 others.

    Args:
        model: pretrained, or fresh for comparison; left as it is.
        world: the language.
        labels: how many labelled texts.
        seed: which, and in what order.
        steps: of 16 texts each, at a learning rate that falls from 1e-3.

    Returns:
        A share, from 0 to 1.

    Raises:
        ValueError: if the model's vocabulary is not the world's.

    Source: Devlin et al. 2019, section 4.1, for the classifier on the pooled [CLS].
    """
    device, size = next(model.parameters()).device, world.tokenizer().get_vocab_size()
    if model.config.vocab_size != size:
        raise ValueError(
            f"the model must have the small world's vocabulary of {size} tokens; got {model.config.vocab_size}."
        )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        encoder = BertModel(model.config)
        encoder.load_state_dict(model.state_dict())
        classifier = nn.Linear(model.config.hidden_size, len(world.topics))
        tokenizer = world.tokenizer()
        texts, topics = world.topic_examples(10_000 + seed, labels)
        optimizer = torch.optim.AdamW([*encoder.parameters(), *classifier.parameters()], lr=1e-3, fused=True)
        encoder.to(device).train(), classifier.to(device)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 1e-3 * min(1, (step + 1) / 12) * (1 - step / steps)
            chosen = torch.randint(0, labels, (16,)).tolist()
            batch = encode_batch(tokenizer, [texts[i] for i in chosen])
            logits = classifier(encoder(*(tensor.to(device) for tensor in batch)).pooled)
            optimizer.zero_grad()
            F.cross_entropy(logits, topics[chosen].to(device)).backward()
            optimizer.step()
        encoder.eval()
        texts, topics = world.topic_examples(-4, 500)
        with torch.inference_mode():
            logits = classifier(encoder(*(tensor.to(device) for tensor in encode_batch(tokenizer, texts))).pooled)
        return (logits.argmax(1).cpu() == topics).float().mean().item()

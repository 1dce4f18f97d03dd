"""Chapter 4: the small world, a language we know everything about; a BERT learns it in two minutes on two cores.

A document has a topic and a mood that no sentence names. Its topic decides which things, deeds and places come up and,
on its own, which sense of an ambiguous word is meant: "she sees the bank ." does not tell, but the sentences around it
do. Its mood decides between "lovely" and "awful"; its hero's name decides between "he" and "she". To guess a hidden
word, a model must infer all of these; and because they are known, we can measure how well it does.

In the *sparse* world the words of a topic are evenly distributed and a sentence has fewer of them, so that it rarely
pays to infer the topic. The loss falls there too, yet the senses never separate: a falling loss says that something is
being learned, not what.
"""

import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.pretraining.corpus import Corpus, Documents
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, WordPieceTokenizer

# Each word in braces is replaced by a word drawn at random; Scene.draw says from what.
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
# Each has two or more words of the topic.
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
# These have an ambiguous word: vague ones among words that fit any topic, telling ones beside words of the document's.
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
    """A text of the small world, and everything that is known about it.

    Attributes:
        topic: such as "river".
        is_pleasant: whether its mood is pleasant.
        sentences: its words, sentence by sentence.
        senses: (sentence, word, sense) for each ambiguous word.
    """

    topic: str
    is_pleasant: bool
    sentences: list[list[str]]
    senses: list[tuple[int, int, str]]


@dataclass(frozen=True)
class AmbiguousWord:
    """An ambiguous word in a text of up to three sentences.

    Attributes:
        words: the text.
        index: which of the words it is.
        sense: what it means there.
    """

    words: list[str]
    index: int
    sense: str

    @property
    def word(self) -> str:
        """The word itself."""
        return self.words[self.index]


class SmallWorld:
    """The language: a grammar with latent topic, mood and hero.

    Args:
        sparse: True for the world in which senses are not learned.

    Source: the idea of a grammar with known latent variables is from Xie et al. 2022, "An Explanation of In-context
    Learning as Implicit Bayesian Inference", section 4.
    """

    def __init__(self, sparse: bool = False):
        file = resources.files("bertcourse.pretraining") / "small_world.toml"
        words = tomllib.loads(file.read_text(encoding="utf-8"))
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
        self.ambiguous = {topic: [word for word, where in self.senses if where == topic] for topic in self.topics}
        if sparse:
            self.sentences = SENTENCES + SPARSE_SENTENCES
        else:
            self.sentences = SENTENCES + 2 * DENSE_SENTENCES
            most = {"verbs": 6, "adjectives": 6, "places": 2, "roles": 2}  # fewer words, so that each tells more
            for lists in self.topics.values():
                lists |= {name: lists[name][:count] for name, count in most.items()}

    def vocabulary(self) -> list[str]:
        """All words of the language, in alphabetical order."""
        lists = [*self.common.values(), *(words for topic in self.topics.values() for words in topic.values())]
        words = {word for each in lists for word in each}
        words |= {plural(thing) for topic in self.topics.values() for thing in topic["things"]}
        words |= {word for word, _ in self.senses}
        frames = FIRST_SENTENCES + SENTENCES + DENSE_SENTENCES + SPARSE_SENTENCES + VAGUE_SENTENCES + TELLING_SENTENCES
        words |= {word for frame in frames for word in frame.split() if word[0] != "{"}
        return sorted(words | {"an", "he", "she", "his", "her"})

    def tokenizer(self) -> Tokenizer:
        """A BERT tokenizer with a token for each word."""
        return WordPieceTokenizer([*BERT_SPECIAL_TOKENS, *self.vocabulary()]).to_tokenizers()

    def document(self, rng: random.Random, num_sentences: int | None = None) -> Document:
        """A document; its topic, mood and hero are drawn first.

        Args:
            rng: source of randomness.
            num_sentences: its length; None for 6 to 12.
        """
        topic = rng.choices(list(self.topics), self.weights)[0]
        scene = Scene(self, topic, rng)
        sentences, senses = [], []
        for number in range(num_sentences or rng.randint(6, 12)):
            if number == 0:
                frame = rng.choice(FIRST_SENTENCES)
            elif rng.random() < (0.42 if self.sparse else 0.3):
                frame = rng.choice(VAGUE_SENTENCES if rng.random() < 0.65 else TELLING_SENTENCES)
            else:
                frame = rng.choice(self.sentences)
            words = scene.sentence(frame)
            senses += [
                (number, i, self.senses[word, topic]) for i, word in enumerate(words) if (word, topic) in self.senses
            ]
            sentences.append(words)
        return Document(topic, scene.is_pleasant, sentences, senses)

    def documents(self, seed: int, num_tokens: int = 0, count: int = 0) -> Iterator[Document]:
        """Documents, until there are at least ``count`` of them and ``num_tokens`` words in all.

        Held-out documents have seeds below 0. To ``random.Random``, -1 and 1 are the same seed, so positive seeds are
        moved out of the way.
        """
        rng = random.Random(seed if seed <= 0 else seed << 32)
        made = tokens = 0
        while made < count or tokens < num_tokens:
            document = self.document(rng)
            made, tokens = made + 1, tokens + sum(map(len, document.sentences))
            yield document

    def corpus(self, num_tokens: int = 1_500_000, seed: int = 0) -> Corpus:
        """A corpus: documents to train on, and 600 others held out.

        Args:
            num_tokens: words to train on.
            seed: of the documents to train on; those held out are always the same.
        """
        tokenizer = self.tokenizer()
        ids = tokenizer.get_vocab()

        def encoded(documents: Iterator[Document]) -> Documents:
            return Documents.of(
                [[[ids[word] for word in sentence] for sentence in each.sentences] for each in documents]
            )

        train, held_out = self.documents(seed, num_tokens=num_tokens), self.documents(-1, count=600)
        return Corpus([encoded(train)], [encoded(held_out)], tokenizer)

    def sense_examples(self, seed: int, count: int) -> list[AmbiguousWord]:
        """Ambiguous words in ``count`` documents, each with the sentences before and after its own."""
        examples = []
        for document in self.documents(seed, count=count):
            for sentence, index, sense in document.senses:
                first = max(0, sentence - 1)
                before = sum(map(len, document.sentences[first:sentence]))
                words = [word for each in document.sentences[first : sentence + 2] for word in each]
                examples.append(AmbiguousWord(words, before + index, sense))
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
        he = "she" if is_woman else "he"
        self.fixed = {
            "name": name,
            "he": he,
            "his": "her" if is_woman else "his",
            "role": role,
            "other": choice(self.common["women"] + self.common["men"]),
            "city": choice(self.common["cities"]),
            "firm": choice(self.common["firms"]),
            "place": choice(self.topic["places"]),
        }
        if world.sparse:
            self.subjects = [name, he, he, role, self.fixed["other"]]
            self.thing_weights = None
            self.focus = rng.sample(things, 4)
        else:  # half of the subjects are, say, "the banker", a topic word; and by Zipf's law some things give it away
            self.subjects = [name, he, role, role]
            self.thing_weights = [1 / (rank + 2) for rank in range(len(things))]
            self.focus = list(dict.fromkeys(rng.choices(things, self.thing_weights, k=5)))
        self.words = rng.sample(world.ambiguous[topic], min(2, len(world.ambiguous[topic])))

    def sentence(self, frame: str) -> list[str]:
        """The words of a sentence, with a word drawn for each field of the frame."""
        words = " ".join(self.draw(word[1:-1]) if word[0] == "{" else word for word in frame.split()).split()
        return ["an" if word == "a" and after[0] in "aeiou" else word for word, after in zip(words, [*words[1:], "."])]

    def draw(self, field: str) -> str:
        """A word for a field of a frame."""
        if field in self.fixed:
            return self.fixed[field]
        common, topic, choice, chance = self.common, self.topic, self.rng.choice, self.rng.random
        match field:
            case "subject":
                subject = choice(self.subjects)
                return f"the {subject}" if subject == self.fixed["role"] else subject
            case "thing":
                return (
                    choice(self.focus) if chance() < 0.6 else self.rng.choices(topic["things"], self.thing_weights)[0]
                )
            case "things":
                return plural(self.draw("thing"))
            case "verb":
                return choice(topic["verbs"] if chance() < 0.7 else common["general_verbs"])
            case "adjective":
                if (dice := chance()) < 0.35:
                    return self.draw("mood_word")
                return choice(topic["adjectives"] if dice < 0.75 else common["neutral"])
            case "adverb":
                mood = "pleasantly" if self.is_pleasant else "unpleasantly"
                return choice(common[mood if chance() < 0.5 else "neutrally"])
            case "mood_word":
                return choice(common["pleasant" if self.is_pleasant else "unpleasant"])
            case "feels":
                return choice(common["likes" if self.is_pleasant else "dislikes"])
            case "word":
                return choice(self.words)
        return choice(common[{"day": "days", "number": "numbers", "general_verb": "general_verbs"}.get(field, field)])


def plural(noun: str) -> str:
    """The plural of a noun by the commonest rule, which makes *wolfs* and *jurys*, too: in this world they are right.

    >>> plural("witness"), plural("loan")
    ('witnesses', 'loans')
    """
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def most_frequent_sense_accuracy(train: Sequence[AmbiguousWord], test: Sequence[AmbiguousWord]) -> float:
    """How often a word's most frequent sense in ``train`` is the right one in ``test``: this needs no model."""
    check_words(train, test)
    counts: dict[str, Counter] = {}
    for example in train:
        counts.setdefault(example.word, Counter())[example.sense] += 1
    return sum(counts[example.word].most_common(1)[0][0] == example.sense for example in test) / len(test)


def check_words(train: Sequence[AmbiguousWord], test: Sequence[AmbiguousWord]) -> None:
    """Refuse test words that have no training example."""
    if missing := sorted({example.word for example in test} - {example.word for example in train}):
        raise ValueError(f"every word of the test must have a training example; {missing[0]} has none. Give more.")

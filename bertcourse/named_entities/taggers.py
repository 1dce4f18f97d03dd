"""Chapter 8: a tag for each word, from the vectors of its tokens: softmax(W · h_i + b), K × D + K numbers.

The page defines ``token_tags`` and ``TokenClassifier``, which lecture 7's ``fine_tune`` trains; what a tagger does
besides is in ``TagHead``.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bertcourse.bert import BertModel
from bertcourse.bert.batching import whole_texts
from bertcourse.bert.windows import make_windows
from bertcourse.fine_tuning.heads import Head, Row, check_labels
from bertcourse.fine_tuning.readers import check_examples
from bertcourse.named_entities.conll import TaggedSentence
from bertcourse.named_entities.decoding import steps, viterbi
from bertcourse.named_entities.scores import tagging_scores
from bertcourse.tokenization.encoding import check_text


def token_tags(word_ids: Sequence[int | None], tags: Sequence[str]) -> list[str | None]:
    """A tag for each token of a sentence, None for [CLS] and [SEP]: the tokens of a word are tagged like the words of
    an entity, so that B-LOC becomes B-LOC I-LOC.

    Args:
        word_ids: for each token the index of its word, None for special tokens.
        tags: one per word.

    >>> token_tags([None, 0, 0, 1, None], ["B-LOC", "O"])
    [None, 'B-LOC', 'I-LOC', 'O', None]
    """
    result, before = [], None
    for word in word_ids:
        tag = None if word is None else tags[word]
        if tag and word == before and tag.startswith("B-"):
            tag = "I" + tag[1:]
        result.append(tag)
        before = word
    return result


class TagHead(Head):
    """A head that says something about each word: all of it that is not its layers.

    A sentence that is too long is read in overlapping windows; each word's scores are from the window with most text on
    both sides of it. A word that gives no token is read as [UNK].

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``.
        labels: the K tags, such as ``tags.tag_set`` makes.
    """

    hugging_face_class = "BertForTokenClassification"

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        self.labels = check_labels(labels)
        self.bert.pooler = None

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Row]:
        """Sentences of words as rows without targets; ``places`` are indices of words. One without words has no row."""
        sentences = readable_words(self.tokenizer, sentences)
        everything = [range(len(words)) for words in sentences]
        windows = make_windows(self.tokenizer, sentences, everything, self.max_length, (self.max_length - 2) // 2)
        words_before = [0]
        for words in sentences:
            words_before.append(words_before[-1] + len(words))
        rows = []
        for window in windows:
            places: list[int | None] = [None] * len(window.ids)
            for number, (first, end) in zip(window.rows, window.spans):
                places[first:end] = [number - words_before[window.sentence]] * (end - first)
            rows.append(Row(window.ids, [0] * len(places), window.sentence, places))
        return rows

    def rows(self, examples: Sequence[TaggedSentence]) -> list[Row]:
        """Examples as rows, each with the index of each token's tag; -100, which no loss counts, for those without."""
        check_tags(examples, self.labels)
        index = {None: -100, **{tag: number for number, tag in enumerate(self.labels)}}
        rows = self.encode([example.words for example in examples])
        return [
            row._replace(target=[index[tag] for tag in token_tags(row.places, examples[row.source].tags)])
            for row in rows
        ]

    def word_scores(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """For each sentence of words the scores (words, K), those of each word's first token."""
        return self.first_scores(self.encode(sentences), len(sentences))

    def first_scores(self, rows: Sequence[Row], count: int) -> list[Tensor]:
        """The scores of ``count`` sentences, given the rows of all of them."""
        results = [torch.empty(0, len(self.labels))] * count
        for row, logits in zip(rows, self.logits(rows)):  # the windows of a sentence come one after another
            first = [i for i, word in enumerate(row.places) if word is not None and word != row.places[i - 1]]
            results[row.source] = torch.cat([results[row.source], logits[first]])
        return results

    def tags(self, rows: Sequence[Row], lengths: Sequence[int]) -> list[list[str]]:
        """The tags of sentences of ``lengths`` words, given the rows of all these sentences."""
        start, step = steps(self.labels)
        scores = self.first_scores(rows, len(lengths))
        return [[self.labels[tag] for tag in viterbi(each, start, step)] if len(each) else [] for each in scores]

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """For each sentence of words its tags, the best sequence that BIO allows."""
        return self.tags(self.encode(sentences), [len(words) for words in sentences])

    def measure(self, examples: Sequence[TaggedSentence], rows: Sequence[Row]) -> dict[str, float]:
        """F1, precision and recall of entities, and accuracy of words, in percent; ``rows`` are the examples'."""
        return tagging_scores(examples, self.tags(rows, [len(example.words) for example in examples]))


class TokenClassifier(TagHead):
    """BERT with a linear map on top: a tag for each word, such as B-PER.

    Args:
        encoder, tokenizer, labels, options: as for ``TagHead``.

    Source: Devlin et al. 2019, section 5.3 and figure 4 (d).
    """

    def __init__(self, encoder: BertModel, tokenizer: Tokenizer, labels: Sequence[str], **options: object):
        super().__init__(encoder, tokenizer, labels, **options)
        (self.classifier,) = self.new_layers(len(labels))

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, L, K) scores; arguments (B, L) as for ``BertModel.forward``."""
        output = self.bert(input_ids, attention_mask, token_type_ids)
        return self.classifier(self.dropout(output.last_hidden_state))

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean cross-entropy of a batch over the tokens that have a tag."""
        scores = self(*self.batch(rows))
        answers = [torch.tensor(row.target, device=scores.device) for row in rows]
        answers = pad_sequence(answers, batch_first=True, padding_value=-100)
        return F.cross_entropy(scores.flatten(0, 1), answers.flatten())


def readable_words(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The sentences, with [UNK] for every word that gives no token, such as a lone control character."""
    check_sentences(sentences)
    sentences = [list(words) for words in sentences]
    encodings = whole_texts(tokenizer).encode_batch(sentences, is_pretokenized=True, add_special_tokens=False)
    for words, encoding in zip(sentences, encodings):
        for index in set(range(len(words))) - set(encoding.word_ids):
            words[index] = "[UNK]"
    return sentences


def check_sentences(sentences: Sequence[Sequence[str]]) -> None:
    """Refuse anything but a list of lists of words: a string would be read letter by letter, a generator only once."""
    for each in (sentences, *sentences) if isinstance(sentences, Sequence) else [sentences]:
        if not isinstance(each, Sequence | np.ndarray):
            raise TypeError(f'sentences must be lists of words, such as [["a", "word"]]; got {type(each).__name__}.')
    if isinstance(sentences, str) or any(isinstance(sentence, str) for sentence in sentences):
        raise ValueError('sentences must be lists of words, such as [["a", "word"]]; got a string. Split it.')
    for number, sentence in enumerate(sentences):
        for word in sentence:
            check_text(word, f"every word of sentence {number}")


def check_tags(examples: Sequence[TaggedSentence], labels: Sequence[str], further_tokens: bool = True) -> None:
    """Refuse sentences whose tags do not match their words, or are not among the labels; nor may the tags of a word's
    further tokens be missing there, if these have any."""
    check_examples(examples, TaggedSentence)
    for number, example in enumerate(examples):
        if len(example.words) != len(example.tags):
            raise ValueError(
                f"sentence {number} must have a tag for each word; got {len(example.words)} words and "
                f"{len(example.tags)} tags: {' '.join(example.words)[:80]!r}."
            )
        needed = {tag for each in example.tags for tag in token_tags([0, 0][: 1 + further_tokens], [each])}
        if unknown := needed - set(labels):
            raise ValueError(
                f"sentence {number}: a tag must be one of {', '.join(labels)}; got {', '.join(sorted(unknown))}. "
                "Make the tagger with all labels, as tag_set does."
            )

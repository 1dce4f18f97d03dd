"""Chapter 8: a tag for each word, from the vector of its first token: softmax(W · h_i), K × D numbers.

Devlin et al. 2019, section 5.3. ``crf`` takes care of sequences that a notation forbids.
"""

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel
from bertcourse.bert.batching import whole_texts
from bertcourse.bert.windows import make_windows
from bertcourse.fine_tuning.heads import Head, Row, check_labels
from bertcourse.fine_tuning.readers import check_examples
from bertcourse.named_entities.conll import TaggedSentence
from bertcourse.named_entities.crf import TagDecoder
from bertcourse.named_entities.scores import tagging_scores
from bertcourse.named_entities.subwords import subword_tags, word_spans, word_tags
from bertcourse.named_entities.tags import entity_types, tag_set
from bertcourse.word_senses.vectors import check_sentences


class TokenClassifier(Head):
    """A tag for each word, such as B-PER, from the vectors of its tokens.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``Head``. A longer sentence is read in overlapping
            windows; each word's scores are from the window with most text on both sides of it. A word that gives no
            token is read as [UNK].
        labels: the K tags, as ``tags.tag_set`` makes them.
        subwords: "first", "all" or "copy": which tokens of a word have a tag, and which tag; see ``subwords``.
        decoder: "argmax" takes the best tag of each token by itself; "viterbi" takes the best sequence of tags that
            ``scheme`` allows for the sentence's tokens; "crf" also learns which tag follows which (in a long sentence,
            window by window). A word has the tag of its first token; so with subwords "all" or "copy" a sequence that
            is allowed for tokens may now and then not be allowed for words.
        scheme: notation of the labels, one of ``tags.SCHEMES``.
        capitals: whether words that start with a capital are read as segment B, and all others as segment A. An
            uncased tokenizer drops capitals, and a single sentence does not need segments, so segments can stand for
            capitals. Fine-tuning learns what segment B now means.

    Source: Devlin et al. 2019, section 5.3 and figure 4 (d); Lample et al. 2016 for the CRF.
    """

    hugging_face_class = "BertForTokenClassification"

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        subwords: str = "first",
        decoder: str = "argmax",
        scheme: str = "BIO",
        capitals: bool = False,
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        if capitals and self.config.type_vocab_size < 2:
            raise ValueError("capitals need an encoder with two segments; this one has type_vocab_size 1.")
        self.capitals = capitals
        subword_tags([], [], subwords)  # refuses an unknown value
        self.labels, self.subwords = check_labels(labels), subwords
        self.bert.pooler = None
        (self.classifier,) = self.new_layers(len(self.labels))
        self.decoder = TagDecoder(self.labels, decoder, scheme)
        if subwords == "all" and (missing := set(tag_set(entity_types(self.labels), scheme)) - set(self.labels)):
            raise ValueError(
                f'labels must be all of tag_set(types, "{scheme}") for subwords "all"; {sorted(missing)} missing.'
            )
        if subwords == "copy" and scheme == "BIOES" and decoder != "argmax":
            raise ValueError(
                'subwords "copy" gives a long word E- several times, which BIOES does not allow; got decoder '
                f'{decoder!r}. Take decoder "argmax", subwords "all", or scheme "BIO".'
            )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, L, K) logits; arguments (B, L) as for ``BertModel.forward``."""
        return self.classifier(self.dropout(self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state))

    def options(self) -> dict:
        """See ``Head``."""
        return {
            **super().options(),
            "subwords": self.subwords,
            "decoder": self.decoder.kind,
            "scheme": self.decoder.scheme,
            "capitals": self.capitals,
        }

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Row]:
        """Sentences of words as rows without targets; ``places`` are indices of words."""
        written, sentences = sentences, readable_words(self.tokenizer, sentences)
        everything = [range(len(words)) for words in sentences]
        windows = make_windows(self.tokenizer, sentences, everything, self.max_length, (self.max_length - 2) // 2)
        word_of = [(source, word) for source, words in enumerate(sentences) for word in range(len(words))]
        rows = []
        for window in windows:
            places: list[int | None] = [None] * len(window.ids)
            for number, (first, end) in zip(window.rows, window.spans):
                source, word = word_of[number]
                places[first:end] = [word] * (end - first)
            capital = [self.capitals and place is not None and written[source][place][:1].isupper() for place in places]
            rows.append(Row(window.ids, list(map(int, capital)), source, places))
        return rows

    def rows(self, examples: Sequence[TaggedSentence]) -> list[Row]:
        """Examples as rows, each with the indices of its tags."""
        check_tags(examples, self.labels)
        rows = []
        for row in self.encode([example.words for example in examples]):
            tags = subword_tags(row.places, examples[row.source].tags, self.subwords)
            rows.append(row._replace(target=[self.labels.index(tag) for tag in tags if tag is not None]))
        return rows

    def positions(self, row: Row) -> list[int]:
        """The tokens of a row that have a tag."""
        return [
            i
            for first, end in word_spans(row.places)
            for i in range(first, first + 1 if self.subwords == "first" else end)
        ]

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean loss of a batch over the tokens that have a tag; see ``crf.TagDecoder.loss``."""
        logits = self(*self.batch(rows))
        where = [number * logits.shape[1] + i for number, row in enumerate(rows) for i in self.positions(row)]
        emissions = logits.flatten(0, 1)[where].split([len(row.target) for row in rows])
        return self.decoder.loss(emissions, [row.target for row in rows])

    def tags(self, rows: Sequence[Row], lengths: Sequence[int]) -> list[list[str]]:
        """The tags of sentences of ``lengths`` words, given the rows of all these sentences."""
        results = [["O"] * length for length in lengths]
        words: dict[int, list[int]] = {}
        emissions: dict[int, list[Tensor]] = {}
        for row, scores in zip(rows, self.logits(rows)):  # the windows of a sentence come one after another
            where = self.positions(row)
            words.setdefault(row.source, []).extend(row.places[i] for i in where)
            emissions.setdefault(row.source, []).append(scores[where])
        sequences = self.decoder([torch.cat(parts) for parts in emissions.values()]) if rows else []
        for source, found in zip(emissions, sequences):
            for word, tag in zip(dict.fromkeys(words[source]), word_tags(words[source], found)):
                results[source][word] = tag
        return results

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """For each sentence of words its tags."""
        return self.tags(self.encode(sentences), [len(words) for words in sentences])

    def measure(self, examples: Sequence[TaggedSentence], rows: Sequence[Row]) -> dict[str, float]:
        """F1, precision and recall of entities, and accuracy of words, in percent; ``rows`` are the examples'."""
        return tagging_scores(examples, self.tags(rows, [len(example.words) for example in examples]))


def readable_words(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The sentences, with [UNK] for every word that gives no token, such as a lone control character."""
    check_sentences("sentences", sentences)
    sentences = [list(words) for words in sentences]
    encodings = whole_texts(tokenizer).encode_batch(sentences, is_pretokenized=True, add_special_tokens=False)
    for words, encoding in zip(sentences, encodings):
        for index in set(range(len(words))) - set(encoding.word_ids):
            words[index] = "[UNK]"
    return sentences


def check_tags(examples: Sequence[TaggedSentence], labels: Sequence[str]) -> None:
    """Refuse sentences whose tags do not match their words, or are not among the labels."""
    check_examples(examples, TaggedSentence)
    for number, example in enumerate(examples):
        if len(example.words) != len(example.tags):
            raise ValueError(
                f"sentence {number} must have a tag for each word; got {len(example.words)} words and "
                f"{len(example.tags)} tags: {' '.join(example.words)[:80]!r}."
            )
        if unknown := set(example.tags) - set(labels):
            raise ValueError(
                f"sentence {number}: a tag must be one of {', '.join(labels)}; got {', '.join(sorted(unknown))}. "
                "Convert the tags with convert_tags, or make the tagger with all labels."
            )

"""A tagger with a choice of rules for subwords, of decoders, and of capitals: what lecture 8's tables compare."""

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel
from bertcourse.fine_tuning.heads import Row
from bertcourse.named_entities import TaggedSentence, TokenClassifier, tag_set
from bertcourse.named_entities.taggers import check_tags
from bertcourse_lab.named_entities.decoding import TagDecoder
from bertcourse_lab.named_entities.subwords import subword_tags, word_spans, word_tags


class Tagger(TokenClassifier):
    """A tag for each word, such as B-PER, from the vectors of its tokens.

    Args:
        encoder, tokenizer, max_length, dropout, seed: as for ``TagHead``.
        labels: the K tags, as ``tag_set`` makes them.
        subwords: "first", "all" or "copy": which tokens of a word have a tag, and which tag; see ``subwords``.
        decoder: "argmax" takes the best tag of each token by itself; "viterbi" takes the best sequence of tags that BIO
            allows for the sentence's tokens; "crf" also learns which tag follows which (in a long sentence, window by
            window). A word has the tag of its first token; so with subwords "all" or "copy" a sequence that is allowed
            for tokens may now and then not be allowed for words.
        capitals: whether words that start with a capital are read as segment B, and all others as segment A. An
            uncased tokenizer drops capitals, and a single sentence does not need segments, so segments can stand for
            capitals. Fine-tuning learns what segment B now means.

    Source: Devlin et al. 2019, section 5.3 and figure 4 (d); Lample et al. 2016 for the CRF.
    """

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        subwords: str = "first",
        decoder: str = "argmax",
        capitals: bool = False,
        max_length: int | None = None,
        dropout: float = 0.1,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, labels, max_length=max_length, dropout=dropout, seed=seed)
        if capitals and self.config.type_vocab_size < 2:
            raise ValueError("capitals need an encoder with two segments; this one has type_vocab_size 1.")
        self.capitals = capitals
        subword_tags([], [], subwords)  # refuses an unknown value
        self.subwords = subwords
        self.decoder = TagDecoder(self.labels, decoder)
        if subwords == "all" and (missing := set(tag_set(entity_types(self.labels))) - set(self.labels)):
            raise ValueError(f'labels must be all of tag_set(types) for subwords "all"; {sorted(missing)} missing.')

    def options(self) -> dict:
        """See ``Head``."""
        return {
            **super().options(),
            "subwords": self.subwords,
            "decoder": self.decoder.kind,
            "capitals": self.capitals,
        }

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Row]:
        """Sentences of words as rows without targets; ``places`` are indices of words."""
        rows = super().encode(sentences)
        if not self.capitals:
            return rows
        segments = [
            [int(word is not None and sentences[row.source][word][:1].isupper()) for word in row.places] for row in rows
        ]
        return [row._replace(type_ids=type_ids) for row, type_ids in zip(rows, segments)]

    def rows(self, examples: Sequence[TaggedSentence]) -> list[Row]:
        """Examples as rows, each with the indices of its tags."""
        check_tags(examples, self.labels, further_tokens=self.subwords == "all")
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
        """The mean loss of a batch over the tokens that have a tag; see ``TagDecoder.loss``."""
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


def entity_types(tags: Sequence[str]) -> list[str]:
    """The types of entities in tags, in order of appearance.

    >>> entity_types(["O", "B-PER", "I-PER", "B-ORG"])
    ['PER', 'ORG']
    """
    return list(dict.fromkeys(tag[2:] for tag in tags if tag != "O"))

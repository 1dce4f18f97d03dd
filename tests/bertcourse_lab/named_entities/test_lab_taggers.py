"""The tagger of benchmarks and studies: rules for subwords, decoders, capitals."""

import dataclasses

import pytest
import torch

from bertcourse.bert import BertModel
from bertcourse.named_entities import TaggedSentence, TokenClassifier, read_tags, tag_set, write_tags
from bertcourse_lab.named_entities import Tagger

TAGS = tag_set(["PER", "ORG"])


def one_segment(encoder):
    return BertModel(dataclasses.replace(encoder.config, type_vocab_size=1))


@pytest.mark.parametrize("subwords", ["first", "all", "copy"])
@pytest.mark.parametrize("decoder", ["argmax", "viterbi", "crf"])
def test_tags_are_learned_and_read_back(encoder, small_tokenizer, subwords, decoder):
    """Logits that say each token's own tag give the words' tags back, in one window or many."""
    examples = [
        TaggedSentence(["ab", "c", "def", "g"], ["B-PER", "I-PER", "O", "B-ORG"]),
        TaggedSentence([], []),
        TaggedSentence(["a"] * 70, (["B-PER", "I-PER", "O"] * 24)[:70]),
        TaggedSentence(["a"] * 70, ["B-PER"] + ["I-PER"] * 69),  # over the borders of all windows
    ]
    head = Tagger(encoder, small_tokenizer, TAGS, subwords, decoder)
    rows = head.rows(examples)
    assert max(row.length for row in rows) == 32 and sum(row.source == 3 for row in rows) > 2

    def told(rows):
        logits = [torch.zeros(row.length, len(TAGS)) for row in rows]
        for row, scores in zip(rows, logits):
            scores[head.positions(row), row.target] = 9.0
        return logits

    head.logits = told
    assert head.tags(rows, [len(example.words) for example in examples]) == [list(example.tags) for example in examples]
    assert head.measure(examples, rows) == {"f1": 100.0, "precision": 100.0, "recall": 100.0, "accuracy": 100.0}


def test_with_the_lectures_rule_it_has_the_lectures_loss(encoder, small_tokenizer):
    examples = [TaggedSentence(["ab", "c"], ["B-PER", "O"]), TaggedSentence(["def"], ["B-ORG"])]
    page = TokenClassifier(encoder, small_tokenizer, TAGS, seed=3).eval()
    ours = Tagger(encoder, small_tokenizer, TAGS, "all", "viterbi", seed=3).eval()
    torch.testing.assert_close(ours.loss(ours.rows(examples)), page.loss(page.rows(examples)))


def test_viterbi_gives_valid_tags_where_argmax_does_not(encoder, small_tokenizer):
    sentences = [[chr(ord("a") + (i * j) % 22) for i in range(1, 9)] for j in range(1, 9)]
    argmax = Tagger(encoder, small_tokenizer, TAGS, seed=5)
    torch.nn.init.normal_(argmax.classifier.weight, std=1.0)
    viterbi = Tagger(encoder, small_tokenizer, TAGS, decoder="viterbi")
    viterbi.load_state_dict(argmax.state_dict())

    def is_valid(tags):
        return write_tags(read_tags(tags), len(tags)) == tags

    assert not all(map(is_valid, argmax.predict(sentences))) and all(map(is_valid, viterbi.predict(sentences)))


def test_capitals_are_read_as_segment_b(encoder, small_tokenizer, tmp_path):
    head = Tagger(encoder, small_tokenizer, TAGS, capitals=True, seed=1).eval()
    sentences = [["Ab", "c", "", "DEF"]], [["ab", "c", "", "def"]]
    (written,), (lower,) = map(head.encode, sentences)
    assert written.ids == lower.ids and lower.type_ids == [0] * lower.length
    assert [bool(kind) for kind in written.type_ids] == [place in (0, 3) for place in written.places]
    assert not torch.allclose(head.logits([written])[0], head.logits([lower])[0])
    assert Tagger(encoder, small_tokenizer, TAGS).encode(sentences[0])[0].type_ids == lower.type_ids
    head.save(tmp_path)
    assert Tagger.load(tmp_path).encode(sentences[0]) == [written]
    assert Tagger.load(tmp_path).options() == head.options()


def test_the_loss_of_first_subwords_is_their_cross_entropy(encoder, small_tokenizer):
    head = Tagger(encoder, small_tokenizer, TAGS).eval()
    rows = head.rows([TaggedSentence(["ab", "c"], ["B-PER", "O"]), TaggedSentence(["d"], ["B-ORG"])])
    logits = head(*head.batch(rows))
    expected = torch.nn.functional.cross_entropy(logits[[0, 0, 1], [1, 3, 1]], torch.tensor([1, 0, 3]))
    torch.testing.assert_close(head.loss(rows), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, t: Tagger(e, t, TAGS, subwords="last"), "subwords must be one of first, all, copy"),
        (lambda e, t: Tagger(e, t, TAGS, decoder="beam"), "decoder must be one of argmax"),
        (lambda e, t: Tagger(one_segment(e), t, TAGS, capitals=True), "capitals need an encoder with two segm"),
        (lambda e, t: Tagger(e, t, ["O", "B-X"], subwords="all"), r"labels must be all of .*\[.I-X.\] missing"),
        (
            lambda e, t: Tagger(e, t, TAGS).rows([TaggedSentence(["a"], ["B-LOC"])]),
            "sentence 0: a tag must be one of O, B-PER.*got B-LOC",
        ),
    ],
)
def test_bad_input_is_named(encoder, small_tokenizer, call, message):
    with pytest.raises(ValueError, match=message):
        call(encoder, small_tokenizer)

"""A tag for each word: what is learned from its tokens, and the way back."""

import pytest
import torch

from bertcourse.fine_tuning import fine_tune
from bertcourse.named_entities import (
    TaggedSentence,
    TokenClassifier,
    read_tags,
    tag_set,
    token_tags,
    write_tags,
)

TAGS = tag_set(["PER", "ORG"])


def test_the_textbooks_example():
    """Jurafsky & Martin, section 11.5.3: mt . san ##itas is in sunshine canyon."""
    word_ids, tags = [None, 0, 0, 1, 1, 2, 3, 4, 5, None], ["B-LOC", "I-LOC", "O", "O", "B-LOC", "I-LOC"]
    of_tokens = token_tags(word_ids, tags)
    assert of_tokens == [None, "B-LOC", "I-LOC", "I-LOC", "I-LOC", "O", "O", "B-LOC", "I-LOC", None]
    assert len(read_tags(of_tokens[1:-1])) == len(read_tags(tags)) == 2


def test_tags_are_learned_and_read_back(encoder, small_tokenizer):
    """Scores that say each token's own tag give the words' tags back, in one window or many."""
    examples = [
        TaggedSentence(["ab", "c", "def", "g"], ["B-PER", "I-PER", "O", "B-ORG"]),
        TaggedSentence([], []),
        TaggedSentence(["a"] * 70, (["B-PER", "I-PER", "O"] * 24)[:70]),
        TaggedSentence(["a"] * 70, ["B-PER"] + ["I-PER"] * 69),  # over the borders of all windows
    ]
    head = TokenClassifier(encoder, small_tokenizer, TAGS)
    rows = head.rows(examples)
    assert max(row.length for row in rows) == 32 and sum(row.source == 3 for row in rows) > 2
    head.logits = lambda rows: [9.0 * torch.eye(len(TAGS))[torch.tensor(row.target).relu()] for row in rows]
    assert head.tags(rows, [len(example.words) for example in examples]) == [list(example.tags) for example in examples]
    assert head.measure(examples, rows) == {"f1": 100.0, "precision": 100.0, "recall": 100.0, "accuracy": 100.0}


def test_it_predicts_valid_tags_where_the_best_of_each_word_are_not(encoder, small_tokenizer):
    sentences = [[chr(ord("a") + (i * j) % 22) for i in range(1, 9)] for j in range(1, 9)]
    tagger = TokenClassifier(encoder, small_tokenizer, TAGS, seed=5).eval()
    torch.nn.init.normal_(tagger.classifier.weight, std=1.0)

    def is_valid(tags):
        return write_tags(read_tags(tags), len(tags)) == tags

    by_word = [[TAGS[tag] for tag in scores.argmax(dim=1)] for scores in tagger.word_scores(sentences)]
    assert not all(map(is_valid, by_word)) and all(map(is_valid, tagger.predict(sentences)))


def test_a_word_without_a_token_is_unknown_not_lost(encoder, small_tokenizer):
    head = TokenClassifier(encoder, small_tokenizer, TAGS)
    (row,) = head.encode([["a", "\u200d", "b"]])
    assert row.ids[1:4] == [5, small_tokenizer.token_to_id("[UNK]"), 6] and row.places == [None, 0, 1, 2, None]
    assert len(head.predict([["a", "\u200d", "b"]])[0]) == 3


def test_the_loss_is_cross_entropy_over_the_tokens_of_words(encoder, small_tokenizer):
    head = TokenClassifier(encoder, small_tokenizer, TAGS).eval()
    rows = head.rows([TaggedSentence(["ab", "c"], ["B-PER", "O"]), TaggedSentence(["d"], ["B-ORG"])])
    scores = head(*head.batch(rows))
    count = rows[0].length - 2
    answers = [1, *[2] * (count - 2), 0, 3]
    where = [0] * count + [1], [*range(1, count + 1), 1]
    torch.testing.assert_close(head.loss(rows), torch.nn.functional.cross_entropy(scores[where], torch.tensor(answers)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tagger: tagger.predict([["\ud800"]]), "word of sentence 0 must be .*lone surrogate"),
        (lambda tagger: tagger.predict(["a b"]), "sentences must be lists of words"),
        (
            lambda tagger: tagger.rows([TaggedSentence(["a", "b"], ["O"])]),
            "sentence 0 must have a tag for each word; got 2 words and 1 tags: 'a b'",
        ),
        (
            lambda tagger: tagger.rows([TaggedSentence(["a"], ["B-LOC"])]),
            "sentence 0: a tag must be one of O, B-PER.*got B-LOC",
        ),
    ],
)
def test_bad_input_is_named(encoder, small_tokenizer, call, message):
    with pytest.raises(ValueError, match=message):
        call(TokenClassifier(encoder, small_tokenizer, TAGS))


def test_labels_without_the_tags_of_further_tokens_are_refused(encoder, small_tokenizer):
    with pytest.raises(ValueError, match="a tag must be one of O, B-X; got I-X"):
        TokenClassifier(encoder, small_tokenizer, ["O", "B-X"]).rows([TaggedSentence(["ab"], ["B-X"])])


def test_other_things_than_entities_are_tagged(encoder, small_tokenizer):
    tagger = TokenClassifier(encoder, small_tokenizer, ["NOUN", "VERB"], seed=1)
    (row,) = tagger.rows([TaggedSentence(["ab", "c"], ["VERB", "NOUN"])])
    assert row.target == [-100, *[1] * (row.length - 3), 0, -100]
    assert set(tagger.predict([["a", "b", "c"]])[0]) <= {"NOUN", "VERB"}


def test_it_learns_and_the_seed_decides(encoder, small_tokenizer):
    words = [["ab", "c", "a", "d"][i % 4 :] for i in range(24)]
    examples = [TaggedSentence(each, ["B-PER" if word[0] == "a" else "O" for word in each]) for each in words]
    taggers = [TokenClassifier(encoder, small_tokenizer, TAGS, seed=1) for _ in range(3)]
    for tagger, seed in zip(taggers, (0, 0, 1)):
        fine_tune(tagger, examples, epochs=12, learning_rate=1e-2, batch_size=8, seed=seed)
    assert taggers[0].predict(words) == [example.tags for example in examples] and not taggers[0].training
    one, same, other = (tagger.classifier.weight for tagger in taggers)
    assert torch.equal(one, same) and not torch.equal(one, other)

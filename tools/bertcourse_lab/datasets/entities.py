"""Chapter 8: public sets of tagged sentences, with their splits: wikigold and WNUT 2017."""

from collections.abc import Sequence

from bertcourse.named_entities.conll import TaggedSentence, read_conll
from bertcourse_lab.datasets.classification import Splits, split_by
from bertcourse_lab.datasets.registry import fetch


def wikigold() -> Splits:
    """Wikigold: persons, organizations, places and others in 145 Wikipedia articles (split 80/10/10 %), in BIO.

    Source: Balasuriya et al. 2009, "Named Entity Recognition in Wikipedia".
    """
    (path,) = fetch("wikigold")
    return split_by(read_conll(path), lambda sentence: sentence.document)


def wnut17() -> Splits:
    """WNUT 2017: new and rare entities in posts, in BIO; the official splits of 3,394, 1,009 and 1,287.

    Source: Derczynski et al. 2017, "Results of the WNUT2017 Shared Task on Novel and Emerging Entity Recognition".
    """
    return Splits(*map(read_conll, fetch("wnut17")))


def join_sentences(sentences: Sequence[TaggedSentence], max_words: int) -> list[TaggedSentence]:
    """Join consecutive sentences of a document, up to ``max_words`` words, so that a tagger reads them in context.

    Source: Devlin et al. 2019, section 5.3, who give BERT "the maximal document context provided by the data".

    >>> sentences = [TaggedSentence(["Ann", "left"], ["B-PER", "O"]), TaggedSentence(["Bob"], ["B-PER"])]
    >>> join_sentences(sentences, 3)
    [TaggedSentence(words=['Ann', 'left', 'Bob'], tags=['B-PER', 'O', 'B-PER'], document=0)]
    """
    if max_words < 1:
        raise ValueError(f"max_words must be at least 1; got {max_words}.")
    joined: list[TaggedSentence] = []
    for words, tags, document in sentences:
        last = joined[-1] if joined else None
        if last and last.document == document and len(last.words) + len(words) <= max_words:
            joined[-1] = TaggedSentence([*last.words, *words], [*last.tags, *tags], document)
        else:
            joined.append(TaggedSentence(list(words), list(tags), document))
    return joined

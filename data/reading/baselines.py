"""How hard the questions are: the scores that README.md reports.

``python data/reading/baselines.py`` prints them (a few seconds on a CPU; needs scikit-learn). The methods only count
words and look for the form of an answer; they get the questions that have an answer.
"""

import json
import re
import string
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sklearn.feature_extraction.text import TfidfVectorizer

WORD = re.compile(r"\w+(?:[-.,:'’]\w+)*")
NUMBER_WORDS = (
    "half|once|twice|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    "seventeen|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-[a-z]+)?|hundred|thousand"
)
NUMBER = re.compile(rf"£?\d[\d.,:–]*\d|\d|\b(?:{NUMBER_WORDS})(?: (?:{NUMBER_WORDS}))*\b", re.IGNORECASE)
QUANTITY = re.compile(rf"(?:{NUMBER.pattern})(?: [a-z]+)?", re.IGNORECASE)
DATE = re.compile(r"\d+ [A-Z][a-z]+(?: \d{4})?|[A-Z][a-z]+days?|\d[\d.]*\d|\d+(?= BC)")
NAME = re.compile(r"(?:[A-Z][\w'’]*)(?: (?:[A-Z][\w'’]*|of(?= [A-Z])))*")


class Question(NamedTuple):
    """A question that has an answer, and its paragraph.

    Attributes:
        context: the paragraph.
        text: the question.
        answers: where each accepted answer starts and ends in the paragraph.
    """

    context: str
    text: str
    answers: list[tuple[int, int]]


def main() -> None:
    """Print the table."""
    splits = {split: read(split) for split in ("train", "dev", "test")}
    every = [question for split in splits.values() for question in split]
    idf = inverse_frequencies(every)

    def right_sentence(question: Question) -> tuple[int, int]:  # of the first accepted answer
        return next(span for span in sentences(question.context) if span[0] <= question.answers[0][0] < span[1])

    def found_sentence(question: Question) -> tuple[int, int]:
        return best_sentence(question, idf)

    def f1_with(size: int) -> float:
        return score(splits["train"], lambda q: window(q, found_sentence(q), size, idf))[1]

    length = max(range(1, 13), key=f1_with)
    methods = {
        "the whole sentence": found_sentence,
        f"{length} words of the sentence": lambda q: window(q, found_sentence(q), length, idf),
        "form of the answer, in the sentence": lambda q: form(q, found_sentence(q), length, idf),
        "form of the answer, in the paragraph": lambda q: form(q, (0, len(q.context)), length, idf),
        "the whole right sentence": right_sentence,
        f"{length} words of the right sentence": lambda q: window(q, right_sentence(q), length, idf),
        "form of the answer, in the right sentence": lambda q: form(q, right_sentence(q), length, idf),
    }
    for name, questions in (("test", splits["test"]), ("all", every)):
        right = sum(found_sentence(question) == right_sentence(question) for question in questions) / len(questions)
        chance = sum(1 / len(sentences(question.context)) for question in questions) / len(questions)
        print(f"{name}: {len(questions)} questions; TF-IDF finds the sentence {right:.1%}, chance {chance:.1%}")
        for method, answer in methods.items():
            exact, f1 = score(questions, answer)
            print(f"  {method:42} exact match {exact:5.1%}   F1 {f1:5.1%}")


def read(split: str) -> list[Question]:
    """The questions of a split that have an answer."""
    articles = json.loads((Path(__file__).parent / f"{split}.json").read_text(encoding="utf-8"))["data"]
    return [
        Question(
            paragraph["context"],
            qa["question"],
            [(answer["answer_start"], answer["answer_start"] + len(answer["text"])) for answer in qa["answers"]],
        )
        for article in articles
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
        if not qa["is_impossible"]
    ]


def sentences(context: str) -> list[tuple[int, int]]:
    """Where the sentences of a paragraph start and end; initials, as in A. E. Douglass, end none."""
    ends = [match.end() for match in re.finditer(r"\w\w[.!?]['’]?(?= +[A-Z0-9'‘])", context)] + [len(context)]
    starts = [0, *(end + 1 for end in ends[:-1])]
    return list(zip(starts, ends, strict=True))


def inverse_frequencies(questions: list[Question]) -> TfidfVectorizer:
    """TF-IDF with the document frequencies of all sentences of all paragraphs; it sees no questions."""
    contexts = {question.context for question in questions}
    return TfidfVectorizer(token_pattern=r"\w+").fit(
        [context[start:end] for context in sorted(contexts) for start, end in sentences(context)]
    )


def best_sentence(question: Question, idf: TfidfVectorizer) -> tuple[int, int]:
    """The sentence whose TF-IDF vector has the highest cosine with the question's; the first of equals."""
    spans = sentences(question.context)
    vectors = idf.transform([question.context[start:end] for start, end in spans])
    cosines = (vectors @ idf.transform([question.text]).T).toarray()[:, 0]
    return spans[cosines.argmax()]


def window(question: Question, within: tuple[int, int], length: int, idf: TfidfVectorizer) -> tuple[int, int]:
    """The window of so many words with the highest sum of IDF, where the words of the question count nothing."""
    words = list(WORD.finditer(question.context, *within))
    asked = set(lower_words(question.text))
    weights = [0.0 if word[0].lower() in asked else weight(word[0], idf) for word in words]
    first = max(range(max(1, len(words) - length + 1)), key=lambda i: sum(weights[i : i + length]))
    return words[first].start(), words[min(first + length, len(words)) - 1].end()


def form(question: Question, within: tuple[int, int], length: int, idf: TfidfVectorizer) -> tuple[int, int]:
    """Of the spans that look like an answer, the one nearest to words of the question.

    "When" asks for a date, "how many" for a number, "how long" and its like for a number with the word after it, "who"
    and "where" for a capitalised name. What the question itself says is no answer. Without such a span, or for another
    question, it is ``window``'s. Nearness is the sum over shared words of their IDF by one plus the distance in words.
    """
    asked = set(lower_words(question.text))
    candidates = [
        (match.start(), match.end())
        for match in kind(question.text).finditer(question.context, *within)
        if not asked.issuperset(lower_words(match[0]))
    ]
    if not candidates:
        return window(question, within, length, idf)
    words = list(WORD.finditer(question.context, *within))
    shared = [(i, weight(word[0], idf)) for i, word in enumerate(words) if word[0].lower() in asked]

    def nearness(span: tuple[int, int]) -> float:
        place = sum(word.start() < span[0] for word in words)
        return sum(idf_of / (1 + abs(i - place)) for i, idf_of in shared)

    return max(candidates, key=nearness)


def kind(question: str) -> re.Pattern:
    """What an answer to the question looks like; nothing matches where the question word does not tell."""
    text = question.lower()
    if re.search(r"\bwhen\b|which (year|day)|what (date|hour)", text):
        return DATE
    if re.search(r"\bhow (many|often)\b", text):
        return NUMBER
    if re.search(r"\bhow (long|much|far|old|deep|heavy|cold)\b", text):
        return QUANTITY
    if re.search(r"\b(who|whom|whose|where|which city)\b", text):
        return NAME
    return re.compile(r"(?!)")


def weight(word: str, idf: TfidfVectorizer) -> float:
    """The word's IDF, that of the last of its parts that has one."""
    return next((idf.idf_[idf.vocabulary_[part]] for part in lower_words(word)[::-1] if part in idf.vocabulary_), 0.0)


def lower_words(text: str) -> list[str]:
    """The words of a text, in lower case, hyphens and apostrophes left out."""
    return re.findall(r"\w+", text.lower())


def score(questions: list[Question], answer: Callable[[Question], tuple[int, int]]) -> tuple[float, float]:
    """Exact match and F1 as SQuAD defines them: of each question the best over its accepted answers, then the mean.

    Args:
        questions: the questions.
        answer: from a question to where its answer starts and ends.
    """
    exact, f1 = 0.0, 0.0
    for question in questions:
        start, end = answer(question)
        predicted = normal(question.context[start:end])
        accepted = [normal(question.context[first:last]) for first, last in question.answers]
        exact += any(predicted == gold for gold in accepted)
        f1 += max(overlap(predicted, gold) for gold in accepted)
    return exact / len(questions), f1 / len(questions)


def normal(text: str) -> list[str]:
    """The words of an answer: lower case, without ASCII punctuation and without a, an and the."""
    text = "".join(char for char in text.lower() if char not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def overlap(predicted: list[str], gold: list[str]) -> float:
    """F1 of the words of two answers, each counted as often as it occurs in both."""
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold)) if shared else 0.0


if __name__ == "__main__":
    main()

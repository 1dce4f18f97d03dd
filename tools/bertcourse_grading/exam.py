"""The bank of exam questions: read it, put numbers into its questions, draw a paper from it.

The bank is beside the homework, in ``notebooks/homework/exam``, one Markdown file per chapter; the file ``README.md``
there describes the format. Only lecturers have it; students never get it.
"""

import dataclasses
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = "exam"  # in the folder of the assignments
FILES = "[0-9][0-9]_*.md"
KINDS = {
    "compute": "compute by hand",
    "explain": "explain why",
    "mistake": "find the mistake",
    "read": "read a table",
    "prove": "prove or derive",
    "design": "design an experiment",
    "open": "open question",
}
FIELDS = ("section", "kind", "minutes", "points", "difficulty")
PARTS = ("Solution", "Points", "Common wrong answer", "Code")
PLACE = re.compile(r"\{\{(.+?)\}\}")  # a placeholder; its content is computed
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
DRAWS = 300  # papers that are drawn; the one nearest to what was asked for is taken
SHORTEST = 40  # characters; shorter lines of the bank may occur elsewhere by chance


@dataclass(frozen=True)
class Question:
    """One question of the bank.

    Attributes:
        id: chapter and name, such as "1-masked-row".
        chapter, section: where it belongs, such as 1 and "1.5".
        kind: one of ``KINDS``.
        minutes: how long a student needs.
        points: what a full answer earns.
        difficulty: 1 to 3.
        text: the question, in Markdown.
        solution, rubric, wrong: the answer, what each of its points is for, and the most common wrong answer.
        code: Python that computes the numbers and checks that they are right; may be empty.
    """

    id: str
    chapter: int
    section: str
    kind: str
    minutes: int
    points: int
    difficulty: int
    text: str
    solution: str
    rubric: str
    wrong: str
    code: str


def read_bank(folder: Path) -> dict[str, Question]:
    """All questions in a folder, by id, in order.

    Args:
        folder: the one with ``01_self_attention.md`` and so on.

    Returns:
        The questions, with placeholders where numbers are computed.

    Raises:
        FileNotFoundError: if there is no file of questions.
        ValueError: if a question lacks something; the message names the file and the question.
    """
    files = sorted(folder.glob(FILES))
    if not files:
        raise FileNotFoundError(f"expected exam questions in {folder}, such as 01_self_attention.md; there are none.")
    bank = {}
    for path in files:
        _, *parts = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for part in parts:
            try:
                question = read_question(part, int(path.name[:2]))
            except ValueError as error:
                raise ValueError(f"{path}, question {part.splitlines()[0].strip()!r}: {error}") from None
            if question.id in bank:
                raise ValueError(f"{path}: two questions are called {question.id}; give one another name.")
            bank[question.id] = question
    return bank


def read_question(text: str, chapter: int) -> Question:
    """Parse one question from its part of a file.

    >>> text = '''sum
    ... section: 1.2
    ... kind: compute
    ... minutes: 2
    ... points: 2
    ... difficulty: 1
    ...
    ... What is 1 + 1?
    ...
    ... ### Solution
    ...
    ... {{1 + 1}}
    ...
    ... ### Points
    ...
    ... - 2: two
    ...
    ... ### Common wrong answer
    ...
    ... 11
    ... '''
    >>> question = read_question(text, 1)
    >>> question.id, question.points, with_numbers(question).solution
    ('1-sum', 2, '2')
    """
    head, _, body = text.partition("\n\n")
    name, *lines = head.splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    if missing := [field for field in FIELDS if field not in fields]:
        raise ValueError(f"expected {', '.join(missing)} in the lines under its heading, such as 'minutes: 6'.")
    if fields["kind"] not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {fields['kind']!r}.")
    if wrong := [field for field in FIELDS[2:] if not re.fullmatch(r"[1-9]\d?", fields[field])]:
        raise ValueError(f"{wrong[0]} must be a whole number above 0; got {fields[wrong[0]]!r}.")
    question, *rest = re.split(r"^### (.+)\n", body, flags=re.MULTILINE)
    parts = {title.strip(): content.strip() for title, content in zip(rest[::2], rest[1::2])}
    if unknown := [title for title in parts if title not in PARTS]:
        raise ValueError(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    if missing := [title for title in PARTS[:3] if not parts.get(title)]:
        raise ValueError(f"expected a part '### {missing[0]}'.")
    code = "\n".join(PROGRAM.findall(parts.get("Code", "") + "\n"))
    numbers = {field: int(fields[field]) for field in FIELDS[2:]}
    return Question(
        id=f"{chapter}-{name.strip()}",
        chapter=chapter,
        section=fields["section"],
        kind=fields["kind"],
        text=question.strip(),
        solution=parts["Solution"],
        rubric=parts["Points"],
        wrong=parts["Common wrong answer"],
        code=code,
        **numbers,
    )


def with_numbers(question: Question, seed: int | None = None) -> Question:
    """The question with computed numbers where it has placeholders.

    Args:
        question: as it is in the bank.
        seed: selects the numbers; None for those that the bank's author used.

    Returns:
        The same question without placeholders.

    Raises:
        AssertionError: if the code finds a number wrong.
    """
    names = numbers_of(question, seed)

    def computed(place: re.Match) -> str:
        text = eval(f'f"""{{{place[1]}}}"""', names)  # the bank is the lecturers' own code
        return text.replace("-", "−") if re.fullmatch(r"-[\d.,]+", text) else text

    parts = {name: PLACE.sub(computed, getattr(question, name)) for name in ("text", "solution", "rubric", "wrong")}
    return dataclasses.replace(question, **parts)


def numbers_of(question: Question, seed: int | None = None) -> dict[str, object]:
    """The variables that the question's code computes, by name.

    The code starts with three names: ``pick(4, 9, 16)``, which is the first value without a seed and otherwise one of
    them at random; ``snippet``, the first Python program in the question's text; and ``run(program)``, which returns a
    program's variables.
    """
    chance = random.Random(f"{seed} {question.id}")

    def pick(first, *others):
        return first if seed is None else chance.choice([first, *others])

    snippet = next(iter(PROGRAM.findall(question.text + "\n")), "")
    names = {"pick": pick, "snippet": snippet, "run": run, "math": math}
    exec(compile(question.code, question.id, "exec"), names)
    return names


def run(program: str, **given: object) -> dict[str, object]:
    """Execute a program from the bank and return its variables."""
    names = {"math": math, **given}
    exec(compile(program, "question", "exec"), names)
    return names


def chapters_of(text: str) -> list[int]:
    """The chapters named on a command line.

    >>> chapters_of("1-3,7")
    [1, 2, 3, 7]

    Raises:
        ValueError: if the text names none.
    """
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ValueError(f"chapters must be numbers and ranges, such as 1-4 or 1,3,5-7; got {text!r}.")
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return sorted({chapter for first, *last in ends for chapter in range(first, (last or [first])[0] + 1)})


def draw_paper(
    bank: dict[str, Question], chapters: Collection[int], minutes: int, seed: int, without: Collection[str] = ()
) -> list[Question]:
    """Questions that fill the time, spread over chapters and kinds.

    Args:
        bank: all questions.
        chapters: those that the exam is about.
        minutes: how long the exam is; never exceeded.
        seed: selects the paper; the same seed gives the same one.
        without: ids of questions that must not be in it.

    Returns:
        The questions, by chapter, with their numbers filled in.

    Raises:
        ValueError: if an id or a chapter is unknown, or there are not enough questions.
    """
    if unknown := [one for one in without if one not in bank]:
        raise ValueError(f"no question {unknown[0]} in the bank.")
    known = {question.chapter for question in bank.values()}
    if unknown := [chapter for chapter in chapters if chapter not in known]:
        raise ValueError(f"no questions on chapter {unknown[0]}; there are questions on {sorted(known)}.")
    wanted = [question for question in bank.values() if question.chapter in chapters and question.id not in without]
    there = sum(question.minutes for question in wanted)
    shortest = min((question.minutes for question in wanted), default=0)
    if not wanted or not shortest <= minutes <= there:
        raise ValueError(f"minutes must be from {shortest} to {there} for these chapters; got {minutes}.")
    chance = random.Random(seed)
    papers = [one_draw(wanted, minutes, chance) for _ in range(DRAWS)]
    best = max(papers, key=lambda paper: how_good(paper, minutes))
    return [with_numbers(question, seed) for question in sorted(best, key=lambda one: list(bank).index(one.id))]


def one_draw(wanted: list[Question], minutes: int, chance: random.Random) -> list[Question]:
    """Take questions until none fits, each from the chapter with the least time so far and of a kind that is rare so
    far."""
    paper, chapters, kinds = [], Counter(), Counter()
    left = chance.sample(wanted, len(wanted))
    while left := [one for one in left if one not in paper and one.minutes <= minutes]:
        question = min(left, key=lambda one: (chapters[one.chapter], kinds[one.kind]))
        paper.append(question)
        minutes -= question.minutes
        chapters[question.chapter] += question.minutes
        kinds[question.kind] += 1
    return paper


def how_good(paper: list[Question], minutes: int) -> tuple[float, ...]:
    """What ranks a paper: the share of the time used, in twentieths; how many kinds; how many chapters; the exact
    share."""
    used = sum(question.minutes for question in paper) / minutes
    return round(20 * used), len({one.kind for one in paper}), len({one.chapter for one in paper}), used


def as_paper(questions: list[Question], title: str) -> str:
    """The paper that students get, in Markdown."""
    return (
        "\n\n".join([*heading(questions, title), "Name:", *map(as_task, range(1, len(questions) + 1), questions)])
        + "\n"
    )


def as_solutions(questions: list[Question], title: str) -> str:
    """The paper with solutions, points and common wrong answers, for those who mark it."""
    parts = heading(questions, f"{title}: solutions")
    for number, one in enumerate(questions, 1):
        about = f"*{one.id}, section {one.section}, {KINDS[one.kind]}, {'★' * one.difficulty}*"
        parts += [as_task(number, one), about, "**Solution**", one.solution, "**Points**", one.rubric]
        parts += ["**Common wrong answer**", one.wrong]
    return "\n\n".join(parts) + "\n"


def heading(questions: list[Question], title: str) -> list[str]:
    """The title, and how many questions, points and minutes the paper has."""
    minutes, points = sum(one.minutes for one in questions), sum(one.points for one in questions)
    size = f"{len(questions)} questions, {points} points, {minutes} minutes."
    return [f"# {title}", f"{size} A pocket calculator is allowed."]


def as_task(number: int, question: Question) -> str:
    """A question with its number, points and minutes."""
    points = f"{question.points} point{'s' * (question.points > 1)}"
    return f"## {number} ({points}, about {question.minutes} minutes)\n\n{question.text}"


def write_paper(questions: list[Question], output: Path, title: str, solutions: bool) -> list[Path]:
    """Write the paper, and the solutions into a file of their own beside it.

    Returns:
        The files: the paper, and ``…-solutions`` if asked for.
    """
    papers: dict[Path, Callable[[list[Question], str], str]] = {output: as_paper}
    if solutions:
        papers[output.with_name(f"{output.stem}-solutions{output.suffix}")] = as_solutions
    for path, write in papers.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write(questions, title), encoding="utf-8")
    return list(papers)


def secret_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """The lines of the bank that must not reach students, each with its file; runs of spaces become one.

    Short lines are left out, and so are tables and programs, which questions quote from the lectures.
    """
    for path in sorted(folder.glob(FILES)):
        text = FENCED.sub("", path.read_text(encoding="utf-8"))
        for line in text.splitlines():
            if len(line.strip()) > SHORTEST and "{{" not in line and not line.startswith("|"):
                yield " ".join(line.split()), path.name

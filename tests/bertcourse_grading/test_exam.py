"""The bank of exam questions: complete, computed, never handed out; and the papers that are drawn from it."""

import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from bertcourse_grading import exam
from bertcourse_grading.course import ROOT, SOURCE
from bertcourse_lab import cli

FOLDER = SOURCE / exam.FOLDER
BANK = exam.read_bank(FOLDER)
CHAPTERS = {int(path.name[:2]): path for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))}
SEEDS = (None, 1, 2)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?")
SECTION = re.compile(r"\bsections? \d+\.\d+")

pytestmark = pytest.mark.filterwarnings("ignore")  # a question's program may do what warns


@pytest.fixture(scope="module")
def lectures() -> dict[int, str]:
    """All that a lecture says and shows, by its number."""
    texts = {}
    for chapter, path in CHAPTERS.items():
        cells = nbformat.read(path, as_version=4).cells
        shown = [output for cell in cells for output in cell.get("outputs", ())]
        outputs = [one.get("text") or one.get("data", {}).get("text/plain", "") for one in shown]
        texts[chapter] = "\n".join([*(cell.source for cell in cells), *outputs])
    return texts


def test_each_lecture_has_eight_questions_of_every_kind():
    assert {question.chapter for question in BANK.values()} == {*CHAPTERS}
    for chapter in {question.chapter for question in BANK.values()}:
        kinds = Counter(question.kind for question in BANK.values() if question.chapter == chapter)
        assert sum(kinds.values()) >= 8 and set(kinds) == set(exam.KINDS), chapter


def test_sections_exist_and_points_add_up(lectures):
    for question in BANK.values():
        assert f"\n## {question.section} " in "\n" + lectures[question.chapter], question.id
        parts = re.findall(r"^- (\d+): \S", question.rubric, re.MULTILINE)
        assert sum(map(int, parts)) == question.points and len(parts) >= 2, question.id
        assert question.difficulty in (1, 2, 3) and 0.5 <= question.points / question.minutes <= 1, question.id


@pytest.mark.parametrize("name", BANK)
def test_the_code_of_a_question_holds_for_its_numbers_and_others(name):
    for seed in SEEDS if "pick(" in BANK[name].code else SEEDS[:1]:
        drawn = exam.with_numbers(BANK[name], seed)
        assert not any("{{" in part or "}}" in part for part in (drawn.text, drawn.solution, drawn.rubric, drawn.wrong))


def test_each_lecture_has_questions_whose_numbers_change_with_the_seed():
    for chapter in {question.chapter for question in BANK.values()}:
        texts = [question for question in BANK.values() if question.chapter == chapter and "pick(" in question.code]
        assert len(texts) >= 2, chapter
        assert any(len({exam.with_numbers(one, seed).text for seed in range(6)}) > 1 for one in texts), chapter


def test_a_decimal_number_in_a_solution_is_computed_or_given(lectures):
    for question in BANK.values():
        said = SECTION.sub("", exam.PLACE.sub("", f"{question.solution}\n{question.rubric}\n{question.wrong}"))
        given = question.text + lectures[question.chapter]
        assert [number for number in DECIMAL.findall(said) if number not in given] == [], question.id


def test_what_is_computed_by_hand_has_computed_solutions():
    for question in BANK.values():
        if question.kind == "compute":
            assert (
                len(exam.PLACE.findall(question.solution)) >= 3
                and "assert" in question.code
                or (
                    question.id == "6-how-many-pairs"  # two divisions
                )
            ), question.id


def test_programs_with_a_mistake_are_run_and_shown_to_be_wrong_and_repaired():
    for question in BANK.values():
        if question.kind == "mistake":
            (program,) = exam.PROGRAM.findall(question.text + "\n")
            assert len(program.splitlines()) <= 10, question.id
            assert "run(snippet" in question.code and "assert" in question.code, question.id


def test_tables_of_the_lectures_are_quoted_rightly(lectures):
    for question in BANK.values():
        if question.kind == "read":
            (table,) = re.findall(r"^```text\n(.*?)^```", question.text, re.MULTILINE | re.DOTALL)
            rows = [numbers for line in table.splitlines() if (numbers := NUMBER.findall(line))]
            lines = [set(NUMBER.findall(line)) for line in lectures[question.chapter].splitlines()]
            assert sum(map(len, rows)) > 3
            assert [row for row in rows if not any(line.issuperset(row) for line in lines)] == [], question.id


def test_no_question_is_asked_in_a_lecture_or_in_the_homework(lectures):
    homework = [path.read_text(encoding="utf-8") for path in SOURCE.glob("hw*/hw*.ipynb")]
    solved = [path.read_text(encoding="utf-8") for path in (ROOT / "notebooks" / "solutions").glob("*.ipynb")]
    public = " ".join(" ".join([*lectures.values(), *homework, *solved]).split())
    assert [line for line, _ in exam.secret_lines(FOLDER) if line in public] == []
    assert len(list(exam.secret_lines(FOLDER))) > 500


@pytest.mark.parametrize(("chapters", "minutes"), [([1], 20), ([1, 2, 3, 4], 60), ([*range(1, 11)], 90), ([8, 9], 45)])
def test_a_paper_fills_its_time_and_is_spread(chapters, minutes):
    paper = exam.draw_paper(BANK, chapters, minutes, seed=7)
    assert 0.95 * minutes <= sum(one.minutes for one in paper) <= minutes
    assert {one.chapter for one in paper} == set(chapters)
    kinds = Counter(one.kind for one in paper)
    assert len(kinds) >= min(len(paper), len(exam.KINDS)) - 1 and max(kinds.values()) <= 1 + len(paper) // 4


def test_a_seed_gives_the_same_paper_and_another_one_another():
    first, again, other = (exam.draw_paper(BANK, [1, 2, 3], 50, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_questions_can_be_left_out():
    used = [one.id for one in exam.draw_paper(BANK, [5], 30, seed=1)]
    assert not {one.id for one in exam.draw_paper(BANK, [5], 30, seed=1, without=used)} & set(used)


@pytest.mark.parametrize(
    ("flags", "noun"),
    [
        ("--chapters 1-4 --minutes 1", "minutes must be from"),
        ("--chapters 1 --minutes 900", "minutes must be from"),
        ("--chapters 99 --minutes 60", "chapter 99"),
        ("--chapters one --minutes 60", "chapters must be"),
        ("--chapters 1 --minutes 20 --without 1-nothing", "1-nothing"),
        ("--chapters 1 --minutes 20 --source nowhere", "expected exam questions"),
    ],
)
def test_the_command_says_what_it_cannot_do(capsys, tmp_path, flags, noun):
    output = tmp_path / "exam.md"
    assert cli.main(["homework", "exam", "--output", str(output), *flags.split()]) == 1
    assert noun in capsys.readouterr().err and not output.exists()


def test_the_paper_has_no_solution_and_the_solutions_lie_in_their_own_file(capsys, tmp_path):
    command = ["homework", "exam", "--chapters", "1,3", "--minutes", "30", "--title", "Retake"]
    assert cli.main([*command, "--output", str(tmp_path / "a" / "exam.md")]) == 0
    assert cli.main([*command, "--output", str(tmp_path / "b" / "exam.md"), "--solutions"]) == 0
    printed = capsys.readouterr().out
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md"))
    assert files == ["a/exam.md", "b/exam-solutions.md", "b/exam.md"]
    paper, solved = (tmp_path / "b" / name for name in ("exam.md", "exam-solutions.md"))
    assert paper.read_text() == (tmp_path / "a" / "exam.md").read_text()
    assert paper.read_text().startswith("# Retake\n") and "Solution" not in paper.read_text()
    for one in exam.draw_paper(BANK, [1, 3], 30, seed=1):
        assert one.text in paper.read_text() and one.text in solved.read_text() and one.id in printed
        assert one.solution in solved.read_text() and one.solution not in paper.read_text()


@pytest.mark.parametrize(
    ("change", "noun"),
    [
        (("kind: compute", "kind: quiz"), "kind must be"),
        (("minutes: 6", "minutes: six"), "minutes must be"),
        (("points: 6\n", ""), "expected points"),
        (("### Solution", "### Answer"), "unknown part"),
        (("### Points\n", ""), "expected a part '### Points'"),
        (("## hidden-fourth", "## two-keys"), "two questions"),
    ],
)
def test_a_question_that_lacks_something_is_named(tmp_path, change, noun):
    text = (FOLDER / "01_self_attention.md").read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / "01_self_attention.md").write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=noun) as error:
        exam.read_bank(tmp_path)
    assert "01_self_attention.md" in str(error.value)


def test_a_wrong_number_is_noticed():
    text = (FOLDER / "01_self_attention.md").read_text(encoding="utf-8")
    part = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    question = exam.read_question(part.replace("dot1 - dot2 == step", "dot1 - dot2 == step + 1"), 1)
    with pytest.raises(AssertionError):
        exam.with_numbers(question)


def test_the_site_is_built_without_the_bank():
    """What it copies are lectures, solutions, data, the guide and one page of the homework's folder."""
    builder = (ROOT / "tools" / "site" / "build.py").read_text(encoding="utf-8")
    page = "notebooks/homework/INSTRUCTORS.md"
    assert (
        set(re.findall(r"[\w/]*homework[\w/.]*", builder)) == {"bertcourse_homework", "homework", page}
        and builder.count("copytree(") == 2
    )
    assert not any(FOLDER.is_relative_to(ROOT / name) for name in ("data", "tools/site"))
    guide = [
        path.read_text(encoding="utf-8")
        for path in (*Path(ROOT / "tools" / "site" / "guide").glob("*.md"), ROOT / page)
    ]
    text = " ".join(" ".join(guide).split())
    assert [line for line, _ in exam.secret_lines(FOLDER) if line in text] == []

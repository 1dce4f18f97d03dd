"""The syllabi: what the page says is what the notebooks have, and a class fits into its time."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("syllabus", ROOT / "tools" / "site" / "syllabus.py")
syllabus = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(syllabus)
PLANS = tomllib.loads(syllabus.PLANS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def lectures() -> dict:
    return syllabus.read_sections()


@pytest.fixture(scope="module")
def homework() -> dict[str, int]:
    return syllabus.homework_minutes()


def test_the_page_is_what_the_notebooks_have(lectures, homework):
    page = syllabus.GUIDE.read_text(encoding="utf-8")
    assert syllabus.with_syllabi(page, PLANS, lectures, homework) == page, "make syllabus"


@pytest.mark.parametrize("plan", PLANS["plan"], ids=lambda plan: plan["name"])
def test_no_class_is_longer_than_its_time(plan, lectures, homework):  # but for the five minutes that nobody can count
    weeks = syllabus.weeks_of(plan, lectures, homework)
    assert len(weeks) == {"Six": 6, "Ten": 10, "Fourteen": 14}.get(plan["name"].split()[0], len(plan["weeks"]))
    assert [week["class_minutes"] for week in weeks if week["class_minutes"] > PLANS["class_minutes"] + 5] == []


@pytest.mark.parametrize("plan", PLANS["plan"], ids=lambda plan: plan["name"])
def test_each_section_is_named_once_and_homework_is_due_after_it_was_given(plan, homework):
    used = [
        number for week in plan["weeks"] for part in syllabus.PLACES for number in syllabus.named(week.get(part, ""))
    ]
    assert len(used) == len(set(used))
    out = {week["out"]: number for number, week in enumerate(plan["weeks"]) if "out" in week}
    due = {week["due"]: number for number, week in enumerate(plan["weeks"]) if "due" in week}
    assert out.keys() == due.keys() <= homework.keys() and all(out[name] < due[name] for name in out)


def test_minutes_add_up_to_those_of_the_sections(lectures):
    plan = {"weeks": [{"class": "1.1", "home": "1.2-1.3", "out": "hw01"}, {}, {"due": "hw01", "minutes": 60}]}
    weeks = syllabus.weeks_of(plan, lectures, {"hw01": 100})
    minutes = {number: count for number, (_, count) in lectures[1].items()}
    assert weeks[0]["class_minutes"] == minutes["Opening"] + minutes["1.1"] + minutes["Summary"]
    assert weeks[0]["home_minutes"] == minutes["1.2"] + minutes["1.3"] + minutes["What can go wrong"] + 50
    assert [week["home_minutes"] for week in weeks[1:]] == [50, 0] and weeks[2]["class_minutes"] == 60
    left = syllabus.left_out(plan, lectures)
    assert "lecture 2" in left and lectures[1]["1.4"][0] in left and lectures[1]["1.2"][0] not in left


def test_what_is_read_before_class_is_told_apart(lectures):
    plan = {"name": "One week", "about": "", "weeks": [{"class": "1.1", "before": "1.2", "home": "1.3"}]}
    (week,) = syllabus.weeks_of(plan, lectures, {})
    minutes = {number: count for number, (_, count) in lectures[1].items()}
    assert week["home_minutes"] == minutes["1.2"] + minutes["1.3"] + minutes["What can go wrong"]
    row = syllabus.table([week], {}).splitlines()[-1]
    assert f"| *Before class*: {lectures[1]['1.2'][0]} ({minutes['1.2']}). *After it*: 1.3 " in row
    assert lectures[1]["1.2"][0] not in syllabus.left_out(plan, lectures)


def test_a_course_may_begin_with_lecture_0():
    lectures = {
        0: {"Opening": ("Opening", 2), "0.1": ("0.1 Counts", 20), "Summary": ("Summary", 1)},
        1: {"1.1": ("1.1", 9)},
    }
    plan = {"name": "One week", "about": "", "weeks": [{"class": "0.1", "out": "hw00"}, {"due": "hw00"}]}
    plans = {"plan": [plan], "reading": {"0": "Firth"}}
    page = "<!-- syllabi: make syllabus -->\n<!-- end of syllabi -->"
    page = syllabus.with_syllabi(page, plans, lectures, {"hw00": 110})
    row = "| 1 | Opening of lecture 0 (2); 0.1 Counts (20); Summary of lecture 0 (1) | *Reading*: Firth. | hw00 out |"
    assert f"{row} 23, 110 |" in page
    assert "**Left out**: lecture 1." in page
    assert "| One week | 0 | hw00 | 0.4 | 1.8 |" in page  # 23 and 110 minutes


def test_a_section_that_does_not_exist_is_named(lectures):
    with pytest.raises(ValueError, match="no section 1.99"):
        syllabus.weeks_of({"weeks": [{"class": "1.99"}]}, lectures, {})

"""Names of students stay different and readable, wherever they are stored and shown."""

import csv

import pytest

pytest.importorskip("nbgrader")
from bertcourse_grading import submissions  # noqa: E402
from bertcourse_grading.export import Grades, fill_in, match, new_rows  # noqa: E402
from bertcourse_grading.feedback import summary  # noqa: E402
from bertcourse_grading.names import folder_name, on_any_disk, shown, table_cell, with_hash  # noqa: E402
from bertcourse_grading.reports import Result, as_table, write_reports  # noqa: E402

COMPOSED, DECOMPOSED = "Ren\u00e9", "Rene\u0301"
ALIKE = [
    *("रीता", "रोता", "🦊", "🐼", "👨‍👩‍👧", "👨👩👧", COMPOSED, DECOMPOSED, "a\u200cb", "a\u200db", "ab"),
    *(
        "Anna Maria",
        "Anna-Maria",
        "Anna  Maria",
        "Anna\u00a0Maria",
        "Anna/Maria",
        "Anna:Maria",
        "Anna+Maria",
        "AnnaMaria",
    ),
    *("..", ".", "-", "@", "", "\n", "\ud800", "=1+1", "1-1", "x" * 300, "x" * 301, "x" * 60, "a~00000000", "a"),
]


def test_different_names_have_different_folders():
    names = [on_any_disk(folder_name(name)) for name in ALIKE]
    assert len(set(names)) == len(ALIKE)
    assert all(
        name.encode() and len(name.encode()) < 255 and not name.startswith(("=", "-", "@", ".")) for name in names
    )
    assert not any(set(name) & set("/\\\n*?[]{}") for name in names)


@pytest.mark.parametrize(
    "name", ["maria", "Zoë O'Neil", "रीता", "Anna-Maria", "李明", "🦊", "a.b@uni.example", "Ro, Anna (2)"]
)
def test_a_usual_name_stays_as_it_is(name):
    assert folder_name(name) == name


def test_a_name_that_cannot_stay_is_still_read():
    assert folder_name("Zoë / O'Neil") == "Zoë-O'Neil~94273370" and folder_name(DECOMPOSED).startswith(f"{COMPOSED}~")


def write(folder, *students):
    for student in students:
        (folder / student).mkdir(parents=True)
        (folder / student / "hw01.ipynb").write_text("{}", encoding="utf-8")


def test_each_student_has_a_folder_that_stays_whoever_else_is_there(tmp_path):
    students = [name for name in ALIKE if name.isprintable() and name.strip(".") and "/" not in name and len(name) < 99]
    write(tmp_path / "all", *students)
    together = [one.student for one in submissions.find_submissions(tmp_path / "all", ["hw01"])]
    assert len(set(together)) == len(students)
    for number, student in enumerate(students):
        write(tmp_path / str(number), student)
        (alone,) = submissions.find_submissions(tmp_path / str(number), ["hw01"])
        assert alone.student in together


def test_capitals_do_not_make_two_students_one(tmp_path):
    """On a disk that takes A for a; who was there first keeps the name, next week, too."""
    write(tmp_path / "upper", "Anna")
    write(tmp_path / "lower", "anna")
    (first,) = submissions.find_submissions(tmp_path / "upper", ["hw01"])
    (second,) = submissions.find_submissions(tmp_path / "lower", ["hw01"], [first.student])
    assert first.student == "Anna" and second.student.startswith("anna~") and "the same as Anna" in second.messages[0]
    for order in ([first.student, second.student], [second.student, first.student]):
        assert submissions.find_submissions(tmp_path / "lower", ["hw01"], order)[0].student == second.student
        assert submissions.find_submissions(tmp_path / "upper", ["hw01"], order)[0].student == "Anna"


def test_a_roster_finds_its_students():
    students = [
        folder_name(name) for name in ("Anna Maria", "Anna-Maria", "रीता", "रोता", COMPOSED, DECOMPOSED, "Li / Bo")
    ]
    roster = ["रोता", "Anna-Maria", "Anna Maria", "Li / Bo", DECOMPOSED, COMPOSED, "nobody", "रीता"]
    assert [folder_name(text) if found else None for text, found in zip(roster, match(roster, students))] == [
        *roster[:3],
        folder_name("Li / Bo"),
        folder_name(DECOMPOSED),
        COMPOSED,
        None,
        "रीता",
    ]
    assert match(["Participant 17", "ANNA MARIA"], ["17", "anna-maria"]) == ["17", "anna-maria"]
    assert match(["anna maria"], ["Anna-maria", "Anna Maria"]) == [None]  # nobody guesses


def test_nobody_gets_the_grade_of_a_namesake(tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("Full name,Grade\nAnna Maria,\nAnna-Maria,\nanna,\nAnna,\n", encoding="utf-8")
    students = ["Anna Maria", "Anna-Maria", "Anna", with_hash("anna")]
    points = {(name, "hw01"): number for number, name in enumerate(students, 1)}
    rows, messages = fill_in(roster, "moodle", Grades(points, {"hw01": 9}, []))
    assert [row[1] for row in rows[1:]] == ["1", "2", "4", "3"] and messages == []


EVIL = "one\ntwo \x1b[31mred\x1b[0m \u202eright to left\u2066 \u2028 \x00 \udcff\r"


def test_every_report_shows_a_line_as_a_line(tmp_path):
    results = [Result("eve", "hw01", EVIL, "review", messages=[EVIL, '=HYPERLINK("http://x")']), Result(EVIL, "", EVIL)]
    results[0].cells["a"] = {"points": 0.0, "max_points": 1.0, "message": EVIL}
    write_reports(results, tmp_path)
    page = summary({"messages": [EVIL], "cells": results[0].cells})
    for text in (as_table(results), (tmp_path / "report.txt").read_text(), (tmp_path / "report.csv").read_text(), page):
        assert not any(letter in text for letter in EVIL if not letter.isprintable() and letter not in "\n\r")
        assert "one\\ntwo \\x1b[31mred" in text and "\\udcff" in text
    assert len(as_table(results).splitlines()) == 7


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\uff1d1"])
def test_no_cell_of_a_report_is_a_formula(tmp_path, text):
    assert not table_cell(text).startswith(("=", "+", "-", "@", "\t"))
    write_reports([Result("eve", "hw01", "", messages=[text])], tmp_path)
    assert list(csv.reader((tmp_path / "report.csv").open(encoding="utf-8")))[1][-1] == table_cell(text)
    assert not new_rows("moodle", Grades({(folder_name(text), "hw01"): 1}, {"hw01": 1}, []))[1][0].startswith(text[0])


def test_what_is_readable_stays_readable():
    assert shown("Zoë 李明 रीता 👨\u200d👩\u200d👧 a\u200cb") == "Zoë 李明 रीता 👨\u200d👩\u200d👧 a\u200cb"

"""Write the syllabi into the lecturers' guide: ``make syllabus``, after a change to ``syllabi.toml`` or to a lecture.

The file says which sections are lectured and which are read at home, before or after class, and so what is left out;
their names and minutes come from the notebooks.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from bertcourse_lab.lectures import OPENING, read_notebook, section_minutes  # noqa: E402

GUIDE = ROOT / "tools" / "site" / "guide" / "syllabus.md"
PLANS = ROOT / "tools" / "site" / "syllabi.toml"
PLACE = re.compile(r"(<!-- syllabi: make syllabus -->\n).*(?=<!-- end of syllabi -->)", re.DOTALL)
FIRST, LAST, AFTER = OPENING, "Summary", "What can go wrong"  # sections without a number
PLACES = ("class", "before", "home")
HOMEWORK_TAKES = re.compile(r"\*\*Takes\*\* (\d+) minutes")

Sections = dict[int, dict[str, tuple[str, int]]]


def read_sections(folder: Path = ROOT / "notebooks") -> Sections:
    """The sections of each lecture: from "1.1", or the name of one without a number, to its title and its minutes."""
    lectures = {}
    for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")):
        found = lectures[int(path.name[:2])] = {}
        for heading, minutes in section_minutes(read_notebook(path)).items():
            number, _, _ = heading.partition(" ")
            found[number if re.fullmatch(r"\d+\.\d+", number) else heading] = (heading, minutes)
    return lectures


def homework_minutes(folder: Path = ROOT / "notebooks" / "homework") -> dict[str, int]:
    """What each homework says that it takes."""
    found = {}
    for path in sorted(folder.glob("hw*/hw*.ipynb")):
        texts = "\n".join(cell.source for cell in read_notebook(path).cells)
        found[path.stem] = int(HOMEWORK_TAKES.search(texts)[1])
    return found


def named(text: str) -> list[str]:
    """The numbers of sections in a plan.

    >>> named("1.2-1.4 2.1")
    ['1.2', '1.3', '1.4', '2.1']
    """
    numbers = []
    for part in text.split():
        first, _, last = part.partition("-")
        chapter, begin = map(int, first.split("."))
        numbers += [f"{chapter}.{number}" for number in range(begin, int((last or first).split(".")[1]) + 1)]
    return numbers


def weeks_of(plan: dict, lectures: Sections, homework: dict[str, int]) -> list[dict]:
    """Each week of a plan: its sections in class and at home ("before" it and after it, "home"), with titles and
    minutes, and the minutes of both.

    A lecture's opening and summary go with its first and last section in class; *What can go wrong* is read at home.
    The minutes of a homework are shared by the weeks from the one in which it is handed out until it is due.
    """
    weeks = [{**week, **{place: named(week.get(place, "")) for place in PLACES}} for week in plan["weeks"]]
    for chapter, sections in lectures.items():
        with_class = [week for week in weeks if any(chapter_of(number) == chapter for number in week["class"])]
        if with_class:
            extra = {name: f"{chapter} {name}" for name in (FIRST, LAST, AFTER) if name in sections}
            for name, place, week in ((FIRST, "class", 0), (LAST, "class", -1), (AFTER, "home", -1)):
                if name in extra:
                    with_class[week][place] = [*with_class[week][place], extra[name]]
    for number, week in enumerate(weeks):
        for place in PLACES:
            week[place] = [section(one, lectures) for one in sorted(week[place], key=order)]
        week["class_minutes"] = sum(minutes for _, minutes in week["class"])
        week["home_minutes"] = sum(minutes for _, minutes in week["before"] + week["home"])
        week["class_minutes"] += week.get("minutes", 0)  # of what is no lecture
        for name in homework:
            begin = next((i for i, one in enumerate(weeks) if one.get("out") == name), None)
            end = next((i for i, one in enumerate(weeks) if one.get("due") == name), None)
            if begin is not None and begin <= number < end:
                week["home_minutes"] += round(homework[name] / (end - begin))
    return weeks


def chapter_of(number: str) -> int:
    """1 of "1.4" and of "1 Summary"."""
    return int(re.match(r"\d+", number)[0])


def order(number: str) -> tuple[int, float]:
    """Opening, numbered sections, summary."""
    if found := re.fullmatch(r"(\d+)\.(\d+)", number):
        return int(found[1]), int(found[2])
    return chapter_of(number), 0 if number.endswith(FIRST) else 99


def section(number: str, lectures: Sections) -> tuple[str, int]:
    """Title and minutes of a section; those without a number say whose they are."""
    found = lectures[chapter_of(number)]
    if number in found:
        return found[number]
    chapter, _, name = number.partition(" ")
    if name not in found:
        raise ValueError(f"no section {number} in lecture {chapter}; there are {', '.join(found)}.")
    shown = f"*{name}* (lecture {chapter})" if name == AFTER else f"{name} of lecture {chapter}"
    return shown, found[name][1]


def left_out(plan: dict, lectures: Sections) -> list[str]:
    """What a plan names nowhere: sections of its lectures, by title, and whole lectures."""
    used = {number for week in plan["weeks"] for place in PLACES for number in named(week.get(place, ""))}
    chapters = {chapter_of(number) for number in used}
    parts = [f"lecture {chapter}" for chapter in lectures if chapter not in chapters]
    for chapter in chapters:
        numbers = [number for number in lectures[chapter] if "." in number and number not in used]
        parts += [lectures[chapter][number][0] for number in numbers]
    return parts


def with_syllabi(guide: str, plans: dict, lectures: Sections, homework: dict[str, int]) -> str:
    """The guide's page with a table for each plan."""
    parts = [overview(plans, lectures, homework)]
    for plan in plans["plan"]:
        weeks = weeks_of(plan, lectures, homework)
        parts += [f"## {plan['name']}", plan["about"].strip(), table(weeks, plans["reading"])]
        parts.append(f"**Left out**: {'; '.join(left_out(plan, lectures)) or 'nothing'}.")
        sums = [sum(week[f"{place}_minutes"] for week in weeks) for place in ("class", "home")]
        parts.append(f"In total {sums[0]} minutes in class and {sums[1]} at home, not counting reading.")
    text = "\n\n".join(parts)
    return PLACE.sub(lambda place: f"{place[1]}\n{text}\n\n", guide)


def overview(plans: dict, lectures: Sections, homework: dict[str, int]) -> str:
    """A row for each plan: which lectures have sections in it, which homework, and the hours that they take."""
    rows = ["| plan | lectures | homework | hours in class | hours at home |", "|---|---|---|---|---|"]
    for plan in plans["plan"]:
        weeks = weeks_of(plan, lectures, homework)
        sections = [number for week in plan["weeks"] for place in PLACES for number in named(week.get(place, ""))]
        chapters = sorted(set(map(chapter_of, sections)))
        sheets = [int(week["out"].removeprefix("hw")) for week in plan["weeks"] if week.get("out") in homework]
        hours = [sum(week[f"{place}_minutes"] for week in weeks) / 60 for place in ("class", "home")]
        cells = [plan["name"], ranges(chapters), ranges(sheets, "hw{:02}"), *(f"{each:.1f}" for each in hours)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def ranges(numbers: list[int], form: str = "{}") -> str:
    """Increasing numbers, those without a gap by their first and last.

    >>> ranges([1, 2, 3, 5, 7, 8])
    '1–3, 5, 7, 8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [[*map(form.format, run)] for run in runs]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in shown)


def table(weeks: list[dict], reading: dict[str, str]) -> str:
    """A row for each week."""
    rows = ["| week | in class | at home | homework | minutes in class, at home |", "|---|---|---|---|---|"]
    for number, week in enumerate(weeks, 1):
        shown = {place: "; ".join(f"{title} ({n})" for title, n in week[place]) for place in PLACES}
        chapters = [chapter for chapter, title in begun(week) if chapter in reading]
        read = "".join(f" *Reading*: {reading[chapter]}." for chapter in chapters)
        given = [f"{week[key]} {word}" for key, word in (("due", "due"), ("out", "out")) if key in week]
        first = f"*Before class*: {shown['before']}. *After it*: " if shown["before"] else ""
        home = first + (shown["home"] and f"{shown['home']}.") + read
        cells = [number, week.get("note") or shown["class"], home.strip(), ", ".join(given)]
        rows.append(f"| {' | '.join(map(str, cells))} | {week['class_minutes']}, {week['home_minutes']} |")
    return "\n".join(rows)


def begun(week: dict) -> list[tuple[str, str]]:
    """The lectures that begin in a week."""
    return [(title.rpartition(" ")[2], title) for title, _ in week["class"] if title.startswith(FIRST)]


if __name__ == "__main__":
    plans = tomllib.loads(PLANS.read_text(encoding="utf-8"))
    page = with_syllabi(GUIDE.read_text(encoding="utf-8"), plans, read_sections(), homework_minutes())
    GUIDE.write_text(page, encoding="utf-8")

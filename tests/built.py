"""The course as others have it: its wheel in an environment of its own, and its site."""

import atexit
import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "build" / "installed"


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
    """Install the wheel into an environment that is kept while its requirements stay."""
    wheel, sdist = build_wheel()
    place = BUILT / "environment"
    python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = shlex.split(os.environ.get("PIP_OPTIONS", ""))
    if not os.environ.get("BERTCOURSE_UNPINNED"):  # CI's job that tries the newest versions sets it
        constraints += ["-c", str(ROOT / "constraints.txt")]
    requirements = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    state = f"{sys.version} {hashlib.sha256(requirements).hexdigest()}"
    ready = place / "ready"
    if not ready.is_file() or ready.read_text(encoding="utf-8") != state:
        venv.create(place, clear=True, with_pip=True)
        run_quietly([*pip, *constraints, f"{wheel}[lectures]"])
        ready.write_text(state, encoding="utf-8")
    run_quietly([*pip, "--force-reinstall", "--no-deps", str(wheel)])
    run_quietly([str(python), "-m", "ipykernel", "install", "--prefix", str(BUILT), "--name", "bertcourse-wheel"])
    hidden = {"PYTHONPATH", "BERTCOURSE_DATA", "BERTCOURSE_MODELS"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    environment |= {"JUPYTER_PATH": str(BUILT / "share" / "jupyter"), "HF_HUB_OFFLINE": "1", **nowhere}
    return Installed(wheel, sdist, python, "bertcourse-wheel", environment)


def run_quietly(command: list[str]) -> None:
    """Run a program, and fail with what it printed if it fails."""
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{shlex.join(command)}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"


def build_site(notebooks: Path, output: Path, root: Path = ROOT) -> subprocess.CompletedProcess:
    """As `make course` does."""
    command = [sys.executable, str(root / "site" / "build.py"), str(notebooks), str(output)]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800)

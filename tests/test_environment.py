"""One set of packages: environment.yml and constraints.txt agree with pyproject.toml, and make with its README."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from bertcourse_lab.lectures import read_notebook, stated_cost

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"pytorch": "torch", "python-build": "build"}  # conda's name, PyPI's name


def wanted() -> dict[str, SpecifierSet]:
    """Every package of pyproject.toml, extras included."""
    lines = PROJECT["dependencies"] + sum(PROJECT["optional-dependencies"].values(), [])
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): r.specifier for r in requirements if r.name != "bertcourse"}


def conda_requirement(line: str) -> Requirement:
    """ "pytorch=2.4" as "torch==2.4.*"."""
    name, version = re.fullmatch(r"([\w.-]+)\s*(.*)", line).groups()
    version = re.sub(r"^=(?!=)\s*([\w.]+)$", r"==\1.*", version.strip())
    return Requirement(f"{CONDA_NAMES.get(name, name)}{version}")


def offered(environment: dict) -> dict[str, SpecifierSet]:
    """Every package of environment.yml but python and pip."""
    by_conda = [conda_requirement(line) for line in environment["dependencies"] if isinstance(line, str)]
    by_pip = [
        Requirement(line)
        for part in environment["dependencies"]
        if isinstance(part, dict)
        for line in part["pip"]
        if line != "-e ."
    ]
    return {canonicalize_name(r.name): r.specifier for r in by_conda + by_pip if r.name not in ("python", "pip")}


@pytest.fixture
def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def test_conda_environment_has_what_pyproject_names(environment):
    assert offered(environment) == wanted()


def test_conda_environment_can_be_made_anywhere(environment):
    assert set(environment) == {"name", "channels", "dependencies"}  # no prefix: that is one machine's path
    assert environment["channels"] == ["conda-forge"]
    python = next(conda_requirement(line) for line in environment["dependencies"] if line.startswith("python"))
    assert SpecifierSet(PROJECT["requires-python"]).contains(str(python.specifier).strip("=.*"))
    assert "-e ." in environment["dependencies"][-1]["pip"]


def test_a_package_missing_from_conda_would_be_noticed(environment):
    environment["dependencies"].remove("psutil>=5.9")
    assert offered(environment) != wanted()


def test_constraints_pin_every_package_within_its_range():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#")  # how it was made
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert pins["torch"] == "2.13.0"
    by_name = {canonicalize_name(name): version for name, version in pins.items()}
    assert len(by_name) > 100  # the whole tree, not only what we name
    for name, specifier in wanted().items():
        assert specifier.contains(by_name[name]), f"{name} {by_name[name]} is not {specifier}"


def test_ci_runs_what_the_readme_says():
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("course", "test", "lab"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}: \$\(READY\)$", makefile, re.MULTILINE)  # each does its own set-up


def test_the_site_is_built_from_nothing_older():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\ncourse: $(READY)\n")[2].partition("\n\n")[0].splitlines()
    assert recipe[0] == "\trm -rf build/lectures build/site"


def test_ci_tries_the_oldest_and_the_newest_python():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert [case["python"] for case in jobs["range"]["strategy"]["matrix"]["include"]] == ["3.11", "3.14"]


def test_readme_gives_each_lecture_with_the_cost_it_states():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cost = stated_cost(read_notebook(path))
        row = next(line for line in readme.splitlines() if line.startswith("|") and f"](notebooks/{path.name})" in line)
        assert row.endswith(f"| {cost.cpu_seconds:.0f} s, {cost.gigabytes:.1f} GB |")


PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(f"tools/site/guide/{path.name}" for path in (ROOT / "tools" / "site" / "guide").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_pages_link_to_files_that_are_there(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [
        link for link in links if not link.startswith("http") and not (ROOT / page).parent.joinpath(link).exists()
    ] == []


def test_readme_is_read_in_some_minutes():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\([^)]*\)|<!--.*?-->", "", readme)
    assert readme.count("](") > 10 and len(re.findall(r"\w+", text)) <= 950


def test_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["version"] == PROJECT["version"] and f"\n## {PROJECT['version']} - " in changes


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page if page == "README.md" else pytest.param(page, marks=pytest.mark.weekly) for page in PAGES]
)
def test_examples_run_as_they_are_printed(page, tmp_path, monkeypatch):
    """Each page's Python, from top to bottom, in a folder with the tickets and a text."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "data" / "tickets", tmp_path / "data" / "tickets")
    shutil.copy(ROOT / "README.md", "text.txt")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    exec("\n".join(blocks), {})

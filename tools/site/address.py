"""Where the course is published: as pyproject.toml's [project.urls] say, else by this checkout's remote, else nowhere.

Links that only work in public, such as those to Colab and Binder, are made from it.
"""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

GITHUB = re.compile(r"(?:https?://(?:[^@/]*@)?|ssh://git@|git@)github\.com[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?/?")


class Address(NamedTuple):
    """A published course; empty strings where it is not.

    Attributes:
        repository: on GitHub, such as "https://github.com/owner/name".
        site: ends in a slash.
        edition: the tag of this checkout, else the branch "main".
    """

    repository: str
    site: str
    edition: str


def find_address(root: Path) -> Address:
    """The address of the course in a folder.

    Args:
        root: holds pyproject.toml and, in a checkout, git's folder.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    urls = project.get("urls", {})
    repository = github_address(urls.get("Repository") or git(root, "remote", "get-url", "origin"))
    site = urls.get("Documentation") or pages_address(repository)
    edition = git(root, "describe", "--tags", "--exact-match") or "main"
    return Address(repository, f"{site.rstrip('/')}/" if site else "", edition)


def github_address(remote: str) -> str:
    """A repository on GitHub as a browser calls it, without user or password; "" for any other remote.

    >>> github_address("git@github.com:owner/name.git")
    'https://github.com/owner/name'
    >>> github_address("/home/somebody/name")
    ''
    """
    found = GITHUB.fullmatch(remote)
    return f"https://github.com/{found[1]}/{found[2]}" if found else ""


def pages_address(repository: str) -> str:
    """Where GitHub Pages shows the site of a repository.

    >>> pages_address("https://github.com/owner/name")
    'https://owner.github.io/name/'
    """
    owner, _, name = repository.removeprefix("https://github.com/").partition("/")
    if name.lower() == f"{owner.lower()}.github.io":
        return f"https://{name}/"
    return f"https://{owner}.github.io/{name}/" if name else ""


def git(root: Path, *arguments: str) -> str:
    """What git says of a checkout; "" where the folder is none, or git has no answer."""
    if not (root / ".git").exists():
        return ""
    try:
        result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""

"""The pages of docs/ name files, folders and commands that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "README.md"])
_PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|c|h|md|yaml|cu|toml)|(?:[\w.-]+/)+)`")
_LINK = re.compile(r"\]\(([^)#:]+)\)")
_MODULE = re.compile(r"python -m ((?:tests|bench|grader)(?:\.\w+)*)")
_BELOW = ("", "grader/", "grader/simulator/", "grader/simulator/core/", "grader/sandbox/")
"""Folders that a page may leave out where it speaks of their files."""
_EXAMPLES = frozenset({"lab.yaml", "reference.py", "baseline.cu", "answers.yaml", "course.yaml"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_on_a_page_exists(page: Path) -> None:
    missing = [
        path
        for path in _PATH.findall(page.read_text())
        if not any((ROOT / folder / path).exists() for folder in _BELOW)
        and Path(path).name not in _EXAMPLES
        and not is_example(path)
    ]
    assert missing == []


def is_example(path: str) -> bool:
    """Return whether a page means files of the reader's own by this path."""
    return path in ("submissions/", "launch.yaml", "wrong/", "operation.h", "universal/")


PACKAGES = sorted((ROOT / "grader").rglob("__init__.py"))
_NAME = re.compile(r"`([a-z_]+)(?:\.([a-z_]+))?`")


@pytest.mark.parametrize("file", PACKAGES, ids=lambda file: file.parent.name)
def test_a_packages_docstring_names_what_exists(file: Path) -> None:
    """Its modules and folders, other packages, or a name that one of its modules defines."""
    docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
    here = {path.stem for folder in file.parents[:2] for path in folder.iterdir()}
    packages = {other.parent.name for other in PACKAGES} | {"faults", "launch"}
    source = "".join(path.read_text() for path in file.parent.rglob("*.py"))
    missing = [
        first
        for first, second in _NAME.findall(docstring)
        if second != "yaml"
        if first not in here | packages
        and not re.search(rf"\b(def|class) {first}\b|^{first}\b.* = ", source, re.M)
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_on_a_page_leads_to_a_file(page: Path) -> None:
    links = _LINK.findall(page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_exists(page: Path) -> None:
    modules = {name.replace(".", "/") for name in _MODULE.findall(page.read_text())}
    missing = [
        name
        for name in modules
        if not (ROOT / f"{name}.py").exists() and not (ROOT / name / "__main__.py").exists()
    ]
    assert missing == []

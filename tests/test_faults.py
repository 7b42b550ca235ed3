"""The wording that error messages share: the closest match, and how to install an extra."""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from collections.abc import Callable

import pytest

from grader.faults import closest_match, did_you_mean, install_command
from tests.command import ROOT

NAMES = ("matmul", "matmul_tiled", "transpose", "reduce")


@pytest.mark.parametrize(
    ("name", "cutoff", "match"),
    [
        ("matmull", 0.6, "matmul"),
        ("matmul_tile", 0.6, "matmul_tiled"),
        ("tranpose", 0.6, "transpose"),
        ("reduce", 0.6, "reduce"),
        ("redo", 0.6, "reduce"),
        ("redo", 0.9, ""),
        ("scan", 0.6, ""),
        ("", 0.6, ""),
    ],
)
def test_misspelled_name_gets_its_closest_match(name: str, cutoff: float, match: str) -> None:
    assert closest_match(name, NAMES, cutoff) == match
    assert did_you_mean(name, NAMES, cutoff) == (f"did you mean `{match}`?" if match else "")


def test_candidates_may_be_any_iterable() -> None:
    assert closest_match("grdi", iter(["grid", "block"])) == "grid"
    assert closest_match("n", {}) == ""


METADATA = ["numpy>=1.26", "copydetect>=0.5 ; extra == 'similar'", 'psycopg; extra == "postgres"']


def without_requirements(_: str) -> list[str] | None:
    return None


def not_installed(name: str) -> list[str] | None:
    raise importlib.metadata.PackageNotFoundError(name)


@pytest.mark.parametrize(
    ("requires", "extra", "end"),
    [
        (lambda _: METADATA, "similar", " -m pip install 'copydetect>=0.5'"),
        (lambda _: METADATA, "postgres", " -m pip install psycopg"),
        (without_requirements, "similar", " -m pip install '.[similar]'"),
        (not_installed, "gpu", " -m pip install '.[gpu]'"),
    ],
)
def test_install_command_names_this_python_and_the_requirements(
    monkeypatch: pytest.MonkeyPatch,
    requires: Callable[[str], list[str] | None],
    extra: str,
    end: str,
) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", requires)
    monkeypatch.setattr(sys, "executable", "/opt/a b/python")
    assert install_command(extra) == "'/opt/a b/python'" + end


def test_no_text_recommends_a_package_that_the_index_does_not_have() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    files = [
        *(ROOT / "grader").rglob("*.py"),
        *(ROOT / "handouts").glob("*.md"),
        ROOT / "README.md",
    ]
    wrong = f"install '{project['name']}["
    assert [str(file) for file in files if wrong in file.read_text("utf-8")] == []

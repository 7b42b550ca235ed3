"""The command that installs an extra: for this Python, with the names of what it needs."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError

import pytest

from grader import faults as extra
from tests.command import ROOT

METADATA = ["numpy>=1.26", "copydetect>=0.5 ; extra == 'similar'", 'psycopg; extra == "postgres"']


def none(_: str) -> list[str] | None:
    return None


def unknown(name: str) -> list[str] | None:
    raise PackageNotFoundError(name)


@pytest.mark.parametrize(
    ("told", "name", "ends"),
    [
        (lambda _: METADATA, "similar", " -m pip install 'copydetect>=0.5'"),
        (lambda _: METADATA, "postgres", " -m pip install psycopg"),
        (none, "similar", " -m pip install '.[similar]'"),
        (unknown, "gpu", " -m pip install '.[gpu]'"),
    ],
)
def test_command(
    monkeypatch: pytest.MonkeyPatch,
    told: Callable[[str], list[str] | None],
    name: str,
    ends: str,
) -> None:
    monkeypatch.setattr("importlib.metadata.requires", told)
    monkeypatch.setattr(sys, "executable", "/opt/a b/python")
    assert extra.install_command(name) == "'/opt/a b/python'" + ends


def test_nobody_is_sent_to_an_index_that_has_no_such_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    places = [
        *(ROOT / "grader").rglob("*.py"),
        *(ROOT / "handouts").glob("*.md"),
        ROOT / "README.md",
    ]
    wrong = f"install '{project['name']}["
    assert [str(place) for place in places if wrong in place.read_text("utf-8")] == []

"""`grader similar` as it is called."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from grader.batch.similarity import fingerprints
from grader.faults import MachineFault
from tests.batch.disguised_copies import renamed
from tests.command import ROOT, grader

CLASS = ROOT / "tests" / "classes" / "tiled-matmul"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample class, a renamed copy in it, a binary file and a file far too large."""
    submissions = tmp_path / "class"
    submissions.mkdir()
    for path in CLASS.glob("*.cu"):
        shutil.copy(path, submissions)
    (submissions / "z-copy.cu").write_text(renamed((CLASS / "s08.cu").read_text()))
    (submissions / "binary.cu").write_bytes(b"\x7fELF\0")
    (submissions / "large.cu").write_text("// x\n" * 20_000)
    return submissions


def test_table_json_and_pages(folder: Path, tmp_path: Path) -> None:
    html, text = tmp_path / "html", tmp_path / "said.json"
    done = grader("similar", "tiled-matmul", folder, "--html", html, "--json", text)
    assert done.code == 0, done.err
    assert done.out.startswith("1 pair is unusually similar, of 13 submissions")
    assert "left out: binary: this is a compiled program" in done.err
    assert "left out: large: the file is larger than 64 KiB" in done.err
    shown = json.loads(text.read_text())
    assert [(p["first"], p["second"], p["reasons"]) for p in shown["pairs"]] == [
        ("s08", "z-copy", ["structure"])
    ]
    assert sorted(path.name for path in html.iterdir()) == ["index.html", "pair-1.html"]


def test_a_group_may_share_its_code(folder: Path, tmp_path: Path) -> None:
    names = sorted(path.stem for path in folder.glob("*.cu"))
    (tmp_path / "roster.csv").write_text("ID\n" + "\n".join(names) + "\n")
    (tmp_path / "course.yaml").write_text(
        "name: c\ntimezone: UTC\nroster: roster.csv\nlabs:\n  tiled-matmul:\n"
        "    groups:\n      A: [s08, z-copy]\n"
    )
    assert grader("gradebook", "secret", "--course", tmp_path).code == 0
    words = ("similar", "tiled-matmul", folder, "--course", tmp_path)
    assert grader(*words).out.startswith("1 pair"), "there is no gradebook, and none is made"
    assert not (tmp_path / "course.db").exists()
    assert grader("gradebook", "roster", "--course", tmp_path).code == 0
    done = grader(*words)
    assert done.code == 0 and done.out.startswith("no two of 13"), done.out
    assert "left out: 1 pairs of students who work in one group" in done.err


def test_json_to_stdout_is_the_only_output(folder: Path) -> None:
    done = grader("similar", "tiled-matmul", folder, "--json", "-")
    assert json.loads(done.out)["submissions"] == 13


def test_code_given_to_all_does_not_count(folder: Path) -> None:
    done = grader("similar", "tiled-matmul", folder, "--known", CLASS / "s08.cu")
    assert done.code == 0 and done.out.startswith("no two of 13")


@pytest.mark.parametrize(
    ("words", "expected_text"),
    [
        (["tiled-matmul", "nowhere"], "there is no such folder or zip"),
        (["tiled-matmull", "class"], "did you mean tiled-matmul?"),
        (["tiled-matmul", "class", "--known", "none.cu"], "cannot read the file"),
        (["tiled-matmul", "class", "--html", "no/where"], "cannot create the folder"),
    ],
)
def test_wrong_use_is_reported(folder: Path, words: list[str], expected_text: str) -> None:
    done = grader("similar", *words, cwd=folder.parent)
    assert done.code == 2 and expected_text in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_without_copydetect_the_fix_names_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copydetect", None)
    monkeypatch.setattr(sys, "executable", "/opt/a b/python")
    with pytest.raises(MachineFault, match="Python package copydetect is missing") as shown:
        fingerprints("int x;", "structure")
    assert shown.value.fix.startswith("'/opt/a b/python' -m pip install ")
    assert "similar" in shown.value.fix or "copydetect" in shown.value.fix


def test_readme_says_what_the_command_needs() -> None:
    """`make demo` does not install the package that compares submissions."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "pip install -e '.[pytest,similar]'` adds" in (ROOT / "README.md").read_text()
    assert {"pytest", "similar"} <= set(extras["optional-dependencies"])

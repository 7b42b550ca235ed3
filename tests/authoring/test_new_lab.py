"""`grader labs new`: the new lab is valid, and no existing file is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.gate import check_labs
from grader.authoring.new_lab import check_name, new_files, write_new
from grader.authoring.requirements import lab_folder
from grader.faults import LabFault
from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab
from tests.command import grader


def test_new_lab_passes_the_gate(tmp_path: Path) -> None:
    written = list(write_new(tmp_path, "warp-sum"))
    assert all(path.is_file() for path in written)
    folder = lab_folder(load_lab("warp-sum", [tmp_path / "labs"]))
    lines = list(check_labs([folder], RunOptions()))
    assert [f"{line.what}: {line.observed}" for line in lines if not line.holds] == []
    assert {"solution passes", "quiz", "mutants"} <= {line.what for line in lines}
    assert len(folder.variants) >= 6


@pytest.mark.parametrize("name", ["a", "tiled-matmul", "lab2", "x1-y2-z3", "float", "a" * 40])
def test_valid_name_is_accepted(name: str) -> None:
    check_name(name)
    texts = new_files(name, "A title")
    assert texts[f"labs/{name}/{name}.cu"].count("TODO") == 1
    assert "title: A title\n" in texts[f"labs/{name}/lab.yaml"]
    assert not any("@NAME@" in text or "@TITLE@" in text for text in texts.values())
    assert {place.split("/")[1].removesuffix(".md") for place in texts} == {name}


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("", ""),
        ("Tiled", "`tiled`"),
        ("a_b", "`a-b`"),
        ("-a", "`a`"),
        ("a-", "`a`"),
        ("a--b", "`a-b`"),
        ("2d-blur", "`d-blur`"),
        ("../../etc", "`etc`"),
        ("a/b", "`a-b`"),
        ("a.b", "`a-b`"),
        ("été", "`t`"),
        ("a\n", "`a`"),
        ("a" * 41, ""),
        (".", ""),
        ("--", ""),
    ],
)
def test_invalid_name_is_rejected_with_a_suggestion(name: str, near: str, tmp_path: Path) -> None:
    with pytest.raises(LabFault) as caught:
        write_new(tmp_path, name)
    assert near in caught.value.fix and "lowercase letters" in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("title", ["a: b", 'say "x"', "x" * 81, "two\nlines", "{n}", "@NAME@"])
def test_invalid_title_is_rejected(title: str, tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="the title must have"):
        write_new(tmp_path, "mine", title)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "taken", ["labs/mine/notes.txt", "solutions/mine/mine.cu", "handouts/mine.md"]
)
def test_existing_files_are_not_overwritten(taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).parent.mkdir(parents=True)
    (tmp_path / taken).write_text("mine")
    with pytest.raises(LabFault, match="already exists"):
        write_new(tmp_path, "mine")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / taken] and files[0].read_text() == "mine"


def test_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "labs").write_text("a file")
    with pytest.raises(LabFault, match="cannot create the folder"):
        list(write_new(tmp_path, "mine"))


def test_command_names_the_written_files_and_the_next_step(tmp_path: Path) -> None:
    result = grader("labs", "new", "mine", "--course", tmp_path, "--title", "My own")
    assert result.code == 0 and result.out == ""
    words = " ".join(result.err.split())
    for path in (p for p in tmp_path.rglob("*") if p.is_file()):
        assert f"wrote {path}" in words
    assert f"grader labs check mine --course {tmp_path}" in words
    assert load_lab("mine", [tmp_path / "labs"]).title == "My own"
    again = grader("labs", "new", "mine", "--course", tmp_path)
    assert again.code == 2 and "already exists" in again.err

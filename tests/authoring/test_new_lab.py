"""`grader labs new`: a lab that holds at once, and nothing of anybody's written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.gate import check_lab, lab_folder
from grader.authoring.new_lab import check_name, new_files, write_new
from grader.faults import LabFault
from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab
from tests.command import grader


def test_a_new_lab_holds_at_once(tmp_path: Path) -> None:
    written = list(write_new(tmp_path, "warp-sum"))
    assert all(path.is_file() for path in written)
    folder = lab_folder(load_lab("warp-sum", [tmp_path / "labs"]))
    lines = list(check_lab(folder, RunOptions()))
    assert [f"{line.what}: {line.seen}" for line in lines if not line.holds] == []
    assert {"solution passes", "quiz", "mutants"} <= {line.what for line in lines}
    assert len(folder.twins) >= 6


@pytest.mark.parametrize("name", ["a", "tiled-matmul", "lab2", "x1-y2-z3", "float", "a" * 40])
def test_good_names(name: str) -> None:
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
def test_bad_names(name: str, near: str, tmp_path: Path) -> None:
    with pytest.raises(LabFault) as caught:
        write_new(tmp_path, name)
    assert near in caught.value.fix and "small letters" in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("title", ["a: b", 'say "x"', "x" * 81, "two\nlines", "{n}", "@NAME@"])
def test_bad_titles(title: str, tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="a title is"):
        write_new(tmp_path, "mine", title)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "taken", ["labs/mine/notes.txt", "solutions/mine/mine.cu", "handouts/mine.md"]
)
def test_nothing_is_written_over(taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).parent.mkdir(parents=True)
    (tmp_path / taken).write_text("mine")
    with pytest.raises(LabFault, match="such a lab already"):
        write_new(tmp_path, "mine")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / taken] and files[0].read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "labs").write_text("a file")
    with pytest.raises(LabFault, match="cannot make the folder"):
        list(write_new(tmp_path, "mine"))


def test_the_command_says_what_it_wrote_and_what_comes_next(tmp_path: Path) -> None:
    said = grader("labs", "new", "mine", "--course", tmp_path, "--title", "My own")
    assert said.code == 0 and said.out == ""
    words = " ".join(said.err.split())
    for path in (p for p in tmp_path.rglob("*") if p.is_file()):
        assert f"wrote {path}" in words
    assert f"grader labs check mine --course {tmp_path}" in words
    assert load_lab("mine", [tmp_path / "labs"]).title == "My own"
    again = grader("labs", "new", "mine", "--course", tmp_path)
    assert again.code == 2 and "such a lab already" in again.err

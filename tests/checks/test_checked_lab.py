"""A lab that was valid is not checked again: what is kept is equal, and any change is seen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.checks import suite
from grader.checks.suite import checked_lab, plan
from grader.faults import LabFault
from grader.grading import quiz
from grader.grading.quiz import known_answer_sheet
from grader.labs.quiz import AnswerSheet, read_answer_sheet
from grader.labs.reading import lab_roots, list_labs, load_lab

ROOTS = lab_roots()
LAB = "tiled-matmul"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "warpgrade"


@pytest.fixture
def course(tmp_path: Path) -> tuple[Path]:
    """A folder of labs with a copy of one lab, to change."""
    shutil.copytree(ROOTS[0] / LAB, tmp_path / "labs" / LAB)
    return (tmp_path / "labs",)


def refused(*arguments: object) -> None:
    raise AssertionError("it was read and checked again")


@pytest.mark.parametrize("name", list_labs(ROOTS))
def test_kept_lab_is_equal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = load_lab(name, ROOTS)
    assert checked_lab(name, ROOTS) == lab
    checks = plan(lab)
    monkeypatch.setattr(suite, "load_lab", refused)
    monkeypatch.setattr(suite, "_validated", refused)
    kept = checked_lab(name, ROOTS)
    assert kept == lab
    assert [repr(check.options) for check in plan(kept)] == [repr(one.options) for one in checks]


CHANGES: dict[str, Callable[[Path], object]] = {
    "lab.yaml": lambda lab: change(lab / "lab.yaml", "points: 15", "points: 16"),
    "thresholds.yaml": lambda lab: (lab / "thresholds.yaml").unlink(),
    "baseline.cu": lambda lab: change(lab / "baseline.cu", "{", "{ "),
}


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("name", CHANGES)
def test_changed_lab_is_read_again(name: str, course: tuple[Path]) -> None:
    before = checked_lab(LAB, course)
    CHANGES[name](course[0] / LAB)
    after = checked_lab(LAB, course)
    assert after == load_lab(LAB, course)
    assert after != before


def test_mistake_in_a_kept_lab_is_found(course: tuple[Path]) -> None:
    checked_lab(LAB, course)
    change(course[0] / LAB / "lab.yaml", "points: 15", "pints: 15")
    with pytest.raises(LabFault) as expected:
        load_lab(LAB, course)
    for _ in range(2):
        with pytest.raises(LabFault) as caught:
            checked_lab(LAB, course)
        assert str(caught.value) == str(expected.value)


def test_mistake_in_an_option_is_not_kept(course: tuple[Path]) -> None:
    change(course[0] / LAB / "lab.yaml", "flop:", "flap:")
    for _ in range(2):
        with pytest.raises(LabFault) as caught:
            plan(checked_lab(LAB, course))
        assert "unknown option `flap`" in str(caught.value)


@pytest.mark.parametrize("name", ["nope", "", "..", ".", "TILED-MATMUL"])
def test_lab_that_is_not_there_is_the_same_fault(name: str) -> None:
    with pytest.raises(LabFault) as expected:
        load_lab(name, ROOTS)
    with pytest.raises(LabFault) as caught:
        checked_lab(name, ROOTS)
    assert str(caught.value) == str(expected.value)


def test_damaged_entries_are_made_again(store: Path) -> None:
    lab = checked_lab(LAB, ROOTS)
    checks = repr([check.options for check in plan(lab)])
    other = checked_lab("histogram", ROOTS)
    entries = sorted(path for folder in ("labs", "options") for path in (store / folder).iterdir())
    contents = {path: path.read_bytes() for path in entries}
    for path, content in contents.items():
        others = [one for one in contents.values() if one != content]
        flipped = bytearray(content)
        flipped[len(flipped) // 2] ^= 1
        for damaged in (b"", content[:-1], bytes(flipped), content + b" ", *others):
            path.write_bytes(damaged)
            assert (checked_lab(LAB, ROOTS), checked_lab("histogram", ROOTS)) == (lab, other)
            assert repr([check.options for check in plan(lab)]) == checks
            path.write_bytes(content)


SHEETS: dict[str, bytes] = {
    "none": b"",
    "answers": b"a: 1\nb: \"x\"\nc: [1]\nd:\ne: ~\nf: '~'\n",
    "not YAML": b"a: [",
    "a list": b"- 1\n",
    "not UTF-8": b"a: \xff\n",
    "repeated": b"a: 1\na: 2\n",
    "large": b"a: " + b"1" * (64 << 10),
}


@pytest.mark.parametrize("name", SHEETS)
def test_kept_answer_sheet_is_equal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answers.yaml").write_bytes(SHEETS[name])
    expected = read_answer_sheet(tmp_path)
    assert known_answer_sheet(tmp_path) == expected
    if not expected.problem:
        monkeypatch.setattr(quiz, "read_answer_sheet", refused)
    assert known_answer_sheet(tmp_path) == expected


@pytest.mark.parametrize("kind", ["nothing", "link", "pipe", "folder"])
def test_what_is_no_file_is_not_read(kind: str, tmp_path: Path) -> None:
    other, sheet = tmp_path / "other.yaml", tmp_path / "answers.yaml"
    other.write_text("a: 1\n")
    sheet.write_text("a: 1\n")
    assert known_answer_sheet(tmp_path).entries  # its content is known
    sheet.unlink()
    made = {
        "nothing": lambda: None,
        "link": lambda: sheet.symlink_to(other),
        "pipe": lambda: os.mkfifo(sheet),
        "folder": sheet.mkdir,
    }
    made[kind]()
    found: AnswerSheet = known_answer_sheet(tmp_path)
    assert found == read_answer_sheet(tmp_path)
    assert not found.entries


def test_caller_hears_of_a_lab_that_has_to_be_read(course: tuple[Path, ...]) -> None:
    """Before it is read, so that other work can begin beside that."""
    heard: list[str] = []
    with pytest.raises(LabFault):
        checked_lab("no-such-lab", course, lambda: heard.append("missing"))
    checked_lab(LAB, course, lambda: heard.append("new"))
    checked_lab(LAB, course, lambda: heard.append("known"))
    assert heard == ["new"]

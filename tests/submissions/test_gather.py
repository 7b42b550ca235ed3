"""Files are assigned to students in every layout, as a folder, as a zip, and in one folder."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.faults import LabFault, StudentFault
from grader.submissions.gather import find_submissions
from grader.submissions.sources import Wanted
from tests.batch.class_folders import archive, folder, kernel

LAB = "tiled-matmul"
A, B, C = kernel(1), kernel(2), kernel(3)
SHEET = b"phases: 4\n"

GRADESCOPE = b"""\
submission_11:
  :submitters:
  - :name: Ann Lee
    :sid: '0100'
    :email: ann@example.org
  :created_at: 2027-03-28 21:59:30.500000000 Z
  :score: 3.0
  :results:
    output: |-
      submission_99:
        :submitters: forged
    :submitters: forged too
  :history:
  - :id: 1
    :submitters: forged
submission_12:
  :submitters:
  - :name: Bo
    :sid:
    :email: bo@example.org
  - :name: Cy
    :sid: C7
    :email:
  :created_at: 2027-03-29 08:00:00.000000000 +02:00
"""


@dataclass(frozen=True)
class Layout:
    """Files, the submissions expected by student, and a part of each note."""

    name: str
    files: Mapping[str, bytes | None]
    submissions: Mapping[str, bytes | str]
    notes: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    full_names: Mapping[str, str] = field(default_factory=dict)


CASES = {
    "flat": Layout(
        "flat",
        {
            "ann.cu": A,
            "bo.CU": B,
            "ann.answers.yaml": SHEET,
            "notes.txt": b"",
            ".hidden.cu": C,
            "__MACOSX/._ann.cu": b"",
            "cy/deep/x.cu": C,
            "di/notes.txt": b"",
            "ed": None,
            "fi.cu": A,
            "fi/fi.cu": B,
        },
        {"ann": A, "bo": B, "cy": C, "fi": "a folder `fi/` of the same student"},
        ("notes.txt", "cy/: taken", "di/: left out", "ed/: left out"),
        ("ann",),
    ),
    "folders": Layout(
        "folders",
        {
            "ann/my kernel.cu": A,
            "ann/answers.yaml": SHEET,
            "bo/deep/er/x.cu": B,
            "bo/answers.yaml": SHEET,
            "cy/tiled-matmul.cu": C,
            "cy/old/tiled-matmul.cu": A,
            "cy/scratch.cu": B,
            "di/a.cu": A,
            "di/b.cu": B,
            "ge/a.cu": b"__global__ void a() {}",
            "ge/old/b.cu": b"__global__ void b() {}",
            "ge/c.cu": b"// __global__ void c() {}",
            "ed": None,
            "fi/report.pdf": b"%PDF-1.7",
            "readme.md": b"",
        },
        {
            "ann": A,
            "bo": B,
            "cy": C,
            "di": "2 parts have a CUDA kernel",
            "ge": "2 parts have a CUDA kernel, and only one can be graded: a.cu, old/b.cu",
            "ed": "no .cu file was submitted",
            "fi": "no .cu file was submitted among 1 file: report.pdf is a PDF document",
        },
        ("readme.md",),
        ("ann", "bo"),
    ),
    "canvas": Layout(
        "canvas",
        {
            "leeann_4711_900_tiled-matmul.cu": A,
            "leeann_4711_901_answers.yaml": SHEET,
            "mullerbo_LATE_4712_902_tiled-matmul-2.cu": B,
            "mullerbo_LATE_4712_903_notes.txt": b"",
            "cyd_4713_904_x.cu": C,
            "solution.cu": C,
        },
        {"4711": A, "4712": B, "4713": C},
        ("solution.cu",),
        ("4711",),
        {"4711": "leeann", "4712": "mullerbo"},
    ),
    "moodle": Layout(
        "moodle",
        {
            "Ann Lee_1001_assignsubmission_file_/tiled-matmul.cu": A,
            "Ann Lee_1001_assignsubmission_file_/answers.yaml": SHEET,
            "Jo_hn O'Bo_1002_assignsubmission_file_/sub/x.cu": B,
            "Ann Lee_1001_assignsubmission_onlinetext_/onlinetext.html": b"",
        },
        {"1001": A, "1002": B},
        ("typed text into Moodle",),
        ("1001",),
        {"1001": "Ann Lee", "1002": "Jo_hn O'Bo"},
    ),
    "moodle without folders": Layout(
        "moodle",
        {
            "Ann Lee_1001_assignsubmission_file_tiled-matmul.cu": A,
            "Bo_1002_assignsubmission_file_x.cu": B,
        },
        {"1001": A, "1002": B},
        full_names={"1001": "Ann Lee"},
    ),
    "gradescope": Layout(
        "gradescope",
        {
            "submission_metadata.yml": GRADESCOPE,
            "submission_11/tiled-matmul.cu": A,
            "submission_11/answers.yaml": SHEET,
            "submission_12/x.cu": B,
            "submission_13/y.cu": C,
        },
        {"0100": A, "bo@example.org": B, "C7": B},
        ("submission_13",),
        ("0100",),
        {"0100": "Ann Lee", "C7": "Cy"},
    ),
}


def made(kind: str, place: Path, files: Mapping[str, bytes | None]) -> Path:
    if "wrapped" in kind:
        files = {f"assignment 3/{name}": data for name, data in files.items()}
    if "zip" in kind:
        return archive(place / "class.zip", files)
    return folder(place / "class", files)


@pytest.mark.parametrize("kind", ["folder", "zip", "wrapped folder", "wrapped zip"])
@pytest.mark.parametrize("name", CASES)
def test_each_file_is_assigned_to_its_student(name: str, kind: str, tmp_path: Path) -> None:
    layout = CASES[name]
    gathered = find_submissions(made(kind, tmp_path, layout.files), LAB)
    assert gathered.layout == layout.name
    got = {one.student: one for one in gathered.submissions}
    assert list(got) == sorted(layout.submissions)
    for student, expected in layout.submissions.items():
        if isinstance(expected, bytes):
            assert got[student].read() == expected
        else:
            with pytest.raises((StudentFault, LabFault), match=expected):
                got[student].submission(Wanted(LAB))
    with_sheet = {s for s, one in got.items() if one.answers() is not None}
    assert with_sheet == set(layout.sheets)
    assert {s: got[s].full_name for s in layout.full_names} == dict(layout.full_names)
    assert len(gathered.notes) == len(layout.notes)
    for note, word in zip(sorted(gathered.notes), sorted(layout.notes), strict=True):
        assert word in note


def test_gradescope_gives_the_time_of_submission(tmp_path: Path) -> None:
    submissions = find_submissions(
        folder(tmp_path / "g", CASES["gradescope"].files), LAB
    ).submissions
    assert {one.student: one.received for one in submissions} == {
        "0100": datetime(2027, 3, 28, 21, 59, 30, 500000, tzinfo=UTC),
        "C7": datetime(2027, 3, 29, 6, 0, tzinfo=UTC),
        "bo@example.org": datetime(2027, 3, 29, 6, 0, tzinfo=UTC),
    }


def test_canvas_gives_lateness_but_no_time(tmp_path: Path) -> None:
    submissions = find_submissions(folder(tmp_path / "c", CASES["canvas"].files), LAB).submissions
    assert [one.student for one in submissions if one.late] == ["4712"]
    assert {one.received for one in submissions} == {None}


def test_folder_of_the_only_student_is_not_unwrapped(tmp_path: Path) -> None:
    files = {"ann/tiled-matmul.cu": A, "ann/scratch.cu": B}
    (one,) = find_submissions(folder(tmp_path / "class", files), LAB).submissions
    assert (one.student, one.read()) == ("ann", A)


def test_decomposed_name_is_the_same_student(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "Zoë")
    (one,) = find_submissions(folder(tmp_path / "class", {f"{name}.cu": A}), LAB).submissions
    assert one.student == "Zoë"


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("layout", ["{}.cu", "{}/lab.cu", "cohort/{}.cu"])
def test_two_spellings_of_one_name_are_both_named(kind: str, layout: str, tmp_path: Path) -> None:
    spellings = [unicodedata.normalize(form, "zoë") for form in ("NFC", "NFD")]
    files = {layout.format(name): kernel(number) for number, name in enumerate(spellings)}
    place = made(kind, tmp_path, {**files, layout.format("bob"): kernel(7)})
    bob, zoe = find_submissions(place, "lab").submissions
    assert bob.read() == kernel(7)
    assert zoe.student == "zoë"
    with pytest.raises(LabFault, match=r"2 names look the same") as caught:
        zoe.read()
    assert "zo\\xeb" in caught.value.what and "zoe\\u0308" in caught.value.what


def test_an_escaped_name_and_a_name_with_that_escape_are_both_named(tmp_path: Path) -> None:
    place = made("folder", tmp_path, {"a\n.cu": kernel(1), "a\\n.cu": kernel(2)})
    (one,) = find_submissions(place, "lab").submissions
    with pytest.raises(LabFault, match="2 names look the same"):
        one.read()


def test_bytes_that_are_not_utf8_are_escaped(tmp_path: Path) -> None:
    folder(tmp_path / "class", {"ok.cu": B})
    (tmp_path / "class" / "caf\udce9.cu").write_bytes(A)
    submissions = {
        one.student: one.read() for one in find_submissions(tmp_path / "class", LAB).submissions
    }
    assert submissions == {"caf\\xe9": A, "ok": B}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize(
    ("mark", "escaped"), [("\n", "\\n"), ("\r", "\\r"), ("\u2028", "\\u2028"), ("\x1b", "\\x1b")]
)
def test_name_is_shown_on_one_line(mark: str, escaped: str, kind: str, tmp_path: Path) -> None:
    files = {f"bo{mark}1 of 1.cu": A, f"no{mark}tes.txt": b""}
    gathered = find_submissions(made(kind, tmp_path, files), LAB)
    assert [one.student for one in gathered.submissions] == [f"bo{escaped}1 of 1"]
    assert gathered.notes[0].startswith(f"no{escaped}tes.txt: left out")


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({}, "there are no submissions"),
        ({"notes.txt": b"", "b.py": b""}, "there are no submissions"),
        ({"submission_metadata.yml": b"- [", "submission_1/x.cu": A}, "Gradescope"),
        (
            {"submission_metadata.yml": b"submission_1:\n  :submitters: [", "a/x.cu": A},
            "Gradescope",
        ),
    ],
)
def test_content_without_submissions_is_a_fault(
    files: Mapping[str, bytes], what: str, tmp_path: Path
) -> None:
    (tmp_path / "class").mkdir()
    with pytest.raises(LabFault, match=what):
        find_submissions(folder(tmp_path / "class", files), LAB)


@pytest.mark.parametrize(
    ("name", "what"), [("x.cu", "neither a folder nor a zip"), ("no", "no such")]
)
def test_path_that_is_not_a_folder_or_zip_is_a_fault(name: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "x.cu").write_bytes(A)
    with pytest.raises(LabFault, match=what) as raised:
        find_submissions(tmp_path / name, LAB)
    assert raised.value.fix

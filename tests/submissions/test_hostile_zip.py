"""Hostile and damaged zips get a fault, read nothing outside, and affect no other student."""

from __future__ import annotations

import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.submissions.files import MAX_BYTES
from grader.submissions.gather import find_submissions
from grader.submissions.listing import MAX_DIRECTORY
from tests.batch.class_folders import HONEST, LAB, SECRET, archive, check_refused, kernel


@pytest.mark.parametrize(
    "name",
    [
        "../eve.cu",
        "a/../../eve.cu",
        "/etc/eve.cu",
        "..\\eve.cu",
        "C:\\eve.cu",
        "C:/eve.cu",
        "./../e.cu",
    ],
)
def test_name_that_leads_out_of_the_zip_is_left_out(name: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST, name: SECRET})
    gathered = find_submissions(path, LAB)
    assert {one.student: one.read() for one in gathered.submissions} == {"honest": HONEST}
    (note,) = gathered.notes
    assert "left out, its name" in note
    assert sorted(p.name for p in tmp_path.iterdir()) == ["class.zip"]


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (2027, 3, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    ("mode", "what"),
    [(0o120777, "a symbolic link"), (0o020666, "not a regular"), (0o010666, "not a regular")],
)
def test_special_file_is_refused(mode: int, what: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST})
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr(entry("eve.cu", mode), "/etc/passwd")
    check_refused(path, what)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_with_one_name_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST, "eve.cu": kernel(1)})
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr("eve.cu", kernel(2))
    check_refused(path, "2 files of this one name")


def test_names_that_differ_in_case_are_two_students(tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"Eve.cu": kernel(1), "eve.cu": kernel(2)})
    submissions = {one.student: one.read() for one in find_submissions(path, LAB).submissions}
    assert submissions == {"Eve": kernel(1), "eve": kernel(2)}


def test_decompression_bomb_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST, "eve.cu": bytes(200 << 20)})
    assert path.stat().st_size < 1 << 20
    submissions = {one.student: one for one in find_submissions(path, LAB).submissions}
    began = time.process_time()
    assert len(submissions["eve"].read()) == MAX_BYTES + 1
    assert time.process_time() - began < 1
    assert submissions["honest"].read() == HONEST


def test_hundred_thousand_files_are_listed_in_time(tmp_path: Path) -> None:
    files: dict[str, bytes | None] = {f"eve/{number}.cu": b"" for number in range(100_000)}
    path = archive(tmp_path / "class.zip", {"honest/x.cu": HONEST, **files})
    began = time.process_time()
    submissions = {one.student: one for one in find_submissions(path, LAB).submissions}
    with pytest.raises(StudentFault, match="100000 files"):
        submissions["eve"].read()
    assert submissions["honest"].read() == HONEST
    assert time.process_time() - began < 30


def broken(path: Path, change: Callable[[bytearray], None]) -> Path:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return path


def _encrypted(data: bytearray) -> None:
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + offset] |= 1


def _damaged(data: bytearray) -> None:
    data[data.index(b"eve.cu") + len("eve.cu") + 2] ^= 0xFF


def _strange_method(data: bytearray) -> None:
    for signature, offset in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        struct.pack_into("<H", data, data.index(signature) + offset, 14)  # LZMA


@pytest.mark.parametrize(
    ("change", "kind", "what"),
    [
        (_encrypted, LabFault, "encrypted"),
        (_damaged, MachineFault, "damaged"),
        (_strange_method, LabFault, "method that is not supported"),
    ],
)
def test_unreadable_file_does_not_affect_the_others(
    change: Callable[[bytearray], None], kind: type[Fault], what: str, tmp_path: Path
) -> None:
    path = archive(tmp_path / "class.zip", {"eve.cu": kernel(1) * 50, "honest.cu": HONEST})
    submissions = {
        one.student: one for one in find_submissions(broken(path, change), LAB).submissions
    }
    with pytest.raises(kind, match=what) as raised:
        submissions["eve"].read()
    assert raised.value.fix
    assert submissions["honest"].read() == HONEST


def _cut(data: bytearray) -> None:
    del data[-40:]


def _huge_directory(data: bytearray) -> None:
    struct.pack_into("<I", data, data.rindex(b"PK\5\6") + 12, 0xFFFFFFF0)


@pytest.mark.parametrize("change", [_cut, _huge_directory])
def test_damaged_zip_is_a_fault(change: Callable[[bytearray], None], tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST})
    with pytest.raises(LabFault, match="zip") as raised:
        find_submissions(broken(path, change), LAB)
    assert raised.value.fix


def test_huge_directory_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "class.zip"
    size = MAX_DIRECTORY + 1
    with path.open("wb") as file:
        file.write(b"PK\3\4")
        file.truncate(size)
        file.seek(size)
        file.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 9, 9, size, 0, 0))
    began = time.process_time()
    with pytest.raises(LabFault, match="millions"):
        find_submissions(path, LAB)
    assert time.process_time() - began < 1

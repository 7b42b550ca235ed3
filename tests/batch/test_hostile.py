"""What may lie in a folder or zip instead of a submission: each gets its verdict, nothing outside
is read, and the honest neighbour is graded as ever."""

from __future__ import annotations

import os
import socket
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.batch.archive import MAX_DIRECTORY
from grader.batch.gather import gather
from grader.fault import Fault, LabFault, MachineFault, StudentFault
from grader.submission import MAX_BYTES
from tests.batch.place import archive, folder, kernel

LAB = "tiled-matmul"
HONEST = kernel(7)
SECRET = b"// CANARY the answer"
STRANGER = 65000


def _link(place: Path, secret: Path) -> None:
    (place / "eve.cu").symlink_to(secret)


def _inner_link(place: Path, secret: Path) -> None:
    (place / "eve.cu").symlink_to(place / "honest.cu")


def _fifo(place: Path, secret: Path) -> None:
    os.mkfifo(place / "eve.cu")


def _socket(place: Path, secret: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(place)  # a socket's path must be short
        bound.bind("eve.cu")
        os.chdir(here)


def _folder(place: Path, secret: Path) -> None:
    (place / "eve.cu").mkdir()


def _hard_link(place: Path, secret: Path) -> None:
    os.chown(secret, STRANGER, STRANGER)
    os.link(secret, place / "eve.cu")


def _device(place: Path, secret: Path) -> None:
    os.mknod(place / "eve.cu", 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero


HOSTILE: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "link out": (_link, "a symbolic link"),
    "link inside": (_inner_link, "a symbolic link"),
    "pipe": (_fifo, "a pipe"),
    "socket": (_socket, "a socket"),
}
if os.geteuid() == 0:  # nobody else can make these
    HOSTILE["hard link"] = (_hard_link, "a hard link to another user's file")
    HOSTILE["device"] = (_device, "a device")


def check_refused(place: Path, what: str) -> None:
    found = {one.student: one for one in gather(place, LAB).found}
    began = time.monotonic()
    with pytest.raises(StudentFault, match=what) as raised:
        found["eve"].read()
    assert raised.value.findings[0].severity == "error"
    assert found["honest"].read() == HONEST
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("name", HOSTILE)
def test_no_file(name: str, tmp_path: Path) -> None:
    make, what = HOSTILE[name]
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    secret = tmp_path / "secret.cu"
    secret.write_bytes(SECRET)
    make(place, secret)
    check_refused(place, what)


def test_a_second_name_for_an_own_file_is_read(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    os.link(place / "honest.cu", place / "copy.cu")
    assert [one.read() for one in gather(place, LAB).found] == [HONEST, HONEST]


def test_a_folder_called_as_a_file_is(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    _folder(place, tmp_path)
    assert [one.student for one in gather(place, LAB).found] == ["honest"]


def test_replaced_between_listing_and_reading(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"eve/x.cu": kernel(1), "honest/x.cu": HONEST})
    (tmp_path / "secret.cu").write_bytes(SECRET)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.cu").write_bytes(SECRET)
    found = {one.student: one for one in gather(place, LAB).found}
    (place / "eve" / "x.cu").unlink()
    (place / "eve" / "x.cu").symlink_to(tmp_path / "secret.cu")
    with pytest.raises(MachineFault):
        found["eve"].read()
    (place / "eve" / "x.cu").unlink()
    (place / "eve").rmdir()
    (place / "eve").symlink_to(tmp_path / "out")
    with pytest.raises(MachineFault):
        found["eve"].read()
    assert found["honest"].read() == HONEST


def test_an_answer_sheet_that_is_a_link(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"eve/x.cu": HONEST, "ann/x.cu": HONEST})
    (tmp_path / "secret").write_bytes(SECRET)
    (place / "eve" / "answers.yaml").symlink_to(tmp_path / "secret")
    eve = next(one for one in gather(place, LAB).found if one.student == "eve")
    assert eve.read() == HONEST
    with pytest.raises(StudentFault, match="symbolic link"):
        eve.answers()


@pytest.fixture
def not_root() -> Iterator[None]:
    """Root may read everything: the test goes on as somebody else."""
    if os.geteuid() == 0:
        os.seteuid(STRANGER)
        yield
        os.seteuid(0)
    else:
        yield


def test_what_cannot_be_read_is_no_fault_of_the_student(tmp_path: Path, not_root: None) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        folder(place, {"eve/x.cu": kernel(1), "mal/x.cu": kernel(2), "honest/x.cu": HONEST})
        (place / "eve" / "x.cu").chmod(0)
        (place / "mal").chmod(0)
        found = {one.student: one for one in gather(place, LAB).found}
        for student in ("eve", "mal"):
            with pytest.raises(MachineFault, match="Permission denied"):
                found[student].read()
        assert found["honest"].read() == HONEST
        (place / "mal").chmod(0o700)


def test_a_file_without_end_is_read_no_further_than_it_may_be_long(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    with (place / "eve.cu").open("wb") as file:
        file.truncate(1 << 40)
    found = {one.student: one for one in gather(place, LAB).found}
    assert len(found["eve"].read()) == MAX_BYTES + 1
    assert found["honest"].read() == HONEST


def test_folders_without_end(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest/x.cu": HONEST, "eve/x": b""})
    deep = place / "eve"
    for _ in range(60):
        deep /= "d"
        deep.mkdir()
    (deep / "x.cu").write_bytes(kernel(1))
    gathered = gather(place, LAB)
    assert [one.student for one in gathered.found] == ["eve", "honest"]
    assert any("folders deep" in note for note in gathered.notes)


# -- zips ----------------------------------------------------------------------------------------


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
def test_a_name_that_leads_out(name: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST, name: SECRET})
    gathered = gather(path, LAB)
    assert {one.student: one.read() for one in gathered.found} == {"honest": HONEST}
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
def test_a_member_that_is_no_file(mode: int, what: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST})
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr(entry("eve.cu", mode), "/etc/passwd")
    check_refused(path, what)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST, "eve.cu": kernel(1)})
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr("eve.cu", kernel(2))
    check_refused(path, "2 files of this one name")


def test_names_that_differ_in_case_are_two_students(tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"Eve.cu": kernel(1), "eve.cu": kernel(2)})
    found = {one.student: one.read() for one in gather(path, LAB).found}
    assert found == {"Eve": kernel(1), "eve": kernel(2)}


def test_a_bomb_is_read_no_further_than_a_submission_may_be_long(tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST, "eve.cu": bytes(200 << 20)})
    assert path.stat().st_size < 1 << 20
    found = {one.student: one for one in gather(path, LAB).found}
    began = time.monotonic()
    assert len(found["eve"].read()) == MAX_BYTES + 1
    assert time.monotonic() - began < 1
    assert found["honest"].read() == HONEST


def test_a_hundred_thousand_members(tmp_path: Path) -> None:
    files: dict[str, bytes | None] = {f"eve/{number}.cu": b"" for number in range(100_000)}
    path = archive(tmp_path / "class.zip", {"honest/x.cu": HONEST, **files})
    began = time.monotonic()
    found = {one.student: one for one in gather(path, LAB).found}
    with pytest.raises(StudentFault, match="100000 .cu files"):
        found["eve"].read()
    assert found["honest"].read() == HONEST
    assert time.monotonic() - began < 30


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
        (_strange_method, LabFault, "packed in a way"),
    ],
)
def test_a_member_that_cannot_be_read(
    change: Callable[[bytearray], None], kind: type[Fault], what: str, tmp_path: Path
) -> None:
    path = archive(tmp_path / "class.zip", {"eve.cu": kernel(1) * 50, "honest.cu": HONEST})
    found = {one.student: one for one in gather(broken(path, change), LAB).found}
    with pytest.raises(kind, match=what) as raised:
        found["eve"].read()
    assert raised.value.mend
    assert found["honest"].read() == HONEST


def _cut(data: bytearray) -> None:
    del data[-40:]


def _huge_directory(data: bytearray) -> None:
    struct.pack_into("<I", data, data.rindex(b"PK\5\6") + 12, 0xFFFFFFF0)


@pytest.mark.parametrize("change", [_cut, _huge_directory])
def test_a_zip_that_is_none(change: Callable[[bytearray], None], tmp_path: Path) -> None:
    path = archive(tmp_path / "class.zip", {"honest.cu": HONEST})
    with pytest.raises(LabFault, match="zip") as raised:
        gather(broken(path, change), LAB)
    assert raised.value.mend


def test_a_zip_with_a_directory_of_millions(tmp_path: Path) -> None:
    path = tmp_path / "class.zip"
    size = MAX_DIRECTORY + 1
    with path.open("wb") as file:
        file.write(b"PK\3\4")
        file.truncate(size)
        file.seek(size)
        file.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 9, 9, size, 0, 0))
    began = time.monotonic()
    with pytest.raises(LabFault, match="millions"):
        gather(path, LAB)
    assert time.monotonic() - began < 1

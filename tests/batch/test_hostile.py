"""What may lie in a folder instead of a submission: each gets its verdict, nothing outside is read,
and the honest neighbour is graded as ever.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.faults import MachineFault, StudentFault
from grader.submissions.files import MAX_BYTES
from grader.submissions.gather import find_submissions
from tests.batch.class_folders import HONEST, LAB, SECRET, check_refused, folder, kernel

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


@pytest.mark.parametrize("name", HOSTILE)
def test_a_special_file_is_rejected(name: str, tmp_path: Path) -> None:
    make, what = HOSTILE[name]
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    secret = tmp_path / "secret.cu"
    secret.write_bytes(SECRET)
    make(place, secret)
    check_refused(place, what)


def test_a_hard_link_to_an_own_file_is_read(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    os.link(place / "honest.cu", place / "copy.cu")
    assert [one.read() for one in find_submissions(place, LAB).submissions] == [HONEST, HONEST]


def test_a_folder_named_like_a_source_file_is_rejected(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    _folder(place, tmp_path)
    assert [one.student for one in find_submissions(place, LAB).submissions] == ["honest"]


def test_a_file_replaced_after_listing_is_rejected(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"eve/x.cu": kernel(1), "honest/x.cu": HONEST})
    (tmp_path / "secret.cu").write_bytes(SECRET)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.cu").write_bytes(SECRET)
    found = {one.student: one for one in find_submissions(place, LAB).submissions}
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


def test_a_linked_answer_sheet_counts_as_empty(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"eve/x.cu": HONEST, "ann/x.cu": HONEST})
    (tmp_path / "secret").write_bytes(SECRET)
    (place / "eve" / "answers.yaml").symlink_to(tmp_path / "secret")
    eve = next(one for one in find_submissions(place, LAB).submissions if one.student == "eve")
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


def test_an_unreadable_file_is_not_the_student_s_fault(tmp_path: Path, not_root: None) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        folder(place, {"eve/x.cu": kernel(1), "mal/x.cu": kernel(2), "honest/x.cu": HONEST})
        (place / "eve" / "x.cu").chmod(0)
        (place / "mal").chmod(0)
        found = {one.student: one for one in find_submissions(place, LAB).submissions}
        for student in ("eve", "mal"):
            with pytest.raises(MachineFault, match="Permission denied"):
                found[student].read()
        assert found["honest"].read() == HONEST
        (place / "mal").chmod(0o700)


def test_an_endless_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest.cu": HONEST})
    with (place / "eve.cu").open("wb") as file:
        file.truncate(1 << 40)
    found = {one.student: one for one in find_submissions(place, LAB).submissions}
    assert len(found["eve"].read()) == MAX_BYTES + 1
    assert found["honest"].read() == HONEST


def test_endlessly_nested_folders_are_rejected(tmp_path: Path) -> None:
    place = folder(tmp_path / "class", {"honest/x.cu": HONEST, "eve/x": b""})
    deep = place / "eve"
    for _ in range(60):
        deep /= "d"
        deep.mkdir()
    (deep / "x.cu").write_bytes(kernel(1))
    gathered = find_submissions(place, LAB)
    assert [one.student for one in gathered.submissions] == ["eve", "honest"]
    assert any("folders deep" in note for note in gathered.notes)

"""Submissions are read once; content that is not source text is refused."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from grader.faults import LabFault, StudentFault
from grader.submissions.files import MAX_BYTES, parse_submission, read_submission

SOURCE = b'extern "C" __global__ void k(int* p)\n{\n    *p = 1;\n}\n'


def test_submission_has_the_bytes_that_were_hashed(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_bytes(SOURCE)
    submission = read_submission(path)
    assert submission.name == "kernel.cu"
    assert submission.data == SOURCE
    assert submission.sha256 == hashlib.sha256(SOURCE).hexdigest()
    assert submission.text == SOURCE.decode()


ACCEPTED = [
    b"\xef\xbb\xbf" + SOURCE,
    SOURCE.replace(b"\n", b"\r\n"),
    "// größe\n".encode() + SOURCE,
    SOURCE.ljust(MAX_BYTES),
]


@pytest.mark.parametrize("data", ACCEPTED, ids=["bom", "crlf", "utf-8", "largest"])
def test_valid_source_is_accepted(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "kernel.cu"
    path.write_bytes(data)
    assert read_submission(path).data == data
    assert not read_submission(path).text.startswith("\ufeff")


REFUSED = [
    ("empty", b"", 0, "the file is empty"),
    ("blank", b" \n\t\r\n", 0, "the file is empty"),
    ("bom-only", b"\xef\xbb\xbf\n", 0, "the file is empty"),
    ("too-large", SOURCE.ljust(MAX_BYTES + 1), 0, "larger than 256 KiB"),
    ("ten-megabytes", b"/" * 10_000_000, 0, "larger than 256 KiB"),
    ("binary", b"line\nline\n\x7fELF\0\0", 3, "byte 14 is NUL"),
    ("torn utf-16", b"\xff\xfek\x00\n", 1, "byte 3 is NUL"),
    ("noise", b"// a\n" + bytes(range(128, 256)), 2, "byte 5 is 0x80"),
    ("pdf", b"%PDF-1.7\n%\xe2\xe3\n", 0, "this is a PDF document"),
    ("large pdf", b"%PDF-1.7\n" + b"x" * MAX_BYTES, 0, "this is a PDF document"),
    ("picture", b"\x89PNG\r\n\x1a\n\0\0", 0, "this is a picture"),
    ("photograph", b"\xff\xd8\xff\xe0\0\x10JFIF", 0, "this is a picture"),
    ("program", b"\x7fELF\2\1\1\0", 0, "this is a compiled program"),
    ("old word", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0, "a document of an old Word"),
    ("page", b"<!DOCTYPE html><html></html>", 0, "this is a web page"),
]


@pytest.mark.parametrize(
    ("data", "line", "what"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_content_that_is_not_source_is_refused(
    tmp_path: Path, data: bytes, line: int, what: str
) -> None:
    path = tmp_path / "kernel.cu"
    path.write_bytes(data)
    with pytest.raises(StudentFault) as caught:
        read_submission(path)
    fault = caught.value
    assert what in fault.what
    assert fault.where == (f"kernel.cu:{line}" if line else "kernel.cu")
    assert fault.fix
    assert [(f.severity, f.line, f.file) for f in fault.findings] == [("error", line, "kernel.cu")]


OTHER_ENCODINGS = {
    "utf-16": "utf-16",
    "utf-16-be": "utf-16-be",
    "latin-1": "latin-1",
    "windows-1252": "cp1252",
}


@pytest.mark.parametrize("encoding", OTHER_ENCODINGS)
def test_text_in_another_encoding_becomes_utf8(tmp_path: Path, encoding: str) -> None:
    text = "// größe der Kacheln: 16 × 16\r\n" + SOURCE.decode()
    path = tmp_path / "kernel.cu"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path.write_bytes(mark + text.encode(OTHER_ENCODINGS[encoding]))
    submission = read_submission(path)
    assert submission.text == text
    assert submission.sha256 == hashlib.sha256(submission.data).hexdigest()


def test_a_python_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"import pycuda\n")
    with pytest.raises(StudentFault, match="this is a Python file"):
        read_submission(path)


def test_missing_file_gets_its_closest_match(tmp_path: Path) -> None:
    (tmp_path / "tiled.cu").write_bytes(SOURCE)
    with pytest.raises(LabFault, match="no such file") as caught:
        read_submission(tmp_path / "tilde.cu")
    assert caught.value.fix == f"did you mean {tmp_path / 'tiled.cu'}?"


def test_missing_folder_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="no such file"):
        read_submission(tmp_path / "nowhere" / "kernel.cu")


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="this is a folder"):
        read_submission(tmp_path)


def test_fifo_is_refused_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    os.mkfifo(path)
    with pytest.raises(LabFault, match="not a regular file"):
        read_submission(path)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_device_is_refused(device: str) -> None:
    with pytest.raises(LabFault, match="not a regular file"):
        read_submission(Path(device))


@pytest.mark.parametrize("leads_to", ["kernel.cu", "link.cu", "/etc/passwd", "nowhere"])
def test_link_is_refused_whatever_its_target(leads_to: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_bytes(SOURCE)
    (tmp_path / "link.cu").symlink_to(leads_to)
    with pytest.raises(LabFault, match="symbolic link") as caught:
        read_submission(tmp_path / "link.cu")
    assert "the .cu file itself" in caught.value.fix


def test_folder_of_the_file_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "kernel.cu").write_bytes(SOURCE)
    (tmp_path / "here").symlink_to("own")
    assert read_submission(tmp_path / "here" / "kernel.cu").data == SOURCE


def test_impossible_name_is_a_fault() -> None:
    for name in ("a\0b.cu", "x" * 5000):
        with pytest.raises(LabFault, match="cannot read the file"):
            read_submission(Path(name))


def test_unreadable_file_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_bytes(SOURCE)
    path.chmod(0)
    if os.geteuid() == 0:
        assert read_submission(path).data == SOURCE  # root reads every file
        return
    with pytest.raises(LabFault, match="Permission denied"):
        read_submission(path)


PROGRAM = "#include <cstdio>\n__global__ void k(int* a) { a[0] = 1; }\n// größe\n"


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "cp1252"]
)
def test_a_program_of_any_encoding_is_read(encoding: str) -> None:
    assert parse_submission(PROGRAM.encode(encoding), "k.cu").text == PROGRAM


def test_an_editors_end_mark_is_no_part_of_the_text() -> None:
    assert parse_submission(PROGRAM.encode() + b"\x1a", "k.cu").text == PROGRAM


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("k.java", b"class K {}", "a Java file"),
        ("k.m", b"function k()\nend", "a MATLAB file"),
        ("k.cu", b"import numpy as np\n\ndef f(x):\n    return x\n", "a Python file"),
        ("k.cu", b"//\n// NVVM\n.version 8.0\n.target sm_90\n", "PTX assembly"),
    ],
)
def test_what_is_no_cuda_source_is_named(name: str, data: bytes, kind: str) -> None:
    with pytest.raises(StudentFault, match=f"this is {kind}"):
        parse_submission(data, name)

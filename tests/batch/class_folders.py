"""Folders and zips of submissions, made for a test."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.faults import StudentFault
from grader.submissions.gather import find_submissions

LAB = "tiled-matmul"
KERNEL = 'extern "C" __global__ void k(int* a) { a[0] = %d; }\n'


def kernel(number: int) -> bytes:
    """A source that is another one for each number."""
    return (KERNEL % number).encode()


HONEST = kernel(7)
SECRET = b"// CANARY the answer"


def folder(place: Path, files: Mapping[str, bytes | None]) -> Path:
    """The folder with those files; None makes an empty folder."""
    for name, data in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data)
    return place


def archive(path: Path, files: Mapping[str, bytes | None]) -> Path:
    """The same as a zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in files.items():
            if data is None:
                zipped.mkdir(name) if hasattr(zipped, "mkdir") else zipped.writestr(f"{name}/", b"")
            else:
                zipped.writestr(name, data)
    return path


def check_refused(place: Path, what: str) -> None:
    """The verdict on eve's submission there: she is told what it is, and at once; the honest
    neighbour's is read.
    """
    found = {one.student: one for one in find_submissions(place, LAB).submissions}
    with pytest.raises(StudentFault, match=what) as raised:
        found["eve"].read()
    assert raised.value.findings[0].severity == "error"
    assert found["honest"].read() == HONEST

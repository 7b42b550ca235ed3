"""What a lab's folder holds as one digest: the same lab gives the same grades."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from grader.fault import LabFault
from grader.lab import Lab
from grader.quiz.sheet import FILE as ANSWERS


def lab_digest(lab: Lab) -> str:
    """SHA-256, in hexadecimal, over the names and contents of the files that grades depend on:
    all of the lab's folder but the student's own, which may lie there too (other kernels at its
    top, answers to the quiz). Raises LabFault."""
    digest = hashlib.sha256()
    try:
        for path in sorted(_files(lab)):
            held = path.read_bytes()
            name = path.relative_to(lab.folder).as_posix().encode()
            digest.update(b"%d %b %d " % (len(name), name, len(held)) + held)
    except OSError as error:
        what = f"cannot read the lab's files: {error.strerror}"
        raise LabFault(what, where=str(lab.folder)) from None
    return digest.hexdigest()


def _files(lab: Lab) -> Iterator[Path]:
    for path in lab.folder.rglob("*"):
        parts = path.relative_to(lab.folder).parts
        own = len(parts) == 1 and path.suffix == ".cu" and path != lab.baseline
        hidden = any(part.startswith((".", "__pycache__")) for part in parts)
        if path.is_file() and not own and not hidden and path.name != ANSWERS:
            yield path

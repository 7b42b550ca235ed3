"""The course's secret: a file that nobody else may read, and what is made from it."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from grader.fault import LabFault

LEAST = 32
"""Bytes of a secret file at least: it is the only thing that keeps hidden inputs hidden."""


def read_secret(path: Path) -> bytes:
    """The secret, without the white space around it.

    Raises LabFault: no such file, too short, or one that other users of this machine may read.
    """
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read(1 << 16).strip()
    except OSError as error:
        mend = f"make one: grader gradebook secret --course {path.parent}"
        if not isinstance(error, FileNotFoundError):
            mend = "check its name and its rights"
        what = f"cannot read the course's secret: {error.strerror}"
        raise LabFault(what, where=str(path), mend=mend) from None
    if stat.S_IMODE(mode) & 0o027:
        what = f"others may read the course's secret (its mode is {stat.S_IMODE(mode):o})"
        raise LabFault(what, where=str(path), mend=f"chmod 600 {path}")
    if len(data) < LEAST:
        what = f"the course's secret has {len(data)} bytes; {LEAST} are the least"
        raise LabFault(what, where=str(path), mend="remove the file and make a new one")
    return data


def make_secret(path: Path) -> None:
    """Write a new secret, readable by its owner only. Raises LabFault when there is one: hidden
    inputs are drawn from it, and with another one no grade could be made again."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        mend = "keep it: with another secret no grade could be made again"
        raise LabFault("there is a secret already", where=str(path), mend=mend) from None
    except OSError as error:
        raise LabFault(f"cannot write the secret: {error.strerror}", where=str(path)) from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_hex(32).encode() + b"\n")
        stream.flush()
        os.fsync(handle)

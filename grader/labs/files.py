"""Write files completely or not at all."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from grader.faults import LabFault, MachineFault

_MACHINE_ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ENOMEM)


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file so that no reader ever gets half of it.

    The data go to a new file in the same folder, which then replaces `path`. A device or a pipe is
    written in place. Only its owner can read a `private` file, at any time.

    Raises:
        MachineFault: The disk is full or broken.
        LabFault: The path cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        if private:
            partial.unlink(missing_ok=True)
            partial.touch(0o600, exist_ok=False)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        kind = MachineFault if error.errno in _MACHINE_ERRORS else LabFault
        what = f"cannot write the file: {error.strerror}"
        raise kind(
            what, where=str(path), fix="check that the folder exists and that you may write to it"
        ) from None

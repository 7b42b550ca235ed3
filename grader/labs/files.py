"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from grader.faults import LabFault, MachineFault

_MACHINE = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ENOMEM)


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write beside and rename, so that a reader never sees half a file; a device or a pipe is
    written in place. A `private` file is its owner's alone to read, from its first byte on.

    Raises MachineFault when the disk is full or broken, else LabFault: the path cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        if private:
            part.unlink(missing_ok=True)
            part.touch(0o600, exist_ok=False)
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        kind = MachineFault if error.errno in _MACHINE else LabFault
        what = f"cannot write the file: {error.strerror}"
        raise kind(
            what, where=str(path), fix="check the folder, its rights and the disk"
        ) from None

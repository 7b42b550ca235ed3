"""Anonymous memory that a box shares with its caller: no name to guess, no file to clean up.

The caller makes it, the kernel caps it and, once sealed, keeps it as it is.
"""

from __future__ import annotations

import fcntl
import os

from grader.walls.outcome import BoxDeath


def memory(name: str, size: int | None = None) -> int:
    """A descriptor of anonymous memory; with a size, of that many bytes for good."""
    fd = os.memfd_create(f"warpgrade-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    if size is not None:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd


def seal(fd: int) -> None:
    """Make the contents final. OSError when somebody still has them mapped to write."""
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)


def seal_reply(fd: int) -> None:
    """Make a child's reply final. BoxDeath "protocol" when the child kept a hand on it."""
    try:
        seal(fd)
    except OSError as error:
        raise BoxDeath("protocol", "its reply is still being written") from error

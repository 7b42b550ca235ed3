"""Another user: root's way inside a sandbox, and the wall that is left where there is no sandbox.

Root's processes are not counted against RLIMIT_NPROC and no mode keeps root from a file. So a
judge that runs as root becomes somebody who owns nothing. In a container without namespaces
(Gradescope's) that is all there is: then the answers must be unreadable to others, and what the
stranger leaves, processes and files, is found by its number.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.faults import MachineFault

DYNAMIC_USERS = range(61184, 65520)
"""systemd's range: nobody owns a file by them, and no login has one."""

_WRITABLE = ("/tmp", "/var/tmp", "/dev/shm")
_TRIES = 64
_ENDS_ITS_OWN = (
    "import os, sys; uid = int(sys.argv[1]); os.setgroups([]); os.setgid(uid); os.setuid(uid); "
    "os.kill(-1, 9)"
)


@contextmanager
def unprivileged_user() -> Iterator[int]:
    """A user id that no other box of this machine has meanwhile.

    It is held by a name in the abstract socket namespace, which the kernel frees with us.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        for _ in range(_TRIES):
            uid = secrets.choice(DYNAMIC_USERS)
            try:
                held.bind(f"\0warpgrade-user-{uid}")
            except OSError:  # taken
                continue
            yield uid
            return
    raise MachineFault(
        "no user id is free for a box",
        fix="end the other graders on this machine, or grade with fewer --jobs",
    )


def is_world_readable(paths: Iterable[Path]) -> bool:
    """Whether a user with no rights of its own could read these paths."""
    for path in paths:
        real = path.resolve()
        if not all(p.stat().st_mode & 0o001 for p in (real, *real.parents) if p.is_dir()):
            return False
        if not real.stat().st_mode & 0o004:
            return False
    return True


def make_private(path: Path) -> None:
    """Leave a file or folder to its owner alone."""
    path.chmod(path.stat().st_mode & 0o700)


def remove_leftovers(uid: int) -> None:
    """End what a stranger without a namespace left running, and remove its files."""
    if _running(uid):
        # The kernel's kill(-1) leaves no gap in which one of them could fork; a scan would.
        killer = [os.path.realpath(sys.executable), "-I", "-S", "-c", _ENDS_ITS_OWN, str(uid)]
        subprocess.run(killer, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    for folder in dict.fromkeys((*_WRITABLE, tempfile.gettempdir())):
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                _remove(entry, uid)


def _running(uid: int) -> bool:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):  # it ended while we looked
                if os.stat(f"/proc/{name}").st_uid == uid:
                    return True
    return False


def _remove(entry: os.DirEntry[str], uid: int) -> None:
    with suppress(FileNotFoundError):
        if entry.stat(follow_symlinks=False).st_uid != uid:
            return
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def find_readable(request: list[str], arrays: object) -> tuple[list[str], dict[str, object]]:
    """The step that asks from inside a box which of these files and folders it can read."""
    return [path for path in request if _can_read(path)], {}


def _can_read(path: str) -> bool:
    if os.path.isdir(path):
        return any(
            os.access(os.path.join(folder, name), os.R_OK)
            for folder, _, names in os.walk(path)
            for name in names
        )
    return os.access(path, os.R_OK)

"""Run untrusted code as an unprivileged user, inside the sandbox or where none is available.

Root's processes are not counted against RLIMIT_NPROC, and file modes do not apply to root. So a
grader that runs as root starts each child as a user who owns nothing. In a container without
namespaces (Gradescope's) this is the only isolation: the solutions must then be unreadable to other
users, and the processes and files that the child leaves are found by its user id.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.faults import MachineFault

DYNAMIC_USERS = range(61184, 65520)
"""User ids of systemd's dynamic range, which no login and no installed file has."""

_WRITABLE_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
_TRIES = 64
_KILL_OWN_PROCESSES = (
    "import os, sys; uid = int(sys.argv[1]); os.setgroups([]); os.setgid(uid); os.setuid(uid); "
    "os.kill(-1, 9)"
)


@contextmanager
def unprivileged_user() -> Iterator[int]:
    """Reserve a user id that no other child of this machine has at the same time.

    A name in the abstract socket namespace reserves it; the kernel frees the name with the process.

    Raises:
        MachineFault: No user id is free.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as reservation:
        for _ in range(_TRIES):
            uid = DYNAMIC_USERS[int.from_bytes(os.urandom(8)) % len(DYNAMIC_USERS)]
            try:
                reservation.bind(f"\0warpgrade-user-{uid}")
            except OSError:  # reserved by another process
                continue
            yield uid
            return
    raise MachineFault(
        "no user id is free for a child process",
        fix="end other graders on this machine, or use fewer --jobs",
    )


def is_world_readable(paths: Iterable[Path]) -> bool:
    """Return whether a user without privileges can read these paths."""
    for path in paths:
        real = path.resolve()
        if not all(p.stat().st_mode & 0o001 for p in (real, *real.parents) if p.is_dir()):
            return False
        if not real.stat().st_mode & 0o004:
            return False
    return True


def shared_temporary_folder() -> str:
    """Return a folder for temporary files that a user without privileges can enter.

    $TMPDIR may lie below a private folder, as in a batch job or in a test.

    Raises:
        MachineFault: There is no such folder.
    """
    import tempfile  # with random and its digests: 4 ms, which no check needs

    for folder in dict.fromkeys((tempfile.gettempdir(), *_WRITABLE_FOLDERS)):
        path = Path(folder).resolve()
        is_writable = path.is_dir() and os.access(path, os.W_OK | os.X_OK)
        if is_writable and all(p.stat().st_mode & 0o001 for p in (path, *path.parents)):
            return folder
    raise MachineFault(
        "other users cannot enter any folder for temporary files",
        fix="set TMPDIR to a folder that every user can enter, such as /tmp",
    )


def make_private(path: Path) -> None:
    """Make a file or folder accessible to its owner only."""
    path.chmod(path.stat().st_mode & 0o700)


def remove_leftovers(uid: int) -> None:
    """End the processes of an unprivileged user without a namespace, and remove its files."""
    import tempfile  # with random and its digests: 4 ms, which no check needs

    if _has_process(uid):
        # kill(-1) reaches all of them at once; in a scan one could fork meanwhile.
        killer = [os.path.realpath(sys.executable), "-I", "-S", "-c", _KILL_OWN_PROCESSES, str(uid)]
        import subprocess

        subprocess.run(killer, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    for folder in dict.fromkeys((*_WRITABLE_FOLDERS, tempfile.gettempdir())):
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                _remove(entry, uid)


def _has_process(uid: int) -> bool:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                if os.stat(f"/proc/{name}").st_uid == uid:
                    return True
    return False


def _remove(entry: os.DirEntry[str], uid: int) -> None:
    with suppress(FileNotFoundError):
        if entry.stat(follow_symlinks=False).st_uid != uid:
            return
        if entry.is_dir(follow_symlinks=False):
            import shutil

            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def find_readable(request: list[str], arrays: object) -> tuple[list[str], dict[str, object]]:
    """Return which of these files and folders a sandboxed step can read; itself a step."""
    return [path for path in request if _can_read(path)], {}


def _can_read(path: str) -> bool:
    if os.path.isdir(path):
        return any(
            os.access(os.path.join(folder, name), os.R_OK)
            for folder, _, names in os.walk(path)
            for name in names
        )
    return os.access(path, os.R_OK)

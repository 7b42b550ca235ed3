"""Search for what an attack could leave behind: processes, files, descriptors, shared memory.

The kernel gives a subreaper every orphan of its descendants, so none of them can leave the process
tree that is searched, whatever it forks and whichever session it starts.
"""

from __future__ import annotations

import ctypes
import gc
import os
import stat
import time
from collections import Counter
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.user import DYNAMIC_USERS
from tests.command import descendants
from tests.patience import PATIENCE
from tests.processes import command_line

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Traces:
    """What exists at one time.

    Our descendants' process ids, files in folders that every user may write to, our open
    descriptors by kind, System V memory by id, and control groups of sandboxed children.
    """

    processes: frozenset[int]
    files: frozenset[str]
    descriptors: Counter[str]
    segments: frozenset[str]
    groups: frozenset[str]


def adopt_orphans(adopt: bool = True) -> None:
    """Become a subreaper, or stop being one."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0):
        raise OSError("no subreaper")


def record_traces(*folders: Path, standing: Set[int] = frozenset()) -> Traces:
    """Record what exists now.

    All files of `folders` (a cache, a course) are included. Descendants of the processes `standing`
    are left out.
    """
    gc.collect()  # arrays of a reply keep the descriptor of their memory
    return _recorded(folders, standing)


def _recorded(folders: tuple[Path, ...], standing: Set[int]) -> Traces:
    return Traces(
        frozenset(descendants(standing)),
        frozenset(_files(folders)),
        _descriptors(),
        frozenset(_segments()),
        frozenset(str(p) for p in Path("/sys/fs/cgroup").rglob(f"warpgrade-{os.getpid()}-*")),
    )


def remaining_traces(before: Traces, *folders: Path) -> list[str]:
    """Describe what did not exist before; empty once all of it is gone.

    The kernel's kill is asynchronous.
    """
    deadline = time.monotonic() + PATIENCE
    while remaining := _added(before, _recorded(folders, before.processes)):
        if time.monotonic() > deadline:
            return remaining
        if any("descriptors" in one for one in remaining):
            gc.collect()
        time.sleep(0.02)
    return []


def _added(before: Traces, now: Traces) -> list[str]:
    more = {kind: now.descriptors[kind] - before.descriptors[kind] for kind in now.descriptors}
    return [
        *(f"process {_command(pid)}" for pid in now.processes - before.processes),
        *(f"file {path}" for path in sorted(now.files - before.files)),
        *(f"{n} descriptors of {kind}" for kind, n in more.items() if n > 0),
        *(f"shared memory {row}" for row in sorted(now.segments - before.segments)),
        *(f"control group {path}" for path in sorted(now.groups - before.groups)),
    ]


def _segments() -> set[str]:
    """Return the System V memory of unprivileged users by key and id."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    users = _idle_users()
    return {" ".join(row[:2]) for row in rows if int(row[7]) in users}


def _idle_users() -> set[int]:
    """Return the unprivileged users that no running child has.

    Another grader on this machine may use some; it holds the names of its users, see
    grader/sandbox/user.py.
    """
    names = Path("/proc/net/unix").read_text().split()
    held = {name for name in names if name.startswith("@warpgrade-user-")}
    return {uid for uid in DYNAMIC_USERS if f"@warpgrade-user-{uid}" not in held}


def _command(pid: int) -> str:
    return command_line(pid)[:200] or str(pid)


def _files(folders: tuple[Path, ...]) -> set[str]:
    """Return all files in `folders`, and those of attacks where every user may write."""
    files = {str(path) for folder in folders for path in folder.rglob("*")}
    users = _idle_users()
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/lock"):
        for path in Path(folder).glob("*"):
            with suppress(OSError):
                if path.lstat().st_uid in users or "attack" in path.name:
                    files.add(str(path))
    return files


def _descriptors() -> Counter[str]:
    kinds: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            mode = os.fstat(int(name)).st_mode
            known = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a pipe"}
            kinds[known.get(stat.S_IFMT(mode), "a file or memory")] += 1
    return kinds

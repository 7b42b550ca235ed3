"""What an attack could leave behind, looked for: processes, files, descriptors, shared memory.

A process that becomes a subreaper is given every orphan of its descendants, so none of them can
leave the tree that is looked at, whatever it forks and whichever session it starts.
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

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 2.0  # seconds: the kernel's kill is asynchronous


@dataclass(frozen=True)
class Traces:
    """What there is: our descendants' process ids, files by path where anybody may write, our open
    descriptors by kind, System V memory by id, and control groups that boxes made.
    """

    processes: frozenset[int]
    files: frozenset[str]
    descriptors: Counter[str]
    segments: frozenset[str]
    groups: frozenset[str]


def adopt_orphans(adopt: bool = True) -> None:
    """Have the kernel give us our descendants' orphans."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0):
        raise OSError("no subreaper")


def traces(*folders: Path, standing: Set[int] = frozenset()) -> Traces:
    """What there is now; `folders` (a cache, a course) are listed whole. Processes that came from
    those of `standing` are left out.
    """
    gc.collect()  # a reply's arrays hold their memory's descriptor while they live
    return Traces(
        frozenset(descendants(standing)),
        frozenset(_files(folders)),
        _descriptors(),
        frozenset(_segments()),
        frozenset(str(p) for p in Path("/sys/fs/cgroup").rglob(f"warpgrade-{os.getpid()}-*")),
    )


def left(before: Traces, *folders: Path) -> list[str]:
    """What is there now that was not before, in words; nothing when all has gone in 2 s."""
    deadline = time.monotonic() + _PATIENCE
    while found := _beyond(before, traces(*folders, standing=before.processes)):
        if time.monotonic() > deadline:
            return found
        time.sleep(0.02)
    return []


def _beyond(before: Traces, now: Traces) -> list[str]:
    more = {kind: now.descriptors[kind] - before.descriptors[kind] for kind in now.descriptors}
    return [
        *(f"process {_command(pid)}" for pid in now.processes - before.processes),
        *(f"file {path}" for path in sorted(now.files - before.files)),
        *(f"{n} descriptors of {kind}" for kind, n in more.items() if n > 0),
        *(f"shared memory {row}" for row in sorted(now.segments - before.segments)),
        *(f"control group {path}" for path in sorted(now.groups - before.groups)),
    ]


def _segments() -> set[str]:
    """System V memory of a box's user, by key and id."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    users = _idle_users()
    return {" ".join(row[:2]) for row in rows if int(row[7]) in users}


def _idle_users() -> set[int]:
    """The users of boxes that have ended. Another grader's box may be at work on this machine, and
    whoever has a box holds the name of its user: see grader/sandbox/user.py.
    """
    names = Path("/proc/net/unix").read_text().split()
    held = {name for name in names if name.startswith("@warpgrade-user-")}
    return {uid for uid in DYNAMIC_USERS if f"@warpgrade-user-{uid}" not in held}


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
    return str(pid)


def _files(folders: tuple[Path, ...]) -> set[str]:
    """Everything in `folders`, and what a box's user owns, or has our name, where all may write."""
    found = {str(path) for folder in folders for path in folder.rglob("*")}
    users = _idle_users()
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/lock"):
        for path in Path(folder).glob("*"):
            with suppress(OSError):
                if path.lstat().st_uid in users or "attack" in path.name:
                    found.add(str(path))
    return found


def _descriptors() -> Counter[str]:
    kinds: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            mode = os.fstat(int(name)).st_mode
            known = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a pipe"}
            kinds[known.get(stat.S_IFMT(mode), "a file or memory")] += 1
    return kinds

"""A control group for one box, where this machine delegates one to us: a bound on its whole tree.

Resource limits bound one process (memory) or one user (processes), and what lies in memory files
or a tmpfs they do not count at all. A control group (version 2) counts everything that the tree
holds, and `cgroup.kill` ends all of it at one blow. Groups are made beside our own, where
systemd, or the container that we are in, lets us; elsewhere the limits stand alone.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.faults import MachineFault

CONTROLLERS = frozenset({"memory", "pids"})

_EMPTY_SECONDS = 5.0
_ENTER = 'echo 0 >"$0/cgroup.procs" && exec "$@"'


@dataclass(frozen=True)
class ControlGroup:
    """One box's group; it is removed with the box."""

    folder: Path

    def entering(self, command: list[str]) -> list[str]:
        """`command`, which puts itself into the group before it becomes what it is."""
        return ["/bin/sh", "-c", _ENTER, str(self.folder), *command]

    def kill(self) -> None:
        """End every process in it at once."""
        order = self.folder / "cgroup.kill"
        if order.exists():  # Linux before 5.14 has no such file
            order.write_text("1")

    def starved(self) -> bool:
        """Whether the kernel ended a process of it for want of memory."""
        try:
            rows = (self.folder / "memory.events").read_text().split("\n")
        except OSError:  # no memory controller
            return False
        return any(row.startswith("oom_kill ") and row != "oom_kill 0" for row in rows)


@contextmanager
def control_group(parent: Path, memory: int, processes: int) -> Iterator[ControlGroup]:
    """A new group below `parent` for at most so many bytes (0: any) and processes. OSError when
    it cannot be made.
    """
    folder = parent / f"warpgrade-{os.getpid()}-{secrets.token_hex(6)}"
    folder.mkdir()
    made = ControlGroup(folder)
    try:
        limits = {"pids.max": processes}
        if memory:
            limits |= {"memory.max": memory, "memory.swap.max": 0, "memory.oom.group": 1}
        for name, value in limits.items():
            if (folder / name).exists():
                (folder / name).write_text(str(value))
        yield made
    finally:
        made.kill()
        _remove(folder)


@cache
def parent_group() -> Path | str:
    """The group below which ours may be made, else why there is none. Asked once a process."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        own = Path("/proc/self/cgroup").read_text()
    except OSError as error:
        return error.strerror or str(error)
    found = find_delegated_group(mounts, own)
    return found if isinstance(found, str) else _check_enterable(found)


def _check_enterable(parent: Path) -> Path | str:
    """`parent`, when a process of ours can be put into a group below it: who writes is not always
    who may move.
    """
    try:
        with control_group(parent, 1 << 30, 16) as made:
            done = subprocess.run(
                made.entering(["/bin/true"]), check=False, capture_output=True, text=True
            )
    except OSError as error:
        return f"no group can be made in {parent}: {error.strerror}"
    return parent if done.returncode == 0 else f"no group in {parent} can be entered"


def find_delegated_group(mounts: str, own: str, needed: frozenset[str] = CONTROLLERS) -> Path | str:
    """`place`, from the texts of /proc/self/mountinfo and /proc/self/cgroup: the nearest group at
    or above ours that we may write and that hands the controllers `needed` down.
    """
    roots = [row.split()[4] for row in mounts.splitlines() if " - cgroup2 " in row]
    names = [row[3:] for row in own.splitlines() if row.startswith("0::/")]
    if not roots or not names:
        return "control groups version 2 are not mounted"
    root = Path(roots[-1])
    here = root / names[0].lstrip("/")
    above = [folder for folder in (here, *here.parents) if root in (folder, *folder.parents)]
    seen: frozenset[str] = frozenset()
    for folder in above:
        try:
            seen = frozenset((folder / "cgroup.subtree_control").read_text().split())
        except OSError:  # outside what this container is shown
            continue
        if needed <= seen and _ours(folder, alone=here == root):
            return folder
    return "no control group with memory and pids is delegated to us"


def _ours(folder: Path, alone: bool) -> bool:
    """Write permission says it for a user; root may write anywhere, so systemd's mark has to."""
    if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.procs", os.W_OK):
        return False
    return os.geteuid() != 0 or alone or any(_marked(above) for above in (folder, *folder.parents))


def _marked(folder: Path) -> bool:
    for name in ("trusted.delegate", "user.delegate"):
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _remove(folder: Path) -> None:
    """The kernel refuses while a killed process has not gone yet."""
    deadline = time.monotonic() + _EMPTY_SECONDS
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise MachineFault(
                    f"the control group {folder} cannot be removed",
                    fix="see which processes it lists in cgroup.procs, and end them",
                ) from None
            time.sleep(0.005)

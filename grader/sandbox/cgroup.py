"""A control group for one child, which limits its whole process tree.

Resource limits apply to one process (memory) or one user (processes), and do not count memory files
or a tmpfs at all. A control group (version 2) counts everything that the tree holds, and
`cgroup.kill` ends all its processes at once. Groups are created next to the grader's own, where
systemd or the container delegates that; elsewhere only the resource limits apply.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from grader import dataclass
from grader.faults import MachineFault

CONTROLLERS = frozenset({"memory", "pids"})

_EMPTY_SECONDS = 5.0
_ENTER = 'echo 0 >"$0/cgroup.procs" && exec "$@"'


@dataclass(frozen=True)
class ControlGroup:
    """The group of one child; it is removed with the child."""

    folder: Path

    def enter_command(self, command: list[str]) -> list[str]:
        """Return a command that moves itself into the group and then executes `command`."""
        return ["/bin/sh", "-c", _ENTER, str(self.folder), *command]

    def add(self, pid: int) -> None:
        """Move a process that waits to begin into the group."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def kill(self) -> None:
        """End every process in the group at once."""
        switch = self.folder / "cgroup.kill"
        if switch.exists():  # Linux before 5.14 has no such file
            switch.write_text("1")

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel ended a process because the group reached its own limit.

        `oom_kill` alone also counts processes that were ended when the whole machine or a group
        above ran out of memory.
        """
        try:
            rows = (self.folder / "memory.events").read_text().split("\n")
        except OSError:  # no memory controller
            return False
        events = dict(row.split() for row in rows if row)
        return all(events.get(name, "0") != "0" for name in ("oom", "oom_kill"))


@contextmanager
def control_group(parent: Path, memory: int, processes: int) -> Iterator[ControlGroup]:
    """Create a group below `parent`, and remove it with its processes at the end.

    Args:
        parent: The folder of the parent group.
        memory: The most bytes that its processes may hold; 0 sets no limit.
        processes: The most processes that it may have.

    Raises:
        OSError: The group cannot be created.
    """
    folder = parent / f"warpgrade-{os.getpid()}-{os.urandom(6).hex()}"
    folder.mkdir()
    created = ControlGroup(folder)
    try:
        limits = {"pids.max": processes}
        if memory:
            limits |= {"memory.max": memory, "memory.swap.max": 0, "memory.oom.group": 1}
        for name, value in limits.items():
            if (folder / name).exists():
                (folder / name).write_text(str(value))
        yield created
    finally:
        created.kill()
        _remove(folder)


@cache
def parent_group() -> Path | str:
    """Return the folder below which groups may be created, or why there is none.

    Tried once per process.
    """
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        own = Path("/proc/self/cgroup").read_text()
    except OSError as error:
        return error.strerror or str(error)
    parent = find_delegated_group(mounts, own)
    return parent if isinstance(parent, str) else _check_enterable(parent)


def _check_enterable(parent: Path) -> Path | str:
    """Return `parent` when a process can enter a group below it, or why it cannot.

    A user who may create a group is not always allowed to move a process into it.
    """
    import subprocess

    try:
        with control_group(parent, 1 << 30, 16) as created:
            done = subprocess.run(
                created.enter_command(["/bin/true"]), check=False, capture_output=True, text=True
            )
    except OSError as error:
        return f"no group can be created in {parent}: {error.strerror}"
    return parent if done.returncode == 0 else f"no group in {parent} can be entered"


def find_delegated_group(mounts: str, own: str, needed: frozenset[str] = CONTROLLERS) -> Path | str:
    """Return the nearest group at or above ours that is delegated to us, or why there is none.

    Args:
        mounts: The text of /proc/self/mountinfo.
        own: The text of /proc/self/cgroup.
        needed: The controllers that the group must pass on to its children.
    """
    roots = [row.split()[4] for row in mounts.splitlines() if " - cgroup2 " in row]
    names = [row[3:] for row in own.splitlines() if row.startswith("0::/")]
    if not roots or not names:
        return "control groups version 2 are not mounted"
    root = Path(roots[-1])
    here = root / names[0].lstrip("/")
    above = [folder for folder in (here, *here.parents) if root in (folder, *folder.parents)]
    for folder in above:
        try:
            passed_on = frozenset((folder / "cgroup.subtree_control").read_text().split())
        except OSError:  # outside what this container can see
            continue
        if needed <= passed_on and _is_delegated(folder, alone=here == root):
            return folder
    return "no control group with memory and pids is delegated to this user"


def _is_delegated(folder: Path, alone: bool) -> bool:
    """Return whether the group is ours to divide.

    For a user, write permission shows it. Root may write anywhere, so systemd's mark is required,
    except where the group is the only one (`alone`).
    """
    if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.procs", os.W_OK):
        return False
    return (
        os.geteuid() != 0
        or alone
        or any(_has_delegate_mark(above) for above in (folder, *folder.parents))
    )


def _has_delegate_mark(folder: Path) -> bool:
    for name in ("trusted.delegate", "user.delegate"):
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _remove(folder: Path) -> None:
    """Remove the group; the kernel refuses until its killed processes are gone."""
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
                    fix="end the processes that its file cgroup.procs lists",
                ) from None
            time.sleep(0.005)

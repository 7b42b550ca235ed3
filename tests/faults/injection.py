"""The faults: which system call fails how, at which call, in which process of which command."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

COMMANDS = ("check", "batch", "replay")

CALLS: Mapping[str, tuple[str, ...]] = {
    "openat": ("ENOMEM", "EMFILE", "EIO", "EINTR", "EPERM", "ENOSPC"),
    "read": ("EIO", "EINTR", "EAGAIN", "ENOMEM"),
    "pread64": ("EIO", "EINTR", "ENOMEM"),
    "write": ("ENOSPC", "EIO", "EDQUOT", "EINTR", "EAGAIN"),
    "pwrite64": ("ENOSPC", "EIO", "EDQUOT", "EINTR"),
    "lseek": ("EIO",),
    "close": ("EIO", "EINTR", "ENOSPC", "EDQUOT"),
    "mmap": ("ENOMEM", "EAGAIN", "EPERM"),
    "mprotect": ("ENOMEM",),
    "mremap": ("ENOMEM",),
    "madvise": ("ENOMEM", "EAGAIN"),
    "brk": ("ENOMEM",),
    "munmap": ("ENOMEM",),
    "clone": ("EAGAIN", "ENOMEM", "EPERM"),
    "clone3": ("EAGAIN", "ENOMEM", "EPERM"),
    "vfork": ("EAGAIN", "ENOMEM"),
    "execve": ("ENOMEM", "EAGAIN", "EIO", "EPERM"),
    "mount": ("ENOMEM", "ENOSPC", "EPERM", "EIO"),
    "umount2": ("ENOMEM", "EPERM"),
    "pivot_root": ("ENOMEM", "EPERM"),
    "unshare": ("ENOMEM", "ENOSPC", "EPERM"),
    "prlimit64": ("EPERM", "ENOMEM"),
    "setrlimit": ("EPERM",),
    "prctl": ("EPERM",),
    "capset": ("EPERM",),
    "pipe2": ("EMFILE", "ENFILE", "ENOMEM"),
    "socket": ("EMFILE", "ENOMEM", "EPERM"),
    "socketpair": ("EMFILE", "ENOMEM"),
    "sendmsg": ("ENOMEM", "EAGAIN", "EINTR"),
    "sendto": ("ENOMEM", "EAGAIN", "EINTR"),
    "recvmsg": ("ENOMEM", "EINTR"),
    "recvfrom": ("ENOMEM", "EINTR"),
    "bind": ("ENOMEM", "EPERM"),
    "memfd_create": ("ENOMEM", "EMFILE"),
    "ftruncate": ("ENOSPC", "EIO", "EINTR", "EDQUOT"),
    "fallocate": ("ENOSPC", "EDQUOT"),
    "fcntl": ("EPERM", "EAGAIN", "ENOMEM"),
    "rename": ("ENOSPC", "EIO", "EDQUOT", "EPERM"),
    "link": ("ENOSPC", "EDQUOT", "EPERM"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT"),
    "fdatasync": ("EIO", "ENOSPC", "EDQUOT"),
    "pidfd_open": ("EMFILE", "ENOMEM"),
    "poll": ("EINTR", "ENOMEM"),
    "select": ("EINTR", "ENOMEM"),
    "epoll_create1": ("EMFILE", "ENOMEM"),
    "epoll_ctl": ("ENOMEM", "ENOSPC"),
    "epoll_wait": ("EINTR",),
    "wait4": ("EINTR",),
    "waitid": ("EINTR",),
    "clock_nanosleep": ("EINTR",),
    "getrandom": ("EAGAIN", "EINTR"),
    "ioctl": ("EIO", "EINTR", "ENOMEM", "EPERM"),
    "dup": ("EMFILE",),
    "dup2": ("EMFILE", "EINTR"),
    "dup3": ("EMFILE", "EINTR"),
    "newfstatat": ("ENOMEM", "EIO"),
    "statx": ("ENOMEM", "EIO"),
    "readlink": ("ENOMEM", "EIO"),
    "getcwd": ("ENOMEM",),
    "getdents64": ("EIO", "ENOMEM"),
    "mkdir": ("ENOSPC", "EDQUOT", "EIO", "ENOMEM"),
    "rmdir": ("EIO", "EPERM"),
    "unlink": ("EIO", "EPERM", "ENOMEM"),
    "chmod": ("EIO", "EPERM"),
    "utimensat": ("EIO", "EPERM"),
    "symlink": ("ENOSPC", "ENOMEM"),
    "setuid": ("EAGAIN", "EPERM"),
    "setgid": ("EPERM",),
    "setgroups": ("EPERM", "ENOMEM"),
    "setsid": ("EPERM",),
    "chdir": ("ENOMEM", "EIO"),
    "kill": ("EPERM",),
    "sched_getaffinity": ("EPERM",),
}
"""The calls that grading may make, and the errors that a machine may answer them with."""

SIGNALS = ("SIGSTOP", "SIGKILL")
SIGNALED = (
    "openat", "read", "mmap", "clone", "clone3", "execve", "pwrite64", "poll", "close", "write",
    "fdatasync", "rename", "futex", "exit_group",
)  # fmt: skip

_FAILED_BRK = "retval=0"
"""brk has no error code: the kernel answers with the end of the heap as it is. With an error code
in its place the C library would take -12 for an address and use the memory there."""

Process = str
"""Where the fault happens: "all" processes of the command, or one of PROCESSES alone."""

PROCESSES = ("reference", "compile", "simulate", "probe")
"""The process of the reference; the sandboxed steps; the trial whether a sandbox works."""

Counts = Mapping[tuple[str, Process, bool], Mapping[str, int]]
"""For each command, process and kind of start: how often each call is made, at most, by one."""

_FRESH_SHARE = 0.15
_LASTING_SHARE = 0.25
_LASTING = ("ENOMEM", "ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EIO", "EPERM")
"""Errors that may go on. EINTR does not, and is answered by the same call again."""

_COLD_SHARE = 0.5


@dataclass(frozen=True)
class Injection:
    """One fault: what happens at the k-th call of a kind in every process that is meant.

    Attributes:
        command: "check", "batch" or "replay".
        submission: "correct" or "incorrect".
        call: The system call.
        fault: The error that it fails with, or the signal that is delivered at it.
        when: k, from 1; every process counts its own calls.
        process: Which processes are meant.
        fresh: Whether the command still has to import most of its modules.
        cold: Whether the cache is empty; a compiled submission needs no compiler again.
        lasting: Whether all later calls fail too, as on a full disk.
    """

    command: str
    submission: str
    call: str
    fault: str
    when: int
    process: Process = "all"
    fresh: bool = True
    cold: bool = True
    lasting: bool = False

    @property
    def expression(self) -> str:
        """The fault as strace's option -e inject."""
        if self.fault.startswith("SIG"):
            what = f"signal={self.fault}"
        else:
            what = _FAILED_BRK if self.call == "brk" else f"error={self.fault}"
        return f"inject={self.call}:{what}:when={self.when}{'+' * self.lasting}"

    def __str__(self) -> str:
        start = ("fresh" if self.fresh else "loaded") + (" cold" if self.cold else " warm")
        return f"{self.command} {self.submission} ({self.process}, {start}): {self.expression}"


@dataclass(frozen=True)
class Result:
    """How a run ended: "same", "error" or "killed", and the rules that it broke."""

    injection: Injection
    outcome: str
    violations: tuple[str, ...]
    text: str = ""


def injections(
    count: int, seed: int, counts: Counts, submissions: Sequence[str]
) -> Iterator[Injection]:
    """Yield faults in random order; every call with every fault comes before any pair again.

    Only calls that are made are chosen, and only as many times as they are made.
    """
    choose = random.Random(seed)
    pairs = [(call, fault) for call, faults in CALLS.items() for fault in faults]
    pairs += [(call, number) for call in SIGNALED for number in SIGNALS]
    places: dict[str, list[tuple[tuple[str, Process, bool], int]]] = {}
    for place, made in sorted(counts.items()):
        for call, times in made.items():
            places.setdefault(call, []).append((place, times))
    pairs = [pair for pair in pairs if pair[0] in places]
    yielded: set[Injection] = set()
    tries = 0
    while pairs and len(yielded) < count and tries < 100 * count:
        for call, fault in choose.sample(pairs, len(pairs)):
            tries += 1
            one = _drawn(choose, call, fault, places[call], submissions)
            if one not in yielded and len(yielded) < count:
                yielded.add(one)
                yield one


def _drawn(
    choose: random.Random,
    call: str,
    fault: str,
    places: Sequence[tuple[tuple[str, Process, bool], int]],
    submissions: Sequence[str],
) -> Injection:
    """Draw the process first, then the number of the call: small ones are the likelier ones."""
    is_fresh = choose.random() < _FRESH_SHARE
    wanted = choose.choice(sorted({process for (_, process, _), _ in places}))
    fitting = [one for one in places if one[0][1] == wanted]
    fitting = [one for one in fitting if one[0][2] == is_fresh] or fitting
    (command, process, fresh), times = choose.choice(fitting)
    when = min(int((times + 1) ** choose.random()), times)
    cold = process == "compile" or choose.random() < _COLD_SHARE
    submission = choose.choice(list(submissions))
    lasting = fault in _LASTING and choose.random() < _LASTING_SHARE
    return Injection(command, submission, call, fault, when, process, fresh, cold, lasting)


def table(results: Sequence[Result]) -> str:
    """Return the number of runs by call and fault, and how they ended."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for result in results:
        row = rows.setdefault((result.injection.call, result.injection.fault), Counter())
        row["runs"] += 1
        row["violation" if result.violations else result.outcome] += 1
    columns = ("runs", "same", "error", "killed", "violation")
    lines = [f"{'call':18} {'fault':8} " + " ".join(f"{c:>9}" for c in columns)]
    for (call, fault), row in sorted(rows.items()):
        lines.append(f"{call:18} {fault:8} " + " ".join(f"{row[c]:9}" for c in columns))
    total = sum(rows.values(), Counter())
    lines.append(f"{'all':18} {'':8} " + " ".join(f"{total[c]:9}" for c in columns))
    return "\n".join(lines)

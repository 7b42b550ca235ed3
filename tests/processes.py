"""What /proc tells of processes: one that ends while it is read has ended, and fails no test."""

from __future__ import annotations

import os
from pathlib import Path

GONE = (FileNotFoundError, ProcessLookupError)
"""What opening and what reading a file of a process raises once it is reaped."""


def state(pid: int) -> str:
    """Return the letter of a process's state; empty once it is reaped."""
    return _stat(pid)[0]


def parent_of(pid: int) -> int | None:
    """Return the id of a process's parent; None once it is reaped."""
    return int(parent) if (parent := _stat(pid)[1]) else None


def is_running(pid: int) -> bool:
    """Whether a process has not ended; one that waits to be reaped has."""
    return state(pid) not in ("Z", "X", "")


def command_line(pid: int) -> str:
    """Return the words of a process with spaces between them; empty once it has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except GONE:
        return ""
    return words.replace(b"\0", b" ").decode(errors="replace")


def names(pid: int) -> str:
    """Return the name of a process, which a sandboxed step sets, and its command line."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace")
    except GONE:
        return ""
    return name + command_line(pid)


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, of its descendants, and of those that they reaped."""
    seconds, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            for task in os.listdir(f"/proc/{one}/task"):
                waiting += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except GONE:
            continue
        seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds


def ids() -> list[int]:
    """Return the ids of the processes that this one sees."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def with_mark(mark: str) -> list[int]:
    """Return the ids of the processes whose command line contains the mark."""
    return [pid for pid in ids() if mark in command_line(pid)]


def _stat(pid: int) -> tuple[str, str]:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except GONE:
        return "", ""
    return fields[0], fields[1]

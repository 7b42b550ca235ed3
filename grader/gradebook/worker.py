"""A worker's name, from which others on the same machine can tell that it is dead.

A lease alone would make a batch that was killed wait for its own leases to run out. The name says
which process of which boot and PID namespace the worker is; one that is provably gone holds
nothing. A wrong answer could only cost work twice: what is accepted is decided by the fence.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

_PROC = Path("/proc")


def this_worker(part: str = "") -> str:
    """This process, and which part of it: `host/boot/namespace/pid/start/part`."""
    pid = os.getpid()
    host = socket.gethostname().replace("/", "_")
    return "/".join((host, _here(), str(pid), _started(pid) or "0", part))


def is_dead(worker: str) -> bool:
    """Whether that worker is known to have ended: it ran here, and its process is gone."""
    fields = worker.split("/", 5)
    if len(fields) != 6 or not fields[3].isdecimal():
        return False
    known = fields[4] != "0" and "/".join(fields[1:3]) == _here()
    return known and _started(int(fields[3])) != fields[4]


def _here() -> str:
    """The boot of this machine and the PID namespace; `-/-` where the system tells neither."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return "-/-"
    return f"{boot}/{space.partition('[')[2].rstrip(']')}"


def _started(pid: int) -> str:
    """When the process began, in ticks since the boot; "" when there is none, or a zombie."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]

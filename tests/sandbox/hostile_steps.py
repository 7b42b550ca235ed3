"""What a submission would do if it took over the child that holds it; called by name in a box.

Each does its worst and answers with what came of it, if it still can.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

Step = tuple[Any, dict[str, Any]]

MARK = "warpgrade-hostile"


def fork_bomb(request: Any, arrays: dict[str, Any]) -> Step:
    """Every process forks as often as it can, in sessions of its own."""
    while True:
        with suppress(OSError):
            if not os.fork():
                with suppress(OSError):
                    os.setsid()


def thread_bomb(request: Any, arrays: dict[str, Any]) -> Step:
    """How many threads can be had, up to the number asked."""
    threading.stack_size(64 << 10)
    end = threading.Event()
    threads = []
    with suppress(RuntimeError):  # the limit that is being looked for
        for _ in range(request):
            threads.append(threading.Thread(target=end.wait, daemon=True))
            threads[-1].start()
    return sum(thread.ident is not None for thread in threads), {}


def daemon(request: Any, arrays: dict[str, Any]) -> Step:
    """A child that left the group and the session, closed all that it had, and lives on."""
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.closerange(0, 256)
            os.execv("/bin/sleep", [request, "60"])
        os._exit(0)
    os.wait()
    return "started", {}


def closes_everything(request: Any, arrays: dict[str, Any]) -> Step:
    os.closerange(0, 256)
    return "quiet", {}


def closes_its_errors(request: Any, arrays: dict[str, Any]) -> Step:
    for fd in (0, 1, 2):
        os.close(fd)
    return "quiet", {}


def seals_the_reply(request: Any, arrays: dict[str, Any]) -> Step:
    reply = json.loads(sys.argv[1])["reply"]
    fcntl.fcntl(reply, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)
    return "sealed", {}


def floods_its_errors(request: Any, arrays: dict[str, Any]) -> Step:
    line = b'{"value": "pass"}\n' * 1000
    written = 0
    with suppress(OSError):
        while written < 1 << 30:
            written += os.write(2, line)
    os._exit(7)


def kills_all_that_it_can(request: Any, arrays: dict[str, Any]) -> Step:
    """-1 is every process that may be signalled; 1 and the parent are what holds it."""
    told = []
    for target in (-1, 1, os.getppid()):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            try:
                os.kill(target, number)
                told.append("sent")
            except OSError as error:
                told.append(errno.errorcode[error.errno or 0])
    return told, {}


def fills(request: Any, arrays: dict[str, Any]) -> Step:
    """How many bytes a folder takes, in files of a megabyte, and why no more."""
    block = bytes(1 << 20)
    written = 0
    try:
        for number in range(4096):
            with open(f"{request}/{MARK}-{number}", "wb", buffering=0) as file:
                written += file.write(block)
    except OSError as error:
        return [written, errno.errorcode[error.errno or 0]], {}
    return [written, ""], {}


def powers(request: Any, arrays: dict[str, Any]) -> Step:
    """What the kernel lets this process do: its capabilities, mask, limits and descriptors."""
    rows = dict(
        row.split(":\t", 1)
        for row in Path("/proc/self/status").read_text().splitlines()
        if ":\t" in row
    )
    held = {int(name): _target(name) for name in os.listdir("/proc/self/fd")}
    mask = os.umask(0)
    return {
        "capabilities": [int(rows[name], 16) for name in ("CapEff", "CapPrm", "CapAmb")],
        "no_new_privileges": rows["NoNewPrivs"],
        "umask": mask,
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "descriptors": sorted(where for where in held.values() if where),
        "folder": os.getcwd(),
    }, {}


def _target(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{name}").split(":")[-1].removesuffix(" (deleted)")
    except OSError:  # the listing's own
        return ""


def tries(request: Any, arrays: dict[str, Any]) -> Step:
    """Calls that only a privileged process may make: {name: "done" or the error}."""
    libc = ctypes.CDLL(None, use_errno=True)
    calls = {
        "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
        "umount": lambda: libc.umount2(b"/tmp", 2),
        "chroot": lambda: libc.chroot(b"/tmp"),
        "mknod": lambda: libc.mknod(b"/tmp/disk", 0o060666, os.makedev(254, 0)),
        "sethostname": lambda: libc.sethostname(b"x", 1),
        "settimeofday": lambda: libc.settimeofday(ctypes.byref((ctypes.c_long * 2)(1, 0)), None),
        "setuid": lambda: libc.setuid(0),
        "setns": lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
    }
    told = {}
    for name, make in calls.items():
        ctypes.set_errno(0)
        try:
            done = make() == 0
            told[name] = "done" if done else errno.errorcode[ctypes.get_errno()]
        except OSError as error:
            told[name] = errno.errorcode[error.errno or 0]
    return told, {}


def reaches(request: Any, arrays: dict[str, Any]) -> Step:
    """Whether sockets of the machine answer: a TCP port of the loopback, an abstract name."""
    told = []
    for family, address in ((socket.AF_INET, ("127.0.0.1", request["port"])),
                            (socket.AF_UNIX, "\0" + request["name"])):  # fmt: skip
        with socket.socket(family, socket.SOCK_STREAM) as end:
            end.settimeout(2)
            try:
                end.connect(address)
                told.append("reached")
            except OSError as error:
                told.append(errno.errorcode[error.errno or 0])
    return told, {}


def leaves_a_note(request: Any, arrays: dict[str, Any]) -> Step:
    """Write a file that others could find, say so on standard error, and stay a while."""
    for folder in ("/tmp", "/dev/shm"):
        Path(folder, MARK).write_text("copy this")
    time.sleep(request)
    return "stayed", {}


def finds_notes(request: Any, arrays: dict[str, Any]) -> Step:
    """Files that others left, and other processes that can be seen."""
    notes = [f"{folder}/{name}" for folder in ("/tmp", "/dev/shm") for name in os.listdir(folder)]
    notes = [note for note in notes if MARK in note]
    commands = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                commands.append(Path(f"/proc/{name}/cmdline").read_bytes().decode())
    return {"notes": sorted(notes), "others": sum("leaves_a_note" in c for c in commands)}, {}


def keeps_memory(request: Any, arrays: dict[str, Any]) -> Step:
    """System V memory, a queue and a memory file in /dev/shm, none of them given back."""
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0x77617270, ctypes.c_size_t(1 << 20), 0o1666)
    with open("/dev/shm/attack-memory", "wb") as file:
        file.write(bytes(1 << 20))
    return segment >= 0, {}


def runs(request: Any, arrays: dict[str, Any]) -> Step:
    """A program of the system, as injected code would start one."""
    done = subprocess.run(request, capture_output=True, text=True, check=False)
    return [done.returncode, done.stdout], {}

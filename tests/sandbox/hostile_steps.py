"""Steps of a submission that has taken over its child process.

Each attacks the machine and returns what came of it, if it still can.
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
    """Return how many threads can be started, up to the requested number."""
    threading.stack_size(64 << 10)
    end = threading.Event()
    threads = []
    with suppress(RuntimeError):  # the limit is reached
        for _ in range(request):
            threads.append(threading.Thread(target=end.wait, daemon=True))
            threads[-1].start()
    return sum(thread.ident is not None for thread in threads), {}


def daemon(request: Any, arrays: dict[str, Any]) -> Step:
    """Start a daemon: it leaves the group and the session and closes its descriptors."""
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.closerange(0, 256)
            os.execv("/bin/sleep", [request, "3600"])
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
    reply = json.loads(sys.argv[1]).get("reply", 4)  # a template has none
    fcntl.fcntl(reply, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)
    return "sealed", {}


def writes_to_its_first_reply(request: Any, arrays: dict[str, Any]) -> Step:
    """Keep the reply of the first call, and return what writing to it later ends in."""
    if request == 0:
        _KEPT.append(os.dup(4))
        return "first", {}
    try:
        os.pwrite(_KEPT[0], b"forged", 60)
    except OSError as error:
        return errno.errorcode[error.errno or 0], {}
    return "written", {}


def lists_its_descriptors(request: Any, arrays: dict[str, Any]) -> Step:
    return [fd for fd in range(256) if _is_open(fd)], {}


def answers_before_it_replies(request: Any, arrays: dict[str, Any]) -> Step:
    """Say that the reply is written, often, with descriptors, before it is."""
    with socket.socket(fileno=os.dup(5)) as caller, suppress(OSError):
        caller.setblocking(False)
        for _ in range(100_000):
            socket.send_fds(caller, [b"a"], [0, 1, 2])
    time.sleep(0.2)
    return request, {}


def takes_the_next_request(request: Any, arrays: dict[str, Any]) -> Step:
    """Leave a process that waits for the request of the next call, and answers it."""
    if request == 0 and not os.fork():
        with socket.socket(fileno=os.dup(5)) as caller:
            socket.recv_fds(caller, 1, 2)
            caller.send(b"a")
            time.sleep(5)
        os._exit(0)
    return request, {}


def closes_its_channel(request: Any, arrays: dict[str, Any]) -> Step:
    os.close(5)
    time.sleep(0.2)
    return request, {}


def floods_its_errors(request: Any, arrays: dict[str, Any]) -> Step:
    line = b'{"value": "pass"}\n' * 1000
    written = 0
    with suppress(OSError):
        while written < 1 << 30:
            written += os.write(2, line)
    os._exit(7)


def kills_all_that_it_can(request: Any, arrays: dict[str, Any]) -> Step:
    """Signal every process that may be signaled (-1), the first process and the parent."""
    results = []
    for target in (-1, 1, os.getppid()):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            try:
                os.kill(target, number)
                results.append("sent")
            except OSError as error:
                results.append(errno.errorcode[error.errno or 0])
    return results, {}


def fills(request: Any, arrays: dict[str, Any]) -> Step:
    """Return how many bytes can be written to a folder, and the error that ends it."""
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
    """Return the process's capabilities, mask, limits and descriptors."""
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
    """Make calls that need privileges: {name: "done" or the error}."""
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
    results = {}
    for name, make in calls.items():
        ctypes.set_errno(0)
        try:
            done = make() == 0
            results[name] = "done" if done else errno.errorcode[ctypes.get_errno()]
        except OSError as error:
            results[name] = errno.errorcode[error.errno or 0]
    return results, {}


def reaches(request: Any, arrays: dict[str, Any]) -> Step:
    """Return whether sockets of the machine are reachable: a loopback port, an abstract name."""
    results = []
    for family, address in ((socket.AF_INET, ("127.0.0.1", request["port"])),
                            (socket.AF_UNIX, "\0" + request["name"])):  # fmt: skip
        with socket.socket(family, socket.SOCK_STREAM) as end:
            end.settimeout(2)
            try:
                end.connect(address)
                results.append("reached")
            except OSError as error:
                results.append(errno.errorcode[error.errno or 0])
    return results, {}


def leaves_a_note(request: Any, arrays: dict[str, Any]) -> Step:
    """Write files that other processes could find, and stay a while."""
    for folder in ("/tmp", "/dev/shm"):
        Path(folder, MARK).write_text("copy this")
    time.sleep(request)
    return "stayed", {}


def finds_notes(request: Any, arrays: dict[str, Any]) -> Step:
    """Return the files that other steps wrote, and the other processes that are visible."""
    notes = [f"{folder}/{name}" for folder in ("/tmp", "/dev/shm") for name in os.listdir(folder)]
    notes = [note for note in notes if MARK in note]
    commands = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                commands.append(Path(f"/proc/{name}/cmdline").read_bytes().decode())
    return {"notes": sorted(notes), "others": sum("leaves_a_note" in c for c in commands)}, {}


def keeps_memory(request: Any, arrays: dict[str, Any]) -> Step:
    """Create System V memory and a file in /dev/shm, and release neither."""
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0x77617270, ctypes.c_size_t(1 << 20), 0o1666)
    with open("/dev/shm/attack-memory", "wb") as file:
        file.write(bytes(1 << 20))
    return segment >= 0, {}


def runs(request: Any, arrays: dict[str, Any]) -> Step:
    """Run a program of the system, as injected code would."""
    done = subprocess.run(request, capture_output=True, text=True, check=False)
    return [done.returncode, done.stdout], {}


def sees_of_its_template(request: Any, arrays: dict[str, Any]) -> Step:
    """Return what a child that was taken over finds of the processes that made it."""
    rows = Path("/proc/self/status").read_text().splitlines()
    status = dict(row.split(":", 1) for row in rows)
    descriptors = [fd for fd in range(256) if _is_open(fd)]
    return {
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "self": os.getpid(),
        "group and session": [os.getpgrp(), os.getsid(0)],
        "capabilities": {name: int(status[name], 16) for name in ("CapEff", "CapPrm", "CapAmb")},
        "no_new_privileges": status["NoNewPrivs"].strip(),
        "descriptors": descriptors,
        "attempts": {name: _attempt(attempt) for name, attempt in _ATTEMPTS.items()},
    }, {}


def _is_open(fd: int) -> bool:
    with suppress(OSError):
        os.fstat(fd)
        return True
    return False


def _attempt(attempt: Any) -> str:
    try:
        result = attempt()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done" if result in (0, None) else f"{result}: {errno.errorcode[ctypes.get_errno()]}"


def signals_its_group(request: Any, arrays: dict[str, Any]) -> Step:
    """Signal all processes of its group, and the process that waits for it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV):
        signal.signal(number, signal.SIG_IGN if number != signal.SIGSEGV else signal.SIG_DFL)
        with suppress(OSError):
            os.kill(1, number)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(0, signal.SIGUSR1)
    return "signaled", {}


_KEPT: list[int] = []
_libc = ctypes.CDLL(None, use_errno=True)
_ATTEMPTS = {
    "read the memory of init": lambda: Path("/proc/1/mem").open("rb").close(),
    "list the descriptors of init": lambda: None if os.listdir("/proc/1/fd") else 0,
    "attach to init": lambda: _libc.ptrace(16, 1, None, None),
    "make a mount namespace": lambda: _libc.unshare(0x20000),
    "mount": lambda: _libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None),
    "unmount /tmp": lambda: _libc.umount2(b"/tmp", 2),
    "enter the namespaces of init": lambda: _libc.setns(os.pidfd_open(1), 0x20000),
    "become root": lambda: os.setuid(0),
    "open a terminal": lambda: os.close(os.open("/dev/ptmx", os.O_RDWR)),
}

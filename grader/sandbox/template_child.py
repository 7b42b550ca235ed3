"""The template's side: a confined process that has imported what steps need, and forks children.

The template runs in bubblewrap's namespaces and never reads a child's request. A host, forked from
it, gives each child namespaces of its own and hands it the descriptors. The child gives up every
privilege before it reads its request.

    template   imports modules, receives descriptors, forks; lives as long as the grader
      host     creates the namespaces of one child, and ends
        init   process 1 of the PID namespace: waits for the child and reports how it ended
          child  has no privileges; runs one step (`inside.run`) and ends
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import itertools
import json
import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any, NoReturn

from grader import import_numpy_faster
from grader.sandbox import ENDED, FAILED, STARTED, STATUS, inside

_FIRST, _NAMES = 3, ("request", "reply", "channel")
"""The descriptors of a child besides those of every process, and the number of the first."""

_REST_SECONDS = 0.5
"""How long the first child has the machine for itself: a right submission needs no other one."""

SETUP_FAILED = 71
"""The exit code of a child whose namespaces could not be made (EX_OSERR)."""

_NEW_NAMESPACES = 0x00020000 | 0x08000000 | 0x20000000 | 0x40000000  # mount, IPC, PID, network
_NEW_USER = 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_BIND, _MS_REC = 0x1000, 0x4000
_MS_REC_PRIVATE = 0x4000 | 0x40000
_SHARED_MEMORY_BYTES = 16 << 20
_JOIN_SESSION_KEYRING = 1
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_PR_SET_DUMPABLE, _PR_SET_NAME = 4, 15
_CAPABILITY_VERSION = 0x20080522
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Serve on the descriptor that the command line names until the grader closes its end."""
    order = json.loads(sys.argv[1])
    os.umask(0o077)
    sys.path[:0] = order["path"]
    import_numpy_faster()
    first, *later = order["modules"]
    _load(first)
    served = 0
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a handler would let a child end process 1
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # hosts are not waited for
    with socket.socket(fileno=order["channel"]) as channel:
        order_bytes = bytearray(1 << 16)
        while True:
            # The first child need not wait for all, nor share its cores with what only others need.
            if later and not _is_readable(channel, _REST_SECONDS if served == 1 else 0):
                with suppress(Exception):  # what fails here fails in a child, which reports it
                    _load(later.pop(0))
                continue
            size, ancillary, _, _ = channel.recvmsg_into([order_bytes], socket.CMSG_SPACE(8 * 4))
            if not size:
                os._exit(0)
            if not ancillary:
                _rehearse(order_bytes[:size])
                continue
            descriptors = [
                fd for _, _, data in ancillary for fd in struct.unpack(f"{len(data) // 4}i", data)
            ]
            try:
                pid = os.fork()
            except OSError as error:  # this step is refused; those that run go on
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            else:
                if not pid:
                    _host(channel, order_bytes[:size], descriptors)
            served += 1
            order_bytes[:size] = bytes(size)  # no child inherits the order of another
            for fd in descriptors:
                os.close(fd)


def _load(name: str) -> None:
    """Import a module that children need, or call "module:function", whose result it keeps."""
    module, _, function = name.partition(":")
    gc.disable()
    try:
        loaded = importlib.import_module(module)
        if function:
            getattr(loaded, function)()
    finally:
        gc.freeze()  # a collection in a child would copy every page that has an object
        gc.enable()


def _is_readable(channel: socket.socket, seconds: float) -> bool:
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _rehearse(message: bytearray) -> None:
    """Run a step of the grader's own, which reads nothing of a submission, in the template.

    What fails here fails in the children too, which report it.
    """
    step, request = json.loads(message)
    with suppress(Exception):
        inside.load_step(step)(request, {})
    os.chdir("/")
    gc.freeze()


def _host(channel: socket.socket, message: bytearray, descriptors: list[int]) -> NoReturn:
    """Create the namespaces and the init process in them, and end."""
    try:
        channel.close()
        order = json.loads(message)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _unshare(order["new_user"])
        if os.fork():
            os._exit(0)
        report, *shared = descriptors
        with socket.socket(fileno=report) as reported:
            _init(reported, order, shared)
    except BaseException as error:  # noqa: BLE001  the grader reads it when no child was made
        with suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(SETUP_FAILED)


def _init(report: socket.socket, order: dict[str, Any], shared: list[int]) -> NoReturn:
    """Be process 1 of a PID namespace: start the child, and report its end.

    The kernel ends the child's descendants with this process. The child cannot be process 1,
    which ignores signals that would end any other.
    """
    os.setsid()  # a process group spans PID namespaces: kill(0) would reach every sibling
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")  # nor can the child be traced
    _private_mounts(order["scratch"], order["visible"])
    _own_network_and_keys()
    socket.send_fds(report, [STARTED], [os.pidfd_open(os.getpid())])
    if not report.recv(1):  # the grader puts this process into a control group first
        os._exit(SETUP_FAILED)
    try:
        pid = os.fork()
    except OSError:
        report.send(FAILED)
        raise
    if not pid:
        _child(order, shared, report)
    for fd in shared:
        os.close(fd)
    while True:  # orphans of the child are children of this process
        ended, status, used = os.wait4(-1, 0)
        if ended == pid:
            code, cpu = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
            report.send(STATUS + struct.pack(ENDED, code, cpu))
            os._exit(0)


def _unshare(new_user: bool) -> None:
    """Move this process, and the PID namespace of its children, into new namespaces."""
    uid, gid = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW_NAMESPACES | (_NEW_USER if new_user else 0)), "unshare")
    if new_user:
        for name, text in (
            ("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1"),
        ):  # fmt: skip
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def _child(order: dict[str, Any], shared: list[int], report: socket.socket) -> NoReturn:
    """Give up every privilege, and run the step."""
    request, reply, errors, *channel = shared
    try:
        os.dup2(errors, 2)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        limit = os.sysconf("SC_OPEN_MAX")  # a descriptor may be above the child's own limit
        _libc.prctl(_PR_SET_NAME, order["arguments"]["step"].rpartition(".")[2].encode(), 0, 0, 0)
        inherited = inside.address_space("VmSize")
        reduced = inside.set_limits(order["arguments"]["limits"], inherited)
        if order["uid"]:
            inside.drop(order["uid"])
        _drop_capabilities()
        own = _renumbered([request, reply, *channel], limit)
    except BaseException as error:  # noqa: BLE001  nothing of the submission has run yet
        with suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}".encode())
        with suppress(OSError):
            report.send(FAILED)
        os._exit(SETUP_FAILED)
    try:
        inside.run({**order["arguments"], **own}, reduced, inherited)
    except BaseException as error:  # noqa: BLE001  as a new interpreter ends
        with suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(1)


def _renumbered(descriptors: list[int], limit: int) -> dict[str, int | None]:
    """Give the descriptors the numbers that they have in every child, and close all others."""
    above = [fcntl.fcntl(fd, fcntl.F_DUPFD, _FIRST + len(_NAMES)) for fd in descriptors]
    for number, fd in enumerate(above, _FIRST):
        os.dup2(fd, number)
    os.closerange(_FIRST + len(above), limit)
    return dict(itertools.zip_longest(_NAMES, range(_FIRST, _FIRST + len(above))))


def _private_mounts(scratch: int, visible: list[str]) -> None:
    """Mount what is the child's own: its files, its shared memory, its processes; no terminals.

    Args:
        scratch: The size of its /tmp in bytes.
        visible: The paths below /tmp or /dev/shm that it may read, which the new mounts would hide.
    """
    _check(_libc.mount(None, b"/", None, _MS_REC_PRIVATE, None), "make mounts private")
    hidden = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in visible}
    quiet = _MS_NOSUID | _MS_NODEV
    for folder, flags, size, mode in (
        (b"/tmp", quiet, scratch, 0o1777),
        (b"/dev/shm", quiet, _SHARED_MEMORY_BYTES, 0o1777),
        (b"/dev/pts", quiet | _MS_RDONLY, 4096, 0o755),
    ):
        options = b"size=%d,mode=%o" % (size, mode)
        _check(_libc.mount(b"tmpfs", folder, b"tmpfs", flags, options), f"mount {folder!r}")
    for path, fd in hidden.items():
        _bind(path, fd)
    _check(_libc.mount(b"proc", b"/proc", b"proc", quiet | _MS_NOEXEC, None), "mount /proc")
    os.chdir("/tmp")


def _bind(path: str, fd: int) -> None:
    """Mount what `fd` refers to, with its flags (read-only), at `path` again."""
    mask = os.umask(0o022)  # the child enters these folders as another user
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.makedirs(path, exist_ok=True)  # it may be below one that is mounted already
        elif not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    finally:
        os.umask(mask)
    source = f"/proc/self/fd/{fd}".encode()
    _check(_libc.mount(source, path.encode(), None, _MS_BIND | _MS_REC, None), f"bind {path}")
    os.close(fd)


def _own_network_and_keys() -> None:
    """Bring the loopback up, and leave the keyring that processes of one session share."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = bytearray(struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        flags = struct.unpack_from("h", request, 16)[0]
        struct.pack_into("h", request, 16, flags | _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)
    keyctl = _KEYCTL.get(os.uname().machine)
    if keyctl is not None:  # a kernel without keyrings has nothing to share
        _libc.syscall(keyctl, _JOIN_SESSION_KEYRING, None)


def _drop_capabilities() -> None:
    """Give up all capabilities for good; bubblewrap has already forbidden to gain any."""
    _check(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "prctl")
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, struct.pack("6I", *[0] * 6)), "capset")


def _check(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")

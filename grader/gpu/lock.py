"""One attempt at a time on each GPU: a lock file per device, which also tells a sick one.

The lock is the kernel's (flock), so it ends with the process that holds it, however that ends. Who
takes it must be alone, who has it shares it with the children that use the GPU for it: they may
outlive it, since a killed one ends when its launch does. The file's contents are the quarantine: a
reason, when the GPU failed its health probe.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.fault import MachineFault
from grader.gpu.device import Device

PAUSE, SHORTEST = 0.05, 0.001
FOLDER = Path("/tmp")
"""Not $TMPDIR: batch systems give every job one of its own, and two jobs would share a GPU."""

REASON = 1000
UNTOLD = "it failed its health probe"
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


def lock_file(device: Device, folder: Path | None = None) -> Path:
    """The device's lock file, the same for every user, in FOLDER unless another is named."""
    return (folder or FOLDER) / f"warpgrade-{device.name}.lock"


@contextmanager
def held(
    devices: Sequence[Device], wait: float = 600.0, folder: Path | None = None
) -> Iterator[Device]:
    """The first of `devices` that is sound and free, ours alone until the end.

    Waits up to `wait` seconds for one. MachineFault when all are quarantined, or none gets free.
    """
    files: dict[Device, int] = {}
    try:
        for device in devices:
            files[device] = _open(lock_file(device, folder))
        yield _taken(files, wait, folder)
    finally:
        for file in files.values():
            os.close(file)


def share(path: str | None) -> None:
    """Hold the lock that the parent has, if it named one, until this process ends: if the parent
    is killed, nobody else gets the GPU before its launch has ended too."""
    if path is None:
        return
    with suppress(OSError):  # the parent has it all the same
        fcntl.flock(os.open(path, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_SH | fcntl.LOCK_NB)


def quarantine(device: Device, reason: str, folder: Path | None = None) -> None:
    """Keep `device` from being used again until its lock file is removed."""
    text = (reason or UNTOLD).encode()[:REASON]
    file = _open(lock_file(device, folder))
    try:
        os.ftruncate(file, len(text))  # takes no room: on a full disk only the words are lost
        with suppress(OSError):
            os.pwrite(file, text, 0)
    finally:
        os.close(file)


def sickness(device: Device, folder: Path | None = None) -> str:
    """Why `device` is in quarantine; empty when it is not."""
    try:
        held = lock_file(device, folder).read_bytes()[:REASON]
    except OSError:  # there is no file before the first attempt
        return ""
    return _words(held) if held else ""


def quarantined(devices: Sequence[Device], folder: Path | None = None) -> MachineFault | None:
    """Why none of `devices` may be used; None when one may."""
    return _all_sick(devices, folder) if all(sickness(d, folder) for d in devices) else None


def _words(reason: bytes) -> str:
    """What a lock file says, which any user may have written, in printable characters."""
    text = "".join(c if c.isprintable() else " " for c in reason.decode(errors="replace"))
    return text.strip() or UNTOLD


def _taken(files: dict[Device, int], wait: float, folder: Path | None) -> Device:
    began = time.monotonic()
    while True:
        sound = [device for device, file in files.items() if not os.fstat(file).st_size]
        if not sound:
            raise _all_sick(tuple(files), folder)
        for device in sound:
            path = lock_file(device, folder)
            if _locked(files[device]) and _is_at(files[device], path):
                with suppress(OSError):
                    os.utime(files[device])  # what is in use is not cleared away for its age
                return device
            if not _is_at(files[device], path):  # removed while we waited: others have another
                file = _open(path)
                os.close(files[device])
                files[device] = file
        if time.monotonic() - began > wait:
            raise MachineFault(
                f"no GPU got free in {wait:g} s",
                mend="wait for the other graders to end, or use --on sim",
            )
        time.sleep(pause(time.monotonic() - began))


def pause(waited: float) -> float:
    """Seconds until the next try: who has waited longer asks more often, so that a lock for which
    many wait goes sooner to those that have waited long."""
    return max(PAUSE / (1 + waited), SHORTEST)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # alone
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # fails if another came between the two
    except BlockingIOError:
        return False
    if os.fstat(file).st_size:  # it fell sick while we waited
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
    return True


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except OSError:
        return False


def _all_sick(devices: Sequence[Device], folder: Path | None) -> MachineFault:
    reasons = [f"{d.model} ({d.name}): {sickness(d, folder) or UNTOLD}" for d in devices]
    paths = " ".join(str(lock_file(device, folder)) for device in devices)
    return MachineFault(
        f"every GPU here is in quarantine: {'; '.join(reasons)}",
        mend=f"reset it (nvidia-smi --gpu-reset) or restart the machine, then: rm {paths}",
    )


def _open(path: Path) -> int:
    """The file, made for everybody: another user's grader has to wait for the same lock."""
    try:
        file = _opened(path)
    except OSError as error:
        raise _unusable(path, f"cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _unusable(path, "is no regular file")
    return file


def _opened(path: Path) -> int:
    try:
        return os.open(path, _FLAGS)
    except FileNotFoundError:
        file = os.open(path, _FLAGS | os.O_CREAT, 0o666)
        os.fchmod(file, 0o666)
        return file


def _unusable(path: Path, why: str) -> MachineFault:
    return MachineFault(
        f"the GPU's lock file {why}",
        where=str(path),
        mend=f"let its owner remove it, and see that every user may create files in {path.parent}",
    )

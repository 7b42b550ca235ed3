"""One attempt at a time on each GPU: a lock file per device, which also tells a sick one.

The lock is the kernel's (flock), so it ends with the process that holds it, however that ends. The
file's contents are the quarantine: a reason, when the GPU failed its health probe.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.fault import MachineFault
from grader.gpu.device import Device

PAUSE = 0.05
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


def lock_file(device: Device, folder: Path | None = None) -> Path:
    """The device's lock file, in the folder for temporary files unless another is named."""
    return (folder or Path(tempfile.gettempdir())) / f"warpgrade-{device.name}.lock"


@contextmanager
def held(
    devices: Sequence[Device], wait: float = 600.0, folder: Path | None = None
) -> Iterator[Device]:
    """The first of `devices` that is sound and free, ours alone until the end.

    Waits up to `wait` seconds for one. MachineFault when all are quarantined, or none gets free.
    """
    files = {device: _open(lock_file(device, folder)) for device in devices}
    try:
        yield _taken(files, wait, folder)
    finally:
        for file in files.values():
            os.close(file)


def quarantine(device: Device, reason: str, folder: Path | None = None) -> None:
    """Keep `device` from being used again until its lock file is removed."""
    file = _open(lock_file(device, folder))
    try:
        os.pwrite(file, reason.encode()[:1000], 0)
    finally:
        os.close(file)


def sickness(device: Device, folder: Path | None = None) -> str:
    """Why `device` is in quarantine; empty when it is not."""
    try:
        return lock_file(device, folder).read_text(errors="replace")[:1000]
    except OSError:  # there is no file before the first attempt
        return ""


def _taken(files: dict[Device, int], wait: float, folder: Path | None) -> Device:
    deadline = time.monotonic() + wait
    while True:
        sound = [device for device, file in files.items() if not os.fstat(file).st_size]
        if not sound:
            raise _all_sick(files, folder)
        for device in sound:
            if _locked(files[device]):
                return device
        if time.monotonic() > deadline:
            raise MachineFault(
                f"no GPU got free in {wait:g} s",
                mend="wait for the other graders to end, or use --on sim",
            )
        time.sleep(PAUSE)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    if os.fstat(file).st_size:  # it fell sick while we waited
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
    return True


def _all_sick(files: dict[Device, int], folder: Path | None) -> MachineFault:
    reasons = [
        f"{device.model} ({device.name}): {os.pread(file, 1000, 0).decode(errors='replace')}"
        for device, file in files.items()
    ]
    paths = " ".join(str(lock_file(device, folder)) for device in files)
    return MachineFault(
        f"every GPU here is in quarantine: {'; '.join(reasons)}",
        mend=f"reset it (nvidia-smi --gpu-reset) or restart the machine, then: rm {paths}",
    )


def _open(path: Path) -> int:
    """The file, made for everybody: another user's grader has to wait for the same lock."""
    try:
        try:
            return os.open(path, _FLAGS)
        except FileNotFoundError:
            file = os.open(path, _FLAGS | os.O_CREAT, 0o666)
            os.fchmod(file, 0o666)
            return file
    except OSError as error:
        raise MachineFault(
            f"the GPU's lock file cannot be opened: {error.strerror}", where=str(path)
        ) from error

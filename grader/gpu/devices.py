"""This machine's NVIDIA GPUs and CUDA toolkit, and a lock file for each GPU.

Devices are read from /dev and /proc; nothing here calls CUDA.

One attempt uses a GPU at a time. The lock is an flock, so it ends with the process that holds it.
To take it, a process needs exclusive access; the holder then shares it with its child processes,
which may outlive it: a killed child ends only when its launch does. A non-empty lock file
marks a faulty GPU and holds the reason.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from grader import dataclass
from grader.faults import MachineFault, install_command

DEVICES = Path("/dev")
DRIVER = Path("/proc/driver/nvidia")

_SHARED_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
_LIBRARY = "libcuda.so.1"
_LIBRARY_FOLDERS = (
    "/usr/local/nvidia/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
)


@dataclass(frozen=True)
class Device:
    """One GPU: device node, UUID ("GPU-...", empty when unknown) and product name."""

    node: Path
    uuid: str
    model: str

    @property
    def name(self) -> str:
        """A unique name: the UUID, else the device node."""
        return self.uuid or self.node.name

    def nodes(self) -> tuple[Path, ...]:
        """Return the device nodes that a process needs to use this GPU only."""
        shared = (DEVICES / name for name in _SHARED_NODES)
        return (self.node, *(node for node in shared if node.exists()))


@dataclass(frozen=True)
class Toolkit:
    """The CUDA toolkit: the path of nvcc."""

    nvcc: Path

    @property
    def root(self) -> Path:
        """The toolkit's folder."""
        return self.nvcc.parent.parent


def devices() -> tuple[Device, ...]:
    """Return the GPUs that have a device node, by number."""
    entries = {node: (uuid, model) for node, uuid, model in _driver_entries()}
    nodes = [p for p in DEVICES.glob("nvidia[0-9]*") if p.name.removeprefix("nvidia").isdigit()]
    ordered = sorted(nodes, key=lambda p: int(p.name.removeprefix("nvidia")))
    return tuple(Device(node, *entries.get(node.name, ("", "NVIDIA GPU"))) for node in ordered)


def same_model_devices() -> tuple[Device, ...]:
    """Return the GPUs of the first one's model: code compiled for one runs on all of them.

    Raises:
        MachineFault: there is no GPU.
    """
    present = devices()
    if not present:
        raise _no_gpu_fault()
    return tuple(device for device in present if device.model == present[0].model)


def _driver_entries() -> list[tuple[str, str, str]]:
    """Return (node, UUID, model) of each GPU that the driver describes under /proc."""
    rows = []
    for file in sorted(DRIVER.glob("gpus/*/information")):
        try:
            text = file.read_text(errors="replace")
        except OSError:  # a GPU that has fallen off the bus
            continue
        pairs = (line.partition(":")[::2] for line in text.splitlines())
        fields = {key.strip(): value.strip() for key, value in pairs}
        node = f"nvidia{fields.get('Device Minor', '')}"
        rows.append((node, fields.get("GPU UUID", ""), fields.get("Model", "NVIDIA GPU")))
    return rows


def driver_version() -> str:
    """Return the driver's release such as "580.95.05", empty when there is none."""
    file = DRIVER / "version"
    words = file.read_text().split() if file.is_file() else []
    return next((w for w in words if w[:1].isdigit() and "." in w), "")


def counters_need_administrator() -> bool:
    """Return whether the driver allows hardware counters to administrators only."""
    file = DRIVER / "params"
    parameters = file.read_text() if file.is_file() else ""
    return "RmProfilingAdminOnly: 1" in parameters


def toolkit() -> Toolkit | None:
    """Find the CUDA toolkit: nvcc on the PATH, else under $CUDA_HOME or /usr/local/cuda."""
    folders = [Path(os.environ[k]) / "bin" for k in ("CUDA_HOME", "CUDA_PATH") if k in os.environ]
    found = shutil.which("nvcc") or _first_nvcc(*folders, Path("/usr/local/cuda/bin"))
    return Toolkit(Path(os.path.realpath(found))) if found else None


def _first_nvcc(*folders: Path) -> Path | None:
    return next((f / "nvcc" for f in folders if os.access(f / "nvcc", os.X_OK)), None)


def library_folder() -> Path | None:
    """Find the folder of the driver's user-space library, which a sandboxed child needs."""
    paths = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders = (Path(f) for f in (*paths, *_LIBRARY_FOLDERS) if f)
    return next((f for f in folders if (f / _LIBRARY).exists()), None)


def _no_gpu_fault() -> MachineFault:
    return MachineFault(
        "this machine has no NVIDIA GPU (no /dev/nvidia0)",
        fix="use a machine with an NVIDIA GPU and its driver, or --on sim",
    )


def missing_requirement() -> MachineFault | None:
    """Return what this machine lacks to run kernels on a GPU, and the fix; None if nothing."""
    if not devices():
        return _no_gpu_fault()
    if library_folder() is None:
        what = f"the NVIDIA driver's library {_LIBRARY} is not installed"
        return MachineFault(what, fix="install the driver's user-space part of the same release")
    if find_spec("pycuda") is None:
        return MachineFault("PyCUDA is not installed", fix=install_command("gpu"))
    if toolkit() is None:
        what = "nvcc, the CUDA compiler that PyCUDA calls, is not installed"
        return MachineFault(what, fix="install the CUDA toolkit 13.0 and put nvcc on the PATH")
    return None


FIRST_PAUSE, MIN_PAUSE = 0.05, 0.001
LOCK_FOLDER = Path("/tmp")
"""Not $TMPDIR: batch systems give each job its own, so that two jobs would use one GPU at once."""

LOCK_VARIABLE = "WARPGRADE_GPU_LOCK"
"""The environment variable that names to a child the lock file of its GPU."""

REASON_BYTES = 1000
UNKNOWN_REASON = "it failed its health probe"
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


def lock_file(device: Device, folder: Path | None = None) -> Path:
    """Return the device's lock file, the same for every user."""
    return (folder or LOCK_FOLDER) / f"warpgrade-{device.name}.lock"


@contextmanager
def acquire_device(
    devices: Sequence[Device], wait: float = 600.0, folder: Path | None = None
) -> Iterator[Device]:
    """Lock the first of `devices` that is healthy and free, for the duration of the context.

    Args:
        devices: the devices to choose from.
        wait: seconds to wait for one.
        folder: the folder of the lock files; None for LOCK_FOLDER.

    Raises:
        MachineFault: all are in quarantine, or none became free in time.
    """
    files: dict[Device, int] = {}
    try:
        for device in devices:
            files[device] = _open_lock_file(lock_file(device, folder))
        yield _wait_for_lock(files, wait, folder)
    finally:
        for file in files.values():
            os.close(file)


def share_lock(path: str | None) -> None:
    """Share the parent's lock, if it named one, until this process ends.

    If the parent is killed, no other process gets the GPU before this process' launch has ended.
    """
    if path is None:
        return
    with suppress(OSError):  # the parent still holds it
        fcntl.flock(os.open(path, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_SH | fcntl.LOCK_NB)


def quarantine(device: Device, reason: str, folder: Path | None = None) -> None:
    """Prevent `device` from being used until its lock file is removed."""
    text = (reason or UNKNOWN_REASON).encode()[:REASON_BYTES]
    file = _open_lock_file(lock_file(device, folder))
    try:
        os.ftruncate(file, len(text))  # needs no space: on a full disk only the text is lost
        with suppress(OSError):
            os.pwrite(file, text, 0)
    finally:
        os.close(file)


def quarantine_reason(device: Device, folder: Path | None = None) -> str:
    """Return why `device` is in quarantine; empty when it is not."""
    try:
        held = lock_file(device, folder).read_bytes()[:REASON_BYTES]
    except OSError:  # there is no file before the first attempt
        return ""
    return _printable(held) if held else ""


def all_quarantined(devices: Sequence[Device], folder: Path | None = None) -> MachineFault | None:
    """Return a fault when all `devices` are in quarantine, else None."""
    return (
        _quarantine_fault(devices, folder)
        if all(quarantine_reason(d, folder) for d in devices)
        else None
    )


def _printable(reason: bytes) -> str:
    """Return a lock file's text, which any user may have written, as printable characters."""
    text = "".join(c if c.isprintable() else " " for c in reason.decode(errors="replace"))
    return text.strip() or UNKNOWN_REASON


def _wait_for_lock(files: dict[Device, int], wait: float, folder: Path | None) -> Device:
    began = time.monotonic()
    while True:
        sound = [device for device, file in files.items() if not os.fstat(file).st_size]
        if not sound:
            raise _quarantine_fault(tuple(files), folder)
        for device in sound:
            path = lock_file(device, folder)
            if _try_lock(files[device]) and _is_current_file(files[device], path):
                with suppress(OSError):
                    os.utime(files[device])  # keeps /tmp cleaners from removing it
                return device
            if not _is_current_file(files[device], path):  # removed while we waited
                file = _open_lock_file(path)
                os.close(files[device])
                files[device] = file
        if time.monotonic() - began > wait:
            raise MachineFault(
                f"no GPU became free in {wait:g} s",
                fix="wait until the other graders have finished, or use --on sim",
            )
        time.sleep(retry_pause(time.monotonic() - began))


def retry_pause(waited: float) -> float:
    """Return the seconds until the next try.

    A process that has waited longer tries more often, so that it gets a contended lock earlier.
    """
    return max(FIRST_PAUSE / (1 + waited), MIN_PAUSE)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # exclusive
        fcntl.flock(
            file, fcntl.LOCK_SH | fcntl.LOCK_NB
        )  # fails if another process locked it in between
    except BlockingIOError:
        return False
    if os.fstat(file).st_size:  # quarantined while we waited
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
    return True


def _is_current_file(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except OSError:
        return False


def _quarantine_fault(devices: Sequence[Device], folder: Path | None) -> MachineFault:
    reasons = [
        f"{d.model} ({d.name}): {quarantine_reason(d, folder) or UNKNOWN_REASON}" for d in devices
    ]
    paths = " ".join(str(lock_file(device, folder)) for device in devices)
    return MachineFault(
        f"every GPU of this machine is in quarantine: {'; '.join(reasons)}",
        fix=f"reset it (nvidia-smi --gpu-reset) or restart the machine, then: rm {paths}",
    )


def _open_lock_file(path: Path) -> int:
    """Open the lock file, created for all users: their graders wait for the same lock."""
    try:
        file = _open_or_create(path)
    except OSError as error:
        raise _unusable_lock_file(path, f"cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _unusable_lock_file(path, "is not a regular file")
    return file


def _open_or_create(path: Path) -> int:
    try:
        return os.open(path, _FLAGS)
    except FileNotFoundError:
        file = os.open(path, _FLAGS | os.O_CREAT, 0o666)
        os.fchmod(file, 0o666)
        return file


def _unusable_lock_file(path: Path, why: str) -> MachineFault:
    return MachineFault(
        f"the GPU's lock file {why}",
        where=str(path),
        fix=f"let its owner remove it, and allow every user to create files in {path.parent}",
    )

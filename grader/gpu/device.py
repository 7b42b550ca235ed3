"""This machine's NVIDIA GPUs as the kernel driver shows them; nothing here talks to CUDA."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from grader.extra import install
from grader.fault import MachineFault

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
    """One GPU: its device node, its UUID ("GPU-..."; empty when the driver does not tell it),
    its product name."""

    node: Path
    uuid: str
    model: str

    @property
    def name(self) -> str:
        """What tells it from all others: the UUID, else the node."""
        return self.uuid or self.node.name

    def nodes(self) -> tuple[Path, ...]:
        """The device nodes that a process needs to use this GPU and no other."""
        shared = (DEVICES / name for name in _SHARED_NODES)
        return (self.node, *(node for node in shared if node.exists()))


@dataclass(frozen=True)
class Toolkit:
    """Where nvcc is, and the toolkit's folder around it."""

    nvcc: Path

    @property
    def root(self) -> Path:
        return self.nvcc.parent.parent


def devices() -> tuple[Device, ...]:
    """The GPUs with a device node, in the order of their numbers."""
    told = {node: (uuid, model) for node, uuid, model in _told_by_driver()}
    nodes = [p for p in DEVICES.glob("nvidia[0-9]*") if p.name.removeprefix("nvidia").isdigit()]
    ordered = sorted(nodes, key=lambda p: int(p.name.removeprefix("nvidia")))
    return tuple(Device(node, *told.get(node.name, ("", "NVIDIA GPU"))) for node in ordered)


def alike() -> tuple[Device, ...]:
    """The GPUs of the first one's kind, one at least: what is compiled for one runs on all of
    them. MachineFault when there is none, or none any more."""
    found = devices()
    if not found:
        raise _no_gpu()
    return tuple(device for device in found if device.model == found[0].model)


def _told_by_driver() -> list[tuple[str, str, str]]:
    """(node, UUID, model) of each GPU that the driver describes under /proc."""
    rows = []
    for file in sorted(DRIVER.glob("gpus/*/information")):
        try:
            text = file.read_text(errors="replace")
        except OSError:  # a GPU that has fallen off the bus
            continue
        pairs = (line.partition(":")[::2] for line in text.splitlines())
        told = {key.strip(): value.strip() for key, value in pairs}
        node = f"nvidia{told.get('Device Minor', '')}"
        rows.append((node, told.get("GPU UUID", ""), told.get("Model", "NVIDIA GPU")))
    return rows


def driver_version() -> str:
    """The kernel driver's release such as "580.95.05", empty when there is none."""
    file = DRIVER / "version"
    words = file.read_text().split() if file.is_file() else []
    return next((w for w in words if w[:1].isdigit() and "." in w), "")


def counters_are_closed() -> bool:
    """Whether the driver gives hardware counters to administrators only."""
    file = DRIVER / "params"
    told = file.read_text() if file.is_file() else ""
    return "RmProfilingAdminOnly: 1" in told


def toolkit() -> Toolkit | None:
    """The CUDA toolkit: nvcc on the PATH, else under $CUDA_HOME or /usr/local/cuda."""
    folders = [Path(os.environ[k]) / "bin" for k in ("CUDA_HOME", "CUDA_PATH") if k in os.environ]
    found = shutil.which("nvcc") or _first(*folders, Path("/usr/local/cuda/bin"))
    return Toolkit(Path(os.path.realpath(found))) if found else None


def _first(*folders: Path) -> Path | None:
    return next((f / "nvcc" for f in folders if os.access(f / "nvcc", os.X_OK)), None)


def library_folder() -> Path | None:
    """The folder of the driver's user-space library, which a boxed child has to be told."""
    told = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders = (Path(f) for f in (*told, *_LIBRARY_FOLDERS) if f)
    return next((f for f in folders if (f / _LIBRARY).exists()), None)


def _no_gpu() -> MachineFault:
    return MachineFault(
        "there is no NVIDIA GPU here (no /dev/nvidia0)",
        mend="run this on a machine with an NVIDIA GPU and its driver; --on sim needs none",
    )


def lacking() -> MachineFault | None:
    """What this machine lacks to judge on a GPU, and how to mend it; None when it lacks nothing."""
    if not devices():
        return _no_gpu()
    if library_folder() is None:
        what = f"the NVIDIA driver's library {_LIBRARY} is not installed"
        return MachineFault(what, mend="install the driver's user-space part of the same release")
    if find_spec("pycuda") is None:
        return MachineFault("PyCUDA is not installed", mend=install("gpu"))
    if toolkit() is None:
        what = "nvcc, the CUDA compiler that PyCUDA calls, is not installed"
        return MachineFault(what, mend="install the CUDA toolkit 13.0 and put nvcc on the PATH")
    return None

"""Call a function in a child process on one GPU; describe the GPU and check its health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from grader import dataclass
from grader.compile.cache import cache_key, load, store, user_folder
from grader.faults import MachineFault
from grader.gpu import launch_child
from grader.gpu.devices import (
    Device,
    driver_version,
    library_folder,
    lock_file,
    quarantine,
    toolkit,
)
from grader.gpu.nvcc import cached_release
from grader.gpu.session import LOCK_VARIABLE
from grader.sandbox.call import Limits, Reply, SandboxFailure, run_sandboxed

START_SECONDS = 30.0
"""Seconds for a child to import PyCUDA and to create a context, at most."""

FORMAT = 1


@dataclass(frozen=True)
class DeviceInfo:
    """One GPU: its architecture ("sm_90") and the versions for a grade's provenance."""

    architecture: str
    toolchain: Mapping[str, str]


def call_on(
    device: Device,
    step: Callable[[Any, Mapping[str, NDArray[Any]]], Any],
    request: Any,
    arrays: Mapping[str, NDArray[Any]],
    limits: Limits,
    readable: tuple[Any, ...] = (),
) -> Reply:
    """Run a function of `grader.gpu` in a child process that sees this GPU and no other."""
    libraries = library_folder()
    lock = lock_file(device)
    variables = {
        "LD_LIBRARY_PATH": str(libraries or ""),
        "CUDA_CACHE_DISABLE": "1",
        LOCK_VARIABLE: str(lock),
    }
    if device.uuid:
        variables["CUDA_VISIBLE_DEVICES"] = device.uuid
    needed = [path for path in (libraries, lock) if path is not None and path.exists()]
    return run_sandboxed(
        f"{step.__module__}:{step.__name__}",
        request,
        arrays,
        limits=limits,
        readable=(*needed, *readable),
        devices=device.nodes(),
        variables=variables,
    )


def device_info(device: Device) -> DeviceInfo:
    """Ask CUDA for a description of a GPU; cached per driver and nvcc."""
    tools = toolkit()
    nvcc = cached_release(tools) if tools else ""
    key = cache_key("gpu", FORMAT, device.name, driver_version(), nvcc)
    described = load(user_folder(), key)
    if described is None:
        described = _query_device(device)
        store(user_folder(), key, described)
    toolchain = {
        "device": described["name"],
        "driver": driver_version(),
        "cuda": described["cuda"],
        "pycuda": described["pycuda"],
        "nvcc": nvcc,
    }
    return DeviceInfo(described["architecture"], toolchain)


def _query_device(device: Device) -> Any:
    try:
        return call_on(
            device, launch_child.describe, {}, {}, Limits(wall=START_SECONDS, memory=0)
        ).value
    except SandboxFailure as death:
        what = f"CUDA cannot describe {device.model}: {death.detail}"
        fix = "see nvidia-smi and `grader doctor`"
        raise MachineFault(what, where=str(device.node), fix=fix) from death


def health_problem(device: Device) -> str:
    """Run a known kernel on `device`; return what went wrong, empty when it is healthy."""
    try:
        reply = call_on(device, launch_child.probe, {}, {}, Limits(wall=START_SECONDS, memory=0))
    except SandboxFailure as death:
        return f"the probe died: {death.detail}"
    except MachineFault as fault:
        return fault.what
    return "" if reply.value is True else "a known kernel gives wrong numbers"


def check_after_death(device: Device, death: SandboxFailure) -> None:
    """Decide after a child's death whether the launch or the machine failed.

    Returns when the launch failed, which a child reports itself: a death shows it only where the
    child is known to have reached its limit of processor time. A kernel uses no host memory, so a
    child that ran out of it shows nothing about the submission.

    Raises:
        MachineFault: the GPU is unhealthy, or the death has another cause.
    """
    require_healthy(device)
    if death.reason == "memory" or not death.caused_by_child:
        raise MachineFault(
            f"the GPU's process died: {death.detail}",
            where=str(device.node),
            fix="grade fewer submissions at once, or give the grader more memory",
        )


def require_healthy(device: Device) -> None:
    """Check a GPU after a failure; put it in quarantine if it no longer works.

    Raises:
        MachineFault: the GPU no longer works.
    """
    if problem := health_problem(device):
        quarantine(device, problem)
        raise MachineFault(
            f"{device.model} no longer works: {problem}",
            where=str(device.node),
            fix="reset it (nvidia-smi --gpu-reset) or restart the machine",
        )

"""Call a function in a child process on one GPU; describe the GPU and check its health.

A child imports NumPy and PyCUDA and initializes CUDA for half a second before it needs the GPU.
`ReadyChildren` do that while the submission is compiled and simulated. `begin_children` starts them
before the grader has imported what it needs itself; so nothing here imports NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self, TypedDict

from grader import dataclass
from grader.compile.cache import cache_key, load, store, user_folder
from grader.faults import Fault, MachineFault
from grader.gpu.devices import (
    LOCK_VARIABLE,
    Device,
    driver_version,
    library_folder,
    lock_file,
    missing_requirement,
    quarantine,
    same_model_devices,
    toolkit,
)
from grader.sandbox.call import KeptChild, Limits, Reply, SandboxFailure, run_sandboxed

START_SECONDS = 30.0
"""Seconds for a child to import PyCUDA and to create a context, at most."""

READY_SECONDS = 600.0
"""Seconds of processor time for a child that is ready before its limits are known. One that reaches
them has no result: the call is repeated in a child with its own limits."""

OUTPUT_BYTES = 3 << 30
"""Bytes of the reply of a child that launches a submission, at least: a ready child serves calls
with the same limit. Memory is used only for what is written."""

READY_LIMITS = Limits(wall=START_SECONDS, cpu=READY_SECONDS, memory=0, output=OUTPUT_BYTES)

LAUNCH, MEASURE = "grader.gpu.launch_child:launch", "grader.gpu.timing_child:measure"
"""The steps that grade a submission: run its cases, and time its kernel."""

FORMAT = 1

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Step = str | Callable[..., Any]
    """A function of `grader.gpu`, or its name ("package.module:function")."""


@dataclass(frozen=True)
class DeviceInfo:
    """One GPU: its architecture ("sm_90") and the versions for a grade's provenance."""

    architecture: str
    toolchain: Mapping[str, str]


class _Waiting:
    """A child that starts in a thread, which stays: the system ends a child with its thread."""

    def __init__(self, device: Device, step: Step) -> None:
        begun = _begun_of(os.getpid())
        self.child = begun.pop((device, step_name(step)), KeptChild())
        self.is_ready, self._is_over = Event(), Event()
        self._thread = Thread(target=self._serve, args=(device, step), name="gpu-child")
        self._thread.start()

    def _serve(self, device: Device, step: Step) -> None:
        try:
            if not self.child.has_begun():
                with suppress(SandboxFailure, Fault):  # the call itself reports why
                    call_on(device, step, None, {}, READY_LIMITS, kept=self.child)
        finally:
            self.is_ready.set()
            self._is_over.wait()
            self.child.end()

    def end(self, *, wait: bool) -> None:
        """End the child, as soon as it is ready; `wait`: until it has ended."""
        self._is_over.set()
        if wait:
            self._thread.join()


class ReadyChildren:
    """Children on one GPU that start before their calls, one for each step.

    A child serves one call. It holds no memory of the GPU, nor its lock, before that.
    """

    def __init__(self, device: Device, steps: Sequence[Step]) -> None:
        self._waiting = {step_name(step): _Waiting(device, step) for step in steps}

    def wait(self, step: Step) -> None:
        """Wait until the child for a step is ready, before what the others wait for is taken."""
        if (waiting := self._waiting.get(step_name(step))) is not None:
            waiting.is_ready.wait()

    @contextmanager
    def take(self, step: Step) -> Iterator[KeptChild | None]:
        """Lend the child for a step when it is ready, then end it; None if it was taken before."""
        if (waiting := self._waiting.pop(step_name(step), None)) is None:
            yield None
            return
        try:
            waiting.is_ready.wait()
            yield waiting.child
        finally:
            waiting.end(wait=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End the children that were not taken, without waiting for those that still start."""
        for waiting in self._waiting.values():
            waiting.end(wait=False)


def ready_children(*, timed: bool) -> ReadyChildren | None:
    """Start the children that grade a submission: for its cases and, if `timed`, for its time.

    None without a GPU, or without what it needs: what runs on it then reports that.
    """
    if missing_requirement() is not None:
        return None
    device = same_model_devices()[0]
    ready = ReadyChildren(device, [LAUNCH, MEASURE] if timed else [LAUNCH])
    if not timed and (device, MEASURE) in _begun_of(os.getpid()):
        _Waiting(device, MEASURE).end(wait=False)
    return ready


def begin_children() -> None:
    """Start the children of the first `ready_children` of this process, without waiting for them.

    It is not known yet whether the lab times a kernel. Without a GPU, or without what it needs,
    nothing is started. Call it in the main thread.
    """
    if missing_requirement() is not None:
        return
    device = same_model_devices()[0]
    for step in (LAUNCH, MEASURE):
        child = _begun_of(os.getpid()).setdefault((device, step), KeptChild())
        child.begin(step, None, limits=READY_LIMITS, **_terms(device))


@cache
def _begun_of(pid: int) -> dict[tuple[Device, str], KeptChild]:
    """The children that were begun and not taken yet; a forked copy of the grader has none."""
    return {}


class _Terms(TypedDict):
    """What a child on a GPU may see and use."""

    readable: tuple[Path, ...]
    devices: tuple[Path, ...]
    variables: Mapping[str, str]


def _terms(device: Device, readable: tuple[Path, ...] = ()) -> _Terms:
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
    return _Terms(readable=(*needed, *readable), devices=device.nodes(), variables=variables)


def step_name(step: Step) -> str:
    """Return the name of a function that runs in a child."""
    return step if isinstance(step, str) else f"{step.__module__}:{step.__name__}"


def call_on(
    device: Device,
    step: Step,
    request: Any,
    arrays: Mapping[str, NDArray[Any]],
    limits: Limits,
    readable: tuple[Any, ...] = (),
    kept: KeptChild | None = None,
) -> Reply:
    """Run a function of `grader.gpu` in a child process that sees this GPU and no other.

    `kept` may hold a child that is ready; it is used if it was started for this GPU.
    """
    terms = _terms(device, readable)
    return run_sandboxed(step_name(step), request, arrays, limits=limits, kept=kept, **terms)


def call_ready(
    ready: ReadyChildren | None,
    device: Device,
    step: Step,
    request: Any,
    arrays: Mapping[str, NDArray[Any]],
    limits: Limits,
) -> Reply:
    """Do as `call_on`, in the ready child for the step if there is one; it ends with its reply."""
    with ready.take(step) if ready else nullcontext() as kept:
        return call_on(device, step, request, arrays, limits, kept=kept)


def device_info(device: Device) -> DeviceInfo:
    """Ask CUDA for a description of a GPU; cached per driver and nvcc."""
    from grader.gpu.nvcc import cached_release

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
            device, "grader.gpu.launch_child:describe", {}, {}, Limits(wall=START_SECONDS, memory=0)
        ).value
    except SandboxFailure as death:
        what = f"CUDA cannot describe {device.model}: {death.detail}"
        fix = "see nvidia-smi and `grader doctor`"
        raise MachineFault(what, where=str(device.node), fix=fix) from death


def health_problem(device: Device) -> str:
    """Run a known kernel on `device`; return what went wrong, empty when it is healthy."""
    try:
        reply = call_on(
            device, "grader.gpu.launch_child:probe", {}, {}, Limits(wall=START_SECONDS, memory=0)
        )
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

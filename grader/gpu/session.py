"""A child's dealings with CUDA that may fail: a context, waiting with a limit, what an error is.

A child that met a sticky error returns at once, because its context is dead; one whose kernel never
ends leaks what it holds, because cuMemFree would wait for it; both end with the process.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.faults import LabFault, MachineFault
from grader.gpu.devices import share_lock

PAUSES = (20e-6, 2e-3)

LOCK_VARIABLE = "WARPGRADE_GPU_LOCK"
"""The variable that names the lock file of this process' GPU."""


@dataclass(frozen=True)
class Failure:
    """CUDA's name for what ended a launch and its text; `sticky`: the context did not survive."""

    error: str
    text: str
    sticky: bool


@contextmanager
def context(cuda: Any) -> Iterator[Any]:
    """A context on the one GPU that this process sees; always popped, or PyCUDA aborts."""
    share_lock(os.environ.get(LOCK_VARIABLE))
    try:
        cuda.init()
        made = cuda.Device(0).make_context()
    except cuda.Error as error:
        what = f"CUDA does not start on this GPU: {error}"
        raise MachineFault(what, fix="see nvidia-smi and `grader doctor`") from error
    try:
        yield made
    finally:
        made.pop()


def wait_for(event: Any, limit: float) -> bool:
    """Wait until the GPU has reached `event`, `limit` seconds at most. Raises cuda.Error."""
    deadline, pause = time.monotonic() + limit, PAUSES[0]
    while not event.query():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, PAUSES[1])
    return True


def allocate(cuda: Any, size: int) -> Any:
    """Device memory. MachineFault when there is none."""
    try:
        return cuda.mem_alloc(max(size, 1))
    except cuda.MemoryError as error:
        what = f"the GPU has no {size >> 20} MiB free for an array"
        raise MachineFault(what, fix="end what else uses this GPU (nvidia-smi)") from error


def set_variables(cuda: Any, module: Any, values: Mapping[str, NDArray[Any]]) -> None:
    """Set `__constant__` and `__device__` variables by name. LabFault when one does not fit."""
    for name, value in values.items():
        try:
            address, size = module.get_global(name)
        except cuda.LogicError as error:
            raise LabFault(f"the file has no __device__ variable `{name}`") from error
        if size != value.nbytes:
            raise LabFault(f"`{name}` has {size} bytes and is given {value.nbytes}")
        cuda.memcpy_htod(address, np.ascontiguousarray(value))


def by_value(value: int | float | bool, dtype: str) -> Any:
    """A by-value argument as PyCUDA packs it: it knows neither bool nor half precision."""
    held = np.dtype(dtype).type(value)
    return held.view({"bool": np.uint8, "float16": np.uint16}.get(dtype, dtype))


def reset_persisting_l2() -> None:
    """Make every line of the L2 cache evictable. A kernel may ask (evict_last) that lines stay,
    and a flush leaves those: its next inputs would be there, or the baseline lack the room.
    """
    ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache()  # an old GPU keeps none, and says so


def leak(*things: Any) -> None:
    """Keep things until the process ends: their destructors would wait for, or call into, a
    context that does not answer.
    """
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def error_state(message: str) -> Failure:
    """What CUDA says: its own name for a sticky error, else the one whose text is in `message`."""
    driver = ctypes.CDLL("libcuda.so.1")
    code = driver.cuCtxSynchronize()
    text = message.rpartition(": ")[2]
    return Failure(_error_name(driver, code, text), text, code != 0)


def _error_name(driver: Any, code: int, text: str) -> str:
    for number in [code] if code else range(1, 1000):
        name, said = ctypes.c_char_p(), ctypes.c_char_p()
        known = driver.cuGetErrorName(number, ctypes.byref(name)) == 0
        if not known or driver.cuGetErrorString(number, ctypes.byref(said)) != 0:
            continue
        if code or (said.value or b"").decode() == text:
            return (name.value or b"").decode()
    return ""

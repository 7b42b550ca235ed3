"""CUDA operations of a child process that may fail: contexts, memory, waiting, errors.

After a sticky error a child returns at once, because its context is dead. A child whose kernel
never ends leaks its objects, because cuMemFree would wait for the kernel. The process' end frees
both.
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
from grader.launch import Argument, Array, Launch, Packed

PAUSES = (20e-6, 2e-3)

LOCK_VARIABLE = "WARPGRADE_GPU_LOCK"
"""The environment variable that names the lock file of this process' GPU."""


@dataclass(frozen=True)
class Failure:
    """CUDA's name and text of an error; `sticky`: the context did not survive it."""

    error: str
    text: str
    sticky: bool


@contextmanager
def context(cuda: Any) -> Iterator[Any]:
    """Create a context on the only visible GPU, and pop it in the end, or PyCUDA aborts."""
    share_lock(os.environ.get(LOCK_VARIABLE))
    try:
        cuda.init()
        made = cuda.Device(0).make_context()
    except cuda.Error as error:
        what = f"CUDA cannot create a context on this GPU: {error}"
        raise MachineFault(what, fix="see nvidia-smi and `grader doctor`") from error
    try:
        yield made
    finally:
        made.pop()


def wait_for(event: Any, limit: float) -> bool:
    """Wait at most `limit` seconds for `event`; return whether the GPU reached it.

    Raises:
        cuda.Error: a launch before the event failed.
    """
    deadline, pause = time.monotonic() + limit, PAUSES[0]
    while not event.query():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, PAUSES[1])
    return True


def allocate(cuda: Any, size: int) -> Any:
    """Allocate device memory.

    Raises:
        MachineFault: the GPU has not enough free memory.
    """
    try:
        return cuda.mem_alloc(max(size, 1))
    except cuda.MemoryError as error:
        what = f"the GPU does not have {size >> 20} MiB free for an array"
        raise MachineFault(what, fix="end other processes on this GPU (see nvidia-smi)") from error


def set_variables(cuda: Any, module: Any, values: Mapping[str, NDArray[Any]]) -> None:
    """Set `__constant__` and `__device__` variables by name.

    Raises:
        LabFault: a variable is missing or has another size.
    """
    for name, value in values.items():
        try:
            address, size = module.get_global(name)
        except cuda.LogicError as error:
            raise LabFault(
                f"the file declares no `__constant__` or `__device__` variable `{name}`"
            ) from error
        if size != value.nbytes:
            raise LabFault(f"`{name}` has {size} bytes, but its value has {value.nbytes}")
        cuda.memcpy_htod(address, np.ascontiguousarray(value))


def by_value(value: int | float | bool, dtype: str) -> Any:
    """Return a by-value argument for PyCUDA, which knows neither bool nor half precision."""
    held = np.dtype(dtype).type(value)
    return held.view({"bool": np.uint8, "float16": np.uint16}.get(dtype, dtype))


def kernel_arguments(launch: Launch, addresses: Mapping[int, int]) -> list[Any]:
    """Return the arguments of a launch for PyCUDA.

    PyCUDA aligns numbers only. With a structure among them, all parameters are one block of bytes,
    laid out as the kernel expects them.

    Args:
        launch: the launch.
        addresses: the address of each array by the index of its argument.
    """
    if not any(isinstance(a, Packed) for a in launch.parameters):
        return [
            np.uintp(addresses[k]) if isinstance(a, Array) else by_value(a.value, a.dtype)
            for k, a in enumerate(launch.parameters)
            if not isinstance(a, Packed)
        ]
    block = bytearray()
    for k, a in enumerate(launch.parameters):
        data, align = _argument_bytes(k, a, addresses)
        block += bytes(-len(block) % align) + data
    return [np.void(bytes(block))]


def _argument_bytes(k: int, a: Argument, addresses: Mapping[int, int]) -> tuple[bytes, int]:
    """The bytes of an argument and its alignment."""
    if isinstance(a, Packed):
        return a.with_addresses(addresses), a.align
    held = np.uintp(addresses[k]) if isinstance(a, Array) else by_value(a.value, a.dtype)
    return held.tobytes(), held.itemsize


def reset_persisting_l2() -> None:
    """Make every line of the L2 cache evictable.

    A kernel may mark lines as persisting (evict_last), which a flush does not evict. Its next
    inputs would then be cached, or the baseline would have less cache.
    """
    ctypes.CDLL(
        "libcuda.so.1"
    ).cuCtxResetPersistingL2Cache()  # fails harmlessly on GPUs without persisting lines


def leak(*things: Any) -> None:
    """Keep objects until the process ends.

    Their destructors would wait for, or call into, a context that does not respond.
    """
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def error_state(message: str) -> Failure:
    """Identify an error: the sticky one by CUDA's name, else the one whose text ends `message`."""
    driver = ctypes.CDLL("libcuda.so.1")
    code = driver.cuCtxSynchronize()
    text = message.rpartition(": ")[2]
    return Failure(_error_name(driver, code, text), text, code != 0)


def _error_name(driver: Any, code: int, text: str) -> str:
    for number in [code] if code else range(1, 1000):
        name, string = ctypes.c_char_p(), ctypes.c_char_p()
        known = driver.cuGetErrorName(number, ctypes.byref(name)) == 0
        if not known or driver.cuGetErrorString(number, ctypes.byref(string)) != 0:
            continue
        if code or (string.value or b"").decode() == text:
            return (name.value or b"").decode()
    return ""

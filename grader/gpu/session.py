"""CUDA operations of a child process that may fail: contexts, memory, waiting, errors.

After a sticky error a child returns at once, because its context is dead. A child whose kernel
never ends leaks its objects, because cuMemFree would wait for the kernel. The process' end frees
both.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.faults import LabFault, MachineFault
from grader.gpu.devices import LOCK_VARIABLE, share_lock
from grader.gpu.functions import require
from grader.launch import Argument, Array, Launch, Packed, Scalar, Texture

PAUSES = (20e-6, 2e-3)
"""The shortest and the longest pause between two looks at an event, in seconds."""

PAUSE_SHARE = 1 / 16
"""A pause as a share of the time since the first look: what is noticed late is that share."""


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
    began, (shortest, longest) = time.monotonic(), PAUSES
    while not event.query():
        waited = time.monotonic() - began
        if waited > limit:
            return False
        time.sleep(min(max(waited * PAUSE_SHARE, shortest), longest))
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
        addresses: the address of each array, and the handle of each texture or surface object, by
            the index of its argument.
    """
    if launch.cooperative:  # the driver takes each parameter by itself
        parameters = enumerate(launch.parameters)
        return [np.void(_argument_bytes(k, a, addresses)[0]) for k, a in parameters]
    if not any(isinstance(a, Packed) for a in launch.parameters):
        return [
            by_value(a.value, a.dtype) if isinstance(a, Scalar) else np.uintp(addresses[k])
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
    held = by_value(a.value, a.dtype) if isinstance(a, Scalar) else np.uintp(addresses[k])
    return held.tobytes(), held.itemsize


_FORMATS = {
    "uint8": 0x01, "uint16": 0x02, "uint32": 0x03, "int8": 0x08, "int16": 0x09, "int32": 0x0A,
    "float16": 0x10, "float32": 0x20,
}  # fmt: skip
"""CUarray_format."""

_MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
"""CUaddress_mode."""

_LAYERED, _SURFACES, _GATHERED = 1, 2, 8
_GATHER_LIMIT = 32768
"""The largest extent of an array that tex2Dgather reads."""

_AS_INTEGERS, _NORMALIZED = 1, 2
_DEVICE, _ARRAY = 2, 3
_PITCH = 32


class TextureObjects:
    """The texture and surface objects of a launch, which PyCUDA does not have, and their memory.

    The arrays of the launch are in linear memory. An array of texels is copied from there to a CUDA
    array, or to pitch memory where its rows have another alignment, and `copy_back` returns what
    surfaces changed. Structures are those of the CUDA Driver API, "Data types".

    Raises:
        cuda.LogicError: the driver refuses a call; the message ends in the driver's text.
    """

    def __init__(self, cuda: Any, launch: Launch, addresses: Mapping[int, int]) -> None:
        self._cuda, self._driver = cuda, ctypes.CDLL("libcuda.so.1")
        self._launch, self._addresses = launch, addresses
        self._arrays: dict[int, int] = {}
        self._padded: list[Any] = []
        self.handles = {
            k: self._create(a) for k, a in enumerate(launch.args) if isinstance(a, Texture)
        }

    def _call(self, name: str, *arguments: Any) -> None:
        require(self._cuda, self._driver, getattr(self._driver, name)(*arguments), name)

    def _create(self, texture: Texture) -> int:
        """Create an object; return its handle."""
        array = self._launch.args[texture.array]
        assert isinstance(array, Array)
        kind, *fields = self._resource(texture, array)
        resource = struct.pack("=i4x", kind) + b"".join(fields)
        resource = resource.ljust(144, b"\0")
        handle = ctypes.c_uint64()
        if texture.surface:
            self._call("cuSurfObjectCreate", ctypes.byref(handle), resource)
            return handle.value
        own = texture.address[: len(texture.extents(array.shape))]  # a GPU filters row -1 too
        modes = [_MODES[mode] for mode in (*own, "clamp", "clamp")[:3]]
        flags = _NORMALIZED * texture.normalized
        flags |= _AS_INTEGERS * (np.dtype(array.dtype).kind != "f" and not texture.read_float)
        sampling = struct.pack("=3iiI", *modes, int(texture.interpolated), flags).ljust(104, b"\0")
        self._call("cuTexObjectCreate", ctypes.byref(handle), resource, sampling, None)
        return handle.value

    def _resource(self, texture: Texture, array: Array) -> tuple[Any, ...]:
        """The type of a CUDA_RESOURCE_DESC and its bytes."""
        address, form = self._addresses[texture.array], _FORMATS[array.dtype]
        width, height = (*texture.extents(array.shape), 1)[:2]
        row = width * texture.channels * np.dtype(array.dtype).itemsize
        if texture.memory == "linear":
            return 2, struct.pack("=QiIQ", address, form, texture.channels, row)
        if texture.memory == "pitch":
            if row % _PITCH:
                pitch = row + -row % _PITCH
                self._padded.append(allocate(self._cuda, pitch * height))
                target = int(self._padded[-1])
                self._copy((_DEVICE, address, row), (_DEVICE, target, pitch), (row, height, 1))
                address, row = target, pitch
            sizes = (width, height, row)
            return 3, struct.pack("=QiIQQQ", address, form, texture.channels, *sizes)
        if texture.array not in self._arrays:
            self._arrays[texture.array] = self._cuda_array(texture, array)
            self._move(texture.array, to_array=True)
        return 0, struct.pack("=Q", self._arrays[texture.array])

    def _cuda_array(self, texture: Texture, array: Array) -> int:
        width, height, depth = (*texture.extents(array.shape), 0, 0)[:3]
        depth = array.shape[0] if texture.layered else depth
        flags = _LAYERED * texture.layered | _SURFACES
        flags |= _GATHERED * (0 < height <= _GATHER_LIMIT >= width and not depth)
        form = _FORMATS[array.dtype]
        wanted = struct.pack("=QQQiII4x", width, height, depth, form, texture.channels, flags)
        made = ctypes.c_uint64()
        self._call("cuArray3DCreate_v2", ctypes.byref(made), wanted)
        return made.value

    def _move(self, index: int, *, to_array: bool) -> None:
        """Copy the texels of an argument's array to its CUDA array, or from there."""
        array = self._launch.args[index]
        one = next(a for a in self._launch.args if isinstance(a, Texture) and a.array == index)
        assert isinstance(array, Array)
        width, height, depth = (*one.extents(array.shape), 1, 1)[:3]
        depth = array.shape[0] if one.layered else depth
        row = width * one.channels * np.dtype(array.dtype).itemsize
        ends = (_DEVICE, self._addresses[index], row), (_ARRAY, self._arrays[index], 0)
        self._copy(*(ends if to_array else ends[::-1]), (row, height, depth))

    def _copy(self, source: Any, target: Any, extents: tuple[int, int, int]) -> None:
        """Copy between (kind of memory, address, bytes of a row); `extents` begin with bytes."""
        both = b"".join(
            struct.pack("=4Qi4x6Q", 0, 0, 0, 0, kind, 0, at if kind == _DEVICE else 0,
                        at if kind == _ARRAY else 0, 0, row, extents[1])
            for kind, at, row in (source, target)
        )  # fmt: skip
        self._call("cuMemcpy3D_v2", both + struct.pack("=3Q", *extents))

    def copy_back(self) -> None:
        """Copy the CUDA arrays to the linear memory of their arrays."""
        for index in self._arrays:
            self._move(index, to_array=False)

    def free(self) -> None:
        """Destroy the objects and their CUDA arrays."""
        for index, handle in self.handles.items():
            one = self._launch.args[index]
            surface = isinstance(one, Texture) and one.surface
            name = "cuSurfObjectDestroy" if surface else "cuTexObjectDestroy"
            self._call(name, ctypes.c_uint64(handle))
        for array in self._arrays.values():
            self._call("cuArrayDestroy", ctypes.c_uint64(array))


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

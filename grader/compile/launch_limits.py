"""Detect launches that CUDA refuses on every GPU, and compute theoretical occupancy.

Both follow from CUDA's published limits, before a backend runs the launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from grader import dataclass, replace
from grader.compile.program import Kernel
from grader.launch import (
    MULTIPROCESSOR_LIMITS,
    WARP_SIZE,
    Array,
    Finding,
    Launch,
    MultiprocessorLimits,
    Scalar,
    Texture,
)

MAX_THREADS, MAX_BLOCK, MAX_GRID = 1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535)
MAX_SHARED = 48 << 10
MAX_LARGE_SHARED = max(device.shared_per_block for device in MULTIPROCESSOR_LIMITS.values())
"""After cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), on the
GPUs with the most: 227 KiB. A GPU with less refuses the attribute."""

REGISTERS = 64 << 10
"""32-bit registers of a multiprocessor, which is also the limit of one block."""

MULTIPROCESSORS = 132
"""Those of an H100."""

REGISTER_UNIT = 256
SHARED_UNIT = 128
SCHEDULERS = 4


CHANNEL_TYPES = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32",
)  # fmt: skip
"""The types of a texel's channels."""

PITCH_ALIGNMENT = 32
"""What a row of pitch memory is a multiple of, in bytes: cudaDeviceProp::texturePitchAlignment."""

LARGEST_TEXTURES: Mapping[tuple[str, bool, int], tuple[int, ...]] = MappingProxyType(
    {
        ("linear", False, 1): (1 << 27,),
        ("pitch", False, 2): (131072, 65000),
        ("array", False, 1): (131072,),
        ("array", False, 2): (131072, 65536),
        ("array", False, 3): (16384, 16384, 16384),
        ("array", True, 1): (32768,),
        ("array", True, 2): (32768, 32768),
    }
)
"""By memory, layers and dimensions: CUDA C++ Programming Guide, technical specifications."""


@dataclass(frozen=True)
class ExceededLimit:
    """A limit of CUDA that a launch exceeds, whatever the kernel does.

    Attributes:
        key: Which part of the launch exceeds it.
        what: What the launch requests.
        limit: What CUDA allows.
        argument: The index of the argument that exceeds it; None for other parts.
    """

    key: Literal["grid", "block", "shared", "args"]
    what: str
    limit: str
    argument: int | None = None


def launch_error(launch: Launch, kernel: Kernel) -> Finding | None:
    """Return why CUDA refuses this launch on every GPU, with CUDA's name of the error.

    Returns:
        None when it does not refuse it.
    """
    exceeded = exceeded_limit(launch, kernel)
    if exceeded is not None:
        return launch_refusal(exceeded.what, exceeded.limit)
    return _registers(launch, kernel.resources.registers or 0)


def cooperative_error(launch: Launch, kernel: Kernel) -> Finding | None:
    """Return why an H100 refuses a cooperative launch: not all of its blocks are resident at once.

    Returns:
        None when it does not refuse it.
    """
    threads, own = prod(launch.block), kernel.resources
    shared = (own.static_shared_bytes or 0) + launch.shared
    device = MULTIPROCESSOR_LIMITS[9, 0]
    each = blocks_per_multiprocessor(device, threads, own.registers or 0, shared)
    if not launch.cooperative or prod(launch.grid) <= MULTIPROCESSORS * each:
        return None
    return launch_refusal(
        f"a cooperative launch of {prod(launch.grid)} blocks of {threads} threads "
        "(cudaErrorCooperativeLaunchTooLarge)",
        f"all blocks are resident at once, and an H100 has room for {MULTIPROCESSORS} x {each} of "
        "these: launch fewer blocks, each of which takes several parts in a loop",
    )


def wider_dtype(dtype: str, size: int) -> str:
    """Return the dtype of a scalar that is passed to a parameter of `size` bytes.

    A wider integer gets the value with its sign, as a launch in C++ converts it.
    """
    kind = np.dtype(dtype)
    is_wider = kind.kind in "iu" and kind.itemsize < size and size in (2, 4, 8)
    return np.dtype(f"{kind.kind}{size}").name if is_wider else dtype


def with_parameter_types(launch: Launch, kernel: Kernel) -> Launch:
    """Return the launch with its integers as wide as the kernel's parameters."""
    own = {
        index: replace(argument, dtype=wider)
        for index, (argument, parameter) in enumerate(
            zip(launch.parameters, kernel.parameters, strict=False)
        )
        if isinstance(argument, Scalar)
        and (wider := wider_dtype(argument.dtype, parameter.bytes)) != argument.dtype
    }
    args = tuple(own.get(index, argument) for index, argument in enumerate(launch.args))
    return replace(launch, args=args) if own else launch


def exceeded_limit(launch: Launch, kernel: Kernel) -> ExceededLimit | None:
    """Return the limit that the launch's own numbers exceed; None when they exceed none.

    Limits: CUDA C++ Programming Guide, technical specifications per compute capability.
    """
    threads = prod(launch.block)
    static = kernel.resources.static_shared_bytes or 0
    if (
        any(not 1 <= n <= most for n, most in zip(launch.block, MAX_BLOCK, strict=True))
        or threads > MAX_THREADS
    ):
        return ExceededLimit(
            "block",
            f"a block of {_times(launch.block)} = {threads} threads "
            "(cudaErrorInvalidConfiguration)",
            f"a block has 1 to {MAX_THREADS} threads, at most {_times(MAX_BLOCK)}",
        )
    if any(not 1 <= n <= most for n, most in zip(launch.grid, MAX_GRID, strict=True)):
        return ExceededLimit(
            "grid",
            f"a grid of {_times(launch.grid)} blocks (cudaErrorInvalidConfiguration)",
            f"a grid has at least one block and at most {_times(MAX_GRID)}",
        )
    if static + launch.shared > (MAX_LARGE_SHARED if launch.large_shared else MAX_SHARED):
        return _shared_limit(static, launch)
    if len(launch.parameters) != len(kernel.parameters):
        return ExceededLimit(
            "args",
            f"{len(launch.parameters)} arguments for {len(kernel.parameters)} parameters "
            "(cudaErrorInvalidValue)",
            f"the kernel is {kernel.signature}",
        )
    for index, texture in enumerate(launch.args):
        if isinstance(texture, Texture) and (refused := refused_texture(texture, launch)):
            return ExceededLimit("args", *refused, index)
    return None


def _shared_limit(static: int, launch: Launch) -> ExceededLimit:
    """How a launch exceeds the limit of shared memory, and what allows more."""
    limit = f"a block has {MAX_SHARED} bytes of shared memory in all"
    if launch.large_shared:
        limit = f"a block has at most {MAX_LARGE_SHARED} bytes of shared memory in all"
    elif static + launch.shared <= MAX_LARGE_SHARED:
        limit += (
            "; where the program sets cudaFuncAttributeMaxDynamicSharedMemorySize first, write "
            "`large_shared: true` beside `shared`"
        )
    what = f"{static} bytes of static and {launch.shared} of dynamic shared memory"
    return ExceededLimit("shared", f"{what} (cudaErrorInvalidValue)", limit)


def refused_texture(texture: Texture, launch: Launch) -> tuple[str, str] | None:
    """Return why CUDA refuses a texture or surface object, and what to do; None if it does not.

    Source: CUDA Runtime API, cudaCreateTextureObject and cudaTextureDesc.
    """
    array = launch.args[texture.array] if 0 <= texture.array < len(launch.args) else None
    if not isinstance(array, Array):
        return f"{texture.name} has no array", "name an array with its texels"
    name, extents = texture.name, texture.extents(array.shape)
    if array.dtype not in CHANNEL_TYPES:
        return (
            f"{name} has {array.dtype} texels, and CUDA has no such channels",
            f"use one of {', '.join(CHANNEL_TYPES)}",
        )
    if texture.channels > 1 and array.shape[-1:] != (texture.channels,):
        return (
            f"{name} has {texture.channels} channels, and the last axis of its array has "
            f"{array.shape[-1] if array.shape else 0} elements",
            f"save an array whose last axis has {texture.channels} elements",
        )
    if not 1 <= len(extents) <= 3 - texture.layered or 0 in array.shape:
        return (
            f"{name} is {_times(array.shape)}: not an image of CUDA",
            "use 1 to 3 axes that are not empty, or 1 or 2 and one for the layers; an axis for "
            "several channels comes last",
        )
    largest = LARGEST_TEXTURES.get((texture.memory, texture.layered, len(extents)), extents)
    if any(n > most for n, most in zip(extents, largest, strict=True)):
        return (
            f"{name} is {_times(extents)} texels",
            f"CUDA's limit for it is {_times(largest)}",
        )
    own = texture.array >= len(launch.parameters)
    row = extents[0] * texture.channels * np.dtype(array.dtype).itemsize
    if texture.memory == "pitch" and not own and row % PITCH_ALIGNMENT:
        return (
            f"{name} has rows of {row} bytes, and pitch memory needs a multiple of "
            f"{PITCH_ALIGNMENT}",
            "use an array with wider rows, or give the texture an array of its own",
        )
    return None if texture.surface else _refused_fetches(texture, np.dtype(array.dtype), extents)


def _refused_fetches(
    texture: Texture, dtype: np.dtype[Any], extents: tuple[int, ...]
) -> tuple[str, str] | None:
    """Return what CUDA refuses of the way in which a texture is read, or does otherwise."""
    name, plain_memory = texture.name, texture.memory != "array"
    integers = dtype.kind != "f"
    if len(extents) != {"linear": 1, "pitch": 2}.get(texture.memory, len(extents)) or (
        plain_memory and texture.layered
    ):
        return (
            f"{name} is {texture.memory} memory, and its array has {len(extents)} "
            f"axes{' beside layers' * texture.layered}",
            "linear memory has one axis, pitch memory two, and neither has layers",
        )
    if texture.memory == "linear" and (
        texture.interpolated or texture.normalized or set(texture.address) != {"clamp"}
    ):
        return (
            f"{name} is linear memory, and tex1Dfetch knows no filter, no normalized coordinates "
            "and no address mode",
            "leave them out, or use `memory: array` with tex1D",
        )
    if {"wrap", "mirror"} & set(texture.address[: len(extents)]) and not texture.normalized:
        return (
            f"{name} wraps or mirrors coordinates that are not normalized, which CUDA clamps "
            "instead",
            "write `normalized: true` and divide the coordinates by the extents, or use clamp",
        )
    if texture.interpolated and integers and not texture.read_float:
        return (
            f"{name} has {dtype} texels, and the linear filter needs floating-point numbers "
            "(cudaErrorInvalidFilterSetting)",
            "write `read: normalized`, or convert the array to float32",
        )
    if texture.read_float and integers and dtype.itemsize > 2:
        return (
            f"{name} has {dtype} texels, which CUDA does not convert to floating-point numbers",
            "use integers of 8 or 16 bits, or convert the array to float32",
        )
    return None


def launch_bounds_error(launch: Launch, limits: Mapping[str, list[int]]) -> Finding | None:
    """Return how the block breaks the kernel's own `__launch_bounds__`; None when it does not.

    Args:
        launch: The launch.
        limits: The values of the PTX directives .maxntid and .reqntid.
    """
    threads = prod(launch.block)
    most = prod(limits.get("maxntid", [MAX_THREADS]))
    if threads > most:
        return launch_refusal(
            f"{threads} threads a block, and the kernel's __launch_bounds__ allows {most}",
            f"launch at most {most} threads a block, or increase the bound",
        )
    needed = limits.get("reqntid")
    if needed is not None and prod(needed) != threads:
        return launch_refusal(
            f"{threads} threads a block, and the kernel requires {prod(needed)}",
            f"launch {prod(needed)} threads a block",
        )
    return None


def _registers(launch: Launch, each: int) -> Finding | None:
    """How many registers a block needs, where that is more than a multiprocessor has.

    A warp's registers are allocated in units of 256: CUDA occupancy calculator, compute capability
    7.0 and later.
    """
    warps = -(-prod(launch.block) // 32)
    needed = warps * (-(-each * 32 // 256) * 256)
    if needed <= REGISTERS:
        return None
    return launch_refusal(
        f"{prod(launch.block)} threads of {each} registers each (cudaErrorLaunchOutOfResources)",
        f"a block has {REGISTERS} registers: launch fewer threads a block, or limit the registers "
        f"with __launch_bounds__({prod(launch.block)})",
    )


def launch_refusal(what: str, hint: str) -> Finding:
    """Return the finding for a refused launch; `what` is what the launch requests."""
    return Finding("launch-failure", "error", f"the launch is refused: {what}", hint=hint)


def _times(numbers: tuple[int, ...]) -> str:
    return " x ".join(map(str, numbers))


def blocks_per_multiprocessor(
    device: MultiprocessorLimits, threads: int, registers: int, shared: int
) -> int:
    """Return how many blocks fit one multiprocessor at a time.

    Args:
        device: The limits of the multiprocessor.
        threads: Threads per block.
        registers: Registers per thread.
        shared: Shared memory per block in bytes, static and dynamic.
    """
    warps = -(-threads // WARP_SIZE)
    limits = [device.blocks, device.warps // warps]
    if registers:
        per_warp = -(-registers * WARP_SIZE // REGISTER_UNIT) * REGISTER_UNIT
        resident = device.registers // SCHEDULERS // per_warp * SCHEDULERS
        limits.append(resident // warps)
    if shared + device.reserved_per_block:
        per_block = -(-(shared + device.reserved_per_block) // SHARED_UNIT) * SHARED_UNIT
        limits.append(device.shared // per_block)
    return max(0, min(limits))


def theoretical_occupancy(
    capability: tuple[int, int], threads: int, registers: int, shared: int
) -> float | None:
    """Return resident warps over the multiprocessor's maximum, 0 to 1.

    None for an unknown compute capability. Arguments as for `blocks_per_multiprocessor`.
    """
    device = MULTIPROCESSOR_LIMITS.get(capability)
    if device is None or threads < 1:
        return None
    warps = -(-threads // WARP_SIZE)
    return min(
        1.0, blocks_per_multiprocessor(device, threads, registers, shared) * warps / device.warps
    )

"""Launches that CUDA refuses, told before any backend is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from grader.compile.program import Kernel
from grader.launch import Finding, Launch

MAX_THREADS, MAX_BLOCK, MAX_GRID = 1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535)
MAX_SHARED = 48 << 10
REGISTERS = 64 << 10
"""32-bit registers of a multiprocessor, and the most that one block may take."""


@dataclass(frozen=True)
class Beyond:
    """What of a launch is beyond CUDA's limits, whatever the kernel does."""

    key: Literal["grid", "block", "shared", "args"]
    what: str
    limit: str


def launch_error(launch: Launch, kernel: Kernel) -> Finding | None:
    """Why CUDA refuses this launch on every GPU, with its own error's name; None when it does
    not.
    """
    found = beyond(launch, kernel)
    if found is not None:
        return refused(found.what, found.limit)
    return _registers(launch, kernel.resources.registers or 0)


def beyond(launch: Launch, kernel: Kernel) -> Beyond | None:
    """Which of the launch's own numbers is wrong for every kernel like this one, None when all are
    right. Limits: CUDA C++ Programming Guide, technical specifications per compute capability.
    """
    threads = prod(launch.block)
    static = kernel.resources.static_shared_bytes or 0
    if (
        any(not 1 <= n <= most for n, most in zip(launch.block, MAX_BLOCK, strict=True))
        or threads > MAX_THREADS
    ):
        return Beyond(
            "block",
            f"a block of {_times(launch.block)} = {threads} threads "
            "(cudaErrorInvalidConfiguration)",
            f"a block has 1 to {MAX_THREADS} threads, at most {_times(MAX_BLOCK)}",
        )
    if any(not 1 <= n <= most for n, most in zip(launch.grid, MAX_GRID, strict=True)):
        return Beyond(
            "grid",
            f"a grid of {_times(launch.grid)} blocks (cudaErrorInvalidConfiguration)",
            f"a grid has at least one block and at most {_times(MAX_GRID)}",
        )
    if static + launch.shared > MAX_SHARED:
        return Beyond(
            "shared",
            f"{static} bytes of static and {launch.shared} of dynamic shared memory "
            "(cudaErrorInvalidValue)",
            f"a block has {MAX_SHARED} bytes of shared memory in all",
        )
    if len(launch.args) != len(kernel.parameters):
        return Beyond(
            "args",
            f"{len(launch.args)} arguments for {len(kernel.parameters)} parameters "
            "(cudaErrorInvalidValue)",
            f"the kernel is {kernel.signature}",
        )
    return None


def bounds_error(launch: Launch, limits: Mapping[str, list[int]]) -> Finding | None:
    """A block that breaks the kernel's own `__launch_bounds__` (the PTX directives .maxntid and
    .reqntid, in `limits`); None when it does not.
    """
    threads = prod(launch.block)
    most = prod(limits.get("maxntid", [MAX_THREADS]))
    if threads > most:
        return refused(
            f"{threads} threads a block, and the kernel's __launch_bounds__ allows {most}",
            f"launch at most {most} threads a block, or raise the bound",
        )
    needed = limits.get("reqntid")
    if needed is not None and prod(needed) != threads:
        return refused(
            f"{threads} threads a block, and the kernel asks for {prod(needed)}",
            f"launch {prod(needed)} threads a block",
        )
    return None


def _registers(launch: Launch, each: int) -> Finding | None:
    """A block that needs more registers than a multiprocessor has. A warp's are given out in
    units of 256: CUDA occupancy calculator, compute capability 7.0 and up.
    """
    warps = -(-prod(launch.block) // 32)
    needed = warps * (-(-each * 32 // 256) * 256)
    if needed <= REGISTERS:
        return None
    return refused(
        f"{prod(launch.block)} threads of {each} registers each (cudaErrorLaunchOutOfResources)",
        f"a block has {REGISTERS} registers: launch fewer threads a block, or tell the compiler "
        f"with __launch_bounds__({prod(launch.block)})",
    )


def refused(what: str, hint: str) -> Finding:
    """The finding for a launch that is not made; `what` says what it asked for."""
    return Finding("launch-failure", "error", f"the launch is refused: {what}", hint=hint)


def _times(numbers: tuple[int, ...]) -> str:
    return " x ".join(map(str, numbers))

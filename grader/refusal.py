"""Launches that CUDA refuses, told before any backend is asked."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from grader.compile.program import Kernel
from grader.launch import Finding, Launch

MAX_THREADS, MAX_BLOCK, MAX_GRID = 1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535)
MAX_SHARED = 48 << 10


def refusal(launch: Launch, kernel: Kernel) -> Finding | None:
    """Why CUDA refuses this launch on every GPU, with its own error's name; None when it does
    not. Limits: CUDA C++ Programming Guide, technical specifications per compute capability."""
    threads = prod(launch.block)
    static = kernel.resources.static_shared_bytes or 0
    if (
        any(not 1 <= n <= most for n, most in zip(launch.block, MAX_BLOCK, strict=True))
        or threads > MAX_THREADS
    ):
        return refused(
            f"a block of {_times(launch.block)} = {threads} threads "
            "(cudaErrorInvalidConfiguration)",
            f"a block has 1 to {MAX_THREADS} threads, at most {_times(MAX_BLOCK)}",
        )
    if any(not 1 <= n <= most for n, most in zip(launch.grid, MAX_GRID, strict=True)):
        return refused(
            f"a grid of {_times(launch.grid)} blocks (cudaErrorInvalidConfiguration)",
            f"a grid has at least one block and at most {_times(MAX_GRID)}",
        )
    if static + launch.shared > MAX_SHARED:
        return refused(
            f"{static} bytes of static and {launch.shared} of dynamic shared memory "
            "(cudaErrorInvalidValue)",
            f"a block has {MAX_SHARED} bytes of shared memory in all",
        )
    if len(launch.args) != len(kernel.parameters):
        return refused(
            f"{len(launch.args)} arguments for {len(kernel.parameters)} parameters "
            "(cudaErrorInvalidValue)",
            f"the kernel is {kernel.signature}",
        )
    return None


def bound_refusal(launch: Launch, limits: Mapping[str, list[int]]) -> Finding | None:
    """A block that breaks the kernel's own `__launch_bounds__` (the PTX directives .maxntid and
    .reqntid, in `limits`); None when it does not."""
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


def refused(what: str, hint: str) -> Finding:
    """The finding for a launch that is not made; `what` says what it asked for."""
    return Finding("launch-failure", "error", f"the launch is refused: {what}", hint=hint)


def _times(numbers: tuple[int, ...]) -> str:
    return " x ".join(map(str, numbers))

"""CUDA's errors as findings: which of a launch's errors is what kind of mistake.

Names and texts: CUDA Driver API, "Data types used by CUDA driver", CUresult.
"""

from __future__ import annotations

from grader.box import BoxDeath
from grader.compile.program import Kernel, Program
from grader.launch import Finding

INVALID_ACCESS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "the kernel accessed memory that no buffer covers",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "the kernel accessed memory at an address that is not a "
    "multiple of the access's size",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "the kernel used a pointer of one memory space for another",
}
LAUNCH_FAILURE = {
    "CUDA_ERROR_ASSERT": "an assert in the kernel failed",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "the kernel ran into an illegal instruction or __trap()",
    "CUDA_ERROR_LAUNCH_FAILED": "the kernel was ended by an exception, for example __trap()",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "the kernel's stack is damaged or overflowed",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "a block needs more registers or shared memory than a "
    "multiprocessor has",
    "CUDA_ERROR_INVALID_VALUE": "the launch is refused: the grid, the block or the shared memory "
    "is larger than the device allows",
    "CUDA_ERROR_NOT_FOUND": "there is no such kernel in the compiled code",
}
SIMULATE = "run it with --on sim: the simulator names the line and the thread"


def of_error(name: str, text: str) -> Finding:
    """The finding for a launch that ended in CUDA's error `name`; `text` is the driver's own."""
    if name in INVALID_ACCESS:
        what, kind = INVALID_ACCESS[name], "invalid-access"
    else:
        what, kind = LAUNCH_FAILURE.get(name, text or "the launch failed"), "launch-failure"
    return Finding(kind, "error", f"{what} ({name or 'unknown error'})", hint=SIMULATE)


def of_timeout(seconds: float) -> Finding:
    """The finding for a launch that was stopped."""
    return Finding(
        "timeout",
        "error",
        f"the kernel ran for more than {seconds:g} s on the GPU and was stopped",
        hint=SIMULATE,
    )


def of_death(death: BoxDeath, limit: float) -> Finding:
    """The finding for a launch whose whole process ended; it had `limit` seconds."""
    if death.reason == "timeout":
        return of_timeout(limit)
    return Finding("launch-failure", "error", f"the GPU's process died: {death.detail}")


def placed(finding: Finding, program: Program, kernel: Kernel | None = None) -> Finding:
    """At the kernel's own line: a GPU does not say which line it was."""
    return program.at(finding, kernel.line if kernel else 0)

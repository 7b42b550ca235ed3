"""Why the compiler did not return: a limit, a text that it crashes on, or the machine."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from grader import regex
from grader.compile.diagnostics import error_at, student_fault
from grader.compile.nvrtc import without_assembler
from grader.compile.ptx_lines import instructions_by_line
from grader.faults import MachineFault, StudentFault
from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed

CRASHES = 2
"""The crashes of the compiler on one text after which the text may be their cause."""

CONTROL = "grader.compile.nvrtc:compile_known_source"

_INIT = regex(r"mbarrier\.init\S*\s+\[[^]]*\],\s*(%?\w+)")
_ZERO = regex(r"mov\.\w+\s+(%\w+),\s*0;$")


def crash_fault(
    crash: SandboxFailure, step: str, request: dict[str, Any], limits: Limits, confine: bool | None
) -> StudentFault | MachineFault:
    """Why the compiler crashed repeatedly: by the text, or by the machine.

    It is the text where the compiler also compiles a known source, in the same sandbox, for longer
    than the text took and while as much memory is held as the text had: what the machine lacks, or
    fails in, would then be met there too. No limit may be smaller than intended.

    Args:
        crash: the last crash.
        step: the step that compiles.
        request: what it was asked.
        limits: its limits.
        confine: as for `run_sandboxed`.
    """
    used, name = crash.usage, request["file"]
    held = min(used.peak, limits.memory // 2)
    control = {**request, "cpu": min(2 * used.cpu + 1, limits.cpu / 2), "bytes": held}
    works = False
    if not used.reduced:
        with suppress(SandboxFailure):
            works = run_sandboxed(CONTROL, control, limits=limits, confine=confine).value is True
    if not works:
        return compiler_fault(crash, name, limits)
    with suppress(SandboxFailure):
        last, options = [*request["variants"].items()][-1]
        virtual = {**request, "variants": {last: without_assembler(options)}}
        built = run_sandboxed(step, virtual, limits=limits, confine=confine).value
        ptx = built["variants"][last]["ptx"]
        if line := line_without_arrivals(ptx, name):
            what = "a barrier is initialized with a count of 0, which crashes the compiler"
            hint = "pass the number of threads that arrive in each phase"
            found = error_at(what, name, line, request["source"], hint=hint)
            return student_fault((found,), what)
    what = f"the compiler crashes on this file: {crash.detail}, {CRASHES} times in {CRASHES}"
    hint = "remove parts of the file until it compiles: the part that matters is the one to change"
    return student_fault((error_at(what, name, 0, "", hint=hint),), what)


def compiler_fault(
    failure: SandboxFailure, name: str, limits: Limits
) -> StudentFault | MachineFault:
    """Why the compiler did not return: the text exceeds a limit, or the machine failed.

    It is the text's fault only where the compiler is known to have reached a limit.
    """
    if not failure.caused_by_child:
        return MachineFault(
            f"the compiler was stopped within its limits: {failure.detail}",
            fix="grade fewer submissions at a time, or use a machine with more cores and memory",
        )
    match failure.reason:
        case "timeout":
            what = f"the compiler needed more than {min(limits.wall, limits.cpu):g} s"
        case "memory":
            what = f"the compiler needed more than {limits.memory >> 20} MB"
        case "output":
            what = f"the compiled code is larger than {limits.output >> 20} MB"
        case reason:
            return MachineFault(f"the compiling child did not answer: {reason}, {failure.detail}")
    hint = "look for templates, macros or constant expressions that expand without end"
    return student_fault((error_at(what, name, 0, "", hint=hint),), what)


def line_without_arrivals(ptx: str, file: str) -> int:
    """The first line of `file` that initializes an mbarrier with a count of 0; 0 without one."""
    lines = instructions_by_line(ptx, file)
    zeros = {"0"} | {m[1] for texts in lines.values() for text in texts if (m := _ZERO.match(text))}
    for line, texts in lines.items():
        counts = (m[1] for text in texts if (m := _INIT.match(text)))
        if not zeros.isdisjoint(counts):
            return line
    return 0

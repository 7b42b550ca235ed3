"""The JSON objects of the output contract: grades, and one launch of `grader run`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from grader.faults import Fault, MachineFault, StudentFault
from grader.grading.record import Grade, finding_json
from grader.launch import Finding, Trace


def grades_json(grades: Iterable[Grade]) -> dict[str, Any]:
    """Return `{"grades": [...]}`, the object of `grader batch`."""
    return {"grades": [grade.to_json() for grade in grades]}


def run_json(
    trace: Trace, outputs: Mapping[int, str], compile_seconds: float = 0.0
) -> dict[str, Any]:
    """Return the object of `grader run`.

    Args:
        trace: The launch.
        outputs: The file that each saved argument was written to, by the argument's index.
        compile_seconds: The compiler's wall time, unless the trace has its own.
    """
    seconds = {"compile": compile_seconds, **trace.seconds}
    return {
        "backend": trace.backend,
        "verdict": trace.verdict,
        "findings": [finding_json(finding) for finding in trace.findings],
        "counters": dict(trace.counters),
        "lines": [{"line": at.line, "counters": dict(at.counters)} for at in trace.lines],
        "resources": asdict(trace.resources),
        "outputs": {str(index): file for index, file in outputs.items()},
        "seconds": {step: round(value, 4) for step, value in {"run": 0.0, **seconds}.items()},
        "toolchain": dict(trace.toolchain),
    }


def fault_json(fault: Fault, backend: str) -> dict[str, Any]:
    """Return the same object when nothing was launched: the student's findings, or an error."""
    trace = Trace("gpu" if backend == "gpu" else "sim", findings=_findings(fault), ended=False)
    verdict = "findings" if isinstance(fault, StudentFault) else "error"
    return run_json(trace, {}) | {"verdict": verdict}


def _findings(fault: Fault) -> tuple[Finding, ...]:
    if isinstance(fault, StudentFault) and fault.findings:
        return fault.findings
    kind = "machine" if isinstance(fault, MachineFault) else "launch-failure"
    message = f"{fault.where}: {fault.what}" if fault.where else fault.what
    place = re.match(r"(.+?):(\d+)(?=:|$)", fault.where)
    file, line = (place[1], int(place[2])) if place else ("", 0)
    return (Finding(kind, "error", message, file, line, hint=fault.fix),)


def dumps(value: Mapping[str, Any]) -> str:
    """Return strict JSON text, indented and ending in a newline; NaN and infinities become null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value

"""A simulator process that dies: the kernel's error or a system error."""

from __future__ import annotations

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.faults import MachineFault
from grader.grading.run import run_all
from grader.launch import Array, Launch, Trace
from grader.sandbox.call import SandboxFailure
from grader.sandbox.message import FailureReason
from grader.simulator.exchange import MAX_DEVICE_MEMORY, MAX_STATIC, static_bytes

STATIC = "__device__ int table[{count}];\n__global__ void k(int* x) {{ x[0] = table[x[1]]; }}"


def trace(source: str = STATIC.format(count=8)) -> Trace:
    x = Array("x", (4,), "int32", np.zeros(4, "i4"), read_back=True)
    program = compile_source(source.encode(), "k.cu")
    return run_all(program, [Launch("k", (1, 1, 1), (1, 1, 1), (x,))], threads=1)[0]


def test_exceeding_the_memory_limit_is_the_kernels_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real death: its process gets too little for what it is given."""
    monkeypatch.setattr("grader.grading.run.simulator_memory", lambda launches, ptx="": 400 << 20)
    ended = trace(STATIC.format(count=6 << 20))
    assert [(f.kind, "more memory" in f.message) for f in ended.errors] == [
        ("launch-failure", True)
    ]
    assert not ended.ended


def test_what_is_granted_suffices_for_the_largest_variables() -> None:
    assert trace(STATIC.format(count=MAX_STATIC // 4)).verdict == "clean"


@pytest.mark.parametrize("count", [MAX_STATIC // 4 + 1, MAX_DEVICE_MEMORY // 4])
def test_what_only_a_gpu_can_run_is_no_fault_of_the_submission(count: int) -> None:
    with pytest.raises(MachineFault, match="too much to simulate"):
        trace(STATIC.format(count=count))


def test_what_no_gpu_can_run_is_refused_before_it_takes_any_memory() -> None:
    (found,) = trace(STATIC.format(count=MAX_DEVICE_MEMORY // 4 + 1)).errors
    assert found.kind == "launch-failure" and "more than a GPU has" in found.message


@pytest.mark.parametrize(
    ("declared", "size"),
    [
        (".global .align 4 .b8 a[1024];", 1024),
        (".visible .global .align 8 .f64 a[4];", 32),
        (".const .align 4 .b8 a[8] = {1, 2};", 8),
        (".shared .align 4 .b8 a[64];", 0),
        (".global .align 4 .u32 one;", 0),
        ("// .global .align 4 .b8 a[64];", 0),
        (".global .align 4 .b8 a[16];\n.global .align 4 .b8 b[16];", 32),
    ],
)
def test_the_bytes_of_variables(declared: str, size: int) -> None:
    assert static_bytes(f".version 9.0\n{declared}\n") == size


@pytest.mark.parametrize(
    ("reason", "own"), [("memory", False), ("crash", True), ("protocol", True), ("output", True)]
)
def test_other_deaths_are_system_errors(
    reason: FailureReason, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def died(*_: object, **__: object) -> None:
        raise SandboxFailure(reason, "it died", caused_by_child=own)

    monkeypatch.setattr("grader.grading.run.run_sandboxed", died)
    with pytest.raises(MachineFault, match=f"process died: {reason}"):
        trace()

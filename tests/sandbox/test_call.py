"""run_sandboxed: values and faults are passed on, dead children are reported, nothing remains."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from grader.faults import LabFault, MachineFault, StudentFault
from grader.sandbox import call
from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed
from grader.sandbox.message import Usage
from grader.sandbox.process import start_process
from grader.sandbox.template import templates
from tests.attacks.traces import record_traces, remaining_traces
from tests.patience import PATIENCE, until
from tests.processes import with_mark

MODES = [pytest.param(True, id="confined"), pytest.param(False, id="plain")]
SHORT = Limits(wall=5.0)


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def step(name: str) -> str:
    return f"sandboxed_steps:{name}"


def gone(mark: str) -> bool:
    """Wait until all marked processes have ended; the kernel kills asynchronously."""
    return until(lambda: not with_mark(mark))


@pytest.mark.parametrize("confine", MODES)
@pytest.mark.parametrize("value", [None, 7, "text é", [1, [2.5, None]], {"a": {"b": True}}])
def test_value_is_returned_unchanged(value: Any, confine: bool) -> None:
    reply = run_sandboxed(step("echo"), value, confine=confine)
    assert reply.value == value
    assert dict(reply.arrays) == {}


@pytest.mark.parametrize("confine", MODES)
def test_arrays_that_are_sent_are_those_of_the_reply(confine: bool) -> None:
    given = {
        "first": np.arange(3000.0),
        "empty": np.zeros((0, 3)),
        "bytes": np.arange(5, dtype="u1"),
    }
    reply = run_sandboxed(step("sends"), [1], given, confine=confine)
    assert reply.value == [1] and set(reply.arrays) == {*given, "last"}
    for name, array in given.items():
        assert reply.arrays[name].dtype == array.dtype
        assert np.array_equal(reply.arrays[name], array)
    assert reply.arrays["last"].shape == (3000,) and not reply.arrays["last"].any()


def test_fault_after_arrays_were_sent_is_raised() -> None:
    with pytest.raises(LabFault, match="no output is wanted"):
        run_sandboxed(step("sends"), "raises", {"first": np.arange(9)})


def test_arrays_that_the_reply_has_no_room_for_are_not_sent() -> None:
    room = Limits(output=(1 << 20) + 8000)
    fits = {"first": np.zeros(992, "u1")}
    assert run_sandboxed(step("sends"), None, fits, limits=room).arrays["last"].size == 992
    with pytest.raises(SandboxFailure) as caught:
        run_sandboxed(step("sends"), None, {"first": np.zeros(8001, "u1")}, limits=room)
    assert caught.value.reason == "output" and caught.value.caused_by_child


@pytest.mark.parametrize("confine", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint64", "bool"])
def test_arrays_are_returned_unchanged(dtype: str, confine: bool) -> None:
    given = {
        "strided": np.arange(24).astype(dtype).reshape(4, 6)[::2, ::-1],
        "empty": np.zeros((0, 3), dtype),
        "point": np.array(1, dtype),
    }
    reply = run_sandboxed(step("echo"), None, given, confine=confine)
    assert list(reply.arrays) == list(given)
    for name, array in given.items():
        np.testing.assert_array_equal(reply.arrays[name], array)
        assert reply.arrays[name].dtype == array.dtype
        assert reply.arrays[name].shape == array.shape


def test_arrays_are_copies_that_the_caller_may_change() -> None:
    given = np.arange(6.0)
    reply = run_sandboxed(step("threads"), None, {"x": given})
    assert reply.value == 30
    np.testing.assert_array_equal(given, np.arange(6.0))
    np.testing.assert_array_equal(reply.arrays["x"], [0, 4, 8])
    reply.arrays["x"][0] = 5  # the caller may write
    assert reply.arrays["y"].dtype == bool


def test_child_without_arrays_does_not_load_numpy() -> None:
    assert not [
        name
        for name in run_sandboxed(step("modules"), None, confine=False).value
        if name.startswith("numpy")
    ]
    with_arrays = run_sandboxed(step("modules"), None, {"x": np.zeros(1)}).value
    assert "numpy" in with_arrays


@pytest.mark.parametrize("confine", MODES)
def test_student_fault_is_raised_with_its_findings(confine: bool) -> None:
    with pytest.raises(StudentFault) as caught:
        run_sandboxed(step("student"), None, confine=confine)
    fault = caught.value
    assert (fault.what, fault.where, fault.fix) == ("it races", "a.cu:9", "add a barrier")
    (finding,) = fault.findings
    assert (finding.kind, finding.line, finding.thread, finding.cases) == (
        "race",
        9,
        (1, 1, 0),
        ("a",),
    )
    assert finding.other is not None
    assert finding.other.thread == (0, 1, 0)


def test_lab_fault_keeps_its_type() -> None:
    with pytest.raises(LabFault) as caught:
        run_sandboxed(step("lab"), None)
    assert str(caught.value) == "lab.yaml:3: bad lab\n  fix it"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("defect", "KeyError: 'missing'"),
        ("not_json", "not JSON serializable"),
        ("objects", "an array of object"),
        ("no_such_step", "no_such_step"),
    ],
)
def test_other_exception_becomes_a_machine_fault(name: str, message: str) -> None:
    with pytest.raises(MachineFault, match=message) as caught:
        run_sandboxed(step(name), None)
    assert caught.value.where
    assert "Traceback" not in str(caught.value)


def test_unknown_module_is_named() -> None:
    with pytest.raises(MachineFault, match="no_such_module"):
        run_sandboxed("no_such_module:f", None)


DEATHS: list[tuple[str, Any, Limits, str, str]] = [
    ("sleep", None, Limits(wall=0.3), "timeout", "more than 0.3 s"),
    ("spin", None, Limits(wall=9, cpu=1), "timeout", "1 s of processor time"),
    ("memory", None, SHORT, "memory", "allocation"),
    ("native_memory", None, SHORT, "memory", "allocation"),
    ("killed", None, SHORT, "memory", "killed"),
    ("segfault", None, SHORT, "crash", "SIGSEGV"),
    ("leave", 3, SHORT, "crash", "status 3"),
    ("leave", 0, SHORT, "protocol", "nothing was written"),
    ("long_reply", 2 << 20, Limits(output=1 << 20), "output", "at most 1048576"),
    ("big_file", 2 << 20, Limits(output=1 << 20), "output", "disk"),
    ("forged", "0" * 32, SHORT, "protocol", "nonce"),
    ("garbage", "ffffffffffffffff", SHORT, "protocol", "nothing was written"),
    ("garbage", "0400000000000000" + b"{{{{".hex(), SHORT, "protocol", "not JSON"),
    ("garbage", "0200000000000000" + b"{}".hex(), SHORT, "protocol", "key"),
]


@pytest.mark.parametrize("confine", MODES)
@pytest.mark.parametrize(("name", "request_", "limits", "reason", "message"), DEATHS)
def test_dead_child_raises_a_failure_with_its_reason(
    name: str, request_: Any, limits: Limits, reason: str, message: str, confine: bool
) -> None:
    with pytest.raises(SandboxFailure) as caught:
        run_sandboxed(step(name), request_, limits=limits, confine=confine)
    assert caught.value.reason == reason
    assert message in caught.value.detail


@pytest.mark.parametrize(
    ("name", "limits", "caused_by_child"),
    [
        ("sleep", Limits(wall=0.3, cpu=1), False),
        ("spin", Limits(wall=20, cpu=1), True),
        ("spin_in_c", Limits(wall=20, cpu=1), True),
        ("cpu_signal", SHORT, False),
        ("no_memory", SHORT, False),
        ("memory", SHORT, True),
        ("killed", SHORT, False),
        ("segfault", SHORT, False),
    ],
)
def test_failure_says_whether_the_child_caused_it(
    name: str, limits: Limits, caused_by_child: bool
) -> None:
    with pytest.raises(SandboxFailure) as caught:
        run_sandboxed(step(name), None, limits=limits)
    assert caught.value.caused_by_child is caused_by_child


@pytest.mark.parametrize("by_numpy", [True, False])
def test_allocation_above_the_limit_is_known_where_its_size_is(by_numpy: bool) -> None:
    request = {"bytes": 1 << 40, "numpy": by_numpy}
    with pytest.raises(SandboxFailure) as caught:
        run_sandboxed(step("one_allocation"), request, limits=SHORT)
    assert caught.value.reason == "memory"
    assert caught.value.caused_by_child is by_numpy


@pytest.mark.parametrize(
    ("kind", "name", "amount"),
    [
        (resource.RLIMIT_AS, "memory", 700 << 20),
        (resource.RLIMIT_CPU, "spin", 1),
        (resource.RLIMIT_FSIZE, "big_file", 1 << 20),
    ],
    ids=["ulimit -v", "ulimit -t", "ulimit -f"],
)
def test_inherited_smaller_limit_is_not_the_childs_fault(kind: int, name: str, amount: int) -> None:
    program = (
        "import resource, sys; from grader.sandbox.call import *; from grader.faults import *\n"
        f"resource.setrlimit({kind}, ({amount}, {amount}))\n"
        f"try: run_sandboxed('sandboxed_steps:{name}', 4 << 20, limits=Limits(wall=20))\n"
        "except SandboxFailure as death: print(death.caused_by_child)\n"
        "except MachineFault: print(False)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr


@pytest.mark.parametrize("files", [40, 200])
def test_few_open_files_are_enough(files: int) -> None:
    program = (
        "import resource; from grader.sandbox.call import run_sandboxed\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n"
        "print(run_sandboxed('sandboxed_steps:echo', 7).value)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == "7", done.stderr


def test_reply_cannot_grow() -> None:
    with pytest.raises((MachineFault, SandboxFailure), match=r"PermissionError|output"):
        run_sandboxed(step("open_reply"), None)


@pytest.mark.parametrize("wait", [True, False], ids=["timeout", "answered"])
@pytest.mark.parametrize("confine", MODES)
def test_no_process_remains(wait: bool, confine: bool) -> None:
    mark = f"warpgrade-mark-{os.getpid()}-{time.monotonic_ns()}"
    request = {"mark": mark, "wait": wait, "detach": confine}
    limits = Limits(wall=0.7)
    if wait:
        with pytest.raises(SandboxFailure, match="timeout"):
            run_sandboxed(step("family"), request, limits=limits, confine=confine)
    else:
        assert run_sandboxed(step("family"), request, confine=confine).value == "started"
    assert gone(mark)


@pytest.mark.parametrize("confine", MODES)
def test_no_file_and_no_descriptor_remains(
    confine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run_sandboxed(step("echo"), None, confine=confine)  # loads modules that stay loaded
    before = record_traces(tmp_path)
    run_sandboxed(step("echo"), None, {"x": np.zeros(1000)}, confine=confine)
    for name in ("segfault", "defect"):
        with pytest.raises((SandboxFailure, MachineFault)):
            run_sandboxed(step(name), None, confine=confine)
    assert remaining_traces(before, tmp_path) == []


def test_child_exits_when_its_caller_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else would end it when the caller ends before the child is tied to it."""

    def left_alone(*args: Any) -> subprocess.Popen[bytes]:
        process = start_process(*args)
        assert process.stdin is not None
        process.stdin.close()
        return process

    monkeypatch.setattr("grader.sandbox.call.start_process", left_alone)
    monkeypatch.setattr(templates(), "are_usable", False)
    for confine in (True, False):
        with pytest.raises(SandboxFailure, match="status 1"):
            run_sandboxed(step("echo"), 1, confine=confine)


def test_an_inherited_limit_of_processor_time_proves_nothing() -> None:
    assert Usage(cpu=12.0).reached_cpu(20.0) and not Usage(cpu=9.0).reached_cpu(20.0)
    assert not Usage(cpu=17.0, reduced=frozenset({"cpu"})).reached_cpu(20.0)


def test_what_may_wait_begins_when_a_child_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the thread that waits, after the child's start, and only inside the context."""
    events: list[str] = []
    original = call.reply_of

    def reply_of(*given: Any) -> Any:
        events.append("waits")
        return original(*given)

    monkeypatch.setattr(call, "reply_of", reply_of)
    outer = call.while_waiting(lambda: events.append("outer"))
    with outer, call.while_waiting(lambda: events.append("inner")):
        assert run_sandboxed(step("echo"), 1).value == 1
        other = Thread(target=run_sandboxed, args=(step("echo"), 2))
        other.start()
        other.join(PATIENCE)
    run_sandboxed(step("echo"), 3)
    assert events == ["outer", "inner", "waits", "waits", "waits"]

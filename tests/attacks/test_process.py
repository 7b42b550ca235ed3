"""What a compromised child can do to this machine, and that nothing of it remains.

Where it is harmless, a control shows what the same child does without the sandbox.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed
from tests.attacks.traces import Traces, adopt_orphans, record_traces, remaining_traces
from tests.faults.tracing import strace_problem
from tests.patience import until
from tests.processes import command_line, with_mark

STEPS = Path(__file__).parents[1] / "sandbox"
ROOT = Path(__file__).parents[2]
QUICK = Limits(wall=8.0, output=4 << 20, processes=24)
BOMB = replace(QUICK, wall=1.5)


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STEPS))


@pytest.fixture(autouse=True)
def nothing_stays(steps: None) -> Iterator[Traces]:
    """Check that no test of this file leaves anything behind."""
    for name in ("hostile_steps:powers", "sandboxed_steps:identity"):
        run_sandboxed(name, None)  # their modules stay loaded, and their templates stay
    adopt_orphans()
    before = record_traces()
    yield before
    remaining = remaining_traces(before)
    adopt_orphans(False)
    assert remaining == []


def step(name: str) -> str:
    return f"hostile_steps:{name}"


@dataclass(frozen=True)
class Row:
    """A hostile step and its expected result: a value, or the reason of the failure."""

    step: str
    request: Any = None
    value: Any = None
    failure: str = ""
    limits: Limits = QUICK


ROWS = [
    Row("fork_bomb", failure="timeout", limits=BOMB),
    Row("daemon", "warpgrade-daemon", value="started"),
    Row("closes_everything", failure="crash"),
    Row("closes_its_errors", value="quiet"),
    Row("seals_the_reply", failure="protocol"),
    Row("floods_its_errors", failure="crash"),
    Row("keeps_memory", value=True),
    Row("fills", "/", value=[0, "EROFS"]),
    Row("fills", "/dev", value=[0, "EROFS"]),
    Row("fills", "/usr", value=[0, "EROFS"]),
    Row("fills", "/tmp", value=[4 << 20, "ENOSPC"]),
    Row("fills", "/dev/shm", value=[16 << 20, "ENOSPC"]),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.step} {row.request or ''}".strip())
def test_compromised_child_is_contained(row: Row) -> None:
    if row.failure:
        with pytest.raises(SandboxFailure) as caught:
            run_sandboxed(step(row.step), row.request, limits=row.limits, confine=True)
        assert caught.value.reason == row.failure
    else:
        got = run_sandboxed(step(row.step), row.request, limits=row.limits, confine=True).value
        if row.step == "fills" and row.value[0]:  # the table of contents takes some of it
            assert 0.9 * row.value[0] < got[0] <= row.value[0] and got[1] == row.value[1]
        else:
            assert got in (row.value, [0, "EACCES"] if row.value == [0, "EROFS"] else row.value)


def test_number_of_threads_is_limited() -> None:
    assert (
        run_sandboxed(step("thread_bomb"), 500, limits=QUICK, confine=True).value <= QUICK.processes
    )
    assert run_sandboxed(step("thread_bomb"), 10, limits=QUICK, confine=True).value == 10


def test_child_has_no_privileges() -> None:
    result = run_sandboxed(step("powers"), None, confine=True).value
    assert result["capabilities"] == [0, 0, 0]
    assert result["no_new_privileges"] == "1"
    assert result["umask"] == 0o077
    assert result["core"] == [0, 0]
    assert result["open_files"] == [256, 256]
    assert result["folder"] == "/tmp"


def test_child_has_no_descriptor_of_the_grader(tmp_path: Path) -> None:
    """Apart from null devices it has the reply and the buffer of its standard error."""
    with open(tmp_path / "gradebook", "w") as file, socket.socket() as ours:
        os.set_inheritable(file.fileno(), True)
        os.set_inheritable(ours.fileno(), True)
        held = run_sandboxed(step("powers"), None, confine=True).value["descriptors"]
    assert set(held) - {"/dev/null"} == {"warpgrade-errors", "warpgrade-reply"}
    assert len(held) == 4


def test_privileged_calls_fail() -> None:
    result = run_sandboxed(step("tries"), None, confine=True).value
    assert set(result.values()) <= {"EPERM", "EACCES", "EINVAL"}, result


def test_child_cannot_signal_processes_outside() -> None:
    """There is no control: without the sandbox it would end all processes of this user."""
    with subprocess.Popen(["sleep", "60"]) as bystander:
        try:
            result = run_sandboxed(
                step("kills_all_that_it_can"), None, limits=BOMB, confine=True
            ).value
            assert len(result) == 6
        except SandboxFailure as death:
            assert death.reason in ("memory", "crash", "timeout")
        assert bystander.poll() is None
        bystander.kill()


def test_sockets_of_the_machine_are_unreachable() -> None:
    name = f"warpgrade-attack-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0" + name)
        unix.listen()
        request = {"port": tcp.getsockname()[1], "name": name}
        inside = run_sandboxed(step("reaches"), request, confine=True).value
        assert "reached" not in inside
        assert run_sandboxed(step("reaches"), request, confine=False).value == [
            "reached",
            "reached",
        ]


def test_concurrent_children_do_not_see_each_other() -> None:
    for seconds in (1.5, 6, 24, 96):  # until the other one is still there, on a busy machine too
        with ThreadPoolExecutor() as pool:
            other = pool.submit(run_sandboxed, step("leaves_a_note"), seconds, confine=True)
            time.sleep(seconds / 2)
            seen = run_sandboxed(step("finds_notes"), None, confine=True).value
            was_there = not other.done()
            assert other.result().value == "stayed"
        assert seen == {"notes": [], "others": 0}
        if was_there:
            break
    assert was_there


def test_daemon_survives_without_the_sandbox(private_tree: None) -> None:
    """The control: without a sandbox it has left our group and must be searched for."""
    mark = f"warpgrade-daemon-{time.monotonic_ns()}"
    assert run_sandboxed(step("daemon"), mark, confine=False).value == "started"
    for pid in until(lambda: with_mark(mark)):  # it has executed its program
        os.kill(pid, signal.SIGKILL)


def test_system_command_cannot_read_the_graders_files(tmp_path: Path, private_tree: None) -> None:
    secret = tmp_path / "gradebook.db"
    secret.write_text("the canary sings")
    command = ["/bin/sh", "-c", f"cat {secret} /etc/shadow /proc/[0-9]*/environ 2>/dev/null"]
    assert "canary" not in run_sandboxed(step("runs"), command, confine=True).value[1]
    assert "canary" in run_sandboxed(step("runs"), command, confine=False).value[1]


CALLER = """
import sys
sys.path[:0] = [{root!r}, {steps!r}]
from grader.sandbox.call import Limits, run_sandboxed
print("here", flush=True)
run_sandboxed("sandboxed_steps:family", {{"mark": {mark!r}, "wait": True, "detach": {confine}}},
     limits=Limits(wall=60), confine={confine})
"""


def killed_after(seconds: float, mark: str, *, confine: bool) -> None:
    """Start a caller of a sandboxed step and kill it after so many seconds."""
    text = CALLER.format(root=str(ROOT), steps=str(STEPS), mark=mark, confine=confine)
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"here\n"
        time.sleep(seconds)
        caller.kill()


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 1.0])
def test_child_ends_when_its_caller_is_killed(seconds: float) -> None:
    """At any time: before the sandbox is tied to the caller, while it starts, and while it runs."""
    killed_after(seconds, f"warpgrade-mark-{time.monotonic_ns()}", confine=True)


@pytest.mark.skipif(bool(strace_problem()), reason=strace_problem() or "strace works")
@pytest.mark.parametrize("seconds", [1.0, 2.0, 3.0])
def test_child_ends_when_its_caller_is_killed_while_bubblewrap_starts(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its processes waits for two seconds before it first writes: so one waits for another.

    On a busy machine bubblewrap is interrupted there for some time too.
    """
    slow = "strace -DD -f -qq -o /dev/null -e trace=write -e inject=write:delay_enter=2s:when=1"
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\nexec {slow} {shutil.which("bwrap")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    killed_after(seconds, f"warpgrade-mark-{time.monotonic_ns()}", confine=True)


def test_descendants_outlive_a_killed_caller_without_the_sandbox() -> None:
    """The control: the child is tied to its caller, its own children are not."""
    mark = f"warpgrade-mark-{time.monotonic_ns()}"
    killed_after(2.0, mark, confine=False)
    alive = [pid for pid in with_mark(mark) if sys.executable not in command_line(pid)]
    assert alive
    for group in {os.getpgid(pid) for pid in alive}:
        os.killpg(group, signal.SIGKILL)


def test_setting_the_clock_changes_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits use the monotonic clock, which cannot be set."""
    steps_back = iter(range(10**9, 0, -(10**6)))
    monkeypatch.setattr(time, "time", lambda: float(next(steps_back)))
    started = time.monotonic()
    with pytest.raises(SandboxFailure, match="timeout"):
        run_sandboxed("sandboxed_steps:sleep", None, limits=Limits(wall=0.5))
    assert time.monotonic() - started >= 0.5

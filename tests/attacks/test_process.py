"""A child that was taken over: what it can do to this machine, and that nothing of it stays.

Every case is told within its limit and two seconds, on a busy machine more. Where it harms nobody,
a control shows what the same child does with the box off.
"""

from __future__ import annotations

import os
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
from tests.attacks.corpus import crowding
from tests.attacks.traces import Traces, adopt_orphans, left, traces

STEPS = Path(__file__).parents[1] / "sandbox"
ROOT = Path(__file__).parents[2]
QUICK = Limits(wall=8.0, output=4 << 20, processes=24)
BOMB = replace(QUICK, wall=1.5)


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STEPS))


@pytest.fixture(autouse=True)
def nothing_stays(steps: None) -> Iterator[Traces]:
    """Whatever a test of this file does to a box, nothing of it is left."""
    run_sandboxed("hostile_steps:powers", None)  # what is loaded once stays loaded
    adopt_orphans()
    before = traces()
    yield before
    stayed = left(before)
    adopt_orphans(False)
    assert stayed == []


def step(name: str) -> str:
    return f"hostile_steps:{name}"


@dataclass(frozen=True)
class Row:
    """A hostile step and what must come of it: a value, or a death's reason."""

    step: str
    request: Any = None
    value: Any = None
    death: str = ""
    limits: Limits = QUICK


ROWS = [
    Row("fork_bomb", death="timeout", limits=BOMB),
    Row("daemon", "warpgrade-daemon", value="started"),
    Row("closes_everything", death="crash"),
    Row("closes_its_errors", value="quiet"),
    Row("seals_the_reply", death="protocol"),
    Row("floods_its_errors", death="crash"),
    Row("keeps_memory", value=True),
    Row("fills", "/", value=[0, "EROFS"]),
    Row("fills", "/dev", value=[0, "EROFS"]),
    Row("fills", "/usr", value=[0, "EROFS"]),
    Row("fills", "/tmp", value=[4 << 20, "ENOSPC"]),
    Row("fills", "/dev/shm", value=[16 << 20, "ENOSPC"]),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.step} {row.request or ''}".strip())
def test_a_child_that_was_taken_over(row: Row) -> None:
    started = time.monotonic()
    if row.death:
        with pytest.raises(SandboxFailure) as caught:
            run_sandboxed(step(row.step), row.request, limits=row.limits, confine=True)
        assert caught.value.reason == row.death
    else:
        got = run_sandboxed(step(row.step), row.request, limits=row.limits, confine=True).value
        if row.step == "fills" and row.value[0]:  # the table of contents takes some of it
            assert 0.9 * row.value[0] < got[0] <= row.value[0] and got[1] == row.value[1]
        else:
            assert got in (row.value, [0, "EACCES"] if row.value == [0, "EROFS"] else row.value)
    assert time.monotonic() - started < row.limits.wall + 2 * crowding()


def test_threads_are_bounded() -> None:
    assert (
        run_sandboxed(step("thread_bomb"), 500, limits=QUICK, confine=True).value <= QUICK.processes
    )
    assert run_sandboxed(step("thread_bomb"), 10, limits=QUICK, confine=True).value == 10


def test_it_has_no_powers() -> None:
    told = run_sandboxed(step("powers"), None, confine=True).value
    assert told["capabilities"] == [0, 0, 0]
    assert told["no_new_privileges"] == "1"
    assert told["umask"] == 0o077
    assert told["core"] == [0, 0]
    assert told["open_files"] == [256, 256]
    assert told["folder"] == "/tmp"


def test_it_holds_no_descriptor_of_ours(tmp_path: Path) -> None:
    """Beside null devices: the reply and what is kept of its errors."""
    with open(tmp_path / "gradebook", "w") as file, socket.socket() as ours:
        os.set_inheritable(file.fileno(), True)
        os.set_inheritable(ours.fileno(), True)
        held = run_sandboxed(step("powers"), None, confine=True).value["descriptors"]
    assert set(held) - {"/dev/null"} == {"warpgrade-errors", "warpgrade-reply"}
    assert len(held) == 4


def test_it_may_not_do_what_only_root_may() -> None:
    told = run_sandboxed(step("tries"), None, confine=True).value
    assert set(told.values()) <= {"EPERM", "EACCES", "EINVAL"}, told


def test_it_signals_nobody_outside() -> None:
    """No control: with the box off it would end everything that this user has."""
    with subprocess.Popen(["sleep", "60"]) as bystander:
        try:
            told = run_sandboxed(
                step("kills_all_that_it_can"), None, limits=BOMB, confine=True
            ).value
            assert len(told) == 6
        except SandboxFailure as death:
            assert death.reason in ("memory", "crash", "timeout")
        assert bystander.poll() is None
        bystander.kill()


def test_no_socket_of_the_machine_answers() -> None:
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


def test_neighbours_do_not_see_each_other() -> None:
    with ThreadPoolExecutor() as pool:
        other = pool.submit(run_sandboxed, step("leaves_a_note"), 1.5, confine=True)
        time.sleep(0.7)
        seen = run_sandboxed(step("finds_notes"), None, confine=True).value
        assert not other.done()
        assert other.result().value == "stayed"
    assert seen == {"notes": [], "others": 0}


def test_a_daemon_survives_with_the_box_off() -> None:
    """The control: without a sandbox it is not in our group, and has to be looked for."""
    mark = f"warpgrade-daemon-{time.monotonic_ns()}"
    assert run_sandboxed(step("daemon"), mark, confine=False).value == "started"
    deadline = time.monotonic() + 5
    while not (alive := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)  # until it is the program that it becomes
    assert alive
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def test_a_command_of_the_system_finds_nothing_of_ours(tmp_path: Path) -> None:
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
    """A caller of a box that is killed so long after it called."""
    text = CALLER.format(root=str(ROOT), steps=str(STEPS), mark=mark, confine=confine)
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"here\n"
        time.sleep(seconds)
        caller.kill()


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 1.0])
def test_a_killed_caller_takes_its_box_along(seconds: float) -> None:
    """At any moment: before the sandbox is tied to it, while it is built, when it runs."""
    killed_after(seconds, f"warpgrade-mark-{time.monotonic_ns()}", confine=True)


def test_children_outlive_a_killed_caller_with_the_box_off() -> None:
    """The control: the child is tied to its caller, its own children are not."""
    mark = f"warpgrade-mark-{time.monotonic_ns()}"
    killed_after(2.0, mark, confine=False)
    alive = [pid for pid in marked(mark) if sys.executable not in command_of(pid)]
    assert alive
    for group in {os.getpgid(pid) for pid in alive}:
        os.killpg(group, signal.SIGKILL)


def test_a_clock_that_is_set_changes_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are by the clock that nobody can set."""
    steps_back = iter(range(10**9, 0, -(10**6)))
    monkeypatch.setattr(time, "time", lambda: float(next(steps_back)))
    started = time.monotonic()
    with pytest.raises(SandboxFailure, match="timeout"):
        run_sandboxed("sandboxed_steps:sleep", None, limits=Limits(wall=0.5))
    assert 0.5 <= time.monotonic() - started < 0.5 + 2 * crowding()


def marked(mark: str) -> list[int]:
    """This machine's processes whose command line carries the mark."""
    return [
        int(name)
        for name in os.listdir("/proc")
        if name.isdigit() and mark in command_of(int(name))
    ]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:  # it ended while we looked
        return ""

"""The end of a template, of what it depends on, and of the grader: nothing remains or is lost."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox import call, template
from grader.sandbox.call import run_sandboxed
from grader.sandbox.template import Template
from tests.command import descendants
from tests.patience import PATIENCE, until
from tests.processes import is_running, parent_of
from tests.sandbox.test_template import ROOT, is_below, is_child_of, only_template, steps

__all__ = ["steps"]  # the fixture of every test of templates


def test_nothing_remains_of_templates_that_are_killed_as_they_start() -> None:
    """bubblewrap's second process waits for the first one for a moment, without end if it dies."""
    run_sandboxed("sandboxed_steps:echo", 1)
    groups = []
    for milliseconds in range(16):
        made = Template(only_template_key())
        groups.append(made._process.pid)
        began = time.perf_counter()
        while time.perf_counter() - began < milliseconds / 1000:
            pass
        os.kill(groups[-1], signal.SIGKILL)
        until(partial(has_ended, made))
        made.end()
    until(lambda: not any(map(members, groups)))


def test_template_that_was_killed_is_replaced() -> None:
    assert run_sandboxed("sandboxed_steps:echo", 1).value == 1
    first = only_template()
    os.kill(chain_below(first)[1], signal.SIGKILL)
    assert run_sandboxed("sandboxed_steps:echo", 2).value == 2
    assert only_template() is not first and call.templates().are_usable


def test_job_goes_on_when_bubblewrap_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing depends on the process that waits for the template; the next job has a new one."""
    assert run_sandboxed("hostile_steps:leaves_a_note", 0).value == "stayed"
    first = only_template()
    start = template.ForkedChild.start
    killed = after(template.ForkedChild, "start", lambda child: first._process.kill())
    monkeypatch.setattr(template.ForkedChild, "start", killed)
    assert run_sandboxed("hostile_steps:leaves_a_note", 0.2).value == "stayed"
    monkeypatch.setattr(template.ForkedChild, "start", start)
    assert until(lambda: not first.is_alive)  # a kill takes its time on a busy machine
    assert run_sandboxed("hostile_steps:leaves_a_note", 0).value == "stayed"
    assert only_template() is not first and call.templates().are_usable


def chain_below(owner: Template) -> list[int]:
    """The processes of a template, parents first; process ids may have begun again at 2."""
    parents: dict[int, int] = {}
    for pid in (pid for pid in descendants() if is_below(pid, owner)):
        if (parent := parent_of(pid)) is not None:
            parents[pid] = parent

    def depth(pid: int) -> int:
        return 1 + depth(parents[pid]) if pid in parents else 0

    return sorted(parents, key=lambda pid: (depth(pid), pid))


DEATHS = (
    "template",
    "init of the child",
    "child, then template",
)


def kill(what: str, owner: Template) -> None:
    """Kill one process of a template, and wait until its end has reached the child's init.

    A kill that is not waited for is the same death, a little later in the same sequence.
    """
    while True:
        below = chain_below(owner)
        process = below[1]
        first, last = (below[2:] or [process])[0], below[-1]
        with suppress(ProcessLookupError):  # the last job's child had not ended yet
            pidfd = os.pidfd_open(first)
            break
    os.kill((process, first, last)[DEATHS.index(what)], signal.SIGKILL)
    if what == DEATHS[-1]:  # as the end of a control group may be; its init reports SIGKILL
        time.sleep(0.05)
        with suppress(ProcessLookupError):  # there was no child
            os.kill(process, signal.SIGKILL)
    assert select.select([pidfd], [], [], PATIENCE)[0]
    os.close(pidfd)


class Group:
    """A control group that accepts processes and does not count them."""

    def add(self, pid: int) -> None:
        assert pid > 0

    def kill(self) -> None: ...

    def ran_out_of_memory(self) -> bool:
        return False


def after(owner: Any, name: str, action: Any, *, before: bool = False) -> Any:
    """Return the method with an action around its first call."""
    method, pending = getattr(owner, name), [action]

    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        if pending and before:
            pending.pop()(self)
        result = method(self, *args, **options)
        if pending and result is not False:
            pending.pop()(self)
        return result

    return wrapped


@pytest.mark.parametrize("what", DEATHS)
def test_job_is_repeated_whenever_its_template_dies(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of events is forced: each case kills at one place of the child's life."""
    monkeypatch.setattr(template, "MODULES", ())
    monkeypatch.setattr("grader.sandbox.process.parent_group", lambda: Path("/"))
    monkeypatch.setattr("grader.sandbox.process.control_group", lambda *a: nullcontext(Group()))
    monkeypatch.setattr(Template, "is_alive", property(lambda self: not self._has_failed))
    assert run_sandboxed("hostile_steps:leaves_a_note", 0).value == "stayed"

    def kills(child: Any) -> None:
        kill(what, child if isinstance(child, Template) else child._template)

    for owner, name, before in (
        (Template, "fork", True),  # it is believed to be alive, and is not
        (Template, "fork", False),  # between the fork and the start
        (template.ForkedChild, "start", True),
        (template.ForkedChild, "start", False),  # while the child runs: it stays for 0.2 s
        (template.ForkedChild, "wait", False),  # after its end was reported
    ):
        first = only_template()
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, after(owner, name, kills, before=before))
            reply = run_sandboxed("hostile_steps:leaves_a_note", 0.2).value
            assert reply == "stayed", (owner, name, before)
        assert call.templates().are_usable
        if before or name != "wait":
            assert only_template() is not first or what == "init of the child"


def test_nothing_of_a_killed_grader_remains() -> None:
    mark = f"warpgrade-template-{time.monotonic_ns()}"
    text = (
        "import sys; sys.path[:0] = sys.argv[1:3]; "
        "from grader.sandbox.call import run_sandboxed; "
        "run_sandboxed('sandboxed_steps:echo', 1); print('here', flush=True); "
        "run_sandboxed('hostile_steps:leaves_a_note', 60)"
    )
    command = [sys.executable, "-c", text, str(ROOT), str(Path(__file__).parent), mark]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None and caller.stdout.readline() == b"here\n"

        def found() -> list[int]:
            return [pid for pid in descendants() if is_child_of(pid, caller.pid)]

        until(lambda: len(found()) >= 4)  # bubblewrap, the template, init and the child
        below = found()
        caller.kill()
    until(lambda: not any(map(is_running, below)))


def has_ended(made: Template) -> bool:
    return not made.is_alive


def only_template_key() -> template.Key:
    (one,) = call.templates()._by_key
    return one


def members(group: int) -> list[str]:
    """The command lines of the processes of a group that run."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, of, *_ = (place / "stat").read_text().rpartition(") ")[2].split()
            if int(of) == group and state not in "ZX":
                found.append((place / "cmdline").read_text())
    return found

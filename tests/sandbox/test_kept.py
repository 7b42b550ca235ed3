"""A child that is kept for further calls: their results are those of children of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.faults import LabFault, MachineFault
from grader.sandbox import call, template
from grader.sandbox.bubblewrap import likely_sandbox
from grader.sandbox.call import KeptChild, Limits, SandboxFailure, run_sandboxed
from tests.command import descendants
from tests.patience import until

KINDS = ("forked", "started", "without a sandbox")


@pytest.fixture(params=KINDS)
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptChild]:
    """A kept child of each kind."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    own = template.Templates()
    own.are_usable = request.param == "forked"
    monkeypatch.setattr(call, "templates", lambda: own)
    monkeypatch.setattr(template, "MODULES", ())
    if request.param == KINDS[2]:
        monkeypatch.setattr("grader.sandbox.bubblewrap._found", lambda: "no namespaces here")
        monkeypatch.setattr("grader.sandbox.process.is_world_readable", lambda paths: True)
    with KeptChild() as child:
        yield child


def ask(kept: KeptChild, step: str, request: Any = None, **more: Any) -> Any:
    return run_sandboxed(step, request, kept=kept, **more).value


def test_one_child_answers_all_calls(kept: KeptChild) -> None:
    for number in range(5):
        assert ask(kept, "sandboxed_steps:pid_and_calls")[1] == number + 1
    child = kept._child
    assert child is not None
    reply = run_sandboxed("sandboxed_steps:echo", 1, {"x": np.arange(100_000)}, kept=kept)
    assert kept._child is not child  # another step
    again = run_sandboxed("sandboxed_steps:echo", 2, {"x": np.arange(10)}, kept=kept)
    assert (reply.value, again.value) == (1, 2)
    assert reply.arrays["x"].sum() == 4_999_950_000 and again.arrays["x"].sum() == 45
    before = descendants()
    kept.end()
    until(lambda: len(descendants()) < len(before))


PLACES: dict[str, Any] = {"readable": (), "devices": (), "variables": {}}


def begin(kept: KeptChild, limits: Limits, step: str = "pid_and_calls") -> None:
    kept.begin(f"sandboxed_steps:{step}", None, limits=limits, **PLACES)


@pytest.mark.parametrize("kept", ["started"], indirect=True)
def test_child_that_was_begun_answers_the_next_call(kept: KeptChild) -> None:
    likely_sandbox()
    begin(kept, Limits())
    assert kept.has_begun() and not kept.has_begun()
    assert ask(kept, "sandboxed_steps:pid_and_calls", limits=Limits())[1] == 2
    assert ask(kept, "sandboxed_steps:pid_and_calls", limits=Limits(output=1 << 20))[1] == 1


@pytest.mark.parametrize("kept", ["started"], indirect=True)
@pytest.mark.parametrize("step", ["killed", "lab", "pid_and_calls"])
def test_child_that_was_begun_in_vain_leaves_the_call_as_it_is(
    kept: KeptChild, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    likely_sandbox()
    before = descendants()
    begin(kept, Limits(), step)
    if step == "pid_and_calls":  # what was likely to work does not
        monkeypatch.setattr("grader.sandbox.call.find_sandbox", lambda: "no namespaces here")
    assert not kept.has_begun()
    until(lambda: descendants() <= before)
    monkeypatch.undo()
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    assert ask(kept, "sandboxed_steps:pid_and_calls")[1] == 1


@pytest.mark.parametrize("kept", ["started"], indirect=True)
def test_child_that_was_begun_and_is_not_wanted_ends(kept: KeptChild) -> None:
    likely_sandbox()
    before = descendants()
    begin(kept, Limits(), "sleep")
    kept.end()
    until(lambda: descendants() <= before)


@pytest.mark.parametrize("kept", ["without a sandbox"], indirect=True)
def test_no_child_is_begun_without_a_sandbox(
    kept: KeptChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call, "likely_sandbox", lambda begin: None)
    begin(kept, Limits())
    assert not kept.has_begun()


def test_other_limits_need_another_child(kept: KeptChild) -> None:
    limits = Limits()
    assert ask(kept, "sandboxed_steps:pid_and_calls", limits=limits)[1] == 1
    shorter = Limits(wall=limits.wall / 2, cpu=limits.cpu / 2)
    assert ask(kept, "sandboxed_steps:pid_and_calls", limits=shorter)[1] == 2
    for other in (Limits(memory=3 << 30), Limits(output=1 << 20), Limits(processes=16)):
        assert ask(kept, "sandboxed_steps:pid_and_calls", limits=other)[1] == 1


def test_failure_of_a_later_call_is_that_of_a_child_of_its_own(kept: KeptChild) -> None:
    """It happens twice: in the child that has run before, and in a new one."""
    steps = ["leave", "killed", "segfault", "lab", "defect", "not_json"]
    for step in steps if kept_is_forked(kept) else steps[:1]:
        name = f"sandboxed_steps:{step}"
        with pytest.raises((SandboxFailure, LabFault, MachineFault)) as alone:
            run_sandboxed(name, 3)
        assert ask(kept, "sandboxed_steps:second_fails", [name, 0]) == [0, 1]
        with pytest.raises(type(alone.value)) as later:
            ask(kept, "sandboxed_steps:second_fails", [name, 3])
        assert str(later.value).replace("second_fails", step) == str(alone.value)


def test_what_fails_only_in_a_used_child_succeeds(kept: KeptChild) -> None:
    step, ways = "sandboxed_steps:fails_when_used", ["leave", "raise", "memory", "exceed its time"]
    for how in ways if kept_is_forked(kept) else ways[:1]:
        limits = Limits(cpu=1.0)
        assert [ask(kept, step, how, limits=limits) for _ in range(2)] == [how, how]
        kept.end()


def test_child_that_is_killed_between_calls_is_replaced(kept: KeptChild) -> None:
    assert ask(kept, "sandboxed_steps:pid_and_calls")[1] == 1
    child = kept._child
    assert child is not None
    pid = child.process.pid
    os.kill(pid, signal.SIGKILL)  # bubblewrap's child ends a little later
    until(lambda: ask(kept, "sandboxed_steps:pid_and_calls")[1] == 1)


def test_taken_reply_cannot_be_changed(kept: KeptChild) -> None:
    if not kept_is_forked(kept):
        return
    step = "hostile_steps:writes_to_its_first_reply"
    assert [ask(kept, step, number) for number in range(3)] == ["first", "EPERM", "EPERM"]


def kept_is_forked(kept: KeptChild) -> bool:
    """Whether its descriptors have the numbers of a template's child."""
    ask(kept, "sandboxed_steps:pid_and_calls")
    assert kept._child is not None
    return kept._child.is_forked


@pytest.mark.parametrize(
    "step", ["answers_before_it_replies", "takes_the_next_request", "closes_its_channel"]
)
def test_child_that_misuses_its_channel_harms_itself(kept: KeptChild, step: str) -> None:
    """Its calls fail, or have the results that it returns; none has another call's."""
    if not kept_is_forked(kept):
        return
    for number in range(3):
        try:
            assert ask(kept, f"hostile_steps:{step}", number, limits=Limits(wall=3.0)) == number
        except SandboxFailure as failure:
            assert failure.reason in ("protocol", "timeout", "crash")
    assert ask(kept, "sandboxed_steps:echo", "after") == "after"


def test_kept_child_has_one_descriptor_more(kept: KeptChild) -> None:
    if not kept_is_forked(kept):
        return
    found = ask(kept, "hostile_steps:sees_of_its_template")
    refused = {name for name, result in found["attempts"].items() if result != "done"}
    assert refused == set(found["attempts"])
    for _ in range(3):  # the last leads to its caller
        assert ask(kept, "hostile_steps:lists_its_descriptors") == [0, 1, 2, 4, 5]

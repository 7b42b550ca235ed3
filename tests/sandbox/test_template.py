"""Templates: the processes that fork the children of steps, and what a child finds of them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.faults import MachineFault
from grader.sandbox import call, template
from grader.sandbox.bubblewrap import Sandbox
from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed, sandbox_problem
from grader.sandbox.template import Template, TemplateEnded
from tests.command import descendants
from tests.patience import until
from tests.processes import GONE, parent_of, with_mark

ROOT = Path(__file__).parents[2]
SECRET = "the size of the hidden case is 1237"


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not sandbox_problem(), "CI has a sandbox; without one there is no template"
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    own = template.Templates()
    monkeypatch.setattr(call, "templates", lambda: own)


def only_template() -> Template:
    (one,) = call.templates()._by_key.values()
    return one


def test_children_of_one_template_get_their_own_requests_at_the_same_time() -> None:
    def echo(number: int) -> Any:
        reply = run_sandboxed("sandboxed_steps:echo", number, {"x": np.full(1000, number)})
        return reply.value, int(reply.arrays["x"].sum())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(echo, range(40))) == [(n, 1000 * n) for n in range(40)]
    assert call.templates().are_usable
    only_template()


def test_a_module_that_fails_ends_no_template(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('no step here')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MachineFault, match="no step here"):
        run_sandboxed("broken:step", None)
    assert call.templates().are_usable and not only_template().has_ended(0.7)


def test_child_finds_nothing_of_its_template() -> None:
    run_sandboxed("sandboxed_steps:echo", SECRET)
    found = run_sandboxed("hostile_steps:sees_of_its_template", None).value
    assert found["processes"] == sorted({1, found["self"]})
    assert 0 not in found["group and session"]  # 0 is the number of those outside
    assert set(found["capabilities"].values()) == {0}
    assert found["no_new_privileges"] == "1"
    assert found["descriptors"] == [0, 1, 2, 4]  # nothing, nothing, its errors, its reply
    refused = {name for name, result in found["attempts"].items() if result != "done"}
    assert refused == set(found["attempts"])


def test_child_does_not_find_what_another_child_left() -> None:
    run_sandboxed("hostile_steps:leaves_a_note", 0)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_sandboxed, "hostile_steps:leaves_a_note", 2)
        time.sleep(0.5)
        assert run_sandboxed("hostile_steps:finds_notes", None).value == {"notes": [], "others": 0}
        assert running.result().value == "stayed"


def test_template_never_holds_a_request_or_a_reply() -> None:
    run_sandboxed("sandboxed_steps:echo", [SECRET] * 1000)
    text = memory_of(only_template())
    assert b"grader.sandbox.template_child" in text  # the search finds what is there
    assert SECRET.encode() not in text


def memory_of(owner: Template) -> bytes:
    """Return what the processes of a template have mapped for writing."""
    parts = []
    for pid in (pid for pid in descendants() if is_below(pid, owner)):
        with suppress(*GONE):  # a host that has just ended
            parts += regions(pid)
    return b"".join(parts)


def regions(pid: int) -> list[bytes]:
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for row in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(x, 16) for x in row.split()[0].split("-"))
            if row.split()[1].startswith("rw"):
                memory.seek(start)
                found.append(memory.read(end - start))
    return found


def is_below(pid: int, owner: Template) -> bool:
    return is_child_of(pid, owner._process.pid)


def is_child_of(pid: int | None, parent: int) -> bool:
    while pid and pid > 1 and pid != parent:
        pid = parent_of(pid)
    return pid == parent


@pytest.mark.parametrize("raises", [False, True])
def test_template_rehearses_once(raises: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails there fails in the children too, and is no end of the template."""
    monkeypatch.setattr(template, "MODULES", ())
    rehearsal = "sandboxed_steps:remember", {"value": "known", "raises": raises}
    seen = [
        run_sandboxed("sandboxed_steps:remembered", None, rehearsal=rehearsal).value
        for _ in range(template.REHEARSED_AFTER + 3)
    ]
    first = only_template()
    assert seen == [[]] * template.REHEARSED_AFTER + [["known"]] * 3
    assert first.is_alive


def test_template_that_ends_in_its_rehearsal_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "MODULES", ())
    rehearsal = "sandboxed_steps:killed", {}
    for number in range(2 * template.REHEARSED_AFTER + 2):
        reply = run_sandboxed("sandboxed_steps:echo", number, rehearsal=rehearsal)
        assert reply.value == number
    assert call.templates().are_usable


def test_compiler_is_loaded_once() -> None:
    """Children of a template that has rehearsed compile to what the first ones compiled to."""
    source = "__global__ void k(float* a) { a[threadIdx.x] = sqrtf(a[0]); }"
    made = [
        compile_source(source.encode(), "k.cu", cache=None)
        for _ in range(template.REHEARSED_AFTER + 2)
    ]
    held = [one for one in descendants() if is_below(one, only_template())]
    maps = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in held)
    assert "libnvrtc.so" in maps and "numpy" not in maps
    assert len({(one.ptx, one.debug_ptx, one.kernels) for one in made}) == 1


def test_core_is_loaded_and_compared_with_its_sources_once() -> None:
    """By the template, when it has nothing else to do; its children find it."""
    assert until(lambda: run_sandboxed("sandboxed_steps:loads_the_core", None).value)
    assert run_sandboxed("sandboxed_steps:loads_the_core", None).value
    only_template()


def test_steps_run_where_a_template_cannot_make_namespaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*args: Any) -> None:
        raise TemplateEnded("PermissionError: unshare")

    monkeypatch.setattr(Template, "fork", fails)
    assert run_sandboxed("sandboxed_steps:echo", 1, confine=True).value == 1
    assert not call.templates().are_usable
    found = run_sandboxed("sandboxed_steps:identity", None, confine=True).value
    assert found["interfaces"] == ["lo"]


def test_children_that_exceed_their_time_leave_nothing() -> None:
    run_sandboxed("hostile_steps:leaves_a_note", 0)
    before = set(descendants())
    with pytest.raises(SandboxFailure, match="timeout"):
        run_sandboxed("hostile_steps:leaves_a_note", 60, limits=Limits(wall=0.5))
    until(lambda: not set(descendants()) - before)


def test_only_a_few_templates_live(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for number in range(template.MOST_TEMPLATES + 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert run_sandboxed("sandboxed_steps:echo", 1, readable=(folder,)).value == 1
    assert len(call.templates()._by_key) == template.MOST_TEMPLATES


def test_limit_of_memory_does_not_count_what_the_template_loaded() -> None:
    half = {"processes": 1, "bytes": 150 << 20}
    assert run_sandboxed("sandboxed_steps:hoard", half, limits=Limits(memory=300 << 20)).value == 1


def test_signal_ends_a_child() -> None:
    """Process 1 of a namespace would ignore it."""
    with pytest.raises(SandboxFailure, match="memory|SIGKILL|killed"):
        run_sandboxed("sandboxed_steps:killed", None)
    with pytest.raises(SandboxFailure, match="SIGSEGV"):
        run_sandboxed("sandboxed_steps:segfault", None)


def test_child_cannot_signal_a_sibling_or_its_init() -> None:
    """A process group spans PID namespaces unless the child has left it."""
    run_sandboxed("hostile_steps:leaves_a_note", 0)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_sandboxed, "hostile_steps:leaves_a_note", 1.5)
        time.sleep(0.3)
        assert run_sandboxed("hostile_steps:signals_its_group", None).value == "signaled"
        assert running.result().value == "stayed"
    assert call.templates().are_usable


def test_exit_code_of_a_child_does_not_end_the_use_of_templates() -> None:
    with pytest.raises(SandboxFailure):
        run_sandboxed("sandboxed_steps:leave", 71)
    assert call.templates().are_usable


def test_no_descendant_outlives_its_step() -> None:
    mark = f"warpgrade-daemon-{time.monotonic_ns()}"
    assert run_sandboxed("hostile_steps:daemon", mark).value == "started"
    assert not with_mark(mark)


def test_child_does_not_inherit_the_order_of_another() -> None:
    run_sandboxed("sandboxed_steps:echo", 1, limits=Limits(output=178_293_461))
    if os.geteuid() == 0:
        assert b"178293461" not in memory_of(only_template())


def test_paths_below_tmp_can_be_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name, "deep", "er")
        folder.mkdir(parents=True)
        for each in (Path(name), folder.parent, folder):
            each.chmod(0o755)
        (folder / "text").write_text("here")
        readable = (folder, folder / "text")
        step = "sandboxed_steps:look"
        assert run_sandboxed(step, str(folder / "text"), readable=readable).value == "here"
    assert call.templates().are_usable


def test_template_that_cannot_be_started_is_no_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    started = subprocess.Popen

    def fails(command: list[str], *args: Any, **options: Any) -> Any:
        if "template_child" in " ".join(command):
            raise MemoryError
        return started(command, *args, **options)

    monkeypatch.setattr(template.subprocess, "Popen", fails)
    with pytest.raises(MachineFault):
        run_sandboxed("sandboxed_steps:echo", 1, confine=True)


def test_all_steps_of_a_check_share_one_template() -> None:
    """A step of another module would start one for itself, which takes longer than the step."""
    steps = ("simulator.simulate", "simulator.work", "feedback.ptx_search", "feedback.trials")
    keys = {
        template.template_key(f"grader.{m}:run", Sandbox("", drops_root=True), [], (), {})
        for m in steps
    }
    assert len(keys) == 1

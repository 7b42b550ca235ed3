"""An unprivileged user as the only isolation: what it cannot read, and that nothing remains."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.faults import MachineFault
from grader.sandbox import user
from grader.sandbox.call import Limits, readable_paths, restrict_access, run_sandboxed
from grader.sandbox.user import (
    is_world_readable,
    make_private,
    remove_leftovers,
    shared_temporary_folder,
    unprivileged_user,
)
from tests.patience import until
from tests.processes import with_mark

AS_ROOT = os.geteuid() == 0
USERS = range(61000, 61180)
"""Ids that no other test uses: others search for leftovers of DYNAMIC_USERS at the same time."""


@pytest.fixture(autouse=True)
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a container without namespaces, whose interpreter every user may read."""
    monkeypatch.setattr(user, "DYNAMIC_USERS", USERS)
    monkeypatch.setattr("grader.sandbox.call.find_sandbox", lambda: "no namespaces here")
    monkeypatch.setattr("grader.sandbox.process.is_world_readable", lambda paths: True)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def lab() -> Iterator[Path]:
    """A folder with solutions that every user of this machine can read."""
    folder = Path(tempfile.mkdtemp(prefix="warpgrade-test-"))
    folder.chmod(0o755)
    (folder / "solutions").mkdir(mode=0o755)
    (folder / "solutions" / "answer.cu").write_text("the canary")
    (folder / "solutions" / "answer.cu").chmod(0o644)
    yield folder
    shutil.rmtree(folder)


def test_solutions_become_unreadable_to_the_unprivileged_user(lab: Path) -> None:
    answer = lab / "solutions" / "answer.cu"
    assert readable_paths([lab, answer]) == (lab, answer)
    if not AS_ROOT:
        with pytest.raises(MachineFault, match=r"could read .*\n  run the grader as root"):
            restrict_access([lab, answer])
        return
    assert run_sandboxed("sandboxed_steps:look", str(answer)).value == "the canary"
    restrict_access([lab, answer])
    assert readable_paths([lab, answer]) == ()
    assert run_sandboxed("sandboxed_steps:look", str(answer)).value == "PermissionError"
    assert answer.read_text() == "the canary"


def test_path_that_stays_readable_is_a_fault(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.call.make_private", lambda path: None)
    with pytest.raises(MachineFault, match="could read"):
        restrict_access([lab])


def test_private_folder_is_accessible_to_its_owner_only(lab: Path) -> None:
    make_private(lab)
    assert lab.stat().st_mode & 0o777 == 0o700
    assert not is_world_readable([lab / "solutions"])


def cannot_change_user() -> bool:
    """Return whether the tests do not run as root; only root can change its user."""
    if not AS_ROOT:
        assert run_sandboxed("sandboxed_steps:identity", None).value["uid"] == os.geteuid()
    return not AS_ROOT


def test_each_step_has_a_user_of_its_own() -> None:
    if cannot_change_user():
        return
    users = {run_sandboxed("sandboxed_steps:identity", None).value["uid"] for _ in range(3)}
    assert users <= set(USERS)


def test_leftover_processes_and_files_are_removed() -> None:
    if cannot_change_user():
        return
    mark = f"warpgrade-daemon-{time.monotonic_ns()}"
    assert run_sandboxed("hostile_steps:daemon", mark).value == "started"
    until(lambda: not with_mark(mark))  # a killed process may be listed a moment longer
    assert run_sandboxed("hostile_steps:leaves_a_note", 0).value == "stayed"
    assert not Path("/tmp/warpgrade-hostile").exists()
    assert not Path("/dev/shm/warpgrade-hostile").exists()


def test_leftovers_remain_when_they_are_not_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    if cannot_change_user():
        return
    users = []
    monkeypatch.setattr("grader.sandbox.process.remove_leftovers", users.append)
    mark = f"warpgrade-daemon-{time.monotonic_ns()}"
    run_sandboxed("hostile_steps:daemon", mark)
    run_sandboxed("hostile_steps:leaves_a_note", 0)
    assert Path("/tmp/warpgrade-hostile").exists()
    until(lambda: with_mark(mark))
    for uid in users:
        remove_leftovers(uid)
    until(lambda: not with_mark(mark))
    assert not Path("/tmp/warpgrade-hostile").exists()


def test_step_cannot_gain_privileges() -> None:
    if cannot_change_user():
        return
    assert run_sandboxed("hostile_steps:powers", None).value["no_new_privileges"] == "1"
    assert run_sandboxed("hostile_steps:powers", None).value["capabilities"] == [0, 0, 0]


def test_step_ends_with_its_caller() -> None:
    """The kernel resets the tie to the parent when a process changes its user."""
    if cannot_change_user():
        return
    mark = f"warpgrade-caller-{time.monotonic_ns()}"
    text = (
        "import sys; sys.path[:0] = sys.argv[1:3]; "
        "import grader.sandbox.call, grader.sandbox.process as child; "
        "grader.sandbox.call.find_sandbox = lambda: 'none'; "
        "child.is_world_readable = lambda paths: True; "
        "print('here', flush=True); "
        "grader.sandbox.call.run_sandboxed('sandboxed_steps:sleeps_as', sys.argv[3])"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", text, str(root), str(root / "tests" / "sandbox"), mark]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None and caller.stdout.readline() == b"here\n"
        until(lambda: Path(f"/tmp/{mark}").exists())
        child = int(Path(f"/tmp/{mark}").read_text())
        caller.kill()
    Path(f"/tmp/{mark}").unlink()
    until(lambda: not Path(f"/proc/{child}").exists())


def test_number_of_processes_is_limited() -> None:
    if cannot_change_user():
        return
    assert run_sandboxed("sandboxed_steps:forks", 100, limits=Limits(processes=20)).value <= 20


def test_concurrent_children_have_different_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user, "DYNAMIC_USERS", range(61180, 61182))
    with unprivileged_user() as one, unprivileged_user() as other:
        assert {one, other} == {61180, 61181}
        with pytest.raises(MachineFault, match="no user id is free"), unprivileged_user():
            pass
    with unprivileged_user() as again:
        assert again in (61180, 61181)


def test_private_temporary_folder_is_not_used_for_an_unprivileged_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With $TMPDIR below a private folder, nvcc could not open its output files."""
    with tempfile.TemporaryDirectory(dir="/tmp") as private:
        inner = Path(private) / "tmp"
        inner.mkdir()
        inner.chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", str(inner))
        assert shared_temporary_folder() in ("/tmp", "/var/tmp", "/dev/shm")
        Path(private).chmod(0o755)
        assert shared_temporary_folder() == str(inner)

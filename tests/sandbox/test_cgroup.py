"""Control groups: which one may be divided, and that nothing of a group outlives its child."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed
from grader.sandbox.cgroup import (
    ControlGroup,
    _check_enterable,
    control_group,
    find_delegated_group,
    parent_group,
)
from tests.processes import is_running

MOUNT = "30 24 0:26 / {root} rw,nosuid - cgroup2 cgroup2 rw\n"


def tree(root: Path, controllers_of: dict[str, str]) -> str:
    """Create a tree of groups {group: its cgroup.subtree_control}; return its mount table."""
    for name, controllers in controllers_of.items():
        folder = root / name.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.subtree_control").write_text(controllers)
        (folder / "cgroup.procs").touch()
    return MOUNT.format(root=root)


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


APP = "/user.slice/user@1000.service/app.slice"


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize(
    ("groups", "own", "expected"),
    [
        ({APP: "cpu memory pids", f"{APP}/run-1.scope": ""}, f"{APP}/run-1.scope", APP),
        ({APP: "memory", f"{APP}/run-1.scope": ""}, f"{APP}/run-1.scope", None),
        ({"/": "", APP: "memory pids"}, "/", None),
        ({"/": "memory pids"}, "/", "/"),
        ({"/a": "memory pids", "/a/b": "memory pids", "/a/b/c": ""}, "/a/b/c", "/a/b"),
    ],
)
def test_nearest_group_with_both_controllers_is_chosen(
    tmp_path: Path, groups: dict[str, str], own: str, expected: str | None
) -> None:
    result = find_delegated_group(tree(tmp_path, groups), f"1:cpu:/elsewhere\n0::{own}\n")
    if expected is None:
        assert isinstance(result, str) and "delegated" in result
    else:
        assert result == tmp_path / expected.lstrip("/")


def test_root_needs_the_delegation_mark_of_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write to groups that are not delegated to it."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    mounts = tree(tmp_path, {APP: "memory pids", f"{APP}/x": ""})
    own = f"0::{APP}/x\n"
    assert isinstance(find_delegated_group(mounts, own), str)
    marked = str(tmp_path / "user.slice" / "user@1000.service")
    monkeypatch.setattr(
        os, "getxattr", lambda path, name: b"1" if str(path) == marked else b"0", raising=True
    )
    assert find_delegated_group(mounts, own) == tmp_path / APP.lstrip("/")


@pytest.mark.parametrize("mounts", ["", "30 24 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw\n"])
def test_machine_without_version_2_has_no_group(mounts: str) -> None:
    assert "not mounted" in str(find_delegated_group(mounts, "0::/\n"))


def test_limits_are_written_to_the_group(tmp_path: Path) -> None:
    """A folder replaces the kernel's file system here, so the test creates the files first."""
    limits = ("pids.max", "memory.max", "memory.swap.max", "memory.oom.group")

    class Kernel(type(tmp_path)):  # type: ignore[misc]
        """A folder in which new folders have the files of a group."""

        def mkdir(self, *args: object, **kwargs: object) -> None:
            super().mkdir()
            for name in limits:
                (self / name).touch()

        def rmdir(self) -> None:
            for name in os.listdir(self):
                os.unlink(self / name)
            super().rmdir()

    with control_group(Kernel(tmp_path), 1 << 30, 20) as made:
        written = [(made.folder / name).read_text() for name in limits]
    assert written == ["20", str(1 << 30), "0", "1"]
    with control_group(Kernel(tmp_path), 0, 20) as made:
        assert [(made.folder / name).read_text() for name in limits] == ["20", "", "", ""]
    assert os.listdir(tmp_path) == []


def test_group_that_cannot_be_entered_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that cannot enter its group would fail to start, so entering is tried first."""
    monkeypatch.setattr("grader.sandbox.cgroup.find_delegated_group", lambda mounts, own: tmp_path)
    monkeypatch.setattr(ControlGroup, "enter_command", lambda self, command: ["/bin/false"])
    assert "can be entered" in str(parent_group.__wrapped__())
    assert "no group can be created" in str(_check_enterable(tmp_path / "none"))


def test_group_that_can_be_entered_is_used() -> None:
    parent = mounted()
    assert parent is None or _check_enterable(parent) == parent


@pytest.mark.parametrize(
    ("events", "starved"),
    [("oom 0\noom_kill 0", False), ("oom 2\noom_kill 2", True), ("oom 0\noom_kill 2", False)],
)
def test_lack_of_memory_is_read_from_the_events(tmp_path: Path, events: str, starved: bool) -> None:
    (tmp_path / "memory.events").write_text(f"low 0\noom 3\n{events}\n")
    assert ControlGroup(tmp_path).ran_out_of_memory() is starved
    assert ControlGroup(tmp_path / "none").ran_out_of_memory() is False


def mounted() -> Path | None:
    """Return where this machine lets us create groups of version 2, with any controllers."""
    result = find_delegated_group(
        Path("/proc/self/mountinfo").read_text(),
        Path("/proc/self/cgroup").read_text(),
        frozenset(),
    )
    return result if isinstance(result, Path) else None


def test_killing_the_group_ends_its_whole_process_tree() -> None:
    """Where no group can be created, children must run without one."""
    parent = mounted()
    if parent is None:
        assert isinstance(parent_group(), str)
        return
    family = ["/bin/sh", "-c", "setsid sleep 3600 & setsid sleep 3600 & wait"]
    with (
        control_group(parent, 0, 20) as made,
        subprocess.Popen(made.enter_command(family)) as process,
    ):
        listed = made.folder / "cgroup.procs"
        while len(listed.read_text().split()) < 3:
            assert process.poll() is None
        tree = [int(pid) for pid in listed.read_text().split()]
        made.kill()
    assert not made.folder.exists()
    assert process.returncode == -9
    assert not [pid for pid in tree if is_running(pid)]


def test_child_runs_in_a_group_that_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It replies, its failures are the same, and the group is removed."""
    parent = mounted()
    if parent is None:
        assert isinstance(parent_group(), str)
        return
    monkeypatch.setattr("grader.sandbox.process.parent_group", lambda: parent)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    for confine in (True, False):
        assert run_sandboxed("sandboxed_steps:groups", None, confine=confine).value.startswith(
            "0::/"
        )
        with pytest.raises(SandboxFailure, match="timeout"):
            run_sandboxed("sandboxed_steps:sleep", None, limits=Limits(wall=0.5), confine=confine)
    assert not list(parent.glob(f"warpgrade-{os.getpid()}-*"))

"""What a confined child can see and use of the machine, and what happens without a sandbox."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.faults import MachineFault
from grader.sandbox.call import (
    Limits,
    SandboxFailure,
    describe_sandbox,
    require_sandbox,
    run_sandboxed,
    sandbox_problem,
)
from grader.sandbox.cgroup import parent_group


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def canary() -> Iterator[Path]:
    """A secret that every user of this machine can read."""
    folder = Path(tempfile.mkdtemp(prefix="warpgrade-test-"))
    folder.chmod(0o755)
    (folder / "answer.txt").write_text("the secret answer")
    (folder / "answer.txt").chmod(0o644)
    yield folder / "answer.txt"
    shutil.rmtree(folder)


def test_secret_is_readable_only_without_the_sandbox(canary: Path) -> None:
    secret = str(canary)
    assert run_sandboxed("sandboxed_steps:look", secret, confine=True).value == "FileNotFoundError"
    assert run_sandboxed("sandboxed_steps:look", secret, confine=False).value == "the secret answer"
    shown = run_sandboxed("sandboxed_steps:look", secret, confine=True, readable=(canary.parent,))
    assert shown.value == "the secret answer"


def test_readable_path_cannot_be_written(canary: Path) -> None:
    reply = run_sandboxed(
        "sandboxed_steps:deface", str(canary), confine=True, readable=(canary.parent,)
    )
    assert reply.value in ("OSError", "PermissionError")  # a read-only file system, or its owner
    assert canary.read_text() == "the secret answer"


@pytest.mark.parametrize("place", ["/etc/passwd", str(Path.home()), str(Path(__file__))])
def test_other_paths_of_the_machine_do_not_exist(place: str) -> None:
    assert os.path.exists(place)
    inside = run_sandboxed("sandboxed_steps:look", place, confine=True).value
    assert inside in ("FileNotFoundError", "IsADirectoryError")  # at most an empty parent


def test_child_is_unprivileged_and_sees_no_network_or_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COURSE_SECRET", "do not tell")
    inside = run_sandboxed("sandboxed_steps:identity", None, confine=True).value
    assert inside["interfaces"] == ["lo"]
    assert inside["processes"] <= 3
    assert inside["uid"] != 0
    assert "COURSE_SECRET" not in inside["environment"]


def test_number_of_processes_is_limited() -> None:
    assert (
        run_sandboxed("sandboxed_steps:forks", 100, limits=Limits(processes=20), confine=True).value
        <= 20
    )
    assert (
        run_sandboxed("sandboxed_steps:forks", 10, limits=Limits(processes=20), confine=True).value
        == 10
    )


def test_working_sandbox_is_described() -> None:
    assert describe_sandbox().startswith("bubblewrap ")
    assert sandbox_problem() == ""


def test_required_sandbox_that_does_not_work_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "grader.sandbox.bubblewrap._found", lambda: "bwrap: No permissions to create a namespace"
    )
    assert describe_sandbox() == ""
    assert "No permissions" in sandbox_problem()
    with pytest.raises(MachineFault, match="No permissions"):
        run_sandboxed("sandboxed_steps:echo", 1, confine=True)
    assert run_sandboxed("sandboxed_steps:echo", 1).value == 1


def test_other_peoples_code_requires_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    require_sandbox()
    monkeypatch.setattr(
        "grader.sandbox.bubblewrap._found", lambda: "bwrap: No permissions to create a namespace"
    )
    with pytest.raises(MachineFault, match="No permissions") as caught:
        require_sandbox()
    assert "--unsafe-no-sandbox" in caught.value.fix
    require_sandbox(unsafe=True)


def test_memory_of_the_whole_process_tree_is_limited() -> None:
    """Three processes, each below its own limit; only a control group counts them together."""
    limits = Limits(wall=60.0, memory=300 << 20, output=1 << 20)
    request = {"processes": 3, "bytes": 150 << 20}
    if isinstance(parent_group(), str):
        assert run_sandboxed("sandboxed_steps:hoard", request, limits=limits).value == 3
        return
    with pytest.raises(SandboxFailure, match="memory: its processes together .* 300 MB"):
        run_sandboxed("sandboxed_steps:hoard", request, limits=limits)

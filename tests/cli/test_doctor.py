"""`grader doctor`: what it says about a sound machine, and about one that lacks something."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import doctor
from grader.cli.doctor import Diagnosis, diagnose
from grader.faults import MachineFault
from grader.gpu import devices as device
from grader.gpu import devices as lock
from grader.gpu import tools as tool
from grader.gpu.devices import Device, quarantine
from tests.command import ROOT, grader


def by_name() -> dict[str, Diagnosis]:
    return {diagnosis.what: diagnosis for diagnosis in diagnose()}


def test_this_machine_can_grade() -> None:
    said = grader("doctor")
    assert said.code == 0, said.out
    assert said.out.splitlines()[-1] == "this machine can grade"
    lines = said.out.replace(str(ROOT), "").splitlines()
    assert max(map(len, lines)) < 160


def test_json() -> None:
    told = json.loads(grader("doctor", "--json", "-").out)
    assert told["can_grade"] is True
    assert {diagnosis["what"] for diagnosis in told["signs"]} >= {
        "python",
        "compiler",
        "simulator",
        "probe",
    }
    assert all(diagnosis["state"] in ("ok", "note") for diagnosis in told["signs"])


def test_every_problem_has_a_fix() -> None:
    for diagnosis in diagnose():
        assert diagnosis.observed
        assert diagnosis.state == "ok" or diagnosis.fix or diagnosis.what == "gpu"


def test_a_missing_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "__file__", str(tmp_path / "cli" / "doctor.py"))
    diagnosis = by_name()["simulator"]
    assert (diagnosis.state, "no C core" in diagnosis.observed, "C compiler" in diagnosis.fix) == (
        "bad",
        True,
        True,
    )


def test_a_broken_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "simulator").mkdir()
    (tmp_path / "simulator" / "_core.so").write_bytes(b"no library")
    monkeypatch.setattr(doctor, "__file__", str(tmp_path / "cli" / "doctor.py"))
    assert by_name()["simulator"].state == "bad"


def test_a_probe_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MachineFault("no memory", fix="close something")

    monkeypatch.setattr("grader.grading.run.run_all", fail)
    diagnosis = by_name()["probe"]
    assert (diagnosis.state, diagnosis.observed, diagnosis.fix) == (
        "bad",
        "no memory",
        "close something",
    )


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert doctor.cache().state == "note"


def test_no_labs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPGRADE_LABS", str(tmp_path))
    assert doctor.labs().state == "note"


@pytest.fixture
def a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a GPU's device node, and nothing else that a GPU needs."""
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(device, "DEVICES", tmp_path)
    monkeypatch.setattr(device, "DRIVER", tmp_path / "driver")
    monkeypatch.setattr(lock, "LOCK_FOLDER", tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(tool, "toolkit", lambda: None)
    monkeypatch.setattr(device, "toolkit", lambda: None)
    return tmp_path


def test_each_thing_that_a_gpu_needs_is_looked_at(a_gpu: Path) -> None:
    seen = by_name()
    assert {"gpu", "pycuda", "nvcc", "nvml", "sanitizer", "ncu", "launch"} <= set(seen)
    assert (seen["gpu"].state, seen["gpu"].observed) == (
        "ok",
        "NVIDIA GPU (nvidia0), driver unknown",
    )
    for name, fix in (("nvcc", "cuda-nvcc"), ("sanitizer", "cuda-sanitizer"), ("ncu", "nsight")):
        assert (seen[name].state, fix in seen[name].fix) == ("note", True)
    assert seen["launch"].state == "note" and seen["launch"].fix


def test_a_gpu_in_quarantine(a_gpu: Path) -> None:
    quarantine(Device(a_gpu / "nvidia0", "", "NVIDIA GPU"), "a known kernel gives wrong numbers")
    diagnosis = doctor.gpu()
    assert (
        diagnosis.state == "note"
        and "nvidia0 is in quarantine: a known kernel" in diagnosis.observed
    )
    assert f"rm {a_gpu}/warpgrade-nvidia0.lock" in diagnosis.fix


def test_counters_that_are_for_root_only(a_gpu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "tool_path", lambda name: a_gpu / name)
    assert doctor.ncu().state == "ok"
    (a_gpu / "driver").mkdir()
    (a_gpu / "driver" / "params").write_text("A: 0\nRmProfilingAdminOnly: 1\n")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in doctor.ncu().fix


def test_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names what forbids it and the command that mends it, and what is refused until then."""
    monkeypatch.setattr(
        "grader.sandbox.bubblewrap._found", lambda: "bwrap: setting up uid map: Permission denied"
    )
    monkeypatch.setattr(
        "grader.sandbox.bubblewrap.suggest_fix", lambda installed: f"mend it: {installed}"
    )
    diagnosis = by_name()["sandbox"]
    assert (
        diagnosis.state,
        "uid map" in diagnosis.observed,
        "batch refuses" in diagnosis.observed,
    ) == (
        "note",
        True,
        True,
    )
    assert diagnosis.fix.startswith("mend it: True")


def test_a_control_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.cgroup.parent_group", lambda: Path("/sys/fs/cgroup/ours"))
    assert by_name()["bounds"].observed.endswith("in /sys/fs/cgroup/ours")
    monkeypatch.setattr("grader.sandbox.cgroup.parent_group", lambda: "none is ours")
    diagnosis = by_name()["bounds"]
    assert (diagnosis.state, "none is ours" in diagnosis.observed, bool(diagnosis.fix)) == (
        "note",
        True,
        True,
    )


@pytest.mark.parametrize(
    ("system", "fix"), [("win32", "WSL 2"), ("darwin", "docker run"), ("freebsd14", "container")]
)
def test_another_system_is_told_what_to_use(
    system: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that only Linux has is imported before, and `setup.py` refuses to build."""
    for line in (
        "sys.modules['fcntl'] = None; runpy.run_module('grader', run_name='__main__')",
        "runpy.run_path('setup.py', run_name='__main__')",
    ):
        code = f"import runpy, sys, setuptools; sys.platform = {system!r}; {line}"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 1 and system in done.stderr and "Linux" in done.stderr
        assert "Traceback" not in done.stderr
        assert fix in done.stderr or "setup.py" in line
    monkeypatch.setattr(sys, "platform", system)
    diagnosis = doctor.python()
    assert diagnosis.state == "bad" and fix in diagnosis.fix

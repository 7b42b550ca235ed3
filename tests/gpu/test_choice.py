"""Which backend `--on` selects on a machine whose GPU cannot be used. Needs no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.__main__ import _may_use_gpu
from grader.cli.terminal import Backend, resolved
from grader.faults import MachineFault
from grader.gpu import devices, driver
from grader.gpu.devices import quarantine, same_model_devices


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One GPU that nothing is lacking to use."""
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(devices, "DEVICES", tmp_path)
    monkeypatch.setattr(devices, "DRIVER", tmp_path)
    monkeypatch.setattr(devices, "LOCK_FOLDER", tmp_path)
    monkeypatch.setattr(driver, "driver_too_old", lambda: None)
    for present in ("library_folder", "find_spec", "toolkit"):
        monkeypatch.setattr(devices, present, lambda *asked: "there")
    return monkeypatch


def test_a_gpu_that_works_is_used(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [resolved(on) for on in (Backend.auto, Backend.gpu, Backend.sim)] == [
        "gpu",
        "gpu",
        "sim",
    ]
    assert capsys.readouterr().err == ""


def test_auto_says_why_a_gpu_is_not_used(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.setattr(devices, "find_spec", lambda name: None)
    assert resolved(Backend.auto) == "sim"
    said = " ".join(capsys.readouterr().err.split())
    assert "PyCUDA is not installed" in said and "pip install" in said
    with pytest.raises(MachineFault, match="PyCUDA"):
        resolved(Backend.gpu)


def test_a_gpu_in_quarantine_is_not_chosen(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quarantine(same_model_devices()[0], "a known kernel gives wrong numbers")
    assert resolved(Backend.auto) == "sim"
    said = " ".join(capsys.readouterr().err.split())
    assert "in quarantine" in said and "then: rm " in said
    with pytest.raises(MachineFault, match="wrong numbers"):
        resolved(Backend.gpu)


def test_a_machine_without_a_gpu_says_nothing(
    machine: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report tells that it was simulated, and what is judged on a GPU only."""
    (tmp_path / "nvidia0").unlink()
    assert resolved(Backend.auto) == "sim"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "may"),
    [
        ("check vector-add a.cu", True),
        ("check vector-add a.cu --on gpu --json", True),
        ("check vector-add a.cu --on sim", False),
        ("check --on=sim vector-add a.cu", False),
        ("check --help", False),
        ("batch vector-add submissions/", False),
        ("", False),
    ],
)
def test_children_are_begun_for_what_may_use_a_gpu(
    machine: pytest.MonkeyPatch, tmp_path: Path, words: str, may: bool
) -> None:
    assert _may_use_gpu(words.split()) == may
    (tmp_path / "nvidia0").unlink()
    assert not _may_use_gpu(words.split())

"""Devices and the toolkit, as read from files. Needs no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gpu import devices as device
from grader.gpu.devices import Toolkit, devices, driver_version, missing_requirement, toolkit
from grader.gpu.launches import error_finding
from grader.gpu.nvcc import cached_release, release

INFORMATION = "Model: \t\t NVIDIA T4\nIRQ: 1\nGPU UUID: \t GPU-{0}\nDevice Minor: \t {0}\n"
VERSION = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23\n"


@pytest.fixture
def two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /dev and a /proc of a machine with two GPUs."""
    nodes, driver = tmp_path / "dev", tmp_path / "proc"
    nodes.mkdir()
    for name in ("nvidia1", "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps"):
        (nodes / name).touch()
    for number in (0, 1):
        folder = driver / "gpus" / f"0000:0{number}"
        folder.mkdir(parents=True)
        (folder / "information").write_text(INFORMATION.format(number))
    (driver / "version").write_text(VERSION)
    monkeypatch.setattr(device, "DEVICES", nodes)
    monkeypatch.setattr(device, "DRIVER", driver)
    return tmp_path


def test_two_gpus(two_gpus: Path) -> None:
    one, two = devices()
    assert (one.node.name, one.uuid, one.model) == ("nvidia0", "GPU-0", "NVIDIA T4")
    assert (two.node.name, two.name) == ("nvidia1", "GPU-1")
    assert [node.name for node in two.nodes()] == ["nvidia1", "nvidiactl", "nvidia-uvm"]
    assert driver_version() == "580.95.05"


def test_driver_without_descriptions(two_gpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "DRIVER", two_gpus / "none")
    assert [(d.name, d.uuid) for d in devices()] == [("nvidia0", ""), ("nvidia1", "")]
    assert driver_version() == ""


def test_each_missing_requirement_is_reported(
    two_gpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value, words in (
        ("library_folder", lambda: None, "libcuda.so.1"),
        ("find_spec", lambda name: None, "PyCUDA"),
        ("toolkit", lambda: None, "nvcc"),
        ("devices", tuple, "no NVIDIA GPU"),
    ):
        with monkeypatch.context() as patch:
            for present in ("library_folder", "find_spec", "toolkit"):
                patch.setattr(device, present, lambda *a: "there")
            assert missing_requirement() is None
            patch.setattr(device, name, value)
            missing = missing_requirement()
            assert missing is not None and words in missing.what and missing.fix


def test_the_toolkit_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = tmp_path / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(nvcc.parent))
    found = toolkit()
    assert found == Toolkit(nvcc.resolve())
    assert release(found) == "13.0.88"


def test_nvcc_is_asked_for_its_release_once_for_each_file_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, nvcc = tmp_path / "asked", tmp_path / "nvcc"

    def install(version: str) -> Toolkit:
        nvcc.write_text(f"#!/bin/sh\necho x >> {asked}\necho 'release {version}, V{version}'\n")
        nvcc.chmod(0o755)
        return Toolkit(nvcc)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = install("13.0.88")
    assert [cached_release(found) for _ in range(3)] == ["13.0.88"] * 3
    assert asked.read_text() == "x\n"
    assert cached_release(install("13.10.5")) == "13.10.5"
    assert asked.read_text() == "x\nx\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "invalid-access"),
        ("CUDA_ERROR_MISALIGNED_ADDRESS", "invalid-access"),
        ("CUDA_ERROR_ASSERT", "launch-failure"),
        ("CUDA_ERROR_INVALID_VALUE", "launch-failure"),
        ("CUDA_ERROR_UNKNOWN", "launch-failure"),
    ],
)
def test_cuda_s_errors_are_findings_by_name(name: str, kind: str) -> None:
    found = error_finding(name, "what the driver says")
    assert (found.kind, found.severity) == (kind, "error")
    assert found.message.endswith(f"({name})")

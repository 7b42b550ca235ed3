"""Several GPUs: an attempt sees only the GPU that it locks, and locks it only for its launches.

The machine's folders and the children's replies are prepared: needs no GPU.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from grader.compile.program import Kernel, Program
from grader.gpu import devices, process
from grader.gpu import launches as attempt
from grader.gpu.devices import acquire_device, quarantine, same_model_devices
from grader.gpu.launch_child import Outcome
from grader.launch import Launch
from grader.sandbox.call import Reply

INFORMATION = "Model: \t\t NVIDIA T4\nGPU UUID: \t GPU-{0}\nDevice Minor: \t {0}\n"
PROGRAM = Program("k.cu", "", (Kernel("k", "k", 1, ()),), "", "", "sm_75")
LAUNCH = Launch("k", (1, 1, 1), (1, 1, 1), ())
FACTS = {"name": "NVIDIA T4", "architecture": "sm_75", "cuda": "13.0", "pycuda": "2026.1"}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A machine with two GPUs; every call of a child is written down, and answered."""
    nodes = tmp_path / "dev"
    nodes.mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (nodes / name).touch()
    for number in (0, 1):
        folder = tmp_path / "driver" / "gpus" / str(number)
        folder.mkdir(parents=True)
        (folder / "information").write_text(INFORMATION.format(number))
    made: list[dict[str, Any]] = []

    def answered(step: str, request: Any, arrays: Any, **more: Any) -> Reply:
        made.append({"step": step, **more})
        if step.endswith("describe"):
            return Reply(FACTS, {})
        return Reply([asdict(Outcome()) for _ in request["launches"]], {})

    monkeypatch.setattr(devices, "DEVICES", nodes)
    monkeypatch.setattr(devices, "DRIVER", tmp_path / "driver")
    monkeypatch.setattr(devices, "LOCK_FOLDER", tmp_path)
    monkeypatch.setattr(process, "user_folder", lambda: None)
    monkeypatch.setattr(process, "toolkit", lambda: None)
    monkeypatch.setattr(process, "run_sandboxed", answered)
    monkeypatch.setattr(attempt, "missing_requirement", lambda: None)
    monkeypatch.setattr(attempt, "compile_cubin", lambda program, architecture: b"cubin")
    return made


def launches(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for call in calls if call["step"] == "grader.gpu.launch_child:launch"]


def test_an_attempt_sees_the_gpu_that_is_free(calls: list[dict[str, Any]]) -> None:
    with acquire_device(devices.devices()[:1]):
        attempt.run_launches(PROGRAM, [LAUNCH])
    (made,) = launches(calls)
    assert [node.name for node in made["devices"]] == ["nvidia1", "nvidiactl", "nvidia-uvm"]
    assert made["variables"]["CUDA_VISIBLE_DEVICES"] == "GPU-1"


def test_a_gpu_in_quarantine_gets_no_attempt(calls: list[dict[str, Any]]) -> None:
    quarantine(devices.devices()[0], "its memory is broken")
    attempt.run_launches(PROGRAM, [LAUNCH])
    assert launches(calls)[0]["variables"]["CUDA_VISIBLE_DEVICES"] == "GPU-1"


def test_two_attempts_at_once_use_both(
    calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    together, answer = Barrier(2, timeout=20), process.run_sandboxed

    def waiting(step: str, *arguments: Any, **more: Any) -> Reply:
        if step.endswith("launch"):
            together.wait()  # nobody answers before both have a GPU
        return answer(step, *arguments, **more)

    monkeypatch.setattr(process, "run_sandboxed", waiting)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: attempt.run_launches(PROGRAM, [LAUNCH]), range(2)))
    used = {call["variables"]["CUDA_VISIBLE_DEVICES"] for call in launches(calls)}
    assert used == {"GPU-0", "GPU-1"}


def test_no_gpu_is_held_while_nvcc_compiles(
    calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    free = []

    def compiled(program: Program, architecture: str) -> bytes:
        with (
            acquire_device(devices.devices(), wait=0) as first,
            acquire_device(devices.devices(), wait=0) as second,
        ):
            free.extend([first.uuid, second.uuid])
        return b"cubin"

    monkeypatch.setattr(attempt, "compile_cubin", compiled)
    attempt.run_launches(PROGRAM, [LAUNCH])
    assert free == ["GPU-0", "GPU-1"]


def test_no_gpu_is_held_while_a_child_starts(calls: list[dict[str, Any]]) -> None:
    free = []

    class Starting:
        """A child that is not ready yet."""

        def wait(self, step: Any) -> None:
            with (
                acquire_device(devices.devices(), wait=0) as first,
                acquire_device(devices.devices(), wait=0) as second,
            ):
                free.extend([first.uuid, second.uuid])

        def take(self, step: Any) -> Any:
            return nullcontext()

    attempt.run_launches(PROGRAM, [LAUNCH], ready=Starting())  # type: ignore[arg-type]
    assert free == ["GPU-0", "GPU-1"]
    assert len(launches(calls)) == 1


def test_gpu_of_another_model_is_skipped(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    """The code is compiled for the first one's architecture."""
    told = tmp_path / "driver" / "gpus" / "1" / "information"
    told.write_text(INFORMATION.format(1).replace("T4", "H100"))
    assert [one.uuid for one in same_model_devices()] == ["GPU-0"]
    attempt.run_launches(PROGRAM, [LAUNCH])
    assert launches(calls)[0]["variables"]["CUDA_VISIBLE_DEVICES"] == "GPU-0"

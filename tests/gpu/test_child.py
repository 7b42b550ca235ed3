"""A child process that dies, and a GPU that disappears. Needs no GPU."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.compile.program import Kernel, Parameter, Program
from grader.faults import MachineFault, StudentFault
from grader.gpu import devices, launches, peaks, process, timing
from grader.gpu.buffers import GUARD, guard_byte
from grader.gpu.devices import Device, Toolkit, same_model_devices
from grader.gpu.functions import CooperativeModule, kernel_of
from grader.gpu.launch_child import Outcome
from grader.gpu.nvcc import _compile_fault
from grader.gpu.process import DeviceInfo, device_info
from grader.gpu.session import kernel_arguments
from grader.launch import Array, Launch, Scalar
from grader.sandbox.call import Reply, SandboxFailure

GPU = Device(Path("/dev/nvidia0"), "GPU-aaaa", "NVIDIA A")
PROGRAM = Program("k.cu", "one\ntwo\n", (Kernel("k", "k", 1, ()),), "", "", "sm_75")
LAUNCH = Launch("k", (1, 1, 1), (1, 1, 1), ())
HEALTHY = Reply(True, {})


class Deaths:
    """Replaces `run_sandboxed`: each step's reply, or the failure that ends it."""

    def __init__(self, **answers: Reply | SandboxFailure | MachineFault) -> None:
        self.answers = answers

    def __call__(self, step: str, *given: Any, **more: Any) -> Reply:
        answer = self.answers[step.rpartition(":")[2]]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def one_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(launches, "missing_requirement", lambda: None)
    monkeypatch.setattr(launches, "same_model_devices", lambda: (GPU,))
    monkeypatch.setattr(launches, "compile_cubin", lambda program, architecture: b"cubin")
    monkeypatch.setattr(launches, "device_info", lambda devices: DeviceInfo("sm_75", {}))
    monkeypatch.setattr(devices, "LOCK_FOLDER", tmp_path)
    return monkeypatch


def test_child_without_host_memory_is_a_system_error(
    one_gpu: pytest.MonkeyPatch,
) -> None:
    killed = SandboxFailure("memory", "the system killed it, most likely for want of memory")
    one_gpu.setattr(process, "run_sandboxed", Deaths(launch=killed, probe=HEALTHY))
    with pytest.raises(MachineFault, match="want of memory") as caught:
        launches.run_launches(PROGRAM, [LAUNCH])
    assert "at once" in caught.value.fix


@pytest.mark.parametrize(("reason", "kind"), [("timeout", "timeout"), ("crash", "launch-failure")])
def test_a_child_that_a_launch_ended_is_a_finding(
    one_gpu: pytest.MonkeyPatch, reason: Any, kind: str
) -> None:
    one_gpu.setattr(
        process,
        "run_sandboxed",
        Deaths(launch=SandboxFailure(reason, "it is gone", caused_by_child=True), probe=HEALTHY),
    )
    (trace,) = launches.run_launches(PROGRAM, [LAUNCH])
    assert [finding.kind for finding in trace.errors] == [kind]


WITH_ARRAY = Launch("k", (1, 1, 1), (1, 1, 1), (Array("x", (2,), "float32", None, True),))
SHORT = {f"0.{run}.0": np.zeros(3, np.uint8) for run in (0, 1)}
WHOLE = {f"0.{run}.0": np.full(8 + 2 * GUARD, guard_byte(0), np.uint8) for run in (0, 1)}
FINE = asdict(Outcome())


@pytest.mark.parametrize(
    ("value", "arrays"),
    [
        ([{**FINE, "registers": "many"}], WHOLE),
        ([FINE], {}),
        ([FINE], SHORT),
        ("pass", WHOLE),
        (5, WHOLE),
        (None, WHOLE),
        ([[]], WHOLE),
    ],
)
def test_malformed_reply_is_a_system_error(
    one_gpu: pytest.MonkeyPatch, value: Any, arrays: dict[str, Any]
) -> None:
    program = replace(PROGRAM, kernels=(Kernel("k", "k", 1, (Parameter("x", "float*", 8),)),))
    one_gpu.setattr(process, "run_sandboxed", Deaths(launch=Reply(value, arrays)))
    with pytest.raises(MachineFault, match="malformed reply"):
        launches.run_launches(program, [WITH_ARRAY])
    one_gpu.setattr(process, "run_sandboxed", Deaths(launch=Reply([FINE], WHOLE)))
    (trace,) = launches.run_launches(program, [WITH_ARRAY])
    assert (
        trace.ended
        and trace.outputs[0].tolist() == [np.full(4, 0xC3, np.uint8).view(np.float32)[0]] * 2
    )


def test_gpu_without_description_is_a_system_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "user_folder", lambda: None)
    monkeypatch.setattr(process, "toolkit", lambda: None)
    died = SandboxFailure("timeout", "it ran for more than 30 s")
    monkeypatch.setattr(process, "run_sandboxed", Deaths(describe=died))
    with pytest.raises(MachineFault, match="cannot describe NVIDIA A: it ran for more") as caught:
        device_info(GPU)
    assert caught.value.where == "/dev/nvidia0"


def test_missing_gpus_are_a_system_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "DEVICES", tmp_path)
    with pytest.raises(MachineFault, match="no NVIDIA GPU"):
        same_model_devices()


def test_a_gpu_whose_description_cannot_be_read_is_still_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia0").touch()
    (tmp_path / "gpus" / "0" / "information").mkdir(parents=True)
    monkeypatch.setattr(devices, "DEVICES", tmp_path)
    monkeypatch.setattr(devices, "DRIVER", tmp_path)
    assert [one.name for one in same_model_devices()] == ["nvidia0"]


@pytest.mark.parametrize(
    "ends", [SandboxFailure("crash", "it was ended by SIGSEGV"), MachineFault("no memory is free")]
)
def test_missing_cublas_does_not_discard_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: SandboxFailure | MachineFault
) -> None:
    monkeypatch.setattr(timing, "toolkit", lambda: Toolkit(tmp_path / "bin" / "nvcc"))
    monkeypatch.setattr(peaks, "cublas_libraries", lambda tools: (tmp_path / "libcublas.so",))
    monkeypatch.setattr(timing, "user_folder", lambda: None)
    monkeypatch.setattr(process, "run_sandboxed", Deaths(cublas_rate=ends))
    assert timing._cublas((8, 8, 8), GPU) == {}
    monkeypatch.setattr(process, "run_sandboxed", Deaths(cublas_rate=Reply(2e12, {})))
    assert timing._cublas((8, 8, 8), GPU) == {"cublas_flop_per_second": 2e12}


LOGS = [
    ("kernel.cu(2): error: expected a \";\"\n", StudentFault, 2),
    ("ptxas error   : Entry function 'k' uses too much shared data\n", StudentFault, 0),
    ("ptxas /tmp/x.ptx, line 33; error   : Unknown symbol 'x'\nptxas fatal   : Ptx assembly "
     "aborted due to errors\n", StudentFault, 0),
    ("ptxas fatal   : Memory allocation failure\n", MachineFault, 0),
    ("nvcc fatal   : Unsupported gpu architecture 'compute_20'\n", MachineFault, 0),
    ("", MachineFault, 0),
]  # fmt: skip


@pytest.mark.parametrize(("log", "kind", "line"), LOGS)
def test_assembler_error_is_the_submissions(log: str, kind: type[Exception], line: int) -> None:
    fault = _compile_fault(replace(PROGRAM), log)
    assert type(fault) is kind
    if isinstance(fault, StudentFault):
        assert [(f.kind, f.line) for f in fault.findings] == [("compile-error", line)]


class RecordingDriver:
    """Stands for libcuda: what a cooperative launch asks of it."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses, self.parameters = refuses, list[bytes]()
        self.geometry: tuple[int, ...] = ()
        self.attribute: tuple[int, int] | None = None

    def cuModuleLoadData(self, out: Any, cubin: bytes) -> int:
        return 0

    def cuModuleGetFunction(self, out: Any, module: Any, name: bytes) -> int:
        return 0 if name == b"k" else 500

    def cuGetErrorString(self, code: int, out: Any) -> int:
        ctypes.cast(out, ctypes.POINTER(ctypes.c_char_p))[0] = f"error {code}".encode()
        return 0

    def cuFuncSetAttribute(self, function: Any, number: int, value: int) -> int:
        self.attribute = (number, value)
        return self.refuses

    def cuLaunchCooperativeKernel(self, function: Any, *given: Any) -> int:
        *geometry, stream, places = given
        assert stream is None
        self.geometry = tuple(geometry)
        self.parameters = [ctypes.string_at(places[k], size) for k, size in enumerate((8, 4))]
        return self.refuses


class FakeCuda:
    """Stands for PyCUDA."""

    class function_attribute:
        """The enumeration CUfunction_attribute."""

        MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

    class LogicError(Exception):
        """CUDA refused a call."""


def test_cooperative_launch_gives_each_parameter_to_the_driver() -> None:
    args = (Array("a", (3,), "float32"), Scalar("n", -2, "int32"))
    one = Launch("k", (4, 2, 1), (64, 1, 1), args, shared=16, cooperative=True)
    driver = RecordingDriver()
    function = CooperativeModule(FakeCuda, driver, b"cubin").get_function("k")
    arguments = kernel_arguments(one, {0: 0x7F0000001000})
    function(*arguments, block=one.block, grid=one.grid, shared=one.shared)
    assert driver.geometry == (4, 2, 1, 64, 1, 1, 16)
    assert driver.parameters == [struct.pack("<Q", 0x7F0000001000), struct.pack("<i", -2)]


@pytest.mark.parametrize("large", [False, True])
def test_kernel_may_have_the_large_shared_memory_of_its_launch(large: bool) -> None:
    one = Launch("k", (1, 1, 1), (64, 1, 1), (), shared=1 << 16, large_shared=large)
    driver = RecordingDriver()
    kernel_of(FakeCuda, CooperativeModule(FakeCuda, driver, b"cubin"), "k", one)
    assert driver.attribute == ((8, 1 << 16) if large else None)
    driver.refuses = 1
    module = CooperativeModule(FakeCuda, driver, b"cubin")
    if large:
        with pytest.raises(FakeCuda.LogicError, match="cuFuncSetAttribute failed: error 1"):
            kernel_of(FakeCuda, module, "k", one)


def test_refused_cooperative_launch_raises_the_drivers_text() -> None:
    module = CooperativeModule(FakeCuda, RecordingDriver(refuses=720), b"cubin")
    with pytest.raises(FakeCuda.LogicError, match="cuLaunchCooperativeKernel failed: error 720"):
        module.get_function("k")(np.uint64(1), np.int32(2), block=(1, 1, 1), grid=(1, 1, 1))
    with pytest.raises(FakeCuda.LogicError, match="error 500"):
        module.get_function("other")

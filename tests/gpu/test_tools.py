"""The toolkit beside us on a GPU: nvcc's PTX is what is watched, the tools see what we see."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.cli.app import run as command
from grader.cli.doctor import diagnose
from grader.compile.source import compile_source
from grader.gpu.tools import run_profiler, run_sanitizer
from grader.grading.run import build_for, run_all
from grader.launch import Array, Launch
from grader.simulator.counters import COPY_SECTORS

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
HEAD = 'extern "C" __global__ void k(const float* in, float* out)\n{\n'
TAIL = "    out[threadIdx.x] = s[63 - threadIdx.x];\n}\n"
LOAD = "    __shared__ float s[64];\n    s[threadIdx.x] = in[threadIdx.x];\n"
BARRIER = "__syncthreads();"
RIGHT = f"{HEAD}{LOAD}    {BARRIER}\n{TAIL}"
TWO_FACES = f"{HEAD}{LOAD}#ifdef __CUDACC_RTC__\n    __syncthreads();\n#endif\n{TAIL}"
WRONG = {
    "race": f"{HEAD}{LOAD}{TAIL}",
    "invalid-access": RIGHT.replace("in[threadIdx.x]", "in[threadIdx.x + 1]"),
    "uninitialized-read": RIGHT.replace("in[threadIdx.x]", "out[threadIdx.x]"),
    "barrier-divergence": RIGHT.replace(BARRIER, f"if (threadIdx.x < 40) {BARRIER} else {BARRIER}"),
}


def launch(**more: Any) -> Launch:
    given = Array("in", (64,), "float32", np.arange(64, dtype=np.float32))
    return Launch("k", (1, 1, 1), (64, 1, 1), (given, Array("out", (64,), "float32", None, True)))


def test_code_for_one_compiler_is_judged_as_the_gpu_runs_it() -> None:
    """A text may differ between compilers; nvcc's PTX, of the timed machine code, is watched."""
    seen = replace(compile_source(RIGHT.encode(), "k.cu"), source=TWO_FACES)
    (nvrtc,) = run_all(compile_source(RIGHT.encode(), "k.cu"), [launch()])
    (nvcc,) = run_all(build_for("gpu", seen), [launch()])
    assert not nvrtc.errors
    assert [(f.kind, f.line, f.file) for f in nvcc.errors] == [("race", 8, "k.cu")]


def test_both_variants_are_nvcc_s(row: Any) -> None:
    program = compile_source(RIGHT.encode(), "k.cu")
    built = build_for("gpu", program)
    row(f"{len(built.ptx)} and {len(built.debug_ptx)} characters of PTX")
    assert built.architecture.startswith("sm_")
    assert built.ptx != built.debug_ptx and ", debug" in built.debug_ptx
    assert built.kernels[0].signature == program.kernels[0].signature
    assert built.kernels[0].resources.static_shared_bytes == 256


@pytest.mark.parametrize("declared", ["__device__", "__constant__", "static __constant__"])
def test_a_variable_without_external_name_can_be_set(declared: str) -> None:
    """nvcc and NVRTC write no .visible before one in a whole program."""
    text = f"{declared} float weight;\n" + RIGHT.replace("in[threadIdx.x]", "weight")
    value = {"weight": np.array([7], np.float32)}
    one = replace(launch(), globals=value)
    program = build_for("gpu", compile_source(text.encode(), "k.cu"))
    for on in ("sim", "gpu"):
        (trace,) = run_all(program, [one], on=on)  # type: ignore[arg-type]
        assert trace.outputs[1].tolist() == [7.0] * 64


@pytest.mark.parametrize("kind", WRONG)
def test_compute_sanitizer_finds_what_the_simulator_finds(kind: str, row: Any) -> None:
    program = compile_source(WRONG[kind].encode(), "k.cu")
    found = run_sanitizer(program, [launch(), launch()])
    (trace,) = run_all(program, [launch()])
    row("; ".join(f"{f.message} (line {f.line}, {f.count} times)" for f in found))
    lines = {f.line for f in trace.errors if f.kind == kind}
    assert kind in {f.kind for f in found} and lines
    assert {f.line for f in found if f.kind == kind} & {
        place for f in trace.errors for place in (f.line, f.other.line if f.other else 0)
    }


def test_compute_sanitizer_says_nothing_of_a_right_kernel() -> None:
    assert run_sanitizer(compile_source(RIGHT.encode(), "k.cu"), [launch()]) == ()


@pytest.mark.alone  # hardware counters are not counted beside other contexts
def test_check_with_both_tools(tmp_path: Path, row: Any) -> None:
    solution = ROOT / "solutions" / "tiled-matmul" / "tiled-matmul.cu"
    out = tmp_path / "grade.json"
    words = ["check", "tiled-matmul", str(solution), "--sanitizer", "--profile"]
    assert command([*words, "--on", "sim", "--json", str(out)]) == 0
    checks = {check["name"]: check for check in json.loads(out.read_text())["checks"]}
    assert checks["sanitizer"]["findings"] == [] and checks["sanitizer"]["status"] == "pass"
    seen = checks["profile"]["measurements"]
    row(checks["profile"]["summary"])
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    assert seen[f"{sectors} ncu"] == seen[f"{sectors} sim"] > 0


@pytest.mark.alone
def test_run_with_both_tools(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(64, dtype=np.float32))
    (tmp_path / "k.cu").write_text(WRONG["race"])
    (tmp_path / "l.yaml").write_text(
        "grid: [1]\nblock: [64]\nargs:\n  - {in: in.npy}\n"
        "  - {out: {dtype: float32, shape: [64]}}\n"
    )
    words = ["run", str(tmp_path / "k.cu"), str(tmp_path / "l.yaml"), "--sanitizer", "--profile"]
    assert command([*words, "--json", str(tmp_path / "o.json")]) == 1
    told = json.loads((tmp_path / "o.json").read_text())
    assert any("compute-sanitizer racecheck" in f["message"] for f in told["findings"])
    assert told["profile"]["smsp__sass_inst_executed_op_shared_ld.sum"] == {"sim": 2, "ncu": 2}


COUNTED = """\
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* in, float* out)
{
    __shared__ float s[64];
    __shared__ double d[2];
    __shared__ int n;
    if (threadIdx.x < 2)
        d[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0)
        n = 0;
    __pipeline_memcpy_async(s + threadIdx.x, in + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    int before = atomicAdd(&n, 1);
    atomicExch(out + threadIdx.x, (float)(d[0] * d[1] + s[63 - threadIdx.x]) + (before < 0));
}
"""


@pytest.mark.alone
def test_nsight_compute_has_every_counter_of_ours(row: Any) -> None:
    program = compile_source(COUNTED.encode(), "k.cu")
    (trace,) = run_all(program, [launch()])
    assert not trace.errors
    ours = {n: v for n, v in trace.counters.items() if not n.startswith("ptx__")}
    theirs = run_profiler(program, launch(), ours).counters
    row(f"{len(ours)} counters")
    assert COPY_SECTORS in ours and set(theirs) == set(ours)
    assert theirs[COPY_SECTORS] == ours[COPY_SECTORS] == 8


@pytest.mark.alone
def test_doctor_finds_no_problem_with_the_gpu(row: Any) -> None:
    seen = {diagnosis.what: diagnosis for diagnosis in diagnose()}
    gpu = [seen[what] for what in ("gpu", "pycuda", "nvcc", "nvml", "sanitizer", "ncu", "launch")]
    row("; ".join(diagnosis.observed for diagnosis in gpu))
    assert {diagnosis.state for diagnosis in gpu} == {"ok"}
    assert "nvidia0" in seen["gpu"].observed

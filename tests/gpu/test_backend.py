"""The GPU backend on a GPU: results, findings, and isolation between launches."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.faults import LabFault
from grader.feedback.grade import grade
from grader.gpu import devices as lock
from grader.gpu import launches as attempt
from grader.gpu.devices import devices
from grader.gpu.process import device_info, health_problem
from grader.grading.run import build_for, run_all
from grader.grading.single_launch import launch_of
from grader.labs.reading import list_labs, load_lab
from grader.launch import Array, Launch, Scalar, Trace
from grader.submissions.files import parse_submission, read_submission
from tests.fuzz.corpus import read
from tests.submissions.test_launchfile import SUMS, run_sums

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
KERNELS = sorted((ROOT / "tests" / "counters").glob("*.cu"))
N = 100

RIGHT = """
extern "C" __global__ void k(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
"""
BODIES = {
    "illegal": ("*(volatile float*)(1ull << 52) = 1;", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    "misaligned": ("*(volatile float*)((char*)out + 2) = 1;", "CUDA_ERROR_MISALIGNED_ADDRESS"),
    "trap": ("__trap();", "CUDA_ERROR"),
    "assert": ("assert(n < 0);", "CUDA_ERROR_ASSERT"),
    "endless": ("while (*(volatile float*)out == out[0]) out[1] = 0;", "was stopped"),
}


def source(body: str, before: str = "") -> bytes:
    head = 'extern "C" __global__ void k(const float* in, float* out, int n)'
    return f"#include <assert.h>\n#include <stdio.h>\n{before}\n{head}\n{{\n{body}\n}}\n".encode()


def launch(**more: Any) -> Launch:
    given = np.arange(N, dtype=np.float32)
    args = (
        Array("in", (N,), "float32", given),
        Array("out", (N,), "float32", None, True),
        Scalar("n", N, "int32"),
    )
    return Launch("k", (2, 1, 1), (64, 1, 1), args, **more)


def ran(text: bytes | str, *launches: Launch, limit: float = 10) -> tuple[Trace, ...]:
    program = compile_source(text if isinstance(text, bytes) else text.encode(), "k.cu")
    return run_all(program, launches or [launch()], on="gpu", limit=limit)


def test_the_machine(row: Any) -> None:
    facts = device_info(devices()[0])
    row(" ".join(f"{k}={v}" for k, v in facts.toolchain.items()) + f" {facts.architecture}")
    assert not health_problem(devices()[0])


def test_a_right_kernel(row: Any) -> None:
    started = time.perf_counter()
    (trace,) = ran(RIGHT)
    row(
        f"one launch {time.perf_counter() - started:.2f} s, "
        f"kernel {trace.seconds['run'] * 1e6:.1f} us"
    )
    assert trace.backend == "gpu" and trace.ended and not trace.findings
    assert trace.outputs[1].tolist() == [2.0 * i for i in range(N)]
    assert not trace.unwritten[1].any()
    assert trace.resources.registers and trace.resources.theoretical_occupancy


@pytest.mark.parametrize("path", KERNELS, ids=[p.stem for p in KERNELS])
def test_both_backends_compute_the_same_bits(path: Path) -> None:
    text = path.read_text()
    program = compile_source(text.encode(), path.name)
    one = read(text).launch()
    (sim,), (gpu,) = run_all(program, [one], on="sim"), run_all(program, [one], on="gpu")
    assert not gpu.errors and gpu.ended
    assert set(sim.outputs) == set(gpu.outputs)
    for k, value in sim.outputs.items():
        blank = gpu.unwritten.get(k, np.zeros(value.shape, bool))
        assert np.array_equal(blank, sim.unwritten.get(k, np.zeros(value.shape, bool)))
        assert np.array_equal(value[~blank], gpu.outputs[k][~blank], equal_nan=True)
    assert gpu.resources.static_shared_bytes == sim.resources.static_shared_bytes


def test_structures_and_parts_of_arrays_reach_the_kernel(tmp_path: Path) -> None:
    _, sim, launch_file = run_sums(tmp_path, 4)
    program = build_for("gpu", compile_source(SUMS, "sums.cu"))
    one = launch_of(program.kernels[0], launch_file)
    (gpu,) = run_all(program, [one], on="gpu")
    assert gpu.ended and not gpu.findings
    assert {k: v.tolist() for k, v in gpu.outputs.items()} == {
        k: v.tolist() for k, v in sim.outputs.items()
    }


GRID_SYNC = """
#include <cooperative_groups.h>
__device__ int sums[8];
extern "C" __global__ void k(const float *in, float *out, int n)
{
    if (threadIdx.x == 0) sums[blockIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    int sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += ((volatile int *)sums)[b];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + sum;
}
"""


def test_blocks_of_a_cooperative_launch_wait_for_each_other() -> None:
    one = replace(launch(cooperative=True), grid=(4, 1, 1), block=(32, 1, 1))
    (trace,) = ran(GRID_SYNC, one)
    assert trace.ended and not trace.findings
    assert np.array_equal(trace.outputs[1], np.arange(N, dtype=np.float32) + 10)


def test_cooperative_grid_that_does_not_fit_is_a_finding() -> None:
    one = replace(launch(cooperative=True), grid=(1 << 20, 1, 1))
    (trace,) = ran(GRID_SYNC, one)
    assert not trace.ended
    assert "cooperative launch has more blocks" in trace.findings[0].message


@pytest.mark.parametrize("name", BODIES)
def test_a_launch_that_dies_is_a_finding_and_the_next_is_right(name: str, row: Any) -> None:
    body, words = BODIES[name]
    before = time.perf_counter()
    text = source(f"if (n == 7) {{ {body} }} else out[threadIdx.x] = 2;")
    program = compile_source(text, "k.cu")
    good = launch()
    bad = Launch("k", (1, 1, 1), (64, 1, 1), (*good.args[:2], Scalar("n", 7, "int32")))
    traces = run_all(program, [good, bad, good], on="gpu", limit=2)
    row(f"{traces[1].errors[0].message} ({time.perf_counter() - before:.1f} s in all)")
    assert [t.ended for t in traces] == [True, False, True]
    assert words in traces[1].errors[0].message
    assert (traces[2].outputs[1][:64] == 2).all()
    assert not health_problem(devices()[0])


@pytest.mark.alone
@pytest.mark.parametrize("name", BODIES)
def test_the_child_after_a_dead_context_is_right_without_a_probe(
    name: str, row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the probe is there to find did not happen: the context died with its own process."""
    probed: list[Any] = []
    monkeypatch.setattr(attempt, "require_healthy", probed.append)
    (dead,) = ran(source(BODIES[name][0]), limit=2)
    began = time.perf_counter()
    (after,) = ran(RIGHT)
    row(f"{name}: the next launch ended {time.perf_counter() - began:.2f} s later")
    assert not dead.ended and len(probed) == 1
    assert after.ended and not after.findings
    assert after.outputs[1].tolist() == [2.0 * i for i in range(N)]


@pytest.mark.alone
def test_a_killed_grader_frees_the_gpu_with_its_child(row: Any) -> None:
    """Its launch would take a minute; whoever waits for the GPU gets one that works."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from grader.gpu import devices\n"
        "from tests.gpu.test_backend import BODIES, ran, source\n"
        "devices.LOCK_FOLDER = Path(sys.argv[1])\n"
        "ran(source(BODIES['endless'][0]), limit=60)\n"
    )
    grader = subprocess.Popen([sys.executable, "-c", script, str(lock.LOCK_FOLDER)], cwd=ROOT)
    file = lock.lock_file(devices()[0])
    while not is_held_by(file, 2):
        assert grader.poll() is None, "it ended before its launch began"
        time.sleep(0.01)
    time.sleep(1)
    grader.kill()
    grader.wait()
    began = time.perf_counter()
    with lock.acquire_device(devices()[:1], wait=30):
        took = time.perf_counter() - began
    row(f"free {took:.2f} s after its grader was killed")
    assert not health_problem(devices()[0])


def is_held_by(file: Path, processes: int) -> bool:
    """Whether so many descriptors share the lock, as the kernel tells it."""
    if not file.exists():
        return False
    rows = [row.split() for row in Path("/proc/locks").read_text().splitlines()]
    inode = str(file.stat().st_ino)
    return sum(row[1] == "FLOCK" and row[5].endswith(f":{inode}") for row in rows) >= processes


def test_a_write_past_the_end(row: Any) -> None:
    (trace,) = ran(RIGHT.replace("i < n", "i <= n"))
    (found,) = trace.errors
    row(found.message)
    assert found.kind == "invalid-access" and "directly past the end" in found.message
    assert (found.file, found.line) == ("k.cu", 2)


def test_an_input_that_is_written() -> None:
    (trace,) = ran(source("out[threadIdx.x] = 1; ((float*)in)[threadIdx.x] = 1;"))
    assert "changed its input in" in trace.errors[0].message


def test_an_output_that_is_not_written() -> None:
    (trace,) = ran(RIGHT.replace("i < n", "i < n - 3"))
    assert np.flatnonzero(trace.unwritten[1]).tolist() == [N - 3, N - 2, N - 1]


def test_no_variable_survives_a_launch() -> None:
    """A kernel that counts its launches always counts one."""
    body = "if (threadIdx.x + blockIdx.x == 0) out[0] = ++calls; else out[1] = 0;"
    traces = ran(source(body, "__device__ int calls;"), launch(), launch())
    assert [t.outputs[1][0] for t in traces] == [1.0, 1.0]


def test_globals_are_set() -> None:
    weights = np.array([3, 5], np.float32)
    body = "out[threadIdx.x] = weights[0] * weights[1];"
    text = source(body, "__constant__ float weights[2];")
    (trace,) = ran(text, launch(globals={"weights": weights}))
    assert trace.outputs[1][0] == 15
    with pytest.raises(LabFault, match="has 8 bytes, but its value has 4"):
        ran(text, launch(globals={"weights": weights[:1]}))
    with pytest.raises(LabFault, match="no `__constant__` or `__device__` variable `other`"):
        ran(text, launch(globals={"other": weights}))


def test_printed_text_is_kept_up_to_a_limit() -> None:
    (trace,) = ran(source('if (threadIdx.x == 0) printf("block %d\\n", blockIdx.x);'))
    assert sorted(trace.printed.splitlines()) == ["block 0", "block 1"]
    (flood,) = ran(source('for (int i = 0; i < 100000; i++) printf("0123456789abcdef\\n");'))
    assert flood.ended and 0 < len(flood.printed) <= 64 << 10


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [((1, 1, 1), (2048, 1, 1), 0), ((1, 70000, 1), (1, 1, 1), 0), ((1, 1, 1), (32, 1, 1), 60000)],
)
def test_launch_that_cuda_rejects_is_a_finding(grid: Any, block: Any, shared: int) -> None:
    one = Launch("k", grid, block, launch().args, shared)
    traces = ran(RIGHT, one, launch())
    assert traces[0].errors[0].kind == "launch-failure"
    assert "the launch is refused" in traces[0].errors[0].message
    assert traces[1].ended and not traces[1].errors


def test_a_device_heap_bomb_ends() -> None:
    (trace,) = ran(source("char* p = 0; int i = 0; while ((p = (char*)malloc(1 << 16))) i++;"
                          "out[threadIdx.x] = i >= 0;"))  # fmt: skip
    assert trace.ended and trace.outputs[1][0] == 1


@pytest.mark.alone
@pytest.mark.parametrize("name", list_labs())
def test_solution_of_each_lab_earns_all_evaluated_points(name: str, row: Any) -> None:
    started = time.perf_counter()
    file = ROOT / "solutions" / name / f"{name}.cu"
    graded = grade(load_lab(name), read_submission(file), on="gpu", visibility="all", threads=4)
    took = time.perf_counter() - started
    row(f"{graded.score.points:g} of {graded.score.judged_max:g} points in {took:.1f} s")
    assert graded.exit_code == 0
    assert graded.score.points == graded.score.judged_max
    assert graded.provenance.device and graded.provenance.driver


def test_a_wider_integer_has_the_value_of_the_lab() -> None:
    """A kernel with `size_t n` for the lab's `int n`, launched, timed and graded."""
    file = ROOT / "solutions" / "tiled-matmul" / "tiled-matmul.cu"
    text = read_submission(file).text
    wider = text.replace("int n)", "size_t n)")
    assert wider != text
    submission = parse_submission(wider.encode(), "wider.cu")
    graded = grade(load_lab("tiled-matmul"), submission, on="gpu", visibility="all", threads=4)
    correct = {check.name: check.status for check in graded.checks}
    assert correct["output"] == correct["memory"] == "pass"
    assert graded.score.status == "graded" and graded.provenance.samples


WRONG = sorted((ROOT / "solutions").glob("*/wrong/*.cu"))


@pytest.mark.parametrize("file", WRONG, ids=[f"{p.parts[-3]}/{p.stem}" for p in WRONG])
def test_incorrect_variant_loses_points_on_a_gpu(file: Path) -> None:
    lab = load_lab(file.parts[-3])
    graded = grade(lab, read_submission(file), on="gpu", visibility="all", threads=2, limit=5)
    assert graded.score.status == "graded"
    assert graded.score.points < graded.score.judged_max

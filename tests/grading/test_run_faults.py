"""`grader run`: errors of the launch file and errors of the kernel.

An error in LAUNCH.yaml is reported with its line and exit code 2. A launch that the kernel's
registers, bounds or arrays do not allow is an error of the kernel, with exit code 1.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from grader.cli.app import run

PLAIN = "__global__ void k(float *x, int n) { x[threadIdx.x % n] = n; }"
BOUND = PLAIN.replace("void k", "void __launch_bounds__(64) k")
ARRAY = "__global__ void k(float *x, int n) { float a[200000]; for (int i = 0; i < 200000; ++i) a[i] = x[i % n]; x[0] = a[n]; }"  # fmt: skip # noqa: E501
GREEDY = """__global__ void k(float *x, int n) {
  float a[96], sum = 0;
#pragma unroll
  for (int i = 0; i < 96; i++) a[i] = x[(threadIdx.x * 97 + i * n) & 63];
#pragma unroll
  for (int i = 0; i < 96; i++) a[i] = a[i] * a[(i + 1) % 96] + a[(i + 31) % 96];
#pragma unroll
  for (int i = 0; i < 96; i++) sum += a[i] * a[95 - i];
  x[threadIdx.x & 63] = sum;
}"""
BYTE = "__global__ void k(float *x, int n) { ((char *)x)[256 + n - 64] = 1; }"
HALO = """__global__ void k(float *x, int n) {
  __shared__ float s[33];
  int t = threadIdx.x;
  if (t < n / 4) s[t + 1] = x[t];
  __syncthreads();
  float sum = s[t] + s[t + 1];
  if (t > 0 && t < n / 4) x[t] = sum;
}"""
LAUNCH = """\
grid: [1]
block: [32]
shared: 0
args:
  - {inout: x.npy}
  - {value: 64, dtype: int32}
"""
MISTAKES = [
    # what, old, new, said
    ("grid no list", "grid: [1]", "grid: 1", "yaml:1: grid: must be a list of 1 to 3 whole"),
    ("grid of text", "grid: [1]", "grid: many", "such as [16, 16], not `many`"),
    ("four axes", "block: [32]", "block: [1, 1, 1, 1]", "yaml:2: block: must be 1 to 3 whole"),
    ("no axes", "block: [32]", "block: []", "(x, y, z), not 0"),
    ("save elsewhere", "x.npy}", "x.npy, save: ../y.npy}", "yaml:5: args.0.save: must be a file"),
    ("save no npy", "x.npy}", "x.npy, save: y.txt}", "ends in .npy, such as c.npy"),
    ("too many threads", "block: [32]", "block: [2048]", "yaml:2: block: a block of 2048 x 1 x 1"),
    ("too deep", "block: [32]", "block: [1, 1, 65]", "1 x 1 x 65 = 65 threads"),
    ("no blocks", "grid: [1]", "grid: [0]", "yaml:1: grid: a grid of 0 x 1 x 1 blocks"),
    ("too many blocks", "grid: [1]", "grid: [99999999]", "the simulator runs at most"),
    (
        "too much shared",
        "shared: 0",
        "shared: 49153",
        "yaml:3: shared: 0 bytes of static and 4",
    ),
    ("not yaml", "grid: [1]", "grid: [1", "not valid YAML"),
]
THE_KERNELS = [
    # what, kernel, block, kind, said
    ("launch bounds", BOUND, 128, "launch-failure", "__launch_bounds__ allows 64"),
    ("registers", GREEDY, 1024, "launch-failure", "registers each (cudaErrorLaunchOutOfResources)"),
    (
        "local array",
        ARRAY,
        32,
        "launch-failure",
        "local variables take 800000 bytes; a thread has 524288 bytes",
    ),
    ("one byte", BYTE, 32, "invalid-access", "write of 1 byte at"),
]


def told(folder: Path, kernel: str, launch: str) -> tuple[int, dict[str, object]]:
    """The command's exit code and its JSON."""
    np.save(folder / "x.npy", np.zeros(64, "f4"))
    (folder / "k.cu").write_text(f'extern "C" {kernel}\n')
    (folder / "launch.yaml").write_text(launch)
    words = ["run", str(folder / "k.cu"), str(folder / "launch.yaml"), "--on", "sim"]
    code = run([*words, "--json", str(folder / "out.json")])
    return code, json.loads((folder / "out.json").read_text())


@pytest.mark.parametrize("row", MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_in_the_launch_file_is_its_own(
    row: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, old, new, said = row
    assert LAUNCH.count(old) == 1
    code, held = told(tmp_path, PLAIN, LAUNCH.replace(old, new))
    assert (code, held["verdict"]) == (2, "error")
    (found,) = held["findings"]  # type: ignore[misc]
    assert found["kind"] == "launch-failure" and said in found["message"]
    assert found["file"].endswith("launch.yaml") and found["line"] >= 1
    assert "launch.yaml:" in capsys.readouterr().err.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("row", THE_KERNELS, ids=[row[0] for row in THE_KERNELS])
def test_what_the_kernel_does_not_allow_is_the_kernel_s(
    row: tuple[str, str, int, str, str], tmp_path: Path
) -> None:
    _, kernel, block, kind, said = row
    code, held = told(tmp_path, kernel, LAUNCH.replace("[32]", f"[{block}]"))
    assert (code, held["verdict"]) == (1, "findings")
    found = held["findings"][0]  # type: ignore[index]
    assert (found["kind"], found["file"]) == (kind, "k.cu")
    assert said in found["message"] and found["line"] >= 1 and found["hint"]
    assert "asm" not in found["hint"]


@pytest.mark.parametrize("kernel", [PLAIN, GREEDY], ids=["plain", "greedy"])
def test_the_same_launches_within_the_limits(kernel: str, tmp_path: Path) -> None:
    code, held = told(tmp_path, kernel, LAUNCH)
    assert code in (0, 1) and "launch-failure" not in json.dumps(held["findings"])


def test_a_backend_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "k.cu", "l.yaml", "--on", "tpu"]) == 2
    assert "'--on': 'tpu' is not one of 'sim', 'gpu', 'auto'" in capsys.readouterr().err


def test_a_warning_alone_does_not_fail(tmp_path: Path) -> None:
    code, held = told(tmp_path, HALO, LAUNCH)
    assert [f["severity"] for f in held["findings"]] == ["warning"]  # type: ignore[index,attr-defined]
    assert code == 0
    code, held = told(tmp_path, HALO.replace("t > 0 && ", ""), LAUNCH)
    assert "error" in [f["severity"] for f in held["findings"]]  # type: ignore[index,attr-defined]
    assert code == 1

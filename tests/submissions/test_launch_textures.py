"""Texture and surface objects in LAUNCH.yaml: what is read, what runs, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import LabFault
from grader.grading.single_launch import (
    check_arguments,
    check_launch_limits,
    launch_of,
    save_outputs,
)
from grader.launch import Texture, Trace, pack_launches, unpack_launches
from grader.simulator.simulate import simulate
from grader.submissions.launchfile import LaunchFile, read_launch
from tests.submissions.test_launchfile import assert_mistake

LAUNCH = """\
grid: [1]
block: [8, 4]
args:
  - texture: {in: image.npy, channels: 4, address: [wrap, clamp], normalized: true,
              filter: linear, read: normalized}
  - surface: {out: {dtype: float32, shape: [4, 8]}, save: drawn.npy}
  - struct:
      n: {value: 32, dtype: int32}
      table: {texture: {in: table.npy, memory: linear, initialized: 7}}
      plane: {surface: {inout: plane.npy, save: plane_after.npy}}
  - {inout: table.npy, save: table_after.npy}
  - texture: {of: 3}
  - texture: {of: 1}
"""
SOURCE = b"""struct Part { int n; cudaTextureObject_t table; cudaSurfaceObject_t plane; };
extern "C" __global__ void k(cudaTextureObject_t image, cudaSurfaceObject_t drawn, Part part,
                             float* t, cudaTextureObject_t view, unsigned long long again) {
  int x = threadIdx.x, y = threadIdx.y, i = y * 8 + x;
  float4 c = tex2D<float4>(image, (x + 0.5f) / 8 + 3, (y + 0.5f) / 4);
  surf2Dwrite(c.x + c.w, drawn, x * 4, y);
  if (i < 7) c.y = tex1Dfetch<float>(part.table, i) + tex1Dfetch<float>(view, i);
  if (i < 7) t[i] = c.y;
  unsigned short old = surf2Dread<unsigned short>(part.plane, x * 2, y);
  surf2Dwrite((unsigned short)(old + part.n), part.plane, x * 2, y);
  if (again == 0) t[0] = 9;
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_source(SOURCE, "k.cu")


def write(folder: Path, text: str = LAUNCH) -> LaunchFile:
    """Write a launch file and its arrays; read it."""
    return read_launch(written(folder, text))


def written(folder: Path, text: str) -> Path:
    """Write a launch file and its arrays."""
    rng = np.random.default_rng(0)
    np.save(folder / "image.npy", rng.integers(0, 256, (4, 8, 4), np.uint8))
    np.save(folder / "table.npy", np.arange(8, dtype=np.float32))
    np.save(folder / "plane.npy", np.arange(32, dtype=np.uint16).reshape(4, 8))
    np.save(folder / "wide.npy", np.zeros((4, 8), np.float64))
    np.save(folder / "whole.npy", np.zeros((4, 8), np.int32))
    np.save(folder / "odd.npy", np.zeros((4, 5), np.float32))
    np.save(folder / "deep.npy", np.zeros((2, 2, 2, 8), np.float32))
    path = folder / "LAUNCH.yaml"
    path.write_text(text)
    return path


def ready(program: Program, launch_file: LaunchFile) -> None:
    """Check a launch as `grader run` does."""
    (kernel,) = program.kernels
    check_arguments(kernel, launch_file)
    check_launch_limits(launch_of(kernel, launch_file), kernel, launch_file, "sim")


def test_objects_reach_the_kernel(tmp_path: Path, program: Program) -> None:
    launch_file = write(tmp_path)
    ready(program, launch_file)
    launch = launch_of(program.kernels[0], launch_file)
    rows, arrays = pack_launches([launch])
    assert unpack_launches(rows, arrays)[0].args[0] == launch.args[0]
    trace: Trace = simulate(program, unpack_launches(rows, arrays))[0]
    assert trace.ended and not trace.findings, trace.findings
    names = [a.name for a in launch.args[len(launch.parameters) :]]
    assert names == ["image", "drawn", "part.table", "part.table", "part.plane", "part.plane"]
    save_outputs(trace, launch_file, tmp_path)
    image = np.load(tmp_path / "image.npy").astype(np.float32) / np.float32(255)
    np.testing.assert_allclose(np.load(tmp_path / "drawn.npy"), image[..., 0] + image[..., 3])
    plane = np.load(tmp_path / "plane_after.npy")
    np.testing.assert_array_equal(plane, np.arange(32, 64).reshape(4, 8))
    table = np.load(tmp_path / "table_after.npy")
    np.testing.assert_array_equal(table, [0, 2, 4, 6, 8, 10, 12, 7])


def test_texel_without_a_value_is_reported(tmp_path: Path, program: Program) -> None:
    launch_file = write(tmp_path, LAUNCH.replace("initialized: 7", "initialized: 5"))
    (trace,) = simulate(program, [launch_of(program.kernels[0], launch_file)])
    (found,) = trace.findings
    assert (found.kind, found.variable, found.line) == ("uninitialized-read", "part.table", 7)
    assert "part.table[5]" in found.message and found.thread == (5, 0, 0)


BROKEN = [
    # what, old, new, where, message, fix
    ("two arrays", "{of: 3}", "{of: 3, in: table.npy}", "12: args.4.texture", "exactly one of", ""),
    ("no array", "{of: 3}", "{filter: point}", "12: args.4.texture", "exactly one of", ""),
    ("a texture that is an output", "{of: 3}", "{out: {dtype: int8, shape: [4]}}",
     "12: args.4.texture", "exactly one of `in` and `of`", ""),
    ("of nothing", "{of: 3}", "{of: 9}", "12: args.4.texture.of", "args[9] has no texels",
     "from 0"),
    ("of a number", "{of: 3}", "{of: 2}", "12: args.4.texture.of", "args[2] has no texels", ""),
    ("of itself", "{of: 3}", "{of: 4}", "12: args.4.texture.of", "args[4] has no texels", ""),
    ("other channels", "{of: 1}", "{of: 1, channels: 2}", "13: args.5.texture.of", "`channels`",
     "leave out"),
    ("other memory", "{of: 3}", "{of: 3, memory: array}", "12: args.4.texture.of", "`memory`", ""),
    ("a surface of memory", "texture: {of: 3}", "surface: {of: 3}", "12: args.4.surface.of",
     "a surface needs a CUDA array", ""),
    ("mipmaps", "{of: 3}", "{of: 3, mipmaps: 4}", "12: args.4.texture", "mipmaps are not", ""),
    ("cubemap", "{of: 3}", "{of: 3, cubemap: true}", "12: args.4.texture", "cubemaps are not", ""),
    ("border color", "{of: 3}", "{of: 3, border_color: [1]}", "12: args.4.texture", "border", ""),
    ("three channels", "channels: 4", "channels: 3", "4: args.0.texture.channels", "1, 2 or 4", ""),
    ("unknown mode", "wrap", "repeat", "4: args.0.texture.address", "'clamp'", ""),
    ("a filter of a surface", "save: drawn.npy", "filter: linear", "6: args.1.surface.filter",
     "unknown key", ""),
    ("a texture saved", "{of: 3}", "{in: table.npy, save: t.npy}", "12: args.4.texture",
     "can be saved", ""),
    ("saved twice", "drawn.npy", "table_after.npy", "args", "two arguments", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "where", "message", "fix"),
    [row[1:] for row in BROKEN],
    ids=[row[0] for row in BROKEN],
)
def test_mistake_is_reported_with_line_and_key(
    tmp_path: Path, old: str, new: str, where: str, message: str, fix: str
) -> None:
    assert LAUNCH.count(old) == 1
    assert_mistake(written(tmp_path, LAUNCH.replace(old, new)), where, message, fix)


TEXTURE = "texture: {in: image.npy, channels: 4, address: [wrap, clamp], normalized: true,\n"
TEXTURE += "              filter: linear, read: normalized}"
REFUSED = [
    # what the first argument is instead, message
    ("texture: {in: image.npy}", "image is 4 x 8 x 4"),
    ("texture: {in: wide.npy}", "float64 texels, and CUDA has no such channels"),
    ("texture: {in: image.npy, channels: 2}", "has 2 channels, and the last axis"),
    ("texture: {in: deep.npy}", "is 2 x 2 x 2 x 8: not an image"),
    ("texture: {in: deep.npy, layered: true}", "is 2 x 2 x 2 x 8: not an image"),
    ("texture: {in: plane.npy, filter: linear}", "the linear filter needs floating-point"),
    ("texture: {in: plane.npy, address: wrap}", "CUDA clamps"),
    ("texture: {in: plane.npy, address: [clamp, mirror]}", "CUDA clamps"),
    ("texture: {in: whole.npy, read: normalized}", "int32 texels, which CUDA does not convert"),
    ("texture: {in: plane.npy, memory: linear}", "is linear memory, and its array has 2 axes"),
    ("texture: {in: table.npy, memory: pitch}", "is pitch memory, and its array has 1 axes"),
    ("texture: {in: table.npy, memory: linear, filter: linear}", "tex1Dfetch knows no filter"),
    ("surface: {in: plane.npy}", "this argument is a cudaSurfaceObject_t"),
    ("{value: 1.5, dtype: float64}", "pass {texture: {in: FILE.npy}}"),
    ("{in: plane.npy}", "pass {texture: {in: FILE.npy}}"),
]
CPP_KERNEL = b"__global__ void k(cudaTextureObject_t t) { tex1Dfetch<int>(t, 0); }"
"""Without extern "C" the program does not show that the number is an object."""


@pytest.mark.parametrize(("argument", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_cuda_refuses_is_refused_with_its_line(
    tmp_path: Path, program: Program, argument: str, message: str
) -> None:
    assert TEXTURE in LAUNCH
    replaced = LAUNCH.replace(f"- {TEXTURE}", f"- {argument}")
    launch_file = write(tmp_path, replaced)
    if message.startswith("image is"):
        return ready_with_shape(program, launch_file)
    with pytest.raises(LabFault) as caught:
        ready(program, launch_file)
    assert message in caught.value.what
    assert "LAUNCH.yaml:4: args.0" in caught.value.where
    return None


def test_array_for_an_object_of_a_cpp_kernel_has_a_fix(tmp_path: Path) -> None:
    launch_file = write(tmp_path, "grid: [1]\nblock: [1]\nargs:\n  - {in: table.npy}\n")
    with pytest.raises(LabFault) as caught:
        ready(compile_source(CPP_KERNEL, "k.cu"), launch_file)
    assert "{texture: {in: FILE.npy}}" in caught.value.fix


def ready_with_shape(program: Program, launch_file: LaunchFile) -> None:
    """An array of three axes is a texture of three dimensions."""
    ready(program, launch_file)
    first = launch_file.arguments[0]
    assert isinstance(first, Texture) and first.extents((4, 8, 4)) == (4, 8, 4)


def test_shared_rows_need_the_alignment_of_pitch_memory(tmp_path: Path, program: Program) -> None:
    """Own pitch memory gets wider rows; memory that the kernel also has as an array cannot."""
    own = LAUNCH.replace(f"- {TEXTURE}", "- texture: {in: odd.npy, memory: pitch}")
    ready(program, write(tmp_path, own))
    shared = LAUNCH.replace("{inout: table.npy, save: table_after.npy}", "{inout: odd.npy}")
    with pytest.raises(LabFault, match="rows of 20 bytes") as caught:
        ready(program, write(tmp_path, shared))
    assert "args.4" in caught.value.where

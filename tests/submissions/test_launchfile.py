"""LAUNCH.yaml: its values, and that every mistake is reported with file, line and key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.compile.program import Kernel, Parameter
from grader.compile.source import compile_source
from grader.faults import LabFault
from grader.grading.single_launch import (
    check_arguments,
    element_type,
    is_compatible,
    launch_of,
    save_outputs,
)
from grader.launch import Array, Launch, Packed, Scalar, Trace, pack_launches, unpack_launches
from grader.simulator.simulate import simulate
from grader.submissions.files import read_array
from grader.submissions.launchfile import LaunchFile, read_launch

GOOD = """\
kernel: matmul
grid: [4, 4]
block: [16, 16]
shared: 64
args:
  - {in: a.npy}
  - {inout: b.npy, save: b_after.npy}
  - {out: {dtype: float32, shape: [2, 3]}, save: c.npy}
  - {value: 64, dtype: int32}
globals: {mask: a.npy}
"""


ITEM = np.dtype([("id", "i4"), ("weights", "f8", (2,))], align=True)


def write(folder: Path, text: str = GOOD) -> Path:
    """Write a launch file with its arrays, and files that only look like arrays."""
    np.save(folder / "a.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    np.save(folder / "b.npy", np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)))
    np.save(folder / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "wide.npy", np.zeros(2, np.clongdouble))
    np.save(folder / "items.npy", np.zeros(3, ITEM))
    np.save(folder / "odd.npy", np.zeros(3, [("name", "S8")]))
    np.save(folder / "half.npy", np.array([[True, False, True], [False, False, True]]))
    np.savez(folder / "zipped.npy.npz", np.zeros(2))
    (folder / "zipped.npy.npz").rename(folder / "zipped.npy")
    (folder / "text.npy").write_text("1 2 3\n")
    (folder / "empty.npy").write_bytes(b"")
    (folder / "short.npy").write_bytes((folder / "a.npy").read_bytes()[:-4])
    huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9999), }"
    head = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + huge.ljust(117) + b"\n"
    (folder / "huge.npy").write_bytes(head)
    path = folder / "LAUNCH.yaml"
    path.write_text(text)
    return path


def test_all_keys_are_read(tmp_path: Path) -> None:
    asked = read_launch(write(tmp_path))
    launch = asked.launch("matmul", ("A", "B", "C", "n"))
    assert (launch.grid, launch.block, launch.shared) == ((4, 4, 1), (16, 16, 1), 64)
    a, b, c, n = launch.args
    assert isinstance(a, Array)
    assert a.data is not None and not a.read_back
    assert isinstance(b, Array) and b.data is not None
    assert (b.dtype, b.data.dtype.byteorder, b.data.flags.c_contiguous) == ("int32", "=", True)
    assert b.data.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert c == Array("C", (2, 3), "float32", None, read_back=True)
    assert n == Scalar("n", 64, "int32")
    assert asked.saves == {1: "b_after.npy", 2: "c.npy"}
    assert launch.globals["mask"].shape == (2, 3)


def test_outputs_are_what_is_saved_or_all_that_may_be_written(tmp_path: Path) -> None:
    """They are what other orders of the threads must not change."""

    def outputs(text: str) -> list[bool]:
        arguments = read_launch(write(tmp_path, text)).arguments
        return [one.read_back for one in arguments if isinstance(one, Array)]

    assert outputs(GOOD.replace(", save: c.npy", "")) == [False, True, False]
    assert outputs(GOOD.replace(", save: c.npy", "").replace(", save: b_after.npy", "")) == [
        False, True, True,
    ]  # fmt: skip


def test_optional_keys_have_defaults(tmp_path: Path) -> None:
    asked = read_launch(write(tmp_path, "grid: [1]\nblock: [2, 3]\n"))
    assert (asked.grid, asked.block, asked.kernel) == ((1, 1, 1), (2, 3, 1), None)
    assert asked.arguments == ()


BROKEN = [
    # what, old, new, where, message, fix
    ("misspelled key", "grid:", "gird:", "2: gird", "unknown key `gird`", "did you mean `grid`?"),
    ("key in an argument", "inout:", "inuot:", "7: args.1.inuot", "unknown key", "`inout`"),
    ("key in out", "dtype: float32, s", "type: float32, s", "8: args.2.out.type", "unknown",
     "dtype"),
    ("key missing", "block: [16, 16]\n", "", "LAUNCH.yaml:1", "`block` is missing", "keys: "),
    ("key twice", "shared: 64", "grid: [1]", "LAUNCH.yaml:4", "`grid` is repeated", ""),
    ("no number", "shared: 64", "shared: many", "4: shared", "integer", ""),
    ("negative", "[4, 4]", "[4, -4]", "2: grid.1", "greater than or equal to 0", ""),
    ("four axes", "[4, 4]", "[4, 4, 4, 4]", "2: grid", "1 to 3", ""),
    ("two roles", "{in: a.npy}", "{in: a.npy, inout: a.npy}", "6: args.0", "exactly one of", ""),
    ("no role", "{in: a.npy}", "{save: a.npy}", "6: args.0", "exactly one of", ""),
    ("no dtype", ", dtype: int32}", "}", "9: args.3", "a `value` needs a `dtype`", ""),
    ("a value saved", "dtype: int32}", "dtype: int32, save: n.npy}", "9: args.3", "cannot be saved",
     ""),
    ("a bare number", "{value: 64, dtype: int32}", "64", "9: args.3", "keys with values, not `64`",
     "keys: in, inout, out, value"),
    ("dtype of a file", "{in: a.npy}", "{in: a.npy, dtype: int8}", "6: args.0", "only a `value`",
     ""),
    ("unknown dtype", "dtype: int32", "dtype: int33", "9: args.3.dtype", "'int32'", ""),
    ("value beyond its dtype", "value: 64, dtype: int32", "value: 200, dtype: int8",
     "9: args.3.value", "whole number from -128 to 127", ""),
    ("fraction as int", "value: 64", "value: 6.5", "9: args.3.value", "6.5 is not a valid int32",
     ""),
    ("missing array", "a.npy}\n  - {inout", "none.npy}\n  - {inout", "6: args.0.in",
     "there is no file", "relative to"),
    ("folder as array", "{in: a.npy}", "{in: .}", "6: args.0.in", "is a folder", ""),
    ("not an array", "{in: a.npy}", "{in: text.npy}", "6: args.0.in", "not a .npy", "numpy.save"),
    ("empty file", "{in: a.npy}", "{in: empty.npy}", "6: args.0.in", "not a .npy file", ""),
    ("npz", "{in: a.npy}", "{in: zipped.npy}", "6: args.0.in", "not a .npy file", ""),
    ("pickled", "{in: a.npy}", "{in: pickled.npy}", "6: args.0.in", "never loaded", "plain"),
    ("too wide", "{in: a.npy}", "{in: wide.npy}", "6: args.0.in", "dtype complex256", "float32"),
    ("complex value", "dtype: int32", "dtype: complex64", "9: args.3.dtype", "'float64'", ""),
    ("cut short", "{in: a.npy}", "{in: short.npy}", "6: args.0.in", "a damaged .npy", ""),
    ("huge file", "{in: a.npy}", "{in: huge.npy}", "6: args.0.in", "more than 1024 MiB", ""),
    ("huge out", "[2, 3]", "[200000, 300000]", "8: args.2.out.shape", "more than 1024 MiB", ""),
    ("saved outside", "save: c.npy", "save: ../c.npy", "8: args.2.save", "ends in .npy", ""),
    ("saved twice", "save: c.npy", "save: b_after.npy", "8: args.2.save", "two arguments", ""),
    ("global missing", "mask: a.npy", "mask: no.npy", "10: globals.mask", "there is no file", ""),
    ("null without its key", "{in: a.npy}", "{in: null}", "6: args.0", "`pointer: null`", ""),
    ("pointer to a number", "{in: a.npy}", "{pointer: 5}", "6: args.0.pointer", "None", ""),
    ("struct without members", "{in: a.npy}", "{struct: {}}", "6: args.0.struct", "at least 1", ""),
    ("member without a role", "{in: a.npy}", "{struct: {n: {dtype: int8}}}", "6: args.0.struct.n",
     "exactly one of", ""),
    ("member out of range", "{in: a.npy}", "{struct: {n: {value: 300, dtype: int8}}}",
     "6: args.0.struct.n.value", "from -128 to 127", ""),
    ("vector with a bad element", "{in: a.npy}", "{value: [1, -1], dtype: uint8}",
     "6: args.0.value", "-1 is not a valid uint8", ""),
    ("odd alignment", "{in: a.npy}", "{value: [1, 2], dtype: int8, align: 3}", "6: args.0.align",
     "1, 2, 4", ""),
    ("member saved twice", "{in: a.npy}", "{struct: {p: {inout: a.npy, save: c.npy}}}",
     "args.0.struct.p.save", "two arguments", ""),
    ("too many initialized", "{in: a.npy}", "{in: a.npy, initialized: 7}", "6: args.0.initialized",
     "7 elements are initialized, and the array has 6", ""),
    ("a mask of numbers", "{in: a.npy}", "{in: a.npy, initialized: b.npy}",
     "6: args.0.initialized", "dtype int32", "array of bool of shape (2, 3)"),
    ("initialized out", "save: c.npy", "save: c.npy, initialized: 2", "8: args.2",
     "only `in` and `inout`", ""),
    ("structures as a global", "mask: a.npy", "mask: items.npy", "10: globals.mask",
     "structures as elements", "plain numbers"),
    ("structures of objects", "{in: a.npy}", "{in: odd.npy}", "6: args.0.in", "dtype", "float32"),
    ("not yaml", "grid: [4, 4]", "grid: [4, 4", "LAUNCH.yaml:", "not valid YAML", ""),
    ("empty", GOOD, "", "LAUNCH.yaml:1", "the file is empty", "`key: value`"),
    ("a list", GOOD, "- 1\n", "LAUNCH.yaml:1", "`key: value`", "keys: kernel, grid"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "where", "message", "fix"),
    [row[1:] for row in BROKEN],
    ids=[row[0] for row in BROKEN],
)
def test_mistake_is_reported_with_line_and_key(
    tmp_path: Path, old: str, new: str, where: str, message: str, fix: str
) -> None:
    assert GOOD.count(old) == 1
    assert_mistake(write(tmp_path, GOOD.replace(old, new)), where, message, fix)


def assert_mistake(path: Path, where: str, message: str, fix: str) -> None:
    """Require that a launch file is refused, with these words in the parts of the fault."""
    with pytest.raises(LabFault) as caught:
        read_launch(path)
    assert caught.value.where.startswith(str(path))
    assert where in caught.value.where
    assert message in caught.value.what
    assert fix in caught.value.fix
    assert "\n" not in caught.value.what


def test_missing_file_is_a_fault(tmp_path: Path) -> None:
    for path in (tmp_path / "no.yaml", tmp_path):
        with pytest.raises(LabFault, match="(cannot read|not a regular)"):
            read_launch(path)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4)])
def test_array_of_any_shape_is_read(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "x.npy", np.ones(shape, np.float16))
    array = read_array(tmp_path / "x.npy", 1 << 20)
    assert (array.shape, array.dtype.name) == (shape, "float16")


@pytest.mark.parametrize(
    ("c_type", "dtype"),
    [
        ("const float*", "float32"),
        ("float * __restrict__", "float32"),
        ("unsigned", "uint32"),
        ("unsigned char*", "uint8"),
        ("const unsigned long long int*", "uint64"),
        ("short int", "int16"),
        ("signed char", "int8"),
        ("uint8_t*", "uint8"),
        ("size_t", "uint64"),
        ("bool", "bool"),
        ("int(*)[8]", "int32"),
        ("const unsigned char(*)[2][3]", "uint8"),
        ("float4*", None),
        ("struct Point*", None),
        ("void*", None),
    ],
)
def test_c_type_has_its_dtype(c_type: str, dtype: str | None) -> None:
    assert element_type(c_type) == dtype


@pytest.mark.parametrize(
    ("c_type", "dtype", "good"),
    [
        ("int*", "int32", True),
        ("int*", "uint32", True),
        ("int*", "int64", False),
        ("int*", "float32", False),
        ("float*", "float64", False),
        ("float4*", "float32", True),
        ("float4(*)[4]", "float32", True),
        ("float(*)[4]", "float32", True),
        ("float(*)[4]", "int32", False),
        ("cuFloatComplex*", "complex64", True),
        ("double*", "complex64", False),
        ("long long*", "complex64", False),
    ],
)
def test_compatible_dtypes(c_type: str, dtype: str, good: bool) -> None:
    assert is_compatible(c_type, dtype) is good


STRUCTURES = """\
grid: [1]
block: [32]
args:
  - struct:
      data: {in: a.npy, initialized: half.npy}
      n: {value: 6, dtype: int32}
      inner:
        struct: {v: {value: [1, 2, 3, 4], dtype: float32, align: 16}, s: {value: 5, dtype: int16}}
      d: {value: 1000, dtype: float64}
      out: {out: {dtype: float32, shape: [32]}, save: sums.npy}
      none: {pointer: null}
  - {value: [0, 10000, 0, 0], dtype: float32}
  - {pointer: null}
  - {inout: items.npy, save: items_after.npy}
  - {in: a.npy, initialized: 4}
  - {value: READ, dtype: int32}
"""
SUMS = b"""struct Inner { float4 v; short s; };
struct P { const float* data; int n; Inner inner; double d; float* out; float* none; };
struct Item { int id; double weights[2]; };
__global__ void sums(P p, float4 bias, const float* opt, Item* items, const float* part, int m) {
  int i = threadIdx.x;
  float x = p.n * 100000 + p.inner.v.w + p.inner.s + (float)p.d + bias.y;
  if (opt) x += opt[i];
  if (p.none) x += p.none[i];
  if (i % 3 == 2 && i < p.n) x += p.data[i];
  if (i < m) x += part[i];
  if (i < 3) { items[i].id = i; items[i].weights[1] = x; }
  p.out[i] = x;
}
"""


def run_sums(folder: Path, read: int) -> tuple[Launch, Trace, LaunchFile]:
    """Run a kernel with structures, null pointers and arrays of which parts have values."""
    launch_file = read_launch(write(folder, STRUCTURES.replace("READ", str(read))))
    program = compile_source(SUMS, "sums.cu")
    check_arguments(program.kernels[0], launch_file)
    launch = launch_of(program.kernels[0], launch_file)
    rows, arrays = pack_launches([launch])
    return launch, simulate(program, unpack_launches(rows, arrays))[0], launch_file


def test_structures_and_null_pointers_reach_the_kernel(tmp_path: Path) -> None:
    launch, trace, launch_file = run_sums(tmp_path, 4)
    assert (trace.findings, launch.hidden, [a.name for a in launch.args[6:]]) == (
        (), 2, ["p.data", "p.out"],
    )  # fmt: skip
    first = launch.args[0]
    assert isinstance(first, Packed) and (len(first.data), first.align) == (80, 16)
    assert first.pointers == ((0, 6), (56, 7))
    expected = np.full(32, 611009, np.float32)
    expected[[2, 5]] += [2, 5]
    expected[:4] += [0, 1, 2, 3]
    assert np.array_equal(trace.outputs[7], expected)
    save_outputs(trace, launch_file, tmp_path)
    items = np.load(tmp_path / "items_after.npy")
    assert items.dtype == ITEM and items["id"].tolist() == [0, 1, 2]
    assert items["weights"][:, 1].tolist() == expected[:3].tolist()
    assert np.array_equal(np.load(tmp_path / "sums.npy"), expected)


def test_element_without_a_value_is_reported(tmp_path: Path) -> None:
    _, trace, _ = run_sums(tmp_path, 5)
    (found,) = trace.findings
    assert (found.kind, found.severity, found.variable) == ("uninitialized-read", "error", "part")
    assert "part[4]" in found.message and found.thread == (4, 0, 0)


ARRAYS = b"""#include <cuComplex.h>
%s __global__ void arrays(const int (*m)[3], cuFloatComplex z[], cuDoubleComplex w[1][2],
                           int* p[4]) {
  int i = threadIdx.x;
  z[i] = make_cuFloatComplex(m[i / 3][i %% 3], z[i].y + 1);
  if (i < 2) w[0][i] = make_cuDoubleComplex(i, -i);
}
"""


@pytest.mark.parametrize("linkage", [b"", b'extern "C"'])
def test_parameters_that_are_arrays_are_pointers(tmp_path: Path, linkage: bytes) -> None:
    """Also complex numbers, for which CUDA has structures of two."""
    np.save(tmp_path / "z.npy", np.arange(6, dtype=np.complex64) * 1j)
    out = "{out: {dtype: complex128, shape: [2]}}"
    args = f"args: [{{in: b.npy}}, {{inout: z.npy}}, {out}, {{pointer: null}}]"
    launch_file = read_launch(write(tmp_path, f"grid: [1]\nblock: [6]\n{args}\n"))
    program = compile_source(ARRAYS % linkage, "arrays.cu")
    kernel = program.kernels[0]
    assert [p.is_pointer for p in kernel.parameters] == [True] * 4
    assert "(const int (*m)[3], " in kernel.signature
    check_arguments(kernel, launch_file)
    (trace,) = simulate(program, [launch_of(kernel, launch_file)])
    assert trace.findings == ()
    assert trace.outputs[1].tolist() == [i + (i + 1) * 1j for i in range(6)]
    assert trace.outputs[2].tolist() == [0, 1 - 1j]


KERNEL = Kernel(
    "matmul",
    "matmul",
    3,
    (
        Parameter("const float*", "A", 8),
        Parameter("int*", "B", 8),
        Parameter("float*", "C", 8),
        Parameter("int", "n", 4),
    ),
)
MISMATCHES = [
    # what, old, new, where, message, fix before the signature
    ("too few", "  - {value: 64, dtype: int32}\n", "", "LAUNCH.yaml:5: args", "takes 4 arguments",
     ""),
    ("array for a number", "{value: 64, dtype: int32}", "{in: a.npy}", "9: args.3", "not a pointer",
     ""),
    ("number for an array", "{in: a.npy}", "{value: 1, dtype: int64}", "6: args.0", "a pointer",
     ""),
    ("wrong dtype", "{in: a.npy}", "{in: b.npy}", "6: args.0", "takes float32; this array is int32",
     "save it as float32: numpy.save(FILE, array.astype('float32'))\n"),
    ("struct of another size", "{value: 64, dtype: int32}",
     "{struct: {n: {value: 1, dtype: int8}, m: {value: 1, dtype: float64}}}", "9: args.3",
     "of 4 bytes; this argument has 16", "write every member, with its own dtype; give vector "
     "members such as float4 their align\n"),
    ("struct for an array", "{in: a.npy}", "{struct: {p: {in: a.npy}}}", "6: args.0",
     "pass an array, or {pointer: null}", ""),
    ("wrong value", "dtype: int32}", "dtype: int64}", "9: args.3", "this value is int64",
     "write dtype: int32\n"),
]  # fmt: skip


def test_matching_launch_is_accepted(tmp_path: Path) -> None:
    check_arguments(KERNEL, read_launch(write(tmp_path)))


@pytest.mark.parametrize(
    ("old", "new", "where", "message", "fix"),
    [row[1:] for row in MISMATCHES],
    ids=[row[0] for row in MISMATCHES],
)
def test_mismatch_with_the_kernel_is_reported(
    tmp_path: Path, old: str, new: str, where: str, message: str, fix: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(LabFault) as caught:
        check_arguments(KERNEL, read_launch(write(tmp_path, GOOD.replace(old, new))))
    assert where in caught.value.where
    assert message in caught.value.what
    assert caught.value.fix == fix + KERNEL.signature

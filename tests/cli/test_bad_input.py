"""Invalid input: one clear message, the correct exit code, no traceback, nothing left behind.

Every row runs the real command in its own folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.command import ROOT, CommandResult, descendants, grader
from tests.patience import until

LAB = "vector-add"
SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()


@dataclass(frozen=True)
class Row:
    """One bad input: its name, what is put into the folder `at`, the words of the command, its
    exit code, and what must be among the words that it prints.
    """

    name: str
    make: Callable[[Path], object]
    words: str
    code: int
    said: tuple[str, ...]


def text(name: str, content: str) -> Callable[[Path], object]:
    return lambda at: (at / name).write_text(content)


def data(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda at: (at / name).write_bytes(content)


def kernel(body: str) -> Callable[[Path], object]:
    """A submission of tiled-matmul with that body."""
    head = 'extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)'
    return text("x.cu", f"{head}\n{{\n{body}\n}}\n")


def course(name: str, old: str, new: str) -> Callable[[Path], object]:
    """A course of one lab, in one of whose files a text is replaced."""

    def make(at: Path) -> None:
        shutil.copytree(ROOT / "labs" / LAB, at / "labs" / LAB)
        (at / "x.cu").write_text(SOLUTION)
        path = at / "labs" / LAB / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return make


SCALE = """\
extern "C" __global__ void scale(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
INSTANCES = """\
template <int N> __global__ void add(const float* x, float* y, int n) { y[n - 1] = x[0] + N; }
template __global__ void add<1>(const float* x, float* y, int n);
template __global__ void add<2>(const float* x, float* y, int n);
"""
LAUNCH = """\
grid: [1]
block: [32]
args:
  - {in: x.npy}
  - {out: {dtype: float32, shape: [32]}, save: y.npy}
  - {value: 32, dtype: int32}
"""


def launch(old: str = "", new: str = "", source: str = SCALE) -> Callable[[Path], object]:
    """A launch of `scale`, with a text of its launch file replaced."""

    def make(at: Path) -> None:
        np.save(at / "x.npy", np.ones(32, np.float32))
        np.save(at / "double.npy", np.ones(32))
        np.save(at / "pickled.npy", np.array([print]), allow_pickle=True)
        (at / "x.cu").write_text(source)
        assert old in LAUNCH
        (at / "launch.yaml").write_text(LAUNCH.replace(old, new, 1))

    return make


CHECK = f"check {LAB} x.cu"
COURSE = f"{CHECK} --course ."
RUN = "run x.cu launch.yaml"
ROWS = [
    Row("missing file", text("y.cu", SOLUTION), CHECK, 2, ("x.cu", "no such file", "y.cu")),
    Row("folder", lambda at: (at / "x.cu").mkdir(), CHECK, 1, ("no CUDA kernel in x.cu",)),
    Row("fifo", lambda at: os.mkfifo(at / "x.cu"), CHECK, 2, ("x.cu", "not a regular file")),
    Row("empty file", text("x.cu", " \n"), CHECK, 1, ("the file is empty",)),
    Row("binary file", data("x.cu", b"\x7fELF\0\0"), CHECK, 1, ("compiled program",)),
    Row("10 MB", data("x.cu", b"// x\n" * 2_000_000), CHECK, 1, ("larger than 256 KiB",)),
    Row("not UTF-8", data("x.cu", b"// \xff\n"), CHECK, 1, ("not UTF-8", "byte 3")),
    Row("compile error", text("x.cu", "int x = ;"), CHECK, 1, ("compile-error", "x.cu:1")),
    Row("no kernel", text("x.cu", "// later\n"), CHECK, 1, ("compile-error", "vector_add")),
    Row("unknown lab", text("x.cu", SOLUTION), "check vectoradd x.cu", 2,
        ("no lab `vectoradd`", "did you mean vector-add?")),
    Row("lab and file swapped", text("x.cu", SOLUTION), f"check x.cu {LAB}", 2,
        ("the lab must come before the file", "grader check LAB FILE.cu")),
    Row("file first, to explain", text("x.cu", SOLUTION), "explain x.cu tiled-matmul", 2,
        ("the lab must come before the file", "grader explain LAB FILE.cu")),
    Row("no GPU", text("x.cu", SOLUTION), f"{CHECK} --on gpu", 3, ("--on sim",)),
    Row("unknown backend", text("x.cu", SOLUTION), f"{CHECK} --on cpu", 2, ("cpu", "sim")),
    Row("no threads", text("x.cu", SOLUTION), f"{CHECK} --threads 0", 2,
        ("--threads", "greater than")),
    Row("unknown option", text("x.cu", SOLUTION), f"{CHECK} --jsno f", 2, ("--jsno", "--json")),
    Row("option for a lab", lambda at: None, "lsp -- --jsno", 2,
        ("`--jsno` is not the name of a lab",)),
    Row("no word left", lambda at: None, "check", 2, ("LAB",)),
    Row("json into no folder", text("x.cu", SOLUTION), f"{CHECK} --json no/f.json", 2,
        ("no/f.json", "folder of this file does not exist")),
    Row("json onto a folder", text("x.cu", SOLUTION), f"{CHECK} --json .", 2, ("a folder",)),
    Row("broken yaml", course("lab.yaml", "title:", "title: ["), COURSE, 2,
        ("lab.yaml:", "not valid YAML")),
    Row("quiz without a lab", lambda at: None, "labs quiz", 2, ("LAB",)),
    Row("quiz over answers", text("answers.yaml", "blocks: 33\n"), f"labs quiz {LAB}", 2,
        ("answers.yaml", "the file already exists", "--out")),
    Row("broken answers", lambda at: (text("x.cu", SOLUTION)(at), data("answers.yaml", b"\0")(at)),
        CHECK, 1, ("wrong-answer", "at answers.yaml", "not valid YAML", "100 of 100")),
    Row("answers without a kernel",
        lambda at: (text("x.cu", "int x = ;")(at), text("answers.yaml", "blocks: 33\n")(at)),
        CHECK, 1, ("compile-error", "1 of 5 right", "`idle_threads`")),
    Row("nested too deep", course("lab.yaml", "title:", f"title: {'[' * 200_000}"), COURSE, 2,
        ("lab.yaml:", "nested lists or mappings")),
    Row("misspelt key", course("lab.yaml", "title:", "titel:"), COURSE, 2,
        ("lab.yaml:2: titel", "unknown key", "did you mean `title`?")),
    Row("unknown check", course("lab.yaml", "output:", "outptu:"), COURSE, 2,
        ("lab.yaml:", "outptu", "output")),
    Row("broken reference", course("reference.py", "def inputs(", "def inputs(("), COURSE, 2,
        ("reference.py", "not valid Python")),
    Row("no course", text("x.cu", SOLUTION), COURSE, 2, ("no labs in labs",)),
    Row("endless loop", kernel("for (;;) { volatile int x = 0; x++; }"),
        "check tiled-matmul x.cu --limit 1", 1, ("timeout", "x.cu:")),
    Row("barriers in a branch", kernel("if (threadIdx.y < 8) { __syncthreads(); }\n"
                                       "else { __syncthreads(); __syncthreads(); }"),
        "check tiled-matmul x.cu", 1, ("barrier-divergence", "x.cu:")),
    Row("barrier deadlock", kernel('if (threadIdx.y < 8) asm volatile("bar.sync 1, 256;");'),
        "check tiled-matmul x.cu", 1,
        ("barrier-divergence", "x.cu:")),
    Row("launch file missing", text("x.cu", SCALE), RUN, 2, ("launch.yaml", "cannot read")),
    Row("launch file first", launch("x.npy", "x.npy"), "run launch.yaml x.cu", 2,
        ("launch.yaml: the .cu file must come first", "grader run FILE.cu LAUNCH.yaml")),
    Row("array missing", launch("x.npy", "z.npy"), RUN, 2,
        ("launch.yaml:4: args.0.in", "no file z.npy")),
    Row("wrong dtype", launch("x.npy", "double.npy"), RUN, 2,
        ("launch.yaml:4: args.0", "`const float*`", "float32", "float64", ".astype('float32')")),
    Row("pickled array", launch("x.npy", "pickled.npy"), RUN, 2, ("never loaded",)),
    Row("huge array", launch("[32]}", "[99999999]}, save: z.npy}\n  - {out: "
                             "{dtype: float64, shape: [9999999, 99999]}"), RUN, 2, ("MiB",)),
    Row("argument missing", launch("  - {value: 32, dtype: int32}\n"), RUN, 2,
        ("launch.yaml:3: args", "takes 3 arguments")),
    Row("no such kernel", launch("grid:", "kernel: scala\ngrid:"), RUN, 2,
        ("launch.yaml:1: kernel", "no kernel `scala`", "scale")),
    Row("template arguments", launch("grid:", "kernel: scale<float>\ngrid:"), RUN, 2,
        ("launch.yaml:1: kernel", "write `kernel: scale`, without template arguments")),
    Row("two instances", launch("grid:", "kernel: add<2>\ngrid:", source=INSTANCES), RUN, 2,
        ("launch.yaml:1: kernel", "write `kernel: add`", "instantiate it in the file only once")),
    Row("no out folder", launch(), f"{RUN} --out no", 2, ("the folder does not exist",)),
    Row("2^31 blocks", launch("[1]", "[2147483648]"), RUN, 2,
        ("launch.yaml:1: grid", "cudaErrorInvalidConfiguration", "at most 2147483647")),
    Row("too many threads", launch("[32]", "[33, 32]"), RUN, 2,
        ("launch.yaml:2: block", "1056 threads", "1 to 1024 threads")),
    Row("no threads in a block", launch("[32]", "[0]"), RUN, 2, ("launch.yaml:2: block",)),
    Row("too much shared memory", launch("grid:", "shared: 999999\ngrid:"), RUN, 2,
        ("launch.yaml:1: shared", "999999", "49152 bytes")),
    Row("more shared memory than usual", launch("grid:", "shared: 65536\ngrid:"), RUN, 2,
        ("launch.yaml:1: shared", "MaxDynamicSharedMemorySize", "`large_shared: true`")),
    Row("too much even then", launch("grid:", "shared: 999999\nlarge_shared: true\ngrid:"), RUN, 2,
        ("launch.yaml:1: shared", "at most 232448 bytes")),
    Row("too many blocks", launch("[1]", "[2147483647, 65535]"), RUN, 2,
        ("launch.yaml:1: grid", "use at most 16777216 blocks", "--on gpu")),
    Row("endless launch", launch(source=SCALE.replace("if (i", "for (;; i += 0) if (i")),
        f"{RUN} --limit 1", 1, ("timeout", "x.cu:4")),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_bad_input(tmp_path: Path, row: Row) -> None:
    at, scratch = tmp_path / "at", tmp_path / "tmp"
    at.mkdir()
    scratch.mkdir()
    row.make(at)
    before, standing = contents(at), descendants()
    said = grader(*row.words.split(), cwd=at, env={"TMPDIR": str(scratch)})
    printed = f"{said.out}{said.err}"
    unwrapped = " ".join(printed.split())
    for words in row.said:
        assert words in unwrapped, printed
    assert said.code == row.code, printed
    assert_tidy(said)
    assert contents(at) == before
    assert list(scratch.iterdir()) == []
    until(lambda: not descendants(standing))


def assert_tidy(said: CommandResult) -> None:
    """Require no traceback, no internal path, and one fault shown once."""
    printed = f"{said.out}{said.err}"
    for inside in ("Traceback", 'File "', "grader/", "site-packages", "\x1b"):
        assert inside not in printed, printed
    if said.code == 2:
        assert said.out == ""
        assert len(said.err.strip().splitlines()) <= 5, said.err


def contents(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_rows_have_right_twins(tmp_path: Path) -> None:
    """The same commands with nothing wrong: the rows above fail for what they say."""
    (tmp_path / "x.cu").write_text(SOLUTION)
    assert grader(*CHECK.split(), cwd=tmp_path).code == 0
    course("lab.yaml", "title:", "title:")(tmp_path)
    assert grader(*COURSE.split(), cwd=tmp_path).code == 0
    launch()(tmp_path)
    said = grader(*RUN.split(), cwd=tmp_path)
    assert said.code == 0, said.out + said.err
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.full(32, 2, np.float32))

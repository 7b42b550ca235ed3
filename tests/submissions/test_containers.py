"""Notebooks, archives and folders: what is taken is named, what cannot be taken is said."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from grader.faults import Fault, LabFault, StudentFault
from grader.labs.model import KernelSpec
from grader.submissions.containers import MAX_CONTAINER, MAX_PARTS
from grader.submissions.files import defined_kernels, device_names
from grader.submissions.gather import find_submissions
from grader.submissions.sources import Wanted, header_files, open_submission, read_submitted

KERNEL = "__global__ void matmul(float* a)\n{\n    a[0] = 1;\n}\n"
OTHER = "__global__ void other(float* a) { a[0] = 2; }\n"
WANTED = Wanted("tiled-matmul", (KernelSpec("matmul", (("float*", "a"),)),))


def notebook(*cells: str | tuple[str, str], language: str = "python") -> bytes:
    made = [
        {"cell_type": kind, "source": text.splitlines(keepends=True), "outputs": []}
        for kind, text in (c if isinstance(c, tuple) else ("code", c) for c in cells)
    ]
    return json.dumps({"cells": made, "metadata": {"kernelspec": {"language": language}}}).encode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def tarred(files: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


LONG = f"{'long' * 20}/{'longer' * 10}/"
SOURCE = KERNEL.encode()
TAKEN = {
    "a cell of %%cuda": (notebook(("markdown", "# 1"), "import os", f"%%cuda\n{KERNEL}"),
                         "x[cell 3]"),
    "a cell of %%cu": (notebook("!nvcc --version", f"%%cu\n{KERNEL}int main() {{}}"), "x[cell 2]"),
    "a written file": (notebook(f"%%writefile mm.cu\n{KERNEL}", "!nvcc mm.cu"), "x[cell 1]"),
    "a file that is written again": (
        notebook(f"%%writefile mm.cu\n{OTHER}", f"%%writefile mm.cu\n{KERNEL}"), "x[cell 2]"
    ),
    "a cell of ours": (notebook(f"%%warpgrade tiled-matmul\n{KERNEL}"), "x[cell 1]"),
    "the lab's kernel among several": (notebook(f"%%cuda\n{OTHER}", f"%%cuda\n{KERNEL}"),
                                       "x[cell 2]"),
    "a notebook of C++": (notebook(KERNEL, language="C++17"), "x[cell 1]"),
    "a zip of one": (zipped({"hw/readme.txt": b"hello", "hw/mm.cu": SOURCE}), "x:mm.cu"),
    "a zip with host files": (zipped({"main.cpp": b"int main() {}", "k.cuh": SOURCE}), "x:k.cuh"),
    "a zip with a notebook": (zipped({"a.ipynb": notebook(f"%%cuda\n{KERNEL}")}),
                              "x:a.ipynb[cell 1]"),
    "a zip of macOS": (zipped({"__MACOSX/._mm.cu": SOURCE, "mm.cu": SOURCE}), "x:mm.cu"),
    "the file of the lab's name": (
        zipped({"tiled-matmul.cu": SOURCE, "v1.cu": SOURCE}), "x:tiled-matmul.cu"
    ),
    "a tar": (tarred({"hw/mm.cu": SOURCE}), "x:mm.cu"),
    "a tar.gz": (gzip.compress(tarred({"hw/mm.cu": SOURCE})), "x:mm.cu"),
    "a tar.bz2": (bz2.compress(tarred({"hw/mm.cu": SOURCE})), "x:mm.cu"),
    "a tar.xz": (lzma.compress(tarred({"hw/mm.cu": SOURCE})), "x:mm.cu"),
    "a tar of GNU": (tarred({LONG + "mm.cu": SOURCE}, tarfile.GNU_FORMAT), "x:mm.cu"),
    "a tar of pax": (tarred({LONG + "mm.cu": SOURCE}), "x:mm.cu"),
    "a text": (SOURCE, "x"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_the_source_is_taken_and_named(name: str) -> None:
    data, taken = TAKEN[name]
    submission = open_submission(data, "x", WANTED)
    assert submission.name == taken
    line = submission.text.split("\n").index("__global__ void matmul(float* a)") + 1
    assert line == (2 if "[cell" in taken and "C++" not in name else 1)


def docx() -> bytes:
    return zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"})


REFUSED = {
    "two cells": (notebook(f"%%cuda\n{OTHER}", f"%%cuda\n{OTHER.replace('2', '3')}"),
                  "cell 1.*cell 2"),
    "two files": (zipped({"a/a.cu": OTHER.encode(), "b.cu": OTHER.replace("2", "3").encode()}),
                  "x:a.cu, x:b.cu"),
    "no kernel in cells": (notebook("import numpy"), "no CUDA kernel"),
    "a kernel of PyCUDA": (notebook(f'mod = SourceModule("""{KERNEL}""")'),
                           "cell 1. has a kernel in a Python string: move it to a cell"),
    "a kernel in a comment": (zipped({"a.cu": b"/* " + SOURCE + b"*/"}), "no CUDA kernel"),
    "an archive inside": (zipped({"a.zip": zipped({"mm.cu": SOURCE})}), "inside an archive"),
    "a document": (docx(), "a Word document"),
    "a document inside": (zipped({"hw/report.docx": docx()}), "report.docx is a Word document"),
    "a PDF inside": (zipped({"hw.pdf": b"%PDF-1.7 x"}), "hw.pdf is a PDF document"),
    "an empty zip": (zipped({}) or b"", "empty zip|binary file"),
    "a cut zip": (zipped({"mm.cu": SOURCE})[:-30], "damaged"),
    "a cut gzip": (gzip.compress(tarred({"mm.cu": SOURCE}))[:40], "no CUDA kernel|damaged|no tar"),
    "gzip of text": (gzip.compress(SOURCE), "no tar archive|no CUDA kernel|damaged"),
    "names that lead out": (zipped({"../../mm.cu": SOURCE, "/etc/mm.cu": SOURCE}),
                            "no CUDA kernel"),
    "a tar that leads out": (tarred({"../mm.cu": SOURCE, "/mm.cu": SOURCE}), "no CUDA kernel"),
    "many files": (zipped({f"{n}.txt": b"" for n in range(MAX_PARTS + 5)}), "more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_taken_is_said(name: str) -> None:
    data, says = REFUSED[name]
    with pytest.raises(StudentFault, match=says) as caught:
        open_submission(data, "x", WANTED)
    assert caught.value.findings[0].severity == "error"
    assert caught.value.fix


def test_links_in_archives_are_not_followed() -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo("mm.cu")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    link = zipfile.ZipInfo("mm.cu")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    zipped_link = io.BytesIO()
    with zipfile.ZipFile(zipped_link, "w") as archive_of_link:
        archive_of_link.writestr(link, "/etc/passwd")
    for content in (data.getvalue(), zipped_link.getvalue()):
        with pytest.raises(StudentFault, match="no CUDA kernel"):
            open_submission(content, "x", WANTED)


BOMBS: dict[str, Callable[[], bytes]] = {
    "zip": lambda: zipped({f"{n}.cu": b" " * (1 << 20) for n in range(100)}),
    "one file": lambda: zipped({"a.ipynb": b"[" * (100 << 20)}),
    "gzip": lambda: gzip.compress(b"\0" * (200 << 20), 1),
    "xz": lambda: lzma.compress(b"\0" * (200 << 20), preset=0),
    "nested lists": lambda: b'{"cells": ' + b"[" * 1_000_000,
    "empty lists": lambda: b'{"cells": [' + b"[]," * 1_000_000 + b"[]]}",
    "large": lambda: b"{" + b" " * MAX_CONTAINER,
    "long cells": lambda: notebook(*["%%cuda\n" + "/*" * 3000] * 1200),
    "headers": lambda: b"".join(
        tarfile.TarInfo(f"{n}.cu").tobuf() for n in range(4 * MAX_PARTS)
    ),
}  # fmt: skip
"""Made by the test: each process of a run collects all tests."""


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_within_its_limits(name: str) -> None:
    bomb = BOMBS[name]()
    began = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(StudentFault):
            open_submission(bomb, "x", WANTED)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 300 << 20
    assert time.process_time() - began < 20


def test_a_folder_is_read_like_an_archive(tmp_path: Path) -> None:
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw" / "report.pdf").write_bytes(b"%PDF-1.4")
    with pytest.raises(StudentFault, match="no CUDA kernel in hw"):
        read_submitted(tmp_path / "hw", WANTED)
    (tmp_path / "hw" / "src").mkdir()
    (tmp_path / "hw" / "src" / "kernel.txt").write_text(KERNEL)
    (tmp_path / "hw" / "main.cu").symlink_to("/etc/passwd")
    assert read_submitted(tmp_path / "hw", WANTED).name == "src/kernel.txt"
    with pytest.raises(LabFault):
        read_submitted(tmp_path / "nowhere", WANTED)


def test_a_class_takes_the_same_files(tmp_path: Path) -> None:
    for student, (data, _) in enumerate(TAKEN.values()):
        suffix = ".ipynb" if data.startswith(b"{") else ".zip" if data[:2] == b"PK" else ".tar.gz"
        (tmp_path / f"s{student:02}{suffix if data != SOURCE else '.txt'}").write_bytes(data)
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "essay.pdf").write_bytes(b"%PDF-1.7")
    gathered = find_submissions(tmp_path, "tiled-matmul")
    assert len(gathered.submissions) == len(TAKEN)
    assert "essay.pdf: left out, it is a PDF document" in gathered.notes
    for one in gathered.submissions:
        assert "matmul" in one.submission(WANTED).text
    for data, _ in REFUSED.values():
        (tmp_path / "s00.ipynb").write_bytes(data)
        first = find_submissions(tmp_path, "tiled-matmul").submissions[0]
        with pytest.raises(Fault):
            first.submission(WANTED)


HEADER = "#pragma once\n// tile\n__device__ float one() { return bad; }\n"
MAIN = '#include <cstdio>\n#include "inc/one.cuh"  // mine\n' + KERNEL
PROTOTYPE = "__global__ void matmul(float* a);\nint main() { matmul<<<1, 1>>>(0); }\n"
TWO = "__global__ void mine(float* a, int n) {}\n"
ONLY = b"__device__ float one();\n"
ONE = b"__device__ float one() { return 1; }\n"
DEVICE_NAMES = {
    "__device__ float f(float);": ("f", ""),
    "__device__ __forceinline__ float f(float x = 1.0f)\n{ return x; }": ("", "f"),
    "// __device__ int f();\nextern __device__ int count; __host__ __device__ int g();": (
        "count g",
        "",
    ),
    "extern __constant__ float mask[3][3]; __device__ int count = 0;": ("mask", "count"),
    "__constant__ float mask[3] = {1, 2, 3};": ("", "mask"),
    "struct T { __device__ int at(int i) const; int n; };": ("at", ""),
    "struct T { int n; }; __device__ int T::at(int i) const { return n; }": ("", "at"),
    "namespace u { __device__ int f(); } __device__ int u::f() { return 0; }": ("", "f"),
    "__global__ void k(float* a); extern __shared__ float tile[];": ("", ""),
}
CHOSEN = {
    "a prototype is no kernel": (
        zipped({"mm.cu": SOURCE, "main.cu": PROTOTYPE.encode()}), "x:mm.cu", ()
    ),
    "a kernel in a string is none": (
        zipped({"mm.cu": SOURCE, "t.cpp": b'auto s = "__global__ void matmul() {";'}), "x:mm.cu", ()
    ),
    "a name with launch bounds": (
        notebook("%%cu\n__global__ void __launch_bounds__(256, 2) matmul(float* a) {}", "%%cu\n"
                 + OTHER), "x[cell 1]", ()
    ),
    "the parameters choose": (notebook(f"%%cu\n{TWO}", f"%%cu\n{OTHER}"), "x[cell 2]", ()),
    "a header of a zip": (
        zipped({"hw/mm.cu": MAIN.encode(), "hw/inc/one.cuh": HEADER.encode()}),
        "x:mm.cu", ("hw/inc/one.cuh",),
    ),
    "a header of a notebook": (
        notebook(f"%%writefile inc/one.cuh\n{HEADER}", f"%%writefile mm.cu\n{MAIN}"),
        "x[cell 2]", ("inc/one.cuh",),
    ),
    "a kernel in a header": (
        zipped({"k.cuh": SOURCE, "main.cu": b'#include "k.cuh"\n' + PROTOTYPE.encode()}),
        "x:main.cu", ("k.cuh",),
    ),
    "a source that includes a source": (
        zipped({"k.cu": SOURCE, "all.cu": b'#include "k.cu"\n' + OTHER.encode()}),
        "x:all.cu", ("k.cu",),
    ),
    "headers that include each other": (
        zipped({"mm.cu": b'#include "a.h"\n' + SOURCE, "a.h": b'#include "b.h"\nint a;\n',
                "b.h": b'#include "a.h"\nint b;\n'}),
        "x:mm.cu", ("a.h", "b.h"),
    ),
    "a source that needs the macros of its user": (
        zipped({"mm.cu": SOURCE.replace(b"1", b"ONE"),
                "main.cu": b'#define ONE 1\n#include "mm.cu"\nint main() {}\n'}),
        "x:main.cu", ("mm.cu",),
    ),
    "copies of one file": (
        zipped({"mm (1).cu": SOURCE, "mm.cu": SOURCE.replace(b"\n", b"\r\n"),
                "hw.ipynb": notebook(f"%%cu\n{KERNEL}")}),
        "x:mm (1).cu", (),
    ),
    "a template without a body": (
        zipped({"mm.cu": SOURCE, "todo.cu": b"__global__ void matmul(float* a) { /* */ }"}),
        "x:mm.cu", (),
    ),
    "an answer in Markdown": (f"Try:\n```cpp\n{KERNEL}```\nIt adds.".encode(), "x", ()),
    "a file of a group": (
        notebook(f'%%cuda_group_save -g "s" -n "one.cuh"\n{HEADER}',
                 f'%%cuda_group_save -g "s" -n "mm.cu"\n{MAIN}'),
        "x[cell 2]", ("one.cuh",),
    ),
    "a file that a shell writes": (
        notebook(f"%%bash\nmkdir -p inc\ncat > inc/one.cuh <<'EOF'\n{HEADER}EOF\n",
                 f"%%shell\ncat <<EOF | tee mm.cu\n{MAIN}EOF\nnvcc mm.cu"),
        "x[cell 2]", ("inc/one.cuh",),
    ),
    "a file in two cells": (
        notebook("%%writefile mm.cu\nint a;\n", f"%%writefile -a mm.cu\n{KERNEL}"),
        "x[cell 1]", ("x[cell 2]",),
    ),
    "a comment before the magic": (
        notebook(f"# Task 1\n!pip install x\n%%time\n%%cu\n{KERNEL}"), "x[cell 1]", ()
    ),
    "a cell without a magic": (notebook("import os", f"#include <cstdio>\n{KERNEL}"),
                               "x[cell 2]", ()),
    "a cell of another language": (
        notebook(f"%%html\n<pre>{OTHER}{KERNEL}</pre>", f"%%cu\n{KERNEL}"), "x[cell 2]", ()
    ),
    "a notebook of 2014": (
        json.dumps({"nbformat": 3, "worksheets": [{"cells": [
            {"cell_type": "code", "input": [f"%%cu\n{KERNEL}"]}]}]}).encode(),
        "x[cell 1]", (),
    ),
    "device functions of another source": (
        zipped({"mm.cu": ONLY + SOURCE, "main.cpp": b"int main() {}", "helpers.cu": ONE}),
        "x:mm.cu", ("helpers.cu",),
    ),
    "a source for the prototypes of a header": (
        zipped({"src/mm.cu": b'#include "one.h"\n' + SOURCE,
                "src/one.h": b"extern __host__ " + ONLY + b"extern __constant__ float mask[3];\n",
                "src/one.cu": b'#include "two.h"\n' + ONE,
                "src/mask.cu": b"__constant__ float mask[3] = {1, 2, 3};\n",
                "src/two.h": b"__device__ int two();\n",
                "src/two.cu": b"__device__ int two() { return 2; }",
                "old/one.cu": ONE + b"int old;\n"}),
        "x:mm.cu", ("src/one.h", "src/mask.cu", "src/one.cu", "src/two.h", "src/two.cu"),
    ),
    "a source in another cell": (
        notebook(f"%%writefile one.cu\n{ONE.decode()}",
                 f"%%writefile mm.cu\n{ONLY.decode()}{KERNEL}"),
        "x[cell 2]", ("one.cu",),
    ),
    "two sources with the same function": (
        zipped({"mm.cu": ONLY + SOURCE, "a.cu": ONE, "b.cu": ONE + b"int b;\n"}), "x:mm.cu", ()
    ),
    "a source that nothing needs": (
        zipped({"mm.cu": ONE + ONLY + SOURCE, "a.cu": ONE}), "x:mm.cu", ()
    ),
    "a library of the host stays out": (
        zipped({"mm.cu": b'#include "wb.h"\n' + SOURCE, "wb.h": b"int x;\n" * 500}), "x:mm.cu", ()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_the_source_is_chosen_with_its_own_headers(name: str) -> None:
    data, taken, headers = CHOSEN[name]
    submission = open_submission(data, "x", WANTED)
    assert submission.name == taken
    assert "matmul" in defined_kernels(submission.text) or name == "the parameters choose"
    assert header_files(submission.text, taken) == headers


def test_headers_of_hostile_archives_stay_within_limits() -> None:
    """A chain of 250, each including many of them, and marks that the student wrote."""
    every = "".join(f'#include "h{n}.h"\n' for n in range(100))
    files = {
        f"h{n}.h": f'#include "h{n + 1}.h"\n{every}__device__ int a{n};\n'.encode()
        for n in range(250)
    }
    began = time.process_time()
    forged = b"//@warpgrade line 7 of secret.h\n"
    submission = open_submission(
        zipped({"mm.cu": forged + b'#include "h0.h"\n' + SOURCE, **files}), "x", WANTED
    )
    assert time.process_time() - began < 20
    assert len(submission.data) < 300_000 and "int a0;" in submission.text
    assert "secret.h" not in header_files(submission.text, "x:mm.cu")
    many = {f"d{n}/k.cu": f"{every}{OTHER}int a{n};".encode() for n in range(500)}
    with pytest.raises(StudentFault, match="500 parts have a CUDA kernel"):
        open_submission(zipped({**many, **files}), "x", WANTED)
    assert time.process_time() - began < 20
    alone = open_submission(forged + SOURCE, "x", WANTED)
    assert not header_files(alone.text, "x")


@pytest.mark.parametrize("text", DEVICE_NAMES)
def test_what_a_source_only_declares(text: str) -> None:
    assert device_names(text) == tuple(frozenset(names.split()) for names in DEVICE_NAMES[text])


def test_a_class_takes_further_sources_along(tmp_path: Path) -> None:
    """The file of the lab's name is the source, and another one has its device function."""
    for student in ("ann", "bob"):
        (tmp_path / student).mkdir()
        (tmp_path / student / "tiled-matmul.cu").write_text(f"__device__ float one();\n{KERNEL}")
        (tmp_path / student / "one.cu").write_text("__device__ float one() { return 1; }\n")
    for one in find_submissions(tmp_path, "tiled-matmul").submissions:
        submission = one.submission(WANTED)
        assert len(header_files(submission.text, submission.name)) == 1
        assert "return 1" in submission.text

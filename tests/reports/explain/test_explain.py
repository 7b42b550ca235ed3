"""`grader explain` from a file to a page, on a real lab."""

from __future__ import annotations

import io
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from grader.cli.app import run
from grader.faults import LabFault, StudentFault
from grader.feedback.grade import grade
from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab
from grader.reports.explain.explanation import Explanation, explain_submission
from grader.reports.explain.page import explain_page
from grader.reports.page.source import source_view
from grader.submissions.files import Submission, read_submission
from grader.submissions.sources import Wanted, open_submission

SOLUTIONS = Path(__file__).parents[3] / "solutions"


def shown(lab: str, path: Path, case: str = "") -> Explanation:
    return explain_submission(load_lab(lab), read_submission(path), RunOptions(threads=1), case)


def test_tiled_matmul() -> None:
    story = shown("tiled-matmul", SOLUTIONS / "tiled-matmul" / "tiled-matmul.cu")
    assert (story.case, story.grid, story.block) == ("one-tile", (1, 1, 1), (16, 16, 1))
    observed = [(p.phase, p.variable, p.access, len(p.cells)) for p in story.panels]
    assert observed == [
        (0, "A", "read", 256),
        (0, "B", "read", 256),
        (0, "As", "write", 256),
        (0, "Bs", "write", 256),
        (1, "As", "read", 256),
        (1, "Bs", "read", 256),
        (2, "C", "write", 256),
    ]
    loads = next(line for line in story.lines if line.text.strip().startswith("As[ty][tx] ="))
    # 8 warps, two rows of 16 floats each: 2 x 64 bytes.
    assert (loads.requests, loads.sectors, loads.sectors_per_request) == (8, 32, 4)
    shared = [panel for panel in story.panels if panel.variable == "As" and panel.access == "read"]
    assert {len(cell.threads) for cell in shared[0].cells} == {16}


def test_conflicts_are_on_their_line() -> None:
    source = b"""\
#define TILE 16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float At[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE + tx;
    for (int i = t; i < 1024; i += 256) {
        At[i % 32][i / 32] = A[i % 256];
    }
    __syncthreads();
    C[t] = At[0][tx] + B[t];
}
"""
    lab = load_lab("tiled-matmul")
    story = explain_submission(lab, Submission("k.cu", source, ""), RunOptions(threads=1))
    by_line = {line.number: line for line in story.lines}
    # Each of 32 requests to store a column of 32 floats takes 32 passes, 31 of them conflicts.
    assert (by_line[7].wavefronts, by_line[7].conflicts) == (1024, 992)
    assert by_line[10].conflicts == 0


def test_another_case_may_be_named() -> None:
    path = SOLUTIONS / "vector-add" / "vector-add.cu"
    assert shown("vector-add", path).case == "one-block"
    assert shown("vector-add", path, "prime").size == "997"


@pytest.mark.parametrize("case", ["primes", "hidden-short"])
def test_a_case_that_is_not_public_is_refused(case: str) -> None:
    with pytest.raises(LabFault, match="no public case") as caught:
        shown("vector-add", SOLUTIONS / "vector-add" / "vector-add.cu", case)
    assert "hidden" not in caught.value.fix


def test_what_does_not_compile_is_the_students_fault() -> None:
    with pytest.raises(StudentFault):
        explain_submission(
            load_lab("vector-add"), Submission("k.cu", b"int x\n", ""), RunOptions(threads=1)
        )


def test_the_command_writes_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (SOLUTIONS / "vector-add" / "wrong" / "invalid-access-no-guard.cu").read_bytes()
    file = tmp_path / "<b>mine & co.cu"
    file.write_bytes(source)
    assert run(["explain", "vector-add", str(file), "--case", "one-element"]) == 0
    page = (tmp_path / "explain-<b>mine & co.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;mine &amp; co.cu" in page and "<b>mine" not in page
    assert re.search(r'<tr id="L\d+" class="bad">', page)
    assert "wrote explain-" in capfd.readouterr().err


def test_lines_of_several_files_are_named_as_the_student_has_them() -> None:
    """On the page of the pictures, in the grade as JSON and on the student's page."""
    files = {
        "add.cu": '#include "load.cuh"\n__device__ float sum(float x, float y);\n'
        "__global__ void vector_add(const float* a, const float* b, float* c, int n)\n{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) c[i] = sum(load(a, i), load(b, i));\n}\n",
        "load.cuh": "// a & b\n__device__ float load(const float* x, int i)\n{ return x[i]; }\n",
        "sum.cu": "__device__ float sum(float x, float y) { return x + y; }\n",
    }
    data = io.BytesIO()
    with ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    lab = load_lab("vector-add")
    submission = open_submission(data.getvalue(), "hw.zip", Wanted.by(lab))
    story = explain_submission(lab, submission, RunOptions(threads=1))
    requests = {(r.variable, r.file, r.line) for r in story.requests}
    assert requests == {("a", "load.cuh", 3), ("b", "load.cuh", 3), ("c", "", 6)}
    page = explain_page(story).decode()
    assert ">load.cuh:3</td>" in page and "line 3 of load.cuh, read of a" in page
    assert re.search(r"a\[0\]: 1 times, thread \(0\), line load.cuh:3<", page)
    made = grade(lab, submission, threads=1)
    assert made.exit_code == 0, made
    counted = {(row["file"], row["line"]) for row in made.to_json()["lines"]}
    assert counted == {("load.cuh", 3), ("sum.cu", 1), ("", 6)}
    view = source_view(made, submission.text, ())
    assert view is not None
    assert [row.label for row in view.rows if any(row.counts)] == ["load.cuh:3", "6"]


def test_the_command_shows_what_the_compiler_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.cu"
    file.write_text("int x\n")
    assert run(["explain", "vector-add", str(file), "--html", str(tmp_path / "x.html")]) == 1
    assert "compile-error" in capfd.readouterr().out
    assert not (tmp_path / "x.html").exists()


def test_a_kernel_without_barriers_mentions_none() -> None:
    plain = explain_page(shown("vector-add", SOLUTIONS / "vector-add" / "vector-add.cu")).decode()
    tiled = explain_page(shown("tiled-matmul", SOLUTIONS / "tiled-matmul" / "tiled-matmul.cu"))
    assert "barrier</h3>" not in plain and "between its barriers" not in plain
    assert "Before the first barrier</h3>" in tiled.decode()


def test_a_finding_stands_below_its_line_and_not_beyond_a_phones_edge() -> None:
    path = SOLUTIONS / "tiled-matmul" / "wrong" / "race-missing-first-barrier.cu"
    page = explain_page(shown("tiled-matmul", path)).decode()
    assert '<tr class="bad"><td></td><td class="margin" colspan="6"><div>race' in page

"""The magic in a real kernel of Jupyter, as nbclient runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.command import ROOT, descendants
from tests.patience import PATIENCE, until

LAB = "vector-add"
SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
WRONG = next((ROOT / "solutions" / LAB / "wrong").glob("invalid-access*.cu")).read_text()
CELLS = (
    "%load_ext warpgrade",
    f"%%warpgrade {LAB} --to first\n{WRONG}",
    f"%%warpgrade {LAB} --to second --no-pictures\n{SOLUTION}",
    "[first.points(10), second.points(10), second.passed]",
    "%%writefile twice.cuh\n__device__ float twice(float x) { return 2 * x; }",
    f'%%warpgrade {LAB}\n#include "twice.cuh"\n{SOLUTION}',
    "first.require('memory')",
)
KERNEL_SPEC = """{"argv": ["%s", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
"display_name": "here", "language": "python"}"""


@pytest.fixture(scope="module")
def run_book(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The notebook with its outputs; its last cell fails."""
    folder = tmp_path_factory.mktemp("kernel")
    spec = folder / "kernels" / "here" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(KERNEL_SPEC % sys.executable)
    book = new_notebook(cells=[new_code_cell(text) for text in CELLS])
    standing = descendants()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        client = NotebookClient(
            book, kernel_name="here", timeout=PATIENCE, startup_timeout=PATIENCE,
            allow_errors=True,
            resources={"metadata": {"path": str(folder)}},
        )  # fmt: skip
        client.execute(env=dict(os.environ))
    until(lambda: not descendants(standing))  # a kernel that ends leaves no process
    return book


def data(book: nbformat.NotebookNode, cell: int) -> dict[str, Any]:
    (output,) = (o for o in book.cells[cell].outputs if o.output_type == "execute_result")
    return dict(output.data)


def test_a_result_is_shown_as_html_and_as_text(run_book: nbformat.NotebookNode) -> None:
    shown = data(run_book, 1)
    assert shown["text/html"].startswith("<section class=")
    assert "invalid-access" in shown["text/html"] and "<svg" in shown["text/html"]
    assert "score 80 of 100" in shown["text/plain"]
    assert "<svg" not in data(run_book, 2)["text/html"]


def test_variables_hold_results(run_book: nbformat.NotebookNode) -> None:
    assert data(run_book, 3)["text/plain"] == "[8.0, 10.0, True]"


def test_a_header_that_a_cell_writes_is_part_of_the_source(run_book: nbformat.NotebookNode) -> None:
    assert "graded with twice.cuh" in data(run_book, 5)["text/plain"]


def test_a_test_cell_fails_with_the_findings(run_book: nbformat.NotebookNode) -> None:
    (error,) = run_book.cells[6].outputs
    assert error.ename == "CheckFailed" and "out-of-bounds" in error.evalue
    assert error.traceback == [f"CheckFailed: {error.evalue}"], "not the grader's own lines"


def test_nothing_else_is_printed(run_book: nbformat.NotebookNode) -> None:
    kinds = [[o.output_type for o in cell.outputs] for cell in run_book.cells]
    assert kinds == [
        [], ["execute_result"], ["execute_result"], ["execute_result"], ["stream"],
        ["execute_result"], ["error"],
    ]  # fmt: skip


def test_the_notebook_follows_its_schema(run_book: nbformat.NotebookNode, tmp_path: Path) -> None:
    nbformat.validate(run_book)
    nbformat.write(run_book, tmp_path / "book.ipynb")

"""One warp's first request of a line: which sectors move, and which lanes want what of them."""

from __future__ import annotations

from xml.etree.ElementTree import tostring

import numpy as np
import pytest

from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab
from grader.launch import Array, Dim3, Launch
from grader.reports.explain.accesses import ThreadAccess
from grader.reports.explain.explanation import explain_submission
from grader.reports.explain.requests import Request, request_summary, request_svg, requests
from grader.submissions.files import Submission


def launch(dtype: str, block: Dim3 = (64, 1, 1)) -> Launch:
    return Launch("k", (1, 1, 1), block, (Array("a", (4096,), dtype, np.zeros(4096, dtype)),))


def touch(thread: Dim3, offset: int, size: int = 4, space: str = "global") -> ThreadAccess:
    return ThreadAccess((0, 0, 0), thread, 3, "read", space, "a", "a", offset, size, 0)


def one(touches: list[ThreadAccess], dtype: str = "float32", block: Dim3 = (64, 1, 1)) -> Request:
    (made,) = requests(touches, launch(dtype, block))
    return made


PATTERNS = [
    # dtype, bytes an access, stride in bytes, sectors, first elements of the first two, used
    ("float32", 4, 4, 4, [0, 8], 128),
    ("float32", 4, 8, 8, [0, 8], 128),
    ("float32", 4, 128, 32, [0, 32], 128),
    ("float32", 4, 0, 1, [0], 4),
    ("float32", 16, 16, 16, [0, 8], 512),
    ("float64", 8, 8, 8, [0, 4], 256),
    ("uint8", 1, 1, 1, [0], 32),
]


@pytest.mark.parametrize(("dtype", "size", "stride", "count", "first", "used"), PATTERNS)
def test_sectors(
    dtype: str, size: int, stride: int, count: int, first: list[int], used: int
) -> None:
    made = one([touch((t, 0, 0), t * stride, size) for t in range(32)], dtype)
    assert [s.first for s in made.sectors[:2]] == first
    assert (len(made.sectors), made.bytes, made.lanes, made.moved) == (count, used, 32, 32 * count)
    shown = [lane for sector in made.sectors for cell in sector.cells for lane in cell]
    assert sorted(shown) == list(range(32)), "each lane wants one cell"


def test_only_the_first_access_of_the_first_warp_counts() -> None:
    again = [touch((t, 0, 0), 4 * t + 512) for t in range(64)]
    made = one([touch((t, 0, 0), 4 * t) for t in range(40)] + again)
    assert (made.warp, made.lanes, len(made.sectors)) == (0, 32, 4)
    later = one([touch((t, 0, 0), 4 * t) for t in range(40, 50)])
    assert (later.warp, later.lanes, len(later.sectors)) == (1, 10, 2)


def test_a_warp_is_numbered_over_all_its_dimensions() -> None:
    made = one([touch((0, y, 0), 4 * y) for y in range(16)], block=(16, 16, 1))
    assert (made.warp, made.lanes) == (0, 2)


def test_shared_memory_moves_no_sectors() -> None:
    assert requests([touch((0, 0, 0), 0, space="shared")], launch("float32")) == ()


def test_the_picture_names_the_lanes_of_each_cell() -> None:
    made = one([touch((t, 0, 0), 4 * (t // 2)) for t in range(6)])
    svg = tostring(request_svg(made), encoding="unicode")
    assert svg.count('data-lanes="2"') == 3 and svg.count('data-lanes="0"') == 5
    assert svg.count(">×2<") == 3 and ">a[0]<" in svg
    assert request_summary(made).endswith("6 lanes, 1 sector; 12 of 32 bytes moved are used")


@pytest.mark.parametrize("exchanged", [False, True])
def test_the_requests_are_those_that_are_counted(exchanged: bool) -> None:
    lab = load_lab("coalescing")
    source = lab.solution.read_text()
    if exchanged:
        rows = "int {} = blockIdx.{} * blockDim.{} + threadIdx.{};"
        right = {name: rows.format(name, *axis * 3) for name, axis in (("row", "y"), ("col", "x"))}
        wrong = {name: rows.format(name, *axis * 3) for name, axis in (("row", "x"), ("col", "y"))}
        assert all(line in source for line in right.values())
        for name in right:
            source = source.replace(right[name], wrong[name])
    story = explain_submission(lab, Submission("k.cu", source.encode(), ""), RunOptions(threads=1))
    (store,) = [r for r in story.requests if r.access == "write"]
    line = next(line for line in story.lines if line.number == store.line)
    assert len(store.sectors) == line.sectors_per_request == (32 if exchanged else 4)

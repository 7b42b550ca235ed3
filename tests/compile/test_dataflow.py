"""Data flow of a source: the lines that set the values of a line and guard it, in linear time."""

from __future__ import annotations

import time

import pytest

from grader.compile.dataflow import read_dataflow

SOURCE = """\
#define TILE 16
__device__ float other(float row) { float n = row; return n; }
extern "C" __global__ void f(const float* a, float* b, int n)
{
    __shared__ float As[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = 0;            // row = 1; is a comment
    if (row >= n) {
        return;
    }
    col += row;
    for (int k = 0; k < n; ++k)
        As[row][k] = a[col];
    if (col == 3) {
        row = 2;
    } else {
        b[row] = As[0][col];
    }
    a.row = 7;
    b[col] = "row"[0];
}
__global__ void g(float* row)
{
    row[0] = TILE;
}
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (6, ["TILE 1", "row 15"]),
        (8, ["TILE 1", "row 6", "row 15"]),
        (11, ["TILE 1", "row 6", "col 7", "if 8", "row 15"]),
        (13, ["TILE 1", "As 5", "row 6", "col 7", "if 8", "col 11", "for 12", "k 12", "row 15"]),
        (15, ["TILE 1", "row 6", "if 8", "if 14"]),
        (
            17,
            [
                "TILE 1",
                "As 5",
                "row 6",
                "col 7",
                "if 8",
                "col 11",
                "As 13",
                "if 14",
                "row 15",
                "b 20",
            ],
        ),
        (20, ["col 7", "if 8", "col 11", "b 17"]),  # a member, a comment and a text set nothing
        (24, ["TILE 1"]),  # another function's `row` is another variable
        (2, []),
        (5, ["TILE 1", "As 13"]),
        (0, []),
        (99, []),
    ],
)
def test_all_origins_of_a_line(line: int, expected: list[str]) -> None:
    origins = {(o.line, o.name) for o in read_dataflow(SOURCE).reaching(line) if o.line != line}
    assert [f"{name} {at}" for at, name in sorted(origins)] == expected


def test_settings_of_names_are_selected_before_conditions_and_sizes() -> None:
    flow = read_dataflow(SOURCE)
    assert [(o.name, o.line) for o in flow.origins({20})] == [("col", 7), ("col", 11), ("b", 17)]
    assert [(o.name, o.line) for o in flow.origins({5})] == [("TILE", 1), ("As", 13)]
    assert flow.origins({2}) == ()


def test_the_nearest_of_many_origins_are_selected() -> None:
    sets = "".join(f"    x = {n};\n" for n in range(50))
    flow = read_dataflow(f"void f(float* a) {{\n    float x;\n{sets}    a[0] = x;\n}}\n")
    assert [o.line for o in flow.origins({53})] == [50, 51, 52]


@pytest.mark.parametrize(
    "source",
    ["", "}}}}", "{{{{", "((((", "))) } else {", "[[[[", "]]]] =", "if if if (", "else else ;",
     "#define\n#define 7\nx", "return;", "a = b", "for (;;) for (;;) x[y] = z"],
)  # fmt: skip
def test_malformed_sources_are_read(source: str) -> None:
    outside = read_dataflow(source)
    assert not any(o.line == line for line in range(4) for o in outside.origins({line}))
    inside = read_dataflow(f"void f() {{\n{source}\n}}\n")
    assert all(o.line != 2 for o in inside.origins({2}))


@pytest.mark.parametrize(
    "unit",
    ["if (a) b; else ", "if (a) { ", "[", "a[", "x = y; ", "{", "(", "for (;;) ", "return; }",
     "a[b[0]] = 1; "],
)  # fmt: skip
def test_hostile_sources_take_linear_time(unit: str) -> None:
    def seconds(count: int) -> float:
        text = f"void f() {{\n{unit * count}\n"
        started = time.process_time()
        read_dataflow(text).origins({2})
        return time.process_time() - started

    short, long = (min(seconds(count) for _ in range(3)) for count in (400, 3_200))
    assert long < 8 * short * 4 + 0.05


def test_an_unwritten_array_has_the_origins_of_its_writes() -> None:
    flow = read_dataflow(SOURCE)
    writes = {("k", 12), ("for", 12)}
    assert writes <= {(o.name, o.line) for o in flow.reaching(17, "As")}
    assert not writes & {(o.name, o.line) for o in flow.reaching(17)}


@pytest.mark.parametrize(
    ("store", "sets"),
    [
        ("reinterpret_cast<float4*>(&s[i])[0]", True),
        ("*reinterpret_cast<float4*>(s + i)", True),
        ("((float4*)s)[i]", True),
        ("*(float4*)&s[i]", True),
        ("at(s, i)", False),
        ("at(s)[0]", False),
    ],
)
def test_a_store_through_a_cast_sets_its_array(store: str, sets: bool) -> None:
    text = f"void f(int i, float4 x) {{\n  __shared__ float s[64];\n  {store} = x;\n  g(s[i]);\n}}"
    assert (3 in {o.line for o in read_dataflow(text).reaching(4)}) == sets

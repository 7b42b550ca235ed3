"""What the figures show is what the kernels do: the numbers behind them, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.authoring.handouts import runs as measured
from grader.authoring.handouts.canvas import svg
from grader.authoring.handouts.figures import images as halo
from grader.authoring.handouts.figures import images as products
from grader.authoring.handouts.figures import memory as bank_conflicts
from grader.authoring.handouts.figures import memory as last_block
from grader.authoring.handouts.figures import memory as sectors
from grader.authoring.handouts.figures import memory as shared_array
from grader.authoring.handouts.figures import performance as gflops
from grader.authoring.handouts.figures import performance as occupancy_curves
from grader.authoring.handouts.figures import performance as roofline
from grader.authoring.handouts.figures import tiles as boundary_tiles
from grader.authoring.handouts.figures import tiles as register_tiles
from grader.authoring.handouts.figures import tiles as tile_phases
from grader.authoring.handouts.figures.tiles import JOINED, phase_table
from grader.authoring.handouts.runs import baseline, ran, solution, with_constants
from grader.faults import LabFault
from grader.launch import Launch
from grader.reports.explain.accesses import touches


def test_phase_table() -> None:
    rows = phase_table().replace(JOINED, "").splitlines()[2:]
    assert rows == [
        "| (0,0) | A[0][0], B[0][0] | A[0][0] B[0][0] + A[0][1] B[1][0]"
        " | A[0][2], B[2][0] | A[0][2] B[2][0] + A[0][3] B[3][0] |",
        "| (1,0) | A[0][1], B[0][1] | A[0][0] B[0][1] + A[0][1] B[1][1]"
        " | A[0][3], B[2][1] | A[0][2] B[2][1] + A[0][3] B[3][1] |",
        "| (0,1) | A[1][0], B[1][0] | A[1][0] B[0][0] + A[1][1] B[1][0]"
        " | A[1][2], B[3][0] | A[1][2] B[2][0] + A[1][3] B[3][0] |",
        "| (1,1) | A[1][1], B[1][1] | A[1][0] B[0][1] + A[1][1] B[1][1]"
        " | A[1][3], B[3][1] | A[1][2] B[2][1] + A[1][3] B[3][1] |",
    ]


def test_the_same_figure_is_the_same_bytes() -> None:
    first, second = svg(tile_phases.draw()), svg(tile_phases.draw())
    assert first == second and b"<dc:date>" not in first


@pytest.mark.parametrize(
    ("stride", "first", "due"), [(1, 0, 4), (1, 1, 5), (2, 0, 8), (8, 0, 32), (4, 0, 16)]
)
def test_sectors_of_a_request(stride: int, first: int, due: int) -> None:
    read, counted = sectors.request(stride, first)
    assert counted == due == len({number // 8 for number in read})


@pytest.mark.parametrize(("wide", "passes"), [(32, 32), (33, 1), (34, 2), (40, 8)])
def test_passes_of_a_column(wide: int, passes: int) -> None:
    banks, counted = bank_conflicts.column(wide)
    assert counted == passes
    assert banks == {row: row * wide % 32 for row in range(32)}


def test_boundary_tiles() -> None:
    seen = boundary_tiles.trace()
    told = {
        (name, phase): (
            set(boundary_tiles.loaded(seen, name, phase)),
            set(boundary_tiles.zeros(seen, name, phase)),
        )
        for name in "AB"
        for phase in (0, 1)
    }
    assert told == {
        ("A", 0): ({(2, 0), (2, 1)}, {(3, 0), (3, 1)}),
        ("B", 0): ({(0, 2), (1, 2)}, {(0, 3), (1, 3)}),
        ("A", 1): ({(2, 2)}, {(2, 3), (3, 2), (3, 3)}),
        ("B", 1): ({(2, 2)}, {(2, 3), (3, 2), (3, 3)}),
    }


def test_halo() -> None:
    seen = halo.trace()
    middle, corner = (halo.loads(seen, block) for block in ((1, 1, 0), (0, 0, 0)))
    assert len(middle) == len(corner) == 18 * 18
    assert {byte: thread for byte, (thread, _) in middle.items()} == {
        byte: byte % 256 for byte in range(324)
    }
    # Byte 0 of block (1,1) is pixel x = 15, y = 15; of block (0,0) the corner itself.
    assert middle[0][1] == 15 * halo.WIDTH + 15 and corner[0][1] == 0
    assert corner[1][1] == 0 and corner[2][1] == 1


def test_last_block() -> None:
    assert last_block.written() == {thread: 768 + thread for thread in range(232)}


def test_shared_array() -> None:
    held = shared_array.writers()
    assert held == {
        number: (number % 3, number % 9 // 3, "A" if number < 9 else "B") for number in range(18)
    }


def test_products() -> None:
    counted = products.reads()
    assert sum(counted.values()) == (5 * 16 - 6) * (5 * 7 - 6)
    assert (counted[0, 0], counted[0, 1], counted[1, 1], counted[3, 8]) == (9, 12, 16, 25)


def test_register_tiles() -> None:
    held = register_tiles.owned(register_tiles.trace(), "C", 128)
    due = {(row, column) for row in range(8) for column in (0, 1, 2, 3, 64, 65, 66, 67)}
    assert held[0] == due
    assert held[16] == {(row + 8, column) for row, column in due}


def test_occupancy() -> None:
    by_threads = dict(occupancy_curves.over_threads(32))
    assert (by_threads[32], by_threads[64], by_threads[672]) == (50, 100, 98.4375)
    by_shared = dict(occupancy_curves.over_shared(1024))
    # Two blocks of 113 KiB and the 1 KiB that the system takes of each fill the 228 KiB.
    assert (by_shared[113], by_shared[114], by_shared[227]) == (100, 50, 50)


DATA = {
    "device": "A GPU",
    "driver": "1.2",
    "date": "2026-01-01",
    "flop_rate": 6e13,
    "bandwidth": 3e12,
    "sizes": [128, 256],
    "rungs": {"naive": [1e11, 2e11], "cuBLAS": [1e12, 2e12]},
    "labs": {"vector-add": {"flop": 1e6, "bytes": 12e6, "seconds": 1e-5}},
}


def test_measured_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ladder.json"
    monkeypatch.setattr(measured, "data_file", lambda: file)
    assert gflops.draw() is None and roofline.draw() is None
    file.write_text(json.dumps(DATA), encoding="utf-8")
    figure = gflops.draw()
    assert figure is not None
    lines = {line.get_label(): list(line.get_ydata()) for line in figure.axes[0].get_lines()}
    assert lines == {"naive": [100, 200], "cuBLAS": [1000, 2000]}
    told = figure.axes[0].get_legend()
    assert told is not None
    assert [text.get_text() for text in told.get_texts()] == ["cuBLAS  2,000", "naive  200"]
    roof = roofline.draw()
    assert roof is not None
    x, y = roof.axes[0].get_lines()[1].get_data()
    assert (float(x[0]), float(y[0])) == (1 / 12, pytest.approx(100))
    x, y = roof.axes[0].get_lines()[2].get_data()
    assert ([float(one) for one in x], list(y)) == ([pytest.approx(256 / 6)], [200])
    assert roof.axes[0].get_ylim()[0] < 100
    assert "level from 20 FLOP/B" in roof.axes[0].get_title(loc="left")


def test_wrong_data_is_told_by_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ladder.json"
    monkeypatch.setattr(measured, "data_file", lambda: file)
    file.write_text(json.dumps({**DATA, "bandwidth": -1}), encoding="utf-8")
    with pytest.raises(LabFault, match="bandwidth") as caught:
        measured.measured()
    assert str(file) in caught.value.where


def test_a_constant_that_is_not_there_is_told() -> None:
    with pytest.raises(LabFault, match="#define TILES"):
        with_constants("#define TILE 16\n", Path("x.cu"), {"TILES": 2})


def test_an_unsound_kernel_makes_no_figure() -> None:
    source = solution("vector-add").replace("if (i < n)", "if (i <= n)")
    args = last_block.arguments(31)
    with pytest.raises(LabFault, match="vector_add"):
        ran(source, Launch("vector_add", (1, 1, 1), (32, 1, 1), args))
    sound = ran(baseline("vector-add"), Launch("vector_add", (1, 1, 1), (32, 1, 1), args))
    assert len({t.thread for t in touches(sound) if t.space == "global"}) == 31

"""The figures show what the kernels do: their numbers, compared with values computed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.authoring.handouts import runs
from grader.authoring.handouts.figures import memory, performance, stack, svg, tiles
from grader.faults import LabFault
from grader.launch import Launch
from grader.reports.explain.accesses import thread_accesses


def test_phase_table_names_every_load_and_product() -> None:
    rows = tiles.phase_table().replace(tiles.WORD_JOINER, "").splitlines()[2:]
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


def test_equal_figures_give_equal_bytes() -> None:
    first, second = svg(tiles.draw_tile_phases()), svg(tiles.draw_tile_phases())
    assert first == second and b"<dc:date>" not in first


def test_a_figure_stacks_on_a_phone() -> None:
    """Every panel is below the one before it, as wide as the figure, and none is empty."""
    figure = tiles.draw_tile_phases()
    titles = [axes.get_title(loc="left") for axes in figure.get_axes() if axes.has_data()]
    stack(figure)
    svg(figure)  # lays it out
    every = figure.get_axes()
    assert [axes.get_title(loc="left") for axes in every] == titles and len(titles) == 5
    boxes = [axes.get_position() for axes in every]
    assert all(one.y0 >= two.y1 for one, two in zip(boxes, boxes[1:], strict=False))
    assert all(box.width > 0.75 for box in boxes)
    assert figure.get_figwidth() * 96 < 390 - 2 * 16


@pytest.mark.parametrize(
    ("stride", "first", "expected"), [(1, 0, 4), (1, 1, 5), (2, 0, 8), (8, 0, 32), (4, 0, 16)]
)
def test_request_moves_the_sectors_that_its_floats_lie_in(
    stride: int, first: int, expected: int
) -> None:
    read, counted = memory.sectors_of_request(stride, first)
    assert counted == expected == len({number // 8 for number in read})


@pytest.mark.parametrize(("row_floats", "passes"), [(32, 32), (33, 1), (34, 2), (40, 8)])
def test_padding_reduces_the_passes_of_a_column(row_floats: int, passes: int) -> None:
    banks, counted = memory.banks_of_column(row_floats)
    assert counted == passes
    assert banks == {row: row * row_floats % 32 for row in range(32)}


def test_boundary_tiles_load_inside_and_store_zeros_outside() -> None:
    touched = tiles.boundary_touches()
    places = {
        (name, phase): (
            set(tiles.boundary_loads(touched, name, phase)),
            set(tiles.boundary_zeros(touched, name, phase)),
        )
        for name in "AB"
        for phase in (0, 1)
    }
    assert places == {
        ("A", 0): ({(2, 0), (2, 1)}, {(3, 0), (3, 1)}),
        ("B", 0): ({(0, 2), (1, 2)}, {(0, 3), (1, 3)}),
        ("A", 1): ({(2, 2)}, {(2, 3), (3, 2), (3, 3)}),
        ("B", 1): ({(2, 2)}, {(2, 3), (3, 2), (3, 3)}),
    }


def test_halo_is_loaded_in_two_rounds() -> None:
    touched = tiles.halo_touches()
    middle, corner = (tiles.halo_loads(touched, block) for block in ((1, 1, 0), (0, 0, 0)))
    assert len(middle) == len(corner) == 18 * 18
    assert {byte: thread for byte, (thread, _) in middle.items()} == {
        byte: byte % 256 for byte in range(324)
    }
    # Byte 0 of block (1,1) is pixel x = 15, y = 15; of block (0,0) the corner itself.
    assert middle[0][1] == 15 * tiles.HALO_WIDTH + 15 and corner[0][1] == 0
    assert corner[1][1] == 0 and corner[2][1] == 1


def test_last_block_writes_only_the_remaining_elements() -> None:
    assert memory.last_block_writes() == {thread: 768 + thread for thread in range(232)}


def test_shared_array_holds_both_tiles() -> None:
    assert memory.shared_writers() == {
        number: (number % 3, number % 9 // 3, "A" if number < 9 else "B") for number in range(18)
    }


def test_fewer_products_count_at_the_edges() -> None:
    counted = memory.picture_reads()
    assert sum(counted.values()) == (5 * 16 - 6) * (5 * 7 - 6)
    assert (counted[0, 0], counted[0, 1], counted[1, 1], counted[3, 8]) == (9, 12, 16, 25)


def test_register_tiles_belong_to_one_thread_each() -> None:
    elements = tiles.elements_by_thread(tiles.register_touches(), "C", 128)
    expected = {(row, column) for row in range(8) for column in (0, 1, 2, 3, 64, 65, 66, 67)}
    assert elements[0] == expected
    assert elements[16] == {(row + 8, column) for row, column in expected}


def test_occupancy_curves_match_the_arithmetic() -> None:
    by_threads = dict(performance.occupancy_by_threads(32))
    assert (by_threads[32], by_threads[64], by_threads[672]) == (50, 100, 98.4375)
    by_shared = dict(performance.occupancy_by_shared(1024))
    # Two blocks of 113 KiB, plus 1 KiB each that the system reserves, fill the 228 KiB.
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


def test_measured_figures_plot_the_data_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ladder.json"
    monkeypatch.setattr(runs, "data_file", lambda: file)
    assert performance.draw_gflops() is None and performance.draw_roofline() is None
    file.write_text(json.dumps(DATA), encoding="utf-8")
    figure = performance.draw_gflops()
    assert figure is not None
    lines = {line.get_label(): list(line.get_ydata()) for line in figure.axes[0].get_lines()}
    assert lines == {"naive": [100, 200], "cuBLAS": [1000, 2000]}
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["cuBLAS  2,000", "naive  200"]
    roof = performance.draw_roofline()
    assert roof is not None
    x, y = roof.axes[0].get_lines()[1].get_data()
    assert (float(x[0]), float(y[0])) == (1 / 12, pytest.approx(100))
    x, y = roof.axes[0].get_lines()[2].get_data()
    assert ([float(one) for one in x], list(y)) == ([pytest.approx(256 / 6)], [200])
    assert roof.axes[0].get_ylim()[0] < 100
    assert "level from 20 FLOP/B" in roof.axes[0].get_title(loc="left")


def test_invalid_data_is_reported_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ladder.json"
    monkeypatch.setattr(runs, "data_file", lambda: file)
    file.write_text(json.dumps({**DATA, "bandwidth": -1}), encoding="utf-8")
    with pytest.raises(LabFault, match="bandwidth") as caught:
        runs.read_measured()
    assert str(file) in caught.value.where


def test_missing_constant_is_reported() -> None:
    with pytest.raises(LabFault, match="#define TILES"):
        runs.with_constants("#define TILE 16\n", Path("x.cu"), {"TILES": 2})


def test_kernel_with_a_finding_makes_no_figure() -> None:
    source = runs.solution("vector-add").replace("if (i < n)", "if (i <= n)")
    args = memory.vector_arguments(31)
    with pytest.raises(LabFault, match="vector_add"):
        runs.run_traced(source, Launch("vector_add", (1, 1, 1), (32, 1, 1), args))
    launch = Launch("vector_add", (1, 1, 1), (32, 1, 1), args)
    sound = runs.run_traced(runs.baseline("vector-add"), launch)
    assert len({t.thread for t in thread_accesses(sound) if t.space == "global"}) == 31

"""thresholds.yaml: read, written, and proposed from measurements."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

import pytest
import yaml

from grader.faults import LabFault
from grader.labs.files import file_digest
from grader.labs.model import Band
from grader.labs.reading import list_labs, load_lab
from grader.labs.thresholds import (
    FAILING_MARGIN,
    FULL_MARGIN,
    MAX_MINIMUM_SHARE,
    MINIMUM_MARGIN,
    THRESHOLDS_FILE,
    DeviceThresholds,
    applicable_bands,
    outdated_devices,
    propose_band,
    read_thresholds,
    thresholds_text,
)

H100 = DeviceThresholds(
    minimum=1.17,
    full=1.4,
    speedups={"baseline.cu": 1.0, "tiled.cu": 1.52},
    dims={"n": 1024},
    kind="integer",
    sha256={"baseline.cu": file_digest(load_lab("tiled-matmul").baseline)},
    driver="580.65.06",
    toolchain={"nvcc": "13.0.88"},
    date=datetime.date(2026, 1, 31),
)
MEASURED = {"NVIDIA H100 80GB HBM3": H100, "Tesla T4": DeviceThresholds(minimum=2, full=3)}


def test_written_thresholds_are_read_unchanged(tmp_path: Path) -> None:
    text = thresholds_text("tiled", MEASURED)
    (tmp_path / THRESHOLDS_FILE).write_text(text)
    assert read_thresholds(tmp_path) == MEASURED
    assert text.startswith("# Measured, not chosen: `grader labs calibrate tiled --write`")
    assert list(yaml.safe_load(text)["devices"]) == sorted(MEASURED)


def test_lab_without_the_file_has_no_thresholds(tmp_path: Path) -> None:
    assert read_thresholds(tmp_path) == {}


def test_lab_has_the_thresholds_of_its_file(tmp_path: Path) -> None:
    source = load_lab("tiled-matmul").folder
    folder = tmp_path / "labs" / "tiled-matmul"
    shutil.copytree(source, folder)
    (folder / THRESHOLDS_FILE).write_text(thresholds_text("tiled-matmul", MEASURED))
    lab = load_lab("tiled-matmul", (tmp_path / "labs",))
    assert lab.bands == applicable_bands(MEASURED, {"n": 1024}, "integer", lab.baseline) == {
        "NVIDIA H100 80GB HBM3": Band(1.17, 1.4), "Tesla T4": Band(2, 3)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("launch", "holds"),
    [
        ("", True),
        ("dims: {n: 1024}, kind: integer", True),
        ("dims: {n: 1024}", True),
        ("dims: {n: 512}, kind: integer", False),
        ("dims: {n: 1024, m: 1024}", False),
        ("kind: random", False),
    ],
)
def test_thresholds_of_another_launch_do_not_apply(
    tmp_path: Path, launch: str, holds: bool
) -> None:
    """tiled-matmul times whole numbers with n = 1024."""
    folder = tmp_path / "tiled-matmul"
    shutil.copytree(load_lab("tiled-matmul").folder, folder)
    (folder / THRESHOLDS_FILE).write_text(f"devices:\n  T4: {{minimum: 2, full: 3, {launch}}}\n")
    assert load_lab("tiled-matmul", (tmp_path,)).bands == ({"T4": Band(2, 3)} if holds else {})


def test_thresholds_of_another_baseline_do_not_apply(tmp_path: Path) -> None:
    folder = tmp_path / "tiled-matmul"
    shutil.copytree(load_lab("tiled-matmul").folder, folder)
    (folder / THRESHOLDS_FILE).write_text(thresholds_text("tiled-matmul", MEASURED))
    baseline = folder / "baseline.cu"
    baseline.write_text(f"{baseline.read_text()}// slower\n")
    lab = load_lab("tiled-matmul", (tmp_path,))
    assert lab.bands == {"Tesla T4": Band(2, 3)}, "thresholds without a digest cannot be outdated"
    assert list(outdated_devices(MEASURED, baseline)) == ["NVIDIA H100 80GB HBM3"]
    assert list(outdated_devices(MEASURED, lab.solution)) == []


def test_shipped_thresholds_apply_to_their_labs() -> None:
    for name in list_labs():
        lab = load_lab(name)
        kept = read_thresholds(lab.folder)
        assert set(lab.bands) == set(kept), name
        assert all(one.dims and one.kind for one in kept.values()), name
        assert not list(outdated_devices(kept, lab.baseline)), name
        assert all(set(one.sha256) == {"baseline.cu", f"{name}.cu"} for one in kept.values()), name


MISTAKES = [
    ("devices:\n  T4: {minimum: 2, full: 1}\n", "full (1) must be above minimum (2)", "2"),
    ("devices:\n  T4: {minimum: 2}\n", "full", "2"),
    ("devices:\n  T4: {minimum: 1, full: 2,\n    date: soon}\n", "date", "3"),
    ("devices:\n  T4: {minimum: 2, full: .inf}\n", "full", "2"),
    ("devices:\n  T4: {minimum: .nan, full: 2}\n", "minimum", "2"),
    ("devices:\n  T4: {minimum: 0, full: 2}\n", "minimum", "2"),
    ("device:\n  T4: {minimum: 1, full: 2}\n", "device", "1"),
]


@pytest.mark.parametrize(("text", "message", "line"), MISTAKES)
def test_mistake_is_reported_with_its_line(
    tmp_path: Path, text: str, message: str, line: str
) -> None:
    (tmp_path / THRESHOLDS_FILE).write_text(text)
    with pytest.raises(LabFault) as caught:
        read_thresholds(tmp_path)
    assert message in str(caught.value)
    assert f"{THRESHOLDS_FILE}:{line}" in caught.value.where


PROPOSALS = [
    (1.0, 1.52, Band(1.14, 1.4)),
    (1.0, 1.41, Band(1.1, 1.3)),
    (1.0, 5.2, Band(2.11, 4.81)),
    (2.0, 5.2, Band(2.98, 4.81)),
    (1.0, 123.0, Band(10.2, 113.0)),
    (1.0, 1.2, None),
    (4.9, 5.2, None),
    (2.0, 1.5, None),
]


@pytest.mark.parametrize(("failing", "solution", "expected"), PROPOSALS)
def test_band_is_proposed_where_there_is_room(
    failing: float, solution: float, expected: Band | None
) -> None:
    made = propose_band(failing, solution)
    assert made == expected
    if made is not None:
        assert solution >= MINIMUM_MARGIN * made.minimum
        assert solution >= FULL_MARGIN * made.full
        assert made.minimum >= 0.99 * FAILING_MARGIN * failing
        assert made.minimum <= 1.01 * MAX_MINIMUM_SHARE * made.full

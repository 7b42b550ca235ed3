"""Machine files: parameters from a sweep, and what is written is read again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from grader.faults import LabFault
from grader.grading.estimate.fit import Sample
from grader.grading.estimate.machine import (
    HEAD,
    file_name,
    file_text,
    fitted,
    machine_of,
    read_machine,
    rounded,
)
from grader.grading.estimate.model import Fit, Machine
from grader.simulator.workload import Work
from tests.command import ROOT
from tests.grading.estimate.made import (
    LATENCIES,
    MULTIPROCESSORS,
    NAME,
    RATES,
    a_file,
    a_machine,
    points_of,
    samples,
)


def derived(points: object) -> Machine:
    return machine_of(points, NAME, (9, 0), MULTIPROCESSORS)  # type: ignore[arg-type]


def test_the_parameters_of_a_machine_are_found_in_its_sweep() -> None:
    made = derived(points_of(a_machine()))
    assert dict(made.rates) == pytest.approx(RATES)
    assert dict(made.latencies) == pytest.approx(LATENCIES)
    assert made.blocks == pytest.approx(1e9)


def test_a_sweep_without_a_point_is_refused() -> None:
    points = points_of(a_machine())
    del points["l2"]
    with pytest.raises(LabFault, match="no point `l2`"):
        derived(points)


def test_times_that_do_not_grow_are_refused() -> None:
    points = points_of(a_machine())
    points["shared"] = [[1e6, 1e-3], [2e6, 1e-3]]
    with pytest.raises(LabFault, match="`shared` do not grow"):
        derived(points)


def test_a_rate_that_no_gpu_has_is_refused() -> None:
    """As of a microbenchmark of which the assembler left something out."""
    points = points_of(a_machine())
    points["conversion"] = [[1e6, 1e-9], [2e6, 2e-9]]
    with pytest.raises(LabFault, match="`conversion` ran more instructions than can be issued"):
        derived(points)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kernels = tuple(
        Sample(one.lab, one.file, rounded(one.seconds), Work(**rounded(asdict(one.work))))
        for one in samples(a_machine(), Fit(2.0, 1.1))
    )
    path = tmp_path_factory.mktemp("machines") / file_name(NAME)
    path.write_text(file_text(a_file(kernels, {"lab-1": "abc"})))
    return path


def test_a_file_has_what_was_measured(written: Path) -> None:
    text, read = written.read_text(), read_machine(written)
    assert text.startswith(HEAD) and written.name == "nvidia-made.yaml"
    assert file_text(read) == text
    assert len(read.kernels) == 16 and read.baselines == {"lab-1": "abc"}
    assert read.machine.rates["l2"] == pytest.approx(RATES["l2"], rel=1e-4)


def check_file(path: Path) -> None:
    """Require that the fit and the errors of a file follow from its measurements."""
    read = read_machine(path)
    fit, errors, _ = fitted(read.kernels, read.machine)
    assert fit == read.fit
    said, found = asdict(read.errors), asdict(errors)
    assert found.pop("wrong_order") == said.pop("wrong_order")
    assert found == pytest.approx(said, abs=1e-4)
    assert path.name == file_name(read.device)


def test_fits_of_machine_files_follow_from_their_measurements(written: Path) -> None:
    for path in (written, *sorted((ROOT / "machines").glob("*.yaml"))):
        check_file(path)


def test_a_fit_by_hand_is_detected(written: Path, tmp_path: Path) -> None:
    text = written.read_text()
    assert "exponent: 2.0" in text
    (tmp_path / written.name).write_text(text.replace("exponent: 2.0", "exponent: 3.0"))
    with pytest.raises(AssertionError):
        check_file(tmp_path / written.name)


BROKEN = ["", "device: x\n", "[1, 2]\n", "device: [\n", "kernels: [{lab: a}]\n"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_reported(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    with pytest.raises(LabFault, match="not a machine file") as caught:
        read_machine(path)
    assert caught.value.where == str(path)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="cannot read the file"):
        read_machine(tmp_path / "none.yaml")

"""`%%warpgrade` in a shell of IPython: lines, points, pictures, results, refusals."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from grader.cli import doctor
from grader.gpu import devices, driver
from grader.gpu.devices import Device, Toolkit
from grader.gpu.driver import driver_too_old, supported_release
from grader.notebook.cell import CellResult, CheckFailed, NotGraded
from grader.reports.redact import redact
from tests.command import ROOT
from tests.made import a_grade, a_result

LAB = "vector-add"
SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
WRONG = next((ROOT / "solutions" / LAB / "wrong").glob("invalid-access*.cu")).read_text()
ERROR = SOLUTION.replace("[i] =", "[i] = nowhere +", 1)


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell()
    made.run_cell("%load_ext warpgrade")
    yield made
    made.run_cell("%unload_ext warpgrade")
    assert "warpgrade" not in made.magics_manager.magics["cell"]
    made.history_manager.end_session()


def run(shell: InteractiveShell, cell: str) -> CellResult:
    done = shell.run_cell(cell, store_history=True)
    done.raise_error()
    assert isinstance(done.result, CellResult)
    return done.result


def line_of(cell: str, part: str) -> int:
    return next(n for n, line in enumerate(cell.split("\n"), 1) if part in line)


def test_findings_are_at_the_lines_of_the_cell(shell: InteractiveShell) -> None:
    for cell in (f"%%warpgrade {LAB}\n{WRONG}", f"\n\n\n%%warpgrade {LAB} --to mine\n{WRONG}"):
        result = run(shell, cell)
        line = line_of(cell, "[i] =")
        finding = result.check("memory").findings[0]
        assert finding.line == line and finding.file == f"In[{shell.execution_count - 1}]"
        page = result._repr_html_()
        row = re.search(rf'id="wg-\w+-L{line}"[^\n]*', page)
        assert row and "[i]" in re.sub("<[^>]*>", "", row[0])
        assert f"{result.score:g} of {result.max_score:g}" in page
        assert f"at In[{shell.execution_count - 1}]:{line} " in repr(result)
    assert shell.user_ns["mine"] is shell.user_ns["_warpgrade"] is result


def test_a_result_answers_test_cells(shell: InteractiveShell) -> None:
    wrong, right = (run(shell, f"%%warpgrade {LAB}\n{text}") for text in (WRONG, SOLUTION))
    assert (wrong.passed, right.passed) == (False, True)
    right.require()
    wrong.require("sync")
    with pytest.raises(CheckFailed, match="invalid-access"):
        wrong.require("memory")
    with pytest.raises(CheckFailed, match="memory"):
        wrong.require()
    with pytest.raises(CheckFailed, match="quiz: there is no answers.yaml"):
        right.require("quiz")
    with pytest.raises(KeyError, match="there is no check `nothing`"):
        right.require("nothing")
    assert (right.points(), right.points(10), wrong.points(10)) == (100, 10, 8)
    assert right.to_json()["score"] == 100
    assert "<svg" in right._repr_html_() and "requests" in right._repr_html_()


def test_a_system_error_is_no_wrong_answer() -> None:
    result = CellResult(a_grade(a_result("sync", "error", 0, 15, summary="no memory")), "")
    for ask in (result.require, result.points, lambda: result.passed):
        with pytest.raises(NotGraded, match="no points are lost.*no memory"):
            ask()
    assert "incomplete" in result._repr_html_()


def test_the_page_is_one_section_without_a_script(shell: InteractiveShell) -> None:
    hostile = ERROR.replace("nowhere", "</section><script>alert(1)</script>")
    for text in (hostile, SOLUTION):
        page = run(shell, f"%%warpgrade {LAB}\n{text}")._repr_html_()
        assert page.startswith("<section ") and page.rstrip().endswith("</section>")
        assert page.count("<section") == page.count("</section>") == 1
        assert "<script" not in page and not re.search(r"<[^>]*\son\w+=", page)
        assert not re.search(r"(?:src|url)\s*[=(]", page.split("</style>")[0])
        style = re.sub(r"/\*.*?\*/", "", page.split("<style>")[1].split("</style>")[0])
        selectors = [s for rule in style.split("}")[:-1] for s in rule.split("{")[0].split(",")]
        assert selectors and all(s.strip().startswith(".warpgrade") for s in selectors)
        anchors, links = (
            set(re.findall(rf'{name}="#?(wg-[^"]*)"', page)) for name in ("id", "href")
        )
        assert links <= anchors


@pytest.mark.parametrize(
    ("line", "said"),
    [("nothing", "there is no lab"), ("", "required: lab"), (f"{LAB} --nope", "unrecognized"),
     (f"{LAB} --to 1x", "not a name"), (f"{LAB} 'a", "quotation"), (f"{LAB} --on tpu", "--on")],
)  # fmt: skip
def test_a_mistake_in_the_line_is_said(
    line: str, said: str, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    done = shell.run_cell(f"%%warpgrade {line}\nx")
    assert not done.success and done.result is None
    printed = capsys.readouterr()
    assert said in printed.out + printed.err and "Traceback" not in printed.out


def test_what_cannot_be_submitted_is_graded(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WARPGRADE_URL", raising=False)
    result = run(shell, f"%%warpgrade {LAB} --submit\n{ERROR}")
    assert result.notes[0].startswith("Not submitted: the address of the course is not known")
    assert "Not submitted" in repr(result) and "Not submitted" in result._repr_html_()


def test_what_is_submitted_is_the_cell(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: dict[str, Any] = {}

    def answer(course: Any, path: str, files: Any) -> Any:
        sent[path] = files["file"]
        return {"id": 7}

    monkeypatch.setattr("grader.cli.remote.RemoteCourse.send", answer)
    monkeypatch.setenv("WARPGRADE_URL", "https://course.example")
    monkeypatch.setenv("WARPGRADE_TOKEN", "t")
    result = run(shell, f"%%warpgrade {LAB} --submit\n{ERROR}")
    assert sent == {f"/labs/{LAB}/submissions": (f"{LAB}.cu", f"\n{ERROR}".encode())}
    assert result.notes == ("Stored as submission 7: https://course.example/submissions/7",)


@pytest.fixture
def old_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU whose driver runs CUDA 12.4, and a toolkit of CUDA 13.0."""
    source = tmp_path / "driver.c"
    source.write_text("int cuDriverGetVersion(int *v) { *v = 12040; return 0; }\n")
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
    nvcc.chmod(0o755)
    gpu = (Device(Path("/dev/nvidia0"), "", "Tesla T4"),)
    for module in (devices, driver):
        monkeypatch.setattr(module, "library_folder", lambda: tmp_path)
        monkeypatch.setattr(module, "toolkit", lambda: Toolkit(nvcc))
    monkeypatch.setattr(driver, "driver_version", lambda: "550.54.15")
    monkeypatch.setattr(devices, "devices", lambda: gpu)
    monkeypatch.setattr("grader.notebook.magic.devices", lambda: gpu)
    monkeypatch.setattr(devices, "find_spec", lambda name: "there")


@pytest.mark.parametrize("where", ["gpu", "auto"])
def test_a_driver_that_is_too_old_is_named_and_the_simulator_goes_on(
    where: str, old_driver: None, shell: InteractiveShell
) -> None:
    result = run(shell, f"%%warpgrade {LAB} --on {where}\n{SOLUTION}")
    assert result.passed and result.grade.backend == "sim"
    (note,) = result.notes
    assert (
        "the NVIDIA driver 550.54.15 is too old for this machine's CUDA toolkit: the driver runs "
        "CUDA 12.4 and older, the toolkit is CUDA 13.0" in note
    )
    assert "install a driver for CUDA 13 (580 or newer), or the CUDA toolkit 12" in note
    assert "550.54.15 is too old" in result._repr_html_()
    diagnosis = doctor.gpu()
    assert diagnosis.state == "note" and "550.54.15 is too old" in diagnosis.observed


def test_a_driver_that_is_new_enough_or_silent_is_no_fault(
    old_driver: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert driver_too_old() is not None
    assert supported_release(tmp_path / "libcuda.so.1") == (12, 4)
    assert supported_release(tmp_path / "none.so") is None
    assert supported_release(Path(ctypes.util.find_library("c") or "libc.so.6")) is None
    for found in ((13, 0), (14, 1), None):
        monkeypatch.setattr(driver, "supported_release", lambda path, found=found: found)
        assert driver_too_old() is None


def test_hidden_parts_of_a_lab_are_not_in_a_result(shell: InteractiveShell) -> None:
    result = run(shell, f"%%warpgrade {LAB} --no-pictures\n{WRONG}")
    assert redact(result.grade) == result.grade and result.explanation is None
    assert all(case.visibility == "public" for case in result.grade.cases)

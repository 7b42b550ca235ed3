"""One submission end to end: real labs, the real compiler, the real simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import grader.grading.pipeline as flow
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.grade import grade
from grader.grading.pipeline import Grade, grade_unreadable
from grader.labs.model import CheckSpec, Lab
from grader.labs.reading import load_lab
from grader.launch import Finding
from grader.reports.redact import redact
from grader.reports.text import grade_report, render
from grader.submissions.files import Submission, read_submission
from tests.grading.test_record import held

ROOT = Path(__file__).parents[2]
LABS = ("vector-add", "tiled-matmul", "boundary-matmul", "dynamic-tile")

VECTOR_ADD = """\
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i]
}
"""


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def submitted(text: str, name: str = "mine.cu") -> Submission:
    return Submission(name, text.encode(), "5e" * 32)


def solution(lab: Lab) -> Submission:
    return read_submission(ROOT / "solutions" / lab.name / f"{lab.name}.cu")


def wrong(lab: str, name: str, **more: Any) -> Grade:
    file = ROOT / "solutions" / lab / "wrong" / f"{name}.cu"
    return grade(load_lab(lab), read_submission(file), **more)


def statuses(graded: Grade) -> dict[str, str]:
    return {check.name: check.status for check in graded.checks}


def kinds(graded: Grade) -> set[str]:
    found = (f for check in graded.checks for f in check.findings)
    return {finding.kind for finding in found if finding.severity == "error"}


@pytest.mark.parametrize("name", LABS)
def test_solution_of_each_lab_earns_all_evaluated_points(name: str) -> None:
    lab = load_lab(name)
    graded = grade(lab, solution(lab), visibility="all")
    assert kinds(graded) == set()
    assert graded.score.points == graded.score.judged_max
    assert graded.score.max_score == lab.max_score
    assert graded.exit_code == 0
    assert {case.status for case in graded.cases} == {"pass"}
    read = held(graded)
    assert read.status == "graded"
    assert read.provenance.started.endswith("Z")


def test_file_that_does_not_compile_earns_nothing_and_shows_errors() -> None:
    graded = grade(load_lab("vector-add"), submitted(VECTOR_ADD))
    assert graded.score.points == 0
    assert graded.exit_code == 1
    assert graded.checks[0].name == "compile"
    assert statuses(graded).pop("compile") == "fail"
    assert {statuses(graded)[name] for name in ("output", "memory")} == {"blocked"}
    first = graded.checks[0].findings[0]
    assert (first.kind, first.line) == ("compile-error", 5)
    assert "expected a" in render(grade_report(graded))
    held(graded)


def test_wrong_kernel_name_is_reported_with_the_right_one() -> None:
    text = VECTOR_ADD.replace("vector_add", "vector_sum").replace("int n", "int n, int m")
    text = text.replace("b[i]\n", "b[i];\n")
    graded = grade(load_lab("vector-add"), submitted(text))
    assert graded.score.points == 0
    assert "vector_add(" in render(grade_report(graded))


TWINS = [
    ("tiled-matmul", "race-missing-second-barrier", "race", "sync"),
    ("tiled-matmul", "missing-feature-no-shared-memory", "missing-feature", "resources"),
    ("tiled-matmul", "wrong-output-transposed-index", "wrong-output", "output"),
    ("boundary-matmul", "invalid-access-no-row-guard", "invalid-access", "memory"),
    ("boundary-matmul", "barrier-divergence-barrier-in-guard", "barrier-divergence", "sync"),
    ("vector-add", "unwritten-output-last-element", "unwritten-output", "output"),
    ("dynamic-tile", "wrong-output-fixed-choice", "wrong-output", "output"),
]


@pytest.mark.parametrize(("lab", "name", "kind", "check"), TWINS, ids=[t[1] for t in TWINS])
def test_incorrect_variant_fails_its_check(lab: str, name: str, kind: str, check: str) -> None:
    graded = wrong(lab, name)
    assert kind in kinds(graded)
    assert statuses(graded)[check] == "fail"
    assert graded.score.points < graded.score.judged_max
    assert graded.exit_code == 1
    held(graded)


def test_wrong_tile_is_reported_with_its_call() -> None:
    text = render(grade_report(wrong("dynamic-tile", "wrong-output-fixed-choice"), every=True))
    assert "choose_tile(512, 49152) answered tile = " in " ".join(text.split())


def test_hidden_case_names_are_not_shown_to_students() -> None:
    lab = load_lab("boundary-matmul")
    hidden = [case for case in lab.cases if case.visibility == "hidden"]
    graded = wrong(lab.name, "wrong-output-last-phase-dropped", visibility="all")
    told = repr(redact(graded).to_json()) + render(grade_report(redact(graded)))
    assert statuses(graded)["output"] == "fail"
    assert all(case.name in repr(graded) for case in hidden)
    assert not any(case.name in told or case.size in told for case in hidden)


PRINTS = VECTOR_ADD.replace(
    "b[i]\n", 'b[i]; if (n == 1 && !i) printf("sum %g, i %d\\x1b[31m\\n", c[i], i);\n'
)


def test_what_the_kernel_prints_is_shown_and_is_in_no_record() -> None:
    graded = grade(load_lab("vector-add"), submitted(PRINTS))
    case, text = graded.printed
    assert case == "one-element" and text.endswith("i 0\x1b[31m\n")
    told = render(grade_report(graded))
    assert "printed by the kernel in case one-element:\n    sum" in told and "\x1b" not in told
    assert "printed" not in str(graded.to_json())


def test_what_it_prints_in_a_hidden_case_is_not_shown() -> None:
    lab = load_lab("vector-add")
    hidden = next(case for case in lab.cases if case.visibility == "hidden")
    text = PRINTS.replace("n == 1", f"n == {hidden.dims['n']}")
    assert grade(lab, submitted(text), visibility="all").printed == ("", "")


def test_progress_reports_each_step() -> None:
    lab, seen = load_lab("vector-add"), []
    grade(lab, solution(lab), progress=lambda *step: seen.append(step))
    assert seen == [("compile", 1, 3), ("run", 2, 3), ("check", 3, 3)]


def test_the_same_grade_again() -> None:
    lab = load_lab("tiled-matmul")
    first, again = (grade(lab, solution(lab), seed=b"s", threads=t) for t in (1, 2))
    assert first.score.status == "graded"
    assert first.checks == again.checks
    assert first.provenance.seed == again.provenance.seed
    assert first.provenance.seed != grade(lab, solution(lab), seed=b"t").provenance.seed


def test_a_lab_s_own_mistake_is_the_lab_s_fault() -> None:
    lab = replace(load_lab("vector-add"), checks=(CheckSpec("outputs", 1, {}),))
    with pytest.raises(LabFault, match="there is no check `outputs`"):
        grade(lab, submitted(VECTOR_ADD))


def broken(*_: object, **__: object) -> Any:
    raise MachineFault("no memory is left", fix="close something")


@pytest.mark.parametrize("step", ["compile_source", "run_cases"])
def test_system_error_costs_no_points(
    step: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    lab = load_lab("vector-add")
    monkeypatch.setattr(flow, step, broken)
    graded = grade(lab, solution(lab))
    assert (graded.score.status, graded.score.judged_max) == ("incomplete", 0)
    assert set(statuses(graded).values()) == {"error"}
    assert graded.exit_code == 3
    assert "no memory is left; close something" in render(grade_report(graded))
    held(graded)


def test_a_file_that_is_no_source_is_graded_too() -> None:
    finding = Finding("compile-error", "error", "a binary file: byte 3 is NUL", file="x.cu", line=1)
    fault = StudentFault("a binary file", findings=(finding,))
    graded = grade_unreadable(load_lab("vector-add"), "x.cu", fault, student="s07")
    assert (graded.score.points, graded.student, graded.exit_code) == (0, "s07", 1)
    assert "byte 3 is NUL" in render(grade_report(graded))
    held(graded)


SPOILED: list[tuple[str, Callable[[Path], object], str]] = [
    ("missing", lambda file: file.unlink(), "cannot read the baseline"),
    ("no kernel", lambda file: file.write_text("int x = ;"), "the baseline does not compile"),
]


@pytest.mark.parametrize(("spoil", "said"), [s[1:] for s in SPOILED], ids=[s[0] for s in SPOILED])
def test_a_broken_baseline_is_the_lab_s_fault(
    spoil: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    lab = load_lab("tiled-matmul")
    folder = tmp_path / "labs" / lab.name
    folder.mkdir(parents=True)
    for file in lab.folder.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    spoil(folder / "baseline.cu")
    with pytest.raises(LabFault, match=said):
        grade(load_lab(lab.name, [tmp_path / "labs"]), solution(lab))

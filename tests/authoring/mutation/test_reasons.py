"""Reasons for surviving mutants: matched by the text of the line, reported when unused."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.mutation.mutants import Mutant, MutantResult, Verdict
from grader.authoring.mutation.report import apply_reasons
from grader.faults import LabFault

WAS = "if (own[i] > 0) {"


def result(
    outcome: str = "survived", was: str = WAS, change: str = "true", line: int = 7
) -> MutantResult:
    mutant = Mutant(f"guard-{line}-1", "guard", line, was, "if (true) {", change, f"...{line}")
    return MutantResult(mutant, Verdict(outcome))  # type: ignore[arg-type]


def entry(was: str = WAS, change: str = "true", more: str = "") -> str:
    return (
        f'  - operator: guard\n    line: "{was}"\n    change: "{change}"\n'
        f"    reason: adding zero changes nothing\n{more}"
    )


def written(folder: Path, *entries: str) -> Path:
    path = folder / "equivalent.yaml"
    path.write_text("mutants:\n" + "".join(entries))
    return path


def test_missing_file_gives_no_reason(tmp_path: Path) -> None:
    explained = apply_reasons(tmp_path / "equivalent.yaml", [result()])
    assert explained.results == (result(),) and explained.unused == ()
    assert explained.results[0].survives


@pytest.mark.parametrize("line", [7, 70])
def test_reason_matches_the_line_anywhere_in_the_file(tmp_path: Path, line: int) -> None:
    explained = apply_reasons(written(tmp_path, entry()), [result(line=line)])
    (one,) = explained.results
    assert not one.survives and one.reason == "adding zero changes nothing" and one.only == ""
    assert explained.unused == ()


def test_reason_may_be_that_only_speed_can_catch_the_mutant(tmp_path: Path) -> None:
    path = written(tmp_path, entry(more="    only: speed\n"))
    (one,) = apply_reasons(path, [result()]).results
    assert one.only == "speed" and not one.survives


@pytest.mark.parametrize(
    "one",
    [result("caught"), result("same-ptx"), result(was="if (own[j] > 0) {"), result(change="false")],
)
def test_unused_reason_is_reported_with_its_line(tmp_path: Path, one: MutantResult) -> None:
    path = written(tmp_path, entry(was="something else"), entry())
    other = result(was="something else")
    explained = apply_reasons(path, [other, one])
    assert explained.results[1] == one
    (message,) = explained.unused
    assert message.startswith(f"{path}:6: no surviving mutant is guard of `{WAS}`: true")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (entry(more="    only: luck\n"), "only"),
        (entry().replace("adding zero changes nothing", "so"), "reason"),
        (entry().replace("operator", "operater"), "operater"),
        ("  nothing\n", "mutants"),
    ],
)
def test_invalid_file_is_a_fault_of_the_lab(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(LabFault) as fault:
        apply_reasons(written(tmp_path, text), [result()])
    assert said in str(fault.value) and "equivalent.yaml:" in str(fault.value)

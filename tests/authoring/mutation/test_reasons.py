"""Reasons for mutants that survive: matched by the line's text, stale ones told with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.mutation.demands import apply_reasons
from grader.authoring.mutation.mutants import Mutant
from grader.authoring.mutation.verdict import Tried, Verdict
from grader.faults import LabFault

WAS = "if (own[i] > 0) {"


def tried(outcome: str = "survived", was: str = WAS, change: str = "true", line: int = 7) -> Tried:
    mutant = Mutant(f"guard-{line}-1", "guard", line, was, "if (true) {", change, f"...{line}")
    return Tried(mutant, Verdict(outcome))  # type: ignore[arg-type]


def entry(was: str = WAS, change: str = "true", more: str = "") -> str:
    return (
        f'  - operator: guard\n    line: "{was}"\n    change: "{change}"\n'
        f"    reason: adding zero changes nothing\n{more}"
    )


def written(folder: Path, *entries: str) -> Path:
    path = folder / "equivalent.yaml"
    path.write_text("mutants:\n" + "".join(entries))
    return path


def test_no_file_gives_no_reason(tmp_path: Path) -> None:
    reasoned = apply_reasons(tmp_path / "equivalent.yaml", [tried()])
    assert reasoned.tried == (tried(),) and reasoned.stale == ()
    assert reasoned.tried[0].survives


@pytest.mark.parametrize("line", [7, 70])
def test_a_reason_holds_wherever_the_line_stands(tmp_path: Path, line: int) -> None:
    reasoned = apply_reasons(written(tmp_path, entry()), [tried(line=line)])
    (one,) = reasoned.tried
    assert not one.survives and one.reason == "adding zero changes nothing" and one.only == ""
    assert reasoned.stale == ()


def test_a_reason_may_be_that_speed_alone_sees_it(tmp_path: Path) -> None:
    path = written(tmp_path, entry(more="    only: speed\n"))
    (one,) = apply_reasons(path, [tried()]).tried
    assert one.only == "speed" and not one.survives


@pytest.mark.parametrize(
    "one",
    [tried("caught"), tried("same-ptx"), tried(was="if (own[j] > 0) {"), tried(change="false")],
)
def test_a_reason_that_fits_no_survivor_is_stale(tmp_path: Path, one: Tried) -> None:
    path = written(tmp_path, entry(was="something else"), entry())
    other = tried(was="something else")
    reasoned = apply_reasons(path, [other, one])
    assert reasoned.tried[1] == one
    (stale,) = reasoned.stale
    assert stale.startswith(f"{path}:6: no survivor is guard of `{WAS}`: true")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (entry(more="    only: luck\n"), "only"),
        (entry().replace("adding zero changes nothing", "so"), "reason"),
        (entry().replace("operator", "operater"), "operater"),
        ("  nothing\n", "mutants"),
    ],
)
def test_a_wrong_file_is_the_labs_fault(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(LabFault) as fault:
        apply_reasons(written(tmp_path, text), [tried()])
    assert said in str(fault.value) and "equivalent.yaml:" in str(fault.value)

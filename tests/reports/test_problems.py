"""Problems for editors and CI: places, formats, and texts of students that change neither."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.checks.causes import Clue, Explanation
from grader.grading.record import Grade, dumps
from grader.launch import Finding
from grader.reports.problems import (
    Place,
    Places,
    Problem,
    gcc_lines,
    github_lines,
    problems,
    shown_file,
)
from grader.reports.sarif import sarif_log
from tests.made import RACE, SOURCE, a_grade, a_result

SCHEMA = (Path(__file__).parent / "sarif" / "sarif-2.1.0-rtm.4.json").read_text("utf-8")
UNBALANCED = "{2}]?$"  # the end of one pattern of the schema, which only lenient readers take
VALID = jsonschema_rs.Draft4Validator(json.loads(SCHEMA.replace(UNBALANCED, "{2}$")))
GCC = re.compile(r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error|note):\s+(.*)$")
"""What the problem matcher `$gcc` of VS Code reads of a line, with notes."""

ROOT = Path("work/tiled.cu")


def grade_of(
    *findings: Finding, file: str = "tiled.cu", explanation: Explanation | None = None
) -> Grade:
    check = a_result("sync", "fail", 0, 15, findings=findings)
    return replace(a_grade(check), file=file, explanation=explanation or Explanation())


def found_in(*findings: Finding, root: Path = ROOT, name: str = "tiled.cu") -> tuple[Problem, ...]:
    return problems(grade_of(*findings, file=name), root, SOURCE)


def test_a_race_is_an_error_with_both_accesses() -> None:
    assert list(gcc_lines(found_in(RACE))) == [
        "work/tiled.cu:7:5: error: race: read-after-write hazard on shared `As` (4 bytes at offset "
        "0x44) in block (0,0,0). Threads read `As` before other threads have written it. Put "
        "__syncthreads() between line 6 and line 7.",
        "work/tiled.cu:6:5: note: write by thread (1,1,0)",
        "work/tiled.cu:7:5: note: read by thread (0,1,0)",
    ]


def test_a_cause_comes_before_the_finding_that_shows_it() -> None:
    clue = Clue("missing-barrier", 5, text="    int row = 1;")
    found = problems(grade_of(RACE, explanation=Explanation((clue,))), ROOT, SOURCE)
    assert [(p.kind, p.place.line) for p in found] == [("missing-barrier", 5)]
    assert [o.place.line for o in found[0].related] == [7, 6, 7]
    every = problems(grade_of(RACE, explanation=Explanation((clue,))), ROOT, SOURCE, every=True)
    assert [(p.kind, p.place.line) for p in every] == [("race", 7)]


@pytest.mark.parametrize(
    ("root", "graded", "name", "path", "inside"),
    [
        ("work/a.cu", "a.cu", "a.cu", "work/a.cu", ()),
        ("work/a.cu", "a.cu", "tile.cuh", "work/tile.cuh", ()),
        ("work/a.cu", "a.cu", "answers.yaml", "work/answers.yaml", ()),
        ("a.ipynb", "a.ipynb[cell 3]", "a.ipynb[cell 3]", "a.ipynb", ("cell 3",)),
        ("a.ipynb", "a.ipynb[cell 3]", "a.ipynb[cell 12]", "a.ipynb", ("cell 12",)),
        ("a.ipynb", "a.ipynb[cell 3]", "tile.cuh", "a.ipynb", ("tile.cuh",)),
        ("hw.zip", "hw.zip:a.cu", "hw.zip:a.cu", "hw.zip", ("a.cu",)),
        ("hw.zip", "hw.zip:b.ipynb[cell 2]", "hw.zip:b.ipynb[cell 2]", "hw.zip",
         ("b.ipynb", "cell 2")),
        ("hw.zip", "hw.zip:a.cu", "src/tile.cuh", "hw.zip", ("src/tile.cuh",)),
        ("hw.zip", "hw.zip:a.cu", "answers.yaml", "answers.yaml", ()),
    ],
)  # fmt: skip
def test_a_finding_leads_to_its_file(
    root: str, graded: str, name: str, path: str, inside: tuple[str, ...]
) -> None:
    place = Places.of(Path(root), graded, "").at(name, 4)
    assert (place.path, place.inside, place.line) == (Path(path), inside, 4)


def test_a_finding_leads_to_its_file_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.ipynb").touch()
    places = Places.of(tmp_path, "src/a.cu", "")
    assert places.at("src/a.cu", 1).path == tmp_path / "src" / "a.cu"
    assert places.at("a.ipynb[cell 1]", 1) == Place(tmp_path / "src/a.ipynb", ("cell 1",), 1)
    assert places.at("b.zip:a.cu", 1) == Place(tmp_path / "b.zip", ("a.cu",), 1)


HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\n\r\x85\u2028\x1b\x00:,%=[]#\u202e`\t\x0b\x0c\udcff"),
    ),
    max_size=12,
)
ATTACKS = st.one_of(
    HOSTILE,
    st.sampled_from(
        ("a.cu:1:1: error: x", "\n::error::x", "::error file=b::x", "##[error]x", " ::warning::x",
         "%0A::error::x", "x\r::set-output name=a::b", "::stop-commands::x", "1:1: error: y")
    ),
)  # fmt: skip


def is_a_name(text: str) -> bool:
    """Whether a file can have the name; a byte that is no UTF-8 is a surrogate of one range."""
    no_file = re.search("[/\0\ud800-\udc7f\udd00-\udfff]", text)
    return text not in ("", ".", "..") and no_file is None


@settings(max_examples=150)
@given(text=ATTACKS, name=ATTACKS.filter(is_a_name))
def test_no_text_adds_a_line_a_command_or_a_problem(text: str, name: str) -> None:
    finding = replace(
        RACE, message=text, variable=text, hint=text, text=text, file=name, kind=text or "race"
    )
    found = problems(grade_of(finding, file=name), Path(name), text)
    assert len(found) == 1
    lines = list(gcc_lines(found))
    own = [shown_file(p) for p in (found[0].place, *(o.place for o in found[0].related))]
    assert len(lines) == len(own)
    for line, file in zip(lines, own, strict=True):
        assert len(line.splitlines()) == 1 and not line.lstrip().startswith("::")
        assert "##[" not in line
        match = GCC.match(line)
        assert match and match[1] == file and int(match[2]) in (6, 7)
    commands = list(github_lines(found, grade_of(finding, file=name)))
    assert len(commands) == 2
    for line in commands:
        command, values, said = workflow_command(line)
        assert command in ("error", "notice") and said.strip()
        assert set(values) <= {"file", "line", "col", "title"}
    values = workflow_command(commands[0])[1]
    assert (values["line"], values["col"]) == (str(found[0].place.line), "1")
    assert values["title"] == found[0].kind
    valid(sarif_log(grade_of(finding, file=name), found, Path()))


def workflow_command(line: str) -> tuple[str, dict[str, str], str]:
    """Read a line as the runner of GitHub Actions documents it; a line is one command."""
    assert len(re.split(r"[\r\n]", line)) == 1
    match = re.fullmatch(r"::(\w+)(?: ([^\n]*?))?::(.*)", line)
    assert match, line
    values = {}
    for pair in filter(None, (match[2] or "").split(",")):
        key, _, value = pair.partition("=")
        for mark in (":", ",", "\n", "\r", "%"):
            value = value.replace(f"%{ord(mark):02X}", mark)
        values[key] = value
    return match[1], values, match[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_a_workflow_command_carries_its_values_unchanged() -> None:
    finding = replace(RACE, message="100 % of a:b, c", file="a,b:c%.cu")
    (line, _) = github_lines(
        problems(grade_of(finding, file="a,b:c%.cu"), Path("x/a,b:c%.cu"), ""), grade_of(finding)
    )
    _, values, said = workflow_command(line)
    assert values == {"file": "x/a,b:c%.cu", "line": "7", "col": "1", "title": "race"}
    assert said.splitlines()[0] == "race: 100 % of a:b, c in block (0,0,0)"


def test_lines_inside_a_container_are_not_those_of_the_file_in_the_repository() -> None:
    name = "a.ipynb[cell 3]"
    found = found_in(replace(RACE, file=name), root=Path("hw/a.ipynb"), name=name)
    _, values, said = workflow_command(next(github_lines(found, grade_of())))
    assert values == {"file": "hw/a.ipynb", "title": "race"}
    assert said.startswith("at hw/a.ipynb[cell 3]:7\nrace: ")


def valid(log: dict[str, Any]) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(dumps(log))
    VALID.validate(written)
    (run,) = written["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            artifact = location["physicalLocation"]["artifactLocation"]
            assert run["artifacts"][artifact["index"]]["location"]["uri"] == artifact["uri"]
    return written


def test_a_log_of_sarif_follows_its_schema() -> None:
    clue = Clue("missing-barrier", 5)
    grade = grade_of(RACE, Finding("spill", "warning", "x"), Finding("race", "info", "y", line=3),
                     explanation=Explanation((clue,)))  # fmt: skip
    log = valid(sarif_log(grade, problems(grade, ROOT, SOURCE), Path()))
    run = log["runs"][0]
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["missing-barrier", "spill"]
    assert run["properties"]["score"] == grade.score.points
    every = valid(sarif_log(grade, problems(grade, ROOT, SOURCE, every=True), Path()))
    assert [r["level"] for r in every["runs"][0]["results"]] == ["error", "warning", "note"]


def test_the_schema_refuses_a_wrong_log() -> None:
    log = sarif_log(grade_of(RACE), found_in(RACE), Path())
    log["runs"][0]["results"][0]["level"] = "info"
    with pytest.raises(jsonschema_rs.ValidationError):
        valid(log)


def test_parts_of_a_file_are_nested_artifacts() -> None:
    name = "hw.zip:b.ipynb[cell 2]"
    found = found_in(replace(RACE, file=name), root=Path("x y/hw.zip"), name=name)
    log = valid(sarif_log(grade_of(RACE), found, Path()))
    assert log["runs"][0]["artifacts"] == [
        {"location": {"uri": "x%20y/hw.zip"}},
        {"location": {"uri": "/b.ipynb"}, "parentIndex": 0},
        {"location": {"uri": "/cell%202"}, "parentIndex": 1},
    ]
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region["startLine"] == 7


def test_a_fault_of_the_machine_is_no_result() -> None:
    grade = a_grade(a_result("sync", "error", 0, 15, summary="no memory"))
    run = valid(sarif_log(grade, problems(grade, ROOT, ""), Path()))["runs"][0]
    assert run["results"] == [] and not run["invocations"][0]["executionSuccessful"]
    (line,) = github_lines((), grade)
    assert workflow_command(line)[0] == "error"

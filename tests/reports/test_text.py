"""The text report: what it says of every status, and that it fits into 80 columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from grader.checks.causes import sort_findings
from grader.grading.record import CaseResult, Grade
from grader.launch import Finding, OtherAccess, Trace
from grader.reports.classes import class_table, main_finding
from grader.reports.finding import finding_text, findings_text
from grader.reports.text import grade_report, render, run_report
from tests.made import RACE, a_grade, a_result, counters, resources

COMPILE = Finding(
    "compile-error",
    "error",
    'expected a ";"',
    file="tiled.cu",
    line=9,
    column=16,
    text="    float sum = 0",
    hint="end the statement on line 9",
)
OUT_OF_BOUNDS = Finding(
    "invalid-access",
    "error",
    "read of 4 bytes, 4 bytes past the end of A (50 x 37 float32)",
    file="tiled.cu",
    line=6,
    text="As[threadIdx.y][threadIdx.x] = A[row * k + threadIdx.x];",
    count=74,
    access="read",
    block=(3, 0, 0),
    thread=(5, 1, 0),
    hint="guard the load with row < m and column < k",
    cases=("primes", "ragged", "one-row", "one-column"),
)


def test_a_hazard_reads_as_in_compute_sanitizer() -> None:
    other = replace(RACE.other or OtherAccess(0, (0, 0, 0), (0, 0, 0)), text="As[ty][tx] = A[row];")
    short = replace(RACE, text="  sum += As[ty][i] * Bs[i][tx];", other=other, line=14)
    assert render(finding_text(short)).splitlines() == [
        "race: read-after-write hazard on shared `As` (4 bytes at offset 0x44) in",
        "  block (0,0,0)",
        "  write by thread (1,1,0) at tiled.cu:6     As[ty][tx] = A[row];",
        "  read  by thread (0,1,0) at tiled.cu:14    sum += As[ty][i] * Bs[i][tx];",
        "  3,200 times",
        "  Threads read `As` before other threads have written it. Put __syncthreads()",
        "  between line 6 and line 7.",
    ]


def test_long_source_lines_stand_below_their_place() -> None:
    assert render(finding_text(OUT_OF_BOUNDS)).splitlines() == [
        "invalid-access: read of 4 bytes, 4 bytes past the end of A (50 x 37 float32) in",
        "  block (3,0,0)",
        "  read by thread (5,1,0) at tiled.cu:6",
        "      As[threadIdx.y][threadIdx.x] = A[row * k + threadIdx.x];",
        "  74 times in cases primes, ragged, one-row, 1 more",
        "  guard the load with row < m and column < k",
    ]


def test_an_out_of_bounds_store_comes_before_its_race() -> None:
    met = replace(RACE, hazard="WAW", variable="C", line=6)
    left = replace(OUT_OF_BOUNDS, variable="C", access="write")
    assert sort_findings([met, left]) == [left, met]
    for elsewhere in (replace(left, variable="D"), replace(left, line=7)):
        assert sort_findings([elsewhere, met]) == [met, elsewhere]
    assert sort_findings([left, replace(met, hazard="RAW")])[0].kind == "race"


def test_a_compile_error_has_a_caret_under_its_column() -> None:
    lines = render(finding_text(COMPILE)).splitlines()
    assert lines[:3] == [
        'compile-error: expected a ";"',
        "  at tiled.cu:9:16",
        "      float sum = 0",
    ]
    assert lines[3].index("^") == lines[2].index("0") - 1


@pytest.mark.parametrize("column", [1, 40, 77, 150, 299])
def test_a_caret_in_a_long_line_stays_in_sight(column: int) -> None:
    source = "".join(chr(ord("a") + i % 26) for i in range(300))
    finding = replace(COMPILE, text=source, column=column)
    _, _, shown, caret, *_ = render(finding_text(finding)).splitlines()
    assert max(len(shown), len(caret)) <= 80
    assert shown[caret.index("^")] == source[column - 1]


def test_blocks_are_named_when_a_hazard_crosses_them() -> None:
    across = replace(RACE, other=OtherAccess(6, (1, 1, 0), (2, 0, 0), "write", ""))
    assert "write by thread (1,1,0) of block (2,0,0) at tiled.cu:6" in render(finding_text(across))


def test_causes_come_before_consequences_and_duplicates_once() -> None:
    wrong = Finding("wrong-output", "error", "3 of 9 elements of C are wrong")
    hint = Finding("uncoalesced", "info", "32 sectors where 4 would do")
    text = render(findings_text([hint, wrong, RACE, wrong, OUT_OF_BOUNDS]))
    kinds = [line.split(":")[0] for line in text.splitlines() if line[:1].isalpha()]
    assert kinds == ["race", "invalid-access", "wrong-output", "uncoalesced"]


def test_a_flood_of_findings_is_counted() -> None:
    many = [replace(RACE, line=n) for n in range(30)]
    assert "and 22 more (race)" in render(findings_text(many))


GRADE = a_grade(
    a_result("compile", "pass", 0, 0, summary="compiles for sm_90"),
    a_result("output", "fail", 20, 40, summary="1 of 2 cases right"),
    a_result("sync", "fail", summary="race in 2 of 2 cases", findings=(RACE, OUT_OF_BOUNDS)),
    a_result("memory", "blocked", summary="not evaluated: no case produces the correct output yet"),
    a_result("traffic", "pass", 15, measurements={"global_bytes_ratio": 0.0625},
             measured_on="square"),
    a_result("speed", "unjudged", summary="speed needs a GPU"),
    cases=[CaseResult("square", "4 x 4", "public", "pass"),
           CaseResult("wide", "3 x 20", "public", "fail")],
)  # fmt: skip


def test_a_report_has_every_section() -> None:
    lines = render(grade_report(GRADE)).splitlines()
    assert lines[0] == "tiled: Tiled matrix product"
    assert lines[1] == "tiled.cu (sha256 5e5e5e5e5e5e), simulated on the CPU"
    assert "check    verdict              points  result" in lines
    assert "output   FAIL               20 of 40  1 of 2 cases right" in lines
    row = "memory blocked 0 of 15 not evaluated: no case produces the correct output yet"
    assert row in " ".join(" ".join(lines).split())
    assert "speed    not evaluated       - of 15  speed needs a GPU" in lines
    assert "cases: 1 of 2 pass; failing: wide (3 x 20)" in lines
    assert "traffic on square: global_bytes_ratio 0.0625" in lines
    assert lines[-1] == "score 35 of 85; not evaluated here: speed (15 points)"


def test_the_last_line_when_every_check_was_evaluated() -> None:
    text = render(grade_report(a_grade(a_result("output", "pass", 40, 40))))
    assert text.splitlines()[-1] == "score 40 of 40"


def test_a_system_error_shows_no_score() -> None:
    text = render(grade_report(a_grade(a_result("output", "error", 0, 40, summary="no memory"))))
    assert "output  error               - of 40  no memory" in text
    assert "incomplete: system error (not your submission)" in text
    assert "score" not in text.splitlines()[-1]


def test_color_only_on_request() -> None:
    report = grade_report(GRADE)
    assert "\x1b[" not in render(report)
    assert "\x1b[" in render(report, color=True)


HOSTILE = "\x1b[2J\x1b]0;title\x07[red]\r\u202e" + "行列積" * 40 + "x" * 200
EVIL = replace(
    OUT_OF_BOUNDS, message=HOSTILE, text=HOSTILE, file=HOSTILE, hint=HOSTILE, detail=HOSTILE,
    cases=(HOSTILE,), other=OtherAccess(3, (0, 0, 0), (1, 1, 1), "write", HOSTILE),
)  # fmt: skip


def hostile_grade() -> Grade:
    check = a_result(
        "sync", "fail", summary=HOSTILE, findings=(EVIL, replace(EVIL, column=30)),
        measurements={HOSTILE: 1e30},
    )  # fmt: skip
    return a_grade(
        check,
        cases=[CaseResult(HOSTILE, HOSTILE, "public", "fail")],
        student=HOSTILE,
        file=HOSTILE,
        title=HOSTILE,
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("grade", [GRADE, hostile_grade()], ids=["plain", "hostile"])
def test_no_line_is_wider_than_asked(grade: Grade, width: int) -> None:
    texts = [grade_report(grade, width), class_table([grade] * 3, width)]
    for line in "".join(map(render, texts)).splitlines():
        assert cell_len(line) <= width, line


def test_nothing_hostile_reaches_the_terminal() -> None:
    grade = hostile_grade()
    text = render(grade_report(grade)) + render(class_table([grade]))
    assert not set(text) & set("\x1b\x07\r\u202e")
    assert "[red]" in text


def test_a_class_on_one_screen() -> None:
    perfect = a_grade(a_result("output", "pass", 40, 40), student="s01")
    racy = replace(GRADE, student="s02")
    broken = a_grade(a_result("output", "error", 0, 40), student="s03")
    text = render(class_table([perfect, racy, broken])).splitlines()
    assert text[1].split() == ["s01", "40/40", "40"]
    assert text[2].split() == ["s02", "35/85", "20", "0", "0", "15", "-", "race"]
    assert text[3].split() == ["s03", "incomplete", "!"]
    assert text[-2] == "3 submissions, 1 with full marks, mean 37.5 of 85, 1 incomplete"
    assert text[-1] == "main findings: race 1"


def test_the_main_finding_is_the_cause() -> None:
    assert main_finding(GRADE) == "race"
    assert main_finding(a_grade(a_result("output", "pass"))) == ""


def test_an_empty_class() -> None:
    assert render(class_table([])) == "no submissions\n"


def test_one_launch_of_any_kernel() -> None:
    trace = Trace("sim", (RACE,), counters=counters(ld_bytes=12345), resources=resources())
    lines = render(run_report("matmul", trace, {2: "c.npy"})).splitlines()
    assert lines[0] == "matmul, simulated on the CPU"
    assert any(line.startswith("race: ") for line in lines)
    assert any(line.split() == ["ptx__requested_bytes_mem_global_op_ld.sum", "12,345"]
               for line in lines)  # fmt: skip
    assert "argument 2 saved to c.npy" in lines
    assert lines[-1] == "1 error, 0 warnings"
    assert max(map(len, lines)) <= 80


def test_a_clean_launch_says_so() -> None:
    assert render(run_report("matmul", Trace("sim"), {})).splitlines()[-1] == "clean: no findings"


def test_what_a_kernel_printed_is_shown_and_cut() -> None:
    printed = "\x1b[31m" + "wide " * 30 + "\n" + "".join(f"thread {i}\n" for i in range(60))
    lines = render(run_report("k", Trace("sim", printed=printed), {})).splitlines()
    first = lines.index("printed by the kernel:")
    assert lines[first + 1].startswith("    \\x1b[31mwide wide")
    assert lines[first + 2] == "    thread 0"
    assert "    and 21 more lines" in lines
    assert max(map(len, lines)) <= 80
    assert "printed" not in render(run_report("k", Trace("sim"), {}))

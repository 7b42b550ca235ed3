"""Bytes against the baseline, sectors per request, atomics, and hints for single lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.checks.result import Evidence, Verdict
from grader.checks.traffic import CONSTANT_LOADS, DATA_BYTES, Options, evaluate, line_hints
from grader.faults import LabFault
from grader.labs.model import ArgumentSpec
from grader.launch import Trace
from tests.made import a_case, a_program, a_run, counters, evidence

LARGE = a_case("large", rows=64, columns=64)
SMALL = a_case("small")
GOOD = Verdict("pass", "", cases={"large": "pass", "small": "pass"})


def seen(settled: Verdict = GOOD, naive: float = 16000, **values: float) -> Evidence:
    run = a_run(LARGE, counters=counters(**values), lines=(counters(6, ld_bytes=900),))
    base = {"large": Trace("sim", counters=counters(ld_bytes=naive))}
    return evidence(a_run(SMALL), run, baseline=base, verdicts={"output": settled})


RATIOS = [
    (0.5, 8000, "pass"),
    (0.5, 8001, "fail"),
    ("1.15 / 16", 1150, "pass"),
    ("1.15 / 16", 1151, "fail"),
    ("8 * k / m", 16000, "pass"),
    ("k / m", 2001, "fail"),
]


@pytest.mark.parametrize(("limit", "loaded", "status"), RATIOS)
def test_bytes_are_held_against_the_baseline(
    limit: float | str, loaded: float, status: str
) -> None:
    verdict = evaluate(Options(max_global_bytes_ratio=limit), seen(ld_bytes=loaded))
    assert verdict.status == status
    assert verdict.share == (status == "pass")
    assert verdict.measured_on == "large"
    assert verdict.measurements["global_load_bytes"] == loaded
    if status == "fail":
        assert verdict.findings[0].kind == "missing-feature"
        assert verdict.findings[0].line == 6


def test_the_bytes_message_has_the_numbers() -> None:
    verdict = evaluate(Options(max_global_bytes_ratio=0.1), seen(ld_bytes=16000))
    assert verdict.findings[0].message == (
        "16,000 bytes loaded from global memory, 10.0 times the 1,600 that this lab allows "
        "(the baseline loads 16,000)"
    )
    assert verdict.summary == "loads 1 of the baseline's global bytes, at most 0.1"


@pytest.mark.parametrize(
    ("variables", "constant_loads", "cure"),
    [((), 0, "shared memory"), (("mask",), 0, "`mask` __constant__"), (("mask",), 9, "shared")],
)
def test_fix_names_the_memory_that_the_lab_teaches(
    variables: tuple[str, ...], constant_loads: int, cure: str
) -> None:
    run = a_run(LARGE, counters=counters(ld_bytes=9) | {CONSTANT_LOADS: constant_loads})
    base = {"large": Trace("sim", counters=counters(ld_bytes=10))}
    held = evidence(run, baseline=base, verdicts={"output": GOOD})
    declared = tuple(ArgumentSpec(name, "in", "float32") for name in variables)
    held = replace(held, lab=replace(held.lab, globals=declared))
    verdict = evaluate(Options(max_global_bytes_ratio=0.5), held)
    assert cure in verdict.findings[0].hint


SECTORS = [
    ({"ld_requests": 10, "ld_sectors": 40}, "pass"),
    ({"ld_requests": 10, "ld_sectors": 41}, "fail"),
    ({"st_requests": 10, "st_sectors": 320}, "fail"),
    ({}, "pass"),
]


@pytest.mark.parametrize(("values", "status"), SECTORS)
def test_sectors_are_counted_for_loads_and_stores(values: dict[str, float], status: str) -> None:
    verdict = evaluate(Options(max_sectors_per_request=4), seen(ld_bytes=1, **values))
    assert verdict.status == status
    assert [f.kind for f in verdict.findings] == ["uncoalesced"] * (status == "fail")


@pytest.mark.parametrize(
    ("used", "status", "said"),
    [
        (128_000, "pass", "4 sectors per store request, all of their bytes used"),
        (123_000, "fail", "4 sectors per store request, at most 2"),
    ],
)
def test_an_access_that_uses_its_sectors_whole_is_not_uncoalesced(
    used: float, status: str, said: str
) -> None:
    values = counters(ld_bytes=1, st_requests=1000, st_sectors=4000) | {
        DATA_BYTES.format("st"): used
    }
    run = a_run(LARGE, counters=values)
    held = evidence(run, verdicts={"output": GOOD})
    verdict = evaluate(Options(max_sectors_per_request=2), held)
    assert (verdict.status, verdict.summary) == (status, said)


@pytest.mark.parametrize(
    ("sectors", "said"), [(10, "1 sector per load"), (40, "4 sectors per load")]
)
def test_one_sector_is_no_plural(sectors: float, said: str) -> None:
    counted = seen(ld_bytes=1, ld_requests=10, ld_sectors=sectors)
    assert evaluate(Options(max_sectors_per_request=4), counted).summary.startswith(said)


BYTES_USED = [
    ({"ld": (128_000, 4000), "st": (128_000, 4000)}, 31, "pass", "loads use 32 of"),
    ({"ld": (40_000, 10_000), "st": (128_000, 4000)}, 31, "fail", "loads use 4.02 of"),
    ({"ld": (128_000, 4000), "st": (40_000, 10_000)}, 31, "fail", "stores use 4.02 of"),
    ({"ld": (310_000, 10_000), "st": (320_000, 10_000)}, 31, "pass", "loads use 31 of"),
    ({"ld": (309_000, 10_000), "st": (320_000, 10_000)}, 31, "fail", "loads use 30.9 of"),
    ({"ld": (40, 100), "st": (320, 10)}, 12, "fail", "loads use 2.32 of"),
    ({"ld": (256, 10), "st": (320, 10)}, 31, "pass", "loads use 32 of"),
    ({"st": (160, 5)}, 31, "pass", "loads use 32 of"),
]


@pytest.mark.parametrize(("moved", "least", "status", "summary"), BYTES_USED)
def test_a_thread_that_works_alone_wastes_sectors(
    moved: dict[str, tuple[int, int]], least: float, status: str, summary: str
) -> None:
    values = counters(ld_bytes=1)
    for op, (held, sectors) in moved.items():
        values[DATA_BYTES.format(op)] = held
        values[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"] = sectors
    run = a_run(LARGE, counters=values)
    verdict = evaluate(
        Options(min_bytes_per_sector=least), evidence(run, verdicts={"output": GOOD})
    )
    assert verdict.status == status
    assert verdict.summary == f"{summary} a sector's 32 bytes, at least {least:g}"
    assert [f.kind for f in verdict.findings] == ["uncoalesced"] * (status == "fail")


ATOMICS = [
    (256, 256, "pass"),
    (256, 257, "fail"),
    ("2 * m", 128, "pass"),
    ("2 * m", 129, "fail"),
    (0, 0, "pass"),
    (0, 1, "fail"),
]


@pytest.mark.parametrize(("limit", "made", "status"), ATOMICS)
def test_atomics_on_global_memory_are_counted(limit: float | str, made: int, status: str) -> None:
    lines = (counters(7, atomics=made), counters(6, ld_bytes=9))
    run = a_run(LARGE, counters=counters(ld_bytes=1, atomics=made), lines=lines)
    options = Options(max_global_atomics=limit)
    verdict = evaluate(options, evidence(run, verdicts={"output": GOOD}))
    assert verdict.status == status
    assert verdict.measurements["global_atomics"] == made
    due = [("missing-feature", 7)] * (status == "fail")
    assert [(f.kind, f.line) for f in verdict.findings] == due


def test_a_kernel_that_is_wrong_on_that_case_earns_nothing() -> None:
    wrong = Verdict("fail", "", cases={"large": "fail", "small": "pass"})
    verdict = evaluate(Options(max_global_bytes_ratio=0.5), seen(wrong, ld_bytes=0))
    assert verdict.status == "blocked"


def test_traffic_without_counters_is_not_evaluated() -> None:
    options = Options(max_global_bytes_ratio=0.5)
    assert evaluate(options, seen()).status == "unjudged"
    run = a_run(LARGE, counters=counters(ld_bytes=1))
    assert evaluate(options, evidence(run)).summary == "the baseline was not measured"


def test_an_unknown_name_in_the_limit_is_the_lab_s_fault() -> None:
    with pytest.raises(LabFault, match="tiles"):
        evaluate(Options(max_global_bytes_ratio="1 / tiles"), seen(ld_bytes=1))


HINTS = [
    ("coalesced", {"ld_requests": 10, "ld_sectors": 40, "ld_bytes": 1280}, []),
    ("strided", {"ld_requests": 10, "ld_sectors": 320, "ld_bytes": 1280}, ["uncoalesced"]),
    ("broadcast", {"ld_requests": 10, "ld_sectors": 10, "ld_bytes": 1280}, []),
    ("wide", {"ld_requests": 10, "ld_sectors": 160, "ld_bytes": 5120}, []),
    ("unaligned", {"ld_requests": 10, "ld_sectors": 50, "ld_bytes": 1280}, []),
    ("one lane", {"ld_requests": 10, "ld_sectors": 10, "ld_bytes": 40}, []),
    ("no conflict", {"waves": 192, "conflicts": 0}, []),
    ("transpose", {"waves": 6144, "conflicts": 5952}, ["bank-conflict"]),
]


@pytest.mark.parametrize(("values", "kinds"), [h[1:] for h in HINTS], ids=[h[0] for h in HINTS])
def test_wasteful_lines_are_reported(values: dict[str, float], kinds: list[str]) -> None:
    hints = line_hints([counters(6, **values)], a_program(), "warning")
    assert [hint.kind for hint in hints] == kinds
    assert all(hint.line == 6 and hint.text.startswith("As[") for hint in hints)


def test_line_is_reported_once() -> None:
    values = {"ld_requests": 10, "ld_sectors": 320, "ld_bytes": 1280}
    lines = (counters(6, **values), counters(8, ld_requests=10, ld_sectors=319, ld_bytes=1280))
    run = a_run(LARGE, counters=counters(**values), lines=lines)
    verdict = evaluate(Options(max_sectors_per_request=4), evidence(run, verdicts={"output": GOOD}))
    assert [(f.line, f.severity) for f in verdict.findings] == [(6, "error"), (8, "warning")]


def test_the_degree_of_a_bank_conflict() -> None:
    (hint,) = line_hints([counters(6, waves=6144, conflicts=5952)], a_program(), "info")
    assert hint.message.startswith("32-way bank conflict")

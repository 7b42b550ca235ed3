"""tests/watch: small kernels with what must be found in them, and clean twins.

A kernel's comments say what to expect: `// expect: <kind> <severity> [line N] [hazard H]
[variable V]`, or `// expect: clean`. What is found besides, an info apart, is a false alarm.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.launch import Finding, Trace
from grader.simulator.simulate import simulate
from tests.fuzz.corpus import read

WATCH = Path(__file__).parents[1] / "watch"
KERNELS = sorted(WATCH.glob("*/*.cu"))
EXPECT = re.compile(r"^// expect: (.*)$", re.M)


@cache
def program(path: Path) -> Program:
    return compile_source(path.read_bytes(), path.name)


def trace(path: Path, threads: int = 1) -> Trace:
    launch = read(path.read_text()).launch()
    return simulate(program(path), [launch], threads=threads, steps=200_000)[0]


def wanted(text: str) -> dict[str, str]:
    """{"kind": ..., "severity": ..., "line": ..., ...} of one expectation."""
    kind, severity, *rest = text.split()
    return {"kind": kind, "severity": severity, **dict(zip(rest[::2], rest[1::2], strict=True))}


def fits(found: Finding, want: dict[str, str]) -> bool:
    return all(str(getattr(found, key)) == value for key, value in want.items())


@pytest.mark.parametrize("path", KERNELS, ids=[f"{p.parent.name}/{p.stem}" for p in KERNELS])
def test_finds_what_is_there(path: Path) -> None:
    expected = [e for e in EXPECT.findall(path.read_text()) if e != "clean"]
    found = trace(path).findings
    for text in expected:
        assert any(fits(f, wanted(text)) for f in found), f"{text}: not among {found}"
    kinds = {wanted(text)["kind"] for text in expected}
    mild = all(wanted(text)["severity"] == "info" for text in expected)
    strange = [f for f in found if (mild or f.kind not in kinds) and f.severity != "info"]
    assert not strange, f"false alarm: {strange}"


def test_every_kernel_says_what_it_expects() -> None:
    assert len(KERNELS) > 200
    assert all(EXPECT.search(path.read_text()) for path in KERNELS)


def test_every_wrong_kernel_has_a_clean_twin() -> None:
    clean = {p for p in KERNELS if p.stem.endswith("_clean")}
    lone = [p for p in KERNELS if p not in clean and p.with_stem(f"{p.stem}_clean") not in clean]
    assert not lone, lone
    assert all(set(EXPECT.findall(p.read_text())) == {"clean"} for p in clean)


def test_an_expectation_can_fail() -> None:
    """Another line, hazard or variable than the one found does not fit."""
    want = wanted("race error line 7 hazard RAW variable s")
    found = Finding("race", "error", "", line=7, hazard="RAW", variable="s")
    assert fits(found, want)
    for key, value in (("line", "8"), ("hazard", "WAR"), ("variable", "t"), ("severity", "info")):
        assert not fits(found, {**want, key: value})

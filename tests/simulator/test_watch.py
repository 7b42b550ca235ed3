"""tests/watch: small incorrect kernels with their expected findings, and clean variants.

A kernel's comments say what to expect: `// expect: <kind> <severity> [line N] [hazard H]
[variable V]`, or `// expect: clean`. Any other finding, except an info, is a false alarm. With
`// first: <kind> [line N] [hazard H] [variable V]` the cause comes before what follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

from grader.checks.causes import sort_findings
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.launch import Finding, Trace
from grader.simulator.core.bindings import CLaunch, Core
from grader.simulator.simulate import simulate
from grader.simulator.variants import Variants
from tests.fuzz.corpus import Spec, read
from tests.simulator.test_threads import facts
from tests.trusted import compiled_here

WATCH = Path(__file__).parents[1] / "watch"
KERNELS = sorted(WATCH.glob("*/*.cu"))
EXPECT = re.compile(r"^// expect: (.*)$", re.M)
FIRST = re.compile(r"^// first: (\S+) ?(.*)$", re.M)


@cache
def program(path: Path) -> Program:
    return compiled_here(path)


def trace(path: Path, threads: int = 1) -> Trace:
    launch = read(path.read_text()).launch()
    return simulate(program(path), [launch], threads=threads, steps=200_000)[0]


STEPS = 100_000

ONE_WORKER_IN = 16
"""Of the kernels whose blocks run in order, one in so many is compared."""


class Runs:
    """A kernel and its runs, which share what is compiled and decoded."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, path.read_text()
        self.spec, self.decoded = read(self.source), Variants()
        self.traces: dict[tuple[str, int], Trace] = {}
        self.ordered: list[bool] = []

    def trace(self, spec: Spec, threads: int = 1) -> Trace:
        key = repr(spec), threads
        if key not in self.traces:
            with patch.object(Core, "run", self._noting(Core.run)):
                how = {"threads": threads, "steps": STEPS, "decoded": self.decoded}
                self.traces[key] = simulate(program(self.path), [spec.launch()], **how)[0]  # type: ignore[arg-type]
        return self.traces[key]

    def _noting(self, run: Callable[[Core, CLaunch], int]) -> Callable[[Core, CLaunch], int]:
        def noted(core: Core, terms: CLaunch) -> int:
            self.ordered.append(bool(terms.ordered))
            return run(core, terms)

        return noted

    @property
    def has_one_worker(self) -> bool:
        """Whether all its runs had to have their blocks in order: then the core has one thread."""
        self.trace(self.spec)
        return all(self.ordered)


@pytest.fixture(scope="module", params=KERNELS, ids=[f"{p.parent.name}/{p.stem}" for p in KERNELS])
def kernel(request: pytest.FixtureRequest) -> Runs:
    """A kernel, whose tests pytest runs together."""
    return Runs(request.param)


def expectation(text: str) -> dict[str, str]:
    """{"kind": ..., "severity": ..., "line": ..., ...} of one expectation."""
    kind, severity, *rest = text.split()
    return {"kind": kind, "severity": severity, **dict(zip(rest[::2], rest[1::2], strict=True))}


def fits(finding: Finding, expected: dict[str, str]) -> bool:
    return all(str(getattr(finding, key)) == value for key, value in expected.items())


def test_kernel_draws_the_expected_findings(kernel: Runs) -> None:
    expected = [e for e in EXPECT.findall(kernel.source) if e != "clean"]
    findings = kernel.trace(kernel.spec).findings
    for text in expected:
        assert any(fits(f, expectation(text)) for f in findings), f"{text}: not among {findings}"
    for kind, text in FIRST.findall(kernel.source):
        for first in (findings[0], sort_findings(findings)[0]):
            assert fits(first, expectation(f"{kind} error {text}")), f"first: {first}"
    kinds = {expectation(text)["kind"] for text in expected}
    mild = all(expectation(text)["severity"] == "info" for text in expected)
    unexpected = [f for f in findings if (mild or f.kind not in kinds) and f.severity != "info"]
    assert not unexpected, f"false alarm: {unexpected}"


def test_findings_are_the_same_for_any_number_of_threads(kernel: Runs) -> None:
    """Not tried where the core has one thread whatever it is told, but for a few such kernels."""
    if kernel.has_one_worker and KERNELS.index(kernel.path) % ONE_WORKER_IN:
        return
    spec = kernel.spec
    if spec.grid == (1, 1, 1):
        spec = replace(spec, grid=(3, 1, 1))
    one, three = (facts(kernel.trace(spec, threads)) for threads in (1, 3))
    assert one == three


@pytest.mark.parametrize(
    ("name", "one"), [("race/array_used_again", False), ("memory_model/atomic_ref_relaxed", True)]
)
def test_blocks_that_may_wait_for_each_other_have_one_worker(name: str, one: bool) -> None:
    assert Runs(WATCH / f"{name}.cu").has_one_worker == one


@pytest.mark.parametrize("name", ["array_used_again", "across_blocks"])
def test_a_kernel_compiled_here_is_the_one_of_a_child(name: str) -> None:
    path = WATCH / "race" / f"{name}.cu"
    here = compiled_here(path, cache=None)
    child = compile_source(path.read_bytes(), path.name, cache=None)
    assert replace(here, seconds=0) == replace(child, seconds=0)


@pytest.mark.parametrize(
    "name", ["memory_model/atomic_ref_relaxed", "race/async_copy_not_waited_for"]
)
def test_compiled_headers_change_no_verdict(name: str) -> None:
    path = WATCH / f"{name}.cu"
    with_headers = compiled_here(path, cache=None)
    child = compile_source(path.read_bytes(), path.name, cache=None)
    launch = read(path.read_text()).launch()
    here, apart = (facts(simulate(p, [launch])[0]) for p in (with_headers, child))
    assert here == apart and here["findings"]
    assert with_headers.kernels == child.kernels and with_headers.warnings == child.warnings


def test_every_kernel_states_its_expected_findings() -> None:
    assert len(KERNELS) > 200
    assert all(EXPECT.search(path.read_text()) for path in KERNELS)


def test_every_incorrect_kernel_has_a_clean_variant() -> None:
    clean = {p for p in KERNELS if p.stem.endswith("_clean")}
    unpaired = [
        p for p in KERNELS if p not in clean and p.with_stem(f"{p.stem}_clean") not in clean
    ]
    assert not unpaired, unpaired
    assert all(set(EXPECT.findall(p.read_text())) == {"clean"} for p in clean)


def test_wrong_expectation_fails() -> None:
    """A finding with another line, hazard or variable does not fit."""
    want = expectation("race error line 7 hazard RAW variable s")
    found = Finding("race", "error", "", line=7, hazard="RAW", variable="s")
    assert fits(found, want)
    for key, value in (("line", "8"), ("hazard", "WAR"), ("variable", "t"), ("severity", "info")):
        assert not fits(found, {**want, key: value})

"""The results of a lab's mutants: the author's reasons, the requirements, the table, the JSON.

The author explains why a mutant may survive in `solutions/<lab>/equivalent.yaml`. An entry applies
to the mutants of one operator on every line of the same text, so that it stays valid when other
lines change. An entry that matches no survivor is reported: the mutant is caught now, or the line
has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from grader import dataclass, replace
from grader.authoring.mutation.mutants import Mutant, MutantResult
from grader.labs.files import Document, read_document
from grader.labs.schema import Strict

REASONS_FILE = "equivalent.yaml"

MAX_REASON_SHARE = 0.10
"""The largest share of a lab's mutants that may survive for a reason of the author."""


class Entry(Strict):
    """One reason.

    Attributes:
        operator: The mutation operator.
        line: The solution's line without its indentation.
        change: The change as the table of mutants shows it.
        reason: Why the mutant may survive.
        only: "speed" when only the speed on a GPU can show the mutant.
    """

    operator: str
    line: str
    change: str
    reason: str = Field(min_length=10)
    only: Literal["speed"] | None = None


class Reasons(Strict):
    """The file `equivalent.yaml`: `mutants` is a list of entries."""

    mutants: tuple[Entry, ...]


@dataclass(frozen=True)
class ExplainedResults:
    """Results with the reasons that match them, and a message for each entry that matches none."""

    results: tuple[MutantResult, ...]
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class MutantRequirement:
    """A requirement on the mutants: what, whether it holds, and what was observed."""

    what: str
    holds: bool
    observed: str


def apply_reasons(path: Path, results: Sequence[MutantResult]) -> ExplainedResults:
    """Add the reasons from the file at `path` to the survivors.

    Without the file, the results stay the same. Raises LabFault for a file that cannot be read.
    """
    if not path.exists():
        return ExplainedResults(tuple(results))
    document = read_document(path, Reasons)
    entries: tuple[Entry, ...] = document.model.mutants
    used: set[int] = set()
    explained = tuple(_explained(result, entries, used) for result in results)
    return ExplainedResults(explained, tuple(_unused(document, entries, used)))


def _explained(result: MutantResult, entries: Sequence[Entry], used: set[int]) -> MutantResult:
    if result.verdict.outcome != "survived":
        return result
    mutant = result.mutant
    key = (mutant.operator, mutant.was, mutant.change)
    for index, entry in enumerate(entries):
        if (entry.operator, entry.line, entry.change) == key:
            used.add(index)
            return replace(result, reason=entry.reason, only=entry.only or "")
    return result


def _unused(document: Document, entries: Sequence[Entry], used: set[int]) -> Iterable[str]:
    for index, entry in enumerate(entries):
        if index not in used:
            where = f"{document.file}:{document.line_of(('mutants', index))}"
            change = f"{entry.operator} of `{entry.line}`: {entry.change}"
            yield f"{where}: no surviving mutant is {change}: remove the entry or correct it"


def mutant_requirements(
    lab: str, explained: ExplainedResults, checks: Collection[str]
) -> Iterator[MutantRequirement]:
    """Yield the summary first, then one requirement for each violation.

    Violations are a mutant that survives, a mutant that only hidden cases catch, a reason that
    matches no survivor or names none of the lab's `checks`, and too many reasons.
    """
    file, results = f"solutions/{lab}/{REASONS_FILE}", explained.results
    violations = [*_uncaught(results, file), *_caught_by_hidden_cases(results)]
    violations += [
        MutantRequirement("reason for a mutant", False, message) for message in explained.unused
    ]
    violations += _unknown_checks(results, file, checks)
    violations += _too_many_reasons(results, file)
    yield MutantRequirement("mutants", not violations, summary(results))
    yield from violations


def summary(results: Sequence[MutantResult]) -> str:
    """Count the mutants by outcome, and the caught ones by check."""
    checks = Counter(result.verdict.check for result in results if result.is_caught)
    by_check = ", ".join(f"{name} {count}" for name, count in checks.most_common())
    equal = sum(result.verdict.outcome == "same-ptx" for result in results)
    speed = sum(result.only == "speed" for result in results)
    reasons = sum(bool(result.reason) for result in results) - speed
    survivors = sum(result.survives for result in results)
    rest = ((equal, "equivalent"), (reasons, "equivalent by reason"), (speed, "only speed"),
            (survivors, "not caught"))  # fmt: skip
    parts = [f"{checks.total()} caught ({by_check})" if by_check else "none caught"]
    return ", ".join([str(len(results)), *parts, *(f"{n} {what}" for n, what in rest if n)])


def edit_text(mutant: Mutant) -> str:
    """Return the edit for people: the line before and after, or what was moved."""
    change = f"- {mutant.was} + {mutant.now}" if mutant.now else f"{mutant.was}: {mutant.change}"
    return f"line {mutant.line}: {change}"


def _uncaught(results: Sequence[MutantResult], file: str) -> Iterator[MutantRequirement]:
    for result in results:
        if result.survives:
            fix = f"add a public case or a check that catches it, or a reason to {file}"
            text = f"{edit_text(result.mutant)}  No check fails: {fix}"
            yield MutantRequirement(f"mutant {result.mutant.name}", False, text)


def _caught_by_hidden_cases(results: Sequence[MutantResult]) -> Iterator[MutantRequirement]:
    for result in results:
        if result.verdict.seen == "hidden":
            fix = "add a public case that catches it"
            text = f"{edit_text(result.mutant)}  Only hidden cases catch it: {fix}"
            yield MutantRequirement(f"mutant {result.mutant.name}", False, text)


def _unknown_checks(
    results: Sequence[MutantResult], file: str, checks: Collection[str]
) -> Iterator[MutantRequirement]:
    for result in results:
        if result.only and result.only not in checks:
            text = f"{file} names the check `{result.only}`, but this lab has no such check"
            yield MutantRequirement(f"mutant {result.mutant.name}", False, text)


def _too_many_reasons(results: Sequence[MutantResult], file: str) -> list[MutantRequirement]:
    reasons = sum(bool(result.reason) and result.only == "" for result in results)
    most = int(MAX_REASON_SHARE * len(results))
    if reasons <= most:
        return []
    text = f"{reasons} of {len(results)} mutants have a reason in {file}, at most {most} may"
    return [MutantRequirement("reasons for mutants", False, text)]


def mutant_table(results: Sequence[MutantResult]) -> list[str]:
    """Return two rows per mutant: its name with its outcome, and the edit."""
    return [
        row
        for result in results
        for row in (f"{result.mutant.name:<22} {outcome_text(result)}", edit_text(result.mutant))
    ]


def outcome_text(result: MutantResult) -> str:
    """Describe the outcome: the check, the kind of finding, and the reported lines."""
    verdict = result.verdict
    if result.reason:
        return f"{'only speed' if result.only else 'equivalent by reason'}: {result.reason}"
    if verdict.outcome == "same-ptx":
        return "equivalent: the same optimized PTX"
    if verdict.outcome == "survived":
        return "not caught"
    lines = f", line {', '.join(map(str, verdict.lines))}" if verdict.lines else ""
    hidden = ", by hidden cases only" if verdict.seen == "hidden" else ""
    missed = ", not the faulty line" if result.is_misplaced else ""
    return f"{verdict.check}: {verdict.kind or 'no finding'}{lines}{missed}{hidden}"


def mutant_json(result: MutantResult) -> dict[str, Any]:
    """Return one mutant of `grader labs check --json`."""
    mutant = result.mutant
    return {
        "name": mutant.name,
        "operator": mutant.operator,
        "line": mutant.line,
        "was": mutant.was,
        "now": mutant.now,
        "change": mutant.change,
        "reason": result.reason or None,
        "only": result.only or None,
        **result.verdict.to_json(),
    }

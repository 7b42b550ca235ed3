"""Group the findings of a run into causes: one block for each mistake, the likeliest first.

One mistake makes many findings: a missing barrier makes two races and a wrong output. `find_causes`
links them. A confirmed fix is the strongest link: every finding that it removes has one cause. A
clue of the source, such as `=` in a condition, comes next. Otherwise findings are linked by what
they share: bytes, a value, a barrier, the cases in which an error makes the output wrong.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from grader import dataclass, regex, replace
from grader.labs.model import Hints
from grader.launch import KINDS, OUTPUT_KINDS, Finding, Origin

CORRECTNESS = OUTPUT_KINDS | {
    "race", "lost-update", "order-dependent", "invalid-access", "uninitialized-read",
    "barrier-divergence", "timeout", "launch-failure",
}  # fmt: skip
"""The kinds of findings about a wrong result; one mistake may make all of them."""

MEASURED = frozenset({"uncoalesced", "bank-conflict", "spill", "missing-feature", "too-slow"})
"""The kinds of findings about what a right kernel costs."""

_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class CauseKind:
    """One kind of cause: what is wrong, and what kind of change repairs it.

    `{line}` is the line of the cause, `{more}` the further ones, `{name}` the name of what it is
    about; lines stand in `change` only.
    """

    what: str
    change: str
    evidence: tuple[str, ...] = ()


@cache
def cause_kinds() -> Mapping[str, CauseKind]:
    """Return the kinds of causes that a clue or a confirmed fix can name, apart from findings'."""
    import tomllib  # a check without errors needs no table

    rows = tomllib.loads((Path(__file__).parent / "causes.toml").read_text("utf-8"))
    kinds = {
        kind: CauseKind(row["what"], row["change"], tuple(row.get("evidence", ())))
        for kind, row in rows.items()
    }
    return MappingProxyType(kinds)


@dataclass(frozen=True)
class Clue:
    """A fact of the source alone that explains findings; `kind` is one of cause_kinds()."""

    kind: str
    line: int
    name: str = ""
    text: str = ""
    file: str = ""  # a header's name


@dataclass(frozen=True)
class Fix:
    """A change of the source that was tried: every public case is right, and nothing else is lost.

    Attributes:
        kind: One of cause_kinds().
        line: The line of the student's file that it changes, or that it adds to.
        text: The text of that line.
        name: What the cause is about, such as a variable; may be empty.
        diff: The edit as a unified diff; empty where the lab does not show it.
        explains: The kinds of the errors that it removes.
        more: The further lines that it changes or adds to.
    """

    kind: str
    line: int
    text: str = ""
    name: str = ""
    diff: str = ""
    explains: tuple[str, ...] = ()
    file: str = ""  # the header of the line; empty for the submitted file
    more: tuple[Origin, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """What is known of the causes beside the findings: from the source and the public cases alone.

    Attributes:
        clues: Facts of the source.
        fixes: The confirmed fixes, the best one first.
        trials: How many changes were tried.
        cases: The public cases that they were tried on.
        hints: What a student reads of a fix.
        failure: Why this machine could not search all lines or try all edits; empty where it did.
    """

    clues: tuple[Clue, ...] = ()
    fixes: tuple[Fix, ...] = ()
    trials: int = 0
    cases: tuple[str, ...] = ()
    hints: Hints = "place"
    failure: str = ""


@dataclass(frozen=True)
class Cause:
    """One mistake: its finding that says most, and those that follow from it.

    Attributes:
        kind: One of cause_kinds(), or the kind of the finding where nothing more is known.
        line: The line to look at; 0 when unknown.
        text: The text of that line.
        what: What is wrong, in one line; empty where the finding alone says it.
        finding: The finding to show.
        follows: The other findings of this cause.
        fix: The confirmed fix.
    """

    kind: str
    line: int
    text: str
    what: str
    finding: Finding
    follows: tuple[Finding, ...] = ()
    fix: Fix | None = None
    file: str = ""  # the header of the line; empty for the finding's file

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings of this cause, the one to show first."""
        return (self.finding, *self.follows)


def find_causes(findings: Iterable[Finding], explanation: Explanation) -> tuple[Cause, ...]:
    """Group findings into causes, the likeliest first.

    Each finding is in exactly one cause. Errors come before warnings and notes; notes that share
    nothing with an error follow the first cause, because most of them disappear with it.
    """
    ordered = sort_findings(findings)
    errors = [f for f in ordered if f.severity == "error"]
    causes = [*_fixed(errors, explanation)]
    causes += _with_clue(_rest(errors, causes), explanation.clues)
    causes += [_cause(group) for group in _linked(_rest(errors, causes))]
    for finding in _rest(ordered, causes):
        other = 0 if errors and finding.severity == "info" else None
        place = next((k for k, c in enumerate(causes) if _shares_place(c, finding)), other)
        if place is None:
            causes.append(_cause([finding]))
        else:
            causes[place] = replace(causes[place], follows=(*causes[place].follows, finding))
    return tuple(causes)


def _rest(findings: Iterable[Finding], causes: Iterable[Cause]) -> list[Finding]:
    known = {f for cause in causes for f in cause.findings}
    return [f for f in findings if f not in known]


def _cause(group: Sequence[Finding]) -> Cause:
    return Cause(group[0].kind, group[0].line, group[0].text, "", group[0], tuple(group[1:]))


def _named(by: Clue | Fix, group: Sequence[Finding]) -> Cause:
    """Return a cause that a clue or a fix names; `group` is what it explains."""
    known = cause_kinds()[by.kind]
    ranks = {evidence: rank for rank, evidence in enumerate(known.evidence)}
    first, *rest = sorted(group, key=lambda f: ranks.get(f.kind, len(ranks)))
    what = known.what.format(name=f"`{by.name}`" if by.name else "a variable")
    return Cause(by.kind, by.line, by.text, what, first, tuple(rest), file=by.file)


def _fixed(errors: Sequence[Finding], explanation: Explanation) -> Iterable[Cause]:
    """Make one cause of the errors that each confirmed fix removes."""
    tried, left = set(explanation.cases), list(errors)
    for fix in explanation.fixes:
        group = [f for f in left if f.kind in fix.explains and (not f.cases or tried & {*f.cases})]
        if group:
            left = [f for f in left if f not in group]
            yield replace(_named(fix, group), fix=fix)


def _with_clue(errors: Sequence[Finding], clues: Sequence[Clue]) -> list[Cause]:
    """Let the first clue of the source that can explain wrong results explain all of them.

    Where the results are right, a clue explains the costs that its kind names.
    """
    wrong = [f for f in errors if f.kind in CORRECTNESS]
    for clue in clues:
        known = cause_kinds()[clue.kind].evidence
        about = [f for f in wrong if clue.kind != "not-shared" or f.variable == clue.name]
        if about and (not known or any(f.kind in known for f in about)):
            return [_named(clue, wrong)]
        costs = [f for f in errors if f.kind in known] if not wrong else []
        if costs:
            return [_named(clue, costs)]
    return []


def _linked(errors: Sequence[Finding]) -> list[list[Finding]]:
    """Group the errors that share a cause; each group is in the order of `errors`."""
    groups: list[list[Finding]] = []
    cases = {name for f in errors if f.kind in CORRECTNESS - OUTPUT_KINDS for name in f.cases}
    for finding in errors:
        group = next((g for g in groups if any(_are_linked(f, finding) for f in g)), None)
        if group is None and finding.kind in OUTPUT_KINDS and {*finding.cases} <= cases:
            group = _largest_overlap(groups, finding)
        if group is None:
            groups.append(group := [])
        group.append(finding)
    return groups


def _largest_overlap(groups: Sequence[list[Finding]], finding: Finding) -> list[Finding] | None:
    """Return the group of errors that occur in most of a wrong output's cases."""
    counts = [len({n for f in g for n in f.cases} & {*finding.cases}) for g in groups]
    able = [k for k, g in enumerate(groups) if g[0].kind in CORRECTNESS and counts[k]]
    return groups[max(able, key=counts.__getitem__)] if able else None


def _are_linked(first: Finding, other: Finding) -> bool:
    """Return whether two errors share a cause."""
    kinds = {first.kind, other.kind}
    if first.kind == other.kind and first.kind in MEASURED | OUTPUT_KINDS:
        return True
    if not kinds <= CORRECTNESS or kinds & OUTPUT_KINDS:
        return False
    if first.kind == "barrier-divergence" and _same_cases(first, other):
        return True
    same_bytes = bool(first.variable) and first.variable == other.variable
    if same_bytes and (first.space, other.space).count("global") != 1:
        return True
    if kinds == {"race"} and _overlap(first, other):
        return True
    if kinds == {"race", "uninitialized-read"} and _lines(first) & _lines(other):
        return True
    return kinds <= {"invalid-access", "uninitialized-read"} and _same_cases(first, other)


def _same_cases(first: Finding, other: Finding) -> bool:
    return bool({*first.cases} & {*other.cases}) or first.cases == other.cases


def _lines(finding: Finding) -> set[int]:
    return {finding.line, finding.other.line if finding.other else finding.line} - {0}


def _overlap(first: Finding, other: Finding) -> bool:
    """Return whether one barrier could order both hazards: their lines overlap."""
    (a, *_, b), (c, *_, d) = (sorted([*_lines(f), *_lines(f)]) or [0, 0] for f in (first, other))
    return max(a, c) <= min(b, d)


def _shares_place(cause: Cause, finding: Finding) -> bool:
    """Return whether a note is about a line or variable of an error, or like an earlier note."""
    if cause.finding.severity != "error":
        return finding.kind == cause.finding.kind and finding.kind in MEASURED
    if finding.line and finding.line == cause.line:
        return True
    if finding.kind == "compile-warning":
        return False
    lines = {line for f in cause.findings for line in _lines(f)}
    names = {f.variable for f in cause.findings} - {""}
    return bool(_lines(finding) & lines) or finding.variable in names


TRIED = "Tried: with such a change, every public case is right."
_ADVICE = regex(
    r"(?:Put|Use|Declare|Write|Let|Move|Make|Add|Give|Assign|Store|Guard|Index|Load|Keep|Pass|Set"
    r"|Return|For example|Update|An atomic|A run with|or )\b", re.IGNORECASE
)  # fmt: skip
"""Matches a sentence of a hint that asks for a certain edit."""


def with_tried_hints(findings: Iterable[Finding], explanation: Explanation) -> tuple[Finding, ...]:
    """Let the hints of errors say what was tried, where edits of the source were, or had to be.

    A confirmed fix replaces the hint, as far as the lab shows it. Without one, the sentences that
    ask for a certain edit go: an edit that was not confirmed is not shown.
    """
    if not explanation.trials and not explanation.failure:
        return tuple(findings)
    tried = set(explanation.cases)

    def hinted(finding: Finding) -> Finding:
        if finding.kind not in CORRECTNESS | MEASURED:
            return finding
        for fix in explanation.fixes:
            if finding.kind in fix.explains and (not finding.cases or tried & {*finding.cases}):
                more = " and ".join(str(place.line) for place in fix.more)
                change = cause_kinds()[fix.kind].change.format(
                    line=fix.line, more=more, name=f"`{fix.name}`"
                )
                return replace(finding, hint=f"{change} {TRIED}" * (explanation.hints != "cause"))
        return replace(finding, hint=_without_advice(finding.hint))

    return tuple(map(hinted, findings))


def _without_advice(hint: str) -> str:
    """Return a hint without the sentences that ask for an edit, nor the reasons behind a colon."""
    kept, dropped = [], ""
    for part in re.split(r"(?<=[.:]) +", hint):
        is_reason = dropped.endswith(":") and not part[:1].isupper()
        if _ADVICE.match(part) or is_reason:
            dropped = part
        else:
            kept.append(part)
            dropped = ""
    return " ".join(kept)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings, each once: errors first, causes before their consequences.

    A missed barrier comes before the races, a race before the wrong output, and an out-of-bounds
    store before the race with the stores that it collides with.
    """
    once = dict.fromkeys(findings)
    left = {(f.file, f.line, f.variable) for f in once if f.kind == "invalid-access"}
    return sorted(once, key=lambda finding: _rank(finding, left))


def _rank(finding: Finding, left: Container[tuple[str, int, str]]) -> tuple[int, int, int, bool]:
    """Return the sort key; `left` has the file, line and name of each out-of-bounds access."""
    kind = KINDS.index(finding.kind) if finding.kind in KINDS else len(KINDS)
    if finding.kind == "barrier-divergence":
        kind = KINDS.index("launch-failure")
    met = finding.hazard == "WAW" and (finding.file, finding.line, finding.variable) in left
    kind = KINDS.index("invalid-access") if met else kind
    return _SEVERITIES.index(finding.severity), finding.follows, kind, met

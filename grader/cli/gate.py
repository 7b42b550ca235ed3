"""How `grader labs check` shows what labs have to hold: rows of text, and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from grader.cli.terminal import PLAIN_WIDTH, STDOUT, show_line

if TYPE_CHECKING:
    from grader.gate.line import Line

AGAIN = "for the reason told above"
MARGIN = " " * 5
"""Before what was seen, where it takes rows of its own."""


class Told(Protocol):
    """Shows one row; `good` is whether what it says holds."""

    def __call__(self, line: str, *, good: bool) -> None: ...


def heard(json: str | None) -> Told:
    """What shows rows: nothing does when stdout is the JSON's."""
    return _unheard if json == STDOUT else show_line


def _unheard(line: str, *, good: bool) -> None:
    return None


def rows(line: Line, *, mutants: bool = False) -> list[str]:
    """A line of the gate in rows of 80 columns, below its lab's name; with its mutants below it
    when they are asked for."""
    from grader.mutation.table import table
    from grader.report.clean import clean, wrap

    head = f"{'ok' if line.holds else 'FAIL':<4} {clean(line.what)}"
    seen = clean(line.seen)
    room = PLAIN_WIDTH - len(head)
    if len(seen) < room:
        shown = [f"{head}{seen:>{room}}".rstrip()]
    else:
        shown = [head, *wrap(MARGIN + seen, PLAIN_WIDTH, MARGIN)]
    return shown + (_below(table(line.tried)) if mutants else [])


def unrepeated(line: Line, earlier: Sequence[Line]) -> Line:
    """The line as it is shown below earlier ones of its lab: one fault of lab.yaml or reference.py
    fails every line that needs it, and is told once."""
    above = {one.seen for one in earlier if one.lab == line.lab and not one.holds}
    told = line.seen in above and len(line.seen) > len(AGAIN)
    return replace(line, seen=AGAIN) if told and not line.holds else line


def _below(told: Sequence[str]) -> list[str]:
    from grader.report.clean import clean, wrap

    return [MARGIN + row for text in told for row in wrap(clean(text), PLAIN_WIDTH - len(MARGIN))]


def verdict(lines: Sequence[Line]) -> str:
    """The last row: how many labs hold, and how many lines of them."""
    broken = [line for line in lines if not line.holds]
    count = len({line.lab for line in lines})
    bad = len({line.lab for line in broken})
    held = "1 lab holds" if count == 1 else f"{count} labs hold"
    said = f"{bad} of {count} labs do not hold" if bad else held
    return f"{said}: {len(lines) - len(broken)} of {len(lines)} lines"


def placed(lines: Sequence[Line]) -> tuple[int, int]:
    """Of the wrong twins and mutants that draw an error: how many are told the wrong line or the
    one next to it, and how many there are."""
    every = _told(lines)
    return sum(named for _, named, _ in every), len(every)


def placing(lines: Sequence[Line]) -> list[str]:
    """How often a report names the wrong line or its neighbour, by how many lines it names, and
    which reports do not."""
    every = _told(lines)
    if not every:
        return ["no wrong twin or mutant draws an error"]
    named, count = placed(lines)
    said = [
        f"reports name the wrong line or its neighbour in {named / count:.1%}, {named} of {count}"
    ]
    for most in sorted({told for _, _, told in every}):
        hits = [hit for _, hit, told in every if told == most]
        said.append(f"{MARGIN}with {most} lines told: {sum(hits)} of {len(hits)}")
    return said + [f"{MARGIN}not named: {what}" for what, hit, _ in every if not hit]


def _told(lines: Sequence[Line]) -> list[tuple[str, bool, int]]:
    """Each wrong twin and mutant that draws an error: its name, whether the line is named, and how
    many lines are told."""
    twins = [
        (f"{line.lab} {line.what}", line.told.named, len(line.told.lines))
        for line in lines
        if line.told and line.told.located
    ]
    caught = [
        (f"{line.lab} {one.mutant.name}", one.verdict.named, len(one.verdict.lines))
        for line in lines
        for one in line.tried
        if one.is_caught and one.verdict.located
    ]
    return twins + caught


def gate_json(lines: Sequence[Line]) -> dict[str, Any]:
    """Every lab with its lines and mutants, as plain values."""
    names = dict.fromkeys(line.lab for line in lines)
    return {"schema": 1, "labs": [_lab([x for x in lines if x.lab == name]) for name in names]}


def _lab(lines: Sequence[Line]) -> dict[str, Any]:
    from grader.mutation.table import mutant_json

    return {
        "lab": lines[0].lab,
        "holds": all(line.holds for line in lines),
        "placed": dict(zip(("named", "located"), placed(lines), strict=True)),
        "lines": [{"what": x.what, "holds": x.holds, "seen": x.seen} for x in lines],
        "mutants": [mutant_json(one) for line in lines for one in line.tried],
    }

"""compute-sanitizer over a program's launches: a second judge beside the simulator.

Reports: Compute Sanitizer documentation, "Understanding Memcheck errors" and the other tools' like.
A tool that never ends on a launch in time says nothing of it, and that is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.compile.program import Program
from grader.gpu.tool import observed, required
from grader.launch import Finding, Launch, Other

NAME = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SHOWN = 20
"""Findings of one tool that are told, alike ones folded."""

_OPTIONS = ["--show-backtrace", "no", "--print-limit", "1000", "--log-file", "{report}"]
_ACCESS = re.compile(
    r"(Invalid|Misaligned) __(?P<space>global|shared|local)__ (?P<access>read|write|atomic)"
)
_UNSET = re.compile(r"Uninitialized __(?P<space>global|shared|local)__ memory (?P<access>read)")
_RACE = re.compile(r"(Error|Warning): Race reported between (?P<access>Read|Write|Atomic) access")
_BARRIER = re.compile(r"Barrier error detected")
_HEADS = (
    (_ACCESS, "invalid-access"),
    (_UNSET, "uninitialized-read"),
    (_RACE, "race"),
    (_BARRIER, "barrier-divergence"),
)
_PLACE = re.compile(r" in (?:\S*/)?[^\s/]+:(\d+)")
_OTHER = re.compile(r"and (?P<access>Read|Write|Atomic) access at .* in (?:\S*/)?[^\s/]+:(\d+)")
_THREAD = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_HAZARDS = re.compile(r"\[(\d+) hazards?\]")
_ADDRESS = re.compile(r" at \S+\+0x[0-9a-f]+.*$")
_EVERY = "=========     "


def sanitized(
    program: Program, launches: Sequence[Launch], limit: float = 20.0
) -> tuple[Finding, ...]:
    """What the four tools find in the launches, alike findings folded, at their lines.

    Raises MachineFault when this machine has no GPU or no compute-sanitizer, and StudentFault."""
    path = required(NAME, "cuda-sanitizer")
    commands = [[str(path), "--tool", tool, *_OPTIONS] for tool in TOOLS]
    found: list[Finding] = []
    for tool, report in zip(TOOLS, observed(program, launches, commands, limit), strict=True):
        found += folded(program, findings(tool, report.text))
        found += [_unjudged(tool, launches[number].name, limit) for number in report.hung]
    return tuple(found)


def findings(tool: str, text: str) -> Iterable[Finding]:
    """One finding a report of one tool's text; `line` is that of its first place."""
    for block in _blocks(text):
        head = block[0]
        for pattern, kind in _HEADS:
            if match := pattern.match(head):
                yield _finding(tool, kind, match, block)
                break


def folded(program: Program, found: Iterable[Finding]) -> list[Finding]:
    """Alike findings as one, with their count, at its line of the program's source."""
    first: dict[tuple[object, ...], Finding] = {}
    for one in found:
        key = (one.kind, one.line, one.space, one.access, one.other and one.other.line)
        if key in first:
            one = replace(first[key], count=first[key].count + one.count)
        first[key] = one
    return [_placed(program, one) for one in first.values()][:SHOWN]


def _placed(program: Program, one: Finding) -> Finding:
    other = one.other and replace(one.other, text=program.text(one.other.line))
    return replace(program.at(one, one.line), other=other)


def _blocks(text: str) -> Iterable[list[str]]:
    """Each report's lines without the margin: its head first, then what is indented below."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith(_EVERY) and block:
            block.append(line.removeprefix(_EVERY).strip())
            continue
        if block:
            yield block
        block = [line.strip("= ")] if line.strip("= ") else []
    if block:
        yield block


def _finding(tool: str, kind: str, match: re.Match[str], block: Sequence[str]) -> Finding:
    told = match.groupdict()
    whole = "\n".join(block)
    place, thread, other = (p.search(whole) for p in (_PLACE, _THREAD, _OTHER))
    hazards = _HAZARDS.search(whole)
    numbers = tuple(int(n) for n in thread.groups()) if thread else ()
    access = (told.get("access") or "").lower()
    warning = kind == "race" and match[1] == "Warning"
    return Finding(
        kind,
        "warning" if warning else "error",
        f"{NAME} {tool}: {_ADDRESS.sub('', block[0]).rstrip('. ')}",
        line=int(place[1]) if place else 0,
        count=int(hazards[1]) if hazards else 1,
        space=told.get("space") or ("shared" if kind == "race" else ""),
        access=access,
        thread=(numbers[0], numbers[1], numbers[2]) if numbers else None,
        block=(numbers[3], numbers[4], numbers[5]) if numbers else None,
        other=_second(other) if other else None,
    )


def _second(found: re.Match[str]) -> Other:
    access = found["access"].lower()
    known = access if access in ("read", "write", "atomic") else "write"
    return Other(int(found[2]), (0, 0, 0), (0, 0, 0), known)  # type: ignore[arg-type]


def _unjudged(tool: str, name: str, limit: float) -> Finding:
    where = f" of {name}" if name else ""
    what = f"{NAME} {tool} says nothing{where}: it did not end in {limit:g} s"
    return Finding("timeout", "info", what, hint="give it more time: --limit SECONDS")

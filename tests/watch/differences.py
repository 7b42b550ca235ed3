"""Compare the simulator's verdicts with those of compute-sanitizer on a real GPU.

    python -m tests.watch.differences

`sanitizer-*.json` have the reports of its four tools on each kernel, `reasons.yaml` a reason for
each kernel whose verdicts differ. The verdict of the simulator is the set of tools for the kinds
that the kernel's own `// expect:` lines name; the other is the set of tools that reported.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
EXPECT = re.compile(r"^// expect: (.*)$", re.M)
TOOL_OF = {
    "invalid-access": "memcheck",
    "launch-failure": "memcheck",
    "race": "racecheck",
    "lost-update": "racecheck",
    "barrier-divergence": "synccheck",
    "uninitialized-read": "initcheck",
    "timeout": "none",
}
"""The tool that looks for a kind of finding; none looks for a kernel that does not end."""


@dataclass(frozen=True)
class Reason:
    """Why the verdicts on some kernels differ; `source` is a manual, or "observed" without one."""

    name: str
    tool: str
    source: str
    kernels: tuple[str, ...]


@cache
def readings() -> tuple[dict[str, Any], ...]:
    """The measurements: the machine, and the reports of the tools on each kernel."""
    return tuple(json.loads(path.read_text()) for path in sorted(HERE.glob("sanitizer-*.json")))


@cache
def reports() -> dict[str, Any]:
    """The reports on each kernel, from the one measurement that has it."""
    return {name: tools for one in readings() for name, tools in one["kernels"].items()}


@cache
def reasons() -> tuple[Reason, ...]:
    rows = yaml.safe_load((HERE / "reasons.yaml").read_text())
    return tuple(Reason(**row | {"kernels": tuple(row["kernels"])}) for row in rows)


def kernels() -> dict[str, str]:
    """The text of each measured kernel that still exists."""
    paths = {name: HERE / f"{name}.cu" for name in reports()}
    return {name: path.read_text() for name, path in paths.items() if path.exists()}


def expected(text: str) -> list[str]:
    """The expected findings of a kernel; empty for a clean one."""
    return [line for line in EXPECT.findall(text) if line != "clean"]


def ours(text: str) -> set[str]:
    return {TOOL_OF[line.split()[0]] for line in expected(text)}


def theirs(name: str) -> set[str]:
    return {tool for tool, output in reports()[name].items() if output["reports"]}


def never_ended(name: str) -> bool:
    return any(output.get("ended") == "never" for output in reports()[name].values())


def differing() -> set[str]:
    return {name for name, text in kernels().items() if ours(text) != theirs(name)}


def problems(given: tuple[Reason, ...]) -> Iterator[str]:
    """The mistakes in the reasons: a kernel without one, with two, or without a difference."""
    named = [kernel for reason in given for kernel in reason.kernels]
    differ = differing()
    for kernel in sorted(differ - set(named)):
        yield f"{kernel}: the verdicts differ, and no reason is given"
    for kernel in sorted(set(named) - differ):
        yield f"{kernel}: the verdicts are equal, or it is gone"
    for kernel in sorted({kernel for kernel in named if named.count(kernel) > 1}):
        yield f"{kernel}: two reasons"


def table() -> str:
    """One row for each reason: the kernels that only the simulator, or only a tool, reports."""
    held, lines = kernels(), []
    lines.append(f"{'only ours':>9}  {'only theirs':>11}  reason")
    for reason in reasons():
        alone = [k for k in reason.kernels if k in held and ours(held[k]) - theirs(k)]
        note = "" if reason.source != "observed" else "  (observed, not documented)"
        count = f"{len(alone):>9}  {len(reason.kernels) - len(alone):>11}"
        lines.append(f"{count}  {reason.name}{note}")
    alike = len(held) - len(differing())
    lines.append(
        f"{len(held)} kernels, {alike} with equal verdicts, {len(differing())} with different ones"
    )
    for one in readings():
        machine, measured = one["machine"], len(one["kernels"])
        version = machine["compute-sanitizer"]
        lines.append(f"{measured} measured by compute-sanitizer {version} on {machine['device']}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
    wrong = list(problems(reasons()))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))

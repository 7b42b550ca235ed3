"""Our verdicts beside compute-sanitizer's, read on a real GPU, and why they differ.

    python -m tests.watch.differences

`sanitizer-*.json` have what its four tools said of each kernel here, `reasons.yaml` a reason
for each kernel whose verdicts differ. A verdict is the set of tools that should have spoken, by
the kinds that the kernel's own `// expect:` lines name, against the set of those that did.
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
    "barrier-divergence": "synccheck",
    "uninitialized-read": "initcheck",
    "timeout": "none",
}
"""The tool that looks for a kind of finding; none looks for a kernel that does not end."""


@dataclass(frozen=True)
class Reason:
    """Why the verdicts on some kernels differ; `source` is who says so, or "seen"."""

    name: str
    tool: str
    source: str
    kernels: tuple[str, ...]


@cache
def readings() -> tuple[dict[str, Any], ...]:
    """Each reading: the machine, and what the tools said of each kernel on it."""
    return tuple(json.loads(path.read_text()) for path in sorted(HERE.glob("sanitizer-*.json")))


@cache
def told() -> dict[str, Any]:
    """What the tools said of each kernel, from the one reading that has it."""
    return {name: said for one in readings() for name, said in one["kernels"].items()}


@cache
def reasons() -> tuple[Reason, ...]:
    rows = yaml.safe_load((HERE / "reasons.yaml").read_text())
    return tuple(Reason(**row | {"kernels": tuple(row["kernels"])}) for row in rows)


def kernels() -> dict[str, str]:
    """The text of each kernel that the tools judged and that is still there."""
    paths = {name: HERE / f"{name}.cu" for name in told()}
    return {name: path.read_text() for name, path in paths.items() if path.exists()}


def expected(text: str) -> list[str]:
    """What the kernel says must be found in it; empty for a clean one."""
    return [line for line in EXPECT.findall(text) if line != "clean"]


def ours(text: str) -> set[str]:
    return {TOOL_OF[line.split()[0]] for line in expected(text)}


def theirs(name: str) -> set[str]:
    return {tool for tool, said in told()[name].items() if said["reports"]}


def never_ended(name: str) -> bool:
    return any(said.get("ended") == "never" for said in told()[name].values())


def differing() -> set[str]:
    return {name for name, text in kernels().items() if ours(text) != theirs(name)}


def problems(given: tuple[Reason, ...]) -> Iterator[str]:
    """What is wrong with the reasons: a kernel without one, with two, or with one too many."""
    named = [kernel for reason in given for kernel in reason.kernels]
    differ = differing()
    for kernel in sorted(differ - set(named)):
        yield f"{kernel}: the verdicts differ, and no reason is given"
    for kernel in sorted(set(named) - differ):
        yield f"{kernel}: the verdicts are equal, or it is gone"
    for kernel in sorted({kernel for kernel in named if named.count(kernel) > 1}):
        yield f"{kernel}: two reasons"


def table() -> str:
    """One row a reason: how many kernels are wrong and only we say so, and how many are right and
    only a tool says otherwise.
    """
    held, lines = kernels(), []
    lines.append(f"{'only ours':>9}  {'only theirs':>11}  reason")
    for reason in reasons():
        alone = [k for k in reason.kernels if k in held and ours(held[k]) - theirs(k)]
        seen = "" if reason.source != "seen" else "  (seen, not documented)"
        count = f"{len(alone):>9}  {len(reason.kernels) - len(alone):>11}"
        lines.append(f"{count}  {reason.name}{seen}")
    alike = len(held) - len(differing())
    lines.append(f"{len(held)} kernels, {alike} judged alike, {len(differing())} not")
    for one in readings():
        machine, count = one["machine"], len(one["kernels"])
        version = machine["compute-sanitizer"]
        lines.append(f"{count} read by compute-sanitizer {version} on {machine['device']}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
    wrong = list(problems(reasons()))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))

"""What became of one mutant, as a value and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from grader.mutation.edit import Mutant

Outcome = Literal["caught", "same-ptx", "survived"]


@dataclass(frozen=True)
class Verdict:
    """How a lab met a mutant.

    `seen` is "public" when the public cases caught it, "hidden" when only all of them did. `check`
    and `kind` are the failed check and the finding that say most; `lines` are all that the errors
    named. `named` says that one of them is the mutated line or next to it, `located` that there
    was an error to name it.
    """

    outcome: Outcome
    seen: str = ""
    check: str = ""
    kind: str = ""
    message: str = ""
    lines: tuple[int, ...] = ()
    named: bool = False
    located: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values, which `from_json` reads back."""
        return {**asdict(self), "lines": list(self.lines)}


def from_json(row: Any) -> Verdict | None:
    """The verdict of `to_json`; None for anything else."""
    if not isinstance(row, Mapping) or set(row) != {f.name for f in fields(Verdict)}:
        return None
    return Verdict(**{**row, "lines": tuple(row["lines"])})


@dataclass(frozen=True)
class Tried:
    """A mutant with its verdict; `reason` is why it may survive, "" when none is written, `only`
    the check that alone can see it ("speed")."""

    mutant: Mutant
    verdict: Verdict
    reason: str = ""
    only: str = ""

    @property
    def is_misplaced(self) -> bool:
        """Caught by errors that name other lines, or none."""
        return self.is_caught and self.verdict.located and not self.verdict.named

    @property
    def is_caught(self) -> bool:
        return self.verdict.outcome == "caught"

    @property
    def survives(self) -> bool:
        """Neither caught nor equivalent, and nobody says why."""
        return self.verdict.outcome == "survived" and not self.reason

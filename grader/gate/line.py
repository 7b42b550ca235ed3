"""One line of the author's gate: what a lab has to hold, whether it does, and what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.fault import LabFault
from grader.mutation.told import Told
from grader.mutation.verdict import Tried
from grader.oracle import Endless


@dataclass(frozen=True)
class Line:
    """One thing that a lab has to hold: what, whether it does, and what was seen; `tried` are the
    mutants that it sums up, `told` is whether a wrong twin's report names the wrong line; after a
    `last` one nothing else of the lab can be worked out."""

    lab: str
    what: str
    holds: bool
    seen: str
    tried: tuple[Tried, ...] = ()
    told: Told | None = None
    last: bool = False


@dataclass(frozen=True)
class Drawn:
    """What a wrong twin drew, in words, and whether its report names the wrong line."""

    seen: str
    told: Told | None = None


@dataclass(frozen=True)
class Ask:
    """One thing to hold: what, and how to look; what was seen, or Fails or LabFault is raised."""

    what: str
    look: Callable[[], str | Drawn]


class Fails(Exception):
    """A line does not hold; the message says what was seen."""


def held(lab: str, ask: Ask) -> Line:
    """The line of what was asked; a fault of the lab is one that does not hold."""
    try:
        seen = ask.look()
        drawn = seen if isinstance(seen, Drawn) else Drawn(seen)
        return Line(lab, ask.what, True, drawn.seen, told=drawn.told)
    except Fails as fails:
        return Line(lab, ask.what, False, str(fails))
    except LabFault as fault:
        return faulty(lab, ask.what, fault)


def faulty(lab: str, what: str, fault: LabFault) -> Line:
    """The line that a fault of the lab leaves: what, where and how to mend it."""
    said = f"{fault.where}: {fault.what}" if fault.where else fault.what
    said += f": {fault.mend}" if fault.mend else ""
    return Line(lab, what, False, said, last=isinstance(fault, Endless))

"""How a student's results of a lab developed: points, speedup and cost over the submissions.

A plot shows one measure; the table beside it has all of them, for readers without the plot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from grader import dataclass
from grader.gradebook.values import GradeJson, Handed
from grader.grading.cost import Cost
from grader.labs.model import Lab
from grader.portal.ranking import public_cost, public_speed

FEWEST = 2
"""Graded submissions that make a plot."""

NEWEST = 8
"""Submissions that the plot's sentence names."""


Levels = tuple[tuple[str, float], ...]
"""Values with their names, which a plot shows as lines: dashed, then dotted."""


@dataclass(frozen=True)
class Result:
    """What one graded submission reached; `number` counts the student's submissions from 1."""

    handed: Handed
    points: float
    most: float
    speedup: float | None
    cost: Cost | None

    @property
    def number(self) -> int:
        """Which of the student's submissions it is."""
        return self.handed.number


@dataclass(frozen=True)
class Plot:
    """One measure over the submissions.

    Attributes:
        label: What is measured; the title of the axis.
        numbers: The submissions.
        values: The measure of each; None where it was not measured.
        most: The end of the axis; None: what the values need.
        levels: Further values to draw as lines, by their names.
    """

    label: str
    numbers: tuple[int, ...]
    values: tuple[float | None, ...]
    most: float | None = None
    levels: Levels = ()

    @property
    def drawn(self) -> dict[str, Any]:
        """The plot as the script takes it."""
        return {
            "label": self.label, "numbers": self.numbers, "values": self.values,
            "most": self.most, "levels": self.levels,
        }  # fmt: skip

    @property
    def said(self) -> str:
        """The plot in words."""
        known = [(n, v) for n, v in zip(self.numbers, self.values, strict=True) if v is not None]
        at = ", ".join(f"{v:,.6g} for submission {n}" for n, v in known[-NEWEST:])
        older = len(known) - NEWEST
        before = f" ({older} older {'one is' if older == 1 else 'ones are'} in the plot)"
        of = f" of {self.most:g}" if self.most is not None else ""
        lines = "".join(f"; {name}: {value:,.6g}" for name, value in self.levels)
        label = self.label[:1].upper() + self.label[1:]
        return f"{label}{of}: {at}{before if older > 0 else ''}{lines}."


@dataclass(frozen=True)
class History:
    """A student's graded submissions of a lab, oldest first, and the plots of what they reach."""

    results: tuple[Result, ...]
    plots: tuple[Plot, ...]


def history_of(
    handed: Sequence[Handed], lab: Lab, levels: Mapping[str, Levels] = MappingProxyType({})
) -> History:
    """Return how the results developed; without plots when fewer than two have a grade.

    Args:
        handed: The student's submissions. A grade that may not be seen is None.
        lab: The lab.
        levels: By the name of a measure, `speedup` or `cost`, what the lab's own kernels reach.
    """
    ordered = sorted(handed, key=lambda one: one.number)
    results = tuple(_result(one, one.grade, lab) for one in ordered if one.grade is not None)
    plots = tuple(_plots(results, levels)) if len(results) >= FEWEST else ()
    return History(results, plots)


def _result(one: Handed, grade: GradeJson, lab: Lab) -> Result:
    speed = public_speed(grade)
    speedup = float(speed["measurements"]["speedup"]) if speed else None
    cost = public_cost(grade, lab)
    return Result(one, float(grade["score"]), float(grade["judged_max"]), speedup, cost)


def _plots(results: Sequence[Result], levels: Mapping[str, Levels]) -> Iterator[Plot]:
    numbers = tuple(one.number for one in results)
    most = max(one.most for one in results)
    yield Plot("points", numbers, tuple(one.points for one in results), most)
    measures: tuple[tuple[str, Callable[[Result], float | None]], ...] = (
        ("speedup", lambda one: one.speedup),
        ("cost", lambda one: one.cost.total if one.cost else None),
    )
    for label, read in measures:
        values = tuple(map(read, results))
        if sum(value is not None for value in values) >= FEWEST:
            yield Plot(label, numbers, values, None, levels.get(label, ()))

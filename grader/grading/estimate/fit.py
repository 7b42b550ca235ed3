"""Fit the model to measured kernels of one GPU, and say how far it is off on others.

The error is that of labs that were held back: for each lab, the model is fitted to the kernels of
the others and predicts this lab's. Nothing of a lab is used to estimate it. What a report shows
follows from these errors alone, also whether it shows an estimate at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from grader import dataclass
from grader.grading.estimate.model import Fit, Machine, estimate, roofline
from grader.simulator.workload import Work

EXPONENTS = (1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
FACTORS = tuple(k / 20 for k in range(14, 29))

MOST_LOSS = math.log(2)
"""What one kernel may cost a fit: a kernel that the model does not describe decides nothing."""

MAX_ERROR = 0.15
"""The largest median error of an estimate that is shown."""

ROOFLINE_SHARE = 0.5
"""The largest ratio of the median error to that of the roofline."""

MIN_LABS, MIN_KERNELS = 3, 10
"""The least labs and kernels that a machine's error is known from."""

APART = 1.25
"""The ratio of two times from which on their order has to be right."""

RANGE = 0.1
"""The share of the held-back kernels below a range, and the share above it."""


@dataclass(frozen=True)
class Sample:
    """A measured kernel: `seconds` is the median time of a launch with a cold L2 cache."""

    lab: str
    file: str
    seconds: float
    work: Work


@dataclass(frozen=True)
class HeldBack:
    """A kernel that was held back: seconds measured, predicted, and of the roofline."""

    lab: str
    file: str
    seconds: float
    predicted: float
    roofline: float
    binding: str

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return abs(self.predicted / self.seconds - 1)

    @property
    def roofline_error(self) -> float:
        """The relative error of the roofline."""
        return abs(self.roofline / self.seconds - 1)


@dataclass(frozen=True)
class Errors:
    """How far the model is off on held-back kernels.

    Attributes:
        model, roofline: median relative errors.
        low, high: the range of measured over predicted times that holds for all but RANGE of the
            kernels on each side; it contains 1.
        wrong_order: pairs of kernels of a lab that are predicted in the wrong order.
        kernels, labs: how many there are.
    """

    model: float
    roofline: float
    low: float
    high: float
    wrong_order: tuple[tuple[str, str], ...] = ()
    kernels: int = 0
    labs: int = 0

    @property
    def problem(self) -> str:
        """Why estimates with these errors are not shown; empty when they are."""
        if not self.kernels:
            return "the model was not fitted"
        if self.labs < MIN_LABS or self.kernels < MIN_KERNELS:
            return f"its error is known from {self.kernels} kernels of {self.labs} labs only"
        if self.model > MAX_ERROR:
            return f"its median error is {self.model:.0%}, more than {MAX_ERROR:.0%}"
        if self.model > ROOFLINE_SHARE * self.roofline:
            return (
                f"its median error, {self.model:.1%}, is more than half of the roofline's, "
                f"{self.roofline:.1%}"
            )
        if self.wrong_order:
            fast, slow = self.wrong_order[0]
            return f"it predicts {fast} to be slower than {slow}"
        return ""


UNKNOWN = Errors(1.0, 1.0, 1.0, 1.0)
"""The errors of a model before it was tried."""


def fit_model(samples: Sequence[Sample], machine: Machine) -> Fit:
    """Return the fit whose predictions are closest to the samples, by their ratios' logarithms.

    Raises:
        NotEstimated: a sample's launch does not fit the machine.
    """
    best, least = Fit(), math.inf
    for exponent in EXPONENTS:
        one = Fit(exponent)
        times = [
            (sample.seconds, estimate(sample.work, machine, one).seconds - machine.launch)
            for sample in samples
        ]
        for factor in FACTORS:
            loss = sum(
                min(abs(math.log((machine.launch + factor * busy) / seconds)), MOST_LOSS)
                for seconds, busy in times
            )
            if loss < least:
                best, least = Fit(exponent, factor), loss
    return best


def held_back(samples: Sequence[Sample], machine: Machine) -> Iterator[HeldBack]:
    """Predict the kernels of each lab with a fit to those of the others."""
    for lab in dict.fromkeys(sample.lab for sample in samples):
        fit = fit_model([sample for sample in samples if sample.lab != lab], machine)
        for one in (sample for sample in samples if sample.lab == lab):
            made = estimate(one.work, machine, fit)
            line = roofline(one.work, machine)
            yield HeldBack(lab, one.file, one.seconds, made.seconds, line, made.binding)


def errors_of(rows: Sequence[HeldBack]) -> Errors:
    """Summarize the errors of held-back kernels, of which there is at least one."""
    from statistics import median  # which a check, that reads what is known, does not need

    ratios = sorted(row.seconds / row.predicted for row in rows)
    cut = math.floor(RANGE * len(ratios))
    return Errors(
        median(row.error for row in rows),
        median(row.roofline_error for row in rows),
        min(ratios[cut], 1.0),
        max(ratios[len(ratios) - 1 - cut], 1.0),
        tuple(_wrong_order(rows)),
        len(rows),
        len({row.lab for row in rows}),
    )


def _wrong_order(rows: Sequence[HeldBack]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a lab, the faster first, that are predicted the other way round."""
    for one, other in combinations(rows, 2):
        fast, slow = sorted((one, other), key=lambda row: row.seconds)
        apart = fast.lab == slow.lab and slow.seconds >= APART * fast.seconds
        if apart and fast.predicted >= slow.predicted:
            yield f"{fast.lab} {fast.file}", f"{slow.lab} {slow.file}"


def error_lines(rows: Sequence[HeldBack]) -> Iterator[str]:
    """Yield the table of held-back kernels, at most 80 columns wide."""
    yield f"  {'held-back kernel':<36}{'measured':>10}{'model':>10}{'roofline':>10}  limit"
    for row in rows:
        name = f"{row.lab} {row.file}"
        name = name if len(name) <= 35 else f"{name[:32]}..."
        share, line = (100 * (x / row.seconds - 1) for x in (row.predicted, row.roofline))
        time = f"{1e6 * row.seconds:.4g} us"
        yield f"  {name:<36}{time:>10}{share:>+8.0f} %{line:>+8.0f} %  {row.binding}"
    errors = errors_of(rows)
    yield (
        f"  median error: model {errors.model:.1%}, roofline {errors.roofline:.1%} "
        f"({errors.kernels} kernels of {errors.labs} labs)"
    )
    yield f"  measured over predicted: {errors.low:.2f} to {errors.high:.2f}"
    yield f"  not shown: {errors.problem}" if errors.problem else "  shown in `grader check`"

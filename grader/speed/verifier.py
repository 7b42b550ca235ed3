"""Verifies what a timed launch left behind: by the lab's own `verify()`, else by `expected()`.

A timed launch is large and there are many of them, so a lab may say how its output is verified
without computing it all again. In reference.py:

    verify(dims, inputs, outputs, rng) -> str      empty when right, else what is wrong, one line

`rng` is drawn afresh for every call from a seed that nobody else knows: a check that looks at
random combinations of the output may use it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.fault import LabFault
from grader.lab import Case, Expected, Lab
from grader.oracle import load_reference, make_expected, make_verdict
from grader.prepare import array_shapes
from grader.speed.timing import Verify

Arrays = Mapping[str, NDArray[Any]]


def verifier(lab: Lab, case: Case) -> Verify:
    """The function that verifies the timed outputs of `case`, whose dims are all known; it may be
    called from several threads at once. Raises LabFault, and so does the function."""
    module = load_reference(lab.folder / "reference.py")
    shapes = array_shapes(lab, case)

    def verify(inputs: Arrays, outputs: Arrays) -> str:
        if hasattr(module, "verify"):
            draw = np.random.default_rng(secrets.randbits(128))
            return make_verdict(lab, case, inputs, outputs, draw, module)
        due = make_expected(lab, case, shapes, inputs, module)
        said = (difference(name, outputs[name], right) for name, right in due.items())
        return next((text for text in said if text), "")

    return verify


def difference(name: str, output: NDArray[Any], right: Expected) -> str:
    """What is wrong with an output; empty when it is right. NaN never is; an infinity is where it
    is due, as in the output check."""
    if output.shape != right.value.shape:
        raise LabFault(f"{name} is {output.shape}, expected() gives {right.value.shape}")
    got = output.astype(np.float64)
    with np.errstate(invalid="ignore"):
        within = np.abs(got - right.value) <= right.bound
    wrong = ~(within | (got == right.value))
    count = int(np.count_nonzero(wrong))
    if not count:
        return ""
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = ", ".join(str(int(i)) for i in at)
    return (
        f"{count} of {wrong.size} elements of {name}, the first {name}[{place}] = "
        f"{output[at]:g}, expected {right.value[at]:g}"
    )

"""A course with one small lab, `scale`, that uses every part of lab.yaml; tests break it."""

from __future__ import annotations

from pathlib import Path

SPEC = """\
title: Scale a vector
kernel:
  name: scale
  parameters:
    - {name: x, type: const float*}
    - {name: y, type: float*}
    - {name: n, type: int}
arguments:
  x: {in: float32, shape: [n]}
  y: {out: float32, shape: [n]}
  n: {value: n, dtype: int32}
launch:
  grid: ["ceil_div(n, width)"]
  block: [width]
  shared: 4 * width
baseline:
  launch: {grid: [1], block: [32]}
derive:
  kernel:
    name: choose
    parameters:
      - {name: threads, type: int}
      - {name: width, type: int*}
  output: width
  rule: the most threads that a block may have
  answers:
    best: {given: {threads: 64}, minimum: 32, maximum: 64}
cases:
  - {name: small, dims: {n: 5, width: 4}}
  - {name: chosen, dims: {n: 100, width: best}, kind: integer, visibility: hidden}
checks:
  output: {points: 60}
  traffic:
    points: 40
    max_sectors_per_request: 4
"""
REFERENCE = """\
import numpy as np
from grader.labs.model import Expected
def inputs(dims, rng, kind):
    return {"x": rng.uniform(-1, 1, dims["n"]).astype(np.float32)}
def expected(dims, inputs):
    value = 2 * inputs["x"].astype(np.float64)
    return {"y": Expected(value, 0 * value)}
"""


def write_lab(root: Path, spec: str = SPEC, reference: str = REFERENCE) -> tuple[Path, ...]:
    """A course with the one lab `scale`; the roots to find it by."""
    folder = root / "labs" / "scale"
    folder.mkdir(parents=True)
    (folder / "lab.yaml").write_text(spec)
    (folder / "reference.py").write_text(reference)
    return (root / "labs",)

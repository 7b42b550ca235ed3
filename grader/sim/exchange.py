"""Programs and traces as JSON and arrays: how they cross into the simulator's process and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.program import Kernel, Parameter, Program
from grader.launch import Blame, Finding, Launch, LineCounters, Other, Resources, Stored, Trace
from grader.packing import Arrays
from grader.sim.accesses import ROW


def pack_program(program: Program) -> dict[str, Any]:
    return {**asdict(program), "warnings": [], "seconds": 0.0}


def unpack_program(row: Mapping[str, Any]) -> Program:
    kernels = tuple(
        Kernel(
            k["name"],
            k["symbol"],
            k["line"],
            tuple(Parameter(**p) for p in k["parameters"]),
            Resources(**k["resources"]),
        )
        for k in row["kernels"]
    )
    return Program(
        row["file"],
        row["source"],
        kernels,
        row["debug_ptx"],
        row["ptx"],
        row["architecture"],
        (),
        row["toolchain"],
    )


def pack_traces(traces: Sequence[Trace]) -> tuple[list[Any], Arrays]:
    rows, arrays = [], {}
    for k, t in enumerate(traces):
        for index, value in t.outputs.items():
            arrays[f"{k}.o.{index}"] = value
        if t.accesses is not None:
            arrays[f"{k}.a"] = t.accesses.view(np.uint8)
        for index, mask in t.unwritten.items():
            arrays[f"{k}.u.{index}"] = mask
        rows.append(
            {
                "findings": [asdict(f) for f in t.findings],
                "outputs": list(t.outputs),
                "unwritten": list(t.unwritten),
                "table": t.accesses is not None,
                "counters": dict(t.counters),
                "lines": [[line.line, dict(line.counters)] for line in t.lines],
                "resources": asdict(t.resources),
                "seconds": dict(t.seconds),
                "toolchain": dict(t.toolchain),
                "ended": t.ended,
                "printed": t.printed,
            }
        )
    return rows, arrays


def unpack_traces(rows: Sequence[Any], arrays: Mapping[str, NDArray[Any]]) -> tuple[Trace, ...]:
    return tuple(
        Trace(
            "sim",
            tuple(finding_of(f) for f in row["findings"]),
            {i: arrays[f"{k}.o.{i}"] for i in row["outputs"]},
            {i: arrays[f"{k}.u.{i}"].astype(np.bool_) for i in row["unwritten"]},
            row["counters"],
            tuple(LineCounters(line, held) for line, held in row["lines"]),
            Resources(**row["resources"]),
            row["seconds"],
            row["toolchain"],
            row["ended"],
            row["printed"],
            np.array(arrays[f"{k}.a"]).view(ROW) if row["table"] else None,
        )
        for k, row in enumerate(rows)
    )


def unpack_blame(row: Mapping[str, Any], launches: Sequence[Launch]) -> Blame:
    """What blame/step.py tells of launches of one kernel."""
    stored = {
        (name, index): Stored(
            who["element"], who["line"], tuple(who["block"]), tuple(who["thread"])
        )
        for name, index, who in row["stored"]
    }
    return Blame({launch.name: tuple(row["lines"]) for launch in launches}, stored)


def finding_of(row: Mapping[str, Any]) -> Finding:
    """A Finding from its JSON fields."""
    held = dict(row)
    for key in ("block", "thread"):
        held[key] = tuple(held[key]) if held.get(key) else None
    if (other := held.get("other")) is not None:
        held["other"] = Other(
            **{**other, "thread": tuple(other["thread"]), "block": tuple(other["block"])}
        )
    for key in ("cases", "excerpt", "origins"):
        if key in held and isinstance(held[key], list):
            held[key] = tuple(held[key])
    return Finding(**held)

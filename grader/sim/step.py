"""What runs in the simulator's own process: grader.box calls `run` by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from grader.packing import Arrays, unpack_launches
from grader.sim.exchange import pack_traces, unpack_program
from grader.sim.simulate import simulate


def run(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[list[Any], Arrays]:
    """The traces of a request's launches, as JSON and arrays."""
    traces = simulate(
        unpack_program(request["program"]),
        unpack_launches(request["launches"], arrays),
        threads=request["threads"],
        limit=request["limit"],
        steps=request["steps"],
        schedules=request["schedules"],
        table=request["table"],
        sample=request["sample"],
    )
    return pack_traces(traces)

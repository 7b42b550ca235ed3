"""What runs in the process that looks for the line at fault: grader.box calls `run` by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from grader.packing import Arrays, unpack_launches
from grader.sim.blame.patching import Patched
from grader.sim.blame.search import Due, Search
from grader.sim.blame.stored import first_stores
from grader.sim.core import core
from grader.sim.opcode import NotSimulated
from grader.sim.parser import parse
from grader.sim.ptx import PtxError

STORES = 6
"""Of so many wrong launches it is told who stored the first wrong element, in their order."""


def run(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, Any], Arrays]:
    """The lines at fault, and by launch and argument who stored the first wrong element."""
    dues = []
    for k, launch in enumerate(unpack_launches(request["launches"], arrays)):
        indices = request["right"][k]
        due = {i: (arrays[f"{k}.value.{i}"], arrays[f"{k}.bound.{i}"]) for i in indices}
        dues.append(Due(launch, due))
    try:
        patched = Patched(parse(request["ptx"]), request["kernel"], core())
        search = Search(patched, dues, request["threads"])
        lines = search.lines()
        wrong = [ran for ran in search.given if not ran.good][:STORES]
        stored = [
            [ran.due.launch.name, index, asdict(who)]
            for ran in wrong
            for index, who in first_stores(patched.image, ran).items()
        ]
    except (NotSimulated, PtxError):  # told by the run that every case had before
        return {"lines": [], "stored": []}, {}
    return {"lines": list(lines), "stored": stored}, {}

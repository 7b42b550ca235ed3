"""Convert launches to JSON and arrays and back, to pass them to a backend's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.launch import Argument, Array, Launch, Scalar

Arrays = dict[str, NDArray[Any]]


def pack_launches(launches: Sequence[Launch]) -> tuple[list[Any], Arrays]:
    """Return the launches as JSON rows, and their arrays by the names that the rows contain."""
    rows, arrays = [], {}
    for k, launch in enumerate(launches):
        args: list[dict[str, Any]] = []
        for j, a in enumerate(launch.args):
            if isinstance(a, Scalar):
                args.append({"name": a.name, "value": a.value, "dtype": a.dtype})
                continue
            key = f"{k}.{j}" if a.data is not None else ""
            if a.data is not None:
                arrays[key] = np.ascontiguousarray(a.data, a.dtype)
            args.append(
                {
                    "name": a.name,
                    "shape": list(a.shape),
                    "dtype": a.dtype,
                    "data": key,
                    "read_back": a.read_back,
                }
            )
        for name, value in launch.globals.items():
            arrays[f"{k}.g.{name}"] = np.ascontiguousarray(value)
        rows.append(
            {
                "kernel": launch.kernel,
                "grid": list(launch.grid),
                "block": list(launch.block),
                "args": args,
                "shared": launch.shared,
                "globals": list(launch.globals),
                "name": launch.name,
            }
        )
    return rows, arrays


def unpack_launches(rows: Sequence[Any], arrays: Mapping[str, NDArray[Any]]) -> list[Launch]:
    """Return the launches that `pack_launches` converted."""
    launches = []
    for k, row in enumerate(rows):
        args: list[Argument] = []
        for a in row["args"]:
            if "value" in a:
                args.append(Scalar(a["name"], a["value"], a["dtype"]))
            else:
                data = arrays[a["data"]] if a["data"] else None
                args.append(Array(a["name"], tuple(a["shape"]), a["dtype"], data, a["read_back"]))
        values = {name: arrays[f"{k}.g.{name}"] for name in row["globals"]}
        grid, block = row["grid"], row["block"]
        launches.append(
            Launch(
                row["kernel"],
                (grid[0], grid[1], grid[2]),
                (block[0], block[1], block[2]),
                tuple(args),
                row["shared"],
                values,
                row["name"],
            )
        )
    return launches

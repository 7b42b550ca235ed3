"""Our verdicts beside compute-sanitizer's, read on a real GPU (`sanitizer-h200.json`).

What one of its tools reports in a kernel, the kernel's expectation has too, and test_watch.py holds
the simulator to that. Where the tools are wrong, REASONS says why. They see less than we do: see
`test_what_only_we_see`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOLD: Mapping[str, Any] = json.loads((HERE / "sanitizer-h200.json").read_text())
EXPECT = re.compile(r"^// expect: (.*)$", re.M)

TWO_PLACES = "synccheck takes one named barrier at two places of the code for a divergent one"
ARRIVE = "racecheck does not count bar.arrive as what orders the accesses before it"
REASONS = {
    "barrier/deadlock_clean": TWO_PLACES,
    "race/two_named_barriers_clean": TWO_PLACES,
    "race/ring_of_two_named_barriers_clean": ARRIVE,
}


def kernels() -> dict[str, str]:
    """The text of each kernel that was judged and is still there."""
    paths = {name: HERE / f"{name}.cu" for name in TOLD["kernels"]}
    return {name: path.read_text() for name, path in paths.items() if path.exists()}


def reported(name: str) -> list[str]:
    """The tools that report something in a kernel."""
    return [tool for tool, said in TOLD["kernels"][name].items() if said["reports"]]


def is_clean(text: str) -> bool:
    return all(expected == "clean" for expected in EXPECT.findall(text))


def test_where_it_was_read() -> None:
    assert set(TOLD["machine"]) >= {"device", "driver", "compute-sanitizer", "date"}
    assert len(kernels()) >= 60


def test_whatever_the_tools_report_is_expected_of_us() -> None:
    alone = {name for name, text in kernels().items() if reported(name) and is_clean(text)}
    assert alone == set(REASONS)


def test_what_only_we_see() -> None:
    """Of the kernels that are wrong, the tools say nothing of more than a third: races on global
    memory, atomics against plain accesses, uninitialised shared memory, warps without a barrier."""
    wrong = [name for name, text in kernels().items() if not is_clean(text)]
    silent = Counter(name.partition("/")[0] for name in wrong if not reported(name))
    assert silent["race"] >= 20 and silent["uninitialized"] >= 5
    assert sum(silent.values()) > len(wrong) / 3

"""compute-sanitizer's verdicts on tests/watch, as tests/watch/sanitizer-h100.json keeps them.

    python -m tests.gpu.sanitizer OUT.json

A kernel that never ends is not run: the tools would wait for it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader.fault import Fault
from tests.gpu.kernel import compiled
from tests.gpu.machine import machine, version_of

WATCH = Path(__file__).parents[1] / "watch"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
ENDLESS = ("endless", "never_freed", "never_arrives", "two_barriers")
SECONDS = 90
JOBS = 14

_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")
_SAID = re.compile(
    r"^=+ ((?:Invalid|Error:|Warning:|Barrier error|Uninitialized|Program hit|Potential|Unused"
    r"|Misaligned|Host API|Unsupported|Device not).*)$",
    re.M,
)
_NOISE = re.compile(r"0x[0-9a-f]+")


def verdict(path: Path, tool: str) -> dict[str, Any]:
    """What one tool says of one kernel: how many errors, and its first words."""
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "5"]
    command += [sys.executable, "-m", "tests.gpu.kernel", "debug", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"errors": None, "said": ["no answer in time"]}
    text = done.stdout + done.stderr
    summary = _SUMMARY.search(text)
    said = list(dict.fromkeys(_NOISE.sub("0x..", line) for line in _SAID.findall(text)))[:3]
    if "does not end" in text:
        said = ["the kernel did not end"]
    if summary is None:
        return {"errors": None, "said": said or text.strip().splitlines()[-2:]}
    return {"errors": int(summary[1]), "said": said}


def row(path: Path) -> dict[str, Any]:
    if any(word in path.stem for word in ENDLESS) and not path.stem.endswith("_clean"):
        return {"not run": "it never ends"}
    try:
        compiled(path, "debug")  # once, so that the tools' processes find it in the cache
    except Fault as fault:
        return {"not run": fault.what}
    return {tool: verdict(path, tool) for tool in TOOLS}


def main(out: str) -> None:
    """Judge every kernel with every tool, write the file, print a table."""
    kernels = sorted(WATCH.glob("*/*.cu"))
    names = [f"{p.parent.name}/{p.stem}" for p in kernels]
    with ThreadPoolExecutor(JOBS) as pool:
        found = dict(zip(names, pool.map(row, kernels), strict=True))
    told = {
        "machine": machine() | {"compute-sanitizer": version_of("compute-sanitizer")},
        "kernels": found,
    }
    Path(out).write_text(json.dumps(told, indent=1) + "\n")
    for name, tools in found.items():
        counts = [str(tools.get(tool, {}).get("errors", "-")) for tool in TOOLS]
        print(f"{name:<48}", *(f"{c:>6}" for c in counts))


if __name__ == "__main__":
    main(*sys.argv[1:])

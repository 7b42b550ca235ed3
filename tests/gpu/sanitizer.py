"""compute-sanitizer's verdicts on tests/watch, as tests/watch/sanitizer-*.json keep them.

    python -m tests.gpu.sanitizer OUT.json [--new [KIND/KERNEL]...]

With --new only the kernels that no reading has yet, and those that are named.

One process runs many kernels, because a tool takes seconds to start. A report names the file of
the kernel that it is about; a kernel that ends its process (a dead context, no end) is the last
one that was announced, and the others go on in a new process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from grader.faults import Fault
from tests.gpu.kernel import ANNOUNCED, DIED, HUNG, compiled, name_of
from tests.gpu.machine import machine, version_of

WATCH = Path(__file__).parents[1] / "watch"
KERNELS = sorted(WATCH.glob("*/*.cu"))
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
PROCESS_SECONDS = 120
CHUNK = 16
JOBS = 12

_REPORT = re.compile(
    r"^=+ ((?:Invalid|Error:|Warning:|Barrier error|Uninitialized|Program hit|Potential"
    r"|Misaligned).*)$"
)
_PLACE = re.compile(r" in ([\w.-]+\.cu):(\d+)")
_NOISE = re.compile(r"0x[0-9a-f]+")

Verdicts = dict[str, dict[str, Any]]


def judged(tool: str, kernels: Sequence[Path]) -> Verdicts:
    """What one tool says of each kernel: how many reports, and its first words."""
    found: Verdicts = {}
    left = list(kernels)
    while left:
        text, code = run(tool, left)
        ran = [line.removeprefix(ANNOUNCED) for line in text.splitlines() if ANNOUNCED in line]
        names = [name_of(path) for path in left]
        last = names.index(ran[-1].strip()) if ran else 0
        died = code in (HUNG, DIED) or last + 1 < len(names)
        said = reports(text)
        for name in {line.strip() for line in ran}:
            found[name] = {"reports": len(said.get(name, [])), "said": distinct(said.get(name, []))}
        if died and ran:
            found[names[last]]["ended"] = "never" if code == HUNG else "with its context"
        left = left[last + 1 :]
    return found


def run(tool: str, kernels: Sequence[Path]) -> tuple[str, int]:
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "1000"]
    command += [sys.executable, "-m", "tests.gpu.kernel", "debug", *map(str, kernels)]
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",  # a kernel may print text without an end
            timeout=PROCESS_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout or b""
        return (said.decode(errors="replace") if isinstance(said, bytes) else said), HUNG
    return done.stdout, done.returncode


def reports(text: str) -> dict[str, list[str]]:
    """The reports by the kernel that their first source line belongs to."""
    found: dict[str, list[str]] = {}
    head = ""
    for line in text.splitlines():
        if ANNOUNCED in line:
            head = ""  # an error of the API has no line: it is not the next kernel's
        if match := _REPORT.match(line):
            head = _NOISE.sub("0x..", match[1])
        place = _PLACE.search(line)
        if head and place:
            name = place[1].removesuffix(".cu").replace("--", "/")
            found.setdefault(name, []).append(f"{head.strip()} (line {place[2]})")
            head = ""
    return found


def distinct(said: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(said))[:2]


def compiling(kernels: Sequence[Path]) -> set[Path]:
    """Compile all kernels, which the cache keeps for the processes; those that do compile.

    The toolkit may lack the headers of some: these have no reading.
    """

    def compiles(path: Path) -> bool:
        try:
            compiled(path, "debug")
        except Fault as fault:
            print(f"{name_of(path)} does not compile: {fault}")
            return False
        return True

    with ThreadPoolExecutor(JOBS) as pool:
        done = list(pool.map(compiles, kernels))
    return {path for path, good in zip(kernels, done, strict=True) if good}


def unread() -> list[Path]:
    """The kernels that no reading has."""
    held = [json.loads(path.read_text())["kernels"] for path in WATCH.glob("sanitizer-*.json")]
    return [path for path in KERNELS if not any(name_of(path) in read for read in held)]


def main(out: str, *words: str) -> None:
    """Judge kernels with every tool, write the file, print a table."""
    kernels = KERNELS
    if words[:1] == ("--new",):
        kernels = unread() + [path for path in KERNELS if name_of(path) in words[1:]]
    good = compiling(kernels)
    kernels = [path for path in kernels if path in good]
    chunks = [kernels[at : at + CHUNK] for at in range(0, len(kernels), CHUNK)]
    found: dict[str, dict[str, Any]] = {name_of(path): {} for path in kernels}
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = list(product(TOOLS, chunks))
        for (tool, _), verdicts in zip(jobs, pool.map(lambda job: judged(*job), jobs), strict=True):
            for name, verdict in verdicts.items():
                found[name][tool] = verdict
    found = {name: tools for name, tools in found.items() if set(tools) == set(TOOLS)}
    told = {
        "machine": machine() | {"compute-sanitizer": version_of("compute-sanitizer")},
        "kernels": found,
    }
    Path(out).write_text(json.dumps(told, indent=1) + "\n")
    for name, tools in found.items():
        counts = [tools[tool]["reports"] for tool in TOOLS]
        print(f"{name:<56}", *(f"{count:>6}" for count in counts))


if __name__ == "__main__":
    main(*sys.argv[1:])

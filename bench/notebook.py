"""python -m bench.notebook: from a cell to its result in a warm kernel, beside `grader check`.

Wall time of a correct cell, from the request to the kernel's reply with the output, pictures
included, and of the command for the same source; each time the source is another one.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from bench.check import LAB, ROOT, command
from bench.editor import SOLUTION
from bench.table import print_table

MARGIN = 0.1
SPEC = """{"argv": ["%s", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
"display_name": "here", "language": "python"}"""


def executed(client: BlockingKernelClient, text: str) -> tuple[float, str]:
    """Return the seconds that a cell takes, and the HTML that it shows."""
    shown: list[str] = []

    def keep(message: dict[str, dict[str, dict[str, str]]]) -> None:
        shown.append(message["content"].get("data", {}).get("text/html", ""))

    begun = time.perf_counter()
    reply = client.execute_interactive(text, timeout=120, output_hook=keep)
    seconds = time.perf_counter() - begun
    if reply["content"]["status"] != "ok":
        sys.exit("bench.notebook: the cell failed")
    return seconds, "".join(shown)


def source(number: int) -> str:
    """Return a source that was not graded before."""
    return f"{SOLUTION}// {number} {time.time_ns()}\n"


def main(times: int = 12) -> None:
    """Print the table."""
    cells, commands, size = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "kernels" / "here" / "kernel.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(SPEC % sys.executable)
        around = {"JUPYTER_PATH": folder, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": folder}
        os.environ |= around
        manager = KernelManager(kernel_name="here")
        manager.start_kernel(env=dict(os.environ), cwd=folder)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(60)
            executed(client, "%load_ext warpgrade")
            executed(client, f"%%warpgrade {LAB}\n{SOLUTION}")
            file = Path(folder) / "mine.cu"
            for number in range(times):
                seconds, page = executed(client, f"%%warpgrade {LAB}\n{source(number)}")
                if "85 of 85" not in page:
                    sys.exit("bench.notebook: the cell was not graded")
                cells.append(seconds)
                size = len(page)
                file.write_text(source(number))
                begun = time.perf_counter()
                command("-m", "grader", "check", LAB, str(file), cache=folder).wait()
                commands.append(time.perf_counter() - begun)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    cell, check = statistics.median(cells), statistics.median(commands)
    rows = (
        ("cell to result", f"{cell:.2f} s", f"check + {MARGIN:g} s", cell <= check + MARGIN),
        ("grader check", f"{check:.2f} s", "", True),
        ("cell / check", f"{cell / check:.2f}x", "", True),
        ("HTML of the output", f"{size / 1e3:.0f} kB", "", True),
    )
    print(f"{'what':<24} {'measured':>10}   goal")
    print_table(rows)


if __name__ == "__main__":
    main()

"""python -m bench.report [STUDENTS]: the HTML report of a class written, opened and sorted.

The class is the sample class, graded here and repeated under other names. Opening and sorting are
timed in headless Chromium, if it is installed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from grader.labs.reading import load_lab
from grader.reports.classes import ReportRow
from grader.reports.page.write import write_class_report
from tests.classes.demo import FOLDER, LAB, grade_class, rows

GOAL = 15.0


def a_class(size: int) -> list[ReportRow]:
    """So many students, whose submissions are the sample class's in turn."""
    graded = rows(FOLDER, grade_class(FOLDER))
    return [
        replace(graded[number % len(graded)], student=f"Student {number:03}")
        for number in range(size)
    ]


def browsed(index: Path, profile: Path) -> list[tuple[str, float]]:
    """Milliseconds until the index can be used, and to sort it by its second column."""
    from tests.reports.page.browser import chromium, look

    with chromium(profile) as driver:
        look(driver, index)
        driver.get(index.as_uri())
        timing = "return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
        sort = (
            "const begun = performance.now();"
            "document.querySelectorAll('#class th button')[1].click();"
            "document.body.offsetHeight; return performance.now() - begun"
        )
        opened = float(driver.execute_script(timing))
        return [("opened in", opened), ("sorted in", float(driver.execute_script(sort)))]


def main(words: list[str]) -> int:
    """Print the table; 1 when the goal was missed."""
    size = int(words[0]) if words else 300
    students = a_class(size)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        index = write_class_report(Path(folder), load_lab(LAB), students)
        took = time.perf_counter() - begun
        files = list(index.parent.rglob("*.html"))
        whole = sum(path.stat().st_size for path in files) / 2**20
        met = "met" if took <= GOAL else "MISSED"
        print(f"{size} students: {len(files)} pages, {whole:.1f} MiB, written in {took:.2f} s")
        print(f"goal: {GOAL:g} s, {met}; the index is {index.stat().st_size / 1024:.0f} KiB")
        if shutil.which("chromedriver"):
            for name, milliseconds in browsed(index, Path(folder) / "profile"):
                print(f"the index is {name} {milliseconds:.0f} ms")
    return int(took > GOAL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

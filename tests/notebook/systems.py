"""python -m tests.notebook.systems [FILE]: the magic in the real systems that courses use.

JupyterLab in a browser, nbgrader, otter-grader, and nbconvert's export looked at by axe-core. Their
packages are the extra `notebooks`; `make test-notebooks` installs them. Each trial prints a line; a
line goes to FILE as well, with the versions and the date. The exit code is 1 when one fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.command import ROOT
from tests.reports.page.browser import chromium, look

LAB = "vector-add"
SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
WRONG = next((ROOT / "solutions" / LAB / "wrong").glob("invalid-access*.cu")).read_text()
MAGIC = f"%%warpgrade {LAB} --to vector\n"
SECONDS = 180
AXE = (files("axe_core_python") / "axe.min.js").read_text("utf-8")
FAULTS = """
const done = arguments[arguments.length - 1];
axe.run({include: [[".warpgrade"]]}, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(
  found => done(found.violations.map(v => v.id + ": " + v.nodes[0].html.slice(0, 200))));
"""


def book(*cells: nbformat.NotebookNode) -> nbformat.NotebookNode:
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=list(cells), metadata={"kernelspec": spec})


def run(*words: str | Path, cwd: Path) -> str:
    """Run a module of one of the systems, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)], cwd=cwd, env=around(cwd), text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, f"{words[0]}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout + done.stderr


def around(folder: Path) -> dict[str, str]:
    """The variables of a user who has nothing else, and this Python as the kernel."""
    spec = folder / "jupyter" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": command, "display_name": "3", "language": "python"}))
    own = {"JUPYTER_PATH": str(folder / "jupyter"), "PYTHONPATH": str(ROOT)}
    own |= {name: str(folder / "home") for name in ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR")}
    # nbgrader calls the script of alembic
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **own, "PATH": path, "WARPGRADE_LABS": str(ROOT / "labs")}


def axe_faults(driver: Any) -> list[str]:
    driver.execute_script(AXE)
    return list(driver.execute_async_script(FAULTS))


def try_nbconvert(folder: Path) -> str:
    """The export to HTML has points, findings and pictures, without a script of ours, and no fault
    of WCAG 2.1 A and AA in it.
    """
    cells = ("%load_ext warpgrade", MAGIC + WRONG, MAGIC + SOLUTION)
    path = folder / "book.ipynb"
    nbformat.write(book(*map(new_code_cell, cells)), path)
    run("nbconvert", "--to", "html", "--execute", path.name, cwd=folder)
    with chromium(folder / "profile") as driver:
        for dark in (False, True):
            look(driver, folder / "book.html", dark=dark)
            shown = driver.find_elements(By.CSS_SELECTOR, "section.warpgrade")
            assert [s.find_element(By.CSS_SELECTOR, ".total strong").text for s in shown] == [
                "80 of 100", "100 of 100",
            ]  # fmt: skip
            assert "invalid-access" in shown[0].text and shown[0].find_elements(By.TAG_NAME, "svg")
            for summary in driver.find_elements(By.CSS_SELECTOR, ".warpgrade summary"):
                if summary.find_element(By.XPATH, "..").get_attribute("open") is None:
                    summary.click()
            faults = axe_faults(driver)
            assert faults == [], faults
    return "both results with findings and pictures; axe-core: no fault, light and dark"


def try_nbgrader(folder: Path) -> str:
    """Test cells earn points by the result: all, none, and a part."""
    from nbgrader.api import Gradebook

    def cell(text: str, **more: Any) -> nbformat.NotebookNode:
        known = {"schema_version": 3, "locked": False, "grade": False, "solution": False}
        known |= {"task": False, **more}
        return new_code_cell(text, metadata={"nbgrader": known})

    test = {"grade": True, "locked": True}
    made = book(
        new_code_cell("%load_ext warpgrade"),
        cell(f"{MAGIC}// BEGIN ANSWER\n{SOLUTION}// END ANSWER\n", grade_id="k", solution=True),
        cell("vector.require('memory')", grade_id="memory", points=5, **test),
        cell("vector.points(10)", grade_id="all", points=10, **test),
    )
    source = folder / "source" / "ps1" / "p1.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(made, source)
    setting = "c = get_config()\nc.CourseDirectory.course_id = 'gpu'\n"
    comment = "c.ClearSolutions.begin_solution_delimeter = 'BEGIN ANSWER'\n"
    end = "c.ClearSolutions.end_solution_delimeter = 'END ANSWER'\n"
    stub = "c.ClearSolutions.code_stub = {'python': '// YOUR CODE HERE'}\n"
    (folder / "nbgrader_config.py").write_text(setting + comment + end + stub)
    run("nbgrader", "generate_assignment", "ps1", cwd=folder)
    release = nbformat.read(folder / "release" / "ps1" / "p1.ipynb", 4)
    assert SOLUTION not in release.cells[1].source
    for student, text in (("ada", SOLUTION), ("bob", WRONG)):
        release.cells[1].source = MAGIC + text
        place = folder / "submitted" / student / "ps1" / "p1.ipynb"
        place.parent.mkdir(parents=True)
        nbformat.write(release, place)
    run("nbgrader", "autograde", "ps1", cwd=folder)
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as grades:
        scores = {s.student.id: s.score for s in grades.assignment_submissions("ps1")}
    assert scores == {"ada": 15.0, "bob": 8.0}, scores
    return f"autograde: right {scores['ada']:g} of 15, wrong {scores['bob']:g} of 15"


def try_otter(folder: Path) -> str:
    """A test of otter asks the result, in the student's notebook and when it is graded."""
    tests = folder / "tests"
    tests.mkdir()
    case = {"code": ">>> vector.check('memory').status\n'pass'\n", "hidden": False, "locked": False}
    suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
    question = {"name": "q1", "points": 5, "suites": [suite]}
    (tests / "q1.py").write_text(f"OK_FORMAT = True\ntest = {question!r}\n")
    said = []
    for text in (SOLUTION, WRONG):
        cells = (
            "import otter\ngrader = otter.Notebook(tests_dir='tests')\n%load_ext warpgrade",
            MAGIC + text,
            "print(repr(grader.check('q1')))",
        )
        nbformat.write(book(*map(new_code_cell, cells)), folder / "p1.ipynb")
        run(
            "nbconvert", "--to", "notebook", "--execute", "--output", "done", "p1.ipynb", cwd=folder
        )
        done = nbformat.read(folder / "done.ipynb", 4)
        said.append("".join(o.get("text", "") for o in done.cells[2].outputs))
    assert "q1 results: All test cases passed!" in said[0], said
    assert "passed!" not in said[1] and "'fail'" in said[1], said
    return "Notebook.check: passes for the right kernel, fails for the wrong one"


@contextmanager
def lab_server(folder: Path) -> Iterator[str]:
    """JupyterLab on a free port of this machine; its address with the token."""
    words = ("jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port=0",
             "--ServerApp.token=t", "--ServerApp.open_browser=False", "--ip=127.0.0.1",
             "--LabApp.news_url=", "--expose-app-in-browser")  # fmt: skip
    own = {**around(folder), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    with subprocess.Popen(
        [sys.executable, "-m", *words], cwd=folder, env=own, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline and process.poll() is None:
                known = list((folder / "runtime").glob("jpserver-*.json"))
                if known and known[0].read_text().strip():
                    yield str(json.loads(known[0].read_text())["url"])
                    return
                time.sleep(0.1)
            raise AssertionError("JupyterLab did not start")
        finally:
            process.terminate()


def try_jupyterlab(folder: Path) -> str:
    """A student runs the cells in the browser, and sees the result below."""
    cells = (new_markdown_cell("# Lab"), new_code_cell("%load_ext warpgrade"),
             new_code_cell(MAGIC + WRONG))  # fmt: skip
    nbformat.write(book(*cells), folder / "p1.ipynb")
    with lab_server(folder) as address, chromium(folder / "profile") as driver:
        assert urlopen(f"{address}api/status?token=t", timeout=SECONDS).status == 200
        wait = WebDriverWait(driver, SECONDS)
        driver.get(f"{address}doc/tree/p1.ipynb?token=t")
        wait.until(lambda d: "Idle" in (
            d.find_element(By.CSS_SELECTOR, ".jp-Notebook-ExecutionIndicator")
            .get_attribute("data-status") or "").title())  # fmt: skip
        for number in (1, 2):
            driver.find_elements(By.CSS_SELECTOR, ".jp-Cell")[number].click()
            driver.switch_to.active_element.send_keys(Keys.CONTROL, Keys.ENTER)
        section = wait.until(lambda d: d.find_element(By.CSS_SELECTOR, "section.warpgrade"))
        assert "80 of 100" in section.text and "invalid-access" in section.text
        style = section.value_of_css_property("background-color")
        assert style == "rgba(255, 255, 255, 1)", style
        faults = axe_faults(driver)
        assert faults == [], faults
    return "the cell's result is shown with its style; axe-core: no fault"


TRIALS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "nbconvert": ("nbconvert", try_nbconvert),
    "nbgrader": ("nbgrader", try_nbgrader),
    "otter": ("otter-grader", try_otter),
    "JupyterLab": ("jupyterlab", try_jupyterlab),
}


def main(words: list[str]) -> int:
    """Run the trials, print and keep the lines, and return the exit code."""
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}"]
    failed = 0
    for name, (package, trial) in TRIALS.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = trial(Path(folder))
            except Exception:  # noqa: BLE001  each trial has its line
                traceback.print_exc()
                outcome, failed = "FAILED", 1
        lines.append(f"{name} {version(package)}: {outcome}")
        print(lines[-1], flush=True)
    if words:
        Path(words[0]).write_text("\n".join([*lines, ""]))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

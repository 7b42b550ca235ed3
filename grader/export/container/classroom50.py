"""Classroom 50's autograder: the files of an assignment, and the program that grades there.

Classroom 50 publishes these files on a page that anyone can read who finds its address, and runs
them in the student's own repository. So they have the public part of the lab only, as
`grader labs release` gives it to students. The program reads the student's checkout and takes
nothing from it but the submission: no lab of the same name, no Python module.

After a system error there is no result.json and the exit code is not 0. Classroom 50 then reports
an error; a score of 0 would be a grade.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader import __version__
from grader.authoring.release import release_files
from grader.export import classroom50, markdown
from grader.export.container.run_autograder import Configuration, grade_folder
from grader.export.formats import FAILED, Options, row_from_grade
from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.labs.files import write_atomically
from grader.labs.model import Lab
from grader.labs.reading import load_lab
from grader.reports.text import render, score_line

CONFIG = "warpgrade.json"
RESULT, BODY = "result.json", "release-body.md"
_RUN = (*classroom50.VARIABLES.values(), *classroom50.OPTIONAL.values(), "REVIEW_URL")


def assignment_files(lab: Lab, limit: float = 20.0, wheel: Path | None = None) -> dict[str, bytes]:
    """Return the files of CLASSROOM/autograders/ASSIGNMENT/ in the repository `classroom50`.

    Args:
        lab: The lab.
        limit: The time limit of a launch in seconds.
        wheel: The wheel that pip installs; without one, this version of the package from PyPI.

    Raises:
        LabFault: A file cannot be read, or no case is public.
    """
    inner = f"{lab.name}/labs/"
    released = release_files(lab, {})
    files = {f"labs/{k.removeprefix(inner)}": v for k, v in released.items() if k.startswith(inner)}
    files[f"labs/{lab.name}/{lab.name}.cu"] = released[f"{lab.name}/{lab.name}.cu"]
    package = f"./{wheel.name}" if wheel is not None else f"warpgrade=={__version__}"
    if wheel is not None:
        files[wheel.name] = _file_bytes(wheel)
    template = (Path(__file__).parent / "autograder.py.in").read_text("utf-8")
    text = template.replace("@LAB@", lab.name).replace("@PACKAGE@", repr(package))
    config = json.dumps({"lab": lab.name, "limit": limit}, indent=2) + "\n"
    return files | {"autograder.py": text.encode(), CONFIG: config.encode()}


def _file_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), fix="Make the file readable.") from None


def main() -> int:
    """Grade the checkout that the command line names; return the exit code, 0 with a result."""
    try:
        run(Path(sys.argv[1]), Path(sys.argv[2]), os.environ)
    except Fault as fault:
        print(f"::error::{_one_line(str(fault))}", file=sys.stderr)
        return MachineFault.exit_code if isinstance(fault, StudentFault) else fault.exit_code
    except Exception as error:  # noqa: BLE001  the instructor reads a sentence
        print(f"::error::the autograder failed: {type(error).__name__}: {_one_line(str(error))}")
        return MachineFault.exit_code
    return 0


def run(assignment: Path, checkout: Path, variables: Mapping[str, str]) -> None:
    """Grade the submission in `checkout` and write result.json and release-body.md there.

    Args:
        assignment: The folder with the files of `assignment_files`.
        checkout: The student's files.
        variables: The environment, with those of Classroom 50.

    Raises:
        LabFault: The lab is wrong, or a variable of Classroom 50 is missing.
        MachineFault: The machine failed.
    """
    for name in (RESULT, BODY):
        (checkout / name).unlink(missing_ok=True)
    options = Options(run={name: variables[name] for name in _RUN if variables.get(name)})
    made = grade_folder(_configuration(assignment), checkout, visibility="public")
    row = row_from_grade(made)
    if row.points is None:
        raise MachineFault(FAILED, where="autograder.py", fix="Run the job again.")
    if problem := classroom50.row_problem(row, options):
        raise LabFault(problem, where="autograder.py")
    print(render(score_line(made)).rstrip("\n"))
    write_atomically(checkout / BODY, markdown.export([row], options).encode())
    write_atomically(checkout / RESULT, classroom50.export([row], options).encode())


def _configuration(assignment: Path) -> Configuration:
    try:
        held: dict[str, Any] = json.loads((assignment / CONFIG).read_text("utf-8"))
        lab, limit = str(held["lab"]), float(held["limit"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        fix = "Make the files again: grader export classroom50-autograder LAB"
        raise MachineFault(f"{CONFIG} is incomplete: {error}", fix=fix) from None
    return Configuration(load_lab(lab, [assignment / "labs"]), b"", limit)


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())

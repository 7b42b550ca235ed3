"""Gradescope's autograder: the zip that is uploaded, and what grades a submission with it.

The zip's root has `setup.sh` and `run_autograder`. `course/` has the lab with its hidden cases, and
the files that the quiz's answers are computed from. `warpgrade/` has this package's source, when it
is available.

Gradescope's containers run as root and forbid namespaces. So the course's files are made readable
by root only before anything is graded, and an unprivileged user runs the submission. stdout is for
the instructors; students see results.json.

After a system error there is no results.json: Gradescope then reports that the autograder failed,
and an instructor runs it again. A score of 0 would be a grade.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from grader import __version__, dataclass
from grader.authoring.release import zipped
from grader.export import gradescope
from grader.export.formats import FAILED, Options, row_from_grade
from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.feedback.grade import grade
from grader.gradebook.policy import FeedbackPolicy
from grader.grading.pipeline import grade_unreadable
from grader.grading.quiz import probed_files
from grader.grading.record import Grade, HiddenFeedback
from grader.labs.files import write_atomically
from grader.labs.model import Lab
from grader.labs.quiz import ANSWERS_FILE, AnswerSheet, parse_answer_sheet
from grader.labs.reading import load_lab
from grader.reports.redact import redact
from grader.reports.text import grade_report, render
from grader.sandbox.call import restrict_access
from grader.submissions.gather import StudentSubmission, choose_submission
from grader.submissions.listing import list_folder
from grader.submissions.sources import Wanted

MAX_TRIES = 3

CONFIG = "course/autograder.json"
SCRIPTS = ("run_autograder", "setup.sh")
SOURCE = "warpgrade"
"""The folder of the package's source in the zip."""

_PACKAGE_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
_OMITTED_SUFFIXES = (".so", ".part", ".pyc")
_PLACEHOLDER = "@PACKAGE@"


def autograder_zip(
    lab: Lab, seed: bytes, limit: float = 20.0, wheel: Path | None = None,
    feedback: FeedbackPolicy | None = None,
) -> bytes:  # fmt: skip
    """Return the zip for a lab.

    Args:
        lab: The lab.
        seed: Draws the hidden inputs, the same for all students.
        limit: The time limit of a launch in seconds.
        wheel: The wheel that pip installs; without one this checkout, otherwise this version of the
            package from PyPI.
        feedback: What students read about hidden cases; each check's points when not given.

    Raises:
        LabFault: A file cannot be read.
    """
    package, wanted = _package(wheel)
    files = {**dict(_lab_files(lab)), **package}
    config: dict[str, object] = {"lab": lab.name, "seed": seed.hex(), "limit": limit}
    if feedback is not None:
        config["feedback"] = feedback.to_json()
    files[CONFIG] = json.dumps(config, indent=2).encode() + b"\n"
    for name in SCRIPTS:
        text = (Path(__file__).parent / name).read_text("utf-8")
        files[name] = text.replace(_PLACEHOLDER, shlex.quote(wanted)).encode()
    return zipped(files, executable=SCRIPTS)


def _lab_files(lab: Lab) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the lab's folder, and of its solution only those that the quiz needs."""
    course = lab.folder.parent.parent
    inside = (path for path in lab.folder.rglob("*") if path.is_file())
    for path in dict.fromkeys((*sorted(inside), *probed_files(lab))):
        if "__pycache__" not in path.parts:
            yield f"course/{path.relative_to(course).as_posix()}", _file_bytes(path)


def _package(wheel: Path | None) -> tuple[Mapping[str, bytes], str]:
    """Return the files that pip installs from, and pip's requirement."""
    if wheel is not None:
        return {wheel.name: _file_bytes(wheel)}, f"./{wheel.name}"
    root = Path(__file__).parents[3]
    if not (root / "pyproject.toml").is_file():
        return {}, f"warpgrade=={__version__}"
    sources = [root / name for name in _PACKAGE_FILES] + sorted((root / "grader").rglob("*"))
    names = [path for path in sources if path.is_file() and "__pycache__" not in path.parts]
    kept = (path for path in names if not path.name.endswith(_OMITTED_SUFFIXES))
    files = {f"{SOURCE}/{path.relative_to(root).as_posix()}": _file_bytes(path) for path in kept}
    return files, f"./{SOURCE}"


def _file_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), fix="Make the file readable.") from None


@dataclass(frozen=True)
class Configuration:
    """What the zip was made for: the lab, the seed and the limit in seconds per launch.

    `feedback` is what students read about hidden cases, and from when on they read everything.
    """

    lab: Lab
    seed: bytes
    limit: float
    feedback: FeedbackPolicy = FeedbackPolicy()

    @property
    def hidden_feedback(self) -> HiddenFeedback:
        """What students read about hidden cases now."""
        return self.feedback.at(datetime.now(UTC))


def main() -> int:
    """Grade the submission in the folder that the command line names; return the exit code."""
    try:
        return run(Path(sys.argv[1]))
    except Fault as fault:
        print(fault)
        return fault.exit_code
    except Exception as error:  # noqa: BLE001  the instructor reads a sentence
        print(f"the autograder failed: {type(error).__name__}: {error}")
        return MachineFault.exit_code


def run(root: Path) -> int:
    """Grade root/submission into root/results/results.json.

    Raises:
        LabFault: The lab is wrong; there is no results.json then.
        MachineFault: The machine failed; there is no results.json then.
    """
    results = root / "results" / "results.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    course = root / "source" / "course"
    restrict_access([course])
    configuration = read_configuration(root / "source")
    made = grade_folder(configuration, root / "submission")
    print(render(grade_report(made)))
    row = row_from_grade(made)
    if row.points is None:
        raise MachineFault(FAILED, where="run_autograder", fix="Press Rerun in Gradescope.")
    shown = replace(row, grade=redact(made, configuration.hidden_feedback))
    write_atomically(results, gradescope.export([shown], Options()).encode())
    return 0


def read_configuration(source: Path) -> Configuration:
    """Read the configuration from the unpacked zip. Raises MachineFault and LabFault."""
    try:
        held: dict[str, Any] = json.loads((source / CONFIG).read_text("utf-8"))
        lab, seed, limit = str(held["lab"]), bytes.fromhex(held["seed"]), float(held["limit"])
        feedback = FeedbackPolicy.from_json(held.get("feedback") or {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fix = "Make the zip again: grader export gradescope-autograder LAB"
        raise MachineFault(f"{CONFIG} is incomplete: {error}", fix=fix) from None
    return Configuration(load_lab(lab, [source / "course" / "labs"]), seed, limit, feedback)


def grade_folder(
    configuration: Configuration, folder: Path, visibility: Literal["public", "all"] = "all"
) -> Grade:
    """Grade the submission in a folder on those cases; try again after a system error."""
    lab = configuration.lab
    found = find_submission(folder, lab)
    given = found.answers()
    answers = AnswerSheet(exists=False) if given is None else parse_answer_sheet(given)
    try:
        submission = found.submission(Wanted.by(lab))
    except StudentFault as fault:
        return grade_unreadable(lab, found.name, _with_advice(fault, lab), answers=answers)
    for left in reversed(range(MAX_TRIES)):
        made = grade(
            lab, submission, on="sim", visibility=visibility, seed=configuration.seed,
            limit=configuration.limit, answers=answers, fixes=True,
        )  # fmt: skip
        if made.score.status == "graded" or not left:
            break
    return made


def find_submission(folder: Path, lab: Lab) -> StudentSubmission:
    """Return what a student submitted: the files that `grader check` takes from a folder.

    Links are not accepted: root would read the file that they point to.
    """
    return choose_submission("your submission", list_folder(folder).files, lab.name)


def _with_advice(fault: StudentFault, lab: Lab) -> StudentFault:
    """Return the fault with what to submit to Gradescope."""
    fix = f"Submit one file, {lab.name}.cu, and {ANSWERS_FILE} with it if the lab has questions."
    findings = tuple(replace(finding, hint=fix) for finding in fault.findings)
    return StudentFault(fault.what, where=fault.where, fix=fix, findings=findings)


if __name__ == "__main__":
    sys.exit(main())

"""The zip that is uploaded to Gradescope as an autograder.

Its root has `setup.sh` and `run_autograder`. `course/` has the lab with its hidden cases, and the
files that the quiz's answers are computed from. `warpgrade/` has this package's source, when it is
available.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader import __version__
from grader.authoring.release import zipped
from grader.faults import LabFault
from grader.gradebook.policy import FeedbackPolicy
from grader.grading.quiz import probed_files
from grader.labs.model import Lab

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
            yield f"course/{path.relative_to(course).as_posix()}", _read(path)


def _package(wheel: Path | None) -> tuple[Mapping[str, bytes], str]:
    """Return the files that pip installs from, and pip's requirement."""
    if wheel is not None:
        return {wheel.name: _read(wheel)}, f"./{wheel.name}"
    root = Path(__file__).parents[3]
    if not (root / "pyproject.toml").is_file():
        return {}, f"warpgrade=={__version__}"
    sources = [root / name for name in _PACKAGE_FILES] + sorted((root / "grader").rglob("*"))
    names = [path for path in sources if path.is_file() and "__pycache__" not in path.parts]
    kept = (path for path in names if not path.name.endswith(_OMITTED_SUFFIXES))
    files = {f"{SOURCE}/{path.relative_to(root).as_posix()}": _read(path) for path in kept}
    return files, f"./{SOURCE}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), fix="Make the file readable.") from None

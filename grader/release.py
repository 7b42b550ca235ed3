"""What students are given: a zip with the skeleton, the handout, the questions and the public half
of the lab, so that `grader check` works in the unpacked folder.

`reference.py` goes along: it says in NumPy what is asked, and a check needs it. Hidden cases, the
solution, and how the quiz's answers are worked out stay behind; `leaks` looks for them in every
file before anything is written.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from grader.check.suite import plan
from grader.fault import LabFault
from grader.lab import Lab
from grader.labfile import model as labmodel
from grader.labfile.thresholds import FILE as THRESHOLDS
from grader.quiz.form import form
from grader.quiz.marking import asked, choices
from grader.quiz.sheet import FILE

OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, the first that a zip can hold: the same lab gives the same bytes."""

README = """\
{title}

Write your kernel into {lab}.cu, then, in this folder:

  grader check {lab} {lab}.cu --course .

Your course says where to get grader, the package warpgrade; `grader doctor`
says whether it can work on your machine. No GPU is needed.
"""
QUESTIONS = """
The questions are in {file}: write each answer after its colon. Only their
form is checked here; which are right you learn from your course.
"""


def release_files(lab: Lab, handout: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Every file of the zip by its path. `handout` has the lab's page as files by their names.

    Raises LabFault: a file is missing, or no case is public.
    """
    top, inner = f"{lab.name}/", f"{lab.name}/labs/{lab.name}/"
    texts = {
        f"{top}{lab.name}.cu": _read(lab.skeleton),
        f"{top}README.txt": _readme(lab).encode(),
        f"{inner}lab.yaml": public_spec(lab).encode(),
        f"{inner}reference.py": _read(lab.folder / "reference.py"),
    }
    if lab.quiz:
        texts[top + FILE] = form(lab).encode()
    if _needs_baseline(lab):
        texts[inner + lab.baseline.name] = _read(lab.baseline)
    if (lab.folder / THRESHOLDS).is_file():
        texts[inner + THRESHOLDS] = _read(lab.folder / THRESHOLDS)
    pages = {top + name: page for name, page in handout.items()}
    return dict(sorted((texts | pages).items()))


def public_spec(lab: Lab) -> str:
    """The lab.yaml without hidden cases, comments, and what tells the quiz's answers."""
    file = lab.folder / "lab.yaml"
    spec = yaml.safe_load(_read(file).decode("utf-8-sig"))
    hidden = {case.name for case in lab.cases if case.visibility == "hidden"}
    spec["cases"] = [case for case in spec["cases"] if case["name"] not in hidden]
    if not spec["cases"]:
        mend = "make those public that teach the most"
        raise LabFault("no case is public", where=str(file), mend=mend)
    if lab.derivations:
        answers = spec["derive"]["answers"]
        spec["derive"]["answers"] = {n: a for n, a in answers.items() if n not in _unseen(lab)}
    spec.pop("quiz", None)
    if lab.quiz:
        spec["quiz"] = _questions(lab)
    _check(labmodel.LabModel, spec, file)
    return yaml.safe_dump(spec, sort_keys=False, default_flow_style=None, width=100)


def zipped(files: Mapping[str, bytes], executable: Collection[str] = ()) -> bytes:
    """The zip with these files, in the order of their names; the same files give the same bytes.
    Those named in `executable` can be run where they are unpacked."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, OLDEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o755 if name in executable else 0o644) << 16
            archive.writestr(entry, files[name])
    return held.getvalue()


def _readme(lab: Lab) -> str:
    text = README.format(title=lab.title, lab=lab.name)
    return text + (QUESTIONS.format(file=FILE) if lab.quiz else "")


def _needs_baseline(lab: Lab) -> bool:
    """The baseline may be half of the solution: it goes along only where a check runs it."""
    checks = plan(lab)
    return any(check.options.needs_baseline or check.name == "speed" for check in checks)


def _unseen(lab: Lab) -> set[str]:
    """Derived answers that only hidden cases use."""
    used = {
        kind: {n for case in lab.cases if case.visibility == kind for n in case.derived.values()}
        for kind in ("public", "hidden")
    }
    return used["hidden"] - used["public"]


def _questions(lab: Lab) -> dict[str, dict[str, Any]]:
    """The questions as they are read, without anything that they are worked out from."""
    told: dict[str, dict[str, Any]] = {}
    for question in lab.quiz:
        told[question.name] = {"text": " ".join(asked(question, lab).split())}
        told[question.name] |= {"kind": question.kind}
        if question.choices:
            told[question.name]["choices"] = [{"text": t} for t in choices(question, lab).values()]
        if question.unit:
            told[question.name]["unit"] = question.unit
    return told


def _check(model: type[BaseModel], spec: Any, file: Path) -> None:
    """What is left must still be a lab."""
    try:
        model.model_validate(spec)
    except ValueError as error:
        what = f"without its hidden half this is no lab: {str(error).splitlines()[0]}"
        raise LabFault(what, where=str(file)) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), mend="the lab is not whole") from None

"""One submission to be graded, as plain values that can go to another process or machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import __version__
from grader.compile.cache import key_of
from grader.compile.source import toolchain
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.grade import grade
from grader.gpu.devices import same_model_devices, toolkit
from grader.gpu.nvcc import release
from grader.grading.cases import Backend
from grader.grading.pipeline import grade_unreadable, seed_id
from grader.grading.record import Grade
from grader.labs.model import Lab
from grader.labs.quiz import AnswerSheet, parse_answer_sheet
from grader.labs.reading import lab_digest
from grader.launch import Finding
from grader.sandbox.call import require_sandbox
from grader.submissions.files import parse_submission

# What a grade depends on beside the submission itself, as one digest: two grades of the same
# submission with the same key are the same grade.


def batch_key(lab: Lab, on: Backend, seed: bytes, tools: Mapping[str, str]) -> str:
    """SHA-256 over the lab's files, the seed, and what compiles and runs the submissions there.
    Raises LabFault.
    """
    files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in quiz_files(lab)]
    return key_of(lab_digest(lab), files, seed_id(seed), on, dict(tools))


def local_tools(on: Backend) -> Mapping[str, str]:
    """The grader's version, the compilers' and on a GPU its model: where they are the same, the
    same submission gets the same grade. Raises MachineFault.
    """
    tools = {"grader": __version__, **toolchain()}
    if on == "gpu":
        nvcc = toolkit()
        tools |= {"nvcc": release(nvcc) if nvcc else "", "device": same_model_devices()[0].model}
    return tools


def quiz_files(lab: Lab) -> Iterator[Path]:
    """What the answers to the quiz are measured with, outside the lab's folder: its solution's."""
    probes = (probe for question in lab.quiz for probe in question.probes.values())
    for name in sorted({probe.file for probe in probes}):
        path = lab.solution.parent / name
        if path.is_file():
            yield path


@dataclass(frozen=True)
class BatchOptions:
    """What all submissions of a batch are graded by. `threads` is the simulator's for each of
    them, `limit` in seconds a launch; `confined` refuses to grade without a sandbox.
    """

    on: Backend = "sim"
    seed: bytes = b""
    threads: int = 1
    limit: float = 20.0
    confined: bool = True


@dataclass(frozen=True)
class Task:
    """`number` is the submission's in the gradebook. `refused` says why there is nothing to
    grade: what was handed in is no file.
    """

    number: int
    student: str
    name: str
    data: bytes
    answers: bytes | None = None
    refused: Finding | None = None


@dataclass(frozen=True)
class Answer:
    """What came of a task: its grade's JSON, or the failure that there is none for. A failure is
    the machine's, to be tried again unless it `is_final`, or the lab's own.
    """

    number: int
    grade: Mapping[str, Any] | None = None
    failure: str = ""
    is_lab_fault: bool = False
    is_final: bool = False

    @property
    def is_graded(self) -> bool:
        return self.grade is not None and self.grade["status"] == "graded"

    @property
    def reason(self) -> str:
        """Why there is no grade, in one line."""
        if self.grade is None:
            return " ".join(self.failure.split())
        errors = [c["summary"] for c in self.grade["checks"] if c["status"] == "error"]
        return " ".join(errors[0].split()) if errors else "the grade is incomplete"


def grade_task(lab: Lab, task: Task, terms: BatchOptions) -> Answer:
    """Grade one submission on all cases. Whatever goes wrong is in the answer: one submission
    never stops the others.
    """
    try:
        require_sandbox(unsafe=not terms.confined)
        return Answer(task.number, _grade(lab, task, terms).to_json())
    except LabFault as fault:
        return Answer(task.number, failure=str(fault), is_lab_fault=True)
    except MachineFault as fault:
        return Answer(task.number, failure=str(fault))
    except Exception as error:
        return Answer(task.number, failure=f"grader failed: {type(error).__name__}: {error}")


def _grade(lab: Lab, task: Task, terms: BatchOptions) -> Grade:
    answers = None
    if lab.quiz:
        given = task.answers
        answers = AnswerSheet(exists=False) if given is None else parse_answer_sheet(given)
    try:
        if task.refused is not None:
            raise StudentFault(task.refused.message, findings=(task.refused,))
        submission = parse_submission(task.data, task.name)
    except StudentFault as fault:
        return grade_unreadable(
            lab, task.name, fault, on=terms.on, student=task.student, answers=answers
        )
    return grade(
        lab, submission, on=terms.on, visibility="all", seed=terms.seed, threads=terms.threads,
        limit=terms.limit, student=task.student, answers=answers,
    )  # fmt: skip

"""One submission to grade, as plain values that can go to another process or machine.

`batch_key` is a digest of what a grade depends on besides the submission: two grades of the same
submission with the same key are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader import __version__, dataclass
from grader.compile.cache import cache_key
from grader.compile.source import toolchain
from grader.faults import (
    LabFault,
    MachineFault,
    StudentFault,
    is_system_error,
    root_fault,
    system_fault,
)
from grader.feedback.grade import grade
from grader.gpu.devices import same_model_devices, toolkit
from grader.gpu.nvcc import release
from grader.gradebook.values import failure
from grader.grading.cases import Backend
from grader.grading.pipeline import Progress, grade_unreadable, seed_id
from grader.grading.record import Grade
from grader.labs.model import Lab
from grader.labs.quiz import AnswerSheet, parse_answer_sheet
from grader.labs.reading import lab_digest
from grader.launch import Finding
from grader.sandbox.call import require_sandbox
from grader.submissions.files import parse_submission


def batch_key(lab: Lab, on: Backend, seed: bytes, tools: Mapping[str, str]) -> str:
    """Return the SHA-256 of the lab's files, the seed, the backend and its tools.

    Raises:
        LabFault: A file of the lab cannot be read.
    """
    files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in quiz_files(lab)]
    return cache_key(lab_digest(lab), files, seed_id(seed), on, dict(tools))


def local_tools(on: Backend) -> Mapping[str, str]:
    """Return the versions of the grader and the compilers, and the GPU's model.

    Where they are equal, the same submission gets the same grade.

    Raises:
        MachineFault: A compiler or the GPU is not available.
    """
    tools = {"grader": __version__, **toolchain()}
    if on == "gpu":
        nvcc = toolkit()
        tools |= {"nvcc": release(nvcc) if nvcc else "", "device": same_model_devices()[0].model}
    return tools


def quiz_files(lab: Lab) -> Iterator[Path]:
    """Yield the solution files from which the quiz's answers are measured."""
    probes = (probe for question in lab.quiz for probe in question.probes.values())
    for name in sorted({probe.file for probe in probes}):
        path = lab.solution.parent / name
        if path.is_file():
            yield path


@dataclass(frozen=True)
class BatchOptions:
    """The options of all gradings of a batch.

    Attributes:
        on: The backend.
        seed: The seed that hidden inputs are drawn from.
        threads: The simulator's threads for each submission.
        limit: The time limit of a launch in seconds.
        confined: Whether grading without a sandbox is refused.
    """

    on: Backend = "sim"
    seed: bytes = b""
    threads: int = 1
    limit: float = 20.0
    confined: bool = True


@dataclass(frozen=True)
class Task:
    """One submission to grade.

    `number` is the submission's in the gradebook. `refused` says why it cannot be graded, for
    example because it is not a regular file.
    """

    number: int
    student: str
    name: str
    data: bytes
    answers: bytes | None = None
    refused: Finding | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a task: the grade's JSON, or why there is none.

    A failure is a system error, tried again unless `is_final`, or an error of the lab.
    """

    number: int
    grade: Mapping[str, Any] | None = None
    failure: str = ""
    is_lab_fault: bool = False
    is_final: bool = False

    @property
    def is_graded(self) -> bool:
        """Whether there is a complete grade."""
        return self.grade is not None and self.grade["status"] == "graded"

    @property
    def reason(self) -> str:
        """Why there is no grade, in one line."""
        if self.grade is None:
            return " ".join(self.failure.split())
        return failure(self.grade)


def grade_task(
    lab: Lab, task: Task, terms: BatchOptions, progress: Progress = lambda step, number, steps: None
) -> Answer:
    """Grade one submission on all cases.

    Every error is in the answer, so that one submission never stops the others. `progress` is
    called before each step.
    """
    try:
        require_sandbox(unsafe=not terms.confined)
        return Answer(task.number, _grade(lab, task, terms, progress).to_json())
    except (LabFault, MachineFault) as fault:
        cause = root_fault(fault)
        return Answer(task.number, failure=str(cause), is_lab_fault=isinstance(cause, LabFault))
    except Exception as error:
        if is_system_error(error):
            return Answer(task.number, failure=str(system_fault(error, "grading failed")))
        return Answer(task.number, failure=f"grader failed: {type(error).__name__}: {error}")


def _grade(lab: Lab, task: Task, terms: BatchOptions, progress: Progress) -> Grade:
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
        limit=terms.limit, student=task.student, answers=answers, progress=progress,
    )  # fmt: skip

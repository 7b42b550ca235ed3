"""Grade one submission and explain its errors.

The pipeline (grader.grading.pipeline) with what wraps it: the quiz is marked and the lab's baseline
is measured while the submission compiles and runs, and wrong outputs are localized.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from grader.checks.suite import plan
from grader.feedback.localization import localize_faults
from grader.gpu.speedup import Timing
from grader.grading.baseline import prefetch
from grader.grading.cases import MAX_STEPS, Backend, RunOptions, select_cases
from grader.grading.pipeline import Job, Progress, grade_submission
from grader.grading.quiz import answer_quiz
from grader.grading.record import Grade
from grader.labs.model import Lab
from grader.labs.quiz import AnswerSheet
from grader.labs.reference import prepare_process
from grader.sandbox.call import prepare_template
from grader.submissions.files import Submission


def grade(
    lab: Lab, submission: Submission, *, on: Backend = "sim",
    visibility: Literal["public", "all"] = "public", seed: bytes = b"",
    threads: int | None = None, limit: float = 20.0, step_limit: int = MAX_STEPS,
    student: str = "", answers: AnswerSheet | None = None,
    recorded: Sequence[Timing] | None = None,
    progress: Progress = lambda step, number, steps: None,
) -> Grade:  # fmt: skip
    """Grade one submission on one backend.

    Args:
        lab: the lab that the submission is for.
        submission: the student's file.
        on: the backend, "sim" or "gpu".
        visibility: the cases to run: the public ones, or all.
        seed: draws the inputs of the cases.
        threads: threads of the simulator; None for one a core.
        limit: seconds that one launch may take.
        step_limit: warp instructions that one block may execute on the simulator.
        student: the student's name or number, for the record.
        answers: the student's answers to the quiz; None leaves the quiz out of what is evaluated.
        recorded: timings to evaluate in place of new ones, as of a GPU.
        progress: called before each step.

    Returns a grade with 0 points and its findings for a submission that does not compile, and an
    incomplete grade that costs no points after a system error. Raises LabFault.
    """
    options = RunOptions(on, seed, threads, limit, step_limit)
    job = Job(lab, submission, options, visibility, student, recorded)
    prepare_process()
    with ThreadPoolExecutor(max_workers=3) as background:
        background.submit(prepare_template)  # it takes longer than reading the compiled program
        quiz = background.submit(answer_quiz, lab, answers, options)
        prefetch(background, lab, plan(lab), select_cases(lab, visibility, seed), options)
        return grade_submission(job, quiz=quiz.result, localize=localize_faults, progress=progress)

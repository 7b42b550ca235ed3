"""The requirements that a lab must meet, and their results.

A requirement is evaluated by a function that returns what it observed, or raises
RequirementNotMet. The functions here cover the files of a lab:

- the skeleton is the one made from the solution, and students still have work to do in it;
- the solution passes every check on public and hidden cases, with a margin for speed;
- every incorrect variant in `wrong/` has the finding that its file name starts with, and loses
  points;
- every answer of the quiz can be computed, the answer sheet passes, wrong answers do not;
- thresholds of speed were measured with the current baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from grader import dataclass, regex, replace
from grader.authoring.mutation.mutants import MutantResult, ReportedLines, reported_lines
from grader.authoring.new_lab import make_skeleton
from grader.checks.quiz import mark_quiz
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.fixes import errors_of
from grader.feedback.grade import grade
from grader.grading.cases import RunOptions
from grader.grading.pipeline import Grade, grade_unreadable
from grader.grading.quiz import answer_quiz, quiz_key
from grader.labs.model import Lab, Question
from grader.labs.quiz import (
    ANSWERS_FILE,
    CHOICE_LETTERS,
    Answer,
    AnswerSheet,
    QuizAttempt,
    SheetEntry,
    read_answer_sheet,
)
from grader.labs.reading import lab_roots
from grader.labs.reference import ReferenceTimeout
from grader.labs.thresholds import (
    MINIMUM_MARGIN,
    THRESHOLDS_FILE,
    outdated_devices,
    read_thresholds,
)
from grader.launch import KINDS
from grader.submissions.files import Submission, read_submission

MIN_VARIANTS = 6
_NUMBER = regex(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class RequirementResult:
    """Whether a lab meets one requirement.

    Attributes:
        lab: The lab's name.
        what: The requirement, in a few words.
        holds: Whether the lab meets it.
        observed: What was observed, in one line.
        results: The mutants that the result summarizes.
        reported_lines: The lines reported for an incorrect variant.
        is_final: Whether no further requirement of this lab can be evaluated.
    """

    lab: str
    what: str
    holds: bool
    observed: str
    results: tuple[MutantResult, ...] = ()
    reported_lines: ReportedLines | None = None
    is_final: bool = False


@dataclass(frozen=True)
class VariantOutcome:
    """What was observed for an incorrect variant, in words, and the lines that were reported."""

    observed: str
    reported_lines: ReportedLines | None = None


@dataclass(frozen=True)
class Requirement:
    """One requirement: its name, and the function that evaluates it.

    The function returns what it observed. It raises RequirementNotMet or LabFault.
    """

    what: str
    evaluate: Callable[[], str | VariantOutcome]


class RequirementNotMet(Exception):
    """The lab does not meet a requirement; the message says what was observed."""


def evaluate_requirement(lab: str, requirement: Requirement) -> RequirementResult:
    """Evaluate one requirement; a LabFault becomes a result that does not hold."""
    try:
        observed = requirement.evaluate()
    except RequirementNotMet as failure:
        return RequirementResult(lab, requirement.what, False, str(failure))
    except LabFault as fault:
        return fault_result(lab, requirement.what, fault)
    if isinstance(observed, VariantOutcome):
        return RequirementResult(
            lab, requirement.what, True, observed.observed, reported_lines=observed.reported_lines
        )
    return RequirementResult(lab, requirement.what, True, observed)


def fault_result(lab: str, what: str, fault: LabFault) -> RequirementResult:
    """Return the result of a requirement that a fault of the lab prevented."""
    text = f"{fault.where}: {fault.what}" if fault.where else fault.what
    text += f": {fault.fix}" if fault.fix else ""
    return RequirementResult(lab, what, False, text, is_final=isinstance(fault, ReferenceTimeout))


@dataclass(frozen=True)
class LabFolder:
    """A lab, and the folder of its solution and incorrect variants."""

    lab: Lab
    solutions: Path

    @property
    def skeleton(self) -> Path:
        """The file that students start from."""
        return self.lab.folder / f"{self.lab.name}.cu"

    @property
    def solution(self) -> Path:
        """The file that the skeleton is made from."""
        return self.solutions / f"{self.lab.name}.cu"

    @property
    def variants(self) -> tuple[Path, ...]:
        """The incorrect variants of the solution, sorted by name."""
        return tuple(sorted((self.solutions / "wrong").glob("*.cu")))

    def command(self, name: str) -> str:
        """Return the command `grader labs NAME` for this lab, with `--course` where needed."""
        root = self.lab.folder.parent
        course = "" if root in lab_roots() else f" --course {root.parent}"
        return f"grader labs {name} {self.lab.name}{course}"


def lab_folder(lab: Lab) -> LabFolder:
    """Return the lab with its `solutions/<lab>/`, next to the folder `labs/`."""
    return LabFolder(lab, lab.folder.parent.parent / "solutions" / lab.name)


def skeleton_matches(folder: LabFolder) -> str:
    """Require that the skeleton is the one made from the solution and contains a TODO."""
    expected = make_skeleton(read_text(folder.solution), str(folder.solution))
    if "TODO" not in expected:
        raise RequirementNotMet("the skeleton has no TODO: add one in a SKELETON line")
    if read_text(folder.skeleton) != expected:
        raise RequirementNotMet(f"the files differ: run `{folder.command('skeleton')}`")
    return f"{expected.count('TODO')} TODO"


def skeleton_is_incomplete(folder: LabFolder, options: RunOptions) -> str:
    """Require that the skeleton does not pass, and that its grade has an error as the reason."""
    graded = grade_file(folder.lab, folder.skeleton, options)
    errors = errors_of(graded.checks)
    if graded.exit_code != 1 or not errors:
        raise RequirementNotMet(f"{_score(graded)}, {len(errors)} errors reported")
    return f"{_score(graded)}, reports {errors[0].kind}"


def solution_passes(folder: LabFolder, options: RunOptions) -> str:
    """Require that the solution passes every evaluated check, without an error."""
    graded = grade_file(folder.lab, folder.solution, options)
    failed = [f"{c.name}: {c.summary}" for c in graded.checks if c.status in ("fail", "blocked")]
    errors = errors_of(graded.checks)
    first = [f"{f.kind} at line {f.line}: {f.message}" for f in errors[:1]]
    if graded.exit_code or errors:
        raise RequirementNotMet("; ".join((*failed, *first)))
    if problem := margin_problem(graded):
        raise RequirementNotMet(problem)
    return f"{_score(graded)}, {len(graded.cases)} cases"


def margin_problem(graded: Grade) -> str:
    """Return why the solution passes too narrowly on this device; empty when it does not."""
    if graded.score.points < graded.score.judged_max:
        return f"the solution gets only {_score(graded)}"
    for values in (check.measurements for check in graded.checks):
        if "speedup_low" in values and values["speedup_low"] < MINIMUM_MARGIN * values["minimum"]:
            return (
                f"the speedup of {values['speedup']:.3f} is less than "
                f"{100 * (MINIMUM_MARGIN - 1):.0f} % above the minimum of "
                f"{values['minimum']:g}: run `grader labs calibrate {graded.lab}`"
            )
    return ""


def enough_variants(folder: LabFolder) -> str:
    """Require at least MIN_VARIANTS incorrect variants."""
    if len(folder.variants) < MIN_VARIANTS:
        raise RequirementNotMet(f"{len(folder.variants)} in {folder.solutions / 'wrong'}")
    return f"{len(folder.variants)}"


def variant_kind(name: str) -> str:
    """Return the kind of finding that the name of an incorrect variant starts with.

    The longest matching kind is taken. Raises RequirementNotMet when no kind matches.
    """
    kinds = [kind for kind in KINDS if name.startswith(f"{kind}-")]
    if not kinds:
        raise RequirementNotMet("the file name starts with no kind of finding: rename the file")
    return max(kinds, key=len)


def variant_is_caught(
    folder: LabFolder, variant: Path, options: RunOptions
) -> str | VariantOutcome:
    """Require that a variant has the finding of its name, and loses points."""
    kind = variant_kind(variant.stem)
    if kind == "too-slow" and options.on != "gpu":
        return "not evaluated: speed needs a GPU"
    graded = grade_file(folder.lab, variant, options)
    errors = errors_of(graded.checks)
    kinds = list(dict.fromkeys(finding.kind for finding in errors))
    if kind not in kinds:
        fix = f"rename it after what it reports, or correct the mistake in {variant.name}"
        if not kinds:
            fix = f"add a public case in which the mistake of {variant.name} matters, or remove it"
        raise RequirementNotMet(f"reports {', '.join(kinds) or 'nothing'} instead of {kind}: {fix}")
    if graded.score.points >= graded.score.judged_max:
        raise RequirementNotMet(f"gets full points, {_score(graded)}")
    line = next(finding.line for finding in errors if finding.kind == kind)
    lines = reported_lines(read_text(folder.solution), read_text(variant), errors)
    missed = "" if lines.named or not lines.located else ", not the faulty line"
    return VariantOutcome(f"{_score(graded)}, line {line}{missed}", lines)


def thresholds_are_current(folder: LabFolder) -> str:
    """Require that the thresholds of every device were measured with the current baseline."""
    if problems := list(outdated_thresholds(folder.lab)):
        raise RequirementNotMet("; ".join(problems))
    return thresholds_summary(folder.lab)


def outdated_thresholds(lab: Lab) -> Iterator[str]:
    """Describe the thresholds that were measured with another baseline, one line per device.

    Raises LabFault for a file that cannot be read.
    """
    for device in outdated_devices(read_thresholds(lab.folder), lab.baseline):
        yield (
            f"{THRESHOLDS_FILE}: the thresholds of {device} were measured with another "
            f"{lab.baseline.name} and are not used: run "
            f"`grader labs calibrate {lab.name} --write` on that device, or remove them"
        )


def thresholds_summary(lab: Lab) -> str:
    """Summarize valid thresholds in one line; raises LabFault."""
    measured = read_thresholds(lab.folder)
    text = f"measured on {', '.join(sorted(measured))}"
    older = list(outdated_devices(measured, lab.solution))
    if not older:
        return text
    return f"{text}; with another solution on {', '.join(older)}: calibrate again for its margin"


def quiz_is_valid(folder: LabFolder, options: RunOptions) -> str:
    """Require that the answers can be computed, the sheet passes, and wrong answers do not."""
    problems = list(quiz_problems(folder.lab, folder.solutions, options))
    if problems:
        raise RequirementNotMet("; ".join(problems))
    return quiz_summary(folder.lab, options)


def quiz_summary(lab: Lab, options: RunOptions) -> str:
    """Summarize a valid quiz in one line; raises LabFault."""
    key = quiz_key(lab, options)
    refused = sum(len(wrong_answers(_question(lab, name), right)) for name, right in key.items())
    simulated = sum(bool(question.probes) for question in lab.quiz)
    return f"{len(lab.quiz)} questions, {simulated} simulated, {refused} wrong answers rejected"


def quiz_problems(lab: Lab, solutions: Path, options: RunOptions) -> Iterator[str]:
    """Describe the problems of a quiz, one line each.

    Args:
        lab: The lab with the questions.
        solutions: The folder with the correct answers.
        options: The backend and the limits of simulated runs.

    Raises:
        LabFault: An answer cannot be computed.
    """
    if not lab.quiz:
        yield "the lab has no questions"
        return
    sheet = read_answer_sheet(solutions)
    key = quiz_key(lab, options)
    yield from (
        f"{question.name}: the question has no answer"
        for question in lab.quiz
        if question.kind != "text" and question.name not in key
    )
    if not sheet.exists:
        yield f"{solutions / ANSWERS_FILE} is missing: write the correct answers into it"
        return
    attempt = answer_quiz(lab, sheet, options)
    findings = mark_quiz(attempt).findings
    yield from (f"{ANSWERS_FILE}:{finding.line}: {finding.message}" for finding in findings)
    for name, right in key.items():
        yield from _weaknesses(_question(lab, name), right, attempt)


def _weaknesses(question: Question, right: Answer, attempt: QuizAttempt) -> Iterator[str]:
    for answer in wrong_answers(question, right):
        if mark_quiz(_single_answer(question, answer, attempt)).status != "fail":
            yield f"{question.name}: {answer} is accepted, the correct answer is {right}"
    if right in [float(number) for number in _NUMBER.findall(question.hint)]:
        yield f"{question.name}: the hint contains the answer"


def wrong_answers(question: Question, right: Answer) -> tuple[str, ...]:
    """Return answers that must not be accepted.

    For a choice these are the other choices. For a number they are the numbers that differ by twice
    the tolerance, and those that are off by a factor of 2, 8 or 1000.
    """
    if isinstance(right, str):
        return tuple(
            letter for letter in CHOICE_LETTERS[: len(question.choices)] if letter != right
        )
    step = 2 * question.tolerance * abs(right) or 1
    numbers = [right - step, right + step, *(right * f for f in (-1, 0.125, 0.5, 2, 8, 1000))]
    return tuple(f"{number:.12g}" for number in dict.fromkeys(numbers) if number != right)


def _single_answer(question: Question, answer: str, attempt: QuizAttempt) -> QuizAttempt:
    """Return an attempt at this question only."""
    sheet = AnswerSheet(entries={question.name: SheetEntry(answer, 1)})
    key: Mapping[str, Answer] = {question.name: attempt.key[question.name]}
    return replace(attempt, questions=(question,), key=key, sheet=sheet)


def _question(lab: Lab, name: str) -> Question:
    return next(question for question in lab.quiz if question.name == name)


def grade_file(lab: Lab, file: Path, options: RunOptions) -> Grade:
    """Grade a file on all cases. Raises MachineFault when grading failed on this machine."""
    try:
        submission = read_submission(file)
    except StudentFault as fault:
        return grade_unreadable(lab, file.name, fault)
    return grade_submission(lab, submission, options)


def grade_submission(lab: Lab, submission: Submission, options: RunOptions) -> Grade:
    """Grade a submission on all cases. Raises MachineFault when grading failed on this machine."""
    graded = grade(
        lab, submission, on=options.on, visibility="all", seed=options.seed,
        threads=options.threads, limit=options.limit,
    )  # fmt: skip
    return require_complete(graded, submission.name)


def require_complete(graded: Grade, where: str) -> Grade:
    """Return a grade; raises MachineFault when grading failed on this machine."""
    if graded.score.status == "incomplete":
        why = next(check.summary for check in graded.checks if check.status == "error")
        raise MachineFault(why, where=where)
    return graded


def read_text(path: Path) -> str:
    """Return the text of a file of the lab; raises RequirementNotMet."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequirementNotMet(f"cannot read {path}: {error}") from None


def _score(graded: Grade) -> str:
    return f"{graded.score.points:g} of {graded.score.judged_max:g}"

"""A quiz proves itself: every answer works out, the right sheet passes, wrong answers fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.authoring.mutation.verdict import Told, Tried
from grader.checks.quiz import mark_quiz
from grader.faults import LabFault
from grader.grading.cases import RunOptions
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
from grader.labs.reference import Endless
from grader.labs.thresholds import THRESHOLDS_FILE, outdated_devices, read_thresholds

# One line of the author's gate: what a lab has to hold, whether it does, and what was seen.


@dataclass(frozen=True)
class Line:
    """One thing that a lab has to hold: what, whether it does, and what was seen; `tried` are the
    mutants that it sums up, `told` is whether a wrong twin's report names the wrong line; after a
    `last` one nothing else of the lab can be worked out.
    """

    lab: str
    what: str
    holds: bool
    seen: str
    tried: tuple[Tried, ...] = ()
    told: Told | None = None
    last: bool = False


@dataclass(frozen=True)
class Drawn:
    """What a wrong twin drew, in words, and whether its report names the wrong line."""

    seen: str
    told: Told | None = None


@dataclass(frozen=True)
class Ask:
    """One thing to hold: what, and how to look; what was seen, or Fails or LabFault is raised."""

    what: str
    look: Callable[[], str | Drawn]


class Fails(Exception):
    """A line does not hold; the message says what was seen."""


def held(lab: str, ask: Ask) -> Line:
    """The line of what was asked; a fault of the lab is one that does not hold."""
    try:
        seen = ask.look()
        drawn = seen if isinstance(seen, Drawn) else Drawn(seen)
        return Line(lab, ask.what, True, drawn.seen, told=drawn.told)
    except Fails as fails:
        return Line(lab, ask.what, False, str(fails))
    except LabFault as fault:
        return faulty(lab, ask.what, fault)


def faulty(lab: str, what: str, fault: LabFault) -> Line:
    """The line that a fault of the lab leaves: what, where and how to mend it."""
    said = f"{fault.where}: {fault.what}" if fault.where else fault.what
    said += f": {fault.fix}" if fault.fix else ""
    return Line(lab, what, False, said, last=isinstance(fault, Endless))


# Thresholds of speed prove themselves: they were measured with the files that are there now.


def stale(lab: Lab) -> Iterator[str]:
    """Why thresholds do not hold any more, one line a device: the baseline is another one now.
    Raises LabFault for a file that cannot be read.
    """
    for device in outdated_devices(read_thresholds(lab.folder), lab.baseline):
        yield (
            f"{THRESHOLDS_FILE}: those of {device} were measured beside another "
            f"{lab.baseline.name} and are not used: run "
            f"`grader labs calibrate {lab.name} --write` there, or remove them"
        )


def thresholds_seen(lab: Lab) -> str:
    """What sound thresholds are summed up as. Raises LabFault."""
    measured = read_thresholds(lab.folder)
    said = f"measured on {', '.join(sorted(measured))}"
    older = list(outdated_devices(measured, lab.solution))
    if not older:
        return said
    return f"{said}; with another solution on {', '.join(older)}: calibrate again for its margin"


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def quiz_seen(lab: Lab, how: RunOptions) -> str:
    """What a sound quiz is summed up as. Raises LabFault."""
    tried = sum(
        1 for name, right in quiz_key(lab, how).items() for _ in wrong(_of(lab, name), right)
    )
    measured = sum(bool(question.probes) for question in lab.quiz)
    return f"{len(lab.quiz)} questions, {measured} simulated, {tried} wrong answers refused"


def quiz_problems(lab: Lab, solutions: Path, how: RunOptions) -> Iterator[str]:
    """What is wrong with the quiz, in one line each. `solutions` is the folder with the right
    answers. Raises LabFault: an answer does not work out.
    """
    if not lab.quiz:
        yield "the lab asks no question"
        return
    sheet = read_answer_sheet(solutions)
    key = quiz_key(lab, how)
    yield from (
        f"{question.name}: it has no answer"
        for question in lab.quiz
        if question.kind != "text" and question.name not in key
    )
    if not sheet.exists:
        yield f"there is no {solutions / ANSWERS_FILE} with the right answers"
        return
    paper = answer_quiz(lab, sheet, how)
    told = [*mark_quiz(paper).findings]
    yield from (f"{ANSWERS_FILE}:{finding.line}: {finding.message}" for finding in told)
    for name, right in key.items():
        yield from _slips(_of(lab, name), right, paper)


def _slips(question: Question, right: Answer, paper: QuizAttempt) -> Iterator[str]:
    """Wrong answers that count as right, and a hint that gives the answer away."""
    for answer in wrong(question, right):
        if mark_quiz(_alone(question, answer, paper)).status != "fail":
            yield f"{question.name}: {answer} counts as right, the answer is {right}"
    if right in [float(number) for number in _NUMBER.findall(question.hint)]:
        yield f"{question.name}: its hint has the answer in it"


def wrong(question: Question, right: Answer) -> tuple[str, ...]:
    """Answers that must not count: the other choices; numbers beside the right one, twice as far
    off as the tolerance allows, and off by a factor of 2, 8 or 1000.
    """
    if isinstance(right, str):
        return tuple(
            letter for letter in CHOICE_LETTERS[: len(question.choices)] if letter != right
        )
    step = 2 * question.tolerance * abs(right) or 1
    numbers = [right - step, right + step, *(right * f for f in (-1, 0.125, 0.5, 2, 8, 1000))]
    return tuple(f"{number:.12g}" for number in dict.fromkeys(numbers) if number != right)


def _alone(question: Question, answer: str, paper: QuizAttempt) -> QuizAttempt:
    """The paper with that question only."""
    sheet = AnswerSheet(entries={question.name: SheetEntry(answer, 1)})
    key: Mapping[str, Answer] = {question.name: paper.key[question.name]}
    return replace(paper, questions=(question,), key=key, sheet=sheet)


def _of(lab: Lab, name: str) -> Question:
    return next(question for question in lab.quiz if question.name == name)

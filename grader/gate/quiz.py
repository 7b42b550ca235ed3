"""A quiz proves itself: every answer works out, the right sheet passes, wrong answers fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from grader.cases import How
from grader.check.quiz import mark
from grader.lab import Lab, Question
from grader.quiz.marking import LETTERS, Paper, Right
from grader.quiz.sheet import FILE, AnswerSheet, Entry, read_sheet
from grader.quizkey import open_paper, quiz_key

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def quiz_seen(lab: Lab, how: How) -> str:
    """What a sound quiz is summed up as. Raises LabFault."""
    tried = sum(
        1 for name, right in quiz_key(lab, how).items() for _ in wrong(_of(lab, name), right)
    )
    measured = sum(bool(question.probes) for question in lab.quiz)
    return f"{len(lab.quiz)} questions, {measured} simulated, {tried} wrong answers refused"


def quiz_problems(lab: Lab, solutions: Path, how: How) -> Iterator[str]:
    """What is wrong with the quiz, in one line each. `solutions` is the folder with the right
    answers. Raises LabFault: an answer does not work out."""
    if not lab.quiz:
        yield "the lab asks no question"
        return
    sheet = read_sheet(solutions)
    key = quiz_key(lab, how)
    yield from (
        f"{question.name}: it has no answer"
        for question in lab.quiz
        if question.kind != "text" and question.name not in key
    )
    if not sheet.found:
        yield f"there is no {solutions / FILE} with the right answers"
        return
    paper = open_paper(lab, sheet, how)
    told = [*mark(paper).findings]
    yield from (f"{FILE}:{finding.line}: {finding.message}" for finding in told)
    for name, right in key.items():
        yield from _slips(_of(lab, name), right, paper)


def _slips(question: Question, right: Right, paper: Paper) -> Iterator[str]:
    """Wrong answers that count as right, and a hint that gives the answer away."""
    for answer in wrong(question, right):
        if mark(_alone(question, answer, paper)).status != "fail":
            yield f"{question.name}: {answer} counts as right, the answer is {right}"
    if right in [float(number) for number in _NUMBER.findall(question.hint)]:
        yield f"{question.name}: its hint has the answer in it"


def wrong(question: Question, right: Right) -> tuple[str, ...]:
    """Answers that must not count: the other choices; numbers beside the right one, twice as far
    off as the tolerance allows, and off by a factor of 2, 8 or 1000."""
    if isinstance(right, str):
        return tuple(letter for letter in LETTERS[: len(question.choices)] if letter != right)
    step = 2 * question.tolerance * abs(right) or 1
    numbers = [right - step, right + step, *(right * f for f in (-1, 0.125, 0.5, 2, 8, 1000))]
    return tuple(f"{number:.12g}" for number in dict.fromkeys(numbers) if number != right)


def _alone(question: Question, answer: str, paper: Paper) -> Paper:
    """The paper with that question only."""
    sheet = AnswerSheet(entries={question.name: Entry(answer, 1)})
    key: Mapping[str, Right] = {question.name: paper.key[question.name]}
    return replace(paper, questions=(question,), key=key, sheet=sheet)


def _of(lab: Lab, name: str) -> Question:
    return next(question for question in lab.quiz if question.name == name)

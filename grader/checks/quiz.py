"""The quiz check: the student's answers to the lab's questions. It needs no kernel that runs."""

from __future__ import annotations

from grader.checks.result import CheckOptions, Dependency, Evidence, Verdict
from grader.faults import did_you_mean
from grader.labs.model import Question
from grader.labs.quiz import (
    ANSWERS_FILE,
    AnswerSheet,
    QuizAttempt,
    SheetEntry,
    is_correct,
    parse_answer,
)
from grader.launch import Finding

DEPENDS: Dependency | None = None
NOBODY = "the answers are not part of this grading"
SHOWN = 40
"""Characters of an answer that are repeated to the student."""


class Options(CheckOptions):
    """The quiz check takes no options: the questions are the lab's."""


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The questions about the lab are answered right."""
    return mark(evidence.paper)


def mark(paper: QuizAttempt | None) -> Verdict:
    """The verdict on a paper; each question with a known answer counts the same share. What a
    person has to read, and what this copy of the lab has no answer to, counts for nothing.
    """
    if paper is None or paper.sheet is None:
        return Verdict("unjudged", NOBODY)
    if not paper.sheet.found:
        return _missing(paper)
    if paper.sheet.problem:
        what = f"{ANSWERS_FILE}: {paper.sheet.problem}"
        return Verdict("fail", what, findings=(_unreadable(paper.sheet),))
    blank = [q for q in paper.questions if _is_blank(q, paper.sheet)]
    told = {q.name: _told(q, paper) for q in paper.questions if q not in blank}
    findings = tuple(f for found in told.values() for f in found)
    findings += _unknown(paper) + _unanswered(blank, paper)
    judged = [q.name for q in paper.questions if q.name in paper.key]
    right = sum(told.get(name) == () for name in judged)
    rest = [q for q in paper.questions if q.name not in paper.key]
    marked = [f"{right} of {len(judged)} right{'' if paper.points else ', for no points'}"]
    summary = "; ".join(marked * bool(judged) + _left(rest))
    if not judged:
        return Verdict("unjudged", summary, findings=findings)
    return Verdict(
        "pass" if right == len(judged) else "fail",
        summary,
        share=right / len(judged),
        findings=findings,
        measurements={"questions": len(judged), "right": right},
    )


def _missing(paper: QuizAttempt) -> Verdict:
    """No sheet: a quiz that is worth something is then not done, any other was not asked for."""
    fix = f"`grader labs quiz {paper.lab}` writes one to fill in"
    what = f"there is no {ANSWERS_FILE} beside the file"
    if not paper.points:
        return Verdict("unjudged", f"{what}: {fix}")
    finding = Finding("wrong-answer", "error", what, file=ANSWERS_FILE, hint=fix)
    return Verdict("fail", what, findings=(finding,))


def _unreadable(sheet: AnswerSheet) -> Finding:
    return Finding(
        "wrong-answer", "error", sheet.problem, file=ANSWERS_FILE, line=sheet.line, hint=sheet.fix
    )


def _left(rest: list[Question]) -> list[str]:
    """What becomes of the questions that are not judged here."""
    read = sum(question.kind == "text" for question in rest)
    kept = len(rest) - read
    said = f"{read} for a person to read" if read else ""
    here = f"{kept} judged by your course: this copy of the lab has no answers" if kept else ""
    return [part for part in (said, here) if part]


def _is_blank(question: Question, sheet: AnswerSheet) -> bool:
    entry = sheet.entries.get(question.name)
    return entry is None or (entry.is_plain and not entry.text.strip())


def _unanswered(blank: list[Question], paper: QuizAttempt) -> tuple[Finding, ...]:
    """Questions without an answer, in one finding, at the first of them that the sheet has."""
    if not blank or paper.sheet is None:
        return ()
    names = ", ".join(f"`{question.name}`" for question in blank)
    lines = [e.line for q in blank if (e := paper.sheet.entries.get(q.name))]
    due = any(question.name in paper.key for question in blank)
    return (
        Finding(
            "wrong-answer",
            "error" if due else "info",
            f"{names} {'has' if len(blank) == 1 else 'have'} no answer yet",
            file=ANSWERS_FILE,
            line=min(lines, default=0),
            hint=f"`grader labs quiz {paper.lab} --stdout` shows the questions",
        ),
    )


def _told(question: Question, paper: QuizAttempt) -> tuple[Finding, ...]:
    """What is wrong with the answer to one question; nothing when it is right."""
    entry = paper.sheet.entries[question.name] if paper.sheet else SheetEntry("", 0)
    if question.kind == "text":
        return ()
    if not entry.is_plain:
        what = f"`{question.name}` has a list where one answer is due"
        return (_about(question, entry, what, "write it after the colon, without brackets"),)
    try:
        given = parse_answer(question, entry.text)
    except ValueError as error:
        what = f"`{question.name}` is answered `{_short(entry.text)}`"
        return (_about(question, entry, what, str(error)),)
    if question.name not in paper.key or is_correct(question, given, paper.key[question.name]):
        return ()
    what = f"`{question.name}` is answered `{_short(entry.text)}`, which is not right"
    return (_about(question, entry, what, question.hint),)


def _about(question: Question, entry: SheetEntry, what: str, hint: str = "") -> Finding:
    return Finding(
        "wrong-answer",
        "error",
        what,
        file=ANSWERS_FILE,
        line=entry.line,
        text=f"{question.name}: {_short(entry.text)}",
        variable=question.name,
        hint=hint,
    )


def _unknown(paper: QuizAttempt) -> tuple[Finding, ...]:
    """Answers to questions that the lab does not ask: most likely a misspelt name."""
    names = [question.name for question in paper.questions]
    sheet = paper.sheet or AnswerSheet()
    return tuple(
        Finding(
            "wrong-answer",
            "warning",
            f"there is no question `{_short(name)}`",
            file=ANSWERS_FILE,
            line=entry.line,
            hint=did_you_mean(name[:SHOWN], names) or f"the questions are {', '.join(names)}",
        )
        for name, entry in list(sheet.entries.items())[: 2 * SHOWN]
        if name not in names
    )[:5]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

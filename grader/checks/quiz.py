"""The quiz check: the student's answers to the lab's questions. It needs no kernel."""

from __future__ import annotations

from grader import dataclass
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
NOT_SUBMITTED = "this grading has no quiz answers"
ANSWER_CHARACTERS = 40
"""Characters of an answer that a message shows, at most."""


@dataclass(frozen=True)
class Options(CheckOptions):
    """The quiz check takes no options: the questions are the lab's."""


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The questions about the lab are answered correctly."""
    return mark_quiz(evidence.quiz)


def mark_quiz(quiz: QuizAttempt | None) -> Verdict:
    """Mark a quiz.

    Each question with a known answer earns the same share. Questions that need review by a
    person, and those that this copy of the lab has no answer to, earn nothing.

    Args:
        quiz: the student's answers with the expected ones; None when the grading has no quiz.
    """
    if quiz is None or quiz.sheet is None:
        return Verdict("unjudged", NOT_SUBMITTED)
    if not quiz.sheet.exists:
        return _no_sheet(quiz)
    if quiz.sheet.problem:
        what = f"{ANSWERS_FILE}: {quiz.sheet.problem}"
        return Verdict("fail", what, findings=(_unreadable(quiz.sheet),))
    blank = [q for q in quiz.questions if _is_blank(q, quiz.sheet)]
    answered = {q.name: _answer_findings(q, quiz) for q in quiz.questions if q not in blank}
    findings = tuple(f for problems in answered.values() for f in problems)
    findings += _unknown_questions(quiz) + _unanswered(blank, quiz)
    evaluated = [q.name for q in quiz.questions if q.name in quiz.key]
    right = sum(answered.get(name) == () for name in evaluated)
    rest = [q for q in quiz.questions if q.name not in quiz.key]
    marked = [f"{right} of {len(evaluated)} right{'' if quiz.points else ', for no points'}"]
    summary = "; ".join(marked * bool(evaluated) + _not_evaluated(rest))
    if not evaluated:
        return Verdict("unjudged", summary, findings=findings)
    return Verdict(
        "pass" if right == len(evaluated) else "fail",
        summary,
        share=right / len(evaluated),
        findings=findings,
        measurements={"questions": len(evaluated), "right": right},
    )


def _no_sheet(quiz: QuizAttempt) -> Verdict:
    """Return the verdict without an answer file: a fail only where the quiz is worth points."""
    fix = f"run `grader labs quiz {quiz.lab}`, which writes one to fill in"
    what = f"there is no {ANSWERS_FILE} next to the source file"
    if not quiz.points:
        return Verdict("unjudged", f"{what}; {fix}")
    finding = Finding("wrong-answer", "error", what, file=ANSWERS_FILE, hint=fix)
    return Verdict("fail", what, findings=(finding,))


def _unreadable(sheet: AnswerSheet) -> Finding:
    return Finding(
        "wrong-answer", "error", sheet.problem, file=ANSWERS_FILE, line=sheet.line, hint=sheet.fix
    )


def _not_evaluated(rest: list[Question]) -> list[str]:
    """Describe the questions that are not evaluated here."""
    texts = sum(question.kind == "text" for question in rest)
    unknown = len(rest) - texts
    review = f"{texts} need{'s' * (texts == 1)} review by your course" if texts else ""
    elsewhere = f"{unknown} graded by your course: this copy of the lab has no answers"
    return [part for part in (review, elsewhere if unknown else "") if part]


def _is_blank(question: Question, sheet: AnswerSheet) -> bool:
    entry = sheet.entries.get(question.name)
    return entry is None or (entry.is_plain and not entry.text.strip())


def _unanswered(blank: list[Question], quiz: QuizAttempt) -> tuple[Finding, ...]:
    """Report all questions without an answer as one finding, at the first of them."""
    if not blank or quiz.sheet is None:
        return ()
    names = ", ".join(f"`{question.name}`" for question in blank)
    lines = [e.line for q in blank if (e := quiz.sheet.entries.get(q.name))]
    required = any(question.name in quiz.key for question in blank)
    return (
        Finding(
            "wrong-answer",
            "error" if required else "info",
            f"{names} {'has' if len(blank) == 1 else 'have'} no answer yet",
            file=ANSWERS_FILE,
            line=min(lines, default=0),
            hint=f"answer them: `grader labs quiz {quiz.lab} --stdout` shows the questions",
        ),
    )


def _answer_findings(question: Question, quiz: QuizAttempt) -> tuple[Finding, ...]:
    """Return what is wrong with the answer to one question; nothing when it is right."""
    entry = quiz.sheet.entries[question.name] if quiz.sheet else SheetEntry("", 0)
    if question.kind == "text":
        return ()
    if not entry.is_plain:
        what = f"`{question.name}` has a list; it takes one answer"
        return (
            _finding(question, entry, what, "write the answer after the colon, without brackets"),
        )
    try:
        given = parse_answer(question, entry.text)
    except ValueError as error:
        what = f"`{question.name}` is answered `{_shorten(entry.text)}`"
        return (_finding(question, entry, what, str(error)),)
    if question.name not in quiz.key or is_correct(question, given, quiz.key[question.name]):
        return ()
    what = f"`{question.name}` is answered `{_shorten(entry.text)}`, which is not right"
    return (_finding(question, entry, what, question.hint),)


def _finding(question: Question, entry: SheetEntry, what: str, hint: str = "") -> Finding:
    return Finding(
        "wrong-answer",
        "error",
        what,
        file=ANSWERS_FILE,
        line=entry.line,
        text=f"{question.name}: {_shorten(entry.text)}",
        variable=question.name,
        hint=hint,
    )


def _unknown_questions(quiz: QuizAttempt) -> tuple[Finding, ...]:
    """Report answers to questions that the lab does not have, most likely misspelled names."""
    names = [question.name for question in quiz.questions]
    sheet = quiz.sheet or AnswerSheet()
    return tuple(
        Finding(
            "wrong-answer",
            "warning",
            f"there is no question `{_shorten(name)}`",
            file=ANSWERS_FILE,
            line=entry.line,
            hint=did_you_mean(name[:ANSWER_CHARACTERS], names)
            or f"the questions are {', '.join(names)}",
        )
        for name, entry in list(sheet.entries.items())[: 2 * ANSWER_CHARACTERS]
        if name not in names
    )[:5]


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= ANSWER_CHARACTERS else f"{text[:ANSWER_CHARACTERS]}..."

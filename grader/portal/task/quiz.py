"""The quiz of a lab as a form: its questions, and the answer sheet that the form's fields make.

The sheet is an answers.yaml as `grader check` takes it. It is written the same way each time, so
that the same answers are the same submission, and any text in an answer stays text.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader import dataclass
from grader.faults import StudentFault
from grader.labs.model import Lab
from grader.labs.quiz import MAX_SHEET_BYTES, choice_texts, parse_answer_sheet, question_text

FIELD = "quiz-"
"""How the name of a question's field begins."""

MAX_ANSWER = 2000
"""Characters of an answer."""


@dataclass(frozen=True)
class FormQuestion:
    """A question as the form shows it.

    `choices` maps letters to texts; `given` is the answer that the field begins with.
    """

    name: str
    text: str
    kind: str
    unit: str
    choices: Mapping[str, str]
    given: str


def questions_of(lab: Lab, sheet: bytes | None) -> tuple[FormQuestion, ...]:
    """Return the questions of a lab's quiz with the answers of a sheet.

    Raises:
        LabFault: A question cannot be shown.
    """
    given = answers_in(sheet)
    return tuple(
        FormQuestion(
            one.name, question_text(one, lab), one.kind, one.unit, choice_texts(one, lab),
            given.get(one.name, ""),
        )
        for one in lab.quiz
    )  # fmt: skip


def answers_in(sheet: bytes | None) -> dict[str, str]:
    """Return the answers of a sheet by question; none of one that cannot be read."""
    if sheet is None:
        return {}
    entries = parse_answer_sheet(sheet).entries
    return {name: entry.text for name, entry in entries.items() if entry.text.strip()}


def sheet_of(lab: Lab, fields: Mapping[str, str]) -> bytes | None:
    """Return the answer sheet that a form's fields make; None when no question is answered.

    Raises:
        StudentFault: An answer is too long.
    """
    lines, answered = [], False
    for one in lab.quiz:
        text = fields.get(FIELD + one.name, "").replace("\r\n", "\n").strip()
        if len(text) > MAX_ANSWER:
            what = f"the answer to `{one.name}` has {len(text)} characters"
            raise StudentFault(what, fix=f"use at most {MAX_ANSWER}")
        answered = answered or bool(text)
        lines.append(f"{one.name}: {_quoted(text)}" if text else f"{one.name}:")
    data = "\n".join([*lines, ""]).encode()
    if len(data) > MAX_SHEET_BYTES:
        raise StudentFault("the answers together are too long", fix="write shorter ones")
    return data if answered else None


def _quoted(text: str) -> str:
    """Return any text as a quoted scalar of YAML on one line."""
    whole = text.encode("utf-8", "replace").decode()
    return '"' + "".join(map(_mark, whole)) + '"'


def _mark(mark: str) -> str:
    return mark if mark.isprintable() and mark not in '"\\' else f"\\U{ord(mark):08X}"

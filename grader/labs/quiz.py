"""The quiz of a lab: its questions, a student's answer sheet, and whether an answer is correct.

An answer is an expression over the names of the question: the numbers that it gives, the dims of
its case, the limits of a device, and what the simulator measured. Students write their answers into
`answers.yaml`: each question's name and the answer as text.

The answer sheet is read as text only, and no YAML value is constructed, so aliases, dates, huge
numbers and tags are just wrong answers. A sheet that cannot be read is a problem of the sheet and
not a fault: the kernel submitted with it is graded all the same.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader import dataclass, regex
from grader.faults import LabFault
from grader.labs.expressions import Number, evaluate_expression
from grader.labs.files import compose_bytes, compose_file
from grader.labs.model import Case, Lab, Probe, Question
from grader.launch import MULTIPROCESSOR_LIMITS, WARP_SIZE

if TYPE_CHECKING:
    import yaml

ANSWERS_FILE = "answers.yaml"
MAX_SHEET_BYTES = 64 << 10
CHOICE_LETTERS = "abcdefghi"

EXACT = 1e-9
"""The relative error allowed for a number without a tolerance: the rounding of float64."""

FORM_WIDTH = 80
FORM_HEAD = """\
Answers to the questions about {lab}. Write each answer after
its colon, keep this file next to your {lab}.cu, and run

  grader check {lab} {lab}.cu

A number may be arithmetic, such as 3 * 16. Quote a sentence "like this".
"""

_NOT_ANSWERED = ("", "~", "null")
_WORD = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACEHOLDER = regex(rf"\{{({_WORD.pattern})\}}")
_WITH_SEPARATORS = regex(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w.,])")
_NOTHING: Mapping[str, Number] = MappingProxyType({})

Answer = int | float | str
"""An answer: a number, or the letter of a choice."""


@dataclass(frozen=True)
class SheetEntry:
    """One answer: its text and its line; `is_plain` is False for a list or a mapping."""

    text: str
    line: int
    is_plain: bool = True


@dataclass(frozen=True)
class AnswerSheet:
    """The answers that a student submitted.

    Attributes:
        name: The name of the file.
        entries: The answers by the question's name.
        exists: False when there is no such file.
        problem: Why the file cannot be read; empty when it can.
        line: The line of the problem; 0 when not known.
        fix: What to do about the problem.
    """

    name: str = ANSWERS_FILE
    entries: Mapping[str, SheetEntry] = field(default_factory=dict)
    exists: bool = True
    problem: str = ""
    line: int = 0
    fix: str = ""


@dataclass(frozen=True)
class QuizAttempt:
    """One student's attempt at a quiz.

    Attributes:
        lab: The lab's name.
        questions: The questions in their order.
        key: The correct answer of each question by name, where this copy of the lab has it.
        sheet: The answers; None where the grading takes none.
        points: What the whole quiz is worth.
    """

    lab: str
    questions: tuple[Question, ...]
    key: Mapping[str, Answer]
    sheet: AnswerSheet | None
    points: float = 0.0


def read_answer_sheet(folder: Path) -> AnswerSheet:
    """Read the answer sheet in a folder, whatever its state; never raises."""
    path = folder / ANSWERS_FILE
    if path.is_symlink():
        # On a server, the messages would show the student lines of another user's file.
        return AnswerSheet(problem="this is a link", fix="submit the file itself")
    if not path.exists():
        return AnswerSheet(exists=False)
    return _read_sheet(path.stat().st_size, lambda: compose_file(path))


def parse_answer_sheet(data: bytes) -> AnswerSheet:
    """Parse the bytes of an answer sheet, whatever they are; never raises."""
    return _read_sheet(len(data), lambda: compose_bytes(data, ANSWERS_FILE))


def device_limits() -> dict[str, Number]:
    """Return the limits of an H100 that every question may use by name; sizes in bytes."""
    device = MULTIPROCESSOR_LIMITS[9, 0]
    return {
        "warp_size": WARP_SIZE,
        "H100_threads_per_sm": device.warps * WARP_SIZE,
        "H100_warps_per_sm": device.warps,
        "H100_blocks_per_sm": device.blocks,
        "H100_registers_per_sm": device.registers,
        "H100_shared_bytes_per_sm": device.shared,
        "H100_shared_bytes_per_block": device.shared_per_block,
        "H100_shared_bytes_reserved_per_block": device.reserved_per_block,
    }


def known_values(
    question: Question, case: Case | None, measured: Mapping[str, Number] = _NOTHING
) -> dict[str, Number]:
    """Return every name that the answer may use, with its value.

    Names that depend on a probe which is not in `measured` are left out.

    Raises:
        LabFault: An expression of the question cannot be evaluated.
    """
    names = device_limits() | (dict(case.dims) if case else {})
    unknown: set[str] = set()
    for name, value in question.given.items():
        if isinstance(value, Probe):
            names |= {name: measured[name]} if name in measured else {}
            unknown |= set() if name in measured else {name}
        elif isinstance(value, str) and unknown.intersection(_WORD.findall(value)):
            unknown.add(name)
        else:
            names[name] = _evaluate(question, value, names)
    return names


def question_location(question: Question) -> str:
    """Return `file:line: quiz.name`, for a fault about the question."""
    return f"{question.where}: quiz.{question.name}"


def question_text(question: Question, lab: Lab) -> str:
    """Return the question's text with its numbers inserted.

    Raises:
        LabFault: The text has a `{name}` that the question does not give.
    """
    return _fill_in(question, question.text, known_values(question, lab.case(question.case)))


def choice_texts(question: Question, lab: Lab) -> dict[str, str]:
    """Return the texts of the choices by letter, with their numbers inserted.

    Raises:
        LabFault: A text has a `{name}` that the question does not give.
    """
    names = known_values(question, lab.case(question.case))
    texts = (_fill_in(question, choice.text, names) for choice in question.choices)
    return dict(zip(CHOICE_LETTERS, texts, strict=False))


def correct_answer(
    question: Question, case: Case | None, measured: Mapping[str, Number] = _NOTHING
) -> Answer:
    """Return the correct number, or the letter of the one correct choice.

    `measured` has the numbers of the question's probes.

    Raises:
        LabFault: An expression cannot be evaluated, or not exactly one choice is correct.
    """
    names = known_values(question, case, measured)
    if question.answer is not None:
        return _evaluate(question, question.answer, names)
    true = [
        letter
        for letter, choice in zip(CHOICE_LETTERS, question.choices, strict=False)
        if _evaluate(question, choice.when, names)
    ]
    if len(true) != 1:
        what = f"{len(true)} of its choices are right; exactly one must be"
        raise LabFault(what, where=question_location(question))
    return true[0]


def parse_answer(question: Question, text: str) -> Answer:
    """Parse a student's answer: a number, arithmetic, or a choice's letter.

    A number may have the question's unit, and commas between groups of three digits.

    Raises:
        ValueError: The text is not an answer; the message says what is expected.
    """
    text = text.strip()
    if question.kind == "choice":
        letters = CHOICE_LETTERS[: len(question.choices)]
        letter = text.lower().removesuffix(")").removesuffix(".")
        if len(letter) != 1 or letter not in letters:
            raise ValueError(f"the answer is one letter, {letters[0]} to {letters[-1]}")
        return letter
    if question.unit and text.endswith(question.unit):
        text = text.removesuffix(question.unit).rstrip()
    try:
        number = evaluate_expression(_without_separators(text), {})
    except LabFault:
        unit = f" (in {question.unit})" if question.unit else ""
        raise ValueError(f"the answer is a number{unit}, such as 12, 0.5 or 3 * 4") from None
    if isinstance(number, bool):
        raise ValueError("the answer is a number, not a comparison")
    return number


def is_correct(question: Question, given: Answer, correct: Answer) -> bool:
    """Return whether an answer is the correct one, within the question's tolerance."""
    if isinstance(given, str) or isinstance(correct, str):
        return given == correct
    allowed = max(question.tolerance, EXACT) * abs(correct)
    return math.isclose(given, correct, rel_tol=0, abs_tol=allowed)


def answer_form(lab: Lab) -> str:
    """Return the empty answer sheet of a lab: its questions as YAML comments, a key below each.

    Raises:
        LabFault: A question cannot be shown.
    """
    parts = [_comment(FORM_HEAD.format(lab=lab.name))]
    parts += [_form_question(number, q, lab) for number, q in enumerate(lab.quiz, 1)]
    return "\n".join(parts)


def _read_sheet(size: int, compose: Callable[[], yaml.Node]) -> AnswerSheet:
    import yaml

    if size > MAX_SHEET_BYTES:
        what = f"the file is larger than {MAX_SHEET_BYTES >> 10} KiB"
        return AnswerSheet(problem=what, fix="submit only the answers")
    try:
        root = compose()
    except LabFault as fault:
        return _unreadable(fault)
    if not isinstance(root, yaml.MappingNode):
        return AnswerSheet(problem="it must hold `question: answer` lines", line=1)
    return AnswerSheet(entries={key.value: _entry(key, value) for key, value in root.value})


def _entry(key: yaml.Node, value: yaml.Node) -> SheetEntry:
    import yaml

    line = key.start_mark.line + 1 if key.start_mark else 0
    if not isinstance(value, yaml.ScalarNode):
        return SheetEntry("", line, is_plain=False)
    text = "" if value.value in _NOT_ANSWERED and not value.style else str(value.value)
    return SheetEntry(text, line)


def _unreadable(fault: LabFault) -> AnswerSheet:
    """Make a sheet's problem of a fault, whose `where` is the path and maybe line and column."""
    _, _, location = fault.where.rpartition(ANSWERS_FILE)
    line = location.removeprefix(":").partition(":")[0]
    empty = fault.what == "the file is empty"
    fix = "write `question: answer` lines" if empty else fault.fix
    return AnswerSheet(problem=fault.what, line=int(line) if line.isdigit() else 0, fix=fix)


def _evaluate(question: Question, text: str | Number, names: Mapping[str, Number]) -> Number:
    try:
        return evaluate_expression(text, names)
    except LabFault as fault:
        raise LabFault(fault.what, where=question_location(question), fix=fault.fix) from None


def _fill_in(question: Question, text: str, names: Mapping[str, Number]) -> str:
    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in names:
            raise LabFault(
                f"{{{name}}} in the text is not a number that the question gives",
                where=question_location(question),
                fix=f"use one of {', '.join(names)}",
            )
        return f"{names[name]:,}"

    return _PLACEHOLDER.sub(number, text)


def _without_separators(text: str) -> str:
    """Remove the commas of 442,368, as questions and reports show numbers.

    Commas stay in a text with a parenthesis, where they may separate a function's arguments.
    """
    if "(" in text:
        return text
    return _WITH_SEPARATORS.sub(lambda number: number[0].replace(",", ""), text)


def _form_question(number: int, question: Question, lab: Lab) -> str:
    words = " ".join(question_text(question, lab).split())
    text = f"{number}. {words}{_kind_of_answer(question)}"
    rows = [f"# {row}" for row in textwrap.wrap(text, FORM_WIDTH - 2, subsequent_indent="   ")]
    for letter, choice in choice_texts(question, lab).items():
        rows += [f"# {row}" for row in _form_choice(letter, " ".join(choice.split()))]
    return "\n".join([*rows, f"{question.name}:", ""])


def _form_choice(letter: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{letter}  {text}", FORM_WIDTH - 2, initial_indent="   ", subsequent_indent="      "
    )


def _kind_of_answer(question: Question) -> str:
    """Return the kind of answer, in parentheses, where the text does not say it."""
    if question.kind == "choice":
        return " (one letter)"
    has_unit = question.unit in re.findall(r"\w+", question.text)
    return f" (in {question.unit})" if question.unit and not has_unit else ""


def _comment(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines()) + "\n"

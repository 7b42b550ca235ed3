"""The quiz of a lab: its questions, a student's answer sheet, and what an answer is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
import yaml
from grader.faults import LabFault
from grader.labs.yamlfile import compose_bytes, compose_file
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from grader.labs.expressions import Number, evaluate_expression
from grader.labs.model import Case, Lab, Probe, Question
from grader.launch import MULTIPROCESSOR_LIMITS, WARP_SIZE
from textwrap import wrap
from grader.labs.model import Lab, Question

# A student's `answers.yaml`: each question's name and the answer as it was typed.
#
# Whatever the file holds is read as text and nothing is made of it, so aliases, dates, huge numbers
# and tags are all just wrong answers. What cannot be read at all is a problem of the sheet, not a
# fault: the kernel beside it is graded all the same.

ANSWERS_FILE = "answers.yaml"
EMPTY = ("", "~", "null")
MAX_SHEET_BYTES = 64 << 10


@dataclass(frozen=True)
class SheetEntry:
    """One answer: its text, and its line; `is_plain` is False for a list or a mapping."""

    text: str
    line: int
    is_plain: bool = True


@dataclass(frozen=True)
class AnswerSheet:
    """What was handed in beside the kernel. `found` is False when there is no such file;
    `problem` says why it cannot be read, at `line` (0: not known), and `mend` what to do."""

    name: str = ANSWERS_FILE
    entries: Mapping[str, SheetEntry] = field(default_factory=dict)
    found: bool = True
    problem: str = ""
    line: int = 0
    fix: str = ""


def read_answer_sheet(folder: Path) -> AnswerSheet:
    """The sheet in that folder, in whatever state it is; never raises."""
    path = folder / ANSWERS_FILE
    if path.is_symlink():
        # On a server, a link would have lines of somebody else's file read out to the student.
        return AnswerSheet(problem="this is a link", fix="hand in the file itself")
    if not path.exists():
        return AnswerSheet(found=False)
    return _sheet(path.stat().st_size, lambda: compose_file(path))


def parse_answer_sheet(data: bytes) -> AnswerSheet:
    """The same of a sheet's bytes; never raises."""
    return _sheet(len(data), lambda: compose_bytes(data, ANSWERS_FILE))


def _sheet(size: int, compose: Callable[[], yaml.Node]) -> AnswerSheet:
    if size > MAX_SHEET_BYTES:
        what = f"the file is larger than {MAX_SHEET_BYTES >> 10} KiB"
        return AnswerSheet(problem=what, fix="hand in the answers alone")
    try:
        root = compose()
    except LabFault as fault:
        return _unreadable(fault)
    if not isinstance(root, yaml.MappingNode):
        return AnswerSheet(problem="it must hold `question: answer` lines", line=1)
    return AnswerSheet(entries={key.value: _entry(key, value) for key, value in root.value})


def _entry(key: yaml.Node, value: yaml.Node) -> SheetEntry:
    line = key.start_mark.line + 1 if key.start_mark else 0
    if not isinstance(value, yaml.ScalarNode):
        return SheetEntry("", line, is_plain=False)
    text = "" if value.value in EMPTY and not value.style else str(value.value)
    return SheetEntry(text, line)


def _unreadable(fault: LabFault) -> AnswerSheet:
    """`where` is the file's path, then perhaps its line and column."""
    _, _, question_location = fault.where.rpartition(ANSWERS_FILE)
    line = question_location.removeprefix(":").partition(":")[0]
    empty = fault.what == "the file is empty"
    fix = "write `question: answer` lines" if empty else fault.fix
    return AnswerSheet(problem=fault.what, line=int(line) if line.isdigit() else 0, fix=fix)


# A lab's questions: what they say, what is right, and what a given answer is worth. No I/O.
#
# An answer is an expression over the question's names: the numbers that it gives, the dims of its
# case, the limits of a device, and what the simulator measured.

CHOICE_LETTERS = "abcdefghi"
EXACT = 1e-9
"""Relative error of a number that is due exactly: what float64 arithmetic may lose."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(rf"\{{({_WORD.pattern})\}}")
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w.,])")
_NONE: Mapping[str, Number] = MappingProxyType({})

Answer = int | float | str
"""The right answer: a number, or the letter of a choice."""


@dataclass(frozen=True)
class QuizAttempt:
    """A quiz as handed in. `key` has the right answer of each question by name, where this copy
    of the lab can work it out; `sheet` is None where no answers belong to the grading; `points`
    are what the whole quiz is worth."""

    lab: str
    questions: tuple[Question, ...]
    key: Mapping[str, Answer]
    sheet: AnswerSheet | None
    points: float = 0.0


def device_limits() -> dict[str, Number]:
    """The limits of an H100 that every question may use by name; sizes in bytes."""
    device = MULTIPROCESSOR_LIMITS[9, 0]
    return {
        "warp_size": WARP_SIZE,
        "H100_threads_per_sm": device.warps * WARP_SIZE,
        "H100_warps_per_sm": device.warps,
        "H100_blocks_per_sm": device.blocks,
        "H100_registers_per_sm": device.registers,
        "H100_shared_bytes_per_sm": device.shared,
        "H100_shared_bytes_per_block": device.shared_block,
        "H100_shared_bytes_reserved_per_block": device.reserved,
    }


def known_values(
    question: Question, case: Case | None, measured: Mapping[str, Number] = _NONE
) -> dict[str, Number]:
    """Every name that the answer may use; what depends on a probe that is not in `measured` is
    left out. Raises LabFault."""
    names = device_limits() | (dict(case.dims) if case else {})
    unknown: set[str] = set()
    for name, value in question.given.items():
        if isinstance(value, Probe):
            names |= {name: measured[name]} if name in measured else {}
            unknown |= set() if name in measured else {name}
        elif isinstance(value, str) and unknown.intersection(_WORD.findall(value)):
            unknown.add(name)
        else:
            names[name] = _worked_out(question, value, names)
    return names


def _worked_out(question: Question, text: str | Number, names: Mapping[str, Number]) -> Number:
    try:
        return evaluate_expression(text, names)
    except LabFault as fault:
        raise LabFault(fault.what, where=question_location(question), fix=fault.fix) from None


def question_location(question: Question) -> str:
    """`file:line: quiz.name`, for a fault about the question."""
    return f"{question.where}: quiz.{question.name}"


def question_text(question: Question, lab: Lab) -> str:
    """The question's text with its numbers put in. Raises LabFault for an unknown `{name}`."""
    return _filled(question, question.text, known_values(question, lab.case(question.case)))


def choice_texts(question: Question, lab: Lab) -> dict[str, str]:
    """The choices' texts by letter, with their numbers put in. Raises LabFault."""
    names = known_values(question, lab.case(question.case))
    texts = (_filled(question, choice.text, names) for choice in question.choices)
    return dict(zip(CHOICE_LETTERS, texts, strict=False))


def _filled(question: Question, text: str, names: Mapping[str, Number]) -> str:
    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in names:
            what = f"{{{name}}} in the text is no number that the question gives"
            raise LabFault(what, where=question_location(question), fix=f"it gives {', '.join(names)}")
        return f"{names[name]:,}"

    return _NAME.sub(number, text)


def correct_answer(
    question: Question, case: Case | None, measured: Mapping[str, Number] = _NONE
) -> Answer:
    """The number, or the letter of the one choice that is right.

    `measured` has the numbers of the question's probes. Raises LabFault: an expression that does
    not work out, no right choice or more than one.
    """
    names = known_values(question, case, measured)
    if question.answer is not None:
        return _worked_out(question, question.answer, names)
    true = [
        letter
        for letter, choice in zip(CHOICE_LETTERS, question.choices, strict=False)
        if _worked_out(question, choice.when, names)
    ]
    if len(true) != 1:
        what = f"{len(true)} of its choices are right; exactly one must be"
        raise LabFault(what, where=question_location(question))
    return true[0]


def parse_answer(question: Question, text: str) -> Answer:
    """What a student's text says: a number, arithmetic that gives one, with or without the unit,
    or a choice's letter. Raises ValueError that says what is due."""
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
        number = evaluate_expression(_ungrouped(text), {})
    except LabFault:
        unit = f" (in {question.unit})" if question.unit else ""
        raise ValueError(f"the answer is a number{unit}, such as 12, 0.5 or 3 * 4") from None
    if isinstance(number, bool):
        raise ValueError("the answer is a number, not a comparison")
    return number


def _ungrouped(text: str) -> str:
    """The text without the commas of 442,368, which is how questions and reports show numbers;
    between the arguments of a function commas stay."""
    if "(" in text:
        return text
    return _GROUPED.sub(lambda number: number[0].replace(",", ""), text)


def is_correct(question: Question, given: Answer, right: Answer) -> bool:
    """Whether the answer is the right one, within the question's tolerance."""
    if isinstance(given, str) or isinstance(right, str):
        return given == right
    return math.isclose(given, right, rel_tol=0, abs_tol=_room(question, right))


def _room(question: Question, right: Number) -> float:
    return max(question.tolerance, EXACT) * abs(right)


# The empty `answers.yaml` of a lab: its questions as comments, a line below each to fill in.

WIDTH = 80
HEAD = """\
Answers to the questions about {lab}. Write each after its
colon, keep this file beside your {lab}.cu, and run

  grader check {lab} {lab}.cu

A number may be arithmetic, such as 3 * 16. Quote a sentence "like this".
"""


def answer_form(lab: Lab) -> str:
    """The text of the file; YAML. Raises LabFault for a question that does not add up."""
    parts = [_comment(HEAD.format(lab=lab.name))]
    parts += [_question(number, q, lab) for number, q in enumerate(lab.quiz, 1)]
    return "\n".join(parts)


def _question(number: int, question: Question, lab: Lab) -> str:
    text = f"{number}. {' '.join(question_text(question, lab).split())}{_due(question)}"
    rows = [f"# {row}" for row in wrap(text, WIDTH - 2, subsequent_indent="   ")]
    for letter, choice in choice_texts(question, lab).items():
        rows += [f"# {row}" for row in _choice(letter, " ".join(choice.split()))]
    return "\n".join([*rows, f"{question.name}:", ""])


def _choice(letter: str, text: str) -> list[str]:
    return wrap(f"{letter}  {text}", WIDTH - 2, initial_indent="   ", subsequent_indent="      ")


def _due(question: Question) -> str:
    """What kind of answer is asked for."""
    if question.kind == "choice":
        return " (one letter)"
    said = question.unit in re.findall(r"\w+", question.text)
    return f" (in {question.unit})" if question.unit and not said else ""


def _comment(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines()) + "\n"

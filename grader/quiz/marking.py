"""A lab's questions: what they say, what is right, and what a given answer is worth. No I/O.

An answer is an expression over the question's names: the numbers that it gives, the dims of its
case, the limits of a device, and what the simulator measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grader.expression import Number, evaluate
from grader.fault import LabFault
from grader.lab import Case, Lab, Probe, Question
from grader.occupancy import DEVICES, WARP
from grader.quiz.sheet import AnswerSheet

LETTERS = "abcdefghi"
EXACT = 1e-9
"""Relative error of a number that is due exactly: what float64 arithmetic may lose."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(rf"\{{({_WORD.pattern})\}}")
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w.,])")
_NONE: Mapping[str, Number] = MappingProxyType({})

Right = int | float | str
"""The right answer: a number, or the letter of a choice."""


@dataclass(frozen=True)
class Paper:
    """A quiz as handed in. `key` has the right answer of each question by name, where this copy
    of the lab can work it out; `sheet` is None where no answers belong to the grading; `points`
    are what the whole quiz is worth."""

    lab: str
    questions: tuple[Question, ...]
    key: Mapping[str, Right]
    sheet: AnswerSheet | None
    points: float = 0.0


def device_facts() -> dict[str, Number]:
    """The limits of an H100 that every question may use by name; sizes in bytes."""
    device = DEVICES[9, 0]
    return {
        "warp_size": WARP,
        "H100_threads_per_sm": device.warps * WARP,
        "H100_warps_per_sm": device.warps,
        "H100_blocks_per_sm": device.blocks,
        "H100_registers_per_sm": device.registers,
        "H100_shared_bytes_per_sm": device.shared,
        "H100_shared_bytes_per_block": device.shared_block,
        "H100_shared_bytes_reserved_per_block": device.reserved,
    }


def facts(
    question: Question, case: Case | None, measured: Mapping[str, Number] = _NONE
) -> dict[str, Number]:
    """Every name that the answer may use; what depends on a probe that is not in `measured` is
    left out. Raises LabFault."""
    names = device_facts() | (dict(case.dims) if case else {})
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
        return evaluate(text, names)
    except LabFault as fault:
        raise LabFault(fault.what, where=place(question), mend=fault.mend) from None


def place(question: Question) -> str:
    """`file:line: quiz.name`, for a fault about the question."""
    return f"{question.where}: quiz.{question.name}"


def asked(question: Question, lab: Lab) -> str:
    """The question's text with its numbers put in. Raises LabFault for an unknown `{name}`."""
    return _filled(question, question.text, facts(question, lab.case(question.case)))


def choices(question: Question, lab: Lab) -> dict[str, str]:
    """The choices' texts by letter, with their numbers put in. Raises LabFault."""
    names = facts(question, lab.case(question.case))
    texts = (_filled(question, choice.text, names) for choice in question.choices)
    return dict(zip(LETTERS, texts, strict=False))


def _filled(question: Question, text: str, names: Mapping[str, Number]) -> str:
    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in names:
            what = f"{{{name}}} in the text is no number that the question gives"
            raise LabFault(what, where=place(question), mend=f"it gives {', '.join(names)}")
        return f"{names[name]:,}"

    return _NAME.sub(number, text)


def right_answer(
    question: Question, case: Case | None, measured: Mapping[str, Number] = _NONE
) -> Right:
    """The number, or the letter of the one choice that is right.

    `measured` has the numbers of the question's probes. Raises LabFault: an expression that does
    not work out, no right choice or more than one.
    """
    names = facts(question, case, measured)
    if question.answer is not None:
        return _worked_out(question, question.answer, names)
    true = [
        letter
        for letter, choice in zip(LETTERS, question.choices, strict=False)
        if _worked_out(question, choice.when, names)
    ]
    if len(true) != 1:
        what = f"{len(true)} of its choices are right; exactly one must be"
        raise LabFault(what, where=place(question))
    return true[0]


def given_answer(question: Question, text: str) -> Right:
    """What a student's text says: a number, arithmetic that gives one, with or without the unit,
    or a choice's letter. Raises ValueError that says what is due."""
    text = text.strip()
    if question.kind == "choice":
        letters = LETTERS[: len(question.choices)]
        letter = text.lower().removesuffix(")").removesuffix(".")
        if len(letter) != 1 or letter not in letters:
            raise ValueError(f"the answer is one letter, {letters[0]} to {letters[-1]}")
        return letter
    if question.unit and text.endswith(question.unit):
        text = text.removesuffix(question.unit).rstrip()
    try:
        number = evaluate(_ungrouped(text), {})
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


def is_right(question: Question, given: Right, right: Right) -> bool:
    """Whether the answer is the right one, within the question's tolerance."""
    if isinstance(given, str) or isinstance(right, str):
        return given == right
    return math.isclose(given, right, rel_tol=0, abs_tol=_room(question, right))


def _room(question: Question, right: Number) -> float:
    return max(question.tolerance, EXACT) * abs(right)

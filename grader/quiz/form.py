"""The empty `answers.yaml` of a lab: its questions as comments, a line below each to fill in."""

from __future__ import annotations

import re
from textwrap import wrap

from grader.lab import Lab, Question
from grader.quiz.marking import asked, choices

WIDTH = 80
HEAD = """\
Answers to the questions about {lab}. Write each after its
colon, keep this file beside your {lab}.cu, and run

  grader check {lab} {lab}.cu

A number may be arithmetic, such as 3 * 16. Quote a sentence "like this".
"""


def form(lab: Lab) -> str:
    """The text of the file; YAML. Raises LabFault for a question that does not add up."""
    parts = [_comment(HEAD.format(lab=lab.name))]
    parts += [_question(number, q, lab) for number, q in enumerate(lab.quiz, 1)]
    return "\n".join(parts)


def _question(number: int, question: Question, lab: Lab) -> str:
    text = f"{number}. {' '.join(asked(question, lab).split())}{_due(question)}"
    rows = [f"# {row}" for row in wrap(text, WIDTH - 2, subsequent_indent="   ")]
    for letter, choice in choices(question, lab).items():
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

"""A lab's questions as a page shows them: texts and choices, never an answer."""

from __future__ import annotations

from grader.lab import Lab
from grader.quiz.marking import asked, choices


def quiz_list(lab: Lab) -> str:
    """A numbered Markdown list, each question with the name it has in answers.yaml. Raises
    LabFault for a question whose numbers do not work out."""
    blocks = []
    for number, question in enumerate(lab.quiz, start=1):
        unit = "" if question.unit in question.text else f" (in {question.unit})"
        lines = [f"{number}. {asked(question, lab)}{unit} `{question.name}`"]
        lines += ["", *(f"    {letter}) {text}" for letter, text in choices(question, lab).items())]
        blocks.append("\n".join(lines))
    told = (
        "Write your answers into `answers.yaml` beside your `.cu`, one line a question, by the name"
        " that stands after it. Arithmetic such as `2 * 16 * 16` is an answer too. `grader check`"
        " then tells which are right; where you have the lab from a zip of your course, only that"
        " their form is, for the answers are not in it."
    )
    return "\n\n".join([*blocks, told])

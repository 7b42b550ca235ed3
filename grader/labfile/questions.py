"""The `quiz` of a lab.yaml as frozen Questions, and the check that they add up to."""

from __future__ import annotations

from grader.lab import CheckSpec, Choice, Geometry, Probe, Question
from grader.labfile import model as labmodel
from grader.yamlfile import Document


def questions(model: labmodel.LabModel, document: Document) -> tuple[Question, ...]:
    """The questions in their order, each with its line."""
    return tuple(
        _question(name, asked, f"{document.file}:{document.line_of(('quiz', name))}")
        for name, asked in model.quiz.items()
    )


def quiz_check(model: labmodel.LabModel, document: Document) -> tuple[CheckSpec, ...]:
    """The check of a quiz that the lab gives no points for; nothing when it gives some."""
    if not model.quiz or "quiz" in model.checks:
        return ()
    return (CheckSpec("quiz", 0.0, {}, f"{document.file}:{document.line_of(('quiz',))}"),)


def _question(name: str, asked: labmodel.Question, where: str) -> Question:
    case = asked.case or ""
    return Question(
        name=name,
        kind=asked.kind,
        text=asked.text,
        given={
            key: _probe(value, case) if isinstance(value, labmodel.Run) else value
            for key, value in asked.given.items()
        },
        answer=asked.answer,
        choices=tuple(Choice(choice.text, choice.when or "") for choice in asked.choices),
        case=case,
        unit=asked.unit,
        tolerance=asked.tolerance,
        hint=asked.hint,
        where=where,
    )


def _probe(run: labmodel.Run, case: str) -> Probe:
    launch = run.launch
    geometry = Geometry(launch.grid, launch.block, launch.shared) if launch else None
    case = run.case or case
    if run.element is not None:
        name, *index = run.element
        return Probe(run.file, case, "element", str(name), tuple(map(int, index)), geometry)
    if run.counter is not None:
        return Probe(run.file, case, "counter", run.counter, geometry=geometry)
    if run.finding is not None:
        return Probe(run.file, case, "finding", run.finding, geometry=geometry)
    return Probe(run.file, case, "resource", str(run.resource), geometry=geometry)

"""The right answers to a lab's quiz, worked out: what has to be simulated is simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader.compile.cache import key_of, load, store, user_folder
from grader.compile.program import Program
from grader.compile.source import compile_source, toolchain
from grader.faults import LabFault, StudentFault
from grader.grading.baseline import simulator_stamp
from grader.grading.cases import RunOptions
from grader.grading.prefetch import map_parallel
from grader.grading.run import run_all
from grader.labs.cases import launch_shape, prepare_launches
from grader.labs.expressions import Number
from grader.labs.model import Lab, Probe, Question
from grader.labs.quiz import Answer, AnswerSheet, QuizAttempt, correct_answer, question_location
from grader.launch import Launch, Trace

CACHE_BYTES = 4 << 20
SEED = b"quiz"
"""Answers are the same for everybody and on every machine."""


def open_paper(lab: Lab, sheet: AnswerSheet | None, how: RunOptions) -> QuizAttempt:
    """The quiz ready to be marked. Nothing is simulated for a sheet that is not there or cannot be
    read. Raises LabFault and MachineFault.
    """
    points = sum(check.points for check in lab.checks if check.name == "quiz")
    readable = sheet is not None and sheet.found and not sheet.problem
    key = quiz_key(lab, how) if readable else {}
    return QuizAttempt(lab.name, lab.quiz, key, sheet, points)


def probed_files(lab: Lab) -> tuple[Path, ...]:
    """The files, of the lab and of its solution, that the answers are worked out from."""
    names = dict.fromkeys(probe.file for q in lab.quiz for probe in q.probes.values())
    return tuple(path for path in (_path(lab, name) for name in names) if path.is_file())


def quiz_key(lab: Lab, how: RunOptions) -> Mapping[str, Answer]:
    """The right answer of each question that this copy of the lab knows how to work out."""
    due = [question for question in lab.quiz if question.has_key and _is_here(lab, question)]
    measured = _measured(lab, due, how)
    return {
        question.name: correct_answer(
            question,
            lab.case(question.case),
            {name: measured[probe] for name, probe in question.probes.items()},
        )
        for question in due
    }


def _is_here(lab: Lab, question: Question) -> bool:
    """Whether the files that it runs are here: a copy of a course may lack the solutions."""
    files = (_path(lab, probe.file) for probe in question.probes.values())
    return lab.solution.is_file() or all(file.is_file() for file in files)


def _path(lab: Lab, file: str) -> Path:
    """A probe's file: `LAB.cu` is the solution, not the skeleton of the same name."""
    inside = lab.folder / file
    answers = lab.solution.parent / file
    return answers if file == lab.skeleton.name or not inside.is_file() else inside


@dataclass(frozen=True)
class _Asked:
    """A question's number `name`: its probe, its key in the memory, and what tells the launch that
    it is read of from others.
    """

    question: Question
    name: str
    probe: Probe
    key: str
    launched: str


def _measured(lab: Lab, questions: list[Question], how: RunOptions) -> dict[Probe, Number]:
    """The number of every probe, remembered by content; one launch serves all probes that only
    read it differently, and what has to be launched is launched side by side.
    """
    folder = user_folder()
    kept = folder.parent / "quiz" if folder else None
    asked = [_asked(lab, q, name, probe) for q in questions for name, probe in q.probes.items()]
    recalled = ((one, load(kept, one.key)) for one in asked)
    numbers = {one.probe: known for one, known in recalled if isinstance(known, int | float)}
    unknown = [one for one in asked if one.probe not in numbers]
    due = {one.launched: one for one in reversed(unknown)}
    launched = map_parallel(partial(_launched, lab, how), due.values(), how.at_a_time)
    runs = {one.launched: ran for one, ran in launched}
    for one in unknown:
        with _told_at(one):
            numbers[one.probe] = _read(one.probe, *runs[one.launched])
        store(kept, one.key, numbers[one.probe], CACHE_BYTES)
    return numbers


def _asked(lab: Lab, question: Question, name: str, probe: Probe) -> _Asked:
    launched = _digest(lab, probe)
    key = key_of(launched, probe.source, probe.name, probe.index)
    return _Asked(question, name, probe, key, launched)


@contextmanager
def _told_at(one: _Asked) -> Iterator[None]:
    """What is wrong with the lab is told at the question."""
    try:
        yield
    except LabFault as fault:
        where = f"{question_location(one.question)}.given.{one.name}"
        raise LabFault(fault.what, where=where, fix=fault.fix) from None


def _launched(lab: Lab, how: RunOptions, one: _Asked) -> tuple[Launch, Trace]:
    with _told_at(one):
        return _run(lab, one.probe, how)


def _digest(lab: Lab, probe: Probe) -> str:
    """What a run depends on, so that the same one is not made again."""
    files = (_path(lab, probe.file), lab.folder / "lab.yaml", lab.folder / "reference.py")
    texts = [file.read_bytes().hex() if file.is_file() else "" for file in files]
    launch = [probe.file, probe.case, repr(probe.geometry), probe.source == "finding"]
    return key_of(texts, launch, simulator_stamp(), toolchain())


def _run(lab: Lab, probe: Probe, how: RunOptions) -> tuple[Launch, Trace]:
    program = _program(lab, probe.file)
    launch = _launch(lab, probe)
    if program.kernel(launch.kernel) is None:
        raise LabFault(f"{probe.file} has no kernel `{launch.kernel}`")
    (trace,) = run_all(program, [launch], threads=how.threads, limit=how.limit, steps=how.steps)
    if probe.source != "finding" and (trace.errors or not trace.ended):
        said = trace.errors[0].message if trace.errors else "it did not end"
        raise LabFault(f"{probe.file} fails on {probe.case}: {said}")
    return launch, trace


def _program(lab: Lab, file: str) -> Program:
    try:
        return compile_source(_path(lab, file).read_bytes(), file)
    except OSError as error:
        fix = f"it is looked for in {lab.folder} and {lab.solution.parent}"
        raise LabFault(f"cannot read {file}: {error.strerror}", fix=fix) from None
    except StudentFault as fault:
        raise LabFault(f"{file} does not compile: {fault.what}", fix=fault.fix) from None


def _launch(lab: Lab, probe: Probe) -> Launch:
    case = lab.case(probe.case)
    if case is None or case.derived:
        raise LabFault(f"case `{probe.case}` waits for the student's own numbers")
    own, baseline = prepare_launches(lab, case, SEED)
    launch = baseline if probe.file == lab.baseline.name else own
    if probe.geometry is None:
        return launch
    grid, block, shared = launch_shape(lab, case, probe.geometry)
    return replace(launch, grid=grid, block=block, shared=shared)


def _read(probe: Probe, launch: Launch, trace: Trace) -> Number:
    if probe.source == "counter":
        if probe.name not in trace.counters:
            near = [name for name in trace.counters if probe.name.split(".")[0][:12] in name]
            fix = f"there are {', '.join(near or list(trace.counters))}"
            raise LabFault(f"the simulator has no counter `{probe.name}`", fix=fix)
        return _whole(trace.counters[probe.name])
    if probe.source == "finding":
        return sum(finding.count for finding in trace.findings if finding.kind == probe.name)
    if probe.source == "resource":
        value = getattr(trace.resources, probe.name)
        if value is None:
            raise LabFault(f"{probe.file} has no known {probe.name}")
        return _whole(value)
    outputs = {launch.args[index].name: array for index, array in trace.outputs.items()}
    if probe.name not in outputs:
        raise LabFault(f"`{probe.name}` is no output", fix=f"there are {', '.join(outputs)}")
    try:
        return _whole(outputs[probe.name][probe.index].item())
    except (IndexError, ValueError):
        shape = outputs[probe.name].shape
        raise LabFault(f"{probe.name} has no element {list(probe.index)}: it is {shape}") from None


def _whole(value: float) -> Number:
    """Counts as whole numbers, so that // and the like give whole numbers too."""
    return int(value) if float(value).is_integer() else float(value)

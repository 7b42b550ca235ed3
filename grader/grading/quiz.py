"""Compute the expected answers to a lab's quiz, with simulated launches where needed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from grader import dataclass, replace
from grader.compile.cache import cache_key, load, store, user_folder
from grader.compile.program import Program
from grader.compile.source import compile_source, toolchain
from grader.faults import LabFault, StudentFault, file_fault
from grader.grading.baseline import map_parallel, simulator_stamp
from grader.grading.cases import RunOptions
from grader.grading.run import run_all
from grader.labs.cases import launch_shape, prepare_launches
from grader.labs.expressions import Number
from grader.labs.model import Lab, Probe, Question
from grader.labs.quiz import (
    ANSWERS_FILE,
    MAX_SHEET_BYTES,
    Answer,
    AnswerSheet,
    QuizAttempt,
    SheetEntry,
    correct_answer,
    question_location,
    read_answer_sheet,
)
from grader.launch import Launch, Trace

CACHE_BYTES = 4 << 20
SEED = b"quiz"
"""A fixed seed: the answers are the same for all students and on every machine."""


def known_answer_sheet(folder: Path) -> AnswerSheet:
    """Read the answer sheet in a folder as `read_answer_sheet` does; YAML is parsed once a content.

    A sheet with a problem is read again each time.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(folder / ANSWERS_FILE, flags), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(MAX_SHEET_BYTES + 1) if is_file else b""
    except OSError:
        return read_answer_sheet(folder)
    place, key = user_folder("answers"), cache_key("answers", data.hex())
    rows = load(place, key) if 0 < len(data) <= MAX_SHEET_BYTES else None
    if rows is not None:
        return AnswerSheet(entries={name: SheetEntry(*row) for name, row in rows.items()})
    sheet = read_answer_sheet(folder)
    if sheet.exists and not sheet.problem:
        rows = {name: [e.text, e.line, e.is_plain] for name, e in sheet.entries.items()}
        store(place, key, rows, CACHE_BYTES)
    return sheet


def answer_quiz(lab: Lab, sheet: AnswerSheet | None, options: RunOptions) -> QuizAttempt:
    """Combine the student's answers with the expected ones.

    Nothing is simulated when the answer sheet is missing or unreadable.

    Raises:
        LabFault: a question of the lab is broken.
        MachineFault: the simulator fails.
    """
    points = sum(check.points for check in lab.checks if check.name == "quiz")
    readable = sheet is not None and sheet.exists and not sheet.problem
    key = quiz_key(lab, options) if readable else {}
    return QuizAttempt(lab.name, lab.quiz, key, sheet, points)


def probed_files(lab: Lab) -> tuple[Path, ...]:
    """Return the files of the lab and its solution that the answers are computed from."""
    names = dict.fromkeys(probe.file for q in lab.quiz for probe in q.probes.values())
    return tuple(path for path in (_path(lab, name) for name in names) if path.is_file())


def quiz_key(lab: Lab, options: RunOptions) -> Mapping[str, Answer]:
    """Compute the expected answer of each question whose files this copy of the lab has."""
    questions = [
        question for question in lab.quiz if question.has_key and _has_files(lab, question)
    ]
    measured = _measure(lab, questions, options)
    return {
        question.name: correct_answer(
            question,
            lab.case(question.case),
            {name: measured[probe] for name, probe in question.probes.items()},
        )
        for question in questions
    }


def _has_files(lab: Lab, question: Question) -> bool:
    """Return whether the question's files are here: a copy of a course may lack the solutions."""
    files = (_path(lab, probe.file) for probe in question.probes.values())
    return lab.solution.is_file() or all(file.is_file() for file in files)


def _path(lab: Lab, file: str) -> Path:
    """Return a probe's file: `LAB.cu` is the solution, not the skeleton of the same name."""
    in_lab = lab.folder / file
    in_solution = lab.solution.parent / file
    return in_solution if file == lab.skeleton.name or not in_lab.is_file() else in_lab


@dataclass(frozen=True)
class _Measurement:
    """One measured number of a question.

    Attributes:
        question: the question.
        name: the number's name in the question.
        probe: what to measure.
        key: the number's key in the cache.
        launched: the digest of the launch that it is read from.
    """

    question: Question
    name: str
    probe: Probe
    key: str
    launched: str


def _measure(lab: Lab, questions: list[Question], options: RunOptions) -> dict[Probe, Number]:
    """Measure every probe, with a cache by content.

    Probes that read different numbers of the same launch share it; launches run in parallel.
    """
    cache = user_folder("quiz")
    measurements = [
        _make_measurement(lab, q, name, probe)
        for q in questions
        for name, probe in q.probes.items()
    ]
    recalled = ((one, load(cache, one.key)) for one in measurements)
    numbers = {one.probe: known for one, known in recalled if isinstance(known, int | float)}
    unknown = [one for one in measurements if one.probe not in numbers]
    launches = {one.launched: one for one in reversed(unknown)}
    launched = map_parallel(
        partial(_run_measurement, lab, options), launches.values(), options.parallel_jobs
    )
    runs = {one.launched: ran for one, ran in launched}
    for one in unknown:
        with _at_question(one):
            numbers[one.probe] = _read_probe(one.probe, *runs[one.launched])
        store(cache, one.key, numbers[one.probe], CACHE_BYTES)
    return numbers


def _make_measurement(lab: Lab, question: Question, name: str, probe: Probe) -> _Measurement:
    launched = _digest(lab, probe)
    key = cache_key(launched, probe.source, probe.name, probe.index)
    return _Measurement(question, name, probe, key, launched)


@contextmanager
def _at_question(one: _Measurement) -> Iterator[None]:
    """Report a LabFault at the question that it concerns."""
    try:
        yield
    except LabFault as fault:
        where = f"{question_location(one.question)}.given.{one.name}"
        raise LabFault(fault.what, where=where, fix=fault.fix) from None


def _run_measurement(lab: Lab, options: RunOptions, one: _Measurement) -> tuple[Launch, Trace]:
    with _at_question(one):
        return _run(lab, one.probe, options)


def _digest(lab: Lab, probe: Probe) -> str:
    """Return a digest of all that a probe's launch depends on."""
    files = (_path(lab, probe.file), lab.folder / "lab.yaml", lab.folder / "reference.py")
    texts = [file.read_bytes().hex() if file.is_file() else "" for file in files]
    launch = [probe.file, probe.case, repr(probe.geometry), probe.source == "finding"]
    return cache_key(texts, launch, simulator_stamp(), toolchain())


def _run(lab: Lab, probe: Probe, options: RunOptions) -> tuple[Launch, Trace]:
    program = _program(lab, probe.file)
    launch = _launch(lab, probe)
    if program.kernel(launch.kernel) is None:
        raise LabFault(f"{probe.file} has no kernel `{launch.kernel}`")
    (trace,) = run_all(
        program, [launch], threads=options.threads, limit=options.limit, steps=options.steps
    )
    if probe.source != "finding" and (trace.errors or not trace.ended):
        reason = trace.errors[0].message if trace.errors else "it did not end"
        raise LabFault(f"{probe.file} fails on {probe.case}: {reason}")
    return launch, trace


def _program(lab: Lab, file: str) -> Program:
    try:
        return compile_source(_path(lab, file).read_bytes(), file)
    except OSError as error:
        fix = f"put it into {lab.folder} or {lab.solution.parent}"
        raise file_fault(error, f"cannot read {file}: {error.strerror}", fix=fix) from None
    except StudentFault as fault:
        raise LabFault(f"{file} does not compile: {fault.what}", fix=fault.fix) from None


def _launch(lab: Lab, probe: Probe) -> Launch:
    case = lab.case(probe.case)
    if case is None or case.derived:
        raise LabFault(
            f"case `{probe.case}` depends on the student's derived numbers: use another case"
        )
    own, baseline = prepare_launches(lab, case, SEED)
    launch = baseline if probe.file == lab.baseline.name else own
    if probe.geometry is None:
        return launch
    grid, block, shared = launch_shape(lab, case, probe.geometry)
    own = replace(launch, grid=grid, block=block, shared=shared)
    geometry = probe.geometry
    return replace(own, cooperative=geometry.cooperative, large_shared=geometry.large_shared)


def _read_probe(probe: Probe, launch: Launch, trace: Trace) -> Number:
    if probe.source == "counter":
        if probe.name not in trace.counters:
            near = [name for name in trace.counters if probe.name.split(".")[0][:12] in name]
            fix = f"use one of {', '.join(near or list(trace.counters))}"
            raise LabFault(f"the simulator has no counter `{probe.name}`", fix=fix)
        return _as_integer(trace.counters[probe.name])
    if probe.source == "finding":
        return sum(finding.count for finding in trace.findings if finding.kind == probe.name)
    if probe.source == "resource":
        value = getattr(trace.resources, probe.name)
        if value is None:
            raise LabFault(f"the simulator does not know {probe.name} of {probe.file}")
        return _as_integer(value)
    outputs = {launch.args[index].name: array for index, array in trace.outputs.items()}
    if probe.name not in outputs:
        raise LabFault(f"`{probe.name}` is not an output", fix=f"use one of {', '.join(outputs)}")
    try:
        return _as_integer(outputs[probe.name][probe.index].item())
    except (IndexError, ValueError):
        shape = outputs[probe.name].shape
        raise LabFault(f"{probe.name} has no element {list(probe.index)}: it is {shape}") from None


def _as_integer(value: float) -> Number:
    """Return a whole number as int, so that // of counts gives an int too."""
    return int(value) if float(value).is_integer() else float(value)

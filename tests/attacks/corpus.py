"""Grade attacks like a class, two at a time, and record what each leaves behind.

Each runs in one of two worker processes, which have what an attack would look for: a course with
its solutions, its gradebook and a neighbor's file, a home folder and an environment, all with a
canary in them. A worker runs one attack at a time and adopts every orphan, so whatever remains
belongs to that attack.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from multiprocessing import get_context
from pathlib import Path

from grader.compile.source import LIMITS, compile_source
from grader.faults import StudentFault
from grader.feedback import grade as feedback
from grader.grading import pipeline
from grader.labs.reading import load_lab
from grader.reports.text import grade_report, render
from grader.submissions.files import parse_submission, read_submission
from tests.attacks.traces import adopt_orphans, record_traces, remaining_traces
from tests.patience import PATIENCE
from tests.processes import processor_seconds

CANARY = "canary-7f3a91"
CASES = ("one-tile", "whole-numbers")
COMPILE_SECONDS = 2.0
LIMIT = 0.5
"""Seconds of processor time that a launch may take."""

LONGEST = 2 + COMPILE_SECONDS + 2 * len(CASES) * LIMIT
"""Seconds of processor time that an attempt may take: its limits, where each case runs twice, once
with the compiler's optimizer, and two. On a busy machine it waits longer, and takes no more."""

LAB = Path(__file__).parents[2] / "labs" / "tiled-matmul"
SOLUTION = Path(__file__).parents[2] / "solutions" / "tiled-matmul" / "tiled-matmul.cu"


@dataclass(frozen=True)
class AttackResult:
    """The result of an attack: the grade as JSON and as text, its processor time, what remains."""

    grade: str
    text: str
    seconds: float
    remaining: tuple[str, ...]

    @property
    def checks(self) -> Mapping[str, tuple[str, frozenset[str]]]:
        """The status of each check and the kinds of its findings."""
        return {
            check["name"]: (check["status"], frozenset(f["kind"] for f in check["findings"]))
            for check in json.loads(self.grade)["checks"]
        }

    @property
    def verdicts(self) -> object:
        """The grade without the values that differ between runs."""
        grade = json.loads(self.grade)
        return {key: grade[key] for key in ("score", "judged_max", "status", "checks", "cases")}


class Corpus:
    """Running attacks; `folder` is for the course that they attack."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._futures: dict[str, Future[AttackResult]] = {}

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *error: object) -> None:
        if self._futures:
            self._pool.shutdown(cancel_futures=True)

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        context = get_context("spawn")
        return ProcessPoolExecutor(
            2, context, initializer=_set_up_worker, initargs=(str(self._folder),)
        )

    def add(self, key: str, name: str, data: bytes | Path) -> None:
        """Grade bytes or a file under that name as soon as a worker is free."""
        self._futures[key] = self._pool.submit(_run_attack, name, data)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._futures)

    def result(self, key: str) -> AttackResult:
        """Wait for the result of an attack."""
        return self._futures[key].result(PATIENCE)


def _set_up_worker(folder: str) -> None:
    """Create a course with canaries, and make this process its grader."""
    course = Path(folder) / f"course-{os.getpid()}"
    lab = course / "labs" / "tiled-matmul"
    shutil.copytree(LAB, lab)
    (lab / "reference.py").write_text(
        f"# {CANARY}\n" + (LAB / "reference.py").read_text() + f'\nSECRET = "{CANARY}"\n'
    )
    for name in ("solutions/tiled-matmul/tiled-matmul.cu", "submissions/neighbor.cu",
                 "course.db", "course.yaml", "home/.netrc", "home/.profile"):  # fmt: skip
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        (course / name).write_text(f"// {CANARY}\n")
    os.environ.update(
        {
            "HOME": str(course / "home"),
            "XDG_CACHE_HOME": str(course / "cache"),
            "WARPGRADE_LABS": str(course / "labs"),
            "COURSE_SECRET": CANARY,
        }
    )
    os.chdir(course / "submissions")
    _shorten_compiler_limit()
    adopt_orphans()
    _timed_grade("first.cu", SOLUTION)  # modules and caches that stay
    gc.freeze()  # each attack's search for traces collects garbage twice


def _shorten_compiler_limit() -> None:
    """Shorten the compiler's limit: a compiler that does not end has no verdict in 20 s either.

    The limit is in processor time, because two attacks on a busy machine wait for each other.
    """
    short = replace(LIMITS, cpu=COMPILE_SECONDS)
    pipeline.compile_source = partial(compile_source, limits=short)


def _run_attack(name: str, data: bytes | Path) -> AttackResult:
    course = Path.cwd().parent
    places = tuple(course / folder for folder in ("labs", "submissions", "home", "solutions"))
    before = record_traces(*places)
    grade, text, seconds = _timed_grade(name, data)
    remains = remaining_traces(before, *places)
    return AttackResult(grade, text, seconds, tuple(remains))


def _timed_grade(name: str, data: bytes | Path) -> tuple[str, str, float]:
    """Return the grade of a submission as JSON and as a report, and its processor time."""
    lab = load_lab("tiled-matmul")
    cases = tuple(case for case in lab.cases if case.name in CASES)
    lab = replace(lab, cases=cases, drawn={})  # a draw that takes longer than LIMIT has no verdict
    started = processor_seconds(os.getpid())
    try:
        submission = (
            read_submission(data) if isinstance(data, Path) else parse_submission(data, name)
        )
        got = feedback.grade(lab, submission, visibility="all", threads=1, limit=LIMIT)
    except StudentFault as fault:
        got = pipeline.grade_unreadable(lab, name, fault)
    seconds = processor_seconds(os.getpid()) - started
    return json.dumps(got.to_json()), render(grade_report(got)), seconds

"""Runs attacks as a class would be graded, two at a time, and looks what each left behind.

Each runs in one of two worker processes, which hold what an attack would look for: a course with
its answers, its gradebook and a neighbour's file, a home folder and an environment, all with a
canary in them. A worker runs one attack at a time and adopts every orphan, so whatever is left is
that attack's.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from multiprocessing import get_context
from pathlib import Path

from grader.compile.source import LIMITS, compile_source
from grader.faults import StudentFault
from grader.grading import pipeline as grading
from grader.labs.reading import load_lab
from grader.reports.text import grade_report, render
from grader.submissions.files import parse_submission, read_submission
from tests.attacks.traces import adopt_orphans, left, traces

CANARY = "canary-7f3a91"
CASES = ("one-tile", "whole-numbers")
COMPILE_SECONDS = 2.0
LIMIT = 1.0
"""Seconds a launch may take."""

LONGEST = COMPILE_SECONDS + 2 * len(CASES) * LIMIT
"""Seconds that an attempt may take: each case runs twice, once with the compiler's optimiser."""

LAB = Path(__file__).parents[2] / "labs" / "tiled-matmul"
SOLUTION = Path(__file__).parents[2] / "solutions" / "tiled-matmul" / "tiled-matmul.cu"


def crowding() -> float:
    """How much longer things take now, at least 1: processes have to wait for a core here."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def longest() -> float:
    """Seconds that an attempt may take now: its limits and two, on a busy machine more."""
    return (LONGEST + 2) * crowding()


@dataclass(frozen=True)
class Told:
    """What came of an attack: the grade as JSON and as text, how long it took and may have taken,
    and what is left of it.
    """

    grade: str
    text: str
    seconds: float
    longest: float
    left: tuple[str, ...]

    @property
    def checks(self) -> Mapping[str, tuple[str, frozenset[str]]]:
        """Each check's status and the kinds of its findings."""
        return {
            check["name"]: (check["status"], frozenset(f["kind"] for f in check["findings"]))
            for check in json.loads(self.grade)["checks"]
        }

    @property
    def verdicts(self) -> object:
        """The grade without what differs from run to run."""
        grade = json.loads(self.grade)
        return {key: grade[key] for key in ("score", "judged_max", "status", "checks", "cases")}


class Corpus:
    """Attacks under way; `folder` is for the course that they would break into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._futures: dict[str, Future[Told]] = {}

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *error: object) -> None:
        if self._futures:
            self._pool.shutdown(cancel_futures=True)

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        context = get_context("spawn")
        return ProcessPoolExecutor(2, context, initializer=_settle, initargs=(str(self._folder),))

    def add(self, key: str, name: str, data: bytes | Path) -> None:
        """Grade these bytes, or this file, under that name when a worker is free."""
        self._futures[key] = self._pool.submit(_attack, name, data)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._futures)

    def told(self, key: str) -> Told:
        """What came of it, when it has ended."""
        return self._futures[key].result()


def _settle(folder: str) -> None:
    """Plant the canaries, and make this process a class's grader whose home they are."""
    course = Path(folder) / f"course-{os.getpid()}"
    lab = course / "labs" / "tiled-matmul"
    shutil.copytree(LAB, lab)
    (lab / "reference.py").write_text(
        f"# {CANARY}\n" + (LAB / "reference.py").read_text() + f'\nSECRET = "{CANARY}"\n'
    )
    for name in ("solutions/tiled-matmul/tiled-matmul.cu", "submissions/neighbour.cu",
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
    _hurry_the_compiler()
    adopt_orphans()
    _timed_grade("first.cu", SOLUTION)  # what is loaded and remembered once stays


def _hurry_the_compiler() -> None:
    """A compiler that does not end has no verdict in 20 s either. Its limit is in processor time:
    two attacks at once on a busy machine wait for each other.
    """
    short = replace(LIMITS, cpu=COMPILE_SECONDS)
    grading.compile_source = partial(compile_source, limits=short)


def _attack(name: str, data: bytes | Path) -> Told:
    course = Path.cwd().parent
    places = tuple(course / folder for folder in ("labs", "submissions", "home", "solutions"))
    before = traces(*places)
    grade, text, seconds = _timed_grade(name, data)
    stayed = left(before, *places)
    return Told(grade, text, seconds, longest(), tuple(stayed))


def _timed_grade(name: str, data: bytes | Path) -> tuple[str, str, float]:
    """The grade of a submission as JSON, as a report, and how long it took."""
    lab = load_lab("tiled-matmul")
    lab = replace(lab, cases=tuple(case for case in lab.cases if case.name in CASES))
    started = time.monotonic()
    try:
        submission = (
            read_submission(data) if isinstance(data, Path) else parse_submission(data, name)
        )
        got = grading.grade(lab, submission, visibility="all", threads=1, limit=LIMIT)
    except StudentFault as fault:
        got = grading.grade_unreadable(lab, name, fault)
    seconds = time.monotonic() - started
    return json.dumps(got.to_json()), render(grade_report(got)), seconds

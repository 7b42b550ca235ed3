"""A small course with one submission, and what is wrong with how a command on it ended.

A run is correct when it ends in the undisturbed grade, or with exit code 3 and no grade that
differs from it; when no process and no temporary file remains; and when a batch that is run again
without a fault then gives the undisturbed grades.
"""

from __future__ import annotations

import json
import queue
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.faults import Fault
from grader.sandbox.call import sandbox_problem
from tests.faults.injection import COMMANDS, PROCESSES, Counts, Injection, Process, Result
from tests.faults.tracing import ROOT, TIMED_OUT, Ended, Server, Trace, counted_calls

LAB = """\
title: Vector addition
kernel:
  name: vector_add
  parameters:
    - {name: a, type: const float*}
    - {name: b, type: const float*}
    - {name: c, type: float*}
    - {name: n, type: int}
arguments:
  a: {in: float32, shape: [n]}
  b: {in: float32, shape: [n]}
  c: {out: float32, shape: [n]}
  n: {value: n, dtype: int32}
launch:
  grid: ["ceil_div(n, 256)"]
  block: [256]
cases:
  - {name: one-block-and-one, dims: {n: 257}}
  - {name: two-blocks, dims: {n: 512}}
  - {name: hidden-ragged, dims: {n: 503}, visibility: hidden}
checks:
  output: {points: 60}
  memory: {points: 20}
  traffic: {points: 20, max_sectors_per_request: 4, min_bytes_per_sector: 31}
"""
KERNEL = """\
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if ({guard}) {{
        c[i] = a[i] + b[i];
    }}
}}
"""
SUBMISSIONS = {"correct": KERNEL.format(guard="i < n"), "incorrect": KERNEL.format(guard="i <= n")}


class Workplace:
    """A course, its submissions and their undisturbed results, in one folder."""

    def __init__(
        self,
        folder: Path,
        commands: Sequence[str] = COMMANDS,
        submissions: Sequence[str] = tuple(SUBMISSIONS),
    ) -> None:
        """Make the course, and grade the submissions without faults."""
        self.folder = folder
        self.commands, self.submissions = tuple(commands), tuple(submissions)
        self._servers: dict[bool, queue.SimpleQueue[Server]] = {
            fresh: queue.SimpleQueue() for fresh in (True, False)
        }
        self._modules: list[str] = []
        self._unconfined = ["--unsafe-no-sandbox"] if sandbox_problem() else []
        self._write_course()
        self.expected: dict[tuple[str, str], Any] = {}
        for name in submissions:
            for command in dict.fromkeys(("check", *commands)):
                self._grade_undisturbed(command, name)

    def close(self) -> None:
        """End the processes that commands are forked from."""
        for servers in self._servers.values():
            while not servers.empty():
                servers.get().close()

    def _write_course(self) -> None:
        lab = self.folder / "course" / "labs" / "adds"
        lab.mkdir(parents=True)
        (lab / "lab.yaml").write_text(LAB)
        shutil.copy(ROOT / "labs" / "vector-add" / "reference.py", lab)
        shutil.copy(ROOT / "labs" / "vector-add" / "baseline.cu", lab)
        (lab / "adds.cu").write_text(SUBMISSIONS["correct"])
        for name in self.submissions:
            (self.folder / name / "ada").mkdir(parents=True)
            (self.folder / name / "ada" / "adds.cu").write_text(SUBMISSIONS[name])

    def _grade_undisturbed(self, command: str, submission: str) -> None:
        place = self._prepared(f"expected-{command}-{submission}")
        modules = place / "modules"
        with self._server(fresh=True) as server:
            ended = server.run(self.words(command, submission, place), place, None, str(modules))
        if ended.code not in (0, 1):
            raise AssertionError(f"{command} {submission} ended with {ended.code}: {ended.text}")
        self.expected[command, submission] = (ended.code, _outcome(command, place))
        self._modules = sorted({*self._modules, *json.loads(modules.read_text())})

    @contextmanager
    def _server(self, *, fresh: bool) -> Iterator[Server]:
        """Lend a server to the caller; `fresh`: one that imported the command line only."""
        idle = self._servers[fresh]
        try:
            server = idle.get_nowait()
        except queue.Empty:
            server = Server([] if fresh else self._modules)
        yield server
        idle.put(server)

    def counts(self) -> Counts:
        """Return how often the commands make each call, measured on the first submission."""
        name = self.submissions[0]
        counts: dict[tuple[str, Process, bool], dict[str, int]] = {}
        steps = "" if self._unconfined else " ".join(PROCESSES[1:])
        kinds = [("all", True), ("all", False), ("reference", False), (steps, False)]
        for command in self.commands:
            for process, fresh in [kind for kind in kinds if kind[0]]:
                place = self._prepared(f"counted-{command}-{process.split()[0]}-{fresh}")
                (place / "calls").mkdir()
                trace = Trace.counting(process, place / "calls")
                with self._server(fresh=fresh) as server:
                    server.run(self.words(command, name, place), place, trace)
                for step, calls in counted_calls(place / "calls").items():
                    counts[command, step, fresh] = dict(calls)
        return counts

    def words(self, command: str, submission: str, place: Path) -> list[str]:
        """Return the command line of grader."""
        result, db = str(place / "result.json"), f"sqlite:///{place / 'grades.db'}"
        course = ["--course", str(self.folder / "course"), "--json", result]
        source = self.folder / submission
        if command == "check":
            return ["check", "adds", str(source / "ada" / "adds.cu"), "--threads", "2", *course]
        if command == "batch":
            where = ["--db", db, "--jobs", "1", *course, *self._unconfined]
            return ["batch", "adds", str(source), *where]
        recorded = str(self.folder / f"expected-check-{submission}" / "result.json")
        where = ["--source", str(source / "ada" / "adds.cu"), *course, *self._unconfined]
        return ["replay", recorded, *where]

    def _prepared(self, name: str, cache_of: str = "") -> Path:
        """Return a new folder for one run, with the cache of the undisturbed one if named."""
        place = self.folder / name
        (place / "tmp").mkdir(parents=True)
        if cache_of:
            shutil.copytree(self.folder / cache_of / "home", place / "home")
        else:
            (place / "home").mkdir()
        return place

    def run(self, one: Injection, name: str) -> Result:
        """Run one injection in a folder of that name, which is removed when no rule is broken."""
        warm = "" if one.cold else f"expected-{one.command}-{one.submission}"
        place = self._prepared(name, warm)
        words = self.words(one.command, one.submission, place)
        with self._server(fresh=one.fresh) as server:
            ended = server.run(words, place, Trace.of(one))
            violations = list(self._violations(one, place, ended))
            if one.command == "batch" and not violations:
                violations += self._continued(one, place, server.run(words, place).code)
        outcome = {3: "error"}.get(ended.code, "killed" if ended.code < 0 else "same")
        if not violations:
            shutil.rmtree(place, ignore_errors=True)
        return Result(one, outcome, tuple(violations), ended.text)

    def _violations(self, one: Injection, place: Path, ended: Ended) -> Iterator[str]:
        expected_code, expected = self.expected[one.command, one.submission]
        killed = ended.code == -9 and one.fault == "SIGKILL"
        found = _outcome(one.command, place)
        if ended.code == TIMED_OUT:
            yield "it hangs"
        elif ended.code not in (expected_code, 3) and not killed:
            yield f"exit code {ended.code} in place of {expected_code}"
        elif ended.code == expected_code and found != expected:
            yield f"another result: {found} in place of {expected}"
        elif one.command != "replay":
            for key, grade in found.items():
                if grade["status"] == "graded" and grade != expected[key]:
                    yield f"another grade: {grade} in place of {expected[key]}"
        if "Traceback" in ended.text or "mistake in grader" in ended.text:
            yield "a traceback"
        silent = one.call == "write" and one.lasting  # no message can be written either
        if ended.code == 3 and not ended.text.strip() and not silent:
            yield "exit code 3 without a message"
        if ended.left:
            yield f"{len(ended.left)} processes remain: {ended.left[0]}"
        if not killed and (files := sorted(f.name for f in (place / "tmp").iterdir())):
            yield f"files remain: {files}"

    def _continued(self, one: Injection, place: Path, code: int) -> list[str]:
        """Return what is wrong with the same batch's result when nothing is injected."""
        after = _outcome(one.command, place)
        expected_code, expected = self.expected[one.command, one.submission]
        if (code, after) == (expected_code, expected):
            return []
        return [f"continued without a fault it gives {code}, {after}"]


def _outcome(command: str, place: Path) -> dict[str, Any]:
    """Return what a run left: {student: grade} of a check or a batch, or the replay's verdict."""
    if command == "batch":
        return stored_grades(place / "grades.db")
    try:
        result = json.loads((place / "result.json").read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        return {"": {"status": "graded", "damaged": str(error)}}
    if command == "check":
        return {"": grade_summary(result)}
    rows = result if isinstance(result, list) else [result]
    return {row["student"]: {"same": row["same"], **grade_summary(row["grade"])} for row in rows}


def grade_summary(grade: Any) -> dict[str, Any]:
    """Return what must be equal in two grades of one submission."""
    checks = [(c["name"], c["status"], c["points"], c["max_points"]) for c in grade["checks"]]
    return {"status": grade["status"], "score": grade["score"], "checks": checks}


def stored_grades(db: Path) -> dict[str, Any]:
    """Return the grades in a gradebook by student; a damaged one has a grade that says so."""
    from grader.gradebook.book import open_gradebook

    if not db.exists():
        return {}
    try:
        book = open_gradebook(f"sqlite:///{db}", create=False)
    except Fault as fault:
        return {"": {"status": "graded", "damaged": str(fault)}}
    try:
        grades = [grade for _, grade in book.grades("adds").values()]
        return {grade["student"]: grade_summary(grade) for grade in grades}
    finally:
        book.close()

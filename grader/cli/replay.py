"""`grader replay`: repeat a recorded grade and compare the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader import dataclass
from grader.cli.terminal import show, width
from grader.faults import Fault

if TYPE_CHECKING:
    from grader.batch.replay import Replay
    from grader.grading.record import Grade
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from grader.cli.batch import Unsafe
from grader.cli.terminal import (
    Argument,
    Backend,
    Json,
    Limit,
    Option,
    Threads,
    check_writable,
    finished,
    progress,
    resolved,
    write_json,
)
from grader.faults import LabFault

if TYPE_CHECKING:
    from grader.batch.replay import ReplayInputs
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course as CourseFile
    from grader.grading.cases import RunOptions
    from grader.grading.record import Grade


NAME = 40
SHOWN = 20
"""The number of differences that are shown; --json contains all of them."""


@dataclass(frozen=True)
class ReplayResult:
    """The result for one grade: a replay, or the reason why there is none."""

    record: Grade
    replay: Replay | None
    fault: Fault | None = None

    @property
    def code(self) -> int:
        """The exit code: 0 when nothing differs."""
        if self.replay is None:
            return self.fault.exit_code if self.fault else 3
        return int(not self.replay.is_same)


def replay_json(result: ReplayResult) -> dict[str, Any]:
    """Return the result for one grade as plain values."""
    row: dict[str, Any] = {"student": result.record.student, "file": result.record.file}
    replay = result.replay
    if replay is None:
        return row | {"same": False, "fault": str(result.fault)}
    return row | {
        "same": replay.is_same,
        "conditions": [vars(difference) for difference in replay.changed_conditions],
        "verdict": [vars(difference) for difference in replay.verdict],
        "notes": list(replay.notes),
        "grade": replay.made.to_json() if replay.made else None,
    }


def show_replay(result: ReplayResult, *, several: bool) -> None:
    """Show the result on stdout; with several grades, add the student's name."""
    from rich.text import Text

    from grader.reports.printable import clip, printable, wrap

    record, replay = result.record, result.replay
    text = Text()
    for title, rows in _differences(replay):
        text.append(f"{title}\n", "bold")
        for row in rows[:SHOWN]:
            lines = wrap(printable(str(row)), width() - 2, "  ")
            text.append("".join(f"  {line}\n" for line in lines))
        if len(rows) > SHOWN:
            text.append(f"  and {len(rows) - SHOWN} more\n")
    verdict, style = _verdict_line(result)
    name = f"{clip(printable(record.student or record.file), NAME)}: " if several else ""
    text.append("\n".join(wrap(printable(name + verdict), width(), "  ")), style)
    show(text)


def _differences(replay: Replay | None) -> list[tuple[str, Sequence[object]]]:
    """Return the lists to show before the verdict, with their titles."""
    lists = (
        ("conditions that differ from the recorded ones:", replay.changed_conditions),
        ("results that differ from the recorded ones:", replay.verdict),
        ("taken from the record:", replay.notes),
    ) if replay else ()  # fmt: skip
    return [(title, rows) for title, rows in lists if rows]


def _verdict_line(result: ReplayResult) -> tuple[str, str]:
    """Return the verdict of a replay in one line, and its style."""
    from grader.reports.text import score_line

    replay = result.replay
    if replay is None:
        return f"cannot be replayed: {' '.join(str(result.fault).split())}", "bold red"
    if replay.is_same:
        return f"the same result: {score_line(result.record).plain}", "bold green"
    if replay.made is None:
        return "not graded: the source differs from the graded one", "bold red"
    if replay.verdict:
        return "the verdict differs", "bold red"
    return "the same verdict, under other conditions", "bold"


GradeFile = Annotated[
    Path, Argument(metavar="GRADE.json", help="A file written by check or batch with --json.")
]
SourceFile = Annotated[
    Path | None,
    Option("--source", metavar="FILE.cu", help="The graded file, if no gradebook has it."),
]
Db = Annotated[str, Option("--db", metavar="URL", help="The gradebook with the source.")]
Student = Annotated[
    str, Option("--student", metavar="ID", help="Only this student.  [default: all]")
]
Course = Annotated[
    Path | None,
    Option("--course", metavar="DIR", help="A folder with course.yaml or labs/."),
]
Again = Annotated[bool, Option("--again", help="Measure the speed again; needs the GPU.")]


def replay(
    grade: GradeFile,
    source: SourceFile = None,
    db: Db = "",
    course: Course = None,
    student: Student = "",
    again: Again = False,
    threads: Threads = None,
    limit: Limit = 20.0,
    json: Json = None,
    unsafe: Unsafe = False,
) -> int:
    """Repeat the grades of GRADE.json and compare the results.

    The source comes from --source or a gradebook, the seed of hidden inputs from --course. Speed is
    evaluated from the recorded times. The exit code is 1 when something differs.
    """
    from grader.sandbox.call import require_sandbox

    check_writable(json)
    records = read_grades(grade, _enrolled(student, course))
    if source is not None and len(records) > 1:
        what = f"the file has {len(records)} grades, but --source names one submission"
        raise LabFault(what, where=str(grade), fix="choose one with --student ID, or use --db")
    require_sandbox(unsafe=unsafe)
    results = []
    with open_sources(source, db, course) as store:
        for record in records:
            result = _replay_one(
                record, store, ReplaySettings(course, again, threads, limit), len(records) > 1
            )
            results.append(result)
            if json != "-":
                show_replay(result, several=len(records) > 1)
    if json:
        rows = [replay_json(result) for result in results]
        one = {"same": all(row["same"] for row in rows), "replays": rows}
        write_json(rows[0] if len(rows) == 1 else one, json)
    return max((result.code for result in results), default=0)


class ReplaySettings(NamedTuple):
    """The options of the command that apply to every grade."""

    course: Path | None
    again: bool
    threads: int | None
    limit: float


def _replay_one(
    record: Grade, store: SourceStore, settings: ReplaySettings, several: bool
) -> ReplayResult:
    """Repeat one grade. With several grades, a fault becomes a result instead of an error."""
    from grader.batch.replay import replay as repeat_grade
    from grader.labs.reading import lab_roots, load_lab

    try:
        own = settings.course and (settings.course / "labs").is_dir()
        lab = load_lab(record.lab, lab_roots(settings.course if own else None))
        what = store.sources(record)
        options = _run_options(record, settings.again, settings.threads, settings.limit)
        replay = repeat_grade(lab, record, what, options, again=settings.again, progress=progress)
    except Fault as fault:
        finished()
        if not several:
            raise
        return ReplayResult(record, None, fault)
    finished()
    return ReplayResult(record, replay)


def _run_options(record: Grade, again: bool, threads: int | None, limit: float) -> RunOptions:
    """Return the options of the recorded grade: on a GPU when it was graded on one."""
    from grader.grading.cases import RunOptions

    if record.backend == "sim":
        return RunOptions("sim", threads=threads, limit=limit)
    return RunOptions(
        resolved(Backend.gpu if again else Backend.auto), threads=threads, limit=limit
    )


def _course_in(folder: Path | None) -> CourseFile | None:
    from grader.gradebook.course import COURSE_FILE, read_course

    return read_course(folder) if folder and (folder / COURSE_FILE).is_file() else None


def _enrolled(word: str, folder: Path | None) -> str:
    """Return the student's ID when the course knows the word, or else the word itself."""
    course = _course_in(folder) if word else None
    return course.student_id(word) if course else word


def read_grades(file: Path, student: str) -> list[Grade]:
    """Read the grades of a JSON file, or only those of one student; raises LabFault."""
    import json

    from grader.faults import did_you_mean
    from grader.grading.record import grade_from_json

    try:
        content = json.loads(file.read_text("utf-8"))
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(file), fix="check the name and the folder") from None
    except (ValueError, RecursionError) as error:
        fix = "use a file that `grader check --json` wrote"
        raise LabFault(f"the file is not JSON: {error}", where=str(file), fix=fix) from None
    rows = content["grades"] if isinstance(content, dict) and "grades" in content else [content]
    try:
        grades = [grade_from_json(one) for one in rows]
    except LabFault as fault:
        where = f"{file}: {fault.where}" if fault.where else str(file)
        raise LabFault(fault.what, where=where, fix=fault.fix) from None
    named = [grade for grade in grades if student in ("", grade.student)]
    if not named:
        fix = did_you_mean(student, [g.student for g in grades]) or "omit --student"
        what = f"there is no grade of {student}" if student else "there are no grades"
        raise LabFault(what, where=str(file), fix=fix)
    return named


@dataclass(frozen=True)
class SourceStore:
    """The origin of sources, a file or a gradebook, and the course with the seed."""

    file: Path | None
    book: Gradebook | None
    course: CourseFile | None

    def sources(self, record: Grade) -> ReplayInputs:
        """Return the source, the answers and the seed of a grade. Raises LabFault without them."""
        from grader.batch.replay import ReplayInputs
        from grader.grading.pipeline import seed_id
        from grader.labs.quiz import AnswerSheet, parse_answer_sheet, read_answer_sheet
        from grader.submissions.files import read_regular_file

        has_seed = record.provenance.seed != seed_id(b"")  # `grader check` uses no seed
        if has_seed and self.course is None:
            what = "the hidden inputs of this grade depend on the secret of a course"
            raise LabFault(what, fix="add --course DIR, the folder with that course.yaml")
        seed = self.course.seed(record.lab) if self.course and has_seed else b""
        if self.file is not None:
            return ReplayInputs(
                read_regular_file(self.file), read_answer_sheet(self.file.parent), seed
            )
        if self.book is None:
            fix = "name it with --source FILE.cu, or its gradebook with --db"
            raise LabFault(f"the graded file {record.file} is needed", fix=fix)
        stored = self.book.source(record.submission_sha256)
        if stored is None:
            what = f"no submission has the SHA-256 {record.submission_sha256}"
            fix = "name the graded file with --source FILE.cu"
            raise LabFault(what, where=self.book.name, fix=fix)
        answers = stored.answers
        sheet = AnswerSheet(exists=False) if answers is None else parse_answer_sheet(answers)
        return ReplayInputs(stored.data, sheet, seed)


@contextmanager
def open_sources(file: Path | None, db: str, folder: Path | None) -> Iterator[SourceStore]:
    """Open what --source, --db and --course name. Raises LabFault without the gradebook."""
    course = _course_in(folder)
    where = db or (course.gradebook if course else "")
    if file is not None or not where:
        yield SourceStore(file, None, course)
        return
    from grader.gradebook.book import open_gradebook

    book = open_gradebook(where, create=False)
    try:
        yield SourceStore(None, book, course)
    finally:
        book.close()

"""A lab proves itself: the author's gate, held by `grader labs check`.

The skeleton has a TODO, is the one that the solution makes, and falls short with a reason; the
solution passes everything that is judged, on public and hidden cases; every wrong twin draws the
finding that its file name starts with, and loses points; the quiz works out; every mutant of the
solution that is no equivalent one is caught by the public cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader.authoring.gate_lines import (
    Ask,
    Drawn,
    Fails,
    Line,
    faulty,
    held,
    quiz_problems,
    quiz_seen,
    stale,
    thresholds_seen,
)
from grader.authoring.mutation.demands import demands
from grader.authoring.mutation.study import Begun, begin, finish, submission_of
from grader.authoring.mutation.verdict import Tried, told
from grader.authoring.new_lab import make_skeleton
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.grade import grade
from grader.grading.baseline import map_parallel
from grader.grading.cases import RunOptions
from grader.grading.pipeline import Grade, grade_unreadable
from grader.labs.model import Lab
from grader.labs.reading import lab_roots
from grader.labs.thresholds import MINIMUM_MARGIN, THRESHOLDS_FILE
from grader.launch import KINDS, Finding
from grader.submissions.files import Submission, read_submission

LEAST_TWINS = 6


@dataclass(frozen=True)
class Folder:
    """A lab with the folder of its solution and wrong twins."""

    lab: Lab
    solutions: Path

    @property
    def skeleton(self) -> Path:
        return self.lab.folder / f"{self.lab.name}.cu"

    @property
    def solution(self) -> Path:
        return self.solutions / f"{self.lab.name}.cu"

    def command(self, name: str) -> str:
        """`grader labs NAME` for this lab, as it is typed where it was found."""
        root = self.lab.folder.parent
        course = "" if root in lab_roots() else f" --course {root.parent}"
        return f"grader labs {name} {self.lab.name}{course}"

    @property
    def twins(self) -> tuple[Path, ...]:
        return tuple(sorted((self.solutions / "wrong").glob("*.cu")))


def lab_folder(lab: Lab) -> Folder:
    """The lab with `solutions/<lab>/` beside the folder `labs/` that it lies in."""
    return Folder(lab, lab.folder.parent.parent / "solutions" / lab.name)


def check_lab(
    folder: Folder,
    how: RunOptions,
    announce: Callable[[str], None] = lambda what: None,
    *,
    mutants: bool = True,
) -> Iterator[Line]:
    """Every line of the gate, as it is worked out; `announce` is told what comes next; `mutants`
    asks for those too. A fault of the lab is a line that does not hold; MachineFault is raised.
    """
    name = folder.lab.name
    announce(f"{name}: skeleton, solution, quiz and wrong twins")
    alone = replace(how, threads=1)  # of the simulator, because others run beside it
    with ThreadPoolExecutor(max_workers=1) as beside:
        begun = beside.submit(begin, folder.lab, folder.solution, how) if mutants else None
        for ask, line in map_parallel(partial(held, name), asks(folder, alone), how.parallel_jobs):
            announce(f"{name}: {ask.what}")
            yield line
            if line.last:
                return
    if begun:
        announce(f"{name}: mutants")
        yield from mutants_fall(folder, begun.result, how, announce)


def asks(folder: Folder, how: RunOptions) -> Iterator[Ask]:
    """What the files of a lab and of its solutions have to hold, each for itself."""
    yield Ask("skeleton is the solution's", lambda: skeleton_matches(folder))
    yield Ask("skeleton falls short", lambda: skeleton_falls_short(folder, how))
    yield Ask("solution passes", lambda: solution_passes(folder, how))
    yield Ask("quiz", lambda: quiz_is_sound(folder, how))
    if (folder.lab.folder / THRESHOLDS_FILE).is_file():
        yield Ask("thresholds", lambda: thresholds_hold(folder))
    yield Ask(f"at least {LEAST_TWINS} wrong twins", lambda: enough_twins(folder))
    for twin in folder.twins:
        yield Ask(f"wrong/{twin.name}", partial(twin_draws, folder, twin, how))


def wrong_twin_kind(name: str) -> str:
    """The finding that a wrong twin is named by: the longest of KINDS that its name starts with.
    Raises Fails when there is none.
    """
    kinds = [kind for kind in KINDS if name.startswith(f"{kind}-")]
    if not kinds:
        raise Fails("its name starts with no kind of finding")
    return max(kinds, key=len)


def skeleton_matches(folder: Folder) -> str:
    """The skeleton is the one made from the solution, and says where work is due."""
    due = make_skeleton(_text(folder.solution), str(folder.solution))
    if "TODO" not in due:
        raise Fails("there is no TODO in it")
    if _text(folder.skeleton) != due:
        raise Fails(f"it differs: run `{folder.command('skeleton')}`")
    return f"{due.count('TODO')} TODO"


def skeleton_falls_short(folder: Folder, how: RunOptions) -> str:
    """The skeleton is told why it is not yet right, and full marks are out of reach."""
    made = _graded(folder.lab, folder.skeleton, how)
    errors = _errors(made)
    if made.exit_code != 1 or not errors:
        raise Fails(f"{_score(made)}, and {len(errors)} errors are told")
    return f"{_score(made)}, told {errors[0].kind}"


def solution_passes(folder: Folder, how: RunOptions) -> str:
    """The solution passes everything that is judged, and nothing is found in it."""
    made = _graded(folder.lab, folder.solution, how)
    bad = [f"{c.name}: {c.summary}" for c in made.checks if c.status in ("fail", "blocked")]
    errors = _errors(made)
    first = [f"{f.kind} at line {f.line}: {f.message}" for f in errors[:1]]
    if made.exit_code or errors:
        raise Fails("; ".join((*bad, *first)))
    if thin := thin_margin(made):
        raise Fails(thin)
    return f"{_score(made)}, {len(made.cases)} cases"


def thin_margin(made: Grade) -> str:
    """Why the solution passes too narrowly on this device, in one line; empty when it does not."""
    if made.score.points < made.score.judged_max:
        return f"it gets no more than {_score(made)}"
    for seen in (check.measurements for check in made.checks):
        if "speedup_low" in seen and seen["speedup_low"] < MINIMUM_MARGIN * seen["minimum"]:
            return (
                f"a speedup of {seen['speedup']:.3f} is less than "
                f"{100 * (MINIMUM_MARGIN - 1):.0f} % above the minimum of "
                f"{seen['minimum']:g}: see `grader labs calibrate {made.lab}`"
            )
    return ""


def thresholds_hold(folder: Folder) -> str:
    """No device's thresholds were measured beside another baseline."""
    if problems := list(stale(folder.lab)):
        raise Fails("; ".join(problems))
    return thresholds_seen(folder.lab)


def enough_twins(folder: Folder) -> str:
    """There are at least LEAST_TWINS wrong twins."""
    if len(folder.twins) < LEAST_TWINS:
        raise Fails(f"{len(folder.twins)} in {folder.solutions / 'wrong'}")
    return f"{len(folder.twins)}"


def twin_draws(folder: Folder, twin: Path, how: RunOptions) -> str | Drawn:
    """A wrong twin draws the finding that it is named by, and loses points."""
    kind = wrong_twin_kind(twin.stem)
    if kind == "too-slow" and how.on != "gpu":
        return "not judged here: only a GPU judges speed"
    made = _graded(folder.lab, twin, how)
    drawn = list(dict.fromkeys(finding.kind for finding in _errors(made)))
    if kind not in drawn:
        raise Fails(f"draws {', '.join(drawn) or 'nothing'}")
    if made.score.points >= made.score.judged_max:
        raise Fails(f"keeps full marks, {_score(made)}")
    finding = next(f for f in _errors(made) if f.kind == kind)
    said = told(_text(folder.solution), _text(twin), _errors(made))
    missed = "" if said.named or not said.located else ", which is not the wrong one"
    return Drawn(f"{_score(made)}, line {finding.line}{missed}", said)


def quiz_is_sound(folder: Folder, how: RunOptions) -> str:
    """Every answer works out, the right sheet beside the solution passes, wrong ones do not."""
    problems = list(quiz_problems(folder.lab, folder.solutions, how))
    if problems:
        raise Fails("; ".join(problems))
    return quiz_seen(folder.lab, how)


def mutants_fall(
    folder: Folder, begun: Callable[[], Begun], how: RunOptions, announce: Callable[[str], None]
) -> Iterator[Line]:
    """Mutants of the solution are caught, or there is a reason; on a GPU, those that only `speed`
    can see lose points for it.
    """
    name = folder.lab.name
    try:
        reasoned = finish(begun(), how, announce)
        first, *rest = demands(name, reasoned, {check.name for check in folder.lab.checks})
        yield Line(name, first.what, first.holds, first.seen, reasoned.tried)
        yield from (Line(name, demand.what, demand.holds, demand.seen) for demand in rest)
    except LabFault as fault:
        yield faulty(name, "mutants", fault)
        return
    for one in reasoned.tried:
        if one.only == "speed" and how.on == "gpu":
            announce(f"{name}: {one.mutant.name}")
            what = f"mutant {one.mutant.name}"
            yield held(name, Ask(what, partial(speed_tells, folder, one, how)))


def speed_tells(folder: Folder, one: Tried, how: RunOptions) -> str:
    """A mutant that is right but slower loses points for its speed."""
    made = _marked(folder.lab, submission_of(folder.lab, one.mutant.source), how)
    speed = next((check for check in made.checks if check.name == "speed"), None)
    if speed is None or speed.status == "unjudged":
        raise Fails("its speed is not judged here, so nothing shows that it is slower")
    if speed.points >= speed.max_points:
        raise Fails(f"keeps all points for speed: {speed.summary}")
    return f"{speed.points:g} of {speed.max_points:g} for speed"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Fails(f"cannot read {path}: {error}") from None


def _graded(lab: Lab, file: Path, how: RunOptions) -> Grade:
    """The grade on all cases. Raises MachineFault when the machine could not tell."""
    try:
        submission = read_submission(file)
    except StudentFault as fault:
        return grade_unreadable(lab, file.name, fault)
    return _marked(lab, submission, how)


def _marked(lab: Lab, submission: Submission, how: RunOptions) -> Grade:
    made = grade(
        lab, submission, on=how.on, visibility="all", seed=how.seed,
        threads=how.threads, limit=how.limit,
    )  # fmt: skip
    if made.score.status == "incomplete":
        why = next(check.summary for check in made.checks if check.status == "error")
        raise MachineFault(why, where=submission.name)
    return made


def _errors(made: Grade) -> list[Finding]:
    return [f for check in made.checks for f in check.findings if f.severity == "error"]


def _score(made: Grade) -> str:
    return f"{made.score.points:g} of {made.score.judged_max:g}"

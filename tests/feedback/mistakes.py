"""The mistakes of `mistakes/<lab>.yaml`: a lab's solution with one mistake each, as students do.

An entry has a name, the edits of the solution (each a text that occurs there, and its replacement)
or a source of its own,
the lines that a report may name first, by their text, and the kinds of causes that are right.
`seen.yaml` has mistakes of a trial with students; each names its lab.

`read_mutants` and `read_variants` yield those that `grader labs check` makes of the solution, and
the incorrect variants of the labs. Their lines are known, and not what their causes are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from grader.authoring.mutation.mutants import changed_lines, code_rows, make_mutants
from grader.authoring.mutation.study import submission_of
from grader.authoring.requirements import lab_folder
from grader.checks.causes import CORRECTNESS, Cause, Fix
from grader.feedback.grade import grade
from grader.grading.pipeline import Grade
from grader.labs.model import Lab
from grader.labs.reading import list_labs, load_lab
from grader.reports.finding import MAX_CAUSES

FOLDER = Path(__file__).parent / "mistakes"
LEADS = ("line-at-fault", "wrong-value", "selecting-condition", "incomplete-store")
MARK = re.compile(r"\s*// (?:SKELETON:|BEGIN SOLUTION|END SOLUTION)")


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        lab: The lab's name.
        name: What is wrong.
        source: The submission.
        lines: The lines that may be named first.
        causes: The kinds of causes that are right; empty where any may be.
        right: The source that the mistake was made in; empty for a source of its own.
    """

    lab: str
    name: str
    source: str
    lines: frozenset[int]
    causes: frozenset[str]
    right: str = ""


@dataclass(frozen=True)
class Outcome:
    """What the report of a mistake says.

    Attributes:
        first: The first cause that is an error; None where nothing is wrong in a public case.
        shown: The causes that are shown.
        fix: The confirmed fix.
        fix_holds: Whether the fix is right in all cases, hidden ones too; it may cost too much.
    """

    mistake: Mistake
    graded: Grade
    first: Cause | None
    shown: int
    fix: Fix | None
    fix_holds: bool

    @property
    def is_right(self) -> bool:
        """Whether the first cause has a right line and a right kind.

        A line that only leads from a finding to its mistake has the finding's kind as well.
        """
        first, mistake = self.first, self.mistake
        if first is None or first.line not in mistake.lines:
            return False
        kinds = {first.kind, first.finding.kind if first.kind in LEADS else first.kind}
        return not mistake.causes or bool(kinds & mistake.causes)

    @property
    def is_undone(self) -> bool:
        """Whether the fix is the source that the mistake was made in, apart from white space."""
        mistake, fix = self.mistake, self.fix
        if fix is None or not mistake.right:
            return False
        return _words(patched(mistake.source, fix.diff)) == _words(mistake.right)


def solution_of(lab: Lab) -> str:
    """The solution without the marks of its skeleton."""
    lines = lab_folder(lab).solution.read_text().splitlines(keepends=True)
    return "".join(line for line in lines if not MARK.match(line))


def read_mistakes() -> Iterator[Mistake]:
    """Yield all mistakes; a text that does not occur is an error of the file."""
    solution = cache(lambda lab: solution_of(load_lab(lab)))
    for file in sorted(FOLDER.glob("*.yaml")):
        for row in yaml.load(file.read_text(), Loader=yaml.CSafeLoader):
            lab = row.get("lab", file.stem)
            right = row.get("source") or solution(lab)
            source = right
            for old, new in row.get("edit", ()):
                assert old in source, f"{file.name}: {row['name']}: {old!r}"
                source = source.replace(old, new, 1)
            texts = {text.strip() for text in row["line"]}
            rows = enumerate(source.splitlines(), start=1)
            lines = frozenset(number for number, text in rows if text.strip() in texts)
            assert lines, f"{file.name}: {row['name']}: no line {row['line']}"
            known = right if right != source else ""
            yield Mistake(lab, row["name"], source, lines, frozenset(row["cause"]), known)


def read_mutants(labs: Sequence[str] = ()) -> Iterator[Mistake]:
    """Yield every mutant of these labs' solutions, by default of all; some of them are right."""
    for name in labs or list_labs():
        right = solution_of(load_lab(name))
        for mutant in make_mutants(right):
            yield _of_source(name, mutant.name, right, mutant.source)


def read_variants() -> Iterator[Mistake]:
    """Yield every incorrect variant of every lab."""
    for name in list_labs():
        lab = load_lab(name)
        for file in lab_folder(lab).variants:
            yield _of_source(name, file.stem, solution_of(lab), file.read_text())


@cache
def _studied() -> Mapping[tuple[str, ...], frozenset[str]]:
    """The texts of the right lines of each mistake of the files, by its code."""
    return {
        tuple(_words(mistake.source)): frozenset(
            text.strip()
            for number, text in enumerate(mistake.source.splitlines(), start=1)
            if number in mistake.lines
        )
        for mistake in read_mistakes()
    }


def _known_lines(source: str) -> set[int]:
    """Return the right lines of a source whose code is that of a mistake of the files."""
    texts = _studied().get(tuple(_words(source)), frozenset())
    rows = enumerate(source.splitlines(), start=1)
    return {number for number, text in rows if text.strip() in texts}


def _of_source(lab: str, name: str, right: str, source: str) -> Mistake:
    """Return the mistake of a source, in the lines in which it differs, and the next ones.

    Lines without code do not count: the lines before and after a statement that is missing are
    those of the statements around it. A source that is also in the files has their lines too.
    """
    changed, rows = changed_lines(right, source), code_rows(source)
    near = {n for n in range(1, len(rows)) for line in changed if abs(rows[n] - rows[line]) <= 1}
    lines = near | {line + step for line in changed for step in (-1, 0, 1)} | _known_lines(source)
    return Mistake(lab, name, source, frozenset(lines), frozenset(), right)


def _words(source: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", re.sub(r"//[^\n]*", "", source))


def examine(mistake: Mistake, *, threads: int | None = None, verify: bool = True) -> Outcome:
    """Grade a mistake with fixes tried, and grade the confirmed fix, if any, on all cases."""
    lab = replace(load_lab(mistake.lab), hints="fix")
    graded = grade(lab, submission_of(lab, mistake.source), threads=threads, fixes=True)
    assert graded.score.status != "incomplete", f"{mistake.lab}/{mistake.name}: not graded"
    causes = graded.causes
    fix = graded.explanation.fixes[0] if graded.explanation.fixes else None
    holds = True
    if fix is not None and verify:
        repaired = patched(mistake.source, fix.diff)
        again = grade(lab, submission_of(lab, repaired), visibility="all", threads=threads)
        found = (f for check in again.checks for f in check.findings)
        holds = not any(f.severity == "error" and f.kind in CORRECTNESS for f in found)
    shown = min(len(causes), MAX_CAUSES)
    first = next((cause for cause in causes if cause.finding.severity == "error"), None)
    lost = graded.score.judged_max - graded.score.points
    assert first is not None or lost == 0, f"{mistake.lab}/{mistake.name}: {lost} points, no error"
    return Outcome(mistake, graded, first, shown, fix, holds)


def patched(source: str, diff: str) -> str:
    """Apply a unified diff of one file."""
    lines, out, at = source.splitlines(keepends=True), [], 0
    for row in diff.splitlines(keepends=True)[2:]:
        if match := re.match(r"@@ -(\d+)(?:,(\d+))? ", row):
            start = int(match[1]) - (match[2] != "0")
            out += lines[at:start]
            at = start
        elif row[0] == "+":
            out.append(row[1:])
        else:
            assert lines[at] == row[1:]
            out += [lines[at]] if row[0] == " " else []
            at += 1
    return "".join(out + lines[at:])

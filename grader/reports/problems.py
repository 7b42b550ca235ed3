"""The causes of a grade as problems at places of files, for editors, terminals and CI.

A `Problem` is one cause, or with `every` one finding, at the line that the report names. The place
leads to a file on disk, and to a part of it where the student submitted a notebook or an archive.
`gcc_lines` writes problems as a compiler does, `github_lines` as workflow commands of GitHub
Actions; SARIF is in `sarif`.

The texts come from students: a source line, a variable, a file's name. One line of the output is
one problem whatever they contain, and none of them begins a command or another file's problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from grader import dataclass, regex
from grader.checks.causes import Cause, Fix, sort_findings
from grader.compile.source_text import compiled_name
from grader.grading.record import Grade
from grader.labs.quiz import ANSWERS_FILE
from grader.launch import Call, Finding
from grader.reports.finding import MAX_TEXT_CELLS, access_text, accesses, message
from grader.reports.printable import clip, printable
from grader.reports.text import score_line
from grader.submissions.containers import CONTAINER_SUFFIXES
from grader.submissions.sources import source_places

_CELL = regex(r"(.*)\[(cell \d{1,9})\]", re.DOTALL)
_COMMANDS = regex(r"##(?=\[)")
_PLAIN_START = regex(r"[\w./]")

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Place:
    """A place in a student's file.

    Attributes:
        path: The file on disk, as the command line named it.
        inside: The file of an archive, the cell of a notebook, or both; () for a file of its own.
        line: From 1, in the innermost part; 0 where the whole file is meant.
        column: From 1, in characters.
    """

    path: Path
    inside: tuple[str, ...] = ()
    line: int = 0
    column: int = 1


@dataclass(frozen=True)
class Related:
    """Another place of a problem, such as the other access of a race, and what happens there."""

    place: Place
    text: str


@dataclass(frozen=True)
class Problem:
    """One problem: its texts are single lines without control characters.

    Attributes:
        place: Where it is.
        severity: "error", "warning" or "info".
        kind: The kind of the cause or finding.
        message: What is wrong.
        hint: How to fix it; may be empty.
        related: Further places.
        finding: The finding that shows it.
        fix: The confirmed fix, where there is one.
    """

    place: Place
    severity: Severity
    kind: str
    message: str
    hint: str
    related: tuple[Related, ...]
    finding: Finding
    fix: Fix | None = None

    @property
    def text(self) -> str:
        """The whole text in one line."""
        return f"{self.kind}: {self.sentences}"

    @property
    def sentences(self) -> str:
        """What is wrong and how to fix it, in one line."""
        if not self.hint:
            return self.message
        end = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"{self.message}{end} {self.hint}"


@dataclass(frozen=True)
class Places:
    """Finds the places that a grade's findings name.

    Attributes:
        root: What was submitted: a file or a folder.
        name: The name of the source in the grade.
        indents: The blank characters before each line, by file and line.
    """

    root: Path
    name: str
    indents: Mapping[tuple[str, int], int]

    @classmethod
    def of(cls, root: Path, name: str, source: str) -> Places:
        """Return the places of a source that was read from `root` ("" where there is none)."""
        lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # the compiler's
        own = source_places(source, name) or [(name, k) for k in range(1, len(lines) + 1)]
        indents = {
            place: len(line) - len(line.lstrip())
            for place, line in zip(own, lines, strict=True)
            if line.strip()
        }
        return cls(root, name, indents)

    def at(self, name: str, line: int, column: int = 0) -> Place:
        """Return the place of a line.

        Args:
            name: The file as findings name it; "" is the source that is graded.
            line: The line, 0 when unknown.
            column: The column, 0 when unknown: then where the line's text begins.
        """
        if name in ("", compiled_name(self.name)):
            name = self.name
        path, inside = self._file(name)
        return Place(path, inside, line, column or self.indents.get((name, line), 0) + 1)

    def _file(self, name: str) -> tuple[Path, tuple[str, ...]]:
        folder, own = self.root.parent, self.root.name
        if self.root.is_dir():
            outer, inside = _split(name)
            path = self.root / outer
            if inside and not path.exists():  # only its own name is known
                path = next((p for p in sorted(self.root.rglob("*")) if p.name == outer), path)
            return path, inside
        if name in (own, ANSWERS_FILE) or self.name == own:
            return (self.root if name == own else folder / name), ()
        if name.startswith((f"{own}:", f"{own}[")):
            rest = name[len(own) :]
            cell = _CELL.fullmatch(rest)
            file = (cell[1] if cell else rest).removeprefix(":")
            return self.root, tuple(filter(None, (file, cell[2] if cell else "")))
        return self.root, (name,)  # a header in it


def _split(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the file of a folder, and the parts inside it."""
    cell = _CELL.fullmatch(name)
    name, inner = (cell[1], (cell[2],)) if cell else (name, ())
    for at in (found.start() for found in re.finditer(":", name)):
        if name[:at].lower().endswith(CONTAINER_SUFFIXES):
            return name[:at], (name[at + 1 :], *inner)
    return name, inner


def problems(grade: Grade, root: Path, source: str, *, every: bool = False) -> tuple[Problem, ...]:
    """Return the problems of a grade, the likeliest cause first.

    Args:
        grade: The grade, as the student may see it.
        root: The file or folder that was graded.
        source: The source that was read from it; "" where there is none.
        every: Return each finding, not one problem for each cause.
    """
    places = Places.of(root, grade.file, source)
    if every:
        findings = sort_findings(f for check in grade.checks for f in check.findings)
        return tuple(_of_finding(finding, places) for finding in findings)
    return tuple(_of_cause(cause, places) for cause in grade.causes)


def _of_cause(cause: Cause, places: Places) -> Problem:
    shown = _of_finding(cause.finding, places, cause.fix)
    if not cause.what:
        return shown
    file = cause.file or cause.finding.file
    here = Related(shown.place, f"{shown.kind}: {shown.message}")
    return Problem(
        places.at(file, cause.line), shown.severity, cause.kind,
        _one_line(cause.what), shown.hint, (here, *shown.related), cause.finding, cause.fix,
    )  # fmt: skip


def _of_finding(finding: Finding, places: Places, fix: Fix | None = None) -> Problem:
    place = places.at(finding.file, finding.line, finding.column)
    return Problem(
        place, finding.severity, printable(finding.kind), message(finding).replace("\xa0", " "),
        _one_line(finding.hint), tuple(_related(finding, places)), finding, fix,
    )  # fmt: skip


def _related(finding: Finding, places: Places) -> Iterator[Related]:
    (*others, (own, _, _)) = accesses(finding)
    other = finding.other
    if other is not None and other.line:
        who = others[0][0] or access_text(other.access, None)
        yield Related(places.at(other.file or finding.file, other.line), _one_line(who))
        yield from _calls(other.calls, other.file or finding.file, places)
        if own and finding.line:
            yield Related(places.at(finding.file, finding.line), _one_line(own))
    yield from _calls(finding.calls, finding.file, places)


def _calls(calls: Iterable[Call], file: str, places: Places) -> Iterator[Related]:
    return (Related(places.at(call.file or file, call.line), CALLED_HERE) for call in calls)


def _one_line(text: str) -> str:
    return clip(printable(text), MAX_TEXT_CELLS).replace("\xa0", " ")


CALLED_HERE = "called here"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def gcc_lines(found: Iterable[Problem]) -> Iterator[str]:
    """Yield problems as GCC writes them: `file:line:column: error: text`, then notes.

    A colon in a name is escaped: what is left of `:line:column:` is the whole name. A problem of a
    whole file is at its first line, because problem matchers need one.
    """
    for problem in found:
        yield f"{_gcc_place(problem.place)}: {_LEVELS[problem.severity]}: {_plain(problem.text)}"
        for other in problem.related:
            yield f"{_gcc_place(other.place)}: note: {_plain(other.text)}"


def _gcc_place(place: Place) -> str:
    return f"{shown_file(place)}:{max(place.line, 1)}:{place.column}"


def shown_file(place: Place) -> str:
    """Return the file of a place as one word of a line: `a.cu`, `hw.zip:a.cu`, `a.ipynb[cell 3]`.

    A name that begins as a command of a CI system does gets "./" in front.
    """
    path = _escaped_name(str(place.path))
    path = path if _PLAIN_START.match(path) else f"./{path}"
    return path + "".join(
        f"[{part}]" if _CELL.fullmatch(f"[{part}]") else f":{_escaped_name(part)}"
        for part in place.inside
    )


def _escaped_name(name: str) -> str:
    return _plain(printable(name)).replace(":", r"\x3a")


def _plain(text: str) -> str:
    """Break up `##[`, which begins a command anywhere in a line of a log of Actions."""
    return _COMMANDS.sub("# #", text)


_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}


def github_lines(found: Sequence[Problem], grade: Grade) -> Iterator[str]:
    """Yield problems and the score as workflow commands, which GitHub shows at the lines.

    A line inside a notebook or an archive is not one of the file in the repository: it is named in
    the text, and the annotation is the file's.
    """
    for problem in found:
        place = problem.place
        rows = [problem.kind + ": " + problem.message, problem.hint]
        if place.inside:
            rows.insert(0, f"at {shown_file(place)}:{max(place.line, 1)}")
        rows += [f"{shown_file(o.place)}:{max(o.place.line, 1)}: {o.text}" for o in problem.related]
        values = {"title": problem.kind}
        if not place.inside and place.line:
            values = {"line": str(place.line), "col": str(place.column)} | values
        values = {"file": printable(str(place.path))} | values
        yield _command(_COMMAND[problem.severity], values, "\n".join(filter(None, rows)))
    level = "error" if grade.score.status == "incomplete" else "notice"
    text = score_line(grade, 1000).plain
    yield _command(level, {"title": f"warpgrade: {printable(grade.lab)}"}, text)


def _command(name: str, values: dict[str, str], text: str) -> str:
    """Return a workflow command with its values escaped."""
    given = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in values.items())
    return f"::{name} {given}::{_escaped(text)}"


def _escaped(text: str, more: str = "") -> str:
    """Escape what ends a value: `%` first, because it begins the escapes."""
    for mark in f"%\r\n{more}":
        text = text.replace(mark, f"%{ord(mark):02X}")
    return text

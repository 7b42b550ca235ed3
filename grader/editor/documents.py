"""A graded text as an editor shows it: diagnostics, hovers and quick fixes of the protocol (LSP).

Lines and columns of the protocol count from 0; columns are in the units that the client chose, most
often UTF-16. Texts are plain: a student's source in them is never read as Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from lsprotocol import types

from grader import regex, replace
from grader.checks.causes import Fix
from grader.grading.record import Grade
from grader.launch import Trace
from grader.reports.explain.explanation import source_lines
from grader.reports.finding import terms_of
from grader.reports.problems import Place, Problem

SOURCE = "warpgrade"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
_LINE_END = regex(r"\r\n|\n|\r")
_WORD = regex(r"\w+|\S")
_HUNK = regex(r"@@ (?:-(\d{1,9})(?:,(\d{1,9}))? \+[\d,]+|line (\d{1,9})) @@.*")

Units = Callable[[str], int]
"""Returns how many of the client's units a text has."""


class Graded:
    """One version of a text, with its grade.

    Attributes:
        path: The file of the text.
        version: The editor's number of this version.
        text: The text.
        grade: Its grade.
        found: The problems of the grade.
    """

    def __init__(
        self, path: Path, version: int, text: str, grade: Grade, found: Sequence[Problem]
    ) -> None:
        self.path = path
        self.version = version
        self.text = text
        self.grade = grade
        self.found = found

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return _LINE_END.split(self.text)

    def diagnostics(self, units: Units) -> dict[Path, list[types.Diagnostic]]:
        """Return the diagnostics by file: this one, and headers that have some."""
        rows: dict[Path, list[types.Diagnostic]] = {self.path: []}
        for problem in self.found:
            row = self._diagnostic(problem, units)
            rows.setdefault(problem.place.path, []).append(row)
        return rows

    def _diagnostic(self, problem: Problem, units: Units) -> types.Diagnostic:
        place = problem.place
        own = self.lines if place.path == self.path else ()
        related = [
            types.DiagnosticRelatedInformation(
                types.Location(
                    other.place.path.absolute().as_uri(),
                    _range(self.lines if other.place.path == self.path else (), other.place.line,
                           other.place.column, units),
                ),
                other.text,
            )
            for other in problem.related
        ]  # fmt: skip
        return types.Diagnostic(
            range=_range(own, place.line, place.column, units, word=bool(problem.finding.column)),
            message="\n".join(filter(None, (problem.message, problem.hint))),
            severity=_SEVERITIES[problem.severity],
            code=problem.kind,
            source=SOURCE,
            related_information=related or None,
        )

    def hover(self, path: Path, line: int) -> str:
        """Return what is known of a line (from 0): problems, terms and counters; "" for nothing."""
        place = (path, line + 1)
        here = [
            problem
            for problem in self.found
            if place in ((p.path, max(p.line, 1)) for p in (problem.place, *_others(problem)))
        ]
        parts = [problem.text for problem in here]
        parts += [t.text for t in terms_of(problem.finding.kind for problem in here).values()]
        parts += [self._cost(path, line)]
        return "\n\n".join(" ".join(part.split()) for part in parts if part)

    def _cost(self, path: Path, line: int) -> str:
        """Return the counters of a line in the largest case."""
        own = "" if path == self.path else path.name
        counted = tuple(
            replace(at, file="")
            for at in self.grade.lines
            if at.line == line + 1 and (at.file or "") == own
        )
        if not counted:
            return ""
        row = source_lines("\n" * (line + 1), Trace("sim", lines=counted))[-1]
        if row.number != line + 1:
            return ""
        parts = []
        if row.requests:
            each = f"{row.sectors_per_request:.3g} sectors each"
            parts.append(f"{row.requests:,} requests to global memory, {each}")
        if row.wavefronts:
            conflicts = f", {row.conflicts:,} of them by bank conflicts" if row.conflicts else ""
            parts.append(f"{row.wavefronts:,} passes through shared memory{conflicts}")
        case = f" in case {self.grade.lines_on}" if self.grade.lines_on else ""
        return f"This line{case}: {'; '.join(parts)}." if parts else ""

    def fixes(
        self, start: int, end: int, diagnostics: Sequence[types.Diagnostic], units: Units
    ) -> Iterator[types.CodeAction]:
        """Yield the confirmed fixes of problems on lines from `start` to `end` (from 0).

        There is a fix to apply where the lab's option `hints` is `fix`.
        """
        for problem in self.found:
            lines = {problem.place.line - 1, *(o.place.line - 1 for o in problem.related)}
            if problem.fix is None or not any(start <= line <= end for line in lines):
                continue
            if problem.fix.file not in ("", self.path.name):
                continue
            edits = fix_edits(problem.fix, self.text, units)
            if not edits:
                continue
            document = types.OptionalVersionedTextDocumentIdentifier(
                uri=self.path.absolute().as_uri(), version=self.version
            )
            change = types.TextDocumentEdit(document, edits)
            yield types.CodeAction(
                title=problem.hint.partition(". ")[0].rstrip(".") or f"Fix {problem.kind}",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[d for d in diagnostics if d.code == problem.kind] or None,
                is_preferred=True,
                edit=types.WorkspaceEdit(document_changes=[change]),
            )


def _others(problem: Problem) -> Iterator[Place]:
    return (other.place for other in problem.related)


def _range(
    lines: Sequence[str], line: int, column: int, units: Units, *, word: bool = False
) -> types.Range:
    """Return the rest of a line from a column on, or the word there; line 0 is the first line."""
    row = max(line - 1, 0)
    text = lines[row] if row < len(lines) else ""
    start = min(column - 1, len(text.rstrip())) if line else 0
    end = len(text.rstrip())
    if word and (match := _WORD.match(text, start)):
        end = match.end()
    if not text:  # a file whose text is not known here
        start, end = column - 1, column
    return types.Range(
        types.Position(row, units(text[:start]) if text else start),
        types.Position(row, units(text[:end]) if text else end),
    )


def fix_edits(fix: Fix, text: str, units: Units) -> list[types.TextEdit]:
    """Return the edit that a fix's diff makes of a text; none where the diff is of another."""
    ends = list(_LINE_END.finditer(text))
    starts = [0, *(end.end() for end in ends)]
    stops = [*(end.start() for end in ends), len(text)]
    line_end = ends[0][0] if ends else "\n"
    parts, done = [], 0
    for start, old, new in _hunks(fix.diff):
        stop = start + len(old)
        rows = range(start, stop)
        if stop > len(starts) or [text[starts[k] : stops[k]] for k in rows] != old or start < done:
            return []
        parts += [text[starts[k] : stops[k]] for k in range(done, start)] + new
        done = stop
    parts += [text[starts[k] : stops[k]] for k in range(done, len(starts))]
    return _edit(text, line_end.join(parts), units)


def _edit(old: str, new: str, units: Units) -> list[types.TextEdit]:
    """Return one edit of the characters in which two texts differ."""
    if old == new:
        return []
    most = min(len(old), len(new))
    start = next((k for k in range(most) if old[k] != new[k]), most)
    if start and old[start - 1] == "\r":  # no position is inside a line's end
        start -= 1
    most -= start
    end = next((k for k in range(most) if old[-1 - k] != new[-1 - k]), most)
    if end and old[-end] == "\n" and old[-end - 1 : len(old) - end] == "\r":
        end -= 1
    places = (_position(old[:start], units), _position(old[: len(old) - end], units))
    return [types.TextEdit(types.Range(*places), new[start : len(new) - end])]


def _position(before: str, units: Units) -> types.Position:
    """Return the position behind a text."""
    rows = _LINE_END.split(before)
    return types.Position(len(rows) - 1, units(rows[-1]))


def _hunks(diff: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the first line (from 0), the old and the new lines of each hunk of a unified diff."""
    start, old, new = -1, list[str](), list[str]()
    for row in (row.removesuffix("\r") for row in diff.split("\n")[2:]):
        if match := _HUNK.fullmatch(row):
            if start >= 0:
                yield start, old, new
            first = int(match[1] or match[3])
            start, old, new = first - (match[2] != "0"), [], []
        elif row[:1] in (" ", "-", "+"):
            old += [row[1:]] if row[0] != "+" else []
            new += [row[1:]] if row[0] != "-" else []
    if start >= 0:
        yield start, old, new

"""The view of a submission's source: tokens, counters of each line, findings in the margin."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from grader import dataclass, replace
from grader.compile.preprocessor import MAX_LINE
from grader.compile.syntax import MAX_PIECE, Node, parse
from grader.grading.record import Grade
from grader.launch import Finding, Trace
from grader.reports.classes import short_name
from grader.reports.explain.explanation import Line, source_lines
from grader.reports.printable import TAB, clip
from grader.submissions.sources import header_files, source_places

MAX_LINES = 2000
"""Maximum number of source lines that are shown."""

MAX_NOTES = 3
"""Maximum number of findings in one line's margin."""

MAX_MESSAGE_CELLS = 140

_KINDS: Mapping[str, str] = {
    "comment": "comment", "string_literal": "string", "char_literal": "string",
    "raw_string_literal": "string", "number_literal": "number", "preproc_directive": "directive",
}  # fmt: skip
"""The kind of token for each kind of syntax node, with everything inside the node."""

_KEYWORDS = frozenset({
    "auto", "bool", "break", "case", "char", "const", "constexpr", "continue", "default", "do",
    "double", "else", "enum", "extern", "false", "float", "for", "half", "if", "inline", "int",
    "long", "namespace", "return", "short", "signed", "sizeof", "static", "struct", "switch",
    "template", "true", "typedef", "typename", "unsigned", "using", "void", "volatile", "while",
    "__constant__", "__device__", "__global__", "__launch_bounds__", "__restrict__", "__shared__",
})  # fmt: skip

Token = tuple[str, str]
"""A piece of a line and its kind: a keyword, a comment ...; "" for other text."""


@dataclass(frozen=True)
class Column:
    """A counter: its column's heading, and what it counts."""

    head: str
    description: str


COLUMNS: Mapping[str, Column] = {
    "requests": Column("requests", "loads and stores of warps to global memory"),
    "sectors_per_request": Column(
        "sectors each",
        "32-byte sectors that a request moves: 4 when 32 threads access 32 adjacent floats",
    ),
    "wavefronts": Column("passes", "through shared memory"),
    "conflicts": Column("conflicts", "passes that bank conflicts add"),
}


@dataclass(frozen=True)
class Note:
    """A finding in the margin.

    `anchor` links to the finding in full. `is_main` is False at the line of a hazard's other
    access.
    """

    kind: str
    severity: str
    message: str
    anchor: str
    is_main: bool = True


@dataclass(frozen=True)
class Row:
    """One source line; `label` is `line_label` of its place.

    The cell with its notes spans `span` rows, down to the next line with notes; 0 when the cell of
    an earlier line covers it. `ptx` are the instructions that came from the line, where the lab
    lets students read them.
    """

    label: str
    tokens: tuple[Token, ...]
    counts: tuple[str, ...]
    notes: tuple[Note, ...]
    span: int
    severity: str
    ptx: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceView:
    """The rows, the counters that any of them has, and how many lines are not shown."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    has_notes: bool
    more: int


def source_view(grade: Grade, source: str, findings: Sequence[Finding]) -> SourceView | None:
    """Annotate the source; return None when it is empty.

    `findings` are numbered from 1, in the page's order.
    """
    if not source.strip():
        return None
    source = source.removeprefix("\ufeff").removesuffix("\n")
    every = source.split("\n")
    places = source_places(source, grade.file) or [(grade.file, k + 1) for k in range(len(every))]
    headers = header_files(source, grade.file)
    labels = [line_label(file, line, headers) for file, line in places]
    row_of = {label: number for number, label in enumerate(labels, start=1)}
    text = "\n".join(_shown(line) for line in every[:MAX_LINES])
    counted = (
        replace(at, line=row_of.get(line_label(at.file or grade.file, at.line, headers), 0))
        for at in grade.lines
    )
    lines = source_lines(text + "\n", Trace("sim", lines=tuple(counted)))
    names = [n for n in COLUMNS if any(getattr(line, n) for line in lines)]
    noted = margin_notes(findings, headers)
    notes = {row_of[label]: held for label, held in noted.items() if label in row_of}
    ptx = {line_label(at.file or grade.file, at.line, headers): at.instructions for at in grade.ptx}
    spans = _spans([line.number for line in lines if line.number in notes], len(lines))
    rows = tuple(
        Row(
            labels[line.number - 1],
            tokens,
            tuple(_count(line, name) for name in names),
            notes.get(line.number, ())[:MAX_NOTES],
            spans.get(line.number, 0),
            notes[line.number][0].severity if line.number in notes else "",
            ptx.get(labels[line.number - 1], ()),
        )
        for line, tokens in zip(lines, _tokens(text), strict=True)
    )
    columns = tuple(COLUMNS[name] for name in names)
    return SourceView(rows, columns, bool(notes), len(every) - len(rows))


def _shown(line: str) -> str:
    line = line.removesuffix("\r").expandtabs(TAB)
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + " ..."


def _count(line: Line, name: str) -> str:
    value = getattr(line, name)
    if not value:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def line_label(file: str, line: int, headers: Container[str]) -> str:
    """Return how a page names a line: its number, in one of the headers behind that one's name."""
    return f"{file.replace(' ', '_')}:{line}" if file in headers else f"{line}"


def margin_notes(
    findings: Sequence[Finding], headers: Container[str] = ()
) -> Mapping[str, tuple[Note, ...]]:
    """Collect the notes of each line by its label; a hazard has a note at both of its accesses."""
    notes: dict[str, list[Note]] = {}
    for number, finding in enumerate(findings, start=1):
        anchor = f"finding-{number}"
        text = clip(finding.message, MAX_MESSAGE_CELLS)
        own = line_label(finding.file, finding.line, headers) if finding.line else ""
        if own:
            note = Note(short_name(finding.kind), finding.severity, text, anchor)
            notes.setdefault(own, []).append(note)
        there = finding.other
        other = line_label(there.file or finding.file, there.line, headers) if there else ""
        if there and there.line and other != own:
            text = f"with line {own}"
            note = Note(short_name(finding.kind), finding.severity, text, anchor, is_main=False)
            notes.setdefault(other, []).append(note)
        for call in finding.calls:
            text = f"leads to line {own}"
            note = Note(short_name(finding.kind), finding.severity, text, anchor, is_main=False)
            there_called = line_label(call.file or finding.file, call.line, headers)
            notes.setdefault(there_called, []).append(note)
    return {line: tuple(dict.fromkeys(held)) for line, held in notes.items()}


def _spans(noted: Sequence[int], count: int) -> Mapping[int, int]:
    """Map the first row of each margin cell to the number of rows that it covers."""
    starts = sorted({1, *noted})
    ends = [*starts[1:], count + 1]
    return {start: end - start for start, end in zip(starts, ends, strict=True)}


def _tokens(text: str) -> Iterator[tuple[Token, ...]]:
    if len(text) <= MAX_PIECE:
        return tokens_by_line(text)
    return (((line, ""),) for line in text.split("\n"))


def tokens_by_line(text: str) -> Iterator[tuple[Token, ...]]:
    """Yield the tokens of each line; together they are the line."""
    line: list[Token] = []
    for piece, kind in _joined(_pieces(text)):
        first, *rest = piece.split("\n")
        line += [(first, kind)] if first else []
        for part in rest:
            yield tuple(line)
            line = [(part, kind)] if part else []
    yield tuple(line)


def _joined(pieces: Iterator[Token]) -> Iterator[Token]:
    """Join adjacent pieces without a kind."""
    held: list[str] = []
    for piece, kind in pieces:
        if not kind:
            held.append(piece)
            continue
        yield "".join(held), ""
        yield piece, kind
        held = []
    yield "".join(held), ""


def _pieces(text: str, *, directives: bool = True) -> Iterator[Token]:
    """Cut the text at the syntax nodes that have a kind.

    The grammar makes one node of the replacement text of `#define`, so it is parsed separately.
    """
    tree, end = parse(text), 0
    for node in tree.walk():
        if node.start < end or not node.end:
            continue
        inside = directives and node.kind == "preproc_arg"
        kind = "" if inside else _kind(node)
        if inside or kind:
            yield tree.data[end : node.start].decode(), ""
            yield from _pieces(node.text, directives=False) if inside else ((node.text, kind),)
            end = node.end
    yield tree.data[end:].decode(), ""


def _kind(node: Node) -> str:
    """Return the kind of token of a node; "" for other text."""
    if node.kind in _KINDS:
        return _KINDS[node.kind]
    if not node.is_leaf:
        return ""
    if node.kind.startswith("#"):
        return "directive"
    return "keyword" if node.text in _KEYWORDS else ""

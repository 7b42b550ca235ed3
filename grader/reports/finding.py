"""Findings as text for students: what is wrong, where, the other access, how to fix it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text

from grader import dataclass, replace
from grader.checks.causes import Cause, sort_findings
from grader.faults import pluralize
from grader.launch import OUTPUT_KINDS, Dim3, Finding
from grader.reports.printable import NO_BREAK, clip, printable, wrap

STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}
MAX_FINDINGS = 8
MAX_CAUSES = 3
"""The causes that a report shows; a student repairs the first one and runs it again."""

SHOW_ALL = "--all shows every finding"
MAX_CASES = 3
MAX_TEXT_CELLS = 400
"""Maximum length of a message or hint, in cells."""


def findings_text(findings: Iterable[Finding], width: int = 80, most: int = MAX_FINDINGS) -> Text:
    """List findings, causes before consequences, each once; at most `most` of them in full.

    Lines are at most `width` cells wide.
    """
    ordered = sort_findings(findings)
    blocks = [finding_text(finding, width) for finding in ordered[:most]]
    if len(ordered) > most:
        rest = ", ".join(sorted({finding.kind for finding in ordered[most:]}))
        more = f"and {len(ordered) - most} more ({rest}); the JSON report lists all of them"
        blocks.append(Text("\n".join(wrap(more, width)), style="dim"))
    return Text("\n\n").join(blocks)


def causes_text(causes: Sequence[Cause], width: int = 80) -> Text:
    """Show one block for each cause, at most MAX_CAUSES of them; count what is left out.

    Lines are at most `width` cells wide.
    """
    blocks = [cause_text(cause, width) for cause in causes[:MAX_CAUSES]]
    rest = [finding for cause in causes[MAX_CAUSES:] for finding in cause.findings]
    if rest:
        more = f"and {pluralize(len(rest), 'more finding')} ({_kinds(rest)}); {SHOW_ALL}"
        blocks.append(Text("\n".join(wrap(more, width)), style="dim"))
    return Text("\n\n").join(blocks)


def cause_text(cause: Cause, width: int = 80) -> Text:
    """Show one cause: what is wrong, the finding that shows it, and how many follow from it."""
    text = Text()
    if cause.what:
        style = STYLES[cause.finding.severity]
        head = wrap(f"{cause.kind}: {printable(cause.what)}", width, "  ")
        text.append("\n".join(head))
        text.stylize(style, 0, len(cause.kind) + 1)
        file = printable(cause.file or cause.finding.file)
        left, source = _at(file, cause.line), printable(cause.text).strip()
        row = _in_one_line if cell_len(left) + cell_len(source) + 6 <= width else _in_two_lines
        text.append("\n" + row(left, source, cell_len(left), width) + "\n")
    shown = replace(cause.finding, origins=()) if cause.what else cause.finding
    text.append_text(finding_text(shown, width))
    for line in cause.fix.diff.splitlines()[2:] if cause.fix else ():
        text.append("\n" + clip(f"    {printable(line)}", width), style="green")
    for line in wrap(follows_text(cause), width - 2):
        text.append("\n  " + line, style="dim")
    return text


def follows_text(cause: Cause) -> str:
    """Return `3 more findings follow from this (race, 2 wrong-output)`; "" when none does."""
    if not cause.follows:
        return ""
    count, verb = len(cause.follows), "follows" if len(cause.follows) == 1 else "follow"
    return (
        f"{pluralize(count, 'more finding')} {verb} from this ({_kinds(cause.follows)}); {SHOW_ALL}"
    )


def _kinds(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.kind for finding in findings)
    return ", ".join(f"{n} {kind}" if n > 1 else kind for kind, n in counts.items())


def finding_text(finding: Finding, width: int = 80) -> Text:
    """Show one finding in full.

    For example:

        race: read-after-write hazard on shared `As` (4 bytes at offset 0x44) in block (0,0,0)
          write by thread (1,1,0) at tiled.cu:9     As[ty][tx] = A[row * k + col];
          read  by thread (0,1,0) at tiled.cu:14    sum += As[ty][i] * Bs[i][tx];
          Put __syncthreads() between line 9 and line 14.
    """
    head = wrap(f"{finding.kind}: {message(finding)}", width, "  ")
    text = Text("\n".join(head))
    text.stylize(STYLES[finding.severity], 0, len(finding.kind) + 1)
    for line in (*_detail(finding, width), *_places(finding, width)):
        text.append("\n" + line)
    for line in wrap(occurrences(finding), width - 2):
        text.append("\n  " + line, style="dim")
    for line in wrap(clip(printable(finding.hint), MAX_TEXT_CELLS), width - 2):
        text.append("\n  " + line, style="cyan")
    for line in wrap(clip(origins(finding), MAX_TEXT_CELLS), width - 2):
        text.append("\n  " + line, style="dim")
    return text


def message(finding: Finding) -> str:
    """Return the finding's message and its block."""
    block = finding.block if finding.kind not in OUTPUT_KINDS else None
    place = f" in block{NO_BREAK}{dim3(block)}" if block else ""
    return clip(printable(finding.message), MAX_TEXT_CELLS) + place


def dim3(value: Dim3) -> str:
    """Return a dim3 as `(1,2,0)`."""
    return f"({','.join(str(v) for v in value)})"


def _detail(finding: Finding, width: int) -> list[str]:
    lines = [printable(line) for line in finding.detail.splitlines()]
    if finding.kind == "compile-error":  # declarations, which must not be cut; others are tables
        return ["    " + part for line in lines for part in wrap(line, width - 4, "  ")]
    return [clip("    " + line, width) for line in lines]


def _places(finding: Finding, width: int) -> list[str]:
    """Show both accesses of a hazard, otherwise the one place; a compile error has a caret."""
    if finding.column and finding.text:
        return _caret(finding, width)
    rows = [(who, _at(printable(file), line), text) for who, file, line, text in places(finding)]
    words = [who.partition(" ")[0] for who, _, _ in accesses(finding)]
    access = max(map(len, words)) if finding.other else 0
    lefts = [_left(who, at, access) for who, at, _ in rows]
    if not any(lefts):
        return []
    texts = [printable(text).strip() for _, _, text in rows]
    edge = max(cell_len(left) for left in lefts)
    room = width - edge - 6
    row = _in_one_line if all(cell_len(text) <= room for text in texts) else _in_two_lines
    return [row(left, text, edge, width) for left, text in zip(lefts, texts, strict=True)]


def accesses(finding: Finding) -> tuple[tuple[str, int, str], ...]:
    """Describe each access: operation and thread, line (0 when unknown) and the line's text.

    A hazard has two, the earlier one first.
    """
    actor = access_text(finding.access, finding.thread)
    if finding.kind in OUTPUT_KINDS and finding.block:
        actor += f" of block {dim3(finding.block)}"
    own = (actor, finding.line, finding.text)
    other = finding.other
    if other is None:
        return (own,)
    actor = access_text(other.access, other.thread)
    if finding.block is not None and other.block != finding.block:
        actor += f" of block {dim3(other.block)}"
    return (actor, other.line, other.text), own


CALLED = "called"
"""What stands before the place of a call that leads to the place above it."""


def places(finding: Finding) -> Iterator[tuple[str, str, int, str]]:
    """Yield each access and the calls that lead to it: what it is, its file, line and text."""
    other = finding.other
    files = ([other.file or finding.file] if other else []) + [finding.file]
    calls = ([other.calls] if other else []) + [finding.calls]
    for file, (who, line, text), led in zip(files, accesses(finding), calls, strict=True):
        yield who, file, line, text
        for call in led:
            yield CALLED, call.file or file, call.line, call.text


def access_text(access: str, thread: Dim3 | None) -> str:
    """Return `write by thread (1,0,0)`, as much of it as is known."""
    if access in ("wait", "arrive") and thread:
        return f"thread {dim3(thread)} {access}s"
    if access and thread:
        return f"{access} by thread {dim3(thread)}"
    return f"thread {dim3(thread)}" if thread else access


def _at(file: str, line: int) -> str:
    if not line:
        return f"in {file}" if file else ""
    return f"at {file}:{line}" if file else f"at line {line}"


def _left(who: str, at: str, access: int) -> str:
    first, _, rest = who.partition(" ")
    aligned = f"{first.ljust(access)} {rest}" if rest else first
    return " ".join(part for part in (aligned, at) if part)


def _in_one_line(left: str, source: str, edge: int, width: int) -> str:
    gap = " " * (edge - cell_len(left))
    return clip(f"  {left}{gap}    {source}".rstrip(), width)


def _in_two_lines(left: str, source: str, edge: int, width: int) -> str:
    below = "\n" + clip(f"      {source}", width) if source else ""
    return clip(f"  {left}", width) + below


def _caret(finding: Finding, width: int) -> list[str]:
    """Show the source line with a caret under the column; a long line is cut around it."""
    raw = finding.text.rstrip("\r\n")
    bare = raw.lstrip()
    before = printable(raw[: max(finding.column - 1, 0)])[
        len(printable(raw)) - len(printable(bare)) :
    ]
    source, room = printable(bare), width - 8
    at = min(cell_len(before), cell_len(source))
    if at > room - 4:
        drop = len(before) - room // 2
        source, at = "..." + source[drop:], cell_len("..." + before[drop:])
    place = clip(f"  at {printable(finding.file)}:{finding.line}:{finding.column}", width)
    return [place, "      " + clip(source, room), "      " + " " * min(at, room) + "^"]


def origins(finding: Finding) -> str:
    """Name the lines that the values and conditions of the place come from, each once.

    The lines to fix are in the hint instead.
    """
    names: dict[str, list[str]] = {}
    for origin in (o for o in finding.origins if o.name):
        place = f"{origin.line} of {printable(origin.file)}" if origin.file else f"{origin.line}"
        names.setdefault(place, []).append(f"`{printable(origin.name)}`")
    sources = [f"{', '.join(held)} (line{NO_BREAK}{place})" for place, held in names.items()]
    return f"This line also depends on {', '.join(sources)}" if sources else ""


def occurrences(finding: Finding) -> str:
    """Say how often and in which cases the finding occurred."""
    often = finding.count > 1 and finding.thread and finding.kind not in OUTPUT_KINDS
    times = f"{finding.count:,} times" if often else ""
    names = [clip(name, 40) for name in map(printable, finding.cases[:MAX_CASES])]
    if len(finding.cases) > MAX_CASES:
        names.append(f"{len(finding.cases) - MAX_CASES} more")
    plural = "cases" if len(finding.cases) > 1 else "case"
    cases = f"in {plural} {', '.join(names)}" if names else ""
    return " ".join(part for part in (times, cases) if part)


@dataclass(frozen=True)
class Term:
    """An entry of the glossary.

    Attributes:
        name: The term.
        also: Other words for it.
        text: What it means.
        kinds: The kinds of findings that it explains.
        see: Further terms.
    """

    name: str
    text: str
    also: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    see: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The name of its place on a page."""
        return f"term-{self.name.replace(' ', '-')}"


@cache
def glossary() -> tuple[Term, ...]:
    """Return the terms of reports and handouts, by name (glossary.yaml)."""
    import yaml

    from grader.labs.files import yaml_loader

    text = (Path(__file__).parent / "glossary.yaml").read_text("utf-8")
    entries = yaml.load(text, Loader=yaml_loader()).items()
    lists = ("also", "kinds", "see")
    return tuple(
        Term(name, e["text"], **{key: tuple(e.get(key, ())) for key in lists})
        for name, e in sorted(entries)
    )


def find_term(word: str) -> Term | None:
    """Return the term of that name, with that other word for it, or for that kind of finding."""
    wanted = _plain(word)
    named = (term for term in glossary() if _plain(term.name) == wanted)
    other = (t for t in glossary() if wanted in map(_plain, (*t.also, *t.kinds)))
    return next(named, None) or next(other, None)


def _plain(word: str) -> str:
    return word.lower().replace("-", " ").strip()


def terms_of(kinds: Iterable[str]) -> dict[str, Term]:
    """Return the term that explains each kind of finding, where there is one."""
    known = {kind: term for term in glossary() for kind in term.kinds}
    return {kind: known[kind] for kind in dict.fromkeys(kinds) if kind in known}

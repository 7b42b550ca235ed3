"""One finding as a student reads it: what, where, the other access, how to mend it."""

from __future__ import annotations

from collections.abc import Container, Iterable

from rich.cells import cell_len
from rich.text import Text

from grader.launch import KINDS, OUTPUT_KINDS, Dim3, Finding
from grader.reports.clean import GLUE, clean, clip, wrap

STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}
SHOWN = 8
CASES = 3
LONGEST = 400
"""No message or hint is shown at greater length, in cells."""


def findings_text(findings: Iterable[Finding], width: int = 80, most: int = SHOWN) -> Text:
    """Findings one below the other, causes before consequences, alike ones once; at most `most`
    in full. Lines are at most `width` cells wide.
    """
    ordered = in_order(findings)
    blocks = [finding_text(finding, width) for finding in ordered[:most]]
    if len(ordered) > most:
        rest = ", ".join(sorted({finding.kind for finding in ordered[most:]}))
        more = f"and {len(ordered) - most} more ({rest}); the JSON report has them all"
        blocks.append(Text("\n".join(wrap(more, width)), style="dim"))
    return Text("\n\n").join(blocks)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once, errors first, causes before what they bring about: a barrier that
    threads miss before the races, a race before the wrong output, and a store that leaves its
    array before the race of those that it meets inside.
    """
    once = dict.fromkeys(findings)
    left = {(f.file, f.line, f.variable) for f in once if f.kind == "invalid-access"}
    return sorted(once, key=lambda finding: _rank(finding, left))


def _rank(finding: Finding, left: Container[tuple[str, int, str]]) -> tuple[int, int, bool]:
    """What findings are sorted by; `left` has the places and names of arrays that were left."""
    kind = KINDS.index(finding.kind) if finding.kind in KINDS else len(KINDS)
    if finding.kind == "barrier-divergence":
        kind = KINDS.index("launch-failure")
    met = finding.hazard == "WAW" and (finding.file, finding.line, finding.variable) in left
    kind = KINDS.index("invalid-access") if met else kind
    return list(STYLES).index(finding.severity), kind, met


def finding_text(finding: Finding, width: int = 80) -> Text:
    """One finding, for example

    race: read-after-write hazard on shared `As` (4 bytes at offset 0x44) in block (0,0,0)
      write by thread (1,1,0) at tiled.cu:9     As[ty][tx] = A[row * k + col];
      read  by thread (0,1,0) at tiled.cu:14    sum += As[ty][i] * Bs[i][tx];
      no barrier orders them: put __syncthreads() between line 9 and line 14
    """
    head = wrap(f"{finding.kind}: {message(finding)}", width, "  ")
    text = Text("\n".join(head))
    text.stylize(STYLES[finding.severity], 0, len(finding.kind) + 1)
    for line in (*_detail(finding, width), *_places(finding, width)):
        text.append("\n" + line)
    for line in wrap(seen(finding), width - 2):
        text.append("\n  " + line, style="dim")
    for line in wrap(clip(clean(finding.hint), LONGEST), width - 2):
        text.append("\n  " + line, style="cyan")
    for line in wrap(clip(origins(finding), LONGEST), width - 2):
        text.append("\n  " + line, style="dim")
    return text


def message(finding: Finding) -> str:
    """What was found, and in which block."""
    block = finding.block if finding.kind not in OUTPUT_KINDS else None
    place = f" in block{GLUE}{dim3(block)}" if block else ""
    return clip(clean(finding.message), LONGEST) + place


def dim3(value: Dim3) -> str:
    """`(1,2,0)`."""
    return f"({','.join(str(v) for v in value)})"


def _detail(finding: Finding, width: int) -> list[str]:
    return [clip("    " + clean(line), width) for line in finding.detail.splitlines()]


def _places(finding: Finding, width: int) -> list[str]:
    """The two accesses of a hazard, else the one place; a compile error has its caret."""
    if finding.column and finding.text:
        return _caret(finding, width)
    file = clean(finding.file)
    rows = [(who, _at(file, line), text) for who, line, text in accesses(finding)]
    access = max(len(who.split(" ")[0]) for who, _, _ in rows) if finding.other else 0
    lefts = [_left(who, at, access) for who, at, _ in rows]
    if not any(lefts):
        return []
    texts = [clean(text).strip() for _, _, text in rows]
    edge = max(cell_len(left) for left in lefts)
    room = width - edge - 6
    beside = all(cell_len(text) <= room for text in texts)
    row = _beside if beside else _below
    return [row(left, text, edge, width) for left, text in zip(lefts, texts, strict=True)]


def accesses(finding: Finding) -> tuple[tuple[str, int, str], ...]:
    """Who did it, at which line (0: not known) and the line's text; of a hazard the first access,
    then the second.
    """
    doer = actor(finding.access, finding.thread)
    if finding.kind in OUTPUT_KINDS and finding.block:
        doer += f" of block {dim3(finding.block)}"
    own = (doer, finding.line, finding.text)
    other = finding.other
    if other is None:
        return (own,)
    who = actor(other.access, other.thread)
    if finding.block is not None and other.block != finding.block:
        who += f" of block {dim3(other.block)}"
    return (who, other.line, other.text), own


def actor(access: str, thread: Dim3 | None) -> str:
    """`write by thread (1,0,0)`, as much of it as is known."""
    if access == "wait" and thread:
        return f"thread {dim3(thread)} waits"
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


def _beside(left: str, source: str, edge: int, width: int) -> str:
    """The place and its source line on one line."""
    gap = " " * (edge - cell_len(left))
    return clip(f"  {left}{gap}    {source}".rstrip(), width)


def _below(left: str, source: str, edge: int, width: int) -> str:
    """The source line below its place: beside it, one of them would have to be cut."""
    below = "\n" + clip(f"      {source}", width) if source else ""
    return clip(f"  {left}", width) + below


def _caret(finding: Finding, width: int) -> list[str]:
    """The source line with a caret under the column; a long line is cut around it."""
    raw = finding.text.rstrip("\r\n")
    bare = raw.lstrip()
    before = clean(raw[: max(finding.column - 1, 0)])[len(clean(raw)) - len(clean(bare)) :]
    source, room = clean(bare), width - 8
    at = min(cell_len(before), cell_len(source))
    if at > room - 4:
        drop = len(before) - room // 2
        source, at = "..." + source[drop:], cell_len("..." + before[drop:])
    place = clip(f"  at {clean(finding.file)}:{finding.line}:{finding.column}", width)
    return [place, "      " + clip(source, room), "      " + " " * min(at, room) + "^"]


def origins(finding: Finding) -> str:
    """The lines that the values and conditions of its place come from, each once; lines at fault
    are in the hint.
    """
    names: dict[int, list[str]] = {}
    for origin in (o for o in finding.origins if o.name):
        names.setdefault(origin.line, []).append(f"`{clean(origin.name)}`")
    told = [f"{', '.join(held)} (line{GLUE}{line})" for line, held in names.items()]
    return f"what happens there also depends on {', '.join(told)}" if told else ""


def seen(finding: Finding) -> str:
    """How often and in which cases."""
    often = finding.count > 1 and finding.thread and finding.kind not in OUTPUT_KINDS
    times = f"{finding.count:,} times" if often else ""
    names = [clip(name, 40) for name in map(clean, finding.cases[:CASES])]
    if len(finding.cases) > CASES:
        names.append(f"{len(finding.cases) - CASES} more")
    plural = "cases" if len(finding.cases) > 1 else "case"
    cases = f"in {plural} {', '.join(names)}" if names else ""
    return " ".join(part for part in (times, cases) if part)

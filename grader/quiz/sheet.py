"""A student's `answers.yaml`: each question's name and the answer as it was typed.

Whatever the file holds is read as text and nothing is made of it, so aliases, dates, huge numbers
and tags are all just wrong answers. What cannot be read at all is a problem of the sheet, not a
fault: the kernel beside it is graded all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from grader.fault import LabFault
from grader.yamlfile import compose_bytes, compose_file

FILE = "answers.yaml"
EMPTY = ("", "~", "null")
MAX_BYTES = 64 << 10


@dataclass(frozen=True)
class Entry:
    """One answer: its text, and its line; `is_plain` is False for a list or a mapping."""

    text: str
    line: int
    is_plain: bool = True


@dataclass(frozen=True)
class AnswerSheet:
    """What was handed in beside the kernel. `found` is False when there is no such file;
    `problem` says why it cannot be read, at `line` (0: not known), and `mend` what to do."""

    name: str = FILE
    entries: Mapping[str, Entry] = field(default_factory=dict)
    found: bool = True
    problem: str = ""
    line: int = 0
    mend: str = ""


def read_sheet(folder: Path) -> AnswerSheet:
    """The sheet in that folder, in whatever state it is; never raises."""
    path = folder / FILE
    if path.is_symlink():
        # On a server, a link would have lines of somebody else's file read out to the student.
        return AnswerSheet(problem="this is a link", mend="hand in the file itself")
    if not path.exists():
        return AnswerSheet(found=False)
    return _sheet(path.stat().st_size, lambda: compose_file(path))


def sheet_of(data: bytes) -> AnswerSheet:
    """The same of a sheet's bytes; never raises."""
    return _sheet(len(data), lambda: compose_bytes(data, FILE))


def _sheet(size: int, compose: Callable[[], yaml.Node]) -> AnswerSheet:
    if size > MAX_BYTES:
        what = f"the file is larger than {MAX_BYTES >> 10} KiB"
        return AnswerSheet(problem=what, mend="hand in the answers alone")
    try:
        root = compose()
    except LabFault as fault:
        return _unreadable(fault)
    if not isinstance(root, yaml.MappingNode):
        return AnswerSheet(problem="it must hold `question: answer` lines", line=1)
    return AnswerSheet(entries={key.value: _entry(key, value) for key, value in root.value})


def _entry(key: yaml.Node, value: yaml.Node) -> Entry:
    line = key.start_mark.line + 1 if key.start_mark else 0
    if not isinstance(value, yaml.ScalarNode):
        return Entry("", line, is_plain=False)
    text = "" if value.value in EMPTY and not value.style else str(value.value)
    return Entry(text, line)


def _unreadable(fault: LabFault) -> AnswerSheet:
    """`where` is the file's path, then perhaps its line and column."""
    _, _, place = fault.where.rpartition(FILE)
    line = place.removeprefix(":").partition(":")[0]
    empty = fault.what == "the file is empty"
    mend = "write `question: answer` lines" if empty else fault.mend
    return AnswerSheet(problem=fault.what, line=int(line) if line.isdigit() else 0, mend=mend)

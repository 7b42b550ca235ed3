"""Finds a format by its name, and sorts out which rows it can tell."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import Literal

from grader import export as folder
from grader.export.row import ExportRow, Options
from grader.fault import LabFault
from grader.nearest import did_you_mean
from grader.report.redact import redact

SEVERAL = "there is more than one grade of this student; a gradebook knows which counts"
STRANGER = "not in the roster, so not in the course there: mend the roster, or add a line to it"


def _no_advice(options: Options) -> str:
    return ""


@dataclass(frozen=True)
class Format:
    """One format. `export` takes rows that are fit, exactly one where `each` submission has a
    document of its own; `unfit` says why a row is not. `unique`: a student has one row at most, and
    has to be in the roster where there is one. `advice` is what to tell whoever exports, or ""."""

    name: str
    title: str
    each: bool
    suffix: str
    reader: Literal["student", "staff"]
    export: Callable[[Sequence[ExportRow], Options], str]
    unfit: Callable[[ExportRow, Options], str]
    unique: bool = False
    advice: Callable[[Options], str] = _no_advice


@dataclass(frozen=True)
class LeftOut:
    """A row that is not exported, and why."""

    row: ExportRow
    why: str


def format_names() -> tuple[str, ...]:
    """Every format there is, by looking into the folder."""
    return tuple(format.name for format in map(_format, _modules()) if format)


def find_format(name: str) -> Format:
    """The format of that name. Raises LabFault, which names the nearest."""
    known = {format.name: format for format in map(_format, _modules()) if format}
    if name in known:
        return known[name]
    mend = did_you_mean(name, known) or f"the formats there are: {', '.join(known)}"
    raise LabFault(f"there is no export format `{name}`", mend=mend)


def sorted_out(
    format: Format, rows: Iterable[ExportRow], options: Options
) -> tuple[tuple[ExportRow, ...], tuple[LeftOut, ...]]:
    """The rows that the format can tell, redacted where students read it, and those it cannot."""
    every = tuple(rows)
    count = Counter(row.student.id for row in every) if format.unique else Counter()
    reasons = [_unfit(format, row, options, count[row.student.id]) for row in every]
    kept = (row for row, why in zip(every, reasons, strict=True) if not why)
    left = (LeftOut(row, why) for row, why in zip(every, reasons, strict=True) if why)
    return tuple(_shown(format, row) for row in kept), tuple(left)


def _unfit(format: Format, row: ExportRow, options: Options, times: int) -> str:
    if format.unique and row.enrolled is False:
        return STRANGER
    return SEVERAL if times > 1 else format.unfit(row, options)


def _shown(format: Format, row: ExportRow) -> ExportRow:
    if format.reader == "staff" or row.grade is None:
        return row
    return replace(row, grade=redact(row.grade))


def _modules() -> Iterable[ModuleType]:
    for found in pkgutil.iter_modules(folder.__path__):
        yield import_module(f"{folder.__name__}.{found.name}")


def _format(module: ModuleType) -> Format | None:
    if not hasattr(module, "export"):
        return None
    return Format(
        name=module.__name__.rpartition(".")[2].replace("_", "-"),
        title=(module.export.__doc__ or "").strip().splitlines()[0],
        each=module.EACH,
        suffix=module.SUFFIX,
        reader=module.READER,
        export=module.export,
        unfit=module.unfit,
        unique=getattr(module, "UNIQUE", False),
        advice=getattr(module, "advice", _no_advice),
    )

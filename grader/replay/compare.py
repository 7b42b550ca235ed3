"""Two grades of one submission side by side: everything that they say differently."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grader.record import Grade, Provenance, check_json
from grader.report.clean import clean, clip

SPEED = "speed"
SHOWN = 60
"""Cells of a value that a difference shows."""

CLOSE = 1e-9
"""Relative: numbers closer than this are the same, whatever they have been through."""

PEAKS = "percent_of"
"""Measurements that are shares of a device's own peaks, which a record does not have."""

_NOTHING = object()


@dataclass(frozen=True)
class Difference:
    """One thing that is not as recorded: `what` as a path of keys, and both values in words."""

    what: str
    recorded: str
    now: str

    def __str__(self) -> str:
        return f"{self.what}: {self.recorded} in the record, {self.now} now"


def conditions(record: Provenance, made: Provenance) -> Iterator[Difference]:
    """What a verdict depends on beside the submission and the seed."""
    tools = sorted({*record.toolchain, *made.toolchain})
    yield from (
        Difference(name, old or "none", new or "none")
        for name, old, new in (
            ("lab (SHA-256 of its files)", record.lab_sha256, made.lab_sha256),
            ("grader version", record.grader_version, made.grader_version),
            *((f"toolchain: {n}", record.toolchain.get(n), made.toolchain.get(n)) for n in tools),
            ("device", record.device, made.device),
            ("driver", record.driver, made.driver),
        )
        if old != new
    )


def differences(record: Grade, made: Grade, *, timed_again: bool = False) -> Iterator[Difference]:
    """What the grades themselves say differently, in score, checks and cases. Of a speed that was
    measured anew, only the verdict has to be the same."""
    yield from _walk("", _told(record, timed_again), _told(made, timed_again))


def _told(grade: Grade, timed_again: bool) -> Mapping[str, Any]:
    points, judged, most, _ = vars(grade.score).values()
    score = {"points": points, "judged_max": judged, "max_score": most}
    checks = [_check(check_json(check), timed_again) for check in grade.checks]
    told = {"backend": grade.backend, "checks": _by_name(checks)}
    told |= {"cases": _by_name(map(asdict, grade.cases))}
    return told if timed_again else {"score": score} | told


def _check(told: Mapping[str, Any], timed_again: bool) -> Mapping[str, Any]:
    if timed_again and told["name"] == SPEED:
        return {"name": SPEED, "status": told["status"]}
    kept = {n: v for n, v in told["measurements"].items() if not n.startswith(PEAKS)}
    return {**told, "measurements": kept}


def _by_name(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Rows by their names; of those with one name all are kept."""
    named: dict[str, Any] = {}
    for row in rows:
        name = str(row["name"])
        while name in named:
            name += " (again)"
        named[name] = {key: value for key, value in row.items() if key != "name"}
    return named


def _walk(path: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            below = f"{path}.{key}" if path else str(key)
            yield from _walk(below, old.get(key, _NOTHING), new.get(key, _NOTHING))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, now) in enumerate(zip(old, new, strict=True), start=1):
            yield from _walk(f"{path}.{number}", before, now)
    elif not _same(old, new):
        yield Difference(clean(path), _words(old), _words(new))


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        both = math.isnan(old) and math.isnan(new)
        return both or math.isclose(old, new, rel_tol=CLOSE)
    return bool(old == new)


def _words(value: Any) -> str:
    """A value as a difference shows it; of what has parts, how many."""
    if value is _NOTHING:
        return "nothing"
    if isinstance(value, Mapping) and "status" in value:
        return str(value["status"])
    if isinstance(value, Sequence | Mapping) and not isinstance(value, str):
        return f"{len(value)} of them"
    if isinstance(value, float):
        return f"{value:.12g}"
    return clip(clean(value if isinstance(value, str) else json.dumps(value)), SHOWN) or "nothing"

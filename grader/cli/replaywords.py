"""What a replay says: a verdict a grade, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.cli.terminal import show, width
from grader.fault import Fault

if TYPE_CHECKING:
    from grader.record import Grade
    from grader.replay.replay import Replay

NAME = 40
SHOWN = 20
"""Differences that are listed; --json has all of them."""


@dataclass(frozen=True)
class Telling:
    """What came of one grade: a replay, or why there is none."""

    record: Grade
    seen: Replay | None
    fault: Fault | None = None

    @property
    def code(self) -> int:
        if self.seen is None:
            return self.fault.exit_code if self.fault else 3
        return int(not self.seen.is_same)


def replay_json(telling: Telling) -> dict[str, Any]:
    """What came of one grade, as other tools read it."""
    told: dict[str, Any] = {"student": telling.record.student, "file": telling.record.file}
    seen = telling.seen
    if seen is None:
        return told | {"same": False, "fault": str(telling.fault)}
    return told | {
        "same": seen.is_same,
        "conditions": [vars(difference) for difference in seen.unlike],
        "verdict": [vars(difference) for difference in seen.verdict],
        "notes": list(seen.notes),
        "grade": seen.made.to_json() if seen.made else None,
    }


def show_replay(telling: Telling, *, several: bool) -> None:
    """What came of it, on stdout; among several with the student's name."""
    from rich.text import Text

    from grader.report.clean import clean, clip, wrap

    record, seen = telling.record, telling.seen
    text = Text()
    for title, rows in _listed(seen):
        text.append(f"{title}\n", "bold")
        for row in rows[:SHOWN]:
            lines = wrap(clean(str(row)), width() - 2, "  ")
            text.append("".join(f"  {line}\n" for line in lines))
        if len(rows) > SHOWN:
            text.append(f"  and {len(rows) - SHOWN} more\n")
    said, style = _said(telling)
    name = f"{clip(clean(record.student or record.file), NAME)}: " if several else ""
    text.append("\n".join(wrap(clean(name + said), width(), "  ")), style)
    show(text)


def _listed(seen: Replay | None) -> list[tuple[str, Sequence[object]]]:
    """What is listed before the verdict, under its titles."""
    lists = (
        ("not as it was when this was graded:", seen.unlike),
        ("the record does not say what is seen now:", seen.verdict),
        ("taken from the record:", seen.notes),
    ) if seen else ()  # fmt: skip
    return [(title, rows) for title, rows in lists if rows]


def _said(telling: Telling) -> tuple[str, str]:
    """The verdict of a replay in one line, and its style."""
    from grader.report.text import score_line

    seen = telling.seen
    if seen is None:
        return f"cannot be replayed: {' '.join(str(telling.fault).split())}", "bold red"
    if seen.is_same:
        return f"the same again: {score_line(telling.record).plain}", "bold green"
    if seen.made is None:
        return "nothing was graded: this is not what the grade was made of", "bold red"
    if seen.verdict:
        return "the verdict differs", "bold red"
    return "the same verdict, under other conditions", "bold"

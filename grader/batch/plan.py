"""What of a class is still to be graded: from what was found and what the gradebook holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.batch.handin import HandedIn
from grader.batch.task import Task
from grader.gradebook.book import Event


@dataclass(frozen=True)
class Plan:
    """`tasks` are to be graded. The others, by number: `graded` before; `outdated`, those of
    them graded with another lab text, seed or toolchain."""

    tasks: tuple[Task, ...]
    graded: tuple[int, ...]
    outdated: tuple[int, ...]


def plan(
    handed: Sequence[HandedIn],
    grades: Mapping[int, tuple[str, Any]],
    wanted: Collection[int],
    key: str,
) -> Plan:
    """A submission that has a grade is never graded again by itself, whatever the key: that is a
    regrade, which has to be asked for and looked at."""
    tasks = {one.task.number: one.task for one in handed if one.task is not None}
    held = [number for number in tasks if number in grades]
    new = [number for number in tasks if number not in grades]
    return Plan(
        tasks=tuple(tasks[number] for number in new if number in wanted),
        graded=tuple(held),
        outdated=tuple(number for number in held if grades[number][0] != key),
    )


def proposal_name(key: str, audit: Iterable[Event]) -> str:
    """The name of the regrade under that key: the same until it is adopted, so that one that was
    stopped goes on; then a new one."""
    stem = f"regrade-{key[:8]}"
    adopted = {event.action for event in audit if event.action.startswith(f"adopt {stem}-")}
    return f"{stem}-{len(adopted) + 1}"

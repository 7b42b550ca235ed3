"""Events of the gradebook for the watchers of one server.

One task asks the database for new events while somebody watches, however many do. It wakes the
watchers of the submissions that have some; each first reads what it has missed.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool

from grader.faults import MachineFault
from grader.gradebook.progress import Event, ProgressLog

POLL_SECONDS = 0.05
LAST_KINDS = ("graded",)
"""The events after which a submission has nothing more to tell."""

Message = Mapping[str, Any]


class Feed:
    """Tells watchers of new events."""

    def __init__(self, log: ProgressLog) -> None:
        self._log = log
        self._watched: defaultdict[int, set[asyncio.Event]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None

    async def events(self, stored_id: int, last: int) -> AsyncIterator[Event]:
        """Yield the events of a submission after a number, until it is graded."""
        more = asyncio.Event()
        self._watched[stored_id].add(more)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        try:
            while True:
                more.clear()
                for event in await run_in_threadpool(self._log.after, last, stored_id):
                    yield event
                    last = event.id
                    if event.kind in LAST_KINDS:
                        return
                await more.wait()
        finally:
            self._watched[stored_id].discard(more)
            if not self._watched[stored_id]:
                del self._watched[stored_id]

    async def _poll(self) -> None:
        """Wake the watchers of each submission that has a new event, until nobody watches."""
        newest: int | None = None
        while self._watched:
            with suppress(MachineFault):  # the database may be reached again
                newest = await self._wake(newest)
            await asyncio.sleep(POLL_SECONDS)

    async def _wake(self, newest: int | None) -> int:
        """Wake the watchers of submissions with events after a number; all of them at first."""
        if newest is None:
            newest = await run_in_threadpool(self._log.newest)
            changed = set(self._watched)
        else:
            found = await run_in_threadpool(self._log.after, newest)
            changed = {event.submission for event in found}
            newest = found[-1].id if found else newest
        for stored_id in changed & self._watched.keys():
            for more in self._watched[stored_id]:
                more.set()
        return newest


def message_of(event: Event) -> Message:
    """Return an event as server-sent events carry it; its number lets a reader resume.

    `at` is when it happened, to the millisecond: a step may take less than a second.
    """
    body = {**event.body, "kind": event.kind, "at": event.at.isoformat(timespec="milliseconds")}
    return {"id": str(event.id), "event": event.kind, "data": json.dumps(body)}


def since_start(events: Sequence[Event]) -> Sequence[float | None]:
    """Return for each event the seconds from the start of its grading; None where it is no step.

    A submission that a machine failed on is graded again: its steps count from the newest start.
    """
    found, begun = list[float | None](), None
    for event in events:
        begun = event.at if event.kind == "started" else begun
        is_step = event.kind == "step" and begun is not None
        found.append((event.at - begun).total_seconds() if is_step and begun else None)
    return found


def is_shown(event: Event, held: bool) -> bool:
    """Whether a watcher hears of an event: the steps tell how far it came, so not while held."""
    return not (held and event.kind == "step")

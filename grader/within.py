"""Trusted work in this process that must not go on for ever.

The work has a thread of its own, and who asked for it waits so long and no longer. A thread cannot
be killed: one that is overdue gets an exception at its next line of Python, and one that sits in a
library's call stays until the process ends, which it does not hold up.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


class Overdue(Exception):
    """The work did not end in time; `stack` is where it was then, outermost frame first."""

    def __init__(self, stack: traceback.StackSummary) -> None:
        super().__init__("overdue")
        self.stack = stack


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns, or the exception that it raises; Overdue after so many seconds."""
    results: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again by who waits
            raised.append(error)

    thread = Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        stack = traceback.extract_stack(sys._current_frames().get(thread.ident or 0))
        _stop(thread)
        raise Overdue(stack)
    if raised:
        raise raised[0]
    return results[0]


def _stop(thread: Thread) -> None:
    """SystemExit in a thread, at its next line of Python."""
    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))

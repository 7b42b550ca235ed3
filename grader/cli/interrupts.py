"""Ctrl-C, and SIGTERM from a scheduler or a shutdown, for commands that end their work in order.

The others are ended by the signal itself, see `grader.__main__`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Take the first SIGINT or SIGTERM as a request to stop; a second one ends the process.

    Yields:
        Whether to stop, to be asked where the work can be left in order. An exception at any
        instruction, as KeyboardInterrupt is, would leave locks behind that others wait for.
    """
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for one in _ENDS:
            signal.signal(one, signal.SIG_DFL)

    with _handled_by(receive):
        yield lambda: bool(received)


def interruptible() -> AbstractContextManager[None]:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM, for waits that cannot be asked to stop."""
    return _handled_by(signal.default_int_handler)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    ends = [one for one in _ENDS if signal.getsignal(one) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in ends}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def end_with_input(end: Callable[[], None]) -> None:
    """Call `end` when nobody can write to standard input any more."""
    while os.read(0, 1024):
        pass
    end()


def end_on_signals(end: Callable[[], None]) -> None:
    """Call `end` at SIGTERM and at Ctrl-C; nothing, where this is not the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, frame: end())

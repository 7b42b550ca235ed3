"""A real-time clock that jumps by hours and days, forward and back, each time it is read.

On PYTHONPATH it applies to a whole command. Only CLOCK_MONOTONIC and processor time may decide
anything in a grade; the time of day is for records.
"""

from __future__ import annotations

import datetime
import random
import time

_choose = random.Random(7)
_read = time.time


def _jumping() -> float:
    return _read() + _choose.choice((-86400.0, -3600.0, 3600.0, 400 * 86400.0))


class JumpingDatetime(datetime.datetime):
    """datetime whose `now` reads the jumping clock."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> JumpingDatetime:
        return cls.fromtimestamp(_jumping(), tz)


time.time = _jumping
time.time_ns = lambda: int(_jumping() * 1e9)
datetime.datetime = JumpingDatetime  # type: ignore[misc]

"""When the content of a submitted file changes, however an editor saves it.

Editors write a file anew in place, or another one that they rename; some truncate it first, and
some move the old one away. So what counts is the content, once the file has stopped changing: an
empty or missing file is not taken for the new content until it has stayed so for a while.

The files are found to have changed by their size, times and numbers (stat), in short intervals.
That needs no library and works on every file system; notifications of the kernel (inotify) do not
come from network file systems and from Windows' drives in WSL.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.faults import Fault, StudentFault
from grader.labs.model import Lab
from grader.labs.quiz import ANSWERS_FILE
from grader.submissions.containers import INCLUDE, MAX_INCLUDES, MAX_PARTS
from grader.submissions.sources import Wanted, header_files, read_submitted

PAUSE = 0.05
"""Seconds between two looks at the files."""

MOST_BUSY = 20
"""How many times as long as a look the pause is, at least: a folder may have many files."""

SETTLED = 0.03
"""Seconds without a change after which a content is taken."""

GONE = 1.0
"""Seconds after which a file that is missing or empty is taken to be so."""

ABSENT = ""
"""The content of a file that is missing or empty."""

Stamp = tuple[tuple[int, ...], ...]


class WatchedFile:
    """What is submitted, with what a grade reads beside it: the answers and the own headers."""

    def __init__(self, path: Path, lab: Lab) -> None:
        self.path = path
        self._wanted = Wanted.by(lab)
        self._folder = path if path.is_dir() else path.parent
        self._headers: tuple[Path, ...] = ()

    def stamp(self) -> Stamp:
        """Return what changes when one of the files does."""
        more = self._listed() if self.path.is_dir() else self._headers
        own = (self.path, self._folder, self._folder / ANSWERS_FILE)
        return tuple(map(_stamp, (*own, *more)))

    def content(self) -> str:
        """Return a digest of all that is graded; ABSENT where the file is missing or empty."""
        if self.path.is_file() and not _stamp(self.path)[-1]:
            return ABSENT
        try:
            submission = read_submitted(self.path, self._wanted)
        except StudentFault as fault:
            text = f"{fault} {_stamp(self.path)}"
        except (Fault, OSError):
            return ABSENT
        else:
            self._headers = tuple(self._included(submission.text, submission.name))
            text = submission.sha256
        answers = self._folder / ANSWERS_FILE
        digest = hashlib.sha256(f"{text} {_stamp(answers)}".encode("utf-8", "replace"))
        return digest.hexdigest()

    def _listed(self) -> Iterator[Path]:
        """The files of a folder, as many as a submission may have, and its folders."""
        left = MAX_PARTS
        for folder, _, names in os.walk(self.path):
            yield from (Path(folder), *(Path(folder, name) for name in sorted(names)[:left]))
            left -= len(names)
            if left <= 0:
                return

    def _included(self, text: str, name: str) -> Iterator[Path]:
        """The headers that are part of a source, and those that it asks for in vain."""
        matches = filter(None, map(INCLUDE.match, text.split("\n")))
        asked = [match[1] for match in matches if match[1]][:MAX_INCLUDES]
        for header in dict.fromkeys((*header_files(text, name), *asked)):
            yield self._folder / header


def _stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that change when a file does, its size last; () where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


Wait = Callable[[float], float]
"""Waits so many seconds, and returns the time of a clock that does not go back."""


def wait(seconds: float) -> float:
    """Wait, and return the time of the monotonic clock."""
    time.sleep(seconds)
    return time.monotonic()


def contents(file: WatchedFile, last: str, wait: Wait = wait) -> Iterator[str]:
    """Yield each new content of a file, without end.

    Args:
        file: The file.
        last: Its content so far.
        wait: Waits.
    """
    seen: Stamp | None = None
    since, pending = 0.0, True
    pause = PAUSE
    while True:
        now = wait(min(pause, SETTLED / 2) if pending else pause)
        begun = time.thread_time()
        stamp = file.stamp()
        pause = max(PAUSE, MOST_BUSY * (time.thread_time() - begun))
        if stamp != seen:
            seen, since, pending = stamp, now, True
            continue
        if not pending or now - since < SETTLED:
            continue
        content = file.content()
        if content == ABSENT and now - since < GONE:
            continue
        pending = file.stamp() != seen  # it changed while it was read
        if content != last and not pending:
            last = content
            yield content

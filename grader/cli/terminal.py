"""What a command writes: reports to stdout, words about its work to stderr, files where asked."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from grader.faults import LabFault
from grader.labs.files import write_atomically

if TYPE_CHECKING:
    from rich.text import Text

PLAIN_WIDTH = 80
STDOUT = "-"


def width() -> int:
    """The columns of a report: 80 unless stdout is a terminal of another width."""
    if not sys.stdout.isatty():
        return PLAIN_WIDTH
    return max(40, min(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, 100))


def colored() -> bool:
    """Colour on a terminal only, and not where NO_COLOR is set."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def show(report: Text) -> None:
    """A report on stdout. A reader that has gone away changes nothing about the verdict."""
    from grader.reports.text import render

    _write(render(report, color=colored()))


def show_line(line: str, *, good: bool) -> None:
    """One line of a list of things that hold or do not, as soon as it is known."""
    from rich.text import Text

    from grader.reports.printable import printable

    show(Text(printable(line), style="" if good else "bold red"))


def _write(text: str) -> None:
    try:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Let the interpreter's last flush of stdout go nowhere: its reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """A message on stderr: control characters written out, and whatever its encoding cannot
    hold. Only a line feed ends a line.
    """
    from grader.reports.printable import printable

    lines = (part for line in text.split("\n") for part in _wrapped(printable(line)))
    encoding = sys.stderr.encoding or "ascii"
    print("\n".join(lines).encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


def _wrapped(line: str) -> list[str]:
    """A message's line in rows of 80 columns; a path or a word is never broken."""
    indent = "  " if line.startswith(" ") else "    "
    return wrap(
        line, PLAIN_WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [line]


def progress(step: str, number: int, steps: int) -> None:
    """The step that a command is at, on a terminal only; `finished` wipes it."""
    doing(f"[{number}/{steps}] {step}")


def doing(what: str) -> None:
    """What a command is at, on a terminal only; `finished` wipes it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{what[:70]} ...")
        sys.stderr.flush()


def finished() -> None:
    """Wipe the progress line."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def check_writable(file: str | None, option: str = "--json") -> None:
    """Refuse a file that cannot be written before the work is done, not after it."""
    if file is None or file == STDOUT:
        return
    path = Path(file)
    if path.is_dir():
        raise LabFault("this is a folder", where=file, fix=f"name a file for {option}")
    if not path.absolute().parent.is_dir():
        what = "there is no folder to write this file in"
        raise LabFault(what, where=file, fix=f"make {path.absolute().parent} first")


def write_json(value: Mapping[str, Any], file: str) -> None:
    """A JSON object to a file, or to stdout for `-`."""
    from grader.reports.json import dumps

    if file == STDOUT:
        _write(dumps(value))
    else:
        write_file(Path(file), dumps(value).encode())


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, and say so."""
    write_atomically(path, data)
    say(f"wrote {path}")

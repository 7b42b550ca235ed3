"""The output of a command: reports on stdout, messages and progress on stderr, and files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from grader.faults import Fault, LabFault

if TYPE_CHECKING:
    from rich.text import Text

PLAIN_WIDTH = 80
STDOUT = "-"


def width() -> int:
    """Return the columns of a report: 80, or the width of the terminal between 40 and 100."""
    if not sys.stdout.isatty():
        return PLAIN_WIDTH
    return max(40, min(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, 100))


def colored() -> bool:
    """Return whether to use color: on a terminal, unless NO_COLOR is set or TERM is dumb."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def show(report: Text) -> None:
    """Write a report to stdout; a closed pipe does not change the exit code."""
    from grader.reports.text import render

    _write(render(report, color=colored()))


def show_line(line: str, *, good: bool) -> None:
    """Write one line to stdout, in red unless `good`."""
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
    """Redirect stdout to /dev/null, because the reader has closed the pipe.

    Otherwise the interpreter's last flush of stdout would fail.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Write a message to stderr, wrapped to 80 columns.

    Control characters, and characters that the encoding lacks, are written as escapes. Only a line
    feed ends a line.
    """
    from grader.reports.printable import printable

    lines = (part for line in text.split("\n") for part in _wrapped(printable(line)))
    encoding = sys.stderr.encoding or "ascii"
    print("\n".join(lines).encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


def show_fault(fault: Fault, quiet: bool = False) -> None:
    """Show the findings of the compiler as a report, and every other fault as a message.

    `quiet` suppresses the report, because stdout is used for JSON.
    """
    findings = getattr(fault, "findings", ())
    if not findings:
        say(str(fault))
    elif not quiet:
        from grader.reports.finding import findings_text

        show(findings_text(findings, width(), most=20))


def _wrapped(line: str) -> list[str]:
    """Wrap one line to 80 columns, without breaking paths or words."""
    indent = "  " if line.startswith(" ") else "    "
    return wrap(
        line, PLAIN_WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [line]


def progress(step: str, number: int, steps: int) -> None:
    """Show the current step of a command, on a terminal only; `finished` clears it."""
    doing(f"[{number}/{steps}] {step}")


def doing(what: str) -> None:
    """Show what a command is doing, on a terminal only; `finished` clears it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{what[:70]} ...")
        sys.stderr.flush()


def finished() -> None:
    """Clear the progress line."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def check_writable(file: str | None, option: str = "--json") -> None:
    """Raise LabFault for a file that cannot be written, before the work starts."""
    if file is None or file == STDOUT:
        return
    path = Path(file)
    if path.is_dir():
        raise LabFault("this is a folder, not a file", where=file, fix=f"name a file for {option}")
    if not path.absolute().parent.is_dir():
        what = "the folder of this file does not exist"
        raise LabFault(what, where=file, fix=f"create {path.absolute().parent} first")


def write_json(value: Mapping[str, Any], file: str) -> None:
    """Write a JSON object to a file, or to stdout for `-`."""
    from grader.reports.json import dumps

    if file == STDOUT:
        _write(dumps(value))
    else:
        write_file(Path(file), dumps(value).encode())


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically, and report its path on stderr."""
    from grader.labs.files import write_atomically

    write_atomically(path, data)
    say(f"wrote {path}")

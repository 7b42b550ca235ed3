"""Error types by whose fault it is, and the wording that error messages share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.launch import Finding

# Whose fault it is, as a type: the student's, the lab author's, or the machine's.
#
# Every fault says what went wrong, where, and how to mend it. The command line maps the type to
# an exit code, the grade maps it to a status, and neither has to read the text.


class Fault(Exception):
    """Base of the three faults.

    what:  one sentence, in the field's own words.
    where: "file:line", a key path, a command; empty when the whole thing is meant.
    mend:  one sentence that says what to do about it; empty when `what` already does.
    """

    exit_code = 3

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  {self.fix}" if self.fix else head


class StudentFault(Fault):
    """The submission cannot be graded further: it does not compile, has no such kernel, ...

    `findings` are what the student is shown; at least one of them has severity "error".
    """

    exit_code = 1

    def __init__(
        self, what: str, *, where: str = "", fix: str = "", findings: tuple[Finding, ...] = ()
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.findings = findings


class LabFault(Fault):
    """The lab, the launch file or the command line is wrong: its author mends it (exit code 2)."""

    exit_code = 2


class MachineFault(Fault):
    """This machine failed: no memory, a dead child, a missing tool. Never costs points."""

    exit_code = 3


# Find the closest match of a name that does not exist, for "did you mean" in messages.


def closest_match(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Find the name that was most likely meant.

    Args:
        name: What was written.
        names: What exists.
        cutoff: The least similarity, from 0 to 1: difflib's ratio of the letters that match.

    Returns:
        The closest match, or "" when none is as similar as `cutoff`.
    """
    import difflib  # every sandboxed child imports this module: keep that cheap

    return next(iter(difflib.get_close_matches(name, list(names), 1, cutoff)), "")


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Ask whether the closest match was meant: "did you mean `x`?", or "" when there is none."""
    match = closest_match(name, names, cutoff)
    return f"did you mean `{match}`?" if match else ""


# How to get what one of the package's extras needs, for the Python that runs here.

_OF_EXTRA = r"^(?P<needed>[^;]+);.*\bextra == [\"'](?P<extra>[\w-]+)[\"']"


def install_command(extra: str) -> str:
    """The command that installs what `extra` needs. It names the packages themselves: `pip` alone
    may be another Python's, and the package index has none of our name.
    """
    import re
    import shlex
    import sys
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = [re.match(_OF_EXTRA, row) for row in requires("warpgrade") or ()]
    except PackageNotFoundError:
        rows = []
    needed = [row["needed"].strip() for row in rows if row and row["extra"] == extra]
    return shlex.join([sys.executable, "-m", "pip", "install", *(needed or [f".[{extra}]"])])


# A number with its noun.


def pluralize(number: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

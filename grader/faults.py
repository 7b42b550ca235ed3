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


# The name that was most likely meant, for messages about a name that nothing has.


def closest_match(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Of `names` the one most like `name`, or "" when none reaches `likeness`, from 0 to 1:
    difflib's ratio of the letters that match.
    """
    import difflib  # every sandboxed child imports this module: keep that cheap

    return next(iter(difflib.get_close_matches(name, list(names), 1, likeness)), "")


def did_you_mean(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """A question that names the nearest, or "" when nothing is near."""
    near = closest_match(name, names, likeness)
    return f"did you mean `{near}`?" if near else ""


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

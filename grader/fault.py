"""Whose fault it is, as a type: the student's, the lab author's, or the machine's.

Every fault says what went wrong, where, and how to mend it. The command line maps the type to
an exit code, the grade maps it to a status, and neither has to read the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.launch import Finding


class Fault(Exception):
    """Base of the three faults.

    what:  one sentence, in the field's own words.
    where: "file:line", a key path, a command; empty when the whole thing is meant.
    mend:  one sentence that says what to do about it; empty when `what` already does.
    """

    exit_code = 3

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  {self.mend}" if self.mend else head


class StudentFault(Fault):
    """The submission cannot be graded further: it does not compile, has no such kernel, ...

    `findings` are what the student is shown; at least one of them has severity "error".
    """

    exit_code = 1

    def __init__(
        self, what: str, *, where: str = "", mend: str = "", findings: tuple[Finding, ...] = ()
    ) -> None:
        super().__init__(what, where=where, mend=mend)
        self.findings = findings


class LabFault(Fault):
    """The lab, the launch file or the command line is wrong: its author mends it (exit code 2)."""

    exit_code = 2


class MachineFault(Fault):
    """This machine failed: no memory, a dead child, a missing tool. Never costs points."""

    exit_code = 3

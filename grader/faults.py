"""Errors by whose fault they are, and the wording that error messages share.

Every fault says what went wrong, where, and how to fix it. The command line maps its type to an
exit code and the grade maps it to a status, so neither has to read the text.

Every sandboxed child imports this module, so it imports as little as it can.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.launch import Finding

_EXTRA_REQUIREMENT = r"^(?P<requirement>[^;]+);.*\bextra == [\"'](?P<extra>[\w-]+)[\"']"


class Fault(Exception):
    """Base of the three faults.

    Attributes:
        what: One sentence in the field's terms that says what is wrong.
        where: "file:line", a key path or a command; empty when the whole input is meant.
        fix: One imperative sentence; empty when `what` already says what to do.
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
    """The submission cannot be graded further, for example because it does not compile.

    `findings` are what the student is shown; at least one of them has severity "error".
    """

    exit_code = 1

    def __init__(
        self, what: str, *, where: str = "", fix: str = "", findings: tuple[Finding, ...] = ()
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.findings = findings


class LabFault(Fault):
    """The lab, the launch file or the command line is wrong; its author can fix it."""

    exit_code = 2


class MachineFault(Fault):
    """The grader's machine failed: no memory, a dead child, a missing tool. Never costs points."""

    exit_code = 3


CHECK_RESOURCES = (
    "check the free memory and disk space of this machine and its limits (ulimit -a), "
    "then run the same command again"
)


RESOURCE_ERRORS = (OSError, MemoryError, ImportError)
"""What Python raises for want of a resource; ImportError: no memory for a shared library."""


def system_fault(error: BaseException, what: str) -> MachineFault:
    """Return the MachineFault for an error of the operating system; a MachineFault as it is.

    Args:
        error: An OSError, a MemoryError, or another error for want of a resource.
        what: What could not be done.
    """
    if isinstance(error, MachineFault):
        return error
    if isinstance(error, ImportError) and error.__cause__ is not None:
        error = error.__cause__  # NumPy's own text is a page about its installation
    if isinstance(error, MemoryError):
        reason = "no memory is left"
    elif isinstance(error, OSError) and error.strerror:
        reason = f"{error.strerror} ({error.filename})" if error.filename else error.strerror
    else:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
    return MachineFault(f"{what}: {reason}", fix=CHECK_RESOURCES)


_SOME_MEMORY = 1 << 24
"""Bytes."""

_SYSTEM_ERRORS = frozenset(
    (errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
    + (errno.EAGAIN, errno.EIO, errno.EINTR, errno.EPERM, errno.EFBIG, errno.ESTALE, errno.ENOLCK)
    + (errno.EPIPE, errno.ECONNRESET)
)
"""Errors of the operating system that no file's content or name explains. A file that the user may
not read gives EACCES, not EPERM."""


def file_fault(error: Exception, what: str, *, where: str = "", fix: str = "") -> Fault:
    """Return the fault for a file that cannot be read: a LabFault, unless the machine failed."""
    if is_system_error(error):
        return MachineFault(what, where=where, fix=CHECK_RESOURCES)
    return LabFault(what, where=where, fix=fix)


def root_fault(fault: Fault) -> Fault:
    """Return the fault, or a MachineFault where an error of the system caused a LabFault.

    Much code reports a file that it cannot read or write as a mistake of the lab or the command
    line. The error that it was handling (`__context__`) shows whether the machine failed instead.
    """
    if isinstance(fault, LabFault) and fault.__context__ and is_system_error(fault.__context__):
        return MachineFault(fault.what, where=fault.where, fix=CHECK_RESOURCES)
    return fault


def is_system_error(error: BaseException) -> bool:
    """Return whether an exception is for want of memory, files or disk space, or a broken disk."""
    if isinstance(error, ModuleNotFoundError):
        return False
    if isinstance(error, ImportError):  # a shared library for which there was no memory
        is_library = str(error.path or "").endswith(".so")
        return is_library or (error.__cause__ is not None and is_system_error(error.__cause__))
    if isinstance(error, OSError):
        return error.errno in _SYSTEM_ERRORS
    if isinstance(error, RuntimeError):  # the threading module gives no error number
        return str(error) == "can't start new thread"
    return isinstance(error, MemoryError)


def is_memory_left() -> bool:
    """Whether this process can get more memory, such as a library takes at once.

    Without it Python and libraries raise anything: the compiler a ValueError for a field that it
    had no memory to make.
    """
    try:
        bytearray(_SOME_MEMORY)
    except MemoryError:
        return False
    return True


def closest_match(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the candidate most similar to `name`, or "" when none reaches `cutoff`.

    Similarity is difflib's ratio of matching characters, 0 to 1.
    """
    import difflib

    return next(iter(difflib.get_close_matches(name, list(candidates), 1, cutoff)), "")


def did_you_mean(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str:
    """Return "did you mean `x`?" with the closest match, or "" when there is none."""
    match = closest_match(name, candidates, cutoff)
    return f"did you mean `{match}`?" if match else ""


def install_command(extra: str) -> str:
    """Return the shell command that installs what the package's `extra` needs.

    The command runs this interpreter, because `pip` alone may belong to another Python. It names
    the requirements themselves, because the package index has no package of our name.
    """
    import re
    import shlex
    import sys
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = [re.match(_EXTRA_REQUIREMENT, row) for row in requires("warpgrade") or ()]
    except PackageNotFoundError:
        rows = []
    needed = [row["requirement"].strip() for row in rows if row and row["extra"] == extra]
    return shlex.join([sys.executable, "-m", "pip", "install", *(needed or [f".[{extra}]"])])


def pluralize(number: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


NOT_LINUX = "grader runs on Linux only"
_ELSEWHERE = {
    "win32": "Install WSL 2 (in PowerShell: wsl --install), and warpgrade there.",
    "darwin": 'Use a Linux container: docker run -it -v "$PWD:/work" -w /work python:3.13 bash',
}


def other_system(platform: str) -> str:
    """Return what to use on a system that is not Linux, by its name in `sys.platform`."""
    return _ELSEWHERE.get(platform, "Run it on Linux, or in a Linux container.")

"""The terminal: options that several commands share, and the output of a command.

Reports go to stdout, messages and progress to stderr, results to files.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from grader.faults import Fault, LabFault, MachineFault

if TYPE_CHECKING:
    from rich.text import Text

    from grader.labs.model import Lab

PLAIN_WIDTH = 80
STDOUT = "-"


def width() -> int:
    """Return the columns of a report: 80, or the width of the terminal between 40 and 100."""
    if not sys.stdout.isatty():
        return PLAIN_WIDTH
    import shutil

    return max(40, min(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, 100))


def colored() -> bool:
    """Return whether to use color: on a terminal, unless NO_COLOR is set or TERM is dumb."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def show(report: Text) -> None:
    """Write a report to stdout, as `write` does."""
    from grader.reports.text import render

    write(render(report, color=colored()))


def show_line(line: str, *, good: bool) -> None:
    """Write one line to stdout, in red unless `good`."""
    from rich.text import Text

    from grader.reports.printable import printable

    show(Text(printable(line), style="" if good else "bold red"))


def write(text: str) -> None:
    """Write text to stdout; a closed pipe does not change the exit code.

    Raises:
        MachineFault: stdout is closed, or its disk is full.
    """
    encoding = sys.stdout.encoding or "utf-8"
    with _reported_failure():
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()


def flush() -> None:
    """Write what stdout still holds.

    Raises:
        MachineFault: It cannot be written.
    """
    with _reported_failure():
        sys.stdout.flush()


@contextmanager
def _reported_failure() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        report_failure(error)


def report_failure(error: OSError) -> None:
    """Drop what stdout still holds after an error; the reader of a pipe may have ended.

    Raises:
        MachineFault: The error is another one.
    """
    silence()
    if not isinstance(error, BrokenPipeError):
        what = f"cannot write to standard output: {error.strerror}"
        raise MachineFault(what, fix="check the free disk space and the redirection") from error


def silence() -> None:
    """Drop what stdout still holds and all further output.

    Otherwise the interpreter's last flush of stdout would fail, with a message and an exit code of
    its own.
    """
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout.flush()
    except OSError:  # no file can be opened
        sys.stdout = io.StringIO()


def open_standard_streams() -> None:
    """Open the standard streams that are closed, so that no other file gets their numbers.

    What is written to stderr is then lost. Writing to stdout fails: a report would be lost.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def say(text: str) -> None:
    """Write a message to stderr, wrapped to 80 columns.

    Control characters, and characters that the encoding lacks, are written as escapes. Only a line
    feed ends a line. A message that cannot be written is lost: the exit code shows the outcome.
    """
    from grader.reports.printable import printable

    lines = (part for line in text.split("\n") for part in _wrapped(printable(line)))
    encoding = sys.stderr.encoding or "ascii"
    with suppress(OSError):
        print(
            "\n".join(lines).encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr
        )


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
    from textwrap import wrap

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


def step_display(seconds: float = 10.0) -> Callable[[str], None]:
    """Return a function that shows what a long command is doing.

    On a terminal it replaces the line, as `doing` does. Elsewhere, in a log file, it writes a line
    when the last one is `seconds` old, so that a reader sees that the command goes on.
    """
    last = [time.monotonic()]

    def show_step(what: str) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            doing(what)
        elif now - last[0] >= seconds:
            last[0] = now
            say(f"{what} ...")

    return show_step


def finished() -> None:
    """Clear the progress line."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def note_public_part(labs: Iterable[Lab]) -> None:
    """Say for which labs the hidden cases are missing, where the work of others is graded."""
    names = [lab.name for lab in labs if lab.is_bundled]
    if names:
        say(f"note: only public cases: the installed package has no hidden case of {names[0]}")
        say("  To grade hidden cases, name the course's folder: --course DIR, or WARPGRADE_LABS.")


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
    from grader.grading.record import dumps

    if file == STDOUT:
        write(dumps(value))
    else:
        write_file(Path(file), dumps(value).encode())


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically, and report its path on stderr."""
    from grader.labs.files import write_atomically

    write_atomically(path, data)
    say(f"wrote {path}")


class Option:
    """An option of a command, as the metadata of a parameter's annotation.

    Attributes:
        names: How it is written, such as "--json".
        settings: What `typer.Option` takes by keyword: `help`, `metavar`, `min`, `max`.
    """

    def __init__(self, *names: str, **settings: Any) -> None:
        self.names = names
        self.settings = settings


class Argument:
    """An argument of a command that is known by its place; `settings` are as those of `Option`."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


Command = Callable[..., int]


class Group:
    """Commands below one word, such as `grader labs`.

    Attributes:
        help: One line that says what they do.
        commands: The functions by their names, each with its line in the group's help.
    """

    def __init__(self, help: str) -> None:
        self.help = help
        self.commands: dict[str, tuple[Command, str | None]] = {}

    def command(self, name: str, short_help: str | None = None) -> Callable[[Command], Command]:
        """Return a decorator that adds a function as a command."""

        def add(function: Command) -> Command:
            self.commands[name] = (function, short_help)
            return function

        return add


class Backend(StrEnum):
    """Where kernels run; `auto` is a GPU if this machine has a usable one."""

    sim = "sim"
    gpu = "gpu"
    auto = "auto"


On = Annotated[
    Backend,
    Option("--on", help="Where the kernel runs: sim is the CPU simulator, gpu is a GPU."),
]
Json = Annotated[
    str | None,
    Option("--json", metavar="F", help="Write the result as JSON to file F; - is stdout."),
]
Threads = Annotated[
    int | None,
    Option("--threads", min=1, max=1024, help="Threads of the simulator.  [default: all cores]"),
]
Limit = Annotated[
    float,
    Option("--limit", min=0.1, max=3600, help="Stop a kernel after this many seconds."),
]
Sanitizer = Annotated[
    bool, Option("--sanitizer", help="On a GPU: add the findings of compute-sanitizer.")
]
Profile = Annotated[
    bool,
    Option("--profile", help="On a GPU: compare the counters with those of Nsight Compute."),
]
Course = Annotated[
    Path | None,
    Option("--course", metavar="DIR", help="The folder of a course, with labs/ or course.yaml."),
]
All = Annotated[
    bool,
    Option("--all", help="Show every finding, not one block for each cause."),
]


def complete_lab(incomplete: str) -> list[str]:
    """Return the labs whose names begin with a word, for the completion of a shell."""
    from grader.labs.reading import list_labs

    return [name for name in list_labs() if name.startswith(incomplete)]


LabName = Annotated[
    str,
    Argument(
        metavar="LAB",
        help="The lab; `grader labs list` shows all labs.",
        autocompletion=complete_lab,
    ),
]
Source = Annotated[
    Path,
    Argument(
        metavar="FILE.cu", help="The source with the kernel: a file, notebook, archive or folder."
    ),
]


def resolved(on: Backend) -> Literal["sim", "gpu"]:
    """Return the backend to use; `auto` becomes `gpu` when a GPU can be used, otherwise `sim`.

    A message on stderr says why a GPU of this machine cannot be used.

    Raises:
        MachineFault: `gpu` is asked for and something is missing.
    """
    from grader.gpu.devices import devices

    if on is Backend.sim or (on is Backend.auto and not devices()):
        return "sim"
    from grader.gpu.driver import unusable_gpu

    missing = unusable_gpu()
    if missing is None:
        return "gpu"
    if on is Backend.gpu:
        raise missing
    say(f"the kernel runs on the CPU simulator, because the GPU cannot be used: {missing}")
    return "sim"

"""The `grader` command: its subcommands, and the message and exit code of every error."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from grader import __version__
from grader.cli.batch import batch
from grader.cli.check import check, explain, explain_term
from grader.cli.course import new, quiz, release, similar
from grader.cli.doctor import doctor
from grader.cli.export import export
from grader.cli.gradebook import gradebook
from grader.cli.labs import labs
from grader.cli.replay import replay
from grader.cli.run import run as run_kernel
from grader.cli.terminal import flush, open_standard_streams, report_failure, say
from grader.faults import Fault, is_system_error, root_fault, system_fault

INTERRUPTED = 130
MACHINE = 3
UsageError = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="grader",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(short_help="Grade one submission and explain how to fix it.")(check)
app.command(short_help="Grade the submissions of a whole class.")(batch)
app.command(short_help="Show what each thread of a kernel accesses.")(explain)
app.command("explain-term", short_help="Explain a term of the reports.")(explain_term)
app.command("run", short_help="Run any kernel and report its errors.")(run_kernel)
app.command(short_help="Export grades to another system.")(export)
app.command(short_help="Find unusually similar submissions.")(similar)
app.command(short_help="Repeat a recorded grade and compare.")(replay)
labs.command(short_help="Write answers.yaml with the lab's questions.")(quiz)
labs.command(short_help="Write the files of a new lab, to edit.")(new)
labs.command(short_help="Write LAB.zip for students.")(release)
app.add_typer(labs, name="labs")
app.add_typer(gradebook, name="gradebook")
app.command(short_help="Check that this machine can grade.")(doctor)


def _version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"grader {__version__}")
        raise typer.Exit


@app.callback()
def grader(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the Python traceback of an error.")
    ] = False,
) -> None:
    """Grade CUDA kernels, with or without a GPU.

    Exit codes: 0 every evaluated check passes, 1 a check fails, 2 wrong usage or an error in a
    lab, 3 a system error on this machine.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Tracebacks are shown only with `--debug`, which may stand anywhere among the arguments.
    """
    open_standard_streams()
    words = [word for word in arguments if word != "--debug"]
    debug = len(words) < len(arguments)
    try:
        code = int(app(words, prog_name="grader", standalone_mode=False) or 0)
        flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (Exception, SystemExit) as ended:
        # SystemExit is click's answer to every broken pipe, also inside a command.
        error = ended.__context__ if isinstance(ended, SystemExit) else ended
        if debug:
            traceback.print_exc()
        try:
            return _report_error(error or ended)
        except (OSError, MemoryError):  # the message cannot be laid out, or not written either
            fault = root_fault(error) if isinstance(error, Fault) else _system_fault(error or ended)
            with suppress(OSError):
                os.write(2, f"{fault}\n".encode(errors="replace"))
            return fault.exit_code
    if code == INTERRUPTED:
        say("stopped")
    return code


def _report_error(error: BaseException) -> int:
    if isinstance(error, UsageError):
        error.message = error.message.removeprefix("Value error, ")  # type: ignore[attr-defined]
        error.show()  # type: ignore[attr-defined]
        return 2
    if isinstance(error, OSError) and _is_of_help(error):
        try:
            report_failure(error)
        except Fault as fault:
            error = fault
        else:
            return 0
    if isinstance(error, Fault):
        cause = root_fault(error)
        say(str(cause))
        return cause.exit_code
    if isinstance(error, typer.Abort):
        say("stopped")
        return INTERRUPTED
    if is_system_error(error):
        say(str(_system_fault(error)))
        return MACHINE
    say(
        f"grader failed: {type(error).__name__}: {error}\n"
        "  This is an error in grader or on this machine, not in the submission.\n"
        "  Run the command again with --debug to see where; run `grader doctor` to check the"
        " machine."
    )
    return MACHINE


def _system_fault(error: BaseException) -> Fault:
    return system_fault(error, "the command could not be completed")


def _is_of_help(error: OSError) -> bool:
    """Return whether click could not write its own text: the help or the version."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_name == "echo" for frame, _ in frames)

"""The commands put together, and the one place where a fault becomes words and an exit code."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from grader import __version__
from grader.cli.batch import batch
from grader.cli.check import check, explain
from grader.cli.doctor import doctor
from grader.cli.export import export
from grader.cli.gradebook import gradebook
from grader.cli.labs import labs
from grader.cli.replay import replay
from grader.cli.run import run as run_kernel
from grader.cli.similar import similar
from grader.cli.terminal import say, silence
from grader.faults import Fault

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
app.command(short_help="Grade FILE.cu as LAB asks; say what to mend.")(check)
app.command(short_help="Grade a class; lose nothing.")(batch)
app.command(short_help="Draw who touches what, and what lines cost.")(explain)
app.command("run", short_help="Launch any kernel; report what it did wrong.")(run_kernel)
app.command(short_help="Write grades as another system reads them.")(export)
app.command(short_help="Find submissions that are unusually similar.")(similar)
app.command(short_help="Make a recorded grade again; say what differs.")(replay)
app.add_typer(labs, name="labs")
app.add_typer(gradebook, name="gradebook")
app.command(short_help="What grading needs here, and how to get it.")(doctor)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"grader {__version__}")
        raise typer.Exit


@app.callback()
def grader(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the program an error came up.")
    ] = False,
) -> None:
    """Check and grade CUDA kernels, with or without a GPU.

    Exit codes: 0 everything judged passed, 1 the work fell short, 2 wrong usage or a mistake in a
    lab, 3 this machine failed.
    """


def run(arguments: Sequence[str]) -> int:
    """One command, from its words to its exit code. No traceback reaches the user, unless
    `--debug` stands somewhere among the words.
    """
    words = [word for word in arguments if word != "--debug"]
    debug = len(words) < len(arguments)
    try:
        code = int(app(words, prog_name="grader", standalone_mode=False) or 0)
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _told(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        say("stopped")
    return code


def _told(error: Exception) -> int:
    if isinstance(error, Fault):
        say(str(error))
        return error.exit_code
    if isinstance(error, UsageError):
        error.message = error.message.removeprefix("Value error, ")  # type: ignore[attr-defined]
        error.show()  # type: ignore[attr-defined]
        return 2
    if isinstance(error, BrokenPipeError):
        silence()
        return MACHINE
    if isinstance(error, typer.Abort):
        say("stopped")
        return INTERRUPTED
    say(
        f"grader failed: {type(error).__name__}: {error}\n"
        "  This is a mistake in grader or of this machine, never the submission's.\n"
        "  Run it again with --debug to see where; `grader doctor` checks the machine."
    )
    return MACHINE

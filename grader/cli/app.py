"""The `grader` command: its subcommands, and the message and exit code of every error.

The signatures of the commands define the command line. `typer` reads them for the help and for
everything that is wrong or unusual; importing it, pydantic and rich takes longer than a whole check
may. So a plain command line, which leaves no choice, is read here (`plain_call`).
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from grader import __version__
from grader.cli.terminal import (
    Argument,
    Group,
    Option,
    flush,
    open_standard_streams,
    report_failure,
    say,
)
from grader.faults import Fault, is_memory_left, is_system_error, root_fault, system_fault

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130
MACHINE = 3

HELP_OPTIONS = ("-h", "--help")

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "check": ("check:check", "Grade one submission and explain how to fix it."),
        "batch": ("batch:batch", "Grade the submissions of a whole class."),
        "explain": ("check:explain", "Show what each thread of a kernel accesses."),
        "explain-term": ("check:explain_term", "Explain a term of the reports."),
        "run": ("run:run", "Run any kernel and report its errors."),
        "submit": ("remote:submit", "Submit a file to a course on the web."),
        "status": ("remote:status", "Show what a course has graded."),
        "serve": ("portal:serve", "Serve a course on the web."),
        "worker": ("portal:worker", "Grade what is submitted to a course."),
        "export": ("export:export", "Export grades to another system."),
        "similar": ("course:similar", "Find unusually similar submissions."),
        "replay": ("replay:replay", "Repeat a recorded grade and compare."),
        "lsp": ("lsp:lsp", "Show findings in an editor while you type."),
        "doctor": ("doctor:doctor", "Check that this machine can grade."),
    }
)
"""The commands in the order of the help: where each function is, and its line there."""

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "labs": "labs:labs",
        "gradebook": "gradebook:gradebook",
        "portal": "portal:portal",
        "portal lti": "lti:lti",
    }
)
"""The words with commands of their own; one below another comes after it."""

MORE_OF_GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "labs": {
            "get": ("course:get", "Write the files to start a lab with."),
            "quiz": ("course:quiz", "Write answers.yaml with the lab's questions."),
            "new": ("course:new", "Write the files of a new lab, to edit."),
            "release": ("course:release", "Write LAB.zip for students."),
        },
        "portal": {
            "requests": ("teach:requests", "List requests to look at a grade again."),
            "answer": ("teach:answer", "Answer a request."),
            "close": ("teach:close", "Close a request."),
            "ask": ("remote:ask", "Ask for another look at a grade."),
            "comment": ("teach:comment", "Write, list or remove comments."),
            "board": ("board:board", "Show a leaderboard, take part in it."),
            "compare": ("compare:compare", "Compare two submissions."),
            "choose": ("teach:choose", "Choose the submission that counts."),
            "regrade": ("teach:regrade", "Have a lab graded again."),
            "regrades": ("teach:regrades", "Show and decide regrades."),
            "release": ("teach:release", "Decide when students see grades."),
            "similar": ("teach:similar", "Find unusually similar submissions."),
            "health": ("health:health", "Show workers, queue, errors and disk."),
            "retry": ("health:retry", "Grade again after system errors."),
            "handouts": ("materials:handouts", "Build the labs' handouts for the portal."),
            "fetch": ("materials:fetch", "Get a lab's skeleton, quiz and handout."),
            "extensions": ("groups:extensions", "List or import extensions."),
            "groups": ("groups:groups", "Show and change who submits together."),
        },
        "portal lti": {
            "sync": ("lti_sync:sync", "Send grades to the platforms now."),
            "status": ("lti_sync:status", "Show how the grades stand there."),
            "members": ("lti_sync:members", "Compare a platform's course with the roster."),
        },
    }
)


REQUIRED = object()
"""The default of a parameter that has none."""


class Parameter(NamedTuple):
    """A parameter of a command: its type without None, how it is given, and its default."""

    name: str
    type: Any
    given: Option | Argument
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether the command line has to give it."""
        return self.default is REQUIRED

    @property
    def takes_several(self) -> bool:
        """Whether its value is a list, of one word or more."""
        return get_origin(self.type) is list


def imported(place: str) -> Any:
    """Return the object of "module:name" below this package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"grader.cli.{module}"), name)


def commands_of(group: str) -> dict[str, tuple[Callable[..., int], str | None]]:
    """Return the functions of a group by their names, each with its line in the help."""
    added = MORE_OF_GROUPS.get(group, {})
    functions: dict[str, tuple[Callable[..., int], str | None]] = {}
    functions |= _group(group).commands
    functions |= {name: (imported(place), line) for name, (place, line) in added.items()}
    return functions


def _group(name: str) -> Group:
    group: Group = imported(GROUPS[name])
    return group


def parameters(function: Callable[..., int]) -> tuple[Parameter, ...]:
    """Return the parameters of a command, from its signature."""
    hints = get_type_hints(function, include_extras=True)
    names, values = [name for name in hints if name != "return"], function.__defaults__ or ()
    defaults = dict(zip(reversed(names), reversed(values), strict=False))
    return tuple(_parameter(name, hints[name], defaults.get(name, REQUIRED)) for name in names)


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    kind, given = get_args(hint)
    if get_origin(kind) is UnionType:
        kind = next(part for part in get_args(kind) if part is not type(None))
    return Parameter(name, kind, given, default)


def plain_call(words: Sequence[str]) -> Callable[[], int] | None:
    """Return the call that a command line stands for; None when typer has to read it.

    What is read here has one meaning only: known options spelled out, each with a value of its
    type in the usual form, and as many other words as the command takes.
    """
    function, rest = _function_of(words)
    if function is None:
        return None
    values = plain_values(parameters(function), rest)
    return None if values is None else functools.partial(function, **values)


def _function_of(words: Sequence[str]) -> tuple[Callable[..., int] | None, Sequence[str]]:
    if words and words[0] in COMMANDS:
        return imported(COMMANDS[words[0]][0]), words[1:]
    for count in (2, 1):
        group = " ".join(words[:count])
        if len(words) > count and group in GROUPS:
            return commands_of(group).get(words[count], (None, None))[0], words[count + 1 :]
    return None, words


def plain_values(known: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a command's parameters; None when typer has to read the words."""
    options = {n: one for one in known if isinstance(one.given, Option) for n in one.given.names}
    places = [one for one in known if isinstance(one.given, Argument)]
    values: dict[str, Any] = {one.name: one.default for one in known if not one.is_required}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word.startswith("-"):
            one = options.get(word)
            if one and one.type is bool:
                values[one.name] = True
                continue
            word = waiting.pop(0) if waiting else ""
            if word.startswith("-") and word != "-":
                return None
        else:
            one = places[0] if places else None
            places = places[0 if one and one.takes_several else 1 :]
        value = _plain_value(one, word) if one else None
        if one is None or value is None:
            return None
        values[one.name] = [*(values.get(one.name) or ()), value] if one.takes_several else value
    return values if all(one.name in values for one in known) else None


def _plain_value(one: Parameter, word: str) -> Any:
    """Return the value of a word in the usual form of its type; None for any other."""
    kind = get_args(one.type)[0] if one.takes_several else one.type
    if not word or not word.isprintable():
        return None
    if kind in (str, Path):
        return kind(word)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind._value2member_map_.get(word)
    if kind not in (int, float) or not word.isascii() or len(word) > len("1000000"):
        return None
    whole, point, fraction = word.partition(".")
    if not whole.isdigit() or (point and (kind is int or not fraction.isdigit())):
        return None
    value = kind(word)
    least, most = (one.given.settings.get(bound, value) for bound in ("min", "max"))
    return value if least <= value <= most else None


def typer_app() -> typer.Typer:
    """Return the whole command line for typer, from the signatures of all commands."""
    import typer

    app = typer.Typer(
        name="grader",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": [*HELP_OPTIONS], "max_content_width": 100},
    )
    app.callback()(_for_typer(grader))
    for name, (place, line) in COMMANDS.items():
        app.command(name, short_help=line)(_for_typer(imported(place)))
    made = {"": app}
    for group in GROUPS:
        below = made[group] = typer.Typer(no_args_is_help=True, help=_group(group).help)
        for name, (function, short_help) in commands_of(group).items():
            below.command(name, short_help=short_help)(_for_typer(function))
        above, _, word = group.rpartition(" ")
        made[above].add_typer(below, name=word)
    return app


def _for_typer(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with an annotation of each parameter that typer understands."""
    import typer

    @functools.wraps(function)
    def called(**values: Any) -> Any:
        return function(**values)

    signature, annotations, rows = inspect.signature(function), {}, []
    hints = get_type_hints(function, include_extras=True)
    for row in signature.parameters.values():
        kind, given = get_args(hints[row.name])
        if isinstance(given, Option):
            known: Any = typer.Option(*given.names, **given.settings)
        else:
            known = typer.Argument(**given.settings)
        annotations[row.name] = Annotated[kind, known]
        rows.append(row.replace(annotation=annotations[row.name]))
    called.__annotations__ = annotations
    called.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=rows, return_annotation=inspect.Signature.empty
    )
    return called


def _version(is_requested: bool) -> None:
    if is_requested:
        import typer

        typer.echo(f"grader {__version__}")
        raise typer.Exit


def grader(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, Option("--debug", help="Show the Python traceback of an error.")
    ] = False,
) -> None:
    """Grade CUDA kernels, with or without a GPU.

    Exit codes: 0 every evaluated check passes, 1 a check fails, 2 wrong usage or an error in a
    lab, 3 a system error on this machine.
    """


def _run_command(words: Sequence[str]) -> int:
    call = plain_call(words)
    try:
        code = call() if call else typer_app()(words, prog_name="grader", standalone_mode=False)
    except SystemExit as ended:  # how typer ends after a completion; a broken pipe has a context
        if ended.__context__ is not None or not isinstance(ended.code, int):
            raise
        code = ended.code
    return int(code or 0)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Tracebacks are shown only with `--debug`, which may stand anywhere among the arguments.
    """
    open_standard_streams()
    words = [word for word in arguments if word != "--debug"]
    debug = len(words) < len(arguments)
    try:
        code = _run_command(words)
        flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException as ended:  # noqa: BLE001
        # SystemExit is click's answer to every broken pipe, also inside a command; pydantic's core
        # panics with an exception that is no Exception.
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
    typer = sys.modules.get("typer")  # only typer itself raises its own errors
    if typer and isinstance(error, typer.BadParameter.__bases__[0]):
        error.message = error.message.removeprefix("Value error, ")
        error.show()
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
    if typer and isinstance(error, typer.Abort):
        say("stopped")
        return INTERRUPTED
    if is_system_error(error) or not is_memory_left():
        say(str(_system_fault(error if is_system_error(error) else MemoryError())))
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

"""A plain command line is read without typer: the values are those that typer reads.

typer is the specification. Whatever `plain_values` accepts, typer must read in the same way; what
it leaves to typer costs time only, so the usual words of each option must be accepted.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import Any, Literal, get_args, get_origin

import pytest
import typer

from grader.cli import app
from grader.cli.app import COMMANDS, GROUPS, Parameter
from grader.cli.terminal import Argument, Option

WORDS = (
    "tiled-matmul", "a.cu", "-", "--", "", " ", "0", "1", "7", "007", "1e3", "1_0", "-1", "2.5",
    ".5", "5.", "1024", "1025", "3600", "3600.5", "1" * 400, "nan", "inf", "sim", "SIM", "auto",
    "gpu ", "none", "all", "x=y", "--json=f", "ä", "\udcff", "a\tb", "-h", "--debug", "--nope", "٣",
    "true",
)  # fmt: skip
"""Words in place of a value or an argument: usual ones, and those that are read in odd ways."""

USUAL = {str: "name", int: "2", float: "1.5", bool: ""}


def functions() -> Iterator[tuple[tuple[str, ...], Callable[..., int]]]:
    for name, (place, _) in COMMANDS.items():
        yield (name,), app.imported(place)
    for group in GROUPS:
        for name, (function, _) in app.commands_of(group).items():
            yield (*group.split(), name), function


FUNCTIONS = dict(functions())


Read = Callable[[Sequence[str]], dict[str, Any] | None]


@pytest.fixture(scope="module")
def read_by_typer() -> Read:
    """A function that returns what a command gets from typer; None for wrong usage and the help."""
    for_typer = app._for_typer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "_for_typer", lambda function: for_typer(returning_its_values(function)))
        whole = typer.main.get_command(app.typer_app())

    def read(words: Sequence[str]) -> dict[str, Any] | None:
        with suppress(typer.BadParameter.__bases__[0], SystemExit), redirect_stdout(StringIO()):
            values = whole.main(list(words), prog_name="grader", standalone_mode=False)
            return values if isinstance(values, dict) else None  # the help returns a code
        return None

    return read


def returning_its_values(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(function)(lambda **values: values)


def usual_words(parameter: Parameter) -> list[str]:
    kind = get_args(parameter.type)[0] if parameter.takes_several else parameter.type
    word = USUAL.get(kind, "file")
    word = next(iter(parameter.type)).value if hasattr(parameter.type, "__members__") else word
    if isinstance(parameter.given, Argument):
        return [word]
    return [parameter.given.names[0], word] if word else [parameter.given.names[0]]


def lines(parameters: Sequence[Parameter], seed: str) -> Iterator[list[str]]:
    """Command lines: the usual ones with each option and each pair, then random ones."""
    required = [usual_words(one) for one in parameters if one.is_required]
    more = [usual_words(one) for one in parameters if not one.is_required]
    for given in itertools.chain([()], ([one] for one in more), itertools.combinations(more, 2)):
        yield list(itertools.chain(*required, *given))
        yield list(itertools.chain(*given, *required))
    draw = random.Random(seed)
    names = [
        name for one in parameters if isinstance(one.given, Option) for name in one.given.names
    ]
    for _ in range(60):
        words = [w for one in (*required, *draw.sample(more, min(2, len(more)))) for w in one]
        for _ in range(draw.randint(1, 3)):
            at = draw.randint(0, len(words))
            words[at : at + draw.randint(0, 1)] = [draw.choice((*WORDS, *names))]
        yield words


@pytest.mark.parametrize("names", FUNCTIONS, ids="-".join)
def test_plain_line_has_the_values_that_typer_reads(
    names: tuple[str, ...], read_by_typer: Read
) -> None:
    parameters = app.parameters(FUNCTIONS[names])
    for words in lines(parameters, " ".join(names)):
        values = app.plain_values(parameters, words)
        if values is None:
            continue
        expected = read_by_typer([*names, *words])
        assert values == expected, words
        types = {name: type(value) for name, value in values.items()}
        assert types == {name: type(expected[name]) for name in types}, words


@pytest.mark.parametrize("names", FUNCTIONS, ids="-".join)
def test_usual_line_is_read_without_typer(names: tuple[str, ...]) -> None:
    parameters = app.parameters(FUNCTIONS[names])
    words = [
        w for one in parameters if get_origin(one.type) is not Literal for w in usual_words(one)
    ]
    assert app.plain_call((*names, *words)) is not None


@pytest.mark.parametrize(
    "words",
    [(), ("--version",), ("check",), ("nope",), ("labs",), ("labs", "nope"), ("check", "-h")],
)
def test_other_lines_are_left_to_typer(words: tuple[str, ...]) -> None:
    assert app.plain_call(words) is None

"""The extension of IPython: `%load_ext warpgrade`, then cells that begin with `%%warpgrade LAB`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any, NoReturn

from grader import dataclass
from grader.checks.suite import checked_lab
from grader.cli.remote import submit_source
from grader.cli.terminal import Backend
from grader.faults import Fault
from grader.gpu.devices import devices
from grader.gpu.driver import unusable_gpu
from grader.grading.cases import Backend as Where
from grader.labs.model import Lab
from grader.labs.reading import lab_roots
from grader.notebook.cell import CellResult, NotGraded, grade_cell

MAGIC = "warpgrade"
LAST = "_warpgrade"
"""The variable that holds the last result."""

HELP = """%%warpgrade LAB [--on sim|gpu|auto] [--submit] [--to NAME] [--course DIR] [--all]
[--no-pictures]

Grade the CUDA C++ of this cell on the public cases of a lab. The result is shown, and kept in the
variable NAME."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are the notebook's, not the process's end."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def options() -> argparse.ArgumentParser:
    """Return the parser of the magic's line."""
    parser = _Parser(prog="%%warpgrade", add_help=False, allow_abbrev=False)
    parser.add_argument("lab")
    parser.add_argument("--on", type=Backend, default=Backend.sim, metavar="sim|gpu|auto")
    parser.add_argument("--submit", action="store_true")
    parser.add_argument("--to", default="")
    parser.add_argument("--course", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--no-pictures", action="store_true")
    return parser


@dataclass(frozen=True)
class Order:
    """What a cell's magic asks for, and the source with blank lines up to the cell's own."""

    lab: Lab
    name: str
    source: str
    given: argparse.Namespace


class Extension:
    """The magic of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._raw = ""

    def note_cell(self, info: Any) -> None:
        """Keep the text of the cell that is about to run: IPython drops its first blank lines."""
        self._raw = str(info.raw_cell or "")

    def run(self, line: str, cell: str) -> CellResult:
        """Grade a cell.

        Raises:
            UsageError: The line or the lab has a mistake.
            NotGraded: This machine cannot grade.
        """
        from IPython.core.error import UsageError

        try:
            given = options().parse_args(shlex.split(line))
            if given.to and not given.to.isidentifier():
                raise ValueError(f"{given.to} is not a name of a variable")
            lab = checked_lab(given.lab, lab_roots(given.course))
        except (ValueError, Fault) as error:
            raise UsageError(f"{error}\n\n{HELP}") from None
        number = self.shell.displayhook.prompt_count  # the shell's own may be the next cell's
        order = Order(lab, f"In[{number}]", "\n" * self._lines_before(cell) + cell, given)
        try:
            result = graded(order)
        except Fault as fault:
            raise NotGraded(str(fault)) from None
        self.shell.user_ns.update({LAST: result, **({given.to: result} if given.to else {})})
        return result

    def _lines_before(self, cell: str) -> int:
        """Return how many lines of the notebook's cell come before its source."""
        lines = self._raw.split("\n")
        for number, line in enumerate(lines, 1):  # blank lines, or %%time, may come first
            if line.startswith(f"%%{MAGIC}") and "\n".join(lines[number:]).strip() == cell.strip():
                return number
        return 1


def graded(order: Order) -> CellResult:
    """Submit the source where it is asked for, and grade it. Raises Fault."""
    notes = []
    if order.given.submit:
        try:
            notes.append(submit_source(order.lab.name, order.source))
        except Fault as fault:
            notes.append(f"Not submitted: {fault}")
    where: Where = "sim"
    if order.given.on is not Backend.sim:
        missing = unusable_gpu()
        where = "sim" if missing else "gpu"
        if missing and (order.given.on is Backend.gpu or devices()):
            reason = str(missing)
            notes.append(f"The kernel runs on the CPU simulator, not on a GPU: {reason}")
    return grade_cell(
        order.lab, order.source, name=order.name, on=where, notes=tuple(notes),
        pictures=not order.given.no_pictures, every=order.given.all,
    )  # fmt: skip


def load_ipython_extension(shell: Any) -> None:
    """Add the magic to a shell, and start what grading needs, so that the first cell need not."""
    from grader.labs.reference import prepare_processes
    from grader.sandbox.call import prepare_template

    extension = Extension(shell)
    shell.events.register("pre_run_cell", extension.note_cell)
    shell.register_magic_function(extension.run, "cell", MAGIC)
    shell.user_ns.setdefault(LAST, None)
    prepare_processes()
    prepare_template()


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magic from a shell."""
    magic = shell.magics_manager.magics["cell"].pop(MAGIC, None)
    if magic is not None:
        shell.events.unregister("pre_run_cell", magic.__self__.note_cell)

"""`grader labs quiz`, `new` and `release`: what students are handed, and a lab to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.labs import labs
from grader.cli.options import Course
from grader.cli.terminal import say, write_file
from grader.fault import LabFault

Name = Annotated[str, typer.Argument(metavar="LAB", help="The lab; see `grader labs list`.")]


@labs.command("quiz")
def quiz(
    lab: Name,
    course: Course = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write it.  [default: answers.yaml]"),
    ] = None,
    to_stdout: Annotated[bool, typer.Option("--stdout", help="Print it; write no file.")] = False,
) -> int:
    """Write answers.yaml with the lab's questions, to fill in; `grader check` marks it."""
    from grader.answerform import form
    from grader.answersheet import FILE
    from grader.labspec import lab_roots, load_lab

    held = load_lab(lab, lab_roots(course))
    if not held.quiz:
        raise LabFault(f"{lab} has no quiz", mend="there is nothing to answer")
    text = form(held)
    path = out or Path(FILE)
    if to_stdout:
        typer.echo(text, nl=False)
        return 0
    if path.exists() or path.is_symlink():
        mend = "it may have answers in it: move it away, or name another file with --out"
        raise LabFault("there is such a file already", where=str(path), mend=mend)
    write_file(path, text.encode())
    say(f"answer the {len(held.quiz)} questions, then: grader check {lab} {lab}.cu")
    return 0


@labs.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new lab, such as tiled-matmul.")],
    course: Course = None,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Its title.  [default: from the name]")
    ] = "",
) -> int:
    """Write a new lab that holds as it is, to edit: spec, oracle, kernels, wrong twins, handout."""
    from grader.labspec import lab_roots
    from grader.newlab.write import write_new

    folder = course if course is not None else lab_roots()[0].parent
    count = 0
    for path in write_new(folder, name, title):
        say(f"wrote {path}")
        count += 1
    where = f" --course {course}" if course is not None else ""
    say(f"{count} files. The lab scales and adds vectors until you make it yours:")
    say(f"  1. edit labs/{name}/lab.yaml and reference.py: what is computed, on which cases")
    say(f"  2. edit solutions/{name}/{name}.cu, then: grader labs skeleton {name}{where}")
    say(f"  3. edit the wrong twins and the handout, then: grader labs check {name}{where}")
    return 0

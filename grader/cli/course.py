"""`grader labs quiz`, `new` and `release`: what students are handed, and a lab to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.labs import labs
from grader.cli.options import Course
from grader.cli.terminal import doing, finished, say, write_file
from grader.faults import LabFault, MachineFault, install_command

if TYPE_CHECKING:
    from grader.labs.model import Lab

Name = Annotated[str, typer.Argument(metavar="LAB", help="The lab; see `grader labs list`.")]


@labs.command("quiz", short_help="Write answers.yaml, to fill in.")
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
    from grader.labs.quiz import ANSWERS_FILE, answer_form
    from grader.labs.reading import lab_roots, load_lab

    held = load_lab(lab, lab_roots(course))
    if not held.quiz:
        raise LabFault(f"{lab} has no quiz", fix="there is nothing to answer")
    text = answer_form(held)
    path = out or Path(ANSWERS_FILE)
    if to_stdout:
        typer.echo(text, nl=False)
        return 0
    if path.exists() or path.is_symlink():
        fix = "it may have answers in it: move it away, or name another file with --out"
        raise LabFault("there is such a file already", where=str(path), fix=fix)
    write_file(path, text.encode())
    say(f"answer the {len(held.quiz)} questions, then: grader check {lab} {lab}.cu")
    return 0


@labs.command("new", short_help="Write a new lab that holds, to edit.")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new lab, such as tiled-matmul.")],
    course: Course = None,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Its title.  [default: from the name]")
    ] = "",
) -> int:
    """Write a new lab that holds as it is, to edit: spec, oracle, kernels, wrong twins, handout."""
    from grader.authoring.new_lab import write_new
    from grader.labs.reading import lab_roots

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


@labs.command("release", short_help="Write LAB.zip for students.")
def release(
    lab: Name,
    course: Course = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder to write LAB.zip to.")
    ] = Path("."),
) -> int:
    """Write LAB.zip for students: skeleton, handout, questions, public cases; nothing secret."""
    from grader.authoring.release import leaks, release_files, zipped
    from grader.labs.reading import lab_roots, load_lab

    held = load_lab(lab, lab_roots(course))
    if not out.is_dir():
        raise LabFault("there is no such folder", where=str(out), fix="make it first")
    files = release_files(held, handout(held))
    solution = held.solution.read_text("utf-8") if held.solution.is_file() else ""
    told = list(leaks(held, solution, files))
    if told:
        more = f", and {len(told) - 1} more" if told[1:] else ""
        raise LabFault(f"{told[0]}{more}", where=lab, fix="nothing was written: take it out first")
    for name in files:
        say(f"  {name}")
    write_file(out / f"{lab}.zip", zipped(files))
    return 0


def handout(lab: Lab) -> dict[str, bytes]:
    """The lab's page as HTML and PDF; nothing when it has none. Raises MachineFault when what
    builds pages is not installed.
    """
    import tempfile

    try:
        from grader.authoring.handouts.build import handout_of, lab_pages
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("grader"):
            raise
        raise MachineFault(
            f"pages cannot be built: there is no Python package {missing.name}",
            fix=install_command("handouts"),
        ) from None
    if not handout_of(lab).is_file():
        say(f"there is no {handout_of(lab)}: the zip has no handout")
        return {}
    doing(f"{lab.name}: handout")
    with tempfile.TemporaryDirectory() as folder:
        html, pdf = lab_pages(lab, Path(folder))
    finished()
    return {f"{lab.name}.html": html.encode(), f"{lab.name}.pdf": pdf}

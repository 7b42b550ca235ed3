"""`grader labs quiz`, `new` and `release`: the files of students, and a new lab to edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.options import Course, LabName
from grader.cli.terminal import doing, finished, say, write, write_file
from grader.faults import LabFault, MachineFault, install_command

if TYPE_CHECKING:
    from grader.labs.model import Lab


def quiz(
    lab: LabName,
    course: Course = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write.  [default: answers.yaml]"),
    ] = None,
    print_only: Annotated[
        bool, typer.Option("--stdout", help="Print it to stdout and write no file.")
    ] = False,
) -> int:
    """Write answers.yaml with the questions of the lab.

    Fill in the answers and keep the file next to your .cu file: `grader check` grades it.
    """
    from grader.labs.quiz import ANSWERS_FILE, answer_form
    from grader.labs.reading import lab_roots, load_lab

    loaded_lab = load_lab(lab, lab_roots(course))
    if not loaded_lab.quiz:
        raise LabFault(f"{lab} has no quiz", fix="run `grader check` without answers.yaml")
    text = answer_form(loaded_lab)
    path = out or Path(ANSWERS_FILE)
    if print_only:
        write(text)
        return 0
    if path.exists() or path.is_symlink():
        fix = "move it, because it may contain answers, or name another file with --out"
        raise LabFault("the file already exists", where=str(path), fix=fix)
    write_file(path, text.encode())
    say(f"answer the {len(loaded_lab.quiz)} questions, then run: grader check {lab} {lab}.cu")
    return 0


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name, such as tiled-matmul.")],
    course: Course = None,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="The title.  [default: the name]")
    ] = "",
) -> int:
    """Write the files of a new lab, to edit.

    The lab is small and passes `grader labs check`: lab.yaml, reference.py, the solution, the
    baseline, incorrect variants and the handout.
    """
    from grader.authoring.new_lab import write_new
    from grader.labs.reading import lab_roots

    folder = course if course is not None else lab_roots()[0].parent
    count = 0
    for path in write_new(folder, name, title):
        say(f"wrote {path}")
        count += 1
    where = f" --course {course}" if course is not None else ""
    say(f"{count} files. The lab scales and adds vectors. To make your own lab of it:")
    say(f"  1. edit labs/{name}/lab.yaml and reference.py: the computation and its cases")
    say(f"  2. edit solutions/{name}/{name}.cu, then run: grader labs skeleton {name}{where}")
    say(f"  3. edit the incorrect variants in solutions/{name}/wrong/ and the handout, then run:")
    say(f"     grader labs check {name}{where}")
    return 0


def release(
    lab: LabName,
    course: Course = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder to write LAB.zip to.")
    ] = Path("."),
) -> int:
    """Write LAB.zip for students.

    It contains the skeleton, the handout, the questions and the public cases. Nothing is written
    when a file reveals a hidden case, the solution or an answer.
    """
    from grader.authoring.release import leaks, release_files, zipped
    from grader.labs.reading import lab_roots, load_lab

    loaded_lab = load_lab(lab, lab_roots(course))
    if not out.is_dir():
        raise LabFault("the folder does not exist", where=str(out), fix="create it first")
    files = release_files(loaded_lab, handout(loaded_lab))
    solution = loaded_lab.solution.read_text("utf-8") if loaded_lab.solution.is_file() else ""
    secrets = list(leaks(loaded_lab, solution, files))
    if secrets:
        more = f", and {len(secrets) - 1} more" if secrets[1:] else ""
        fix = "remove it and run the command again; nothing was written"
        raise LabFault(f"{secrets[0]}{more}", where=lab, fix=fix)
    for name in files:
        say(f"  {name}")
    write_file(out / f"{lab}.zip", zipped(files))
    return 0


def handout(lab: Lab) -> dict[str, bytes]:
    """Return the lab's page as HTML and PDF by file name; empty when the lab has no page.

    Raises:
        MachineFault: The packages that build pages are not installed.
    """
    import tempfile

    try:
        from grader.authoring.handouts.build import handout_of, lab_pages
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("grader"):
            raise
        raise MachineFault(
            f"cannot build the handout: the Python package {missing.name} is not installed",
            fix=install_command("handouts"),
        ) from None
    if not handout_of(lab).is_file():
        say(f"the zip has no handout, because {handout_of(lab)} does not exist")
        return {}
    doing(f"{lab.name}: handout")
    with tempfile.TemporaryDirectory() as folder:
        html, pdf = lab_pages(lab, Path(folder))
    finished()
    return {f"{lab.name}.html": html.encode(), f"{lab.name}.pdf": pdf}

"""`grader similar`: which submissions of a class a person should look at together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.options import Course, Json
from grader.cli.terminal import STDOUT, check_writable, say, show, width, write_file, write_json
from grader.faults import Fault, LabFault

LARGEST = 64 << 10
"""Characters of a submission that are compared: kernels are far shorter, and no time is lost on
what is not a kernel."""

LabName = Annotated[str, typer.Argument(metavar="LAB", help="The lab; see `grader labs list`.")]


def similar(
    lab: LabName,
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder or zip, as for `grader batch`.")
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="DIR", help="Write pages, pairs side by side.")
    ] = None,
    json: Json = None,
    course: Course = None,
    known: Annotated[
        list[Path] | None,
        typer.Option("--known", metavar="FILE", help="Code that everybody had; may be repeated."),
    ] = None,
) -> int:
    """Find submissions that are unusually similar, even when renamed or reordered.

    The skeleton, the baseline, the solution and what many share do not count. What is found is a
    reason to read both, never a verdict; the exit code is 0 either way.
    """
    from grader.batch.similarity import compare
    from grader.batch.similarity_pages import similarity_json, similarity_report
    from grader.labs.reading import lab_roots, load_lab

    check_writable(json)
    has_labs = course is not None and (course / "labs").is_dir()
    held = load_lab(lab, lab_roots(course if has_labs else None))
    given = [path for path in (held.skeleton, held.baseline, held.solution) if path.is_file()]
    if html is not None:
        _make(html)
    texts = _submissions(place, lab)
    found = compare(texts, [_text(path) for path in (*given, *(known or ()))])
    if html is not None:
        from grader.batch.similarity_pages import similarity_pages

        for name, page in similarity_pages(held, found, texts).items():
            write_file(html / name, page)
    if json:
        write_json(similarity_json(found), json)
    if json != STDOUT:
        show(similarity_report(found, width()))
    return 0


def _submissions(place: Path, lab: str) -> Mapping[str, str]:
    """Every submission that is text, by its student's name; the others are told."""
    from grader.submissions.files import parse_submission
    from grader.submissions.gather import find_submissions

    gathered = find_submissions(place, lab)
    for note in gathered.notes:
        say(note)
    texts = {}
    for one in gathered.submissions:
        try:
            text = parse_submission(one.read(), one.name).text
        except Fault as fault:
            say(f"left out: {one.student}: {fault.what}")
            continue
        if len(text) > LARGEST:
            say(f"left out: {one.student}: the file is larger than {LARGEST >> 10} KiB")
            continue
        texts[one.student] = text
    return texts


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig", "replace")
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), fix="name a source file with --known") from None


def _make(folder: Path) -> None:
    """The folder for the pages, before the work is done and not after it."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        what = f"cannot make the folder: {error.strerror}"
        raise LabFault(what, where=str(folder), fix="name another one with --html") from None

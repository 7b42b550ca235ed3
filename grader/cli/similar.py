"""`grader similar`: find submissions of a class that are unusually similar and need review."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.options import Course, Json, LabName
from grader.cli.terminal import STDOUT, check_writable, say, show, width, write_file, write_json
from grader.faults import Fault, LabFault

MAX_CHARACTERS = 64 << 10
"""Longer submissions are not compared: kernels are far shorter."""


def similar(
    lab: LabName,
    place: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The submissions: a folder or zip, as for `grader batch`."
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="DIR", help="Write pages with the pairs side by side to DIR."
        ),
    ] = None,
    json: Json = None,
    course: Course = None,
    known: Annotated[
        list[Path] | None,
        typer.Option(
            "--known", metavar="FILE", help="Code that all students were given; repeatable."
        ),
    ] = None,
) -> int:
    """Find pairs of submissions that are unusually similar.

    Renamed variables and reordered code are recognized. Code of the skeleton, the baseline and the
    solution, and code that many submissions share, is ignored. A pair needs review by a person; it
    is not a verdict. The exit code is 0 with or without pairs.
    """
    from grader.batch.similarity import compare
    from grader.batch.similarity_pages import similarity_json, similarity_report
    from grader.labs.reading import lab_roots, load_lab

    check_writable(json)
    has_labs = course is not None and (course / "labs").is_dir()
    lab_model = load_lab(lab, lab_roots(course if has_labs else None))
    shared_files = [
        path
        for path in (lab_model.skeleton, lab_model.baseline, lab_model.solution)
        if path.is_file()
    ]
    if html is not None:
        _create_folder(html)
    texts = _submissions(place, lab)
    pairs = compare(texts, [_text(path) for path in (*shared_files, *(known or ()))])
    if html is not None:
        from grader.batch.similarity_pages import similarity_pages

        for name, page in similarity_pages(lab_model, pairs, texts).items():
            write_file(html / name, page)
    if json:
        write_json(similarity_json(pairs), json)
    if json != STDOUT:
        show(similarity_report(pairs, width()))
    return 0


def _submissions(place: Path, lab: str) -> Mapping[str, str]:
    """Return every submission that is text, by student; report the others on stderr."""
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
        if len(text) > MAX_CHARACTERS:
            say(f"left out: {one.student}: the file is larger than {MAX_CHARACTERS >> 10} KiB")
            continue
        texts[one.student] = text
    return texts


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig", "replace")
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), fix="name a source file with --known") from None


def _create_folder(folder: Path) -> None:
    """Create the folder for the pages, before the work starts."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        what = f"cannot create the folder: {error.strerror}"
        raise LabFault(what, where=str(folder), fix="name another folder with --html") from None

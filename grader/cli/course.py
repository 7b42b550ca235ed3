"""`grader labs get`, `quiz`, `new`, `release`, and `grader similar`: what surrounds grading.

The files of students, a new lab to edit, and the submissions that are unusually similar.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from grader.cli.terminal import (
    STDOUT,
    Argument,
    Course,
    Json,
    LabName,
    Option,
    check_writable,
    doing,
    finished,
    say,
    show,
    width,
    write,
    write_file,
    write_json,
)
from grader.faults import Fault, LabFault, MachineFault, install_command

if TYPE_CHECKING:
    from grader.labs.model import Lab


MAX_CHARACTERS = 64 << 10
"""Longer submissions are not compared: kernels are far shorter."""


def get(
    lab: LabName,
    folder: Annotated[
        Path | None, Argument(metavar="[DIR]", help="The folder to write to.  [default: LAB]")
    ] = None,
    course: Course = None,
    force: Annotated[
        bool, Option("--force", help="Replace files that are there, your own included.")
    ] = False,
) -> int:
    """Write a lab's files to a folder, to work there.

    These are the skeleton, the page of the lab, a README with the command that checks it, tasks for
    Visual Studio Code, and answers.yaml when the lab has questions. With --course, the public part
    of the lab is added. When a file is there with other content, nothing is written.
    """
    from grader.authoring.content import work_files
    from grader.labs.reading import lab_roots, load_lab

    loaded_lab = load_lab(lab, lab_roots(course))
    own = course is not None
    files = work_files(loaded_lab, page_of(loaded_lab), own=own)
    write_work_folder(folder or Path(lab), files, force=force)
    words = f"grader check {lab} {lab}.cu{' --course .' if own else ''}"
    say(f"write your kernel, then run in {folder or lab}: {words}")
    return 0


def write_work_folder(folder: Path, files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Write files to a folder. Raises LabFault, and writes nothing, where a file would be lost."""
    places = {folder / name: data for name, data in files.items()}
    lost = [path for path, data in places.items() if _differs(path, data)]
    if lost and not force:
        more = f", and {len(lost) - 1} more" if lost[1:] else ""
        fix = "name another folder, or add --force to replace it; nothing was written"
        what = f"the file is there already, with other content{more}"
        raise LabFault(what, where=str(lost[0]), fix=fix)
    for path, data in places.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot create the folder: {error.strerror}"
            raise LabFault(what, where=str(path.parent), fix="name another folder") from None
        write_file(path, data)


def _differs(path: Path, data: bytes) -> bool:
    """Return whether something other than a file with this content is at the path."""
    if path.is_symlink() or not path.exists():
        return path.is_symlink()
    return not path.is_file() or path.read_bytes() != data


def page_of(lab: Lab) -> bytes | None:
    """Return the lab's page as HTML; None where it is not at hand and cannot be built."""
    from importlib.util import find_spec

    from grader.authoring.content import bundled_page

    page = bundled_page(lab)
    if page is not None:
        return page
    if not all(map(find_spec, ("matplotlib", "pypandoc", "typst"))):
        say(f"the folder gets no page of the lab; to build it, {install_command('handouts')}")
        return None
    return next(iter(handout(lab, pdf=False).values()), None)


def quiz(
    lab: LabName,
    course: Course = None,
    out: Annotated[
        Path | None,
        Option("--out", metavar="FILE", help="The file to write.  [default: answers.yaml]"),
    ] = None,
    print_only: Annotated[
        bool, Option("--stdout", help="Print it to stdout and write no file.")
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
    name: Annotated[str, Argument(metavar="NAME", help="The name, such as tiled-matmul.")],
    course: Course = None,
    title: Annotated[
        str, Option("--title", metavar="TEXT", help="The title.  [default: the name]")
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
        Path, Option("--out", metavar="DIR", help="The folder to write LAB.zip to.")
    ] = Path("."),
) -> int:
    """Write LAB.zip for students.

    It contains the skeleton, the handout, the questions and the public cases. Nothing is written
    when a file reveals a hidden case, the solution or an answer, or when the lab does not hold: its
    solution must pass on the public cases.
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
    _require_sound(loaded_lab)
    for name in files:
        say(f"  {name}")
    write_file(out / f"{lab}.zip", zipped(files))
    return 0


def _require_sound(lab: Lab) -> None:
    """Raise LabFault where the lab's own solution fails a check on the public cases."""
    from grader.cli.check import grade_file
    from grader.grading.cases import RunOptions

    if not lab.solution.is_file():
        return
    doing("checking the solution")
    graded = grade_file(lab, lab.solution, RunOptions("sim"), quiet=True)
    finished()
    evaluated = [result for result in graded.checks if result.name != "quiz"]
    failed = [result.name for result in evaluated if result.status in ("fail", "blocked")]
    if failed:
        what = f"the lab does not hold: its solution does not pass {', '.join(failed)}"
        fix = f"run `grader labs check {lab.name}`, which says what to correct; nothing was written"
        raise LabFault(what, where=lab.name, fix=fix)


def handout(lab: Lab, *, pdf: bool = True) -> dict[str, bytes]:
    """Return the lab's page as HTML, and as PDF, by file name; empty when the lab has no page.

    Raises:
        MachineFault: The packages that build pages are not installed.
    """
    import tempfile

    try:
        from grader.authoring.handouts.build import handout_of, lab_page, lab_pages
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("grader"):
            raise
        raise MachineFault(
            f"cannot build the handout: the Python package {missing.name} is not installed",
            fix=install_command("handouts"),
        ) from None
    if not handout_of(lab).is_file():
        say(f"there is no handout, because {handout_of(lab)} does not exist")
        return {}
    doing(f"{lab.name}: handout")
    with tempfile.TemporaryDirectory() as folder:
        if not pdf:
            return {f"{lab.name}.html": lab_page(lab, Path(folder)).encode()}
        html, printed = lab_pages(lab, Path(folder))
    finished()
    return {f"{lab.name}.html": html.encode(), f"{lab.name}.pdf": printed}


def similar(
    lab: LabName,
    place: Annotated[
        Path,
        Argument(metavar="DIR", help="The submissions: a folder or zip, as for `grader batch`."),
    ],
    html: Annotated[
        Path | None,
        Option("--html", metavar="DIR", help="Write pages with the pairs side by side to DIR."),
    ] = None,
    json: Json = None,
    course: Course = None,
    known: Annotated[
        list[Path] | None,
        Option("--known", metavar="FILE", help="Code that all students were given; repeatable."),
    ] = None,
) -> int:
    """Find pairs of submissions that are unusually similar.

    Renamed variables and reordered code are recognized. Code of the skeleton, the baseline and the
    solution, and code that many submissions share, is ignored. A pair needs review by a person; it
    is not a verdict. The exit code is 0 with or without pairs.
    """
    from grader.labs.reading import lab_roots, load_lab

    check_writable(json)
    has_labs = course is not None and (course / "labs").is_dir()
    lab_model = load_lab(lab, lab_roots(course if has_labs else None))
    if html is not None:
        create_folder(html)
    texts = _submissions(place, lab)
    report_similar(lab_model, texts, known or (), html, json, _together(course, lab, texts))
    return 0


def report_similar(
    lab: Lab, texts: Mapping[str, str], known: Sequence[Path], html: Path | None,
    json: str | None, together: Collection[frozenset[str]] = frozenset(), **more: Any,
) -> None:  # fmt: skip
    """Compare submissions and write the report; `more` is added to its JSON.

    `together` are the pairs who work in one group.
    """
    from grader.batch.similarity import compare
    from grader.batch.similarity_pages import (
        method_note,
        similarity_json,
        similarity_pages,
        similarity_report,
    )

    shared = [path for path in (lab.skeleton, lab.baseline, lab.solution) if path.is_file()]
    found = compare(texts, [_text(path) for path in (*shared, *known)], together)
    if html is not None:
        for name, page in similarity_pages(lab, found, texts).items():
            write_file(html / name, page)
    if json:
        more = {"method": method_note(found), **more} if more else {}
        write_json({**similarity_json(found), **more}, json)
    if json != STDOUT:
        show(similarity_report(found, width()))


def _submissions(place: Path, lab: str) -> Mapping[str, str]:
    """Return every submission that is text, by student; report the others on stderr."""
    from grader.submissions.gather import find_submissions
    from grader.submissions.sources import Wanted

    gathered = find_submissions(place, lab)
    for note in gathered.notes:
        say(note)
    texts = {}
    for one in gathered.submissions:
        try:
            text = one.submission(Wanted(lab)).text
        except Fault as fault:
            say(f"left out: {one.student}: {fault.what}")
            continue
        if len(text) > MAX_CHARACTERS:
            say(f"left out: {one.student}: the file is larger than {MAX_CHARACTERS >> 10} KiB")
            continue
        texts[one.student] = text
    return texts


def _together(
    folder: Path | None, lab: str, texts: Mapping[str, str]
) -> Collection[frozenset[str]]:  # fmt: skip
    """Return the pairs of submissions whose students work in one group of the course."""
    from grader.cli.batch import apply_course
    from grader.gradebook.book import open_gradebook
    from grader.gradebook.course import COURSE_FILE, read_course

    if folder is None or not (folder / COURSE_FILE).is_file():
        return ()
    course = read_course(folder)
    if "://" not in course.gradebook and not Path(course.gradebook).is_file():
        return ()  # opening it would create it
    book = open_gradebook(course.gradebook)
    try:
        apply_course(book, course)
        pairs = book.groups.together(lab)
    finally:
        book.close()
    names: dict[str, list[str]] = {}
    for name in texts:
        names.setdefault(course.student_id(name), []).append(name)
    found = {
        frozenset((one, two))
        for pair in pairs
        for first, second in [sorted(pair)]
        for one in names.get(first, ())
        for two in names.get(second, ())
    }
    if found:
        say(f"left out: {len(found)} pairs of students who work in one group")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig", "replace")
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), fix="name a source file with --known") from None


def create_folder(folder: Path) -> None:
    """Create the folder for the pages, before the work starts."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        what = f"cannot create the folder: {error.strerror}"
        raise LabFault(what, where=str(folder), fix="name another folder with --html") from None

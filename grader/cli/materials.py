"""`grader portal handouts` and `fetch`: what a lab gives its students, built and fetched."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import Annotated
from urllib.parse import quote

from grader.cli.portal import CourseFolder
from grader.cli.remote import RemoteCourse, Url
from grader.cli.terminal import Argument, LabName, Option, doing, finished, say, write_file
from grader.faults import LabFault, MachineFault, install_command


def handouts(
    labs: Annotated[
        list[str] | None, Argument(metavar="[LAB...]", help="The labs; all when left out.")
    ] = None,
    course: CourseFolder = Path("."),
) -> int:
    """Build the handouts of a course's labs, as `make handouts` does, for the portal to show.

    They are written to handouts/LAB.html in the folder of course.yaml. A server that runs shows
    them at once. Run this again after a change of a lab.
    """
    from grader.gradebook.course import read_course
    from grader.portal.site import labs_of
    from grader.portal.task.handouts import built_page

    try:
        from grader.authoring.handouts.build import handout_of, lab_html
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("grader"):
            raise
        what = f"cannot build handouts: the Python package {missing.name} is not installed"
        raise MachineFault(what, fix=install_command("handouts")) from None
    course_file = read_course(course)
    known = labs_of(course_file)
    for name in labs or known:
        course_file.policy(name)
        if not handout_of(known[name]).is_file():
            say(f"{name}: there is no handout: {handout_of(known[name])} does not exist")
            continue
        doing(f"{name}: handout")
        with tempfile.TemporaryDirectory() as folder:
            text = lab_html(known[name], Path(folder))
        finished()
        path = built_page(course_file, name)
        path.parent.mkdir(exist_ok=True)
        write_file(path, text.encode())
        say(f"wrote {path}")
    return 0


def fetch(
    lab: LabName,
    out: Annotated[
        Path, Option("--out", metavar="DIR", help="The folder to write the files to.")
    ] = Path("."),
    url: Url = "",
) -> int:
    """Get the skeleton, the questions and the handout of a lab of a course on the web.

    A file that exists is kept, because it may be your work.
    """
    if not out.is_dir():
        raise LabFault("the folder does not exist", where=str(out), fix="create it first")
    files = RemoteCourse(url).get(f"/labs/{quote(lab, safe='')}/files")["files"]
    for name, text in files.items():
        if PurePath(name).name != name or name in (".", ".."):
            raise LabFault(f"the course names a file `{name}`", fix="tell your instructor")
        path = out / name
        if path.exists() or path.is_symlink():
            say(f"kept {path}, which exists")
            continue
        write_file(path, text.encode())
        say(f"wrote {path}")
    return 0

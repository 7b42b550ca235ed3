"""The labs that an installed package brings along, and the folder in which a student works on one.

The package has the public part of each lab only, as `grader labs release` gives it to students:
skeleton, reference, public cases, questions without their answers, and the page. `bundle` refuses
a file that reveals a hidden case or the solution. `deploy/wheels.py` puts the bundle into wheels
and the source distribution. Files of a work folder name the lab; none depends on where the package
is installed.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grader import regex
from grader.authoring.release import leaks, release_files
from grader.faults import Fault, LabFault
from grader.grading.estimate.machine import public_text, read_machine
from grader.labs.files import write_atomically
from grader.labs.model import MACHINES, Lab
from grader.labs.quiz import ANSWERS_FILE, answer_form
from grader.labs.reading import list_labs, load_lab

HANDOUTS = "handouts"
"""The folder of the pages, next to `labs/`, in a course and in the package."""

TASKS = ".vscode/tasks.json"
MATCHER = r"^(.+?):(\d+):(\d+):\s+(error|warning|note):\s+(.*)$"
"""A line of a compiler's message, as GCC writes it: file, line, column, severity, text."""

WATCH_BEGINS, WATCH_ENDS = "grader: checking", "grader: waiting for changes of"
"""How the lines begin that `grader check --watch` writes before and after the problems."""

_FIGURE = regex(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")

README = """\
# {title}

Write your kernel into `{lab}.cu`. Then check it:

    grader check {lab} {lab}.cu{course}

No GPU is needed. `grader explain {lab} {lab}.cu{course}` shows in pictures what each thread
accesses, and `grader doctor` checks your machine. In Visual Studio Code, Run Task, "grader: check"
does the same and lists the findings under Problems; "grader: watch" does it on every save.
"""
PAGE = "\nThe lab's page, with pictures: `{page}`. Open it in a browser.\n"
QUESTIONS = "\nThe lab has questions: write each answer after its colon in `{file}`.\n"


def bundle(lab: Lab, page: str = "") -> Mapping[str, bytes]:
    """Return the files of one lab for the package, by their paths in a course's folder.

    Args:
        lab: The lab of a course.
        page: The lab's page as HTML, "" for none.

    Raises:
        LabFault: A file is missing, or reveals a secret.
    """
    name = lab.name
    pages = {f"{name}.html": page.encode()} if page else {}
    released = release_files(lab, pages)
    solution = lab.solution.read_text("utf-8") if lab.solution.is_file() else ""
    for secret in leaks(lab, solution, released):
        raise LabFault(secret, where=name, fix="remove it; nothing was written")
    inner = f"{name}/labs/{name}/"
    files = {
        f"labs/{name}/{path.removeprefix(inner)}": data
        for path, data in released.items()
        if path.startswith(inner)
    }
    files[f"labs/{name}/{name}.cu"] = released[f"{name}/{name}.cu"]
    return files | {f"{HANDOUTS}/{page}": data for page, data in sorted(pages.items())}


def bundled_page(lab: Lab) -> bytes | None:
    """Return the lab's page as HTML where the package has it, else None."""
    file = lab.folder.parent.parent / HANDOUTS / f"{lab.name}.html"
    return file.read_bytes() if file.is_file() else None


def work_files(lab: Lab, page: bytes | None, *, own: bool = False) -> Mapping[str, bytes]:
    """Return the files to work with on a lab, by their paths in the student's folder.

    These are the skeleton, a README with the command that checks it, tasks for Visual Studio Code,
    the lab's page where there is one, and the answer sheet of a lab with questions. The lab of a
    course, which no package has (`own`), comes with its public part in `labs/`.

    Raises:
        LabFault: A file cannot be read, a question cannot be shown, or a file reveals a secret.
    """
    options = ("--course", ".") if own else ()
    course = "".join(f" {word}" for word in options)
    readme = README.format(title=lab.title, lab=lab.name, course=course)
    try:
        files = {f"{lab.name}.cu": lab.skeleton.read_bytes()}
    except OSError as error:
        what = f"cannot read the skeleton: {error.strerror}"
        raise LabFault(what, where=str(lab.skeleton), fix="restore the file") from None
    if page is not None:
        files[f"{lab.name}.html"] = page
        readme += PAGE.format(page=f"{lab.name}.html")
    if lab.quiz:
        files[ANSWERS_FILE] = answer_form(lab).encode()
        readme += QUESTIONS.format(file=ANSWERS_FILE)
    tasks = json.dumps(editor_tasks(lab.name, options), indent=2) + "\n"
    files |= {"README.md": readme.encode(), TASKS: tasks.encode()}
    return {**files, **(bundle(lab) if own else {})}


def editor_tasks(lab: str, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return tasks.json of Visual Studio Code: tasks that check the file once and on every save.

    Their problem matchers read lines such as `mine.cu:14:5: error: ...`; the second one begins and
    ends with the lines that `grader check --watch` writes around them.
    """
    words = ["check", lab, f"{lab}.cu", *options, "--format=gcc"]
    check = {**_task("grader: check", words), "group": {"kind": "build", "isDefault": True}}
    watch = {**_task("grader: watch", [*words, "--watch"]), "isBackground": True}
    watch["problemMatcher"]["background"] = {
        "activeOnStart": True,
        "beginsPattern": f"^{WATCH_BEGINS} ",
        "endsPattern": f"^{WATCH_ENDS} ",
    }
    return {"version": "2.0.0", "tasks": [check, watch]}


def _task(label: str, words: Sequence[str]) -> dict[str, Any]:
    groups = ("file", "line", "column", "severity", "message")
    return {
        "label": label,
        "type": "process",
        "command": "grader",
        "args": list(words),
        "options": {"cwd": "${workspaceFolder}"},
        "presentation": {"reveal": "always", "panel": "dedicated", "clear": True},
        "problemMatcher": {
            "owner": "grader",
            "source": "grader",
            "fileLocation": ["autoDetect", "${workspaceFolder}"],
            "pattern": {"regexp": MATCHER, **{name: at for at, name in enumerate(groups, 1)}},
        },
    }


def write_bundle(
    out: Path, pages: Sequence[str] | None = None, announce: Callable[[str], None] = print
) -> int:
    """Write the bundle of every lab of this checkout to the folder `out`; return its bytes.

    Args:
        out: The folder, which has `labs/` and `handouts/` then, and the measured machines.
        pages: The labs whose pages are built; all of them when None.
        announce: Called with the name of each lab.

    Raises:
        LabFault: A lab has a mistake, or reveals a secret.
        MachineFault: A file cannot be written.
    """
    total, machines = 0, dict[Path, None]()
    for name in list_labs():
        announce(name)
        lab = load_lab(name)
        wanted = pages is None or name in pages
        machines |= dict.fromkeys(lab.machine_files)
        for path, data in bundle(lab, _page(lab) if wanted else "").items():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(out / path, data)
            total += len(data)
    for file in machines:
        text = public_text(read_machine(file)).encode()
        (out / MACHINES).mkdir(exist_ok=True)
        write_atomically(out / MACHINES / file.name, text)
        total += len(text)
    return total


def _page(lab: Lab) -> str:
    """Return the lab's page as one HTML file. Raises LabFault."""
    from grader.authoring.handouts.build import lab_page

    with tempfile.TemporaryDirectory() as folder:
        return _FIGURE.sub(_as_text, lab_page(lab, Path(folder)))


def _as_text(figure: re.Match[str]) -> str:
    """Return an embedded figure as text in place of base64, which hardly compresses in a wheel."""
    text = base64.b64decode(figure[1]).decode()
    return "data:image/svg+xml," + quote(text, safe=" /:=',;()!*@?&+$[]~|{}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the bundle and return the exit code."""
    parser = ArgumentParser(
        prog="python -m grader.authoring.content",
        description="Write the public parts of all labs, for a wheel.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder")
    parser.add_argument("--page", action="append", metavar="LAB", help="build this page only")
    options = parser.parse_args(arguments)
    try:
        total = write_bundle(options.out, options.page, lambda name: print(f"  {name}", flush=True))
    except Fault as fault:
        print(fault, file=sys.stderr)
        return fault.exit_code
    print(f"wrote {total:,} bytes to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A new lab written into a course: all of its files, or none over what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from grader.faults import LabFault
from grader.labs.files import write_atomically
from grader.labs.reading import json_schema

# A lab's skeleton, made from its solution.
#
# What stands between `// BEGIN SOLUTION` and `// END SOLUTION` is taken out; lines inside it that
# start with `// SKELETON: ` stay, without that mark, at their own indentation.

BEGIN = "// BEGIN SOLUTION"
END = "// END SOLUTION"
LINE = "// SKELETON:"


def make_skeleton(solution: str, file: str = "solution") -> str:
    """The text that students start from. Raises LabFault with file and line for marks that do
    not pair up, and for a block that leaves the student no text.
    """
    kept: list[str] = []
    begun, left = 0, False
    for number, line in enumerate(solution.splitlines(), start=1):
        mark = line.strip()
        if mark == (BEGIN if begun else END):
            raise _unpaired(file, number, mark)
        if mark == BEGIN:
            begun, left = number, False
        elif mark == END:
            if not left:
                raise _empty(file, begun)
            begun = 0
        elif begun and mark.startswith(LINE):
            kept.append(_unmarked(line))
            left = True
        elif not begun:
            kept.append(line)
    if begun:
        raise _unpaired(file, begun, BEGIN)
    return "\n".join(kept) + "\n"


def _unmarked(line: str) -> str:
    indentation, _, text = line.partition(LINE)
    return (indentation + text.removeprefix(" ")).rstrip()


def _unpaired(file: str, line: int, mark: str) -> LabFault:
    return LabFault(
        f"`{mark}` without its partner",
        where=f"{file}:{line}",
        fix=f"each `{BEGIN}` is closed by one `{END}`, and blocks do not nest",
    )


def _empty(file: str, line: int) -> LabFault:
    return LabFault(
        "this block leaves the student nothing to go on",
        where=f"{file}:{line}",
        fix=f"put a line `{LINE} // TODO: ...` inside it",
    )


# The files of a new lab, made from the templates beside this module; no I/O but reading those.

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 40
SUFFIX = ".in"
"""Of a template, so that no tool takes one for a source file."""


def check_name(name: str) -> None:
    """Raises LabFault for a name that is no folder's, file's and command line's word alike."""
    if NAME.fullmatch(name) and len(name) <= LONGEST:
        return
    near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")[:LONGEST].strip("-")
    known = "small letters, digits and single dashes, a letter first, such as tiled-matmul"
    fix = f"`{near}` would do: {known}" if near else f"it takes {known}"
    raise LabFault(f"`{name[:LONGEST]}` is no name for a lab", fix=fix)


def new_files(name: str, title: str) -> Mapping[str, str]:
    """Every file of the lab by its path in the course, with forward slashes. Raises LabFault."""
    check_name(name)
    held = {"@NAME@": name, "@TITLE@": title}
    made = {_place(path, name): _filled(text, held) for path, text in _templates().items()}
    made[f"labs/{name}/{name}.cu"] = make_skeleton(made[f"solutions/{name}/{name}.cu"])
    return dict(sorted(made.items()))


def _place(template: str, name: str) -> str:
    """Where a template's file belongs."""
    places = {
        "solution.cu": f"solutions/{name}/{name}.cu",
        "answers.yaml": f"solutions/{name}/answers.yaml",
        "handout.md": f"handouts/{name}.md",
    }
    folder = "solutions" if template.startswith("wrong/") else "labs"
    return places.get(template, f"{folder}/{name}/{template}")


def _filled(text: str, held: Mapping[str, str]) -> str:
    for mark, value in held.items():
        text = text.replace(mark, value)
    return text


def _templates() -> dict[str, str]:
    """The templates' texts by their path below the folder, without the suffix."""
    return dict(_below(files("grader.authoring") / "template", ""))


def _below(folder: Traversable, path: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for item in folder.iterdir():
        if item.is_dir():
            found += _below(item, f"{path}{item.name}/")
        elif item.name.endswith(SUFFIX):
            found.append((path + item.name.removesuffix(SUFFIX), item.read_text("utf-8")))
    return found


SCHEMA = "labs/lab.schema.json"


def write_new(course: Path, name: str, title: str = "") -> Iterator[Path]:
    """Write the lab's files below `course`, one after the other, and give the path of each.

    Raises LabFault before anything is written: a bad name or title, or something of that name is
    there already; later when a file cannot be written.
    """
    check_name(name)
    title = title.strip() or name.replace("-", " ").capitalize()
    if len(title) > 80 or not title.isprintable() or any(c in title for c in "@\"'#{}[]:"):
        what = "a title is up to 80 characters of plain words, without quotes, colons and brackets"
        raise LabFault(what, where="--title", fix="lab.yaml may have any, quoted")
    taken = [path for path in _owned(course, name) if path.exists() or path.is_symlink()]
    if taken:
        fix = "nothing was written; take another name, or move that away"
        raise LabFault("there is such a lab already", where=str(taken[0]), fix=fix)
    texts = dict(new_files(name, title))
    if not (course / SCHEMA).exists():
        texts[SCHEMA] = json.dumps(json_schema(), indent=2) + "\n"
    return _write(course, texts)


def _owned(course: Path, name: str) -> tuple[Path, ...]:
    """What a lab's files lie in, and its handout."""
    handout = course / "handouts" / f"{name}.md"
    return (course / "labs" / name, course / "solutions" / name, handout)


def _write(course: Path, texts: dict[str, str]) -> Iterator[Path]:
    for place, text in texts.items():
        path = course / place
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot make the folder: {error.strerror}"
            raise LabFault(what, where=str(path.parent), fix="check its rights") from None
        write_atomically(path, text.encode())
        yield path

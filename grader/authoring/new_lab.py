"""New labs and skeletons.

A new lab is written from the templates in the folder `template/`; existing files are never
overwritten. A skeleton is made from a solution: the lines between `// BEGIN SOLUTION` and
`// END SOLUTION` are removed, and lines there that start with `// SKELETON: ` stay without that
mark, at their own indentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from grader import regex
from grader.faults import LabFault
from grader.labs.files import write_atomically
from grader.labs.reading import json_schema

BEGIN = "// BEGIN SOLUTION"
END = "// END SOLUTION"
LINE = "// SKELETON:"

NAME = regex(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME = 40
SUFFIX = ".in"
"""The suffix of a template, so that no tool reads it as a source file."""

SCHEMA = "labs/lab.schema.json"


def make_skeleton(solution: str, file: str = "solution") -> str:
    """Return the text that students start from.

    Args:
        solution: The text of the solution.
        file: Its name, for messages.

    Raises:
        LabFault: A mark has no counterpart, or a block leaves no text for the student.
    """
    lines: list[str] = []
    begin, has_text = 0, False
    for number, line in enumerate(solution.splitlines(), start=1):
        mark = line.strip()
        if mark == (BEGIN if begin else END):
            raise _unpaired(file, number, mark)
        if mark == BEGIN:
            begin, has_text = number, False
        elif mark == END:
            if not has_text:
                raise _empty(file, begin)
            begin = 0
        elif begin and mark.startswith(LINE):
            lines.append(_unmarked(line))
            has_text = True
        elif not begin:
            lines.append(line)
    if begin:
        raise _unpaired(file, begin, BEGIN)
    return "\n".join(lines) + "\n"


def _unmarked(line: str) -> str:
    indentation, _, text = line.partition(LINE)
    return (indentation + text.removeprefix(" ")).rstrip()


def _unpaired(file: str, line: int, mark: str) -> LabFault:
    return LabFault(
        f"`{mark}` has no counterpart",
        where=f"{file}:{line}",
        fix=f"close each `{BEGIN}` with one `{END}`, and do not nest blocks",
    )


def _empty(file: str, line: int) -> LabFault:
    return LabFault(
        "this block leaves no text in the skeleton",
        where=f"{file}:{line}",
        fix=f"add a line `{LINE} // TODO: ...` to it",
    )


def check_name(name: str) -> None:
    """Raise LabFault for a name that is not valid as a folder, a file and an argument."""
    if NAME.fullmatch(name) and len(name) <= MAX_NAME:
        return
    near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")[:MAX_NAME].strip("-")
    rule = "lowercase letters, digits and single dashes, starting with a letter: tiled-matmul"
    fix = f"use `{near}`, or another name of {rule}" if near else f"use {rule}"
    raise LabFault(f"`{name[:MAX_NAME]}` is not a valid name of a lab", fix=fix)


def new_files(name: str, title: str) -> Mapping[str, str]:
    """Return every file of a new lab by its path in the course, with forward slashes.

    Raises LabFault for an invalid name.
    """
    check_name(name)
    values = {"@NAME@": name, "@TITLE@": title}
    texts = {_path(path, name): _filled(text, values) for path, text in _templates().items()}
    texts[f"labs/{name}/{name}.cu"] = make_skeleton(texts[f"solutions/{name}/{name}.cu"])
    return dict(sorted(texts.items()))


def _path(template: str, name: str) -> str:
    """Return the path in the course of a template's file."""
    places = {
        "solution.cu": f"solutions/{name}/{name}.cu",
        "answers.yaml": f"solutions/{name}/answers.yaml",
        "handout.md": f"handouts/{name}.md",
    }
    folder = "solutions" if template.startswith("wrong/") else "labs"
    return places.get(template, f"{folder}/{name}/{template}")


def _filled(text: str, values: Mapping[str, str]) -> str:
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def _templates() -> dict[str, str]:
    """Return the texts of the templates by their path in the folder, without the suffix."""
    return dict(_texts(files("grader.authoring") / "template", ""))


def _texts(folder: Traversable, path: str) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for item in folder.iterdir():
        if item.is_dir():
            texts += _texts(item, f"{path}{item.name}/")
        elif item.name.endswith(SUFFIX):
            texts.append((path + item.name.removesuffix(SUFFIX), item.read_text("utf-8")))
    return texts


def write_new(course: Path, name: str, title: str = "") -> Iterator[Path]:
    """Write the files of a new lab into `course`, and yield the path of each.

    Raises:
        LabFault: The name or the title is invalid, or the lab exists; nothing is written then.
            Later: a file cannot be written.
    """
    check_name(name)
    title = title.strip() or name.replace("-", " ").capitalize()
    if len(title) > 80 or not title.isprintable() or any(c in title for c in "@\"'#{}[]:"):
        what = "the title must have at most 80 characters and no quotes, colons or brackets"
        raise LabFault(what, where="--title", fix="use a plain title, and edit lab.yaml later")
    taken = [path for path in _owned(course, name) if path.exists() or path.is_symlink()]
    if taken:
        fix = "use another name, or move the existing files; nothing was written"
        raise LabFault("a lab of this name already exists", where=str(taken[0]), fix=fix)
    texts = dict(new_files(name, title))
    if not (course / SCHEMA).exists():
        texts[SCHEMA] = json.dumps(json_schema(), indent=2) + "\n"
    return _write(course, texts)


def _owned(course: Path, name: str) -> tuple[Path, ...]:
    """Return the folders of a lab, and its handout."""
    handout = course / "handouts" / f"{name}.md"
    return (course / "labs" / name, course / "solutions" / name, handout)


def _write(course: Path, texts: dict[str, str]) -> Iterator[Path]:
    for place, text in texts.items():
        path = course / place
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot create the folder: {error.strerror}"
            fix = "check the permissions"
            raise LabFault(what, where=str(path.parent), fix=fix) from None
        write_atomically(path, text.encode())
        yield path

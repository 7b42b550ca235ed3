"""The files of a new lab, made from the templates beside this module; no I/O but reading those."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from grader.fault import LabFault
from grader.skeleton import make_skeleton

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
    mend = f"`{near}` would do: {known}" if near else f"it takes {known}"
    raise LabFault(f"`{name[:LONGEST]}` is no name for a lab", mend=mend)


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
    return dict(_below(files("grader.newlab") / "template", ""))


def _below(folder: Traversable, path: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for item in folder.iterdir():
        if item.is_dir():
            found += _below(item, f"{path}{item.name}/")
        elif item.name.endswith(SUFFIX):
            found.append((path + item.name.removesuffix(SUFFIX), item.read_text("utf-8")))
    return found

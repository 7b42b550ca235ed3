"""A new lab written into a course: all of its files, or none over what is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from grader.fault import LabFault
from grader.labfile.spec import json_schema
from grader.newlab.files import check_name, new_files
from grader.wholefile import write_whole

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
        raise LabFault(what, where="--title", mend="lab.yaml may have any, quoted")
    taken = [path for path in _owned(course, name) if path.exists() or path.is_symlink()]
    if taken:
        mend = "nothing was written; take another name, or move that away"
        raise LabFault("there is such a lab already", where=str(taken[0]), mend=mend)
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
            raise LabFault(what, where=str(path.parent), mend="check its rights") from None
        write_whole(path, text.encode())
        yield path

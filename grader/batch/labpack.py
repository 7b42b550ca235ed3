"""A lab as one plain value, to be sent to a machine that has no copy of it, or an older one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.batch.key import quiz_files
from grader.fault import LabFault
from grader.lab import Lab
from grader.labfile.digest import lab_digest
from grader.labfile.spec import load_lab


@dataclass(frozen=True)
class PackedLab:
    """`files` are paths below a course's folder and what they hold; `digest` is the lab's."""

    name: str
    digest: str
    files: tuple[tuple[str, bytes], ...]


def pack(lab: Lab) -> PackedLab:
    """All that grading needs of a lab: its folder, and what its quiz measures of the solutions;
    never the solution itself otherwise. Raises LabFault."""
    try:
        files = [
            (f"labs/{lab.name}/{path.relative_to(lab.folder).as_posix()}", path.read_bytes())
            for path in _files(lab.folder)
        ]
        answers = lab.solution.parent
        files += [
            (f"solutions/{lab.name}/{path.relative_to(answers).as_posix()}", path.read_bytes())
            for path in quiz_files(lab)
        ]
    except OSError as error:
        what = f"cannot read the lab's files: {error.strerror}"
        raise LabFault(what, where=str(lab.folder)) from None
    return PackedLab(lab.name, lab_digest(lab), tuple(files))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(p.startswith((".", "__pycache__")) for p in parts):
            yield path


def unpack(packed: PackedLab, folder: Path) -> Lab:
    """The lab, its files written below an empty folder. Raises LabFault when it is not the same
    there."""
    for name, data in packed.files:
        path = folder / PurePosixPath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    lab = load_lab(packed.name, (folder / "labs",))
    if lab_digest(lab) != packed.digest:
        raise LabFault(f"the lab `{packed.name}` did not arrive as it was sent")
    return lab

"""What a folder of submissions holds. Its files may be hostile: no link is followed, nothing but
a regular file is opened, and each folder on the way to it is opened anew by its own name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from grader.batch.member import DEPTH, UNREAD, Listing, Member, is_clutter, no_file, shown
from grader.fault import Fault, LabFault, MachineFault

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_MEND = "make it readable and run the same command again"
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def list_folder(root: Path) -> Listing:
    """Every file below `root`, in the order of their names. LabFault when `root` cannot be read;
    a folder inside that cannot be is a
    member whose problem says so."""
    members: list[Member] = []
    folders: list[tuple[str, ...]] = []
    notes: list[str] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        try:
            entries = _entries(root, parts)
        except OSError as error:
            members.append(_unlisted(root, parts, error))
            continue
        for name, info in entries:
            path = (*parts, name)
            if is_clutter((name,)):
                continue
            if not stat.S_ISDIR(info.st_mode):
                members.append(_member(root, path, info))
            elif len(path) > DEPTH:
                notes.append(f"{_place(path)}: left out, it lies more than {DEPTH} folders deep")
            else:
                folders.append(tuple(map(shown, path)))
                waiting.append(path)
    return Listing(
        tuple(sorted(members, key=lambda m: m.parts)), tuple(sorted(folders)), tuple(notes)
    )


def _entries(root: Path, parts: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
    """Names and what they are, links themselves and not what they lead to."""
    with _opened(root, parts, os.O_DIRECTORY) as handle:
        listed = ((name, _info(name, handle)) for name in sorted(os.listdir(handle)))
        return [(name, info) for name, info in listed if info is not None]


def _info(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # taken away while we looked
        return None


@contextmanager
def _opened(root: Path, parts: tuple[str, ...], flags: int) -> Iterator[int]:
    """What lies at `parts` below `root`, opened one name at a time without following a link."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, name in enumerate(parts, start=1):
            last = number == len(parts)
            inner = os.open(name, _OPEN | (flags if last else os.O_DIRECTORY), dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _member(root: Path, path: tuple[str, ...], info: os.stat_result) -> Member:
    place = _place(path)
    what = next((kind for is_kind, kind in _KINDS if is_kind(info.st_mode)), "")
    problem = no_file(place, f"this is {what}, not a file") if what else None
    modified = datetime.fromtimestamp(info.st_mtime, UTC)
    return Member(tuple(map(shown, path)), partial(_read, root, path), problem, modified)


def _read(root: Path, path: tuple[str, ...], limit: int) -> bytes:
    place = _place(path)
    try:
        with _opened(root, path, 0) as handle, os.fdopen(os.dup(handle), "rb") as file:
            problem = _strange(place, os.fstat(handle), root)
            if problem is not None:
                raise problem
            return file.read(limit)
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise MachineFault(what, where=place, mend=_MEND) from None


def _strange(place: str, info: os.stat_result, root: Path) -> Fault | None:
    """Why an open file is none that the student handed in; it may have been replaced since it was
    listed. A second name for somebody else's file would have that file's text read out."""
    if not stat.S_ISREG(info.st_mode):
        return no_file(place, "this is not a regular file")
    if info.st_nlink > 1 and info.st_uid != root.stat().st_uid:
        return no_file(place, "this is a hard link to another user's file")
    return None


def _unlisted(root: Path, parts: tuple[str, ...], error: OSError) -> Member:
    if not parts:
        mend = "name the folder, or the zip, with the submissions"
        raise LabFault(f"cannot read it: {error.strerror}", where=str(root), mend=mend) from None
    what = f"the folder cannot be read: {error.strerror}"
    problem = MachineFault(what, where=_place(parts), mend=_MEND)
    path = (*parts, UNREAD)
    return Member(tuple(map(shown, path)), partial(_read, root, path), problem)


def _place(path: tuple[str, ...]) -> str:
    return shown("/".join(path))

"""The files of a class's folder or zip archive, which may be hostile."""

from __future__ import annotations

import os
import stat
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.launch import Finding

# A file of a class's folder or archive, before anybody knows whose it is.

Read = Callable[[int], bytes]
"""At most so many bytes of the file, from its start. Raises Fault."""

DEPTH = 16
"""Folders inside each other; what lies deeper is left out."""


UNREADABLE = "*"
"""The name of the member that stands for a folder whose files cannot be listed."""


@dataclass(frozen=True)
class ListedFile:
    """One file at `parts` below the class's folder. `read` gives its bytes, `problem` says why
    there are none to read, `modified` is the file's own time where one is kept.
    """

    parts: tuple[str, ...]
    read: Read
    problem: Fault | None = None
    modified: datetime | None = None

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def place(self) -> str:
        """Where it lies, as messages show it."""
        return "/".join(self.parts)

    def bytes(self, limit: int) -> bytes:
        """At most `limit` bytes. Raises `problem` when there is one, and Fault."""
        if self.problem is not None:
            raise self.problem
        return self.read(limit)

    def below(self, depth: int) -> ListedFile:
        """The same file as seen from `depth` folders further down."""
        return ListedFile(self.parts[depth:], self.read, self.problem, self.modified)


@dataclass(frozen=True)
class Listing:
    """What a class's folder or archive holds: its files, every folder (empty ones too), and what
    had to be left out and why, a line each.
    """

    members: tuple[ListedFile, ...]
    folders: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()

    def below(self, folder: tuple[str, ...]) -> Listing:
        """What lies in that folder, seen from there; the notes stay."""
        depth = len(folder)
        return Listing(
            tuple(m.below(depth) for m in self.members if m.parts[:depth] == folder),
            tuple(f[depth:] for f in self.folders if len(f) > depth and f[:depth] == folder),
            self.notes,
        )


def printable_name(name: str) -> str:
    """A file's name as text: composed Unicode, so that a name from macOS is the same student;
    bytes that are not UTF-8 written out, and so is whatever would begin a new line, with which a
    name could put words into the grader's mouth.
    """
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(map(_visible, unicodedata.normalize("NFC", text)))


def _visible(character: str) -> str:
    breaks = unicodedata.category(character) in ("Cc", "Zl", "Zp")
    return character.encode("unicode_escape").decode() if breaks else character


def is_clutter(parts: tuple[str, ...]) -> bool:
    """What operating systems and editors leave behind, and nobody hands in."""
    return any(p.startswith(".") or p in ("__MACOSX", "__pycache__", "Thumbs.db") for p in parts)


def not_a_file(place: str, what: str, fix: str = "hand in the .cu file itself") -> StudentFault:
    """The fault of something that is handed in and is no file with text in it."""
    name = place.rpartition("/")[2]
    finding = Finding("compile-error", "error", what, file=name, line=0, hint=fix)
    return StudentFault(what, where=place, fix=fix, findings=(finding,))


# What a zip of submissions holds. Nothing is ever unpacked: a member is read in memory, and no
# further than a submission may be long, so that no name can lead anywhere and no bomb goes off.

MAX_DIRECTORY = 256 << 20
"""Bytes of a zip's directory, at about a hundred a member: two million members."""

_END = b"PK\5\6"
_END_SIZE = 22
_LONGEST_COMMENT = 0xFFFF
_UNIX = 3
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)


def list_archive(path: Path) -> Listing:
    """Every file in the zip, in the order of their names. LabFault when it is none; members whose
    names lead out of it are noted and left out.
    """
    archive = _opened(path)
    members: list[ListedFile] = []
    folders: set[tuple[str, ...]] = set()
    notes: list[str] = []
    infos = archive.infolist()
    times = Counter(info.filename for info in infos)
    for info in infos:
        parts, problem = _parts(info.filename)
        if problem:
            notes.append(f"{printable_name(info.filename)}: left out, {problem}")
            continue
        if is_clutter(parts) or not parts:
            continue
        folders.update(parts[:depth] for depth in range(1, len(parts)))
        if info.is_dir():
            folders.add(parts)
        else:
            members.append(_member(archive, info, parts, times[info.filename]))
    return Listing(
        tuple(sorted(members, key=lambda m: m.parts)), tuple(sorted(folders)), tuple(notes)
    )


def is_archive(path: Path) -> bool:
    """Whether the file begins as a zip does."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\3\4", _END)


def _opened(path: Path) -> zipfile.ZipFile:
    fix = "name the zip as it was downloaded, or unpack it and name the folder"
    try:
        if _directory_size(path) > MAX_DIRECTORY:
            raise LabFault("the zip has millions of members", where=str(path), fix=fix)
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, UnicodeDecodeError) as error:
        raise LabFault(f"cannot read the zip: {error}", where=str(path), fix=fix) from None


def _directory_size(path: Path) -> int:
    """The bytes of the zip's directory as its last record says, before anything of it is read; a
    zip64's, whose record says only that it is large, as the whole file's.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _END_SIZE - _LONGEST_COMMENT, 0))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        return 0  # no zip: the module says so
    told = int.from_bytes(tail[at + 12 : at + 16], "little")
    return min(told, size)


def _parts(name: str) -> tuple[tuple[str, ...], str]:
    """A member's name in parts, and why it is not one that stays inside the archive."""
    plain = name.replace("\\", "/")
    parts = tuple(part for part in plain.split("/") if part not in ("", "."))
    if plain.startswith("/") or plain[1:2] == ":":
        return (), "its name is absolute"
    if ".." in parts:
        return (), "its name leads out of the zip"
    if len(parts) > DEPTH:
        return (), f"it lies more than {DEPTH} folders deep"
    return tuple(map(printable_name, parts)), ""


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, parts: tuple[str, ...], times: int
) -> ListedFile:
    try:
        modified = datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        modified = None
    problem = _problem(archive, info, "/".join(parts), times)
    return ListedFile(parts, partial(_read, archive, info, "/".join(parts)), problem, modified)


def _problem(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, times: int
) -> Fault | None:
    """Why a member cannot be read, or is no file; None when it can be tried."""
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    if stat.S_ISLNK(mode):
        return not_a_file(place, "this is a symbolic link, not a file")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return not_a_file(place, "this is not a regular file")
    if times > 1:
        return not_a_file(place, f"the zip holds {times} files of this one name")
    if info.flag_bits & _ENCRYPTED:
        fix = f"unpack {archive.filename} with its password and name the folder"
        return LabFault("the file is encrypted", where=place, fix=fix)
    if info.compress_type not in _METHODS:
        fix = f"unpack {archive.filename} and name the folder"
        return LabFault("the file is packed in a way that is not read", where=place, fix=fix)
    return None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, limit: int) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(limit)
    except _DAMAGE as error:
        fix = "download the zip again"
        raise MachineFault(f"the zip is damaged here: {error}", where=place, fix=fix) from None


# What a folder of submissions holds. Its files may be hostile: no link is followed, nothing but
# a regular file is opened, and each folder on the way to it is opened anew by its own name.

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
    member whose problem says so.
    """
    members: list[ListedFile] = []
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
                members.append(_folder_member(root, path, info))
            elif len(path) > DEPTH:
                notes.append(f"{_place(path)}: left out, it lies more than {DEPTH} folders deep")
            else:
                folders.append(tuple(map(printable_name, path)))
                waiting.append(path)
    return Listing(
        tuple(sorted(members, key=lambda m: m.parts)), tuple(sorted(folders)), tuple(notes)
    )


def _entries(root: Path, parts: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
    """Names and what they are, links themselves and not what they lead to."""
    with _folder_opened(root, parts, os.O_DIRECTORY) as handle:
        listed = ((name, _info(name, handle)) for name in sorted(os.listdir(handle)))
        return [(name, info) for name, info in listed if info is not None]


def _info(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # taken away while we looked
        return None


@contextmanager
def _folder_opened(root: Path, parts: tuple[str, ...], flags: int) -> Iterator[int]:
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


def _folder_member(root: Path, path: tuple[str, ...], info: os.stat_result) -> ListedFile:
    place = _place(path)
    what = next((kind for is_kind, kind in _KINDS if is_kind(info.st_mode)), "")
    problem = not_a_file(place, f"this is {what}, not a file") if what else None
    modified = datetime.fromtimestamp(info.st_mtime, UTC)
    return ListedFile(
        tuple(map(printable_name, path)), partial(_folder_read, root, path), problem, modified
    )


def _folder_read(root: Path, path: tuple[str, ...], limit: int) -> bytes:
    place = _place(path)
    try:
        with _folder_opened(root, path, 0) as handle, os.fdopen(os.dup(handle), "rb") as file:
            problem = _strange(place, os.fstat(handle), root)
            if problem is not None:
                raise problem
            return file.read(limit)
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise MachineFault(what, where=place, fix=_MEND) from None


def _strange(place: str, info: os.stat_result, root: Path) -> Fault | None:
    """Why an open file is none that the student handed in; it may have been replaced since it was
    listed. A second name for somebody else's file would have that file's text read out.
    """
    if not stat.S_ISREG(info.st_mode):
        return not_a_file(place, "this is not a regular file")
    if info.st_nlink > 1 and info.st_uid != root.stat().st_uid:
        return not_a_file(place, "this is a hard link to another user's file")
    return None


def _unlisted(root: Path, parts: tuple[str, ...], error: OSError) -> ListedFile:
    if not parts:
        fix = "name the folder, or the zip, with the submissions"
        raise LabFault(f"cannot read it: {error.strerror}", where=str(root), fix=fix) from None
    what = f"the folder cannot be read: {error.strerror}"
    problem = MachineFault(what, where=_place(parts), fix=_MEND)
    path = (*parts, UNREADABLE)
    return ListedFile(tuple(map(printable_name, path)), partial(_folder_read, root, path), problem)


def _place(path: tuple[str, ...]) -> str:
    return printable_name("/".join(path))

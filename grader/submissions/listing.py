"""List the files of a class's folder or zip archive, which may be hostile.

Nothing is unpacked: a file of a zip is read in memory, and no further than a submission may be
long, so that no name can lead out of the zip and no decompression bomb takes effect. In a folder no
link is followed, only regular files are opened, and each folder on the path is opened by its name.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from grader.faults import Fault, LabFault, MachineFault, file_fault
from grader.submissions.files import not_a_file, printable_name

Read = Callable[[int], bytes]
"""Return at most so many bytes from the start of a file. Raises Fault."""

MAX_DEPTH = 16
"""Nested folders; what is deeper is left out."""

MAX_DIRECTORY = 256 << 20
"""Bytes of a zip's directory: two million files at about a hundred bytes each."""

UNREADABLE = "*"
"""The name of the entry that stands for a folder whose files cannot be listed."""

_FIRST_FILE, _END_OF_DIRECTORY = b"PK\3\4", b"PK\5\6"
_END_OF_DIRECTORY_SIZE = 22
_LONGEST_COMMENT = 0xFFFF
_UNIX = 3
_ENCRYPTED = 1
_DAMAGE = (zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)

_SPECIAL_FILES = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_FIX_UNREADABLE = "make it readable and run the same command again"
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class ListedFile:
    """One file of a class's folder or zip.

    Attributes:
        parts: Its path below the class's folder.
        read: Returns its bytes.
        problem: Why it cannot be read, if so.
        modified: Its modification time where one is kept.
    """

    parts: tuple[str, ...]
    read: Read
    problem: Fault | None = None
    modified: datetime | None = None

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.parts[-1]

    @property
    def path(self) -> str:
        """Its path, as messages show it."""
        return "/".join(self.parts)

    def bytes(self, limit: int) -> bytes:
        """Return at most `limit` bytes.

        Raises:
            Fault: `problem`, or the file cannot be read.
        """
        if self.problem is not None:
            raise self.problem
        return self.read(limit)

    def below(self, depth: int) -> ListedFile:
        """Return the same file with its path relative to the folder `depth` levels down."""
        return ListedFile(self.parts[depth:], self.read, self.problem, self.modified)


@dataclass(frozen=True)
class Listing:
    """The content of a class's folder or zip.

    Attributes:
        files: All files.
        folders: The paths of all folders, empty ones too.
        notes: What was left out and why, one line each.
        spellings: The real names of files and folders that have the same printable path: names in
            composed and in decomposed Unicode, for example.
    """

    files: tuple[ListedFile, ...]
    folders: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    spellings: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def below(self, folder: tuple[str, ...]) -> Listing:
        """Return the content of a folder with paths relative to it; the notes stay."""
        depth = len(folder)
        return Listing(
            tuple(f.below(depth) for f in self.files if f.parts[:depth] == folder),
            tuple(f[depth:] for f in self.folders if len(f) > depth and f[:depth] == folder),
            self.notes,
            {f[depth:]: own for f, own in self.spellings.items() if f[:depth] == folder},
        )

    def same_name_problem(self, *path: str) -> Fault | None:
        """Return the fault for several files or folders of this path; only one can be meant."""
        names = self.spellings.get(path, ())
        if not names:
            return None
        what = f"{len(names)} names look the same, `{path[-1]}`: {', '.join(names)}"
        fix = "remove or rename all but one of them and run the same command again"
        return LabFault(what, where="/".join(path), fix=fix)


def is_clutter(parts: tuple[str, ...]) -> bool:
    """Return whether operating systems or editors create files of this path."""
    return any(p.startswith(".") or p in ("__MACOSX", "__pycache__", "Thumbs.db") for p in parts)


def is_archive(path: Path) -> bool:
    """Return whether the file begins as a zip does."""
    with path.open("rb") as file:
        return file.read(4) in (_FIRST_FILE, _END_OF_DIRECTORY)


def list_archive(path: Path) -> Listing:
    """List every file in the zip, ordered by path; those whose names lead out of it are left out.

    Raises:
        LabFault: It is not a zip that can be read.
    """
    archive = _open_archive(path)
    files: list[ListedFile] = []
    folders: set[tuple[str, ...]] = set()
    notes: list[str] = []
    spelled = _Spellings()
    infos = archive.infolist()
    counts = Counter(info.filename for info in infos)
    for info in infos:
        parts, problem = split_name(info.filename)
        if problem:
            notes.append(f"{printable_name(info.filename)}: left out, {problem}")
            continue
        if is_clutter(parts) or not parts:
            continue
        spelled.add(_name_parts(info.filename))
        folders.update(parts[:depth] for depth in range(1, len(parts)))
        if info.is_dir():
            folders.add(parts)
        else:
            files.append(archive_file(archive, info, parts, counts[info.filename]))
    files.sort(key=lambda f: f.parts)
    return Listing(tuple(files), tuple(sorted(folders)), tuple(notes), spelled.ambiguous())


def list_folder(root: Path, most: int = 0) -> Listing:
    """List every file below `root`, ordered by path.

    A folder inside that cannot be read is an entry whose problem says so. Raises LabFault when
    `root` cannot be read, or has more than `most` files, if that is not 0.
    """
    files: list[ListedFile] = []
    folders: list[tuple[str, ...]] = []
    notes: list[str] = []
    spelled = _Spellings()
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        if 0 < most < len(files):
            what = f"the folder has more than {most} files"
            raise LabFault(what, where=str(root), fix="name the .cu file itself")
        try:
            entries = _entries(root, parts)
        except OSError as error:
            files.append(_unreadable_folder(root, parts, error))
            continue
        for name, info in entries:
            path = (*parts, name)
            if is_clutter((name,)):
                continue
            spelled.add(path)
            if not stat.S_ISDIR(info.st_mode):
                files.append(_folder_file(root, path, info))
            elif len(path) > MAX_DEPTH:
                why = f"it is more than {MAX_DEPTH} folders deep"
                notes.append(f"{_path_text(path)}: left out, {why}")
            else:
                folders.append(tuple(map(printable_name, path)))
                waiting.append(path)
    files.sort(key=lambda f: f.parts)
    return Listing(tuple(files), tuple(sorted(folders)), tuple(notes), spelled.ambiguous())


class _Spellings:
    """The real names of everything that was listed, by printable path."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], dict[str, None]] = {}

    def add(self, path: tuple[str, ...]) -> None:
        """Add a path and the folders above it."""
        shown = tuple(map(printable_name, path))
        for depth, name in enumerate(path, start=1):
            self._names.setdefault(shown[:depth], {})[ascii(name)] = None

    def ambiguous(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Return the paths that have several names."""
        return {path: tuple(names) for path, names in self._names.items() if len(names) > 1}


def _open_archive(path: Path) -> zipfile.ZipFile:
    fix = "name the zip as it was downloaded, or unpack it and name the folder"
    try:
        if _directory_size(path) > MAX_DIRECTORY:
            raise LabFault("the zip has millions of files", where=str(path), fix=fix)
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, UnicodeDecodeError) as error:
        what = f"cannot read the zip: {error}"
        raise file_fault(error, what, where=str(path), fix=fix) from None


def _directory_size(path: Path) -> int:
    """Return the bytes of the zip's directory by its last record, before any of it is read.

    For a zip64, whose record says only that it is large, return the size of the whole file.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _END_OF_DIRECTORY_SIZE - _LONGEST_COMMENT, 0))
        tail = file.read()
    at = tail.rfind(_END_OF_DIRECTORY)
    if at < 0 or len(tail) - at < _END_OF_DIRECTORY_SIZE:
        return 0  # not a zip: zipfile says so
    recorded = int.from_bytes(tail[at + 12 : at + 16], "little")
    return min(recorded, size)


def split_name(name: str) -> tuple[tuple[str, ...], str]:
    """Return the parts of a name in a zip, and why the file is left out, if so."""
    plain = name.replace("\\", "/")
    parts = _name_parts(name)
    if plain.startswith("/") or plain[1:2] == ":":
        return (), "its name is absolute"
    if ".." in parts:
        return (), "its name leads out of the zip"
    if len(parts) > MAX_DEPTH:
        return (), f"it is more than {MAX_DEPTH} folders deep"
    return tuple(map(printable_name, parts)), ""


def _name_parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def archive_file(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, parts: tuple[str, ...], count: int
) -> ListedFile:
    """Return a zip's file; `parts` are its path, and `count` files have its name."""
    try:
        modified = datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        modified = None
    problem = _archive_problem(archive, info, "/".join(parts), count)
    return ListedFile(
        parts, partial(_read_from_archive, archive, info, "/".join(parts)), problem, modified
    )


def _archive_problem(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str, count: int
) -> Fault | None:
    """Return why a file of the zip cannot be read; None when it may be readable."""
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    if stat.S_ISLNK(mode):
        return not_a_file(where, "this is a symbolic link, not a file")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return not_a_file(where, "this is not a regular file")
    if count > 1:
        return not_a_file(where, f"the zip holds {count} files of this one name")
    if info.flag_bits & _ENCRYPTED:
        fix = f"unpack {archive.filename} with its password and name the folder"
        return LabFault("the file is encrypted", where=where, fix=fix)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        fix = f"unpack {archive.filename} and name the folder"
        return LabFault(
            "the file is compressed by a method that is not supported", where=where, fix=fix
        )
    return None


def _read_from_archive(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str, limit: int
) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(limit)
    except (zipfile.BadZipFile, *_DAMAGE) as error:
        fix = "download the zip again"
        raise MachineFault(f"the zip is damaged here: {error}", where=where, fix=fix) from None


def _entries(root: Path, parts: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
    """Return the names in a folder with their status, links not followed."""
    with _opened_below(root, parts, os.O_DIRECTORY) as handle:
        listed = ((name, _status(name, handle)) for name in sorted(os.listdir(handle)))
        return [(name, info) for name, info in listed if info is not None]


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # removed meanwhile
        return None


@contextmanager
def _opened_below(root: Path, parts: tuple[str, ...], flags: int) -> Iterator[int]:
    """Open the path `parts` below `root` one name at a time, without following a link."""
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


def _folder_file(root: Path, path: tuple[str, ...], info: os.stat_result) -> ListedFile:
    where = _path_text(path)
    what = next((kind for is_kind, kind in _SPECIAL_FILES if is_kind(info.st_mode)), "")
    problem = not_a_file(where, f"this is {what}, not a file") if what else None
    modified = datetime.fromtimestamp(info.st_mtime, UTC)
    return ListedFile(
        tuple(map(printable_name, path)), partial(_read_from_folder, root, path), problem, modified
    )


def _read_from_folder(root: Path, path: tuple[str, ...], limit: int) -> bytes:
    where = _path_text(path)
    try:
        with _opened_below(root, path, 0) as handle, os.fdopen(os.dup(handle), "rb") as file:
            problem = _folder_problem(where, os.fstat(handle), root)
            if problem is not None:
                raise problem
            return file.read(limit)
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise MachineFault(what, where=where, fix=_FIX_UNREADABLE) from None


def _folder_problem(where: str, info: os.stat_result, root: Path) -> Fault | None:
    """Return why an open file is not one that the student submitted.

    It may have been replaced since it was listed. Through a hard link a student could get the text
    of another user's file into a report.
    """
    if not stat.S_ISREG(info.st_mode):
        return not_a_file(where, "this is not a regular file")
    if info.st_nlink > 1 and info.st_uid != root.stat().st_uid:
        return not_a_file(where, "this is a hard link to another user's file")
    return None


def _unreadable_folder(root: Path, parts: tuple[str, ...], error: OSError) -> ListedFile:
    if not parts:
        fix = "name the folder, or the zip, with the submissions"
        what = f"cannot read it: {error.strerror}"
        raise file_fault(error, what, where=str(root), fix=fix) from None
    what = f"the folder cannot be read: {error.strerror}"
    problem = MachineFault(what, where=_path_text(parts), fix=_FIX_UNREADABLE)
    path = (*parts, UNREADABLE)
    return ListedFile(
        tuple(map(printable_name, path)), partial(_read_from_folder, root, path), problem
    )


def _path_text(path: tuple[str, ...]) -> str:
    return printable_name("/".join(path))

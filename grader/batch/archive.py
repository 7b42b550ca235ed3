"""What a zip of submissions holds. Nothing is ever unpacked: a member is read in memory, and no
further than a submission may be long, so that no name can lead anywhere and no bomb goes off."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from grader.batch.member import DEPTH, Listing, Member, is_clutter, no_file, shown
from grader.fault import Fault, LabFault, MachineFault

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
    names lead out of it are noted and left out."""
    archive = _opened(path)
    members: list[Member] = []
    folders: set[tuple[str, ...]] = set()
    notes: list[str] = []
    infos = archive.infolist()
    times = Counter(info.filename for info in infos)
    for info in infos:
        parts, problem = _parts(info.filename)
        if problem:
            notes.append(f"{shown(info.filename)}: left out, {problem}")
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
    mend = "name the zip as it was downloaded, or unpack it and name the folder"
    try:
        if _directory_size(path) > MAX_DIRECTORY:
            raise LabFault("the zip has millions of members", where=str(path), mend=mend)
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, UnicodeDecodeError) as error:
        raise LabFault(f"cannot read the zip: {error}", where=str(path), mend=mend) from None


def _directory_size(path: Path) -> int:
    """The bytes of the zip's directory as its last record says, before anything of it is read; a
    zip64's, whose record says only that it is large, as the whole file's."""
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
    return tuple(map(shown, parts)), ""


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, parts: tuple[str, ...], times: int
) -> Member:
    try:
        modified = datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        modified = None
    problem = _problem(archive, info, "/".join(parts), times)
    return Member(parts, partial(_read, archive, info, "/".join(parts)), problem, modified)


def _problem(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, times: int
) -> Fault | None:
    """Why a member cannot be read, or is no file; None when it can be tried."""
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    if stat.S_ISLNK(mode):
        return no_file(place, "this is a symbolic link, not a file")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return no_file(place, "this is not a regular file")
    if times > 1:
        return no_file(place, f"the zip holds {times} files of this one name")
    if info.flag_bits & _ENCRYPTED:
        mend = f"unpack {archive.filename} with its password and name the folder"
        return LabFault("the file is encrypted", where=place, mend=mend)
    if info.compress_type not in _METHODS:
        mend = f"unpack {archive.filename} and name the folder"
        return LabFault("the file is packed in a way that is not read", where=place, mend=mend)
    return None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, limit: int) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(limit)
    except _DAMAGE as error:
        mend = "download the zip again"
        raise MachineFault(f"the zip is damaged here: {error}", where=place, mend=mend) from None

"""A file of a class's folder or archive, before anybody knows whose it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from grader.fault import Fault, StudentFault
from grader.launch import Finding

Read = Callable[[int], bytes]
"""At most so many bytes of the file, from its start. Raises Fault."""

DEPTH = 16
"""Folders inside each other; what lies deeper is left out."""


UNREAD = "*"
"""The name of the member that stands for a folder whose files cannot be listed."""


@dataclass(frozen=True)
class Member:
    """One file at `parts` below the class's folder. `read` gives its bytes, `problem` says why
    there are none to read, `modified` is the file's own time where one is kept."""

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

    def below(self, depth: int) -> Member:
        """The same file as seen from `depth` folders further down."""
        return Member(self.parts[depth:], self.read, self.problem, self.modified)


@dataclass(frozen=True)
class Listing:
    """What a class's folder or archive holds: its files, every folder (empty ones too), and what
    had to be left out and why, a line each."""

    members: tuple[Member, ...]
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


def shown(name: str) -> str:
    """A file's name as text: composed Unicode, so that a name from macOS is the same student;
    bytes that are not UTF-8 written out, and so is whatever would begin a new line, with which a
    name could put words into the grader's mouth."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(map(_visible, unicodedata.normalize("NFC", text)))


def _visible(character: str) -> str:
    breaks = unicodedata.category(character) in ("Cc", "Zl", "Zp")
    return character.encode("unicode_escape").decode() if breaks else character


def is_clutter(parts: tuple[str, ...]) -> bool:
    """What operating systems and editors leave behind, and nobody hands in."""
    return any(p.startswith(".") or p in ("__MACOSX", "__pycache__", "Thumbs.db") for p in parts)


def no_file(place: str, what: str, mend: str = "hand in the .cu file itself") -> StudentFault:
    """The fault of something that is handed in and is no file with text in it."""
    name = place.rpartition("/")[2]
    finding = Finding("compile-error", "error", what, file=name, line=0, hint=mend)
    return StudentFault(what, where=place, mend=mend, findings=(finding,))

"""Find the source in what a student really submits: a notebook, an archive, a folder, any text.

A container's candidates are the parts that define a CUDA kernel. One is taken and named; of
several, the one whose kernel the lab asks for, by name or by parameters; else the student reads
their names. A cell of a notebook keeps its lines: the line of its magic command is blank. The
student's own headers that the source includes are taken along (`headers.with_headers`).

Containers may be hostile. Nothing is unpacked to disk, an archive inside an archive is not opened,
and the number of parts, the bytes that are read and the bytes that are decompressed are limited.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from grader import dataclass
from grader.faults import Fault, LabFault, MachineFault, StudentFault, pluralize
from grader.labs.model import KernelSpec, Lab
from grader.submissions.files import (
    MAX_BYTES,
    Submission,
    binary_kind,
    not_a_file,
    parse_submission,
    printable_name,
    read_regular_file,
)
from grader.submissions.headers import (
    HEADERS,
    FindHeader,
    defined_kernels,
    find_header,
    included,
    is_for_device,
    with_headers,
)
from grader.submissions.listing import (
    ListedFile,
    archive_file,
    is_clutter,
    list_folder,
    split_name,
)

MAX_CONTAINER = 8 << 20
"""Bytes of a notebook or an archive, and of what an archive decompresses to."""

MAX_PARTS = 1000
"""Files of an archive or a folder, and cells of a notebook."""

SOURCE_SUFFIX = ".cu"
TEXT_SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".txt", *HEADERS)
CONTAINER_SUFFIXES = (".ipynb", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
SUFFIXES = (SOURCE_SUFFIX, *TEXT_SUFFIXES, *CONTAINER_SUFFIXES)
"""The names of files that may have a kernel in them."""

_MAGIC = re.compile(r"[ \t]*%%[^\n]*")
_TARGET = re.compile(r"[ \t]*%%(?:writefile|file|cuda[\w-]*|cu)\s+(?:-\w+\s+|--name\s+)*([\w./-]+)")
_BLOCK = 512
_COMPRESSED: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", lambda d: zlib.decompressobj(31).decompress(d, MAX_CONTAINER + 1)),
    (b"BZh", lambda d: bz2.BZ2Decompressor().decompress(d, MAX_CONTAINER + 1)),
    (
        b"\xfd7zXZ\0",
        lambda d: lzma.LZMADecompressor(memlimit=64 << 20).decompress(d, MAX_CONTAINER + 1),
    ),
)
_DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


@dataclass(frozen=True)
class Part:
    """A file or a cell: its name as messages show it, its first bytes, and what includes name."""

    name: str
    data: bytes
    path: str = ""

    @property
    def is_header(self) -> bool:
        """Whether its name is that of a header, which another source includes."""
        return self.path.lower().endswith(HEADERS)


@dataclass(frozen=True)
class Wanted:
    """What a lab asks for, to choose among several sources: its name and its kernels."""

    lab: str = ""
    kernels: Sequence[KernelSpec] = ()

    @classmethod
    def by(cls, lab: Lab) -> Wanted:
        """Return what a lab asks for."""
        return cls(lab.name, lab.kernels)

    @classmethod
    def of_kernel(cls, name: str | None) -> Wanted:
        """Return what a launch of that kernel asks for."""
        return cls(kernels=(KernelSpec(name, ()),) if name else ())


ANY = Wanted()
"""Any source."""


def read_submitted(path: Path, wanted: Wanted = ANY) -> Submission:
    """Read a student's file, whatever it is: source text, a notebook, an archive or a folder.

    Headers in the folder of a source are taken along where it includes them.

    Raises:
        LabFault: There is no such file, or it cannot be read.
        StudentFault: There is no source in it, or more than one.
    """
    if path.is_dir() and not path.is_symlink():
        listed = list_folder(path, most=MAX_PARTS).files
        return choose_part(path.name, _listed_parts(listed), wanted)
    data = read_regular_file(path, MAX_CONTAINER + 1)
    return open_submission(data, path.name, wanted, partial(_beside, path.parent))


def _beside(folder: Path, name: str, includer: str) -> tuple[str, str] | None:
    """Find a header in the folder of the file that includes it (headers.FindHeader)."""
    own = os.path.normpath(os.path.join(os.path.dirname(includer), name))
    if own.startswith(("..", "/")) or not own.lower().endswith(HEADERS):
        return None
    try:
        text = _text(read_regular_file(folder / own))
    except Fault:
        return None
    return (own, text) if text and is_for_device(text) else None


def open_submission(
    data: bytes, name: str, wanted: Wanted = ANY, find: FindHeader = lambda name, includer: None
) -> Submission:
    """Make a submission from the bytes of any file.

    Args:
        data: At most MAX_CONTAINER + 1 bytes.
        name: The file's name.
        wanted: What the lab asks for.
        find: Finds the headers that the file includes.

    Raises:
        StudentFault: There is no source in it, or more than one.
    """
    parts = container_parts(data, name)
    if parts is not None:
        return choose_part(name, parts, wanted)
    alone = parse_submission(data, name)
    return _with_headers(alone, name, find)


def _with_headers(alone: Submission, path: str, find: FindHeader) -> Submission:
    text = with_headers(alone.text, alone.name, path, find)
    return alone if text is None else parse_submission(text.encode(), alone.name)


def choose_files(
    student: str,
    files: Sequence[ListedFile],
    wanted: Wanted,
    headers: Sequence[ListedFile] = (),
) -> Submission:
    """Choose the source among one student's files by their contents.

    Args:
        student: The student's name.
        files: The files that may have the source.
        wanted: What the lab asks for.
        headers: Further files of the student that the source may include.

    Raises:
        Fault: A file cannot be read; there is no source in them, or more than one.
    """
    if len(files) == 1:
        more = {part.path: _text(part.data) for part in _listed_parts(headers)}
        data = files[0].bytes(MAX_CONTAINER + 1)
        return open_submission(data, files[0].name, wanted, partial(find_header, more))
    return choose_part(student, _listed_parts(files), wanted)


def choose_part(where: str, parts: Sequence[Part], wanted: Wanted) -> Submission:
    """Return the only part that defines a CUDA kernel, or the one that the lab asks for.

    Raises:
        StudentFault: There is none, or several have what the lab asks for.
    """
    texts = {part: _text(part.data) for part in parts}
    find = partial(find_header, {p.path: text for p, text in texts.items() if p.path and text})
    found = _candidates(texts, find)
    if len(found) > 1:
        named = [p for p, own in found.items() if any(k.name in own for k in wanted.kernels)]
        fitting = [p for p, own in found.items() if any(_fits(own, k) for k in wanted.kernels)]
        exact = [p for p in found if p.name.endswith(f"{wanted.lab}{SOURCE_SUFFIX}")]
        some = next((some for some in (named, fitting, exact) if len(some) == 1), named)
        found = {part: found[part] for part in some or found}
    if len(found) == 1:
        one = next(iter(found))
        return _with_headers(parse_submission(one.data, one.name), one.path, find)
    if not found:
        kinds = [f"{p.name} is {kind}" for p in parts if (kind := _part_kind(p))]
        what = f"there is no CUDA kernel in {where}"
        if parts:
            what += f": {', '.join(kinds[:3])}" if kinds else f" ({pluralize(len(parts), 'part')})"
        raise not_a_file(where, what, fix="submit the .cu file with your kernel")
    names = ", ".join(part.name for part in [*found][:6])
    what = f"{len(found)} parts have a CUDA kernel, and only one can be graded: {names}"
    raise not_a_file(where, what, fix="submit only the one to grade")


def _candidates(texts: Mapping[Part, str], find: FindHeader) -> dict[Part, dict[str, str]]:
    """The parts to choose among, with the kernels in them and in what they include.

    A header stands for the source that includes it, if there is one.
    """
    own = {part: defined_kernels(text) for part, text in texts.items()}
    reached = {p: included(text, p.path, find) for p, text in texts.items() if not p.is_header}
    chosen: dict[Part, dict[str, str]] = {}
    for part in (p for p, kernels in own.items() if kernels):
        users = [p for p, headers in reached.items() if p is not part and part.path in headers]
        for root in users if part.is_header and len(users) == 1 else [part]:
            chosen[root] = own[root] | defined_kernels("\n".join(reached.get(root, {}).values()))
    inside = {path for root in chosen for path in reached.get(root, ())}
    return {p: kernels for p, kernels in chosen.items() if p.path not in inside} or chosen


def _fits(kernels: Mapping[str, str], wanted: KernelSpec) -> bool:
    """Whether one of the kernels has as many pointers and values, in the lab's order."""
    order = ["*" in type_ for type_, _ in wanted.parameters]
    return any(
        order == [bool({"*", "["}.intersection(one)) for one in text.split(",")]
        for text in kernels.values()
    )


def container_parts(data: bytes, name: str) -> list[Part] | None:
    """Return the parts of a notebook or an archive; None for any other file.

    Raises:
        StudentFault: It is damaged, or exceeds a limit.
    """
    if data.startswith(b"PK\3\4") and not binary_kind(data, name):
        return _checked(_zip_parts, data, name)
    for magic, decompressed in _COMPRESSED:
        if data.startswith(magic):
            return _checked(partial(_tar_parts, decompressed=decompressed), data, name)
    if data[257:262] == b"ustar":
        return _checked(_tar_parts, data, name)
    cells = _cells(data, name)
    return None if cells is None else cells


def _checked(read: Callable[[bytes, str], Iterator[Part]], data: bytes, name: str) -> list[Part]:
    _check_size(data, name)
    parts: list[Part] = []
    total = 0
    try:
        for part in read(data, name):
            total += len(part.data)
            if len(parts) >= MAX_PARTS or total > MAX_CONTAINER:
                limit = f"{MAX_PARTS} files or {MAX_CONTAINER >> 20} MiB"
                raise _refused(name, f"the archive has more than {limit}")
            cells = _cells(part.data, part.name)
            parts += [part] if cells is None else cells
    except MachineFault as fault:  # of the zip's reader
        raise _refused(name, fault.what) from None
    except _DAMAGE as error:
        raise _refused(name, f"the archive is damaged: {error}") from None
    return parts


def _check_size(data: bytes, name: str) -> None:
    if len(data) > MAX_CONTAINER:
        raise _refused(name, f"the file is larger than {MAX_CONTAINER >> 20} MiB")


def _zip_parts(data: bytes, name: str) -> Iterator[Part]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist()[: MAX_PARTS + 1]:
            parts, problem = split_name(info.filename)
            if problem or not parts or is_clutter(parts) or info.is_dir():
                continue
            file = archive_file(archive, info, parts, 1)
            if not isinstance(file.problem, StudentFault):  # of a link
                held = file.bytes(_most(parts[-1]))
                yield Part(f"{name}:{parts[-1]}", held, "/".join(parts))


def _tar_parts(
    data: bytes, name: str, decompressed: Callable[[bytes], bytes] = bytes
) -> Iterator[Part]:
    """Read regular files by their headers (POSIX ustar; GNU's and pax's long names)."""
    data = decompressed(data)
    if len(data) > MAX_CONTAINER:
        raise _refused(name, f"the archive has more than {MAX_CONTAINER >> 20} MiB")
    at, long_name, seen = 0, b"", 0
    while at + _BLOCK <= len(data) and data[at] and seen <= 2 * MAX_PARTS:
        head, seen = data[at : at + _BLOCK], seen + 1
        size = int(head[124:136].strip(b" \0") or b"0", 8)
        kind, body = head[156:157], data[at + _BLOCK : at + _BLOCK + size]
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
        if kind == b"L":
            long_name = body.rstrip(b"\0")
            continue
        if kind in (b"x", b"g"):
            path = re.search(rb"^\d{1,9} path=([^\n]*)$", body, re.MULTILINE)
            long_name = path[1] if path and kind == b"x" else long_name
            continue
        prefix = head[345:500].split(b"\0")[0]
        own = long_name or (prefix + b"/" if prefix else b"") + head[:100].split(b"\0")[0]
        long_name = b""
        parts, problem = split_name(own.decode("utf-8", "replace"))
        if kind in (b"0", b"\0") and parts and not problem and not is_clutter(parts):
            yield Part(f"{name}:{parts[-1]}", body[: _most(parts[-1])], "/".join(parts))
    if not seen:
        raise _refused(name, "this is compressed, and no tar archive")


def _cells(data: bytes, name: str) -> list[Part] | None:
    """The code cells of a Jupyter notebook with CUDA C++; None when it is no notebook."""
    if not data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or len(data) > MAX_CONTAINER:
        return None
    try:
        book = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        return None
    language = str(book.get("metadata", {}))[:2000].lower()
    is_cpp = "c++" in language or "cuda" in language
    found: dict[str, Part] = {}
    for number, cell in enumerate(cells[:MAX_PARTS], 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if (magic := _MAGIC.match(text)) or is_cpp:
            text = text[magic.end() :] if magic else text
            target = _TARGET.match(magic[0]) if magic else None
            key = target[1] if target else str(number)  # a file that is written again is replaced
            path = target[1] if target else ""
            part = Part(f"{name}[cell {number}]", text.encode("utf-8", "replace"), path)
            found.pop(key, None)
            found[key] = part
    return list(found.values())


def _listed_parts(files: Sequence[ListedFile]) -> list[Part]:
    """The parts of files whose names say that they may have a source in them."""
    parts: list[Part] = []
    total = 0
    for file in files[:MAX_PARTS]:
        if file.problem is None and (file.name.lower().endswith(SUFFIXES) or len(files) == 1):
            data = file.bytes(_most(file.name))
            total += len(data)
            if total > MAX_CONTAINER:
                raise LabFault(f"there are more than {MAX_CONTAINER >> 20} MiB", where=file.path)
            inner = container_parts(data, file.name)
            parts += [Part(file.path, data, file.path)] if inner is None else inner
    return parts


def _most(name: str) -> int:
    """The bytes to read of a file: more of a notebook, which has pictures in it."""
    return MAX_CONTAINER + 1 if name.lower().endswith(CONTAINER_SUFFIXES) else MAX_BYTES + 1


def _part_kind(part: Part) -> str:
    """What a part is that is no source text; "" for text."""
    is_archive = any(part.data.startswith(m) for m in (b"PK\3\4", *(m for m, _ in _COMPRESSED)))
    kind = binary_kind(part.data, part.name)
    return kind or ("an archive inside an archive, which is not opened" if is_archive else "")


def _text(data: bytes) -> str:
    try:
        return parse_submission(data, "part").text
    except StudentFault:
        return ""


def _refused(name: str, what: str) -> StudentFault:
    return not_a_file(printable_name(name), what, fix="submit the .cu file with your kernel")

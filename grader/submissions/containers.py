"""Find the source in what a student really submits: a notebook, an archive, a folder, any text.

A container's candidates are the parts that define a CUDA kernel. One is taken and named; of
several, the one whose kernel the lab asks for, by name or by parameters; else the student reads
their names. A cell of a notebook keeps its lines: the line of its magic command is blank. The
student's own headers that the source includes are taken along (`sources.with_headers`).

Containers may be hostile. Nothing is unpacked to disk, an archive inside an archive is not opened,
and the number of parts, the bytes that are read and the bytes that are decompressed are limited.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from grader import dataclass, regex, replace
from grader.faults import LabFault, MachineFault, StudentFault
from grader.submissions.files import (
    MAX_BYTES,
    NOT_CODE,
    binary_kind,
    defined_kernels,
    not_a_file,
    parse_submission,
    printable_name,
)
from grader.submissions.listing import (
    ListedFile,
    archive_file,
    is_clutter,
    split_name,
)

MAX_CONTAINER = 8 << 20
"""Bytes of a notebook or an archive, and of what an archive decompresses to."""

MAX_PARTS = 1000
"""Files of an archive or a folder, and cells of a notebook."""

FindHeader = Callable[[str, str], tuple[str, str] | None]
"""Find a header by its name in an #include and the path of the file that includes it.

Returns its path and its text; None where it is not one of the student's own files.
"""

MAX_INCLUDES = 64
"""Headers that a source includes, and files of one name."""

LONGEST_OTHER = 200
"""The lines of a header without device code that is put in."""

HEADERS = (".cuh", ".h", ".hpp", ".hxx", ".inl")
SOURCE_SUFFIX = ".cu"
TEXT_SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".txt", *HEADERS)
CONTAINER_SUFFIXES = (".ipynb", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
SUFFIXES = (SOURCE_SUFFIX, *TEXT_SUFFIXES, *CONTAINER_SUFFIXES)
"""The names of files that may have a kernel in them."""

INCLUDE = regex(r"[ \t]*#[ \t]*include[ \t]*(?:\"([^\"\n]*)\"|<([^>\n]*)>)")
_BEFORE_CODE = regex(r"\s*(?:%|!|#(?!\s*(?:include|define|if|pragma|undef|error)\w*\b)|$)")
_TRANSPARENT = frozenset(("time", "timeit", "capture", "prun"))
_FILES = frozenset(("writefile", "file"))
_SHELLS = frozenset(("shell", "bash", "sh", "script", "system", "sx"))
_LANGUAGES = frozenset(("html", "HTML", "javascript", "js", "latex", "markdown", "svg", "SVG",
                        "python", "python2", "python3", "perl", "ruby", "R", "sql"))  # fmt: skip
_HEREDOC = regex(r"<<-?\s?['\"]?(\w+)['\"]?")
_TARGET = regex(r"(?:>|\btee(?:\s-a)?\s)\s?['\"]?([\w./-]+)")
_FENCE = regex(r"\s{0,3}```")
IN_PYTHON = "has a kernel in a Python string: move it to a cell that begins with %%cu"
_OF_DEVICE = regex(r"\b__(?:device|global|constant|shared|host)__\b")
_BLOCK = 512
_COMPRESSED: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", lambda d: zlib.decompressobj(31).decompress(d, MAX_CONTAINER + 1)),
    (b"BZh", lambda d: bz2.BZ2Decompressor().decompress(d, MAX_CONTAINER + 1)),
    (
        b"\xfd7zXZ\0",
        lambda d: lzma.LZMADecompressor(memlimit=64 << 20).decompress(d, MAX_CONTAINER + 1),
    ),
)
_DAMAGE = (OSError, EOFError, ValueError, zlib.error)


@dataclass(frozen=True)
class Part:
    """A file or a cell: its name as messages show it, its first bytes, and what includes name.

    `note` says why it is no source. `joints` are the lines at which later cells were appended, with
    the names of these cells.
    """

    name: str
    data: bytes
    path: str = ""
    note: str = ""
    joints: tuple[tuple[int, str], ...] = ()

    @property
    def is_header(self) -> bool:
        """Whether its name is that of a header, which another source includes."""
        return self.path.lower().endswith(HEADERS)


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
    except (*_DAMAGE, lzma.LZMAError, zipfile.BadZipFile) as error:
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
    """The sources in the cells of a Jupyter notebook; None when it is no notebook."""
    if not data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or len(data) > MAX_CONTAINER:
        return None
    try:
        book = json.loads(data)
    except (ValueError, RecursionError):
        return None
    sheets = book.get("worksheets") if isinstance(book, dict) else None  # of notebooks before 2015
    first = sheets[0] if isinstance(sheets, list) and sheets else book
    cells = first.get("cells") if isinstance(first, dict) else None
    if not isinstance(cells, list):
        return None
    language = str(book.get("metadata", {}))[:2000].lower()
    is_cpp = "c++" in language or "cuda" in language
    found: dict[str, Part] = {}
    for number, cell in enumerate(cells[:MAX_PARTS], 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        for path, own, more in _cell_sources(text, is_cpp):
            part = Part(f"{name}[cell {number}]", own.encode("utf-8", "replace"), path)
            earlier = found.pop(path or part.name, None)  # what is written again is replaced
            if earlier and more:
                part = _appended(earlier, part)
            found[path or part.name] = part
        quotes = '"""' in text or "'''" in text
        if quotes and "__global__" in text and not text.lstrip().startswith("%%"):
            found[f"{number}"] = Part(f"{name}[cell {number}]", b"", note=IN_PYTHON)
    return list(found.values())


def _appended(first: Part, more: Part) -> Part:
    """Return a file with what a later cell appends to it."""
    data = first.data if first.data.endswith(b"\n") else first.data + b"\n"
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
    joints = (*first.joints, (lines + 1, more.name))
    return replace(first, data=data + more.data, joints=joints)


def _cell_sources(text: str, is_cpp: bool) -> Iterator[tuple[str, str, bool]]:
    """Yield the path, the text and whether it is appended, of each source in a cell.

    Lines before a source are blank, so that it keeps its lines. A file is written by
    %%writefile or in a shell; any other cell magic but those of other languages is taken for
    CUDA's. Without a magic it is CUDA where it has a kernel, outside of Python's strings.
    """
    lines = text.split("\n")
    start = next((k for k, line in enumerate(lines) if not _BEFORE_CODE.match(line)), len(lines))
    magics = [line.split() for line in lines[:start] if line.lstrip().startswith("%%")]
    names = {words[0].strip("%") for words in magics} - _TRANSPARENT
    blank, words = "\n" * start, [word.strip("\"'") for word in (magics or [[""]])[-1]]
    body = blank + "\n".join(lines[start:])
    if names & _SHELLS:
        yield from _heredocs(lines)
    elif names & _FILES:
        given = [word for word in words[1:] if not word.startswith("-")]
        yield _path(given[-1] if given else ""), body, not {"-a", "--append"}.isdisjoint(words)
    elif names:
        at = next((k + 1 for k, word in enumerate(words) if word in ("-n", "--name")), len(words))
        if not names & _LANGUAGES:
            yield _path("".join(words[at : at + 1])), body, False
    elif is_cpp or not ('"""' in text or "'''" in text or not defined_kernels(text)):
        yield "", text, False


def _heredocs(lines: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """The files that a shell writes: `cat > mm.cu <<'EOF'`."""
    end, path, begun = "", "", 0
    for number, line in enumerate(lines):
        if end and line.strip() == end:
            yield path, "\n" * begun + "\n".join([*lines[begun:number], ""]), False
            end = ""
        elif not end and (match := _HEREDOC.search(line)):
            target = _TARGET.search(line)
            end, path, begun = match[1], _path(target[1] if target else ""), number + 1


def _path(written: str) -> str:
    return posixpath.normpath(written).lstrip("/") if written else ""


def without_fences(text: str) -> str:
    """Return the code in a text of Markdown, with as many lines; any other text as it is."""
    lines = text.split("\n")
    fences = [k for k, line in enumerate(lines) if _FENCE.match(line)]
    if not fences or not defined_kernels(text):
        return text
    inside = {k for a, b in zip(fences[::2], [*fences[1::2], len(lines)], strict=False)
              for k in range(a + 1, b)}  # fmt: skip
    return "\n".join(line if k in inside else "" for k, line in enumerate(lines))


def listed_parts(files: Sequence[ListedFile]) -> list[Part]:
    """Return the parts of files whose names say that they may have a source in them."""
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


def part_kind(part: Part) -> str:
    """Return what a part is that is no source text: "is a PDF document"; "" for text."""
    if part.note:
        return part.note
    is_archive = any(part.data.startswith(m) for m in (b"PK\3\4", *(m for m, _ in _COMPRESSED)))
    kind = binary_kind(part.data, part.name)
    kind = kind or ("an archive inside an archive, which is not opened" if is_archive else "")
    return f"is {kind}" if kind else ""


def header_finder(texts: Mapping[str, str]) -> FindHeader:
    """Find headers among files by path: beside the includer, else the only one so named."""
    by_name: dict[str, list[str]] = {}
    for path in (path for path, text in texts.items() if is_for_device(text)):
        by_name.setdefault(posixpath.basename(path), []).append(path)

    def find(name: str, includer: str) -> tuple[str, str] | None:
        own = posixpath.normpath(
            posixpath.join(posixpath.dirname(includer), name.replace("\\", "/"))
        )
        alike = by_name.get(posixpath.basename(own), [])[:MAX_INCLUDES]
        tail = "/" + own.lstrip("./")
        paths = [p for p in alike if p == own] or [p for p in alike if f"/{p}".endswith(tail)]
        found = paths or alike
        return (found[0], texts[found[0]]) if len(found) == 1 and found[0] != includer else None

    return find


def included(
    text: str, path: str, find: FindHeader, links: dict[str, list[tuple[str, str]]]
) -> dict[str, str]:
    """Return the texts of the headers that a source includes, by path, and those that they do.

    `links` keeps what each text includes, for further calls.
    """
    found: dict[str, str] = {}
    first, waiting = path, [(text, path)]
    while waiting and len(found) < MAX_INCLUDES:
        text, path = waiting.pop()
        if (key := path or text) not in links:
            matches = filter(None, map(INCLUDE.match, lines_of_code(text)))
            headers = (find(m[1] or m[2], path) for m in list(matches)[:MAX_INCLUDES])
            links[key] = [header for header in headers if header]
        new = [h for h in links[key] if h[0] not in found and h[0] != first]
        found |= dict(new)
        waiting += [(own, name) for name, own in new]
    return found


def lines_of_code(text: str) -> list[str]:
    """Return the lines of a text without comments; literals stay."""
    return NOT_CODE.sub(_blank_comment, text).split("\n")


def _blank_comment(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def is_for_device(text: str) -> bool:
    """Whether a kernel may need a header: it has device code, or is short.

    Long headers without device code are libraries of the host: images, arguments, timers.
    """
    return bool(_OF_DEVICE.search(text)) or text.count("\n") <= LONGEST_OTHER


def part_text(data: bytes) -> str:
    """Return the text of a part; "" where it is none."""
    try:
        return parse_submission(data, "part").text
    except StudentFault:
        return ""


def _refused(name: str, what: str) -> StudentFault:
    return not_a_file(printable_name(name), what, fix="submit the .cu file with your kernel")

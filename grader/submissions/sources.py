"""Choose the source among a student's files, and put the student's own headers into it.

The candidates are the files, or parts of a notebook or an archive, that define a CUDA kernel. One
is taken and named; of several, the one whose kernel the lab asks for, by name or by parameters;
else the student reads their names. A source that defines a device function or variable which the
one that was taken only declares is put behind it.

A submission is one text: what is compiled, simulated, shown to the checks and hashed. So a header
takes the place of its #include, and comments in the text keep where each line is from, in a stored
submission too. Everything that a grade reports is moved to those places at the end of the pipeline
(`in_own_files`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from grader import dataclass, regex, replace
from grader.faults import Fault, pluralize
from grader.labs.model import KernelSpec, Lab
from grader.submissions.containers import (
    HEADERS,
    INCLUDE,
    MAX_CONTAINER,
    MAX_INCLUDES,
    MAX_PARTS,
    SOURCE_SUFFIX,
    FindHeader,
    Part,
    container_parts,
    header_finder,
    included,
    is_for_device,
    lines_of_code,
    listed_parts,
    part_kind,
    part_text,
    without_fences,
)
from grader.submissions.files import (
    MAX_BYTES,
    NOT_CODE,
    Submission,
    defined_kernels,
    device_names,
    not_a_file,
    parse_submission,
    printable_name,
    read_regular_file,
)
from grader.submissions.listing import list_folder

_Value = TypeVar("_Value")

MAX_DEPTH = 32
"""Headers that include each other; what is deeper stays out."""


_EMPTY_BODY = regex(r"__global__[^;{]{0,4000}\{\s*\}")
_DEFINED = regex(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_WORD = regex(r"\w+")
_MARK = "//@warpgrade line "
_MARKED = regex(re.escape(_MARK) + r"(\d{1,9}) of (.+)")
_HUNK = regex(r"^@@ -(\d{1,9})[\d,]* \+[\d,]+ @@", re.MULTILINE)
_LINES = regex(r"\b(lines?[\s\u00a0])(\d{1,9}(?:(?:, | and | to |-)\d{1,9})*)")


_VERBATIM = ("text", "file", "name", "variable", "cases")
"""Attributes without line numbers of the submission."""


def with_headers(
    text: str, name: str, path: str, find: FindHeader, joints: Sequence[tuple[int, str]] = (),
    more: Sequence[tuple[str, str]] = (),
) -> str | None:  # fmt: skip
    """Return a source with the student's own headers in place of the lines that include them.

    A comment before and behind each header says where the next line is from: `source_places`.
    A header is put in once. Headers that would exceed the size of a submission stay out.

    Args:
        text: The source, without such comments.
        name: Its name in messages.
        path: What other files include it by.
        find: Finds the headers.
        joints: The lines from which on the source is another cell's, and the cells' names.
        more: The paths and texts of further sources, which are put behind it.

    Returns:
        None where nothing else becomes part of the source.
    """
    done: set[str] = {path}
    out: list[str] = []
    size = len(text)
    cells = dict(joints)

    def put(text: str, name: str, path: str, depth: int) -> None:
        nonlocal size
        lines = text.replace("\r\n", "\n").replace("\r", "\n")
        pairs = zip(lines.split("\n"), lines_of_code(lines), strict=True)
        before = 0  # lines of earlier cells
        for number, (line, code) in enumerate(pairs, 1):
            if not depth and number in cells:
                name, before = cells[number], number - 1
                out.append(f"{_MARK}1 of {name}")
            match = INCLUDE.match(code)
            header = find(match[1] or match[2], path) if match else None
            is_new = header is not None and header[0] not in done
            fits = header is not None and size + len(header[1]) <= MAX_BYTES // 2
            if not match or not header or (is_new and not (fits and depth < MAX_DEPTH)):
                out.append(line)
                continue
            if is_new:
                done.add(header[0])
                size += len(header[1])
                shown = printable_name(header[0])
                out.append(f"{_MARK}1 of {shown}")
                put(_unmarked(header[1]), shown, header[0], depth + 1)
                out.append(f"{_MARK}{number - before} of {name}")
            out.append(line[match.end() :])

    put(text, name, path, 0)
    for other, own in more:
        if other not in done and size + len(own) <= MAX_BYTES // 2:
            done.add(other)
            size += len(own)
            out.append(f"{_MARK}1 of {printable_name(other)}")
            put(_unmarked(own), printable_name(other), other, 1)
    return "\n".join(out) if len(done) > 1 or joints else None


def source_places(text: str, name: str) -> tuple[tuple[str, int], ...]:
    """Return the file and line of each line of a source `with_headers`; () for any other source."""
    if _MARK not in text:
        return ()
    places, at = [], (name, 1)
    for line in text.split("\n"):
        places.append(at)
        match = _MARKED.fullmatch(line)
        at = (match[2], int(match[1])) if match else (at[0], at[1] + 1)
    return tuple(places)


def header_note(text: str, name: str) -> str:
    """Return one line about the headers that are part of a source; "" where there are none."""
    headers = header_files(text, name)
    return f"graded with {', '.join(headers)}" if headers else ""


def header_files(text: str, name: str) -> tuple[str, ...]:
    """Return the student's own headers that are part of a source."""
    files = dict.fromkeys(file for file, _ in source_places(text, name))
    return tuple(file for file in files if file != name)


def in_own_files(value: _Value, places: Sequence[tuple[str, int]], name: str) -> _Value:
    """Return findings, or values that contain them, with lines in the files that they are from.

    Args:
        value: A dataclass, a tuple or a text.
        places: What `source_places` returns.
        name: The file whose lines need no name.
    """

    def place(line: int) -> tuple[str, int]:
        return places[line - 1] if 0 < line <= len(places) else (name, line)

    def of_lines(match: re.Match[str]) -> str:
        return match[1] + re.sub(r"\d+", lambda one: worded(int(one[0])), match[2])

    def worded(line: int) -> str:
        file, own = place(line)
        return f"{own}" if file == name else f"{own} of {file}"

    def moved(one: Any, around: str) -> Any:
        if isinstance(one, str):
            text = _LINES.sub(of_lines, one)
            return _HUNK.sub(lambda at: f"@@ line {worded(int(at[1]))} @@", text)
        if isinstance(one, tuple):
            return tuple(moved(part, around) for part in one)
        if not is_dataclass(one) or isinstance(one, type):
            return one
        held = {f.name: getattr(one, f.name) for f in fields(one)}
        more: dict[str, Any] = {}
        if held.get("line"):
            file, more["line"] = place(held["line"])
            more["file"] = file if held["file"] or file != around else ""
            around = file
        rest = {k: moved(v, around) for k, v in held.items() if k not in _VERBATIM}
        return replace(one, **{**rest, **more})

    result: _Value = moved(value, name)
    return result


def _unmarked(text: str) -> str:
    """A student's text without comments that look like those of `with_headers`."""
    return text.replace(_MARK, _MARK.upper())


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


ANY = Wanted()  # any source


def read_submitted(path: Path, wanted: Wanted = ANY) -> Submission:
    """Read a student's file, whatever it is: source text, a notebook, an archive or a folder.

    Headers in the folder of a source are taken along where it includes them.

    Raises:
        LabFault: There is no such file, or it cannot be read.
        StudentFault: There is no source in it, or more than one.
    """
    if path.is_dir() and not path.is_symlink():
        listed = list_folder(path, most=MAX_PARTS).files
        return choose_part(path.name, listed_parts(listed), wanted)
    data = read_regular_file(path, MAX_CONTAINER + 1)
    return open_submission(data, path.name, wanted, partial(header_beside, path.parent))


def header_beside(
    folder: Path, name: str, includer: str, read: Callable[[Path], bytes] = read_regular_file
) -> tuple[str, str] | None:
    """Find a header in the folder of the file that includes it (containers.FindHeader).

    `read` returns the bytes of a file, and raises Fault where there is none.
    """
    own = os.path.normpath(os.path.join(os.path.dirname(includer), name))
    if own.startswith(("..", "/")) or not own.lower().endswith((*HEADERS, SOURCE_SUFFIX)):
        return None
    try:
        text = part_text(read(folder / own))
    except Fault:
        return None
    return (own, text) if text and is_for_device(text) else None


def open_submission(
    data: bytes, name: str, wanted: Wanted = ANY, find: FindHeader = lambda name, includer: None,
    beside: Sequence[Part] = (),
) -> Submission:  # fmt: skip
    """Make a submission from the bytes of any file.

    Args:
        data: At most MAX_CONTAINER + 1 bytes.
        name: The file's name.
        wanted: What the lab asks for.
        find: Finds the headers that the file includes.
        beside: Further files of the student, which may define what this one declares.

    Raises:
        StudentFault: There is no source in it, or more than one.
    """
    parts = container_parts(data, name)
    if parts is not None:
        return choose_part(name, parts, wanted)
    one = Part(name, data, name)
    texts = {part: part_text(part.data) for part in (one, *beside)}
    return _with_headers(one, find, _definitions(one, texts, find))


def _with_headers(one: Part, find: FindHeader, more: Sequence[tuple[str, str]]) -> Submission:
    alone = parse_submission(one.data, one.name)
    own = _unmarked(without_fences(alone.text))
    text = with_headers(own, alone.name, one.path, find, one.joints, more) or own
    return alone if text == alone.text else parse_submission(text.encode(), alone.name)


def choose_part(where: str, parts: Sequence[Part], wanted: Wanted) -> Submission:
    """Return the only part that defines a CUDA kernel, or the one that the lab asks for.

    Raises:
        StudentFault: There is none, or several have what the lab asks for.
    """
    texts = {part: part_text(part.data) for part in parts}
    find = header_finder({p.path: text for p, text in texts.items() if p.path and text})
    copies = {" ".join(text.split()): part for part, text in reversed(texts.items())}
    first = set(copies.values())  # of equal files
    found = _candidates({p: text for p, text in texts.items() if p in first}, find)
    found = _narrowed(found, texts, wanted)
    if len(found) == 1:
        one = next(iter(found))
        return _with_headers(one, find, _definitions(one, texts, find))
    if not found:
        kinds = [f"{p.name} {kind}" for p in parts if (kind := part_kind(p))]
        what = f"there is no CUDA kernel in {where}"
        if parts:
            what += f": {', '.join(kinds[:3])}" if kinds else f" ({pluralize(len(parts), 'part')})"
        raise not_a_file(where, what, fix="submit the .cu file with your kernel")
    listed = ", ".join(part.name for part in [*found][:6])
    what = f"{len(found)} parts have a CUDA kernel, and only one can be graded: {listed}"
    names = [k.name for k in wanted.kernels[:1] if not any(k.name in own for own in found.values())]
    fix = "".join(f"name the kernel `{name}`, or " for name in names)
    raise not_a_file(where, what, fix=f"{fix}submit only the one to grade")


def _definitions(one: Part, texts: Mapping[Part, str], find: FindHeader) -> list[tuple[str, str]]:
    """The paths and texts of the other sources that define what a source only declares.

    One that defines a device function or variable is taken where it is the only one, or the only
    one in the folder of the source.
    """
    found: dict[str, str] = {}
    waiting, names = [(one.path, texts[one])], dict[str, tuple[frozenset[str], frozenset[str]]]()
    links: dict[str, list[tuple[str, str]]] = {}
    while waiting and len(found) < MAX_INCLUDES:
        path, text = waiting.pop()
        for name, own in ((path, text), *included(text, path, find, links).items()):
            names[name] = device_names(own)
        missing = {n for own in names.values() for n in own[0]}
        missing -= {n for own in names.values() for n in own[1]}
        if not missing:
            break
        rest = {p: device_names(t)[1] for p, t in texts.items() if p.path and p.path not in names}
        for wanted in sorted(missing):
            able = [p for p, own in rest.items() if wanted in own and not p.is_header]
            folder = os.path.dirname(one.path)
            near = [p for p in able if os.path.dirname(p.path) == folder] or able
            if len(near) == 1 and near[0].path not in found:
                found[near[0].path] = texts[near[0]]
                waiting.append((near[0].path, texts[near[0]]))
    return [*found.items()]


def _narrowed(
    found: dict[Part, dict[str, str]], texts: Mapping[Part, str], wanted: Wanted
) -> dict[Part, dict[str, str]]:
    """The candidates that fit best what the lab asks for, by one trait after another."""
    traits: tuple[Callable[[Part], bool], ...] = (
        lambda p: any(k.name in found[p] for k in wanted.kernels),
        lambda p: any(_fits(found[p], k) for k in wanted.kernels),
        lambda p: not p.path.lower().endswith((".md", ".txt", ".orig", ".bak")),
        lambda p: not _EMPTY_BODY.search(NOT_CODE.sub(" ", texts[p])),
        lambda p: p.name.endswith(f"{wanted.lab}{SOURCE_SUFFIX}"),
    )
    for fits in traits:
        found = {p: own for p, own in found.items() if fits(p)} or found
    return found


def _candidates(texts: Mapping[Part, str], find: FindHeader) -> dict[Part, dict[str, str]]:
    """The parts to choose among, with the kernels in them and in what they include.

    A header stands for the source that includes it, if there is one.
    """
    own = {part: defined_kernels(text) for part, text in texts.items()}
    by_path = {part.path: kernels for part, kernels in own.items()}
    links: dict[str, list[tuple[str, str]]] = {}
    reached = {p: included(t, p.path, find, links) for p, t in texts.items() if not p.is_header}
    chosen: dict[Part, dict[str, str]] = {}
    for part in (p for p, kernels in own.items() if kernels):
        users = [p for p, headers in reached.items() if p is not part and part.path in headers]
        one = len(users) == 1 and (part.is_header or _defines_for(texts[users[0]], texts[part]))
        for root in users if one else [part]:
            inner = (name for name in reached.get(root, ()) if name in by_path)
            chosen[root] = {n: k for name in inner for n, k in by_path[name].items()} | own[root]
    inside = {path for root in chosen for path in reached.get(root, ())}
    return {p: kernels for p, kernels in chosen.items() if p.path not in inside} or chosen


def _defines_for(user: str, part: str) -> bool:
    """Whether a source defines macros that a part that it includes uses."""
    words = set(_WORD.findall(part)) - set(_DEFINED.findall(part))
    return not words.isdisjoint(_DEFINED.findall(user))


def _fits(kernels: Mapping[str, str], wanted: KernelSpec) -> bool:
    """Whether one of the kernels has as many pointers and values, in the lab's order."""
    order = ["*" in type_ for type_, _ in wanted.parameters]
    return any(
        order == [bool({"*", "["}.intersection(one)) for one in text.split(",")]
        for text in kernels.values()
    )

"""Put a student's own headers into the source that includes them, and report their lines.

A submission is one text: what is compiled, simulated, shown to the checks and hashed. So a header
takes the place of its #include, and comments in the text keep where each line is from, in a stored
submission too. Everything that a grade reports is moved to those places at the end of the pipeline
(`in_own_files`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from grader.submissions.files import MAX_BYTES, printable_name

_Value = TypeVar("_Value")

FindHeader = Callable[[str, str], tuple[str, str] | None]
"""Find a header by its name in an #include and the path of the file that includes it.

Returns its path and its text; None where it is not one of the student's own files.
"""

HEADERS = (".cuh", ".h", ".hpp", ".hxx", ".inl")
LONGEST_OTHER = 200
"""The lines of a header without device code that is put in."""

_OF_DEVICE = re.compile(r"\b__(?:device|global|constant|shared|host)__\b")
_INCLUDE = re.compile(r"[ \t]*#[ \t]*include[ \t]*(?:\"([^\"\n]*)\"|<([^>\n]*)>)")
_NOT_CODE = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?", re.DOTALL)
_HEAD_END = re.compile(r"[;{]")
_LONGEST_HEAD = 4000
_MARK = "//@warpgrade line "
_MARKED = re.compile(re.escape(_MARK) + r"(\d{1,9}) of (.+)")
_LINES = re.compile(r"\b(lines?[\s\u00a0])(\d{1,9}(?:(?:, | and | to |-)\d{1,9})*)")


_VERBATIM = ("text", "file", "name", "variable", "cases")
"""Attributes without line numbers of the submission."""


def find_header(texts: Mapping[str, str], name: str, includer: str) -> tuple[str, str] | None:
    """Find a header among files by their paths: beside the includer, else the only one so named."""
    own = posixpath.normpath(posixpath.join(posixpath.dirname(includer), name.replace("\\", "/")))
    tail = "/" + own.lstrip("./")
    paths = [own] if own in texts else [p for p in texts if f"/{p}".endswith(tail)]
    base = f"/{posixpath.basename(own)}"
    paths = paths or [path for path in texts if f"/{path}".endswith(base)]
    found = paths[0] if len(paths) == 1 and paths[0] != includer else ""
    return (found, texts[found]) if found and is_for_device(texts[found]) else None


def is_for_device(text: str) -> bool:
    """Whether a kernel may need a header: it has device code, or is short.

    Long headers without device code are libraries of the host: images, arguments, timers.
    """
    return bool(_OF_DEVICE.search(text)) or text.count("\n") <= LONGEST_OTHER


def included(text: str, path: str, find: FindHeader) -> dict[str, str]:
    """Return the texts of the headers that a source includes, by path, and those that they do."""
    found: dict[str, str] = {}
    first, waiting = path, [(text, path)]
    while waiting and sum(map(len, found.values())) <= MAX_BYTES:
        text, path = waiting.pop()
        for line in _lines_of_code(text) if "include" in text else ():
            match = _INCLUDE.match(line)
            header = find(match[1] or match[2], path) if match else None
            if header and header[0] not in {first, *found}:
                found[header[0]] = header[1]
                waiting.append((header[1], header[0]))
    return found


def with_headers(text: str, name: str, path: str, find: FindHeader) -> str | None:
    """Return a source with the student's own headers in place of the lines that include them.

    A comment before and behind each header says where the next line is from: `source_places`.
    A header is put in once. Headers that would exceed the size of a submission stay out.

    Returns:
        None where the source includes no header of the student's.
    """
    if not included(text, path, find):
        return None
    done: set[str] = {path}
    out: list[str] = []
    size = len(text)

    def put(text: str, name: str, path: str) -> None:
        nonlocal size
        lines = text.replace("\r\n", "\n").replace("\r", "\n")
        pairs = zip(lines.split("\n"), _lines_of_code(lines), strict=True)
        for number, (line, code) in enumerate(pairs, 1):
            match = _INCLUDE.match(code)
            header = find(match[1] or match[2], path) if match else None
            is_new = header is not None and header[0] not in done
            if not match or not header or (is_new and size + len(header[1]) > MAX_BYTES // 2):
                out.append(line)
                continue
            if is_new:
                done.add(header[0])
                size += len(header[1])
                shown = printable_name(header[0])
                out.append(f"{_MARK}1 of {shown}")
                put(header[1], shown, header[0])
                out.append(f"{_MARK}{number} of {name}")
            out.append(line[match.end() :])

    put(text, name, path)
    return "\n".join(out)


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
            return _LINES.sub(of_lines, one)
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


def _lines_of_code(text: str) -> list[str]:
    """The lines without comments; literals stay."""
    return _NOT_CODE.sub(_blank_comment, text).split("\n")


def _blank_comment(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def defined_kernels(text: str) -> dict[str, str]:
    """Return the parameters of each kernel that a text defines, by name; prototypes do not count.

    Comments and literals hold no kernels.
    """
    found = {}
    for behind in _NOT_CODE.sub(" ", text).split("__global__")[1:]:
        end = _HEAD_END.search(behind, 0, _LONGEST_HEAD)
        if end and end[0] == "{":
            name, parameters = _name_and_parameters(behind[: end.start()].rstrip())
            found[name] = parameters
    return found


def _name_and_parameters(head: str) -> tuple[str, str]:
    """The name and the parameters of a function's head, which ends with a parenthesis."""
    at, depth = len(head) - 1, int(head.endswith(")"))
    while depth and at > 0:
        at -= 1
        depth += (head[at] == ")") - (head[at] == "(")
    end = len(head[:at].rstrip())
    start = end
    while start and (head[start - 1].isalnum() or head[start - 1] == "_"):
        start -= 1
    return head[start:end], head[at + 1 : -1]

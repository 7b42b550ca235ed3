"""Read files of unknown origin: a student's source, and arrays in .npy files.

A source is read once, so that the bytes that are graded are the bytes that were hashed. A .npy file
is read as plain numbers or refused, and never unpickled.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import unicodedata
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, regex
from grader.faults import Fault, LabFault, StudentFault, closest_match, file_fault
from grader.launch import Finding

MAX_BYTES = 256 * 1024

_KINDS = (
    (b"%PDF-", "a PDF document"), (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"), (b"BM\x36", "a picture"), (b"RIFF", "a picture or a recording"),
    (b"\xd0\xcf\x11\xe0", "a document of an old Word or Excel"), (b"{\\rtf", "an RTF document"),
    (b"\x7fELF", "a compiled program"), (b"MZ\x90", "a compiled program"),
    (b"!<arch>", "a compiled library"), (b"7z\xbc\xaf", "a 7z archive: submit a zip"),
    (b"Rar!", "a RAR archive: submit a zip"), (b"\xca\xfe\xba\xbe", "a compiled program"),
    (b"SQLite", "a database"), (b"\x93NUMPY", "a NumPy array"),
)  # fmt: skip
_OFFICE = (
    (b"word/document", "a Word document"), (b"xl/workbook", "an Excel sheet"),
    (b"ppt/presentation", "a PowerPoint presentation"),
    (b"vnd.oasis.opendocument", "an OpenDocument file"),
)  # fmt: skip
"""Office documents are zips: the names of their parts tell them apart."""
_LANGUAGES = {
    "py": "a Python file", "java": "a Java file", "jl": "a Julia file", "m": "a MATLAB file",
    "rs": "a Rust file", "f90": "a Fortran file", "js": "a JavaScript file",
    "json": "a JSON file", "patch": "a patch", "diff": "a patch",
}  # fmt: skip
_HEAD_END = regex(r"[;{]")
_LONGEST_HEAD = 4000
NOT_CODE = regex(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?", re.DOTALL)
_OF_METHOD = regex(r"(?<=\))\s{0,99}(?:const|noexcept)$")
_ITEM_END = regex(r"([;{}])")
_OF_MODULE = regex(r"\b__(?:device|constant)__\b")
_WORD = regex(r"\w+")
_PTX = regex(rb"(?:\s|//[^\n]*\n){0,99}\.version\s")
_PYTHON = regex(rb"^(?:import \w+|from \w[\w.]* import |def \w+\(.*\):|print\()", re.MULTILINE)
_HTML = regex(rb"\s{0,99}<(?:!doctype html|html)", re.IGNORECASE)

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip
"""The dtypes that an argument may have."""

_MAGIC = b"\x93NUMPY"


@dataclass(frozen=True)
class Submission:
    """A source file: `name` without folders, its bytes, and their SHA-256 in hexadecimal."""

    name: str
    data: bytes
    sha256: str

    @property
    def text(self) -> str:
        """The source text, without a byte order mark."""
        return self.data.decode("utf-8-sig")


def printable_name(name: str) -> str:
    """Return a file name as one line of text in composed Unicode.

    Composed, so that a name from macOS is the same student. Bytes that are not UTF-8 and characters
    that begin a new line are escaped: a name could otherwise forge a line of the report.
    """
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(map(_escaped, unicodedata.normalize("NFC", text)))


def not_a_file(where: str, what: str, fix: str = "submit the .cu file itself") -> StudentFault:
    """Return the fault for something submitted that is not a text file."""
    name = where.rpartition("/")[2]
    finding = Finding("compile-error", "error", what, file=name, line=0, hint=fix)
    return StudentFault(what, where=where, fix=fix, findings=(finding,))


def read_submission(path: Path) -> Submission:
    """Read and check a submission; at most MAX_BYTES + 1 bytes are read.

    Raises:
        LabFault: There is no such file, or it cannot be read.
        StudentFault: The content cannot be CUDA C++ source: it is empty, too large, binary, or not
            UTF-8.
    """
    return parse_submission(read_regular_file(path), path.name)


def parse_submission(data: bytes, name: str) -> Submission:
    """Make a submission from bytes that were read already.

    Text in UTF-16 or Latin-1 becomes UTF-8; the digest is that of the bytes that are graded.

    Raises:
        StudentFault: The content cannot be CUDA C++ source.
    """
    data = _in_utf8(data)
    _check_content(data, name)
    return Submission(name, data, hashlib.sha256(data).hexdigest())


def binary_kind(data: bytes, name: str) -> str:
    """Return what a file is that cannot be CUDA source: "a PDF document"; "" where it may be."""
    for magic, kind in _KINDS:
        if data.startswith(magic):
            return kind
    if data.startswith(b"PK\3\4"):
        return next((kind for part, kind in _OFFICE if part in data), "")
    suffix = name.lower().rpartition(".")[2]
    if suffix in _LANGUAGES:
        return _LANGUAGES[suffix]
    if _PTX.match(data):
        return "PTX assembly, which the compiler writes"
    if b"__global__" not in data and b"#include" not in data and _PYTHON.search(data):
        return "a Python file"
    return "a web page" if _HTML.match(data) else ""


def _in_utf8(data: bytes) -> bytes:
    """Text of another encoding as UTF-8; everything else as it is.

    Editors of Windows save UTF-16, mostly with a byte order mark. Bytes that are not UTF-8 are
    Latin-1, which has a character for every byte: a program has them in comments only, and the
    compiler reports others. A Control-Z at the end is that of an old editor.
    """
    if len(data) > 2 * MAX_BYTES or any(data.startswith(magic) for magic, _ in _KINDS):
        return data
    if wide := _wide_encoding(data):
        try:
            text = data.decode(wide)
        except UnicodeError:
            return data
        return text.encode() if _is_text(text) else data
    data = data.removesuffix(b"\x1a")
    if b"\0" in data or len(data) > MAX_BYTES:
        return data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
        return text.encode() if _is_text(text) else data
    return data


def _wide_encoding(data: bytes) -> str:
    """The encoding with 2 or 4 bytes a character, by its mark or by where the zeros are; or ""."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    zeros = [data[start:4096:2].count(0) for start in (0, 1)]
    most = 0.4 * min(len(data), 4096) / 2
    if max(zeros) < max(most, 1) or min(zeros) > 0:
        return ""
    return "utf-16-le" if zeros[1] else "utf-16-be"


def _is_text(text: str) -> bool:
    """Whether nearly all characters are those of a program."""
    return sum(c.isascii() and (c.isprintable() or c.isspace()) for c in text) > 0.8 * len(text)


def read_regular_file(path: Path, most: int = MAX_BYTES + 1) -> bytes:
    """Return the first `most` bytes of a regular file.

    A link is refused. Where other people's files are graded, the compiler's messages could show
    lines of a file that only the grader may read, or the link could submit another student's file.

    Raises:
        LabFault: It is not a regular file, or it cannot be read.
    """
    try:
        # Opening a FIFO without a writer would block forever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise LabFault(f"this is {kind}", where=str(path), fix="name the .cu file itself")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(handle)


def _unreadable(path: Path, error: OSError | ValueError) -> Fault:
    if isinstance(error, FileNotFoundError):
        match = _closest_file(path)
        fix = f"did you mean {match}?" if match else "check the name and the folder"
        return LabFault("there is no such file", where=str(path), fix=fix)
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        fix = "name the .cu file itself, or copy it here"
        return LabFault("this is a symbolic link, not a file", where=str(path), fix=fix)
    reason = error.strerror if isinstance(error, OSError) else str(error)
    where = str(path).replace("\0", "?")
    return file_fault(error, f"cannot read the file: {reason}", where=where)


def _closest_file(path: Path) -> str:
    """Return the .cu file in the same folder with the most similar name, or ""."""
    try:
        names = [name for name in os.listdir(path.parent) if name.endswith(".cu")]
    except OSError:
        return ""
    match = closest_match(path.name, names)
    return str(path.parent / match) if match else ""


def _check_content(data: bytes, name: str) -> None:
    if not data.strip(b"\xef\xbb\xbf \t\r\n\f\v"):
        raise _refused(name, 0, "the file is empty", "submit the .cu file with your kernel")
    kind = binary_kind(data, name)
    if len(data) > MAX_BYTES and not kind:
        what = f"the file is larger than {MAX_BYTES // 1024} KiB"
        raise _refused(name, 0, what, "submit only the source of the kernel, without data in it")
    if kind:
        raise _refused(name, 0, f"this is {kind}", "submit the .cu file with your kernel")
    nul = data.find(b"\0")
    if nul >= 0:
        what = f"this is a binary file: byte {nul} is NUL"
        raise _refused(name, _line(data, nul), what, "submit CUDA C++ source text")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        at, value = error.start, data[error.start]
        what = f"the text is not UTF-8: byte {at} is 0x{value:02x}"
        raise _refused(name, _line(data, at), what, "save the file as UTF-8") from None


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _refused(name: str, line: int, what: str, fix: str) -> StudentFault:
    finding = Finding("compile-error", "error", what, file=name, line=line, hint=fix)
    where = f"{name}:{line}" if line else name
    return StudentFault(what, where=where, fix=fix, findings=(finding,))


def _escaped(character: str) -> str:
    breaks_line = unicodedata.category(character) in ("Cc", "Zl", "Zp")
    return character.encode("unicode_escape").decode() if breaks_line else character


def defined_kernels(text: str) -> dict[str, str]:
    """Return the parameters of each kernel that a text defines, by name; prototypes do not count.

    Comments and literals hold no kernels.
    """
    found = {}
    for behind in NOT_CODE.sub(" ", text).split("__global__")[1:]:
        end = _HEAD_END.search(behind, 0, _LONGEST_HEAD)
        if end and end[0] == "{":
            name, parameters = _name_and_parameters(behind[: end.start()].rstrip())
            found[name] = parameters
    return found


def device_names(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the device functions and variables that a text only declares, and those it defines."""
    declared, defined = set[str](), set[str]()
    pieces = _ITEM_END.split(NOT_CODE.sub(" ", text))
    for item, end in zip(pieces[::2], pieces[1::2], strict=False):
        item = item[-_LONGEST_HEAD:]
        before, value, _ = item.partition("=")  # an initializer, or a default argument
        head, value = (item, "") if "(" in before else (before, value)
        head = _OF_METHOD.sub("", head.rstrip())
        if not _OF_MODULE.search(head):
            continue
        if head.endswith(")"):
            name = _name_and_parameters(head)[0]
            (declared if end == ";" else defined).add(name)
        elif words := _WORD.findall(head.partition("[")[0]):
            is_only = "extern" in words and not value
            (declared if is_only else defined).add(words[-1])
    return frozenset(declared - defined), frozenset(defined)


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


def read_array(path: Path, most: int, where: str = "") -> NDArray[Any]:
    """Read the array in a .npy file, in C order and the machine's byte order.

    Its elements are plain numbers, or structures of them.

    Args:
        path: The file.
        most: The largest size in bytes.
        where: The key that names the file, for messages.

    Raises:
        LabFault: There is no such file, or it is not a .npy file, larger than `most`, truncated, or
            not an array of plain numbers.
    """
    if not path.is_file():
        what = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
        raise LabFault(
            what, where=where, fix="write the file name relative to the folder of the YAML file"
        )
    try:
        with path.open("rb") as file:
            _check_header(path, file, most, where)
            file.seek(0)
            array = np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise LabFault(f"cannot read {path}: {error.strerror}", where=where) from None
    except (ValueError, EOFError, SyntaxError) as error:
        what = f"{path} is a damaged .npy file: {str(error).splitlines()[0]}"
        raise LabFault(what, where=where, fix="write it again with numpy.save") from None
    native: NDArray[Any] = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return native.reshape(array.shape)


def _check_header(path: Path, file: BinaryIO, most: int, where: str) -> None:
    """Refuse a file by its header, before any of its data is read."""
    if file.read(len(_MAGIC)) != _MAGIC:
        what = f"{path} is not a .npy file"
        raise LabFault(what, where=where, fix="write one with numpy.save(file, array)")
    file.seek(0)
    npy = np.lib.format
    read = (
        npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    if dtype.hasobject:
        what = f"{path} holds pickled Python objects, which are never loaded"
        raise LabFault(what, where=where, fix="save an array of plain numbers")
    if not _is_plain(dtype):
        what = f"{path} has dtype {dtype}, which no kernel argument can have"
        raise LabFault(what, where=where, fix=f"use one of {', '.join(DTYPES)}")
    if prod(shape) * dtype.itemsize > most:
        what = f"{path} of shape {shape} takes more than {most >> 20} MiB"
        raise LabFault(what, where=where, fix="use a smaller size")


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether the elements are numbers that a kernel can read, or structures of such numbers."""
    if dtype.subdtype is not None:
        return _is_plain(dtype.subdtype[0])
    if dtype.fields is not None:
        return dtype.itemsize > 0 and all(_is_plain(field[0]) for field in dtype.fields.values())
    return dtype.name in DTYPES

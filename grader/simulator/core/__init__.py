"""Execute a decoded kernel on the C core.

In: an Image, a Launch and Limits. Out: the Raw result of the run: reports, counters and buffers.
`run` drives the core, `memory` prepares its memory, `bindings` mirrors machine/launch.h, and
`digest` tells whether a built core belongs to the C files in this folder.

Imports the simulator's `ptx` and `decode`, `grader.launch` and `grader.faults`.

The digest tells which C files a core was built from. setup.py runs this file by its path: it
imports the standard library only.
"""

from __future__ import annotations

import os
from binascii import crc32


def digest(folder: str | os.PathLike[str]) -> str:
    """Return two CRC-32 of the paths and contents of all C files of a folder and its subfolders.

    It tells builds apart that are mixed up by mistake; a cryptographic hash would load OpenSSL.
    Returns an empty text when there are none, as in an installed package.
    """
    places = [
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith((".c", ".h"))
    ]
    start = len(os.path.join(folder, ""))
    files = {path[start:].replace(os.sep, "/"): path for path in places}
    first, second = 0, len(files)
    for name, path in sorted(files.items()):
        with open(path, "rb") as file:
            content = f"{name}\0".encode() + file.read()
        first, second = crc32(content, first), crc32(content[::-1], second)
    return f"{first:08x}{second:08x}" if files else ""

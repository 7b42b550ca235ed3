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


def digest(folder: str | os.PathLike[str]) -> str:
    """Hash the paths and contents of all C files of a folder and its subfolders.

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
    if not files:
        return ""
    import hashlib  # loads OpenSSL

    whole = hashlib.sha256()
    for name, path in sorted(files.items()):
        with open(path, "rb") as file:
            whole.update(f"{name}\0".encode() + hashlib.sha256(file.read()).digest())
    return whole.hexdigest()[:16]

"""The digest of the C files that the core is built from.

setup.py runs this file by its path: it imports the standard library only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(folder: Path) -> str:
    """Hash the paths and contents of all C files of a folder and its subfolders.

    Returns an empty text when there are none, as in an installed package.
    """
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.[ch]")}
    whole = hashlib.sha256()
    for name, file in sorted(files.items()):
        whole.update(f"{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16] if files else ""

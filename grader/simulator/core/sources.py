"""Which sources the C core is built from. setup.py runs this file by its path: the standard library
alone is imported.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(folder: Path) -> str:
    """Of all C files of the folder, by name and content; empty where there are none, as in an
    installed package.
    """
    files = sorted((*folder.glob("*.c"), *folder.glob("*.h")), key=lambda path: path.name)
    held = hashlib.sha256()
    for file in files:
        held.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return held.hexdigest()[:16] if files else ""

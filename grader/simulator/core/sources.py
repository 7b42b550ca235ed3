"""The digest of the C files that the core is built from.

setup.py runs this file by its path: it imports the standard library only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(folder: Path) -> str:
    """Hash the names and contents of all C files of a folder.

    Returns an empty text when there are none, as in an installed package.
    """
    files = sorted((*folder.glob("*.c"), *folder.glob("*.h")), key=lambda path: path.name)
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16] if files else ""

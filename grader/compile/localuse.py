"""Where a kernel uses local memory, by its optimised PTX."""

from __future__ import annotations

import re
from collections import Counter

_FILE = re.compile(r"^\s*\.file\s+(\d+)\s+\"([^\"]*)\"", re.M)
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_ACCESS = re.compile(r"\s*(?:@!?%\w+\s+)?(?:ld|st)\.(?:volatile\.)?local\b")


def local_line(ptx: str, symbol: str, file: str) -> int:
    """The line of `file` with most loads and stores of local memory in the kernel of that symbol,
    the first of equals; 0 when it has none, as when the assembler alone put registers there."""
    body = re.search(rf"\.entry\s+{re.escape(symbol)}\b.*?\n\}}", ptx, re.S)
    own = {number for number, name in _FILE.findall(ptx) if name.rpartition("/")[2] == file}
    place, seen = ("", 0), Counter[int]()
    for text in body[0].splitlines() if body else ():
        if found := _LOCATION.match(text):
            place = (found[1], int(found[2]))
        elif _ACCESS.match(text) and place[0] in own and place[1]:
            seen[place[1]] += 1
    return max(seen, key=lambda line: seen[line], default=0)

"""A lab's skeleton, made from its solution.

What stands between `// BEGIN SOLUTION` and `// END SOLUTION` is taken out; lines inside it that
start with `// SKELETON: ` stay, without that mark, at their own indentation.
"""

from __future__ import annotations

from grader.fault import LabFault

BEGIN = "// BEGIN SOLUTION"
END = "// END SOLUTION"
LINE = "// SKELETON:"


def make_skeleton(solution: str, file: str = "solution") -> str:
    """The text that students start from. Raises LabFault with file and line for marks that do
    not pair up, and for a block that leaves the student no text."""
    kept: list[str] = []
    begun, left = 0, False
    for number, line in enumerate(solution.splitlines(), start=1):
        mark = line.strip()
        if mark == (BEGIN if begun else END):
            raise _unpaired(file, number, mark)
        if mark == BEGIN:
            begun, left = number, False
        elif mark == END:
            if not left:
                raise _empty(file, begun)
            begun = 0
        elif begun and mark.startswith(LINE):
            kept.append(_unmarked(line))
            left = True
        elif not begun:
            kept.append(line)
    if begun:
        raise _unpaired(file, begun, BEGIN)
    return "\n".join(kept) + "\n"


def _unmarked(line: str) -> str:
    indentation, _, text = line.partition(LINE)
    return (indentation + text.removeprefix(" ")).rstrip()


def _unpaired(file: str, line: int, mark: str) -> LabFault:
    return LabFault(
        f"`{mark}` without its partner",
        where=f"{file}:{line}",
        mend=f"each `{BEGIN}` is closed by one `{END}`, and blocks do not nest",
    )


def _empty(file: str, line: int) -> LabFault:
    return LabFault(
        "this block leaves the student nothing to go on",
        where=f"{file}:{line}",
        mend=f"put a line `{LINE} // TODO: ...` inside it",
    )

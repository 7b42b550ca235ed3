"""How students disguise a copy: other names, other comments, another order, another layout."""

from __future__ import annotations

import re
from zlib import crc32

KEPT = """ float int const for while if else return unsigned extern void static inline x y z C
matmul threadIdx blockIdx blockDim gridDim define include pragma unroll """


def renamed(source: str) -> str:
    """Every name of the student's own replaced, consistently; comments gone."""
    names: dict[str, str] = {}
    taste = f"{crc32(source.encode()):x}"  # no two choose alike

    def other(found: re.Match[str]) -> str:
        word = found[0]
        if f" {word} " in " ".join(KEPT.splitlines()) or word.startswith("__"):
            return word
        return names.setdefault(word, f"q{taste[len(names) % 5 :]}{len(names)}")

    return re.sub(r"\b[A-Za-z_]\w*\b", other, uncommented(source))


def uncommented(source: str) -> str:
    return re.sub(r"//.*|/\*[\s\S]*?\*/", "", source)


def commented(source: str) -> str:
    """A remark on every third line, and one before all."""
    lines = source.splitlines()
    shown = [f"{line}  // step {n}" if n % 3 == 0 else line for n, line in enumerate(lines)]
    return "\n".join(["/* all my own work */", *shown]) + "\n"


def laid_out(source: str) -> str:
    """Tabs, braces on lines of their own, no blank lines."""
    opened = source.replace("{", "\n{\n").replace("    ", "\t")
    return "\n".join(line for line in opened.splitlines() if line.strip()) + "\n"


def reordered(source: str) -> str:
    """The functions in the opposite order; what stands before the first one stays."""
    head, *functions = re.split(r"(?m)^(?=__device__|extern)", source)
    return head + "\n".join(reversed(functions))


DISGUISES = {
    "as it is": lambda source: source,
    "renamed": renamed,
    "commented": commented,
    "laid out": laid_out,
    "renamed and laid out": lambda source: laid_out(renamed(source)),
    "renamed and commented": lambda source: commented(renamed(source)),
}

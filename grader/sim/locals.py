"""Which local variable a line of the source uses, of those declared without a value.

A cautious reading of C++ text, for messages only: a name is given where one variable alone fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_DECLARATION = re.compile(
    r"\s*(?:register\s+|volatile\s+)*"
    r"(?P<type>(?:const\s+)?(?:(?:unsigned|signed|long|short)(?:\s+(?:unsigned|signed|long|short|int|char))*"
    r"|[A-Za-z_][\w:]*(?:<[\w\s,:]*>)?))(?P<names>\s*[\s*&]\s*\w.*)$",
    re.S,
)
_NO_TYPE = re.compile(
    r"(?:return|else|goto|case|new|delete|using|typedef|struct|class|union|enum|throw|do|extern|"
    r"static|constexpr|template|public|private|friend|typename|__\w+__)\b"
)
_NAME = re.compile(r"\s*(\*?)\s*([A-Za-z_]\w*)\s*$")
_TYPES = {
    "f32": {"float": "0.0f"},
    "f64": {"double": "0.0"},
    "b32": {"int": "0", "unsigned": "0", "unsigned int": "0", "int32_t": "0", "uint32_t": "0"},
    "b64": {"long long": "0", "unsigned long long": "0", "long": "0", "unsigned long": "0"}
    | {"int64_t": "0", "uint64_t": "0", "size_t": "0"},
    "b16": {"bool": "false", "char": "0", "unsigned char": "0", "short": "0"}
    | {"unsigned short": "0", "int8_t": "0", "uint8_t": "0", "int16_t": "0", "uint16_t": "0"},
}
_KNOWN = {name: kind for kind, names in _TYPES.items() for name in names}
"""Which PTX register a C++ type's variable lies in."""


@dataclass(frozen=True)
class Local:
    """A local variable without an initial value; `type` as it is written, `*` for a pointer."""

    name: str
    type: str

    @property
    def declaration(self) -> str:
        """How it is declared with a value; empty where its type is not known."""
        if self.type.endswith("*"):
            return f"{self.type}{self.name} = nullptr;"
        value = _TYPES.get(_KNOWN.get(self.type, ""), {}).get(self.type, "")
        return f"{self.type} {self.name} = {value};" if value else ""

    def fits(self, kind: str) -> bool:
        """Whether it may lie in a PTX register of this type; small integers are widened."""
        wants = "b64" if self.type.endswith("*") else _KNOWN.get(self.type)
        if kind[0] in "usb":
            return wants is None or wants == f"b{kind[1:]}" or (wants, kind[1:]) == ("b16", "32")
        return wants is None or wants == kind


def with_value(name: str, kind: str, extent: str, declared: str) -> str:
    """The declaration of a variable with a value, where the line that declares it gives it none;
    else empty. `extent`: the dimensions of an array."""
    bare = rf"(?<![&=.>])(?<![&=.>] )\b{re.escape(name)}\s*(?:\[[^\]]*\]\s*)*[;,]"
    if not kind or re.search(bare, declared) is None:
        return ""
    plain = "" if extent else Local(name, kind).declaration
    return plain or f"{kind} {name}{extent} = {{}};"


def used_local(source: str, line: int, kind: str) -> Local | None:
    """The variable without a value that `line` uses, held in a register of PTX type `kind`; None
    where there is none, or more than one."""
    text = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    start = sum(len(x) + 1 for x in lines[: line - 1])
    end = start + len(lines[line - 1])
    if not re.search(r"[;{]", lines[line - 1]) and ";" in text[end:]:
        end = text.index(";", end)
    visible = _visible(text, start, end)
    found = [v for v in visible.values() if _reads(text[start:end], v.name) and v.fits(kind)]
    return found[0] if len(found) == 1 else None


def _reads(text: str, name: str) -> bool:
    """Whether the text uses the name for more than to assign to it."""
    return re.search(rf"(?<![\w.]){name}\b(?!\s*=[^=])", text) is not None


def _visible(text: str, start: int, end: int) -> dict[str, Local]:
    """The variables without a value in scope somewhere between two places of the text."""
    scopes: list[dict[str, Local | None]] = [{}]
    found: dict[str, Local] = {}
    at = 0
    for match in re.finditer(r"[;{}]", text[:end] + ";"):
        piece, at = text[at : match.start()], match.end()
        if match[0] == ";" and len(scopes) > 1:
            scopes[-1].update(_declared(piece))
        if match.start() >= start:
            for scope in scopes:
                found.update({name: v for name, v in scope.items() if v is not None})
        if match[0] == "{":
            scopes.append({})
        elif match[0] == "}" and len(scopes) > 1:
            scopes.pop()
    return found


def _declared(statement: str) -> Iterator[tuple[str, Local]]:
    match = _DECLARATION.match(statement)
    if match is None or _NO_TYPE.match(statement.lstrip()):
        return
    kind = " ".join(match["type"].split())
    for part in match["names"].split(","):
        if (name := _NAME.match(part)) is not None:
            yield name[2], Local(name[2], f"{kind} *" if name[1] else kind)

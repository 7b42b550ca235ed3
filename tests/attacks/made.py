"""Attacks that are too long or too odd to lie here as files: the bytes are made.

Each is a submission of the lab tiled-matmul and says what its `compile` must come to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

EITHER = "fail or pass"
KERNEL = 'extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)'
HONEST = KERNEL + "\n{\n    C[0] = n;\n}\n"


@dataclass(frozen=True)
class Made:
    """One attack: what is tried, its bytes, and what its check `compile` must say: a status, which
    is either where the compiler's limit decides, and words that a finding must have.
    """

    name: str
    data: Callable[[], bytes]
    status: str
    says: str = ""


def source(body: str) -> Callable[[], bytes]:
    return lambda: f"{KERNEL} {{ {body} }}\n".encode()


def text(whole: str) -> Callable[[], bytes]:
    return whole.encode


MADE = (
    Made("nested types", text("struct x<x(" * 20000 + HONEST), "fail"),
    Made("brackets", source("C[0] = " + "(" * 20000 + "1" + ")" * 20000 + ";"), "pass"),
    Made("braces", source("{" * 20000 + "}" * 20000), "pass"),
    Made("errors in each line", source("\n".join(f"y{i};" for i in range(20000))), "fail"),
    Made("nested templates", text("template<class...> struct t{}; using u=" + "t<" * 3000
                                  + "int" + ">" * 3000 + ";" + HONEST), EITHER),
    Made("overloads", text("struct a{template<class T> a(T);};" + "".join(
        f"__device__ void f(a,a,int(*)[{i + 1}]);" for i in range(3000))
        + KERNEL + "{ f(1, 2, 3); }"), EITHER),
    Made("a thousand cases", source("switch (n) {" + "".join(
        f"case {7 * i}: C[{i}] = {i}; break;" for i in range(6000)) + "}"), EITHER),
    Made("a line of operators", source("C[0] = y" + "+n" * 110000 + ";"), EITHER),
    Made("a name of 100 KB", source("int " + "y" * 100_000 + " = n; C[0] = z;"), "fail"),
    Made("10 MB", text(HONEST + "// " + "x" * (10 << 20)), "fail", "larger than 256 KiB"),
    Made("nothing", text(""), "fail", "empty"),
    Made("blanks", text(" \r\n\t\f\n"), "fail", "empty"),
    Made("a NUL byte", text(HONEST + "// \0"), "fail", "binary"),
    Made("an object file", lambda: b"\x7fELF\x02\x01\x01" + bytes(500), "fail", "binary"),
    Made("Latin-1", lambda: HONEST.encode() + b"// gr\xfc\xdfe\n", "fail", "UTF-8"),
    Made("UTF-16", lambda: HONEST.encode("utf-16"), "fail", "UTF-16"),
    Made("a surrogate", lambda: HONEST.encode() + b"// \xed\xa0\x80\n", "fail", "UTF-8"),
    Made("an overlong letter", lambda: HONEST.encode() + b"// \xc0\xaf\n", "fail", "UTF-8"),
    Made("an escape character", text(HONEST + "// \x1b[2J\n"), "fail", "0x1b"),
    Made("a form feed", text("\f" + HONEST), "pass"),
    Made("a byte order mark", text("\ufeff" + HONEST), "pass"),
    Made("Windows' line ends", text(HONEST.replace("\n", "\r\n")), "pass"),
    Made("old line ends", text(HONEST.replace("\n", "\r")), "pass"),
    Made("no last line end", text(HONEST.rstrip()), "pass"),
    Made("comments by the megabyte", text("/*" + "/" * 200_000 + "*/" + HONEST), "pass"),
)  # fmt: skip

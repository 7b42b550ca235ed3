"""Attacks whose bytes are generated, because they are too long or too unusual for a file.

Each is a submission of the lab tiled-matmul with the expected status of its check `compile`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

PASS_OR_FAIL = "fail or pass"
KERNEL = 'extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)'
HONEST = KERNEL + "\n{\n    C[0] = n;\n}\n"


@dataclass(frozen=True)
class Attack:
    """One attack: its name, its bytes, and the expected status of its check `compile`.

    The status is PASS_OR_FAIL where it depends on the compiler's limit. `message` is a part of an
    expected finding.
    """

    name: str
    data: Callable[[], bytes]
    status: str
    message: str = ""


def source(body: str) -> Callable[[], bytes]:
    return lambda: f"{KERNEL} {{ {body} }}\n".encode()


def text(whole: str) -> Callable[[], bytes]:
    return whole.encode


GENERATED = (
    Attack("nested types", text("struct x<x(" * 20000 + HONEST), "fail"),
    Attack("brackets", source("C[0] = " + "(" * 20000 + "1" + ")" * 20000 + ";"), "pass"),
    Attack("braces", source("{" * 20000 + "}" * 20000), "pass"),
    Attack("errors in each line", source("\n".join(f"y{i};" for i in range(20000))), "fail"),
    Attack("nested templates", text("template<class...> struct t{}; using u=" + "t<" * 3000
                                  + "int" + ">" * 3000 + ";" + HONEST), PASS_OR_FAIL),
    Attack("overloads", text("struct a{template<class T> a(T);};" + "".join(
        f"__device__ void f(a,a,int(*)[{i + 1}]);" for i in range(3000))
        + KERNEL + "{ f(1, 2, 3); }"), PASS_OR_FAIL),
    Attack("a thousand cases", source("switch (n) {" + "".join(
        f"case {7 * i}: C[{i}] = {i}; break;" for i in range(6000)) + "}"), PASS_OR_FAIL),
    Attack("a line of operators", source("C[0] = y" + "+n" * 110000 + ";"), PASS_OR_FAIL),
    Attack("a name of 100 KB", source("int " + "y" * 100_000 + " = n; C[0] = z;"), "fail"),
    Attack("10 MB", text(HONEST + "// " + "x" * (10 << 20)), "fail", "larger than 256 KiB"),
    Attack("nothing", text(""), "fail", "empty"),
    Attack("blanks", text(" \r\n\t\f\n"), "fail", "empty"),
    Attack("a NUL byte", text(HONEST + "// \0"), "fail", "binary"),
    Attack("an object file", lambda: b"\x7fELF\x02\x01\x01" + bytes(500), "fail", "compiled"),
    Attack("Latin-1", lambda: HONEST.encode() + b"// gr\xfc\xdfe\n", "pass"),
    Attack("UTF-16", lambda: HONEST.encode("utf-16"), "pass"),
    Attack("a surrogate", lambda: HONEST.encode() + b"// \xed\xa0\x80\n", "pass"),
    Attack("an overlong letter", lambda: HONEST.encode() + b"// \xc0\xaf\n", "pass"),
    Attack("an escape character", text(HONEST + "// \x1b[2J\n"), "fail", "0x1b"),
    Attack("a form feed", text("\f" + HONEST), "pass"),
    Attack("a byte order mark", text("\ufeff" + HONEST), "pass"),
    Attack("Windows' line ends", text(HONEST.replace("\n", "\r\n")), "pass"),
    Attack("old line ends", text(HONEST.replace("\n", "\r")), "pass"),
    Attack("no last line end", text(HONEST.rstrip()), "pass"),
    Attack("comments by the megabyte", text("/*" + "/" * 200_000 + "*/" + HONEST), "pass"),
)  # fmt: skip

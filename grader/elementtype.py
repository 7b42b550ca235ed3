"""C's names for numbers against NumPy's: what an array or a value has to be for a parameter."""

from __future__ import annotations

import numpy as np

DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)
"""What an argument may be made of."""

_NAMES = {
    "bool": "bool",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "size_t": "uint64",
    "uint": "uint32",
    "uchar": "uint8",
    "ushort": "uint16",
}
_NAMES |= {f"{name}_t": name for name in DTYPES if "int" in name}
_QUALIFIERS = ("const", "volatile", "restrict", "__restrict__", "__restrict", "signed", "struct")


def element_type(c_type: str) -> str | None:
    """The NumPy dtype of a C type, or of what it points to: "const float*" -> "float32".

    None for a type that is no plain number, such as a struct or a vector.
    """
    words = [word for word in c_type.replace("*", " ").split() if word not in _QUALIFIERS]
    unsigned = "unsigned" in words
    words = [word for word in words if word != "unsigned"]
    if len(words) > 1 and words[-1] == "int":
        words.pop()
    if not words or len(words) > 2 or (len(words) == 2 and words != ["long", "long"]):
        return "uint32" if unsigned and not words else None
    name = _NAMES.get(words[0])
    return f"u{name}" if unsigned and name and name.startswith("int") else name


def fits(c_type: str, dtype: str) -> bool:
    """Whether numbers of that dtype are what the C type holds; int and unsigned may stand for
    each other, and a type that is no plain number takes anything."""
    due = element_type(c_type)
    if due is None:
        return True
    real = np.dtype(due).kind == "f"
    return np.dtype(due).itemsize == np.dtype(dtype).itemsize and real == (
        np.dtype(dtype).kind == "f"
    )

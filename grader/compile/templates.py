"""The templates of kernels: their parameters, and the types that a lab's arguments give them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grader.compile.items import Item, is_name
from grader.labs.model import KernelSpec

_WORD = re.compile(r"[A-Za-z_]\w*")


def template_parameters(item: Item) -> list[str]:
    """Return the names of a template's parameters."""
    names, depth, word, defaulted = [], 0, "", False
    for token, _ in item.head[1:]:
        depth += (token == "<") - (token == ">")
        if token in (",", ">", "=") and depth <= 1 and not defaulted and is_name(word):
            names.append(word)
        defaulted = token == "=" or (defaulted and token != ",")
        if depth == 0:
            break
        word = token
    return names


def deduced_types(
    names: Sequence[str], types: tuple[str, ...], spec: KernelSpec | None
) -> dict[str, str]:
    """Return the types that the lab's arguments give to a template's parameters."""
    found: dict[str, str] = {}
    if spec is None or len(spec.parameters) != len(types):
        return found
    for own, (required, _) in zip(types, spec.parameters, strict=True):
        base = re.sub(r"\bconst\b|[*&\s]", " ", own).strip()
        if base in names:
            found.setdefault(base, re.sub(r"\bconst\b|[*&]", " ", required).strip())
    return found


def substituted(type_: str, values: Mapping[str, str]) -> str:
    """Return a type with the values of the parameters in it."""
    return _WORD.sub(lambda word: values.get(word[0], word[0]), type_)

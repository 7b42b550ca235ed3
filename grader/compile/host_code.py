"""Set aside the host code of a whole program: what no kernel reaches.

Students submit the program in which they tried their kernel: with main, error macros, timers and
the headers of the host. Device code is what its kernels, its `__device__` functions and its
`__constant__` variables reach by name, through types, macros, constants and templates. Everything
else becomes blank, so that the rest keeps its lines, and only the rest is compiled, simulated,
timed, read and shown to the checks: no reader sees code that the compiler does not.

Names decide first. Where that was wrong, the compiler's errors say what is missing or must go
(`Selection.learn`). Static assertions at file scope count like device code: one that fails is an
error of the program, and never host code; one about what device code lacks is set aside.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial

from grader import regex
from grader.compile.functions import declarations
from grader.compile.items import ANNOTATIONS, DEVICE, HOST, KERNEL, Item, is_name, split_items
from grader.compile.preprocessor import (
    Directive,
    code,
    header_of,
    is_host_pragma,
    is_include,
    joined,
    with_blanks,
    words_behind_macros,
)
from grader.compile.syntax import parse
from grader.labs.model import KernelSpec
from grader.launch import Finding

ROUNDS = 5
"""Compilations of one source at most, each with another selection."""

MAX_NAMED = 4
"""Names of set-aside functions in the note."""

MAX_INSTANTIATIONS = 4
"""Instantiations that are added for a kernel template."""

_DEVICE_NAMESPACES = frozenset(("std", "cooperative_groups", "nvcuda", "cub", "cuda"))
"""The namespaces of headers that device code can use."""
_OF_HOST = ("cub/device/", "cub/util_allocator", "thrust/host_vector", "thrust/device_vector")
"""Headers whose functions only the host can call."""
_OF_DEVICE = frozenset((KERNEL, DEVICE, "__constant__", "__managed__"))
_QUOTED = regex(r'"(?:\w+::)*(\w+)"')
_WORD = regex(r"[A-Za-z_]\w*")
_OF_HOST_CODE = regex(r"is host (code|data)$")
"""Errors of host code that is right for the host: the value of an assertion about it is, too."""
_CONSTANT = regex(r"(?<!\w)([A-Za-z_]\w*+)\s?=\s?([\w+*/ ()-]{1,40})[;,]")


class Selection:
    """Which part of a source is compiled.

    Args:
        source: The source.
        is_known: Whether device code has a header of that name.
        wanted: The kernels that the lab asks for; none for every kernel.
    """

    def __init__(
        self, source: str, is_known: Callable[[str], bool], wanted: Sequence[KernelSpec] = ()
    ) -> None:
        self._source, self._wanted = joined(source), wanted
        self._items = split_items(source)
        self._is_known = is_known
        self._annotations = words_behind_macros(self._items.macros, ANNOTATIONS)
        self._assertions = words_behind_macros(self._items.macros, ("static_assert",))
        for item in self._items.items:
            for arguments in self._items.launches.get(item.name, ()) if item.is_template else ():
                item.words.update(_WORD.findall(arguments))
        self._index = _index(i for i in self._items.items if not self._is_assertion(i))
        self._marks = {item: self._marks_of(item) for item in self._items.items}
        self._device_names = {
            item.name for item, marks in self._marks.items()
            if not item.is_instantiation and not marks.isdisjoint(_OF_DEVICE)
        }  # fmt: skip
        self._dropped: set[Item] = set()
        self._instantiates = True
        self._kept = self._reached(item for item in self._items.items if self._is_root(item))
        self._asserted = self._reached(filter(self._is_assertion, self._items.items)) - self._kept
        self._kept |= self._asserted
        self.unknown = tuple(
            header for one in self._items.directives
            if (header := header_of(one)) and not is_known(header)
        )  # fmt: skip

    @property
    def has_host_code(self) -> bool:
        """Whether a part outside of conditionals is not for the device's compiler."""
        return any(
            item.is_function and not item.conditional and not self._is_device(item)
            for item in self._items.items
        ) or any(
            (one.depth == 0 or ".." in header_of(one)) and not self._is_known(header_of(one))
            for one in self._items.directives
            if is_include(one)
        )

    @property
    def has_hidden_kernels(self) -> bool:
        """Whether the compiler leaves kernels out: static ones, or templates without instances."""
        return any(
            "static" in words or "" in item.scope or item.is_template
            for item in self._items.items
            if KERNEL in self._marks[item] and (words := {word for word, _ in item.head})
        ) or bool(self._items.unnamed)

    def whole(self) -> str:
        """The source with its hidden kernels made visible, nothing set aside."""
        return self._with_instantiations(with_blanks(self._source, self._hiding()))

    def text(self) -> str:
        """The selected part: as many lines as the source, then instantiations of templates."""
        unused = [*self._unused_includes(), *filter(is_host_pragma, self._items.directives)]
        blanks = [*self._hiding(), *(_span(one) for one in unused)]
        starts = [one.start for one in self._items.directives]
        for item in self._items.items:
            if item not in self._kept:
                blanks += self._outside_directives(item, starts)
        return self._with_instantiations(with_blanks(self._source, blanks))

    def note(self) -> str:
        """One line about what is set aside; "" when nothing is."""
        gone = [item for item in self._items.items if item not in self._kept]
        includes = self._unused_includes()
        if not gone and not includes:
            return ""
        lines = [(item.line, item.last_line) for item in gone]
        lines += [(one.line, one.line) for one in includes]
        kept = sorted(item.line for item in self._kept)
        functions = [item.name for item in gone if item.is_function and item.name]
        names = list(dict.fromkeys(functions))
        shown = [*names[:MAX_NAMED], *(f"{h}" for h in dict.fromkeys(map(header_of, includes)))]
        shown = shown[: MAX_NAMED + 2]
        more = len(names) + len(includes) - len(shown)
        said = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        ranges = ", ".join(_ranges(lines, kept))
        return f"host code set aside: {ranges}" + (f" ({said})" if said else "")

    def learn(self, errors: Sequence[Finding]) -> bool:
        """Change the selection by the compiler's errors; return whether anything changed.

        A name that is undefined belongs to an item that was set aside by mistake. An item with an
        error that is no device code, and that no kernel calls, was kept by mistake: it only has the
        name of something in a kernel.
        """
        before = (frozenset(self._kept), self._instantiates)
        self.withdraw_assertions(errors)
        self._drop(sorted(error.line for error in errors))
        named = {word for error in errors for word in _QUOTED.findall(error.message)}
        missing = {item for word in named - {"main"} for item in self._index.get(word, ())}
        self._kept |= self._reached(missing - self._dropped)
        self._kept -= self._dropped
        if any(error.line > self._source.count("\n") + 1 for error in errors):
            self._instantiates = frozenset(self._kept) != before[0]
        return before != (frozenset(self._kept), self._instantiates)

    def failed_assertions(self, errors: Sequence[Finding]) -> tuple[Finding, ...]:
        """Return the errors of static assertions that are false, not just about what is missing."""
        failed = [error for error in errors if "static assertion failed" in error.message]
        others = sorted(
            error.line for error in errors
            if error not in failed and not _OF_HOST_CODE.search(error.message)
        )  # fmt: skip
        return tuple(
            error for error in failed
            if not any(map(partial(_is_at, others), self._reached(
                item for item in self._items.items if _is_at([error.line], item)
            )))
        )  # fmt: skip

    def withdraw_assertions(self, errors: Sequence[Finding]) -> None:
        """Set static assertions aside that reach an error, and what only these reach."""
        lines = sorted(error.line for error in errors)
        remain = [
            item for item in self._kept
            if self._is_assertion(item)
            and not any(one in self._dropped or _is_at(lines, one) for one in self._reached([item]))
        ]  # fmt: skip
        self._kept -= self._asserted
        self._asserted &= self._reached(remain)
        self._kept |= self._asserted

    def lost(self, errors: Iterable[Finding]) -> bool:
        """Whether errors are about names of items that `learn` removed: they were needed."""
        named = {word for error in errors for word in _QUOTED.findall(error.message)}
        return any(not named.isdisjoint(item.names) for item in self._dropped)

    def _drop(self, lines: list[int]) -> None:
        """Remove the items with an error at one of these lines that no kernel needs."""
        called = {name for item in self._kept for name in item.called}
        wanted = self._reached(item for item in self._items.items if self._is_wanted(item))
        for item in self._kept:
            if not _is_at(lines, item):
                continue
            if self._is_device(item):  # perhaps of a library that is not here
                is_needed = item in wanted or not self.unknown
            else:  # perhaps host code with the name of something in a kernel
                is_needed = item.is_function and item.name in called
            if not is_needed:
                self._dropped.add(item)

    def _is_device(self, item: Item) -> bool:
        if item.is_instantiation:
            return item.name in self._device_names
        return not self._marks[item].isdisjoint(_OF_DEVICE)

    def _is_root(self, item: Item) -> bool:
        marks = self._marks[item]
        if item.is_instantiation or item.name == "operator":
            return self._is_device(item)
        if _used_namespace(item):
            return True
        return self._is_device(item) and HOST not in marks

    def _is_assertion(self, item: Item) -> bool:
        return item.first in self._assertions

    def _is_wanted(self, item: Item) -> bool:
        names = {spec.name for spec in self._wanted}
        known = any(name in self._index for name in names)
        is_kernel = KERNEL in self._marks[item]
        return is_kernel and (not known or item.name in names)

    def _marks_of(self, item: Item) -> frozenset[str]:
        """The annotations in an item's head, those inside its macros included."""
        found: set[str] = set()
        for word, _ in item.head:
            found |= self._annotations.get(word, frozenset())
        if KERNEL in item.words:  # a brace is missing before the kernel: the compiler says where
            found.add(KERNEL)
        return frozenset(found)

    def _reached(self, roots: Iterable[Item]) -> set[Item]:
        """The items that these reach by name, themselves included."""
        kept = set(roots)
        waiting, macros, seen = list(kept), set[str](), set[tuple[str, bool]]()
        while waiting:
            item = waiting.pop()
            for word, is_called in self._mentions(item.words, item.called, macros):
                if (word, is_called) in seen:
                    continue
                seen.add((word, is_called))
                for target in self._index.get(word, ()):
                    plain = target.function_name and not self._is_device(target)
                    if target not in kept and word != "main" and (is_called or not plain):
                        kept.add(target)
                        waiting.append(target)
        return self._without_unknown_namespaces(kept)

    def _without_unknown_namespaces(self, kept: set[Item]) -> set[Item]:
        """Leave out `using namespace` of namespaces that no header and no item here declares."""
        used = {word for item in kept if not _used_namespace(item) for word in item.words}
        known = _DEVICE_NAMESPACES | self._items.namespaces | used
        return {item for item in kept if not (name := _used_namespace(item)) or name in known}

    def _mentions(
        self, words: set[str], called: set[str], seen: set[str]
    ) -> Iterator[tuple[str, bool]]:
        """The words, and those of the macros among them, with whether they are called."""
        waiting = [word for word in words if word in self._items.macros]
        yield from ((word, word in called) for word in words)
        while waiting:
            macro = waiting.pop()
            if macro not in seen:
                seen.add(macro)
                for word in self._items.macros[macro]:
                    yield word, True
                    if word in self._items.macros:
                        waiting.append(word)

    def _unused_includes(self) -> list[Directive]:
        """The includes of headers that device code does not have, or does not mention."""
        words = {word for item in self._kept for word in item.words}
        words |= {word for macro in words & self._items.macros.keys()
                  for word in self._items.macros[macro]}  # fmt: skip
        return [
            one for one in self._items.directives
            if is_include(one) and not (
                self._is_known(header_of(one)) and _is_mentioned(header_of(one), words)
            )
        ]  # fmt: skip

    def _hiding(self) -> list[tuple[int, int]]:
        """What hides kernels from the compiler: `static`, and unnamed namespaces."""
        static = [
            (at, at + len(word))
            for item in self._items.items
            if KERNEL in self._marks[item]
            for word, at in item.head
            if word == "static"
        ]
        return [*static, *self._items.unnamed]

    def _outside_directives(self, item: Item, starts: list[int]) -> Iterator[tuple[int, int]]:
        """The parts of an item between the directives in it, which remain."""
        at = item.start
        for number in range(bisect_left(starts, item.start), bisect_left(starts, item.end)):
            directive = self._items.directives[number]
            yield at, directive.start
            at = directive.end
        yield at, item.end

    def _with_instantiations(self, text: str) -> str:
        lines = list(self._instantiations(text)) if self._instantiates else []
        return "\n".join([text, *lines, ""]) if lines else text

    def _instantiations(self, text: str) -> Iterator[str]:
        """Explicit instantiations of the kernel templates that the program only launches."""
        templates = [i for i in self._kept if KERNEL in self._marks[i] and i.is_template]
        if not templates:
            return
        explicit = {i.name for i in self._items.items if i.is_instantiation}
        declared = {d.name: d.parameters for d in declarations(parse(code(text))) if d.template}
        for item in sorted(templates, key=lambda i: i.start):
            if item.name not in explicit and item.is_function and item.name in declared:
                yield from self._instances(item, tuple(of for of, _ in declared[item.name]))

    def _instances(self, item: Item, types: tuple[str, ...]) -> Iterator[str]:
        from grader.compile.signature import deduced_types, substituted, template_parameters

        names = template_parameters(item)
        alone = self._wanted[0] if len(self._wanted) == 1 else None
        spec = next((s for s in self._wanted if s.name == item.name), alone)
        deduced = deduced_types(names, types, spec)
        name = "::".join([*filter(None, item.scope), item.name])
        for written in self._items.launches.get(item.name, ("",))[:MAX_INSTANTIATIONS]:
            given = [self._constant(one.strip()) for one in written.split(",") if one.strip()]
            values = {**deduced, **dict(zip(names, given, strict=False))}
            inside = ", ".join(substituted(type_, values) for type_ in types)
            arguments = f"<{', '.join(given)}>" if given else ""
            yield f"template __global__ void {name}{arguments}({inside});"

    def _constant(self, argument: str) -> str:
        """A template argument; a constant of the host function that launches becomes its value."""
        if not is_name(argument) or argument in self._index or argument in self._items.macros:
            return argument
        return self._constants.get(argument, argument)

    @cached_property
    def _constants(self) -> dict[str, str]:
        """The values of everything in the source that is set to a short expression."""
        found: dict[str, str] = {}
        for match in _CONSTANT.finditer(self._items.text):
            found.setdefault(match[1], match[2])
        return found


def _is_at(lines: list[int], item: Item) -> bool:
    """Whether one of these lines, which are sorted, is of an item."""
    number = bisect_left(lines, item.line)
    return number < len(lines) and lines[number] <= item.last_line


def _index(items: Iterable[Item]) -> dict[str, list[Item]]:
    """The items by each name that they declare."""
    index: dict[str, list[Item]] = {}
    for item in items:
        for name in item.names - {"operator"}:  # called without its name
            index.setdefault(name, []).append(item)
    return index


def _used_namespace(item: Item) -> str:
    """The namespace of a `using namespace`; "" for another item."""
    words = [word for word, _ in item.head[:4]]
    return item.head[-2][0] if words[:2] == ["using", "namespace"] and len(words) > 3 else ""


def _is_mentioned(header: str, words: set[str]) -> bool:
    """Whether device code uses a header: that of a library's folder by the library's namespace."""
    folder, slash, _ = header.partition("/")
    if header.startswith(_OF_HOST):
        return False
    return not slash or folder in ("nv", *words) or header.startswith("crt/")


def _span(directive: Directive) -> tuple[int, int]:
    return directive.start, directive.end


def _ranges(lines: list[tuple[int, int]], kept: list[int]) -> Iterator[str]:
    """Line ranges without kept declarations between them: "lines 3-9", "24-88"."""
    merged: list[list[int]] = []
    for first, last in sorted(lines):
        if merged and bisect_left(kept, merged[-1][1]) == bisect_left(kept, first):
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    word = "line " if len(merged) == 1 and merged[0][0] == merged[0][1] else "lines "
    for first, last in merged:
        yield word + (f"{first}" if first == last else f"{first}-{last}")
        word = ""

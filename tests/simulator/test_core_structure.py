"""The C core's structure: includes have no cycle, the machine names no watcher, and every prototype
is in one header that its own file includes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from grader.simulator.core.bindings import core
from tests.command import ROOT

CORE = ROOT / "grader" / "simulator" / "core"
ANNOUNCED = {"watchers"}
"""What machine/ uses of watch/: the table of watchers, which machine/events.h declares."""

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^#(?:.*\\\n)*.*$", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?!static|INLINE|OUTLINE|typedef)\w[\w *]*?\b(\w+)\([^;{}]*\)\s*(;|\{)", re.M
)
_LIST = re.compile(r"^Exec ([\w, ]+);", re.MULTILINE)

Sources = Mapping[str, str]


def sources() -> dict[str, str]:
    """The text of every C file, by its path in the core, without comments."""
    return {
        path.relative_to(CORE).as_posix(): _COMMENT.sub(" ", path.read_text())
        for path in sorted(CORE.rglob("*.[ch]"))
    }


def includes(files: Sources) -> dict[str, set[str]]:
    return {name: set(_INCLUDE.findall(text)) for name, text in files.items()}


def functions(text: str) -> Iterator[tuple[str, bool]]:
    """Each function with external linkage: its name, and whether this is its definition."""
    text = _DIRECTIVE.sub("", text)
    for name, end in _FUNCTION.findall(text):
        yield name, end == "{"
    for names in _LIST.findall(text):
        yield from ((name, False) for name in names.split(", "))


def prototypes(files: Sources) -> dict[str, list[str]]:
    """Where each function is declared without a definition."""
    found = defaultdict(list)
    for file, text in files.items():
        for name, defined in functions(text):
            if not defined:
                found[name].append(file)
    return dict(found)


def definitions(files: Sources) -> dict[str, str]:
    """In which file each function with external linkage is defined."""
    return {
        name: file
        for file, text in files.items()
        if file.endswith(".c")
        for name, defined in functions(text)
        if defined
    }


def reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """The headers that a file includes, directly or not."""
    found: set[str] = set()
    left = [start]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left += new
    return found


def upward(files: Sources) -> list[str]:
    """What files of machine/ include or name of watch/, other than ANNOUNCED."""
    watch = {name: text for name, text in files.items() if name.startswith("watch/")}
    names = {*definitions(watch), *prototypes(watch)} - ANNOUNCED
    return [
        f"{file}: {what}"
        for file, text in files.items()
        if file.startswith("machine/")
        for what in sorted(
            {x for x in _INCLUDE.findall(text) if x.startswith("watch/")}
            | (names & set(re.findall(r"\w+", text)))
            | set(re.findall(r"\w+_(?:watcher|slot)\b", text))
        )
    ]


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_include_is_a_file_of_the_core() -> None:
    files = sources()
    assert {x for held in includes(files).values() for x in held} <= set(files)


def test_includes_have_no_cycle() -> None:
    assert cycle(includes(sources())) == []
    assert cycle({"a.h": {"b.h"}, "b.h": {"c.h"}, "c.h": {"a.h"}})


def test_the_machine_names_no_watcher() -> None:
    files = sources()
    assert upward(files) == []
    assert {name.split("/")[0] for name in files} == {"machine", "watch"}


@pytest.mark.parametrize(
    "line",
    ['#include "watch/findings.h"\n', "  report(w->worker, r);\n", "  x = &races_watcher;\n"],
)
def test_a_call_upward_is_detected(line: str) -> None:
    files = sources()
    files["machine/control.c"] += line
    assert len(upward(files)) == 1


def test_every_prototype_is_in_one_header() -> None:
    declared = prototypes(sources())
    assert len(declared) > 40
    assert [name for name, files in declared.items() if len(files) > 1] == []
    assert [name for name, files in declared.items() if not files[0].endswith(".h")] == []


def test_a_function_includes_the_header_that_declares_it() -> None:
    files = sources()
    graph, declared = includes(files), prototypes(files)
    for name, file in definitions(files).items():
        if name in declared:
            assert declared[name][0] in reached(graph, file), name
        else:
            assert core().known(name.removeprefix("ptx_")), f"{file}: {name} is not declared"


def test_a_second_prototype_is_detected() -> None:
    files = sources()
    files["watch/order.c"] += "\nvoid set_mask(Warp *w, u32 mask);\n"
    assert prototypes(files)["set_mask"] == ["machine/control.h", "watch/order.c"]


def test_no_file_but_a_header_says_extern() -> None:
    assert [n for n, text in sources().items() if n.endswith(".c") and "extern" in text] == []


def test_file_names_are_unique_and_start_with_a_comment() -> None:
    names = Counter(path.name for path in CORE.rglob("*.[ch]"))
    assert [name for name, n in names.items() if n > 1] == []
    starts = {path.name: path.read_text()[:3] for path in CORE.rglob("*.[ch]")}
    assert set(starts.values()) == {"/* "}


def test_every_watcher_is_listed_once_and_defined_in_one_file() -> None:
    files = sources()
    listed = re.findall(r"WATCHER\((\w+)\)", files["watch/watchers.h"].split("enum {")[0])
    defined = re.findall(r"^const Watcher (\w+)_watcher = ", "\n".join(files.values()), re.M)
    assert sorted(set(listed) - {"WATCHER", "NAME"}) == sorted(defined)
    assert len(defined) == len(set(defined))


def warnings_of(*files: Path) -> str:
    """What the compiler warns of; empty where the files are right."""
    compiler = shutil.which("gcc") or "cc"
    options = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-fsyntax-only", f"-I{CORE}")
    words = [compiler, *options, *map(str, files)]
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


def test_the_compiler_has_no_warnings() -> None:
    assert not warnings_of(*sorted(CORE.rglob("*.c")))


@pytest.mark.parametrize(
    "text",
    [
        "int next(int *n) { return !(++*n & (*n - 1)); }",
        "void set(int *n); void give(const int *n) { set(n); }",
    ],
    ids=["an order that is not defined", "a constant that is changed"],
)
def test_a_warning_is_seen(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.c"
    file.write_text(text)
    assert "warning" in warnings_of(file)

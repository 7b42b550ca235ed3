"""The package's shape: floors, no cycles, lengths, names. A new module says here where it lives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median, quantiles

import pytest

PACKAGE = Path(__file__).parent.parent / "grader"

FLOORS = {
    0: "__init__ elementtype extra fault launch nearest occupancy wholefile",
    1: "abreast arrayfile box expression lab labfile launchfile oracle packing prepare quiz"
    " skeleton submission tolerance walls within yamlfile",
    2: "compile course refusal speed",
    3: "sim gpu",
    4: "run",
    5: "check",
    6: "ahead baseline blame cases grade mutation onelaunch quizkey record score timed",
    7: "calibrate crosscheck report export doctor explain gate handout newlab release similar",
    8: "gradebook replay",
    9: "batch",
    10: "__main__ cli pytest_plugin web",
}
APART = (frozenset({"sim", "gpu"}),)
"""Pairs on one floor of which neither may know the other: backends meet in `run` only."""

FLOOR = {name: floor for floor, names in FLOORS.items() for name in names.split()}
FORBIDDEN = re.compile(r"(^|_)(utils?|helpers?|common|managers?|misc)(_|$)", re.IGNORECASE)

Imports = Mapping[str, frozenset[str]]


def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name below `grader`."""
    named = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts
        named[".".join(parts)] = ast.parse(path.read_text(), str(path))
    return named


def imports(trees: Mapping[str, ast.Module]) -> Imports:
    """What each module imports of the package, by dotted name; those inside functions count."""
    return {
        name: frozenset(found for node in ast.walk(tree) for found in imported(node, trees))
        for name, tree in trees.items()
    }


def imported(node: ast.AST, trees: Mapping[str, ast.Module]) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "`from grader.x import y` is the house form"
        if node.module and (node.module + ".").startswith("grader."):
            base = node.module.removeprefix("grader").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                yield inner if inner in trees else base or "__init__"


def wrong_floors(graph: Imports) -> list[str]:
    """Imports that go up or between two kept apart, and modules that have no floor."""
    bad = []
    for module, targets in graph.items():
        floor = FLOOR.get(module.split(".")[0])
        if floor is None:
            bad.append(f"{module} has no floor: give it one in tests/test_structure.py")
            continue
        bad += [
            f"{module} (floor {floor}) imports {target}"
            for target in sorted(targets)
            if FLOOR.get(target.split(".")[0], -1) > floor
            or frozenset({module.split(".")[0], target.split(".")[0]}) in APART
        ]
    return bad


def cycle(graph: Imports) -> list[str]:
    """One import cycle, or nothing. A type that is only named makes no cycle at run time, but
    shows a wrong cut all the same."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_go_down() -> None:
    assert wrong_floors(imports(modules())) == []


def test_no_cycles() -> None:
    assert cycle(imports(modules())) == []


@pytest.mark.parametrize(
    ("module", "target", "good"),
    [
        ("check.sync", "lab", True),
        ("check.sync", "check.result", True),
        ("lab", "check.sync", False),
        ("sim.step", "report.text", False),
        ("gpu.attempt", "sim.exchange", False),
        ("sim.simulate", "gpu.device", False),
        ("gpu.attempt", "gpu.device", True),
        ("run", "sim.exchange", True),
        ("newcomer", "fault", False),
    ],
)
def test_a_wrong_floor_is_seen(module: str, target: str, good: bool) -> None:
    assert (wrong_floors({module: frozenset({target})}) == []) is good


def test_a_cycle_is_seen() -> None:
    assert cycle({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("a")})
    assert not cycle({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()})


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert median(n for n in lengths.values() if n > 5) <= 120
    assert [f"{path}: {n}" for path, n in lengths.items() if n > 300] == []
    core = {path: len(path.read_text().splitlines()) for path in PACKAGE.glob("sim/core/*.[ch]")}
    assert core, "there is no C core"
    assert [f"{path}: {n}" for path, n in core.items() if n > 400] == []


def test_functions_are_short() -> None:
    every = [
        (f"{module}.{name}", n) for module, tree in modules().items() for name, n in functions(tree)
    ]
    lengths = [n for _, n in every]
    assert median(lengths) <= 10
    assert quantiles(lengths, n=10)[-1] <= 30
    assert [f"{name}: {n}" for name, n in every if n > 60] == []


def test_names_say_what_things_are() -> None:
    defined = {
        f"{module}: {name}"
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for name in [node.name]
        if FORBIDDEN.search(name)
    }
    assert defined == set()
    assert [module for module in modules() if FORBIDDEN.search(module.replace(".", "_"))] == []


@pytest.mark.parametrize("name", ["utils", "path_utils", "helper", "common_types", "Manager"])
def test_a_forbidden_name_is_seen(name: str) -> None:
    assert FORBIDDEN.search(name)


def test_no_module_state() -> None:
    """No function rebinds a module's name."""
    found = [
        f"{module}:{node.lineno}"
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Global)
    ]
    assert found == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    if path.read_text().strip():
        assert ast.get_docstring(ast.parse(path.read_text()))

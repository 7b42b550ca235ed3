"""The structure of the package: floors, no cycles, sizes, names.

A package of `grader/` imports from lower floors only. A new package is entered in FLOORS.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median, quantiles

import pytest

PACKAGE = Path(__file__).parent.parent / "grader"

FLOORS = (
    "__init__ faults launch",
    "labs sandbox submissions",
    "compile",
    "simulator gpu",
    "checks",
    "grading",
    "feedback reports",
    "gradebook",
    "authoring batch export",
    "editor portal",
    "__main__ cli notebook pytest_plugin",
)
"""Packages and loose modules, the lowest floor first."""

APART = (frozenset({"simulator", "gpu"}), frozenset({"batch", "export"}))
"""Pairs on one floor that must not import each other: the backends meet in `grading` only."""

SIMULATOR = ("ptx", "decode", "core", "diagnose")
"""The folders of the simulator, the lowest first."""

MOST_PACKAGES, MOST_LOOSE, MOST_FILES, MOST_IN_A_FOLDER = 18, 4, 403, 27
MOST_LINES, MOST_C_LINES = 400, 600

FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names.split()}
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


@pytest.fixture(scope="module")
def trees() -> Mapping[str, ast.Module]:
    """The modules, parsed once for all tests of this file."""
    return modules()


@pytest.fixture(scope="module")
def graph(trees: Mapping[str, ast.Module]) -> Imports:
    return imports(trees)


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
    shows a wrong cut all the same.
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_go_down(graph: Imports) -> None:
    assert wrong_floors(graph) == []


def test_no_cycles(graph: Imports) -> None:
    assert cycle(graph) == []


def test_folders_of_the_simulator_import_downward(graph: Imports) -> None:
    floor = {f"simulator.{name}": number for number, name in enumerate(SIMULATOR)}
    folder = {m: ".".join(m.split(".")[:2]) for m in graph}
    wrong = [
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in targets
        if folder[module] in floor
        and folder.get(target, "").startswith("simulator.")
        and floor.get(folder[target], len(floor)) > floor[folder[module]]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("module", "target", "good"),
    [
        ("checks.sync", "labs.model", True),
        ("checks.sync", "checks.result", True),
        ("labs.model", "checks.sync", False),
        ("simulator.simulate", "reports.text", False),
        ("gpu.launches", "simulator.exchange", False),
        ("simulator.simulate", "gpu.devices", False),
        ("gpu.launches", "gpu.devices", True),
        ("grading.run", "simulator.exchange", True),
        ("feedback.grade", "grading.pipeline", True),
        ("grading.pipeline", "feedback.grade", False),
        ("newcomer", "faults", False),
    ],
)
def test_a_wrong_floor_is_detected(module: str, target: str, good: bool) -> None:
    assert (wrong_floors({module: frozenset({target})}) == []) is good


def test_a_cycle_is_detected() -> None:
    assert cycle({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("a")})
    assert not cycle({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()})


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def lengths(pattern: str) -> dict[str, int]:
    """Lines of each file of the package that matches, by its path."""
    found = {
        str(path.relative_to(PACKAGE)): len(path.read_text().splitlines())
        for path in PACKAGE.rglob(pattern)
    }
    assert found
    return found


def test_files_are_no_longer_than_a_reader_can_hold() -> None:
    assert {path: n for path, n in lengths("*.py").items() if n > MOST_LINES} == {}
    core = lengths("simulator/core/**/*.[ch]")
    assert {path: n for path, n in core.items() if n > MOST_C_LINES} == {}


def test_there_are_few_packages_and_fewer_loose_modules() -> None:
    packages = [path for path in PACKAGE.iterdir() if (path / "__init__.py").exists()]
    loose = [path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    assert len(packages) <= MOST_PACKAGES
    assert len(loose) <= MOST_LOOSE
    assert len(lengths("*.py")) <= MOST_FILES


def test_no_folder_holds_too_many_files() -> None:
    count = Counter(path.parent for path in PACKAGE.rglob("*.py"))
    assert {str(folder): n for folder, n in count.items() if n > MOST_IN_A_FOLDER} == {}


def test_functions_are_short(trees: Mapping[str, ast.Module]) -> None:
    every = [
        (f"{module}.{name}", n) for module, tree in trees.items() for name, n in functions(tree)
    ]
    lengths = [n for _, n in every]
    assert median(lengths) <= 10
    assert quantiles(lengths, n=10)[-1] <= 30
    assert [f"{name}: {n}" for name, n in every if n > 60] == []


def test_names_say_what_things_are(trees: Mapping[str, ast.Module]) -> None:
    defined = {
        f"{module}: {name}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for name in [node.name]
        if FORBIDDEN.search(name)
    }
    assert defined == set()
    assert [module for module in trees if FORBIDDEN.search(module.replace(".", "_"))] == []


@pytest.mark.parametrize("name", ["utils", "path_utils", "helper", "common_types", "Manager"])
def test_a_forbidden_name_is_detected(name: str) -> None:
    assert FORBIDDEN.search(name)


def test_no_module_state(trees: Mapping[str, ast.Module]) -> None:
    """No function rebinds a module's name."""
    found = [
        f"{module}:{node.lineno}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Global)
    ]
    assert found == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_every_module_has_a_docstring(path: Path) -> None:
    if path.read_text().strip():
        assert ast.get_docstring(ast.parse(path.read_text()))


def test_every_module_is_in_a_wheel() -> None:
    """A folder without __init__.py is no package: its modules are shipped as data."""
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["grader"]
    shipped = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    lost = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if not (path.parent / "__init__.py").exists() and path not in shipped
    ]
    assert lost == []


def test_no_binary_file_is_tracked() -> None:
    """What a command left behind, such as a gradebook, is none of the project's. Arrays are."""
    root = PACKAGE.parent
    if shutil.which("git") is None or not (root / ".git").exists():
        pytest.skip("needs a git checkout")
    own = ("git", "-c", f"safe.directory={root}", "-C", str(root))
    listed = subprocess.run([*own, "ls-files", "-z"], capture_output=True, check=True, text=True)
    files = [root / name for name in listed.stdout.split("\0") if not name.endswith(".npz")]
    texts = [path for path in files if path.is_file()]
    assert len(texts) > 1000
    assert [path.name for path in texts if b"\0" in path.read_bytes()] == []


def test_the_package_under_test_is_as_users_run_it() -> None:
    """Pytest rewrites the assertions of the packages whose plugins it finds by itself."""
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "grader"]
    loaders = {type(module.__loader__).__name__ for module in modules}
    assert "SourceFileLoader" in loaders
    assert "AssertionRewritingHook" not in loaders

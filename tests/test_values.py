"""`grader.dataclass` behaves like that of the standard library, which is the specification."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest

import grader
from grader import compile_regexes, dataclass, regex

MAKERS: dict[str, Callable[..., Any]] = {"standard": dataclasses.dataclass, "own": dataclass}


def classes(made: Callable[..., Any]) -> dict[str, type]:
    @made(frozen=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)

        @cached_property
        def norm(self) -> int:
            return self.x**2 + self.y**2

    @made(frozen=True)
    class Solid(Point):
        z: int = 3
        note: str = field(default="", compare=False, repr=False)

    @made
    class Counter:
        name: str
        seen: dict[str, int] = field(default_factory=dict)
        total: int = field(init=False)
        steps: list[int] = field(init=False, default_factory=list)

        def __post_init__(self) -> None:
            self.total = sum(self.seen.values())

    @made(frozen=True, eq=False, repr=False)
    class Handle:
        number: int

    @made(frozen=True)
    class Named:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

        def __repr__(self) -> str:
            return f"<{self.name}>"

    class Plain(Point):
        pass

    return {k: v for k, v in locals().items() if k != "made"}


USES: dict[str, Callable[[Any], Any]] = {
    "positional": lambda c: vars(c.Point(1, 5)),
    "named": lambda c: vars(c.Point(y=4, x=1)),
    "representation": lambda c: repr(c.Solid(1, z=9, note="hidden")).rpartition(".")[2],
    "own representation": lambda c: repr(c.Named("A")),
    "inherited": lambda c: [f.name for f in dataclasses.fields(c.Solid)],
    "equal": lambda c: (c.Solid(1) == c.Solid(1, note="x"), c.Solid(1) != c.Solid(2)),
    "of another class": lambda c: (c.Point(1) == c.Solid(1), c.Point(1) == 1),
    "own equality": lambda c: (c.Named("A") == c.Named("a"), len({c.Named("A"), c.Named("a")})),
    "by identity": lambda c: (c.Handle(1) == c.Handle(1), "Handle object" in repr(c.Handle(1))),
    "hash": lambda c: len({c.Named("A"), c.Named("B"), c.Named("A")}),
    "hash of fields": lambda c: hash(c.Point(1, 2, ())) == hash(c.Point(1, 2, ())),
    "hash of a list": lambda c: hash(c.Point(1)),
    "hash of a mutable": lambda c: hash(c.Counter("a")),
    "replaced": lambda c: vars(dataclasses.replace(c.Solid(1), z=0)),
    "replaced unknown": lambda c: dataclasses.replace(c.Solid(1), w=0),
    "as a dict": lambda c: dataclasses.asdict(c.Solid(1, tags=["a"])),
    "factories": lambda c: c.Point(1).tags is not c.Point(1).tags,
    "after": lambda c: (c.Counter("a", {"x": 3}).total, c.Counter("a").steps),
    "not an argument": lambda c: c.Counter("a", total=1),
    "changed": lambda c: vars(changed(c.Counter("a"))),
    "missing": lambda c: c.Point(),
    "too many": lambda c: c.Handle(1, 2),
    "twice": lambda c: c.Point(1, x=1),
    "unknown": lambda c: c.Point(1, w=1),
    "frozen": lambda c: setattr(c.Point(1), "x", 2),
    "frozen deletion": lambda c: delattr(c.Point(1), "x"),
    "cached": lambda c: [p.norm + p.norm for p in [c.Point(3)]],
    "copied": lambda c: vars(copy.deepcopy(c.Point(1, tags=["a"]))),
    "matched": lambda c: c.Point.__match_args__,
    "a plain subclass": lambda c: vars(c.Plain(1)),
    "documented": lambda c: c.Point.__doc__,
}


def changed(counter: Any) -> Any:
    counter.name = "b"
    return counter


@pytest.mark.parametrize("use", USES)
def test_dataclass_is_that_of_the_standard_library(use: str) -> None:
    results = []
    for made in MAKERS.values():
        try:
            results.append(USES[use](type("Classes", (), classes(made))))
        except Exception as error:  # noqa: BLE001  the class of the error is compared
            results.append(type(error))
    assert results[0] == results[1]


def test_value_is_pickled() -> None:
    from grader.launch import Finding

    found = Finding("race", "error", "x", cases=("a",))
    assert pickle.loads(pickle.dumps(found)) == found


COUNT = """
import dataclasses, sys
create, made = dataclasses._create_fn, []
def counted(name, *args, **options):
    frame = sys._getframe(1)
    while frame.f_code.co_filename == dataclasses.__file__:
        frame = frame.f_back
    made.append(frame.f_globals["__name__"])
    return create(name, *args, **options)
dataclasses._create_fn = counted
import grader.feedback.grade, grader.grading.run, grader.labs.reading, grader.reports.text
print(sum(name.startswith("grader") for name in made))
"""


def test_importing_a_check_compiles_few_methods() -> None:
    """There were some 900: of classes with slots, and of two modules that use the standard one."""
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 60


def test_regular_expression_is_compiled_at_its_first_use() -> None:
    """It does what `re.compile` returns; `compile_regexes` compiles what no one has used yet."""
    words = regex(r"(?P<word>[a-z]+)", re.IGNORECASE)
    standard = re.compile(r"(?P<word>[a-z]+)", re.IGNORECASE)
    for name in ("pattern", "groups", "flags", "groupindex"):
        assert getattr(words, name) == getattr(standard, name)
    for name in ("match", "fullmatch", "search"):
        assert str(getattr(words, name)("Ab1")) == str(getattr(standard, name)("Ab1"))
    assert [m.group() for m in words.finditer("a 1 B")] == ["a", "B"]
    assert words.sub("x", "a 1") == "x 1"
    incorrect = regex("(")
    with pytest.raises(re.error):
        compile_regexes()
    grader._REGEXES.remove(incorrect)  # type: ignore[arg-type]
    compile_regexes()


EVERY_MODULE = """
import importlib, pkgutil
import grader
for package in ("simulator", "compile", "feedback", "checks", "labs", "submissions"):
    top = importlib.import_module(f"grader.{package}")
    for module in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
        if "._core" not in module.name:
            importlib.import_module(module.name)
grader.compile_regexes()
print(len(grader._REGEXES))
"""


def test_regular_expressions_of_all_modules_are_correct() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERY_MODULE], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 100


def test_copy_with_changes_is_that_of_the_standard_library() -> None:
    made = SimpleNamespace(**classes(dataclass))
    for value, changes in ((made.Solid(1, z=2), {"y": 5, "note": "a"}), (made.Handle(3), {})):
        assert vars(grader.replace(value, **changes)) == vars(dataclasses.replace(value, **changes))
    with pytest.raises(TypeError):
        grader.replace(made.Handle(3), other=1)


PLAIN = """
import sys
from grader import dataclass, replace
@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2
@dataclass(frozen=True)
class Solid(Point):
    z: int = 3
solid = replace(Solid(1), y=7)
print(sorted(vars(solid).items()), solid == Solid(1, 7), len({solid, Solid(1, 7)}), end=" ")
print("dataclasses" in sys.modules)
import dataclasses
print([f.name for f in dataclasses.fields(Solid)], dataclasses.asdict(solid))
"""


def test_plain_dataclass_is_made_without_the_standard_library() -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[('x', 1), ('y', 7), ('z', 3)] True 1 False",
        "['x', 'y', 'z'] {'x': 1, 'y': 7, 'z': 3}",
    ]

"""warpgrade: an autograding framework for CUDA course labs.

`dataclass` is that of the standard library without its cost at import: that one writes the source
of each method and compiles it, 0.4 ms a class, and most commands import some 170 classes. Here all
classes share methods that read their fields, and what the standard library knows of a class is
made when it is asked for.
"""

from __future__ import annotations

import sys
from _thread import RLock  # `threading` imports more
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

__version__ = "0.1.0"

_T = TypeVar("_T")

_NUMPY_DOCSTRINGS = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
_NUMPY_TYPES = ("numpy._typing", "numpy.typing")
_NUMPY_SIGNATURES = "numpy._core.overrides"
_DEFERRED = frozenset(
    {"ast", "bz2", "inspect", "lzma", "pickle", "platform", "shutil", "textwrap", "tokenize"}
    | {"zipfile"}
)
"""Modules of the standard library that what a check imports needs for few of its functions."""


def import_numpy_faster() -> None:
    """Have NumPy imported without what a command does not use: in two thirds of the time.

    That is the docstrings of what NumPy has in C, the types for annotations, which it evaluates,
    and the copy in Python of a module that the interpreter has in C. Modules that do nothing else
    are replaced, and those of the standard library that few functions use are imported by them.
    This is for processes of commands: in a notebook, a user may ask for help on a function.
    """
    sys.meta_path.insert(0, _Finder())
    sys.modules.setdefault("datetime", import_module("_datetime"))


class _Finder:
    """Finds modules without content, or without content yet, in the place of some others."""

    def __init__(self) -> None:
        self._deferred = {*_DEFERRED}

    def find_spec(self, name: str, path: Any = None, target: object = None) -> Any:
        """Return how to import one of these modules; None for all others."""
        if name in self._deferred:
            self._deferred.remove(name)  # the second import is that of `_Deferred`
            return ModuleSpec(name, self)  # type: ignore[arg-type]
        if not name.startswith("numpy."):
            return None
        if ".".join(name.split(".", 2)[:2]) in _NUMPY_TYPES or name in _NUMPY_DOCSTRINGS:
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        if name != _NUMPY_SIGNATURES:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = _WithoutSignatures(spec.loader)  # type: ignore[assignment]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return (_Types if spec.name.startswith("numpy.") else _Deferred)(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it has no content, or gets it when it is asked for."""


class _Deferred(ModuleType):
    """What is used as a module that is imported when one of its attributes is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # the import system asks for it, of a module that is no package
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            sys.modules.pop(self.__name__, None)
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


class _WithoutSignatures:
    """Loads NumPy's module that reads the signature and the docstring of each of its functions."""

    def __init__(self, loader: Any) -> None:
        self.create_module, self._execute = loader.create_module, loader.exec_module

    def exec_module(self, module: ModuleType) -> None:
        """Execute it with an `inspect` that reads neither."""
        known, inspect = sys.modules.pop("inspect", None), ModuleType("inspect")
        vars(inspect).update(signature=lambda function: None, cleandoc=lambda text: text)
        sys.modules["inspect"] = inspect
        try:
            self._execute(module)
        finally:
            del sys.modules["inspect"]
            if known is not None:
                sys.modules["inspect"] = known


class _Types(ModuleType):
    """A module of which each attribute is a type, for any arguments."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return list


_PLAN, _COMPARED, _FIELDS = "_warpgrade_plan", "_warpgrade_compared", "__dataclass_fields__"
_PROCESSING = RLock()  # a class asks for the fields of its bases

if TYPE_CHECKING:
    from collections.abc import Callable

    _Plan = tuple[
        tuple[str, ...], frozenset[str], dict[str, Any], dict[str, Callable[[], Any]], int, bool
    ]


class _Fields:
    """What the standard library keeps of a class, made in the class when it is asked for."""

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses  # takes 15 ms, where no other module has imported what it imports

        with _PROCESSING:
            if self._cls.__dict__[_FIELDS] is self:
                dataclasses.dataclass(init=False, eq=False, repr=False)(self._cls)
        return self._cls.__dict__[_FIELDS]


def _plan(cls: type) -> _Plan:
    """Return how to make instances of a class; it is kept in the class.

    Returns:
        The names of the arguments, in their order and as a set, their defaults, the factories, the
        number of attributes, and whether there is a `__post_init__`. Fields without an argument are
        among the factories alone.
    """
    names, defaults, factories = _plain_fields(cls) or _all_fields(cls)
    count, then = len({*names, *factories}), hasattr(cls, "__post_init__")
    plan: _Plan = (names, frozenset(names), defaults, factories, count, then)
    setattr(cls, _PLAN, plan)
    return plan


def _plain_fields(cls: type) -> tuple[tuple[str, ...], dict[str, Any], dict[str, Any]] | None:
    """Return names, defaults and no factories; None where a class is not made of annotations alone.

    Without the standard library's module, whose import takes 15 ms.
    """
    makers = [base for base in reversed(cls.__mro__) if _FIELDS in vars(base)]
    if not all(isinstance(vars(base)[_FIELDS], _Fields) for base in makers):
        return None
    names: dict[str, None] = {}
    defaults: dict[str, Any] = {}
    for base in makers:
        own = vars(base).get("__annotations__", {})
        names |= dict.fromkeys(own)
        defaults |= {name: vars(base)[name] for name in own if name in vars(base)}
    return tuple(names), defaults, {}


def _all_fields(cls: type) -> tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]:
    """Return the names of the arguments, the defaults and the factories."""
    import dataclasses

    fields = dataclasses.fields(cls)
    missing = dataclasses.MISSING
    names = tuple(f.name for f in fields if f.init)
    defaults = {f.name: f.default for f in fields if f.init and f.default is not missing}
    factories = {f.name: f.default_factory for f in fields if f.default_factory is not missing}
    return names, defaults, factories


def replace(instance: _T, /, **changes: Any) -> _T:
    """Return a copy of an instance of a dataclass with some fields changed."""
    cls = type(instance)
    names, arguments, _, _, count, then = cls.__dict__.get(_PLAN) or _plan(cls)
    ready = count == len(names) and not then and cls.__init__ is _initialize
    if not (ready and arguments.issuperset(changes)):
        return cls(**{**{name: getattr(instance, name) for name in names}, **changes})
    held, new = instance.__dict__, object.__new__(cls)
    new.__dict__.update({name: held[name] for name in names}, **changes)
    return new


def _initialize(self: Any, *values: Any, **named: Any) -> None:
    cls = type(self)
    names, arguments, defaults, factories, count, then = cls.__dict__.get(_PLAN) or _plan(cls)
    if not named and not then and len(values) == len(names) == count:
        self.__dict__.update(zip(names, values, strict=True))
        return
    given = dict(zip(names, values, strict=False))
    if len(values) > len(names):
        raise TypeError(f"{cls.__name__}() takes {len(names)} arguments, {len(values)} were given")
    if named and not (arguments.issuperset(named) and given.keys().isdisjoint(named)):
        twice = named.keys() & given.keys() or named.keys() - arguments
        raise TypeError(f"{cls.__name__}() got `{min(twice)}` twice, or has no such argument")
    held = {**defaults, **given, **named}
    for name, make in factories.items():
        if name not in held:
            held[name] = make()
    if len(held) < count:
        absent = [name for name in names if name not in held]
        raise TypeError(f"{cls.__name__}() needs {', '.join(absent)}")
    self.__dict__.update(held)
    if then:
        self.__post_init__()


def _equals(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return _compared(self) == _compared(other)


def _compared(value: Any) -> tuple[Any, ...]:
    cls = type(value)
    names = cls.__dict__.get(_COMPARED)
    if names is None:
        names = _compared_names(cls)
        setattr(cls, _COMPARED, names)
    return tuple(getattr(value, name) for name in names)


def _compared_names(cls: type) -> tuple[str, ...]:
    if plain := _plain_fields(cls):
        return plain[0]
    import dataclasses

    return tuple(f.name for f in dataclasses.fields(cls) if f.compare)


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _represent(self: Any) -> str:
    import dataclasses

    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, value: object = None) -> None:
    import dataclasses

    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """Make a dataclass; those with slots, made by the thousand, have methods of their own."""

        def made(cls):
            if slots:
                import dataclasses

                return dataclasses.dataclass(frozen=frozen, slots=True, eq=eq, repr=repr)(cls)
            own = vars(cls).copy()
            cls.__doc__ = cls.__doc__ or cls.__name__  # else the signature is computed for it
            setattr(cls, _FIELDS, fields := _Fields(cls))
            standard = sys.modules.get("dataclasses")  # which whoever calls `field` has imported
            if standard and any(isinstance(value, standard.Field) for value in own.values()):
                fields.__get__(None, cls)  # takes them out of the class
            methods = {"__init__": _initialize}
            methods |= {"__repr__": _represent} if repr else {}
            methods |= {"__eq__": _equals, "__hash__": _hash if frozen else None} if eq else {}
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse} if frozen else {}
            for name, method in methods.items():
                if name not in own or (name == "__hash__" and own[name] is None):
                    setattr(cls, name, method)
            return cls

        return made if cls is None else made(cls)


class _Regex:
    """A regular expression that is compiled at its first use."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern, self._flags = pattern, flags
        self._compiled: Any = None

    def __getattr__(self, name: str) -> Any:
        """Return a method or an attribute of the compiled one; the next time it is found faster."""
        if self._compiled is None:
            import re

            self._compiled = re.compile(self.pattern, self._flags)
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


_REGEXES: list[_Regex] = []

if TYPE_CHECKING:
    import re

    regex = re.compile
else:

    def regex(pattern, flags=0):
        """Return what `re.compile` does, compiled at its first use: a module has many, most unused.

        Raises:
            re.error: At its first use: the pattern is none.
        """
        made = _Regex(pattern, int(flags))
        _REGEXES.append(made)
        return made


def compile_regexes() -> None:
    """Compile those of all modules that are imported."""
    for each in _REGEXES:
        each.groups  # noqa: B018  any attribute does

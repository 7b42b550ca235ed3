"""Read YAML files with the position of every key, and write files atomically.

A YAML file is checked against a pydantic model; every mistake is a LabFault with file, line and
key.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from grader import dataclass
from grader.faults import LabFault, MachineFault, did_you_mean, file_fault

if TYPE_CHECKING:
    import yaml
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

Key = tuple[str | int, ...]
Model = TypeVar("Model", bound="BaseModel")

MAX_BYTES = 1 << 20
MAX_DEPTH = 100
"""Nested mappings and lists; with more, libyaml's composer overflows the C stack."""

_DEPTH = f"more than {MAX_DEPTH} nested lists or mappings"

_PREFIXES = ("Input should be ", "Value error, ", "Assertion failed, ")


@dataclass(frozen=True)
class Document:
    """A checked YAML file: `model` is its content, `file` its path as the user named it."""

    file: str
    model: Any
    root: yaml.Node

    def line_of(self, key: Sequence[str | int]) -> int:
        """Return the line, from 1, of the key at that path, or of its closest parent."""
        return _line(self.root, tuple(key))

    def where(self, key: Sequence[str | int] = ()) -> str:
        """Return `file:line: a.b.0`, for a fault about the key at that path."""
        return _where(self.file, self.root, tuple(key))


def load_yaml(path: Path, model: type[Model]) -> Model:
    """Return the file as an instance of `model`.

    Raises:
        LabFault: As `read_document`.
    """
    checked: Model = read_document(path, model).model
    return checked


def read_document(path: Path, model: type[BaseModel]) -> Document:
    """Read and check a file; the document has the lines of its keys.

    Raises:
        LabFault: As `compose_file`, or `model` does not have a key or refuses a value.
    """
    import yaml
    from pydantic import ValidationError

    file, root = str(path), compose_file(path)
    try:
        value = yaml.constructor.SafeConstructor().construct_document(root)
    except (yaml.YAMLError, ValueError) as error:
        raise _not_yaml(file, error) from None
    if not isinstance(value, dict):
        raise LabFault("there are no `key: value` lines", where=f"{file}:1", fix=_known(model))
    try:
        return Document(file, model.model_validate(value), root)
    except ValidationError as error:
        raise _refused(file, root, model, error.errors(include_url=False)) from None


def compose_file(path: Path) -> yaml.Node:
    """Return the file as YAML nodes; no values are constructed, so hostile text is safe.

    Raises:
        LabFault: There is no such file, or it is not UTF-8, larger than MAX_BYTES, not YAML or
            nested deeper than MAX_DEPTH, or a key is repeated or not a plain word.
    """
    return compose_bytes(_bytes(path), str(path))


def compose_bytes(data: bytes, file: str) -> yaml.Node:
    """Return bytes as YAML nodes, like `compose_file`; messages name them `file`.

    Raises:
        LabFault: As `compose_file`.
    """
    root = _composed(file, _text(data, file))
    _refuse_duplicates(file, root)
    return root


def _bytes(path: Path) -> bytes:
    """Return at most MAX_BYTES + 1 bytes of the file."""
    try:
        # Opening a FIFO without a writer would block forever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise LabFault("this is not a regular file", where=str(path))
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        what = f"cannot read the file: {reason}"
        raise file_fault(
            error, what, where=str(path), fix="check the name and the folder"
        ) from None


def _text(data: bytes, file: str) -> str:
    if len(data) > MAX_BYTES:
        raise LabFault(f"the file is larger than {MAX_BYTES >> 10} KiB", where=file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"the text is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}"
        raise LabFault(what, where=f"{file}:{line}", fix="save the file as UTF-8") from None


def yaml_loader() -> Any:
    """PyYAML's loader of plain values: that of its C library, in a tenth of the time, if it is."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _composed(file: str, text: str) -> yaml.Node:
    import yaml

    loader = yaml_loader()
    try:
        _refuse_depth(file, yaml.parse(text, Loader=loader))
        root = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _not_yaml(file, error, text) from None
    if root is None:
        raise LabFault("the file is empty", where=f"{file}:1", fix="write `key: value` lines")
    return root


def _refuse_depth(file: str, events: Iterable[yaml.Event]) -> None:
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise LabFault(_DEPTH, where=_at(file, event))


def _not_yaml(file: str, error: Exception, text: str = "") -> LabFault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark and text[mark.index : mark.index + 1] == "\t":
        problem = "a tab where only spaces are allowed"
    where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else f"{file}:1"
    if "nesting depth" in problem:  # libyaml reads ahead, and newer ones refuse a thousand levels
        return LabFault(_DEPTH, where=where)
    fix = (
        "check the indentation, and quote text that contains `: ` or starts with a special "
        "character"
    )
    return LabFault(f"not valid YAML: {problem}", where=where, fix=fix)


def _refuse_duplicates(file: str, root: yaml.Node) -> None:
    """Refuse a repeated key: YAML would silently drop its first value."""
    import yaml

    for node in _nodes(root):
        if not isinstance(node, yaml.MappingNode):
            continue
        keys: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise LabFault("a key must be a plain word", where=_at(file, key))
            if key.value in keys:
                raise LabFault(f"the key `{key.value}` is repeated", where=_at(file, key))
            keys.add(key.value)


def _nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield every node once, even if aliases refer to it."""
    import yaml

    waiting, visited = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting += [child for pair in node.value for child in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _at(file: str, node: yaml.Node | yaml.Event) -> str:
    mark = node.start_mark
    return f"{file}:{mark.line + 1 if mark else 1}"


def _step(node: yaml.Node, part: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the node of the key `part` inside `node`, and the node of its value."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        return next(((k, v) for k, v in node.value if k.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def _line(root: yaml.Node, key: Key) -> int:
    node, named = root, root
    for part in key:
        step = _step(node, part)
        if step is None:
            break
        named, node = step
    return int(named.start_mark.line) + 1


def _where(file: str, root: yaml.Node, key: Key) -> str:
    location = f"{file}:{_line(root, key)}"
    return f"{location}: {'.'.join(map(str, key))}" if key else location


def _present(root: yaml.Node, key: Key) -> Key:
    """Return the part of pydantic's location that is in the file.

    The location also names the alternatives of a union.
    """
    node, kept = root, []
    for part in key:
        step = _step(node, part)
        if step is None:
            break
        kept.append(part)
        node = step[1]
    return tuple(kept)


def _refused(
    file: str, root: yaml.Node, model: type[BaseModel], errors: list[ErrorDetails]
) -> LabFault:
    """Return a fault about the first mistake in the file.

    The errors of the alternatives of one union are merged.
    """
    places = [(_present(root, error["loc"]), error) for error in errors]
    # A misspelled key is also a missing one; the spelling is what the author has to fix.
    places.sort(key=lambda place: (place[1]["type"] == "missing", _line(root, place[0])))
    key, first = places[0]
    where = _where(file, root, key)
    more = _others(root, places)
    if first["type"] == "extra_forbidden":
        parent = _model_at(model, first["loc"][:-1])
        return LabFault(
            f"unknown key `{key[-1]}`{more}", where=where, fix=_fix_unknown(key[-1], parent)
        )
    if first["type"] == "missing":
        what = f"the key `{first['loc'][-1]}` is missing{more}"
        return LabFault(what, where=where, fix=_known(_model_at(model, first["loc"][:-1])))
    if first["type"] == "model_type":
        what = f"must be keys with values{_shown(first['input'])}{more}"
        return LabFault(what, where=where, fix=_known(_model_at(model, first["loc"])))
    messages = dict.fromkeys(_message(error) for at, error in places if at == key)
    got = _shown(first["input"]) if first["msg"].startswith("Input should") else ""
    return LabFault(f"{' or '.join(messages)}{got}{more}", where=where)


def _others(root: yaml.Node, places: Sequence[tuple[Key, ErrorDetails]]) -> str:
    """Return the lines of the other mistakes; alternatives of one union are one mistake."""
    lines_of: dict[tuple[Key, str], int] = {}
    for key, error in places:
        direct = error["type"] == "missing" and len(error["loc"]) == len(key) + 1
        lines_of[key, str(error["loc"][-1]) if direct else ""] = _line(root, key)
    lines = ", ".join(map(str, sorted(set(list(lines_of.values())[1:]))))
    return f"; more mistakes on line {lines}" if lines else ""


def _message(error: ErrorDetails) -> str:
    message = error["msg"]
    for prefix in _PREFIXES:
        if message.startswith(prefix):
            rest = message.removeprefix(prefix)
            return f"must be {rest}" if prefix.startswith("Input") else rest
    return message[:1].lower() + message[1:]


def _shown(value: Any) -> str:
    if value is None:
        return ", not nothing"
    if isinstance(value, Mapping | list):
        return ", not a mapping" if isinstance(value, Mapping) else ", not a list"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f", not `{text[:40]}{'...' if len(text) > 40 else ''}`"


def _known(model: type[BaseModel] | None) -> str:
    return f"keys: {', '.join(_keys(model))}" if model else ""


def _fix_unknown(key: str | int, model: type[BaseModel] | None) -> str:
    return did_you_mean(str(key).lower(), _keys(model) if model else ()) or _known(model)


def _keys(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _model_at(model: Any, location: Sequence[str | int]) -> type[BaseModel] | None:
    """Return the model of the mapping at a pydantic location, by following the annotations."""
    models = _models(model)
    for part in location:
        below = [_below(one, part) for one in models]
        models = [m for annotation in below for m in _models(annotation)] or models
    return models[0] if models else None


def _below(model: type[BaseModel], part: str | int) -> Any:
    fields = model.model_fields.items()
    return next((f.annotation for name, f in fields if (f.alias or name) == part), None)


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Return the models in an annotation: in a union, a tuple, a list or a dict."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, Annotated, tuple, list, dict):
        return [model for inner in get_args(annotation) for model in _models(inner)]
    return []


_MACHINE_ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ENOMEM)


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file so that no reader ever gets half of it.

    The data go to a new file in the same folder, which then replaces `path`. A device or a pipe is
    written in place. Only its owner can read a `private` file, at any time.

    Raises:
        MachineFault: The disk is full or broken.
        LabFault: The path cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        if private:
            partial.unlink(missing_ok=True)
            partial.touch(0o600, exist_ok=False)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        kind = MachineFault if error.errno in _MACHINE_ERRORS else LabFault
        what = f"cannot write the file: {error.strerror}"
        raise kind(
            what, where=str(path), fix="check that the folder exists and that you may write to it"
        ) from None


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; empty when it cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""

"""Labs on disk: `labs/<lab>/lab.yaml` read and checked, and turned into a frozen Lab.

Every mistake in a lab is a LabFault with file, line, key and how to mend it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.fault import LabFault
from grader.lab import (
    BASELINE,
    ArgumentSpec,
    Band,
    Case,
    CheckSpec,
    Derivation,
    Geometry,
    KernelSpec,
    Lab,
    Role,
)
from grader.labfile import model as labmodel
from grader.labfile.questions import questions, quiz_check
from grader.labfile.rules import Rules
from grader.labfile.thresholds import bands, read_thresholds
from grader.nearest import nearest
from grader.yamlfile import Document, read_document

LABS_VARIABLE = "WARPGRADE_LABS"


def lab_roots(course: Path | None = None) -> tuple[Path, ...]:
    """Where labs are looked for: DIR/labs of a course, else $WARPGRADE_LABS, else the labs/ beside
    the package in a checkout, else labs/ in the current folder."""
    if course is not None:
        return (course / "labs",)
    if os.environ.get(LABS_VARIABLE):
        return tuple(Path(part) for part in os.environ[LABS_VARIABLE].split(os.pathsep) if part)
    checkout = Path(__file__).resolve().parents[2] / "labs"
    return (checkout,) if checkout.is_dir() else (Path("labs"),)


def list_labs(roots: Sequence[Path] | None = None) -> tuple[str, ...]:
    """The names of all labs, in alphabetical order: the folders that have a lab.yaml."""
    found: set[str] = set()
    for root in roots or lab_roots():
        if root.is_dir():
            found.update(path.parent.name for path in root.glob("*/lab.yaml"))
    return tuple(sorted(found))


def load_lab(name: str, roots: Sequence[Path] | None = None) -> Lab:
    """The lab of that name. Raises LabFault: no such lab (the nearest is named), or its lab.yaml
    does not hold together."""
    names = list_labs(roots)
    for root in roots or lab_roots():
        if name in names and (root / name / "lab.yaml").is_file():
            return _build(root / name)
    inside = (known for known in names if name and name.lower() in known)
    near = nearest(name.lower(), names) or next(inside, "")
    places = ", ".join(str(root) for root in roots or lab_roots())
    known = f"labs: {', '.join(names)}" if names else f"no labs in {places}"
    guess = f"did you mean {near}? " if near else ""
    raise LabFault(f"there is no lab `{name}`", mend=f"{guess}{known}")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of lab.yaml, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **labmodel.LabModel.model_json_schema(by_alias=True),
    }


def _build(folder: Path) -> Lab:
    document = read_document(folder / "lab.yaml", labmodel.LabModel)
    model: labmodel.LabModel = document.model
    derivations = _derivations(model.derive) if model.derive else ()
    kernels = [_kernel(model.kernel)]
    if model.derive:
        kernels.append(_kernel(model.derive.kernel))
    baseline = model.baseline
    lab = Lab(
        name=folder.name,
        title=model.title,
        folder=folder,
        kernels=tuple(kernels),
        cases=tuple(_case(case) for case in model.cases),
        checks=(
            *(_check(name, check, document) for name, check in model.checks.items()),
            *quiz_check(model, document),
        ),
        arguments=_arguments(model),
        globals=tuple(ArgumentSpec(n, "in", v.dtype, v.shape) for n, v in model.globals.items()),
        geometry=_geometry(model.launch),
        baseline_geometry=_geometry(baseline.launch) if baseline else None,
        derivations=derivations,
        bands=_bands(model, folder),
        quiz=questions(model, document),
        where=document.file,
        lines=_lines(model, document),
    )
    Rules(model, lab, document).check()
    return lab


def _bands(model: labmodel.LabModel, folder: Path) -> Mapping[str, Band]:
    """What was measured of the launch that the lab's speed check times."""
    speed = model.checks.get("speed")
    asked = speed.options if speed else {}
    kind = asked.get("kind", "random")
    return bands(read_thresholds(folder), asked.get("dims"), kind, folder / BASELINE)


def _kernel(kernel: labmodel.Kernel) -> KernelSpec:
    return KernelSpec(kernel.name, tuple((p.type, p.name) for p in kernel.parameters))


def _geometry(launch: labmodel.Launch) -> Geometry:
    return Geometry(launch.grid, launch.block, launch.shared)


def _arguments(model: labmodel.LabModel) -> tuple[ArgumentSpec, ...]:
    """In the kernel's order; parameters without an argument are left to the rules."""
    order = [p.name for p in model.kernel.parameters if p.name in model.arguments]
    return tuple(_argument(name, model.arguments[name]) for name in order)


def _argument(name: str, argument: labmodel.Argument) -> ArgumentSpec:
    if argument.value is not None:
        return ArgumentSpec(name, "value", str(argument.dtype), value=argument.value)
    dtypes: dict[Role, str | None] = {
        "in": argument.in_,
        "inout": argument.inout,
        "out": argument.out,
    }
    role, dtype = next((r, d) for r, d in dtypes.items() if d is not None)
    return ArgumentSpec(name, role, dtype, argument.shape or ())


def _derivations(derive: labmodel.Derive) -> tuple[Derivation, ...]:
    kernel = _kernel(derive.kernel)
    return tuple(
        Derivation(name, kernel, a.given, derive.output, a.minimum, a.maximum, derive.rule)
        for name, a in derive.answers.items()
    )


def _case(case: labmodel.Case) -> Case:
    dims = {name: value for name, value in case.dims.items() if isinstance(value, int)}
    derived = {name: value for name, value in case.dims.items() if isinstance(value, str)}
    return Case(case.name, dims, case.kind, case.visibility, derived)


def _check(name: str, check: labmodel.Check, document: Document) -> CheckSpec:
    key = ("checks", name)
    lines = {option: document.line_of((*key, option)) for option in check.options}
    where = f"{document.file}:{document.line_of(key)}"
    return CheckSpec(name, check.points, check.options, where, lines)


def _lines(model: labmodel.LabModel, document: Document) -> dict[str, int]:
    """The lines of the keys whose expressions are worked out case by case."""
    keys = ["launch.grid", "launch.block", "launch.shared", "derive"]
    keys += [f"arguments.{name}.{part}" for name in model.arguments for part in ("shape", "value")]
    return {key: document.line_of(tuple(key.split("."))) for key in keys}


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))

"""Find a lab's checks by name, validate their options, evaluate them in dependency order."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from grader import checks as checks_folder
from grader import dataclass, labs, replace
from grader.checks.findings import fold_by_visibility, with_origins
from grader.checks.result import CheckOptions, Dependency, Evidence, Result, Verdict
from grader.compile.cache import cache_key, load, store, user_folder
from grader.faults import LabFault, did_you_mean
from grader.labs import model
from grader.labs.model import BASELINE_FILE, CheckSpec, Lab
from grader.labs.reading import list_labs, load_lab

NO_RIGHT_CASE = "not evaluated: no case{} produces the correct output yet"
CACHE_BYTES = 1 << 20

Evaluate = Callable[[CheckOptions, Evidence], Verdict]


@dataclass(frozen=True)
class Check:
    """One check of one lab, ready to evaluate.

    `title` is the line that the student reads, `where` the line of the lab file.
    """

    name: str
    points: float
    options: CheckOptions
    depends: Dependency | None
    evaluate: Evaluate
    title: str
    where: str = ""
    only_on: str = ""

    def can_evaluate_on(self, backend: str) -> bool:
        """Return whether `backend` can evaluate this check."""
        return self.only_on in ("", backend)

    @property
    def not_evaluated(self) -> Verdict:
        """The verdict on a backend that cannot evaluate this check."""
        device = {"gpu": "a GPU", "sim": "the simulator"}[self.only_on]
        return Verdict("unjudged", f"{self.name} needs {device}")


def check_names() -> tuple[str, ...]:
    """Return the names of all checks, which are modules of this package."""
    names = (module.name for module in pkgutil.iter_modules(checks_folder.__path__))
    return tuple(name for name in names if _module(name) is not None)


@dataclass(frozen=True)
class CheckInfo:
    """What a check is in every lab: the line that the student reads, and its dependency."""

    title: str
    depends: Dependency | None


def check_info(name: str) -> CheckInfo | None:
    """Return the check of that name; None when there is none (`compile` is not a check)."""
    module = _module(name)
    return _check_info(module) if module else None


def _check_info(module: ModuleType) -> CheckInfo:
    return CheckInfo((module.evaluate.__doc__ or "").strip().splitlines()[0], module.DEPENDS)


def make_check(spec: CheckSpec) -> Check:
    """Make the check that a lab asks for, with validated options.

    Raises:
        LabFault: the check or an option is unknown; the fix names the nearest one.
    """
    module = _module(spec.name)
    if module is None:
        raise LabFault(
            f"there is no check `{spec.name}`",
            where=_where(spec),
            fix=_fix(spec.name, check_names(), "check"),
        )
    known = _check_info(module)
    options = read_options(spec, module.Options)
    return Check(
        name=spec.name, points=spec.points, options=options, depends=known.depends,
        evaluate=module.evaluate, title=known.title, where=_where(spec),
        only_on=getattr(module, "ONLY_ON", ""),
    )  # fmt: skip


def _where(spec: CheckSpec, option: str = "") -> str:
    """Return the lab file's line of a check or of one of its options, and the key."""
    key = f"checks.{spec.name}.{option}" if option else f"checks.{spec.name}"
    line = spec.lines.get(option.partition(".")[0])
    place = f"{spec.where.rpartition(':')[0]}:{line}" if line else spec.where
    return f"{place}: {key}" if place else key


def _module(name: str) -> ModuleType | None:
    """Return the module of a check, None when there is no such check."""
    path = f"grader.checks.{name}"
    if not name.isidentifier() or find_spec(path) is None:
        return None
    module = import_module(path)
    return module if hasattr(module, "evaluate") else None


def read_options(spec: CheckSpec, kind: type[CheckOptions]) -> CheckOptions:
    """Validate the options of one check.

    Raises:
        LabFault: an option is unknown or invalid; the fix names the nearest valid key.
    """
    if not spec.options and not any(one.default is MISSING for one in fields(kind)):
        return kind()
    folder, key = user_folder("options"), cache_key(repr(spec.options), _definition(kind))
    values = load(folder, key)
    if values is None:
        values = _validated(spec, kind)
        store(folder, key, values, CACHE_BYTES)
    options = kind(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})
    if options.problem:
        raise LabFault(options.problem[0].lower() + options.problem[1:], where=_where(spec))
    return options


def _definition(kind: type[CheckOptions]) -> list[list[str]]:
    """Return all that the values of options depend on besides what the lab says."""
    return [[one.name, str(one.type), repr(dict(one.metadata))] for one in fields(kind)]


def _validated(spec: CheckSpec, kind: type[CheckOptions]) -> dict[str, Any]:
    """Return the options that a lab sets, each converted to its type.

    Raises:
        LabFault: an option is unknown or invalid.
    """
    import pydantic

    hints = get_type_hints(kind)
    known: dict[str, Any] = {
        one.name: (hints[one.name], _pydantic_field(one)) for one in fields(kind)
    }
    strict = pydantic.create_model("Options", **known, __config__={"extra": "forbid"})
    try:
        values: dict[str, Any] = strict.model_validate(dict(spec.options)).model_dump()
        return {name: value for name, value in values.items() if name in spec.options}
    except pydantic.ValidationError as invalid:
        error = invalid.errors()[0]
        option = ".".join(str(part) for part in error["loc"])
        where = _where(spec, option)
        if error["type"] == "extra_forbidden":
            fix = _fix(option, tuple(known), "option")
            raise LabFault(f"unknown option `{option}`", where=where, fix=fix) from None
        message = str(error["msg"])
        got = f" (got {error['input']!r})" if option and error["type"] != "missing" else ""
        raise LabFault(f"{message[0].lower()}{message[1:]}{got}", where=where) from None


def _pydantic_field(one: Field[Any]) -> Any:
    import pydantic

    is_required = one.default is MISSING and one.default_factory is MISSING
    return pydantic.Field(... if is_required else None, **one.metadata)


def _fix(name: str, names: Sequence[str], what: str) -> str:
    """Suggest a valid name in place of one that is not among `names`."""
    if not names:
        return f"it takes no {what}s"
    return did_you_mean(name, names) or f"the {what}s there are: {', '.join(sorted(names))}"


def plan(lab: Lab) -> tuple[Check, ...]:
    """Make the checks of a lab, in the lab's order.

    Raises:
        LabFault: a check or an option is unknown or invalid.
    """
    return tuple(make_check(spec) for spec in lab.checks)


_LAB_VALUES = {
    name: value
    for name, value in vars(model).items()
    if getattr(value, "__module__", "") == model.__name__
}
"""The classes of a lab's parts by their names."""


def checked_lab(
    name: str, roots: Sequence[Path], before_reading: Callable[[], object] = lambda: None
) -> Lab:
    """Read the lab with that name as `load_lab` does, but check it only after a change.

    The key of a lab that is kept covers its files' content and the code that reads labs. To read
    one that is not kept takes longer than all other imports: `before_reading` is called first.

    Raises:
        LabFault: As `load_lab`.
    """
    folder = next((root / name for root in roots if (root / name / "lab.yaml").is_file()), None)
    if folder is None or name not in list_labs(roots):
        return load_lab(name, roots)
    try:
        key = _lab_key(folder)
    except OSError:  # `load_lab` says what is wrong
        return load_lab(name, roots)
    place = user_folder("labs")
    with suppress(TypeError, ValueError, KeyError):  # an entry of another version
        lab = _unpacked(load(place, key))
        if isinstance(lab, Lab):
            return lab
    before_reading()
    lab = load_lab(name, roots)
    with suppress(TypeError, OSError):  # a value that JSON lacks; or the lab changed meanwhile
        packed = _packed(lab)
        if _lab_key(folder) == key:
            store(place, key, packed, CACHE_BYTES)
    return lab


def _lab_key(folder: Path) -> str:
    """Return the key of all that a lab depends on: its place, its files, and the code."""
    own = sorted(Path(labs.__file__).parent.glob("*.py"))
    read = [folder / name for name in ("lab.yaml", "thresholds.yaml", BASELINE_FILE)]
    digests = [sha256(p.read_bytes()).hexdigest() if p.is_file() else "" for p in (*own, *read)]
    return cache_key(str(folder), digests)


def _packed(value: Any) -> Any:
    """Return a value of a lab as JSON: one that is not plain is a list with its kind first.

    Raises:
        TypeError: it has a part of another kind.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(_packed, value)]
    if isinstance(value, Mapping):
        return ["dict", *([_packed(key), _packed(one)] for key, one in value.items())]
    if isinstance(value, Path):
        return ["Path", str(value)]
    if type(value) is not _LAB_VALUES.get(type(value).__name__):
        raise TypeError(type(value).__name__)
    return [type(value).__name__, *(_packed(getattr(value, one.name)) for one in fields(value))]


def _unpacked(value: Any) -> Any:
    """Return the value that `_packed` was given."""
    if not isinstance(value, list):
        return value
    kind, *parts = value
    if kind == "dict":
        return {_unpacked(key): _unpacked(one) for key, one in parts}
    made = map(_unpacked, parts)
    if kind in ("tuple", "list"):
        return tuple(made) if kind == "tuple" else [*made]
    return Path(*made) if kind == "Path" else _LAB_VALUES[kind](*made)


def evaluate_all(checks: Sequence[Check], evidence: Evidence) -> tuple[Result, ...]:
    """Evaluate every check, dependencies first.

    Returns:
        The results in the order of `checks`, with origins added to their errors.
    """
    by_name = {check.name: check for check in checks}
    verdicts: dict[str, Verdict] = {}

    def verdict_of(check: Check) -> Verdict:
        if check.name not in verdicts:
            first = by_name.get(check.depends.on) if check.depends else None
            known = {first.name: verdict_of(first)} if first else {}
            verdicts[check.name] = evaluate_one(check, replace(evidence, verdicts=known))
        return verdicts[check.name]

    results = _with_unclaimed(tuple(award(check, verdict_of(check)) for check in checks), evidence)
    return with_origins(results, evidence.program, evidence.localization.lines, evidence.extents)


def with_public_verdicts(
    results: tuple[Result, ...], checks: Sequence[Check], evidence: Evidence
) -> tuple[Result, ...]:
    """Add to each result what its check decides from the public cases alone.

    Args:
        results: the results of `evaluate_all`.
        checks: the checks, in the same order.
        evidence: what they were evaluated on.

    Returns:
        The results, unchanged where no case is hidden, or none is public.
    """
    public = evidence.public
    if not public.runs or len(public.all_runs) == len(evidence.all_runs):
        return results
    alone = evaluate_all(checks, public)
    return tuple(replace(r, public=verdict_of(own)) for r, own in zip(results, alone, strict=True))


def verdict_of(result: Result) -> Verdict:
    """Return the verdict of a result, without the result's points."""
    return Verdict(
        result.status,
        result.summary,
        result.points / result.max_points if result.max_points else 0.0,
        result.findings,
        result.measurements,
        result.cases,
        result.measured_on,
    )


def _with_unclaimed(results: tuple[Result, ...], evidence: Evidence) -> tuple[Result, ...]:
    """Report errors of kinds that no check of this lab looks for with the output check."""
    reported = {finding.kind for result in results for finding in result.findings}
    rest = fold_by_visibility(
        evidence.all_runs, lambda run: [f for f in run.errors if f.kind not in reported]
    )
    place = next((k for k, result in enumerate(results) if result.name == "output"), 0)
    if not rest or not results:
        return results
    whole = replace(results[place], findings=(*rest, *results[place].findings))
    return (*results[:place], whole, *results[place + 1 :])


def evaluate_one(check: Check, evidence: Evidence) -> Verdict:
    """Evaluate one check; `evidence.verdicts` holds the verdict of its dependency."""
    if not check.can_evaluate_on(evidence.backend):
        return check.not_evaluated
    reason = _unmet_dependency(check.depends, evidence)
    if reason and check.depends and not check.depends.runs_anyway:
        return Verdict("blocked", reason)
    try:
        verdict = check.evaluate(check.options, evidence)
    except LabFault as fault:
        raise LabFault(fault.what, where=fault.where or check.where, fix=fault.fix) from None
    if reason and verdict.status == "pass":
        return replace(verdict, status="blocked", share=0.0, summary=reason)
    return verdict


def _unmet_dependency(depends: Dependency | None, evidence: Evidence) -> str:
    """Return why the dependency does not hold, or "" when it does or the lab lacks that check."""
    first = evidence.verdicts.get(depends.on) if depends else None
    if depends is None or first is None or first.status in ("pass", "unjudged"):
        return ""
    if depends.need == "all":
        return f"not evaluated: `{depends.on}` must pass first"
    kernel = f" of `{evidence.lab.kernels[0].name}`" if evidence.lab.derivations else ""
    return "" if evidence.has_right_case else NO_RIGHT_CASE.format(kernel)


def award(check: Check, verdict: Verdict) -> Result:
    """Turn a verdict into a result: its share of the points, rounded to a hundredth of a point."""
    return Result(
        name=check.name,
        status=verdict.status,
        points=round(check.points * verdict.share, 2),
        max_points=check.points,
        summary=verdict.summary,
        findings=verdict.findings,
        measurements=verdict.measurements,
        cases=verdict.cases,
        measured_on=verdict.measured_on,
    )


def blocked_all(checks: Sequence[Check], summary: str, backend: str) -> tuple[Result, ...]:
    """Block every check that `backend` can evaluate: nothing compiled."""
    blocked = Verdict("blocked", summary)
    return tuple(
        award(c, blocked if c.can_evaluate_on(backend) else c.not_evaluated) for c in checks
    )


def error_all(checks: Sequence[Check], summary: str) -> tuple[Result, ...]:
    """Return status "error" for every check, after a system error."""
    reasons = [summary, *["not evaluated: see the system error above"] * (len(checks) - 1)]
    return tuple(
        award(check, Verdict("error", reason))
        for check, reason in zip(checks, reasons, strict=False)
    )

"""Finds a lab's checks by name, reads their options, runs them in the order they depend on."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from pydantic import ValidationError

from grader import checks as checks_folder
from grader.checks.findings import fold_apart, with_origins
from grader.checks.result import CheckOptions, Dependency, Evidence, Result, Verdict
from grader.faults import LabFault, did_you_mean
from grader.labs.model import CheckSpec, Lab

Evaluate = Callable[[CheckOptions, Evidence], Verdict]


@dataclass(frozen=True)
class Check:
    """One check of one lab, ready to judge. `title` is the line that the student reads, `where`
    the lab file's line.
    """

    name: str
    points: float
    options: CheckOptions
    depends: Dependency | None
    evaluate: Evaluate
    title: str
    where: str = ""
    only_on: str = ""

    def is_judged_on(self, backend: str) -> bool:
        """Whether that backend can judge it at all."""
        return self.only_on in ("", backend)

    @property
    def unjudged(self) -> Verdict:
        """The verdict of a backend that cannot judge it, whatever else is wrong."""
        device = {"gpu": "a GPU", "sim": "the simulator"}[self.only_on]
        return Verdict("unjudged", f"{self.name} is judged on {device} only")


def check_names() -> tuple[str, ...]:
    """Every check there is, by looking into the folder."""
    names = (module.name for module in pkgutil.iter_modules(checks_folder.__path__))
    return tuple(name for name in names if _module(name) is not None)


@dataclass(frozen=True)
class Known:
    """What is known of a check whatever the lab: the line that the student reads, and what must
    hold before it.
    """

    title: str
    depends: Dependency | None


def known_check(name: str) -> Known | None:
    """The check of that name; None when there is none, as for what the compiler says."""
    module = _module(name)
    return _known(module) if module else None


def _known(module: ModuleType) -> Known:
    return Known((module.evaluate.__doc__ or "").strip().splitlines()[0], module.DEPENDS)


def find_check(spec: CheckSpec) -> Check:
    """The check that a lab asks for, its options read.

    Raises LabFault for an unknown check or option, naming the nearest one that exists.
    """
    module = _module(spec.name)
    if module is None:
        raise LabFault(
            f"there is no check `{spec.name}`",
            where=_where(spec),
            fix=_fix(spec.name, check_names(), "check"),
        )
    known = _known(module)
    options = read_options(spec, module.Options)
    return Check(
        name=spec.name,
        points=spec.points,
        options=options,
        depends=known.depends,
        evaluate=module.evaluate,
        title=known.title,
        where=_where(spec),
        only_on=getattr(module, "ONLY_ON", ""),
    )


def _where(spec: CheckSpec, option: str = "") -> str:
    """The lab file's line of a check or of one of its options, and the key."""
    key = f"checks.{spec.name}.{option}" if option else f"checks.{spec.name}"
    line = spec.lines.get(option.partition(".")[0])
    place = f"{spec.where.rpartition(':')[0]}:{line}" if line else spec.where
    return f"{place}: {key}" if place else key


def _module(name: str) -> ModuleType | None:
    """The module of a check, None when there is no such check."""
    path = f"grader.checks.{name}"
    if not name.isidentifier() or find_spec(path) is None:
        return None
    module = import_module(path)
    return module if hasattr(module, "evaluate") else None


def read_options(spec: CheckSpec, model: type[CheckOptions]) -> CheckOptions:
    """The options of one check, validated. Raises LabFault that names the key and the nearest
    valid one.
    """
    try:
        return model.model_validate(dict(spec.options))
    except ValidationError as invalid:
        error = invalid.errors()[0]
        option = ".".join(str(part) for part in error["loc"])
        where = _where(spec, option)
        if error["type"] == "extra_forbidden":
            fix = _fix(option, tuple(model.model_fields), "option")
            raise LabFault(f"unknown option `{option}`", where=where, fix=fix) from None
        message = str(error["msg"]).removeprefix("Value error, ")
        got = f" (got {error['input']!r})" if option and error["type"] != "missing" else ""
        raise LabFault(f"{message[0].lower()}{message[1:]}{got}", where=where) from None


def _fix(name: str, names: Sequence[str], what: str) -> str:
    """How to mend a name that is not among `names`."""
    if not names:
        return f"it takes no {what}s"
    return did_you_mean(name, names) or f"the {what}s there are: {', '.join(sorted(names))}"


def plan(lab: Lab) -> tuple[Check, ...]:
    """The checks of a lab in its own order, options validated. Raises LabFault."""
    return tuple(find_check(spec) for spec in lab.checks)


def evaluate_all(checks: Sequence[Check], evidence: Evidence) -> tuple[Result, ...]:
    """Judge every check, those first that others depend on; results in the order of `checks`."""
    by_name = {check.name: check for check in checks}
    verdicts: dict[str, Verdict] = {}

    def settle(check: Check) -> Verdict:
        if check.name not in verdicts:
            first = by_name.get(check.depends.on) if check.depends else None
            settled = {first.name: settle(first)} if first else {}
            verdicts[check.name] = evaluate_one(check, replace(evidence, settled=settled))
        return verdicts[check.name]

    results = _with_unclaimed(tuple(award(check, settle(check)) for check in checks), evidence)
    return with_origins(results, evidence.program, evidence.localization.lines, evidence.extents)


def _with_unclaimed(results: tuple[Result, ...], evidence: Evidence) -> tuple[Result, ...]:
    """Errors of kinds that no check of this lab looks for are told all the same, beside the
    output that they spoil.
    """
    told = {finding.kind for result in results for finding in result.findings}
    rest = fold_apart(evidence.watched, lambda run: [f for f in run.errors if f.kind not in told])
    place = next((k for k, result in enumerate(results) if result.name == "output"), 0)
    if not rest or not results:
        return results
    whole = replace(results[place], findings=(*rest, *results[place].findings))
    return (*results[:place], whole, *results[place + 1 :])


def evaluate_one(check: Check, evidence: Evidence) -> Verdict:
    """One check's verdict, its dependency (in `evidence.settled`) taken into account."""
    if not check.is_judged_on(evidence.backend):
        return check.unjudged
    reason = _unmet(check.depends, evidence)
    if reason and check.depends and not check.depends.runs_anyway:
        return Verdict("blocked", reason)
    try:
        verdict = check.evaluate(check.options, evidence)
    except LabFault as fault:
        raise LabFault(fault.what, where=fault.where or check.where, fix=fault.fix) from None
    if reason and verdict.status == "pass":
        return replace(verdict, status="blocked", share=0.0, summary=reason)
    return verdict


def _unmet(depends: Dependency | None, evidence: Evidence) -> str:
    """Why the dependency does not hold, or "" when it does (or the lab does not judge it)."""
    first = evidence.settled.get(depends.on) if depends else None
    if depends is None or first is None or first.status in ("pass", "unjudged"):
        return ""
    if depends.need == "all":
        return f"waits for `{depends.on}` to pass"
    return "" if evidence.has_right_case else f"waits for `{depends.on}`: no case is right yet"


def award(check: Check, verdict: Verdict) -> Result:
    """The verdict with its points; a share is rounded to a hundredth of a point."""
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
    """Every check that `backend` can judge blocked for one reason: nothing compiled."""
    blocked = Verdict("blocked", summary)
    return tuple(award(c, blocked if c.is_judged_on(backend) else c.unjudged) for c in checks)


def error_all(checks: Sequence[Check], summary: str) -> tuple[Result, ...]:
    """Every check without a verdict because the machine failed."""
    reasons = [summary, *["this machine failed, as said above"] * (len(checks) - 1)]
    return tuple(
        award(check, Verdict("error", reason))
        for check, reason in zip(checks, reasons, strict=False)
    )

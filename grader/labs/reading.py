"""Read labs from disk: `labs/<lab>/lab.yaml` is checked and turned into a frozen Lab.

Every mistake in a lab is a LabFault with file, line, key and how to fix it. The checks here are
those that no single key of lab.yaml shows: names match, cases have launches, quizzes have answers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from grader.faults import LabFault, closest_match, did_you_mean, file_fault
from grader.labs.cases import DRAWN_CASE, array_shapes, launch_shape, with_visibility
from grader.labs.files import Document, read_document
from grader.labs.model import (
    BASELINE_FILE,
    BUNDLED_LABS,
    ArgumentSpec,
    Band,
    Case,
    CheckSpec,
    Choice,
    Derivation,
    Geometry,
    KernelSpec,
    Lab,
    Probe,
    Question,
    Role,
    Span,
)
from grader.labs.quiz import ANSWERS_FILE, choice_texts, correct_answer, question_text

if TYPE_CHECKING:
    from grader.labs import schema

LABS_VARIABLE = "WARPGRADE_LABS"

Key = tuple[str | int, ...]


def lab_roots(course: Path | None = None, *, here: bool = True) -> tuple[Path, ...]:
    """Return the folders that may contain labs.

    These are `labs/` of the course, else those of $WARPGRADE_LABS, else `labs/` next to the package
    in a checkout, then, unless `here` is false, `labs/` in the current folder, as in the unpacked
    zip of a lab: before the public parts of the labs that an installed package has.
    """
    if course is not None:
        return (course / "labs",)
    if os.environ.get(LABS_VARIABLE):
        return tuple(Path(part) for part in os.environ[LABS_VARIABLE].split(os.pathsep) if part)
    checkout, own = Path(__file__).resolve().parents[2] / "labs", Path("labs")
    if not checkout.is_dir():
        bundled = (BUNDLED_LABS,) if BUNDLED_LABS.is_dir() or not here else ()
        return (own, *bundled) if here else bundled
    is_new = here and own.is_dir() and not own.samefile(checkout)
    return (checkout, own) if is_new else (checkout,)


def list_labs(roots: Sequence[Path] | None = None) -> tuple[str, ...]:
    """Return the names of all labs in alphabetical order: the folders that have a lab.yaml."""
    roots = roots or lab_roots()
    return tuple(sorted({path.parent.name for root in roots for path in root.glob("*/lab.yaml")}))


def load_lab(name: str, roots: Sequence[Path] | None = None) -> Lab:
    """Read the lab with that name.

    Raises:
        LabFault: There is no such lab, or one of its files has a mistake.
    """
    names = list_labs(roots)
    for root in roots or lab_roots():
        if name in names and (root / name / "lab.yaml").is_file():
            return _build(root / name)
    containing = (known for known in names if name and name.lower() in known)
    match = closest_match(name.lower(), names) or next(containing, "")
    places = ", ".join(map(str, roots or lab_roots()))
    known = f"labs: {', '.join(names)}" if names else f"no labs in {places}"
    guess = f"did you mean {match}? " if match else ""
    raise LabFault(f"there is no lab `{name}`", fix=f"{guess}{known}")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of lab.yaml, for editors."""
    from grader.labs import schema

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema.LabModel.model_json_schema(by_alias=True),
    }


def lab_digest(lab: Lab) -> str:
    """Return the SHA-256, in hexadecimal, of the files that grades depend on.

    It covers the names and contents of all files in the lab's folder except a student's own, which
    may be there too: other kernels at its top and answers to the quiz.

    Raises:
        LabFault: A file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(_graded_files(lab)):
            content = path.read_bytes()
            name = path.relative_to(lab.folder).as_posix().encode()
            digest.update(b"%d %b %d " % (len(name), name, len(content)) + content)
    except OSError as error:
        what = f"cannot read the lab's files: {error.strerror}"
        raise file_fault(error, what, where=str(lab.folder)) from None
    return digest.hexdigest()


class _Validator:
    """Checks that the parts of one lab match; raises LabFault for the first mistake."""

    def __init__(self, model: schema.LabModel, lab: Lab, document: Document) -> None:
        self.model = model
        self.lab = lab
        self.document = document

    def check(self) -> None:
        """Raise LabFault with the line of the first mistake."""
        self._arguments_match()
        self._types_match()
        if self.model.derive:
            self._derive_matches(self.model.derive)
        self._cases_differ()
        self._quiz_is_answerable()
        for index, case in enumerate(self.lab.cases):
            self._case_launches(("cases", index), case)
        self._drawn_sizes_launch()

    def fault(self, key: Key, what: str, fix: str = "") -> NoReturn:
        """Raise a LabFault about the key at that path."""
        raise LabFault(what, where=self.document.where(key), fix=fix)

    def _arguments_match(self) -> None:
        parameters = [name for _, name in self.lab.kernels[0].parameters]
        for name in self.model.arguments:
            if name not in parameters:
                fix = did_you_mean(name, parameters) or f"it has {', '.join(parameters)}"
                self.fault(("arguments", name), f"the kernel has no parameter `{name}`", fix)
        for name in parameters:
            if name not in self.model.arguments:
                self.fault(("arguments",), f"parameter `{name}` of the kernel has no argument")
        for name in self.model.globals:
            if name in parameters:
                self.fault(("globals", name), f"the kernel has a parameter `{name}` as well")
        if not any(a.role in ("out", "inout") for a in self.lab.arguments):
            self.fault(("arguments",), "no argument is `out` or `inout`: nothing can be graded")

    def _types_match(self) -> None:
        types = {name: text for text, name in self.lab.kernels[0].parameters}
        for argument in self.lab.arguments:
            pointer = types[argument.name].rstrip().endswith("*")
            if pointer == (argument.role == "value"):
                kind = (
                    "a pointer: give it an array" if pointer else "not a pointer: give it a value"
                )
                what = f"`{types[argument.name]} {argument.name}` is {kind}"
                self.fault(("arguments", argument.name), what)

    def _derive_matches(self, derive: schema.Derive) -> None:
        names = [p.name for p in derive.kernel.parameters]
        if derive.output not in names:
            self.fault(("derive", "output"), f"{derive.kernel.name} has no `{derive.output}`")
        parameters = [name for name in names if name != derive.output]
        for name, answer in derive.answers.items():
            key: Key = ("derive", "answers", name)
            if sorted(answer.given) != sorted(parameters):
                self.fault((*key, "given"), f"must give {', '.join(parameters)}")
            if answer.minimum > answer.maximum:
                self.fault(key, "its minimum is larger than its maximum")

    def _cases_differ(self) -> None:
        names = [case.name for case in self.lab.cases]
        for index, name in enumerate(names):
            if name in names[:index]:
                self.fault(("cases", index, "name"), f"two cases have the name `{name}`")

    def _quiz_is_answerable(self) -> None:
        """Check that questions refer to public cases, and those without probes have an answer."""
        if "quiz" in self.model.checks and not self.lab.quiz:
            self.fault(("checks", "quiz"), "there is no quiz", "write its questions below `quiz:`")
        public = {case.name for case in self.lab.cases if case.visibility == "public"}
        for question in self.lab.quiz:
            key: Key = ("quiz", question.name)
            for case in {question.case, *(probe.case for probe in question.probes.values())}:
                if (case or question.probes) and case not in public:
                    known = f"public cases: {', '.join(sorted(public))}"
                    fix = did_you_mean(case, public) or known
                    self.fault(key, f"`{case}` is not a public case", fix)
            question_text(question, self.lab)
            choice_texts(question, self.lab)
            if question.has_key and not question.probes:
                correct_answer(question, self.lab.case(question.case))

    def _drawn_sizes_launch(self) -> None:
        """Evaluate the geometry and shapes of the smallest and the largest drawn size."""
        if not self.lab.drawn:
            return
        dims = {dim for case in self.lab.cases for dim in (*case.dims, *case.derived)}
        if dims != set(self.lab.drawn):
            self.fault(
                ("drawn",), "must have the dims of the cases", f"dims: {', '.join(sorted(dims))}"
            )
        if any(case.name == DRAWN_CASE for case in self.lab.cases):
            self.fault(("cases",), f"`{DRAWN_CASE}` is the name of the drawn case")
        for end in ("least", "most"):
            sizes = {name: getattr(span, end) for name, span in self.lab.drawn.items()}
            self._case_launches(("drawn",), Case(DRAWN_CASE, sizes))

    def _case_launches(self, key: Key, case: Case) -> None:
        """Evaluate the case's geometry and shapes with the largest answers allowed."""
        largest = {d.name: d.maximum for d in self.lab.derivations}
        for dim, name in case.derived.items():
            if name not in largest:
                known = f"answers: {', '.join(largest)}" if largest else "the lab has no `derive`"
                self.fault((*key, "dims", dim), f"`{name}` is not a derived answer", known)
        resolved = case.resolved(largest)
        launch_shape(self.lab, resolved, self.lab.geometry)
        if self.lab.baseline_geometry is not None:
            launch_shape(self.lab, resolved, self.lab.baseline_geometry)
        array_shapes(self.lab, resolved)


def _build(folder: Path) -> Lab:
    from grader.labs import schema

    document = read_document(folder / "lab.yaml", schema.LabModel)
    model: schema.LabModel = document.model
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
            *_quiz_check(model, document),
        ),
        arguments=_arguments(model),
        globals=tuple(ArgumentSpec(n, "in", v.dtype, v.shape) for n, v in model.globals.items()),
        geometry=_geometry(model.launch),
        baseline_geometry=_geometry(baseline.launch) if baseline else None,
        drawn={name: Span(*span) for name, span in model.drawn.items()},
        derivations=with_visibility(derivations, model.cases),
        bands=_bands(model, folder),
        quiz=_questions(model, document),
        hints=model.hints,
        ptx=model.ptx,
        where=document.file,
        lines=_lines(model, document),
    )
    _Validator(model, lab, document).check()
    return lab


def _bands(model: schema.LabModel, folder: Path) -> Mapping[str, Band]:
    """Return the thresholds that apply to the launch which the lab's speed check times."""
    from grader.labs.thresholds import applicable_bands, read_thresholds

    speed = model.checks.get("speed")
    options = speed.options if speed else {}
    kind = options.get("kind", "random")
    return applicable_bands(
        read_thresholds(folder), options.get("dims"), kind, folder / BASELINE_FILE
    )


def _kernel(kernel: schema.Kernel) -> KernelSpec:
    return KernelSpec(kernel.name, tuple((p.type, p.name) for p in kernel.parameters))


def _geometry(launch: schema.Launch) -> Geometry:
    together, large = launch.cooperative, launch.large_shared
    return Geometry(launch.grid, launch.block, launch.shared, together, large)


def _arguments(model: schema.LabModel) -> tuple[ArgumentSpec, ...]:
    """Return the arguments in the kernel's order; the validator reports missing ones."""
    order = [p.name for p in model.kernel.parameters if p.name in model.arguments]
    return tuple(_argument(name, model.arguments[name]) for name in order)


def _argument(name: str, argument: schema.Argument) -> ArgumentSpec:
    if argument.value is not None:
        return ArgumentSpec(name, "value", str(argument.dtype), value=argument.value)
    dtypes: dict[Role, str | None] = {
        "in": argument.in_,
        "inout": argument.inout,
        "out": argument.out,
    }
    role, dtype = next((r, d) for r, d in dtypes.items() if d is not None)
    return ArgumentSpec(name, role, dtype, argument.shape or ())


def _derivations(derive: schema.Derive) -> tuple[Derivation, ...]:
    kernel = _kernel(derive.kernel)
    return tuple(
        Derivation(name, kernel, a.given, derive.output, a.minimum, a.maximum, derive.rule)
        for name, a in derive.answers.items()
    )


def _case(case: schema.Case) -> Case:
    dims = {name: value for name, value in case.dims.items() if isinstance(value, int)}
    derived = {name: value for name, value in case.dims.items() if isinstance(value, str)}
    return Case(case.name, dims, case.kind, case.visibility, derived)


def _check(name: str, check: schema.Check, document: Document) -> CheckSpec:
    key = ("checks", name)
    lines = {option: document.line_of((*key, option)) for option in check.options}
    where = f"{document.file}:{document.line_of(key)}"
    return CheckSpec(name, check.points, check.options, where, lines)


def _lines(model: schema.LabModel, document: Document) -> dict[str, int]:
    """Return the lines of the keys whose expressions are evaluated for each case."""
    keys = ["launch.grid", "launch.block", "launch.shared", "derive"]
    keys += [f"arguments.{name}.{part}" for name in model.arguments for part in ("shape", "value")]
    return {key: document.line_of(tuple(key.split("."))) for key in keys}


def _questions(model: schema.LabModel, document: Document) -> tuple[Question, ...]:
    """Return the questions in their order, each with its line."""
    return tuple(
        _question(name, spec, f"{document.file}:{document.line_of(('quiz', name))}")
        for name, spec in model.quiz.items()
    )


def _quiz_check(model: schema.LabModel, document: Document) -> tuple[CheckSpec, ...]:
    """Return the check of a quiz without points; none when lab.yaml lists a quiz check."""
    if not model.quiz or "quiz" in model.checks:
        return ()
    return (CheckSpec("quiz", 0.0, {}, f"{document.file}:{document.line_of(('quiz',))}"),)


def _question(name: str, spec: schema.Question, where: str) -> Question:
    from grader.labs import schema

    case = spec.case or ""
    return Question(
        name=name,
        kind=spec.kind,
        text=spec.text,
        given={
            key: _probe(value, case) if isinstance(value, schema.Run) else value
            for key, value in spec.given.items()
        },
        answer=spec.answer,
        choices=tuple(Choice(choice.text, choice.when or "") for choice in spec.choices),
        case=case,
        unit=spec.unit,
        tolerance=spec.tolerance,
        hint=spec.hint,
        where=where,
    )


def _probe(run: schema.Run, case: str) -> Probe:
    launch = run.launch
    geometry = _geometry(launch) if launch else None
    case = run.case or case
    if run.element is not None:
        name, *index = run.element
        return Probe(run.file, case, "element", str(name), tuple(map(int, index)), geometry)
    if run.counter is not None:
        return Probe(run.file, case, "counter", run.counter, geometry=geometry)
    if run.finding is not None:
        return Probe(run.file, case, "finding", run.finding, geometry=geometry)
    return Probe(run.file, case, "resource", str(run.resource), geometry=geometry)


def _graded_files(lab: Lab) -> Iterator[Path]:
    for path in lab.folder.rglob("*"):
        parts = path.relative_to(lab.folder).parts
        of_student = len(parts) == 1 and path.suffix == ".cu" and path != lab.baseline
        hidden = any(part.startswith((".", "__pycache__")) for part in parts)
        if path.is_file() and not of_student and not hidden and path.name != ANSWERS_FILE:
            yield path


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))

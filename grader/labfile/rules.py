"""What no single key of a lab.yaml shows: that names meet, and that every case has a launch."""

from __future__ import annotations

from typing import NoReturn

from grader.fault import LabFault
from grader.lab import Case, Lab
from grader.labfile import model as labmodel
from grader.nearest import did_you_mean
from grader.prepare import array_shapes, launch_shape
from grader.quiz.marking import asked, choices, right_answer
from grader.yamlfile import Document

Key = tuple[str | int, ...]


class Rules:
    """Checks one lab; `check` raises LabFault with the line of the first rule that is broken."""

    def __init__(self, model: labmodel.LabModel, lab: Lab, document: Document) -> None:
        self.model = model
        self.lab = lab
        self.document = document

    def check(self) -> None:
        self._arguments_match()
        self._types_match()
        if self.model.derive:
            self._derive_matches(self.model.derive)
        self._cases_differ()
        self._quiz_adds_up()
        for index, case in enumerate(self.lab.cases):
            self._case_launches(("cases", index), case)

    def fault(self, key: Key, what: str, mend: str = "") -> NoReturn:
        raise LabFault(what, where=self.document.where(key), mend=mend)

    def _arguments_match(self) -> None:
        parameters = [name for _, name in self.lab.kernels[0].parameters]
        for name in self.model.arguments:
            if name not in parameters:
                mend = did_you_mean(name, parameters) or f"it has {', '.join(parameters)}"
                self.fault(("arguments", name), f"the kernel has no parameter `{name}`", mend)
        for name in parameters:
            if name not in self.model.arguments:
                self.fault(("arguments",), f"parameter `{name}` of the kernel is given nothing")
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
                kind = "a pointer: give it an array" if pointer else "no pointer: give it a value"
                what = f"`{types[argument.name]} {argument.name}` is {kind}"
                self.fault(("arguments", argument.name), what)

    def _derive_matches(self, derive: labmodel.Derive) -> None:
        names = [p.name for p in derive.kernel.parameters]
        if derive.output not in names:
            self.fault(("derive", "output"), f"{derive.kernel.name} has no `{derive.output}`")
        due = [name for name in names if name != derive.output]
        for name, answer in derive.answers.items():
            key: Key = ("derive", "answers", name)
            if sorted(answer.given) != sorted(due):
                self.fault((*key, "given"), f"must give {', '.join(due)}")
            if answer.minimum > answer.maximum:
                self.fault(key, "its minimum is larger than its maximum")

    def _cases_differ(self) -> None:
        names = [case.name for case in self.lab.cases]
        for index, name in enumerate(names):
            if name in names[:index]:
                self.fault(("cases", index, "name"), f"two cases are called `{name}`")

    def _quiz_adds_up(self) -> None:
        """Every question refers to public cases, and works out as far as nothing is simulated."""
        if "quiz" in self.model.checks and not self.lab.quiz:
            self.fault(("checks", "quiz"), "there is no quiz", "write its questions below `quiz:`")
        public = {case.name for case in self.lab.cases if case.visibility == "public"}
        for question in self.lab.quiz:
            key: Key = ("quiz", question.name)
            for case in {question.case, *(probe.case for probe in question.probes.values())}:
                if (case or question.probes) and case not in public:
                    known = f"public cases: {', '.join(sorted(public))}"
                    mend = did_you_mean(case, public) or known
                    self.fault(key, f"`{case}` is no public case", mend)
            asked(question, self.lab)
            choices(question, self.lab)
            if question.has_key and not question.probes:
                right_answer(question, self.lab.case(question.case))

    def _case_launches(self, key: Key, case: Case) -> None:
        """Work out the case's geometry and shapes once, with the widest answers allowed."""
        widest = {d.name: d.maximum for d in self.lab.derivations}
        for dim, name in case.derived.items():
            if name not in widest:
                known = f"answers: {', '.join(widest)}" if widest else "the lab derives nothing"
                self.fault((*key, "dims", dim), f"`{name}` is no derived answer", known)
        resolved = case.resolved(widest)
        launch_shape(self.lab, resolved, self.lab.geometry)
        if self.lab.baseline_geometry is not None:
            launch_shape(self.lab, resolved, self.lab.baseline_geometry)
        array_shapes(self.lab, resolved)

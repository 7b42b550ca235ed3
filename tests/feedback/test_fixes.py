"""Fixes are reported when they were confirmed; `python -m tests.feedback` examines all mistakes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from grader.authoring.mutation.study import submission_of
from grader.batch.replay import ReplayInputs, replay
from grader.checks.suite import plan
from grader.compile.nvrtc import installation
from grader.compile.source import compile_source, nvrtc_options
from grader.faults import MachineFault
from grader.feedback.grade import grade
from grader.feedback.trials import BATCH
from grader.grading.cases import RunOptions, run_cases
from grader.grading.pipeline import exceeds_limits
from grader.labs.cases import prepare_case
from grader.labs.reading import load_lab
from grader.launch import pack_launches
from grader.reports.text import grade_report
from grader.sandbox.call import SandboxFailure, run_sandboxed
from tests.feedback.mistakes import Mistake, examine, read_mistakes, read_mutants, solution_of

COUNT = 6
"""The mistakes that are examined here; the command examines all."""

KNOWN = {f"{m.lab}/{m.name}": m for m in read_mistakes()}
ALWAYS = ("boundary-matmul/early-return-before-a-barrier",)
SAMPLE = (*ALWAYS, *Random(15).sample(sorted({*KNOWN} - {*ALWAYS}), COUNT))


def test_there_are_mistakes_of_every_lab_and_kind() -> None:
    assert len(KNOWN) >= 120 and len({m.lab for m in KNOWN.values()}) == 10
    assert len({kind for m in KNOWN.values() for kind in m.causes}) >= 20


@pytest.mark.parametrize("name", SAMPLE)
def test_the_first_cause_is_right_and_its_fix_holds_in_all_cases(name: str) -> None:
    outcome = examine(KNOWN[name], threads=2)
    assert outcome.shown <= 3 and outcome.fix_holds
    assert outcome.first is not None
    if name in ALWAYS:
        assert outcome.is_right and outcome.fix is not None and outcome.fix.diff


MUTANTS = {f"{m.lab}/{m.name}": m for m in read_mutants(("vector-add", "coalescing"))}
DRAWN = tuple(Random(15).sample(sorted(MUTANTS), 2))


@pytest.mark.parametrize("name", DRAWN)
def test_the_fix_of_a_mutant_holds_in_all_cases(name: str) -> None:
    """The command with `--mutants` examines those of all labs."""
    outcome = examine(MUTANTS[name], threads=2)
    assert outcome.shown <= 3 and outcome.fix_holds
    assert outcome.first is None or outcome.fix is None or outcome.is_right


def test_an_error_in_hidden_cases_alone_is_not_explained() -> None:
    """What a student reads depends on no hidden case, so nothing is tried for one."""
    lab = load_lab("vector-add")
    source = solution_of(lab).replace("if (i < n)", "if (i < n && n != 5003)")
    made = grade(lab, submission_of(lab, source), visibility="all", threads=2, fixes=True)
    assert made.exit_code == 1
    assert replace(made.explanation, hints="place") == type(made.explanation)()


def test_every_machine_finds_the_same_fix() -> None:
    """The trials are split over two processes, whatever the number of threads."""
    mistake: Mistake = KNOWN["vector-add/guard-one-too-far"]
    one, two = (examine(mistake, threads=threads, verify=False) for threads in (1, 2))
    assert one.graded.explanation == two.graded.explanation
    assert one.graded.explanation.fixes


def test_one_fault_of_the_machine_changes_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The children that search the line at fault, and that try edits, each fail once."""
    lab = load_lab("vector-add")
    source = solution_of(lab).replace("blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x")
    failed: set[str] = set()

    def explained() -> tuple[object, ...]:
        made = grade(lab, submission_of(lab, source), threads=2, fixes=True)
        return made.explanation, [check.findings for check in made.checks]

    def fail_once(step: str, request: dict[str, object], *rest: object, **words: object) -> object:
        job = f"{step} {request.get('sources')}"
        if job not in failed:
            failed.add(job)
            raise SandboxFailure("crash", "the system killed it")
        return run_sandboxed(step, request, *rest, **words)  # type: ignore[arg-type]

    undisturbed = explained()
    monkeypatch.setattr("grader.feedback.fixes.run_sandboxed", fail_once)
    assert explained() == undisturbed
    steps = {job.split()[0] for job in failed}
    assert steps == {"grader.feedback.ptx_search:run", "grader.feedback.trials:run"}


def test_a_machine_that_cannot_search_costs_no_point_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The grade stands, no untried fix is shown, and a replay reports no difference."""
    lab = load_lab("vector-add")
    source = solution_of(lab).replace("blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x")
    submission = submission_of(lab, source)
    whole = grade(lab, submission, threads=2, fixes=True)

    def fail(*_: object, **__: object) -> object:
        raise MachineFault("the sandbox did not start: no space left")

    given, how = ReplayInputs(submission.data), RunOptions(threads=2)
    with monkeypatch.context() as patched:
        patched.setattr("grader.feedback.fixes.run_sandboxed", fail)
        short = grade(lab, submission, threads=2, fixes=True)
        with pytest.raises(MachineFault, match="could not be reproduced.*no space left"):
            replay(lab, whole, given, how)
    assert (short.score, short.exit_code) == (whole.score, whole.exit_code)
    assert not short.explanation.fixes and "no space left" in short.explanation.failure
    assert not any("Tried" in f.hint for check in short.checks for f in check.findings)
    for report in (grade_report(short).plain, grade_report(short, every=True).plain):
        assert "cut short by a fault of this machine" in " ".join(report.split())
    again = replay(lab, short, given, how)
    assert again.is_same and "no space left" in " ".join(again.notes)


def test_an_edit_that_cannot_be_simulated_costs_no_grade() -> None:
    """Some edits of the array's size make it larger than what is simulated."""
    lab = load_lab("vector-add")
    source = solution_of(lab).replace(
        "if (i < n)", "stored[i % 1024] = a[i];\n    if (i < n)"
    ).replace('extern "C"', "__device__ float stored[1<<22];\nextern \"C\"")  # fmt: skip
    assert "stored[i" in source and "1<<22" in source
    made = grade(lab, submission_of(lab, source), threads=2, fixes=True)
    assert made.exit_code == 1 and made.score.status != "incomplete"


HUGE = "__device__ float stored[1 << 29];\n"
"""A variable that is too large to be simulated, which only its PTX shows."""


@pytest.mark.parametrize("other", ["", HUGE], ids=["as one text", "in parts"])
def test_edits_that_are_compiled_as_one_text_are_told_apart(other: str) -> None:
    """Up to the first batch with one that is right, whatever does not compile beside it."""
    lab = load_lab("vector-add")
    source = solution_of(lab)
    broken, wrong = source.replace("i < n", "i < m"), source.replace("i < n", "i < n / 2")
    sources = [broken, wrong] * (BATCH + 1) + [source] + [wrong] * BATCH
    sources[3] = other + sources[3]
    case = prepare_case(lab, lab.cases[0], b"", {})
    rows, arrays = pack_launches([case.launch])
    for index, expected in case.expected.items():
        arrays |= {f"0.value.{index}": expected.value, f"0.bound.{index}": expected.bound}
    request = {
        **nvrtc_options(installation()), "launches": rows, "right": [[*case.expected]],
        "sources": sources, "steps": 100_000, "definedness": True,
        "names": {k.name: k.name for k in lab.kernels},
    }  # fmt: skip
    tried = run_sandboxed("grader.feedback.trials:run", request, arrays).value
    assert tried == [text == source for text in sources[: 3 * BATCH]]


def test_a_limit_that_the_compiler_decides_is_known_before_a_run() -> None:
    lab = load_lab("occupancy")
    case = min(
        (c for c in lab.cases if c.visibility == "public"), key=lambda c: max(c.dims.values())
    )
    program = compile_source(solution_of(lab).encode(), "o.cu", wanted=lab.kernels)
    checks = plan(lab)
    (run,) = run_cases(lab, program, [case], RunOptions(threads=2))[-1:]
    assert run.prepared is not None and not exceeds_limits(checks, program, run)
    for name, more in (("registers", 255), ("local_bytes", 64)):
        kernels = tuple(
            replace(k, resources=replace(k.resources, **{name: more})) for k in program.kernels
        )
        assert exceeds_limits(checks, replace(program, kernels=kernels), run)
    assert not exceeds_limits(checks, program, None)

"""The gate makes cheats: they compile, run, and earn no more than the baseline."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.authoring.cheats import Cheat, Cheats
from grader.authoring.gate import CheatStudy, cheat_requirements
from grader.authoring.requirements import RequirementNotMet, evaluate_requirement, lab_folder
from grader.compile.source import compile_source
from grader.grading.cases import RunOptions, select_cases
from grader.labs.cases import drawn_cases
from grader.labs.model import Lab
from grader.labs.reading import list_labs, load_lab

OPTIONS = RunOptions(threads=1)


def cheats_of(lab: Lab) -> tuple[Cheats, list[Cheat]]:
    answers = {derivation.name: derivation.maximum for derivation in lab.derivations}
    cases = [case.resolved(answers) for case in select_cases(lab, "all")]
    public = [case for case in cases if case.visibility == "public"]
    made = Cheats(lab, lab.baseline.read_text(), lab.solution.read_text(), cases)
    return made, list(made.make(public))


@pytest.mark.parametrize("name", list_labs())
def test_every_kind_of_cheat_is_made_for_every_lab(name: str) -> None:
    lab = load_lab(name)
    made, cheats = cheats_of(lab)
    names = [cheat.name for cheat in cheats]
    assert len(set(names)) == len(names)
    due = {"dummy shared store", "tile and barrier without use", "atomic loads",
           "many further loads", "baseline by one thread", "baseline by one warp",
           "baseline by one block", "solution by one block"}  # fmt: skip
    public = [case.name for case in lab.cases if case.visibility == "public"]
    if lab.globals:  # the mask is in one memory: the baseline there would be the solution
        due |= {"dummy constant read"}
    else:
        due |= {f"solution at {case} only" for case in public} | {
            "solution at the public sizes only"
        }
    assert due <= set(names)
    assert {"trap", "early return"} <= {name.split(" at ")[0] for name in names}
    for cheat in (made.honest_baseline(), *(c for c in cheats if c.name in sorted(due)[:3])):
        compile_source(cheat.source.encode(), f"{name}.cu")


def copied(tmp_path: Path, name: str, change: Callable[[str], str]) -> Lab:
    """A course with one lab, whose lab.yaml is changed."""
    origin = load_lab(name)
    folder = shutil.copytree(origin.folder, tmp_path / "labs" / name)
    shutil.copytree(origin.solution.parent, tmp_path / "solutions" / name)
    text = (folder / "lab.yaml").read_text()
    assert change(text) != text
    (folder / "lab.yaml").write_text(change(text))
    return load_lab(name, (tmp_path / "labs",))


def results(lab: Lab, *names: str) -> dict[str, tuple[bool, str]]:
    wanted = [f"cheat: {name}" for name in names]
    found = {
        each.what: evaluate_requirement(lab.name, each)
        for each in cheat_requirements(lab_folder(lab), OPTIONS)
        if each.what in wanted
    }
    assert list(found) == [what for what in found if what in wanted] and len(found) == len(wanted)
    return {what.removeprefix("cheat: "): (r.holds, r.observed) for what, r in found.items()}


HELD = [
    ("tiled-matmul", "70 of 85", "dummy shared store", "tile and barrier without use",
     "solution at the public sizes only", "trap at six-tiles", "baseline by one thread",
     "solution by one block, others spin"),
    ("coalescing", "60 of 85", "atomic loads"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "points", "cheats"), [(row[0], row[1], row[2:]) for row in HELD])
def test_the_cheats_of_a_lab_earn_no_more_than_its_baseline(
    name: str, points: str, cheats: tuple[str, ...]
) -> None:
    for cheat, (holds, observed) in results(load_lab(name), *cheats).items():
        assert holds, (cheat, observed)
        assert observed.endswith(f"of 85, the baseline {points}")


LAX = [
    ("coalescing", "max_thread_work: 3", "max_thread_work: null", "solution by one warp"),
    ("histogram", "max_thread_work: 3", "max_thread_work: null", "solution by one block"),
    ("blur-median", "18 / (9 * 16 * 16)", "18 / (2 * 16 * 16)", "baseline in every second block"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "cheat"), LAX, ids=[row[0] for row in LAX])
def test_a_lab_that_a_cheat_passes_does_not_hold(
    tmp_path: Path, name: str, old: str, new: str, cheat: str
) -> None:
    lab = copied(tmp_path, name, lambda text: text.replace(old, new))
    ((holds, observed),) = results(lab, cheat).values()
    assert not holds
    assert "earns more than the baseline" in observed


def test_a_cheat_that_shrinks_the_points_is_reported() -> None:
    lab = load_lab("vector-add")
    made, _ = cheats_of(lab)
    study = CheatStudy(lab, made, list(lab.cases), OPTIONS)
    honest = study.grade(lab, made.honest_baseline().source)
    score = replace(honest.score, judged_max=honest.score.judged_max + 1)
    study.honest[tuple(case.name for case in lab.cases)] = replace(honest, score=score)
    with pytest.raises(RequirementNotMet, match="out of other points"):
        study.earns_nothing(made.honest_baseline())


def test_a_source_without_a_kernel_that_can_be_edited_is_told() -> None:
    lab = load_lab("vector-add")
    cheats = Cheats(lab, "__global__ void (*broken { };", lab.solution.read_text(), lab.cases)
    study = CheatStudy(lab, cheats, list(lab.cases), OPTIONS)
    assert study.earns_nothing(cheats.honest_baseline()).startswith("not made: it does not compile")


@pytest.mark.parametrize("name", list_labs())
def test_the_drawn_size_follows_the_secret(name: str) -> None:
    lab = load_lab(name)
    draws = [drawn_cases(lab, f"secret {k}".encode()) for k in range(20)]
    sizes = {tuple(case.dims.items()) for (case,) in draws}
    assert drawn_cases(lab, b"secret 3") == draws[3]
    assert len(sizes) > 3 or name in ("tiled-matmul", "sgemm-ladder")
    known = [dict(case.dims) for case in lab.cases]
    for (case,) in draws:
        assert case.visibility == "hidden" and dict(case.dims) not in known
        for dim, span in lab.drawn.items():
            assert case.dims[dim] in range(span.least, span.most + 1, span.step)

"""The template repository for GitHub: its workflow, and its action run as GitHub's runner would."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from grader.authoring.content import MATCHER, TASKS
from grader.export import markdown
from grader.export.container.github import ACTION, WORKFLOW, template_files
from grader.labs.reading import load_lab
from tests.command import ROOT, grader
from tests.export.actions_runner import Runner
from tests.export.rows import FAILED, OPTIONS, a_row, hostile_rows, huge

LAB = "vector-add"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "repository"
    for name, data in template_files(load_lab(LAB), b"<html></html>").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with `grader`, as on a runner of one's own that has it installed."""
    folder = tmp_path_factory.mktemp("image") / "bin"
    folder.mkdir()
    (folder / "grader").write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m grader "$@"\n'
    )
    (folder / "grader").chmod(0o755)
    return folder


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "student"))


@pytest.fixture
def runner(repository: Path, image: Path, tmp_path: Path) -> Runner:
    path = f"{image}:{os.environ['PATH']}"
    cache = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
    return Runner(
        repository / ACTION, repository, tmp_path / "temp", PATH=path, PYTHONPATH=str(ROOT), **cache
    )


def test_the_workflow_calls_the_action_with_inputs_that_it_has(template: Path) -> None:
    workflow = yaml.safe_load((template / WORKFLOW).read_text())
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["grade"]
    assert job["runs-on"] == "${{ vars.GRADER_RUNNER || 'ubuntu-latest' }}"
    uses = [step["uses"] for step in job["steps"]]
    assert uses[0].startswith("actions/checkout@") and uses[-1] == "./.github/actions/grade"
    inputs = yaml.safe_load((template / ACTION).read_text())["inputs"]
    given = job["steps"][-1]["with"]
    assert given == {"lab": LAB, "file": f"{LAB}.cu"} and set(given) <= set(inputs)
    assert inputs["package"]["default"].startswith("warpgrade==")
    assert "@" not in "".join(re.findall(r"@[A-Z]+@", (template / ACTION).read_text()))


def test_the_repository_has_what_a_student_needs_and_no_secret(template: Path) -> None:
    names = {
        path.relative_to(template).as_posix() for path in template.rglob("*") if path.is_file()
    }
    own = {f"{LAB}.cu", f"{LAB}.html", "README.md", "answers.yaml", ".gitignore"}
    assert names == own | {TASKS, ACTION, WORKFLOW}


def test_a_lab_of_a_course_is_in_the_repository_without_its_secrets() -> None:
    files = template_files(load_lab(LAB), None, own=True)
    step = yaml.safe_load(files[WORKFLOW])["jobs"]["grade"]["steps"][-1]
    assert step["with"] == {"lab": LAB, "file": f"{LAB}.cu", "course": "."}
    assert f"labs/{LAB}/lab.yaml" in files and f"labs/{LAB}/reference.py" in files
    assert b"hidden" not in b"".join(v for k, v in files.items() if k.startswith("labs/"))


def test_right_work_passes_with_outputs_and_a_summary(runner: Runner, repository: Path) -> None:
    shutil.copy(ROOT / "solutions" / LAB / f"{LAB}.cu", repository)
    (repository / "answers.yaml").unlink()  # its questions have no answers yet
    for name in ("json.py", "venv.py", "pip.py"):
        (repository / name).write_text("raise SystemExit('a module of the student was imported')")
    job = runner.run(lab=LAB, package="none")
    assert (job.code, job.ran) == (0, ["grade"]), job.log
    assert job.outputs["status"] == "pass" and job.outputs["score"] == job.outputs["max-score"]
    assert json.loads(Path(job.outputs["grade"]).read_text())["lab"] == LAB
    assert job.summary.startswith(f"### {LAB}: 100 of 100 points")


def test_work_that_falls_short_fails_at_its_lines(runner: Runner) -> None:
    job = runner.run(lab=LAB, package="none", required="false")
    assert job.code == 0 and job.outputs["status"] == "fail", job.log
    assert re.search(rf"^::error file={LAB}\.cu,line=\d+", job.log, re.MULTILINE)
    assert "0 of 100 points" in job.summary
    failed = runner.run(lab=LAB, package="none")
    assert failed.code == 1 and "0 of 100 points" in failed.summary


@pytest.mark.parametrize("file", ["$(touch escaped).cu", "a b;touch escaped.cu", "-rf"])
def test_a_name_is_never_a_command(runner: Runner, repository: Path, file: str) -> None:
    job = runner.run(lab=LAB, file=file, package="none")
    assert job.code != 0 and not list(repository.rglob("escaped*"))


def test_a_fault_of_the_machine_is_no_grade(runner: Runner) -> None:
    job = runner.run(lab="no-such-lab", package="none")
    assert job.code == 2 and job.summary == "" and job.outputs == {}
    assert "This is not an error of the submission" in job.log
    missing = runner.run(lab=LAB, package="none", course="/nowhere")
    assert missing.code == 2 and "This is not an error of the submission" in missing.log


def test_what_a_kernel_prints_is_no_command_of_the_log(runner: Runner, repository: Path) -> None:
    text = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
    head = "#include <cstdio>\n"
    printing = text.replace(
        "{", '{ if (threadIdx.x == 0) printf("\\n::set-output name=x::y\\n");', 1
    )
    assert printing != text
    (repository / f"{LAB}.cu").write_text(head + printing)
    job = runner.run(lab=LAB, package="none", required="false")
    commands = [line for line in job.log.splitlines() if line.startswith("::")]
    assert not [line for line in commands if "set-output" in line.split("::")[1]]


STUB = {
    "stub.py": "def main():\n    print('the installed one')\n    return 3\n",
    "stub-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: stub\nVersion: 1\n",
    "stub-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "stub-1.dist-info/entry_points.txt": "[console_scripts]\ngrader = stub:main\n",
    "stub-1.dist-info/RECORD": "",
}
"""A package of one module in place of warpgrade: pip needs no network and no dependency."""


def test_the_package_is_installed_into_an_environment_of_its_own(
    repository: Path, tmp_path: Path
) -> None:
    wheel = tmp_path / "stub-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in STUB.items():
            archive.writestr(name, text)
    runner = Runner(repository / ACTION, repository, tmp_path / "temp", PIP_NO_INDEX="1")
    job = runner.run(lab=LAB, package=str(wheel), python=sys.executable)
    assert job.ran == ["install", "grade"] and "the installed one" in job.log, job.log
    assert job.code == 3


@pytest.mark.parametrize("row", [*hostile_rows(), a_row(huge()), a_row(FAILED)])
def test_a_summary_is_closed_and_small(row: object) -> None:
    text = markdown.export([row], OPTIONS)  # type: ignore[list-item]
    fences = re.findall(r"^`{3,}.*$", text, re.MULTILINE)
    assert len(text) < 100_000 and fences[0] == fences[-1] + "text"
    assert fences[1:].count(fences[-1]) == 1, "no line of the report ends the block"


def test_the_problem_matcher_reads_the_messages_for_editors(tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(
        'extern "C" __global__ void vector_add(int* a) { a[0] = b; }\n'
    )
    done = grader("check", LAB, tmp_path / "mine.cu", "--format", "gcc")
    lines = [line for line in done.out.splitlines() if line]
    assert lines and all(re.match(MATCHER, line) for line in lines)
    found = re.match(MATCHER, lines[0])
    assert found and (found[1], found[2], found[4]) == (str(tmp_path / "mine.cu"), "1", "error")

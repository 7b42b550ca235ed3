"""A small runner of composite actions: the steps' shell commands as GitHub's runner starts them.

It knows what the documentation of GitHub Actions says of composite actions with `shell: bash`:
inputs and their defaults, `if`, `env`, expressions, `bash --noprofile --norc -eo pipefail FILE` and
the files of GITHUB_OUTPUT, GITHUB_PATH and GITHUB_STEP_SUMMARY. An expression that it does not know
fails the test.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.patience import PATIENCE

EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
KNOWN = {"name", "description", "inputs", "outputs", "runs", "author", "branding"}


@dataclass
class Job:
    """What a job showed: the code of the step that ended it, its log, summary and outputs."""

    code: int = 0
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)


def text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Runner:
    """Runs one composite action in a workspace, with the environment of a runner."""

    def __init__(self, action: Path, workspace: Path, temp: Path, **variables: str) -> None:
        held = yaml.safe_load(action.read_text())
        assert set(held) <= KNOWN and held["runs"]["using"] == "composite"
        self.action: dict[str, Any] = held
        self.workspace, self.temp = workspace, temp
        temp.mkdir(exist_ok=True)
        self.variables = variables
        self.outputs: dict[str, dict[str, str]] = {}

    def run(self, **given: str) -> Job:
        """Run all steps; stop at the first that fails."""
        inputs: dict[str, str] = {}
        for name, one in self.action["inputs"].items():
            assert name in given or "default" in one or not one.get("required"), (
                f"{name} is missing"
            )
            inputs[name] = given.pop(name, text_of(one.get("default", "")))
        assert not given, f"unknown inputs: {given}"
        job, paths = Job(), []
        for step in self.action["runs"]["steps"]:
            assert (
                set(step) <= {"id", "name", "if", "shell", "env", "run"} and step["shell"] == "bash"
            )
            if "if" in step and not self.condition(step["if"], inputs):
                continue
            assert "${{" not in step["run"], "an input inside a script would be run as part of it"
            job.ran.append(step["id"])
            self._step(step, inputs, job, paths)
            if job.code:
                return job
        for name, one in self.action["outputs"].items():
            job.outputs[name] = self.filled(one["value"], inputs)
        return job

    def _step(
        self, step: Mapping[str, Any], inputs: Mapping[str, str], job: Job, paths: list[str]
    ) -> None:
        script = self.temp / f"{step['id']}.sh"
        script.write_text(step["run"])
        files = {name: self.temp / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_PATH")}
        files["GITHUB_STEP_SUMMARY"] = self.temp / "summary.md"
        for file in files.values():
            file.write_text("")
        env = {
            "PATH": ":".join([*reversed(paths), self.variables.get("PATH", os.environ["PATH"])]),
            "HOME": str(self.temp), "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(self.temp),
            "GITHUB_WORKSPACE": str(self.workspace), "LANG": "C.UTF-8",
            **{k: v for k, v in self.variables.items() if k != "PATH"},
            **{name: str(file) for name, file in files.items()},
            **{name: self.filled(text_of(v), inputs) for name, v in step.get("env", {}).items()},
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], cwd=self.workspace,
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=PATIENCE,
        )  # fmt: skip
        job.code, job.log = done.returncode, job.log + done.stdout
        job.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        paths += files["GITHUB_PATH"].read_text().splitlines()
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)

    def filled(self, text: str, inputs: Mapping[str, str]) -> str:
        """Return the text with its expressions replaced by their values."""
        return EXPRESSION.sub(lambda found: self.value(found[1], inputs), text)

    def value(self, expression: str, inputs: Mapping[str, str]) -> str:
        scope, *rest = expression.split(".")
        if scope == "inputs" and len(rest) == 1:
            return inputs[rest[0]]
        assert scope == "steps" and rest[1] == "outputs", f"unknown expression: {expression}"
        return self.outputs.get(rest[0], {}).get(rest[2], "")

    def condition(self, text: str, inputs: Mapping[str, str]) -> bool:
        found = re.fullmatch(r"inputs\.(\w+) != '(\w*)'", text)
        assert found, f"unknown condition: {text}"
        return inputs[found[1]] != found[2]

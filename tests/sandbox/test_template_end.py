"""The end of a template that is killed while it starts."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from grader.sandbox import call, template
from grader.sandbox.call import run_sandboxed
from grader.sandbox.template import Template
from tests.patience import until
from tests.sandbox.test_template import steps

__all__ = ["steps"]  # the fixture of every test of templates


def test_nothing_remains_of_templates_that_are_killed_as_they_start() -> None:
    """bubblewrap's second process waits for the first one for a moment, without end if it dies."""
    run_sandboxed("sandboxed_steps:echo", 1)
    groups = []
    for milliseconds in range(16):
        made = Template(only_template_key())
        groups.append(made._process.pid)
        began = time.perf_counter()
        while time.perf_counter() - began < milliseconds / 1000:
            pass
        os.kill(groups[-1], signal.SIGKILL)
        until(partial(has_ended, made))
        made.end()
    until(lambda: not any(map(members, groups)))


def has_ended(made: Template) -> bool:
    return not made.is_alive


def only_template_key() -> template.Key:
    (one,) = call.templates()._by_key
    return one


def members(group: int) -> list[str]:
    """The command lines of the processes of a group that run."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, of, *_ = (place / "stat").read_text().rpartition(") ")[2].split()
            if int(of) == group and state not in "ZX":
                found.append((place / "cmdline").read_text())
    return found

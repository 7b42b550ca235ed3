"""Kill -9 of what sends scores, at each of its requests: every score is right in the end, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.patience import PATIENCE
from tests.portal.lti.platform import moment
from tests.portal.lti.synced import RealClock, Synced, synced
from tests.portal.made import LAB, until
from tests.portal.test_killed import free_port, kill, start

KILLS = int(os.environ.get("WARPGRADE_KILLS", "6"))


def run(one: Synced, at_request: int, when: str) -> int:
    """Send in a process that is killed at one of its requests; return how it ended."""
    words = [sys.executable, "-m", "tests.portal.lti.killed", str(one.folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "no_proxy": "127.0.0.1"}
    count = 0

    def fault(kind: str) -> str:
        nonlocal count
        count += 1
        return when if count == at_request else ""

    one.at.fault = fault
    process = subprocess.Popen(words, env=environment, cwd=ROOT)
    one.at.kill = process.kill
    return process.wait(PATIENCE)


def test_killed_at_any_request_each_score_is_right_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    points = {"ada": 70.0, "ben": 30.0, "cyd": 12.5}
    with synced(tmp_path, clock=RealClock()) as one:
        for who, earned in points.items():
            one.graded(who, earned)
        killed = 0
        for k in range(KILLS):
            code = run(one, 1 + k // 2, ("kill", "kill after")[k % 2])
            killed += code == -9
            points["ada"] = 70.0 + k  # something to send in each run
            one.book.override(LAB, "ada", points["ada"], "lead", "look again")
        assert killed == KILLS
        assert run(one, 0, "") == 0
        assert one.at.shown() == {f"sub-{who}": (got, 100.0) for who, got in points.items()}
        assert len(one.at.items) == 1
        assert all(m["scoreGiven"] > 0 for _, m in one.at.history)
        for user in one.at.members:
            stamps = [moment(m["timestamp"]) for _, m in one.at.history if m["userId"] == user]
            assert stamps == sorted(set(stamps))
        assert one.at.wrong == [] and one.book.verify().problems == ()
        before = len(one.at.history)
        assert run(one, 0, "") == 0
        assert len(one.at.history) == before


def test_a_server_that_was_killed_sends_when_it_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with synced(tmp_path, clock=RealClock()) as one:
        words = ("serve", "--course", str(tmp_path), "--port", str(free_port()), "--jobs", "0")
        server = start(*words)
        try:
            one.graded("ada", 70.0)
            until(lambda: one.at.items and one.at.shown())
            one.at.fault = lambda kind: "kill after" if kind == "score" else ""
            one.at.kill = lambda: os.killpg(server.pid, signal.SIGKILL)
            one.book.override(LAB, "ada", 71.0, "lead", "look again")
            assert server.wait(PATIENCE) == -signal.SIGKILL
            one.at.fault = lambda kind: ""
            server = start(*words)
            until(lambda: [line for line in one.scores.lines() if line.standing == "sent"])
            assert one.at.shown() == {"sub-ada": (71.0, 100.0)}
            assert len(one.at.items) == 1
        finally:
            kill(server)

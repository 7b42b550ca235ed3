"""What several tests of attacks need."""

from __future__ import annotations

import pytest


@pytest.fixture
def private_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other users cannot read the grader: without a sandbox, root's children stay root's."""
    monkeypatch.setattr("grader.sandbox.process.is_world_readable", lambda paths: False)

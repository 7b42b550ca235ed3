"""Several processes at once send each score once, in SQLite and in PostgreSQL."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.gradebook.conftest import postgresql_copy as postgresql_copy
from tests.gradebook.conftest import postgresql_gradebook as postgresql_gradebook
from tests.gradebook.conftest import postgresql_server as postgresql_server
from tests.gradebook.conftest import url as url
from tests.portal.lti.platform import SCOPES
from tests.portal.lti.synced import RealClock, Report, synced
from tests.portal.made import LAB

THREADS = 4


def test_several_at_once_send_each_score_once(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with synced(tmp_path, clock=RealClock(), url=url) as one:
        for name in ("second", "third"):
            link = one.book.lti.new_link(1, "7", name, name)
            one.book.lti.point(link.id, LAB, "test")
            one.book.lti.note_services(link.id, "", one.at.items_url, "", SCOPES)
        for who, points in (("ada", 70.0), ("ben", 30.0), ("cyd", 50.0)):
            one.graded(who, points)
        reports: list[Report] = []
        threads = [
            threading.Thread(target=lambda: reports.append(one.restarted().send()))
            for _ in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one.restarted().send()
        assert len(reports) == THREADS
        assert len(one.at.items) == 3 and len(one.at.history) == 9
        expected = {"sub-ada": (70.0, 100.0), "sub-ben": (30.0, 100.0), "sub-cyd": (50.0, 100.0)}
        assert [one.at.shown(k) for k in range(3)] == [expected] * 3
        lines = [event for event in one.book.audit(LAB) if event.action == "lti score"]
        assert len(lines) == 9 and one.book.verify().problems == ()
        one.book.override(LAB, "ada", 71.0, "lead", "look again")
        assert one.restarted().send().sent == 3

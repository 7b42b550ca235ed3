"""Every launch of the certification guide, with the outcome that its row names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.portal.lti.guide import BAD_PAYLOADS, GOOD, MORE_BAD
from tests.portal.lti.launching import Learner, Platform, launching, reason_of
from tests.portal.made import Reply, Served

BAD = {**BAD_PAYLOADS, **MORE_BAD}


@pytest.fixture(scope="module")
def platform(shared: Served) -> Iterator[Platform]:
    """A platform where Ada and the lead have launched before."""
    with pytest.MonkeyPatch.context() as patch, launching() as one:
        patch.setenv("no_proxy", "127.0.0.1")
        one.registered(shared)
        for user in ("ada", "lead"):
            assert Learner(shared.port, one).launch(shared.site.url, user).code == 303
        yield one


def outcome(course: Served, platform: Platform, row: str) -> tuple[Reply, Learner]:
    """Launch as a row of the tables says."""
    user, change = GOOD[row][:2] if row in GOOD else ("ada", BAD[row][0])
    platform.alter, platform.signed = lambda claims: None, platform.sign
    if len(inspect.signature(change).parameters) == 2:
        platform.signed = lambda claims: change(platform, claims)  # type: ignore[call-arg, arg-type, return-value, assignment]
    else:
        platform.alter = change  # type: ignore[assignment]
    visit = Learner(course.port, platform)
    return visit.launch(course.site.url, user), visit


@pytest.mark.parametrize("row", BAD)
def test_a_bad_launch_is_refused_for_its_reason(
    row: str, shared: Served, platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    reply, visit = outcome(shared, platform, row)
    assert (reason_of(reply), 400 <= reply.code < 500) == (BAD[row][1], True)
    assert visit.get("/").code == 303, "nobody is signed in"
    said = capsys.readouterr().err
    assert f": {BAD[row][1]}\n" in said and "eyJ" not in said and "@" not in said


@pytest.mark.parametrize("row", GOOD)
def test_a_good_launch_opens_the_lab(row: str, shared: Served, platform: Platform) -> None:
    reply, visit = outcome(shared, platform, row)
    assert (reply.code, reply.to) == (303, GOOD[row][2]), reason_of(reply)
    assert visit.get(reply.to).code == 200


def test_reasons_have_words_of_their_own() -> None:
    from grader.portal.lti.refusals import REASONS

    assert len({*REASONS.values()}) == len(REASONS)
    expected: Any = {reason for _, reason in BAD.values()}
    assert expected <= set(REASONS)


def test_the_guides_thirteen_bad_payloads_have_different_reasons_where_they_differ() -> None:
    reasons = [reason for _, reason in BAD_PAYLOADS.values()]
    assert len({*reasons}) == len(reasons) - 1, "no claims of LTI is one reason for two rows"

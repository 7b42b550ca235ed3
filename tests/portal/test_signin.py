"""Signing in by a link, sessions, forms of other sites, and limits."""

from __future__ import annotations

import argon2
import pytest

from tests.portal.conftest import SLOW
from tests.portal.made import LAB, Served, Visit, source


def test_a_link_signs_in_once(course: Served) -> None:
    visit = Visit(course.port)
    assert visit.get("/").to == "/sign-in"
    said = visit.post("/sign-in", email="Ada@Example.org").text
    link = course.link("ada@example.org")
    assert visit.get(f"/{link}").code == 200, "reading mail opens addresses: that signs nobody in"
    assert visit.get("/").to == "/sign-in"
    assert visit.ask("POST", f"/{link}").code == 303
    assert "Ada Lovelace" in visit.get("/").text
    assert Visit(course.port).ask("POST", f"/{link}").code == 403
    unknown = Visit(course.port).post("/sign-in", email="nobody@example.org").text
    assert unknown == said, "nobody learns who takes the course"
    assert list(course.links) == ["ada@example.org"]


def test_cookie_is_kept_from_scripts_and_other_sites(course: Served) -> None:
    visit = Visit(course.port)
    visit.post("/sign-in", email="ada@example.org")
    cookie = visit.ask("POST", f"/{course.link('ada@example.org')}").headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie
    course.site.url = "https://example.org"
    visit = Visit(course.port)
    visit.post("/sign-in", email="ben@example.org")
    cookie = visit.ask("POST", f"/{course.link('ben@example.org')}").headers["Set-Cookie"]
    assert "Secure" in cookie


def test_signing_out_ends_the_session_itself(course: Served) -> None:
    visit = course.signed_in("ada@example.org")
    copy = Visit(course.port)
    copy.cookie = visit.cookie
    assert copy.get("/").code == 200
    assert visit.post("/sign-out").code == 303
    assert copy.get("/").to == "/sign-in"


def test_an_ended_account_is_out_at_once(course: Served) -> None:
    visit, program = course.signed_in("ta@example.org"), course.program("ta@example.org")
    course.book.people.remove_staff("ta@example.org", "test")
    assert visit.get("/").to == "/sign-in"
    assert program.get("/api/v1/me").code == 401


def test_a_student_who_left_is_out_at_once(course: Served) -> None:
    visit = course.signed_in("cyd@example.org")
    rest = [one for one in course.site.course.students if one.id != "cyd"]
    course.book.enroll(rest, "test")
    assert visit.get("/").to == "/sign-in"


@pytest.mark.parametrize("form", ["", "0" * 64, "ä"])
def test_a_form_needs_the_token_of_its_session(course: Served, form: str) -> None:
    visit = course.signed_in("ada@example.org")
    reply = visit.upload(f"/labs/{LAB}/submissions", "a.cu", source(), form=form)
    assert reply.code in (403, 422) and course.book.history(LAB, "ada") == ()
    assert visit.post("/account/tokens", form=form, name="x", scope="read").code in (403, 422)
    assert course.book.people.tokens("student:ada") == ()


def test_a_form_of_another_site_is_refused(course: Served) -> None:
    visit = course.signed_in("ada@example.org")
    form = visit.form_token()
    sent = visit.ask(
        "POST", "/sign-out", f"form={form}".encode(), Origin="https://evil.example",
        Content_Type="application/x-www-form-urlencoded",
    )  # fmt: skip
    assert sent.code == 403 and visit.get("/").code == 200


def test_links_are_limited_by_person(course: Served) -> None:
    codes = [
        Visit(course.port).post("/sign-in", email="ada@example.org", form="-").code
        for _ in range(8)
    ]
    assert codes == [200] * 6 + [429] * 2
    refused = Visit(course.port).post("/sign-in", email="ada@example.org", form="-")
    assert 0 < int(refused.headers["Retry-After"]) <= 900
    assert Visit(course.port).post("/sign-in", email="ben@example.org", form="-").code == 200


def test_tokens_are_shown_once_and_revoked(course: Served) -> None:
    visit = course.signed_in("ada@example.org")
    shown = visit.post("/account/tokens", name="<b>laptop</b>", scope="read").text
    token = shown.partition('<code class="token">')[2].partition("<")[0]
    assert "&lt;b&gt;laptop" in shown and "<b>laptop" not in shown
    program = Visit(course.port, token)
    assert program.get("/api/v1/me").json["name"] == "Ada Lovelace"
    later = visit.get("/account").text
    assert token not in later and "laptop" in later
    (one,) = course.book.people.tokens("student:ada")
    assert course.signed_in("ben@example.org").post(f"/account/tokens/{one.id}/revoke").code == 404
    assert visit.post(f"/account/tokens/{one.id}/revoke").code == 303
    assert program.get("/api/v1/me").code == 401


@pytest.mark.parametrize("token", ["", "x", "wg_1_", "wg_x_y", "wg_999999_abc", "wg_1_" + "é" * 9])
def test_wrong_tokens_are_refused(course: Served, token: str) -> None:
    course.program("ada@example.org")
    visit = Visit(course.port)
    quoted = token.encode().decode("latin-1")
    reply = visit.ask("GET", "/api/v1/me", Authorization=f"Bearer {quoted}")
    assert reply.code == 401 and reply.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/", "/sign-in", "/static/portal.css", "/api/v1/me", "/nothing"])
def test_every_answer_has_the_security_headers(course: Served, path: str) -> None:
    headers = Visit(course.port).get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_secrets_are_stored_as_digests_only(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of tokens are of the cost that argon2's authors recommend (RFC 9106)."""
    monkeypatch.setattr(argon2, "PasswordHasher", SLOW)
    visit, program = course.signed_in("ada@example.org"), course.program("ada@example.org")
    cookie = visit.cookie.partition("=")[2]
    token = program.own["Authorization"].split("_", 2)[2]
    stored = b"".join(path.read_bytes() for path in course.site.course.folder.glob("course.db*"))
    assert cookie.encode() not in stored and token.encode() not in stored
    assert b"$argon2id$v=19$m=65536,t=3,p=4$" in stored
    assert program.get("/api/v1/me").code == 200


def test_an_error_of_the_server_is_an_answer_too(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page says so, the API answers JSON, and neither tells of its inside."""
    page, program = course.site.page, course.program("ada@example.org")

    def fails(*names: object, **values: object) -> str:
        if names == ("refused.html",):
            return page("refused.html", **values)
        raise RuntimeError("an inner matter")

    monkeypatch.setattr(course.site, "page", fails)
    monkeypatch.setattr("grader.portal.api._lab_state", fails)
    answers = [Visit(course.port).get("/sign-in"), program.get("/api/v1/labs")]
    assert [one.code for one in answers] == [500, 500]
    assert "<h1" in answers[0].text and set(answers[1].json) == {"detail"}
    for one in answers:
        assert "inner matter" not in one.text
        assert one.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in one.headers["Content-Security-Policy"]

"""Who may do what: every route by every role, for own and others' things, as this table says.

The table is written from the issue's roles, not from the code: `own` are the things of Ada, who is
in section A; the TA teaches section A; Cyd is in section B.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from limits import parse

from grader.gradebook.lti import Lti, NewRegistration
from grader.gradebook.people import SCOPES
from grader.portal.access import ANYONE, RULES
from grader.portal.requests import LIMITS
from tests.portal.made import LAB, Served, Visit, source

# route: method, path, the scope that a token needs, and the answers to: nobody, Ada, Ben (same
# section), Cyd, the TA of A, the instructor, the observer. S: 2xx, or a redirect that is the
# answer; 303: to the sign-in; 401: with what was typed; N: 404; F: 403. `form`: only a session
# sends it, whatever scopes a token has. What changes the things of others needs `teach`.
TABLE = """
home               GET    /                                       read   303 S S S S S S
account            GET    /account                                read   303 S S S S S S
new_token          POST   /account/tokens                         form   401 S S S S S S
revoke_token       POST   /account/tokens/1/revoke                form   303 N N N N N N
lab                GET    /labs/{lab}?student=ada                 read   303 S N N S S S
submit             POST   /labs/{lab}/submissions                 form   303 S S S F F F
submission         GET    /submissions/{id}                       read   303 S N N S S S
submission_source  GET    /submissions/{id}/source                read   303 S N N S S S
submission_events  GET    /submissions/{id}/events                read   303 S N N S S S
compare            GET    /compare?a={id}&b={second}              read   303 S N N S S S
api_compare        GET    /api/v1/compare?a={id}&b={second}       read   401 S N N S S S
class_page         GET    /class/{lab}                            read   303 F F F S S S
student_page       GET    /students/ada                           read   303 F F F S S S
similar            GET    /class/{lab}/similar                    read   303 F F F S S S
similar_pair       GET    /class/{lab}/similar/{id}/{id}          read   303 F F F N N N
extend             POST   /class/{lab}/extensions                 form   401 F F F S S F
skeleton           GET    /labs/{lab}/skeleton                    read   303 S S S S S S
handout_figure     GET    /labs/{lab}/handout/1.svg               read   303 S S S S S S
api_files          GET    /api/v1/labs/{lab}/files                read   401 S S S S S S
groups             GET    /class/{lab}/groups                     read   303 F F F S S S
set_group          POST   /class/{lab}/groups                     form   401 F F F S S F
queue              GET    /queue                                  read   303 F F F S S S
health             GET    /health                                 read   303 F F F S S S
retry              POST   /queue/{lab}/retry                      form   303 F F F S S F
audit              GET    /audit                                  read   303 F F F F S F
requests           GET    /requests                               read   303 S S S S S S
request_page       GET    /requests/1                             read   303 S N N S S S
ask                POST   /submissions/{second}/requests          form   401 S N N F F F
reply              POST   /requests/1/messages                    form   401 S N N S S F
comment            POST   /submissions/{id}/comments              form   401 F F F S S F
remove_comment     POST   /submissions/{id}/comments/{one}/remove form   303 F F F S S F
close_request      POST   /requests/{one}/close                   form   303 F F F S S F
release            POST   /class/{lab}/release                    form   303 F F F F S F
points             POST   /class/{lab}/points                     form   401 F F F S S F
choose             POST   /labs/{lab}/choice                      form   303 422 N N F F F
regrades           GET    /regrades                               read   303 F F F F S S
regrade_page       GET    /regrades/{one}                         read   303 F F F F S S
start_regrade      POST   /class/{lab}/regrades                   form   401 F F F F S F
decide_regrade     POST   /regrades/{one}/decision                form   303 F F F F S F
retry_regrade      POST   /regrades/{one}/retry                   form   303 F F F F S F
view_as            POST   /students/ada/view                      form   303 F F F S S F
end_view           POST   /view/end                               form   303 S S S S S S
sign_out           POST   /sign-out                               form   303 S S S S S S
board              GET    /labs/{lab}/board                       read   303 S S S S S S
join_board         POST   /labs/{lab}/board                       form   401 S S S F F F
leave_board        POST   /labs/{lab}/board/leave                 form   303 S S S F F F
moderate_entry     POST   /labs/{lab}/board/entries               form   401 F F F S S F
api_board          GET    /api/v1/labs/{lab}/board                read   401 S S S S S S
api_join_board     POST   /api/v1/labs/{lab}/board                submit 401 S S S F F F
api_leave_board    DELETE /api/v1/labs/{lab}/board                submit 401 S S S F F F
api_me             GET    /api/v1/me                              read   401 S S S S S S
api_labs           GET    /api/v1/labs                            read   401 S S S S S S
api_submit         POST   /api/v1/labs/{lab}/submissions          submit 401 S S S F F F
api_submissions    GET    /api/v1/labs/{lab}/submissions          read   401 S S S F F F
api_submission     GET    /api/v1/submissions/{id}                read   401 S N N S S S
api_requests       GET    /api/v1/submissions/{id}/requests       read   401 S N N S S S
api_ask            POST   /api/v1/submissions/{second}/requests   submit 401 S N N F F F
api_health         GET    /api/v1/health                          read   401 F F F S S S
api_retry          POST   /api/v1/labs/{lab}/retry                teach  401 F F F S S F
api_similar        GET    /api/v1/labs/{lab}/similar              read   401 F F F S S S
api_extensions     GET    /api/v1/labs/{lab}/extensions           read   401 F F F S S S
api_extend         POST   /api/v1/labs/{lab}/extensions           teach  401 F F F S S F
api_groups         GET    /api/v1/labs/{lab}/groups               read   401 F F F S S S
api_set_group      POST   /api/v1/labs/{lab}/groups               teach  401 F F F S S F
api_events         GET    /api/v1/submissions/{id}/events         read   401 S N N S S S
lti_platforms      GET    /lti/platforms                          read   303 F F F F S F
lti_add            POST   /lti/platforms                          form   303 F F F F S F
lti_remove         POST   /lti/platforms/{one}/remove             form   303 F F F F S F
lti_deploy         POST   /lti/platforms/{one}/deployments        form   303 F F F F S F
lti_undeploy       POST   /lti/platforms/deployments/{one}/remove form   303 F F F F S F
lti_invite         POST   /lti/invitations                        form   303 F F F F S F
lti_repoint        POST   /lti/links/{one}                        form   303 F F F F S F
lti_forget         POST   /lti/people/{one}/forget                form   303 F F F F S F
"""
PEOPLE = ("", "ada", "ben", "cyd", "ta", "lead", "watch")
ROWS = [line.split() for line in TABLE.strip().splitlines()]
FIELDS = {
    "extend": {"student": "ada", "due": "2027-04-01T12:00", "reason": "ill"},
    "retry": {"student": "ada"},
    "set_group": {"student": "ada", "team": "", "reason": "x"},
    "new_token": {"name": "x", "scope": "read"},
    "ask": {"body": "Why?"},
    "reply": {"body": "Because."},
    "comment": {"body": "Good.", "line": "1"},
    "release": {"when": "course"},
    "points": {"student": "ada", "points": "12.5", "reason": "ill"},
    "choose": {"submission": "1"},
    "start_regrade": {"reason": "a new compiler"},
    "decide_regrade": {"decision": "reject"},
    "moderate_entry": {"student": "ada", "action": "hide", "reason": "rude"},
    "lti_add": {
        "issuer": "https://new.example.org", "client_id": "1",
        "auth_url": "https://new.example.org/auth", "token_url": "https://new.example.org/token",
        "jwks_url": "https://new.example.org/keys",
    },
    "lti_deploy": {"deployment": "another"},
    "lti_repoint": {"lab": LAB},
}  # fmt: skip

JSON: dict[str, dict[str, str]] = {
    "api_join_board": {"pseudonym": "{who} X"},
    "api_retry": {"student": "ada"},
    "api_extend": {"student": "ada", "due": "2027-04-01T12:00", "reason": "ill"},
    "api_set_group": {"student": "ada", "team": "", "reason": "x"},
}


def one_of(route: str, course: Served, number: int) -> int:
    """The number of a new thing that a route changes once."""
    teaching = course.book.teaching
    if route == "remove_comment":
        return teaching.comment(number, 0, "x", "test")
    if route in ("close_request", "ask", "api_ask"):
        for one in teaching.requests():
            if one.status != "closed" and one.id > 1:
                teaching.close(one.id, "test")
    if route.endswith(("regrade", "regrade_page")):
        for regrade in teaching.regrades(only_open=True):
            teaching.end_regrade(regrade.id, "test", adopt=False)
    if route in ("decide_regrade", "retry_regrade", "regrade_page"):
        return teaching.start_regrade(LAB, (), "test", "x").id
    if route.startswith("lti_"):
        return platform_row(route, course.book.lti)
    if route == "moderate_entry":
        course.book.board.join(LAB, "ada", "Lovely", "test")
        if course.book.board.members(LAB)["ada"].hidden:
            course.book.board.show(LAB, "ada", "test", "polite again")
    if route == "close_request":
        return teaching.ask(number, "x", "ada@example.org")
    return 0


def platform_row(route: str, lti: Lti) -> int:
    """The number of a platform, or of a row of it that a route changes."""
    one = lti.register(
        NewRegistration(
            "https://lms.example.org", "7", "LMS", "https://lms.example.org/auth",
            "https://lms.example.org/token", "https://lms.example.org/keys",
        ),
        "test",
    )  # fmt: skip
    place = lti.deploy(one.id, "1", "test")
    if route == "lti_undeploy":
        return place.id
    if route == "lti_repoint":
        return lti.new_link(place.id, "course", "link", "A link").id
    return lti.know(one.id, "u1", "student:ada", "test").id if route == "lti_forget" else one.id


@pytest.fixture(scope="module")
def visits(shared: Served) -> Callable[[str, bool], Visit]:
    """Gives the browser or the program of a person; nobody has neither."""
    known: dict[tuple[str, bool], Visit] = {}

    def visit(who: str, program: bool) -> Visit:
        if not who:
            return Visit(shared.port)
        if (who, program) not in known:
            email = f"{who}@example.org"
            make = shared.program if program else shared.signed_in
            known[who, program] = make(email)
        return known[who, program]

    return visit


@pytest.fixture(scope="module")
def numbers(shared: Served) -> tuple[int, int]:
    """Two graded submissions of Ada, and a handout with a figure."""
    from grader.portal.task.handouts import built_page

    page = built_page(shared.site.course, LAB)
    page.parent.mkdir()
    page.write_text('<body><img src="data:image/svg+xml;base64,PHN2Zy8+" alt="a"></body>')
    from tests.portal.made import until, working

    ada = shared.signed_in("ada@example.org")
    found = [int(ada.submit(source(k)).to.rpartition("/")[2]) for k in (1, 2)]
    with working(shared.book, shared.site):
        until(lambda: all(shared.book.grade(number) for number in found))
    shared.book.teaching.ask(found[0], "Why?", "ada@example.org")
    return found[0], found[1]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_route_answers_as_the_table_says(
    row: list[str], shared: Served, numbers: tuple[int, int],
    visits: Callable[[str, bool], Visit],
) -> None:  # fmt: skip
    route, method, path, _, *expected = row
    seen = []
    for who in PEOPLE:
        one = one_of(route, shared, numbers[route == "close_request"])
        where = path.format(lab=LAB, id=numbers[0], second=numbers[1], one=one)
        is_api = path.startswith("/api")
        visit = visits(who, is_api)
        if route in ("sign_out", "view_as") and who:
            visit = shared.signed_in(f"{who}@example.org")
        if method == "GET":
            reply = visit.get(where)
        elif route in ("submit", "api_submit"):
            fields = {} if is_api else {"form": visit.form_token()}
            reply = visit.upload(where, "a.cu", source(9), **fields)
        elif is_api:
            values = JSON.get(route, {"text": "Why?"})
            body = json.dumps({k: v.format(who=who) for k, v in values.items()}).encode()
            reply = visit.ask(method, where, body, Content_Type="application/json")
        else:
            fields = {"pseudonym": f"{who} 1"} if route == "join_board" else FIELDS.get(route, {})
            reply = visit.post(where, **fields)
        to_sign_in = reply.to == "/sign-in" and route != "sign_out"
        if reply.code in (401, 403, 404) or not who and to_sign_in:
            seen.append({403: "F", 404: "N"}.get(reply.code, str(reply.code)))
        else:
            seen.append("S" if reply.code < 400 else str(reply.code))
    if route == "sign_out":
        seen[0] = "303"
    assert seen == expected


def test_every_route_has_a_row() -> None:
    assert {row[0] for row in ROWS} == set(RULES)
    assert not ANYONE & set(RULES)
    assert {row[3] for row in ROWS} == {*SCOPES, "form"}


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_token_needs_the_scope_of_the_table(
    row: list[str], shared: Served, numbers: tuple[int, int], programs: dict[str, list[Visit]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each person who may use the route asks with each scope alone."""
    monkeypatch.setitem(LIMITS, "token", parse("100000/minute"))
    route, method, path, scope, *answers = row
    where = path.format(lab=LAB, id=numbers[0], second=numbers[1], one=0)
    for who, answer in zip(PEOPLE, answers, strict=True):
        if not who or answer == "F":
            continue
        for own, program in zip(SCOPES, programs[who], strict=True):
            said = program.ask(method, where, b"{}", Content_Type="application/json").text
            assert ("sends no forms" in said) == (scope == "form"), (who, own, said)
            lacks = scope not in (own, "form")
            assert (f"no scope `{scope}`" in said) == lacks, (who, own, said)


@pytest.fixture(scope="module")
def programs(shared: Served) -> dict[str, list[Visit]]:
    """For each person a program with each scope alone."""
    return {
        who: [shared.program(f"{who}@example.org", scope) for scope in SCOPES]
        for who in PEOPLE
        if who
    }


def test_what_teaches_needs_its_scope_also_of_older_tokens(shared: Served) -> None:
    """Tokens from before `teach` keep `read` and `submit`, which change nothing of others."""
    body = json.dumps(JSON["api_extend"]).encode()
    where, kind = f"/api/v1/labs/{LAB}/extensions", {"Content_Type": "application/json"}
    older = shared.program("lead@example.org", "read", "submit")
    assert (
        older.get(where).code == 200 and "no scope `teach`" in older.ask("POST", where, body).text
    )
    writer = shared.program("lead@example.org", "teach")
    made = writer.ask("POST", where, body, **kind)
    assert (made.code, made.json) == (201, []), "what it changes, it may not read"
    assert writer.get(where).code == 403
    page = shared.signed_in("ada@example.org").get("/account").text
    assert 'value="submit"' in page and 'value="teach"' not in page
    page = shared.signed_in("ta@example.org").get("/account").text
    assert 'value="teach">' in page and 'value="submit"' not in page, "not unless it is chosen"


@pytest.mark.parametrize("number", ["0", "99999", "-1", "9223372036854775807", "1e3", "x", "%00"])
@pytest.mark.parametrize("path", ["/submissions/{}", "/api/v1/submissions/{}"])
def test_unknown_submissions_are_refused(
    path: str, number: str, visits: Callable[[str, bool], Visit]
) -> None:
    visit = visits("ada", path.startswith("/api"))
    assert visit.get(path.format(number)).code in (404, 422)


def test_staff_of_a_section_see_only_its_students(visits: Callable[[str, bool], Visit]) -> None:
    ta, lead = (visits(who, False).get(f"/class/{LAB}").text for who in ("ta", "lead"))
    assert "Ada Lovelace" in ta and "Cyd" not in ta
    assert "Ada Lovelace" in lead and "Cyd" in lead
    assert visits("ta", False).get("/students/cyd").code == 404
    extension = {"student": "cyd", "due": "2027-04-01T12:00", "reason": "ill"}
    assert visits("ta", False).post(f"/class/{LAB}/extensions", **extension).code == 404


def test_scopes_of_a_token_are_kept(shared: Served, numbers: tuple[int, int]) -> None:
    reader, writer = (shared.program("ada@example.org", scope) for scope in ("read", "submit"))
    where = f"/api/v1/labs/{LAB}/submissions"
    assert reader.get("/api/v1/me").code == 200
    assert reader.upload(where, "a.cu", source(5)).code == 403
    assert writer.upload(where, "a.cu", source(5)).code == 201
    assert writer.get("/api/v1/me").code == 403
    graded = shared.book.submission(numbers[0])
    assert graded is not None and shared.book.grade(graded.id) is not None
    mine = shared.program(f"{graded.student}@example.org", "submit")
    again = mine.upload(where, graded.name, graded.data)
    assert (again.json["id"], again.json["grade"]) == (graded.id, None)

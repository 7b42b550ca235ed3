"""Who may do what: every route by every role, for own and others' things, as this table says.

The table is written from the issue's roles, not from the code: `own` are the things of Ada, who is
in section A; the TA teaches section A; Cyd is in section B.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from grader.gradebook.lti import Lti, NewRegistration
from grader.portal.access import ANYONE, RULES
from tests.portal.made import LAB, Served, Visit, source

# route: method, path, and the answers to: nobody, Ada, Ben (same section), Cyd, the TA of A, the
# instructor, the observer. S: 2xx, or a redirect that is the answer; 303: to the sign-in; N: 404;
# F: 403.
TABLE = """
home               GET   /                                 303 S S S S S S
account            GET   /account                          303 S S S S S S
new_token          POST  /account/tokens                   303 S S S S S S
revoke_token       POST  /account/tokens/1/revoke          303 N N N N N N
lab                GET   /labs/{lab}?student=ada           303 S N N S S S
submit             POST  /labs/{lab}/submissions           303 S S S F F F
submission         GET   /submissions/{id}                 303 S N N S S S
submission_source  GET   /submissions/{id}/source          303 S N N S S S
submission_events  GET   /submissions/{id}/events          303 S N N S S S
compare            GET   /compare?a={id}&b={second}        303 S N N S S S
api_compare        GET   /api/v1/compare?a={id}&b={second} 401 S N N S S S
class_page         GET   /class/{lab}                      303 F F F S S S
student_page       GET   /students/ada                     303 F F F S S S
similar            GET   /class/{lab}/similar              303 F F F S S S
similar_pair       GET   /class/{lab}/similar/{id}/{id}    303 F F F N N N
extend             POST  /class/{lab}/extensions           303 F F F S S F
skeleton           GET   /labs/{lab}/skeleton              303 S S S S S S
handout_figure     GET   /labs/{lab}/handout/1.svg         303 S S S S S S
api_files          GET   /api/v1/labs/{lab}/files          401 S S S S S S
groups             GET   /class/{lab}/groups               303 F F F S S S
set_group          POST  /class/{lab}/groups               303 F F F S S F
queue              GET   /queue                            303 F F F S S S
health             GET   /health                           303 F F F S S S
retry              POST  /queue/{lab}/retry                303 F F F S S F
audit              GET   /audit                            303 F F F F S F
requests           GET   /requests                         303 S S S S S S
request_page       GET   /requests/1                       303 S N N S S S
ask                POST  /submissions/{second}/requests    303 S N N F F F
reply              POST  /requests/1/messages              303 S N N S S F
comment            POST  /submissions/{id}/comments        303 F F F S S F
remove_comment     POST  /submissions/{id}/comments/{one}/remove  303 F F F S S F
close_request      POST  /requests/{one}/close             303 F F F S S F
release            POST  /class/{lab}/release              303 F F F F S F
points             POST  /class/{lab}/points               303 F F F S S F
choose             POST  /labs/{lab}/choice                303 422 N N F F F
regrades           GET   /regrades                         303 F F F F S S
regrade_page       GET   /regrades/{one}                   303 F F F F S S
start_regrade      POST  /class/{lab}/regrades             303 F F F F S F
decide_regrade     POST  /regrades/{one}/decision          303 F F F F S F
retry_regrade      POST  /regrades/{one}/retry             303 F F F F S F
view_as            POST  /students/ada/view                303 F F F S S F
end_view           POST  /view/end                         303 S S S S S S
sign_out           POST  /sign-out                         303 S S S S S S
board              GET   /labs/{lab}/board                 303 S S S S S S
join_board         POST  /labs/{lab}/board                 303 S S S F F F
leave_board        POST  /labs/{lab}/board/leave           303 S S S F F F
moderate_entry     POST  /labs/{lab}/board/entries         303 F F F S S F
api_board          GET   /api/v1/labs/{lab}/board          401 S S S S S S
api_join_board     POST  /api/v1/labs/{lab}/board          401 S S S F F F
api_leave_board    DELETE /api/v1/labs/{lab}/board         401 S S S F F F
api_me             GET   /api/v1/me                        401 S S S S S S
api_labs           GET   /api/v1/labs                      401 S S S S S S
api_submit         POST  /api/v1/labs/{lab}/submissions    401 S S S F F F
api_submissions    GET   /api/v1/labs/{lab}/submissions    401 S S S F F F
api_submission     GET   /api/v1/submissions/{id}          401 S N N S S S
api_requests       GET   /api/v1/submissions/{id}/requests 401 S N N S S S
api_ask            POST  /api/v1/submissions/{second}/requests 401 S N N F F F
api_health         GET   /api/v1/health                    401 F F F S S S
api_retry          POST  /api/v1/labs/{lab}/retry          401 F F F S S F
api_similar        GET   /api/v1/labs/{lab}/similar        401 F F F S S S
api_extensions     GET   /api/v1/labs/{lab}/extensions     401 F F F S S S
api_extend         POST  /api/v1/labs/{lab}/extensions     401 F F F S S F
api_groups         GET   /api/v1/labs/{lab}/groups         401 F F F S S S
api_set_group      POST  /api/v1/labs/{lab}/groups         401 F F F S S F
api_events         GET   /api/v1/submissions/{id}/events   401 S N N S S S
lti_platforms      GET   /lti/platforms                    303 F F F F S F
lti_add            POST  /lti/platforms                    303 F F F F S F
lti_remove         POST  /lti/platforms/{one}/remove       303 F F F F S F
lti_deploy         POST  /lti/platforms/{one}/deployments  303 F F F F S F
lti_undeploy       POST  /lti/platforms/deployments/{one}/remove  303 F F F F S F
lti_invite         POST  /lti/invitations                  303 F F F F S F
lti_repoint        POST  /lti/links/{one}                  303 F F F F S F
lti_forget         POST  /lti/people/{one}/forget          303 F F F F S F
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
    route, method, path, *expected = row
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

"""The web server's application of one course."""

from __future__ import annotations

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import compile_path

from grader import __version__
from grader.faults import MachineFault
from grader.portal import (
    api,
    api_staff,
    boards,
    comparing,
    groups,
    health,
    pages,
    regrades,
    signin,
    similar,
    staff,
    talk,
)
from grader.portal.access import ANYONE, RULES
from grader.portal.feed import Feed
from grader.portal.lti import deep_linking, entering, launch, platforms, register
from grader.portal.lti.entering import refused as refused_launch
from grader.portal.lti.refusals import Refused
from grader.portal.lti.standing import KeptStandings
from grader.portal.requests import (
    HEADERS,
    Guard,
    RateLimits,
    SignInNeeded,
    require_rules,
    site_of,
    typed_in,
    visitor_of,
)
from grader.portal.similar import Comparisons
from grader.portal.site import Site
from grader.portal.task import materials

COMPRESSION = 5
"""The level of gzip: higher ones take twice the time to save a few percent of a class page."""

BUSY = "The server cannot reach its database. Nothing is lost. Try again in a minute."
NOT_STORED = "The server cannot reach its database. Nothing was stored: send it again in a minute."
ENDED = "Your session has ended, and nothing was stored. Sign in, and send it again."

MODULES = (
    signin, pages, staff, groups, regrades, similar, health, talk, boards, comparing, api,
    api_staff, materials, launch, entering, deep_linking, register, platforms,
)  # fmt: skip
"""The modules with the routes, each by its `router`."""

KEPT = "31536000, immutable"
"""How long browsers keep a file whose address names its content."""


def create_app(site: Site) -> FastAPI:
    """Return the application. Raises ValueError for a route without a rule."""
    app = FastAPI(
        title=f"warpgrade: {site.course.name}", version=__version__, docs_url=None,
        redoc_url=None, openapi_url="/api/v1/openapi.json",
    )  # fmt: skip
    app.state.site, app.state.limits, app.state.feed = site, RateLimits(), Feed(site.progress)
    app.state.comparisons, app.state.grades = Comparisons(site), KeptStandings(site)
    routers = [module.router for module in MODULES]
    # `include_router` would analyze each route again, at the first request that passes it.
    app.router.routes.extend(route for router in routers for route in router.routes)
    app.add_api_route("/static/{name}", _static, name="static", include_in_schema=False)
    app.add_api_route("/favicon.ico", _favicon, name="favicon", include_in_schema=False)
    app.add_api_route("/healthy", _healthy, name="healthy", include_in_schema=False)
    app.add_exception_handler(SignInNeeded, _sign_in_needed)
    app.add_exception_handler(Refused, refused_launch)
    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(MachineFault, _failed)
    app.add_exception_handler(Exception, _broken)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=COMPRESSION)
    app.add_middleware(Guard)
    require_rules(app.routes, frozenset(RULES) | ANYONE)
    return app


def _static(request: Request, name: str) -> Response:
    found = site_of(request).static.get(name)
    if found is None:
        raise HTTPException(404, "there is no such page")
    kept = KEPT if request.url.query == site_of(request).asset(name).partition("?")[2] else "300"
    headers = {"Cache-Control": f"max-age={kept}"}
    return Response(found[1], media_type=found[0], headers=headers)


def _favicon(request: Request) -> Response:
    """Send the icon to browsers that look for it where no page names it."""
    return _static(request, "icon.svg")


def _healthy(request: Request) -> Response:
    """Say whether the database answers, for a proxy or a service manager."""
    site_of(request).progress.newest()
    return PlainTextResponse("ok\n")


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _sign_in_needed(request: Request, error: Exception) -> Response:
    if _is_api(request):
        headers = {"WWW-Authenticate": "Bearer"}
        return JSONResponse({"detail": "send a token"}, 401, headers)
    if request.headers.get("sec-fetch-dest") in ("iframe", "frame"):
        return refused_launch(request, Refused("session-ended"))  # no other site frames the sign-in
    if typed_in(request):
        return _answer(request, 401, ENDED, {})
    return RedirectResponse("/sign-in", 303)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405 and _is_api(request):
        headers["Allow"] = ", ".join(_methods(request))
    code, what = error.status_code, str(error.detail)
    if code == 400:  # of the framework, for a body that is no JSON or no form: 422 as others
        code, what = 422, "the body cannot be read"
    return _answer(request, code, what, headers)


def _methods(request: Request) -> list[str]:
    """Return all methods of a path of the API: each is a route of its own."""
    app: FastAPI = request.app
    found = (
        method.upper()
        for path, methods in app.openapi()["paths"].items()
        if compile_path(path)[0].match(request.url.path)
        for method in methods
    )
    return sorted(found)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = sorted({str(one["loc"][-1]) for one in error.errors()})
    return _answer(request, 422, f"missing or wrong: {', '.join(wrong)}", {})


def _failed(request: Request, error: Exception) -> Response:
    said = BUSY if request.method in ("GET", "HEAD") else NOT_STORED
    return _answer(request, 503, said, {"Retry-After": "30"})


def _broken(request: Request, error: Exception) -> Response:
    """Answer where the server has an error, which its log shows; no middleware is left around."""
    headers = {name.decode(): value.decode() for name, value in HEADERS}
    return _answer(request, 500, "the server has an error here, which its log shows", headers)


def _answer(request: Request, code: int, what: str, headers: dict[str, str]) -> Response:
    if _is_api(request):
        return JSONResponse({"detail": what}, code, headers)
    me = None
    if code < 500:
        try:
            me = visitor_of(request)
        except (MachineFault, HTTPException):
            me = None
    page = site_of(request).page("refused.html", me=me, what=what, typed=typed_in(request))
    return HTMLResponse(page, code, headers)

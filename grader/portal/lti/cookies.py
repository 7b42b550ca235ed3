"""Cookies in a platform's frame, where browsers keep only those that are marked for it.

`SameSite=None` lets a browser send them in a frame of another site, `Partitioned` keeps them even
where third-party cookies are blocked, apart for each platform. Both need `Secure`, and so HTTPS or
a loopback address. `http.cookies` knows `Partitioned` from Python 3.14 on only.
"""

from __future__ import annotations

from fastapi.responses import Response

from grader.gradebook.course_schema import is_private_or_https


def add_framed_cookie(
    answer: Response, url: str, name: str, value: str, seconds: int, path: str = "/"
) -> None:
    """Have the browser keep a cookie for the portal at `url` in the frame that it is shown in."""
    marks = "; Secure; SameSite=None; Partitioned" if is_private_or_https(url) else ""
    text = f"{name}={value}; Max-Age={seconds}; Path={path}; HttpOnly{marks}"
    answer.headers.append("Set-Cookie", text)


def drop_framed_cookie(answer: Response, url: str, name: str, path: str = "/") -> None:
    """Have the browser remove such a cookie."""
    add_framed_cookie(answer, url, name, "", 0, path)

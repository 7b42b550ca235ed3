"""The handouts of a course's labs as parts of its pages.

`grader portal handouts` builds them as `make handouts` does, into files without scripts and with
their figures inside. Of such a file a page shows what is allowed here: known elements, no styles,
links within the page, to labs and with https, and figures, which are sent one by one.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from threading import Lock

from grader import dataclass, regex
from grader.gradebook.course import Course
from grader.labs.model import Lab

FOLDER = "handouts"
"""The folder of the course with the built pages."""

MAX_BYTES = 32 << 20
_SVG = "data:image/svg+xml;base64,"
_VOID = frozenset(("br", "hr", "img"))
_KEPT = frozenset(
    ("h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "dl", "dt", "dd", "table", "thead")
    + ("tbody", "tr", "th", "td", "caption", "pre", "code", "em", "strong", "b", "i", "sup", "sub")
    + ("a", "figure", "figcaption", "img", "blockquote", "br", "hr", "kbd", "s", "u")
)
_DROPPED = frozenset(
    ("script", "style", "title", "template", "noscript", "svg", "math", "iframe", "object", "nav")
    + ("textarea", "select", "button", "form")
)
"""Elements that are left out with all that is in them."""

_LOWER = {"h1": "h2", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6"}
_LINK = regex(r"([a-z0-9-]+)\.html(#[\w-]+)?")


@dataclass(frozen=True)
class Handout:
    """A handout: the HTML for a page, its figures by name, and the file as it was built."""

    html: str
    figures: Mapping[str, bytes]
    file: bytes


class Handouts:
    """The built handouts of a course; a file that changes is read again."""

    def __init__(self, course: Course) -> None:
        self._course, self._lock = course, Lock()
        self._known: dict[str, tuple[tuple[int, int], Handout]] = {}

    def of(self, lab: str) -> Handout | None:
        """Return the handout of a lab; None when it is not built."""
        path = built_page(self._course, lab)
        try:
            state = path.stat()
            stamp = (state.st_mtime_ns, state.st_size)
            with self._lock:
                known = self._known.get(lab)
            if known is not None and known[0] == stamp:
                return known[1]
            if state.st_size > MAX_BYTES:
                return None
            data = path.read_bytes()
        except OSError:
            return None
        made = read_handout(data, lab, self._course.labs)
        with self._lock:
            self._known[lab] = (stamp, made)
        return made

    def unbuilt(self, labs: Iterable[Lab]) -> tuple[str, ...]:
        """Return the names of those labs that have a handout which no page can show yet."""
        return tuple(one.name for one in labs if one.handout.is_file() and not self.of(one.name))


def built_page(course: Course, lab: str) -> Path:
    """Return the file that a lab's handout is built into."""
    return course.folder / FOLDER / f"{lab}.html"


def read_handout(data: bytes, lab: str, labs: Collection[str]) -> Handout:
    """Return what a page of the lab may show of a built handout."""
    reader = _Allowed(lab, labs)
    reader.feed(data.decode("utf-8", "replace"))
    reader.close()
    return Handout(reader.html, reader.figures, data)


def skeleton_of(lab: Lab) -> str:
    """Return the text of a lab's skeleton; "" when there is none."""
    try:
        return lab.skeleton.read_text("utf-8", "replace")
    except OSError:
        return ""


class _Allowed(HTMLParser):
    """Writes again what is allowed, and nothing else."""

    def __init__(self, lab: str, labs: Collection[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._lab, self._labs = lab, labs
        self._parts: list[str] = []
        self._open: list[str] = []
        self._count: Counter[str] = Counter()  # of what is open: a list is slow to search
        self._hidden: list[str] = []
        self._in_body = False
        self.figures: dict[str, bytes] = {}

    @property
    def html(self) -> str:
        """What was allowed, with each element ended."""
        return "".join([*self._parts, *(f"</{tag}>" for tag in reversed(self._open))])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write an element that is allowed, with the attributes that are."""
        if tag == "body":
            self._in_body = True
        elif tag in _DROPPED:
            self._hidden.append(tag)
        elif self._in_body and not self._hidden and tag in _KEPT:
            name = _LOWER.get(tag, tag)
            given = {key: value or "" for key, value in attrs}
            written = self._attributes(tag, given)
            if tag == "img" and "src" not in written:
                self._parts.append(escape(given.get("alt", "")))
                return
            text = "".join(f' {key}="{escape(value)}"' for key, value in written.items())
            self._parts.append(f"<{name}{text}>")
            if tag not in _VOID:
                self._open.append(name)
                self._count[name] += 1

    def handle_endtag(self, tag: str) -> None:
        """End the newest element of that name, and those in it."""
        if self._hidden:
            if tag in self._hidden:
                while self._hidden.pop() != tag:
                    pass
            return
        name = _LOWER.get(tag, tag)
        if self._count[name]:
            while True:
                last = self._open.pop()
                self._count[last] -= 1
                self._parts.append(f"</{last}>")
                if last == name:
                    return

    def handle_data(self, data: str) -> None:
        """Write text as text."""
        if self._in_body and not self._hidden:
            self._parts.append(escape(data, quote=False))

    def _attributes(self, tag: str, given: Mapping[str, str]) -> dict[str, str]:
        found = {"id": f"handout-{given['id']}"} if given.get("id") else {}
        if tag == "a":
            found |= self._link(given.get("href", ""))
        elif tag == "img":
            found |= self._figure(given.get("src", "")) | {"alt": given.get("alt", "")}
            found |= {"class": given["class"]} if given.get("class") in ("wide", "narrow") else {}
        elif tag in ("th", "td"):
            aligned = "right" in given.get("style", "")
            found |= {"class": "n"} if aligned else {}
        return found

    def _link(self, to: str) -> dict[str, str]:
        if to.startswith("#"):
            return {"href": f"#handout-{to[1:]}"}
        match = _LINK.fullmatch(to)
        if match and match[1] in self._labs:
            return {"href": f"/labs/{match[1]}"}
        return {"href": to, "rel": "noreferrer"} if to.startswith("https://") else {}

    def _figure(self, source: str) -> dict[str, str]:
        if not source.startswith(_SVG):
            return {}
        try:
            data = base64.b64decode(source[len(_SVG) :], validate=True)
        except (binascii.Error, ValueError):
            return {}
        name = f"{len(self.figures) + 1}.svg"
        self.figures[name] = data
        return {"src": f"/labs/{self._lab}/handout/{name}"}

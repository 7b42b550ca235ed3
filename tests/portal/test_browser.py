"""The portal in a real browser: a student's and the staff's ways, and accessibility.

WARPGRADE_SCREENSHOTS=DIR keeps a picture of each page.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from grader.batch.task import Answer
from grader.portal.task.handouts import built_page
from tests.portal.made import (
    LAB,
    Served,
    grade_json,
    served,
    source,
    until,
    verified_grade,
    working,
)
from tests.reports.page.browser import DESK, PHONE, chromium, console

AXE = (files("axe_core_python") / "axe.min.js").read_text("utf-8")
RUN_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(
  found => done(found.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" | "))));
"""
MAX_WIDER = 1
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
LOOKS = [(DESK, False), (PHONE, True)]
"""The sizes and color schemes that are looked at: each once, and with pictures all pairs."""

if "WARPGRADE_SCREENSHOTS" in os.environ:
    LOOKS += [(DESK, True), (PHONE, False)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        driver.implicitly_wait(60)  # a form's answer may take longer than the click
        yield driver


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A course in which one student has submitted twice, and one waits."""
    with served(tmp_path_factory.mktemp("course")) as course:
        ada = course.signed_in("ada@example.org")
        numbers = [int(ada.submit(source(k)).to.rpartition("/")[2]) for k in (1, 2)]
        with working(course.book, course.site):
            until(lambda: all(course.book.grade(number) for number in numbers))
        teaching = course.book.teaching
        teaching.ask(1, "Why is the third check failed?\n\n    x = 1;", "ada@example.org")
        teaching.reply(1, "Look at line 3.", "ta@example.org", staff=True)
        teaching.comment(1, 0, "Well done in general.", "ta@example.org")
        teaching.comment(1, 3, "This is <b>good</b>. " * 9, "ta@example.org")
        teaching.start_regrade(LAB, (), "lead@example.org", "a new compiler")

        def better(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
            return Answer(task.number, grade_json(lab.name, 85.0))

        teaching.start_regrade("histogram", (), "lead@example.org", "nothing is there")
        with working(course.book, course.site, better):
            until(lambda: not teaching.pending(teaching.regrades()[1]))
        course.signed_in("cyd@example.org").submit(source(3))
        course.book.extend(LAB, "cyd", course.site.now(), "lead@example.org", "ill")
        course.book.groups.put(LAB, "ben", "A", "lead@example.org", "work together")
        handout = built_page(course.site.course, LAB)
        handout.parent.mkdir()
        handout.write_text(HANDOUT)
        for k, who in enumerate(("ben", "ben", "ada")):
            stored = course.book.submit(LAB, who, "b.cu", source(20 + k), received=NOON)
            claim = course.book.claim(stored.id, "key", "worker", 60)
            made = verified_grade(course.site.labs[LAB], (9 - k, 1, 320), speedup=1.5 - k / 4)
            lines = {"line": 9, "file": "", "instructions": ["ld.global.f32 %f1, [%rd1];"] * 9}
            made["ptx"] = [lines, {**lines, "line": 3}]
            found = {"kind": "race", "severity": "error", "message": "no barrier " * 9, "line": 3}
            made["checks"][k]["findings"] = [found]
            assert claim is not None and course.book.accept(claim, made)
            course.book.board.join(LAB, who, f"Fox of {who}", "test")
        course.book.board.join(LAB, "cyd", "Not yet", "test")
        course.book.board.hide(LAB, "cyd", "lead@example.org", "not a name")
        yield course


FIGURE = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='700' height='40'><style>rect{fill:green}"
    "</style><rect style='stroke:red' width='700' height='40'/></svg>"
)
HANDOUT = (
    "<html><body><h1>The idea</h1><p>Each thread adds one element.</p><table><thead><tr><th>a</th>"
    "</tr></thead><tbody><tr><td>1</td></tr></tbody></table><pre><code>x;</code></pre>"
    f"<img alt='a bar' src='data:image/svg+xml;base64,{b64encode(FIGURE.encode()).decode()}'>"
    "<p><a href='#the'>below</a></p></body></html>"
)


def size(driver: webdriver.Chrome, shape: tuple[int, int], *, dark: bool = False) -> None:
    width, height = shape
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": shape == PHONE}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def sign_in(driver: webdriver.Chrome, course: Served, email: str) -> None:
    """Sign in as a person does: ask for a link, open it, press the button."""
    driver.get(f"http://127.0.0.1:{course.port}/sign-in")
    driver.delete_all_cookies()
    driver.get(f"http://127.0.0.1:{course.port}/sign-in")
    driver.find_element(By.ID, "email").send_keys(email)
    driver.find_element(By.CSS_SELECTOR, "form.stack button").click()
    until(lambda: email in course.links)
    driver.get(f"http://127.0.0.1:{course.port}/{course.links.pop(email)}")
    asked = driver.current_url
    driver.find_element(By.CSS_SELECTOR, "form.stack button").click()
    until(lambda: driver.current_url != asked)  # else the next page could end the request


def picture(driver: webdriver.Chrome, name: str) -> None:
    if folder := os.environ.get("WARPGRADE_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        whole = {"captureBeyondViewport": True, "format": "png"}
        import base64

        data = driver.execute_cdp_cmd("Page.captureScreenshot", whole)["data"]
        (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(data))


def violations(driver: webdriver.Chrome) -> list[Any]:
    driver.execute_script(AXE)
    return list(driver.execute_async_script(RUN_AXE))


def test_the_quiz_and_the_handout_work_without_a_script(
    browser: webdriver.Chrome, site: Served
) -> None:  # fmt: skip
    """The figure is drawn, the answers are sent, and the next form begins with them."""
    size(browser, DESK)
    sign_in(browser, site, "ben@example.org")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"http://127.0.0.1:{site.port}/labs/{LAB}?start=skeleton")
        browser.find_element(By.CSS_SELECTOR, "details.handout summary").click()
        image = browser.find_element(By.CSS_SELECTOR, "details.handout img")
        assert (image.size["width"], image.size["height"]) == (700, 40)
        assert "TODO" in (browser.find_element(By.ID, "text").get_attribute("value") or "")
        browser.find_element(By.ID, "quiz-blocks").send_keys("33")
        browser.find_element(By.CSS_SELECTOR, "fieldset.question input[value=c]").click()
        browser.find_element(By.XPATH, "//form[@data-drop]//button[text()='Submit']").click()
        assert browser.find_element(By.ID, "now").text
        browser.get(f"http://127.0.0.1:{site.port}/labs/{LAB}")
        assert browser.find_element(By.ID, "quiz-blocks").get_attribute("value") == "33"
        chosen = browser.find_element(By.CSS_SELECTOR, "fieldset.question input[value=c]")
        assert chosen.is_selected()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    for shape, dark in LOOKS:
        size(browser, shape, dark=dark)
        browser.get(f"http://127.0.0.1:{site.port}/labs/{LAB}")
        browser.find_element(By.CSS_SELECTOR, "details.handout summary").click()
        picture(browser, f"handout-{shape[0]}-{'dark' if dark else 'light'}")
        assert violations(browser) == [], (shape, dark)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= shape[0] + MAX_WIDER
    assert console(browser) == []


def test_a_student_submits_watches_and_compares(
    browser: webdriver.Chrome, course: Served, tmp_path: Path
) -> None:
    size(browser, DESK)
    sign_in(browser, course, "ben@example.org")
    browser.find_element(By.LINK_TEXT, "Vector addition").click()
    file = tmp_path / "mine.cu"
    file.write_bytes(source(1))
    browser.find_element(By.ID, "file").send_keys(str(file))
    browser.find_element(By.CSS_SELECTOR, "form.stack button").click()
    assert "next one to be graded" in browser.find_element(By.ID, "now").text
    with working(course.book, course.site):
        WebDriverWait(browser, 60).until(lambda b: "70 of 100" in b.page_source)
        browser.find_element(By.LINK_TEXT, "All submissions").click()
        editor = browser.find_element(By.CSS_SELECTOR, ".editor").shadow_root
        editor.find_element(By.CSS_SELECTOR, ".cm-content").send_keys("// nothing")
        browser.find_element(By.CSS_SELECTOR, "form.stack button").click()
        WebDriverWait(browser, 60).until(lambda b: "Compare with" in b.page_source)
    browser.find_element(By.CSS_SELECTOR, "form.row button").click()
    assert "// nothing" in browser.find_element(By.CSS_SELECTOR, "pre.diff").text
    assert console(browser) == []
    browser.get("about:blank")  # before the server ends, which its pages would report


PAGES = {
    "sign-in": ("", "/sign-in"),
    "refused": ("", "/sign-in/nothing"),
    "labs": ("ada", "/"),
    "lab": ("ada", f"/labs/{LAB}"),
    "feedback": ("ada", "/submissions/1"),
    "compare": ("ada", "/compare?a=1&b=2"),
    "account": ("ada", "/account"),
    "compare-all": ("ben", "/compare?a=4&b=5"),
    "feedback-ptx": ("ben", "/submissions/4"),
    "board": ("ben", f"/labs/{LAB}/board"),
    "board-staff": ("lead", f"/labs/{LAB}/board"),
    "board-alone": ("cyd", f"/labs/{LAB}/board"),
    "student-plots": ("lead", "/students/ben"),
    "waiting": ("cyd", "/submissions/3"),
    "staff": ("lead", "/"),
    "class": ("lead", f"/class/{LAB}"),
    "student": ("lead", "/students/ada"),
    "groups": ("lead", f"/class/{LAB}/groups"),
    "queue": ("lead", "/queue"),
    "health": ("lead", "/health"),
    "similar": ("lead", f"/class/{LAB}/similar"),
    "audit": ("lead", "/audit"),
    "feedback-staff": ("lead", "/submissions/1"),
    "regrades": ("lead", "/regrades"),
    "view": ("lead", "/"),
    "regrade": ("lead", "/regrades/1"),
    "requests": ("lead", "/requests"),
    "request": ("ada", "/requests/1"),
    "request-staff": ("lead", "/requests/1"),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_accessible_and_fit(name: str, browser: webdriver.Chrome, site: Served) -> None:
    who, path = PAGES[name]
    browser.get(f"http://127.0.0.1:{site.port}/healthy")
    console(browser)
    browser.delete_all_cookies()
    if who:
        cookie = site.signed_in(f"{who}@example.org").cookie.partition("=")
        browser.add_cookie({"name": cookie[0], "value": cookie[2]})
    if name == "view":
        browser.add_cookie({"name": "warpgrade-view", "value": "ada"})
    for shape, dark in LOOKS:
        size(browser, shape, dark=dark)
        browser.get(f"http://127.0.0.1:{site.port}{path}")
        picture(browser, f"{name}-{shape[0]}-{'dark' if dark else 'light'}")
        assert violations(browser) == [], (shape, dark)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= shape[0] + MAX_WIDER
    assert console(browser) == []

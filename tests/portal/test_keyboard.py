"""The portal with the keyboard alone: from the sign-in to a request about the grade."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.portal.made import LAB, Served, served, until, working
from tests.reports.page.browser import chromium, console

MOST_TABS = 60
FOCUS = """
let at = document.activeElement, hosts = [];
if (at === document.body) return ["BODY", true];
while (at.shadowRoot && at.shadowRoot.activeElement) {
  hosts.push(at);
  at = at.shadowRoot.activeElement;
}
const label = at.labels && at.labels.length ? at.labels[0].innerText : "";
const name = label || at.getAttribute("aria-label") || at.innerText || at.value || at.tagName;
const outlined = one => {
  const style = getComputedStyle(one);
  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
};
let visible = outlined(at);
for (let up = at; hosts.length && up && !visible; up = up.parentElement) visible = outlined(up);
const box = at.getBoundingClientRect();
return [name.trim(), visible && box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0];
"""
"""What has the focus, by the name that is announced, and whether one sees that it has."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        driver.implicitly_wait(60)
        yield driver


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("course")) as one:
        yield one


def press(driver: webdriver.Chrome, *keys: str) -> None:
    ActionChains(driver).send_keys(*keys).perform()


def tab_to(driver: webdriver.Chrome, wanted: str) -> list[str]:
    """Press Tab until an element of that name has the focus; return the names on the way.

    Each of them shows that it has the focus, and the way has no circle that leaves it out.
    """
    passed: list[str] = []
    for _ in range(MOST_TABS):
        press(driver, Keys.TAB)
        name, visible = driver.execute_script(FOCUS)
        if name == "BODY":  # after the last element, before the first one again
            continue
        if not visible:  # the editor draws its outline a moment after it has the focus
            until_seen(driver, name)
        passed.append(name)
        if name.startswith(wanted):
            return passed
    raise AssertionError(f"Tab does not reach `{wanted}`: {passed}")


def until_seen(driver: webdriver.Chrome, name: str) -> None:
    unseen = f"one does not see that `{name}` has the focus"
    WebDriverWait(driver, 60).until(lambda d: d.execute_script(FOCUS) == [name, True], unseen)


def gone(driver: webdriver.Chrome, path: str) -> None:
    """Wait until the answer to Enter is there."""
    WebDriverWait(driver, 60).until(lambda d: path in d.current_url)
    WebDriverWait(driver, 60).until(
        lambda d: d.execute_script("return document.readyState") == "complete"
    )


def test_a_student_needs_the_keyboard_alone(browser: webdriver.Chrome, course: Served) -> None:
    here = f"http://127.0.0.1:{course.port}"
    browser.get(f"{here}/sign-in")
    assert tab_to(browser, "Your e-mail")[0] == "Skip to the content"
    press(browser, "ben@example.org")
    tab_to(browser, "Send me a link")
    press(browser, Keys.ENTER)
    until(lambda: "ben@example.org" in course.links)
    browser.get(f"{here}/{course.links.pop('ben@example.org')}")
    tab_to(browser, "Sign in")
    press(browser, Keys.ENTER)
    WebDriverWait(browser, 60).until(lambda d: d.find_elements(By.LINK_TEXT, "Vector addition"))
    tab_to(browser, "Vector addition")
    press(browser, Keys.ENTER)
    gone(browser, f"/labs/{LAB}")
    assert "Escape and then Tab leaves the editor" in browser.find_element(By.ID, "content").text
    tab_to(browser, "The text of the submission")
    press(browser, "__global__ void f() {}", Keys.ENTER, Keys.TAB, "// mine")
    name, visible = browser.execute_script(FOCUS)
    assert name.startswith("The text of") and visible, "Tab indents in the editor"
    press(browser, Keys.ESCAPE)
    assert not tab_to(browser, "Submit")[0].startswith("The text"), "and Escape leaves it"
    press(browser, Keys.ENTER)
    gone(browser, "/submissions/1")
    stored = course.book.submission(1)
    assert stored is not None and b"\n    // mine" in stored.data
    with working(course.book, course.site):
        WebDriverWait(browser, 60).until(lambda d: "70 of 100" in d.page_source)
    heading = browser.execute_script("return document.activeElement.tagName")
    assert heading == "H1", "the result is where the reader is"
    tab_to(browser, "Ask for another look")
    press(browser, Keys.ENTER)
    tab_to(browser, "What do you think is wrong?")
    press(browser, "Why is the third check failed?")
    tab_to(browser, "Ask")
    press(browser, Keys.ENTER)
    gone(browser, "/requests/1")
    (one,) = course.book.teaching.requests()
    assert [said.body for said in one.messages] == ["Why is the third check failed?"]
    tab_to(browser, "Sign out")
    press(browser, Keys.ENTER)
    gone(browser, "/sign-in")
    assert console(browser) == []
    browser.get("about:blank")


def test_no_page_keeps_the_focus(browser: webdriver.Chrome, course: Served) -> None:
    """On every page Tab comes round to the first link again, and no element takes it forever."""
    lead, ada = (course.signed_in(f"{who}@example.org") for who in ("lead", "ada"))
    for visit, paths in (
        (lead, ("/", f"/class/{LAB}", "/students/ben", "/queue", "/health", "/account")),
        (ada, ("/", "/requests", "/account")),
    ):
        browser.get(f"http://127.0.0.1:{course.port}/healthy")
        browser.delete_all_cookies()
        name, _, value = visit.cookie.partition("=")
        browser.add_cookie({"name": name, "value": value})
        for path in paths:
            browser.get(f"http://127.0.0.1:{course.port}{path}")
            tab_to(browser, "Skip to the content")
            assert "Sign out" in tab_to(browser, "Skip to the content"), path

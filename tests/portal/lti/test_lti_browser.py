"""Launches in a real browser that blocks third-party cookies, in a frame of another site.

The platform is `localhost`, the portal 127.0.0.1: two sites for a browser. The platform's page
keeps data for frames, as LTI postMessage Storage says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from grader.portal.lti import entering, launch
from tests.command import PATIENCE
from tests.portal.lti.guide import put
from tests.portal.lti.launching import CLIENT, Platform, launching
from tests.portal.made import LAB, Served, served, until
from tests.portal.test_browser import AXE, RUN_AXE
from tests.reports.page.browser import chromium, console

WIDTH = 600
LOOK_SECONDS = 5
"""Of one look at a page, before the next: a frame that changes its site answers none meanwhile."""

STORAGE = """
const kept = {}; window.seen = [];
addEventListener("message", (event) => {
  const asked = event.data;
  if (event.origin !== "PORTAL") return;
  window.seen.push(asked.subject);
  if (asked.subject === "lti.put_data") kept[asked.key] = asked.value;
  event.source.postMessage({subject: asked.subject + ".response", message_id: asked.message_id,
                            key: asked.key, value: kept[asked.key]}, event.origin);
});
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """A browser that keeps no cookies of other sites in frames."""
    profile = tmp_path_factory.mktemp("profile")
    (profile / "Default").mkdir()
    blocked = {"cookie_controls_mode": 1, "block_third_party_cookies": True}
    (profile / "Default" / "Preferences").write_text(json.dumps({"profile": blocked}))
    with chromium(profile, preferences=True) as driver:
        yield driver


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        one.site.url = f"http://127.0.0.1:{one.port}"
        yield one


@pytest.fixture
def platform(
    course: Served, browser: webdriver.Chrome, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Platform]:
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    with launching("localhost") as one:
        one.registered(course)
        yield one
    browser.switch_to.default_content()
    browser.get("about:blank")


def begun_at(course: Served, platform: Platform, user: str, more: str = "") -> str:
    """The address with which the platform begins a launch."""
    return (
        f"{course.site.url}/lti/login?iss={quote(platform.url)}&login_hint={user}"
        f"&client_id={CLIENT}&target_link_uri={quote(course.site.url)}/lti/launch{more}"
    )


def show(
    browser: webdriver.Chrome, course: Served, platform: Platform, user: str = "ada",
    storage: bool = True,
) -> None:  # fmt: skip
    """Open the platform's page with the portal in a frame; go on in the frame."""
    address = begun_at(course, platform, user, "&lti_storage_target=_parent" if storage else "")
    script = STORAGE.replace("PORTAL", course.site.url) if storage else ""
    platform.pages["/course"] = (
        f"<!DOCTYPE html><script>{script}</script><h1>The platform's course</h1>"
        f'<iframe name="tool" width="{WIDTH}" height="700" src="{address.replace("&", "&amp;")}">'
    )
    browser.execute_cdp_cmd("Page.bringToFront", {})  # timers of a window behind are slow
    browser.get(f"{platform.url}/course")
    browser.switch_to.frame("tool")


def until_shown(browser: webdriver.Chrome, text: str, css: str = "h1") -> None:
    def shown(driver: webdriver.Chrome) -> bool:
        driver.set_script_timeout(LOOK_SECONDS)
        try:
            found: str = driver.execute_script(
                "return [...document.querySelectorAll(arguments[0])]"
                ".filter(e => e.checkVisibility()).map(e => e.textContent).join('|')", css
            )  # fmt: skip
        except WebDriverException:
            return False
        return text in found

    WebDriverWait(browser, PATIENCE).until(shown)


def check_page(browser: webdriver.Chrome) -> None:
    """No accessibility problem, and nothing wider than the frame."""
    browser.set_script_timeout(PATIENCE)  # axe takes long on a busy machine
    browser.execute_script(AXE)
    reported = RUN_AXE.rstrip().removesuffix(");") + ", fault => done([String(fault)]));"
    assert browser.execute_async_script(reported) == []
    width = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    assert width <= 1


def without_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark cookies as for any frame, which a browser that blocks third-party cookies drops."""

    def add(
        answer: Any, url: str, name: str, value: str, seconds: int, path: str = "/"
    ) -> None:  # fmt: skip
        text = f"{name}={value}; Max-Age={seconds}; Path={path}; HttpOnly; Secure; SameSite=None"
        answer.headers.append("Set-Cookie", text)

    for module in (launch, entering):
        monkeypatch.setattr(module, "add_framed_cookie", add)


def title_of(course: Served) -> str:
    return course.site.labs[LAB].title


def test_a_lab_opens_in_the_platforms_frame(
    browser: webdriver.Chrome, course: Served, platform: Platform
) -> None:
    console(browser)
    show(browser, course, platform)
    until_shown(browser, title_of(course))
    assert "Ada Lovelace" in browser.find_element(By.TAG_NAME, "nav").text
    check_page(browser)
    browser.find_element(By.LINK_TEXT, "Ada Lovelace").click()
    until_shown(browser, "Ada Lovelace")
    browser.find_element(By.ID, "name").send_keys("laptop")
    browser.find_element(By.XPATH, "//button[text()='Make a token']").click()
    until_shown(browser, "The new token", ".remark")
    browser.switch_to.default_content()
    assert browser.execute_script("return window.seen") == [], "the cookie was enough"
    assert [line for line in console(browser) if "SEVERE" in line or "Refused" in line] == []


def test_the_platforms_storage_and_a_window_work_without_cookies(
    browser: webdriver.Chrome, course: Served, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_partition(monkeypatch)
    show(browser, course, platform)
    until_shown(browser, "You are signed in", "h2")
    check_page(browser)
    browser.switch_to.default_content()
    seen = browser.execute_script("return window.seen")
    assert seen[:2] == ["lti.put_data", "lti.get_data"]
    browser.switch_to.frame("tool")
    first = browser.current_window_handle
    browser.find_element(By.XPATH, "//button[text()='Open in a new window']").click()
    WebDriverWait(browser, PATIENCE).until(lambda driver: len(driver.window_handles) == 2)
    (new,) = set(browser.window_handles) - {first}
    browser.switch_to.window(new)
    until_shown(browser, title_of(course))
    assert "Ada Lovelace" in browser.find_element(By.TAG_NAME, "nav").text
    browser.delete_all_cookies()
    browser.close()
    browser.switch_to.window(first)


def test_without_cookies_and_storage_the_page_offers_a_window(
    browser: webdriver.Chrome, course: Served, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_partition(monkeypatch)
    show(browser, course, platform, storage=False)
    until_shown(browser, "Open the lab", "h2")
    check_page(browser)
    first = browser.current_window_handle
    browser.find_element(By.LINK_TEXT, "Open in a new window").click()
    WebDriverWait(browser, PATIENCE).until(lambda driver: len(driver.window_handles) == 2)
    (new,) = set(browser.window_handles) - {first}
    browser.switch_to.window(new)
    until_shown(browser, title_of(course))
    browser.delete_all_cookies()
    browser.close()
    browser.switch_to.window(first)


def test_labs_are_chosen_in_the_frame_and_sent_back(
    browser: webdriver.Chrome, course: Served, platform: Platform
) -> None:
    platform.alter = lambda claims: platform.deep_linking(claims, accept_multiple=True)
    show(browser, course, platform, "lead")
    until_shown(browser, "Choose labs")
    check_page(browser)
    browser.find_element(By.CSS_SELECTOR, "input[type=checkbox]").click()
    browser.find_element(By.XPATH, "//button[text()='Add']").click()
    until(lambda: platform.posted)
    assert [set(fields) for fields in platform.posted] == [{"JWT"}]


def test_staff_see_the_course_as_a_student_in_the_frame(
    browser: webdriver.Chrome, course: Served, platform: Platform
) -> None:
    show(browser, course, platform, "lead")
    until_shown(browser, title_of(course))
    browser.find_element(By.LINK_TEXT, "Ada Lovelace").click()
    until_shown(browser, "See the course as Ada Lovelace", "button")
    browser.find_element(By.XPATH, "//button[text()='See the course as Ada Lovelace']").click()
    until_shown(browser, "You see what Ada Lovelace sees", ".viewed")
    browser.find_element(By.LINK_TEXT, title_of(course)).click()
    until_shown(browser, "You see what Ada Lovelace sees", ".viewed")
    browser.find_element(By.CSS_SELECTOR, ".viewed button").click()
    until_shown(browser, "See the course as Ada Lovelace", "button")
    assert not browser.find_elements(By.CLASS_NAME, "viewed")


def test_a_refusal_is_readable_in_a_frame(
    browser: webdriver.Chrome, course: Served, platform: Platform
) -> None:
    platform.alter = put(email="nobody@example.org")
    show(browser, course, platform)
    until_shown(browser, "The portal cannot open this")
    check_page(browser)
    assert "not in the course" in browser.find_element(By.TAG_NAME, "main").text


def test_another_sites_page_cannot_show_a_session(
    browser: webdriver.Chrome, course: Served, platform: Platform
) -> None:
    show(browser, course, platform)
    until_shown(browser, title_of(course))
    course.book.lti.remove(course.book.lti.clients_of(platform.url)[0].id, "test")
    course.site.sections_seconds = 0.0
    browser.switch_to.default_content()
    browser.execute_script(
        "document.querySelector('iframe').src = arguments[0]", f"{course.site.url}/labs/{LAB}"
    )

    def blocked(driver: webdriver.Chrome) -> bool:
        return any("frame-ancestors" in line for line in console(driver))

    WebDriverWait(browser, PATIENCE).until(blocked)


def test_the_own_pages_are_accessible(
    browser: webdriver.Chrome, course: Served, platform: Platform
) -> None:
    lead = course.site.people.find("lead@example.org")
    assert lead is not None
    browser.get(f"{course.site.url}/sign-in/{course.site.people.new_link(lead.who)}")
    browser.find_element(By.XPATH, "//main//button").click()
    until_shown(browser, "CUDA", "nav")
    one = course.book.lti.clients_of(platform.url)[0]
    place = course.book.lti.deployments(one.id)[0]
    course.book.lti.new_link(place.id, "course", "link", "A link")
    course.book.lti.know(one.id, "u1", "student:ada", "test")
    browser.get(f"{course.site.url}/lti/platforms")
    until_shown(browser, "Learning platforms")
    check_page(browser)
    browser.find_element(By.XPATH, "//button[text()='Make an address']").click()
    until_shown(browser, "/lti/register/", ".remark")
    check_page(browser)
    browser.delete_all_cookies()

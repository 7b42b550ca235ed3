"""The editor, the plots and the pages that refresh themselves, in a real browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from grader.batch.task import Answer, BatchOptions, Task
from grader.grading.pipeline import Progress
from grader.labs.model import Lab
from grader.launch import Finding
from tests.made import a_grade, a_result
from tests.portal.made import LAB, Served, served, source, until, working
from tests.portal.test_browser import LOOKS, picture, size, violations
from tests.reports.page.browser import DESK, chromium, console, requests

ASSETS = Path(__file__).parents[2] / "grader" / "portal" / "assets"
STATIC = ASSETS.parent / "static"
LINES = source(1).decode().split("\n")
MARKED = next(k for k, line in enumerate(LINES, start=1) if "__global__" in line)
SECOND = next(k for k, line in enumerate(LINES, start=1) if k > MARKED and line.strip())
HOSTILE = """\
// </textarea><img src=x onerror="document.title='taken'">
"""


def with_findings(lab: Lab, task: Task, options: BatchOptions, progress: Progress) -> Answer:
    """Grade at once: a finding at each of two lines, one that has none; more points each time."""
    progress("compile", 1, 1)
    found = (
        Finding("race", "error", "no barrier <b>here</b>", line=MARKED, file="a.cu"),
        Finding("unused", "warning", "not read", line=SECOND, file="a.cu"),
        Finding("wrong-output", "error", "in general", file="a.cu"),
    )
    points = 40.0 + 10 * task.number
    check = a_result("output", "fail", points, 100.0, findings=found)
    return Answer(task.number, a_grade(check, lab=lab.name, file="a.cu").to_json())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A course in which one student has three graded submissions, another has one."""
    with served(tmp_path_factory.mktemp("course")) as course:
        ada, ben = course.signed_in("ada@example.org"), course.signed_in("ben@example.org")
        sent = [ada.submit(source(1)), ada.submit(HOSTILE.encode() + source(2))]
        sent += [ada.submit(source(3)), ben.submit(source(4))]
        numbers = [int(one.to.rpartition("/")[2]) for one in sent]
        with working(course.book, course.site, with_findings):
            until(lambda: all(course.book.grade(number) for number in numbers))
        yield course


def visit(driver: webdriver.Chrome, site: Served, who: str, path: str) -> None:
    driver.get(f"http://127.0.0.1:{site.port}/healthy")
    driver.delete_all_cookies()
    name, _, value = site.signed_in(f"{who}@example.org").cookie.partition("=")
    driver.add_cookie({"name": name, "value": value})
    console(driver)
    requests(driver)
    driver.get(f"http://127.0.0.1:{site.port}{path}")


def inside(driver: webdriver.Chrome, selector: str) -> list[WebElement]:
    """Elements of the editor, which has a shadow root of its own."""
    root = driver.find_element(By.CSS_SELECTOR, ".editor").shadow_root
    return root.find_elements(By.CSS_SELECTOR, selector)


def color(element: WebElement) -> str:
    return element.value_of_css_property("color")


def focused(driver: webdriver.Chrome) -> str:
    return str(driver.execute_script("return document.activeElement.className"))


def text_of(driver: webdriver.Chrome) -> str:
    return str(driver.execute_script("return document.getElementById('text').value"))


def test_the_editor_highlights_and_submits(browser: webdriver.Chrome, course: Served) -> None:
    size(browser, DESK)
    visit(browser, course, "ben", f"/labs/{LAB}")
    assert not browser.find_element(By.ID, "text").is_displayed()
    content = inside(browser, ".cm-content")[0]
    content.click()
    content.send_keys("// threadIdx\n__global__ void f() { int a = threadIdx.x; }")
    words = inside(browser, ".cm-cuda")
    assert [one.text for one in words] == ["__global__", "threadIdx"]
    (keyword,) = [one for one in inside(browser, ".cm-line span") if one.text == "int"]
    assert len({color(content), color(words[0]), color(keyword)}) == 3
    assert [one.text for one in inside(browser, ".cm-lineNumbers .cm-gutterElement")][-2:] == [
        "1", "2",
    ]  # fmt: skip
    content.send_keys(Keys.ARROW_LEFT)
    assert len(inside(browser, ".cm-matchingBracket")) in (1, 2)
    assert text_of(browser).startswith("// threadIdx\n__global__")
    with working(course.book, course.site, with_findings):
        content.send_keys(Keys.CONTROL, Keys.ENTER)
        WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.LINK_TEXT, "Edit"))
    stored = course.book.submission(1)
    assert stored is not None and stored.data.decode().startswith("// threadIdx\n__global__")
    assert browser.current_url.endswith("/submissions/1")
    assert console(browser) == []


def test_tab_indents_and_escape_leaves(browser: webdriver.Chrome, site: Served) -> None:
    size(browser, DESK)
    visit(browser, site, "cyd", f"/labs/{LAB}")
    inside(browser, ".cm-content")[0].click()
    keys = ActionChains(browser)
    keys.send_keys("x", Keys.HOME, Keys.TAB).perform()
    assert text_of(browser) == "    x"
    assert focused(browser) == "editor"
    ActionChains(browser).send_keys(Keys.ESCAPE, Keys.TAB).perform()
    assert browser.execute_script("return document.activeElement.id") == "quiz-blocks"
    assert text_of(browser) == "    x"
    assert "Escape and then Tab" in browser.find_element(By.ID, "content").text
    assert console(browser) == []


def test_a_submission_is_edited_with_marks_at_its_findings(
    browser: webdriver.Chrome, site: Served
) -> None:
    size(browser, DESK)
    visit(browser, site, "ada", "/submissions/1")
    browser.find_element(By.LINK_TEXT, "Edit").click()
    assert text_of(browser).rstrip("\n") == source(1).decode().rstrip("\n")
    browser.execute_script(
        "document.querySelector('.editor').shadowRoot.querySelector('.cm-scroller')"
        f".scrollTop = {MARKED - 3} * 20"
    )
    (error,) = WebDriverWait(browser, 60).until(lambda b: inside(b, ".cm-lintRange-error"))
    assert error.text.strip() and error.text.strip() in LINES[MARKED - 1]
    (warning,) = inside(browser, ".cm-lintRange-warning")
    assert warning.text.strip() in LINES[SECOND - 1]
    inside(browser, ".cm-content")[0].click()
    ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.HOME).key_up(Keys.CONTROL).perform()
    ActionChains(browser).send_keys(Keys.F8).perform()
    (said,) = WebDriverWait(browser, 60).until(lambda b: inside(b, ".cm-diagnostic"))
    assert "no barrier <b>here</b>" in said.text
    assert len(inside(browser, ".cm-lint-marker")) == 2
    assert console(browser) == []


PAGES: Mapping[str, tuple[str, str]] = {
    "editor": ("ben", f"/labs/{LAB}"),
    "editing": ("ada", f"/labs/{LAB}?edit=1"),
}


def open_panels(driver: webdriver.Chrome) -> None:
    """Open the list of findings, show the next one, and open the search."""
    inside(driver, ".cm-content")[0].click()
    with_shift = ActionChains(driver).key_down(Keys.CONTROL).key_down(Keys.SHIFT).send_keys("m")
    with_shift.key_up(Keys.SHIFT).key_up(Keys.CONTROL).perform()
    ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    inside(driver, ".cm-content")[0].click()
    ActionChains(driver).send_keys(Keys.F8).perform()
    ActionChains(driver).key_down(Keys.CONTROL).send_keys("f").key_up(Keys.CONTROL).perform()
    WebDriverWait(driver, 60).until(lambda b: inside(b, ".cm-search input"))


@pytest.mark.parametrize("name", PAGES)
def test_pages_with_the_editor_are_accessible(
    name: str, browser: webdriver.Chrome, site: Served
) -> None:
    who, path = PAGES[name]
    for shape, dark in LOOKS:
        size(browser, shape, dark=dark)
        visit(browser, site, who, path)
        WebDriverWait(browser, 60).until(lambda b: inside(b, ".cm-line"))
        picture(browser, f"{name}-{shape[0]}-{'dark' if dark else 'light'}")
        assert violations(browser) == [], (shape, dark)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= shape[0]
        assert console(browser) == []
        open_panels(browser)
        picture(browser, f"{name}-panels-{shape[0]}-{'dark' if dark else 'light'}")
        assert violations(browser) == [], (shape, dark)
        assert console(browser) == []
        own = f"http://127.0.0.1:{site.port}/"
        asked = [one for one in requests(browser) if not one.startswith("data:")]
        assert f"{own}labs" in asked[0] and [o for o in asked if not o.startswith(own)] == []


def test_hostile_text_stays_text(browser: webdriver.Chrome, site: Served) -> None:
    size(browser, DESK)
    visit(browser, site, "ada", f"/labs/{LAB}?edit=2")
    assert text_of(browser).startswith(HOSTILE)
    assert browser.title != "taken" and browser.find_elements(By.CSS_SELECTOR, "img") == []
    assert console(browser) == []


def test_points_are_plotted_and_said(browser: webdriver.Chrome, site: Served) -> None:
    size(browser, DESK)
    visit(browser, site, "ada", f"/labs/{LAB}")
    (plot,) = browser.find_elements(By.CSS_SELECTOR, ".history canvas")
    assert plot.size["width"] > 300
    said = browser.find_element(By.CSS_SELECTOR, ".history div").get_attribute("aria-label")
    assert said is not None and said in browser.find_element(By.ID, "content").text
    assert all(f"for submission {number}" in said for number in (1, 2, 3))
    drawn = "return [...arguments[0].getContext('2d').getImageData(0, 0, arguments[0].width, 200)"
    assert len(set(browser.execute_script(drawn + ".data]", plot))) > 3
    visit(browser, site, "ben", f"/labs/{LAB}")
    assert browser.find_elements(By.CSS_SELECTOR, ".history") == []


def test_parts_refresh_without_a_reload(browser: webdriver.Chrome, course: Served) -> None:
    size(browser, DESK)
    student = course.signed_in("ada@example.org")
    number = int(student.submit(source(1)).to.rpartition("/")[2])
    visit(browser, course, "ada", f"/labs/{LAB}")
    browser.execute_script("window.same = true")
    with working(course.book, course.site, with_findings):
        until(lambda: course.book.grade(number))
        WebDriverWait(browser, 60).until(lambda b: "fail: output" in b.page_source)
    assert browser.execute_script("return window.same")
    total = browser.find_element(By.ID, "total").text
    assert "of 100" in total
    again = student.submit(source(7)).to
    visit(browser, course, "ada", again)
    browser.execute_script("window.same = true")
    with working(course.book, course.site, with_findings):
        WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.LINK_TEXT, "Edit"))
    assert browser.execute_script("return window.same")
    assert browser.execute_script("return document.activeElement.tagName") == "H1"
    assert browser.title.startswith("Ada Lovelace") and browser.current_url.endswith(again)
    assert console(browser) == []
    visit(browser, course, "lead", "/queue")
    browser.execute_script("window.same = true")
    student.submit(source(2))
    WebDriverWait(browser, 60).until(lambda b: "0 before it" in b.page_source)
    assert browser.execute_script("return window.same")
    course.site.people.end_session(browser.get_cookies()[0]["value"])
    asked = len(requests(browser))
    WebDriverWait(browser, 60).until(lambda b: "/sign-in" in str(requests(b)))
    assert asked and "0 before it" in browser.page_source
    assert [one for one in console(browser) if "Content Security" in one] == []


def test_without_scripts_the_same_is_possible(browser: webdriver.Chrome, course: Served) -> None:
    size(browser, DESK)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit(browser, course, "ben", f"/labs/{LAB}")
        field = browser.find_element(By.ID, "text")
        assert field.is_displayed()
        field.send_keys(source(1).decode())
        with working(course.book, course.site, with_findings):
            browser.find_element(By.CSS_SELECTOR, "form.stack button").click()
            WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.LINK_TEXT, "Edit"))
        browser.find_element(By.LINK_TEXT, "Edit").click()
        marks = browser.find_element(By.CSS_SELECTOR, "ul[aria-label*=findings]").text
        assert f"line {MARKED}: race: no barrier <b>here</b>" in marks
        field = browser.find_element(By.ID, "text")
        assert field.is_displayed() and "__global__" in (field.get_attribute("value") or "")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("number", [4, 5, 0, -1, 1 << 70, "x"])
def test_only_own_submissions_are_edited(number: Any, site: Served) -> None:
    """Submission 4 is another student's, the others are none."""
    reply = site.signed_in("ada@example.org").get(f"/labs/{LAB}?edit={number}")
    assert reply.code == (422 if number == "x" else 404)


def test_hidden_findings_make_no_marks(course: Served) -> None:
    student = course.signed_in("ada@example.org")
    number = int(student.submit(source(1)).to.rpartition("/")[2])
    with working(course.book, course.site):
        until(lambda: course.book.grade(number))
    page = student.get(f"/labs/{LAB}?edit={number}").text
    assert "SECRET-CASE" not in page and source(1).decode().splitlines()[0][:20] in page


def test_held_grades_make_no_marks_and_no_plot(course: Served) -> None:
    student = course.signed_in("ada@example.org")
    numbers = [int(student.submit(source(k)).to.rpartition("/")[2]) for k in (1, 2)]
    with working(course.book, course.site, with_findings):
        until(lambda: all(course.book.grade(number) for number in numbers))
    shown = student.get(f"/labs/{LAB}?edit={numbers[0]}").text
    assert "no barrier" in shown and "Results so far" in shown
    lead = course.signed_in("lead@example.org")
    assert lead.post(f"/class/{LAB}/release", when="hold").code == 303
    held = student.get(f"/labs/{LAB}?edit={numbers[0]}").text
    assert "no barrier" not in held and "Results so far" not in held
    assert "__global__" in held and "every 3s" not in held


def test_a_refused_text_is_still_in_the_form(course: Served) -> None:
    student = course.signed_in("ada@example.org")
    form = student.form_token()
    text = "just </textarea> words\nof a person"
    reply = student.upload(f"/labs/{LAB}/submissions", "", b"", form=form, source=text)
    assert reply.code in (303, 422)
    if reply.code == 422:
        assert "just &lt;/textarea&gt; words\nof a person" in reply.text


def test_files_are_kept_by_what_is_in_them(shared: Served) -> None:
    visitor = shared.signed_in("ada@example.org")
    page = visitor.get(f"/labs/{LAB}").text
    address = shared.site.asset("editor.js")
    assert f'src="{address}"' in page
    assert "immutable" in (visitor.get(address).headers["Cache-Control"] or "")
    for other in ("/static/editor.js", "/static/editor.js?v=0", address + "&x"):
        assert visitor.get(other).headers["Cache-Control"] == "max-age=300"
    for name, (kind, data) in shared.site.static.items():
        reply = visitor.get(f"/static/{name}")
        assert reply.body == data and reply.headers["Content-Type"].startswith(kind)


def test_built_files_are_those_of_the_lock_file() -> None:
    digests = json.loads((ASSETS / "digests.json").read_text())
    for folder, found in ((ASSETS, digests["sources"]), (STATIC, digests["built"])):
        for name, digest in found.items():
            data = (folder / name).read_bytes()
            assert hashlib.sha256(data).hexdigest() == digest, f"{name}: run `make assets`"
    sources = {one.name for one in ASSETS.iterdir()} - {"digests.json"}
    assert sources == set(digests["sources"])
    written = {"live.js", "lti.js", "portal.css", "icon.svg"}
    assert {one.name for one in STATIC.iterdir()} - written == set(digests["built"])


def test_the_lock_file_names_contents_and_no_host() -> None:
    wanted = json.loads((ASSETS / "package.json").read_text())["devDependencies"]
    packages = json.loads((ASSETS / "package-lock.json").read_text())["packages"]
    assert packages[""]["devDependencies"] == wanted
    for name, package in packages.items():
        assert not name or package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
    for name, version in wanted.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    licenses = (STATIC / "LICENSES.txt").read_text()
    assert all(
        f"{name} {version} (" in licenses for name, version in wanted.items() if name != "esbuild"
    )

"""The report in a real browser: it sorts, it asks for nothing, and nothing injected runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from markupsafe import Markup
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from grader.reports.classes import ReportRow
from grader.reports.page.classes import class_view
from grader.reports.page.write import load_templates, student_page, write_class_report
from tests.made import a_lab
from tests.reports.page.browser import DESK, PHONE, canary, chromium, console, look, requests
from tests.reports.page.rows import a_class, hostile_class

LAB = a_lab({"output": (40, {})})
ROWS = a_class(24)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_class_report(tmp_path_factory.mktemp("class"), LAB, ROWS)


def column(driver: webdriver.Chrome, number: int) -> list[str]:
    """A column of the students' table from above."""
    script = (
        "return [...document.querySelectorAll('#class tbody tr')].map(r => r.cells[%d].innerText)"
    )
    return list(driver.execute_script(script % number))


def heads(driver: webdriver.Chrome) -> list[str]:
    return [b.text.split(" ")[0] for b in driver.find_elements(By.CSS_SELECTOR, "#class th button")]


def points(cells: list[str]) -> list[float]:
    """What the cells of a column of numbers say; those without a number are left out."""
    return [float(cell) for cell in cells if cell.replace(".", "").isdigit()]


def quiet(driver: webdriver.Chrome, page: Path) -> None:
    """The page asked for itself alone, and the console has nothing to say."""
    assert requests(driver) == [page.as_uri()]
    assert console(driver) == []


def test_it_opens_from_a_file_and_asks_for_nothing(browser: webdriver.Chrome, index: Path) -> None:
    look(browser, index)
    assert browser.title == "Tiled matrix product: the class"
    assert column(browser, 0) == [row.student for row in ROWS]
    quiet(browser, index)
    for page in sorted((index.parent / "students").iterdir())[:6]:
        look(browser, page)
        quiet(browser, page)


@pytest.mark.parametrize("key", [None, Keys.ENTER, Keys.SPACE])
def test_every_column_sorts(key: str | None, browser: webdriver.Chrome, index: Path) -> None:
    look(browser, index)
    names = heads(browser)
    assert names == ["student", "score", "output", "sync", "speed", "main", "late", "override"]
    for number, name in enumerate(names):
        button = browser.find_elements(By.CSS_SELECTOR, "#class th button")[number]
        observed = []
        for _ in range(2):
            if key:
                browser.execute_script("arguments[0].focus()", button)
                browser.switch_to.active_element.send_keys(key)
            else:
                button.click()
            observed.append(column(browser, number))
        numeric = 0 < number < 5
        first, second = [points(s) if numeric else [c for c in s if c] for s in observed]
        order = sorted(first, reverse=numeric) if numeric else sorted(first, key=collated)
        assert first == order, name
        assert second == order[::-1] or (not numeric and sorted(second) == sorted(order)), name
        blank = [c for c in observed[1] if not c or c in ("–", "!", "incomplete")]
        assert observed[1][len(observed[1]) - len(blank) :] == blank, (
            f"{name}: what is missing is last"
        )
        state = browser.execute_script("return arguments[0].parentNode.ariaSort", button)
        assert state == ("ascending" if numeric else "descending")
    assert len(browser.find_elements(By.CSS_SELECTOR, "[aria-sort]")) == 1
    quiet(browser, index)


def collated(name: str) -> tuple[bool, str, int]:
    """Names as the page orders them: no case, numbers by value, Latin letters before others."""
    word, _, last = name.rpartition(" ")
    text, number = (word, int(last)) if last.isdigit() else (name, 0)
    plain = text.lower().replace("é", "e").replace("â", "a")
    return not plain[0].isascii(), plain, number


def test_the_tab_key_reaches_the_heads_in_their_order(
    browser: webdriver.Chrome, index: Path
) -> None:
    look(browser, index)
    browser.find_element(By.ID, "find").click()
    reached = []
    for _ in range(4):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        at = browser.switch_to.active_element
        reached.append((at.tag_name, at.text.split(" ")[0]))
    assert reached[0][0] == "div", "the table, which may be wider than the screen, scrolls"
    assert reached[1:] == [("button", "student"), ("button", "score"), ("button", "output")]


def test_finding_a_student_hides_the_others(browser: webdriver.Chrome, index: Path) -> None:
    look(browser, index)
    box = browser.find_element(By.ID, "find")
    box.send_keys("GRACE")
    left = [name for name in column(browser, 0) if name]
    visible = [
        r for r in browser.find_elements(By.CSS_SELECTOR, "#class tbody tr") if r.is_displayed()
    ]
    assert len(visible) == 4 and {"Grace Hopper", "Grace Hopper 2"} < set(left)
    assert browser.find_element(By.ID, "shown").text == "4 of 24"
    box.send_keys(Keys.BACKSPACE * 5)
    assert browser.find_element(By.ID, "shown").text == ""


def test_links_lead_there_and_back(browser: webdriver.Chrome, index: Path) -> None:
    look(browser, index)
    browser.find_element(By.LINK_TEXT, "Konrad Zuse").click()
    assert browser.find_element(By.TAG_NAME, "h1").text == "Konrad Zuse"
    note = browser.find_element(By.CSS_SELECTOR, "#L7 .note")
    assert note.text.startswith("race")
    note.click()
    assert browser.execute_script("return document.querySelector(':target').className").startswith(
        "finding"
    )
    browser.find_element(By.LINK_TEXT, "Next").click()
    assert browser.find_element(By.TAG_NAME, "h1").text == "Émilie du Châtelet"
    browser.find_element(By.LINK_TEXT, "The class").click()
    example = browser.find_element(By.CSS_SELECTOR, ".kinds a")
    href = example.get_attribute("href") or ""
    example.click()
    assert "#L" in href
    assert browser.execute_script("return document.querySelector(':target').tagName") == "TR"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_no_page_is_wider_than_the_screen(
    size: tuple[int, int], dark: bool, browser: webdriver.Chrome, index: Path
) -> None:
    for page in (index, *sorted((index.parent / "students").iterdir())[:4]):
        look(browser, page, size, dark=dark)
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0], page.name
        lightness = browser.execute_script(
            "return getComputedStyle(document.documentElement).backgroundColor"
        )
        assert (int(lightness.split("(")[1].split(",")[0]) < 128) is dark


INJECTED = """return {
  hacked: window.hacked === undefined ? 0 : 1,
  loaded: document.querySelectorAll('img, iframe, object, embed, link, base, form').length,
  scripts: document.scripts.length,
  styles: document.styleSheets.length,
  metas: document.querySelectorAll('meta').length,
  handlers: [...document.querySelectorAll('*')].filter(
    e => e.getAttributeNames().some(n => n.startsWith('on') || n === 'style')).length,
  outside: [...document.links].filter(a => a.protocol !== 'file:').length,
}"""
CLEAN = {"hacked": 0, "loaded": 0, "styles": 1, "metas": 5, "handlers": 0, "outside": 0}


def test_nothing_injected_runs(browser: webdriver.Chrome, tmp_path: Path) -> None:
    with canary() as (server, asked):
        index = write_class_report(tmp_path / "report", LAB, hostile_class(server))
        written = [p for p in tmp_path.rglob("*") if p.is_file()]
        assert {p.parent for p in written} == {index.parent, index.parent / "students"}
        for page in written:
            look(browser, page)
            script = 1 if page == index else 0
            assert browser.execute_script(INJECTED) == CLEAN | {"scripts": script}, page.name
            quiet(browser, page)
        for page in (index, *index.parent.glob("students/w*")):
            look(browser, page, PHONE)
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= PHONE[0], page.name
        assert asked == []


def test_the_attacks_are_real(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """The same rows on a page that escapes nothing and allows everything."""
    with canary() as (server, asked):
        page = tmp_path / "open.html"
        page.write_bytes(unescaped(hostile_class(server)[:4]))
        look(browser, page)
        assert browser.execute_script("return window.hacked") == 1
        assert {"/script.js", "/image.png"} <= set(asked)


@pytest.mark.parametrize("attack", ["script", "image", "style"])
def test_the_policy_alone_holds_too(attack: str, browser: webdriver.Chrome, tmp_path: Path) -> None:
    """A page with our policy into which markup has got all the same: nothing of it loads."""
    with canary() as (server, asked):
        markup = {
            "script": f"<script>window.hacked = 1</script><script src={server}/a.js></script>",
            "image": f"<img src={server}/a.png onerror='window.hacked = 1'>",
            "style": f"<style>body {{ background: url({server}/a.png) }}</style>"
            f"<link rel=stylesheet href={server}/a.css>",
        }[attack]
        page = tmp_path / "index.html"
        page.write_bytes(student_page(a_class(1)[0]).replace(b"<main>", f"<main>{markup}".encode()))
        look(browser, page)
        assert browser.execute_script("return window.hacked") is None
        assert asked == []
        assert any("Content Security Policy" in line for line in console(browser))


def unescaped(rows: list[ReportRow]) -> bytes:
    """The index with every value taken for markup, and no policy."""
    made = load_templates()
    made.environment.autoescape = False
    made.environment.finalize = Markup
    view = class_view(rows, ["x"] * len(rows))
    text = made.index("lab", "title", view).decode("utf-8", "replace")
    return (
        text.replace("default-src 'none'", "default-src *")
        .replace("Content-Security-Policy", "None")
        .encode()
    )

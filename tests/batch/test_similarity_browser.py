"""Alike submissions in a real browser: the pages ask for nothing, and nothing injected runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from grader.batch.similarity import compare
from grader.batch.similarity_pages import similarity_pages
from tests.batch.test_similarity import CLASS, KNOWN, LAB
from tests.reports.page.browser import DESK, PHONE, canary, chromium, console, look, requests

ATTACKS = (
    "<script>fetch('{0}/script');document.title='taken'</script>",
    '"><img src={0}/image onerror="document.title=\'taken\'">',
    "</td></table></style><style>@import '{0}/style'</style>",
    "<meta http-equiv=refresh content='0;url={0}/moved'>",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def written(folder: Path, address: str) -> list[Path]:
    """The report of a class in which attackers copied s08 and say so in name and comment."""
    output = [attack.format(address) for attack in ATTACKS]
    copies = {f"{text} {n}": f"// {text}\n{CLASS['s08']}" for n, text in enumerate(output[:2])}
    texts = CLASS | copies | {"x" * 300: f"/* {output[2]}{output[3]} */\n" + CLASS["s09"]}
    pages = similarity_pages(LAB, compare(texts, KNOWN), texts)
    for name, page in pages.items():
        (folder / name).write_bytes(page)
    return [folder / name for name in pages]


@pytest.mark.parametrize(("size", "dark"), [(DESK, False), (PHONE, True)])
def test_pages_are_inert(
    browser: webdriver.Chrome, tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    with canary() as (address, asked):
        pages = written(tmp_path, address)
        assert len(pages) >= 4
        for page in pages:
            look(browser, page, size, dark=dark)
            assert requests(browser) == [page.as_uri()] and console(browser) == []
            assert browser.title != "taken"
            wide = "return document.documentElement.scrollWidth - window.innerWidth"
            assert browser.execute_script(wide) <= 0
        assert asked == []


def test_the_index_leads_to_each_pair_and_back(browser: webdriver.Chrome, tmp_path: Path) -> None:
    pages = written(tmp_path, "http://127.0.0.1:9")
    index = next(page for page in pages if page.name == "index.html")
    look(browser, index)
    links = browser.find_elements(By.LINK_TEXT, "side by side")
    assert len(links) == len(pages) - 1
    links[0].click()
    assert browser.current_url.endswith("pair-1.html")
    marked = browser.find_elements(By.CSS_SELECTOR, "tr.wording")
    colour = marked[0].find_element(By.TAG_NAME, "td").value_of_css_property("background-color")
    assert colour not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)")
    browser.find_element(By.PARTIAL_LINK_TEXT, "all similar submissions").click()
    assert browser.current_url.endswith("index.html")

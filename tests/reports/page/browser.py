"""Headless Chromium, and a server on this machine that writes down who asks it for anything."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESK, PHONE = (1280, 900), (390, 844)


@contextmanager
def chromium(profile: Path, *, preferences: bool = False) -> Iterator[webdriver.Chrome]:
    """A browser with an empty profile, that logs its console and every request.

    Args:
        profile: The folder of its profile.
        preferences: Whether the folder has preferences, which only the browser with windows reads.
    """
    options = webdriver.ChromeOptions()
    whole = shutil.which("chromium") or ""
    options.binary_location = whole if preferences else _without_windows(profile) or whole
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def _without_windows(profile: Path) -> str:
    """The path of the browser without windows, which needs a third of the time; empty without one.

    It opens no page unless it is given one, and ChromeDriver looks for a page.
    """
    if not (shell := shutil.which("chromium-headless-shell")):
        return ""
    made = profile / "browser"
    made.write_text(f'#!/bin/sh\nexec {shell} "$@" about:blank\n')
    made.chmod(0o755)
    return str(made)


def look(
    driver: webdriver.Chrome, page: Path, size: tuple[int, int] = DESK, *, dark: bool = False
) -> None:
    """Open a page from its file; what was logged before is forgotten."""
    width, height = size
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get("about:blank")
    console(driver)
    requests(driver)
    driver.get(page.as_uri())


def console(driver: webdriver.Chrome) -> list[str]:
    """What the console said since it was last asked, but for the clearing of its cache."""
    said = [entry["message"] for entry in driver.get_log("browser")]
    return [message for message in said if "Clear-Site-Data header on" not in message]


def requests(driver: webdriver.Chrome) -> list[str]:
    """The addresses that were asked for since this was last asked."""
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in sent
        if event["method"] == "Network.requestWillBeSent"
    ]


@contextmanager
def canary() -> Iterator[tuple[str, list[str]]]:
    """A server's address, and the paths that it is asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

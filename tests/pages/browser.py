"""A page in headless Chromium."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import gather_infer
from tests.documents import REPO

SWITCHES = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
WIDE, NARROW = (1280, 900), (400, 800)


def start() -> Any:
    """A driver for Chromium with its own chromedriver; skips the test, with the reason, if one is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install '.[browser]'")
    from selenium.webdriver.chrome.service import Service

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip(f"no {'Chromium' if program is None else 'chromedriver'} is installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for switch in SWITCHES.split():
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Browser:
    """Drives one page at a time; `script` runs JavaScript and returns its result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = start()
        self.pages = 0

    def open(self, page: gather_infer.Page, size: tuple[int, int] = WIDE, *, dark: bool = False) -> None:
        """Open the file of a page in a window of this size. Errors of an earlier page are forgotten."""
        self.pages += 1
        path = self.folder / f"{self.pages}.html"
        page.save(path)
        self.open_file(path, size, dark=dark)

    def open_file(self, path: Path, size: tuple[int, int] = WIDE, *, dark: bool = False) -> None:
        """Open the file of a page, as `open` does."""
        self.resize(size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.script("document.documentElement.style.scrollBehavior = 'auto'")

    def resize(self, size: tuple[int, int]) -> None:
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def script(self, text: str, *arguments: object) -> Any:
        return self.driver.execute_script(text, *arguments)

    def wait(self, condition: str, seconds: float = 5) -> None:
        """Wait until a JavaScript expression is true."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, seconds, poll_frequency=0.03).until(
            lambda _: self.script(f"return Boolean({condition})"), condition
        )

    def click(self, selector: str, text: str = "") -> None:
        """Click the first element that matches a selector and, if given, has this text."""
        found = self.script(
            "const all = [...document.querySelectorAll(arguments[0])];"
            "const one = all.find((each) => !arguments[1] || each.textContent.trim() === arguments[1]);"
            "if (!one) return all.map((each) => each.textContent);"
            "one.scrollIntoView({ block: 'center' });"
            "one.dispatchEvent(new MouseEvent('click', { bubbles: true })); return true;",
            selector,
            text,
        )
        assert found is True, (selector, text, found)

    def keys(self, *keys: str) -> None:
        """Press keys one after the other, in the element with the focus."""
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def text(self, selector: str) -> str:
        """The text of the first element that matches, with single spaces."""
        return " ".join(str(self.script("return document.querySelector(arguments[0]).innerText", selector)).split())

    def texts(self, selector: str) -> list[str]:
        return list(
            self.script("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)
        )

    def console_errors(self) -> list[str]:
        """The messages of the console since the page was opened; none are expected."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that the page requested, itself included, without those that its policy blocked."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        failed = [e["params"] for e in events if e["method"] == "Network.loadingFailed"]
        blocked = {params["requestId"] for params in failed if params.get("blockedReason") == "csp"}
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent if params["requestId"] not in blocked]

    def serious_findings(self) -> list[tuple[str, str, str]]:
        """The accessibility problems that axe-core finds: rule, element, advice. Skips the test without axe-core."""
        path = Path(os.environ.get("AXE", REPO / "node_modules/axe-core/axe.min.js"))
        if not path.exists():
            pytest.skip("axe-core is not installed: npm install --no-save axe-core")
        self.script(f"{path.read_text()}\nwindow.axe = axe;")
        found = self.driver.execute_async_script("axe.run().then((found) => arguments[0](found.violations))")
        return [
            (rule["id"], node["html"], node["failureSummary"])
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]

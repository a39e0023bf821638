"""Write the pictures of docs/pictures from fixtures: `python docs/make_pictures.py`.

Needs Chromium, its chromedriver, and `pip install -e '.[browser]'`. The pixels depend on the fonts of the machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import gather_infer  # noqa: E402
from tests.pages.browser import NARROW, Browser  # noqa: E402

PICTURES = {
    # file: (fixture, size of the window, dark, section at the top, what is clicked)
    "page.png": (
        "gpt2-kv-torchscript", (1280, 740), False, "accesses",
        (".bar-filter .conditional", "#accesses .space .row:nth-child(2)"),
    ),
    "page-dark.png": ("bert-torchscript", (1280, 800), True, "cost", ()),
    "page-narrow.png": ("gpt2-kv-torchscript", NARROW, False, "contract", ()),
}  # fmt: skip


def write(folder: Path) -> None:
    """Write every picture to a folder."""
    os.chdir(HERE.parent)  # pages show the path of the model
    with tempfile.TemporaryDirectory() as temporary:
        browser = Browser(Path(temporary))
        for name, (model, size, dark, section, clicks) in PICTURES.items():
            browser.open(gather_infer.page(f"fixtures/{model}.onnx"), size, dark=dark)
            for selector in clicks:
                browser.click(selector)
            browser.script(f"document.getElementById('{section}').scrollIntoView()")
            browser.wait("document.activeElement")
            (folder / name).write_bytes(browser.driver.get_screenshot_as_png())
        browser.driver.quit()


if __name__ == "__main__":
    (HERE / "pictures").mkdir(exist_ok=True)
    write(HERE / "pictures")

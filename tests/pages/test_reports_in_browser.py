"""Reports of commands in headless Chromium; skipped where it, its chromedriver or selenium is not installed."""

from __future__ import annotations

import time
from pathlib import Path

import onnx
import pytest

from tests.cli.conftest import Run
from tests.pages.browser import NARROW, WIDE, Browser
from tests.pages.page_models import chain
from tests.pages.test_reports import changed_bert, save_hostile

pytestmark = pytest.mark.browser

BERT = "fixtures/bert-torchscript.onnx"
ESCAPE = "\ue00c"
GPT2 = "fixtures/gpt2-kv-torchscript.onnx"
REPORTS = {
    # name: command
    "check": f"check {BERT} --dim seq=1..512",
    "diff": f"diff {BERT} changed.onnx --runs 2",
    "hostile diff": "diff hostile.onnx renamed.onnx --runs 0",
    "optimize": f"optimize {GPT2} --dry-run --verify 1 --prove",
    "hostile optimize": "optimize hostile.onnx --dry-run",
    "convert": "convert fixtures/openvino/decoder.xml --dry-run",
    "hostile convert": "convert hostile-layer.onnx --dry-run",
    "check of two": "check bad.onnx embedding.onnx --jobs 1",
    "hostile check": "check hostile.onnx",
}


def report(command: str, run: Run) -> Path:
    save_hostile()
    changed_bert()
    path = Path("report.html").absolute()
    path.write_text(run(*command.split(), "--format", "html").stdout, encoding="utf-8")
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "400"])
@pytest.mark.parametrize("name", REPORTS)
def test_no_error_no_request_and_no_overflow(
    name: str, size: tuple[int, int], dark: bool, browser: Browser, run: Run
) -> None:
    browser.open_file(report(REPORTS[name], run), size, dark=dark)
    browser.wait("document.documentElement.dataset.ready")
    assert browser.console_errors() == []
    assert [url for url in browser.requests() if not url.startswith("file:")] == []
    assert browser.script("return document.documentElement.scrollWidth") <= size[0]
    assert browser.script("return document.querySelectorAll('script, img, b, u, i').length") == 2
    paper = browser.script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 384) is dark


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", REPORTS)
def test_no_serious_accessibility_finding(name: str, dark: bool, browser: Browser, run: Run) -> None:
    browser.open_file(report(REPORTS[name], run), dark=dark)
    browser.script("const m = document.querySelector('details.model'); if (m) m.open = true;")
    browser.wait("document.querySelector('main section')")
    assert browser.serious_findings() == []


def test_findings_filter_and_open(browser: Browser, run: Run) -> None:
    browser.open_file(report(REPORTS["check"], run))
    rows = "#findings .space .row"
    assert browser.texts(".bar-filter button") == ["1 error", "2 notes"]
    browser.click(".bar-filter .note")
    assert browser.texts(f"{rows} .badge") == ["note", "note"]
    assert browser.text("#findings .note[role=status]") == "2 of 3 findings"
    browser.click(".bar-filter .note")
    browser.script(
        "const s = document.querySelector('#findings select'); s.value = 'GI501';s.dispatchEvent(new Event('change'));"
    )
    assert browser.texts(f"{rows} code") == ["GI501"]
    browser.click(rows)
    assert browser.text(".panel h2") == "/bert/embeddings/Add_1"
    assert "Slice" in browser.texts(".panel .graph .first")
    browser.keys(ESCAPE)
    assert browser.script("return document.querySelector('.panel').hidden")


def test_several_models_open_one_by_one(browser: Browser, run: Run) -> None:
    browser.open_file(report(REPORTS["check of two"], run))
    assert browser.texts("#models .table .badge") == ["fails", "passes"]
    assert browser.texts("#models details section") == []
    browser.click("#models .space .row")
    browser.wait("document.querySelector('#model-0').open && document.querySelector('#m0-findings')")
    assert browser.script("return document.querySelector('#model-1').open") is False
    browser.click("#models > .bar-filter .passes")
    assert browser.script("return document.querySelector('#model-0').hidden") is True
    assert browser.texts("#models > .table .space .badge") == ["passes"]


def test_the_first_difference_is_drawn_side_by_side(browser: Browser, run: Run) -> None:
    browser.open_file(report(REPORTS["diff"], run))
    assert browser.texts(".pair figcaption") == ["In the first model", "In the second model"]
    tops = "return [...document.querySelectorAll('.pair figure')].map((e) => e.getBoundingClientRect().top)"
    assert len(set(browser.script(tops))) == 1
    assert browser.texts(".pair .box.center .first") == ["Softmax", "Softmax"]
    browser.resize(NARROW)
    browser.wait(f"new Set((() => {{ {tops} }})()).size === 2")


def test_a_rewrite_shows_its_nodes_before_and_after(browser: Browser, run: Run) -> None:
    browser.open_file(report(REPORTS["optimize"], run))
    browser.script(
        "const s = document.querySelector('#changes select'); s.value = 'unsqueeze-of-gather';"
        "s.dispatchEvent(new Event('change'));"
    )
    assert browser.text("#changes .note[role=status]") == "16 of 142 changes"
    browser.click("#changes .space .row")
    assert browser.texts(".pair figcaption") == ["Before", "After"]
    assert "Unsqueeze" in browser.texts(".pair figure:first-child .box.removed .first")
    assert "Unsqueeze beside the indices of a Gather unsqueezes them" in browser.texts(".change dd")
    assert "onnxruntime" in browser.text("#verification")


def test_twenty_thousand_nodes_open_quickly(browser: Browser, run: Run) -> None:
    model = chain(20_000)
    for node in model.graph.node:
        node.domain = "" if node.op_type == "Gather" else "unknown.domain"
    onnx.save(model, "chain.onnx")
    path = report("check chain.onnx", run)
    started = time.monotonic()
    browser.open_file(path)
    browser.wait("document.documentElement.dataset.ready")
    assert time.monotonic() - started < 2
    assert browser.script("return document.querySelectorAll('*').length") < 3000

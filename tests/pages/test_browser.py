"""Pages in headless Chromium; skipped where it, its chromedriver or selenium is not installed."""

from __future__ import annotations

import time
from functools import cache

import onnx
import pytest

import gather_infer
from gather_infer.explanation.search import names_in
from gather_infer.symbolic import evaluate
from tests.documents import REPO
from tests.pages.browser import NARROW, WIDE, Browser
from tests.pages.page_models import HOSTILE, LONG, chain, hostile

pytestmark = pytest.mark.browser

FIXTURES = ("bert-torchscript", "gpt2-kv-dynamo", "detector-nonzero-torchscript", "lstm-tagger-torchscript")
ENTER, ESCAPE, DOWN, END, TAB = "\ue007", "\ue00c", "\ue015", "\ue010", "\ue004"
ROWS = "#tensors .space .row"
FIRST_NAMES = f"{ROWS} .cell:first-child"


@cache
def fixture(name: str) -> gather_infer.Page:
    return gather_infer.page(str(REPO / "fixtures" / f"{name}.onnx"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "400"])
@pytest.mark.parametrize("name", FIXTURES)
def test_no_error_no_request_and_no_overflow(name: str, size: tuple[int, int], dark: bool, browser: Browser) -> None:
    browser.open(fixture(name), size, dark=dark)
    browser.wait("document.documentElement.dataset.ready")
    assert browser.console_errors() == []
    assert [url for url in browser.requests() if not url.startswith("file:")] == []
    assert len(browser.texts("main > section")) >= 6
    assert browser.script("return document.documentElement.scrollWidth") <= size[0]
    paper = browser.script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 384) is dark


def test_the_policy_forbids_other_scripts(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    browser.script(
        "const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s);"
        "const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);"
    )
    assert browser.script("return window.broken") is None
    messages = " ".join(browser.console_errors())
    assert "script-src" in messages
    assert "x.png" in messages
    assert [url for url in browser.requests() if not url.startswith("file:")] == []


def test_search_finds(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    browser.keys("/")
    assert browser.script("return document.activeElement.id") == "search"
    browser.keys(*"layer.1 softmax")
    browser.wait("document.querySelector('#tensors .note[role=status]').textContent.startsWith('1 of')")
    browser.click(ROWS)
    assert browser.text(".panel h2") == "/bert/encoder/layer.1/attention/self/Softmax_output_0"
    browser.keys("/", "x")
    browser.wait("document.querySelector('#search').value === 'x'")
    browser.keys(ESCAPE)
    browser.wait("document.querySelector('#tensors .note[role=status]').textContent === '377 tensors'")


def test_the_bar_filters(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    assert browser.texts(".bar-filter button") == ["16 proved", "2 conditional"]
    browser.click(".bar-filter .conditional")
    assert set(browser.texts("#accesses .space .row .badge")) == {"conditional"}
    assert browser.script("return document.querySelector('.accesses').getAttribute('aria-rowcount')") == "3"
    browser.click(".bar-filter .conditional")
    assert browser.script("return document.querySelector('.accesses').getAttribute('aria-rowcount')") == "19"


def test_only_unknown_lists_tensors_with_their_cause(browser: Browser) -> None:
    page = fixture("detector-nonzero-torchscript")
    browser.open(page)
    browser.click("#tensors .filters label:nth-of-type(1) input")
    expected = [row.title for row in page.inference.tensors(unknown=True)]
    shown = browser.texts(f"{FIRST_NAMES} bdi")
    assert len(expected) > 3
    assert browser.text("#tensors .note[role=status]").startswith(f"{len(expected)} of")
    assert shown == [name if len(name) < 40 else shown[i] for i, name in enumerate(expected)][: len(shown)]
    assert all(browser.texts(f"{ROWS} .cell:last-child"))


def test_columns_sort(browser: Browser) -> None:
    page = fixture("bert-torchscript")
    browser.open(page)
    names = sorted(page.inference)
    for expected in (names, names[::-1]):
        browser.click("#tensors .sort", "Name")
        shown = browser.texts(f"{FIRST_NAMES} bdi")
        assert [a for a, b in zip(shown, expected, strict=False) if a != b and "…" not in a] == []
    assert browser.script("return document.querySelector('#tensors [aria-sort]').ariaSort") == "descending"


def set_size(browser: Browser, symbol: str, size: int) -> None:
    browser.script(
        "const all = [...document.querySelectorAll('input[type=range]')];"
        "const range = all.find((each) => each.dataset.symbol === arguments[0]);"
        "range.value = arguments[1]; range.dispatchEvent(new Event('input', { bubbles: true }));",
        symbol,
        size,
    )


def test_a_slider_changes_types_cost_and_memory(browser: Browser) -> None:
    page = fixture("bert-torchscript")
    browser.open(page)
    for seq in (1, 17, 64):
        set_size(browser, "seq", seq)
        assert browser.texts("#interface .sized")[0] == f"int64[1, {seq}]"
        cost = page.inference.cost().at(batch=1, seq=seq)
        exact = [text.replace("\u202f", "") for text in browser.texts(".totals .muted")]
        assert exact[0] == str(cost.macs)
        assert exact[1] == f"{cost.peak} B, live activations"
    mark = "document.querySelector('#cost .mark').getAttribute('x1')"
    browser.wait(f"{mark} === '626'")  # the right end: seq <= 64
    set_size(browser, "seq", 1)
    browser.wait(f"{mark} === '76'")
    assert browser.text(".warning") == ""


@pytest.mark.parametrize("name", ["detr-torchscript", "swin-torchscript", "wav2vec2-dynamo", "vit-any-size-dynamo"])
def test_the_script_evaluates_formulas_as_we_do(name: str, browser: Browser) -> None:
    page = fixture(name)
    cost = page.inference.cost()
    browser.open(page)
    names = list(cost.symbols)
    assert "//" in f"{cost.macs} {cost.reads} {[point.live for point in cost.program_points]}"
    for first in (1, 33, 224, 1003):
        sizes = {symbol: first + 31 * i for i, symbol in enumerate(names)}
        for symbol, size in sizes.items():
            browser.script(
                "const all = [...document.querySelectorAll('.slider')];"
                "const one = all.find((each) => each.querySelector('[type=range]').dataset.symbol === arguments[0]);"
                "const box = one.querySelector('[type=number]'); box.value = arguments[1];"
                "box.dispatchEvent(new Event('change'));",
                symbol,
                size,
            )
        shown = [text.replace("\u202f", "") for text in browser.texts(".totals .muted")]
        assert shown[0] == str(evaluate(cost.macs, sizes))
        peak = max(evaluate(point.live, sizes) for point in cost.program_points)
        assert shown[1] == f"{peak} B, live activations"
        types = browser.texts("#interface .sized")
        for tensor, text in zip((*page.inference.inputs, *page.inference.outputs), types, strict=True):
            shape = page.inference.shape(tensor)
            if text:
                dims = ", ".join(str(evaluate(dim, sizes)) for dim in shape)
                assert text.replace("\u202f", "").endswith(f"[{dims}]")


def test_floor_division_rounds_down(browser: Browser) -> None:
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
        g (float[1, 1, N] x) => (float[1, 1, M] y) { y = AveragePool <kernel_shape = [3], strides = [2]> (x) }""")
    page = gather_infer.page(model, assume=False)
    dim = page.inference.shape("y")[2]
    assert str(dim) == "(min(0, N - 3) + 1)//2 + max(0, N - 3)//2 + 1"
    browser.open(page)
    for size in (0, 1, 2, 3, 8):
        browser.script(
            "const box = document.querySelector('.slider [type=number]'); box.value = arguments[0];"
            "box.dispatchEvent(new Event('change'))",
            size,
        )
        assert browser.texts("#interface .sized") == [
            f"float32[1, 1, {size}]",
            f"float32[1, 1, {evaluate(dim, {'N': size})}]",
        ]


def test_sizes_that_fail_are_named(browser: Browser) -> None:
    browser.open(fixture("gpt2-kv-dynamo"))
    box = "[...document.querySelectorAll('.slider input[type=number]')].find((e) => e.ariaLabel.includes('past'))"
    browser.script(f"const box = {box}; box.value = 47; box.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    assert "past + seq" in browser.text(".warning")
    assert "48" in browser.text(".warning")


def test_a_symbol_highlights_every_tensor_that_carries_it(browser: Browser) -> None:
    page = fixture("bert-torchscript")
    browser.open(page)
    browser.click("#interface .dim", "seq")
    browser.click(".panel .symbol > button")
    highlighted = browser.texts("#tensors .note[role=status]")[0]
    carrying = [row for row in page.inference.tensors() if "seq" in names_in(row.value)]
    assert highlighted.startswith(f"{len(carrying)} of 377 tensors")
    assert len(browser.texts(f"{ROWS}.carries")) == len(browser.texts(ROWS)) > 0
    browser.keys(ESCAPE)
    assert browser.texts(f"{ROWS}.carries") == []


def test_keys_in_the_table(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    browser.script("document.querySelector('.tensors').focus()")
    browser.keys(DOWN, DOWN, DOWN, ENTER)
    assert browser.text(".panel h2") == "token_type_ids"
    browser.keys(ESCAPE)
    assert browser.script("return document.querySelector('.panel').hidden") is True
    browser.keys(END)
    browser.wait("document.querySelector('.tensors .row.active')?.ariaRowIndex === '378'")
    assert browser.console_errors() == []


def test_keys_in_a_graph(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    browser.script("document.querySelector('#model svg').focus()")
    box = "return document.querySelector('#model svg').getAttribute('viewBox').split(' ').map(Number)"
    whole = browser.script(box)
    browser.keys("+", DOWN)
    nearer = browser.script(box)
    assert nearer[2] < whole[2]
    browser.keys("0")
    assert browser.script(box) == whole


def test_the_explanation_leads_to_the_inputs(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    browser.click("#interface .link", "pooler_output")
    tree = browser.text(".panel .tree")
    assert tree.startswith("Tanh /bert/pooler/activation/Tanh shape float32[batch, 32]")
    assert "nodes that only forward" in tree
    for _ in range(20):
        if not browser.texts(".panel .tree button.quiet"):
            break
        browser.click(".panel .tree button.quiet")
    assert "input input_ids" in browser.text(".panel .tree")


def test_the_theme_switches(browser: Browser) -> None:
    browser.open(fixture("gpt2-kv-dynamo"))
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = browser.script(paper)
    browser.click("#theme")
    assert browser.script(paper) != light
    browser.click("#theme")
    assert browser.script(paper) == light


# three questions, each answered in a few clicks


def test_walk_what_limits_seq(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    browser.click("#interface .dim", "seq")
    panel = browser.text(".panel")
    assert "In every run 1 to 64" in panel
    assert "seq is at most 64. /bert/embeddings/Add_1" in panel


def test_walk_which_gather_can_fail_and_for_which_input(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    browser.click(".bar-filter .conditional")
    browser.click("#accesses .space .row")
    panel = browser.text(".panel")
    assert "/bert/embeddings/word_embeddings/Gather" in panel
    assert "In bounds only if -151 <= input_ids < 151" in panel
    assert "Fails for input_ids = 151" in panel
    assert {"Gather", "input_ids"} <= set(browser.texts(".panel .box .first"))


def test_walk_where_a_symbol_comes_from(browser: Browser) -> None:
    page = fixture("detector-nonzero-torchscript")
    browser.open(page)
    name, cause = next(iter(page.inference.causes.items()))
    browser.click(".slider .dim", name)
    panel = browser.text(".panel")
    assert f"Comes from Generated at {cause.op_type} {cause.node}: {' '.join(cause.reason.split())}" in panel
    browser.click(".panel dd .link")
    assert browser.text(".panel .eyebrow") == "Tensor"


# hostile names


def test_hostile_names_change_nothing(browser: Browser) -> None:
    browser.open(gather_infer.page(hostile()))
    browser.script("window.alert = () => { window.attacked = true; }")
    assert browser.console_errors() == []
    assert browser.texts("body > *:not(script, noscript)") != []
    assert browser.script("return [...document.body.children].map((e) => e.localName)") == [
        "noscript", "script", "script", "header", "main", "aside", "footer",
    ]  # fmt: skip
    forbidden = "return document.querySelectorAll('main :is(script, img, b, u, i, style, iframe), aside script').length"
    titles = (*HOSTILE, LONG)
    for title in titles:
        browser.click("#tensors .filters button", "Reset")
        browser.wait("!document.querySelector('#tensors .note[role=status]').textContent.includes(' of ')")
        browser.script(
            "const box = document.getElementById('search'); box.value = arguments[0];"
            "box.dispatchEvent(new Event('input'))",
            title[:200],
        )
        browser.wait("document.querySelector('#tensors .note[role=status]').textContent.includes(' of ')")
        start = "\\u{" if title[0] in "\u202e\u2028" else title[:3]
        browser.click(ROWS)
        assert browser.script(forbidden) == 0
        shown = browser.text(".panel h2")
        assert min(4, len(title)) <= len(shown) <= 200
        assert shown[:3] in (start, "ids")  # `ids<b>` has a dim that is called __proto__
        assert not set(shown) & {"\u202e", "\u2066", "\u2028", "\x01"}
        browser.keys(ESCAPE, ESCAPE)
    browser.click("#interface .dim")
    assert browser.script("return window.attacked") is None
    assert browser.script("return document.documentElement.scrollWidth") <= WIDE[0]
    assert browser.console_errors() == []


# accessibility


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "400"])
@pytest.mark.parametrize("name", ["bert-torchscript", "detector-nonzero-torchscript"])
def test_axe_has_no_serious_finding(name: str, size: tuple[int, int], dark: bool, browser: Browser) -> None:
    browser.open(fixture(name), size, dark=dark)
    for action in (None, ("#interface .dim", ""), ("#accesses .space .row", ""), (ROWS, "")):
        if action is not None:
            browser.click(*action)
        assert browser.serious_findings() == [], action


# size


def test_20000_nodes_open_in_2_seconds_and_a_table_of_100000_does_not_freeze(browser: Browser) -> None:
    browser.open(gather_infer.page(chain(20_000)))
    opened = browser.script("return performance.timing.domComplete - performance.timing.navigationStart")
    assert opened < 2000
    many = gather_infer.page(chain(100_000))
    browser.open(many)
    assert len(browser.texts(ROWS)) < 60
    start = time.perf_counter()
    browser.script("document.querySelector('.tensors').scrollTop = 1e9")
    browser.wait(f"document.querySelector('{ROWS}:last-child').ariaRowIndex === '100003'")
    assert time.perf_counter() - start < 1
    took = browser.script(
        "const start = performance.now(); const box = document.getElementById('search'); box.value = 't99999';"
        "box.dispatchEvent(new Event('input')); return start;"
    )
    browser.wait("document.querySelector('#tensors .note[role=status]').textContent.startsWith('1 of')", 10)
    assert browser.script("return performance.now()") - took < 1500
    assert browser.console_errors() == []


def test_printed_pages_show_rows_in_the_flow(browser: Browser) -> None:
    browser.open(fixture("bert-torchscript"))
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(printed) > 20_000
    assert browser.console_errors() == []


def test_a_model_without_symbols_accesses_or_costs(browser: Browser) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    )
    browser.open(gather_infer.page(model))
    assert browser.console_errors() == []
    assert "Every size in this model is a number." in browser.text("#sizes")
    assert "No node addresses an axis by index." in browser.text("#accesses")

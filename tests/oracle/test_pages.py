"""Pages of random graphs: those of a sample render in any case, 500 of them on demand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import pytest

import gather_infer
from tests.oracle.generated_graphs import generate
from tests.pages.browser import Browser
from tests.pages.conftest import browser
from tests.pages.page_models import Structure


def render(seed: int) -> gather_infer.Page:
    """The page of a random graph, after checks of its data and its drawings."""
    graph = generate(seed)
    page = gather_infer.page(graph.model, **graph.options)
    data = Structure(page.html()).data
    assert data == json.loads(json.dumps(page.data))
    number = len(data["tensors"]["name"])
    assert number == page.inference.coverage().tensors
    assert data["steps"]["tensor"][:number] == list(range(number))
    drawings = [access["drawing"] for access in data["accesses"] if access["drawing"] is not None]
    for drawing in drawings:
        boxes, edges = drawing["boxes"], drawing["edges"]
        corners = [(left, top, left + width, top + 46) for _, _, left, top, width in boxes]
        for i, (left, top, right, bottom) in enumerate(corners):
            for x, y, other_right, other_bottom in corners[:i]:
                assert right <= x or other_right <= left or bottom <= y or other_bottom <= top
        assert all(points[1::2] == sorted(points[1::2]) for *_, points in edges)
    return page


@pytest.mark.parametrize("seed", range(40))
def test_a_sample(seed: int) -> None:
    render(seed)


def _save(seed: int, folder: Path) -> Path:
    path = folder / f"{seed}.html"
    render(seed).save(path)
    return path


def rendered(seeds: range, folder: Path) -> Iterator[Path]:
    """The files of pages, rendered in a child process; without graphs on which onnxruntime aborts the generator."""
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    aborted = 0
    for seed in seeds:
        try:
            yield pool.submit(_save, seed, folder).result()
        except BrokenProcessPool:
            aborted += 1
            pool = ProcessPoolExecutor(1, get_context("spawn"))
    pool.shutdown()
    assert aborted <= len(seeds) / 20


@pytest.mark.oracle
def test_500_random_models(tmp_path: Path) -> None:
    assert len(list(rendered(range(500), tmp_path))) >= 475


@pytest.mark.oracle
@pytest.mark.browser
def test_500_random_models_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    for path in rendered(range(500), tmp_path):
        browser.open_file(path)
        assert browser.script("return document.documentElement.dataset.ready") == "true", path
        assert browser.console_errors() == [], path


__all__ = ["browser"]

"""The document of a page: structure, policy, escaping; its data against the JSON results of the other commands."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

import gather_infer
from gather_infer.symbolic import evaluate, parse_dim
from tests.cli.conftest import Run
from tests.documents import REPO
from tests.pages.page_models import HOSTILE, LONG, Structure, assert_only_own_scripts, chain, hostile

FIXTURES = (
    "bert-torchscript",
    "gpt2-kv-dynamo",
    "detector-nonzero-torchscript",
    "lstm-tagger-torchscript",
    "moe-nonzero-dynamo",
    "openvino-gather",
)


def page_of(name: str) -> gather_infer.Page:
    return gather_infer.page(str(REPO / "fixtures" / f"{name}.onnx"))


@pytest.mark.parametrize("model", [hostile(), chain(3)], ids=["hostile names", "plain"])
def test_structure_and_policy(model: onnx.ModelProto) -> None:
    page = Structure(gather_infer.page(model).html())
    assert_only_own_scripts(page)


def test_the_scripts_make_no_markup_and_load_nothing() -> None:
    scripts = {path.name: path.read_text() for path in (REPO / "gather_infer/pages/assets").glob("*.js")}
    if not scripts:
        pytest.skip("the sources are not beside the tests")
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttp|import\b|https?:"
    )
    found = {
        name: re.findall(forbidden, text.replace("http://www.w3.org/2000/svg", "")) for name, text in scripts.items()
    }
    assert {name: words for name, words in found.items() if words} == {}


def test_hostile_names_stay_data() -> None:
    text = gather_infer.page(hostile()).html()
    assert text.isascii() is False or "\u202e" not in text
    assert text.lower().count("</script") == 2
    assert text.lower().count("<script") == 2
    data = Structure(text).data
    names = data["tensors"]["name"]
    assert [name for name in (*HOSTILE, LONG, "ids<b>", "table</style>") if name not in names] == []
    assert {symbol["symbol"] for symbol in data["symbols"]} >= {"<u>n</u>", "__proto__"}


def test_the_title_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a<b>&c.onnx"
    onnx.save(chain(2), path)
    assert "<title>a&lt;b&gt;&amp;c.onnx · gather-infer</title>" in gather_infer.page(path).html()


def test_a_page_does_not_tell_where_the_file_was(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes((REPO / "fixtures" / "gpt2-kv-dynamo.onnx").read_bytes())
    html = gather_infer.page(file).html()
    assert "model.onnx" in html and str(tmp_path) not in html


@pytest.mark.parametrize("name", FIXTURES)
def test_equal_models_give_equal_pages(name: str) -> None:
    assert page_of(name).html() == page_of(name).html()


def texts(data: dict[str, Any]) -> list[str]:
    """The type of each tensor as the page shows it."""
    dims = [row[0] if isinstance(row, list) else str(row) for row in data["dims"]]

    def text(row: list[Any]) -> str:
        if len(row) == 1:
            return str(row[0])
        shape = "[...]" if row[1] is None else f"[{', '.join(dims[at] for at in row[1])}]"
        return f"{row[0] or '?'}{shape}"

    return [text(data["types"][at]) for at in data["tensors"]["type"]]


@pytest.mark.parametrize("name", FIXTURES)
def test_data_is_that_of_infer(name: str, run: Run) -> None:
    inferred = json.loads(run("infer", f"fixtures/{name}.onnx", "--format", "json", "--exit-zero").stdout)
    data = Structure(page_of(name).html()).data
    tensors, scopes = data["tensors"], data["scopes"]
    titles = list(zip((scopes[at] for at in tensors["scope"]), tensors["name"], strict=True))
    expected = [(scope, tensor) for scope, values in inferred["tensors"].items() for tensor in values]
    assert titles == expected
    shapes = dict(zip(titles, texts(data), strict=True))
    for (scope, tensor), text in shapes.items():
        found = inferred["tensors"][scope][tensor]
        if found["kind"] == "tensor":
            dims = "[...]" if found["shape"] is None else f"[{', '.join(map(str, found['shape']))}]"
            assert text == f"{found['dtype'] or '?'}{dims}"
    assert data["coverage"] == inferred["coverage"]
    assert [a["verdict"] for a in data["accesses"]] == [a["verdict"] for a in inferred["accesses"]]
    assert [data["nodes"]["label"][a["node"]] for a in data["accesses"]] == [a["node"] for a in inferred["accesses"]]
    for role in ("data", "indices", "result"):
        found = [None if a[role] is None else tensors["name"][a[role]] for a in data["accesses"]]
        assert found == [a[role]["name"] for a in inferred["accesses"]]
    assert data["findings"] == inferred["diagnostics"]
    nodes = data["nodes"]
    assert [(label, scopes[at]) for label, at in zip(nodes["label"], nodes["scope"], strict=True)] == [
        (node["node"], node["scope"]) for node in inferred["nodes"]
    ]
    named = [[None if at is None else tensors["name"][at] for at in outputs] for outputs in nodes["outputs"]]
    assert named == [[output or None for output in node["outputs"]] for node in inferred["nodes"]]


@pytest.mark.parametrize("name", FIXTURES)
def test_contract_and_symbols_are_those_of_the_commands(name: str, run: Run) -> None:
    derived = json.loads(run("contract", f"fixtures/{name}.onnx", "--format", "json").stdout)
    data = Structure(page_of(name).html()).data
    for group in ("lines", "nonempty", "declared"):
        assert [(line["tight"], line["nodes"], line["reason"]) for line in data["contract"][group]] == [
            (line["tight"], line["nodes"], line["reason"]) for line in derived[group]
        ]
    for symbol in data["symbols"]:
        if "cause" in symbol:
            explained = json.loads(run("explain", f"fixtures/{name}.onnx", symbol["symbol"], "--format", "json").stdout)
            shared = symbol.keys() & explained.keys()
            assert {key: symbol[key] for key in shared} == {key: explained[key] for key in shared}


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "*": operator.mul, "/": operator.floordiv, "min": min, "max": max,
}  # fmt: skip


def value(tree: Any, sizes: list[int]) -> int:
    """The value of a formula of the page, as its script evaluates it."""
    if not isinstance(tree, list):
        return int(tree)
    if len(tree) == 1:
        return sizes[tree[0]]
    operands = [value(operand, sizes) for operand in tree[1:]]
    result = operands[0]
    for operand in operands[1:]:
        result = OPERATIONS[tree[0]](result, operand)
    return result


@pytest.mark.parametrize("name", FIXTURES)
def test_formulas_are_those_of_cost(name: str, run: Run) -> None:
    costs = json.loads(run("cost", f"fixtures/{name}.onnx", "--format", "json").stdout)
    data = Structure(page_of(name).html()).data
    names = [symbol["symbol"] for symbol in data["symbols"]]
    sizes = [7 + 6 * i for i in range(len(names))]
    bound = dict(zip(names, sizes, strict=True))

    def expected(text: str | int) -> int:
        return evaluate(parse_dim(str(text)), bound)

    formulas = data["cost"]["formulas"]
    for quantity in ("macs", "reads", "writes"):
        assert value(formulas[data["cost"][quantity][1]], sizes) == expected(costs[quantity])
        columns = data["cost"]["nodes"][quantity]
        assert [None if at is None else value(formulas[at], sizes) for at in columns] == [
            None if node[quantity] is None else expected(node[quantity]) for node in costs["nodes"]
        ]
    points = [value(formulas[at], sizes) for at in data["cost"]["peak"][1]]
    assert max(points, default=0) == max((expected(p["live"]) for p in costs["program_points"]), default=0)
    for row in data["dims"]:
        text, tree = row if isinstance(row, list) else (row, row)
        assert value(tree, sizes) == expected(text)


@pytest.mark.parametrize("name", FIXTURES)
def test_steps_lead_from_each_tensor_to_inputs_and_constants(name: str) -> None:
    data = Structure(page_of(name).html()).data
    steps = data["steps"]
    number = len(data["tensors"]["name"])
    assert steps["tensor"][:number] == list(range(number))
    assert all(0 <= at < len(steps["tensor"]) for sources in steps["sources"] for at in sources)
    producer = {at: node for node, outputs in enumerate(data["nodes"]["outputs"]) for at in outputs if at is not None}
    inputs = {at: data["nodes"]["inputs"][node] for at, node in producer.items()}
    for tensor, sources in zip(steps["tensor"], steps["sources"], strict=True):
        if data["scopes"] == [""]:
            assert all(steps["tensor"][at] in inputs[tensor] for at in sources)


@pytest.mark.parametrize("name", FIXTURES)
def test_size_is_bounded_by_the_json(name: str, run: Run) -> None:
    """The data, and for models of some size the whole page, compared with the JSON of infer, contract and cost."""
    printed = sum(
        len(run(command, f"fixtures/{name}.onnx", "--format", "json").stdout)
        for command in ("infer", "contract", "cost")
    )
    page = page_of(name)
    assert len(json.dumps(page.data, separators=(",", ":"))) <= 1.5 * printed
    if printed > 100_000:
        assert len(page.html()) <= 3 * printed


def test_drawings_refer_to_tensors_and_nodes() -> None:
    data = page_of("gpt2-kv-dynamo").data
    accesses: Any = data["accesses"]
    for access in accesses:
        drawing = access["drawing"]
        kinds = {(kind, at) for kind, at, *_ in drawing["boxes"]}
        assert ("node", access["node"]) in kinds
        for start, end, tensor, points in drawing["edges"]:
            assert 0 <= start < len(drawing["boxes"]) > end
            assert tensor < len(data["tensors"]["name"])  # type: ignore[index, arg-type, call-overload]
            assert points[1::2] == sorted(points[1::2])


def test_the_overview_shows_repeated_layers_as_one_block() -> None:
    overview: Any = gather_infer.page(chain(1000)).data["overview"]
    counts = [block["count"] for block in overview["blocks"] if block["kind"] == "block"]
    assert max(counts) >= 9, "layers of one hundred nodes"
    assert len(overview["blocks"]) <= 6


def test_constraints_of_the_caller(tmp_path: Path) -> None:
    page = gather_infer.page(
        str(REPO / "fixtures/bert-torchscript.onnx"), dims=["seq=1..64"], ranges=["input_ids=0..150"]
    )
    data: Any = page.data
    seq = next(symbol for symbol in data["symbols"] if symbol["symbol"] == "seq")
    assert (seq["lower"], seq["upper"]) == (1, 64)
    assert {verdict.kind.value for verdict in page.verdicts} == {"proved", "conditional"}
    page.save(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text() == page.html()


def test_command(run: Run) -> None:
    result = run("page", "embedding.onnx", "-o", "page.html")
    assert (result.exit_code, "tensors" in result.stdout) == (0, True)
    text = Path("page.html").read_text()
    assert run("page", "embedding.onnx", "-o", "-").stdout == text
    assert result.stderr.startswith("wrote page.html")


BAD = {
    # arguments: (exit code, message)
    "page embedding.onnx": (2, "-o OUT.html is missing"),
    "page embedding.onnx -o embedding.onnx": (2, "-o names the model itself"),
    "page embedding.onnx -o no/such/folder/page.html": (3, "No such file or directory"),
    "page gone.onnx -o page.html": (3, "gone.onnx: No such file"),
    "page broken.onnx -o page.html": (3, "truncated or not ONNX protobuf"),
    "page embedding.onnx -o page.html --dim nothing=3": (2, "no input dim 'nothing'"),
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input(arguments: str, run: Run) -> None:
    before = Path("embedding.onnx").read_bytes()
    Path("broken.onnx").write_bytes(before[:50])
    code, message = BAD[arguments]
    result = run(*arguments.split())
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert not Path("page.html").exists()
    assert Path("embedding.onnx").read_bytes() == before

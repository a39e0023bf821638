"""Models for the tests of pages."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import itertools
import json
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'`&amp;&#x3c;",
    "\u202egnp.exe\u2066",
    "<!--",
    "]]>",
    "${name} {style}",
    "__proto__",
    "constructor",
    "\u2028\u2029\x01",
)
LONG = "long" * 2560


def hostile() -> onnx.ModelProto:
    """A model whose tensors, nodes, symbols and operators have names that look like markup, and one name of 10 kB."""
    names = [*HOSTILE, LONG]
    table = numpy_helper.from_array(np.zeros((4, 2), np.float32), "table</style>")
    nodes = [helper.make_node("Gather", ["table</style>", "ids<b>"], [names[0]], name="<script>1</script>")]
    nodes += [
        helper.make_node("Relu", [before], [after], name=f"node {after}"[:9000])
        for before, after in itertools.pairwise(names)
    ]
    nodes.append(helper.make_node("Odd<i>Op", [names[-1]], ["odd"], domain="dom<ain>", name="</title>"))
    graph = helper.make_graph(
        nodes,
        "</script>",
        [helper.make_tensor_value_info("ids<b>", TensorProto.INT64, ["<u>n</u>", "__proto__"])],
        [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, None), helper.make_empty_tensor_value_info("odd")],
        [table],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("dom<ain>", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="<b>me</b>")


def chain(length: int) -> onnx.ModelProto:
    """A model with a node for each of `length` tensors, and an access in every hundredth."""
    nodes, last = [], "x"
    for i in range(length):
        operator = "Gather" if i % 100 == 0 else ("Relu", "Neg", "Abs")[i % 3]
        inputs = [last, "at"] if operator == "Gather" else [last]
        last = f"/layer.{i // 100}/t{i}"
        node = helper.make_node(operator, inputs, [last], f"/layer.{i // 100}/n{i}")
        if operator == "Gather":
            node.attribute.append(helper.make_attribute("axis", 1))
        nodes.append(node)
    at = numpy_helper.from_array(np.arange(8), "at")
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["N", 8])],
        [at],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


class Structure(html.parser.HTMLParser):
    """The tags of a document with their attributes, and the text of each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and data.strip():
            at = len(self.tags) - 1
            self.texts[at] = self.texts.get(at, "") + data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, self.texts.get(i, "")) for i, (name, attrs) in enumerate(self.tags) if name == tag]

    @property
    def data(self) -> dict[str, Any]:
        """The data of the page."""
        (found,) = [text for attrs, text in self.of("script") if attrs.get("id") == "data"]
        parsed: dict[str, Any] = json.loads(found)
        return parsed


def sha256(text: str) -> str:
    """The source of a policy that allows a script or style with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


TAGS = ["html", "head", "meta", "meta", "meta", "meta", "title", "style", "body", "noscript", "script", "script"]


def assert_only_own_scripts(page: Structure) -> None:
    """Fails unless a page has the usual tags, allows its own style and script alone, and loads nothing."""
    assert [tag for tag, _ in page.tags] == TAGS
    ((policy, _),) = [found for found in page.of("meta") if found[0].get("http-equiv")]
    rules = dict(part.split(" ", 1) for part in (policy["content"] or "").split("; "))
    ((_, style),) = page.of("style")
    (script,) = [text for attrs, text in page.of("script") if "id" not in attrs]
    assert rules == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
        "style-src": sha256(style), "script-src": sha256(script),
    }  # fmt: skip
    assert not any(name in attrs for _, attrs in page.tags for name in ("src", "href", "style", "onclick", "onload"))

"""Errors about misspelt names suggest the close match, those about another form the right one."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

import gather_infer
from gather_infer import UsageError

HEAD = '<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] pixels) => (float[N, 4] y)'
MODELS: dict[str, tuple[str, str, str]] = {
    # id: (nodes, code, message)
    "an input": ("{ y = Relu (pixel) }", "GI103", "input pixel is not defined; did you mean 'pixels'?"),
    "nothing near": ("{ y = Relu (weights_0) }", "GI103", "input weights_0 is not defined"),
    "an output": ("{ z = Relu (pixels) }", "GI103", "graph output y is not defined"),
    "an output that is near": ("{ yy = Relu (pixels) }", "GI103", "graph output y is not defined; did you mean 'yy'?"),
    "an attribute": (
        "{ y = LeakyRelu <alpa = 0.5> (pixels) }",
        "GI106",
        "attribute alpa is unknown to LeakyRelu-16; did you mean 'alpha'?",
    ),
    "no attribute near": ("{ y = Relu <mode = 3> (pixels) }", "GI106", "attribute mode is unknown to Relu-14"),
    "one input": ("{ y = Relu (pixels, pixels) }", "GI107", "the operator takes 1 input, found 2"),
    "two inputs": ("{ y = Add (pixels) }", "GI107", "the operator takes 2 inputs, found 1"),
}


@pytest.mark.parametrize("case", MODELS)
def test_findings(case: str) -> None:
    nodes, code, message = MODELS[case]
    found = gather_infer.infer(onnx.parser.parse_model(f"{HEAD} {nodes}")).diagnostics
    assert message in [d.message for d in found if d.code == code]


def test_operators() -> None:
    for name, hint in (("Reluu", "; did you mean 'Relu'?"), ("Xyzzy", "")):
        found = gather_infer.check(onnx.parser.parse_model(f"{HEAD} {{ y = {name} (pixels) }}")).errors
        assert [d.message for d in found if d.code == "GI116"] == [f"opset 17 of ai.onnx has no {name}{hint}"]


def test_many_undefined_names_are_not_all_compared() -> None:
    nodes = " ".join(f"a{i} = Relu (pixel{i})" for i in range(50))
    found = gather_infer.infer(onnx.parser.parse_model(f"{HEAD} {{ {nodes} y = Relu (a0) }}")).diagnostics
    assert [d.message.endswith("did you mean 'pixels'?") for d in found if d.code == "GI103"] == [True] * 8 + [
        False
    ] * 42


SAID: dict[str, tuple[dict[str, Any], str]] = {
    # id: (what is said, answer)
    "two dims": (
        {"dims": ["N=1,M=3"]},
        "dim 'N': each needs its own option, found '1,M=3'; did you mean --dim N=1 --dim M=3?",
    ),
    "two bounds": (
        {"dims": ["N=1..3, M=3..4"]},
        "dim 'N': each needs its own option, found '1..3, M=3..4'; did you mean --dim N=1..3 --dim M=3..4?",
    ),
    "two ranges": (
        {"ranges": ["pixels=0..3,y=1"]},
        "range 'pixels': each needs its own option, found '0..3,y=1'; did you mean --range pixels=0..3 --range y=1?",
    ),
    "a name for a number": (
        {"inputs": ["pixels=float32[N, C]"]},
        "input 'pixels': the model fixes axis 1 at 4, found 'C'; give 4, or export the model with this dim dynamic",
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_expected_results(case: str) -> None:
    said, answer = SAID[case]
    with pytest.raises(UsageError) as caught:
        gather_infer.infer(onnx.parser.parse_model(f"{HEAD} {{ y = Relu (pixels) }}"), **said)
    assert str(caught.value) == answer


def test_a_name_that_is_given_the_number_is_fine() -> None:
    model = onnx.parser.parse_model(f"{HEAD} {{ y = Relu (pixels) }}")
    assert str(gather_infer.infer(model, inputs=["pixels=[N, C]"], dims=["C=4"])["y"]) == "float32[N, 4]"
    assert str(gather_infer.infer(model, inputs=["pixels=[B, 4]"])["y"]) == "float32[B, 4]"


def test_a_node_is_explained_by_what_it_makes() -> None:
    """By the labels that a contract has, too."""
    path = "fixtures/bert-torchscript.onnx"
    explainer = gather_infer.Explainer(path)
    for node in gather_infer.contract_of(path).contract.lines[2].nodes:
        (found,) = explainer.named(node)
        assert isinstance(found, gather_infer.Explanation) and found.name == f"{node}_output_0"
    model = onnx.parser.parse_model(f"{HEAD} {{ y, i = TopK (pixels, k) k = Neg (k) }}")
    assert [each.name for each in gather_infer.Explainer(model).named("TopK#0")] == ["y", "i"]

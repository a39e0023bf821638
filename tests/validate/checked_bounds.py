"""Verdicts of models in onnx's text form."""

from __future__ import annotations

import onnx

import gather_infer
from gather_infer.validate import Verdict, verdicts
from tests.validate.access_models import by_node

DOMAINS = '"": 17, "ai.onnx.ml": 3, "com.microsoft": 1, "openvino.opset8": 1, "openvino.opset7": 1'


def judged(inputs: str, body: str, given: str = "", *, opset: int = 17, dims: tuple[str, ...] = ()) -> list[Verdict]:
    """The verdicts of a model in onnx's text form; every node's result is called `y`, or is not used."""
    domains = DOMAINS.replace('"": 17', f'"": {opset}')
    text = f"<ir_version: 8, opset_import: [{domains}]> g ({inputs}) => (y) <{given}> {{ {body} }}"
    model = onnx.parser.parse_model(text)
    return by_node(verdicts(gather_infer.infer(model, dims=dims)))


def last(*arguments: str, opset: int = 17, dims: tuple[str, ...] = ()) -> Verdict:
    return judged(*arguments, opset=opset, dims=dims)[-1]


ZERO, ONE, MINUS = "int64 zero = {0}", "int64 one = {1}", "int64 minus = {-1}"
BUCKETS = (  # of relative positions, as in T5
    "p = Max (d, zero) t = Less (p, few) f = Cast <to = 1> (p) q = Div (f, c) g = Log (q) r = Div (g, e) "
    "m = Mul (r, c) j = Cast <to = 7> (m) s = Add (j, c16) b = Min (s, most) i = Where (t, p, b) y = Gather (x, i)"
)
SIXTEEN = f"{ZERO}, float c = {{16}}, float e = {{2.0794415}}, int64 c16 = {{16}}, int64 most = {{31}}"

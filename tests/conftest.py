"""Parsers of ONNX's text form for all tests: onnx's own, or those of `onnx_text` where onnx is older than the tests."""

from __future__ import annotations

import onnx.parser

from gather_infer.inference.proto.releases import INSTALLED_OPSET, NEWEST_OPSET
from tests import onnx_text

if INSTALLED_OPSET < NEWEST_OPSET:
    onnx.parser.parse_model = onnx_text.parse_model
    onnx.parser.parse_graph = onnx_text.parse_graph
    onnx.parser.parse_function = onnx_text.parse_function

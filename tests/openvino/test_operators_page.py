"""The table of OpenVINO's operators: up to date, and whole."""

from __future__ import annotations

import re
import runpy
from importlib.util import find_spec
from pathlib import Path

from gather_infer.openvino.lowerings import LOWERINGS
from tests.documents import REPO

READ = {"Parameter", "Result", "Constant", "If", "Loop", "TensorIterator", "ReadValue", "Assign"}
"""What the reader and the state know; the type of Constant in a file is Const."""
WRITTEN = {"Relu": "ReLU", "PRelu": "PReLU", "Softmax": "SoftMax"}
"""Types that a file has in other letters than the opset."""


def test_the_page_is_up_to_date() -> None:
    made = runpy.run_path(str(REPO / "docs" / "make_openvino_operators.py"))
    page = (REPO / "docs" / "openvino-operators.md").read_text()
    assert made["page"]() == page, "python docs/make_openvino_operators.py writes it again"


def test_every_operator_of_every_opset_is_known() -> None:
    """OpenVINO's headers list them; nothing of OpenVINO is imported."""
    spec = find_spec("openvino")
    assert spec is not None and spec.submodule_search_locations
    tables = sorted(Path(spec.submodule_search_locations[0]).glob("include/openvino/opsets/opset*_tbl.hpp"))
    assert len(tables) >= 17
    names = {name for table in tables for name in re.findall(r"^_OPENVINO_OP_REG\((\w+),", table.read_text(), re.M)}
    assert len(names) > 200
    assert {WRITTEN.get(name, name) for name in names - READ} <= set(LOWERINGS.types)

"""The accessors that all views of a node share, called on the argument of a rule; and who may define them."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gather_infer
from gather_infer.errors import SpecViolation
from gather_infer.node_facts import NodeFacts
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim
from gather_infer.tensor import UNKNOWN, SequenceType, SymbolicTensor, static_dims
from tests.ops.facts import BOOL, F32, I64, N, S, ints, known, of

PACKAGE = Path(gather_infer.__file__).parent

AXES: dict[str, tuple[dict[str, Any], int | None, int | None]] = {
    # id:                         (attributes,     rank, axis)
    "first":                      ({"axis": 0},    2,    0),
    "last":                       ({"axis": 1},    2,    1),
    "past the last":              ({"axis": 2},    2,    None),
    "last, from the end":         ({"axis": -1},   2,    1),
    "first, from the end":        ({"axis": -2},   2,    0),
    "before the first":           ({"axis": -3},   2,    None),
    "scalar":                     ({"axis": 0},    0,    None),
    "unknown rank":               ({"axis": 1},    None, 1),
    "from the end, unknown rank": ({"axis": -1},   None, None),
    "absent":                     ({},             2,    0),
    "of another type":            ({"axis": 1.0},  2,    0),
}  # fmt: skip

ELEMENTS: dict[str, tuple[SymbolicTensor | None, tuple[Dim, ...] | None, tuple[int, ...] | None, Dim | None]] = {
    # id:               (input,              elements,     integers, only element)
    "numbers":          (ints(3, 4),         (3, 4),       (3, 4),   None),
    "rows":             (known([[1], [2]]),  (1, 2),       (1, 2),   None),
    "one number":       (known(5),           (5,),         (5,),     5),
    "one size":         (ints(N),            (N,),         None,     N),
    "a size":           (ints(2, N),         (2, N),       None,     None),
    "unknown element":  (ints(2, None),      None,         None,     None),
    "no element":       (ints(),             (),           (),       None),
    "in the file":      (of(I64, 2),         (7, 8),       (7, 8),   None),
    "floats":           (known([2.0], F32),  None,         None,     None),
    "truths":           (known([True], BOOL), None,        None,     None),
    "left out":         (None,               None,         None,     None),
}  # fmt: skip


def call(*inputs: Any, **attributes: Any) -> OpCall:
    return OpCall("Any", inputs, attributes, load=lambda index: np.array([7, 8]))


@pytest.mark.parametrize("attributes, rank, axis", AXES.values(), ids=AXES)
def test_axis(attributes: dict[str, Any], rank: int | None, axis: int | None) -> None:
    assert call(**attributes).axis(rank) == axis


@pytest.mark.parametrize("tensor, elements, integers, only", ELEMENTS.values(), ids=ELEMENTS)
def test_elements(tensor: Any, elements: Any, integers: Any, only: Any) -> None:
    op = call(tensor)
    assert (op.elements(0), op.integers_of(0), op.only_element(0)) == (elements, integers, only)


def test_attributes() -> None:
    op = call(axis=1, perm=(1, 0), mode="linear", alpha=0.5, names=("a",))
    assert (op.integer("axis"), op.integer("mode", 3), op.integer("to", 7), op.integer("to")) == (1, 3, 7, 0)
    assert (op.integers("perm"), op.integers("names"), op.integers("axis"), op.integers("to")) == (
        (1, 0),
        None,
        None,
        None,
    )
    assert (op.text("mode"), op.text("axis", "cubic"), op.text("to")) == ("linear", "cubic", "")
    assert (op.typed_attr("alpha", float), op.typed_attr("alpha", int), op.typed_attr("to", int)) == (0.5, None, None)
    assert (op.attr("names"), op.attr("to"), op.attr("to", 2)) == (("a",), None, 2)


def test_inputs() -> None:
    tensor, sequence = of(F32, N, 3), SequenceType()
    op = call(tensor, None, sequence)
    assert [op.has(index) for index in range(4)] == [True, False, True, False]
    assert [op.value(index) for index in range(4)] == [tensor, None, sequence, None]
    assert [op.fact(index) for index in range(4)] == [tensor, UNKNOWN, UNKNOWN, UNKNOWN]
    assert (op.shape(0), op.rank(0), op.shape(1), op.rank(2)) == ((N, 3), 2, None, None)
    assert (op.tensor(0), op.optional_tensor(0), op.optional_tensor(1)) == (tensor, tensor, None)
    with pytest.raises(SpecViolation, match="input 1 is missing"):
        op.tensor(1)
    with pytest.raises(SpecViolation, match="input 2 must be a tensor"):
        op.optional_tensor(2)


def test_sizes() -> None:
    assert [static_dims(shape) for shape in ((2, 3), (), (2, N), None)] == [(2, 3), (), None, None]
    assert [of(F32, *shape).size for shape in ((2, 3), (), (0, 3), (0, N), (S,))] == [6, 1, 0, None, None]
    assert [of(F32, 2, 3).nbytes, SymbolicTensor(None, (2,)).nbytes, SymbolicTensor(F32).nbytes] == [24, None, None]


def test_each_accessor_of_inputs_is_that_of_the_base() -> None:
    """A class with such an accessor is a view of a node, and derives from the base."""
    shared = {name for name in vars(NodeFacts) if not name.startswith("_")} - {"axis"}
    views = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ClassDef):
                continue
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in shared]
            if any([argument.arg for argument in one.args.args][:2] == ["self", "index"] for one in methods):
                module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
                views.add(getattr(importlib.import_module(module), node.name))
    assert all(issubclass(view, NodeFacts) for view in views)
    assert {view.__name__ for view in views - {NodeFacts}} == {
        "OpCall", "Work", "TransferContext", "NodeView", "LayerView", "TermView", "RowStep",
    }  # fmt: skip

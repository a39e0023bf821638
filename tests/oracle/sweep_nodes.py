"""Nodes for the sweep of which onnx has no node model: of ai.onnx.ml, of sequences, and with other attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper

Array = np.ndarray[Any, Any]

TREE: dict[str, Any] = {
    # one inner node that looks at feature 1, and two leaves
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "post_transform": "NONE",
}


def floats(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def integers(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def _ml(
    op_type: str, *inputs: Array, outputs: int = 1, **attributes: Any
) -> tuple[str, list[Array], int, dict[str, Any]]:
    return op_type, list(inputs), outputs, attributes


ML = [
    _ml("LinearRegressor", floats(3, 2), coefficients=[1.0, 2.0, 3.0, 4.0], intercepts=[0.0, 1.0], targets=2),
    _ml("LinearClassifier", floats(3, 2), outputs=2, coefficients=[1.0, 2.0, 3.0, 4.0], intercepts=[0.0, 1.0],
        classlabels_ints=[0, 1]),
    _ml("SVMRegressor", floats(3, 2), coefficients=[1.0, 2.0], rho=[0.0], kernel_type="LINEAR", n_supports=0),
    _ml("SVMRegressor", floats(3, 2), coefficients=[1.0, 2.0], support_vectors=[1.0, 2.0, 3.0, 4.0], rho=[0.0],
        kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0], n_supports=2),
    _ml("SVMClassifier", floats(3, 2), outputs=2, coefficients=[1.0, 2.0], support_vectors=[1.0, 2.0, 3.0, 4.0],
        vectors_per_class=[1, 1], rho=[0.0], kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0],
        classlabels_ints=[0, 1]),
    _ml("Scaler", floats(3, 2), offset=[1.0, 2.0], scale=[1.0, 2.0]),
    _ml("Scaler", floats(3, 2), offset=[1.0], scale=[1.0]),
    _ml("Normalizer", floats(3, 2), norm="MAX"),
    _ml("Imputer", floats(3, 2), imputed_value_floats=[1.0, 2.0], replaced_value_float=0.0),
    _ml("OneHotEncoder", np.ones((3, 2), np.int64), cats_int64s=[0, 1, 2], zeros=0),
    _ml("LabelEncoder", np.ones((3, 2), np.int64), keys_int64s=[0, 1], values_int64s=[1, 0]),
    _ml("FeatureVectorizer", floats(3, 2), floats(3, 1), inputdimensions=[2, 1]),
    _ml("TreeEnsembleRegressor", floats(3, 2), n_targets=1, target_treeids=[0, 0], target_nodeids=[1, 2],
        target_ids=[0, 0], target_weights=[1.0, 2.0], **TREE),
    _ml("TreeEnsembleClassifier", floats(3, 2), outputs=2, classlabels_int64s=[0, 1, 2], class_treeids=[0, 0],
        class_nodeids=[1, 2], class_ids=[0, 1], class_weights=[1.0, 2.0], **TREE),
    _ml("ZipMap", floats(3, 2), classlabels_int64s=[0, 1]),
]  # fmt: skip

TEXTS = {
    # name: nodes of ai.onnx 18 that read x, y, z; arrays
    "GlobalLpPool": ("y0 = GlobalLpPool(x)", {"x": floats(2, 3, 4, 4)}),
    "MaxRoiPool": ("y0 = MaxRoiPool<pooled_shape=[2, 2]>(x, y)", {"x": floats(2, 3, 4, 4), "y": np.zeros((2, 5), "f")}),
    "Pad that cuts": ("p = Constant<value_ints=[-1, 0, 0, -2]>() y0 = Pad(x, p)", {"x": floats(3, 4)}),
    "reflect Pad that cuts": (
        "p = Constant<value_ints=[-1, 0, 0, 2]>() y0 = Pad<mode=\"reflect\">(x, p)", {"x": floats(3, 4)},
    ),
    "edge Pad that cuts": (
        "p = Constant<value_ints=[-1, 0, 2, 0]>() y0 = Pad<mode=\"edge\">(x, p)", {"x": floats(3, 4)},
    ),
    "SequenceAt": ("s = SequenceConstruct(x, x) y0 = SequenceAt(s, y)", {"x": floats(3), "y": np.array(1)}),
    "SequenceErase": ("s = SequenceConstruct(x) t = SequenceErase(s, y) y0 = SequenceLength(t)",
                      {"x": floats(3), "y": np.array(0)}),
    "SequenceInsert": ("s = SequenceConstruct(x) t = SequenceInsert(s, x, y) y0 = SequenceLength(t)",
                       {"x": floats(3), "y": np.array(0)}),
    "ConcatFromSequence": ("s = SequenceConstruct(x, y) y0 = ConcatFromSequence<axis=0>(s)",
                           {"x": floats(3, 2), "y": floats(2, 2)}),
    "stacked": ("s = SequenceConstruct(x, y) y0 = ConcatFromSequence<axis=0, new_axis=1>(s)",
                {"x": floats(3), "y": floats(3)}),
    "split and joined": ("s = SplitToSequence<axis=0>(x) y0 = ConcatFromSequence<axis=0>(s)", {"x": floats(3)}),
    "Reshape by a size": ("s = Shape(y) m = Constant<value_ints=[-1]>() t = Concat<axis=0>(s, m) y0 = Reshape(x, t)",
                          {"x": floats(4), "y": floats(2)}),
    "Split by sizes": ("s = Shape(y) t = Shape(z) l = Concat<axis=0>(s, t) y0, y1 = Split<axis=0>(x, l)",
                       {"x": floats(4), "y": floats(2), "z": floats(2)}),
    "Tile by a size": ("s = Shape(y) o = Constant<value_ints=[1]>() d = Sub(s, o) y0 = Tile(x, d)",
                       {"x": floats(4), "y": floats(2)}),
    "Slice by a step": ("s = Shape(y) o = Constant<value_ints=[0]>() e = Constant<value_ints=[9]>() "
                        "y0 = Slice(x, o, e, o, s)", {"x": floats(4), "y": floats(2)}),
    "Range by a step": ("s = Shape(y) a = Constant<value_int=0>() b = Constant<value_int=9>() t = Squeeze(s) "
                        "y0 = Range(a, b, t)", {"y": floats(2)}),
    "ConstantOfShape of a difference": ("s = Shape(x) t = Shape(y) d = Sub(s, t) y0 = ConstantOfShape(d)",
                                        {"x": floats(4), "y": floats(2)}),
    "Expand to a size": ("s = Shape(y) y0 = Expand(x, s)", {"x": floats(1), "y": floats(2)}),
    "OneHot of a size": ("s = Shape(y) v = Constant<value_floats=[0.0, 1.0]>() y0 = OneHot(x, s, v)",
                         {"x": integers(0, 1), "y": floats(2)}),
    "TopK of a size": ("s = Shape(y) y0, y1 = TopK(x, s)", {"x": floats(4), "y": floats(2)}),
    "Pad by a size": ("s = Shape(y) n = Neg(s) p = Concat<axis=0>(n, s) y0 = Pad(x, p)",
                      {"x": floats(4), "y": floats(2)}),
    "Div by a difference": ("s = Shape(x) t = Shape(y) d = Sub(s, t) y0 = Div(s, d)",
                            {"x": floats(4), "y": floats(2)}),
    "Mod by a size": ("s = Shape(x) t = Shape(y) y0 = Mod(s, t)", {"x": floats(4), "y": floats(2)}),
}  # fmt: skip


def nodes() -> Iterator[tuple[str, onnx.ModelProto, dict[str, Array]]]:
    """Models with the arrays that they run on, by name."""
    for number, (op_type, arrays, outputs, attributes) in enumerate(ML):
        named = {f"x{i}": array for i, array in enumerate(arrays)}
        results = [f"y{i}" for i in range(outputs)]
        node = helper.make_node(op_type, list(named), results, domain="ai.onnx.ml", **attributes)
        values = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph([node], "sweep", [], values)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
        yield f"ml {op_type} {number}", helper.make_model(graph, opset_imports=opsets, ir_version=10), named
    for name, (text, arrays_of_text) in TEXTS.items():
        head = '<ir_version: 8, opset_import: ["" : 18]> agraph () => (float[P] y0)'
        model = onnx.parser.parse_model(f"{head} {{ {text} }}")
        yield name, model, arrays_of_text

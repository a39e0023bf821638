"""Passes for onnx-ir: types on the values of an `onnx_ir.Model`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper

from fixtures import feeds
from gather_infer import UsageError, infer
from gather_infer.compat.onnx_ir import CAUSE, FACT, FoldPass, OptimizePass, ShapeInferencePass
from gather_infer.symbolic import Expr, evaluate, parse_dim
from gather_infer.tensor import SymbolicTensor
from tests.inference.models import model

SOME = ("bert-torchscript", "detector-nonzero-torchscript", "embedding-bag-dynamo", "gnn-torchscript", "swin-dynamo")


def values(of: ir.Model) -> Iterator[ir.Value]:
    for graph in of.graphs():
        yield from graph.inputs
        for node in graph:
            yield from node.outputs


def shapes(of: ir.Model) -> dict[str, str]:
    return {f"{value.name}": f"{value.dtype} {value.shape}" for value in values(of)}


def size_of(dim: ir.SymbolicDim, sizes: dict[str, int]) -> object:
    """The dim at some sizes, by onnx-ir itself if its release has expressions."""
    if hasattr(dim, "evaluate"):
        return dim.evaluate(sizes)
    return evaluate(parse_dim(str(dim.value)), sizes)


@pytest.mark.parametrize("name", SOME)
def test_values_have_the_inferred_types(name: str) -> None:
    path = feeds.model_path(name)
    given = ir.load(path)
    done = ShapeInferencePass()(given)
    assert done.model is given and done.modified
    inference = infer(path)
    for value in (value for node in given.graph for value in node.outputs):
        fact = inference[str(value.name)]
        if not isinstance(fact, SymbolicTensor) or fact.shape is None:
            continue
        assert value.dtype == ir.DataType(int(fact.dtype or 0))
        assert value.shape is not None and len(value.shape) == len(fact.shape)
        for dim, wanted in zip(value.shape, fact.shape, strict=True):
            if not isinstance(wanted, Expr):
                assert dim == wanted
            elif not inference.is_generated(wanted):
                bound = {name: 40 + 7 * number for number, name in enumerate(sorted(wanted.symbols))}
                assert isinstance(dim, ir.SymbolicDim)
                assert size_of(dim, bound) == evaluate(wanted, bound), f"{value.name}: {dim} is {wanted}"


@pytest.mark.parametrize("name", SOME)
def test_a_second_pass_changes_nothing(name: str) -> None:
    given = ir.load(feeds.model_path(name))
    ShapeInferencePass()(given)
    before = shapes(given)
    assert not ShapeInferencePass()(given).modified
    assert shapes(given) == before


def test_metadata() -> None:
    given = ir.from_proto(model("(float[n] x) => (int64[1, k] y) { z = Neg (x) y = NonZero (z) s = Shape (x) }"))
    ShapeInferencePass()(given)
    found = {value.name: value for value in values(given)}
    assert CAUSE not in found["z"].metadata_props
    assert found["y"].metadata_props[CAUSE].startswith("k: ")  # the name that the model has for the dim
    assert str(found["y"].shape) == "[1,k]"
    fact = found["s"].meta[FACT]
    assert isinstance(fact, SymbolicTensor) and [str(element) for element in fact.values.flat] == ["n"]
    assert ir.to_proto(given).graph.output[0].metadata_props[0].key == CAUSE


def test_a_cause_goes_when_the_dim_is_known() -> None:
    given = ir.from_proto(model("(float[n] x) => (int64[1, k] y) { y = NonZero (x) }"))
    value = given.graph.outputs[0]
    value.metadata_props[CAUSE] = "an old one"
    value.metadata_props["mine"] = "kept"
    ShapeInferencePass()(given)
    assert value.metadata_props.keys() == {CAUSE, "mine"} and value.metadata_props[CAUSE] != "an old one"
    given.graph[0].op_type = "Relu"
    ShapeInferencePass()(given)
    assert value.metadata_props == {"mine": "kept"}


def test_subgraphs() -> None:
    text = """(float[n, 3] x, bool c) => (float[a, b] y)
        { y = If (c) <then_branch = t () => (float[n, 3] p) { p = Neg (x) },
                      else_branch = e () => (float[n, 3] r) { q = Abs (x) r = Neg (q) }> }"""
    given = ir.from_proto(model(text))
    ShapeInferencePass()(given)
    assert shapes(given)["q"] == "FLOAT [n,3]"


def test_two_dims_do_not_share_a_name() -> None:
    """The exporter named both `k`."""
    text = "(float[n] x) => (int64[1, k] y, int64[1, k] z) { y = NonZero (x) w = Cos (x) z = NonZero (w) }"
    given = ir.from_proto(model(text))
    ShapeInferencePass()(given)
    first, second = (value.shape for value in given.graph.outputs)
    assert first is not None and second is not None
    assert first[1] == "k" and second[1] not in ("k", "n", None)


def test_constraints_and_diagnostics() -> None:
    given = ir.from_proto(model("(float[n, 3] x) => (float[a, 3] y) { y = Neg (x) z = Foo (x) }"))
    inference_pass = ShapeInferencePass(dims=["n=4"])
    inference_pass(given)
    assert inference_pass.inference is not None
    assert [d.code for d in inference_pass.inference.diagnostics if d.severity != "note"] == ["GI105"]
    with pytest.raises(UsageError, match="no input dim 'm'"):
        ShapeInferencePass(dims=["m=4"])(given)


def heavy(path: Path) -> None:
    proto = model("(float[n, 512] x) => (float[n, 600] y) { z = MatMul (x, w) y = Reshape (z, s) }")
    weights = np.random.default_rng(0).random((512, 600), dtype=np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([-1, 600]), "s"))
    onnx.save(proto, path, save_as_external_data=True, size_threshold=1024)


def test_weights_are_not_read(tmp_path: Path) -> None:
    heavy(tmp_path / "m.onnx")
    given = ir.load(tmp_path / "m.onnx")
    tensor = given.graph.initializers["w"].const_value
    for path in tmp_path.iterdir():
        path.unlink()
    ShapeInferencePass()(given)
    assert shapes(given)["y"] == "FLOAT [n,600]"
    assert given.graph.initializers["w"].const_value is tensor


@pytest.mark.parametrize("rewrite", [FoldPass, OptimizePass])
def test_external_data_after_rewriting(rewrite: type[FoldPass], tmp_path: Path) -> None:
    heavy(tmp_path / "m.onnx")
    given = ir.load(tmp_path / "m.onnx")
    before = given.graph.initializers["w"].const_value
    found = rewrite()(given)
    after = found.model.graph.initializers["w"].const_value
    assert before is not None and after is not None
    assert np.array_equal(before.numpy(), after.numpy())


def test_rewriting_gives_a_new_model() -> None:
    text = "(float[n, m] x) => (float[n, m] y) { a = Transpose (x) b = Transpose (a) y = Abs (b) }"
    given = ir.from_proto(model(text))
    before = ir.to_proto(given)
    found = OptimizePass()(given)
    assert found.modified and found.model is not given
    assert [node.op_type for node in found.model.graph] == ["Abs"]
    assert ir.to_proto(given) == before
    again = OptimizePass()(found.model)
    assert not again.modified and again.model is not found.model


def test_a_sequence_of_passes() -> None:
    given = ir.from_proto(model("(float[n] x) => (float[a] y) { c = Abs (x) d = Identity (c) y = Neg (d) }"))
    found = ir.passes.Sequential(OptimizePass(), ShapeInferencePass())(given)
    assert shapes(found.model)["y"] == "FLOAT [n]"


def test_without_onnx_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx_ir", None)
    monkeypatch.delitem(sys.modules, "gather_infer.compat.onnx_ir")
    with pytest.raises(UsageError, match=r"pip install 'gather-infer\[onnx-ir\]'"):
        import gather_infer.compat.onnx_ir  # noqa: F401

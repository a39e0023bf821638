"""Models before IR version 4, whose initializers are inputs as well, which no runtime feeds."""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer.inference.constraints.shared import SharedConstraints, applicable
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply
from gather_infer.model.edits import Journal, RemoveInitializer
from gather_infer.passes import PassResult
from gather_infer.verification import verify

HELD: Final = "float[4, 8] w = {" + ", ".join(map(str, range(32))) + "}, int64[2] s = {8, 4}, float[2] u = {1, 2}"
INPUTS: Final = "float[N, 8] x, float[4, 8] w, int64[2] s, float[2] u"
BODY: Final = "{ r = Reshape (w, s) y = MatMul (x, r) }"


def parsed(outputs: str = "float[N, 4] y", body: str = BODY, ir: int = 3) -> onnx.ModelProto:
    text = f'<ir_version: {ir}, opset_import: ["": 13]> g ({INPUTS}) => ({outputs}) <{HELD}> {body}'
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model)
    return model


def fed(model: onnx.ModelProto) -> list[str]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return [value.name for value in (*session.get_inputs(), *session.get_overridable_initializers())]


def left(result: PassResult) -> tuple[list[str], list[str]]:
    """The inputs and the initializers of a rewritten model, once it has been judged."""
    onnx.checker.check_model(result.proto)
    assert fed(result.proto) == fed(result.source.proto)
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    feeds = {"x": x} if "x" in fed(result.proto) else {}
    runs = [
        onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
        for model in (result.source.proto, result.proto)
    ]
    assert all(np.array_equal(one, other) for one, other in zip(*runs, strict=True))
    graph = result.proto.graph
    return [value.name for value in graph.input], [tensor.name for tensor in graph.initializer]


def test_what_a_constant_is_made_of_goes_with_its_inputs() -> None:
    """A folded constant takes the place of its operands, and stands not beside them."""
    model = parsed()
    assert fed(model) == ["x"], "onnxruntime feeds no initializer before IR version 4"
    result = gather_infer.optimize(model)
    assert left(result) == (["x"], [])
    assert [node.op_type for node in result.proto.graph.node] == ["Constant", "MatMul"]
    assert result.proto.ByteSize() < model.ByteSize()


@pytest.mark.parametrize("ir", [3, 4])
def test_constraints_of_an_initializer_before_ir_4(ir: int) -> None:
    said = SharedConstraints(ranges=("s=0..3", "x=0..3"))
    assert applicable(ModelFile.from_proto(parsed(ir=ir)), said)[1] == (("s",) if ir == 3 else ())


def test_fold_leaves_what_nobody_has_read_before() -> None:
    assert left(gather_infer.fold(parsed())) == (["x", "u"], ["u"])


KEPT = {
    # id: (outputs, body, inputs that stay beside x)
    "read elsewhere": ("float[N, 4] y, float[N, 4] z", f"{BODY[:-1]} z = Gemm <transB = 1> (x, w) }}", ["w"]),
    "an output": ("float[N, 4] y, float[4, 8] w", BODY, ["w"]),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_what_is_needed_stays(case: str) -> None:
    outputs, body, names = KEPT[case]
    result = gather_infer.optimize(parsed(outputs, body))
    assert left(result)[0] == ["x", *names]


def test_what_callers_may_override_stays() -> None:
    """From IR version 4 on the same model has four inputs."""
    model = parsed(ir=4)
    assert len(fed(model)) == 4
    result = gather_infer.optimize(model)
    assert left(result) == (["x", "w", "s", "u"], ["w", "s", "u"])
    with pytest.raises(AssertionError, match="an initializer that a caller may override stays"):
        apply(Journal([RemoveInitializer(by="test", reason="", name="u")]), model)


@pytest.mark.parametrize("ir", [3, 4])
def test_the_growth_of_a_rewrite_is_what_the_file_grows_by(ir: int) -> None:
    """With no budget at all a constant may still take the place of what it is made of."""
    body = "{ a = Reshape (w, s) y = MatMul (x, a) }"
    kept, grown = parsed(body=body), parsed("float[N, 4] y, float[4, 8] w", body)
    for model, nodes in ((kept, ["Constant", "MatMul"]), (grown, ["Reshape", "MatMul"])):
        if ir == 4:
            del model.graph.input[1:]
            model.ir_version = 4
        result = gather_infer.optimize(model, max_growth=0)
        found = [node.op_type for node in result.proto.graph.node]
        assert found == (nodes if ir == 3 else nodes[nodes[0] == "Constant" :])
        left(result)


def test_a_lost_input_is_a_difference() -> None:
    """Verification ignores an input that is never fed, and reports one that is."""
    for ir, differs in ((3, False), (4, True)):
        model = parsed(ir=ir)
        other = parsed(ir=ir)
        del other.graph.input[3], other.graph.initializer[2]
        found = verify(model, other, 1, inference=gather_infer.infer(model))
        assert found.ok is not differs
        assert differs is any(
            text.startswith("inputs are x, w, s, were x, w, s, u") for text in map(str, found.mismatches)
        )

"""`--dim-dialect` of the commands that write a model."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer import contract_of
from tests.cli.conftest import Run

COMMANDS = ("infer", "optimize", "fold", "freeze", "convert", "contract")


def pooled(name: str) -> onnx.ModelProto:
    """A pool over an axis with the given name, and its declared result."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "C", name])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "C", f"floor({name}/2)"])
    pool = helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2], strides=[2])
    graph = helper.make_graph([pool, helper.make_node("Neg", ["p"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def last_dim(path: str) -> str:
    return str(onnx.load(path).graph.output[0].type.tensor_type.shape.dim[2].dim_param)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_writes_a_model_translates_it(run: Run, command: str) -> None:
    onnx.save(pooled("W"), "pooled.onnx")
    more = {"freeze": ["--dim", "C=3"], "contract": ["--embed"]}.get(command, [])
    for dialect, text in {"rfc0009": "W//2", "torch": "(W//2)", "onnx-ir": "floor(W/2)"}.items():
        result = run(command, "pooled.onnx", "-o", "out.onnx", "--dim-dialect", dialect, *more)
        assert result.exit_code == 0, result.output
        assert "note" not in result.stderr
        assert last_dim("out.onnx") == text, dialect
    assert run(command, "pooled.onnx", "-o", "out.onnx", *more).exit_code == 0
    assert last_dim("out.onnx") == "floor(W/2)"


def test_results_save_in_a_dialect(run: Run) -> None:
    onnx.save(pooled("W"), "pooled.onnx")
    contract_of("pooled.onnx").save("out.onnx", dim_dialect="rfc0009")
    assert last_dim("out.onnx") == "W//2"


def test_a_dim_that_the_dialect_cannot_express_is_noted(run: Run) -> None:
    onnx.save(pooled("image.width"), "pooled.onnx")
    result = run("infer", "pooled.onnx", "-o", "out.onnx", "--dim-dialect", "rfc0009")
    why = "the dialect rfc0009 has no expressions with the name 'image.width'"
    assert result.stderr.startswith(f"note[GI122]: dim_0 stands for image.width//2: {why}\n  --> model\n")
    assert last_dim("out.onnx") == "dim_0"
    assert run("infer", "pooled.onnx", "-o", "out.onnx", "--dim-dialect", "onnxruntime").stderr == "wrote out.onnx\n"


def test_the_option_needs_a_file_and_a_dialect(run: Run) -> None:
    onnx.save(pooled("W"), "pooled.onnx")
    result = run("infer", "pooled.onnx", "--dim-dialect", "torch")
    assert (result.exit_code, "--dim-dialect needs -o or --in-place" in result.stderr) == (2, True)
    result = run("infer", "pooled.onnx", "-o", "out.onnx", "--dim-dialect", "torhc")
    assert (result.exit_code, "'torhc' is not one of" in result.stderr) == (2, True)

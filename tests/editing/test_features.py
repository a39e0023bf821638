"""Parts of the format that each edit keeps: one cell for each part and command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

from gather_infer import compose, extract, open_model, outputs, rename, unfreeze
from gather_infer.model.renaming import named_dims
from gather_infer.passes.result import PassResult
from tests.editing.editing_models import parsed
from tests.editing.format_features import BASE, FEATURES, HEAD

OTHER = parsed("g (float[K, 4] in) => (float[K, 4] out) { out = Exp(in) }", '<ir_version: 10, opset_import: ["": 21]>')


def unfrozen(model: Any) -> PassResult:
    """The model with 3 in place of its symbol N, and N again."""
    proto = model if isinstance(model, ModelProto) else model.proto
    for dim in named_dims(proto):
        if dim.dim_param == "N":
            dim.dim_value = 3
    result = unfreeze(model, ["x.0=N"], verify=False)
    if result.refusal is not None:
        raise result.refusal
    return result


COMMANDS: dict[str, Callable[[Any], PassResult]] = {
    "extract": lambda model: extract(model, outputs="y"),
    "outputs": lambda model: outputs(model, add="a", drop="z"),
    "rename": lambda model: rename(model, inputs="x=data", outputs="y=result", dims="N=rows", nodes="Relu_0=act"),
    "compose, first": lambda model: compose(model, OTHER, mapping="z=in"),
    "compose, second": lambda model: compose(OTHER, model, mapping="out=x"),
    "unfreeze": unfrozen,
}


OF_THE_FIRST_MODEL = {
    "producer", "version of the producer", "domain of the model", "version of the model", "doc string of the model",
    "doc string of the graph", "name of the graph",
}  # fmt: skip
"""Parts of which a joined model has those of the first one."""

LOST = {
    # command: beginnings of parts that it does not keep
    "compose, second": (  # the first model feeds the input
        "doc string of an input", "metadata of an input", "denotation of an input", "denotation of a dim",
    ),
    "unfreeze": ("sequences", "optionals"),  # elements are inferred anew: their sizes may be the old one
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_part_of_the_format_stays(feature: str, command: str) -> None:
    model = parsed(BASE, HEAD)
    model.ir_version = 10
    probe = FEATURES[feature](model)
    wanted = probe(model)
    assert wanted not in (None, [], {}, False)
    result = COMMANDS[command](model)
    if feature.startswith(LOST.get(command, ())):
        assert probe(result.proto) != wanted
        return
    if feature in OF_THE_FIRST_MODEL and command == "compose, second":
        wanted = probe(OTHER)
    if command == "compose, second" and feature == "imports":
        wanted = sorted({*wanted, *probe(OTHER)})
    assert probe(result.proto) == wanted
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:  # as a declared type that an operator of another domain alone may have
        return
    onnx.checker.check_model(result.proto)


@pytest.mark.parametrize("command", COMMANDS)
def test_large_and_external_tensors_keep_their_bytes(command: str, tmp_path: Path) -> None:
    """A file above the size from which payloads stay on disk, with an inline tensor and an external one."""
    model = parsed(BASE.replace("b = Add(a, w)", "k = MatMul(a, big) l = MatMul(k, far) b = Add(l, w)"), HEAD)
    rng = np.random.default_rng(4)
    big, far = rng.standard_normal((4, 90_000)).astype(np.float32), rng.standard_normal((90_000, 4)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(big, "big"))
    held = numpy_helper.from_array(far, "far")
    (tmp_path / "far.bin").write_bytes(held.raw_data)
    held.ClearField("raw_data")
    held.data_location = TensorProto.EXTERNAL
    held.external_data.add(key="location", value="far.bin")
    model.graph.initializer.append(held)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    source = open_model(tmp_path / "m.onnx")
    assert source.payloads
    result = COMMANDS[command](source)
    for name, folder in (("same", tmp_path), ("other", tmp_path / "other")):
        folder.mkdir(exist_ok=True)
        result.save(folder / "out.onnx")
        found = onnx.load(folder / "out.onnx")
        arrays = {t.name: numpy_helper.to_array(t) for t in found.graph.initializer}
        assert arrays["big"].tobytes() == big.tobytes(), name
        assert arrays["far"].tobytes() == far.tobytes(), name
    result.save(tmp_path / "data.onnx", external_data="data.bin")
    again = onnx.load(tmp_path / "data.onnx")
    assert {t.name: numpy_helper.to_array(t).tobytes() for t in again.graph.initializer}["far"] == far.tobytes()


def test_both_models_have_large_tensors(tmp_path: Path) -> None:
    """Files of the same name in two folders, each with tensors on disk."""
    arrays = []
    for number, folder in enumerate((tmp_path / "one", tmp_path / "two")):
        folder.mkdir()
        model = parsed("g (float[N, 4] x) => (float[N, 4] y) { a = MatMul(x, big) y = MatMul(a, far) }")
        big = np.full((4, 90_000), number + 1, np.float32)
        far = np.full((90_000, 4), number + 3, np.float32)
        arrays += [big, far]
        model.graph.initializer.append(numpy_helper.from_array(big, "big"))
        held = numpy_helper.from_array(far, "far")
        (folder / "far.bin").write_bytes(held.raw_data)
        held.ClearField("raw_data")
        held.data_location = TensorProto.EXTERNAL
        held.external_data.add(key="location", value="far.bin")
        model.graph.initializer.append(held)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
    result = compose(tmp_path / "one" / "m.onnx", tmp_path / "two" / "m.onnx", mapping="y=x")
    for folder in (tmp_path / "one", tmp_path):
        result.save(folder / "out.onnx")
        found = {t.name: numpy_helper.to_array(t) for t in onnx.load(folder / "out.onnx").graph.initializer}
        assert [found[name].tobytes() for name in ("big", "far", "m/big", "m/far")] == [a.tobytes() for a in arrays]
    third = compose(tmp_path / "out.onnx", result.file, mapping="m/y=x", allow_failures=True)
    third.save(tmp_path / "third.onnx")
    assert len(onnx.load(tmp_path / "third.onnx").graph.initializer) == 8

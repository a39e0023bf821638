"""Passes for Olive, run with a substitute for the parts of Olive that they use: Olive itself needs torch.

https://github.com/microsoft/Olive/blob/main/olive/passes/olive_pass.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx import ModelProto

from gather_infer import UsageError
from gather_infer.inference.dim_rendering import dims_of

BERT = Path(__file__).parents[2] / "fixtures" / "bert-torchscript.onnx"


@dataclass(frozen=True, slots=True)
class Handler:
    """As an ONNXModelHandler."""

    path: Path

    def load_model(self) -> ModelProto:
        return onnx.load(self.path)


class Pass:
    """The part of `olive.passes.Pass` that calls a subclass."""

    def __init__(self, config: dict[str, Any]) -> None:
        defaults = {name: param["default_value"] for name, param in self._default_config(None).items()}
        unknown = config.keys() - defaults.keys()
        assert not unknown, unknown
        self.config = SimpleNamespace(**defaults | config)

    @classmethod
    def _default_config(cls, accelerator_spec: object) -> dict[str, Any]:
        raise NotImplementedError

    def run(self, model: Handler, output_model_path: str) -> Handler:
        handler: Handler = self._run_for_config(model, self.config, output_model_path)
        return handler

    def _run_for_config(self, model: Handler, config: Any, output_model_path: str) -> Any:
        raise NotImplementedError


def save(proto: ModelProto, path: str, config: Any) -> Handler:
    assert config.save_as_external_data is False
    onnx.save(proto, path)
    return Handler(Path(path))


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module `gather_infer.compat.olive` with the substitute."""
    external = {"save_as_external_data": {"default_value": False}}
    contents: dict[str, dict[str, object]] = {
        "olive": {},
        "olive.model": {},
        "olive.model.utils": {"resolve_onnx_path": lambda path: str(Path(path).with_suffix(".onnx"))},
        "olive.passes": {"Pass": Pass},
        "olive.passes.onnx": {},
        "olive.passes.onnx.common": {
            "get_external_data_config": lambda: external,
            "model_proto_to_olive_model": save,
        },
        "olive.passes.pass_config": {"PassConfigParam": dict},
    }
    for name, attributes in contents.items():
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "gather_infer.compat.olive", raising=False)
    import gather_infer.compat.olive as module_with_passes

    yield module_with_passes
    sys.modules.pop("gather_infer.compat.olive", None)


def dims(proto: ModelProto) -> dict[str, list[int | str]]:
    return {v.name: [d.dim_param or d.dim_value for d in dims_of(v.type)] for v in proto.graph.value_info}


def test_shape_inference(passes: Any, tmp_path: Path) -> None:
    found = passes.GatherInferShapeInference({"dim": ["batch=1"]}).run(Handler(BERT), str(tmp_path / "out"))
    assert found.path == tmp_path / "out.onnx"
    written = onnx.load(found.path)
    assert len(written.graph.node) == 335
    assert [1, "seq", 32] in dims(written).values()
    assert written.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1


def test_optimize(passes: Any, tmp_path: Path) -> None:
    found = passes.GatherInferOptimize({}).run(Handler(BERT), str(tmp_path / "out"))
    assert len(onnx.load(found.path).graph.node) < 200


def test_a_wrong_constraint(passes: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no input dim 'sequence'; there are batch, seq"):
        passes.GatherInferShapeInference({"dim": ["sequence=1"]}).run(Handler(BERT), str(tmp_path / "out"))


def test_without_olive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "olive", None)
    monkeypatch.delitem(sys.modules, "gather_infer.compat.olive", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'gather-infer\[olive\]'"):
        import gather_infer.compat.olive  # noqa: F401

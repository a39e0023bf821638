"""Passes for Olive: types for every tensor of an ONNX model, and the rewrites of `optimize`.

Olive finds a pass outside of its package by `--package-config`; docs/drop-ins.md has the file.

https://microsoft.github.io/Olive/extending/how-to-add-optimization-pass.html
"""

from __future__ import annotations

from typing import Any

from onnx import ModelProto

from gather_infer.errors import UsageError
from gather_infer.inference import infer
from gather_infer.passes import optimize

try:
    from olive.model.utils import resolve_onnx_path
    from olive.passes import Pass
    from olive.passes.onnx.common import get_external_data_config, model_proto_to_olive_model
    from olive.passes.pass_config import PassConfigParam
except ImportError as error:  # also for a version that is too old
    raise UsageError(f"passes for Olive need olive-ai: pip install 'gather-infer[olive]' ({error})") from error


class _OnnxPass(Pass):
    """A pass from an ONNX model to an ONNX model, with the options `dim` and `input` of the command line."""

    @classmethod
    def _default_config(cls, accelerator_spec: Any) -> dict[str, Any]:
        """The options of the pass; they do not depend on the accelerator."""
        texts = {"type_": list[str], "default_value": None, "required": False}
        return {
            "dim": PassConfigParam(description='Constraints on dims: ["seq=1..512", "batch=1"].', **texts),
            "input": PassConfigParam(description='Types of inputs: ["ids=int64[batch, seq]"].', **texts),
            **get_external_data_config(),
        }

    def _run_for_config(self, model: Any, config: Any, output_model_path: str) -> Any:
        """Rewrite the model of the handler `model`, save it, and return its handler.

        Raises ModelReadError and UsageError as `gather_infer.infer`.
        """
        proto = self._rewritten(model.load_model(), tuple(config.dim or ()), tuple(config.input or ()))
        return model_proto_to_olive_model(proto, resolve_onnx_path(output_model_path), config)

    def _rewritten(self, proto: ModelProto, dims: tuple[str, ...], inputs: tuple[str, ...]) -> ModelProto:
        raise NotImplementedError


class GatherInferShapeInference(_OnnxPass):
    """Write the inferred types of all tensors into `value_info`."""

    def _rewritten(self, proto: ModelProto, dims: tuple[str, ...], inputs: tuple[str, ...]) -> ModelProto:
        return infer(proto, dims=dims, inputs=inputs).annotated(weights=True)


class GatherInferOptimize(_OnnxPass):
    """Rewrite to fewer or cheaper nodes with the same outputs."""

    def _rewritten(self, proto: ModelProto, dims: tuple[str, ...], inputs: tuple[str, ...]) -> ModelProto:
        return optimize(proto, dims=dims, inputs=inputs).proto

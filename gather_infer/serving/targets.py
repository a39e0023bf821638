"""The formats of emissions, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gather_infer.contract import Contract, ModelInterface
from gather_infer.errors import EmissionRefused, UnknownName, UsageError
from gather_infer.serving.emission import Emission
from gather_infer.serving.openvino_shapes import openvino_shapes
from gather_infer.serving.overrides import free_dimension_overrides
from gather_infer.serving.profiles import ProfileRequest
from gather_infer.serving.pydantic_model import pydantic_model
from gather_infer.serving.tensorrt import ort_trt, polygraphy, trtexec
from gather_infer.serving.torch_dims import torch_dims
from gather_infer.serving.triton import triton_config

_PROFILES: Final = {"trtexec": trtexec, "polygraphy": polygraphy, "ort-trt": ort_trt}

TARGETS: Final = ("triton", *_PROFILES, "openvino", "torch", "ort", "pydantic")
"""The names of the formats."""

MAX_PROFILES: Final = 4
"""Number of optimization profiles, unless the caller gives it."""


def emit(
    contract: Contract,
    target: str,
    *,
    interface: ModelInterface | None = None,
    opt: Mapping[str, int] | None = None,
    profiles: int = MAX_PROFILES,
    dependent_axes: bool = False,
    strict: bool = False,
) -> Emission:
    """A contract in the form that another program takes; docs/serving.md describes the formats.

    target      `triton`, `trtexec`, `polygraphy`, `ort-trt`, `openvino`, `torch`, `ort` or `pydantic`
    interface   `ContractResult.interface`; `triton` and `ort` need it
    opt         sizes to optimize for, by name, for `trtexec`, `polygraphy` and `ort-trt`; others are chosen
    profiles    the largest number of profiles for the same
    dependent_axes   for the same: give an axis such as `past + seq` the range of its size, and report its equation;
                     otherwise each profile fixes it
    strict      for `pydantic`: enforce lines that are sufficient but not necessary

    Raises EmissionRefused if the format cannot describe the model, or if no sizes are proved legal, and UsageError for
    an unknown target or options that do not fit it.

        >>> result = gather_infer.contract_of("fixtures/bert-torchscript.onnx", dims=["batch=1..8"])
        >>> emission = gather_infer.emit(result.contract, "trtexec", interface=result.interface, opt={"seq": 32})
        >>> print(emission.inexpressible)
        ('-151 <= input_ids < 151', '-2 <= token_type_ids < 2')
    """
    if target not in TARGETS:
        raise UnknownName("target", target, TARGETS)
    if (opt or dependent_axes) and target not in _PROFILES:
        raise UsageError(f"{'sizes to optimize for' if opt else 'dependent axes'} need profiles, {target} has none")
    if strict and target != "pydantic":
        raise UsageError(f"only pydantic has a strict form, not {target}")
    if profiles < 1:
        raise UsageError(f"at least one profile is needed, found {profiles}")
    if contract.model.endswith(".xml") and target not in ("openvino", "torch", "pydantic"):
        raise EmissionRefused(f"{target} is for ONNX models, {contract.model} is an OpenVINO IR; convert it first")
    if target in _PROFILES:
        return _PROFILES[target](contract, ProfileRequest(interface, opt or {}, profiles, dependent_axes))
    match target:
        case "triton":
            return triton_config(contract, interface)
        case "ort":
            return free_dimension_overrides(contract, interface)
        case "openvino":
            return openvino_shapes(contract)
        case "torch":
            return torch_dims(contract)
        case _:
            return pydantic_model(contract, strict=strict)

"""Profiles for TensorRT: for trtexec, for Polygraphy, and for the TensorRT provider of onnxruntime."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from gather_infer.contract import Contract
from gather_infer.errors import EmissionRefused
from gather_infer.serving.emission import Emission, literal
from gather_infer.serving.profiles import OptimizationProfile, ProfileRequest, profiles_of


def trtexec(contract: Contract, request: ProfileRequest) -> Emission:
    """A command of trtexec, with `--profile=N` before the shapes of each profile if there are several.

    https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html
    """
    profiles, notes = profiles_of(contract, request)
    _require_plain(profiles, "trtexec", ",'")
    lines = [f"trtexec --onnx={shlex.quote(contract.model)} --saveEngine={shlex.quote(_stem(contract))}.engine"]
    for number, profile in enumerate(profiles):
        lines += [f"--profile={number}"] * (len(profiles) > 1)
        for end, option in enumerate(("--minShapes", "--optShapes", "--maxShapes")):
            if profile.shapes:
                lines.append(f"{option}={shlex.quote(_shapes(profile, end, 'scalar'))}")
    return notes.emission("trtexec", contract, " \\\n    ".join(lines) + "\n")


def ort_trt(contract: Contract, request: ProfileRequest) -> Emission:
    """A Python module with the options `trt_profile_*_shapes` of onnxruntime's TensorRT provider.

    https://onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html#explicit-shape-range-for-dynamic-shape-input
    """
    profiles, notes = profiles_of(contract, request)
    _require_plain(profiles, "the TensorRT provider", ",:")
    options = {
        f"trt_profile_{word}_shapes": ",".join(_shapes(profile, end, "") for profile in profiles if profile.shapes)
        for end, word in enumerate(("min", "opt", "max"))
    }
    body = f"""
TENSORRT_OPTIONS = {json.dumps(options, indent=4, ensure_ascii=False)}
PROVIDERS = [("TensorrtExecutionProvider", TENSORRT_OPTIONS), "CUDAExecutionProvider", "CPUExecutionProvider"]
"""
    return notes.emission("ort-trt", contract, body)


def polygraphy(contract: Contract, request: ProfileRequest) -> Emission:
    """A Python script for `polygraphy convert --trt-config-script FILE.py`.

    https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/polygraphy/backend/trt/profile.html
    """
    profiles, notes = profiles_of(contract, request)
    texts = []
    for profile in profiles:
        calls = "".join(
            f"\n    .add({literal(name)}, min={s.least}, opt={s.preferred}, max={s.most})"
            for name, s in profile.shapes.items()
        )
        texts.append(f"    Profile(){calls}".replace("\n    ", "\n        ") + ",\n")
    body = f"""
from polygraphy.backend.trt import CreateConfig, Profile

profiles = [
{"".join(texts)}]


def load_config(builder, network):
    \"\"\"The configuration with these profiles, for `polygraphy convert MODEL --trt-config-script THIS_FILE`.\"\"\"
    return CreateConfig(profiles=profiles)(builder, network)
"""
    return notes.emission("polygraphy", contract, body)


def _shapes(profile: OptimizationProfile, end: int, scalar: str) -> str:
    """The smallest, preferred or largest shapes, for an `end` of 0, 1 or 2, as `ids:1x64,mask:1x64`."""
    return ",".join(f"{name}:{'x'.join(map(str, s.ends[end])) or scalar}" for name, s in profile.shapes.items())


def _require_plain(profiles: list[OptimizationProfile], taker: str, special: str) -> None:
    """Raise EmissionRefused if the name of an input has a character by which `taker` splits its options."""
    for name in profiles[0].shapes:
        if not set(name).isdisjoint(special):
            raise EmissionRefused(f"{taker} cannot read the name of input {name!r}, which contains one of {special}")


def _stem(contract: Contract) -> str:
    return Path(contract.model).stem

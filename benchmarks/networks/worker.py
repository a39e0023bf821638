"""The process that has torch and OpenVINO: exports networks and records what OpenVINO gives for them.

    python -m networks.worker FOLDER SECONDS NAME:VARIANT ...

For each it writes NAME.VARIANT.xml and .bin, NAME.VARIANT.K.npz (inputs i0, ..., outputs o0, ..., torch's t0, ...) for
each binding K at which OpenVINO runs, and NAME.VARIANT.exported.json. It ends where a network takes longer than
SECONDS, or brings OpenVINO down; what was done before is then in NAME.VARIANT.exported.part.

A dynamic model is also run with its dims reshaped to numbers. Where OpenVINO gives something else then ("unsteady"),
torch decides which of both counts: the CPU plugin of 2026.4 is wrong for some networks in either way.
"""

from __future__ import annotations

import json
import signal
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch

from networks.network import Called, Network, disturb, tensors_of
from networks.table import NETWORKS

CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}


def main() -> None:
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would wait for a network
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    import openvino as ov

    core = ov.Core()
    folder, seconds = Path(sys.argv[1]), int(sys.argv[2])
    for task in sys.argv[3:]:
        name, variant = task.split(":")
        path = folder / f"{name}.{variant}.xml"
        signal.alarm(seconds)  # the default action ends the process, in native code too
        try:
            found = record(ov, core, name, variant, path)
        except Exception as error:  # noqa: BLE001 (whatever torch or OpenVINO raises is recorded)
            found = {"exported": False, "reason": f"{type(error).__name__}: {error}"[:800]}
        signal.alarm(0)
        path.with_suffix(".exported.json").write_text(json.dumps(found))


def record(ov: Any, core: Any, name: str, variant: str, path: Path) -> dict[str, Any]:
    """Export a network; static exports have weights in f32, dynamic ones in f16, as `ov.save_model` does by default."""
    network = NETWORKS[name]
    torch.manual_seed(crc32(name.encode()))
    module = network.make().eval()
    disturb(module)
    bindings = network.bindings if variant == "dynamic" else network.bindings[:1]
    feeds = [network.feeds(*sizes) for sizes in bindings]
    with torch.no_grad():
        called = torch.jit.script(module) if network.is_scripted else Called(module, names_of(network, feeds[0]))
        model = exported(ov, called, feeds)
        ov.save_model(model, path, compress_to_fp16=variant == "dynamic")
        found: dict[str, Any] = {"exported": True, "ran": [], "of": len(feeds), "reason": ""}
        path.with_suffix(".exported.part").write_text(json.dumps(found))
        model = core.read_model(path)
        compiled = core.compile_model(model, "CPU", CONFIG)
        ran: list[int] = []
        reasons: list[str] = []
        unsteady: list[int] = []
        for number, feed in enumerate(feeds):
            found |= {"ran": ran, "reason": "\n".join(reasons[:1])}
            path.with_suffix(".exported.part").write_text(json.dumps(found))
            inputs = [tensor.numpy() for tensor in feed.values()]
            assert len(inputs) == len(model.inputs), "each input of the module is one of the model"
            by_torch = [tensor.numpy() for tensor in tensors_of(called(*feed.values()))]
            try:
                wanted = outputs_of(compiled, inputs)
                if variant == "dynamic":
                    fixed = core.read_model(path)
                    fixed.reshape(dict(zip(fixed.inputs, (list(array.shape) for array in inputs), strict=True)))
                    again = outputs_of(core.compile_model(fixed, "CPU", CONFIG), inputs)
                    if not all(are_close(a, b) for a, b in zip(wanted, again, strict=True)):
                        unsteady.append(number)
                        wanted = min(wanted, again, key=lambda one: distance(one, by_torch))
            except Exception as error:  # noqa: BLE001 (the same)
                reasons.append(f"{type(error).__name__}: {error}"[:800])
                continue
            ran.append(number)
            held = {f"i{k}": array for k, array in enumerate(inputs)} | {f"o{k}": a for k, a in enumerate(wanted)}
            held |= {f"t{k}": array for k, array in enumerate(by_torch)}
            np.savez(path.with_suffix(f".{number}.npz"), **held)
    return found | {"ran": ran, "unsteady": unsteady, "reason": "\n".join(reasons[:1])}


def outputs_of(compiled: Any, inputs: list[Any]) -> list[Any]:
    ran = compiled(inputs)
    return [np.array(ran[port]) for port in compiled.outputs]


def distance(found: list[Any], wanted: list[Any]) -> float:
    """The largest difference of elements, infinite where shapes differ."""
    pairs = list(zip(found, wanted, strict=True))
    if any(a.shape != b.shape for a, b in pairs):
        return float("inf")
    return max(float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0.0)) for a, b in pairs)


def are_close(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True))


def names_of(network: Network, feed: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that the module is called with."""
    return tuple(feed) if network.by_name else ()


def exported(ov: Any, called: Any, feeds: list[Any]) -> Any:
    """The model of OpenVINO. A dim that differs between the feeds is dynamic."""
    names, example = tuple(feeds[0]), tuple(feeds[0].values())
    drawn = [zip(*(feed[name].shape for feed in feeds), strict=True) for name in names]
    shapes = [ov.PartialShape([dims[0] if len(set(dims)) == 1 else -1 for dims in sizes]) for sizes in drawn]
    outputs = called(*example)
    assert tensors_of(outputs), "it has outputs"
    return ov.convert_model(called, example_input=example, input=shapes)


if __name__ == "__main__":
    main()

"""The process that has torch and OpenVINO: exports networks and records what OpenVINO gives for them.

    python -m networks.worker FOLDER SECONDS NAME:VARIANT ...

For each it writes NAME.VARIANT.xml and .bin, NAME.VARIANT.K.npz (inputs i0, ..., outputs o0, ...) for each binding K at
which OpenVINO runs, and NAME.VARIANT.exported.json. It ends where a network takes longer than SECONDS, or brings OpenVINO
down; what was done before is then in NAME.VARIANT.exported.part.
"""

from __future__ import annotations

import json
import signal
import sys
import warnings
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch

from networks.network import Called, Network, disturb, tensors_of
from networks.table import NETWORKS


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
        model = exported(ov, network, module, feeds)
        ov.save_model(model, path, compress_to_fp16=variant == "dynamic")
        found: dict[str, Any] = {"exported": True, "ran": [], "of": len(feeds), "reason": ""}
        path.with_suffix(".exported.part").write_text(json.dumps(found))
        model = core.read_model(path)
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
        ran: list[int] = []
        reasons: list[str] = []
        for number, feed in enumerate(feeds):
            found |= {"ran": ran, "reason": "\n".join(reasons[:1])}
            path.with_suffix(".exported.part").write_text(json.dumps(found))
            inputs = [tensor.numpy() for tensor in feed.values()][: len(model.inputs)]
            try:
                outputs = compiled(inputs)
            except Exception as error:  # noqa: BLE001 (the same)
                reasons.append(f"{type(error).__name__}: {error}"[:800])
                continue
            ran.append(number)
            held = {f"i{k}": array for k, array in enumerate(inputs)}
            held |= {f"o{k}": np.array(outputs[port]) for k, port in enumerate(compiled.outputs)}
            np.savez(path.with_suffix(f".{number}.npz"), **held)
    return found | {"ran": ran, "reason": "\n".join(reasons[:1])}


def exported(ov: Any, network: Network, module: Any, feeds: list[Any]) -> Any:
    """The model of OpenVINO. A dim that differs between the feeds is dynamic."""
    names, example = tuple(feeds[0]), tuple(feeds[0].values())
    shapes = [
        ov.PartialShape([sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*(f[n].shape for f in feeds))])
        for n in names
    ]
    called = torch.jit.script(module) if network.is_scripted else Called(module, names if network.by_name else ())
    outputs = called(*example)
    assert tensors_of(outputs), "it has outputs"
    return ov.convert_model(called, example_input=example, input=shapes)


if __name__ == "__main__":
    main()

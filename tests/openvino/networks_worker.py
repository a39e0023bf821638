"""The process that has OpenVINO: makes IRs of the fixtures and records what OpenVINO gives at some sizes.

    python -m tests.openvino.networks_worker make FOLDER NAME...
    python -m tests.openvino.networks_worker back FOLDER NAME...

NAME is `fixture` or `fixture:f16`, with weights compressed to f16. `back` reads FOLDER/NAME.onnx, which was converted
from the IR, and records what OpenVINO gives for it with the same inputs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fixtures.feeds import bindings, make_feeds, model_path

BINDINGS = 2


def main() -> None:
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would wait for a network
    import openvino as ov

    task, folder = sys.argv[1], Path(sys.argv[2])
    core = ov.Core()
    with (folder / f"{task}.jsonl").open("a") as log:

        def note(**entry: Any) -> None:
            log.write(json.dumps(entry) + "\n")
            log.flush()

        for name in sys.argv[3:]:
            note(name=name, stage="begun")
            try:
                (record if task == "make" else back)(ov, core, name, folder)
                note(name=name, stage="done")
            except Exception as error:  # noqa: BLE001 (whatever OpenVINO raises is recorded)
                note(name=name, stage="failed", reason=f"{type(error).__name__}: {error}"[:600])


def record(ov: Any, core: Any, name: str, folder: Path) -> None:
    """Saves NAME.xml, NAME.bin and NAME.K.npz (inputs and outputs by name) for each binding K."""
    fixture, _, weights = name.partition(":")
    path = folder / f"{name.replace(':', '-')}.xml"
    ov.save_model(ov.convert_model(model_path(fixture)), path, compress_to_fp16=weights == "f16")
    model = core.read_model(path)
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for number, sizes in enumerate(bindings(fixture)[:BINDINGS]):
        feeds = make_feeds(fixture, sizes, number)
        held: dict[str, Any] = {f"i:{one}": array for one, array in feeds.items()}
        np.savez(folder / f"{path.stem}.{number}.npz", **held, **run(compiled, feeds))


def back(ov: Any, core: Any, name: str, folder: Path) -> None:
    """Saves NAME.K.back.npz (outputs) for each NAME.K.npz: of the model that was converted from the IR."""
    stem = name.replace(":", "-")
    model = ov.convert_model(folder / f"{stem}.onnx")
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for taken in sorted(folder.glob(f"{stem}.[0-9].npz")):
        with np.load(taken) as held:
            feeds = {key[2:]: held[key] for key in held.files if key.startswith("i:")}
        np.savez(taken.with_suffix(".back.npz"), **run(compiled, feeds))


def run(compiled: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    """The outputs by position, `o0` and so on."""
    given = {}
    for port in compiled.inputs:
        names = [port.get_node().get_friendly_name(), *sorted(port.get_names())]
        given[port] = np.array(next(feeds[one] for one in names if one in feeds))
    ran = compiled.create_infer_request().infer(given)
    return {f"o{k}": np.array(ran[port]) for k, port in enumerate(compiled.outputs)}


if __name__ == "__main__":
    main()

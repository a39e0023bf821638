"""The process that has OpenVINO: makes IRs of the fixtures and records what OpenVINO gives at some sizes.

    python -m tests.openvino.networks_worker FOLDER NAME...

NAME is `fixture` or `fixture:f16`, with weights compressed to f16.
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

    folder = Path(sys.argv[1])
    core = ov.Core()
    with (folder / "log.jsonl").open("a") as log:

        def note(**entry: Any) -> None:
            log.write(json.dumps(entry) + "\n")
            log.flush()

        for name in sys.argv[2:]:
            note(name=name, stage="begun")
            try:
                record(ov, core, name, folder)
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
        request = compiled.create_infer_request()
        given = {}
        for port in compiled.inputs:
            names = [port.get_node().get_friendly_name(), *sorted(port.get_names())]
            given[port] = np.array(next(feeds[one] for one in names if one in feeds))
        ran = request.infer(given)
        held: dict[str, Any] = {f"i:{one}": array for one, array in feeds.items()}
        held |= {f"o{k}": np.array(ran[port]) for k, port in enumerate(compiled.outputs)}
        np.savez(folder / f"{path.stem}.{number}.npz", **held)


if __name__ == "__main__":
    main()

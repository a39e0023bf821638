"""The process that has OpenVINO: makes whole models, saves their IRs and records what OpenVINO gives, step by step.

python -m tests.openvino.whole_worker FOLDER FIRST NAME...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.openvino.decoders_worker import EXACT
from tests.openvino.judge_worker import tensor_of
from tests.openvino.whole_maker import Maker
from tests.openvino.whole_models import MODELS


def main() -> None:
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would wait for a network
    import openvino as ov

    folder, first, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    with (folder / "log.jsonl").open("a") as log:

        def note(**entry: Any) -> None:
            log.write(json.dumps(entry) + "\n")
            log.flush()

        for number in range(first, len(names)):
            note(number=number, stage="begun")
            try:
                record(ov, names[number], folder / str(number))
                note(number=number, stage="done")
            except Exception as error:  # noqa: BLE001 (whatever OpenVINO raises is recorded)
                note(number=number, stage="failed", reason=f"{type(error).__name__}: {error}"[:600])


def record(ov: Any, name: str, path: Path) -> None:
    """Saves PATH.xml, PATH.bin and PATH.K.npz for each step K: inputs by name, outputs by position."""
    made = MODELS[name](Maker(ov))
    ov.save_model(made.model, path.with_suffix(".xml"), compress_to_fp16=False)
    core = ov.Core()
    model = core.read_model(path.with_suffix(".xml")) if made.instead is None else made.instead
    if name.startswith("weights"):
        model = MODELS[name](Maker(ov, is_plain=True)).model
    compiled = core.compile_model(model, "CPU", EXACT)
    request = compiled.create_infer_request()
    for step, feeds in enumerate(made.steps):
        ran = request.infer([tensor_of(ov, feeds[port.get_any_name()], port) for port in compiled.inputs])
        held: dict[str, Any] = {f"i:{key}": array for key, array in feeds.items()}
        held |= {f"o:{k}": np.array(ran[port]) for k, port in enumerate(compiled.outputs)}
        np.savez(path.with_suffix(f".{step}.npz"), **held)


if __name__ == "__main__":
    main()

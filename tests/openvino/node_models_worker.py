"""The process that has OpenVINO: ONNX's node models as IRs, with what OpenVINO gives for them.

    python -m tests.openvino.node_models_worker FOLDER MODE FIRST EVERY

MODE is `static`; `baked`, where integer and bool inputs are constants; or `symbolic`, where every dim is `?`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

PLAIN = frozenset(
    ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
)


def node_models() -> list[Any]:
    """The models, in the order of their names, the same at every call."""
    return sorted(collect_testcases(None), key=lambda case: case.name)


def main() -> None:
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would wait for a network
    import openvino as ov

    folder, mode, first, every = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    core = ov.Core()
    with (folder / "log.jsonl").open("a") as log:

        def note(**entry: Any) -> None:
            log.write(json.dumps(entry) + "\n")
            log.flush()

        for number, case in list(enumerate(node_models()))[first::every]:
            note(number=number, name=case.name, stage="begun")
            try:
                why = record(ov, core, case, mode, folder / case.name)
                note(number=number, name=case.name, stage="done" if not why else "left", reason=why)
            except Exception as error:  # noqa: BLE001 (whatever OpenVINO raises is recorded)
                note(number=number, name=case.name, stage="failed", reason=f"{type(error).__name__}: {error}"[:300])


def record(ov: Any, core: Any, case: Any, mode: str, path: Path) -> str:
    """Saves NAME.xml, .bin and .npz (feeds as i0, i1, ..., outputs as o0, ...); why not, where that has no point."""
    model = case.model
    inputs, _ = case.data_sets[0]
    arrays = [numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x for x in inputs]
    if any(not isinstance(x, np.ndarray) or x.dtype.name not in PLAIN for x in arrays):
        return "an input that is no plain tensor"
    feeds = dict(zip((value.name for value in model.graph.input), arrays, strict=True))
    changed = ModelProto()
    changed.CopyFrom(model)
    if mode == "baked":
        baked = [name for name, array in feeds.items() if array.dtype.kind in "iub"]
        if not baked or len(baked) == len(feeds):
            return "nothing to bake, or nothing else"
        kept = [value for value in model.graph.input if value.name not in baked]
        del changed.graph.input[:]
        changed.graph.input.extend(kept)
        changed.graph.initializer.extend(numpy_helper.from_array(feeds.pop(name), name) for name in baked)
    if mode == "symbolic":
        for value in changed.graph.input:
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.dim_param = f"{value.name}_{axis}"
        for value in changed.graph.output:
            value.type.tensor_type.ClearField("shape")
    source = path.with_suffix(".tmp.onnx")
    onnx.save(changed, source)
    try:
        made = ov.convert_model(str(source))
    finally:
        source.unlink()
    ov.save_model(made, path.with_suffix(".xml"), compress_to_fp16=False)
    loaded = core.read_model(path.with_suffix(".xml"))
    compiled = core.compile_model(loaded, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    given = []
    for port in loaded.inputs:
        names = [*sorted(port.get_names()), port.get_node().get_friendly_name()]
        given.append(np.array(next(feeds[name] for name in names if name in feeds)))
    ran = compiled(given)
    found = [np.array(ran[port]) for port in compiled.outputs]
    held: dict[str, Any] = {f"i{k}": x for k, x in enumerate(given)} | {f"o{k}": x for k, x in enumerate(found)}
    np.savez(path.with_suffix(".npz"), **held)
    return ""


if __name__ == "__main__":
    main()

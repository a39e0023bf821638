"""The process that has OpenVINO: builds the cases of a module, saves their IRs and records what OpenVINO gives.

python -m tests.openvino.judge_worker MODULE FOLDER FIRST
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from tests.openvino.cases import Build, Case


def main() -> None:
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would wait for a network
    import openvino as ov
    import openvino.op
    import openvino.opset16

    module, folder, first = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    core = ov.Core()
    cases: dict[str, Case] = importlib.import_module(module).CASES
    tasks = [(name, variant) for name, case in cases.items() for variant in case.variants]
    with (folder / "log.jsonl").open("a") as log:

        def note(**entry: Any) -> None:
            log.write(json.dumps(entry) + "\n")
            log.flush()

        for number in range(first, len(tasks)):
            name, variant = tasks[number]
            note(number=number, stage="begun")
            try:
                record(ov, core, cases[name], Build(variant, ov, crc32(name.encode())), folder / str(number))
                note(number=number, stage="done")
            except Exception as error:  # noqa: BLE001 (whatever OpenVINO raises is recorded)
                note(number=number, stage="failed", reason=f"{type(error).__name__}: {error}"[:600])


def record(ov: Any, core: Any, case: Case, build: Build, path: Path) -> None:
    """Saves FOLDER/NUMBER.xml, .bin and .npz (the feeds as i0, i1, ..., the outputs as o0, ...)."""
    seed = build.seed
    outputs = outputs_of(case.build(build))
    flat = [output.get_partial_shape().rank.is_dynamic for output in outputs]
    ov.save_model(model_of(ov, outputs, flat, build), path.with_suffix(".xml"), compress_to_fp16=False)
    model, feeds = core.read_model(path.with_suffix(".xml")), build.feeds
    if case.instead is not None or build.variant == "unranked":  # the plugin takes no input without a rank
        plain = Build("static" if build.variant == "unranked" else build.variant, ov, seed)
        model = model_of(ov, outputs_of((case.instead or case.build)(plain)), flat, plain)
        feeds = plain.feeds
    if case.engine == "reshaped":
        model.reshape({port: list(array.shape) for array, port in zip(feeds, model.inputs, strict=True)})
    tensors = [tensor_of(ov, array, port) for array, port in zip(feeds, model.inputs, strict=True)]
    if case.witness is not None:
        told = zip(case.witness(*feeds), flat, strict=True)
        parts = [[array.ravel(), np.array(array.shape, np.int64)] if is_flat else [array] for array, is_flat in told]
        found = [one for part in parts for one in part]
    elif case.engine == "evaluate":
        made = [ov.Tensor(port.get_element_type(), ov.Shape([])) for port in model.outputs]
        if not model.evaluate(made, tensors):
            raise RuntimeError("evaluate gives nothing")
        found = [np.array(tensor.data) for tensor in made]
    else:
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        ran = compiled(tensors)
        found = [np.array(ran[port]) for port in compiled.outputs]
    texts = [port.get_element_type() == ov.Type.string for port in model.outputs]
    found = [array.astype(str) if is_text else array for array, is_text in zip(found, texts, strict=True)]
    held: dict[str, Any] = {f"i{k}": array for k, array in enumerate(build.feeds)}
    held |= {f"o{k}": array for k, array in enumerate(found)}
    np.savez(path.with_suffix(".npz"), **held)


def outputs_of(made: Any) -> list[Any]:
    """The outputs that a builder gives: layers, or single ports."""
    several = list(made) if isinstance(made, (tuple, list)) else [made]
    return [out for one in several for out in (one.outputs() if hasattr(one, "outputs") else [one])]


def model_of(ov: Any, outputs: Sequence[Any], flat: Sequence[bool], build: Build) -> Any:
    """A model; of an output that has to have no rank it gives the elements in a row, and the dims."""
    ops = ov.opset16
    ports: list[Any] = []
    for output, is_flat in zip(outputs, flat, strict=True):
        row = ops.constant(np.array([-1], np.int64))
        ports += [ops.reshape(output, row, False), ops.shape_of(output)] if is_flat else [output]
    return ov.Model([ops.result(port) for port in ports], build.parameters, "case")


def tensor_of(ov: Any, array: Any, port: Any) -> Any:
    """A feed of OpenVINO; a scalar has to be a true one."""
    if array.dtype.kind in "US":
        return ov.Tensor(array.tolist() if array.ndim else [str(array)])
    made = ov.Tensor(port.get_element_type(), ov.Shape(list(array.shape)))
    made.data[...] = array
    return made


if __name__ == "__main__":
    main()

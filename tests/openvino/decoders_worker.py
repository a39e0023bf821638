"""The process that has OpenVINO: makes stateful decoders of the fixtures, with compressed weights, and runs them.

    python -m tests.openvino.decoders_worker make FOLDER NAME...
    python -m tests.openvino.decoders_worker back FOLDER NAME...

NAME is `fixture:weights`; `back` reads FOLDER/NAME.onnx, which was converted from the IR, and records what OpenVINO
gives for it. Each past input becomes a variable that begins without elements, as the exporters for
OpenVINO have it, reordered by an input `beam_idx`; each present output is assigned to it. Weights of MatMuls are f32,
f16, int8 (a zero point for each row), int4 or nf4 (blocks of 16 or less).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from fixtures.feeds import model_path

RECURRENT = ("gru", "window")
STEPS = (3, 1, 1)
"""Tokens of each step; every one goes on from the state of the one before."""
BATCH = 2
EXACT = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0", "KV_CACHE_PRECISION": "f32"}
"""Else the plugin rounds activations to 8 bits beside compressed weights, and what state holds."""


def main() -> None:
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would wait for a network
    import openvino as ov

    task, folder = sys.argv[1], Path(sys.argv[2])
    with (folder / f"{task}.jsonl").open("a") as log:

        def note(**entry: Any) -> None:
            log.write(json.dumps(entry) + "\n")
            log.flush()

        for name in sys.argv[3:]:
            note(name=name, stage="begun")
            try:
                (record if task == "make" else back)(ov, name, folder)
                note(name=name, stage="done")
            except Exception as error:  # noqa: BLE001 (whatever OpenVINO raises is recorded)
                note(name=name, stage="failed", reason=f"{type(error).__name__}: {error}"[:600])


@dataclass(slots=True)
class State:
    """The state of a converted decoder.

    first     what is fed at the first step, by the input
    present   the output that the input is fed from at the later steps
    is_reset  there is the input `reset_state`
    held      the default values of inputs
    """

    first: dict[str, Any]
    present: dict[str, str]
    is_reset: bool
    held: dict[str, Any] = field(default_factory=dict)

    def save(self, target: Path) -> None:
        told = {"present": self.present, "is_reset": self.is_reset, "held": sorted(self.held)}
        target.with_suffix(".json").write_text(json.dumps(told))
        np.savez(target.with_suffix(".state.npz"), **self.first, **self.held)

    @classmethod
    def load(cls, target: Path) -> State:
        told = json.loads(target.with_suffix(".json").read_text())
        with np.load(target.with_suffix(".state.npz")) as held:
            arrays = {key: held[key] for key in held.files}
        own = {key: arrays.pop(key) for key in told["held"]}
        return cls(arrays, told["present"], told["is_reset"], own)


def steps(path: Path, state: State, run: Callable[[dict[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs of every step that is recorded beside an IR, each fed with the state that the one before has left."""
    fed, ran = dict(state.first), []
    for step in range(len(STEPS)):
        with np.load(path.with_name(f"{path.stem}.{step}.npz")) as held:
            given = {key[2:]: held[key] for key in held.files if key.startswith("i:")}
        if state.is_reset:
            given["reset_state"] = np.array(step == 0)
        outputs = run({**given, **fed})
        fed = {past: outputs[present] for past, present in state.present.items()}
        ran.append(outputs)
    return ran


def back(ov: Any, name: str, folder: Path) -> None:
    """Saves NAME.K.back.npz (outputs by name) for each step K.

    NAME is `fixture-weights-form`. OpenVINO's importer makes a constant of an input that has a default value, so that
    no state could be fed there; the default is taken out of the model and fed at the first step.
    """
    target = folder / f"{name}.onnx"
    state = State.load(target)
    proto = onnx.load(target)
    for tensor in [one for one in proto.graph.initializer if one.name in state.held]:
        proto.graph.initializer.remove(tensor)
    state.first |= state.held
    bare = folder / f"{name}-bare.onnx"
    onnx.save(proto, bare)
    compiled = ov.Core().compile_model(ov.convert_model(bare), "CPU", EXACT)
    request = compiled.create_infer_request()

    def run(feeds: dict[str, Any]) -> dict[str, Any]:
        ran = request.infer({port: feeds[port.get_any_name()] for port in compiled.inputs})
        return {one: np.array(ran[port]) for port in compiled.outputs for one in port.get_names()}

    for step, outputs in enumerate(steps(folder / f"{name.rpartition('-')[0]}.xml", state, run)):
        np.savez(folder / f"{name}.{step}.back.npz", **outputs)


def record(ov: Any, name: str, folder: Path) -> None:
    """Saves NAME.xml, NAME.bin and NAME.K.npz (inputs and outputs by name) for each step K."""
    fixture, _, weights = name.partition(":")
    model = recurrent(ov, fixture) if fixture in RECURRENT else ov.convert_model(model_path(fixture))
    if fixture not in RECURRENT:
        stateful(ov, model)
    if weights not in ("f32", "f16"):
        compress(ov, model, weights)
    path = folder / f"{fixture}-{weights}.xml"
    ov.save_model(model, path, compress_to_fp16=weights == "f16")
    core = ov.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", EXACT)
    request = compiled.create_infer_request()
    past = 0
    for step, length in enumerate(STEPS):
        given = feeds(compiled.inputs, past, length, step)
        ran = request.infer(given)
        held = {f"i:{one}": array for one, array in given.items()}
        held |= {f"o:{port.get_any_name()}": np.array(ran[port]) for port in compiled.outputs}
        np.savez(folder / f"{path.stem}.{step}.npz", **held)
        past += length


def recurrent(ov: Any, kind: str) -> Any:
    """A language model whose state has a size of its own: of a GRU that begins with what is learnt, of a window."""
    op, ops = ov.op, ov.opset13
    random = np.random.default_rng(3)

    def weight(*shape: int) -> Any:
        return ops.constant(random.uniform(-1, 1, shape).astype(np.float32))

    tokens = ops.parameter([-1, -1], np.int64, name="input_ids")
    tokens.output(0).set_names({"input_ids"})
    embedded = ops.gather(weight(100, 16), tokens, ops.constant(0))
    batch = ops.gather(ops.shape_of(tokens), ops.constant(np.array([0])), ops.constant(0))
    info = op.util.VariableInfo()
    info.data_type, info.variable_id = ov.Type.f32, "hidden"
    if kind == "gru":
        info.data_shape = ov.PartialShape([-1, 1, 16])
        start = ops.broadcast(weight(1, 1, 16), ops.concat([batch, ops.constant(np.array([1, 16]))], 0))
    else:
        info.data_shape = ov.PartialShape([BATCH, 2, 16])
        start = weight(BATCH, 2, 16)
    variable = op.util.Variable(info)
    read = op.read_value(start, variable)
    read.output(0).set_names({"hidden"})
    if kind == "gru":
        length = ops.gather(ops.shape_of(tokens), ops.constant(np.array([1])), ops.constant(0))
        lengths = ops.broadcast(length, batch)
        ran = ov.opset5.gru_sequence(
            embedded, read, lengths, weight(1, 48, 16), weight(1, 48, 16), weight(1, 48), 16, "forward"
        )
        wide, left = ops.squeeze(ran.output(0), ops.constant(np.array([1]))), ops.concat([ran.output(1)], 0)
    else:
        window = ops.concat([read, embedded], 1)
        begin, end, one = (ops.constant(np.array([number])) for number in (-2, 2**31, 1))
        left = ops.slice(window, begin, end, one, one)
        across = ops.transpose(window, ops.constant(np.array([0, 2, 1])))
        mixed = ops.convolution(across, weight(16, 16, 3), [1], [0], [0], [1])
        wide = ops.transpose(mixed, ops.constant(np.array([0, 2, 1])))
    logits = ops.matmul(wide, weight(100, 16), False, True)
    logits.output(0).set_names({"logits"})
    return ov.Model([ops.result(logits)], [op.assign(left, variable)], [tokens], kind)


def stateful(ov: Any, model: Any) -> None:
    """Past inputs as variables, present outputs as what is assigned to them."""
    op, ops = ov.op, ov.opset13
    beams = ops.parameter([-1], np.int32, name="beam_idx")
    beams.output(0).set_names({"beam_idx"})
    model.add_parameters([beams])
    first = model.input("input_ids").get_node()
    batch = ops.gather(ops.shape_of(first), ops.constant(np.array([0])), ops.constant(0))
    for parameter in list(model.get_parameters()):
        past = sorted(parameter.output(0).get_names())
        if not past or not past[0].startswith("past_key_values") or ".encoder." in past[0]:
            continue
        present = past[0].replace("past_key_values", "present")
        result = next(
            r for r in model.get_results() if present in r.output(0).get_names() | r.input_value(0).get_names()
        )
        shape = parameter.get_partial_shape()
        sizes = [batch, *(ops.constant(np.array([d.get_length() if d.is_static else 0])) for d in list(shape)[1:])]
        start = ops.broadcast(ops.constant(np.float32(0)), ops.concat(sizes, 0))
        info = op.util.VariableInfo()
        info.data_shape, info.data_type = shape, parameter.get_element_type()
        info.variable_id = past[0] + present
        variable = op.util.Variable(info)
        read = op.read_value(start, variable)
        readers = list(parameter.output(0).get_target_inputs())
        ordered = ops.gather(read, beams, ops.constant(0))
        for reader in readers:
            reader.replace_source_output(ordered.output(0))
        read.output(0).set_names({past[0]})
        model.add_sinks([op.assign(result.input_value(0).get_node(), variable)])
        model.add_variables([variable])
        model.remove_result(result)
        model.remove_parameter(parameter)
    model.validate_nodes_and_infer_types()


def compress(ov: Any, model: Any, weights: str) -> None:
    """Weights of MatMuls as constants, zero points and scales."""
    ops = ov.opset13
    for node in model.get_ordered_ops():
        if node.get_type_name() != "MatMul":
            continue
        source = node.input_value(1).get_node()
        if source.get_type_name() != "Constant" or len(source.shape) != 2:
            continue
        held = source.data.astype(np.float32)
        is_transposed = bool(node.get_attributes()["transpose_b"])
        rows = held if is_transposed else held.T
        wide = compressed(ov, ops, np.ascontiguousarray(rows), weights)
        made = ops.matmul(node.input_value(0), wide, False, True)
        made.set_friendly_name(node.get_friendly_name())
        node.output(0).replace(made.output(0))
    model.validate_nodes_and_infer_types()


def compressed(ov: Any, ops: Any, rows: Any, weights: str) -> Any:
    """[n, k] as OpenVINO's compression tool lays it out: multiplied in f16, converted to f32 at the end."""
    n, k = rows.shape
    size = k if weights == "int8" else 16 if k % 16 == 0 else k
    blocks = rows.reshape(n, k // size, size)
    low, high = blocks.min(-1, keepdims=True), blocks.max(-1, keepdims=True)
    levels = 255 if weights == "int8" else 15
    if weights == "nf4":
        scale = np.abs(blocks).max(-1, keepdims=True).astype(np.float16)
        codes = ov.op.Constant(ov.Type.nf4, ov.Shape(list(blocks.shape)), (blocks / scale).ravel().tolist())
        wide = ops.convert(codes, "f16")
    else:
        scale = np.maximum((high - low) / levels, 1e-4).astype(np.float16)
        zero = np.clip(np.round(-low / scale), 0, levels)
        data = np.clip(np.round(blocks / scale) + zero, 0, levels)
        kind = ov.Type.u8 if weights == "int8" else ov.Type.u4

        def constant(array: Any) -> Any:
            return ov.op.Constant(kind, ov.Shape(list(array.shape)), array.astype(np.uint8).ravel().tolist())

        wide = ops.subtract(ops.convert(constant(data), "f16"), ops.convert(constant(zero), "f16"))
    scaled = ops.multiply(wide, ops.constant(scale))
    scaled = ops.reshape(scaled, ops.constant(np.array([n, k])), False)
    return ops.convert(scaled, "f32")


def feeds(ports: Any, past: int, length: int, step: int) -> dict[str, Any]:
    """Inputs of a step: tokens, a mask of ones, positions that go on, the order of the beams turned."""
    random = np.random.default_rng(step)
    given: dict[str, Any] = {}
    for port in ports:
        name = sorted(port.get_names())[0]
        if name == "beam_idx":
            given[name] = np.arange(BATCH, dtype=np.int32)[:: -1 if step else 1].copy()
        elif name == "input_ids":
            given[name] = random.integers(0, 100, (BATCH, length))
        elif name == "position_ids":
            given[name] = np.broadcast_to(np.arange(past, past + length), (BATCH, length)).copy()
        elif name == "attention_mask":
            given[name] = np.ones((BATCH, past + length), np.int64)
        else:
            fixed = np.random.default_rng(7)  # the encoder's, the same at every step
            shape = [
                d.get_length() if d.is_static else BATCH if k == 0 else 5
                for k, d in enumerate(port.get_partial_shape())
            ]
            is_float = port.get_element_type().is_real()
            given[name] = fixed.uniform(-1, 1, shape).astype(np.float32) if is_float else np.ones(shape, np.int64)
    return given


if __name__ == "__main__":
    main()

"""Copies of the fixtures with something planted that would hurt in deployment, and what the checks have to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

FIXTURES = Path(__file__).parents[2] / "fixtures"


@dataclass(frozen=True)
class Plant:
    """A fault planted into a fixture.

    change     edits the model, and may write beside `path`, where it will be saved; what it returns is the place
    code       of the finding
    place      the node, or the value, that the finding names
    said       what is said of the inputs
    severity   of the finding
    """

    fixture: str
    code: str
    change: Callable[[ModelProto, Path], str]
    said: dict[str, Any] = field(default_factory=dict)
    severity: str = "error"


def node(model: ModelProto, name: str) -> NodeProto:
    (found,) = (n for n in model.graph.node if n.name == name)
    return found


def of_type(model: ModelProto, op_type: str, number: int = 0) -> NodeProto:
    return [n for n in model.graph.node if n.op_type == op_type][number]


def initializer(model: ModelProto, name: str) -> TensorProto:
    (found,) = (t for t in model.graph.initializer if t.name == name)
    return found


def as_is(name: str) -> Callable[[ModelProto, Path], str]:
    """Nothing is planted but what is said."""
    return lambda model, path: node(model, name).name


def fewer_rows(table: str, reader: str) -> Callable[[ModelProto, Path], str]:
    """The table has a row less."""

    def change(model: ModelProto, path: Path) -> str:
        tensor = initializer(model, table)
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor)[:-1].copy(), table))
        return node(model, reader).name

    return change


def attribute(op_type: str, name: str, value: Any, number: int = 0) -> Callable[[ModelProto, Path], str]:
    def change(model: ModelProto, path: Path) -> str:
        found = of_type(model, op_type, number)
        kept = [a for a in found.attribute if a.name != name]
        del found.attribute[:]
        found.attribute.extend(kept)
        if value is not None:
            found.attribute.append(helper.make_attribute(name, value))
        return found.name

    return change


def swapped(name: str) -> Callable[[ModelProto, Path], str]:
    def change(model: ModelProto, path: Path) -> str:
        found = node(model, name)
        found.input[0], found.input[1] = found.input[1], found.input[0]
        return found.name

    return change


def narrow_ids(reader: str, dtype: int) -> Callable[[ModelProto, Path], str]:
    """The index goes through a narrow type."""

    def change(model: ModelProto, path: Path) -> str:
        found = node(model, reader)
        at = list(model.graph.node).index(found)
        narrow = helper.make_node("Cast", [found.input[1]], ["narrow"], "to_narrow", to=dtype)
        wide = helper.make_node("Cast", ["narrow"], ["wide"], "to_wide", to=TensorProto.INT64)
        found.input[1] = "wide"
        model.graph.node.insert(at, wide)
        model.graph.node.insert(at, narrow)
        return "to_narrow"

    return change


def narrow_constant(model: ModelProto, path: Path) -> str:
    """Rows 0, 64 and 200 of a table, where 200 has become an int8."""
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((256, 2), np.float32), "rows"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 64, 200]), "wanted"))
    model.graph.node.append(helper.make_node("Cast", ["wanted"], ["narrow"], "to_narrow", to=TensorProto.INT8))
    model.graph.node.append(helper.make_node("Cast", ["narrow"], ["wide"], "to_wide", to=TensorProto.INT64))
    model.graph.node.append(helper.make_node("Gather", ["rows", "wide"], ["picked"], "pick"))
    model.graph.output.append(helper.make_tensor_value_info("picked", TensorProto.FLOAT, [3, 2]))
    return "to_narrow"


def external(*, keep: int | None = None, **entries: str | None) -> Callable[[ModelProto, Path], str]:
    """Weights beside the model, of which `keep` bytes are there; an entry that is None leaves the file away."""

    def change(model: ModelProto, path: Path) -> str:
        data = path.with_suffix(".data")
        tensor = max(model.graph.initializer, key=lambda t: t.ByteSize())
        raw = numpy_helper.to_array(tensor).tobytes()
        if "missing" not in entries:
            data.write_bytes(raw if keep is None else raw[:keep])
        for name in ("raw_data", "float_data", "int64_data"):
            tensor.ClearField(name)
        tensor.data_location = TensorProto.EXTERNAL
        stated = {"location": data.name, "offset": "0", "length": str(len(raw)), **entries}
        for key, value in stated.items():
            if key != "missing":
                tensor.external_data.add(key=key, value=value)
        return str(tensor.name)

    return change


def declared(name: str, shape: list[int | str], *, dtype: int = TensorProto.FLOAT) -> Callable[[ModelProto, Path], str]:
    """The value_info of the first output of a node says so."""

    def change(model: ModelProto, path: Path) -> str:
        found = node(model, name)
        value = found.output[0]
        kept = [v for v in model.graph.value_info if v.name != value]
        del model.graph.value_info[:]
        model.graph.value_info.extend([*kept, helper.make_tensor_value_info(value, dtype, shape)])
        return found.name

    return change


def dim(kind: str, position: int, axis: int, size: int) -> Callable[[ModelProto, Path], str]:
    def change(model: ModelProto, path: Path) -> str:
        value = getattr(model.graph, kind)[position]
        value.type.tensor_type.shape.dim[axis].dim_value = size
        return str(value.name)

    return change


def renamed_output(name: str, to: str) -> Callable[[ModelProto, Path], str]:
    """Another node makes the value too."""

    def change(model: ModelProto, path: Path) -> str:
        copy = NodeProto()
        copy.CopyFrom(node(model, name))
        copy.name = to
        model.graph.node.append(copy)
        return to

    return change


def node_name(name: str, to: str) -> Callable[[ModelProto, Path], str]:
    """A node is called like another."""

    def change(model: ModelProto, path: Path) -> str:
        node(model, name).name = to
        return f"{to}#{max(at for at, found in enumerate(model.graph.node) if found.name == to)}"

    return change


def not_a_number(model: ModelProto, path: Path) -> str:
    tensor = initializer(model, WORDS)
    elements = numpy_helper.to_array(tensor).copy()
    elements[3, 4] = np.nan
    tensor.CopyFrom(numpy_helper.from_array(elements, WORDS))
    return WORDS


def twice_initializer(model: ModelProto, path: Path) -> str:
    tensor = model.graph.initializer.add()
    tensor.CopyFrom(model.graph.initializer[0])
    return str(tensor.name)


def cycle(model: ModelProto, path: Path) -> str:
    """An Add reads what is made of it."""
    first = of_type(model, "Add")
    reader = next(n for n in model.graph.node if first.output[0] in n.input)
    first.input[1] = reader.output[0]
    return str(reader.name)


def undefined(name: str) -> Callable[[ModelProto, Path], str]:
    def change(model: ModelProto, path: Path) -> str:
        node(model, name).input[1] = "nowhere"
        return name

    return change


def no_output(model: ModelProto, path: Path) -> str:
    model.graph.output.append(helper.make_tensor_value_info("nowhere", TensorProto.FLOAT, None))
    return "nowhere"


def opset(version: int, reader: str) -> Callable[[ModelProto, Path], str]:
    def change(model: ModelProto, path: Path) -> str:
        model.opset_import[0].version = version
        return of_type(model, reader).name if reader else ""

    return change


def ir_version(version: int) -> Callable[[ModelProto, Path], str]:
    def change(model: ModelProto, path: Path) -> str:
        model.ir_version = version
        return ""

    return change


def domain(name: str) -> Callable[[ModelProto, Path], str]:
    def change(model: ModelProto, path: Path) -> str:
        found = of_type(model, "Softmax")
        found.domain = name
        return found.name

    return change


def foreign(model: ModelProto, path: Path) -> str:
    found = of_type(model, "Softmax")
    found.domain = "com.example"
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    return found.name


def more_inputs(model: ModelProto, path: Path) -> str:
    found = of_type(model, "Softmax")
    found.input.append(found.input[0])
    return found.name


def shuffled(model: ModelProto, path: Path) -> str:
    """A node stands before the one that makes its input."""
    found = of_type(model, "MatMul")
    kept = [n for n in model.graph.node if n is not found and n.name != found.name]
    first = NodeProto()
    first.CopyFrom(found)
    del model.graph.node[:]
    model.graph.node.extend([first, *kept])
    return first.name


def short_payload(model: ModelProto, path: Path) -> str:
    tensor = max(model.graph.initializer, key=lambda t: len(t.raw_data))
    tensor.raw_data = tensor.raw_data[:-4]
    return str(tensor.name)


def rows_of(table: str, rows: list[int], *, version: int = 0) -> Callable[[ModelProto, Path], str]:
    """A Gather of fixed rows."""

    def change(model: ModelProto, path: Path) -> str:
        model.graph.initializer.append(numpy_helper.from_array(np.array(rows), "rows"))
        model.graph.node.append(helper.make_node("Gather", [table, "rows"], ["picked"], "pick"))
        width = initializer(model, table).dims[1]
        model.graph.output.append(helper.make_tensor_value_info("picked", TensorProto.FLOAT, [len(rows), width]))
        return "pick"

    return change


def old_gather(model: ModelProto, path: Path) -> str:
    """A model of opset 10, where a negative index means nothing."""
    nodes = [helper.make_node("Gather", ["x", "last"], ["y"], "pick", axis=1)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch"])
    last = numpy_helper.from_array(np.array(-1), "last")
    model.CopyFrom(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [last])))
    model.ir_version, model.opset_import[0].version = 5, 10
    return "pick"


def hiding(model: ModelProto, path: Path) -> str:
    """A branch makes a value that is called like one around it."""
    first = model.graph.node[0]
    name = first.output[0]

    def branch(label: str, value: str) -> onnx.GraphProto:
        made = helper.make_node("Constant", [], [value], f"{label}_constant", value_float=1.0)
        return helper.make_graph([made], label, [], [helper.make_tensor_value_info(value, TensorProto.FLOAT, [])])

    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "always"))
    chosen = helper.make_node(
        "If", ["always"], ["chosen"], "choose", then_branch=branch("yes", name), else_branch=branch("no", "other")
    )
    model.graph.node.append(chosen)
    model.graph.output.append(helper.make_tensor_value_info("chosen", TensorProto.FLOAT, []))
    return "choose"


BERT, GPT2 = "bert-torchscript", "gpt2-kv-torchscript"
WORDS, WORD_GATHER = "bert.embeddings.word_embeddings.weight", "/bert/embeddings/word_embeddings/Gather"
TOKENS, TOKEN_GATHER = "gpt2.transformer.wte.weight", "/gpt2/transformer/wte/Gather"

PLANTS: dict[str, Plant] = {
    "vocabulary one short": Plant(BERT, "GI501", fewer_rows(WORDS, WORD_GATHER), {"ranges": ["input_ids=0..150"]}),
    "vocabulary one short, gpt2": Plant(
        GPT2, "GI501", fewer_rows(TOKENS, TOKEN_GATHER), {"ranges": ["input_ids=0..130"]}
    ),
    "vocabulary one short, dynamo": Plant(
        "bert-dynamo", "GI501", fewer_rows(WORDS, "node_embedding"), {"ranges": {"input_ids": (0, 150)}}
    ),
    "a token type too many": Plant(
        BERT, "GI501", as_is("/bert/embeddings/token_type_embeddings/Gather"), {"ranges": ["token_type_ids=0..2"]}
    ),
    "ids from below": Plant(BERT, "GI501", as_is(WORD_GATHER), {"ranges": ["input_ids=-152..0"]}),
    "positions too few": Plant(BERT, "GI501", as_is("/bert/embeddings/Add_1"), {"dims": ["seq=1..65"]}),
    "positions too few, dynamo": Plant("bert-dynamo", "GI501", as_is("node_add_18"), {"dims": ["seq=1..512"]}),
    "positions too few, clip": Plant(
        "clip-torchscript", "GI501", as_is("/clip/text_model/embeddings/Add"), {"dims": ["seq=1..77"]}
    ),
    "positions too few for one past": Plant(
        GPT2, "GI501", as_is("/gpt2/transformer/wpe/Gather"), {"dims": ["seq=1..512"]}
    ),
    "positions too few, static": Plant(BERT, "GI212", as_is("/bert/embeddings/Add_1"), {"dims": ["seq=65"]}),
    "wrong axis of Gather": Plant("vit-torchscript", "GI304", attribute("Gather", "axis", 5)),
    "wrong axis of Concat": Plant(GPT2, "GI304", attribute("Concat", "axis", 7)),
    "wrong axis of Softmax": Plant(BERT, "GI304", attribute("Softmax", "axis", 4)),
    "wrong perm": Plant(BERT, "GI210", attribute("Transpose", "perm", [0, 1, 1, 3])),
    "wrong batch_dims": Plant("bert-dynamo", "GI306", attribute("GatherND", "batch_dims", 4)),
    "wrong batch_dims of OpenVINO": Plant("openvino-gather", "GI306", attribute("Gather", "batch_dims", 3)),
    "swapped Gather": Plant(BERT, "GI308", swapped(WORD_GATHER)),
    "swapped Reshape": Plant(BERT, "GI211", swapped("/bert/Reshape")),
    "swapped Gemm": Plant(BERT, "GI322", swapped("/bert/pooler/dense/Gemm"), severity="warning"),
    "swapped Conv": Plant("vit-torchscript", "GI212", swapped("/vit/embeddings/patch_embeddings/projection/Conv")),
    "swapped Where": Plant(BERT, "GI211", swapped("/bert/Where")),
    "int8 ids": Plant(BERT, "GI321", narrow_ids(WORD_GATHER, TensorProto.INT8), severity="warning"),
    "uint8 positions": Plant(
        GPT2,
        "GI321",
        narrow_ids("/gpt2/transformer/wpe/Gather", TensorProto.UINT8),
        {"dims": ["seq=1..300"]},
        "warning",
    ),
    "int8 constant": Plant(BERT, "GI321", narrow_constant, severity="warning"),
    "truncated data": Plant(BERT, "GI112", external(keep=100)),
    "truncated data, gpt2": Plant("gpt2-kv-dynamo", "GI112", external(keep=0)),
    "missing data": Plant(GPT2, "GI112", external(missing="yes")),
    "data out of range": Plant(BERT, "GI112", external(offset="4096")),
    "length that does not fit": Plant(BERT, "GI112", external(length="12")),
    "data outside the directory": Plant(BERT, "GI112", external(location="../weights.data")),
    "stale rank": Plant(BERT, "GI201", declared("/bert/Where", ["a", 2], dtype=TensorProto.INT64), severity="warning"),
    "stale size": Plant("bert-dynamo", "GI201", declared("node_add_18", ["batch", "seq", 33]), severity="warning"),
    "stale type": Plant(
        "bert-dynamo",
        "GI201",
        declared("node_add_18", ["batch", "seq", 32], dtype=TensorProto.INT32),
    ),
    "a number for a symbol": Plant("bert-dynamo", "GI201", declared("node_add_18", [1, 16, 32]), severity="warning"),
    "input dim -1": Plant(BERT, "GI109", dim("input", 0, 1, -1), severity="warning"),
    "output dim -1": Plant(BERT, "GI109", dim("output", 0, 0, -1), severity="warning"),
    "wrong output": Plant(BERT, "GI202", dim("output", 0, 2, 31), severity="warning"),
    "value made twice": Plant(BERT, "GI101", renamed_output("/bert/Where", "again")),
    "initializer twice": Plant(BERT, "GI101", twice_initializer),
    "name hidden in a branch": Plant("vit-dynamo", "GI101", hiding),
    "cycle": Plant(BERT, "GI102", cycle),
    "dangling input": Plant(BERT, "GI103", undefined("/bert/Where")),
    "dangling output": Plant(GPT2, "GI103", no_output),
    "opset too old for an operator": Plant(GPT2, "GI116", opset(11, "LessOrEqual")),
    "opset too old, but onnxruntime has it": Plant(
        "bert-dynamo", "GI116", opset(16, "LayerNormalization"), severity="warning"
    ),
    "opset too old for the inputs": Plant(GPT2, "GI107", opset(11, "Unsqueeze")),
    "opset newer than the IR version": Plant(BERT, "GI113", opset(17, ""), severity="warning"),
    "opset newer than known": Plant(BERT, "GI109", opset(29, ""), severity="warning"),
    "opset of no release": Plant(BERT, "GI104", opset(99, "")),
    "two nodes of one name": Plant(BERT, "GI117", node_name("/bert/Where", "/bert/Reshape")),
    "a weight that is no number": Plant(BERT, "GI118", not_a_number, severity="note"),
    "an unknown key of external data": Plant(BERT, "GI112", external(data="x")),
    "a key that only onnx writes": Plant(BERT, "GI112", external(basepath="x"), severity="warning"),
    "IR version newer than known": Plant(BERT, "GI109", ir_version(99), severity="warning"),
    "domain without opset": Plant(BERT, "GI104", domain("com.example")),
    "unknown operator": Plant(BERT, "GI105", foreign, severity="warning"),
    "unknown attribute": Plant(BERT, "GI106", attribute("Softmax", "axes", 1)),
    "missing attribute": Plant(BERT, "GI106", attribute("Cast", "to", None)),
    "inputs too many": Plant(BERT, "GI107", more_inputs),
    "nodes out of order": Plant(BERT, "GI114", shuffled, severity="warning"),
    "payload too short": Plant("vit-torchscript", "GI204", short_payload),
    "row past the end": Plant(BERT, "GI301", rows_of(WORDS, [0, 151])),
    "row before the start": Plant(BERT, "GI301", rows_of(WORDS, [0, -152])),
    "negative index of an old opset": Plant(BERT, "GI303", old_gather, severity="warning"),
}


def planted(name: str, folder: Path) -> tuple[Path, Plant, str]:
    """The file, what was planted, and where."""
    plant = PLANTS[name]
    model = onnx.load(FIXTURES / f"{plant.fixture}.onnx")
    path = folder / "planted.onnx"
    place = plant.change(model, path)
    path.write_bytes(model.SerializeToString())
    return path, plant, place

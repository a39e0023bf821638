"""A table of rewrites: a model before and after as text, near misses, and runs of both on random inputs.

A case is judged three ways: the rule alone makes `after` out of `before`, it leaves each near miss as it is, and
onnxruntime (its own optimiser off) gives the same bits for both at random sizes and inputs. Who loads `before` loads
what became of it. Tables are dicts of cases in the modules of this folder; `test_every_rule` asks them what each rule
has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import GraphProto, ModelProto, TensorProto, helper

from gather_infer.passes import optimize
from tests.oracle.loaders import refused_now

SIZES = (0, 1, 2, 3, 5, 7)

RUNS = 200
"""Random instances of a rule, over all its cases."""

_DRAWS = 20
"""Inputs that are drawn for each run that the original has to survive."""


@dataclass(frozen=True)
class Case:
    """One rewrite.

    rule    its name
    before  the graph as onnx's text, `g (float[N] x) => (float[M] y) { ... }`
    after   the graph that it becomes; names of new values do not matter
    near    what is missing -> the graph with one side condition not met, which stays as it is
    opset   of ai.onnx
    ranges  input -> numbers that integers are drawn from, [lo, hi)
    sizes   dim -> the sizes it may have, when not all of SIZES
    fails   whether the original may fail at some sizes; such draws say nothing
    """

    rule: str
    before: str
    after: str
    near: Mapping[str, str] = field(default_factory=dict)
    opset: int = 21
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    fails: bool = False


@cache
def tables() -> Mapping[str, Mapping[str, Case]]:
    """Every module of the folder that has cases -> them, by what they are called."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = import_module(f"tests.rewrites.{path.stem}")
        dicts = [held for held in vars(module).values() if isinstance(held, dict)]
        cases = {str(name): case for held in dicts for name, case in held.items() if isinstance(case, Case)}
        if cases:
            found[path.name] = cases
    return found


def cases_of(rule: str) -> list[Case]:
    """The cases of a rule, in all tables."""
    return [case for table in tables().values() for case in table.values() if case.rule == rule]


def model(text: str, opset: int = 21) -> ModelProto:
    """A checked model of a graph in onnx's text."""
    imports = f'"": {opset}, "com.microsoft": 1' if "com.microsoft" in text else f'"": {opset}'
    made = onnx.parser.parse_model(f"<ir_version: {8 if opset < 19 else 10}, opset_import: [{imports}]> {text}")
    onnx.checker.check_model(made)
    return made


def rewritten(made: ModelProto, *rules: str) -> ModelProto:
    """The model after these rules alone, which run twice: the second time changes nothing."""
    after = optimize(made, passes=rules)
    again = optimize(after.proto, passes=rules)
    assert not again.applied, f"a second run does {again.applied}"
    onnx.checker.check_model(after.proto)
    assert not refused_now(made, after.proto)
    return after.proto


def shape_of(graph: GraphProto) -> list[object]:
    """A graph without the names of its values: what each node computes from what, in order of need."""
    known: dict[str, object] = {"": ""}
    for value in graph.input:
        known[value.name] = value.name
    for tensor in graph.initializer:
        known.setdefault(tensor.name, _bits(tensor))
    made: dict[str, object] = {}
    for node in graph.node:
        inputs = tuple(known.get(name, name) for name in node.input)
        attributes = tuple(sorted((a.name, _plain(a)) for a in node.attribute if not a.HasField("g")))
        bodies = tuple((a.name, repr(shape_of(a.g))) for a in node.attribute if a.HasField("g"))
        if node.op_type == "Constant":
            known[node.output[0]] = _bits(node.attribute[0].t) if node.attribute[0].HasField("t") else attributes
            continue
        term = (node.domain, node.op_type, inputs, attributes, bodies)
        for at, name in enumerate(node.output):
            if name:
                known[name] = made[name] = (term, at) if len(node.output) > 1 else term
    return [*((output.name, known.get(output.name)) for output in graph.output), ("nodes", _nodes(graph))]


def _nodes(graph: GraphProto) -> int:
    return sum(node.op_type != "Constant" for node in graph.node)


def _bits(tensor: TensorProto) -> object:
    array = onnx.numpy_helper.to_array(tensor)
    return (tensor.data_type, array.shape, array.tobytes() if array.dtype != object else tuple(array.ravel()))


def _plain(attribute: onnx.AttributeProto) -> object:
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.doc_string = ""
    return copy.SerializeToString(deterministic=True)


def run(made: ModelProto, feeds: Mapping[str, Any]) -> list[Any] | None:
    """The outputs of onnxruntime with its optimiser off; None when it fails."""
    return _result(_session(made), feeds)


def _session(made: ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_prepacking", "1")  # another kernel for an initializer
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _result(session: onnxruntime.InferenceSession, feeds: Mapping[str, Any]) -> list[Any] | None:
    try:
        return list(session.run(None, dict(feeds)))
    except Exception as failure:  # onnxruntime has an exception for each of its error codes, and no common one
        if type(failure).__module__.startswith("onnxruntime"):
            return None
        raise


def feeds_of(made: ModelProto, random: np.random.Generator, case: Case) -> dict[str, Any]:
    """Inputs of random sizes: floats with -0.0, NaN and Inf among them, integers from their ranges."""
    sizes: dict[str, int] = {}
    feeds: dict[str, Any] = {}
    for value in made.graph.input:
        shape = []
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                name = dim.dim_param
                sizes.setdefault(name, int(random.choice(case.sizes.get(name, SIZES))))
                shape.append(sizes[name])
            else:
                shape.append(dim.dim_value)
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if dtype == np.bool_:
            feeds[value.name] = random.integers(0, 2, shape).astype(bool)
        elif np.issubdtype(dtype, np.integer):
            lo, hi = case.ranges.get(value.name, (-3, 4) if np.issubdtype(dtype, np.signedinteger) else (0, 4))
            feeds[value.name] = random.integers(lo, hi, shape).astype(dtype)
        elif np.issubdtype(dtype, np.floating):
            data = random.standard_normal(shape).astype(dtype)
            odd = random.random(shape)
            data[odd < 0.05] = -0.0
            data[odd > 0.97] = np.nan
            data[(odd > 0.94) & (odd <= 0.97)] = np.inf
            feeds[value.name] = data
        else:
            feeds[value.name] = np.array(random.choice(["a", "b", ""], shape), dtype=object)
    return feeds


def assert_same_runs(before: ModelProto, after: ModelProto, case: Case, runs: int, seed: int = 0) -> None:
    """Both models give the same bits in `runs` random runs in which the original does not fail."""
    random = np.random.default_rng(seed)
    one_session, other_session = _session(before), _session(after)
    compared = 0
    for _ in range(_DRAWS * runs):
        if compared == runs:
            break
        feeds = feeds_of(before, random, case)
        expected = _result(one_session, feeds)
        if expected is None:
            assert case.fails, f"the original fails on {feeds}"
            continue
        found = _result(other_session, feeds)
        assert found is not None, f"only the rewritten model fails, on {feeds}"
        for one, other in zip(expected, found, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape, feeds
            same = one.tobytes() == other.tobytes() if one.dtype != object else (one == other).all()
            assert same, f"{one} became {other} on {feeds}"
        compared += 1
    assert compared == runs, f"the original runs on {compared} draws only: say `sizes` or `ranges` on which it does"


def judge(case: Case) -> None:
    """Judge a case; see the top of the file."""
    others = cases_of(case.rule)
    assert case in others, "it stands in no table: a dict of the module, from what it is about to the Case"
    before = model(case.before, case.opset)
    after = rewritten(before, case.rule)
    assert shape_of(after.graph) == shape_of(model(case.after, case.opset).graph), onnx.printer.to_text(after)
    for missing, text in case.near.items():
        made = model(text, case.opset)
        assert not optimize(made, passes=[case.rule]).applied, f"near miss ({missing}) was rewritten"
    assert_same_runs(before, after, case, -(-RUNS // len(others)))

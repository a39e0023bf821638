"""Each rule of the tables is listed, states its law, has a case, and near misses for its ways out."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

import onnx
import pytest
from onnx import ModelProto

import gather_infer.passes.rewrites
from gather_infer.passes import RewriteSet, optimize
from gather_infer.passes.rewrites import ALL
from gather_infer.passes.rule_table import RuleEntry
from tests.rewrites.table import assert_same_runs, cases_of, model, shape_of, tables

LISTED = {listed.name: listed for each in ALL for listed in each.entries()}
PAGE = "see CONTRIBUTING.md, A new rewrite"
OPSETS = (7, 9, 10, 11, 13, 14, 15, 18, onnx.defs.onnx_opset_version())
RUNS_UP_TO = 23
"""The newest opset version that every onnxruntime in use here loads."""

UNREACHED = {
    # (rule, condition): why no text comes there
    ("common-constants", "match.is_trained"): "test_guarantees has models with training",
    ("constant-to-initializer", "constant is None or constant.nbytes > match.max_growth"): "sparse, or a megabyte",
    (
        "constant-to-initializer",
        "match.is_trained or not match.has_free_initializers or len(match.node.proto.attribute) != 1",
    ): "test_constants has a model of IR version 3",
    ("fold-constants", "name and constant is None"): "tests/passes has data that do not fit their dims",
    ("fold-known", "match.is_faulty or match.is_trained"): "test_guarantees has models with training",
    ("fold-known", "not any((result is not _NOTHING for result in results))"): "what nobody needs is gone by then",
    (
        "fold-loop",
        "body is None or len(body.outputs) != 1 + len(match.outputs)",
    ): "a Loop with too few outputs is an error",
    (
        "fold-loop",
        "len(states) < len(given) - 2 or len(body.inputs) != 2 + len(states)",
    ): "no runtime takes a Loop with a state left out",
    ("gather-of-gather", "taken is None"): "indices of a megabyte",
    ("gather-of-transpose", "sorted(perm) != list(range(rank))"): "of a Transpose with an error no rank is known",
    ("gather-of-unsqueeze", "before is None"): "no rank is known behind one that is not",
    ("if-decided", "body is None or len(body.outputs) != len(match.outputs)"): "an If with too few outputs is an error",
    (
        "loop-once",
        "body is None or len(body.inputs) != 2 + len(states) or len(body.outputs) != 1 + len(match.outputs)",
    ): "a Loop with too few outputs is an error",
    ("loop-once", "any((not state for state in states))"): "no runtime takes a Loop with a state left out",
    (
        "transpose-of-transpose",
        "len(first) != len(second) or sorted(second) != list(range(rank))",
    ): "no rule looks through a Transpose whose perm does not fit, or is asked about one",
}


@pytest.mark.parametrize("name", LISTED)
def test_a_rule_has_a_case_and_a_near_miss(name: str) -> None:
    cases = cases_of(name)
    assert cases, f"write a Case for {name} into a table of tests/rewrites, {PAGE}"
    assert any(case.near for case in cases), f"no case of {name} has a near miss: one for each side condition, {PAGE}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name, listed in LISTED.items() if isinstance(listed, RuleEntry)])
def test_each_way_out_of_a_rule_has_a_near_miss(name: str) -> None:
    """A `return None` of a rule is a side condition; a case or a near miss comes to each."""
    rule = LISTED[name].rule
    passed: set[int] = set()
    with traced(rule, passed):
        for case in cases_of(name):
            for text in (case.before, *case.near.values()):
                optimize(model(text, case.opset), passes=[name])
    missing = {
        line: condition
        for line, condition in ways_out(rule).items()
        if line not in passed and (name, condition) not in UNREACHED
    }
    assert not missing, f"no near miss of {name} meets " + "; ".join(
        f"`{condition}` (line {line} of {Path(inspect.getfile(rule)).name})" for line, condition in missing.items()
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LISTED)
def test_a_rule_at_every_opset(name: str) -> None:
    """Wherever `before` is a model that passes the full check, so is what becomes of it, and it computes the same."""
    rewritten = 0
    for case, opset in product(cases_of(name), OPSETS):
        before = valid(case.before, opset)
        result = None if before is None else optimize(before, passes=[name])
        if before is None or result is None or not result.applied:
            continue
        onnx.checker.check_model(result.proto, full_check=True)
        rewritten += 1
        if opset <= RUNS_UP_TO:
            assert_same_runs(before, result.proto, case, 2, seed=opset)
    assert rewritten, f"{name} applies to no case of its own at any of the opsets {OPSETS}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LISTED)
def test_a_rule_of_constants_on_disk(name: str, tmp_path: Path) -> None:
    """The bits of a constant that stays in its file are mapped, and numpy compares and adds them in no way."""
    for case in cases_of(name):
        for text in (case.before, *case.near.values()):
            made = model(text, case.opset)
            onnx.save(with_raw_data(made), tmp_path / "model.onnx", save_as_external_data=True, size_threshold=0)
            optimize(tmp_path / "model.onnx", passes=[name]).save(tmp_path / "after.onnx")
            found, expected = onnx.load(tmp_path / "after.onnx"), optimize(made, passes=[name]).proto
            assert shape_of(found.graph) == shape_of(expected.graph), text
            for file in tmp_path.iterdir():
                file.unlink()


def with_raw_data(made: ModelProto) -> ModelProto:
    """The model with its initializers as raw data: onnx writes no others to files of their own."""
    copy = ModelProto()
    copy.CopyFrom(made)
    for tensor in copy.graph.initializer:
        if tensor.data_type != onnx.TensorProto.STRING:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    return copy


def valid(text: str, opset: int) -> ModelProto | None:
    """The model at another opset version; None when it has no such operators, attributes or types there."""
    try:
        made = model(text, opset)
        onnx.checker.check_model(made, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return None
    return made


def test_what_is_not_reached_is_there() -> None:
    found = {
        (name, condition)
        for name, listed in LISTED.items()
        if isinstance(listed, RuleEntry)
        for condition in ways_out(listed.rule).values()
    }
    assert UNREACHED.keys() <= found


def test_a_table_is_judged() -> None:
    for name in tables():
        module = import_module(f"tests.rewrites.{name.removesuffix('.py')}")
        assert "judge(" in inspect.getsource(module), (
            f"nothing judges the cases of {name}: copy test_case of a neighbour"
        )


def test_a_case_names_a_rule() -> None:
    for module, cases in tables().items():
        for title, case in cases.items():
            assert case.rule in LISTED, (
                f"{module}, {title!r}: there is no rule {case.rule}; list its set in ALL of passes/rewrites/__init__.py"
            )


def test_a_set_is_listed() -> None:
    for found in pkgutil.iter_modules(gather_infer.passes.rewrites.__path__):
        module = import_module(f"gather_infer.passes.rewrites.{found.name}")
        for name, held in vars(module).items():
            if isinstance(held, RewriteSet):
                assert held in ALL, f"list {found.name}.{name} in ALL of passes/rewrites/__init__.py"


@pytest.mark.parametrize("name", LISTED)
def test_a_rule_states_its_law(name: str) -> None:
    listed = LISTED[name]
    rule = listed.rule if isinstance(listed, RuleEntry) else listed.function
    assert rule.__doc__, f"begin the docstring of {name} with the equation and its side conditions"


def ways_out(rule: Callable[..., Any]) -> dict[int, str]:
    """Where a rule returns None: the line -> the condition before it."""
    lines, start = inspect.getsourcelines(rule)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            for inner in node.body:
                if isinstance(inner, ast.Return) and (inner.value is None or ast.unparse(inner.value) == "None"):
                    found[start + inner.lineno - 1] = ast.unparse(node.test)
    return found


@contextmanager
def traced(function: Callable[..., Any], lines: set[int]) -> Iterator[None]:
    """Note the lines of a function that are run."""
    code, before = function.__code__, sys.gettrace()

    def enter(frame: FrameType, event: str, arg: object) -> Any:
        return step if frame.f_code is code else None

    def step(frame: FrameType, event: str, arg: object) -> Any:
        lines.add(frame.f_lineno)
        return step

    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)

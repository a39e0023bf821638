"""Traits against recorded runs: what an operator does with elements in all node models of onnx, its rule declares.

A trait that is missing would end a trace without a word; one that is wrong would make bounds up. Both are found by
comparing the inputs and outputs of the node models, which runtimes agree on, element by element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx.numpy_helper import to_array
from onnx.reference import ReferenceEvaluator

from gather_infer.catalog.probe import groups, propagates
from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.proto.schema import schema_of
from gather_infer.ops import standard_rules
from gather_infer.rules import OpCall, RuleSet, Traits
from gather_infer.symbolic import DimTooLarge
from gather_infer.tensor import INTEGER_RANGE, SymbolicTensor
from tests.conformance.backend import Case, cases
from tests.onnx_versions import needs_onnx

DISTINCT = 3
"""Elements of an output that have to differ before it says where they come from."""

NOT_MOVED: Mapping[str, str] = {
    # operators of ai.onnx that move elements in every node model, and why they do not always
    "GlobalMaxPool": "of an empty axis it gives the least number of the type",
    "MaxPool": "a window that lies in the padding alone gives the least number of the type",
    "Sign": "5 becomes 1; the node model has -1, 0 and 1 in it",
    "TensorScatter": "elements of the update take the place of others",
    "Trilu": "what is cut off is 0",
    "Upsample": "mode linear gives what lies between",
}

NOT_PERMUTED: Mapping[str, str] = {}

UNTOLD: Mapping[str, str] = {
    # operators of ai.onnx without a node model, and why their traits are what they are
    **dict.fromkeys(("ConcatFromSequence", "SequenceAt"), "elements of sequences are not followed"),
    **dict.fromkeys(("Optional", "SequenceConstruct", "SequenceEmpty", "SequenceErase"), "gives no tensor"),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), "draws numbers"),
    **dict.fromkeys(("Affine", "Crop", "ImageScaler"), "of floats; of opset 9 and before"),
    "GlobalLpPool": "gives norms",
    "MaxRoiPool": "an empty region gives 0",
    "Multinomial": "draws numbers",
    "SequenceLength": "gives a length",
    "SimplifiedLayerNormalization": "computes; it is onnxruntime's own",
}

IS_DETERMINISTIC: Mapping[str, str] = {
    # operators whose schema says that they are not, and why they are
    "AffineGrid": "its function body has an If, which onnx takes for an operator that may draw numbers",
}

TELLS_NOTHING: Mapping[tuple[str, str], str] = {
    # operators that move elements, and why a probe with small inputs sees none of them
    ("", "OptionalGetElement"): "the probe has no optionals",
    ("com.microsoft", "ExpandDims"): "the probe has one element type for all inputs, and the axis is int32",
    ("com.microsoft", "UnfoldTensor"): "the rule tells the shape alone",
    ("com.microsoft", "Unique"): "the rule tells the shape alone",
}

INTEGERS_UNTOLD: Mapping[str, Mapping[str, str]] = {
    # domain: operators that make integers of integers, and why the elements are not told, or not their bounds
    "": {
        **dict.fromkeys(("ConvInteger", "Einsum", "MatMulInteger"), "sums of products are no sizes or indices"),
        **dict.fromkeys(("CumProd", "ReduceMean", "ReduceProd", "TensorScatter"), "bounds are not followed"),
        **dict.fromkeys(("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"), "runtimes round roots and logarithms"),
        **dict.fromkeys(("CenterCropPad", "ReverseSequence"), "bounds are enough"),
        **dict.fromkeys(("Erf", "Shrink"), "a function for floats"),
        **dict.fromkeys(("RandomNormalLike", "RandomUniformLike"), "draws numbers"),
        "ImageDecoder": "pixels",
    },
    "ai.onnx.ml": {
        **dict.fromkeys(("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"), "classes, by a model"),
        **dict.fromkeys(("Binarizer", "Imputer"), "features"),
    },
    "com.microsoft": {
        **dict.fromkeys(("FusedGemm", "SparseToDenseMatMul"), "sums of products are no sizes or indices"),
        **dict.fromkeys(("BifurcationDetector", "SampleOp", "Unique"), "the rule tells the shape alone"),
        "MurmurHash3": "hashes",
    },
    "openvino": {"ReadValue": "what another run has left"},
}

ANY_VERSION = 1 << 30
RULES: Mapping[str, RuleSet] = standard_rules()


def traits(op_type: str, domain: str = "") -> Traits | None:
    """The newest traits of an operator, None without a rule."""
    found = RULES[domain].lookup(op_type, ANY_VERSION) if domain in RULES else None
    return None if found is None else found.traits


@cache
def recorded() -> Mapping[tuple[str, str], tuple[Case, ...]]:
    """The node models of each operator that has a rule."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in cases():
        node, domain = case.node, case.node.domain
        if "_expanded" not in case.name and traits(node.op_type, domain) is not None:
            found.setdefault((domain, node.op_type), []).append(case)
    return {name: tuple(made) for name, made in found.items()}


def pairs(models: tuple[Case, ...], index: int) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Input `index` and output 0 of the models that have both as tensors."""
    for case in models:
        names = [i.name for i in case.model.graph.input]
        if index >= len(case.node.input) or case.node.input[index] not in names or not case.node.output[0]:
            continue
        given, made = case.inputs[names.index(case.node.input[index])], case.outputs[0]
        given, made = (to_array(v) if isinstance(v, onnx.TensorProto) else v for v in (given, made))
        if isinstance(given, np.ndarray) and isinstance(made, np.ndarray):
            yield given, made


def counted(tensor: np.ndarray[Any, Any]) -> Counter[object]:
    """How often each element is there, by its bits."""
    flat = tensor.reshape(-1)
    return Counter(flat.tolist() if flat.dtype.kind in "OUS" else [e.tobytes() for e in flat])


def is_moved(given: np.ndarray[Any, Any], made: np.ndarray[Any, Any]) -> bool:
    return made.dtype == given.dtype and counted(made).keys() <= counted(given).keys()


def is_permuted(given: np.ndarray[Any, Any], made: np.ndarray[Any, Any]) -> bool:
    return made.dtype == given.dtype and counted(made) == counted(given)


def tells_dims(given: np.ndarray[Any, Any], made: np.ndarray[Any, Any]) -> bool:
    return made.dtype == np.int64 and {*made.reshape(-1).tolist()} <= {*given.shape, prod(given.shape)}


def in_all(
    models: tuple[Case, ...], index: int, holds: Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any]], bool]
) -> bool | None:
    """Whether it holds in all models; None when none of them has enough elements to tell."""
    found = list(pairs(models, index))
    if not all(holds(*pair) for pair in found):
        return False
    telling = [made for _, made in found if len(counted(made)) >= (1 if holds is tells_dims else DISTINCT)]
    return True if telling else None


@needs_onnx("1.23", "node models that tell the traits of all operators")
@pytest.mark.parametrize(("domain", "op_type"), sorted(recorded()))
def test_what_moves_elements_says_so(domain: str, op_type: str) -> None:
    known, models = traits(op_type, domain), recorded()[domain, op_type]
    assert known is not None, "only operators with a rule are recorded"
    for index in range(max(len(case.node.input) for case in models)):
        said = known.moves == index
        moves, permutes = in_all(models, index, is_moved), in_all(models, index, is_permuted)
        if said:
            assert moves is not False, f"moves={index} of {op_type} is wrong in a node model: take it away"
            assert not known.permutes or permutes is not False, f"permutes of {op_type} is wrong: take it away"
            assert known.permutes or not permutes or op_type in NOT_PERMUTED, (
                f"{op_type} permutes input {index} in every node model: write rule({op_type!r}, ..., permutes=True), "
                "or say in NOT_PERMUTED why it does not always"
            )
        elif moves:
            assert op_type in NOT_MOVED, (
                f"{op_type} only moves elements of input {index} in every node model: write "
                f"rule({op_type!r}, ..., moves={index}), or say in NOT_MOVED why it does not always"
            )


@needs_onnx("1.23", "node models that tell the traits of all operators")
def test_data_movement_traits_agree_with_values() -> None:
    for op_type, _, _ in RULES[""].entries():
        known = traits(op_type)
        if known is not None and known.moves is not None and op_type not in UNTOLD:
            models = recorded().get(("", op_type), ())
            assert in_all(models, known.moves, is_moved), f"no node model of {op_type} shows that moves={known.moves}"


@needs_onnx("1.23", "node models that tell the traits of all operators")
def test_nothing_is_left_untold() -> None:
    without = {op_type for op_type, _, _ in RULES[""].entries() if ("", op_type) not in recorded()}
    assert without - UNTOLD.keys() == set(), (
        "onnx has no node model that tells the traits of these: declare them, and say in UNTOLD why they are so"
    )
    assert UNTOLD.keys() - without == set(), "these have no rule, or have node models: take them out of UNTOLD"


@cache
def probed(domain: str, op_type: str) -> tuple[tuple[OpCall, object], ...]:
    """The calls of a rule with small inputs that it answers, each with output 0."""
    newest, made = RULES[domain].versions(op_type)[0], list[tuple[OpCall, object]]()
    for group in groups(op_type, domain, schema_of(op_type, newest.since, domain)):
        for inputs in group.inputs:
            used = (True,) * group.outputs
            call = OpCall(op_type, list(inputs), group.attributes, used, newest.since, domain, Context())
            try:
                made.append((call, newest.rule(call)[0]))
            except (SpecViolation, DimTooLarge):
                continue
    return tuple(made)


def known_elements(domain: str, op_type: str) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The elements of input 0 and output 0 of the calls where all of them are known."""
    for call, made in probed(domain, op_type):
        given = call.value(0)
        if not isinstance(given, SymbolicTensor) or not isinstance(made, SymbolicTensor):
            continue
        if given.dtype is not made.dtype or given.values is None or made.values is None:
            continue
        if None not in (elements := tuple(made.values.flat)):
            yield tuple(given.values.flat), elements


@needs_onnx("1.23", "node models that tell the traits of all operators")
@pytest.mark.parametrize("domain", RULES)
def test_a_rule_that_moves_what_it_is_given_says_so(domain: str) -> None:
    """Of operators without a node model the rule itself tells what it makes of known elements."""
    for op_type in {op for op, _, _ in RULES[domain].entries()} - {op for d, op in recorded() if d == domain}:
        known, calls = traits(op_type, domain), list(known_elements(domain, op_type))
        assert known is not None
        moves = all(set(made) <= set(given) for given, made in calls)
        if known.moves == 0:
            assert moves, f"the rule of {op_type} gives elements that input 0 has not: take moves=0 away"
        telling = [(given, made) for given, made in calls if len(set(made)) > 1]
        if known.moves is None and telling:
            assert not moves, (
                f"the rule of {op_type} only moves elements of input 0: write rule({op_type!r}, ..., moves=0)"
            )
        if known.moves == 0 and telling:
            permutes = all(Counter(made) == Counter(given) for given, made in calls)
            assert known.permutes == permutes, (
                f"the rule of {op_type} {'has' if permutes else 'has not'} each element of input 0 exactly once: "
                f"write rule({op_type!r}, ..., permutes={permutes})"
            )


@pytest.mark.parametrize("domain", RULES)
def test_a_rule_that_addresses_by_index_says_so(domain: str) -> None:
    """The walk refuses accesses that are not declared."""
    for op_type in {op for op, _, _ in RULES[domain].entries()}:
        known = traits(op_type, domain)
        assert known is not None
        found = {addressed.input for call, _ in probed(domain, op_type) for addressed in call.context.addressed}
        wanted = ", ".join(f"{index}: ..." for index in sorted(found))
        assert found <= known.addresses.keys(), (
            f"the rule of {op_type} addresses by index: write rule({op_type!r}, ..., addresses={{{wanted}}}), "
            "each input that holds indices with the one that it addresses"
        )


@pytest.mark.parametrize("domain", RULES)
def test_what_is_given_integers_tells_them(domain: str) -> None:
    """A size that passes through an operator is told behind it, or at least its bounds are."""
    for op_type in {op for op, _, _ in RULES[domain].entries()}:
        told: dict[str, set[bool]] = {"elements": set(), "bounds": set()}
        for call, made in probed(domain, op_type):
            given = [i for i in call.inputs if isinstance(i, SymbolicTensor) and i.dtype in INTEGER_RANGE]
            if not given or len(given) < len(call.inputs) or not isinstance(made, SymbolicTensor):
                continue
            if made.dtype in INTEGER_RANGE and 0 not in (made.shape or ()):
                what = "elements" if all(i.values is not None for i in given) else "bounds"
                told[what].add(made.values is not None or (what == "bounds" and made.value_range is not None))
        missing = [what for what, answers in told.items() if answers == {False}]
        named = op_type in INTEGERS_UNTOLD.get(domain, {})
        assert named or not missing, (
            f"the rule of {op_type} is given integers and tells no {' and no '.join(missing)} of its result: "
            "see gather_infer/ops/semantics/elementwise.py and spans.py, or say in INTEGERS_UNTOLD why it does not"
        )
        assert missing or not named, f"{op_type} tells elements and bounds: take it out of INTEGERS_UNTOLD"


@needs_onnx("1.23", "node models that tell the traits of all operators")
@pytest.mark.parametrize("reasons", [NOT_MOVED, NOT_PERMUTED])
def test_no_exception_is_left_over(reasons: Mapping[str, str]) -> None:
    for op_type in reasons:
        known = traits(op_type)
        models = recorded().get(("", op_type), ())
        assert any(in_all(models, i, is_moved) for i in range(8)), f"{op_type} needs no reason"
        assert known is not None and not (known.permutes if reasons is NOT_PERMUTED else known.moves is not None)


def test_what_tells_dims_says_so() -> None:
    telling = {op for (domain, op), models in recorded().items() if not domain and in_all(models, 0, tells_dims)}
    said = {op for op, _, _ in RULES[""].entries() if (known := traits(op)) is not None and known.outputs_dims}
    assert telling == said, "what gives dims of its input, and nothing else, is declared: rule(..., tells_dims=True)"


@needs_onnx("1.20", "schemas that state which operators are random")
def test_what_draws_numbers_says_so() -> None:
    non_deterministic = onnx.defs.OpSchema.NodeDeterminism.NonDeterministic
    drawing = {
        s.name
        for s in onnx.defs.get_all_schemas()
        if s.domain == ""
        and getattr(s, "node_determinism") is non_deterministic  # noqa: B009 (its stubs lack it)
        and s.name not in IS_DETERMINISTIC
        and traits(s.name) is not None
    }
    said = {op for op, _, _ in RULES[""].entries() if (known := traits(op)) is not None and not known.deterministic}
    assert drawing == said, "what may draw numbers is declared: rule(..., deterministic=False)"


@pytest.mark.parametrize("op_type", IS_DETERMINISTIC)
def test_what_draws_no_numbers_gives_the_same_twice(op_type: str) -> None:
    for case in recorded().get(("", op_type), ()):
        feed = dict(zip((i.name for i in case.model.graph.input), case.inputs, strict=True))
        first, second = (ReferenceEvaluator(case.model).run(None, feed) for _ in range(2))
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("domain", RULES)
def test_what_moves_elements_tells_them(domain: str) -> None:
    """The rule of an operator that moves elements gives some of those that it is given, or their bounds."""
    for op_type in {op for op, _, _ in RULES[domain].entries()}:
        newest = RULES[domain].versions(op_type)[0]
        if newest.traits.moves is not None and (domain, op_type) not in TELLS_NOTHING:
            told = propagates(newest.rule, op_type, domain, newest.since, schema_of(op_type, newest.since, domain))
            assert any(told), f"{op_type} moves elements: give its result the values of the input, or their span"


def test_every_version_of_an_operator_has_its_traits() -> None:
    for domain, rules in RULES.items():
        for op_type in {op for op, _, _ in rules.entries()}:
            versions = rules.versions(op_type)
            alike = {(v.traits.moves, v.traits.permutes, v.traits.gathers, v.traits.outputs_dims) for v in versions}
            assert len(alike) == 1, f"{domain} {op_type}: what holds since {versions[0].since} held before"


COUNTS = {("", "ReverseSequence")}
"""What moves elements and is told how many of them, not which."""


def test_what_reads_by_index_is_of_the_gather_family() -> None:
    for domain, rules in RULES.items():
        for op_type in {op for op, _, _ in rules.entries()}:
            known = traits(op_type, domain)
            assert known is not None
            if (domain, op_type) in COUNTS:
                continue
            if known.moves is not None and known.moves in known.addresses.values():
                assert known.gathers, f"{domain} {op_type} gives what indices point at: write gathers=True"


def test_traits_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="moves="):
        Traits(permutes=True)
    with pytest.raises(ValueError, match="addresses="):
        Traits(gathers=True)

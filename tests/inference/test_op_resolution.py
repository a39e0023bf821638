"""Op resolution: traits independent of who wrote the rule, function bodies and their imports."""

from __future__ import annotations

from dataclasses import replace

import onnx
import pytest
from onnx import FunctionProto, helper

from gather_infer import RuleSet, infer
from gather_infer.inference.annotate import complete, fits
from gather_infer.inference.bodies.function import _with_imports
from gather_infer.inference.op_resolution import Opsets
from gather_infer.ops import standard_rules
from gather_infer.rules import OpCall
from gather_infer.tensor import SymbolicTensor
from tests.inference.models import model

KNOWN = sorted(
    name
    for name in (
        "Reshape",
        "Transpose",
        "Gather",
        "GatherND",
        "TopK",
        "Dropout",
        "RandomNormal",
        "Identity",
        "Shape",
        "Cast",
    )
)


@pytest.mark.parametrize("name", KNOWN)
def test_a_rule_of_the_caller_says_nothing_new_of_the_operator(name: str) -> None:
    """But how it says what it addresses, and whether it checks types, is its own."""
    own = RuleSet("")
    own.rule(name)(lambda op: [SymbolicTensor()] * len(op.outputs))
    imports = [helper.make_opsetid("", 18)]
    known = Opsets(imports, [standard_rules()], {}).resolve("", name, "")
    mine = Opsets(imports, [{"": own}, standard_rules()], {}).resolve("", name, "")
    assert mine.is_user_rule and not known.is_user_rule
    expected = replace(known.traits, addresses={}, checks_types=False, gathers=False)
    assert mine.traits == expected and mine.provenance == known.provenance


def test_a_rule_of_the_caller_may_say_that_elements_are_moved() -> None:
    own = RuleSet("")
    own.rule("Neg", moves=0, permutes=True, deterministic=False)(lambda op: [SymbolicTensor()])
    entry = Opsets([helper.make_opsetid("", 18)], [{"": own}, standard_rules()], {}).resolve("", "Neg", "")
    assert (entry.traits.moves, entry.traits.permutes, entry.traits.deterministic) == (0, True, False)


def test_a_body_without_imports_means_the_opset_of_its_operator() -> None:
    body = FunctionProto(name="f")
    made = _with_imports(body.SerializeToString(), 18, [("x", 3)])
    assert made is not None and [(i.domain, i.version) for i in made.opset_import] == [("", 18), ("x", 3)]
    body.opset_import.append(helper.make_opsetid("y", 2))
    made = _with_imports(body.SerializeToString(), 18, [("x", 3)])
    assert made is not None and [(i.domain, i.version) for i in made.opset_import] == [("y", 2), ("x", 3)]
    assert _with_imports(b"", 18, [("x", 3)]) is None


def test_a_rule_whose_data_is_left_out_addresses_nothing_that_has_a_name() -> None:
    own = RuleSet("own")

    def rule(op: OpCall) -> list[SymbolicTensor]:
        return [SymbolicTensor()]

    own.rule("Pick", addresses={0: 1})(rule)
    for inputs, data in (("i", ""), ("i, x", "x")):
        proto = model(f"(int64[N] i, float[M] x) => (y) {{ y = own.Pick({inputs}) }}", domains=', "own" : 1')
        (access,) = infer(proto, rules=[own]).accesses
        assert (access.indices, access.data, access.input) == ("i", data, 0)


def test_a_list_of_nobody_knows_what_completes_nothing() -> None:
    declared = helper.make_sequence_type_proto(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, ["N"]))
    stated = onnx.TypeProto()
    stated.sequence_type.SetInParent()
    before = declared.SerializeToString(deterministic=True)
    assert fits(declared, stated)
    complete(declared, stated)
    assert declared.SerializeToString(deterministic=True) == before
    unsaid = onnx.TypeProto()
    complete(unsaid, stated)
    assert unsaid == stated and unsaid.WhichOneof("value") == "sequence_type"
